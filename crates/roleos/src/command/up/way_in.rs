//! Outputs of the login code for the operator: the terminal, a file that they named, or `roleos login-code`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base::agents_above::{self, AgentAbove};
use base::files::{self, Action, FileError, Privacy};
use base::workspace::Workspace;
use web::login::Logins;
use web::login::local::LocalDoor;

use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BOLD, Ui};

/// The file of `--operator-code-file`; it is removed when the process ends.
#[derive(Debug)]
pub(super) struct CodeFile(PathBuf);

impl CodeFile {
    /// Accepts a path without a file, or with one that only this user can read.
    pub(super) fn take(path: &Path) -> Result<Self, Failure> {
        let refused = |why: &str| {
            let message = format!("`{}` cannot hold the login code: {why}", path.display());
            Failure::refused("bad_code_file", message)
                .hint("name a file that does not exist yet, in a folder of your own")
        };
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(FileError::new(Action::Read, path, error).into()),
            Ok(found) if found.is_symlink() => return Err(refused("it is a link")),
            Ok(found) if !found.is_file() => return Err(refused("it is not a file")),
            Ok(found) if found.mode() & 0o077 != 0 => {
                return Err(refused("others may read or write it"));
            }
            Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => {
                return Err(refused("it belongs to another user"));
            }
            Ok(_) => {}
        }
        // A folder that is not writable is detected before anything listens.
        write(path, "")?;
        Ok(Self(path.to_owned()))
    }
}

/// Replaces the file, so that a link created meanwhile is not followed.
fn write(path: &Path, code: &str) -> Result<(), FileError> {
    files::write(path, format!("{code}\n").as_bytes(), Privacy::Secret)
}

impl Drop for CodeFile {
    fn drop(&mut self) {
        files::remove_file(&self.0).ok();
    }
}

/// Possible outputs of a code.
pub(super) enum WayIn {
    /// None: an agent could read it.
    Closed,
    Terminal(File),
    /// A service without a terminal.
    NoTerminal,
}

impl WayIn {
    /// Checks for an agent above, then for a terminal.
    pub(super) fn find(ui: &Ui, workspace: &Workspace, file: Option<&CodeFile>) -> Self {
        if let Some(AgentAbove { agent, .. }) = agents_above::find() {
            let agent = clean::name(agent.as_bytes()).into_owned();
            ui.note(format_args!(
                "warning: login is closed, because this runs below {agent}; start `roleos up` in a terminal of your own"
            ));
            return Self::Closed;
        }
        let is_exposed = |file: &&CodeFile| {
            let inside = file.0.starts_with(workspace.root());
            inside && !file.0.starts_with(workspace.keys_dir())
        };
        if let Some(file) = file.filter(is_exposed) {
            ui.note(format_args!(
                "warning: agents that work here can read `{}`; name a file outside of the workspace",
                file.0.display()
            ));
        }
        let terminal = OpenOptions::new().write(true).open("/dev/tty");
        terminal.map_or(Self::NoTerminal, Self::Terminal)
    }

    /// Opens the socket for `roleos login-code`, only if no terminal shows the code, so that it is not in two places.
    pub(super) fn door(&self, ui: &Ui, workspace: &Workspace) -> Option<LocalDoor> {
        let Self::NoTerminal = self else { return None };
        match LocalDoor::open(workspace) {
            Ok(door) => {
                ui.note("log in with the code that `roleos login-code` prints on this machine");
                Some(door)
            }
            Err(error) => {
                ui.note(format_args!(
                    "warning: `roleos login-code` will not work: {error}"
                ));
                None
            }
        }
    }

    /// Creates logins. Codes are written only to `file` and the terminal: an agent could read any other place.
    pub(super) fn logins(self, ui: &Ui, file: Option<&CodeFile>, token: Option<Vec<u8>>) -> Logins {
        let screen = match self {
            Self::Closed => return Logins::closed(),
            Self::Terminal(terminal) => Some(Mutex::new(ui.on(terminal))),
            Self::NoTerminal => None,
        };
        let file = file.map(|file| file.0.clone());
        let told = *ui;
        let logins = Logins::new(move |code| {
            if let Some(screen) = &screen {
                let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
                // A terminal that is gone has no reader.
                writeln!(screen, "login code: {BOLD}{code}{BOLD:#} (works once)").ok();
            }
            if let Some(error) = file.as_ref().and_then(|file| write(file, code).err()) {
                told.note(format_args!("warning: {error}"));
            }
        });
        match token {
            Some(token) => logins.with_token(token),
            None => logins,
        }
    }
}
