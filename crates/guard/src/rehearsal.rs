//! Decides the calls of recorded sessions again, with other settings. Reads journals and files; changes nothing.

use jiff::Timestamp;
use oversight::governance::{Governance, Spent};
use oversight::grants::Grants;
use oversight::tools::shell_command;
use oversight::verdict::{Place, Policy, Verdict};
use oversight::{Act, Call, Rules, decide};

use crate::agents::{Agent, Event, Kind};
use base::config::oversight::{Oversight, Unattended};
use base::environment::{self, Environment};
use base::files::FileError;
use base::workspace::Workspace;
use evidence::journal::read::{Session, journals};
use evidence::journal::record::{self, Line, Record};
use lookup::Disk;

/// Settings and scope of a rehearsal.
#[derive(Debug)]
pub struct Rehearsal<'a> {
    /// Workspace with the sessions.
    pub workspace: &'a Workspace,
    /// Environment variables of this process.
    pub environment: &'a Environment,
    /// The settings to try.
    pub oversight: &'a Oversight,
    /// Set if the gate is on.
    pub gate: bool,
    pub grants: Grants,
    /// Earliest time of calls that count.
    pub since_ns: u64,
}

/// Result of a rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Result {
    /// Calls that were decided again.
    pub calls: u64,
    /// Calls whose arguments were not kept as a whole.
    pub skipped: u64,
    /// Calls with another verdict.
    pub changed: Vec<Changed>,
}

/// A call with another verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub session: String,
    /// Number of the line in its journal.
    pub seq: u64,
    /// Time of the call.
    pub time_ns: u64,
    pub tool: String,
    /// The command, or the arguments.
    pub text: String,
    /// The recorded verdict.
    pub before: String,
    /// The new verdict.
    pub after: &'static str,
    /// Reasons of the new verdict.
    pub reasons: Vec<String>,
}

/// Decides the calls again.
///
/// # Errors
/// A journal cannot be read.
pub fn run(rehearsal: &Rehearsal<'_>) -> std::result::Result<Result, FileError> {
    let stage = Stage::new(rehearsal);
    let mut result = Result::default();
    for (id, path) in journals(&rehearsal.workspace.sessions_dir())? {
        let session = Session::read(&path)?;
        let mut unattended = false;
        for line in &session.lines {
            match &line.record {
                Record::Start(start) => unattended = start.unattended,
                Record::Call(call) if line.time_ns >= rehearsal.since_ns => {
                    if call.capped {
                        result.skipped += 1;
                        continue;
                    }
                    result.calls += 1;
                    let changed = stage.again(id.as_str(), line, call, unattended);
                    result.changed.extend(changed);
                }
                _ => {}
            }
        }
    }
    Ok(result)
}

struct Stage<'a> {
    rehearsal: &'a Rehearsal<'a>,
    policy: Policy,
    governance: Governance,
    home: String,
}

impl<'a> Stage<'a> {
    fn new(rehearsal: &'a Rehearsal<'a>) -> Self {
        let home = environment::home().unwrap_or_else(|| "/".into());
        Self {
            rehearsal,
            policy: rehearsal
                .oversight
                .policy_in(rehearsal.workspace, rehearsal.environment),
            governance: rehearsal.oversight.governance(),
            home: home.to_string_lossy().into_owned(),
        }
    }

    fn again(
        &self,
        session: &str,
        line: &Line,
        call: &record::Call,
        unattended: bool,
    ) -> Option<Changed> {
        let approved = |_: &Act| call.approval.is_some();
        let rules = Rules {
            gate: self.rehearsal.gate,
            policy: &self.policy,
            grants: &self.rehearsal.grants,
            advice: None,
            governance: &self.governance,
            approved: &approved,
        };
        let place = Place {
            directory: &call.cwd,
            home: &self.home,
        };
        let asked = Call {
            tool: &call.tool,
            input: &call.input,
            place,
        };
        let spent = Spent {
            calls: line.calls.saturating_sub(1),
            ..Spent::default()
        };
        let now = Timestamp::from_nanosecond(i128::from(line.time_ns)).unwrap_or(Timestamp::MAX);
        let decision = decide(&rules, &asked, &spent, &Disk, now);
        let after = match decision.verdict {
            Verdict::Ask if self.is_refusal(line, unattended) => Verdict::Deny,
            verdict => verdict,
        };
        // Advice does not change what may run, and contracts are not rehearsed.
        let kind = |verdict: &str| match verdict {
            "advise" => "allow".to_owned(),
            other => other.to_owned(),
        };
        (kind(after.as_str()) != kind(&call.verdict)).then(|| Changed {
            session: session.to_owned(),
            seq: line.seq,
            time_ns: line.time_ns,
            tool: call.tool.clone(),
            text: shell_command(&call.tool, &call.input).unwrap_or_else(|| call.input.to_string()),
            before: call.verdict.clone(),
            after: after.as_str(),
            reasons: decision.reasons,
        })
    }

    /// Returns `true` if a question would be a refusal, because no person could have answered it.
    fn is_refusal(&self, line: &Line, unattended: bool) -> bool {
        let event = Event {
            kind: Kind::BeforeTool,
            ..Event::default()
        };
        let asks =
            Agent::from_name(&line.agent).is_none_or(|agent| agent.dialect().can_ask(&event));
        !asks || (unattended && self.rehearsal.oversight.unattended == Unattended::Deny)
    }
}
