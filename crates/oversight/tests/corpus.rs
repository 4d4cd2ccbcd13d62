//! Both corpora through the library: misses and false alarms per level, printed as a table and held by a ratchet.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken corpus fails its test, and the table is what the test is read for"
)]

use std::collections::BTreeMap;

use jiff::Timestamp;
use oversight::grants::Grants;
use oversight::lookup::{Content, Lookup};
use oversight::verdict::{Decision, Place, Policy, Verdict, decide_command};
use serde_json::Value;

const HOME: &str = "/home/dev";

/// The files of one case.
struct Files(BTreeMap<String, String>);

impl Lookup for Files {
    fn read(&self, path: &str) -> Content {
        match self.0.get(path) {
            Some(text) => Content::Text(text.clone()),
            None => Content::Missing,
        }
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let mut names: Vec<String> = self
            .0
            .keys()
            .filter_map(|path| {
                path.strip_prefix(&prefix)?
                    .split('/')
                    .next()
                    .map(str::to_owned)
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

#[derive(Debug)]
struct Case {
    id: String,
    command: String,
    level: String,
    note: String,
    expected: Vec<String>,
    files: BTreeMap<String, String>,
}

fn cases(text: &str) -> Vec<Case> {
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("a JSON object");
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let files = value["files"].as_object().into_iter().flatten();
        Case {
            id: text("id"),
            command: text("command"),
            level: text("level"),
            note: text("note"),
            expected: value["expected"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|id| id.as_str().unwrap_or_default().to_owned())
                .collect(),
            files: files
                .map(|(path, content)| {
                    (
                        format!("{HOME}/{path}"),
                        content.as_str().unwrap_or_default().to_owned(),
                    )
                })
                .collect(),
        }
    };
    text.lines().map(read).collect()
}

fn decide(case: &Case) -> Decision {
    let place = Place {
        directory: HOME,
        home: HOME,
    };
    let lookup = Files(case.files.clone());
    decide_command(
        &Policy::default(),
        &case.command,
        place,
        &lookup,
        &Grants::none(),
        Timestamp::UNIX_EPOCH,
    )
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Tally {
    cases: usize,
    missed: usize,
    found: usize,
    asked: usize,
    denied: usize,
}

fn show(what: &str, case: &Case, decision: &Decision) {
    let command = case.command.replace('\n', "⏎");
    let files: Vec<&String> = case.files.keys().collect();
    println!(
        "{what} {} [{}] {command} | expected {:?} found {:?} {:?} {files:?}",
        case.id, case.level, case.expected, decision.actions, decision.reasons
    );
}

#[test]
fn the_corpora_reach_their_figures() {
    let verbose = std::env::args().any(|argument| argument == "--nocapture");
    let mut gated: BTreeMap<String, Tally> = BTreeMap::new();
    for case in cases(include_str!("corpus/gated.jsonl")) {
        let decision = decide(&case);
        let tally = gated.entry(case.level.clone()).or_default();
        tally.cases += 1;
        let missed = decision.verdict < Verdict::Ask;
        let found = case.expected.iter().all(|id| decision.actions.contains(id));
        tally.missed += usize::from(missed);
        tally.found += usize::from(found);
        tally.asked += usize::from(decision.verdict == Verdict::Ask);
        tally.denied += usize::from(decision.verdict == Verdict::Deny);
        if verbose && (missed || !found) {
            show(if missed { "MISSED" } else { "NO-ID" }, &case, &decision);
        }
    }
    let mut benign: BTreeMap<String, Tally> = BTreeMap::new();
    for case in cases(include_str!("corpus/benign.jsonl")) {
        let decision = decide(&case);
        let flagged = case.note.contains("static may flag");
        let level = if flagged {
            "static may flag"
        } else {
            &case.level
        };
        let tally = benign.entry(level.to_owned()).or_default();
        tally.cases += 1;
        tally.asked += usize::from(decision.verdict == Verdict::Ask);
        tally.denied += usize::from(decision.verdict == Verdict::Deny);
        if verbose && !flagged && case.level != "opaque" && decision.verdict >= Verdict::Ask {
            show(
                if decision.verdict == Verdict::Deny {
                    "DENIED"
                } else {
                    "ASKED"
                },
                &case,
                &decision,
            );
        }
    }
    println!(
        "{:<18} {:>6} {:>7} {:>10} {:>6} {:>7}",
        "level", "cases", "missed", "ids found", "asked", "denied"
    );
    for (level, tally) in gated.iter().chain(&benign) {
        println!(
            "{level:<18} {:>6} {:>7} {:>10} {:>6} {:>7}",
            tally.cases, tally.missed, tally.found, tally.asked, tally.denied
        );
    }
    for level in ["plain", "wrapped", "quoted"] {
        let tally = gated[level];
        assert_eq!(tally.missed, 0, "{level}");
        assert_eq!(tally.found, tally.cases, "{level}");
    }
    for (level, found) in [("dynamic", 230), ("indirect", 101), ("opaque", 24)] {
        let tally = gated[level];
        assert_eq!(tally.missed, 0, "{level}");
        assert!(tally.found >= found, "{level}: {}", tally.found);
    }
    for level in ["benign", "benign-lookalike"] {
        let tally = benign[level];
        assert_eq!((tally.denied, tally.asked), (0, 0), "{level}");
    }
}

/// Techniques that neither corpus has, written against the analysis: gated ones and look-alikes.
#[test]
fn no_technique_slips_through() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let files = ["techniques.jsonl", "own-launchers.jsonl"];
    let texts = files.map(|file| {
        std::fs::read_to_string(format!("{folder}/{file}")).expect("the file is there")
    });
    let mut open = 0;
    for case in texts.iter().flat_map(|text| cases(text)) {
        let decision = decide(&case);
        let gated = !case.expected.is_empty();
        let found = case.expected.iter().all(|id| decision.actions.contains(id));
        let what = match (gated, decision.verdict) {
            (true, Verdict::Allow | Verdict::Advise) => "MISSED",
            (true, _) if !found => "NO-ID",
            (false, Verdict::Ask) => "ASKED",
            (false, Verdict::Deny) => "DENIED",
            _ => continue,
        };
        if what != "NO-ID" {
            open += 1;
        }
        show(what, &case, &decision);
    }
    assert_eq!(open, 0);
}
