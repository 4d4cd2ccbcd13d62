//! The table of guarded settings: which of two values is the weaker one.

use oversight::governance::Governance;

use super::Why;
use crate::config::Config;
use crate::config::oversight::{Answer, Extended, GovernanceMode, Oversight, Unattended};
use crate::config::within::Within;

/// A setting that an unconfirmed file must not weaken.
pub(super) struct Guarded {
    pub(super) key: &'static str,
    pub(super) why: Why,
    /// Returns `true` if the first value allows what the second does not.
    pub(super) is_weaker: fn(&Config, &Config) -> bool,
    /// Puts the second value in the place of the first.
    pub(super) keep: fn(&mut Config, &Config),
}

/// Every guarded setting, the mode first: the published lists and budgets depend on it. One that is in neither list
/// fails a test, so that no setting is forgotten.
pub(super) const GUARDED: &[Guarded] = &[
    Guarded {
        key: "oversight.mode",
        why: Why::ChangesFiles,
        is_weaker: |set, base| mode_is_weaker(set.oversight.mode, base.oversight.mode),
        keep: |set, base| set.oversight.mode = at_least_approved(base.oversight.mode),
    },
    Guarded {
        key: "oversight.capability_gate",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| !set.oversight.capability_gate && base.oversight.capability_gate,
        keep: |set, base| {
            set.oversight
                .capability_gate
                .clone_from(&base.oversight.capability_gate);
        },
    },
    Guarded {
        key: "oversight.opaque",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| rank(set.oversight.opaque) < rank(base.oversight.opaque),
        keep: |set, base| set.oversight.opaque.clone_from(&base.oversight.opaque),
    },
    Guarded {
        key: "oversight.unattended",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            set.oversight.unattended == Unattended::Ask
                && base.oversight.unattended == Unattended::Deny
        },
        keep: |set, base| {
            set.oversight
                .unattended
                .clone_from(&base.oversight.unattended);
        },
    },
    Guarded {
        key: "oversight.enforce_scope",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| !set.oversight.enforce_scope && base.oversight.enforce_scope,
        keep: |set, base| {
            set.oversight
                .enforce_scope
                .clone_from(&base.oversight.enforce_scope);
        },
    },
    Guarded {
        key: "oversight.extended",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| !gates_all(&set.oversight.extended, &base.oversight.extended),
        keep: |set, base| set.oversight.extended.clone_from(&base.oversight.extended),
    },
    Guarded {
        key: "oversight.action",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let mut own = base.oversight.action.iter();
            own.any(|action| !set.oversight.action.contains(action))
        },
        keep: |set, base| set.oversight.action.clone_from(&base.oversight.action),
    },
    Guarded {
        key: "oversight.allowed_tools",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let (set, base) = lists(set, base);
            let narrows = |tool| base.allowed_tools.is_empty() || base.allowed_tools.contains(tool);
            let is_narrower = !set.allowed_tools.is_empty() || base.allowed_tools.is_empty();
            !(is_narrower && set.allowed_tools.iter().all(narrows))
        },
        keep: |set, base| set.oversight.allowed_tools = base_oversight(set, base).allowed_tools,
    },
    Guarded {
        key: "oversight.denied_tools",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let (set, base) = lists(set, base);
            !base
                .denied_tools
                .iter()
                .all(|tool| set.denied_tools.contains(tool))
        },
        keep: |set, base| set.oversight.denied_tools = base_oversight(set, base).denied_tools,
    },
    Guarded {
        key: "oversight.max_cost_microdollars",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let (set, base) = lists(set, base);
            set.max_cost_microdollars > base.max_cost_microdollars
        },
        keep: |set, base| {
            set.oversight.max_cost_microdollars = base_oversight(set, base).max_cost_microdollars;
        },
    },
    Guarded {
        key: "oversight.max_tool_calls",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let (set, base) = lists(set, base);
            set.max_tool_calls > base.max_tool_calls
        },
        keep: |set, base| set.oversight.max_tool_calls = base_oversight(set, base).max_tool_calls,
    },
    Guarded {
        key: "oversight.approval_minutes",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            is_more(
                &set.oversight.approval_minutes,
                &base.oversight.approval_minutes,
            )
        },
        keep: |set, base| {
            set.oversight
                .approval_minutes
                .clone_from(&base.oversight.approval_minutes);
        },
    },
    Guarded {
        key: "oversight.test_commands",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let mut commands = set.oversight.test_commands.iter();
            commands.any(|command| !base.oversight.test_commands.contains(command))
        },
        keep: |set, base| {
            let known = &base.oversight.test_commands;
            set.oversight.test_commands.clone_from(known);
        },
    },
    Guarded {
        key: "oversight.prices",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.oversight.prices != base.oversight.prices,
        keep: |set, base| set.oversight.prices.clone_from(&base.oversight.prices),
    },
    Guarded {
        key: "fallback.claude",
        why: Why::RunsOrRedirects,
        is_weaker: |set, base| set.fallback.claude != base.fallback.claude,
        keep: |set, base| set.fallback.claude.clone_from(&base.fallback.claude),
    },
    Guarded {
        key: "gateway.upstream",
        why: Why::RunsOrRedirects,
        is_weaker: |set, base| set.gateway.upstream != base.gateway.upstream,
        keep: |set, base| set.gateway.upstream.clone_from(&base.gateway.upstream),
    },
    Guarded {
        key: "gateway.agents",
        why: Why::RunsOrRedirects,
        is_weaker: |set, base| set.gateway.agents != base.gateway.agents,
        keep: |set, base| set.gateway.agents.clone_from(&base.gateway.agents),
    },
    Guarded {
        key: "gateway.hosts",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.gateway.hosts != base.gateway.hosts,
        keep: |set, base| set.gateway.hosts.clone_from(&base.gateway.hosts),
    },
    Guarded {
        key: "gateway.token_env",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.gateway.token_env != base.gateway.token_env,
        keep: |set, base| set.gateway.token_env.clone_from(&base.gateway.token_env),
    },
    Guarded {
        key: "privacy.keep_inputs",
        why: Why::KeepsInputs,
        is_weaker: |set, base| set.privacy.keep_inputs && !base.privacy.keep_inputs,
        keep: |set, base| {
            set.privacy
                .keep_inputs
                .clone_from(&base.privacy.keep_inputs);
        },
    },
    Guarded {
        key: "selection.allow_unsandboxed",
        why: Why::RunsOrRedirects,
        is_weaker: |set, base| set.selection.allow_unsandboxed && !base.selection.allow_unsandboxed,
        keep: |set, base| {
            set.selection
                .allow_unsandboxed
                .clone_from(&base.selection.allow_unsandboxed);
        },
    },
    Guarded {
        key: "selection.verifier_reads",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let mut reads = set.selection.verifier_reads.iter();
            reads.any(|path| !base.selection.verifier_reads.contains(path))
        },
        keep: |set, base| {
            set.selection
                .verifier_reads
                .clone_from(&base.selection.verifier_reads);
        },
    },
    Guarded {
        key: "selection.require_signature",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| !set.selection.require_signature && base.selection.require_signature,
        keep: |set, base| {
            set.selection
                .require_signature
                .clone_from(&base.selection.require_signature);
        },
    },
    Guarded {
        key: "selection.audit_max_age",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let days = |config: &Config| match config.selection.audit_max_age.get() {
                0 => u64::MAX,
                days => days,
            };
            days(set) > days(base)
        },
        keep: |set, base| {
            set.selection
                .audit_max_age
                .clone_from(&base.selection.audit_max_age);
        },
    },
    Guarded {
        key: "selection.licenses",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.selection.licenses != base.selection.licenses,
        keep: |set, base| set.selection.licenses.clone_from(&base.selection.licenses),
    },
    Guarded {
        key: "specialist.shadow_every",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| is_more(&set.specialist.shadow_every, &base.specialist.shadow_every),
        keep: |set, base| {
            set.specialist
                .shadow_every
                .clone_from(&base.specialist.shadow_every);
        },
    },
    Guarded {
        key: "specialist.shadow_window",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            is_more(
                &set.specialist.shadow_window,
                &base.specialist.shadow_window,
            )
        },
        keep: |set, base| {
            set.specialist
                .shadow_window
                .clone_from(&base.specialist.shadow_window);
        },
    },
    Guarded {
        key: "specialist.shadow_tau",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.specialist.shadow_tau > base.specialist.shadow_tau,
        keep: |set, base| {
            set.specialist
                .shadow_tau
                .clone_from(&base.specialist.shadow_tau);
        },
    },
    Guarded {
        key: "specialist.quota_scope",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.specialist.quota_scope != base.specialist.quota_scope,
        keep: |set, base| {
            set.specialist
                .quota_scope
                .clone_from(&base.specialist.quota_scope);
        },
    },
    Guarded {
        key: "specialist.quota_window",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| is_more(&set.specialist.quota_window, &base.specialist.quota_window),
        keep: |set, base| {
            set.specialist
                .quota_window
                .clone_from(&base.specialist.quota_window);
        },
    },
    Guarded {
        key: "specialist.early_stop",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| !set.specialist.early_stop && base.specialist.early_stop,
        keep: |set, base| {
            set.specialist
                .early_stop
                .clone_from(&base.specialist.early_stop);
        },
    },
    Guarded {
        key: "specialist.early_stop_error",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.specialist.early_stop_error < base.specialist.early_stop_error,
        keep: |set, base| {
            set.specialist
                .early_stop_error
                .clone_from(&base.specialist.early_stop_error);
        },
    },
    Guarded {
        key: "acceptance.min_tasks",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| is_more(&base.acceptance.min_tasks, &set.acceptance.min_tasks),
        keep: |set, base| {
            set.acceptance
                .min_tasks
                .clone_from(&base.acceptance.min_tasks);
        },
    },
    Guarded {
        key: "acceptance.max_policy_violations",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            is_more(
                &set.acceptance.max_policy_violations,
                &base.acceptance.max_policy_violations,
            )
        },
        keep: |set, base| {
            set.acceptance
                .max_policy_violations
                .clone_from(&base.acceptance.max_policy_violations);
        },
    },
    Guarded {
        key: "acceptance.min_solve_rate",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.acceptance.min_solve_rate < base.acceptance.min_solve_rate,
        keep: |set, base| {
            set.acceptance
                .min_solve_rate
                .clone_from(&base.acceptance.min_solve_rate);
        },
    },
    Guarded {
        key: "acceptance.min_evidence_coverage",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            set.acceptance.min_evidence_coverage < base.acceptance.min_evidence_coverage
        },
        keep: |set, base| {
            set.acceptance
                .min_evidence_coverage
                .clone_from(&base.acceptance.min_evidence_coverage);
        },
    },
    Guarded {
        key: "acceptance.min_rollback_correctness",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            set.acceptance.min_rollback_correctness < base.acceptance.min_rollback_correctness
        },
        keep: |set, base| {
            set.acceptance
                .min_rollback_correctness
                .clone_from(&base.acceptance.min_rollback_correctness);
        },
    },
];

/// Orders answers by strictness.
fn rank(answer: Answer) -> u8 {
    match answer {
        Answer::Allow => 0,
        Answer::Ask => 1,
        Answer::Deny => 2,
    }
}

/// Orders modes by strictness.
fn strictness(mode: GovernanceMode) -> u8 {
    match mode {
        GovernanceMode::Off => 0,
        GovernanceMode::Autonomous => 1,
        GovernanceMode::Approved => 2,
        GovernanceMode::Restricted => 3,
    }
}

/// Autonomous changes files without asking, so that it is not merely stricter than off.
fn mode_is_weaker(set: GovernanceMode, base: GovernanceMode) -> bool {
    let acts = set == GovernanceMode::Autonomous && set != base;
    acts || strictness(set) < strictness(base)
}

/// An unconfirmed mode never becomes `off`.
fn at_least_approved(base: GovernanceMode) -> GovernanceMode {
    match base {
        GovernanceMode::Restricted => base,
        _ => GovernanceMode::Approved,
    }
}

fn is_more<const LEAST: u64, const MOST: u64>(
    set: &Within<LEAST, MOST>,
    base: &Within<LEAST, MOST>,
) -> bool {
    set.get() > base.get()
}

/// Returns `true` if every further action that `base` gates is gated by `set` as well.
fn gates_all(set: &Extended, base: &Extended) -> bool {
    match (set, base) {
        (Extended::All(true), _) | (_, Extended::All(false)) => true,
        (Extended::Named(set), Extended::Named(base)) => base.iter().all(|id| set.contains(id)),
        (Extended::All(false), Extended::Named(base)) => base.is_empty(),
        (Extended::All(false) | Extended::Named(_), Extended::All(true)) => false,
    }
}

/// The lists and budgets of `base` in the mode of `set`: its own where the mode is the same, else the published ones and
/// of its own those that are stricter.
fn base_oversight(set: &Config, base: &Config) -> Oversight {
    let base = &base.oversight;
    if set.oversight.mode == base.mode {
        return base.clone();
    }
    let published = Governance::of_mode(set.oversight.mode.into());
    let cost = base.max_cost_microdollars;
    let calls = base.max_tool_calls;
    let denied = base.denied_tools.as_ref().map(|own| {
        let missing = own
            .iter()
            .filter(|tool| !published.denied_tools.contains(tool));
        let missing = missing.cloned();
        let published = published.denied_tools.iter().cloned();
        published.chain(missing).collect()
    });
    Oversight {
        mode: set.oversight.mode,
        max_cost_microdollars: cost
            .filter(|cost| cost.get() < u64::from(published.max_cost_microdollars)),
        max_tool_calls: calls.filter(|calls| calls.get() < u64::from(published.max_tool_calls)),
        denied_tools: denied,
        ..Oversight::default()
    }
}

/// Lists and budgets that would hold, and those to measure them by.
fn lists(set: &Config, base: &Config) -> (Governance, Governance) {
    (
        set.oversight.governance(),
        base_oversight(set, base).governance(),
    )
}
