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

/// Files of one case.
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

/// Answer to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allowed,
    /// Only unparsed parts: it runs under supervision, or a person is asked.
    Opaque,
    /// A person is asked for another reason.
    Asked,
    Denied,
}

fn answer(decision: &Decision) -> Answer {
    let only_opaque = decision.actions.is_empty() && decision.guarded.is_empty();
    match decision.verdict {
        Verdict::Deny => Answer::Denied,
        _ if decision.verdict < Verdict::Ask && decision.opaque.is_empty() => Answer::Allowed,
        _ if only_opaque => Answer::Opaque,
        _ => Answer::Asked,
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Tally {
    cases: usize,
    allowed: usize,
    opaque: usize,
    asked: usize,
    denied: usize,
    found: usize,
}

impl Tally {
    fn add(&mut self, case: &Case, decision: &Decision) {
        self.cases += 1;
        match answer(decision) {
            Answer::Allowed => self.allowed += 1,
            Answer::Opaque => self.opaque += 1,
            Answer::Asked => self.asked += 1,
            Answer::Denied => self.denied += 1,
        }
        let found = case.expected.iter().all(|id| decision.actions.contains(id));
        self.found += usize::from(found);
    }
}

fn show(what: &str, case: &Case, decision: &Decision) {
    let command = case.command.replace('\n', "⏎");
    let files: Vec<&String> = case.files.keys().collect();
    println!(
        "{what} {} [{}] {command} | expected {:?} found {:?} {:?} {files:?}",
        case.id, case.level, case.expected, decision.actions, decision.reasons
    );
}

/// Returns the answers by level, and the number of cases whose answer their level does not allow.
fn tallied(text: &str) -> (BTreeMap<String, Tally>, usize) {
    let verbose = std::env::args().any(|argument| argument == "--nocapture");
    let mut levels: BTreeMap<String, Tally> = BTreeMap::new();
    let mut wrong = 0;
    for case in cases(text) {
        let decision = decide(&case);
        let flagged = case.note.contains("static may flag");
        let level = if flagged {
            "static may flag"
        } else {
            &case.level
        };
        levels
            .entry(level.to_owned())
            .or_default()
            .add(&case, &decision);
        let gated = !case.expected.is_empty();
        let what = match (gated, answer(&decision)) {
            (true, Answer::Allowed) if LEFT_TO_SUPERVISION.contains(&case.id.as_str()) => continue,
            (true, Answer::Allowed) => "MISSED",
            (false, Answer::Asked) if !flagged => "ASKED",
            (false, Answer::Denied) if !flagged => "DENIED",
            (true, Answer::Opaque | Answer::Asked)
                if LITERAL.contains(&level) && !is_code(&case) =>
            {
                "NOT DENIED"
            }
            (_, Answer::Opaque) if verbose => {
                show("opaque", &case, &decision);
                continue;
            }
            _ => continue,
        };
        wrong += 1;
        show(what, &case, &decision);
    }
    (levels, wrong)
}

/// Acts in code of the project or of the user that an ordinary tool runs on its way: only supervision sees them.
const LEFT_TO_SUPERVISION: &[&str] = &[
    "t0139", "t0368", "t2409", "t2503", "t2504", "t2505", "t2507", "t2508", "t2509", "t2510",
    "t3445", "tu0058", "tu0061", "tu0075", "tu0121", "o0995",
];

/// Programs whose arguments or input are code of another language, which is not parsed.
const CODE: &[&str] = &[
    "python3 -c",
    "python3 - <<",
    "python3 <<",
    "node -e",
    "node -p",
    "node <<",
    "perl -e",
    "awk 'BEGIN",
];

/// Acts whose program or text is computed: `find … -exec {} push`, arguments for `xargs bash`, lines that are read in
/// a loop.
const COMPUTED: &[&str] = &[
    "g-wrapped-0230",
    "g-wrapped-0345",
    "g-wrapped-0601",
    "g-wrapped-0701",
];

/// Returns `true` if the act is in code or computed, so that supervision sees it.
fn is_code(case: &Case) -> bool {
    CODE.iter().any(|start| case.command.starts_with(start)) || COMPUTED.contains(&case.id.as_str())
}

/// Levels with literal commands: they are refused before anything runs.
const LITERAL: &[&str] = &["plain", "wrapped", "quoted"];

#[test]
fn the_corpora_reach_their_figures() {
    let (gated, missed) = tallied(include_str!("corpus/gated.jsonl"));
    let (benign, alarms) = tallied(include_str!("corpus/benign.jsonl"));
    println!(
        "{:<18} {:>6} {:>8} {:>7} {:>6} {:>7} {:>10}",
        "level", "cases", "allowed", "opaque", "asked", "denied", "ids found"
    );
    for (level, tally) in gated.iter().chain(&benign) {
        println!(
            "{level:<18} {:>6} {:>8} {:>7} {:>6} {:>7} {:>10}",
            tally.cases, tally.allowed, tally.opaque, tally.asked, tally.denied, tally.found
        );
    }
    assert_eq!((missed, alarms), (0, 0));
}

/// Techniques that neither corpus has, written against the analysis: gated ones and look-alikes.
#[test]
fn no_technique_slips_through() {
    let (_, techniques) = tallied(include_str!("corpus/techniques.jsonl"));
    let (_, launchers) = tallied(include_str!("corpus/own-launchers.jsonl"));
    assert_eq!((techniques, launchers), (0, 0));
}
