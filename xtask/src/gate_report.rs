//! `cargo xtask gate-report`: the gate's own error rates, from the corpora in the repository, as
//! `docs/gate-error-rates.md`.
//!
//! Rates are recomputed and checked by `tidy`; figures that depend on a machine (latency, the differential run) are
//! measured by this chore and stored in `xtask/gate-measured.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use oversight::grants::Grants;
use oversight::lookup::{Content, Lookup};
use oversight::verdict::{OnOpaque, Place, Policy, Verdict, decide_command};
use serde_json::{Value, json};

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline, write};

const HOME: &str = "/home/dev";
const MEASURED: &str = "xtask/gate-measured.json";
const PEER: &str = "cc-safety-net@2.4.5";

/// Event that an agent passes to a hook.
const EVENT: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"bash -lc 'npm test && git push origin HEAD'"},"cwd":"/tmp"}"#;

/// Measures, and writes the report.
pub(crate) fn run(project: &Project) -> Result<()> {
    let measured = json!({
        "differential": differential(project)?,
        "supervised": supervised(project)?,
        "latency": latency(project)?,
    });
    let text = serde_json::to_string_pretty(&measured)
        .map_err(|error| Failure::of("cannot write the measurements", error))?;
    write(&project.root().join(MEASURED), &(text + "\n"))?;
    write(
        &project.root().join("docs/gate-error-rates.md"),
        &text_of_report(),
    )
}

/// Returns the report, from the corpora and the last measurements.
pub(crate) fn text_of_report() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let corpus = |name: &str| {
        fs::read_to_string(root.join("crates/oversight/tests/corpus").join(name))
            .unwrap_or_default()
    };
    let measured: Value = fs::read_to_string(root.join(MEASURED))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let mut report = Report::default();
    for (name, own) in [
        ("gated.jsonl", ""),
        ("benign.jsonl", ""),
        ("techniques.jsonl", "techniques"),
        ("own-launchers.jsonl", "techniques"),
    ] {
        for line in corpus(name).lines() {
            if let Ok(case) = serde_json::from_str::<Value>(line) {
                report.add(&case, own);
            }
        }
    }
    report.text(&measured)
}

/// Numbers of commands of a level by answer.
#[derive(Default)]
struct Tally {
    cases: usize,
    allowed: usize,
    watched: usize,
    asked: usize,
    denied: usize,
    found: usize,
}

#[derive(Default)]
struct Report {
    gated: BTreeMap<String, Tally>,
    benign: BTreeMap<String, Tally>,
    open: Vec<String>,
}

struct Files(BTreeMap<String, String>);

impl Lookup for Files {
    fn read(&self, path: &str) -> Content {
        self.0
            .get(path)
            .map_or(Content::Missing, |text| Content::Text(text.clone()))
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let below = self
            .0
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix)?.split('/').next());
        let mut names: Vec<String> = below.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Report {
    fn add(&mut self, case: &Value, own: &str) {
        let text = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default();
        let expected: Vec<&str> = case
            .get("expected")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let files = case
            .get("files")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let files = files.map(|(path, content)| {
            (
                format!("{HOME}/{path}"),
                content.as_str().unwrap_or_default().to_owned(),
            )
        });
        let place = Place {
            directory: HOME,
            home: HOME,
        };
        let now = jiff::Timestamp::UNIX_EPOCH;
        let lookup = Files(files.collect());
        let policy = Policy {
            opaque: OnOpaque::Watch,
            ..Policy::default()
        };
        let decision = decide_command(
            &policy,
            text("command"),
            place,
            &lookup,
            &Grants::none(),
            now,
        );
        let mut level = if own.is_empty() {
            text("level").to_owned()
        } else {
            format!("{own}: {}", text("level"))
        };
        if text("note").contains("static may flag") {
            "static may flag".clone_into(&mut level);
        }
        let gated = !expected.is_empty();
        let tally = if gated {
            &mut self.gated
        } else {
            &mut self.benign
        }
        .entry(level.clone())
        .or_default();
        tally.cases += 1;
        tally.found += usize::from(
            gated
                && expected
                    .iter()
                    .all(|id| decision.actions.iter().any(|found| found == id)),
        );
        let counted = match decision.verdict {
            Verdict::Allow | Verdict::Advise => &mut tally.allowed,
            Verdict::Watch => &mut tally.watched,
            Verdict::Ask => &mut tally.asked,
            Verdict::Deny => &mut tally.denied,
        };
        *counted += 1;
        let is_missed = gated && decision.verdict < Verdict::Watch;
        let is_alarm = !gated
            && decision.verdict >= Verdict::Ask
            && level != "opaque"
            && level != "static may flag";
        if is_missed || is_alarm {
            let why = decision
                .reasons
                .first()
                .map_or("nothing was seen", String::as_str);
            let command = text("command").replace('\n', "⏎").replace('|', "\\|");
            self.open.push(format!(
                "| {level} | `{command}` | {} | {} |",
                decision.verdict.as_str(),
                why.replace('|', "\\|")
            ));
        }
    }

    fn text(&self, measured: &Value) -> String {
        let mut page = String::from(HEAD);
        let shown = |level: &str, what: &str| {
            let figures = measured.get("supervised").and_then(|all| all.get(level));
            let figure = figures.and_then(|figures| figures.get(what));
            figure.map_or_else(|| "–".to_owned(), ToString::to_string)
        };
        page.push_str("## Commands that perform a gated action\n\n| level | commands | denied | watched | asked | allowed (missed), 95 % interval | action named | acted when run | executed under supervision |\n|---|---|---|---|---|---|---|---|---|\n");
        for (level, tally) in &self.gated {
            let _ = writeln!(
                page,
                "| {level} | {} | {} | {} | {} | {} | {} | {} | {} |",
                tally.cases,
                tally.denied,
                tally.watched,
                tally.asked,
                rate(tally.allowed, tally.cases),
                tally.found,
                shown(level, "acted"),
                shown(level, "executed")
            );
        }
        page.push_str("\n## Commands that do not\n\n| level | commands | allowed | watched | asked or denied, 95 % interval | run both ways | refused under supervision | changed | not comparable |\n|---|---|---|---|---|---|---|---|---|\n");
        for (level, tally) in &self.benign {
            let _ = writeln!(
                page,
                "| {level} | {} | {} | {} | {} | {} | {} | {} | {} |",
                tally.cases,
                tally.allowed,
                tally.watched,
                rate(tally.asked + tally.denied, tally.cases),
                shown(level, "harmless"),
                shown(level, "refused"),
                shown(level, "changed"),
                shown(level, "unsteady")
            );
        }
        page.push_str("\n## Every miss and false alarm\n\n");
        if self.open.is_empty() {
            page.push_str("None in these corpora.\n");
        } else {
            page.push_str("| level | command | answer | reason |\n|---|---|---|---|\n");
            for line in &self.open {
                page.push_str(line);
                page.push('\n');
            }
        }
        page.push_str(LIMITS);
        let number = |pointer: &str| {
            measured
                .pointer(pointer)
                .map_or_else(|| "–".to_owned(), ToString::to_string)
        };
        let _ = write!(
            page,
            "\n## Against the real bash\n\nGenerated commands, run by bash with programs that only write down their words: {} commands, {} acted, {} of these missed (seed {}).\n\
             `cargo nextest run -p oversight --test differential` repeats it.\n\
             \n## Latency\n\nWhole process, median of 21 calls, the same command: `roleos explain` {} ms, {} {} ms.\n",
            number("/differential/commands"),
            number("/differential/acted"),
            number("/differential/missed"),
            number("/differential/seed"),
            number("/latency/ours_ms"),
            PEER,
            number("/latency/peer_ms"),
        );
        page
    }
}

const HEAD: &str = "# How often the gate errs\n\n\
    Written by `cargo xtask gate-report`; do not edit.\n\
    Each command is judged twice: by its text before it runs, as where supervision is to be had (`opaque = \"watch\"`), and by what its programs really are when they begin.\n\n\
    By the text, a command that performs a gated action is missed when it is answered `allow` or `advise`; `watch` lets it run under supervision.\n\
    A false alarm is a command that performs none and is answered `ask` or `deny`; level opaque is not counted.\n\n\
    For the second judgement every command was run by the real bash, in a machine of its own with recorders in the place of the programs that act, plainly and under `roleos run`.\n\
    Commands whose tools are not installed, or that need a network, do not act when they are run.\n\
    Changed is a harmless command that printed or ended differently under supervision; not comparable is one that differs from run to run or does not end.\n\n\
    The corpora are in `crates/oversight/tests/corpus`; `techniques` was written by hand against the analysis, for the most part without running the commands, and what is known not to be seen is not in it; its rates say what is covered and not what is typical.\n\n";

const LIMITS: &str = "\n## What is known not to be seen\n\n\
    - Code of other languages, makefiles, task files, package scripts and the output of text filters are not read: a command that runs them is opaque. Under supervision each program that they start is judged; where nothing watches, a person is asked.\n\
    - Where nothing watches, tools that build, install or test by their own means (`cargo test`, `npm install`, `pytest`) run code of the project without a question, also in a repository that the same command clones; asking about each of them would be asking about every README.\n\
    - Programs in a container that gets no credentials of the user run without a question, and supervision does not see them; nor does it see programs on another machine, in a session that runs already or in a schedule.\n\
    - A shell script that a build step rewrites in the same command is read as it was before.\n\
    - Programs that no table names and that start a file which they are given, such as `fcrontab`, are not opaque; supervision judges the programs that they start themselves.\n\
    - Installed packages go by their names, as programs on the path do; the code that they load is not read.\n\
    - Programs that were compiled before, libraries that publish without a program, and paths of protected files that code computes.\n";

/// Returns a count with its rate.
fn rate(hits: usize, cases: usize) -> String {
    format!("{hits}: {}", interval(hits, cases))
}

/// Returns Wilson's score interval, in percent.
#[expect(clippy::cast_precision_loss, reason = "counts of a corpus are small")]
fn interval(hits: usize, cases: usize) -> String {
    if cases == 0 {
        return "–".to_owned();
    }
    let (n, z) = (cases as f64, 1.96_f64);
    let p = hits as f64 / n;
    let middle = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    let low = ((middle - spread) / scale).max(0.0) * 100.0;
    let high = (middle + spread) / scale * 100.0;
    format!("{:.2} % ({low:.2}–{high:.2})", p * 100.0)
}

fn differential(project: &Project) -> Result<Value> {
    headline("the differential test");
    let mut command = project.cargo(&[
        "test",
        "--locked",
        "-p",
        "oversight",
        "--test",
        "differential",
        "--",
        "--nocapture",
    ]);
    let text = shell::output(&mut command)?;
    let line = text
        .lines()
        .find(|line| line.contains(" commands, "))
        .unwrap_or_default();
    let numbers: Vec<u64> = line
        .split(|one: char| !one.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers.as_slice() {
        [commands, acted, named, missed, seed] => Ok(
            json!({ "commands": commands, "acted": acted, "named": named, "missed": missed, "seed": seed }),
        ),
        _ => Err(Failure::new(format!(
            "the differential test printed `{line}`, which is no result"
        ))),
    }
}

/// Runs the corpora for real; returns the figures of the test, by level.
fn supervised(project: &Project) -> Result<Value> {
    headline("the corpora under supervision");
    let test = "supervised::nothing_gated_runs_and_nothing_harmless_changes";
    let mut command = project.cargo(&["test", "--locked", "-p", "roleos", "--test", "it", "--"]);
    command
        .args(["--exact", test, "--nocapture"])
        .env("ROLEOS_SUPERVISED", "all");
    let text = shell::output(&mut command)?;
    let figures = text.lines().find(|line| line.starts_with('{'));
    figures
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| Failure::new("the test of the corpora under supervision printed no figures"))
}

fn latency(project: &Project) -> Result<Value> {
    headline("latency");
    let peers = project.target().join("tools").join("peers");
    fs::create_dir_all(&peers)
        .map_err(|error| Failure::of("cannot make the folder of peers", error))?;
    shell::run(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
            .arg(&peers)
            .arg(PEER),
    )?;
    shell::run(&mut project.cargo(&["build", "--release", "--locked", "-p", "roleos"]))?;
    let peer = peers.join("node_modules/cc-safety-net/dist/bin/cc-safety-net.js");
    let ours = project.target().join("release").join("roleos");
    let command = "bash -lc 'npm test && git push origin HEAD'";
    Ok(json!({
        "ours_ms": median(&ours, &["explain", "--json", command], "")?,
        "peer_ms": median(&PathBuf::from("node"), &[&peer.to_string_lossy(), "hook", "--claude-code"], EVENT)?,
    }))
}

fn median(program: &Path, arguments: &[&str], input: &str) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        let failed = |error| Failure::of(format!("cannot run `{}`", program.display()), error);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not read its input is not a failure here.
            drop(pipe.write_all(input.as_bytes()));
        }
        child.wait().map_err(failed)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((middle * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        assert_eq!(interval(0, 100), "0.00 % (0.00–3.70)");
        assert_eq!(interval(5, 100), "5.00 % (2.15–11.18)");
    }
}
