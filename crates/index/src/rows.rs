//! Rows of the lists. The field names are those of the JSON API.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::list::Listable;

/// Builds a row from the columns in their order: as they are, or by a function.
macro_rules! read {
    ($row:ident; $($field:ident $(= $by:ident)?),+) => {{
        let mut column = 0..;
        let mut next = || column.next().unwrap_or_default();
        Ok(Self { $($field: read!(@ $row next $($by)?)),+ })
    }};
    (@ $row:ident $next:ident) => { $row.get($next())? };
    (@ $row:ident $next:ident $by:ident) => { $by($row, $next())? };
}

/// One bundle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Task {
    /// Hexadecimal task id; empty when the file cannot be read.
    pub task_id: String,
    /// When it was sealed.
    pub created: Option<String>,
    /// Calendar week of that, ISO 8601.
    pub week: String,
    /// What the check said when the file was last read: `valid`, `unsigned`, `unchecked`, `bad_signature`, `malformed`.
    pub verdict: String,
    /// `solved`, `failed`, `skipped` or `error`.
    pub outcome: String,
    /// Governance mode.
    pub mode: String,
    /// Role that was played.
    pub role: String,
    /// Model that answered.
    pub model: String,
    /// Program that executed the task.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// Tool calls.
    pub calls: i64,
    /// Those of them that were refused.
    pub denied: i64,
    /// Sum of the calls' latencies.
    pub latency_ms: i64,
    /// Cost in millionths of a US dollar.
    pub cost_microdollars: i64,
    /// That is all of it: no price was missing.
    pub cost_known: bool,
    /// Tokens.
    pub tokens: i64,
    /// Calls that repeated a failed one.
    pub retries: i64,
    /// Spec, diff and test log are there.
    pub evidence_complete: bool,
    /// Breaches of the policy.
    pub violations: i64,
    /// Returns to an earlier state.
    pub rollbacks: i64,
    /// The bundle's file, from the folder of the bundles.
    pub file: String,
    /// The same for all attempts at one task.
    pub identity: String,
    /// The first line of the spec.
    pub title: String,
    /// SHA-256 of the bundle; empty when the file cannot be read.
    pub sha256: String,
}

impl Listable for Task {
    const TABLE: &'static str = "task";
    const ORDER: &'static str = "created_ns";
    const COVERED: Option<(&'static str, &'static [&'static str])> = Some((
        "task_filter",
        &[
            "outcome",
            "role",
            "model",
            "mode",
            "week",
            "verdict",
            "created_ns",
        ],
    ));
    const SEARCHED: &'static [&'static str] = &["title", "spec", "session", "role", "model"];
    const DIGESTS: &'static [&'static str] = &["task_id", "digest", "file"];
    const SORTS: &'static [(&'static str, &'static str)] = &[
        ("created", "created_ns"),
        ("outcome", "outcome"),
        ("role", "role"),
        ("model", "model"),
        ("agent", "agent"),
        ("calls", "calls"),
        ("denied", "denied"),
        ("latency", "latency_ms"),
        ("cost", "cost"),
        ("title", "title"),
    ];
    const COLUMNS: &'static str = "task_id, created_ns, week, verdict, outcome, mode, role, model, agent, session, calls, denied, latency_ms, cost, tokens, retries, complete, violations, rollbacks, file, identity, cost_known, title, digest";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; task_id, created = created, week, verdict, outcome, mode, role, model, agent, session, calls,
            denied, latency_ms, cost_microdollars, tokens, retries, evidence_complete, violations, rollbacks, file,
            identity = hex, cost_known, title, sha256)
    }
}

/// One tool call and what was answered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Decision {
    /// The session.
    pub session: String,
    /// Number of the line in the session's journal.
    pub seq: i64,
    /// When.
    pub time: String,
    /// Calendar week of that.
    pub week: String,
    /// The agent.
    pub agent: String,
    /// The tool, by the agent's name for it.
    pub tool: String,
    /// The command, or the arguments as JSON; redacted, and cut when long.
    pub text: String,
    /// Where it would run.
    pub directory: String,
    /// The capability gate was on.
    pub gate: bool,
    /// `allow`, `advise`, `ask` or `deny`.
    pub verdict: String,
    /// Gated actions in it.
    pub actions: Vec<String>,
    /// Why.
    pub reasons: Vec<String>,
    /// Advice.
    pub notes: Vec<String>,
    /// Grants that let it through.
    pub grants: Vec<String>,
    /// Rules of the mode that were broken.
    pub violations: Vec<String>,
    /// The refusal whose approval let it through.
    pub approval: Option<String>,
    /// The id under which a person may approve it.
    pub refusal: Option<String>,
    /// How long the decision took, in microseconds.
    pub decided_us: i64,
}

impl Listable for Decision {
    const TABLE: &'static str = "decision";
    const ORDER: &'static str = "time_ns";
    const SEARCHED: &'static [&'static str] =
        &["text", "session", "tool", "actions", "reasons", "directory"];
    const DIGESTS: &'static [&'static str] = &["refusal", "input"];
    const SORTS: &'static [(&'static str, &'static str)] = &[
        ("time", "time_ns"),
        ("verdict", "verdict"),
        ("agent", "agent"),
        ("tool", "tool"),
    ];
    const COLUMNS: &'static str = "session, seq, time_ns, week, agent, tool, text, directory, gate, verdict, actions, reasons, notes, grants, violations, approval, refusal, decided_us";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; session, seq, time = time, week, agent, tool, text, directory, gate, verdict, actions = json,
            reasons = json, notes = json, grants = json, violations = json, approval, refusal, decided_us)
    }
}

/// One session of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The model, where the agent tells.
    pub model: String,
    /// Where it works.
    pub directory: String,
    /// Governance mode.
    pub mode: String,
    /// The capability gate was on.
    pub gate: bool,
    /// When it began.
    pub started: String,
    /// When it was last heard of.
    pub last: String,
    /// Tool calls.
    pub calls: i64,
    /// Those that a person was asked about.
    pub asked: i64,
    /// Those that were refused.
    pub denied: i64,
    /// It was reported as ended.
    pub ended: bool,
    /// Task id of the last bundle that was sealed of it.
    pub sealed: Option<String>,
    /// The first line of the first prompt.
    pub title: String,
}

impl Listable for Session {
    const TABLE: &'static str = "session";
    const ORDER: &'static str = "last_ns";
    const KEY: &'static str = "source";
    const COLUMNS: &'static str = "session.id, agent, model, directory, mode, gate, started_ns, last_ns, calls, asked, denied, ended, sealed, title";
    const SEARCHED: &'static [&'static str] = &[
        "title",
        "session.id",
        "agent",
        "model",
        "directory",
        "sealed",
    ];
    const SORTS: &'static [(&'static str, &'static str)] = &[
        ("last", "last_ns"),
        ("started", "started_ns"),
        ("agent", "agent"),
        ("model", "model"),
        ("calls", "calls"),
        ("asked", "asked"),
        ("denied", "denied"),
        ("title", "title"),
    ];

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; id, agent, model, directory, mode, gate, started = time, last = time, calls, asked, denied, ended,
            sealed = unless_empty, title)
    }
}

/// One candidate of a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Run {
    /// Its contest.
    pub run_id: String,
    /// Number of the line in the run log.
    pub line: i64,
    /// Whether the verifier passed it.
    pub passed: bool,
    /// Whether it won its contest.
    pub won: bool,
    /// The line as the log has it.
    #[schema(value_type = Object)]
    pub record: Value,
}

impl Listable for Run {
    const TABLE: &'static str = "run";
    const ORDER: &'static str = "id";
    const SEARCHED: &'static [&'static str] = &["role", "model"];
    const DIGESTS: &'static [&'static str] = &["run_id", "record"];
    const SORTS: &'static [(&'static str, &'static str)] = &[
        ("time", "ts"),
        ("role", "role"),
        ("model", "model"),
        ("mode", "mode"),
        ("passed", "passed"),
        ("won", "won"),
        ("reward", "reward"),
        ("cost", "cost"),
    ];
    const COLUMNS: &'static str = "run_id, line, passed, won, record";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; run_id, line, passed, won, record = json)
    }
}

/// One event of a specialist.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Event {
    /// The role.
    pub role: String,
    /// `register`, `certify`, `promote`, `rollback`, `halt`, `clear-halt`, `certification-attempt`, `shadow-probe`.
    pub kind: String,
    /// When.
    pub ts: String,
    /// Of a probe: whether both answers agreed.
    pub agreed: Option<bool>,
    /// The rest.
    #[schema(value_type = Object)]
    pub data: Value,
}

impl Listable for Event {
    const TABLE: &'static str = "event";
    const ORDER: &'static str = "ts";
    const COLUMNS: &'static str = "role, kind, ts, agreed, data";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; role, kind, ts, agreed, data = json)
    }
}

/// One dispatch of the field log.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Dispatch {
    /// The role.
    pub role: String,
    /// When.
    pub ts: String,
    /// The caller's name for it.
    pub trace_id: String,
    /// Where the gate sent it.
    pub route: String,
    /// Who answered.
    pub served_by: String,
    /// The version that answered or was asked.
    pub version: Option<String>,
    /// The answer in a word.
    pub verdict: Option<String>,
    /// The backend's score.
    pub score: Option<f64>,
}

impl Listable for Dispatch {
    const TABLE: &'static str = "dispatch";
    const ORDER: &'static str = "ts";
    const COLUMNS: &'static str = "role, ts, trace_id, route, served_by, version, verdict, score";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; role, ts, trace_id, route, served_by, version, verdict, score)
    }
}

/// One request of the gateway's log.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Request {
    /// When it came.
    pub ts: String,
    /// The name of its receipt.
    pub trace: String,
    /// The path without the query.
    pub path: String,
    /// Where it went: `specialist`, `general`, `passthrough`, `refused`, …
    pub route: String,
    /// The role, where one was asked for.
    pub role: String,
    /// The model that was asked for.
    pub model: String,
    /// The model that answered, where it is another.
    pub served: String,
    /// The upstream.
    pub upstream: String,
    /// Status of the response.
    pub status: i64,
    /// `complete`, `client_gone`, `upstream_broke` or `cut_off`.
    pub outcome: String,
    /// Why it went there.
    pub reason: String,
    /// Milliseconds until the end of the response.
    pub ms: f64,
    /// Microseconds of it that the gateway took itself.
    pub overhead_us: i64,
    /// Tokens in, where they are known.
    pub input_tokens: Option<i64>,
    /// Tokens out, where they are known.
    pub output_tokens: Option<i64>,
    /// The agent's session, where it tells.
    pub session: String,
}

impl Listable for Request {
    const TABLE: &'static str = "request";
    const ORDER: &'static str = "ts";
    const COLUMNS: &'static str = "ts, trace, path, route, role, model, served, upstream, status, outcome, reason, ms, overhead_us, input_tokens, output_tokens, session";
    const SEARCHED: &'static [&'static str] = &[
        "trace", "path", "role", "model", "served", "session", "reason",
    ];
    const SORTS: &'static [(&'static str, &'static str)] = &[
        ("time", "ts"),
        ("role", "role"),
        ("model", "model"),
        ("status", "status"),
        ("ms", "ms"),
    ];

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; ts, trace, path, route, role, model, served, upstream, status, outcome, reason, ms, overhead_us,
            input_tokens, output_tokens, session)
    }
}

/// One leaf of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Leaf {
    /// Its line, from 1.
    pub line: i64,
    /// The task.
    pub task_id: String,
    /// When the bundle was sealed.
    pub created: String,
    /// SHA-256 of the bundle.
    pub sha256: String,
}

impl Listable for Leaf {
    const TABLE: &'static str = "leaf";
    const ORDER: &'static str = "line";
    const COLUMNS: &'static str = "line, task_id, created_ns, sha256";

    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        read!(row; line, task_id, created = time, sha256 = hex)
    }
}

type Column<T> = Result<T, rusqlite::Error>;

fn json<T: DeserializeOwned + Default>(row: &rusqlite::Row<'_>, column: usize) -> Column<T> {
    let text: String = row.get(column)?;
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

fn time(row: &rusqlite::Row<'_>, column: usize) -> Column<String> {
    let time: i64 = row.get(column)?;
    Ok(base::clock::text(time.cast_unsigned()))
}

fn created(row: &rusqlite::Row<'_>, column: usize) -> Column<Option<String>> {
    let is_known = row.get::<_, i64>(column)? > 0;
    is_known.then(|| time(row, column)).transpose()
}

fn hex(row: &rusqlite::Row<'_>, column: usize) -> Column<String> {
    Ok(hex::encode(row.get::<_, Vec<u8>>(column)?))
}

fn unless_empty(row: &rusqlite::Row<'_>, column: usize) -> Column<Option<String>> {
    let text: String = row.get(column)?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}
