//! The answer: allow, advise, ask or deny, with what was found and why. A refusal is a value; deciding cannot fail.

use crate::actions::Catalog;
use crate::evaluate::{Certainty, Evaluator, Finding, Findings, Opaque};
use crate::grants::{Grants, Standing};
use crate::lookup::Lookup;
use crate::shell::ir::Span;
use crate::tools;

use jiff::Timestamp;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run; there is something to say.
    Advise,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

impl Verdict {
    /// As programs read it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Advise => "advise",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What to answer when a part of a command could not be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOpaque {
    /// Let it run.
    Allow,
    /// Ask a person.
    #[default]
    Ask,
    /// Refuse.
    Deny,
}

/// The gate's settings, as values.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The gated actions.
    pub catalog: Catalog,
    /// What opaque means.
    pub opaque: OnOpaque,
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
}

/// Decides about a shell command, the gate being on.
pub fn decide_command(
    policy: &Policy,
    command: &str,
    place: Place<'_>,
    lookup: &dyn Lookup,
    grants: &Grants,
    now: Timestamp,
) -> Decision {
    let mut evaluator = Evaluator::new(lookup, &policy.catalog, place.directory, place.home);
    evaluator.whole(command);
    conclude(policy, evaluator.findings, grants, now)
}

/// Decides about a call of another tool, by its name and arguments.
pub fn decide_tool(
    policy: &Policy,
    tool: &str,
    input: &serde_json::Value,
    place: Place<'_>,
    lookup: &dyn Lookup,
    grants: &Grants,
    now: Timestamp,
) -> Decision {
    if let Some(command) = tools::shell_command(tool, input) {
        return decide_command(policy, &command, place, lookup, grants, now);
    }
    conclude(
        policy,
        tools::findings(tool, input, &policy.catalog),
        grants,
        now,
    )
}

fn conclude(policy: &Policy, findings: Findings, grants: &Grants, now: Timestamp) -> Decision {
    let mut verdict = Verdict::Allow;
    let mut reasons = Vec::new();
    let mut spans = Vec::new();
    let mut ids: Vec<String> = findings
        .actions
        .iter()
        .map(|finding| finding.action.clone())
        .collect();
    ids.sort();
    ids.dedup();
    for id in &ids {
        let certain = findings
            .actions
            .iter()
            .any(|finding| finding.action == *id && finding.certainty == Certainty::Certain);
        let label = policy
            .catalog
            .action(id)
            .map_or("", |action| action.label.as_str());
        match grants.standing(id, now) {
            Standing::Granted => reasons.push(format!("`{id}` ({label}) is granted")),
            Standing::Refused(why) => {
                verdict = verdict.max(if certain { Verdict::Deny } else { Verdict::Ask });
                let undo = policy
                    .catalog
                    .action(id)
                    .map_or("", |action| action.compensator.as_str());
                reasons.push(format!(
                    "`{id}` ({label}) is irreversible and {why}; to undo: {undo}"
                ));
                spans.extend(
                    findings
                        .actions
                        .iter()
                        .filter(|finding| finding.action == *id)
                        .filter_map(|finding| finding.span),
                );
            }
        }
    }
    if !findings.opaque.is_empty() {
        verdict = verdict.max(match policy.opaque {
            OnOpaque::Allow => Verdict::Allow,
            OnOpaque::Ask => Verdict::Ask,
            OnOpaque::Deny => Verdict::Deny,
        });
        for note in &findings.opaque {
            reasons.push(format!("{}: `{}`", note.reason, note.text.trim()));
            spans.extend(note.span);
        }
    }
    spans.sort_unstable();
    spans.dedup();
    Decision {
        verdict,
        actions: ids,
        findings: findings.actions,
        opaque: findings.opaque,
        reasons,
        spans,
    }
}
