//! Runs a command and refuses every program whose command line begins with given arguments: `guarded [--deny 'git
//! push'] [--connect PATH] [--seal PATH] [--report FILE] -- PROGRAM ARGUMENT…`.
//!
//! A minimal example of a rule; the tests of the crate use it as their command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use supervise::{Answer, Command, Connect, End, Exec, Judge, Seal, Summary};

/// Rule that refuses programs by the beginnings of their command lines, and sockets by their names.
#[derive(Default)]
struct Beginnings {
    denied: Vec<Vec<OsString>>,
    sockets: Vec<PathBuf>,
    log: Option<File>,
}

impl Beginnings {
    fn is_denied(&self, exec: &Exec<'_>) -> bool {
        let name = |path: &OsStr| std::path::Path::new(path).file_name().map(OsStr::to_owned);
        let named = [Some(exec.path()), exec.target()].into_iter().flatten();
        let mut names: Vec<OsString> = named.filter_map(|path| name(path.as_os_str())).collect();
        names.extend(exec.name().and_then(name));
        self.denied.iter().any(|denied| {
            let (program, words) = denied.split_first().unwrap_or((&EMPTY, &[]));
            // Arguments are read only if they matter.
            let rest = || exec.words().get(1..).unwrap_or_default();
            names.contains(program) && (words.is_empty() || rest().starts_with(words))
        })
    }
}

static EMPTY: OsString = OsString::new();

impl Judge for Beginnings {
    fn exec(&mut self, exec: &Exec<'_>) -> Answer {
        let denied = self.is_denied(exec);
        if let Some(log) = &mut self.log {
            let when = if exec.is_stopped() {
                "stopped"
            } else {
                "asked"
            };
            writeln!(log, "{when} {denied} {:?} {:?}", exec.path(), exec.words()).ok();
        }
        if denied {
            Answer::Refuse(format!("refused {:?}", exec.words()).into_bytes())
        } else {
            Answer::Proceed
        }
    }

    fn connect(&mut self, connect: &Connect<'_>) -> Answer {
        if self.sockets.iter().any(|socket| connect.socket() == socket) {
            Answer::Refuse(format!("refused {}", connect.socket().display()).into_bytes())
        } else {
            Answer::Proceed
        }
    }

    fn unreadable(&mut self, _: u32) -> Vec<u8> {
        b"refused: unreadable".to_vec()
    }

    fn ended(&mut self, _: &Summary) {}
}

#[expect(clippy::print_stderr, reason = "an example speaks for itself")]
fn main() -> ExitCode {
    let mut rule = Beginnings::default();
    let mut report = None;
    let mut words = std::env::args_os().skip(1);
    let mut command = Command {
        environment: std::env::vars_os().collect(),
        ..Command::default()
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        match word.to_str() {
            Some("--deny") => {
                let text = value();
                let parts = text.to_string_lossy();
                rule.denied
                    .push(parts.split(' ').map(OsString::from).collect());
            }
            Some("--connect") => rule.sockets.push(value().into()),
            Some("--log") => rule.log = File::create(value()).ok(),
            Some("--seal") => {
                command.read_only.push(value().into());
                command.seal = Seal::UserNamespace;
            }
            Some("--report") => report = File::create(value()).ok(),
            _ => break,
        }
    }
    command.program = words.next().unwrap_or_default();
    command.arguments = words.collect();
    let mut told = |text: &[u8]| {
        // In one write: the command writes to the same file.
        let line = format!("guarded: {}\n", String::from_utf8_lossy(text));
        std::io::stderr().write_all(line.as_bytes()).ok();
    };
    let outcome = match supervise::run(&command, &mut rule, &mut told) {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("guarded: {error}");
            return ExitCode::from(2);
        }
    };
    if let Some(report) = &mut report {
        writeln!(report, "{outcome:?}").ok();
    }
    match outcome.end {
        End::Signalled(signal) => supervise::end_by_signal(signal),
        end => ExitCode::from(u8::try_from(end.code()).unwrap_or(u8::MAX)),
    }
}
