//! Every command block of README.md and docs/*.md, executed page by page in a fresh home and folder.
//!
//! A block is a fence of `sh`, or of `console` with commands after `$ `. Its info string may say `exit=N` (of the last
//! command), or `skip="reason"` where it cannot be executed here. `<!-- setup: COMMAND -->` prepares the requirements
//! of a block.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace::ROLEOS;

/// The only reasons to skip a block, with the number of blocks for each.
const SKIPPED: &[(&str, usize)] = &[
    ("a test of its own plays it with the clients", 2),
    ("asks at the terminal", 3),
    ("builds the project", 2),
    ("it needs two machines", 2),
    ("needs a PostgreSQL server", 1),
    ("needs a running server", 2),
    ("needs the network", 5),
    ("needs trained adapters", 7),
    ("runs until it is stopped", 5),
    ("shows the session of a real agent", 1),
];

/// Longer than any page takes; one that takes longer hangs.
const TOO_LONG: Duration = Duration::from_secs(120);

/// The port in the pages; the test uses a free one.
const PORT: &str = "8011";

#[derive(Debug, Default)]
struct Block {
    line: usize,
    commands: Vec<String>,
    exit: i32,
    skip: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut pages: Vec<PathBuf> = docs.chain([root().join("README.md")]).collect();
    pages.sort();
    pages
}

/// Extracts the commands of a page.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((line, text)) = lines.next() {
        let setup = text
            .strip_prefix("<!-- setup: ")
            .and_then(|text| text.strip_suffix(" -->"));
        if let Some(command) = setup {
            let commands = vec![command.to_owned()];
            blocks.push(Block {
                line,
                commands,
                ..Block::default()
            });
        }
        let Some(info) = text.strip_prefix("```") else {
            continue;
        };
        let body = lines
            .by_ref()
            .map(|(_, text)| text)
            .take_while(|text| !text.starts_with("```"));
        let body: Vec<&str> = body.collect();
        let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
        let commands = match kind {
            "sh" => vec![body.join("\n")],
            "console" => typed(&body),
            _ => continue,
        };
        let exit = rest
            .strip_prefix("exit=")
            .map_or(0, |code| code.parse().unwrap());
        let skip = rest
            .strip_prefix("skip=\"")
            .map(|rest| rest.trim_end_matches('"').to_owned());
        assert!(
            rest.is_empty() || exit != 0 || skip.is_some(),
            "line {line}: {info}"
        );
        blocks.push(Block {
            line,
            commands,
            exit,
            skip,
        });
    }
    blocks
}

/// Returns the commands after `$ `, with continuation lines after a backslash.
fn typed(body: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in body {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (_, Some(last)) if goes_on => write!(last, "\n{line}").unwrap(),
            (Some(command), _) => commands.push(command.to_owned()),
            _ => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// Joins a whole page into one script, so that a block continues where the one before it ended.
fn script(blocks: &[Block]) -> String {
    let mut script = String::from("set -e\n");
    for block in blocks.iter().filter(|block| block.skip.is_none()) {
        let Some((last, before)) = block.commands.split_last() else {
            continue;
        };
        writeln!(script, "echo {} > \"$PROGRESS\"", block.line).unwrap();
        for command in before {
            writeln!(script, "{command}").unwrap();
        }
        match block.exit {
            0 => writeln!(script, "{last}").unwrap(),
            code => writeln!(
                script,
                "{{ {last}\n}} && code=0 || code=$?\ntest \"$code\" = {code}"
            )
            .unwrap(),
        }
    }
    script
}

/// Executes a page and returns the error, with the line of the block.
fn play(page: &Path) -> Result<(), String> {
    let blocks = blocks(&fs::read_to_string(page).unwrap());
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let programs = Path::new(ROLEOS).parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&rest))).unwrap();
    let (progress, output) = (home.path().join("progress"), home.path().join("output"));
    let written = fs::File::create(&output).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", &script(&blocks).replace(PORT, &port.to_string())])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", home.path())
        .env("REPO", root())
        .env("PROGRESS", &progress)
        .env("NO_COLOR", "1")
        .env_remove("XDG_STATE_HOME")
        .env_remove("ROLEOS_ROOT")
        .env_remove("ROLEOS_CONFIG")
        .stdin(Stdio::null())
        .stdout(written.try_clone().unwrap())
        .stderr(written)
        .process_group(0);
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "A")
            .env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    for mark in crate::init::MARKS {
        command.env_remove(mark);
    }
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begun.elapsed() > TOO_LONG {
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    // Servers that the page has left in the background.
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let line = fs::read_to_string(progress).unwrap_or_default();
    let said = fs::read_to_string(output).unwrap_or_default();
    let said: Vec<&str> = said.lines().rev().take(20).collect();
    let said: Vec<&str> = said.into_iter().rev().collect();
    let name = page.strip_prefix(root()).unwrap().display();
    Err(format!(
        "{name}:{}: {status:?}\n{}",
        line.trim(),
        said.join("\n")
    ))
}

#[test]
fn every_command_block_runs() {
    let pages = pages();
    assert!(pages.len() > 15, "{pages:?}");
    let (left, right) = pages.split_at(pages.len() / 2);
    let half = |pages: &[PathBuf]| {
        pages
            .iter()
            .filter_map(|page| play(page).err())
            .collect::<Vec<_>>()
    };
    let failed = thread::scope(|scope| {
        let other = scope.spawn(|| half(right));
        let mut failed = half(left);
        failed.extend(other.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn blocks_that_do_not_run_are_few_and_say_why() {
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let mut executed = 0;
    for page in pages() {
        for block in blocks(&fs::read_to_string(&page).unwrap()) {
            match block.skip {
                Some(reason) => *skipped.entry(reason).or_default() += 1,
                None => executed += block.commands.len(),
            }
        }
    }
    let allowed = SKIPPED
        .iter()
        .map(|(reason, most)| ((*reason).to_owned(), *most));
    assert_eq!(
        skipped,
        allowed.collect(),
        "reasons and numbers of skipped blocks"
    );
    assert!(executed > 60, "{executed}");
}

#[test]
fn a_page_becomes_a_script() {
    let page = "<!-- setup: mkdir x -->\n```sh exit=1\nfalse\n```\n```console\nsaid\n$ a \\\n  b\nout\n$ c\n```\n```sh skip=\"why\"\nd\n```\n```toml\ne\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 4);
    assert_eq!(found[2].commands, ["a \\\n  b", "c"]);
    assert_eq!(found[3].skip.as_deref(), Some("why"));
    let script = script(&found);
    assert!(
        script.contains("{ false\n} && code=0 || code=$?\ntest \"$code\" = 1\n"),
        "{script}"
    );
    assert!(!script.contains("\nd\n"), "{script}");
}

#[test]
fn the_program_has_every_page() {
    let mut named: Vec<String> = present::topics::TOPICS
        .iter()
        .map(|topic| topic.name.to_owned())
        .collect();
    named.sort();
    let pages = pages();
    let docs = pages
        .iter()
        .filter(|page| page.parent().unwrap().ends_with("docs"));
    let mut docs: Vec<String> = docs
        .map(|page| page.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    docs.sort();
    assert_eq!(named, docs, "the list is in crates/present/src/topics.rs");
}
