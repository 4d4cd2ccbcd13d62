//! `roleos suite check`: rechecks the tasks of a suite.

use std::io::Write as _;
use std::path::PathBuf;

use prove::check::problems;
use prove::lab::Lab;
use prove::pool;
use prove::suite::Suite;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui};

/// Words of `suite check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos suite check suites/qs --jobs 2\n  roleos suite check --static suites/qs"
)]
pub struct Args {
    /// Folder of the suite.
    suite: PathBuf,
    /// Read everything and run nothing.
    #[arg(long = "static")]
    is_static: bool,
    /// How often the reference is run.
    #[arg(long, value_name = "N", default_value_t = 2)]
    runs: usize,
    /// Boxes at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Folder of the repositories, by the last part of their source.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The suite cannot be read.
pub(super) fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let suite = Suite::read(&args.suite)?;
    if !args.is_static {
        super::check_is_trusted(context, &suite)?;
    }
    let mut found: Vec<(String, Vec<String>)> = suite
        .changed()
        .into_iter()
        .map(|id| {
            (
                id.to_owned(),
                vec!["its files changed since the suite was made".to_owned()],
            )
        })
        .collect();
    if !args.is_static {
        let work = tempfile_in(&super::cache()?)?;
        let lab = Lab::open(&suite, args.repos.as_deref(), &super::cache()?, &work);
        let progress = ui.progress(suite.members.len(), "tasks");
        let done = std::sync::atomic::AtomicUsize::new(0);
        let checked = pool::each(&suite.members, args.jobs, |job, member| {
            let folder = work.join(job.to_string());
            let found = lab.with(&suite, member, &folder, |bench| {
                problems(bench, member, args.runs)
            });
            progress.set(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
            found.unwrap_or_else(|(cause, why)| vec![format!("{}: {why}", cause.name())])
        });
        std::fs::remove_dir_all(&work).ok();
        found.extend(
            suite
                .members
                .iter()
                .map(|member| member.task.id.clone())
                .zip(checked),
        );
    }
    found.retain(|(_, problems)| !problems.is_empty());
    if ui.json {
        let tasks: Vec<_> = found
            .iter()
            .map(|(id, problems)| json!({"id": id, "problems": problems}))
            .collect();
        ui.json(&json!({"tasks": suite.members.len(), "invalid": tasks}))?;
        return Ok(Exit::of_check(found.is_empty()));
    }
    let mut out = ui.out();
    for (id, problems) in &found {
        for problem in problems {
            writeln!(out, "{BAD}{id}{BAD:#}: {}", clean::line(problem, 300))?;
        }
    }
    if found.is_empty() {
        writeln!(
            out,
            "{GOOD}all {} tasks are valid{GOOD:#}",
            suite.members.len()
        )?;
    }
    out.flush()?;
    Ok(Exit::of_check(found.is_empty()))
}

/// Returns a folder for trees, named after this process.
fn tempfile_in(cache: &std::path::Path) -> Result<PathBuf, Failure> {
    let folder = cache.join(format!("check-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
