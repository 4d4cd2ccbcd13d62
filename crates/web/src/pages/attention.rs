//! Warnings for the overview: halts, failing audits, refusals, sessions without a bundle, hooks without any event,
//! evidence that does not count.

use evidence::score::Counts;
use evidence::store::audit::Audit;
use guard::agents::Agent;

use super::frame::encoded;
use crate::api::Desk;
use crate::problem::Problem;
use index::list::{Filter, Page};
use index::rows::Session;
use present::show::clean;
use present::show::units::counted;

/// A warning.
pub(super) struct Attention {
    pub(super) tone: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) href: String,
}

impl Attention {
    fn new(tone: &'static str, kind: &'static str, text: String, href: impl Into<String>) -> Self {
        Self {
            tone,
            kind,
            text,
            href: href.into(),
        }
    }
}

fn of_role(role: &str) -> String {
    format!("/specialists/{}", encoded(role))
}

/// Returns all warnings, the worst first.
pub(super) fn attention(
    desk: &Desk,
    counts: &Counts,
    audit: &Audit,
) -> Result<Vec<Attention>, Problem> {
    let mut found = specialists(desk)?;
    if let Some(summary) = audit.summary() {
        let text = format!("the ledger does not hold: {summary}");
        found.push(Attention::new("bad", "ledger", text, "/ledger"));
    }
    found.extend(failing_audits(desk));
    found.extend(unproved_hooks(desk)?);
    found.extend(refusals_and_sessions(desk)?);
    for (verdict, count) in &counts.left_out {
        let is_mild = matches!(verdict.as_str(), "unsigned" | "unchecked");
        let (are, do_not) = if *count == 1 {
            ("is", "does not")
        } else {
            ("are", "do not")
        };
        found.push(Attention::new(
            if is_mild { "warn" } else { "bad" },
            "evidence",
            format!(
                "{} {are} {} and {do_not} count",
                counted(*count, "bundle"),
                verdict.replace('_', " ")
            ),
            format!("/tasks?verdict={verdict}"),
        ));
    }
    Ok(found)
}

fn specialists(desk: &Desk) -> Result<Vec<Attention>, Problem> {
    let registry = desk.specialists.registry()?;
    let mut found: Vec<Attention> = registry
        .problems()
        .iter()
        .map(|problem| {
            let text = clean::line(&problem.to_string(), 300);
            Attention::new("bad", "registry", text, "/specialists")
        })
        .collect();
    match desk.specialists.state() {
        Ok(state) => {
            let halted = state
                .roles()
                .flat_map(|(role, slot)| slot.all_halts().map(move |(_, halt)| (role, halt)));
            found.extend(halted.map(|(role, halt)| {
                let (name, reason) = (clean::line(role, 60), clean::line(&halt.reason, 200));
                Attention::new("bad", "halted", format!("{name}: {reason}"), of_role(role))
            }));
        }
        Err(error) => found.push(Attention::new(
            "bad",
            "state",
            format!("nothing routes to a specialist: {error}"),
            "/specialists",
        )),
    }
    Ok(found)
}

/// Returns agents whose settings contain our hook, without any event so far: perhaps it does not run at all.
fn unproved_hooks(desk: &Desk) -> Result<Vec<Attention>, Problem> {
    let mut found = Vec::new();
    for agent in guard::install::installed(&desk.workspace) {
        let of_agent = Filter::default().equal("agent", Some(agent.name()));
        let sessions = desk.view.list::<Session>(&of_agent, &Page::first(1))?;
        if sessions.total == 0 {
            found.push(unproved(agent));
        }
    }
    Ok(found)
}

fn unproved(agent: Agent) -> Attention {
    let text = format!(
        "the hook is in the settings of `{}`, and no event of it was ever seen; `roleos doctor` tries it",
        agent.name()
    );
    Attention::new("warn", "unproved", text, "/sessions")
}

fn refusals_and_sessions(desk: &Desk) -> Result<Vec<Attention>, Problem> {
    let mut found = Vec::new();
    let waiting = guard::approvals::pending(&desk.workspace, base::clock::now_ns())?.len() as u64;
    if waiting > 0 {
        let text = format!("{} could be approved", counted(waiting, "refused act"));
        found.push(Attention::new(
            "warn",
            "approvals",
            text,
            "/oversight#waiting",
        ));
    }
    let trouble = desk.view.trouble(base::clock::now_ns())?;
    if trouble.denied > 0 {
        let was = if trouble.denied == 1 { "was" } else { "were" };
        let text = format!(
            "{} {was} refused in the last seven days",
            counted(trouble.denied, "call")
        );
        found.push(Attention::new(
            "warn",
            "denials",
            text,
            "/oversight?verdict=deny",
        ));
    }
    if trouble.unsealed > 0 {
        let (has, is) = if trouble.unsealed == 1 {
            ("has", "is")
        } else {
            ("have", "are")
        };
        let text = format!(
            "{} {has} ended and {is} in no bundle; `roleos sessions seal --all` seals",
            counted(trouble.unsealed, "session")
        );
        found.push(Attention::new("warn", "unsealed", text, "/sessions"));
    }
    Ok(found)
}

/// Returns the newest audit of each active version that did not pass completely.
fn failing_audits(desk: &Desk) -> Vec<Attention> {
    let Ok(registry) = desk.specialists.registry() else {
        return Vec::new();
    };
    let mut newest = std::collections::BTreeMap::new();
    for (_, record) in routing::audits::all(&desk.specialists.paths().audits) {
        let active = registry
            .entry(&record.role)
            .and_then(|entry| entry.active_version.clone());
        if active.as_deref() == Some(record.version.as_str()) {
            // Records are sorted, oldest first.
            newest.insert((record.role.clone(), record.audit_id.clone()), record);
        }
    }
    newest
        .into_values()
        .filter(|record| record.passed < record.cases)
        .map(|record| {
            let text = format!(
                "{} {}: {} of {} cases of the audit {} passed",
                clean::line(&record.role, 60),
                clean::line(&record.version, 60),
                record.passed,
                record.cases,
                clean::line(&record.audit_id, 60)
            );
            Attention::new("bad", "audit", text, of_role(&record.role))
        })
        .collect()
}
