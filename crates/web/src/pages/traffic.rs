//! Traffic: the gateway's requests, their latencies and errors by role and model.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use jiff::{Timestamp, ToSpan as _};

use super::chart::{self, Bar};
use super::csv;
use super::frame::{Frame, Visit, encoded, show};
use super::listing::{Asked, Column, Field, Shell};
use super::sessions;
use super::when::When;
use crate::api::Desk;
use crate::problem::Problem;
use index::list::Filter;
use index::over_time::Latency;
use index::rows::Request;
use present::show::clean;
use present::show::units::{counted, grouped};

/// Time spans of the statistics: the name in addresses, its label, its hours.
const SPANS: [(&str, &str, i64); 4] = [
    ("hour", "last hour", 1),
    ("day", "last day", 24),
    ("week", "last week", 24 * 7),
    ("all", "all that is kept", 24 * 365 * 100),
];

/// Spans of no more hours have an hour per column.
const HOURLY: i64 = 48;
/// Most columns of the chart.
const MOST_SLOTS: u32 = 48;

const COLUMNS: &[Column] = &[
    ("Time", "time", false),
    ("Role", "role", false),
    ("Model", "model", false),
    ("Went to", "", false),
    ("Status", "status", false),
    ("Took", "ms", true),
    ("Tokens", "", true),
    ("Session", "", false),
];

#[derive(Template)]
#[template(path = "pages/traffic.html")]
struct Page {
    frame: Frame,
    shell: Shell,
    /// The spans with their addresses; the last part is `true` for the shown one.
    spans: Vec<(&'static str, String, bool)>,
    sums: Vec<Sum>,
    /// `hour` or `day`.
    grain: &'static str,
    chart: String,
    slots: Vec<Slot>,
    rows: Vec<Row>,
}

struct Sum {
    role: String,
    model: String,
    requests: String,
    errors: u64,
    share: String,
    median: String,
    p95: String,
    tokens: String,
}

struct Row {
    time: When,
    role: String,
    model: String,
    route: String,
    why: String,
    status: i64,
    tone: &'static str,
    outcome: String,
    ms: String,
    overhead: String,
    tokens: String,
    trace: String,
    session: Option<(String, String)>,
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

fn tokens(input: Option<i64>, output: Option<i64>) -> String {
    let shown = |count: Option<i64>| {
        count.map_or_else(|| "–".to_owned(), |count| grouped(count.unsigned_abs()))
    };
    format!("{} in, {} out", shown(input), shown(output))
}

impl Row {
    fn of(request: &Request) -> Self {
        let text = |text: &str| clean::line(text, 60);
        let is_good = request.status < 400 && request.outcome == "complete";
        let session = Some(request.session.as_str()).filter(|session| !session.is_empty());
        let served = match request.served.as_str() {
            "" => text(&request.model),
            served => format!("{} → {}", text(&request.model), text(served)),
        };
        Self {
            time: When::of(&request.ts),
            role: text(&request.role),
            model: served,
            route: match request.upstream.as_str() {
                "" => text(&request.route),
                upstream => format!("{} {}", text(&request.route), text(upstream)),
            },
            why: clean::line(&request.reason, 200),
            status: request.status,
            tone: if is_good { "good" } else { "bad" },
            outcome: match request.outcome.as_str() {
                "complete" => String::new(),
                outcome => outcome.replace('_', " "),
            },
            ms: milliseconds(request.ms),
            overhead: format!(
                "{} µs of it ours",
                grouped(request.overhead_us.unsigned_abs())
            ),
            tokens: tokens(request.input_tokens, request.output_tokens),
            trace: text(&request.trace),
            session: session.map(|id| (sessions::address(id), clean::line(id, 20))),
        }
    }
}

pub(super) async fn page(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    if asked.is_for_file() {
        return csv::file::<Request>(&desk, &visit, "Traffic", asked, filter).await;
    }
    show(&desk, visit, "Traffic", move |desk, visit| {
        build(desk, visit, &asked)
    })
    .await
}

fn filter(asked: &Asked) -> Result<Filter, Problem> {
    let filter = Filter::default()
        .any("role", &asked.all("role"))
        .any("model", &asked.all("model"))
        .any("route", &asked.all("route"))
        .any("status", &asked.all("status"))
        .any("session", &asked.all("session"))
        .found::<Request>(asked.one("q"));
    asked.within_text(filter, "ts")
}

/// One hour or day of the chart and its table.
struct Slot {
    name: String,
    href: String,
    requests: String,
    median: String,
    p95: String,
}

/// Draws the latencies of the newest hours or days, and lists them, newest first.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times of requests are positive and far below 2^52 microseconds"
)]
fn over_time(latencies: &[Latency]) -> (String, Vec<Slot>) {
    let shown = |one: &Latency| clean::line(&one.slot.replace('T', " "), 20);
    let bars: Vec<Bar> = latencies
        .iter()
        .map(|one| {
            let micros = |ms: f64| (ms * 1000.0).round() as u64;
            let median = micros(one.median_ms);
            Bar {
                name: shown(one).chars().skip(5).collect(),
                parts: [median, micros(one.p95_ms).saturating_sub(median)],
                words: format!(
                    "{}: {}, median {}, 95 % within {}",
                    shown(one),
                    counted(one.requests, "request"),
                    milliseconds(one.median_ms),
                    milliseconds(one.p95_ms)
                ),
            }
        })
        .collect();
    let tick = |micros: u64| milliseconds(micros as f64 / 1000.0);
    let svg = chart::columns("Time per request", &bars, ["half", "most"], tick);
    let slots = latencies.iter().rev().map(|one| Slot {
        name: shown(one),
        href: format!(
            "/traffic?from={0}&to={0}",
            encoded(one.slot.get(..10).unwrap_or_default())
        ),
        requests: grouped(one.requests),
        median: milliseconds(one.median_ms),
        p95: milliseconds(one.p95_ms),
    });
    (svg, slots.collect())
}

fn build(desk: &Desk, visit: &Visit, asked: &Asked) -> Result<Page, Problem> {
    let span = SPANS.iter().find(|(name, ..)| *name == asked.one("span"));
    let (shown, _, hours) = *span.unwrap_or(&("week", "", 24 * 7));
    let since = Timestamp::now()
        .checked_sub(hours.hours())
        .unwrap_or(Timestamp::MIN);
    let since = since.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let listed = desk
        .view
        .list::<Request>(&filter(asked)?, &asked.page::<Request>()?)?;
    let field = |name, label| {
        let values = desk.view.values_of::<Request>(name)?;
        Ok::<_, Problem>(Field::of(asked, name, label, &values))
    };
    let mut fields = vec![
        field("role", "Role")?,
        field("model", "Model")?,
        field("route", "Went to")?,
    ];
    let statuses = desk.view.statuses()?;
    fields.push(Field::of(asked, "status", "Status", &statuses));
    let sums = desk.view.traffic(&since)?;
    let is_hourly = hours <= HOURLY;
    let (chart, slots) = over_time(&desk.view.latencies(&since, is_hourly, MOST_SLOTS)?);
    Ok(Page {
        frame: visit.frame("Traffic", "Traffic"),
        grain: if is_hourly { "hour" } else { "day" },
        chart,
        slots,
        spans: SPANS
            .iter()
            .map(|(name, label, _)| {
                (
                    *label,
                    asked.address("/traffic", &[("span", name)]),
                    *name == shown,
                )
            })
            .collect(),
        sums: sums
            .into_iter()
            .map(|sum| Sum {
                role: match sum.role.as_str() {
                    "" => "–".to_owned(),
                    role => clean::line(role, 60),
                },
                model: clean::line(&sum.model, 60),
                share: format!(
                    "{} %",
                    present::show::units::whole_percent(sum.errors, sum.requests)
                ),
                requests: grouped(sum.requests),
                errors: sum.errors,
                median: milliseconds(sum.median_ms),
                p95: milliseconds(sum.p95_ms),
                tokens: tokens(
                    Some(sum.input_tokens.cast_signed()),
                    Some(sum.output_tokens.cast_signed()),
                ),
            })
            .collect(),
        rows: listed.items.iter().map(Row::of).collect(),
        shell: Shell::new(
            asked,
            "/traffic",
            COLUMNS,
            fields,
            (listed.total, listed.next),
        ),
    })
}
