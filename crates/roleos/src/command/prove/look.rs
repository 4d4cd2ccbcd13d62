//! `roleos prove list | show | compare | curve | export | regrade`: recorded runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use prove::exchange::harbor;
use prove::exchange::swebench::{self, Submission};
use prove::grade::Cause;
use prove::grading;
use prove::lab::Lab;
use prove::pool;
use prove::run::{self, RunFolder};
use prove::seal;
use prove::suite::{Member, Suite};
use prove::trial::TrialRecord;
use serde_json::json;

use super::baseline::compare;
use super::{report, runs_folder};
use crate::command::suite::{cache, check_is_trusted};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui};

/// Words of `prove list` and the others.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List the runs of this workspace.
    List,
    /// Show a run, or one of its trials.
    Show {
        /// The run.
        run: String,
        /// Task to show.
        task: Option<String>,
    },
    /// Compare a run with an earlier one.
    Compare {
        /// The earlier run.
        before: String,
        /// The later run.
        now: String,
        /// End with 1 when a regression is confirmed or the evidence for a loss is strong.
        #[arg(long)]
        fail_on_regression: bool,
    },
    /// Show what a solve costs and how many tasks are solved, run by run, with the slope of each line.
    Curve {
        /// Write the first curve as a picture.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Export a run for other tools.
    Export {
        /// The run.
        run: String,
        /// Format.
        #[arg(long)]
        format: Exported,
    },
    /// Run the tests of a run again on the changes that it kept.
    Regrade {
        /// The run.
        run: String,
        /// Tests at a time.
        #[arg(long, value_name = "N", default_value_t = 2)]
        jobs: usize,
        /// Folder of the repositories, by the last part of their source.
        #[arg(long, value_name = "DIR")]
        repos: Option<PathBuf>,
    },
}

/// A format of other tools.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Exported {
    /// JSON lines of predictions, as SWE-bench takes them.
    Predictions,
    /// The report of SWE-bench, with those of all instances.
    SwebenchReport,
    /// Results of Harbor's trials, as JSON lines.
    Harbor,
    /// Trajectories of trials, as JSON lines.
    Atif,
}

/// Runs the command.
///
/// # Errors
/// There is no such run, or its suite cannot be read.
pub(super) fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    let runs = runs_folder(context);
    match command {
        Command::List => list(ui, &runs),
        Command::Show { run, task } => {
            show(ui, context, &RunFolder::of(&runs, run), task.as_deref())
        }
        Command::Compare {
            before,
            now,
            fail_on_regression,
        } => {
            let found = compare(&runs, before, &RunFolder::of(&runs, now))?;
            if ui.json {
                ui.json(&found)?;
            } else {
                ui.line(found.text(before).trim_end())?;
            }
            Ok(Exit::of_check(
                !(*fail_on_regression && found.is_regression()),
            ))
        }
        Command::Curve { svg } => curve(ui, &runs, svg.as_deref()),
        Command::Export { run, format } => export(ui, &RunFolder::of(&runs, run), *format),
        Command::Regrade { run, jobs, repos } => {
            check_is_trusted(context, &suite_of(&RunFolder::of(&runs, run))?)?;
            regrade(ui, &RunFolder::of(&runs, run), *jobs, repos.as_deref())
        }
    }
}

fn list(ui: &Ui, runs: &Path) -> Result<Exit, Failure> {
    let mut out = ui.out();
    let mut all = Vec::new();
    for name in run::list(runs) {
        let folder = RunFolder::of(runs, &name);
        let Ok(facts) = folder.facts() else { continue };
        let records = folder.records(&facts);
        let [solved, ..] = run::counts(&records);
        let trials = facts.tasks.len() * facts.attempts as usize;
        if ui.json {
            all.push(json!({"run": name, "suite": facts.suite_name, "agent": facts.agent_name, "trials": trials, "done": records.len(), "solved": solved}));
        } else {
            writeln!(
                out,
                "{name}  {}  {}  {solved} of {trials} solved, {} done",
                clean::line(&facts.suite_name, 40),
                clean::line(&facts.agent_name, 40),
                records.len()
            )?;
        }
    }
    out.flush()?;
    if ui.json {
        ui.json(&all)?;
    }
    Ok(Exit::Done)
}

fn curve(ui: &Ui, runs: &Path, svg: Option<&Path>) -> Result<Exit, Failure> {
    let curves = prove::curve::curves(&run::load(runs));
    if let (Some(path), Some(first)) = (svg, curves.first()) {
        let picture = prove::curve::svg(first);
        base::files::write(path, picture.as_bytes(), base::files::Privacy::Shared)?;
    }
    if ui.json {
        ui.json(&curves)?;
        return Ok(Exit::Done);
    }
    if curves.is_empty() {
        ui.note("there is no run of an agent yet; checks of the harness are not counted");
    }
    for curve in &curves {
        ui.line(clean::text(curve.text().trim_end().as_bytes()))?;
    }
    Ok(Exit::Done)
}

/// Returns the suite of a run.
fn suite_of(folder: &RunFolder) -> Result<Suite, Failure> {
    let facts = folder.facts()?;
    let mut suite = Suite::read(Path::new(&facts.suite))?;
    suite
        .members
        .retain(|member| facts.tasks.contains(&member.task.id));
    Ok(suite)
}

fn show(
    ui: &Ui,
    context: &Context,
    folder: &RunFolder,
    task: Option<&str>,
) -> Result<Exit, Failure> {
    let facts = folder.facts()?;
    let Some(task) = task else {
        let suite = suite_of(folder)?;
        let members: Vec<&Member> = suite.members.iter().collect();
        let report = report(context, folder, &facts, &members, false)?;
        if ui.json {
            ui.json(&report.json().map_err(std::io::Error::from)?)?;
        } else {
            ui.line(report.text().trim_end())?;
            for record in folder.records(&facts) {
                let cause = record.cause.map_or("", Cause::name);
                ui.line(format_args!(
                    "  {:<44} {:<8} {cause}",
                    record.task, record.outcome
                ))?;
            }
        }
        return Ok(Exit::Done);
    };
    let trial = folder.trial(task, 1);
    let record = trial.result().ok_or_else(|| {
        Failure::input(
            "trial_not_found",
            format!("the run has no trial of `{task}`"),
        )
    })?;
    if ui.json {
        ui.json(&record)?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{}  {}  {}",
        record.task,
        record.outcome,
        record.cause.map_or("", Cause::name)
    )?;
    for text in record.agent.violations.iter().chain(&record.notes) {
        writeln!(out, "  {}", clean::line(text, 300))?;
    }
    for refused in &record.agent.refused {
        writeln!(out, "  refused {}", clean::line(refused, 300))?;
    }
    for name in ["diff", "test.log"] {
        writeln!(
            out,
            "\n{name}\n{}",
            clean::text(&trial.read(name).unwrap_or_default())
        )?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn export(ui: &Ui, folder: &RunFolder, format: Exported) -> Result<Exit, Failure> {
    let facts = folder.facts()?;
    let suite = suite_of(folder)?;
    let records = folder.records(&facts);
    let member_of = |task: &str| {
        let mut members = suite.members.iter();
        members.find(|member| member.task.id == task)
    };
    let read = |record: &TrialRecord, name: &str| {
        let trial = folder.trial(&record.task, record.attempt);
        trial.read(name).unwrap_or_default()
    };
    let mut out = ui.out();
    for record in &records {
        let id = seal::task_id(&facts.run, &record.digest, record.attempt, 0).to_string();
        let trial = harbor::Trial {
            record,
            id: &id,
            agent: &facts.agent_name,
            model: &facts.model,
        };
        match format {
            Exported::Atif => {
                let issue = member_of(&record.task).map_or("", |member| member.issue.as_str());
                let printed = read(record, "transcript");
                let printed = String::from_utf8_lossy(&printed);
                writeln!(out, "{}", harbor::trajectory(trial, issue, &printed))?;
            }
            Exported::Harbor => writeln!(out, "{}", harbor::result(trial, &facts.suite_name))?,
            Exported::Predictions | Exported::SwebenchReport => {}
        }
    }
    // SWE-bench supports one attempt at each task.
    let first: Vec<&TrialRecord> = records.iter().filter(|one| one.attempt == 1).collect();
    let diffs: Vec<Vec<u8>> = first.iter().map(|record| read(record, "diff")).collect();
    let submissions: Vec<Submission<'_>> = first
        .iter()
        .zip(&diffs)
        .map(|(record, diff)| Submission { record, diff })
        .collect();
    match format {
        Exported::Predictions => {
            let model = match &*facts.model {
                "" => facts.agent_name.clone(),
                model => format!("{}+{model}", facts.agent_name),
            };
            for one in &submissions {
                let prediction = swebench::prediction(&one.record.task, &model, one.diff);
                writeln!(out, "{prediction}")?;
            }
        }
        Exported::SwebenchReport => {
            let instances: serde_json::Map<String, serde_json::Value> = submissions
                .iter()
                .filter_map(|one| {
                    let member = member_of(&one.record.task)?;
                    let report = swebench::instance_report(member, *one)?;
                    Some((one.record.task.clone(), report))
                })
                .collect();
            let report = swebench::run_report(&facts.tasks, &submissions);
            writeln!(out, "{}", json!({"report": report, "instances": instances}))?;
        }
        Exported::Harbor | Exported::Atif => {}
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn regrade(
    ui: &Ui,
    folder: &RunFolder,
    jobs: usize,
    repos: Option<&Path>,
) -> Result<Exit, Failure> {
    let facts = folder.facts()?;
    let suite = suite_of(folder)?;
    let work = folder.0.join("regrade");
    let lab = Lab::open(&suite, repos, &cache()?, &work);
    let records = folder.records(&facts);
    let found = pool::each(&records, jobs, |job, record| {
        let member = suite
            .members
            .iter()
            .find(|member| member.task.id == record.task && member.digest == record.digest)?;
        let is_graded = record.cause.is_none_or(|cause| {
            matches!(
                cause,
                Cause::Tests | Cause::Forged | Cause::NoApply | Cause::VerifierFailed
            )
        });
        let diff = folder
            .trial(&record.task, record.attempt)
            .read("diff")
            .filter(|_| is_graded)?;
        let place = work.join(job.to_string());
        let graded = lab
            .with(&suite, member, &place, |bench| {
                grading::grade(bench, member, diff, Vec::new())
            })
            .ok()?;
        Some((
            record.task.clone(),
            record.outcome.clone(),
            graded.verdict.outcome().name(),
        ))
    });
    std::fs::remove_dir_all(&work).ok();
    let graded: Vec<_> = found.into_iter().flatten().collect();
    let differing: Vec<_> = graded
        .iter()
        .filter(|(_, before, now)| before != now)
        .collect();
    if ui.json {
        ui.json(&json!({"run": facts.run, "regraded": graded.len(), "differing": differing}))?;
        return Ok(Exit::of_check(differing.is_empty()));
    }
    for (task, before, now) in &differing {
        ui.line(format_args!("{BAD}{task}{BAD:#}: was {before}, is {now}"))?;
    }
    ui.line(format_args!(
        "{GOOD}{} of {} trials give the same outcome{GOOD:#}",
        graded.len() - differing.len(),
        graded.len()
    ))?;
    Ok(Exit::of_check(differing.is_empty()))
}
