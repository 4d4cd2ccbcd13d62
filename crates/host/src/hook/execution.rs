//! A program that is about to begin, judged like a call of a tool: same grants, scopes, approvals, ids and journal.

use std::time::Instant;

use oversight::execution::Execution;
use oversight::governance::Mode;
use oversight::verdict::{Policy, Verdict};
use serde_json::json;

use super::desk::Desk;
use super::tool::{self, Judging};
use crate::agents::{Agent, Event, Kind};
use crate::command_lookup::Disk;
use crate::config::Config;
use crate::environment::{self, Environment};
use crate::pins::Pin;
use crate::said;
use crate::workspace::Workspace;

/// The tool under which a journal keeps a program.
const TOOL: &str = "exec";

/// What executions are judged by. The settings are those of the start of the command.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Where grants, approvals and journals lie.
    pub workspace: Workspace,
    /// The settings.
    pub config: Config,
    /// The variables.
    pub environment: Environment,
    /// Our own version.
    pub version: String,
    /// The agent whose session it is; without one, [`called`](Self::called) is its name.
    pub agent: Option<Agent>,
    /// What runs, where it is no agent with a hook.
    pub called: String,
    /// The session.
    pub session: String,
    /// How much freedom, where the settings do not say it.
    pub mode: Option<Mode>,
    /// Grants and settings as they were at the start.
    pub pin: Option<Pin>,
}

/// What was decided about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruled {
    /// It may begin.
    Proceed,
    /// It may not.
    Refused {
        /// The id by which a person may approve it.
        id: Option<String>,
        /// The gated actions.
        actions: Vec<String>,
        /// Why, one sentence each.
        reasons: Vec<String>,
    },
}

impl Bench {
    /// The settings of the gate.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let set = &self.config.oversight;
        set.policy_in(&self.workspace, &self.environment)
    }

    /// Judges a program and writes it down. What goes wrong refuses it.
    #[must_use]
    pub fn judge(&self, execution: &Execution) -> Ruled {
        self.ruled(execution).unwrap_or_else(|why| Ruled::Refused {
            id: None,
            actions: Vec::new(),
            reasons: vec![format!("it cannot be judged: {why}")],
        })
    }

    fn ruled(&self, execution: &Execution) -> Result<Ruled, String> {
        let begun = Instant::now();
        let desk = Desk::of_bench(self);
        let event = Event {
            kind: Kind::BeforeTool,
            session: Some(self.session.clone()),
            cwd: Some(execution.directory.clone()),
            tool: TOOL.to_owned(),
            input: json!({ "argv": execution.words, "program": execution.names }),
            ..Event::default()
        };
        let mut journal = desk.journal(&event).map_err(|error| said(&error))?;
        let held = desk.held(self.pin.as_ref());
        let ruling = Judging::of_execution(&desk, &event, &journal, execution, held).rule()?;
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

    /// Returns `true` if a program does something that is gated.
    #[must_use]
    pub fn is_gated(policy: &Policy, execution: &Execution) -> bool {
        execution.is_gated(policy, &home(), &Disk)
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
