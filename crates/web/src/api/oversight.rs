//! Tool calls of agents with their verdicts, and the verdict on any command.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use base::config::Config;
use guard::contracts::{OwnSchemas, Source};
use jiff::Timestamp;
use lookup::Disk;
use oversight::governance::Spent;
use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::{Call, NoApprovals, Place, Rules, decide};
use present::view::oversight as shape;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::Desk;
use super::errors::{conflict, unfit};
use super::frame::{Answer, Asked, Given, List, Part, answer, list as listed, missing};
use crate::problem::Problem;
use index::list::{Filter, Page};
use index::rows::{Decision, Session};

/// Which decisions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Decisions {
    /// `allow`, `advise`, `ask` or `deny`.
    verdict: Option<String>,
    /// A gated action, such as `git:push`.
    action: Option<String>,
    /// The tool, by the agent's name for it.
    tool: Option<String>,
    /// The agent.
    agent: Option<String>,
    /// The session.
    session: Option<String>,
    /// Calendar week, such as `2026-W07`.
    week: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// Tool calls and their verdicts, newest first.
#[utoipa::path(get, path = "/api/decisions", operation_id = "list_decisions", tag = "oversight", params(Decisions),
    responses((status = 200, body = List<Decision>)))]
pub(super) async fn decisions(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Decisions>,
) -> Answer<List<Decision>> {
    let filter = Filter::default()
        .equal("verdict", asked.verdict.as_deref())
        .holds("actions", asked.action.as_deref())
        .equal("tool", asked.tool.as_deref())
        .equal("agent", asked.agent.as_deref())
        .equal("session", asked.session.as_deref())
        .equal("week", asked.week.as_deref());
    listed(&desk, (asked.limit, asked.after), filter).await
}

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Sessions {
    /// The agent.
    agent: Option<String>,
    /// The model.
    model: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// Sessions of agents, the latest first.
#[utoipa::path(get, path = "/api/sessions", operation_id = "list_sessions", tag = "oversight", params(Sessions),
    responses((status = 200, body = List<Session>)))]
pub(super) async fn sessions(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Sessions>,
) -> Answer<List<Session>> {
    let filter = Filter::default()
        .equal("agent", asked.agent.as_deref())
        .equal("model", asked.model.as_deref());
    listed(&desk, (asked.limit, asked.after), filter).await
}

/// One session; its calls are `/api/decisions?session=…`.
#[utoipa::path(get, path = "/api/sessions/{id}", operation_id = "get_session", tag = "oversight", params(("id" = String, Path)),
    responses((status = 200, body = Session)))]
pub(super) async fn session(State(desk): State<Arc<Desk>>, Part(id): Part) -> Answer<Session> {
    answer(&desk, move |desk| {
        let filter = Filter::default().equal("session.id", Some(&id));
        let found = desk.view.list(&filter, &Page::first(1))?.items.pop();
        found.ok_or_else(|| missing("unknown_session", format!("there is no session `{id}`")))
    })
    .await
}

/// A command, or a call of another tool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    /// As an agent would give it to its shell.
    command: Option<String>,
    /// The name of another tool.
    tool: Option<String>,
    /// What that tool is given.
    #[schema(value_type = Object)]
    input: Option<Value>,
    /// Where it would run [default: the workspace].
    directory: Option<String>,
}

/// What the gate would say, and why. Changes nothing.
#[utoipa::path(post, path = "/api/explain", tag = "oversight", request_body = Explain,
    responses((status = 200, body = Value, description = "As `roleos explain --json`.")))]
pub(super) async fn explain(
    State(desk): State<Arc<Desk>>,
    Given(body): Given<Explain>,
) -> Answer<Value> {
    answer(&desk, move |desk| explained(desk, body)).await
}

fn explained(desk: &Desk, body: Explain) -> Result<Value, Problem> {
    let (tool, input) = match (body.command, body.tool) {
        (Some(command), None) => ("Bash".to_owned(), json!({ "command": command })),
        (None, Some(tool)) => (tool, body.input.unwrap_or_default()),
        _ => {
            return Err(unfit("bad_field", "give either `command` or `tool`")
                .hint(r#"for example {"command":"git push"}"#));
        }
    };
    let decision = decided(desk, &tool, &input, body.directory.as_deref())?;
    Ok(shape::decision(&decision))
}

/// Returns the parts of calls that determined the verdict, from their words alone: journals store the words, and the
/// verdict of that time is shown beside them. Nothing is marked if nothing was found or the words were cut.
pub(crate) fn deciding_parts(desk: &Desk, calls: &[Decision]) -> Vec<Vec<(usize, usize)>> {
    let set = &desk.config.oversight;
    let (policy, governance) = (set.policy(), set.governance());
    let rules = Rules {
        gate: true,
        policy: &policy,
        grants: &Grants::default(),
        advice: None,
        governance: &governance,
        approved: &NoApprovals,
    };
    let spans = |one: &Decision| {
        let is_plain = one.verdict == "allow" && one.actions.is_empty();
        if is_plain || one.text.starts_with('{') {
            return Vec::new();
        }
        let input = json!({ "command": one.text });
        let call = Call {
            tool: "Bash",
            input: &input,
            place: Place {
                directory: &one.directory,
                home: "/",
            },
        };
        let said = decide(&rules, &call, &Spent::default(), &Nothing, Timestamp::MAX);
        said.spans
    };
    calls.iter().map(spans).collect()
}

/// Returns the gate's verdict on a call, by the current settings, grants and contracts.
pub(crate) fn decided(
    desk: &Desk,
    tool: &str,
    input: &Value,
    directory: Option<&str>,
) -> Result<oversight::Decision, Problem> {
    // Settings changed since the start of the process count, as they do for the hook.
    let config = Config::load(&desk.workspace, &desk.environment)?;
    let set = &config.oversight;
    let contracts = Source::of(&desk.workspace)
        .map_err(|error| conflict("bad_contracts", base::said(&error)))?;
    let (policy, governance) = (
        set.policy_in(&desk.workspace, &desk.environment),
        set.governance(),
    );
    let grants = base::grants::load(&desk.workspace);
    let home = base::environment::home().unwrap_or_else(|| PathBuf::from("/"));
    let root = desk.workspace.root().to_string_lossy().into_owned();
    let place = Place {
        directory: directory.unwrap_or(&root),
        home: &home.to_string_lossy(),
    };
    let call = Call { tool, input, place };
    let advice = contracts.advice(&call, &OwnSchemas);
    let rules = Rules {
        gate: true,
        policy: &policy,
        grants: &grants,
        advice: advice.as_deref(),
        governance: &governance,
        approved: &NoApprovals,
    };
    let now = Timestamp::from_nanosecond(i128::from(base::clock::now_ns()));
    let now = now.unwrap_or(Timestamp::MAX);
    Ok(decide(&rules, &call, &Spent::default(), &Disk, now))
}
