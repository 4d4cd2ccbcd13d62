//! The answer: allow, advise, watch, ask or deny, with the findings and the reasons. A refusal is a value; deciding
//! cannot fail.

use jiff::Timestamp;
use serde_json::Value;

use crate::act::Act;
use crate::decide::Call;
use crate::evaluate::{Certainty, Finding, Findings, Opaque};
use crate::governance::{Recorded, Violation};
use crate::grants::{Binding, Grants, Standing};
use crate::tools;
pub use authority::verdict::Verdict;
use protection::{Guard, Guarded};

use actions::lookup::Lookup;
use actions::scope::refusal;
use actions::{Catalog, Set};
use shell::ir::Span;

/// Answer to a command that could not be followed completely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOpaque {
    /// Let it run.
    Allow,
    /// Let it run under supervision; ask if it would leave that.
    Watch,
    /// Ask a person.
    #[default]
    Ask,
    /// Refuse.
    Deny,
}

/// Answers to acts that need no grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Answer to acts that destroy something.
    pub destructive: Verdict,
    /// Answer to acts that read a secret.
    pub secrets: Verdict,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            destructive: Verdict::Ask,
            secrets: Verdict::Ask,
        }
    }
}

/// Settings of the gate, as values.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The gated actions.
    pub catalog: Catalog,
    /// Answers to acts that need no grant.
    pub answers: Answers,
    /// Answer to an opaque command.
    pub opaque: OnOpaque,
    /// Set if the scope of every grant binds.
    pub enforce_scope: bool,
    /// Things out of the agent's reach.
    pub guard: Guard,
}

/// Directories of a command.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Working directory, absolute.
    pub directory: &'a str,
    /// Home directory, absolute.
    pub home: &'a str,
}

/// Answer with all its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// Ids of all actions, sorted.
    pub actions: Vec<String>,
    /// Every finding, for people.
    pub findings: Vec<Finding>,
    /// Parts that could not be followed.
    pub opaque: Vec<Opaque>,
    /// Reasons, one sentence each.
    pub reasons: Vec<String>,
    /// The parts of the command that decided.
    pub spans: Vec<Span>,
    /// Protected things that the call touches.
    pub guarded: Vec<Guarded>,
    /// Commands whose program makes a daemon or another machine start something.
    pub launches: Vec<Vec<String>>,
    /// Advice for the agent about the form of the call.
    pub notes: Vec<String>,
    /// Actions whose countable grant this call reduces by one.
    pub uses: Vec<String>,
    /// Breaches of the mode, the tool lists and the budgets.
    pub violations: Vec<Violation>,
    /// Verdict for the trace of a bundle.
    pub recorded: Recorded,
    /// Exact act, for an approval.
    pub act: Act,
    /// Set if a person may approve it once; protected things and refusals of the mode cannot be approved.
    pub approvable: bool,
    /// Set if a one-time approval covered it and is used up.
    pub approved: bool,
}

impl Decision {
    /// Creates a decision that allows the call.
    pub(crate) fn allow(call: &Call<'_>) -> Self {
        let directory = call.place.directory;
        Self::of(Act::of(
            call.tool,
            call.input,
            directory,
            &Findings::default(),
        ))
    }

    /// Creates a decision that allows the act.
    fn of(act: Act) -> Self {
        Self {
            verdict: Verdict::Allow,
            actions: Vec::new(),
            findings: Vec::new(),
            opaque: Vec::new(),
            reasons: Vec::new(),
            spans: Vec::new(),
            launches: Vec::new(),
            guarded: Vec::new(),
            notes: Vec::new(),
            uses: Vec::new(),
            violations: Vec::new(),
            recorded: Recorded::Allowed,
            act,
            approvable: true,
            approved: false,
        }
    }
}

/// Decides a shell command by the gate alone.
pub fn decide_command(
    policy: &Policy,
    command: &str,
    place: Place<'_>,
    lookup: &dyn Lookup,
    grants: &Grants,
    now: Timestamp,
) -> Decision {
    let input = serde_json::json!({ "command": command });
    decide_tool(policy, "Bash", &input, place, lookup, grants, now)
}

/// Decides a call of any tool by the gate alone.
pub fn decide_tool(
    policy: &Policy,
    tool: &str,
    input: &Value,
    place: Place<'_>,
    lookup: &dyn Lookup,
    grants: &Grants,
    now: Timestamp,
) -> Decision {
    let call = Call { tool, input, place };
    let mut decision = gate(policy, &call, lookup, grants, now);
    decision.recorded = recorded(decision.verdict);
    decision
}

/// Returns the trace's verdict for a verdict of the gate alone.
pub(crate) fn recorded(verdict: Verdict) -> Recorded {
    match verdict {
        Verdict::Deny => Recorded::Denied,
        Verdict::Ask => Recorded::Confirmed,
        Verdict::Allow | Verdict::Advise | Verdict::Watch => Recorded::Allowed,
    }
}

/// Returns the decision of the gate on a call.
pub(crate) fn gate(
    policy: &Policy,
    call: &Call<'_>,
    lookup: &dyn Lookup,
    grants: &Grants,
    now: Timestamp,
) -> Decision {
    let findings = tools::findings(call, policy, lookup);
    conclude(policy, call, findings, grants, lookup, now)
}

/// Judges the findings, action by action.
pub(crate) fn conclude(
    policy: &Policy,
    call: &Call<'_>,
    findings: Findings,
    grants: &Grants,
    lookup: &dyn Lookup,
    now: Timestamp,
) -> Decision {
    let directory = tools::directory_of(call);
    let mut decision = Decision::of(Act::of(call.tool, call.input, &directory, &findings));
    let mut ids: Vec<String> = findings
        .actions
        .iter()
        .map(|finding| finding.action.clone())
        .collect();
    ids.sort();
    ids.dedup();
    for id in &ids {
        let found = findings.actions.iter().filter(|one| one.action == *id);
        let found: Vec<&Finding> = found.collect();
        weigh_action(policy, id, &found, grants, lookup, now, &mut decision);
    }
    for guarded in &findings.guarded {
        decision.verdict = decision.verdict.max(guarded.verdict);
        decision.approvable &= guarded.verdict != Verdict::Deny || guarded.is_bound;
        decision.reasons.push(guarded.reason.clone());
        decision.spans.extend(guarded.span);
    }
    if !findings.opaque.is_empty() {
        let escapes = findings.opaque.iter().any(|note| note.escapes);
        let verdict = match policy.opaque {
            OnOpaque::Allow => Verdict::Allow,
            OnOpaque::Watch if !escapes => Verdict::Watch,
            OnOpaque::Watch | OnOpaque::Ask => Verdict::Ask,
            OnOpaque::Deny => Verdict::Deny,
        };
        decision.verdict = decision.verdict.max(verdict);
        decision.reasons.extend(told(&findings.opaque, verdict));
        let spans = findings.opaque.iter().filter_map(|note| note.span);
        decision.spans.extend(spans);
    }
    if decision.verdict == Verdict::Deny {
        decision.uses.clear();
    }
    decision.spans.sort_unstable();
    decision.spans.dedup();
    decision.actions = ids;
    decision.findings = findings.actions;
    decision.opaque = findings.opaque;
    decision.guarded = findings.guarded;
    decision.launches = findings.launches;
    decision
}

/// Explanation for a supervised command that cannot be followed.
const WATCHED: &str =
    "what it does cannot be told before it runs, so every program of it is judged when that begins";

/// Returns a hint for a command that cannot be followed, by the reason.
fn next(reason: &str) -> String {
    let is = |parts: &[&str]| parts.iter().any(|part| reason.contains(part));
    let hint = if is(&["from elsewhere", "another version"]) {
        "run that part as a command of its own when the rest is done: its files can be read then"
    } else if is(&["parser", "cannot be analysed", "too deeply"]) {
        "look at its quotes and brackets, or split it into shorter commands"
    } else if is(&["is not known"]) {
        "write the words out where a variable stands"
    } else if reason.starts_with("code starts") {
        "start programs by words that stand in the code, such as [\"git\", \"log\"]"
    } else {
        "write the words out, or save the script to a file and run it from there"
    };
    format!("what it does cannot be told before it runs: {hint}; otherwise a person decides")
}

/// Describes the parts that are not understood, for people. A note without text of the command only counts if there
/// is no other.
fn told(notes: &[Opaque], verdict: Verdict) -> Vec<String> {
    let shows = |note: &&Opaque| !note.text.trim().trim_matches('…').is_empty();
    let mut told: Vec<String> = notes
        .iter()
        .filter(shows)
        .map(|note| format!("{}: `{}`", note.reason, note.text.trim()))
        .collect();
    if told.is_empty() {
        told.extend(notes.first().map(|note| note.reason.clone()));
    }
    let reason = notes.iter().find(shows).or(notes.first());
    told.extend(reason.map(|note| match verdict {
        Verdict::Watch => WATCHED.to_owned(),
        _ => next(&note.reason),
    }));
    told
}

fn weigh_action(
    policy: &Policy,
    id: &str,
    found: &[&Finding],
    grants: &Grants,
    lookup: &dyn Lookup,
    now: Timestamp,
    decision: &mut Decision,
) {
    let action = policy.catalog.action(id);
    let label = action.map_or("", |action| action.label.as_ref());
    let why = match grants.standing(id, now) {
        Standing::Unconfirmed(why) | Standing::Refused(why) => Some(why),
        Standing::Granted => match grants.binding(id, policy.enforce_scope) {
            Binding::No => None,
            Binding::Broken(why) => Some(why.to_owned()),
            Binding::Scope(text) => found
                .iter()
                .find_map(|finding| refusal(&text, finding.performed(), lookup)),
        },
    };
    let Some(why) = why else {
        decision
            .reasons
            .push(format!("`{id}` ({label}) is granted"));
        if grants.is_countable(id) {
            decision.uses.push(id.to_owned());
        }
        return;
    };
    let (answer, what) = match action.map(|action| action.set) {
        Some(Set::Destructive) => (policy.answers.destructive, "loses something"),
        Some(Set::Secrets) => (policy.answers.secrets, "shows a secret"),
        _ => (Verdict::Deny, "is irreversible"),
    };
    let certain = found
        .iter()
        .any(|finding| finding.certainty == Certainty::Certain);
    let most = if certain { Verdict::Deny } else { Verdict::Ask };
    decision.verdict = decision.verdict.max(answer.min(most));
    let undo = action.map_or("", |action| action.compensator.as_ref());
    let undo = if undo.is_empty() {
        "nothing known"
    } else {
        undo
    };
    decision.reasons.push(format!(
        "`{id}` ({label}) {what} and {why}; to undo it: {undo}"
    ));
    decision
        .spans
        .extend(found.iter().filter_map(|finding| finding.span));
}

#[cfg(test)]
mod tests;
