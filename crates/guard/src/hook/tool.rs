//! Decides, records and answers one tool call. The journal is locked throughout, so that two calls of one session
//! cannot spend the same budget.

use std::cell::{OnceCell, RefCell};
use std::time::Instant;

use jiff::Timestamp;
use oversight::act::launch_line;
use oversight::execution::{self, Execution};
use oversight::governance::{Governance, Mode, Recorded, Spent};
use oversight::grants::Grants;
use oversight::tools::shell_command;
use oversight::verdict::{Decision, Place, Verdict};
use oversight::{Act, Call, Rules, decide};
use redact::Known;

use super::desk::Desk;
use super::unknown_cost::Cost;
use super::{Progress, around, notes, words};
use crate::agents::{Answer, Event};
use crate::approvals::{self, Taken};
use crate::contracts;
use crate::contracts::beside::Beside;
use crate::second_seam;
use crate::supervision::{let_through, proof};
use base::environment;
use base::grants::{self, Counted};
use base::pins::Held;
use base::said;
use evidence::journal::append::Journal;
use evidence::journal::capture;
use evidence::journal::record::{self, Record};
use lookup::Disk;

/// Decides a call and records it. `approved` is set to the approved act, if the call may run because of an approval.
pub(super) fn judge(
    desk: &Desk<'_>,
    event: &Event,
    progress: &Progress,
    approved: &mut String,
) -> Answer {
    let begun = Instant::now();
    let mut journal = match desk.journal(event) {
        Ok(journal) => Some(journal),
        Err(error) if desk.is_closed() => return Answer::Block(words::failure(&said(&error))),
        Err(_) => None,
    };
    let gate = match desk.gate_in(journal.as_ref()) {
        Ok(gate) => gate,
        Err(error) => return Answer::Block(words::failure(&said(&error))),
    };
    let governance = match desk.governance_in(journal.as_ref()) {
        Ok(governance) => governance,
        Err(error) => return Answer::Block(words::failure(&said(&error))),
    };
    inject_panic(event);
    let is_first = journal.as_ref().is_some_and(Journal::is_new);
    let ruling = Judging::new(desk, event, (gate, governance), journal.as_ref()).rule();
    let ruling = match ruling {
        Ok(ruling) => ruling,
        Err(why) => return Answer::Block(words::failure(&why)),
    };
    if !progress.claim() {
        return Answer::Block(words::failure("it took too long"));
    }
    if let Some(journal) = &mut journal {
        let written = write(desk, event, journal, &ruling, begun);
        if let Err(error) = written
            && (gate || desk.is_closed())
        {
            return Answer::Block(words::failure(&said(&error)));
        }
    }
    drop(journal);
    if ruling.decision.verdict == Verdict::Watch {
        // A call that is not expected to report is not missed either.
        let command = shell_command(&event.tool, &event.input).unwrap_or_default();
        proof::expect(
            &desk.workspace,
            &desk.session(event),
            &event.call_id,
            &command,
        )
        .ok();
    }
    if ruling.decision.approved {
        *approved = ruling.decision.reasons.join("; ");
    }
    around::call(
        desk,
        event,
        is_first,
        &ruling.decision,
        ruling.answer(&event.tool),
    )
}

/// A decision with its grounds.
pub(super) struct Ruling {
    gate: bool,
    pub(super) decision: Decision,
    /// Id of the used approval.
    approval: Option<String>,
    /// Id for a person's approval.
    pub(super) refusal: Option<String>,
    /// Hash of the act, if it is gated.
    act: Option<String>,
}

impl Ruling {
    fn answer(&self, tool: &str) -> Answer {
        let decision = &self.decision;
        match decision.verdict {
            Verdict::Deny => {
                let id = self.refusal.as_deref();
                let refusal = words::refusal(&decision.actions, tool, &decision.reasons, id);
                Answer::Deny(refusal)
            }
            Verdict::Ask => Answer::Ask(words::question(&decision.reasons)),
            Verdict::Advise | Verdict::Watch if !decision.notes.is_empty() => {
                Answer::Advise(decision.notes.join(" "))
            }
            Verdict::Advise | Verdict::Watch | Verdict::Allow => Answer::Proceed,
        }
    }

    /// Returns `true` for refusals, and for decisions that used something up: these must survive a loss of power.
    fn is_durable(&self) -> bool {
        let used = !self.decision.uses.is_empty() || self.approval.is_some();
        used || self.decision.verdict == Verdict::Deny
    }
}

/// Input of a ruling.
pub(super) struct Judging<'a> {
    desk: &'a Desk<'a>,
    event: &'a Event,
    gate: bool,
    governance: Governance,
    journal: Option<&'a Journal>,
    directory: String,
    home: String,
    now: Timestamp,
    /// The program that is about to begin, if this is not a tool call.
    pub(super) execution: Option<&'a Execution>,
    cost: OnceCell<Cost>,
    pub(super) held: OnceCell<Held>,
    bound: OnceCell<approvals::Act>,
    /// Result of looking for an approval.
    asked: RefCell<Result<Option<String>, String>>,
}

impl<'a> Judging<'a> {
    pub(super) fn new(
        desk: &'a Desk<'a>,
        event: &'a Event,
        (gate, governance): (bool, Governance),
        journal: Option<&'a Journal>,
    ) -> Self {
        let home = environment::home().unwrap_or_else(|| "/".into());
        Self {
            desk,
            event,
            gate,
            governance,
            journal,
            directory: desk.directory(event),
            home: home.to_string_lossy().into_owned(),
            now: Timestamp::from_nanosecond(i128::from(desk.now_ns)).unwrap_or(Timestamp::MAX),
            execution: None,
            cost: OnceCell::new(),
            held: OnceCell::new(),
            bound: OnceCell::new(),
            asked: RefCell::new(Ok(None)),
        }
    }

    pub(super) fn rule(&self) -> Result<Ruling, String> {
        let granted = if self.gate && self.desk.believes_grants {
            grants::load(&self.desk.workspace)
        } else {
            Grants::none()
        };
        let mut decision = self.decide(&granted);
        let by_grant =
            !decision.actions.is_empty() && decision.verdict < Verdict::Deny && !decision.approved;
        if by_grant && let Held::No(why) = self.held() {
            decision = self.decide(&Grants::unreadable(why));
        }
        self.count(&mut decision)?;
        if decision.verdict == Verdict::Ask {
            self.nobody_to_ask(&mut decision);
        }
        let approval = self.asked.borrow().clone().unwrap_or_else(|why| {
            decision.reasons.push(why);
            None
        });
        self.redact(&mut decision);
        let refusal = self.refuse(&mut decision);
        self.note_cost(&mut decision);
        if self.gate && decision.verdict < Verdict::Deny && self.execution.is_none() {
            self.note_for_execution(&decision);
        }
        if self.gate && decision.verdict < Verdict::Ask && !decision.actions.is_empty() {
            // A push that cannot be recorded is decided again by the pre-push hook.
            let command = self.command().unwrap_or_default();
            let facts = &decision.act.facts;
            second_seam::note(&self.desk.workspace, &command, facts).ok();
        }
        let act = (self.gate && !decision.actions.is_empty())
            .then(|| hex::encode(self.bound(&decision.act).digest()));
        Ok(Ruling {
            gate: self.gate,
            decision,
            approval,
            refusal,
            act,
        })
    }

    fn decide(&self, granted: &Grants) -> Decision {
        let covers = |act: &Act| self.is_approved(act);
        let desk = self.desk;
        let policy = desk.policy(self.event);
        let advice = match self.execution {
            Some(_) => None,
            None => self.advice(),
        };
        let rules = Rules {
            gate: self.gate,
            policy: &policy,
            grants: granted,
            advice: advice.as_deref(),
            governance: &self.governance,
            approved: &covers,
        };
        if let Some(execution) = self.execution {
            return execution.decide(&rules, &self.home, &Disk, self.now);
        }
        let spent = Spent {
            calls: self.journal.map_or(0, |journal| journal.head().calls),
            ..self.cost().spent
        };
        decide(&rules, &self.call(), &spent, &Disk, self.now)
    }

    /// Records the acts of a command that may run, so that they are not decided again when they begin. Unrecorded ones
    /// are.
    fn note_for_execution(&self, decision: &Decision) {
        let mut lines = match decision.actions.is_empty() {
            true => Vec::new(),
            false => decision.act.lines(),
        };
        // The approval of a program is also the approval of the daemon for which it is meant.
        let by_person = decision.verdict == Verdict::Ask || decision.approved;
        let launches = decision.launches.iter();
        lines.extend(launches.filter_map(|words| launch_line(words, by_person)));
        if lines.is_empty() || !self.desk.is_supervised(self.event) {
            return;
        }
        let command = self.command().unwrap_or_default();
        let_through::note(&self.desk.workspace, &command, &lines).ok();
    }

    /// Returns the cost of the session, read once.
    fn cost(&self) -> &Cost {
        self.cost.get_or_init(|| {
            let calls = self.journal.map_or(0, |journal| journal.head().calls);
            Cost::read(self.desk, self.event, calls)
        })
    }

    /// Adds the note that a cost budget is not enforced. A refusal carries no notes, so the next answer does.
    fn note_cost(&self, decision: &mut Decision) {
        if decision.verdict >= Verdict::Ask || self.execution.is_some() {
            return;
        }
        if let Some(note) = self.cost().note(self.desk, self.event) {
            decision.verdict = decision.verdict.max(Verdict::Advise);
            decision.notes.push(note);
        }
    }

    /// Returns the advice of the tool's contract; `None` if the contracts cannot be read.
    fn advice(&self) -> Option<String> {
        let source = contracts::Source::of(&self.desk.workspace).ok()?;
        source.advice(&self.call(), &Beside)
    }

    /// Checks that grants and approvals may be trusted in this session.
    fn held(&self) -> &Held {
        self.held.get_or_init(|| {
            let start = match self.journal.map(Journal::start).transpose() {
                Ok(start) => start.flatten(),
                Err(error) => return Held::No(said(&error)),
            };
            self.desk.held(start.and_then(|start| start.pins).as_ref())
        })
    }

    /// Uses up a person's approval of exactly this act, if there is one.
    fn is_approved(&self, act: &Act) -> bool {
        if !self.gate && self.governance.mode == Mode::Off {
            return false;
        }
        let workspace = &self.desk.workspace;
        if !workspace.approvals_dir().exists() {
            return false;
        }
        let taken = match self.held() {
            Held::No(why) => Err(why.clone()),
            Held::Yes => approvals::take(workspace, self.bound(act), self.desk.now_ns)
                .map_err(|error| format!("approvals cannot be used: {}", said(&error))),
        };
        let (covered, outcome) = match taken {
            Ok(Taken::Yes(id)) => (true, Ok(Some(id.to_string()))),
            Ok(Taken::No) => (false, Ok(None)),
            Ok(Taken::Refused(flaw)) => {
                (false, Err(format!("its approval does not count: {flaw}")))
            }
            Err(why) => (false, Err(why)),
        };
        *self.asked.borrow_mut() = outcome;
        covered
    }

    /// Returns the act with everything that an approval binds.
    fn bound(&self, act: &Act) -> &approvals::Act {
        self.bound.get_or_init(|| match self.execution {
            None => approvals::Act::of(&self.call(), act),
            Some(execution) => {
                let input = execution.input();
                let (tool, place) = (execution::TOOL, self.call().place);
                let input = &input;
                approvals::Act::of(&Call { tool, input, place }, act)
            }
        })
    }

    fn call(&self) -> Call<'_> {
        Call {
            tool: &self.event.tool,
            input: &self.event.input,
            place: Place {
                directory: &self.directory,
                home: &self.home,
            },
        }
    }

    /// Returns the command line, if there is one.
    fn command(&self) -> Option<String> {
        match self.execution {
            None => shell_command(&self.event.tool, &self.event.input),
            Some(execution) => shell_command(execution::TOOL, &execution.input()),
        }
    }

    /// Counts the use of a grant; of two concurrent calls for the last use, one is refused.
    fn count(&self, decision: &mut Decision) -> Result<(), String> {
        if decision.uses.is_empty() || decision.verdict == Verdict::Deny {
            return Ok(());
        }
        let counted = grants::count_use(&self.desk.workspace, &decision.uses, self.now);
        match counted.map_err(|error| said(&error))? {
            Counted::Yes(_) => Ok(()),
            Counted::No(action, why) => {
                decision.verdict = Verdict::Deny;
                decision.recorded = Recorded::Denied;
                decision.uses.clear();
                decision
                    .reasons
                    .push(format!("`{action}` is irreversible and {why}"));
                Ok(())
            }
        }
    }

    /// Converts a question that no person can answer into a refusal.
    fn nobody_to_ask(&self, decision: &mut Decision) {
        let dialect = self.desk.dialect();
        let why = if self.execution.is_some() {
            "nobody can be asked about a program that is about to begin".to_owned()
        } else if !dialect.can_ask(self.event) {
            format!("{} cannot put this question to a person", dialect.label)
        } else if self.desk.nobody_answers() {
            "no person is there to be asked".to_owned()
        } else {
            return;
        };
        decision.verdict = Verdict::Deny;
        decision.recorded = Recorded::Denied;
        decision.reasons.push(why);
    }

    /// Removes the call's secrets from reasons and notes.
    fn redact(&self, decision: &mut Decision) {
        if decision.reasons.is_empty() && decision.notes.is_empty() {
            return;
        }
        let input = &self.event.input;
        let command = self.command();
        let known = Known::of(&command.unwrap_or_else(|| capture::canonical(input)));
        let violations = decision.violations.iter_mut().map(|one| &mut one.reason);
        let said = decision.reasons.iter_mut().chain(&mut decision.notes);
        for text in said.chain(violations) {
            *text = known.out_of(text);
        }
    }

    /// Stores a refused act, so that a person can approve it.
    fn refuse(&self, decision: &mut Decision) -> Option<String> {
        if decision.verdict != Verdict::Deny || !decision.approvable {
            return None;
        }
        if let Held::No(why) = self.held() {
            // An approval would not count in this session, so none is offered.
            if !decision.reasons.contains(why) {
                decision.reasons.push(why.clone());
            }
            return None;
        }
        let act = self.bound(&decision.act);
        let kept = approvals::refuse(
            &self.desk.workspace,
            act,
            &decision.reasons,
            self.desk.now_ns,
        );
        match kept {
            Ok(id) if approvals::is_denied(&self.desk.workspace, &id, self.desk.now_ns) => {
                decision.reasons.push(approvals::DENIED.to_owned());
                None
            }
            Ok(id) => Some(id.to_string()),
            Err(error) => {
                let why = format!("it cannot be kept for an approval either: {}", said(&error));
                decision.reasons.push(why);
                None
            }
        }
    }
}

/// Adds the lines of a call to the journal.
pub(super) fn write(
    desk: &Desk<'_>,
    event: &Event,
    journal: &mut Journal,
    ruling: &Ruling,
    begun: Instant,
) -> Result<(), base::files::FileError> {
    desk.begin(journal, event);
    let agent = desk.agent_name();
    if let Some(plan) = notes::plan(event) {
        journal.push(agent, desk.now_ns, Record::Plan(plan));
    }
    let decision = &ruling.decision;
    let input = capture::input(&event.input);
    let grants = match decision.verdict {
        Verdict::Allow | Verdict::Advise | Verdict::Watch if !decision.approved => {
            decision.actions.clone()
        }
        _ => Vec::new(),
    };
    let violations = decision.violations.iter().map(|one| one.reason.clone());
    let call = record::Call {
        call_id: event.call_id.clone(),
        tool: event.tool.clone(),
        input: input.value,
        input_sha256: input.sha256,
        redacted: input.redacted,
        capped: input.capped,
        cwd: desk.directory(event),
        subagent: event.subagent.clone(),
        gate: ruling.gate,
        verdict: decision.verdict.as_str().to_owned(),
        recorded: decision.recorded.as_str().to_owned(),
        actions: decision.actions.clone(),
        reasons: decision.reasons.clone(),
        notes: decision.notes.clone(),
        grants,
        approval: ruling.approval.clone(),
        violations: violations.collect(),
        refusal: ruling.refusal.clone(),
        act: ruling.act.clone(),
        decided_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    journal.push(agent, desk.now_ns, Record::Call(Box::new(call)));
    journal.commit(ruling.is_durable())
}

/// Panics, for the tests.
#[cfg(debug_assertions)]
fn inject_panic(event: &Event) {
    assert!(event.tool != "roleos-test-panic", "as the test asked");
}

#[cfg(not(debug_assertions))]
fn inject_panic(_: &Event) {}
