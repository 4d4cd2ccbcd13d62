//! `pre-push`: the command of git's hook. A person's push passes silently; one below an agent or a supervisor is
//! checked.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base::clean;
use base::config::{Config, ConfigError};
use base::environment::Environment;
use base::said;
use base::workspace::{FindError, Workspace};
use guard::second_seam::{self, Push, Seen};

use crate::exit::Exit;
use crate::write_error;

/// Longest input; git writes one line per ref.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// Arguments of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Name of the remote.
    pub remote: String,
    pub url: String,
    /// The workspace root.
    pub root: Option<PathBuf>,
    /// The user's trust store.
    pub state: Option<PathBuf>,
}

/// Reason why a push is refused.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The workspace cannot be found.
    #[error(transparent)]
    Workspace(#[from] FindError),
    /// The settings cannot be read.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// Git's lines cannot be read.
    #[error("cannot read what git pushes")]
    Input(#[source] io::Error),
    /// The gate refuses it, with the reason.
    #[error("{0}")]
    Refused(String),
}

impl PushError {
    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Workspace(error) => Some(error.hint()),
            Self::Settings(error) => Some(error.hint()),
            Self::Input(_) | Self::Refused(_) => None,
        }
    }
}

impl Pushed {
    /// Parses the arguments after the program's name; `None` if they are not a call of git's hook.
    fn parse(arguments: &[OsString]) -> Option<Self> {
        let mut words = arguments.iter();
        if words.next()? != "pre-push" {
            return None;
        }
        let mut pushed = Self::default();
        loop {
            match words.next()?.to_str()? {
                "--root" => pushed.root = Some(PathBuf::from(words.next()?)),
                "--trust-store" => pushed.state = Some(PathBuf::from(words.next()?)),
                "--" => break,
                _ => return None,
            }
        }
        words.next()?.to_str()?.clone_into(&mut pushed.remote);
        words.next()?.to_str()?.clone_into(&mut pushed.url);
        words.next().is_none().then_some(pushed)
    }
}

/// Checks a push if the arguments, the program's name first, are those of git's hook.
pub fn direct(arguments: &[OsString], version: &str) -> Option<Exit> {
    let pushed = Pushed::parse(arguments.get(1..)?)?;
    let Err(error) = run(&pushed, version) else {
        return Some(Exit::Done);
    };
    let message = said(&error);
    let mut text = format!("error: {}\n", clean::name(message.as_bytes()));
    if let Some(hint) = error.hint() {
        text.push_str(&format!("hint: {hint}\n"));
    }
    write_error(&text);
    Some(Exit::Refused)
}

/// Checks a push, whose refs git writes to standard input.
///
/// # Errors
/// The push is refused, or it cannot be checked.
pub fn run(pushed: &Pushed, version: &str) -> Result<(), PushError> {
    // A person's push does not depend on Role OS, not even on readable settings.
    if second_seam::is_of_person() {
        return Ok(());
    }
    let environment = Environment::read().with_state(pushed.state.as_deref());
    let root: Option<&Path> = pushed.root.as_deref();
    let workspace = Workspace::find(root, &environment)?;
    let config = Config::load(&workspace, &environment)?;
    let mut lines = String::new();
    let read = io::stdin().take(MAX_INPUT).read_to_string(&mut lines);
    read.map_err(PushError::Input)?;
    let gate = config.oversight.capability_gate || environment.capability_gate;
    let push = Push::parse(&pushed.remote, &pushed.url, &lines);
    match second_seam::judge(&workspace, &environment, gate, &push, version) {
        Seen::NotOurs | Seen::LetThrough | Seen::Allowed => Ok(()),
        Seen::Refused(why) => Err(PushError::Refused(why.trim().replace('\n', " — "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Pushed> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Pushed::parse(&words)
    }

    #[test]
    fn the_words_of_the_installed_hook_are_read_and_no_others() {
        let pushed = Pushed {
            remote: "--root".to_owned(),
            url: "git@example.org:x".to_owned(),
            root: Some("/r".into()),
            state: Some("/t".into()),
        };
        let line = "pre-push --root /r --trust-store /t -- --root git@example.org:x";
        assert_eq!(parse(line), Some(pushed));
        for line in [
            "pre-push",
            "pre-push --",
            "pre-push -- origin",
            "pre-push -- origin url more",
            "pre-push --json -- origin url",
            "hook claude",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
