//! The settings of the workspace, read once for one event.

use std::io;
use std::path::Path;

use oversight::governance::{Governance, Mode};
use oversight::tools::shell_command;
use oversight::verdict::{OnOpaque, Policy};

use super::execution::Bench;
use super::{Request, unknown_cost};
use crate::agents::{Agent, Dialect, Event, Kind};
use crate::install::strength;
use crate::supervision::{self, proof};
use base::clock;
use base::config::oversight::{Unattended, recorded};
use base::config::{Config, ConfigError};
use base::environment::{self, Environment};
use base::files::FileError;
use base::liveness;
use base::pins::{self, Held, Pin};
use base::repository::State;
use base::said;
use base::starter;
use base::trust::review;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use evidence::journal::append::Journal;
use evidence::journal::reached::JournalNotes;
use evidence::journal::record::{Limits, Record, Start};

/// Context of one answer.
pub(super) struct Desk<'a> {
    pub(super) agent: Agent,
    pub(super) workspace: Workspace,
    pub(super) config: Config,
    pub(super) environment: &'a Environment,
    pub(super) governance: Governance,
    pub(super) version: &'a str,
    pub(super) now_ns: u64,
    /// Set if grants count, and not only approvals of a person.
    pub(super) believes_grants: bool,
    /// Error of reading the settings; the strictest ones apply then.
    pub(super) unreadable: Option<String>,
    /// Name of an agent without a hook.
    called: Option<&'a str>,
    gate: bool,
}

impl<'a> Desk<'a> {
    pub(super) fn open(request: &Request<'a>) -> Result<Self, String> {
        let environment = request.environment;
        let workspace = Workspace::find(request.root, environment).map_err(|error| said(&error))?;
        let (config, unreadable) = match Config::load(&workspace, environment) {
            Ok(config) => (config, None),
            Err(error) => (Config::strict(), Some(config_said(&error))),
        };
        Ok(Self {
            unreadable,
            agent: request.agent,
            governance: config.oversight.governance(),
            gate: environment.capability_gate || config.oversight.capability_gate,
            workspace,
            config,
            environment,
            version: request.version,
            now_ns: clock::now_ns(),
            believes_grants: true,
            called: None,
        })
    }

    /// Creates the context for programs that are about to begin, with settings read before: the gate is on.
    pub(super) fn of_bench(bench: &'a Bench) -> Self {
        let mode = bench.mode.unwrap_or(Mode::Off);
        Self {
            agent: bench.agent.unwrap_or(Agent::Claude),
            governance: bench
                .mode
                .map_or_else(|| bench.config.oversight.governance(), Governance::of_mode),
            gate: true,
            workspace: bench.workspace.clone(),
            config: bench.config.clone(),
            environment: &bench.environment,
            version: &bench.version,
            now_ns: clock::now_ns(),
            believes_grants: !matches!(mode, Mode::Restricted | Mode::Approved),
            unreadable: None,
            called: bench.agent.is_none().then_some(bench.called.as_str()),
        }
    }

    /// Returns the agent's name for the journal.
    pub(super) fn agent_name(&self) -> &str {
        self.called.unwrap_or_else(|| self.agent.name())
    }

    /// Returns `true` if Role OS was never set up in this folder and there is nothing to decide: nothing is written
    /// there.
    pub(super) fn is_foreign(&self) -> bool {
        !self.is_closed() && !self.workspace.role_os_dir().is_dir()
    }

    /// Returns the ignored settings of this workspace with reasons, for the start of a session.
    pub(super) fn ignored(&self) -> Option<String> {
        let found = match review::candidates(&self.workspace, self.environment) {
            Ok(found) => found,
            Err(error) => return Some(format!("roleos: {}", said(&error))),
        };
        let root = self.workspace.root();
        let sentences = found.iter().filter_map(|one| one.sentence(root));
        let mut sentences: Vec<String> = sentences.collect();
        if sentences.is_empty() {
            let told = review::not_initialised(&self.workspace, self.environment)?;
            return Some(format!("roleos: {told}"));
        }
        sentences.push("a person looks at it with `roleos trust`".to_owned());
        Some(format!("roleos: {}", sentences.join("; ")))
    }

    /// Returns `true` if failures must block.
    pub(super) fn is_closed(&self) -> bool {
        self.gate || self.governance.mode != Mode::Off
    }

    pub(super) fn dialect(&self) -> &'static Dialect {
        self.agent.dialect()
    }

    /// Returns the settings of the gate, with the paths that the agent must not reach. Unanalysable commands are
    /// supervised only if the session has proved that supervision works.
    pub(super) fn policy(&self, event: &Event) -> Policy {
        let set = &self.config.oversight;
        let mut policy = set.policy_in(&self.workspace, self.environment);
        if policy.opaque == OnOpaque::Watch && !self.is_supervised(event) {
            policy.opaque = OnOpaque::Ask;
        }
        policy
    }

    /// Returns `true` if the programs of this call will be decided when they begin: the agent itself is supervised, or
    /// the session has proved that its commands are.
    pub(super) fn is_supervised(&self, event: &Event) -> bool {
        if supervision::is_supervised() {
            return true;
        }
        let is_shell = shell_command(&event.tool, &event.input).is_some();
        is_shell
            && self.agent == Agent::Claude
            && proof::holds(&self.workspace, &self.session(event))
    }

    /// Returns `true` if a question must be a refusal, because no person is there to answer it.
    pub(super) fn nobody_answers(&self) -> bool {
        self.config.oversight.unattended == Unattended::Deny && self.is_unattended()
    }

    fn is_unattended(&self) -> bool {
        self.dialect().unattended(environment::agent_mark)
    }

    /// Returns the working directory of the agent.
    pub(super) fn directory(&self, event: &Event) -> String {
        let root = || self.workspace.root().to_string_lossy().into_owned();
        let told = event.cwd.as_ref().filter(|cwd| cwd.starts_with('/'));
        told.cloned().unwrap_or_else(root)
    }

    /// Opens the session's journal, locked. Sessions without an id share one.
    pub(super) fn journal(&self, event: &Event) -> Result<Journal, FileError> {
        starter::ensure_home(&self.workspace)?;
        let notes = match self.is_closed() {
            true => JournalNotes::open(&self.workspace)?,
            false => JournalNotes::existing(&self.workspace),
        };
        let directory = self.workspace.sessions_dir();
        Journal::open_noted(&directory, &self.session(event), notes)
    }

    /// Returns the session's name on disk.
    pub(super) fn session(&self, event: &Event) -> SessionId {
        let unnamed = || format!("{}-unnamed", self.agent_name());
        SessionId::new(&event.session.clone().unwrap_or_else(unnamed))
    }

    /// Begins a new journal, if the agent did not report the session's start.
    pub(super) fn begin(&self, journal: &mut Journal, event: &Event) {
        if journal.is_new() {
            let start = self.start(event, "first-seen");
            journal.push(self.agent_name(), self.now_ns, start);
        }
    }

    pub(super) fn start(&self, event: &Event, source: &str) -> Record {
        let directory = self.directory(event);
        let state = State::read(Path::new(&directory));
        let policy = recorded(&self.governance);
        Record::Start(Box::new(Start {
            session: event.session.clone().unwrap_or_default(),
            source: source.to_owned(),
            model: event.model.clone(),
            // After the start of a session, the role is that of a subagent.
            role: event
                .subagent
                .clone()
                .filter(|_| event.kind == Kind::SessionStart),
            transcript: event.transcript.clone(),
            base_commit: state.as_ref().and_then(|state| state.commit.clone()),
            branch: state.map(|state| state.branch().to_owned()),
            cwd: directory,
            pins: Some(pins::pin(&self.workspace, self.environment)),
            wired: strength::is_wired(self.workspace.root()),
            roleos: self.version.to_owned(),
            gate: self.gate,
            unattended: self.is_unattended(),
            mode: self.governance.mode.as_str().to_owned(),
            policy: policy.hashed_text(),
            limits: (self.governance.mode != Mode::Off).then(|| Limits::from(&self.governance)),
            process: liveness::agent_process(),
            notes: unknown_cost::at_start(self, event).into_iter().collect(),
        }))
    }

    /// Checks that the files pinned at the session's start are unchanged. A session without a pin always passes.
    pub(super) fn held(&self, pin: Option<&Pin>) -> Held {
        pin.map_or(Held::Yes, |pin| {
            pins::check(pin, &self.workspace, self.environment)
        })
    }

    /// Returns `true` if the gate is on for this session. It stays on for a session that began with it, unless a person
    /// has switched it off through us: code that an agent runs can write the settings too.
    pub(super) fn gate_in(&self, journal: Option<&Journal>) -> Result<bool, FileError> {
        let Some(journal) = journal.filter(|journal| !self.gate && !journal.is_new()) else {
            return Ok(self.gate);
        };
        let start = journal.start()?.filter(|start| start.gate);
        Ok(start.is_some_and(|start| {
            !self.has_settings_of(&start) || self.held(start.pins.as_ref()) != Held::Yes
        }))
    }

    /// Returns the mode and limits of this session. If the settings file was changed since it began, and not by a
    /// person through us, those of its start apply as well.
    pub(super) fn governance_in(&self, journal: Option<&Journal>) -> Result<Governance, FileError> {
        let start = journal.map(Journal::start).transpose()?.flatten();
        let changed = start.filter(|start| !self.has_settings_of(start));
        let begun = changed.as_ref().and_then(Start::governance);
        Ok(begun.map_or_else(
            || self.governance.clone(),
            |begun| begun.stricter(&self.governance),
        ))
    }

    /// Returns `true` if the settings file is unchanged since the session's start, or a person changed it through us.
    fn has_settings_of(&self, start: &Start) -> bool {
        let holds = |pin| pins::settings_hold(pin, &self.workspace, self.environment);
        start.pins.as_ref().is_none_or(holds)
    }
}

fn config_said(error: &ConfigError) -> String {
    let is_missing = matches!(
        error,
        ConfigError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound
    );
    let hint = if is_missing {
        "; `ROLEOS_CONFIG` names it"
    } else {
        ""
    };
    format!("{}{hint}", said(error))
}
