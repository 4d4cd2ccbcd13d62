//! Several workspaces in one process: the first one at `/`, the others below `/w/NAME`, each with its own API and pages.
//!
//! Pages are written for `/`. Below `/w/NAME`, one layer adds the prefix to every local address in a page and in a
//! redirect. A value in a page cannot contain a quote, so that only attributes of the templates match.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use axum::middleware::map_response;
use axum::response::Response;

use crate::api::{self, Desk};
use crate::pages;

/// Largest page that is rewritten.
const MAX_PAGE: usize = 32 * 1024 * 1024;

/// All workspaces of the process, as seen from one of them.
#[derive(Clone, Debug)]
pub struct Workspaces {
    /// Name and address of each.
    pub all: Arc<[(String, String)]>,
    /// Index of this one.
    pub own: usize,
}

impl Workspaces {
    /// Returns the prefix of this workspace's addresses; empty for the first.
    pub fn base(&self) -> &str {
        let own = self.all.get(self.own);
        own.map_or("", |(_, address)| address.trim_end_matches('/'))
    }
}

/// Registers all workspaces with each of them, the first one first.
pub fn introduce(desks: &[&Arc<Desk>]) {
    let mut all: Vec<(String, String)> = Vec::new();
    for desk in desks {
        let name = unique(&slug(desk.workspace.root()), &all);
        let address = match all.len() {
            0 => "/".to_owned(),
            _ => format!("/w/{name}"),
        };
        all.push((name, address));
    }
    let all: Arc<[(String, String)]> = all.into();
    for (own, desk) in desks.iter().enumerate() {
        let all = Arc::clone(&all);
        // A desk belongs to one process.
        desk.workspaces.set(Workspaces { all, own }).ok();
    }
}

/// Converts the name of a folder to letters that an address can contain.
fn slug(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| match letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
        true => letter.to_ascii_lowercase(),
        false => '-',
    };
    let slug: String = name.chars().map(plain).take(40).collect();
    match slug.trim_matches(['-', '.']) {
        "" => "workspace".to_owned(),
        slug => slug.to_owned(),
    }
}

fn unique(name: &str, taken: &[(String, String)]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let is_free = |one: &String| taken.iter().all(|(known, _)| known != one);
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// Routes the API and the pages of a workspace below its prefix.
pub fn mount(router: Router, desk: &Arc<Desk>) -> Router {
    let base = desk.workspaces.get().map(Workspaces::base);
    let base = base.unwrap_or_default().to_owned();
    if base.is_empty() {
        return router;
    }
    let prefix = base.clone();
    let ours = api::router(Arc::clone(desk))
        .merge(pages::router(Arc::clone(desk)))
        .layer(map_response(move |response| {
            below(prefix.clone(), response)
        }));
    router.nest(&base, ours)
}

/// Adds the prefix to the addresses of a response.
async fn below(prefix: String, mut response: Response) -> Response {
    let headers = response.headers_mut();
    let location = headers.get(LOCATION).and_then(|to| to.to_str().ok());
    if let Some(to) = location.filter(|to| to.starts_with('/')) {
        let to = HeaderValue::from_str(&joined(&prefix, to));
        to.map(|to| headers.insert(LOCATION, to)).ok();
    }
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return response;
    }
    headers.remove(CONTENT_LENGTH);
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_PAGE).await.unwrap_or_default();
    let page = rewritten(&prefix, &String::from_utf8_lossy(&bytes));
    Response::from_parts(parts, Body::from(page))
}

/// Joins a prefix and an address; the first page has no slash after the prefix.
fn joined(prefix: &str, address: &str) -> String {
    match address.strip_prefix('/') {
        Some(rest) if rest.is_empty() || rest.starts_with(['?', '#']) => format!("{prefix}{rest}"),
        _ => format!("{prefix}{address}"),
    }
}

fn rewritten(prefix: &str, page: &str) -> String {
    let mut text = String::with_capacity(page.len() + page.len() / 8);
    let mut rest = page;
    while let Some(at) = rest.find("=\"/") {
        let (before, behind) = rest.split_at(at + 2);
        let is_address = ["href", "action", "src", "data"].iter().any(|name| {
            before
                .strip_suffix("=\"")
                .is_some_and(|text| text.ends_with(&format!(" {name}")))
        });
        let end = behind.find('"').unwrap_or(behind.len());
        let (value, after) = behind.split_at(end);
        text.push_str(before);
        match is_address {
            true => text.push_str(&joined(prefix, value)),
            false => text.push_str(value),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ours_get_the_prefix_and_nothing_else_does() {
        let cases = [
            (r#"<a href="/tasks?q=1">"#, r#"<a href="/w/b/tasks?q=1">"#),
            (r#"<a class="x" href="/">"#, r#"<a class="x" href="/w/b">"#),
            (r#"<a href="/#outcomes">"#, r#"<a href="/w/b#outcomes">"#),
            (r#"<form action="/login">"#, r#"<form action="/w/b/login">"#),
            (
                r#"<object data="/curve.svg?a=1">"#,
                r#"<object data="/w/b/curve.svg?a=1">"#,
            ),
            (r##"<a href="#waiting">"##, r##"<a href="#waiting">"##),
            ("<a href='/w/a'>", "<a href='/w/a'>"),
            (r#"<option value="/tmp">"#, r#"<option value="/tmp">"#),
            ("text href=&#34;/x&#34;", "text href=&#34;/x&#34;"),
        ];
        for (page, wanted) in cases {
            assert_eq!(rewritten("/w/b", page), wanted);
        }
    }

    #[test]
    fn names_fit_an_address_and_are_there_once() {
        let taken = [("a".to_owned(), "/".to_owned())];
        for (folder, wanted) in [
            ("/x/My Repo", "my-repo"),
            ("/x/a", "a-2"),
            ("/", "workspace"),
        ] {
            assert_eq!(unique(&slug(Path::new(folder)), &taken), wanted);
        }
    }
}
