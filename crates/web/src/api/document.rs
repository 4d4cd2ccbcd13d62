//! The OpenAPI document, generated from the handlers, so that every call is described.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa::OpenApi;
use utoipa::openapi::{
    ContentBuilder, Ref, RefOr, Response, ResponseBuilder, path::Operation, security::ApiKey,
    security::ApiKeyValue, security::SecurityRequirement, security::SecurityScheme,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::frame::ApiError;
use super::{
    Desk, approvals, catalog, grants, ledger, operate, operator, oversight, runs, score, ship,
    specialists, status, stream, team, witness,
};
use crate::login;

/// Name of the login among the security schemes.
const LOGIN: &str = "operator";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Role OS",
        description = "Who may play a role, what its tools may do, and signed proof of what happened. Reading needs no login on this machine; every call that changes something needs the operator's cookie. On an address that others can reach, every call needs the header `x-roleos-token` or the cookie."
    ),
    components(schemas(ApiError, score::Division, score::Stretch, witness::Format))
)]
struct Document;

/// Returns the routes of all calls under `/api/`.
pub(super) fn routes() -> OpenApiRouter<Arc<Desk>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(status::status))
        .routes(routes!(operator::log_in))
        .routes(routes!(operator::log_out))
        .routes(routes!(operator::session))
        .routes(routes!(catalog::list))
        .routes(routes!(catalog::open))
        .routes(routes!(catalog::installed))
        .routes(routes!(catalog::import))
        .routes(routes!(catalog::update))
        .routes(routes!(specialists::list))
        .routes(routes!(specialists::one))
        .routes(routes!(specialists::events))
        .routes(routes!(specialists::dispatches))
        .routes(routes!(operate::register))
        .routes(routes!(operate::certify))
        .routes(routes!(operate::promote))
        .routes(routes!(operate::rollback))
        .routes(routes!(operate::halt))
        .routes(routes!(operate::clear_halt))
        .routes(routes!(runs::list))
        .routes(routes!(runs::stats))
        .routes(routes!(runs::one))
        .routes(routes!(oversight::decisions))
        .routes(routes!(oversight::sessions))
        .routes(routes!(oversight::session))
        .routes(routes!(oversight::explain))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::one, approvals::approve))
        .routes(routes!(approvals::dismiss))
        .routes(routes!(grants::list, grants::grant))
        .routes(routes!(grants::revoke))
        .routes(routes!(stream::stream))
        .routes(routes!(witness::list))
        .routes(routes!(witness::one))
        .routes(routes!(witness::verify))
        .routes(routes!(witness::replay_data))
        .routes(routes!(witness::download))
        .routes(routes!(score::scorecard))
        .routes(routes!(score::curve))
        .routes(routes!(ship::identity, ship::ship))
        .routes(routes!(ship::enroll))
        .routes(routes!(team::machines, team::enroll))
        .routes(routes!(team::dismiss))
        .routes(routes!(team::tokens, team::create))
        .routes(routes!(team::revoke))
        .routes(routes!(team::acts))
        .routes(routes!(ledger::checkpoint))
        .routes(routes!(ledger::verify))
        .routes(routes!(ledger::prove))
        .routes(routes!(ledger::prove_growth))
}

/// Returns the document, with the errors that every call may return.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = routes().into_openapi();
    let login = ApiKey::Cookie(ApiKeyValue::new(login::NAME));
    if let Some(components) = &mut document.components {
        components.add_security_scheme(LOGIN, SecurityScheme::ApiKey(login));
    }
    for item in document.paths.paths.values_mut() {
        for read in [&mut item.get].into_iter().flatten() {
            add_errors(read, false);
            describe(read);
        }
        for change in [&mut item.post].into_iter().flatten() {
            add_errors(change, true);
            describe(change);
        }
    }
    document
}

fn add_errors(operation: &mut Operation, has_body: bool) {
    let always = [
        ("400", "The query, the path or the body cannot be read."),
        ("401", "The login or the token is missing."),
        ("403", "Another origin, another host, or a wrong secret."),
        ("404", "What was asked for is not there."),
        (
            "409",
            "The workspace is not in a state in which this can be done.",
        ),
        ("500", "A file or our own code failed."),
    ];
    let of_body = [
        ("408", "The body did not come in time."),
        ("413", "The body is too long."),
        ("415", "The body is no JSON."),
        ("422", "A value of the body cannot be used."),
        ("429", "Too many tries."),
    ];
    let of_body = of_body.into_iter().filter(|_| has_body);
    for (status, words) in always.into_iter().chain(of_body) {
        let responses = &mut operation.responses.responses;
        let status = status.to_owned();
        responses
            .entry(status)
            .or_insert_with(|| RefOr::T(error(words)));
    }
    let open = matches!(
        operation.operation_id.as_deref(),
        Some("log_in" | "explain" | "ship" | "enroll_machine")
    );
    if has_body && !open {
        let needed = SecurityRequirement::new::<_, [&str; 0], &str>(LOGIN, []);
        operation.security = Some(vec![needed]);
    }
}

/// Parameters of more than one call.
const PARAMETERS: &[(&str, &str)] = &[
    ("action", "A gated action, such as `git:push`."),
    ("after", "The `next` of another page."),
    ("id", "The id of the session, the refused act or the key."),
    ("limit", "Rows on a page: 1 to 200, else 50."),
    ("name", "The name of the token."),
    ("role", "Name of the role."),
    ("run_id", "The id of the contest."),
    ("slug", "The role's name in paths."),
    ("task", "The task's id in hexadecimal digits."),
];

/// Adds required descriptions that the handler does not provide.
fn describe(operation: &mut Operation) {
    let summary = operation.summary.clone().unwrap_or_default();
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description.clone_from(&summary);
        }
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else {
            continue;
        };
        let known = PARAMETERS.iter().find(|(name, _)| *name == parameter.name);
        if parameter.description.is_none() {
            parameter.description = known.map(|(_, words)| (*words).to_owned());
        }
    }
}

fn error(words: &str) -> Response {
    let schema = Ref::from_schema_name("ApiError");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new()
        .description(words)
        .content("application/json", content)
        .build()
}

/// Returns the document as it is committed and served.
#[must_use]
pub fn document_text() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

pub(super) async fn serve() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], document_text())
}
