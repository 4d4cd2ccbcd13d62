//! Statistics of all evidence: the scorecard and the cost-to-outcome curve, over verified bundles.

use std::sync::Arc;

use axum::extract::State;
use base::clock;
use evidence::score::{Counts, outside_reasons};
use present::view::score as shape;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use statistics::rate::{self, rate};
use utoipa::{IntoParams, ToSchema};
use witness::curve::Period;
use witness::scorecard::{Acceptance, Filter, Report};

use super::Desk;
use super::frame::{Answer, Asked, answer, bad_query};
use crate::problem::Problem;
use index::add_up::By;

/// A rate, out of how many, with its Wilson interval at 95 %.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct Rate {
    /// How often it held.
    hits: u64,
    /// Out of how many.
    n: u64,
    /// The plain rate; 0 for none of none.
    value: f64,
    /// Lower bound.
    low: f64,
    /// Upper bound.
    high: f64,
}

impl From<rate::Rate> for Rate {
    fn from(rate: rate::Rate) -> Self {
        Self {
            hits: rate.hits,
            n: rate.n,
            value: rate.value,
            low: rate.low,
            high: rate.high,
        }
    }
}

/// By what a scorecard is divided.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Division {
    Role,
    Model,
    Mode,
    Week,
    Day,
    Agent,
    Suite,
}

impl From<Division> for By {
    fn from(by: Division) -> Self {
        match by {
            Division::Role => Self::Role,
            Division::Model => Self::Model,
            Division::Mode => Self::Mode,
            Division::Week => Self::Week,
            Division::Day => Self::Day,
            Division::Agent => Self::Agent,
            Division::Suite => Self::Suite,
        }
    }
}

/// Which scorecard.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Card {
    /// Also by group.
    by: Option<Division>,
    /// Only bundles of this time or later: a day or a moment.
    since: Option<String>,
    /// Only bundles from before this time.
    until: Option<String>,
    /// Only this role.
    role: Option<String>,
    /// Only this model.
    model: Option<String>,
    /// Only this suite.
    suite: Option<String>,
}

/// Parses the bounds of a time range.
fn filter(since: Option<&str>, until: Option<&str>) -> Result<Filter, Problem> {
    let time = |name, text: Option<&str>| {
        let parse = |text| {
            clock::parse_day_or_moment(text)
                .ok_or_else(|| bad_query(&format!("`{name}` is neither a day nor a moment")))
        };
        text.map(parse).transpose()
    };
    Ok(Filter {
        since_ns: time("since", since)?,
        until_ns: time("until", until)?,
        ..Filter::default()
    })
}

/// Compares the workspace with its thresholds, ledger included.
pub(crate) fn acceptance(
    desk: &Desk,
    report: &Report,
    counts: &Counts,
) -> Result<Acceptance, Problem> {
    let outside = outside_reasons(Some(&*desk.view.audit()?), counts);
    Ok(report.acceptance(&desk.config.acceptance.thresholds(), outside))
}

/// The fifteen metrics, the four acceptance criteria, and the interval of the solve rate.
#[utoipa::path(get, path = "/api/scorecard", operation_id = "get_scorecard", tag = "score", params(Card),
    responses((status = 200, body = Value, description = "As `roleos scorecard --json`, with `solve_rate_interval`.")))]
pub(super) async fn scorecard(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Card>,
) -> Answer<Value> {
    answer(&desk, move |desk| {
        let by = asked.by.map(By::from);
        let of = Filter {
            role: asked.role,
            model: asked.model,
            suite: asked.suite,
            ..filter(asked.since.as_deref(), asked.until.as_deref())?
        };
        let card = desk.view.scorecard(by, &of)?;
        let (report, counts) = &*card;
        let accepted = acceptance(desk, report, counts)?;
        let audit = desk.view.audit()?;
        let by = by.map(By::name);
        let mut value = shape::report(report, counts, &accepted, Some(&audit), by);
        if let Value::Object(fields) = &mut value {
            let all = &report.all;
            let solved: Rate = rate(u64::from(all.solved), u64::from(all.total_tasks)).into();
            fields.insert("solve_rate_interval".to_owned(), json!(solved));
            fields.insert("complete".to_owned(), json!(desk.progress().0));
        }
        Ok(value)
    })
    .await
}

/// The stretch of one point.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stretch {
    /// ISO 8601 week.
    #[default]
    Week,
    /// Calendar day.
    Day,
}

/// Which curve.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Curve {
    /// The stretch of one point.
    #[serde(default)]
    by: Stretch,
    /// Only this role.
    role: Option<String>,
    /// Only this model.
    model: Option<String>,
    /// Only this suite.
    suite: Option<String>,
    /// Only bundles of this time or later: a day or a moment.
    since: Option<String>,
    /// Only bundles from before this time.
    until: Option<String>,
}

/// What a solved task costs over time.
#[utoipa::path(get, path = "/api/curve", operation_id = "get_curve", tag = "score", params(Curve),
    responses((status = 200, body = Value, description = "As `roleos curve --json`.")))]
pub(super) async fn curve(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Curve>,
) -> Answer<Value> {
    answer(&desk, move |desk| {
        let (period, name) = match asked.by {
            Stretch::Week => (Period::Week, "week"),
            Stretch::Day => (Period::Day, "day"),
        };
        let of = Filter {
            role: asked.role,
            model: asked.model,
            suite: asked.suite,
            ..filter(asked.since.as_deref(), asked.until.as_deref())?
        };
        let points = desk.view.curve(period, &of)?;
        let counts = &desk.view.scorecard(None, &of)?.1;
        Ok(shape::curve(
            &points,
            counts,
            Some(&*desk.view.audit()?),
            name,
        ))
    })
    .await
}
