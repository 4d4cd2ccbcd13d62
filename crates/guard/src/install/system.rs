//! `init --system`: program, settings and public key owned by root, so that the agent's user cannot change them.
//!
//! All paths are below a prefix, which is `/` outside of tests.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::agents::Agent;
use base::approval_key::{PUBLIC_FILE, Place, SYSTEM_DIRECTORY};
use base::files;
use base::programs;
use base::workspace::Workspace;

use super::registration::{self, Program};
use super::settings::Settings;
use super::{Change, InstallError, Mode, Plan};
use base::installed::{Installed, read_text};

/// Installed path of the program.
const PROGRAM: &str = "usr/local/bin/roleos";
/// Largest program that is copied.
const MAX_PROGRAM: u64 = 1 << 30;

/// Settings of the whole machine, which the agent's user cannot change and the agent applies without a question.
const MANAGED: [(Agent, &str); 2] = [
    (Agent::Claude, "etc/claude-code/managed-settings.json"),
    (Agent::Codex, "etc/codex/hooks.json"),
];

/// The machine, or a directory that replaces it in tests.
#[derive(Clone, Debug)]
pub struct Machine {
    prefix: PathBuf,
    owner: u32,
}

impl Machine {
    /// Returns the real machine.
    ///
    /// # Errors
    /// The process is not run by root.
    pub fn real() -> Result<Self, InstallError> {
        if !geteuid().is_root() {
            return Err(InstallError::NotRoot);
        }
        Ok(Self {
            prefix: PathBuf::from("/"),
            owner: 0,
        })
    }

    /// Returns a directory as the machine, with its owner in place of root.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn below(prefix: &Path) -> Result<Self, InstallError> {
        let fail = |source| files::FileError::new(files::Action::Read, prefix, source);
        let prefix = fs::canonicalize(prefix).map_err(fail)?;
        let owner = fs::metadata(&prefix).map_err(fail)?.uid();
        Ok(Self { prefix, owner })
    }

    /// Returns the path of the installed program.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.prefix.join(PROGRAM)
    }

    /// Returns the path of the public key; the private half lies beside it, for root alone.
    #[must_use]
    pub fn public_key(&self) -> PathBuf {
        self.key_directory().join(PUBLIC_FILE)
    }

    fn key_directory(&self) -> PathBuf {
        let directory = SYSTEM_DIRECTORY.trim_start_matches('/');
        self.prefix.join(directory)
    }

    /// Returns the agents whose managed settings hold our hook.
    #[must_use]
    pub fn installed(&self) -> Vec<Agent> {
        let holds = |settings: &Settings| {
            let text = read_text(&settings.path).ok().flatten().unwrap_or_default();
            let entries = settings.entries(&text).unwrap_or_default();
            !registration::found(settings.agent, &entries).is_empty()
        };
        let found = self.settings().into_iter().filter(holds);
        found.map(|settings| settings.agent).collect()
    }

    /// Returns the managed settings of each agent that has any.
    #[must_use]
    pub fn settings(&self) -> Vec<Settings> {
        let at = |(agent, path): &(Agent, &str)| Settings::at(*agent, self.prefix.join(path));
        MANAGED.iter().map(at).collect()
    }

    /// Plans the installation on the machine for this workspace, from the running program.
    ///
    /// # Errors
    /// A file cannot be read or parsed, or other users could replace the installed files.
    pub fn plan(&self, workspace: &Workspace, running: &Path) -> Result<Plan, InstallError> {
        let mut plan = Plan::default();
        let target = self.program();
        plan.changes.extend(copy(running, &target)?);
        let hook = programs::hook(running);
        let target = if hook == running {
            target
        } else {
            let target = target.with_file_name(programs::HOOK);
            plan.changes.extend(copy(&hook, &target)?);
            target
        };
        plan.keys = !self.public_key().exists();
        let program = Program {
            path: target,
            root: workspace.root().to_owned(),
            // Many users share these settings, each with a separate store.
            state: None,
            forced: true,
        };
        // A workspace has no record of the machine's files: our entries are found by their content.
        let mut record = Installed::default();
        for settings in self.settings() {
            plan.changes
                .extend(settings.install(&program, true, &mut record)?);
        }
        plan.changes.extend(self.local_removal(workspace)?);
        plan.notes.push(format!(
            "every Claude Code and Codex session on this machine is judged by the rules of `{}`, the gate always on",
            workspace.root().display()
        ));
        plan.notes.push(format!(
            "approvals are signed by the key in `{}`, which only root can read: `sudo roleos approve <id>`",
            self.key_directory().display()
        ));
        Ok(plan)
    }

    /// Removes the workspace's own entries: the same hook twice would decide, count and use up an approval twice.
    fn local_removal(&self, workspace: &Workspace) -> Result<Vec<Change>, InstallError> {
        let mut record = Installed::read(workspace);
        let mut changes = Vec::new();
        for (agent, _) in MANAGED {
            let settings = Settings::of(agent, workspace.root())?;
            changes.extend(settings.uninstall(&mut record)?);
        }
        changes.extend(super::record_change(workspace, &record)?);
        Ok(changes)
    }

    /// Plans the removal from the machine. The program and the public key stay: other files may rely on them.
    ///
    /// # Errors
    /// A file cannot be read or parsed.
    pub fn plan_removal(&self) -> Result<Plan, InstallError> {
        let mut plan = Plan::default();
        let mut record = Installed::default();
        for settings in self.settings() {
            plan.changes.extend(settings.uninstall(&mut record)?);
        }
        plan.notes.push(format!(
            "`{}` and `{}` stay; remove them by hand when nothing uses them",
            self.program().display(),
            self.public_key().display()
        ));
        Ok(plan)
    }

    /// Executes a plan, after checking the owners of its target directories.
    ///
    /// # Errors
    /// A directory belongs to another user, or a file cannot be written.
    pub fn carry_out(&self, workspace: &Workspace, plan: &Plan) -> Result<(), InstallError> {
        let is_machine = |change: &&Change| !change.path.starts_with(workspace.root());
        for change in plan.changes.iter().filter(is_machine) {
            self.check_owned(files::parent(&change.path))?;
        }
        let keys = self.key_directory();
        self.check_owned(&keys)?;
        if plan.keys {
            files::make_directory(&keys, files::Privacy::Shared)?;
            Place::owned(&keys, self.owner).create(None)?;
        }
        for change in &plan.changes {
            super::write(change)?;
            if change.after.is_none() {
                super::remove_empty_above(&change.path, workspace.root());
            }
        }
        Ok(())
    }

    /// Refuses a directory that other users can write to, as they could replace its content.
    fn check_owned(&self, directory: &Path) -> Result<(), InstallError> {
        let existing = directory.ancestors().filter(|folder| folder.exists());
        for folder in existing.take_while(|folder| folder.starts_with(&self.prefix)) {
            let fail = |source| files::FileError::new(files::Action::Read, folder, source);
            let facts = fs::metadata(folder).map_err(fail)?;
            let why = if facts.uid() != self.owner {
                "it does not belong to root"
            } else if facts.mode() & 0o022 != 0 {
                "others than root can write to it"
            } else {
                continue;
            };
            return Err(InstallError::NotOwned {
                path: folder.to_owned(),
                why: why.to_owned(),
            });
        }
        Ok(())
    }
}

/// Returns the change that puts a copy of a program at `target`; `None` if it is there already.
fn copy(program: &Path, target: &Path) -> Result<Option<Change>, InstallError> {
    let bytes = files::read(program, MAX_PROGRAM)?;
    let before = target.exists().then(|| files::read(target, MAX_PROGRAM));
    let before = before.transpose()?;
    Ok((before.as_ref() != Some(&bytes)).then(|| Change {
        path: target.to_owned(),
        before,
        after: Some(bytes),
        mode: Mode::Like(0o755),
        what: "a program, which only root can replace".to_owned(),
    }))
}
