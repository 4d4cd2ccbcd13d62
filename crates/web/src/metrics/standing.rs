//! The state of the workspace, for Prometheus: halts, verdicts, waiting approvals, probes, and usage of sealed tasks.

use std::fmt;

use super::{Family, Float, Page, printed, units};
use crate::api::Desk;
use index::figures::Sealed;

/// Counters of events while the process runs, written by any process.
#[derive(Debug, Default)]
pub struct Counted {
    decisions: Family,
    events: Family,
    probes: Family,
}

impl Counted {
    /// Counts verdicts on tool calls.
    pub fn decided(&self, agent: &str, verdict: &str, count: u64) {
        let labels: [(&str, &dyn fmt::Display); 2] = [("agent", &agent), ("verdict", &verdict)];
        self.decisions.add(&labels, count);
    }

    /// Counts events of specialists; "agreed" and "disagreed" are probes.
    pub fn happened(&self, role: &str, what: &str, count: u64) {
        let (family, label) = match what {
            "agreed" | "disagreed" => (&self.probes, "outcome"),
            _ => (&self.events, "kind"),
        };
        let labels: [(&str, &dyn fmt::Display); 2] = [("role", &role), (label, &what)];
        family.add(&labels, count);
    }
}

/// Present state; unreadable parts are left out.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Number of halts per role.
    pub halted: Vec<(String, u64)>,
    /// Share of the newest probes that agreed, per role.
    pub agreement: Vec<(String, f64)>,
    /// Refused acts that a person can approve.
    pub waiting: Option<u64>,
    /// Sealed tasks by role and model.
    pub sealed: Vec<Sealed>,
    /// Unreadable lines of the logs.
    pub unread_lines: Option<u64>,
}

impl Workspace {
    /// Reads the state of a workspace.
    pub fn of(desk: &Desk) -> Self {
        let mut found = Self::default();
        let window = desk.config.specialist.shadow_window.get();
        if let (Ok(registry), Ok(state)) = (desk.specialists.registry(), desk.specialists.state()) {
            for entry in registry.entries() {
                let role = entry.role.to_string();
                let halts = state.roles().filter(|(name, _)| *name == role);
                let halts = halts
                    .map(|(_, slot)| slot.all_halts().count())
                    .sum::<usize>();
                found.halted.push((role.clone(), halts as u64));
                if let Ok(Some(share)) = desk.view.agreement(&role, window) {
                    found.agreement.push((role, share));
                }
            }
        }
        let pending = guard::approvals::pending(&desk.workspace, base::clock::now_ns());
        found.waiting = pending.ok().map(|pending| pending.len() as u64);
        found.sealed = desk.view.sealed().unwrap_or_default();
        found.unread_lines = desk.view.unread_lines().ok();
        found
    }

    #[rustfmt::skip]
    pub(super) fn print(&self, counted: &Counted, page: &mut Page) {
        page.prefix = "roleos_specialist";
        let of_role = |role: &String| printed(&[("role", role)]);
        let halted: Vec<_> = self.halted.iter().map(|(role, count)| (of_role(role), count)).collect();
        page.gauges("halted", "Halts that hold; 0 when the role's specialists may answer", &halted);
        let shares: Vec<_> = self.agreement.iter().map(|(role, share)| (of_role(role), Float(*share))).collect();
        page.gauges("agreement_ratio", "Share of the newest probes in which the specialist and the general model agreed", &shares);
        page.family("probes", "Probes while this process runs, by whether both answers agreed", &counted.probes);
        page.family("events", "What happened to specialists while this process runs", &counted.events);
        page.prefix = "roleos_oversight";
        page.family("decisions", "Verdicts on tool calls while this process runs", &counted.decisions);
        if let Some(waiting) = self.waiting {
            page.value("waiting_approvals", "Refused acts that a person can approve", waiting);
        }
        page.prefix = "roleos_task";
        let of_task = |one: &Sealed| printed(&[("role", &one.of.0), ("model", &one.of.1)]);
        let sealed = |value: fn(&Sealed) -> u64| -> Vec<_> { self.sealed.iter().map(|one| (of_task(one), value(one))).collect() };
        page.gauges("sealed", "Verified tasks", &sealed(|one| one.tasks));
        page.gauges("solved", "Verified tasks that were solved", &sealed(|one| one.solved));
        page.gauges("tokens", "Tokens of verified tasks", &sealed(|one| one.tokens));
        let costs: Vec<_> = self.sealed.iter().map(|one| (of_task(one), Float(units(one.microdollars)))).collect();
        page.gauges("cost_usd", "Cost of verified tasks in US dollars, as far as it is known", &costs);
        page.prefix = "roleos_logs";
        if let Some(lines) = self.unread_lines {
            page.value("unread_lines", "Lines of the logs that could not be read", lines);
        }
    }
}
