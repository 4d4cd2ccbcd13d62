//! Whether this machine lets commands be supervised: tried, not guessed, and remembered until the next boot.

use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};
use supervise::{Answer, Command, Connect, End, Exec, Judge, Summary, Verification};

use base::environment::{self, Environment};
use base::files::{self, Privacy};

const FILE: &str = "supervision.json";
const MAX_FILE: u64 = 4096;
/// Tells one boot from another.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// How far supervision reaches here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rung", content = "why")]
pub enum Rung {
    /// What begins is compared with what was judged before its first instruction.
    Ptrace,
    /// It is compared shortly after it has begun.
    Cmdline,
    /// There is none, and why.
    None(String),
}

impl Rung {
    /// Whether commands can be supervised.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// Returns the rung in a sentence, for people.
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

/// Tries whether commands can be supervised, or remembers it. To be called by a process with one thread.
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

/// What cannot be remembered is tried again.
fn remember(file: &Path, kept: &Kept) {
    let bytes = serde_json::to_vec(kept).unwrap_or_default();
    let made = files::make_directory(files::parent(file), Privacy::Secret);
    if made.is_ok() {
        files::write(file, &bytes, Privacy::Secret).ok();
    }
}

/// Refuses one program by its words, and lets every other begin.
struct Trial;

/// The word that is refused.
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

/// Runs a shell that starts one program which may begin and one which may not.
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
