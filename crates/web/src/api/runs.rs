//! The run log: candidates, contests, and statistics.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Desk;
use super::frame::{Answer, Asked, List, Part, answer, list as listed, missing};
use super::score::Rate;
use index::list::{Filter, MAX_PAGE, Page};
use index::rows::Run;

/// Which candidates.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Runs {
    /// The role that was played.
    role: Option<String>,
    /// The model.
    model: Option<String>,
    /// `serve`, `learn` or `audit`.
    mode: Option<String>,
    /// Calendar week, such as `2026-W07`.
    week: Option<String>,
    /// Whether the verifier passed it.
    passed: Option<bool>,
    /// Whether it won.
    won: Option<bool>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    #[param(pattern = "^[^~]*~[0-9]{1,18}$")]
    after: Option<String>,
}

/// Candidates of runs, newest first.
#[utoipa::path(get, path = "/api/runs", operation_id = "list_runs", tag = "runs", params(Runs), responses((status = 200, body = List<Run>)))]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Runs>,
) -> Answer<List<Run>> {
    let filter = Filter::default()
        .equal("role", asked.role.as_deref())
        .equal("model", asked.model.as_deref())
        .equal("mode", asked.mode.as_deref())
        .equal("week", asked.week.as_deref())
        .flag("passed", asked.passed)
        .flag("won", asked.won);
    listed(&desk, (asked.limit, asked.after), filter).await
}

/// All candidates of one contest.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Contest {
    run_id: String,
    /// In the order in which they were written.
    candidates: Vec<Run>,
}

/// One contest with all its candidates.
#[utoipa::path(get, path = "/api/runs/{run_id}", operation_id = "get_run", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = Contest)))]
pub(super) async fn one(State(desk): State<Arc<Desk>>, Part(run_id): Part) -> Answer<Contest> {
    answer(&desk, move |desk| {
        let filter = Filter::default().equal("run_id", Some(&run_id));
        let mut candidates = desk
            .view
            .list::<Run>(&filter, &Page::first(MAX_PAGE))?
            .items;
        candidates.reverse();
        if run_id.is_empty() || candidates.is_empty() {
            return Err(
                missing("unknown_run", format!("there is no run `{run_id}`"))
                    .hint("`GET /api/runs` lists them"),
            );
        }
        Ok(Contest { run_id, candidates })
    })
    .await
}

/// One model in one role.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Standing {
    role: String,
    model_id: String,
    runs: u64,
    pass: Rate,
    win: Rate,
    /// Mean reward.
    reward: f64,
    /// Mean cost.
    cost: f64,
    /// Runs that refused at least in part.
    refused: u64,
}

/// What the run log adds up to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Stats {
    models: Vec<Standing>,
    /// Entropy of the winners in bits.
    winners_entropy_bits: f64,
    /// Largest share of wins of one model.
    winners_largest_share: f64,
    /// Lines that could not be read.
    unreadable: u64,
}

/// Every model in every role: pass and win rates, reward, cost.
#[utoipa::path(get, path = "/api/runs/stats", operation_id = "get_run_stats", tag = "runs", responses((status = 200, body = Stats)))]
pub(super) async fn stats(State(desk): State<Arc<Desk>>) -> Answer<Stats> {
    answer(&desk, |desk| {
        let stats = desk.view.run_stats()?;
        let models = stats.models.iter().map(|tally| Standing {
            role: tally.role.clone(),
            model_id: tally.model.clone(),
            runs: tally.runs,
            pass: tally.pass.into(),
            win: tally.win.into(),
            reward: tally.reward,
            cost: tally.cost,
            refused: tally.refused,
        });
        Ok(Stats {
            models: models.collect(),
            winners_entropy_bits: stats.entropy,
            winners_largest_share: stats.largest,
            unreadable: stats.unreadable,
        })
    })
    .await
}
