//! `roleos suite from-git`: creates a suite from the history of a repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base::files::{self, Privacy};
use prove::boxes::Toolchains;
use prove::envs::Environments;
use prove::mine::progress::Progress;
use prove::mine::{self, Plan, Site};
use prove::repo::Repo;
use prove::suite;
use prove::task::Format;
use prove::tree::Trees;
use prove::vendor::vendor;
use serde_json::{Value, json};

use crate::cli::VERSION;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::Ui;

/// Largest file of issues.
const MAX_ISSUES: u64 = 256 << 20;

/// Words of `suite from-git`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every first-parent commit that changes source and tests is tried: its tests must fail before it
and pass after it, in boxes without a network. `dropped.jsonl` says why the others are no task.

Examples:
  roleos suite from-git ../qs --test 'tape {files} > {report}' \\
      --setup 'npm install tape@5' --out suites/qs
  roleos suite from-git . --test 'cargo test --offline {files} > {report} 2>&1' \\
      --setup 'mkdir -p src && touch src/lib.rs && cargo fetch' --key Cargo.toml
  roleos suite from-git ../qs --test 'tape {files} > {report}' --paths 'lib/**' --vendor --resume")]
pub struct Args {
    /// Folder of the repository.
    repo: PathBuf,
    /// Test command, with `{files}` and `{report}`.
    #[arg(long, value_name = "CMD")]
    test: String,
    /// Format of the report [default: by the runner that the command names].
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Command that makes the environment in `/w/env`, with a network.
    #[arg(long, value_name = "CMD", default_value = "")]
    setup: String,
    /// File whose content names the environment; may be given again.
    #[arg(long, value_name = "FILE")]
    key: Vec<String>,
    /// Name of the repository [default: that of its folder].
    #[arg(long)]
    name: Option<String>,
    /// Most tasks.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Oldest commit.
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only this commit; may be given again.
    #[arg(long, value_name = "ID")]
    commit: Vec<String>,
    /// Only commits that change source files that match; may be given again.
    #[arg(long, value_name = "GLOB")]
    paths: Vec<String>,
    /// Most changed lines of source.
    #[arg(long, value_name = "N", default_value_t = 500)]
    max_lines: u64,
    /// Most changed files of source.
    #[arg(long, value_name = "N", default_value_t = 15)]
    max_files: usize,
    /// How often the fix is run.
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    /// Boxes at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Longest test run.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    test_seconds: u64,
    /// Issues as JSON lines of `number`, `title`, `body`.
    #[arg(long, value_name = "FILE")]
    issues: Option<PathBuf>,
    /// Folder of the new suite [default: `suites/<name>`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with a run that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Keep commits that are no task although their tests ran, in `invalid` of the suite.
    #[arg(long)]
    keep_invalid: bool,
    /// Put the base trees into the suite, so that it needs no other repository.
    #[arg(long)]
    vendor: bool,
}

/// Runs the command.
///
/// # Errors
/// The repository cannot be read, or the suite cannot be written.
pub(super) fn run(ui: &Ui, args: &Args) -> Result<Exit, Failure> {
    let git = |error: base::git::GitError| {
        Failure::input("no_repository", error.to_string())
            .hint("name the folder of a git repository")
    };
    // Links stay: their names identify the repository on another machine.
    let folder = std::path::absolute(&args.repo)?;
    let own_name = || {
        folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let name = args.name.clone().unwrap_or_else(own_name);
    let short = name.rsplit(['/', ':']).next().unwrap_or(&name).to_owned();
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("suites").join(&short));
    super::check_is_free(&out)?;
    let plan = plan(args, &folder, name)?;
    let cache = super::cache()?;
    let work = mine::work_folder(&out);
    let repo = Repo::open(&folder).map_err(git)?;
    let trees = Trees::open(&repo, &cache, &work).map_err(git)?;
    let envs = Environments::at(&cache.join("env"), Toolchains::find());
    let progress = ui.progress(plan.limit, "tasks");
    let tried = Progress::open(&work.join("tried"), &plan, args.resume)
        .map_err(|error| Failure::input("resume", format!("mining cannot go on: {error}")))?;
    let site = Site {
        envs: &envs,
        trees: &trees,
        work: &work,
        progress: &tried,
    };
    let mined = mine::mine(&repo, &plan, site, &|_, found, _| progress.set(found));
    let mut mined = mined.map_err(git)?;
    if args.vendor && !mined.members.is_empty() {
        vendor(&repo, &out, &short, &mut mined.members).map_err(git)?;
    }
    fs::remove_dir_all(&work).ok();
    let lines: Vec<String> = mined
        .dropped
        .iter()
        .filter_map(|one| serde_json::to_string(one).ok())
        .collect();
    files::make_directory(&out, Privacy::Shared)?;
    let mut text = lines.join("\n");
    text.push('\n');
    files::write(&out.join("dropped.jsonl"), text.as_bytes(), Privacy::Shared)?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    mined
        .dropped
        .iter()
        .for_each(|one| *reasons.entry(&one.reason).or_default() += 1);
    if !mined.members.is_empty() {
        suite::write(&out, &short, VERSION, &mined.members)?;
    }
    if args.keep_invalid && !mined.invalid.is_empty() {
        suite::write(&out.join("invalid"), &short, VERSION, &mined.invalid)?;
    }
    if ui.json {
        ui.json(&json!({"suite": out, "tasks": mined.members.len(), "dropped": reasons}))?;
    } else {
        let reasons: Vec<String> = reasons
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        ui.line(format_args!(
            "{} tasks in {}; dropped: {}",
            mined.members.len(),
            out.display(),
            reasons.join(", ")
        ))?;
    }
    Ok(Exit::of_check(!mined.members.is_empty()))
}

/// Returns the format of test reports: that of `option`, else by the test command.
///
/// # Errors
/// It is unknown.
pub(super) fn report_format(
    named: Option<&str>,
    test: &str,
    option: &str,
) -> Result<Format, Failure> {
    let format = match named {
        Some(word) => serde_json::from_value(Value::String(word.to_owned())).ok(),
        None => mine::guess_format(test),
    };
    format.ok_or_else(|| {
        Failure::input("format", "the format of the test report is not known").hint(format!(
            "name it by `{option}`: junit, tap, cargo, gotest-json, mocha-json, jest-json, ctrf or exit"
        ))
    })
}

fn plan(args: &Args, folder: &Path, name: String) -> Result<Plan, Failure> {
    let format = report_format(args.format.as_deref(), &args.test, "--format")?;
    Ok(Plan {
        name,
        source: folder.to_string_lossy().into_owned(),
        test: args.test.clone(),
        format,
        setup: args.setup.clone(),
        key: args.key.clone(),
        limit: args.limit,
        since: args.since.clone(),
        commits: args.commit.clone(),
        paths: args.paths.clone(),
        sizes: mine::screen::Sizes {
            max_lines: args.max_lines,
            max_files: args.max_files,
        },
        runs: args.runs,
        jobs: args.jobs,
        test_seconds: args.test_seconds,
        issues: args
            .issues
            .as_deref()
            .map(issues)
            .transpose()?
            .unwrap_or_default(),
    })
}

fn issues(path: &Path) -> Result<BTreeMap<u64, String>, Failure> {
    let bytes = files::read(path, MAX_ISSUES)?;
    let text = String::from_utf8_lossy(&bytes);
    let one = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let part = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        Some((
            value.get("number")?.as_u64()?,
            format!("{}\n\n{}", part("title"), part("body")),
        ))
    };
    Ok(text.lines().filter_map(one).collect())
}
