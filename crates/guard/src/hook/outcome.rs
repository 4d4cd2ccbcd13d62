//! Extracts the end of a tool from the agent's event: text, exit status, failure. The output is kept for tests and
//! failures.

use std::path::Path;

use evidence::sealing::test_commands::TestCommand;
use oversight::tools::shell_command;
use serde_json::Value;

use super::test_run;
use crate::agents::{Event, Kind};
use base::digest;
use evidence::journal::capture::{self, MAX_OUTPUT};
use evidence::journal::record::Outcome;
use evidence::sealing::tested;

/// Fields with the output of a tool, in the order in which they are joined.
const PRINTED: &[&str] = &[
    "stdout",
    "stderr",
    "output",
    "textResultForLlm",
    "llmContent",
    "returnDisplay",
    "text",
    "content",
    "result",
    "error",
];

/// Fields that hold an exit status.
const STATUS: &[&str] = &["exit_code", "exitCode", "returncode", "returnCode"];

/// Words in front of an exit status in a message.
const SPOKEN: &[&str] = &[
    "exit code: ",
    "exit code ",
    "exit status ",
    "exited with code ",
];

/// Length of the beginning in which these words are searched.
const FIRST_WORDS: usize = 300;

/// Nesting of values that is followed.
const MAX_DEPTH: usize = 4;

/// Returns the end of this event's call. `own_tests` are the user's commands that run tests; `journal` is the
/// session's.
pub(super) fn of(event: &Event, own_tests: &[String], journal: &Path) -> Outcome {
    let response = unwrapped(&event.response);
    let mut printed = String::new();
    collect(&response, &mut printed, 0);
    if let Some(error) = &event.text {
        if !printed.is_empty() {
            printed.push('\n');
        }
        printed.push_str(error);
    }
    let broke = event.kind == Kind::ToolFailed;
    let exit = status(&response)
        .or_else(|| spoken(&printed))
        .or_else(|| not_found(&printed));
    let failed = broke || exit.is_some_and(|exit| exit != 0) || says_failure(&response);
    let command = shell_command(&event.tool, &event.input);
    let test = command.and_then(|command| TestCommand::of(&command, own_tests));
    let whole = match (&event.response, &event.text) {
        (Value::Null, Some(error)) => Value::String(error.clone()),
        (response, _) => response.clone(),
    };
    let is_test = test.is_some();
    let folder = event.cwd.as_ref().filter(|_| is_test);
    let tested = folder.and_then(tested).unwrap_or_default();
    let mut outcome = Outcome {
        call_id: event.call_id.clone(),
        tool: event.tool.clone(),
        sha256: hex::encode(digest(capture::canonical(&whole).as_bytes())),
        failed,
        exit,
        duration_ms: event.duration_ms,
        test: is_test,
        tree: tested.tree,
        setup: tested.setup,
        output: (is_test || failed).then(|| capture::text(&printed, MAX_OUTPUT)),
        ..Outcome::default()
    };
    if let Some(test) = test {
        test_run::observe(&mut outcome, &test, event, (journal, own_tests));
    }
    outcome
}

/// Returns the exit status of a shell that did not find the program, from its last line; some agents report nothing
/// else.
fn not_found(printed: &str) -> Option<i64> {
    let last = printed.trim_end().lines().next_back()?;
    last.ends_with(": command not found").then_some(127)
}

/// Parses JSON inside a string, which some agents send.
fn unwrapped(response: &Value) -> Value {
    let inner = response
        .as_str()
        .filter(|text| text.starts_with('{'))
        .and_then(|text| serde_json::from_str(text).ok());
    inner.unwrap_or_else(|| response.clone())
}

fn collect(value: &Value, printed: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) if !text.is_empty() => {
            if !printed.is_empty() && !printed.ends_with('\n') {
                printed.push('\n');
            }
            printed.push_str(text);
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, printed, depth + 1)),
        Value::Object(fields) => {
            let found = PRINTED.iter().filter_map(|name| fields.get(*name));
            found.for_each(|field| collect(field, printed, depth + 1));
        }
        _ => {}
    }
}

fn status(response: &Value) -> Option<i64> {
    let metadata = response.get("metadata");
    let places = [Some(response), metadata].into_iter().flatten();
    places
        .flat_map(|place| STATUS.iter().filter_map(|name| place.get(*name)?.as_i64()))
        .next()
}

/// Parses `Exit code: 1` near the beginning of the output.
fn spoken(printed: &str) -> Option<i64> {
    let head = printed.get(..printed.floor_char_boundary(FIRST_WORDS))?;
    let head = head.to_ascii_lowercase();
    SPOKEN.iter().find_map(|words| {
        let (_, rest) = head.split_once(words)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

fn says_failure(response: &Value) -> bool {
    let flag = |name: &str| response.get(name).and_then(Value::as_bool) == Some(true);
    let kind = response.get("resultType").and_then(Value::as_str);
    let error = response.get("error").is_some_and(|error| !error.is_null());
    flag("is_error")
        || flag("isError")
        || flag("interrupted")
        || error
        || matches!(kind, Some("failure" | "denied" | "rejected"))
}
