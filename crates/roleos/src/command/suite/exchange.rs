//! `roleos suite import | export`: tasks from and to the formats of others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base::files::{self, Privacy};
use clap::ValueEnum;
use prove::exchange::{harbor, swebench};
use prove::mine;
use prove::repo::Repo;
use prove::suite::{self, Member, Suite};
use serde_json::{Value, json};

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
    after_help = "Example:\n  roleos suite import rows.jsonl --source-root ../repos --test 'python -m pytest --junitxml {report} {files}' --out suites/rows"
)]
pub struct ImportArgs {
    /// File of SWE-bench rows.
    file: PathBuf,
    /// Folder with the repositories, `owner__name`, `owner+name` or `name`.
    #[arg(long, value_name = "DIR")]
    source_root: PathBuf,
    /// Test command, with `{files}` and `{report}`.
    #[arg(long, value_name = "CMD")]
    test: String,
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

/// Takes rows in.
///
/// # Errors
/// The file cannot be read or the suite not written.
pub(super) fn import(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    super::check_is_free(&args.out)?;
    let format = mine::guess_format(&args.test)
        .ok_or_else(|| Failure::input("format", "the format of the test report is not known"))?;
    let bytes = files::read(&args.file, MAX_FILE)?;
    let text = String::from_utf8_lossy(&bytes);
    let (mut members, mut refused) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| Failure::input("row", format!("a row is no JSON: {error}")))?;
        let name = row.get("repo").and_then(Value::as_str).unwrap_or_default();
        let source = source_of(&args.source_root, name);
        let imported = swebench::import(&row, &source.to_string_lossy(), &args.test, format)
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
    if !members.is_empty() {
        suite::write(&args.out, "import", VERSION, &members)?;
    }
    tell(ui, members.len(), &refused)?;
    Ok(Exit::of_check(!members.is_empty()))
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

/// Writes tasks out.
///
/// # Errors
/// The suite cannot be read or the files not written.
pub(super) fn export(ui: &Ui, args: &ExportArgs) -> Result<Exit, Failure> {
    let suite = Suite::read(&args.suite)?;
    let mut lost = Vec::new();
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
                write_folder(&suite, member, &args.output.join(&member.task.id))?;
            }
        }
    }
    tell(ui, suite.members.len(), &lost)?;
    Ok(Exit::Done)
}

fn write_folder(suite: &Suite, member: &Member, folder: &Path) -> Result<(), Failure> {
    for (name, text) in harbor::export(member) {
        files::make_directory(files::parent(&folder.join(name)), Privacy::Shared)?;
        files::write(&folder.join(name), text.as_bytes(), Privacy::Shared)?;
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

/// Packs files with `tar`, the same bytes for the same files.
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
