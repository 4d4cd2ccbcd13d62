//! The answer: allow, advise, watch, ask or deny, with what was found and why. A refusal is a value; deciding cannot fail.

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

/// What to answer when a part of a command could not be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOpaque {
    /// Let it run.
    Allow,
    /// Let it run under supervision; ask where it would leave that.
    Watch,
    /// Ask a person.
    #[default]
    Ask,
    /// Refuse.
    Deny,
}

/// What is answered to acts that need no grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// To those that destroy something.
    pub destructive: Verdict,
    /// To those that read a secret.
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

/// The gate's settings, as values.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The gated actions.
    pub catalog: Catalog,
    /// What is answered to acts that need no grant.
    pub answers: Answers,
    /// What opaque means.
    pub opaque: OnOpaque,
    /// Whether the scope of every grant binds.
    pub enforce_scope: bool,
    /// What stays out of the agent's reach.
    pub guard: Guard,
}

/// Where a command would run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Working directory, absolute.
    pub directory: &'a str,
    /// Home directory, absolute.
    pub home: &'a str,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What may happen.
    pub verdict: Verdict,
    /// Ids of all actions, sorted.
    pub actions: Vec<String>,
    /// Every finding, for people.
    pub findings: Vec<Finding>,
    /// What stayed unknown.
    pub opaque: Vec<Opaque>,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// The parts of the command that decided.
    pub spans: Vec<Span>,
    /// Protected things that the call touches.
    pub guarded: Vec<Guarded>,
    /// Words of programs that have a daemon or another machine start something.
    pub launches: Vec<Vec<String>>,
    /// Advice for the agent about the form of the call.
    pub notes: Vec<String>,
    /// Actions whose countable grant this call uses up by one.
    pub uses: Vec<String>,
    /// Breaches of the mode, the tool lists and the budgets.
    pub violations: Vec<Violation>,
    /// What the trace of a bundle records.
    pub recorded: Recorded,
    /// What exactly would happen, for an approval.
    pub act: Act,
    /// Whether a person may approve it once; what is protected and what the mode refuses is not for the taking.
    pub approvable: bool,
    /// A one-time approval covered it and is used up.
    pub approved: bool,
}

impl Decision {
    /// Nothing stands against the call.
    pub(crate) fn allow(call: &Call<'_>) -> Self {
        let directory = call.place.directory;
        Self::of(Act::of(
            call.tool,
            call.input,
            directory,
            &Findings::default(),
        ))
    }

    /// Nothing stands against the act so far.
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

/// Decides about a shell command by the gate alone.
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

/// Decides about a call of any tool by the gate alone.
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

/// What a trace says of a verdict of the gate alone.
pub(crate) fn recorded(verdict: Verdict) -> Recorded {
    match verdict {
        Verdict::Deny => Recorded::Denied,
        Verdict::Ask => Recorded::Confirmed,
        Verdict::Allow | Verdict::Advise | Verdict::Watch => Recorded::Allowed,
    }
}

/// What the gate says to a call.
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

/// Weighs what was found, action by action.
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

/// What becomes of a command that cannot be followed and is supervised.
const WATCHED: &str =
    "what it does cannot be told before it runs, so every program of it is judged when that begins";

/// What can be done about a command that cannot be followed, by what is not understood in it.
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

/// What is not understood, for people. A note that shows nothing of the command only counts where it is the only one.
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
