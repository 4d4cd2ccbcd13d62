//! Indexing of one line of a log. An unknown line is only counted.

use std::path::Path;

use evidence::journal::SessionId;
use evidence::journal::record::{Call, Line, Record, Start};
use oversight::tools::shell_command;
use rusqlite::{Connection, params};
use selection::run_log;
use serde::Deserialize;
use serde_json::Value;
use specialist::event::Log;
use witness::curve::Period;
use witness::ledger::Leaf;

use super::bundles::title_of;
use super::log::Kind;

/// Limit of a command's text in lists, in bytes; the journal has the rest.
const MAX_TEXT: usize = 4096;

/// Inserts a line. Returns `true` if it is a known one.
pub(super) fn take(
    change: &Connection,
    kind: Kind,
    source: i64,
    number: u64,
    path: &Path,
    line: &[u8],
) -> Result<bool, rusqlite::Error> {
    let place = Place {
        source,
        number: i64::try_from(number).unwrap_or(i64::MAX),
    };
    match kind {
        Kind::Journal => match serde_json::from_slice::<Line>(line) {
            Ok(line) => {
                let id = SessionId::of_path(path).map(|id| id.to_string());
                journal(change, place, &id.unwrap_or_default(), &line)?;
                Ok(true)
            }
            Err(_) => Ok(false),
        },
        Kind::Runs => match run_log::Record::parse(line) {
            Ok(record) => run(change, place, &record, line),
            Err(_) => Ok(false),
        },
        Kind::Events => event(change, place, line),
        Kind::Leaves => match evidence::ledger::read_line(line, number.saturating_sub(1)) {
            Ok(entry) => leaf(change, place, &entry.leaf),
            Err(_) => Ok(false),
        },
        Kind::Dispatches => match serde_json::from_slice::<Dispatch>(line) {
            Ok(row) => dispatch(change, place, &row),
            Err(_) => Ok(false),
        },
        Kind::Requests => match serde_json::from_slice::<Request>(line) {
            Ok(row) => request(change, place, &row),
            Err(_) => Ok(false),
        },
    }
}

#[derive(Clone, Copy)]
struct Place {
    source: i64,
    number: i64,
}

fn journal(
    change: &Connection,
    place: Place,
    session: &str,
    line: &Line,
) -> Result<(), rusqlite::Error> {
    let time = signed(line.time_ns);
    change
        .prepare_cached(
            "INSERT INTO session VALUES (?1, ?2, ?3, '', '', '', 0, ?4, ?4, 0, 0, 0, 0, '', '')
             ON CONFLICT (source) DO UPDATE SET last_ns = max(last_ns, ?4)",
        )?
        .execute(params![place.source, session, line.agent, time])?;
    match &line.record {
        Record::Start(start) => started(change, place, start),
        Record::Call(call) => decision(change, place, session, line, call),
        Record::End(_) => set(change, place, "ended = 1"),
        Record::Prompt(prompt) => change
            .prepare_cached(
                "UPDATE session SET ended = 0, title = iif(title = '', ?2, title) WHERE source = ?1",
            )?
            .execute(params![place.source, title_of(prompt.kept.text.as_bytes())])
            .map(drop),
        Record::Sealed(sealed) => change
            .prepare_cached("UPDATE session SET sealed = ?2 WHERE source = ?1")?
            .execute(params![place.source, sealed.task_id])
            .map(drop),
        Record::ModelSwitch(switch) => change
            .prepare_cached("UPDATE session SET model = ?2 WHERE source = ?1")?
            .execute(params![place.source, switch.to.clone().unwrap_or_default()])
            .map(drop),
        _ => Ok(()),
    }
}

fn set(change: &Connection, place: Place, what: &str) -> Result<(), rusqlite::Error> {
    change
        .prepare_cached(&format!("UPDATE session SET {what} WHERE source = ?1"))?
        .execute([place.source])
        .map(drop)
}

fn started(change: &Connection, place: Place, start: &Start) -> Result<(), rusqlite::Error> {
    change
        .prepare_cached(
            "UPDATE session SET model = ?2, directory = ?3, mode = ?4, gate = ?5, ended = 0 WHERE source = ?1",
        )?
        .execute(params![
            place.source,
            start.model.clone().unwrap_or_default(),
            start.cwd,
            start.mode,
            start.gate
        ])
        .map(drop)
}

fn decision(
    change: &Connection,
    place: Place,
    session: &str,
    line: &Line,
    call: &Call,
) -> Result<(), rusqlite::Error> {
    let text = shell_command(&call.tool, &call.input).unwrap_or_else(|| call.input.to_string());
    let list = |list: &[String]| serde_json::to_string(list).unwrap_or_default();
    change
        .prepare_cached(
            "INSERT INTO decision (source, line, session, seq, time_ns, week, agent, tool, text, directory, gate, verdict,
                 actions, reasons, notes, grants, violations, approval, refusal, decided_us, input)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            place.source,
            place.number,
            session,
            signed(line.seq),
            signed(line.time_ns),
            Period::Week.label(line.time_ns),
            line.agent,
            call.tool,
            head(&text),
            call.cwd,
            call.gate,
            call.verdict,
            list(&call.actions),
            list(&call.reasons),
            list(&call.notes),
            list(&call.grants),
            list(&call.violations),
            call.approval,
            call.refusal,
            signed(call.decided_us),
            call.input_sha256,
        ])?;
    change
        .prepare_cached(
            "UPDATE session SET calls = max(calls, ?2), asked = asked + ?3, denied = denied + ?4, ended = 0 WHERE source = ?1",
        )?
        .execute(params![
            place.source,
            signed(line.calls),
            call.verdict == "ask",
            call.verdict == "deny",
        ])
        .map(drop)
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or(text)
}

fn run(
    change: &Connection,
    place: Place,
    record: &run_log::Record,
    line: &[u8],
) -> Result<bool, rusqlite::Error> {
    let more = &record.more;
    change
        .prepare_cached(
            "INSERT INTO run (source, line, ts, week, run_id, role, model, mode, passed, won, refused, cost, reward, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            place.source,
            place.number,
            record.timestamp,
            week_of(&record.timestamp),
            more.run_id.clone().unwrap_or_default(),
            more.role.clone().unwrap_or_default(),
            record.model_id,
            more.mode.clone().unwrap_or_default(),
            record.passed(),
            record.won(),
            record.refusal_penalty > 0.0,
            record.cost,
            record.reward,
            String::from_utf8_lossy(line),
        ])?;
    Ok(true)
}

fn week_of(time: &str) -> String {
    let time: Option<jiff::Timestamp> = time.parse().ok();
    let ns = time.and_then(|time| u64::try_from(time.as_nanosecond()).ok());
    ns.map_or_else(|| "(none)".to_owned(), |ns| Period::Week.label(ns))
}

fn event(change: &Connection, place: Place, line: &[u8]) -> Result<bool, rusqlite::Error> {
    let Some(event) = Log::parse(line).events.pop() else {
        return Ok(line.trim_ascii().is_empty());
    };
    let agreed = event.data.get("agreed").and_then(Value::as_bool);
    change
        .prepare_cached(
            "INSERT INTO event (source, line, role, kind, ts, agreed, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            place.source,
            place.number,
            event.role,
            event.kind,
            event.ts,
            agreed,
            event.data.to_string(),
        ])?;
    Ok(true)
}

fn leaf(change: &Connection, place: Place, leaf: &Leaf) -> Result<bool, rusqlite::Error> {
    change
        .prepare_cached(
            "INSERT INTO leaf (source, line, task_id, created_ns, sha256) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            place.source,
            place.number,
            leaf.task_id.to_string(),
            signed(leaf.created_ns),
            leaf.bundle_sha256,
        ])?;
    Ok(true)
}

/// A line of the field log.
#[derive(Deserialize)]
struct Dispatch {
    role: String,
    ts: String,
    #[serde(default)]
    trace_id: String,
    #[serde(default)]
    route: String,
    #[serde(default)]
    source: String,
    version: Option<String>,
    verdict: Option<String>,
    score: Option<f64>,
}

fn dispatch(change: &Connection, place: Place, row: &Dispatch) -> Result<bool, rusqlite::Error> {
    change
        .prepare_cached(
            "INSERT INTO dispatch (source, line, role, ts, trace_id, route, served_by, version, verdict, score)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            place.source,
            place.number,
            row.role,
            row.ts,
            row.trace_id,
            row.route,
            row.source,
            row.version,
            row.verdict,
            row.score,
        ])?;
    Ok(true)
}

/// A line of the gateway's log.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Request {
    ts: String,
    trace: String,
    method: String,
    path: String,
    route: String,
    role: Option<String>,
    model: Option<String>,
    served: Option<String>,
    upstream: Option<String>,
    status: u16,
    outcome: String,
    reason: Option<String>,
    ms: f64,
    overhead_us: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    session: Option<String>,
}

fn request(change: &Connection, place: Place, row: &Request) -> Result<bool, rusqlite::Error> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    change
        .prepare_cached(
            "INSERT INTO request (source, line, ts, trace, method, path, route, role, model, served, upstream, status,
                 outcome, reason, ms, overhead_us, input_tokens, output_tokens, session)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        )?
        .execute(params![
            place.source,
            place.number,
            row.ts,
            row.trace,
            row.method,
            row.path,
            row.route,
            text(&row.role),
            text(&row.model),
            text(&row.served),
            text(&row.upstream),
            row.status,
            row.outcome,
            text(&row.reason),
            row.ms,
            signed(row.overhead_us),
            row.input_tokens.map(signed),
            row.output_tokens.map(signed),
            text(&row.session),
        ])?;
    Ok(true)
}

/// Converts a number for SQLite, whose numbers are signed; a time beyond them sorts last.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
