//! `roleos prove`: runs an agent over a suite of tasks, with a verifiable verdict.

mod baseline;
mod look;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use evidence::score::{self, Source};
use prove::agent::{Agent, Preset};
use prove::exchange::swebench;
use prove::glob;
use prove::lab::Lab;
use prove::report::{Input, Report};
use prove::run::{self, RunError, RunFacts, RunFolder, Runner};
use prove::suite::{Member, Suite};
use prove::trial::Rules;
use witness::scorecard::{Thresholds, Wanted};
use witness::wire::Mode;

use baseline::compare_with;
use rules::{Confirm, Engine, parse_date, policy_hash, policy_text, rules};

use crate::cli::VERSION;
use crate::command::suite::{cache, check_is_trusted};
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
    /// Settings for the agent's gate: the section `[oversight]` of a settings file.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// In approved mode: confirm calls that are not gated, or refuse all.
    #[arg(long, value_name = "WHO", default_value = "auto")]
    confirm: Confirm,
    /// Name of the model for the presets claude, codex and mini.
    #[arg(long, value_name = "NAME", default_value = "")]
    model: String,
    /// Folder with the agent's programs, read-only in the box; may be given again.
    #[arg(long = "agent-dir", value_name = "DIR")]
    agent_dirs: Vec<PathBuf>,
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
    /// Fresh attempts at lost tasks that the last three runs solved, with `--baseline`.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10))]
    recheck: u32,
    /// Date up to which the model may know fixes; the report splits there.
    #[arg(long, value_name = "DATE", default_value = "", value_parser = parse_date)]
    cutoff: String,
    /// Ask that the lower bound of the solve rate reaches the threshold too.
    #[arg(long)]
    confident: bool,
    /// Program that makes the boxes. Containers run unsupervised, and such a run is not accepted.
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: Engine,
    /// Image of the containers, with the toolchains of the suite.
    #[arg(long, value_name = "NAME", required_if_eq_any = [("engine", "docker"), ("engine", "podman")])]
    image: Option<String>,
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

impl Args {
    /// Returns `true` if the agent is supervised. A supervisor cannot observe the programs of a daemon.
    fn is_supervised(&self) -> bool {
        !self.unsupervised && !self.engine.is_container()
    }
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

/// Runs the command.
///
/// # Errors
/// The suite cannot be read, or the run cannot be executed.
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
    check_is_trusted(context, &suite)?;
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
    let lab = Lab::open_with(
        &suite,
        args.repos.as_deref(),
        &cache,
        &folder.0.join("slots"),
        args.engine.tools(args.image.as_deref(), &facts.run)?,
    );
    let runner = Runner {
        suite: &suite,
        members: members.clone(),
        lab: &lab,
        rules: Rules {
            predictions,
            ..rules(context, &folder, agent, mode, args)?
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
    let mut report = report(context, &folder, &facts, &members, args.confident)?;
    if let Some(name) = &args.baseline {
        report.baseline = compare_with(ui, &runs, &runner, name, args.recheck)?;
    }
    write_reports(&folder, &report, args.html.as_deref())?;
    if ui.json {
        ui.json(&report.json().map_err(std::io::Error::from)?)?;
    } else {
        ui.line(report.text().trim_end())?;
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
        policy: policy_hash(mode, &policy_text(args)?),
        confirm: match (mode, args.confirm) {
            (Mode::Approved, Confirm::Auto) => "auto",
            (Mode::Approved, Confirm::Deny) => "deny",
            _ => "",
        }
        .to_owned(),
        model: args.model.clone(),
        cutoff: args.cutoff.clone(),
        attempts: args.attempts,
        tool: VERSION.to_owned(),
        sandbox: if args.predictions.is_some() {
            "none"
        } else {
            args.engine.name()
        }
        .to_owned(),
        governance: match parsed.preset().and_then(Preset::hook) {
            _ if !args.is_supervised() || args.predictions.is_some() => "none",
            Some(_) => "exec, hook",
            None => "exec",
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

/// Computes the statistics of a run's bundles and creates its report.
fn report(
    context: &Context,
    folder: &RunFolder,
    facts: &RunFacts,
    members: &[&Member],
    confident: bool,
) -> Result<Report, Failure> {
    let paths = folder.planned_bundles(facts);
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
    let json = report
        .json()
        .and_then(|value| serde_json::to_vec_pretty(&value));
    let json = json.map_err(std::io::Error::from)?;
    files::write(&folder.0.join("report.json"), &json, Privacy::Secret)?;
    let runs = run::load(files::parent(&folder.0));
    let curves = prove::curve::curves(&runs);
    let curve = curves.iter().find(|curve| {
        !report.run.harness_check
            && (&curve.suite, &curve.agent) == (&report.run.suite_name, &report.run.agent_name)
    });
    let page = prove::page::html(report, &folder.records(&report.run), curve);
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
