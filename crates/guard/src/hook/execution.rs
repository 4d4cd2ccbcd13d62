//! Decides about a program that is about to begin, like a tool call: same grants, scopes, approvals, ids and journal.

use std::cell::OnceCell;
use std::fs;
use std::time::Instant;

use oversight::act::launch_line;
use oversight::execution::Execution;
use oversight::governance::{Governance, Mode};
use oversight::verdict::{Policy, Verdict};
use serde_json::json;

use super::desk::Desk;
use super::tool::{self, Judging};
use crate::agents::{Agent, Event, Kind};
use crate::second_seam;
use crate::supervision::copies::is_of_system;
use crate::supervision::{let_through, proof};
use base::config::Config;
use base::environment::{self, Environment};
use base::files::FileError;
use base::pins::{Held, Pin};
use base::said;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use evidence::journal::capture::{self, MAX_TEXT};
use evidence::journal::record::{End, Prompt, Record};
use lookup::Disk;

/// Tool name of programs in journals.
const TOOL: &str = "exec";

/// Context for decisions about executions. The settings are those at the start of the command.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Workspace with grants, approvals and journals.
    pub workspace: Workspace,
    pub config: Config,
    /// The environment variables.
    pub environment: Environment,
    /// Version of Role OS.
    pub version: String,
    /// Agent of the session; without one, [`called`](Self::called) is its name.
    pub agent: Option<Agent>,
    /// Name of the program, if it is not an agent with a hook.
    pub called: String,
    pub session: String,
    /// Mode, if the settings do not define one.
    pub mode: Option<Mode>,
    /// Grants and settings at the start.
    pub pin: Option<Pin>,
    /// Set to report that the session's commands are supervised, with the command's text if it is known.
    pub reports: Option<Option<String>>,
}

/// Decision about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// It may begin.
    Proceed,
    /// It may not.
    Refused {
        /// Id for a person's approval.
        id: Option<String>,
        /// The gated actions.
        actions: Vec<String>,
        /// Reasons, one sentence each.
        reasons: Vec<String>,
    },
}

impl Bench {
    /// Returns the policy of the gate.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let set = &self.config.oversight;
        set.policy_in(&self.workspace, &self.environment)
    }

    /// Begins the journal of a separate session, whose task is the command that a person started.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&self, directory: &str, command: &str) -> Result<(), FileError> {
        let desk = Desk::of_bench(self);
        let event = self.event(directory);
        let mut journal = desk.journal(&event)?;
        desk.begin(&mut journal, &event);
        let kept = capture::text(command, MAX_TEXT);
        let task = Record::Prompt(Prompt { kept });
        journal.push(desk.agent_name(), desk.now_ns, task);
        journal.commit(false)
    }

    /// Ends the journal of a separate session.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(&self, directory: &str, code: i32) -> Result<(), FileError> {
        let desk = Desk::of_bench(self);
        let mut journal = desk.journal(&self.event(directory))?;
        let reason = format!("exit code {code}");
        journal.push(desk.agent_name(), desk.now_ns, Record::End(End { reason }));
        // The seal that follows is durable; without it, a session whose process is gone is over anyway.
        journal.commit(false)
    }

    fn event(&self, directory: &str) -> Event {
        Event {
            kind: Kind::BeforeTool,
            session: Some(self.session.clone()),
            cwd: Some(directory.to_owned()),
            tool: TOOL.to_owned(),
            ..Event::default()
        }
    }

    /// Reports that a program of this command was seen. A failed report proves nothing.
    pub fn report(&self) {
        if let Some(command) = &self.reports {
            let session = SessionId::new(&self.session);
            proof::report(&self.workspace, &session, command.as_deref()).ok();
        }
    }

    /// Decides about a program and records the decision. Every failure refuses it.
    #[must_use]
    pub fn judge(&self, process: u32, execution: &Execution) -> Ruled {
        let act = execution.act(&self.policy(), &home(), &Disk);
        let own = self.reports.as_ref().and_then(Option::as_deref);
        if let_through::take(&self.workspace, process, own, &act.lines()) {
            second_seam::note_again(&self.workspace, &act.facts);
            return Ruled::Proceed;
        }
        // Another program under the name of the client could make the daemon do something else than the command says.
        let is_installed =
            || fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|file| is_of_system(&file));
        for by_person in [true, false] {
            let launch = execution.socket.as_ref();
            let launch = launch.and_then(|_| launch_line(&execution.words, by_person));
            if (by_person || is_installed())
                && let_through::take(&self.workspace, process, own, launch.as_slice())
            {
                return Ruled::Proceed;
            }
        }
        self.ruled(execution).unwrap_or_else(|why| Ruled::Refused {
            id: None,
            actions: Vec::new(),
            reasons: vec![format!("it cannot be judged: {why}")],
        })
    }

    /// Records the pushes of a program that belongs to an allowed act, for git's hook.
    pub fn note_push(&self, execution: &Execution) {
        let act = execution.act(&self.policy(), &home(), &Disk);
        second_seam::note_again(&self.workspace, &act.facts);
    }

    fn ruled(&self, execution: &Execution) -> Result<Ruled, String> {
        let begun = Instant::now();
        let desk = Desk::of_bench(self);
        let event = Event {
            input: match &execution.socket {
                None => json!({ "argv": execution.words, "program": execution.names }),
                Some(socket) => {
                    json!({ "argv": execution.words, "program": execution.names, "socket": socket })
                }
            },
            ..self.event(&execution.directory)
        };
        let mut journal = desk.journal(&event).map_err(|error| said(&error))?;
        let held = desk.held(self.pin.as_ref());
        // The mode has decided about its tool call already.
        let gate = (true, Governance::default());
        let mut judging = Judging::new(&desk, &event, gate, Some(&journal));
        judging.execution = Some(execution);
        if held != Held::Yes {
            // A check that failed at the start fails now.
            judging.held = OnceCell::from(held);
        }
        let ruling = judging.rule()?;
        tool::write(&desk, &event, &mut journal, &ruling, begun).map_err(|error| said(&error))?;
        drop(journal);
        if ruling.decision.verdict < Verdict::Ask {
            return Ok(Ruled::Proceed);
        }
        Ok(Ruled::Refused {
            id: ruling.refusal,
            actions: ruling.decision.actions,
            reasons: ruling.decision.reasons,
        })
    }

    /// Returns `true` if a program performs a gated action.
    #[must_use]
    pub fn is_gated(policy: &Policy, execution: &Execution) -> bool {
        execution.is_gated(policy, &home(), &Disk)
    }

    /// Returns `true` if a program is a push that sends nothing.
    #[must_use]
    pub fn is_dry_push(policy: &Policy, execution: &Execution) -> bool {
        execution.is_dry_push(policy, &home(), &Disk)
    }

    /// Returns the gated actions of a program.
    #[must_use]
    pub fn actions(policy: &Policy, execution: &Execution) -> Vec<String> {
        execution.actions(policy, &home(), &Disk)
    }
}

fn home() -> String {
    let home = environment::home().unwrap_or_else(|| "/".into());
    home.to_string_lossy().into_owned()
}
