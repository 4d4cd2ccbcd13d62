//! Common input and errors of all handlers: limits first, then a status, a stable code and a message.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use utoipa::ToSchema;

use super::Desk;
use crate::linger::linger;
use crate::login::Person;
use crate::problem::{Problem, Shape};
use index::list::{Filter, Key, Listable, MAX_PAGE, Page};

/// Longest body.
const MAX_BODY: usize = 1024 * 1024;
/// Longest time to receive a body.
const PATIENCE: Duration = Duration::from_secs(20);

/// Result of a handler.
pub(super) type Answer<T> = Result<axum::Json<T>, Problem>;

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.response(Shape::Own)
    }
}

/// An error, as every call of the API answers it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApiError {
    /// Stable name for programs.
    code: String,
    /// What was attempted and why it failed.
    message: String,
    /// What to do next.
    hint: Option<String>,
    /// Whether the same request can succeed later.
    retryable: bool,
}

/// Executes work on files or the database on a thread that may block.
pub(crate) async fn waiting<T: Send + 'static>(
    desk: &Arc<Desk>,
    work: impl FnOnce(&Desk) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let desk = Arc::clone(desk);
    let done = tokio::task::spawn_blocking(move || work(&desk)).await;
    done.unwrap_or_else(|_| {
        Err(Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the request could not be answered: our own code failed",
        )
        .hint("please report this"))
    })
}

/// Does the same as [`waiting`], with the result as JSON.
pub(super) async fn answer<T: Send + 'static>(
    desk: &Arc<Desk>,
    work: impl FnOnce(&Desk) -> Result<T, Problem> + Send + 'static,
) -> Answer<T> {
    waiting(desk, work).await.map(axum::Json)
}

/// A JSON body.
#[derive(Debug)]
pub(super) struct Given<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "the body must be JSON",
            )
            .hint("send the header `content-type: application/json`"));
        }
        let (parts, sent) = request.into_parts();
        let body = body(&parts.headers, sent).await?;
        // First checks that it is JSON, then that it has the required form.
        let parsed: Result<IgnoredAny, _> = serde_json::from_slice(&body);
        parsed.map_err(|error| syntax(&error.to_string()))?;
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(unexpected("the body must be a JSON object"));
        }
        let mut reader = serde_json::Deserializer::from_slice(&body);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(wrong)?;
        Ok(Self(value))
    }
}

/// Reads a body with limits of size and time.
pub(crate) async fn body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(PATIENCE, read(headers, body)).await;
    read.unwrap_or_else(|_| {
        Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            "the body did not come in time",
        ))
    })
}

async fn read(headers: &HeaderMap, mut body: Body) -> Result<Bytes, Problem> {
    let too_long = || {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body has more than {MAX_BODY} bytes"),
        )
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        linger(headers, body);
        return Err(too_long());
    }
    match Limited::new(&mut body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            linger(headers, body);
            Err(too_long())
        }
        Err(_) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "body_cut_off",
            "the body did not come to its end",
        )),
    }
}

fn syntax(why: &str) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "bad_json",
        format!("the body is no JSON: {why}"),
    )
}

fn wrong(error: serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let place = error.path().to_string();
    let inner = error.into_inner();
    if !inner.is_data() {
        return syntax(&inner.to_string());
    }
    let place = match place.as_str() {
        "." => String::new(),
        place => format!(" at `{place}`"),
    };
    unexpected(&format!("the body is not as expected{place}: {inner}"))
}

fn unexpected(message: &str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_field", message)
        .hint("`/openapi.json` says what is expected")
}

/// The query after `?`.
#[derive(Debug)]
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|rejection| {
            let words = rejection.body_text();
            let why = words
                .rsplit_once(": ")
                .map_or(words.as_str(), |(_, why)| why);
            bad_query(why)
        })
    }
}

/// Returns the problem of an invalid query.
pub(crate) fn bad_query(why: &str) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "bad_query",
        format!("the query cannot be used: {why}"),
    )
    .hint("`/openapi.json` says what can be asked")
}

/// One part of the path, decoded.
#[derive(Debug)]
pub(super) struct Part(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|_| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "bad_path",
                "the path is not encoded as UTF-8",
            )
        })
    }
}

/// Returns who sends a request: a program with an API token, else the person who is logged in.
pub(super) fn sender(desk: &Desk, headers: &HeaderMap) -> Option<Person> {
    let program = desk.gate.bearer(headers).map(|bearer| Person {
        name: format!("token {}", bearer.name),
        role: bearer.role,
        is_known: true,
    });
    program.or_else(|| desk.logins.person(headers, base::clock::now_ns()))
}

/// Proof that a request comes from who may change something, and their name.
#[derive(Debug)]
pub(super) struct LoggedIn(pub(super) Person);

impl FromRequestParts<Arc<Desk>> for LoggedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Problem> {
        let sender = sender(desk, &parts.headers);
        let person = sender.filter(|person| person.role.may_operate());
        person.map(Self).ok_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "login_needed",
                "this changes something, and nobody is logged in who may",
            )
            .hint("`POST /api/login` with the code of `roleos up`, or send the operator's token in `Authorization: Bearer`")
        })
    }
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct List<T> {
    /// The rows, newest first.
    items: Vec<T>,
    /// For `after`, to go on; none at the end.
    next: Option<String>,
    /// Rows on all pages.
    total: u64,
    /// Whether the logs were read to their end; not so just after the start.
    complete: bool,
}

/// Returns one page of a list: `limit` rows (1 to 200, default 50) after `after`, the `next` of another page.
pub(super) async fn list<T: Listable + Send + 'static>(
    desk: &Arc<Desk>,
    (limit, after): (Option<u32>, Option<String>),
    filter: Filter,
) -> Answer<List<T>> {
    let limit = limit.unwrap_or(50);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(bad_query(&format!("`limit` must be from 1 to {MAX_PAGE}")));
    }
    let after = after.map(|text| {
        Key::parse(&text).ok_or_else(|| bad_query("`after` must be the `next` of another page"))
    });
    let after = after.transpose()?;
    answer(desk, move |desk| {
        let listed = desk.view.list(
            &filter,
            &Page {
                limit,
                after,
                sort: None,
            },
        )?;
        Ok(List {
            items: listed.items,
            next: listed.next.map(|key| key.text()),
            total: listed.total,
            complete: desk.progress().0,
        })
    })
    .await
}

pub(crate) fn missing(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, code, message)
}

/// Returns the problem of a call with another method, which `Allow` names.
pub(super) async fn wrong_method(method: Method) -> Problem {
    let message = format!("`{method}` is not how this is called");
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    )
    .hint("`/openapi.json` says how")
}

/// Returns the problem of an unknown path below `/api/`.
pub(super) async fn unknown_path() -> Problem {
    missing("unknown_path", "there is no such call").hint("`/openapi.json` lists all of them")
}
