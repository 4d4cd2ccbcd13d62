//! A report as one self-contained page, and as a summary for CI.

use crate::curve::{Curve, svg};
use crate::grade::Cause;
use crate::report::Report;
use crate::trial::TrialRecord;

/// The style of the page.
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}\
h1{font-size:1.6rem}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}\
pre{background:#f5f5f5;padding:1rem;overflow:auto}.solved{color:#0a6b2d}.failed{color:#a11}.error,.skipped{color:#7a5200}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#222}th,td{border-color:#333}.solved{color:#6fcf97}.failed{color:#ff8a80}.error,.skipped{color:#ffcc80}}";

/// Writes the page, with the curve of the agent's runs if there is one.
#[must_use]
pub fn html(report: &Report, records: &[TrialRecord], curve: Option<&Curve>) -> String {
    let curve = curve.map_or_else(String::new, |curve| {
        format!(
            "<h2>Runs</h2>\n{}\n<pre>{}</pre>\n",
            svg(curve),
            escaped(&curve.text())
        )
    });
    let mut rows = String::new();
    for record in records {
        let cause = record.cause.map_or("", Cause::name);
        let first = record.failing.first().map_or("", |(name, _)| name.as_str());
        rows.push_str(&format!(
            "<tr><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td><td>{:.1} s</td></tr>\n",
            escaped(&record.task),
            escaped(&record.outcome),
            escaped(&record.outcome),
            cause,
            escaped(first),
            seconds(record.agent.took_ms + record.test_ms),
        ));
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
<title>{verdict} – {suite}</title><style>{STYLE}</style></head><body>\n<main>\n<h1>{verdict}: {suite}</h1>\n<pre>{text}</pre>\n{curve}\
<h2>Trials</h2>\n<table><thead><tr><th scope=\"col\">task</th><th scope=\"col\">outcome</th><th scope=\"col\">cause</th><th scope=\"col\">first failing test</th><th scope=\"col\">time</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n</main>\n</body></html>\n",
        verdict = report.verdict,
        suite = escaped(&report.run.suite_name),
        text = escaped(&report.text()),
    )
}

/// Writes the summary.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let text = report.text().replace('`', "'");
    format!(
        "## {}: {}\n\n```text\n{text}```\n",
        report.verdict,
        report.run.suite_name.replace(['\n', '`'], " ")
    )
}

fn seconds(milliseconds: u64) -> f64 {
    std::time::Duration::from_millis(milliseconds).as_secs_f64()
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
