//! Common parts of every page: the navigation, the login, the headers, and error pages.

use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Form, FromRequest, FromRequestParts, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::de::DeserializeOwned;

use super::glossary::Help;
use crate::api::Desk;
use crate::login::Person;
use crate::problem::Problem;
use crate::workspaces::Workspaces;
use present::show::clean;

/// Content security policy: no request leaves this address, and other sites cannot embed our pages.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
    img-src 'self' data:; object-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'";

/// Most columns of an error; a message may repeat a user's input.
const MOST_WORDS: usize = 1000;

/// The rooms, in the order of the navigation, each with the page of the documentation about it.
const ROOMS: [(&str, &str, &str); 12] = [
    ("/", "Overview", "evidence"),
    ("/tasks", "Tasks", "evidence"),
    ("/sessions", "Sessions", "sessions"),
    ("/oversight", "Oversight", "oversight"),
    ("/specialists", "Specialists", "specialist"),
    ("/exams", "Exams", "selection"),
    ("/runs", "Runs", "selection"),
    ("/prove", "Prove", "prove"),
    ("/traffic", "Traffic", "gateway"),
    ("/catalog", "Catalog", "catalog"),
    ("/ledger", "Ledger", "witness"),
    ("/settings", "Settings", "config"),
];

/// Content of a page's frame.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) room: &'static str,
    /// Who is logged in and may act.
    pub(super) operator: Option<String>,
    /// Who is logged in and may only read.
    pub(super) viewer: Option<String>,
    pub(super) root: String,
    /// Path of the page, for the way back after a login.
    pub(super) path: String,
    /// A note about the whole page.
    pub(super) note: Option<String>,
    /// Text in the search field of the header.
    pub(super) query: String,
    /// All workspaces of the process: name, address, and `true` for this one; empty if there is only one.
    pub(super) workspaces: Vec<(String, String, bool)>,
    /// Prefix of every address of this workspace.
    pub(super) base: String,
}

impl Frame {
    #[expect(clippy::unused_self, reason = "the template asks the frame")]
    pub(super) fn rooms(&self) -> &'static [(&'static str, &'static str, &'static str)] {
        &ROOMS
    }

    /// Returns the name of the document about this room.
    pub(super) fn topic(&self) -> Option<&'static str> {
        let room = ROOMS.iter().find(|(_, name, _)| *name == self.room);
        room.map(|(.., topic)| *topic)
    }

    /// Returns the `?` beside a term.
    #[expect(clippy::unused_self, reason = "the template asks the frame")]
    pub(super) fn help(&self, term: &'static str) -> Help {
        Help::of(term)
    }
}

/// Context of a page request; becomes the page's frame.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    frame: Frame,
    person: Option<Person>,
}

impl FromRequestParts<Arc<Desk>> for Visit {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        desk: &Arc<Desk>,
    ) -> Result<Self, Self::Rejection> {
        let (complete, progress) = desk.progress();
        let note = (!complete).then(|| {
            format!(
                "The logs are still being read ({} of {} bundles); figures and lists are not complete.",
                progress.done, progress.total
            )
        });
        let path = parts.uri.path_and_query();
        let workspaces = desk.workspaces.get();
        let person = desk.logins.person(&parts.headers, base::clock::now_ns());
        let name = |acts: bool| {
            let person = person.as_ref();
            let person = person.filter(|person| person.role.may_operate() == acts);
            person.map(|person| person.name.clone())
        };
        Ok(Self {
            frame: Frame {
                title: String::new(),
                room: "",
                operator: name(true),
                viewer: name(false),
                root: clean::name(desk.workspace.root().to_string_lossy().as_bytes()).into_owned(),
                path: path.map_or_else(|| "/".to_owned(), ToString::to_string),
                note,
                query: String::new(),
                base: workspaces.map_or("", Workspaces::base).to_owned(),
                workspaces: workspaces.map(switcher).unwrap_or_default(),
            },
            person,
        })
    }
}

fn switcher(workspaces: &Workspaces) -> Vec<(String, String, bool)> {
    let all = workspaces.all.iter().enumerate();
    all.map(|(index, (name, address))| (name.clone(), address.clone(), index == workspaces.own))
        .collect()
}

impl Visit {
    pub(super) fn frame(&self, room: &'static str, title: impl Into<String>) -> Frame {
        Frame {
            title: title.into(),
            room,
            ..self.frame.clone()
        }
    }

    /// For a page that is shown without a login, so that it says nothing about the workspace.
    pub(super) fn into_stranger(self) -> Self {
        Self {
            frame: Frame {
                root: String::new(),
                // There is no way from the login to the login.
                path: String::new(),
                note: None,
                workspaces: Vec::new(),
                ..self.frame
            },
            ..self
        }
    }

    /// The person who may act, or what they see instead: the way to the login, or why theirs is not enough.
    pub(super) fn person(&self, back: &str) -> Result<Person, Box<Response>> {
        let Some(person) = &self.person else {
            let login = Redirect::to(&format!("/login?next={}", encoded(back)));
            return Err(Box::new(login.into_response()));
        };
        if person.role.may_operate() {
            return Ok(person.clone());
        }
        let message = format!("{} may read here, and not act", person.name);
        let problem = Problem::new(StatusCode::FORBIDDEN, "role_too_low", message);
        Err(Box::new(self.wrong("", &problem)))
    }

    /// Renders an error page.
    pub(super) fn wrong(&self, room: &'static str, problem: &Problem) -> Response {
        let page = Message {
            frame: self.frame(room, "That did not work"),
            tone: "bad",
            message: clean::line(&problem.message, MOST_WORDS),
            hint: problem
                .hint
                .as_deref()
                .map(|hint| clean::line(hint, MOST_WORDS)),
            back: ROOMS
                .iter()
                .find(|(_, name, _)| *name == room)
                .map_or("/", |(address, ..)| address),
        };
        let mut response = html(&page);
        *response.status_mut() = problem.status;
        response
    }
}

/// A form sent by a browser, with the limits of the API.
#[derive(Debug)]
pub(super) struct Filled<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Desk>> for Filled<T> {
    type Rejection = Response;

    async fn from_request(request: Request, desk: &Arc<Desk>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(visit) = Visit::from_request_parts(&mut parts, desk).await;
        let form = filled(Request::from_parts(parts, body)).await;
        // A person reads the response, so errors are pages as well.
        form.map(Self).map_err(|problem| visit.wrong("", &problem))
    }
}

async fn filled<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let (parts, body) = request.into_parts();
    let bytes = crate::api::body(&parts.headers, body).await?;
    let request = Request::from_parts(parts, Body::from(bytes));
    let form = Form::<T>::from_request(request, &()).await;
    form.map(|Form(value)| value).map_err(|rejection| {
        let message = format!("the form cannot be used: {}", rejection.body_text());
        Problem::new(rejection.status(), "bad_form", message)
    })
}

/// Encodes a text as one part of an address.
pub(super) fn encoded(text: &str) -> PercentEncode<'_> {
    const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(text, UNSAFE)
}

#[derive(Template)]
#[template(path = "pages/message.html")]
struct Message {
    frame: Frame,
    tone: &'static str,
    message: String,
    hint: Option<String>,
    back: &'static str,
}

/// Executes work on files or the database on a thread that may block, and renders the page or the error.
pub(super) async fn show<T: Template + Send + 'static>(
    desk: &Arc<Desk>,
    visit: Visit,
    room: &'static str,
    work: impl FnOnce(&Desk, &Visit) -> Result<T, Problem> + Send + 'static,
) -> Response {
    let asked = visit.clone();
    let done = crate::api::waiting(desk, move |desk| work(desk, &asked)).await;
    match done {
        Ok(page) => html(&page),
        Err(problem) => visit.wrong(room, &problem),
    }
}

/// Renders a page with its headers.
pub(super) fn html(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => with_headers(text.into_response(), "text/html; charset=utf-8"),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Adds headers against caching, embedding and referrers.
pub(super) fn with_headers(mut response: Response, kind: &'static str) -> Response {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_TYPE, kind);
    set(CACHE_CONTROL, "no-store");
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "same-origin");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

/// A displayed rate: always with its number and its interval.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    pub(super) value: String,
    pub(super) hits: u64,
    pub(super) n: u64,
    pub(super) low: String,
    pub(super) high: String,
    pub(super) value_x: String,
    pub(super) low_x: String,
    pub(super) high_x: String,
}

impl From<statistics::rate::Rate> for Rate {
    fn from(rate: statistics::rate::Rate) -> Self {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let place = |share: f64| format!("{:.1}", 4.0 + share * 192.0);
        Self {
            value: percent(rate.value),
            hits: rate.hits,
            n: rate.n,
            low: format!("{:.1}", rate.low * 100.0),
            high: percent(rate.high),
            value_x: place(rate.value),
            low_x: place(rate.low),
            high_x: place(rate.high),
        }
    }
}

/// A value that a list can be filtered by.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) count: u64,
}

/// Returns the values of a column as choices, without empty ones.
pub(super) fn choices(values: &[(String, u64)]) -> Vec<Choice> {
    let values = values.iter().filter(|(value, _)| !value.is_empty());
    values
        .map(|(value, count)| Choice {
            label: clean::line(value, 60),
            value: value.clone(),
            count: *count,
        })
        .collect()
}

/// Returns the colour of a verdict or an outcome.
pub(super) fn tone(word: &str) -> &'static str {
    match word {
        "allow" | "solved" | "valid" | "pass" => "good",
        "ask" | "advise" | "skipped" | "unsigned" | "unchecked" => "warn",
        "deny" | "failed" | "error" | "bad_signature" | "malformed" | "unreadable" => "bad",
        _ => "plain",
    }
}

/// Draws the grid lines of a picture from 0 to 100 %, with labels.
pub(super) fn share_lines(svg: &mut String, (left, right): (f64, f64), y: impl Fn(f64) -> f64) {
    // Writing to a string cannot fail.
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let at = y(share);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{left}" x2="{right}" y1="{at:.1}" y2="{at:.1}"/><text x="{}" y="{:.1}" text-anchor="end">{:.0} %</text>"#,
            left - 8.0,
            at + 4.0,
            share * 100.0
        );
    }
}
