//! Overview of a workspace, and the next useful command. Reads existing files and changes nothing.

use std::path::PathBuf;

use base::clock;
use base::config::Config;
use base::environment::Environment;
use base::files::FileError;
use base::installed::read_text;
use base::workspace::Workspace;
use evidence::journal::read::{Session, journals};
use evidence::journal::record::Record;
use evidence::scan;
use guard::agents::Agent;
use guard::approvals;
use guard::install::registration;
use guard::install::settings::Settings;
use routing::specialists::{Named, Paths, Specialists};

/// Limit of journals: only the newest can be open, older ones were sealed long ago.
const JOURNALS: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Set if `.role-os/` exists.
    pub is_set_up: bool,
    /// Set if the capability gate is on.
    pub gate: bool,
    /// Agents with our hook in their settings.
    pub guarded: Vec<Agent>,
    /// Agents that are used here and do not have our hook.
    pub unguarded: Vec<Agent>,
    /// Number of sessions of agents.
    pub sessions: usize,
    /// Number of sessions that have ended and are not sealed.
    pub unsealed: usize,
    /// Number of refused acts that a person can approve now.
    pub waiting: usize,
    /// Number of approvals that the agent has not used yet.
    pub approved: usize,
    /// Number of bundles in the store.
    pub tasks: usize,
    /// Number of roles with a specialist.
    pub specialists: usize,
    /// Roles whose specialist is halted.
    pub halted: Vec<String>,
    /// Descriptions of unreadable files.
    pub problems: Vec<String>,
}

/// Next command, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Reason, as the beginning of a sentence that ends with the command.
    pub why: &'static str,
    /// Command line.
    pub command: &'static str,
}

impl Overview {
    /// Collects the overview.
    #[must_use]
    pub fn of(workspace: &Workspace, config: &Config, environment: &Environment) -> Self {
        let mut overview = Self {
            root: workspace.root().to_owned(),
            is_set_up: workspace.role_os_dir().is_dir(),
            gate: config.oversight.capability_gate || environment.capability_gate,
            ..Self::default()
        };
        overview.agents(workspace);
        overview.journals(workspace);
        overview.approvals(workspace);
        match scan::find(&[workspace.witness_dir()]) {
            Ok(bundles) => overview.tasks = bundles.len(),
            Err(error) if is_missing(&error) => {}
            Err(error) => overview.problems.push(error.to_string()),
        }
        overview.specialists(workspace, config, environment);
        overview
    }

    fn approvals(&mut self, workspace: &Workspace) {
        let now = clock::now_ns();
        let pending = approvals::pending(workspace, now);
        match pending.and_then(|pending| Ok((pending, approvals::given(workspace, now)?))) {
            Ok((pending, given)) => {
                self.waiting = pending.len();
                self.approved = given.len();
            }
            Err(error) => self.problems.push(error.to_string()),
        }
    }

    fn agents(&mut self, workspace: &Workspace) {
        for agent in Agent::ALL {
            let entries = Settings::of(agent, workspace.root()).and_then(|settings| {
                let text = read_text(&settings.path)?.unwrap_or_default();
                settings.entries(&text)
            });
            match entries {
                Ok(entries) if !registration::found(agent, &entries).is_empty() => {
                    self.guarded.push(agent);
                }
                Ok(_) => {}
                Err(error) => self.problems.push(error.to_string()),
            }
        }
        let used = registration::used_here(workspace.root()).into_iter();
        self.unguarded = used.filter(|agent| !self.guarded.contains(agent)).collect();
    }

    fn journals(&mut self, workspace: &Workspace) {
        let found = match journals(&workspace.sessions_dir()) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return,
            Err(error) => return self.problems.push(error.to_string()),
        };
        self.sessions = found.len();
        for (_, path) in found.iter().rev().take(JOURNALS) {
            match Session::read(path) {
                Ok(session) => {
                    let last = session.lines.last().map(|line| &line.record);
                    let is_sealed = matches!(last, Some(Record::Sealed(_)));
                    self.unsealed += usize::from(session.has_ended() && !is_sealed);
                }
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }

    fn specialists(&mut self, workspace: &Workspace, config: &Config, environment: &Environment) {
        let settings = match routing::specialists::Settings::load(config, environment) {
            Ok(settings) => settings,
            Err(error) => return self.problems.push(error.to_string()),
        };
        let paths = Paths::find(workspace, environment, &Named::default());
        let specialists = Specialists::new(paths, settings);
        let registry = match specialists.registry() {
            Ok(registry) => registry,
            Err(error) => return self.problems.push(error.to_string()),
        };
        self.specialists = registry.entries().len();
        let roles = registry.entries().iter().map(|entry| entry.role.clone());
        match specialists.state() {
            Ok(state) => self.halted = roles.filter(|role| state.halt(role).is_some()).collect(),
            Err(error) => self.problems.push(error.to_string()),
        }
    }

    /// Returns the next useful command.
    #[must_use]
    pub fn next(&self) -> Next {
        let (why, command) = if !self.problems.is_empty() {
            (
                "Something here cannot be read; what is wrong says",
                "roleos doctor",
            )
        } else if !self.is_set_up || self.guarded.is_empty() {
            ("No agent is guarded here yet. Next", "roleos init")
        } else if !self.gate {
            (
                "The gate is off, so nothing is refused. Next",
                "roleos init",
            )
        } else if !self.halted.is_empty() {
            (
                "A specialist is halted; why says",
                "roleos specialist status",
            )
        } else if self.waiting > 0 {
            ("Refused acts wait for a person. Next", "roleos approve")
        } else if self.unsealed > 0 {
            (
                "Sessions are over and not yet sealed. Next",
                "roleos sessions seal --all",
            )
        } else if self.tasks == 0 {
            (
                "No task has been sealed yet. Work with your agent; its sessions are in",
                "roleos sessions list",
            )
        } else {
            (
                "There is evidence. What it adds up to says",
                "roleos scorecard",
            )
        };
        Next { why, command }
    }
}

fn is_missing(error: &FileError) -> bool {
    error.source.kind() == std::io::ErrorKind::NotFound
}
