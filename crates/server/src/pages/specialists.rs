//! Specialists: who serves which role, the evidence for it, and what an operator may do about it.

use statistics::rate::rate;
use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use present::view::specialists::Status;
use routing::learning::Shown;
use routing::specialists::Promotion;
use serde::Deserialize;
use specialist::event::Log;
use specialist::registry::{DEFAULT_AUDIT_WINDOW, Entry, Version};
use specialist::shadow::HaltRule;

use super::frame::{Filled, Frame, Rate, Visit, encoded, html, share_lines, short_time, show};
use crate::api::{Desk, Signature, unreadable, waiting};
use crate::problem::Problem;
use crate::show::clean;
use crate::view::list::{Filter, MAX_PAGE, Page as Wanted};
use crate::view::rows::Event;

#[derive(Template)]
#[template(path = "pages/specialists.html")]
struct List {
    frame: Frame,
    problems: Vec<String>,
    rows: Vec<Row>,
    /// How far learning from traffic is, where it is on or was.
    learning: Option<String>,
}

/// A role in the list.
struct Row {
    role: String,
    href: String,
    active: String,
    level: String,
    quota: String,
    halt: Option<String>,
    agreement: Rate,
    versions: usize,
}

fn address(role: &str) -> String {
    format!("/specialists/{}", encoded(role))
}

fn row(status: &Status<'_>) -> Row {
    let entry = status.entry;
    let active = entry.active().ok().flatten();
    let judgement = &status.judgement;
    Row {
        role: clean::line(&entry.role, 80),
        href: address(&entry.role),
        active: active.map_or_else(|| "none".to_owned(), |one| clean::line(&one.id, 60)),
        level: active.map_or_else(String::new, Version::shown_level),
        quota: format!(
            "{} of {} ({:.1} %, at most {:.0} %)",
            status.used,
            status.window,
            status.share() * 100.0,
            entry.workload_quota * 100.0
        ),
        halt: status
            .halts
            .first()
            .map(|(_, halt)| clean::line(&halt.reason, 300)),
        agreement: rate(judgement.total_agreed, judgement.total).into(),
        versions: entry.versions.len(),
    }
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit) -> Response {
    show(&desk, visit, "Specialists", |desk, visit| {
        let registry = desk.specialists.registry()?;
        let state = desk
            .specialists
            .state()
            .map_err(|error| unreadable(&error))?;
        // The list shows nothing of the field, and its log may be long.
        let (log, probes) = (Vec::new(), <[Log; 2]>::default());
        let settings = desk.specialists.settings();
        let entries = registry.entries().iter();
        Ok(List {
            frame: visit.frame("Specialists", "Specialists"),
            problems: registry
                .problems()
                .iter()
                .map(ToString::to_string)
                .collect(),
            learning: Shown::if_used(&desk.workspace, &desk.config).map(|shown| shown.sentence()),
            rows: entries
                .map(|entry| row(&Status::of(entry, &state, settings, None, (&log, &probes))))
                .collect(),
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/specialist.html")]
struct One {
    frame: Frame,
    row: Row,
    backend: String,
    warning: Option<String>,
    versions: Vec<Known>,
    probe_rule: String,
    field: Vec<(String, String)>,
    chart: String,
    probes: Vec<Probe>,
    events: Vec<Told>,
}

struct Known {
    id: String,
    active: bool,
    tags: Vec<String>,
    level: String,
    base_model: String,
    adapter: String,
    exam: String,
    threshold: String,
    created: String,
}

/// What else than active a version is.
fn tags(entry: &Entry, version: &Version) -> Vec<String> {
    let beside = entry.beside.contains(&version.id);
    let canary = entry.canary.as_ref();
    let canary = canary.filter(|canary| canary.version == version.id);
    let canary = canary.map(|canary| format!("canary {:.0} %", canary.share * 100.0));
    let beside = beside.then(|| "beside".to_owned());
    let retired = version.withdrawn.map(|status| status.name().to_owned());
    [beside, canary, retired].into_iter().flatten().collect()
}

impl Known {
    fn of(entry: &Entry, version: &Version) -> Self {
        let text = |text: &str| clean::line(text, 60);
        Self {
            tags: tags(entry, version),
            active: entry.active_version.as_ref() == Some(&version.id),
            id: version.id.clone(),
            level: version.shown_level(),
            base_model: text(&version.base_model),
            adapter: text(&version.adapter_id),
            exam: version.exam_hash.chars().take(12).collect(),
            threshold: format!("{}", version.gate_threshold),
            created: short_time(&text(&version.created_at.to_string())),
        }
    }
}

struct Probe {
    number: usize,
    agreed: bool,
    share: f64,
}

struct Told {
    time: String,
    kind: String,
    operator: String,
    what: String,
}

impl Told {
    fn of(event: &Event) -> Self {
        let text = |key: &str| {
            let text = event.data.get(key).and_then(serde_json::Value::as_str);
            clean::line(text.unwrap_or_default(), 300)
        };
        let what = match (text("to_version"), text("version_id")) {
            (to, _) if !to.is_empty() => format!("{} → {to}", text("from_version")),
            (_, id) => id,
        };
        let reason = text("reason");
        Self {
            time: short_time(&clean::line(&event.ts, 40)),
            kind: clean::line(&event.kind, 40),
            operator: text("operator"),
            what: [what, reason]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
        }
    }
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(role): Path<String>,
) -> Response {
    show(&desk, visit, "Specialists", move |desk, visit| {
        page(desk, visit, &role)
    })
    .await
}

fn page(desk: &Desk, visit: &Visit, role: &str) -> Result<One, Problem> {
    let registry = desk.specialists.registry()?;
    let entry = registry.entry(role).ok_or_else(|| {
        let message = format!("there is no role `{role}` in the registry");
        Problem::new(StatusCode::NOT_FOUND, "unknown_role", message)
    })?;
    let state = desk
        .specialists
        .state()
        .map_err(|error| unreadable(&error))?;
    let active = entry.active().ok().flatten();
    let window = active.map_or(DEFAULT_AUDIT_WINDOW, |version| version.field_audit_window);
    // The window, and as many rows before it, which it is compared with.
    let log = desk
        .specialists
        .field_log_of(role, window.saturating_mul(2))?;
    let probes = desk.specialists.probes_of(role)?;
    let settings = desk.specialists.settings();
    let status = Status::of(entry, &state, settings, None, (&log, &probes));
    let page = Wanted::first(MAX_PAGE);
    let of_role = Filter::default().equal("role", Some(role));
    let of_probes = of_role.clone().equal("kind", Some("shadow-probe"));
    let probes = desk.view.list(&of_probes, &page)?;
    let events = desk.view.list::<Event>(&of_role, &page)?;
    let probes = shares(&probes.items);
    let (judgement, shadow) = (&status.judgement, &settings.shadow);
    let audit = &status.audit;
    let mut field = vec![
        ("Dispatches".to_owned(), audit.samples.to_string()),
        (
            "Distinct inputs".to_owned(),
            audit.distinct_inputs.to_string(),
        ),
        (
            "Served by the specialist".to_owned(),
            audit.specialist_served.to_string(),
        ),
    ];
    field.extend(audit.verdicts.iter().take(8).map(|(verdict, count)| {
        (
            format!("Answer “{}”", clean::line(verdict, 40)),
            count.to_string(),
        )
    }));
    Ok(One {
        frame: visit.frame("Specialists", clean::line(role, 80)),
        backend: clean::line(&entry.backend_url, 200),
        warning: crate::backend::warning(&entry.backend_url),
        versions: entry
            .versions
            .iter()
            .map(|version| Known::of(entry, version))
            .collect(),
        probe_rule: match shadow.rule {
            HaltRule::Window => format!(
                "{} of the last {} probes agreed; {:.1} % of the last {} are required (window rule)",
                judgement.agreed,
                judgement.probes,
                (1.0 - shadow.tau) * 100.0,
                shadow.window
            ),
            HaltRule::Sequential => format!(
                "{} of {} probes agreed, {:.1} % are required; evidence against it {:.2} of {:.2}, error {}",
                judgement.total_agreed,
                judgement.total,
                (1.0 - shadow.tau) * 100.0,
                judgement.log_evidence.max(0.0),
                -shadow.error.ln(),
                shadow.error
            ),
        },
        field,
        chart: chart(&probes, 1.0 - shadow.tau),
        probes,
        events: events
            .items
            .iter()
            .filter(|event| event.kind != "shadow-probe")
            .take(50)
            .map(Told::of)
            .collect(),
        row: row(&status),
    })
}

/// The share of probes that agreed up to each one, oldest first.
#[expect(
    clippy::cast_precision_loss,
    reason = "a page has at most a few hundred probes"
)]
fn shares(newest_first: &[Event]) -> Vec<Probe> {
    let mut agreed = 0_u32;
    let oldest_first = newest_first.iter().rev().enumerate();
    oldest_first
        .map(|(index, event)| {
            let yes = event.agreed.unwrap_or(false);
            agreed += u32::from(yes);
            Probe {
                number: index + 1,
                agreed: yes,
                share: f64::from(agreed) / (index + 1) as f64,
            }
        })
        .collect()
}

/// Agreement over the probes, with the line below which the window rule halts.
#[expect(
    clippy::cast_precision_loss,
    reason = "a page has at most a few hundred probes"
)]
fn chart(probes: &[Probe], required: f64) -> String {
    let (left, right, top, bottom) = (48.0, 788.0, 14.0, 190.0);
    let x =
        |number: usize| left + (right - left) * (number as f64 - 0.5) / probes.len().max(1) as f64;
    let y = |share: f64| bottom - (bottom - top) * share;
    let mut svg = String::from(
        r#"<svg class="chart" viewBox="0 0 800 220" role="img" aria-label="Share of probes that agreed">"#,
    );
    share_lines(&mut svg, (left, right), y);
    // Writing to a string cannot fail.
    let line: Vec<String> = probes
        .iter()
        .map(|probe| format!("{:.1},{:.1}", x(probe.number), y(probe.share)))
        .collect();
    let _ = write!(
        svg,
        r#"<polyline class="line" points="{}"/>"#,
        line.join(" ")
    );
    let _ = write!(
        svg,
        r#"<line class="halt" x1="{left}" x2="{right}" y1="{0:.1}" y2="{0:.1}"><title>halts below {1:.1} %</title></line>"#,
        y(required),
        required * 100.0
    );
    for probe in probes {
        let class = if probe.agreed { "yes" } else { "no" };
        let _ = write!(
            svg,
            r#"<circle class="{class}" cx="{:.1}" cy="{:.1}" r="3.5"><title>probe {}: {}, {:.1} % so far</title></circle>"#,
            x(probe.number),
            y(probe.share),
            probe.number,
            if probe.agreed { "agreed" } else { "disagreed" },
            probe.share * 100.0
        );
    }
    svg.push_str("</svg>");
    svg
}

/// What an operator wants.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Wish {
    act: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    sure: String,
    #[serde(default)]
    force: String,
}

#[derive(Template)]
#[template(path = "pages/confirm.html")]
struct Confirm {
    frame: Frame,
    page: One,
    href: String,
    wish: Wish,
    words: String,
}

pub(super) async fn act(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(role): Path<String>,
    Filled(wish): Filled<Wish>,
) -> Response {
    let back = address(&role);
    let person = match visit.person(&back) {
        Ok(person) => person,
        Err(login) => return login.into_response(),
    };
    let asked = visit.clone();
    let is_sure = wish.sure == "yes";
    let done = waiting(&desk, move |desk| {
        if is_sure {
            return done(desk, &role, &wish, person).map(|()| None);
        }
        // What is about to happen is shown with its evidence first; a reason that is missing is said before that.
        Signature::needed(person, None, wish.reason.clone())?;
        let page = page(desk, &asked, &role)?;
        let words = words(&wish)?;
        let frame = asked.frame("Specialists", "Are you sure?");
        Ok(Some(Confirm {
            href: address(&role),
            frame,
            page,
            wish,
            words,
        }))
    });
    match done.await {
        Ok(None) => Redirect::to(&back).into_response(),
        Ok(Some(page)) => html(&page),
        Err(problem) => visit.wrong("Specialists", &problem),
    }
}

fn words(wish: &Wish) -> Result<String, Problem> {
    let version = clean::line(&wish.version, 60);
    Ok(match wish.act.as_str() {
        "promote" => format!("Make version {version} active"),
        "rollback" => format!("Go back to version {version}"),
        "halt" => "Halt: send everything to the general model".to_owned(),
        "clear-halt" => "Lift the halt; the guard begins anew".to_owned(),
        _ => {
            let message = "there is no such act";
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "bad_field",
                message,
            ));
        }
    })
}

fn done(desk: &Desk, role: &str, wish: &Wish, person: String) -> Result<(), Problem> {
    words(wish)?;
    let signature = Signature::needed(person, None, wish.reason.clone())?;
    let operator = signature.operator();
    let specialists = &desk.specialists;
    match wish.act.as_str() {
        "promote" => {
            let how = Promotion {
                force: wish.force == "yes",
                share: None,
            };
            specialists.promote(role, &wish.version, how, operator)?;
        }
        "rollback" => {
            specialists.rollback(role, Some(&wish.version), operator)?;
        }
        "halt" => {
            specialists.halt(role, operator)?;
        }
        _ => {
            specialists.clear_halt(role, None, operator)?;
        }
    }
    Ok(())
}
