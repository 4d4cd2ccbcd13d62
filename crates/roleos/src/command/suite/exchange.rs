//! `roleos suite import | export`: converts tasks from and to foreign formats.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base::files::{self, Privacy};
use clap::ValueEnum;
use prove::exchange::{harbor, swebench};
use prove::repo::Repo;
use prove::suite::{self, Member, Suite};
use serde_json::{Value, json};

use super::mine::report_format;
use crate::cli::VERSION;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ui::{Ui, WARN};

/// Largest file that is imported.
const MAX_FILE: u64 = 1 << 30;

/// A format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Exchange {
    /// Rows of SWE-bench as JSON lines.
    Swebench,
    /// Folders of Harbor.
    Harbor,
}

/// Words of `suite import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos suite import rows.jsonl --source-root ../repos --test 'python -m pytest --junitxml {report} {files}' --out suites/rows\n  roleos suite import folders --format harbor --out suites/qs"
)]
pub struct ImportArgs {
    /// File of SWE-bench rows, or folder of Harbor's task folders.
    file: PathBuf,
    /// Format.
    #[arg(long, default_value = "swebench")]
    format: Exchange,
    /// Folder with the repositories of rows, `owner__name`, `owner+name` or `name`.
    #[arg(long, value_name = "DIR", required_if_eq("format", "swebench"))]
    source_root: Option<PathBuf>,
    /// Test command of rows, with `{files}` and `{report}`.
    #[arg(long, value_name = "CMD", required_if_eq("format", "swebench"))]
    test: Option<String>,
    /// Format of the test report of rows [default: guessed from the test command].
    #[arg(long, value_name = "FORMAT")]
    report: Option<String>,
    /// Folder of the new suite.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Words of `suite export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos suite export suites/qs --format swebench -o rows.jsonl")]
pub struct ExportArgs {
    /// Folder of the suite.
    suite: PathBuf,
    /// Format.
    #[arg(long)]
    format: Exchange,
    /// File or folder to write.
    #[arg(long, short)]
    output: PathBuf,
    /// Write lists of tests as strings, as version 4 of SWE-bench has them.
    #[arg(long)]
    v4: bool,
}

/// Imports tasks.
///
/// # Errors
/// The files cannot be read, or the suite cannot be written.
pub(super) fn import(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    super::check_is_free(&args.out)?;
    let mut refused = Vec::new();
    let members = match args.format {
        Exchange::Swebench => import_rows(args, &mut refused)?,
        Exchange::Harbor => import_folders(&args.file, &mut refused)?,
    };
    if !members.is_empty() {
        suite::write(&args.out, "import", VERSION, &members)?;
    }
    tell(ui, members.len(), &refused)?;
    Ok(Exit::of_check(!members.is_empty()))
}

fn import_rows(args: &ImportArgs, refused: &mut Vec<String>) -> Result<Vec<Member>, Failure> {
    let (Some(root), Some(test)) = (&args.source_root, &args.test) else {
        return Err(Failure::input(
            "usage",
            "rows need `--source-root` and `--test`",
        ));
    };
    let format = report_format(args.report.as_deref(), test, "--report")?;
    let bytes = files::read(&args.file, MAX_FILE)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut members = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| Failure::input("row", format!("a row is no JSON: {error}")))?;
        let name = row.get("repo").and_then(Value::as_str).unwrap_or_default();
        let source = source_of(root, name);
        let imported = swebench::import(&row, &source.to_string_lossy(), test, format)
            .map_err(|error| error.to_string());
        let member = imported.and_then(|mut member| {
            let repo = Repo::open(&source).map_err(|error| error.to_string())?;
            member.task.base_tree = repo.tree_of(&member.task.base_commit).map_err(|_| {
                format!(
                    "unavailable: `{name}` has no commit {}",
                    member.task.base_commit
                )
            })?;
            Ok(member.with_digest())
        });
        match member {
            Ok(member) => members.push(member),
            Err(why) => refused.push(format!(
                "{}: {why}",
                row.get("instance_id")
                    .and_then(Value::as_str)
                    .unwrap_or("?")
            )),
        }
    }
    Ok(members)
}

/// Reads the task folders below a folder, or the folder itself if it is one.
fn import_folders(folder: &Path, refused: &mut Vec<String>) -> Result<Vec<Member>, Failure> {
    let mut folders = vec![folder.to_owned()];
    if !folder.join("task.toml").is_file() {
        let entries = std::fs::read_dir(folder)?.flatten();
        folders = entries
            .map(|entry| entry.path())
            .filter(|path| path.join("task.toml").is_file())
            .collect();
        folders.sort();
    }
    let mut members = Vec::new();
    for folder in folders {
        let read = |name: &str| files::read(&folder.join(name), MAX_FILE).ok();
        match harbor::import(&read) {
            Ok(member) => members.push(member),
            Err(why) => refused.push(format!("{}: {why}", folder.display())),
        }
    }
    Ok(members)
}

fn source_of(root: &Path, name: &str) -> PathBuf {
    let short = name.rsplit('/').next().unwrap_or(name).to_owned();
    let names = [name.replace('/', "__"), name.replace('/', "+"), short];
    let found = names
        .iter()
        .map(|name| root.join(name))
        .find(|path| path.is_dir());
    let path = found.unwrap_or_else(|| root.join(name.replace('/', "__")));
    std::path::absolute(&path).unwrap_or(path)
}

/// Exports tasks.
///
/// # Errors
/// The suite cannot be read, or the files cannot be written.
pub(super) fn export(ui: &Ui, args: &ExportArgs) -> Result<Exit, Failure> {
    let suite = Suite::read(&args.suite)?;
    let (mut lost, mut left_out) = (Vec::new(), 0);
    match args.format {
        Exchange::Swebench => {
            let dialect = if args.v4 {
                swebench::Dialect::V4
            } else {
                swebench::Dialect::V5
            };
            let mut text = String::new();
            for member in &suite.members {
                let (row, more) = swebench::export(member, dialect);
                lost.extend(more);
                text.push_str(&row.to_string());
                text.push('\n');
            }
            files::write(&args.output, text.as_bytes(), Privacy::Shared)?;
        }
        Exchange::Harbor => {
            for member in &suite.members {
                match harbor::export(member) {
                    Ok(written) => write_folder(&suite, member, &written, &args.output)?,
                    Err(why) => {
                        lost.push(format!("{}: left out: {why}", member.task.id));
                        left_out += 1;
                        continue;
                    }
                }
                if member.task.environment.image.is_empty() {
                    lost.push(format!(
                        "{}: its image has no toolchains; the grader does without a canary",
                        member.task.id
                    ));
                }
            }
        }
    }
    tell(ui, suite.members.len() - left_out, &lost)?;
    Ok(Exit::Done)
}

fn write_folder(
    suite: &Suite,
    member: &Member,
    written: &[harbor::Written],
    folders: &Path,
) -> Result<(), Failure> {
    let folder = &folders.join(&member.task.id);
    for (name, bytes) in written {
        files::make_directory(files::parent(&folder.join(name)), Privacy::Shared)?;
        files::write(&folder.join(name), bytes, Privacy::Shared)?;
    }
    let git = |error: base::git::GitError| Failure::input("no_repository", error.to_string());
    let repo = Repo::open(&suite.source(&member.task, None)).map_err(git)?;
    let work = folder.join("work");
    let trees = prove::tree::Trees::open(&repo, &super::cache()?, &work).map_err(git)?;
    let tree = work.join("tree");
    trees
        .write_files(&member.task.base_tree, &tree)
        .map_err(git)?;
    archive(&tree, &["."], &folder.join("environment/repo.tar"))?;
    trees.apply(&member.test_patch, &tree).map_err(git)?;
    let patched = prove::patch::files(&member.test_patch).unwrap_or_default();
    let paths: Vec<&str> = patched
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| tree.join(path).exists())
        .collect();
    archive(&tree, &paths, &folder.join("tests/tree.tar"))?;
    std::fs::remove_dir_all(&work)?;
    Ok(())
}

/// Packs files with `tar`; equal files give equal bytes.
fn archive(tree: &Path, paths: &[&str], to: &Path) -> Result<(), Failure> {
    let mut command = Command::new("tar");
    command
        .args(["--sort=name", "--owner=0", "--group=0", "--mtime=@0", "-cf"])
        .arg(to)
        .arg("-C")
        .arg(tree)
        .arg("--")
        .args(paths);
    let status = command.stderr(Stdio::null()).status()?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| Failure::refused("tar", format!("`tar` could not write `{}`", to.display())))
}

fn tell(ui: &Ui, tasks: usize, lost: &[String]) -> Result<(), Failure> {
    if ui.json {
        ui.json(&json!({"tasks": tasks, "lost": lost}))?;
        return Ok(());
    }
    for line in lost {
        ui.note(format_args!("{WARN}note{WARN:#}: {line}"));
    }
    ui.line(format_args!("{tasks} tasks"))?;
    Ok(())
}
