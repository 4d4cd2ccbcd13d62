//! Decides if a call may run. Protected things and the capability gate come first (only if the gate is on), then
//! governance, then advice about the form of the call.

use jiff::Timestamp;
use serde_json::Value;

use crate::act::Approvals;
use crate::governance::{Governance, Judgement, Recorded, Spent};
use crate::grants::Grants;
use crate::verdict::{Decision, Place, Policy, Verdict, gate};
use actions::lookup::Lookup;

/// Call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Name of the tool by the agent.
    pub tool: &'a str,
    /// Input of the tool.
    pub input: &'a Value,
    /// Directories of the call.
    pub place: Place<'a>,
}

/// Settings that a workspace has made beforehand.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Set if the capability gate is on; it also guards protected things.
    pub gate: bool,
    /// Settings of the gate.
    pub policy: &'a Policy,
    /// Grants in force.
    pub grants: &'a Grants,
    /// Advice on the form of the call, from the contract of its tool.
    pub advice: Option<&'a str>,
    /// Mode, lists and budgets.
    pub governance: &'a Governance,
    /// One-time approvals by a person.
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

/// Decides a call. Cannot fail: an unknown part leads to a question or a refusal.
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

/// Adds the verdict of the mode, the lists and the budgets.
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

/// Turns a question or a refusal into permission if a person approved this exact act, and may approve it.
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
