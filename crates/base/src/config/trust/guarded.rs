//! The table of guarded settings: the weaker of two values.

use oversight::governance::Governance;

use super::Why;
use crate::config::Config;
use crate::config::oversight::{Answer, Extended, GovernanceMode, Oversight, Unattended};
use crate::config::within::Within;

/// A setting that an unconfirmed file must not weaken.
pub(super) struct Guarded {
    pub(super) key: &'static str,
    pub(super) why: Why,
    /// Returns `true` if the first value allows something that the second does not.
    pub(super) is_weaker: fn(&Config, &Config) -> bool,
    /// Replaces the first value by the second.
    pub(super) keep: fn(&mut Config, &Config),
}

/// A setting that is replaced by the unchanged value of the base.
macro_rules! guarded {
    ($section:ident . $key:ident, $why:ident, $is_weaker:ident) => {
        Guarded {
            key: concat!(stringify!($section), ".", stringify!($key)),
            why: Why::$why,
            is_weaker: |set, base| $is_weaker(&set.$section.$key, &base.$section.$key),
            keep: |set, base| set.$section.$key.clone_from(&base.$section.$key),
        }
    };
}

/// Every guarded setting, the mode first: the published lists and budgets depend on it. A setting in neither list fails
/// a test, so that none is forgotten.
pub(super) const GUARDED: &[Guarded] = &[
    Guarded {
        key: "oversight.mode",
        why: Why::ChangesFiles,
        is_weaker: |set, base| mode_is_weaker(set.oversight.mode, base.oversight.mode),
        keep: |set, base| set.oversight.mode = at_least_approved(base.oversight.mode),
    },
    guarded!(oversight.capability_gate, WeakensTheGate, turns_off),
    Guarded {
        key: "oversight.opaque",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| set.oversight.opaque < base.oversight.opaque,
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
    guarded!(catalog.require_signature, WeakensTheGate, turns_off),
    Guarded {
        key: "catalog.trusted_keys",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let mut keys = set.catalog.trusted_keys.iter();
            keys.any(|key| !base.catalog.trusted_keys.contains(key))
        },
        keep: |set, base| {
            set.catalog
                .trusted_keys
                .clone_from(&base.catalog.trusted_keys);
        },
    },
    guarded!(oversight.enforce_scope, WeakensTheGate, turns_off),
    guarded!(oversight.read_only_files, WeakensTheGate, turns_off),
    Guarded {
        key: "oversight.withheld_variables",
        why: Why::WeakensTheGate,
        is_weaker: |set, base| {
            let mut names = base.oversight.withheld_variables.iter();
            names.any(|name| !set.oversight.withheld_variables.contains(name))
        },
        keep: |set, base| {
            set.oversight
                .withheld_variables
                .clone_from(&base.oversight.withheld_variables);
        },
    },
    guarded!(oversight.destructive, WeakensTheGate, answers_less),
    guarded!(oversight.secrets, WeakensTheGate, answers_less),
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
    guarded!(oversight.approval_minutes, WeakensTheGate, is_more),
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
    guarded!(oversight.prices, WeakensTheGate, differs),
    guarded!(fallback.claude, RunsOrRedirects, differs),
    guarded!(gateway.upstream, RunsOrRedirects, differs),
    guarded!(gateway.agents, RunsOrRedirects, differs),
    guarded!(gateway.hosts, WeakensTheGate, differs),
    guarded!(gateway.token_env, WeakensTheGate, differs),
    guarded!(gateway.operator_token_env, WeakensTheGate, differs),
    guarded!(ship.to, RunsOrRedirects, differs),
    guarded!(ship.token_env, RunsOrRedirects, differs),
    guarded!(telemetry.otlp, RunsOrRedirects, differs),
    guarded!(telemetry.content, KeepsInputs, turns_on),
    Guarded {
        key: "notify",
        why: Why::RunsOrRedirects,
        is_weaker: |set, base| set.notify != base.notify,
        keep: |set, base| set.notify.clone_from(&base.notify),
    },
    guarded!(store.url, RunsOrRedirects, differs),
    guarded!(store.password_env, WeakensTheGate, differs),
    guarded!(oidc.issuer, WeakensTheGate, differs),
    guarded!(oidc.client_id, WeakensTheGate, differs),
    guarded!(oidc.client_secret_env, WeakensTheGate, differs),
    guarded!(oidc.address, WeakensTheGate, differs),
    guarded!(oidc.scopes, WeakensTheGate, differs),
    guarded!(oidc.name_claim, WeakensTheGate, differs),
    guarded!(oidc.roles_claim, WeakensTheGate, differs),
    guarded!(oidc.roles, WeakensTheGate, differs),
    guarded!(privacy.keep_inputs, KeepsInputs, turns_on),
    guarded!(selection.allow_unsandboxed, RunsOrRedirects, turns_on),
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
    guarded!(selection.require_signature, WeakensTheGate, turns_off),
    guarded!(selection.exam_margin, WeakensTheGate, is_greater),
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
    guarded!(selection.licenses, WeakensTheGate, differs),
    guarded!(selection.learn_share, RunsOrRedirects, is_greater),
    guarded!(selection.learn_budget_usd, RunsOrRedirects, is_greater),
    guarded!(specialist.agreement, RunsOrRedirects, differs),
    guarded!(specialist.shadow_every, WeakensTheGate, is_more),
    guarded!(specialist.shadow_window, WeakensTheGate, is_more),
    guarded!(specialist.shadow_tau, WeakensTheGate, is_greater),
    guarded!(specialist.quota_scope, WeakensTheGate, differs),
    guarded!(specialist.quota_window, WeakensTheGate, is_more),
    guarded!(specialist.halt_rule, WeakensTheGate, differs),
    guarded!(specialist.halt_error, WeakensTheGate, is_smaller),
    guarded!(specialist.claimed_levels, WeakensTheGate, is_smaller),
    guarded!(acceptance.min_tasks, WeakensTheGate, is_less),
    guarded!(acceptance.max_policy_violations, WeakensTheGate, is_more),
    guarded!(acceptance.min_solve_rate, WeakensTheGate, is_smaller),
    guarded!(acceptance.min_evidence_coverage, WeakensTheGate, is_smaller),
    guarded!(
        acceptance.min_rollback_correctness,
        WeakensTheGate,
        is_smaller
    ),
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

/// Compares modes. Autonomous changes files without a question, so it is not merely stricter than off.
fn mode_is_weaker(set: GovernanceMode, base: GovernanceMode) -> bool {
    let acts = set == GovernanceMode::Autonomous && set != base;
    acts || strictness(set) < strictness(base)
}

/// Returns the mode, or approved in place of off: an unconfirmed mode never becomes `off`.
fn at_least_approved(base: GovernanceMode) -> GovernanceMode {
    match base {
        GovernanceMode::Restricted => base,
        _ => GovernanceMode::Approved,
    }
}

fn answers_less(set: &Answer, base: &Answer) -> bool {
    rank(*set) < rank(*base)
}

fn turns_off(set: &bool, base: &bool) -> bool {
    !set && *base
}

fn turns_on(set: &bool, base: &bool) -> bool {
    *set && !base
}

fn differs<T: PartialEq>(set: &T, base: &T) -> bool {
    set != base
}

fn is_greater<T: PartialOrd>(set: &T, base: &T) -> bool {
    set > base
}

fn is_smaller<T: PartialOrd>(set: &T, base: &T) -> bool {
    set < base
}

fn is_less<const LEAST: u64, const MOST: u64>(
    set: &Within<LEAST, MOST>,
    base: &Within<LEAST, MOST>,
) -> bool {
    set.get() < base.get()
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

/// Returns the lists and budgets of `base` in the mode of `set`: its own if the mode is the same, else the published
/// ones, or its own where they are stricter.
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

/// Returns the effective lists and budgets, and those to compare them with.
fn lists(set: &Config, base: &Config) -> (Governance, Governance) {
    (
        set.oversight.governance(),
        base_oversight(set, base).governance(),
    )
}
