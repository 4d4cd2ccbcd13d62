//! The one question that every seam asks: may this call run? Protected things and the capability gate first (only when
//! the gate is on), then governance, then advice about its form.

use jiff::Timestamp;
use serde_json::Value;

use crate::act::Approvals;
use crate::governance::{Governance, Judgement, Recorded, Spent};
use crate::grants::Grants;
use crate::verdict::{Decision, Place, Policy, Verdict, gate};
use actions::lookup::Lookup;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool as the agent names it.
    pub tool: &'a str,
    /// What it is given.
    pub input: &'a Value,
    /// Where it would run.
    pub place: Place<'a>,
}

/// Everything that a workspace has decided beforehand.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Whether the capability gate is on; protected things are guarded by it as well.
    pub gate: bool,
    /// The gate's settings.
    pub policy: &'a Policy,
    /// What is granted.
    pub grants: &'a Grants,
    /// Advice on the form of the call, as the contract of its tool gives it.
    pub advice: Option<&'a str>,
    /// Mode, lists and budgets.
    pub governance: &'a Governance,
    /// A person's one-time approvals.
    pub approved: &'a dyn Approvals,
}

impl std::fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules")
            .field("gate", &self.gate)
            .field("governance", &self.governance)
            .finish_non_exhaustive()
    }
}

/// Decides about a call. Cannot fail: what is not known is asked about or refused.
#[must_use]
pub fn decide(
    rules: &Rules<'_>,
    call: &Call<'_>,
    spent: &Spent,
    lookup: &dyn Lookup,
    now: Timestamp,
) -> Decision {
    let mut decision = if rules.gate {
        gate(rules.policy, call, lookup, rules.grants, now)
    } else {
        Decision::allow(call)
    };
    govern(&mut decision, rules.governance.judge(call.tool, spent));
    approve(&mut decision, rules.approved);
    decision.notes.extend(rules.advice.map(str::to_owned));
    if !decision.notes.is_empty() {
        decision.verdict = decision.verdict.max(Verdict::Advise);
    }
    decision
}

/// Adds what the mode, the lists and the budgets say.
fn govern(decision: &mut Decision, judged: Judgement) {
    let by_gate = decision.verdict;
    if judged.refused {
        decision.verdict = Verdict::Deny;
        decision.approvable = false;
    } else if judged.asked {
        decision.verdict = decision.verdict.max(Verdict::Ask);
    }
    decision.recorded = match (by_gate, judged.recorded) {
        (Verdict::Deny, _) | (_, Recorded::Denied) => Recorded::Denied,
        (Verdict::Ask, _) => Recorded::Confirmed,
        (_, recorded) => recorded,
    };
    decision.reasons.extend(judged.reasons);
    decision.violations = judged.violations;
    if decision.verdict == Verdict::Deny {
        decision.uses.clear();
    }
}

/// A person's approval of this exact act turns a question or a refusal around, where that is theirs to do.
pub(crate) fn approve(decision: &mut Decision, approvals: &dyn Approvals) {
    let stopped = decision.verdict >= Verdict::Ask;
    if stopped && decision.approvable && approvals.covers(&decision.act) {
        decision.verdict = Verdict::Allow;
        decision.approved = true;
        decision.recorded = Recorded::Confirmed;
        decision.uses.clear();
        decision
            .reasons
            .push("a person approved this exact act once".to_owned());
    }
}

#[cfg(test)]
mod tests;
