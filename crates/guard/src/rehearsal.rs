//! Decides again about the calls of recorded sessions, by other settings. Reads journals and files; changes nothing.

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

/// What is tried.
#[derive(Debug)]
pub struct Rehearsal<'a> {
    /// Whose sessions.
    pub workspace: &'a Workspace,
    /// The variables of this process.
    pub environment: &'a Environment,
    /// The settings to try.
    pub oversight: &'a Oversight,
    /// Whether the gate is on.
    pub gate: bool,
    /// What is granted.
    pub grants: Grants,
    /// Calls before that are left out.
    pub since_ns: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Result {
    /// Calls that were decided again.
    pub calls: u64,
    /// Calls whose arguments were not kept whole.
    pub skipped: u64,
    /// Calls whose verdict would be another.
    pub changed: Vec<Changed>,
}

/// A call with another verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The session.
    pub session: String,
    /// Number of the line in its journal.
    pub seq: u64,
    /// When.
    pub time_ns: u64,
    /// The tool.
    pub tool: String,
    /// The command, or the arguments.
    pub text: String,
    /// The verdict that was given.
    pub before: String,
    /// The verdict that would be.
    pub after: &'static str,
    /// Why it would be.
    pub reasons: Vec<String>,
}

/// Decides again.
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
        // Advice is no difference in what may run, and contracts are not rehearsed.
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

    /// Whether a question would be a refusal, as nobody could have answered it.
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
