//! Determines if this machine allows the supervision of commands, by trying it; the result is stored until the next
//! boot.

use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};
use supervise::{Answer, Command, Connect, End, Exec, Judge, Summary, Verification};

use base::environment::{self, Environment};
use base::files::{self, Privacy};

const FILE: &str = "supervision.json";
const MAX_FILE: u64 = 4096;
/// File that identifies the current boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Degree of supervision on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rung", content = "why")]
pub enum Rung {
    /// Started programs are compared with the decided ones before their first instruction.
    Ptrace,
    /// They are compared shortly after they have begun.
    Cmdline,
    /// There is none, with the reason.
    None(String),
}

impl Rung {
    /// Returns `true` if commands can be supervised.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// Returns the rung as a sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Ptrace => {
                "programs are judged when they begin, and compared before their first instruction"
                    .to_owned()
            }
            Self::Cmdline => "programs are judged when they begin, and compared shortly after: the kernel refuses to trace"
                .to_owned(),
            Self::None(why) => format!("programs cannot be judged when they begin: {why}"),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    boot: String,
    #[serde(flatten)]
    rung: Rung,
}

/// Tries to supervise commands, or returns the stored result. The calling process must have one thread.
#[must_use]
pub fn rung(environment: &Environment) -> Rung {
    let boot = files::read(Path::new(BOOT), MAX_FILE).unwrap_or_default();
    let boot = String::from_utf8_lossy(&boot).trim().to_owned();
    let file = environment.state.as_ref().map(|state| state.join(FILE));
    if let Some(kept) = file
        .as_deref()
        .and_then(remembered)
        .filter(|kept| kept.boot == boot)
    {
        return kept.rung;
    }
    let rung = tried();
    if let Some(file) = file.filter(|_| rung.is_there()) {
        remember(
            &file,
            &Kept {
                boot,
                rung: rung.clone(),
            },
        );
    }
    rung
}

fn remembered(file: &Path) -> Option<Kept> {
    serde_json::from_slice(&files::read(file, MAX_FILE).ok()?).ok()
}

/// Stores the result; without it, the next call tries again.
fn remember(file: &Path, kept: &Kept) {
    let bytes = serde_json::to_vec(kept).unwrap_or_default();
    let made = files::make_directory(files::parent(file), Privacy::Secret);
    if made.is_ok() {
        files::write(file, &bytes, Privacy::Secret).ok();
    }
}

/// Rule that refuses one program by its words, and allows every other.
struct Trial;

/// The refused word.
const REFUSED: &str = "roleos-probe";

impl Judge for Trial {
    fn exec(&mut self, exec: &Exec<'_>) -> Answer {
        match exec.words().get(1).is_some_and(|word| word == REFUSED) {
            true => Answer::Refuse(b"as tried".to_vec()),
            false => Answer::Proceed,
        }
    }

    fn connect(&mut self, _: &Connect<'_>) -> Answer {
        Answer::Proceed
    }

    fn unreadable(&mut self, _: u32) -> Vec<u8> {
        Vec::new()
    }

    fn ended(&mut self, _: &Summary) {}
}

/// Runs a shell that starts one allowed and one refused program.
fn tried() -> Rung {
    let words = ["-c", "/bin/true && ! /bin/true roleos-probe 2>/dev/null"];
    let command = Command {
        program: OsString::from("/bin/sh"),
        arguments: words.map(OsString::from).to_vec(),
        environment: environment::all(),
        ..Command::default()
    };
    let mut told = 0;
    let outcome = match supervise::run(&command, &mut Trial, &mut |_| told += 1) {
        Ok(outcome) => outcome,
        Err(error) => return Rung::None(error.to_string()),
    };
    match (outcome.end, outcome.summary.verification()) {
        _ if outcome.summary.nested => Rung::Ptrace,
        (End::Exited(0), how) if told == 1 => match how {
            Verification::Ptrace => Rung::Ptrace,
            Verification::Cmdline => Rung::Cmdline,
        },
        (end, _) => Rung::None(format!("a trial did not end as it should: {end:?}")),
    }
}
