//! `roleos-watch`: the prefix of a coding agent's shell commands. One argument is a command string for the shell,
//! several are a program. With the gate on it runs under supervision; with the gate off it only runs.

use std::ffi::OsString;
use std::path::Path;

use base::config::Config;
use base::environment::Environment;
use base::pins;
use base::programs::WATCH;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use guard::agents::Agent;
use guard::hook::Bench;
use guard::supervision::{self, Program, proof};

use crate::{end, write_error};

/// Exit code of a command that must be supervised and cannot be.
const UNSUPERVISED: i32 = 125;

/// Runs the arguments after the name; returns only if the name is another.
pub fn direct(arguments: &[OsString], version: &str) {
    let is_named = |name: &OsString| {
        Path::new(name)
            .file_name()
            .is_some_and(|name| name == WATCH)
    };
    if arguments.first().is_some_and(is_named) {
        watch(arguments.get(1..).unwrap_or_default(), version)
    }
}

fn watch(words: &[OsString], version: &str) -> ! {
    let program = match words {
        [] => {
            say("usage: roleos-watch TEXT");
            end(1)
        }
        [text] => Program::Shell(text.clone()),
        words => Program::Words(words.to_vec()),
    };
    match bench(&program, version) {
        Ok(Some(bench)) => supervised(&bench, &program),
        Ok(None) => plain(&program),
        Err(why) => {
            say(&format!(
                "roleos: the command is not run, because its gate cannot be read: {why}"
            ));
            end(UNSUPERVISED)
        }
    }
}

/// Writes a line in one call: the command writes to the same file.
pub fn say(line: &str) {
    write_error(&format!("{line}\n"));
}

fn plain(program: &Program) -> ! {
    let error = supervision::run_unsupervised(program);
    say(&format!("roleos: {error}"));
    end(127)
}

fn supervised(bench: &Bench, program: &Program) -> ! {
    let mut refused = Vec::new();
    let run = supervision::run(bench, program, &mut |refusal| {
        say(&refusal.told);
        refused.push(
            refusal
                .id
                .clone()
                .unwrap_or_else(|| "without an id".to_owned()),
        );
    });
    let report = match run {
        Ok(report) => report,
        Err(error) => {
            // The hook may have allowed it only because it would be supervised.
            if proof::holds(&bench.workspace, &SessionId::new(&bench.session)) {
                say(&format!("roleos: the command is not run: {error}"));
                end(UNSUPERVISED)
            }
            plain(program)
        }
    };
    if !refused.is_empty() {
        refused.dedup();
        let (count, ids) = (refused.len(), refused.join(", "));
        say(&format!(
            "roleos: {count} act(s) refused in this command: {ids}"
        ));
    }
    match report.signal {
        Some(signal) => supervision::end_by_signal(signal),
        None => end(report.exit),
    }
}

/// Returns the rules for the command; `None` if the gate is off.
fn bench(program: &Program, version: &str) -> Result<Option<Bench>, String> {
    let environment = Environment::read();
    let named = environment.watch_root.clone();
    let workspace =
        Workspace::find(named.as_deref(), &environment).map_err(|error| base::said(&error))?;
    let config = Config::load(&workspace, &environment).map_err(|error| base::said(&error))?;
    if !environment.capability_gate && !config.oversight.capability_gate {
        return Ok(None);
    }
    let session = supervision::session();
    Ok(Some(Bench {
        pin: Some(pins::pin(&workspace, &environment)),
        reports: session.as_ref().map(|_| supervision::command_of(program)),
        session: session.unwrap_or_else(|| "claude-unnamed".to_owned()),
        workspace,
        config,
        environment,
        version: version.to_owned(),
        agent: Some(Agent::Claude),
        called: String::new(),
        mode: None,
    }))
}
