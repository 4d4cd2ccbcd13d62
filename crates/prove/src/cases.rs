//! A test report as a map from the name of a test to its status. Parses bytes, without file access.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;

use crate::task::Format;

/// Largest report that is read.
pub const MAX_REPORT: u64 = 64 << 20;
/// Most tests of a report.
const MAX_CASES: usize = 500_000;

/// Result of a test. Of two results with one name, the later in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It passed, or failed as expected.
    Passed,
    /// It did not run.
    Skipped,
    Failed,
    /// It ended with an error.
    Error,
}

impl Status {
    /// Returns the name in the exchange formats.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Skipped => "SKIPPED",
            Self::Failed => "FAILED",
            Self::Error => "ERROR",
        }
    }
}

/// Tests by name.
pub type Cases = BTreeMap<String, Status>;

/// Parses a report; `None` if it is not readable.
#[must_use]
pub fn read(format: Format, report: &[u8], code: Option<i32>) -> Option<Cases> {
    let found = match format {
        Format::Junit => junit(report)?,
        Format::Tap => tap(report),
        Format::Cargo => cargo(report),
        Format::GotestJson => gotest(report),
        Format::MochaJson => mocha(&serde_json::from_slice(report).ok()?),
        Format::JestJson => jest(&serde_json::from_slice(report).ok()?),
        Format::Ctrf => ctrf(&serde_json::from_slice(report).ok()?),
        Format::Exit => vec![(
            "exit".to_owned(),
            if code? == 0 {
                Status::Passed
            } else {
                Status::Failed
            },
        )],
        Format::Reward => {
            let reward: f64 = std::str::from_utf8(report).ok()?.trim().parse().ok()?;
            let status = if reward >= 1.0 {
                Status::Passed
            } else {
                Status::Failed
            };
            reward
                .is_finite()
                .then(|| vec![("reward".to_owned(), status)])?
        }
    };
    let mut cases = Cases::new();
    for (name, status) in found.into_iter().take(MAX_CASES) {
        let worst = cases.entry(name).or_insert(status);
        *worst = status.max(*worst);
    }
    (!cases.is_empty()).then_some(cases)
}

type Found = Vec<(String, Status)>;

fn junit(report: &[u8]) -> Option<Found> {
    let mut reader = Reader::from_reader(report);
    reader.config_mut().allow_dangling_amp = true;
    let mut found = Found::new();
    let mut case: Option<(String, Status)> = None;
    let mut is_closed = false;
    loop {
        match reader.read_event().ok()? {
            // It could define entities.
            Event::DocType(_) => return None,
            Event::Eof => return (is_closed || found.is_empty()).then_some(found),
            Event::Start(element) => match element.local_name().as_ref() {
                b"testcase" => case = Some((case_name(&element), Status::Passed)),
                other => mark(&mut case, other, &element),
            },
            Event::Empty(element) => match element.local_name().as_ref() {
                b"testcase" => found.push((case_name(&element), Status::Passed)),
                other => mark(&mut case, other, &element),
            },
            Event::End(element) => match element.local_name().as_ref() {
                b"testcase" => found.extend(case.take()),
                b"testsuite" | b"testsuites" => is_closed = true,
                _ => {}
            },
            _ => {}
        }
    }
}

fn mark(case: &mut Option<(String, Status)>, element: &[u8], start: &BytesStart<'_>) {
    let Some((_, status)) = case else { return };
    let is_expected = attribute(start, b"type").is_some_and(|kind| kind == "pytest.xfail");
    let new = match element {
        b"failure" => Status::Failed,
        b"error" => Status::Error,
        b"skipped" if !is_expected => Status::Skipped,
        _ => return,
    };
    *status = new.max(*status);
}

fn case_name(element: &BytesStart<'_>) -> String {
    let name = attribute(element, b"name").unwrap_or_default();
    match attribute(element, b"classname") {
        Some(class) if !class.is_empty() => format!("{class}::{name}"),
        _ => name,
    }
}

fn attribute(element: &BytesStart<'_>, name: &[u8]) -> Option<String> {
    let found = element
        .attributes()
        .flatten()
        .find(|one| one.key.as_ref() == name)?;
    let text = String::from_utf8_lossy(&found.value).into_owned();
    Some(
        quick_xml::escape::unescape(&text)
            .map_or_else(|_| text.clone(), |value| value.into_owned()),
    )
}

/// Parses lines `ok 1 name`, under the titles that tape prints as comments.
fn tap(report: &[u8]) -> Found {
    let text = String::from_utf8_lossy(report);
    let mut found = Found::new();
    let mut title = String::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let is_count = ["tests ", "pass ", "fail ", "ok", "skip ", "todo "];
            if !is_count.iter().any(|word| comment.starts_with(word)) {
                title = comment.trim().to_owned();
            }
            continue;
        }
        let (is_ok, rest) = match line.strip_prefix("not ok ") {
            Some(rest) => (false, rest),
            None => match line.strip_prefix("ok ") {
                Some(rest) => (true, rest),
                None => continue,
            },
        };
        let rest = rest
            .trim_start_matches(|one: char| one.is_ascii_digit())
            .trim_start();
        let name = rest.strip_prefix("- ").unwrap_or(rest);
        let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
        let directive = directive.to_ascii_uppercase();
        let status = if directive.starts_with("SKIP") {
            Status::Skipped
        } else if is_ok || directive.starts_with("TODO") {
            Status::Passed
        } else {
            Status::Failed
        };
        let separator = if title.is_empty() { "" } else { " > " };
        found.push((format!("{title}{separator}{}", name.trim()), status));
    }
    found
}

/// Parses lines `test name ... ok`, under the binary that cargo names before them.
fn cargo(report: &[u8]) -> Found {
    let text = String::from_utf8_lossy(report);
    let mut found = Found::new();
    let (mut binary, mut has_result) = (String::new(), false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("Running ") {
            let rest = rest.strip_prefix("unittests ").unwrap_or(rest);
            binary = rest.split(" (").next().unwrap_or(rest).to_owned();
        } else if let Some(rest) = trimmed.strip_prefix("Doc-tests ") {
            binary = format!("doc {rest}");
        } else if line.starts_with("test result: ") {
            has_result = true;
        } else if let Some((name, end)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        {
            let status = match end.split([',', ' ']).next().unwrap_or_default() {
                "ok" => Status::Passed,
                "ignored" => Status::Skipped,
                "FAILED" => Status::Failed,
                _ => continue,
            };
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            found.push((format!("{binary}::{name}"), status));
        }
    }
    // A crashed run has still named the tests before the crash.
    if has_result { found } else { Found::new() }
}

fn gotest(report: &[u8]) -> Found {
    let text = String::from_utf8_lossy(report);
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|line| {
            let status = match line.get("Action")?.as_str()? {
                "pass" => Status::Passed,
                "skip" => Status::Skipped,
                "fail" => Status::Failed,
                _ => return None,
            };
            let (package, test) = (line.get("Package")?.as_str()?, line.get("Test")?.as_str()?);
            Some((format!("{package}::{test}"), status))
        })
        .collect()
}

fn texts<'v>(value: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text_of(value: &Value, keys: &[&str]) -> Option<String> {
    let found = keys.iter().find_map(|key| value.get(key)?.as_str());
    found.map(str::to_owned)
}

fn mocha(report: &Value) -> Found {
    let lists = [
        ("passes", Status::Passed),
        ("pending", Status::Skipped),
        ("failures", Status::Failed),
    ];
    lists
        .into_iter()
        .flat_map(|(list, status)| {
            texts(report, list)
                .filter_map(move |one| Some((text_of(one, &["fullTitle", "title"])?, status)))
        })
        .collect()
}

fn jest(report: &Value) -> Found {
    texts(report, "testResults")
        .flat_map(|file| texts(file, "assertionResults"))
        .filter_map(|one| {
            Some((
                text_of(one, &["fullName", "title"])?,
                word(one.get("status")?.as_str()?),
            ))
        })
        .collect()
}

fn ctrf(report: &Value) -> Found {
    let results = report.get("results").unwrap_or(report);
    texts(results, "tests")
        .filter_map(|one| {
            let name = text_of(one, &["name"])?;
            let name = match text_of(one, &["suite"]) {
                Some(suite) => format!("{suite}::{name}"),
                None => name,
            };
            Some((name, word(one.get("status")?.as_str()?)))
        })
        .collect()
}

fn word(status: &str) -> Status {
    match status {
        "passed" => Status::Passed,
        "pending" | "skipped" | "todo" | "disabled" => Status::Skipped,
        "failed" => Status::Failed,
        _ => Status::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats the cases of a report in one line.
    fn show(format: Format, report: &str) -> String {
        let Some(cases) = read(format, report.as_bytes(), Some(0)) else {
            return "none".to_owned();
        };
        let cases = cases
            .iter()
            .map(|(name, status)| format!("{name}={}", status.name()));
        cases.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_format_gives_names_and_statuses() {
        for (format, report, expected) in [
            (
                Format::Junit,
                r#"<testsuites><testsuite><testcase classname="a.b" name="c[x &lt; y]"/><testcase classname="a.b" name="d"><failure message="x">y</failure></testcase><testcase name="e"><skipped type="pytest.skip"/></testcase><testcase name="f"><skipped type="pytest.xfail"/></testcase></testsuite></testsuites>"#,
                "a.b::c[x < y]=PASSED; a.b::d=FAILED; e=SKIPPED; f=PASSED",
            ),
            // A document type could define entities, and a cut report hides the rest.
            (
                Format::Junit,
                "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite><testcase name='a'/></testsuite>",
                "none",
            ),
            (Format::Junit, "<testsuite><testcase name='a'/>", "none"),
            (
                Format::Tap,
                "TAP version 13\n# parse\nok 1 equal\nnot ok 2 equal\nok 3 x # SKIP later\n# other\nok 4 equal\n\n1..4\n# tests 4\n# pass  3\n",
                "other > equal=PASSED; parse > equal=FAILED; parse > x=SKIPPED",
            ),
            (
                Format::Tap,
                "ok 1 - a\nnot ok 2 - b # TODO x\n1..2",
                "a=PASSED; b=PASSED",
            ),
            (
                Format::Cargo,
                "     Running tests/a.rs (target/debug/deps/a-1)\n\nrunning 2 tests\ntest x ... ok\ntest y - should panic ... FAILED\ntest z ... ignored, slow\ntest result: FAILED. 1 passed; 1 failed\n   Doc-tests b\ntest src/lib.rs - f (line 3) ... ok\ntest result: ok.",
                "doc b::src/lib.rs - f (line 3)=PASSED; tests/a.rs::x=PASSED; tests/a.rs::y=FAILED; tests/a.rs::z=SKIPPED",
            ),
            (Format::Cargo, "error[E0425]: cannot find value", "none"),
            (
                Format::GotestJson,
                "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T\"}\nnot json",
                "p::T=FAILED",
            ),
            (
                Format::MochaJson,
                r#"{"passes":[{"fullTitle":"a b"}],"failures":[{"fullTitle":"c"}],"pending":[{"fullTitle":"d"}]}"#,
                "a b=PASSED; c=FAILED; d=SKIPPED",
            ),
            (
                Format::JestJson,
                r#"{"testResults":[{"assertionResults":[{"fullName":"a","status":"passed"},{"fullName":"a","status":"failed"}]}]}"#,
                "a=FAILED",
            ),
            (
                Format::Ctrf,
                r#"{"results":{"tests":[{"name":"a","suite":"s","status":"other"}]}}"#,
                "s::a=ERROR",
            ),
            (Format::Exit, "", "exit=PASSED"),
            (Format::Reward, "1.0\n", "reward=PASSED"),
            (Format::Reward, "0.5", "reward=FAILED"),
            (Format::Reward, "NaN", "none"),
            (Format::Reward, "", "none"),
            (Format::MochaJson, "[", "none"),
        ] {
            assert_eq!(show(format, report), expected, "{format:?}");
        }
    }
}
