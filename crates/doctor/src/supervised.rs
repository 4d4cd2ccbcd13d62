//! Check that programs are judged when they begin: the machine's features, and the way of an agent's commands.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use base::environment::Environment;
use base::installed::read_text;
use base::programs;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use guard::agents::Agent;
use guard::install::registration::{self, Program};
use guard::install::settings::Settings;
use guard::supervision::{probe, proof};

use super::Check;

const NAME: &str = "supervision";

/// Checks the features of the machine.
pub(super) fn machine(environment: &Environment) -> Check {
    let rung = probe::rung(environment);
    match rung.is_there() {
        true => Check::good(NAME, rung.sentence()),
        false => Check::note(
            NAME,
            rung.sentence(),
            "commands that cannot be followed are asked about instead",
        ),
    }
}

/// Sends a test start of a session the way that Claude Code runs commands, and checks that it was supervised.
pub(super) fn way(workspace: &Workspace, settings: &Settings) -> Option<Check> {
    if settings.agent != Agent::Claude {
        return None;
    }
    let text = read_text(&settings.path).ok().flatten().unwrap_or_default();
    let next = "`roleos init --agent claude` puts it there";
    if let Some(other) = settings.foreign_prefix(&text) {
        let text = format!("commands run behind `{other}`, so they are not supervised");
        let next = format!(
            "take `{}` out of `env`, then `roleos init`",
            registration::SHELL_PREFIX
        );
        return Some(Check::note(NAME, text, next));
    }
    let Some(prefix) = settings.own_prefix(&text) else {
        return Some(Check::note(NAME, "commands are not supervised", next));
    };
    let program = Program {
        path: programs::hook(&prefix.with_file_name(programs::MAIN)),
        root: workspace.root().to_owned(),
        state: workspace.state().map(std::path::Path::to_owned),
        forced: false,
    };
    let session = format!("roleos-doctor-{}", base::fresh_uuid());
    let line = format!(
        "{} --proof session",
        registration::command_line(Agent::Claude, &program)
    );
    let started = Command::new(&prefix)
        .arg(line)
        .env("ROLEOS_WATCH_ROOT", workspace.root())
        .current_dir(workspace.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        let text = format!(
            "`{}` cannot be started, so no command can",
            prefix.display()
        );
        return Some(Check::wrong(NAME, text, next));
    };
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read proves nothing.
        input
            .write_all(json!({ "session_id": session }).to_string().as_bytes())
            .ok();
    }
    child.wait().ok();
    let session = SessionId::new(&session);
    let proved = proof::holds(workspace, &session);
    for path in proof::kept_files(workspace, &session) {
        fs::remove_file(path).ok();
    }
    Some(match proved {
        true => Check::good(
            NAME,
            "a made-up session has proved that its commands are supervised",
        ),
        false => Check::note(
            NAME,
            "a made-up session could not prove that its commands are supervised; those that cannot be followed are asked about",
            "see whether the gate is on and what the check of the machine says",
        ),
    })
}
