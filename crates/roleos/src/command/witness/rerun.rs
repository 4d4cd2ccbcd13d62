//! `roleos witness rerun`: applies the diff to its base commit, runs the tests again, and compares the outcome.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base::git;
use base::process::Limits;
use evidence::judged::Judged;
use evidence::rerun::{Rerun, Task, rerun};
use prove::seal::{SUITE_FOLDER, SUITE_TASK_DIGEST};
use serde_json::json;
use witness::bundle::{Contents, Strictness};
use witness::extension::field;
use witness::wire::{Outcome, Tag};

use crate::command::one_bundle::OneBundle;
use crate::command::suite::cache;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `witness rerun`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos witness rerun 0193a7
  roleos witness rerun task.rvww --repo ../project --test-command 'cargo test'

The test command runs as you, with limits on time, memory and output (`[rerun]` in the settings)
and no more protection than that; so a bundle that is not valid is run only with `--unverified`.")]
pub struct Args {
    #[command(flatten)]
    bundle: OneBundle,
    /// Run a bundle's command although no trusted key signed it.
    #[arg(long)]
    unverified: bool,
    /// Repository that has the base commit [default: the workspace].
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Suite that a proved task comes from [default: the bundle's].
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Base commit [default: the bundle's].
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// Command that runs the tests [default: the bundle's].
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let loaded = args.bundle.load(context)?;
    let judged = loaded.judge(Strictness::Strict);
    let contents = believed(&loaded.file(), &judged, args.unverified)?;
    if let Some(digest) = contents.extensions().provenance.get(SUITE_TASK_DIGEST) {
        return grade_again(ui, contents, args, digest);
    }
    let base = fact(args.base.as_deref(), contents, field::BASE_COMMIT, "--base")?;
    let test_command = fact(
        args.test_command.as_deref(),
        contents,
        field::TEST_COMMAND,
        "--test-command",
    )?;
    let root = args.repo.as_deref().unwrap_or(context.workspace.root());
    let repository = git::top_level(root).map_err(|error| {
        Failure::input("no_repository", error.to_string()).hint("name one with `--repo`")
    })?;
    let settings = &context.config.rerun;
    ui.note(format_args!(
        "{DIM}at {}, running `{}`{DIM:#}",
        clean::line(base, 40),
        clean::line(test_command, 200)
    ));
    // A command that the user names is a test command.
    let own_tests: Vec<String> = context
        .config
        .oversight
        .test_commands
        .iter()
        .chain(&args.test_command)
        .cloned()
        .collect();
    let task = Task {
        repository: &repository,
        base_commit: base,
        diff: contents.section(Tag::Diff).unwrap_or_default(),
        test_command,
        own_tests: &own_tests,
    };
    let limits = Limits {
        time: settings.timeout(),
        memory: settings.max_memory_bytes(),
        output: settings.max_output_bytes(),
    };
    let rerun = rerun(task, limits)?;
    show(ui, contents.outcome(), &rerun)?;
    Ok(Exit::of_check(rerun.outcome == Some(contents.outcome())))
}

/// Grades the change of a proved task again, with the tests of its suite.
fn grade_again(
    ui: &Ui,
    contents: &Contents<'_>,
    args: &Args,
    digest: &str,
) -> Result<Exit, Failure> {
    let named = args
        .suite
        .as_deref()
        .map(|folder| folder.to_string_lossy().into_owned());
    let suite = fact(named.as_deref(), contents, SUITE_FOLDER, "--suite")?;
    let task = fact(None, contents, field::SUITE_TASK, "--suite")?;
    let diff = contents.section(Tag::Diff).unwrap_or_default();
    let repositories = args.repo.as_deref();
    let cache = cache()?;
    // A named suite, or the original one if it still exists, is preferred; otherwise the bundle's own tests are used.
    let alone = contents.extensions().test_patch.as_ref();
    let alone = alone.filter(|_| args.suite.is_none() && !Path::new(suite).exists());
    let graded = match alone {
        Some(parts) => {
            ui.note(format_args!(
                "{DIM}the suite is gone; the tests of the bundle are used{DIM:#}"
            ));
            prove::rerun::rerun_alone(parts, Path::new(suite), repositories, &cache, diff)
        }
        None => prove::rerun::rerun(Path::new(suite), repositories, &cache, task, digest, diff),
    };
    let graded = graded.map_err(|why| {
        Failure::refused(
            "cannot_grade",
            format!("the task cannot be graded again: {why}"),
        )
        .hint("name the suite with `--suite`, or the folder of the repositories with `--repo`")
    })?;
    let (cause, outcome) = (graded.verdict.cause, graded.verdict.outcome());
    let rerun = Rerun {
        outcome: Some(outcome),
        because: cause
            .map_or("every graded test passed", prove::grade::Cause::name)
            .to_owned(),
        run: None,
        reading: None,
    };
    show(ui, contents.outcome(), &rerun)?;
    Ok(Exit::of_check(outcome == contents.outcome()))
}

fn believed<'j, 'a>(
    file: &str,
    judged: &'j Judged<'a>,
    unverified: bool,
) -> Result<&'j Contents<'a>, Failure> {
    let refuse = || {
        let why = judged.verdict().explain();
        Failure::refused("not_believed", format!("`{file}` is not run: {why}"))
    };
    match judged {
        Judged::Evidence(evidence) => Ok(evidence.contents()),
        Judged::Unproven(unproven) if unverified => Ok(unproven.bundle.claims()),
        Judged::Unproven(_) => {
            Err(refuse().hint("read its test command first; `--unverified` runs it all the same"))
        }
        Judged::Malformed(_) => Err(refuse()),
    }
}

/// Returns the user's value, else the bundle's.
fn fact<'a>(
    said: Option<&'a str>,
    contents: &'a Contents<'_>,
    name: &str,
    option: &str,
) -> Result<&'a str, Failure> {
    let known = contents.extensions().provenance.get(name);
    said.or(known.map(String::as_str)).ok_or_else(|| {
        Failure::input(
            "missing_fact",
            format!("the bundle does not say its `{name}`"),
        )
        .hint(format!("give it with `{option}`"))
    })
}

fn show(ui: &Ui, stated: Outcome, rerun: &Rerun) -> Result<(), Failure> {
    let same = rerun.outcome == Some(stated);
    let observed = rerun.outcome.map_or("cannot_tell", Outcome::name);
    let reading = rerun.reading.as_ref();
    if ui.json {
        ui.json(&json!({
            "stated": stated.name(),
            "observed": observed,
            "same": same,
            "because": rerun.because,
            "test_log": reading.map(|reading| json!({
                "runner": reading.runner.name(),
                "passed": reading.passed,
                "failed": reading.failed,
                "skipped": reading.skipped,
                "errors": reading.errors,
            })),
            "output_truncated": rerun.run.as_ref().is_some_and(|run| run.truncated),
        }))?;
        return Ok(());
    }
    let mut out = ui.out();
    if let Some(run) = &rerun.run {
        writeln!(out, "{BOLD}test output{BOLD:#}")?;
        writeln!(out, "{}", clean::text(&run.output).trim_end())?;
        if run.truncated {
            writeln!(out, "{DIM}(more was printed than is kept){DIM:#}")?;
        }
        writeln!(out)?;
    }
    let (style, word) = match rerun.outcome {
        Some(_) if same => (GOOD, "same"),
        Some(_) => (BAD, "different"),
        None => (BAD, "cannot tell"),
    };
    writeln!(
        out,
        "{style}{word}{style:#}: the bundle says {}, the new run shows {} ({})",
        stated.name(),
        rerun.outcome.map_or("nothing", Outcome::name),
        clean::line(&rerun.because, 400)
    )?;
    out.flush()?;
    Ok(())
}
