//! A list as a file for spreadsheets: every row that the filters of the address let through, in the order of the list.

use std::sync::Arc;

use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;

use super::frame::{Visit, with_headers};
use super::listing::Asked;
use crate::api::{Desk, waiting};
use crate::problem::Problem;
use index::list::{Filter, Listable, MAX_PAGE, Page};
use present::show::clean;

/// Most rows of a file.
const MOST_ROWS: u64 = 50_000;

/// Writes the list that `filter` lets through, named after its room.
pub(super) async fn file<T: Listable + Serialize + 'static>(
    desk: &Arc<Desk>,
    visit: &Visit,
    room: &'static str,
    asked: Asked,
    filter: fn(&Asked) -> Result<Filter, Problem>,
) -> Response {
    let written = waiting(desk, move |desk| text::<T>(desk, &asked, &filter(&asked)?));
    match written.await {
        Ok(text) => {
            let mut response = with_headers(text.into_response(), "text/csv; charset=utf-8");
            let name = format!("attachment; filename=\"{}.csv\"", room.to_lowercase());
            if let Ok(name) = HeaderValue::from_str(&name) {
                response.headers_mut().insert(CONTENT_DISPOSITION, name);
            }
            response
        }
        Err(problem) => visit.wrong(room, &problem),
    }
}

fn text<T: Listable + Serialize>(
    desk: &Desk,
    asked: &Asked,
    filter: &Filter,
) -> Result<String, Problem> {
    let mut page = Page {
        limit: MAX_PAGE,
        ..asked.page::<T>()?
    };
    let mut text = String::new();
    loop {
        let listed = desk.view.list::<T>(filter, &page)?;
        if listed.total > MOST_ROWS {
            let message = format!("{} rows are too many for a file", listed.total);
            let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many_rows", message);
            return Err(problem.hint(format!(
                "filter the list to at most {MOST_ROWS} rows, for example by time"
            )));
        }
        for item in &listed.items {
            add(&mut text, &serde_json::to_value(item).unwrap_or_default());
        }
        match listed.next {
            Some(next) => page.after = Some(next),
            None => return Ok(text),
        }
    }
}

/// Adds a row, and the names of the columns before the first one.
fn add(text: &mut String, row: &Value) {
    let fields = row.as_object();
    if text.is_empty() {
        let names = fields.into_iter().flatten();
        let names: Vec<String> = names.map(|(name, _)| quoted(name)).collect();
        text.push_str(&names.join(","));
        text.push_str("\r\n");
    }
    let values = fields.into_iter().flatten();
    let cells: Vec<String> = values.map(|(_, value)| cell(value)).collect();
    text.push_str(&cells.join(","));
    text.push_str("\r\n");
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        // A spreadsheet takes a text that begins so for a formula, and agents write texts.
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            quoted(&format!("'{text}"))
        }
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => quoted(&value.to_string()),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", clean::text(text.as_bytes()).replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_text_for_every_spreadsheet() {
        let mut text = String::new();
        let row =
            json!({ "a": "x, \"y\"\nz", "n": 3, "none": null, "list": ["p", "q"], "yes": true });
        add(&mut text, &row);
        add(
            &mut text,
            &json!({ "a": "=1+1", "n": -2, "none": null, "list": [], "yes": false }),
        );
        assert_eq!(
            text,
            "\"a\",\"n\",\"none\",\"list\",\"yes\"\r\n\
             \"x, \"\"y\"\"\nz\",3,,\"[\"\"p\"\",\"\"q\"\"]\",true\r\n\
             \"'=1+1\",-2,,\"[]\",false\r\n"
        );
    }
}
