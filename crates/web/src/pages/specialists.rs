//! Specialists: serving versions by role, the evidence, and the actions of an operator.

use statistics::rate::rate;
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
use specialist::level::Level;
use specialist::registry::{DEFAULT_AUDIT_WINDOW, Entry, Version};
use specialist::shadow::HaltRule;

use self::probes::{Probe, chart, shares};
use super::frame::{Filled, Frame, Rate, Visit, encoded, html, show};
use super::when::When;
use crate::api::{Desk, Signature, unreadable, waiting};
use crate::login::Person;
use crate::problem::Problem;
use index::list::{Filter, MAX_PAGE, Page as Wanted};
use index::rows::Event;
use present::show::clean;

mod probes;

#[derive(Template)]
#[template(path = "pages/specialists.html")]
struct List {
    frame: Frame,
    problems: Vec<String>,
    rows: Vec<Row>,
    /// Progress of learning from traffic, if it is or was on.
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
            .map(|(_, halt)| clean::line(&halt.reason, 1000)),
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
        // The list shows no field data, and its log may be long.
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
    /// Distance of the running test from a halt.
    evidence: Option<String>,
    acts: Acts,
    field: Vec<(&'static str, String)>,
    /// Sources of answers in the field with their counts, the most frequent first.
    answers: Vec<(String, String)>,
    chart: String,
    window: usize,
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
    exam: Option<String>,
    threshold: String,
    created: When,
}

/// Returns the beginning of an exam's hash; only zeros mean none.
fn exam(hash: &str) -> Option<String> {
    let is_exam = hash.chars().any(|digit| digit != '0');
    is_exam.then(|| hash.chars().take(12).collect())
}

/// Returns the states of a version besides active.
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
            exam: exam(&version.exam_hash),
            threshold: format!("{}", version.gate_threshold),
            created: When::of(&version.created_at.to_string()),
        }
    }
}

/// Present actions of an operator.
struct Acts {
    is_halted: bool,
    is_active: bool,
    /// Versions that may be promoted, with their levels.
    promote: Vec<(String, String)>,
    /// The previously active version.
    back: Option<String>,
}

impl Acts {
    fn of(desk: &Desk, entry: &Entry, is_halted: bool) -> Self {
        let may = entry.versions.iter().filter(|version| {
            version.certified_level > Level::UNCERTIFIED
                && version.withdrawn.is_none()
                && entry.active_version.as_ref() != Some(&version.id)
        });
        Self {
            is_halted,
            is_active: entry.active_version.is_some(),
            promote: may
                .map(|version| (version.id.clone(), version.shown_level()))
                .collect(),
            back: desk.specialists.version_before(&entry.role).ok(),
        }
    }

    /// Refuses an act that would fail, before a confirmation is requested.
    fn check(&self, wish: &Wish) -> Result<(), Problem> {
        let version = clean::line(&wish.version, 60);
        let refusal = match wish.act.as_str() {
            "promote" if self.promote.iter().all(|(id, _)| *id != wish.version) => {
                format!(
                    "version {version} cannot be promoted: it is active, withdrawn or not certified"
                )
            }
            "clear-halt" if !self.is_halted => "there is no halt to clear".to_owned(),
            _ => return Ok(()),
        };
        Err(Problem::new(StatusCode::CONFLICT, "not_possible", refusal)
            .hint("`roleos audit run` and `roleos specialist certify` certify a version"))
    }
}

pub(super) struct Told {
    time: When,
    pub(super) kind: String,
    pub(super) operator: String,
    pub(super) what: String,
}

impl Told {
    pub(super) fn of(event: &Event) -> Self {
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
            time: When::of(&event.ts),
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
    // The window, and as many rows before it for comparison.
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
    let window = usize::try_from(settings.shadow.window)
        .unwrap_or(usize::MAX)
        .max(1);
    let probes = shares(&probes.items, window);
    let (judgement, shadow) = (&status.judgement, &settings.shadow);
    let audit = &status.audit;
    let row = row(&status);
    let field = vec![
        ("Dispatches", audit.samples.to_string()),
        ("Distinct inputs", audit.distinct_inputs.to_string()),
        (
            "Served by the specialist",
            audit.specialist_served.to_string(),
        ),
        ("Different answers", audit.verdicts.len().to_string()),
    ];
    let answers = audit
        .verdicts
        .iter()
        .take(50)
        .map(|(answer, count)| (clean::line(answer, 120), count.to_string()));
    let answers = answers.collect();
    Ok(One {
        frame: visit.frame("Specialists", clean::line(role, 80)),
        backend: clean::line(&entry.backend_url, 200),
        warning: upstream::backend::warning(&entry.backend_url),
        versions: entry
            .versions
            .iter()
            .map(|version| Known::of(entry, version))
            .collect(),
        probe_rule: match shadow.rule {
            HaltRule::Window => format!(
                "{} of the last {} probes agreed. Below {:.1} % of the last {} the version is halted.",
                judgement.agreed,
                judgement.probes,
                (1.0 - shadow.tau) * 100.0,
                shadow.window
            ),
            HaltRule::Sequential => format!(
                "{} of {} probes agreed; {:.1} % are required.",
                judgement.total_agreed,
                judgement.total,
                (1.0 - shadow.tau) * 100.0
            ),
        },
        evidence: match shadow.rule {
            HaltRule::Window => None,
            HaltRule::Sequential => Some(format!(
                "{:.0} % of the way to a halt ({:.2} of {:.2}; by chance that happens to at most {} of 100 good versions)",
                (judgement.log_evidence.max(0.0) / -shadow.error.ln() * 100.0).min(100.0),
                judgement.log_evidence.max(0.0),
                -shadow.error.ln(),
                shadow.error * 100.0
            )),
        },
        field,
        answers,
        acts: Acts::of(desk, entry, row.halt.is_some()),
        chart: chart(&probes, 1.0 - shadow.tau, window),
        window,
        probes,
        events: events
            .items
            .iter()
            .filter(|event| event.kind != "shadow-probe")
            .take(50)
            .map(Told::of)
            .collect(),
        row,
    })
}

/// An operator's request.
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
        Err(login) => return *login,
    };
    let asked = visit.clone();
    let is_sure = wish.sure == "yes";
    let done = waiting(&desk, move |desk| {
        if is_sure {
            return done(desk, &role, &wish, person).map(|()| None);
        }
        // The act is shown with its evidence first; a missing reason is reported before that.
        Signature::needed(person, None, wish.reason.clone())?;
        let page = page(desk, &asked, &role)?;
        let words = words(&wish)?;
        page.acts.check(&wish)?;
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

fn done(desk: &Desk, role: &str, wish: &Wish, person: Person) -> Result<(), Problem> {
    words(wish)?;
    let signature = Signature::needed(person, None, wish.reason.clone())?;
    let specialists = &desk.specialists;
    let what = format!("specialist.{}", wish.act);
    let subject = format!("{role} {}", wish.version);
    signature.audited(desk, (&what, subject.trim_end()), |operator| {
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
    })
}
