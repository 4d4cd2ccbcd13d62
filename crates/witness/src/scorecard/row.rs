//! Contribution of one bundle, recomputed from its own bytes if they can refute its claim.

use crate::bundle::Contents;
use crate::cost;
use crate::extension::{Rollback, field};
use crate::policy::{Check, Meter, Policy};
use crate::replay;
use crate::wire::{Outcome, Tag};

use super::count;

/// Contribution of one bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Outcome of the task: the stated one, unless the test log refutes it.
    pub outcome: Outcome,
    /// Set if the bundle states another outcome than the one that counts.
    pub is_corrected: bool,
    /// Sum of the calls' latencies.
    pub latency_ms: u32,
    /// Cost in millionths of a US dollar.
    pub cost_microdollars: u32,
    /// Set if that is the whole cost; see [`cost::is_known`].
    pub cost_known: bool,
    /// Tokens used.
    pub tokens: u32,
    /// Number of calls that repeated a failed one.
    pub retries: u16,
    /// Set if spec, diff and test log are present and not empty.
    pub evidence_complete: bool,
    /// Breaches of the policy: the larger of the stated and the recomputed number.
    pub violations: u32,
    /// Set if the policy of the header is published or contained, so that breaches could be recomputed.
    pub policy_known: bool,
    /// Hash of the policy, from the header.
    pub policy_hash: [u8; 8],
    /// Number of returns to an earlier state.
    pub rollbacks: u32,
    /// Number of those that were proved to have restored it.
    pub restored: u32,
    /// Set if the session attempted a task; see [`is_task`].
    pub is_task: bool,
    /// Set if a process below an agent sealed the bundle by hand.
    pub by_agent: bool,
}

impl Row {
    /// Reads the row from a bundle.
    #[must_use]
    pub fn of(contents: &Contents<'_>) -> Self {
        let header = contents.header();
        let extensions = contents.extensions();
        let outcome = replay::supported_outcome(contents);
        let violations = violations(contents);
        Self {
            outcome,
            is_corrected: outcome != contents.outcome(),
            latency_ms: header.total_latency_ms,
            cost_microdollars: header.total_cost_microdollars,
            cost_known: cost::is_known(&extensions.provenance),
            tokens: header.total_tokens,
            retries: header.retry_count,
            evidence_complete: contents.has_evidence(),
            violations,
            policy_known: is_policy_known(contents),
            policy_hash: header.policy_hash,
            rollbacks: count(extensions.rollbacks.len()),
            restored: count(
                extensions
                    .rollbacks
                    .iter()
                    .filter(|one| is_proved(one))
                    .count(),
            ),
            // A breach, or work that was undone, always counts, even if nothing else is left of it.
            is_task: is_task(contents) || violations > 0 || !extensions.rollbacks.is_empty(),
            by_agent: extensions
                .provenance
                .contains_key(field::SEALED_BELOW_AGENT),
        }
    }
}

/// Returns `true` if the tree that was found is the wanted one; the bundle's own statement is not enough.
fn is_proved(rollback: &Rollback) -> bool {
    rollback.restored && !rollback.wanted.is_empty() && rollback.wanted == rollback.found
}

/// Returns `true` if the bundle shows an attempt at a task: a diff, a test run, or a task of a suite.
///
/// A session that only answered a question has none of these. A bundle that claims to be solved or failed is always
/// an attempt.
#[must_use]
pub fn is_task(contents: &Contents<'_>) -> bool {
    let fact = |name| contents.extensions().provenance.contains_key(name);
    matches!(contents.outcome(), Outcome::Solved | Outcome::Failed)
        || contents.has_text(Tag::Diff)
        || contents.has_text(Tag::TestLog)
        || fact(field::TEST_COMMAND)
        || fact(field::SUITE_TASK)
}

/// Returns `true` if the policy of the header is one of the published three or is contained in the bundle.
fn is_policy_known(contents: &Contents<'_>) -> bool {
    contents.extensions().policy.is_some() || Policy::is_published(contents.header().policy_hash)
}

/// Counts the breaches of the policy: the larger of the number that the bundle states and the number that its policy
/// and its trace give. With an unknown policy the refused calls are counted, and [`Row::policy_known`] is `false`.
#[must_use]
pub fn violations(contents: &Contents<'_>) -> u32 {
    let extensions = contents.extensions();
    let stated = extensions.violations.as_ref().map(|stated| stated.count);
    let published;
    let policy = match &extensions.policy {
        Some(policy) => Some(policy),
        None => {
            published = Policy::published(contents.header().policy_hash);
            published.as_ref()
        }
    };
    let recomputed = match (policy, stated) {
        (Some(policy), _) => recompute(contents, policy, stated.is_some()),
        (None, Some(_)) => 0,
        (None, None) => count(
            contents
                .calls()
                .filter(|call| call.check == Check::Denied)
                .count(),
        ),
    };
    recomputed.max(stated.unwrap_or_default())
}

/// Checks every call again. A bundle that states its violations was written by a guard that marks the calls it
/// stopped: those never ran, so they neither breach the policy nor count towards the budget of calls. In a bundle of
/// the reference, which states none, they do both.
fn recompute(contents: &Contents<'_>, policy: &Policy, guarded: bool) -> u32 {
    let mut breaches = 0_u32;
    let mut meter = Meter::default();
    for call in contents.calls() {
        let breach = |_| breaches = breaches.saturating_add(1);
        if guarded && call.check == Check::Denied {
            meter.spend(policy, &call, breach);
        } else {
            meter.record(policy, &call, breach);
        }
    }
    // The header counts as well: the scorecard sums its cost.
    let overspent = contents.header().total_cost_microdollars > policy.max_cost_microdollars;
    breaches.max(u32::from(overspent))
}
