//! `roleos prove`: an agent over a suite of tasks, and a verdict that others can check.

mod look;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use evidence::score::{self, Source};
use prove::agent::Agent;
use prove::compare::Comparison;
use prove::exchange::swebench;
use prove::glob;
use prove::lab::Lab;
use prove::report::{Input, Report};
use prove::run::{self, RunError, RunFacts, RunFolder, Runner};
use prove::suite::{Member, Suite};
use prove::trial::Rules;
use witness::policy::Policy;
use witness::scorecard::{Thresholds, Wanted};
use witness::wire::Mode;

use crate::cli::VERSION;
use crate::command::suite::cache;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::{DIM, Ui};

/// Largest file of predictions.
const MAX_PREDICTIONS: u64 = 1 << 30;

/// Words of `prove`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
The agent works in a box without a network, on a tree without history. Its change is graded in a
fresh tree. Every trial is sealed. Exit code: 0 accepted, 1 not, 2 could not run.

Examples:
  roleos prove suites/qs --agent reference            checks the harness
  roleos prove suites/qs --agent './solve.sh {issue_file}' --mode autonomous --jobs 2
  roleos prove suites/qs --agent claude --max-cost 20 --resume
  roleos prove list
  roleos prove compare RUN RUN")]
pub struct Args {
    #[command(subcommand)]
    command: Option<look::Command>,
    /// Folder of the suite.
    #[arg(required = true)]
    suite: Option<PathBuf>,
    /// Command of the agent, or reference, null, rogue, claude, codex, mini.
    #[arg(long, value_name = "CMD", required_unless_present = "predictions")]
    agent: Option<String>,
    /// How much freedom the agent has: restricted, approved or autonomous.
    #[arg(long, value_name = "MODE", default_value = "autonomous")]
    mode: String,
    /// Trials at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Most tasks.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only tasks whose id matches.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Attempts per task.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Go on with the last run of this suite and agent, if there is one.
    #[arg(long)]
    resume: bool,
    /// Most money of the run.
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Compare with this run, or `last`.
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Ask that the lower bound of the solve rate reaches the threshold too.
    #[arg(long)]
    confident: bool,
    /// Let the agent run without supervision; such a run is not accepted.
    #[arg(long)]
    unsupervised: bool,
    /// Folder of the repositories, by the last part of their source.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Grade the changes of a file of predictions instead of running an agent; such a run is not accepted.
    #[arg(long, value_name = "FILE", conflicts_with = "agent")]
    predictions: Option<PathBuf>,
    /// Write a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Missing(_) => Self::input("run_not_found", error.to_string())
                .hint("`roleos prove list` names the runs"),
            RunError::Other(_) => Self::input("other_run", error.to_string())
                .hint("leave `--resume` out to start a new run"),
            _ => Self::refused("prove", base::said(&error)),
        }
    }
}

/// Does it.
///
/// # Errors
/// The suite cannot be read, or the run cannot be made.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if let Some(command) = &args.command {
        return look::run(ui, context, command);
    }
    let Some(folder) = &args.suite else {
        return Err(Failure::input("usage", "a suite is needed"));
    };
    let agent = args.agent.as_deref().unwrap_or("predictions");
    let predictions = args
        .predictions
        .as_deref()
        .map(read_predictions)
        .transpose()?;
    let suite = Suite::read(folder)?;
    let members = chosen(&suite, args)?;
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == args.mode);
    let mode = mode.ok_or_else(|| {
        Failure::input("mode", format!("`{}` is not a mode", args.mode))
            .hint("restricted, approved or autonomous")
    })?;
    let runs = runs_folder(context);
    let facts = facts(&suite, &members, args, agent, mode, &runs)?;
    let folder = RunFolder::of(&runs, &facts.run);
    let cache = cache()?;
    let lab = Lab::open(
        &suite,
        args.repos.as_deref(),
        &cache,
        &folder.0.join("slots"),
    );
    let runner = Runner {
        suite: &suite,
        members: members.clone(),
        lab: &lab,
        rules: Rules {
            predictions,
            ..rules(&folder, agent, mode, args.unsupervised)?
        },
        facts: facts.clone(),
        folder: folder.clone(),
        store: &context.store,
        jobs: args.jobs,
        max_cost: args.max_cost.map(microdollars),
    };
    ui.note(format_args!(
        "{DIM}run {} of {} tasks{DIM:#}",
        facts.run,
        members.len()
    ));
    let progress = ui.progress(members.len() * facts.attempts as usize, "trials");
    let done = runner.run(&|done, _| progress.set(done))?;
    drop(progress);
    let report = report(context, &folder, &facts, &members, args.confident)?;
    write_reports(&folder, &report, args.html.as_deref())?;
    if ui.json {
        ui.json(&report)?;
    } else {
        ui.line(report.text().trim_end())?;
    }
    if let Some(name) = &args.baseline {
        show_baseline(ui, &runs, &facts, &folder, name)?;
    }
    match done.stopped {
        Some(why) => Err(Failure::refused(
            "stopped",
            format!("{} trials were not started: {why}", done.not_started),
        )
        .hint("`--resume` goes on")),
        None => Ok(Exit::of_check(report.verdict == "ACCEPTED")),
    }
}

fn read_predictions(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let bytes = files::read(path, MAX_PREDICTIONS)?;
    let found = swebench::predictions(&String::from_utf8_lossy(&bytes));
    if found.is_empty() {
        return Err(Failure::input(
            "predictions",
            format!("`{}` holds no prediction", path.display()),
        ));
    }
    Ok(found.into_iter().collect())
}

/// Where runs are kept.
fn runs_folder(context: &Context) -> PathBuf {
    context.workspace.role_os_dir().join("prove")
}

fn microdollars(dollars: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    let whole = (dollars * 1e6).round() as u64;
    whole
}

fn chosen<'s>(suite: &'s Suite, args: &Args) -> Result<Vec<&'s Member>, Failure> {
    let is_wanted = |member: &&Member| {
        args.only
            .as_ref()
            .is_none_or(|pattern| glob::matches(pattern, &member.task.id))
    };
    let mut members: Vec<&Member> = suite.members.iter().filter(is_wanted).collect();
    members.truncate(args.limit.unwrap_or(usize::MAX));
    if members.is_empty() {
        return Err(Failure::input("no_tasks", "no task of the suite matches")
            .hint("`roleos suite show SUITE` lists them"));
    }
    Ok(members)
}

fn rules(
    folder: &RunFolder,
    agent: &str,
    mode: Mode,
    unsupervised: bool,
) -> Result<Rules, Failure> {
    // Rules of the user's own workspace do not count here: a run is the same everywhere.
    let workspace = folder.0.join("policy");
    files::make_directory(&workspace, Privacy::Secret)?;
    let own = base::programs::running()
        .map_err(|error| Failure::refused("no_program", error.to_string()))?;
    Ok(Rules {
        agent: Agent::parse(agent),
        mode,
        supervisor: (!unsupervised).then_some((own, workspace)),
        model_url: String::new(),
        predictions: None,
    })
}

fn facts(
    suite: &Suite,
    members: &[&Member],
    args: &Args,
    agent: &str,
    mode: Mode,
    runs: &Path,
) -> Result<RunFacts, Failure> {
    let now = base::clock::now_ns();
    let created = base::clock::text(now);
    let parsed = Agent::parse(agent);
    let mut facts = RunFacts {
        run: String::new(),
        suite: std::path::absolute(&suite.folder)?
            .to_string_lossy()
            .into_owned(),
        suite_name: suite.meta.name.clone(),
        suite_digest: suite.digest(),
        tasks: members
            .iter()
            .map(|member| member.task.id.clone())
            .collect(),
        agent: agent.to_owned(),
        agent_name: parsed.name(),
        harness_check: parsed.is_harness_check(),
        mode: mode.name().to_owned(),
        policy: hex::encode(Policy::of_mode(mode).hash()),
        attempts: args.attempts,
        tool: VERSION.to_owned(),
        sandbox: if args.predictions.is_some() {
            "none"
        } else {
            "bwrap"
        }
        .to_owned(),
        governance: if args.unsupervised || args.predictions.is_some() {
            "none"
        } else {
            "exec"
        }
        .to_owned(),
        created,
    };
    let same = |name: &String| {
        let known = RunFolder::of(runs, name).facts().ok()?;
        let renamed = RunFacts {
            run: known.run.clone(),
            created: known.created.clone(),
            ..facts.clone()
        };
        (renamed == known).then_some(known.run)
    };
    let found = args
        .resume
        .then(|| run::list(runs).iter().rev().find_map(same))
        .flatten();
    let name = || {
        let day: String = facts
            .created
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        format!(
            "{day}-{}-{}",
            facts
                .agent_name
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect::<String>(),
            now % 1000
        )
    };
    facts.run = found.unwrap_or_else(name);
    Ok(facts)
}

/// Adds the bundles of a run up and makes its report.
fn report(
    context: &Context,
    folder: &RunFolder,
    facts: &RunFacts,
    members: &[&Member],
    confident: bool,
) -> Result<Report, Failure> {
    let paths: Vec<PathBuf> = folder.sealed().into_values().collect();
    let keyring = context.store.keys()?.keyring();
    let source = Source {
        paths: &paths,
        keyring: &keyring,
        unverified: false,
        options: context.scan_options(),
        ledger: None,
    };
    let scored = score::scorecard(
        source,
        &Wanted {
            all: true,
            ..Wanted::default()
        },
        |_| {},
    )?;
    let records = folder.records(facts);
    Ok(Report::of(Input {
        facts,
        records: &records,
        members,
        scored: &scored.result,
        thresholds: &Thresholds::default(),
        confident,
    }))
}

fn write_reports(folder: &RunFolder, report: &Report, html: Option<&Path>) -> Result<(), Failure> {
    let json = serde_json::to_vec_pretty(report).map_err(std::io::Error::from)?;
    files::write(&folder.0.join("report.json"), &json, Privacy::Secret)?;
    let page = prove::page::html(report, &folder.records(&report.run));
    files::write(
        &folder.0.join("report.html"),
        page.as_bytes(),
        Privacy::Secret,
    )?;
    files::write(
        &folder.0.join("summary.md"),
        prove::page::markdown(report).as_bytes(),
        Privacy::Secret,
    )?;
    if let Some(path) = html {
        files::write(path, page.as_bytes(), Privacy::Shared)?;
    }
    Ok(())
}

fn show_baseline(
    ui: &Ui,
    runs: &Path,
    facts: &RunFacts,
    folder: &RunFolder,
    name: &str,
) -> Result<(), Failure> {
    let before = match name {
        "last" => run::list(runs).into_iter().rev().find(|other| {
            let known = RunFolder::of(runs, other).facts();
            *other != facts.run
                && known.is_ok_and(|known| {
                    known.suite_name == facts.suite_name && known.agent == facts.agent
                })
        }),
        name => Some(name.to_owned()),
    };
    let Some(before) = before else {
        ui.note("there is no earlier run to compare with");
        return Ok(());
    };
    let earlier = RunFolder::of(runs, &before);
    let comparison = Comparison::of(&earlier.records(&earlier.facts()?), &folder.records(facts));
    if !ui.json {
        ui.line(comparison.text(&before).trim_end())?;
    }
    Ok(())
}
