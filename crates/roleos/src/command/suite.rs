//! `roleos suite`: suites of tasks, created from a history, checked, shown and split.

mod check;
mod exchange;
mod mine;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base::environment;
use base::files;
use base::trust::{Belief, Kind, Trust, suites};
use prove::suite::{self, Suite, SuiteError};
use serde_json::json;

use crate::cli::VERSION;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};

/// Largest `suite.toml`.
const MAX_META: u64 = 16 << 20;

/// Words of `suite`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a suite from the history of a repository.
    FromGit(Box<mine::Args>),
    /// Check that the tasks of a suite fail without their fix and pass with it.
    Check(check::Args),
    /// Import rows of SWE-bench or folders of Harbor as a suite.
    Import(exchange::ImportArgs),
    /// Export a suite as rows of SWE-bench or folders of Harbor.
    Export(exchange::ExportArgs),
    /// Show a suite, or one of its tasks.
    Show(ShowArgs),
    /// Choose a sample of suites, the same for the same seed.
    Split(SplitArgs),
}

/// Words of `suite show`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos suite show suites/qs\n  roleos suite show suites/qs ljharb__qs-b433a9b1"
)]
pub struct ShowArgs {
    /// Folder of the suite.
    suite: PathBuf,
    /// Task to show.
    id: Option<String>,
}

/// Words of `suite split`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roleos suite split suites/all --n 100 --seed 1 --out suites/sample"
)]
pub struct SplitArgs {
    /// Folders of suites.
    #[arg(required = true)]
    suites: Vec<PathBuf>,
    /// Number of tasks.
    #[arg(long, default_value_t = 100)]
    n: usize,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the sample as a suite of its own.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A suite or repository cannot be read, or nothing can be run.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::FromGit(args) => mine::run(ui, args),
        Command::Check(args) => check::run(ui, context, args),
        Command::Import(args) => exchange::import(ui, args),
        Command::Export(args) => exchange::export(ui, args),
        Command::Show(args) => show(ui, args),
        Command::Split(args) => split(ui, args),
    }
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        Self::input("suite", error.to_string())
            .hint("`roleos suite check --static SUITE` reads it and runs nothing")
    }
}

/// Returns the folder of trees and environments between runs.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    let folder = environment::cache_dir().map(|folder| folder.join("prove"));
    folder.ok_or_else(|| {
        Failure::refused(
            "no_home",
            "there is no home directory to keep environments in",
        )
    })
}

/// Refuses to overwrite an existing folder.
fn check_is_free(folder: &Path) -> Result<(), Failure> {
    let is_free = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    is_free.then_some(()).ok_or_else(|| {
        Failure::input("not_empty", format!("`{}` is not empty", folder.display()))
            .hint("name another folder with `--out`")
    })
}

fn show(ui: &Ui, args: &ShowArgs) -> Result<Exit, Failure> {
    let suite = Suite::read(&args.suite)?;
    let Some(id) = &args.id else {
        return show_all(ui, &suite);
    };
    let member = suite
        .members
        .iter()
        .find(|member| member.task.id == *id)
        .ok_or_else(|| {
            Failure::input("task_not_found", format!("the suite has no task `{id}`"))
                .hint("`roleos suite show SUITE` lists them")
        })?;
    if ui.json {
        ui.json(&json!({
            "task": member.task,
            "tests": member.tests,
            "issue": member.issue,
            "digest": member.digest,
            "reference": member.reference.is_some(),
        }))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}  {}  {DIM}{}{DIM:#}",
        id,
        clean::line(&member.task.repo, 80),
        member.digest
    )?;
    writeln!(
        out,
        "base {}  tree {}",
        member.task.base_commit, member.task.base_tree
    )?;
    writeln!(out, "test {}", clean::line(&member.task.test.command, 200))?;
    let tests = &member.tests;
    writeln!(
        out,
        "{} tests must change, {} must stay, {} fail anyway, {} are unstable",
        tests.fail_to_pass.len(),
        tests.pass_to_pass.len(),
        tests.known_failing.len(),
        tests.unstable.len()
    )?;
    writeln!(out, "\n{}", clean::text(member.issue.as_bytes()))?;
    out.flush()?;
    Ok(Exit::Done)
}

fn show_all(ui: &Ui, suite: &Suite) -> Result<Exit, Failure> {
    if ui.json {
        let tasks: Vec<_> = suite.members.iter().map(|member| json!({"id": member.task.id, "repo": member.task.repo, "digest": member.digest})).collect();
        ui.json(&json!({"name": suite.meta.name, "digest": suite.digest(), "tasks": tasks, "changed": suite.changed()}))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}  {} tasks  {DIM}{}{DIM:#}",
        clean::line(&suite.meta.name, 80),
        suite.members.len(),
        suite.digest()
    )?;
    for member in &suite.members {
        let title = member.issue.lines().next().unwrap_or_default();
        writeln!(
            out,
            "{:<40} {:>4} tests  {}",
            member.task.id,
            member.tests.fail_to_pass.len(),
            clean::line(title, 60)
        )?;
    }
    for id in suite.changed() {
        writeln!(out, "changed since it was made: {id}")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn split(ui: &Ui, args: &SplitArgs) -> Result<Exit, Failure> {
    let mut all: Option<Suite> = None;
    for folder in &args.suites {
        let mut suite = Suite::read(folder)?;
        for member in &mut suite.members {
            // A relative source is resolved from the suite's own folder.
            let source = std::path::absolute(folder.join(&member.task.source))?;
            member.task.source = source.to_string_lossy().into_owned();
        }
        match &mut all {
            Some(all) => {
                all.members.append(&mut suite.members);
                all.meta.name = format!("{}-{}", all.meta.name, suite.meta.name);
            }
            None => all = Some(suite),
        }
    }
    let all = all.ok_or_else(|| Failure::input("usage", "a suite is needed"))?;
    let chosen = all.split(args.n, args.seed).into_iter().cloned();
    let chosen: Vec<_> = chosen.map(suite::Member::with_digest).collect();
    if let Some(out) = &args.out {
        check_is_free(out)?;
        suite::write(out, &all.meta.name, VERSION, &chosen)?;
        // Two suites may contain tasks with the same name.
        Suite::read(out)?;
    }
    let ids: Vec<&str> = chosen
        .iter()
        .map(|member| member.task.id.as_str())
        .collect();
    if ui.json {
        ui.json(&json!({"tasks": ids}))?;
    } else {
        let mut out = ui.out();
        ids.iter().try_for_each(|id| writeln!(out, "{id}"))?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

/// Refuses a suite that came with a repository and that the user has not confirmed.
///
/// # Errors
/// The suite is not confirmed, or one of its tasks differs from the confirmed one.
pub fn check_is_trusted(context: &Context, suite: &Suite) -> Result<(), Failure> {
    let path = std::path::absolute(suite.folder.join(suites::FILE))?;
    let content = files::read(&path, MAX_META)?;
    let trust = Trust::of(&context.workspace);
    let refused = |why: String| {
        let shown = suite.folder.display();
        Failure::refused(
            "not_trusted",
            format!("the suite `{shown}` is not run: {why}"),
        )
        .hint("read its setup and test commands, then run `roleos trust`")
    };
    if let Belief::Unconfirmed(doubt) = suites::belief(&trust, &path, &content) {
        return Err(refused(doubt.to_string()));
    }
    // Only a confirmation of the whole suite covers its tasks.
    let is_confirmed = trust.confirmed(&path, &content, Kind::Plain).is_ok();
    match suite.changed().first().filter(|_| is_confirmed) {
        Some(task) => Err(refused(format!(
            "task `{task}` was changed after the confirmation"
        ))),
        None => Ok(()),
    }
}
