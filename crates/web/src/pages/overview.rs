//! The overview: acceptance criteria, costs, and warnings.

use statistics::rate::rate;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use evidence::score::Counts;
use evidence::store::audit::Audit;
use serde::Deserialize;
use witness::curve::{Period, Point};
use witness::scorecard::{Acceptance, Criterion, Filter, Scorecard, Standing};

use super::attention::{Attention, attention};
use super::frame::{Choice, Frame, Rate, Visit, choices, encoded, show, with_headers};
use super::outcomes::Outcomes;
use crate::api::{Desk, acceptance, waiting};
use index::list::TaskColumn;
use present::show::units::{
    cost, cost_per_solve, counted, dollars, duration, grouped, without_cost,
};
use present::show::{clean, curve_svg};

/// Selection of the curve.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    role: String,
    model: String,
    by: String,
}

impl Asked {
    fn period(&self) -> Period {
        match self.by.as_str() {
            "day" => Period::Day,
            _ => Period::Week,
        }
    }

    fn of(&self) -> Filter {
        let wanted = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Filter {
            role: wanted(&self.role),
            model: wanted(&self.model),
            ..Filter::default()
        }
    }
}

#[derive(Template)]
#[template(path = "pages/overview.html")]
struct Page {
    frame: Frame,
    /// Tone and title of the banner.
    standing: (&'static str, &'static str),
    reasons: Vec<String>,
    tasks: u32,
    /// Sessions and bundles that do not count as tasks.
    apart: Option<String>,
    criteria: Vec<Held>,
    ledger: LedgerRow,
    solved: Rate,
    tiles: Vec<Tile>,
    /// Missing costs, and the way to add them.
    without_cost: Option<String>,
    attention: Vec<Attention>,
    curve_address: String,
    points: Vec<Row>,
    outcomes: Outcomes,
    roles: Vec<Choice>,
    models: Vec<Choice>,
    asked: Asked,
}

struct Held {
    name: &'static str,
    value: String,
    /// Number and interval of a share.
    share: Option<Rate>,
    /// Link to the evidence.
    href: &'static str,
    wanted: String,
    /// Tone and text.
    verdict: (&'static str, &'static str),
}

struct LedgerRow {
    verdict: (&'static str, &'static str),
    value: String,
}

struct Tile {
    label: &'static str,
    value: String,
    more: String,
    href: &'static str,
}

struct Row {
    period: String,
    href: String,
    tasks: String,
    solved: Rate,
    /// Link to the tasks behind the rate.
    solved_href: String,
    cost_per_solve: String,
    tokens_per_solve: String,
    retries: String,
    regressions: u64,
}

pub(super) async fn page(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Response {
    show(&desk, visit, "Overview", move |desk, visit| {
        let card = desk.view.scorecard(None, &Filter::default())?;
        let (report, counts) = &*card;
        let all = &report.all;
        let accepted = acceptance(desk, report, counts)?;
        let audit = desk.view.audit()?;
        let points = desk.view.curve(asked.period(), &asked.of())?;
        let [role, model, by] = [&asked.role, &asked.model, &asked.by].map(|text| encoded(text));
        let curve_address = format!("/curve.svg?role={role}&model={model}&by={by}");
        Ok(Page {
            frame: visit.frame("Overview", "Overview"),
            standing: standing(&accepted, all.total_tasks),
            reasons: accepted
                .reasons
                .iter()
                .map(|one| clean::line(&one.text, 300))
                .collect(),
            tasks: all.total_tasks,
            apart: apart(counts),
            criteria: accepted.criteria.iter().map(|one| held(one, all)).collect(),
            ledger: ledger_row(&audit),
            solved: rate(u64::from(all.solved), u64::from(all.total_tasks)).into(),
            tiles: tiles(all),
            without_cost: without_cost(
                u64::from(all.tasks_without_cost),
                u64::from(all.total_tasks),
            ),
            attention: attention(desk, counts, &audit)?,
            outcomes: Outcomes::of(&desk.view.outcomes()?),
            curve_address,
            points: points
                .iter()
                .rev()
                .map(|point| row(point, &asked))
                .collect(),
            roles: choices(&desk.view.task_values(TaskColumn::Role)?),
            models: choices(&desk.view.task_values(TaskColumn::Model)?),
            asked,
        })
    })
    .await
}

/// Serves the curve as a picture.
pub(super) async fn curve(State(desk): State<Arc<Desk>>, Query(asked): Query<Asked>) -> Response {
    let points = waiting(&desk, move |desk| {
        Ok(desk.view.curve(asked.period(), &asked.of())?)
    });
    match points.await {
        Ok(points) => with_headers(curve_svg::svg(&points).into_response(), "image/svg+xml"),
        Err(problem) => problem.into_response(),
    }
}

fn standing(acceptance: &Acceptance, tasks: u32) -> (&'static str, &'static str) {
    match acceptance.standing() {
        Standing::Accepted => ("good", "Accepted: all four criteria hold"),
        Standing::NotYet if tasks == 0 => ("warn", "No verified task yet"),
        Standing::NotYet => ("warn", "Not enough tasks yet"),
        Standing::NotAccepted => ("bad", "Not accepted"),
    }
}

/// Returns one sentence about sessions and bundles that do not count as tasks.
fn apart(counts: &Counts) -> Option<String> {
    let parts: Vec<String> = [
        (counts.not_tasks, "without a test and without a diff"),
        (counts.sealed_below_agent, "sealed by hand below an agent"),
        (counts.corrected, "counted as failed against their own word"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", grouped(number)))
    .collect();
    (!parts.is_empty()).then(|| format!("Of all sessions: {}.", parts.join(", ")))
}

fn ledger_row(audit: &Audit) -> LedgerRow {
    let verdict = match (&audit.origin, audit.problems.is_empty()) {
        (None, true) => ("", "none yet"),
        (_, true) => ("good", "holds"),
        (_, false) => ("bad", "does not hold"),
    };
    LedgerRow {
        verdict,
        value: audit
            .summary()
            .unwrap_or_else(|| counted(audit.size, "bundle")),
    }
}

fn held(criterion: &Criterion, all: &Scorecard) -> Held {
    let is_count = criterion.metric == "policy_violations";
    let shown = |value: f64| match is_count {
        true => format!("{value:.0}"),
        false => format!("{:.1} %", value * 100.0),
    };
    let (name, relation, n, href) = match criterion.metric {
        "solve_rate" => (
            "Solve rate",
            "at least",
            Some(all.total_tasks),
            "/tasks?outcome=solved",
        ),
        "policy_violations" => ("Policy violations", "exactly", None, "/tasks"),
        "evidence_coverage" => (
            "Evidence coverage",
            "exactly",
            Some(all.solved),
            "/tasks?outcome=solved",
        ),
        "rollback_correctness" => (
            "Rollback correctness",
            "exactly",
            Some(all.rollback_count),
            "/tasks",
        ),
        other => (other, "against", None, "/tasks"),
    };
    Held {
        name,
        value: match criterion.is_measured {
            true => shown(criterion.value),
            false => "–".to_owned(),
        },
        share: n.filter(|n| *n > 0).map(|n| of_share(criterion.value, n)),
        href,
        wanted: format!("{relation} {}", shown(criterion.threshold)),
        verdict: match criterion.verdict() {
            "fail" => ("bad", "does not hold"),
            _ if !criterion.is_measured => ("", "nothing to measure"),
            _ => ("good", "holds"),
        },
    }
}

/// Returns a share with its number; the count is a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count lies between 0 and the count"
)]
fn of_share(share: f64, n: u32) -> Rate {
    let hits = (share * f64::from(n)).round() as u64;
    rate(hits, u64::from(n)).into()
}

fn tiles(all: &Scorecard) -> Vec<Tile> {
    let n = format!("over {} tasks", grouped(all.total_tasks));
    let tile = |label, value, more: &str, href| Tile {
        label,
        value,
        more: more.to_owned(),
        href,
    };
    vec![
        tile(
            "Tasks",
            grouped(all.total_tasks),
            &format!(
                "{} failed, {} skipped, {} errors",
                all.failed, all.skipped, all.errors
            ),
            "/tasks",
        ),
        tile(
            "Cost per solve",
            cost_per_solve(all.cost_per_solve),
            &format!(
                "{} in all, {} solved",
                cost(all.total_cost_microdollars, all.tasks_without_cost == 0),
                grouped(all.solved)
            ),
            "/tasks?outcome=solved",
        ),
        tile(
            "Median latency",
            duration(all.median_latency_ms),
            &format!("95 % within {}", duration(all.p95_latency_ms)),
            "/tasks",
        ),
        tile("Tokens", grouped(all.total_tokens), &n, "/tasks"),
        tile("Retries", grouped(all.total_retries), &n, "/tasks"),
        tile(
            "Policy violations",
            grouped(all.policy_violations),
            &n,
            "/oversight?verdict=deny",
        ),
        tile(
            "Rollbacks",
            grouped(all.rollback_count),
            &match all.rollback_count {
                0 => "none was needed".to_owned(),
                _ => format!(
                    "{:.1} % restored what they should",
                    all.rollback_correctness * 100.0
                ),
            },
            "/tasks",
        ),
        tile(
            "Evidence coverage",
            format!("{:.1} %", all.evidence_coverage * 100.0),
            &format!("of {} solved tasks", grouped(all.solved)),
            "/tasks?outcome=solved",
        ),
    ]
}

fn row(point: &Point, asked: &Asked) -> Row {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let [period, role, model] =
        [&point.period, &asked.role, &asked.model].map(|text| encoded(text));
    let within = match asked.period() {
        Period::Day => format!("from={period}&to={period}"),
        Period::Week => format!("week={period}"),
    };
    let solved_href = format!("/tasks?outcome=solved&{within}&role={role}&model={model}");
    Row {
        period: clean::line(&point.period, 20),
        href: format!("/tasks?{within}"),
        tasks: grouped(point.tasks),
        solved: rate(point.solved, point.tasks).into(),
        solved_href,
        cost_per_solve: or_none(point.cost_per_solve().map(dollars)),
        tokens_per_solve: or_none(point.tokens_per_solve().map(grouped)),
        retries: grouped(point.retries),
        regressions: point.regressions,
    }
}
