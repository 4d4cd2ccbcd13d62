//! The corpora through real execution: every command runs in a separate machine, without supervision and under `roleos
//! run`.
//!
//! Nothing gated may run under supervision, and nothing harmless may be refused or end differently. Recorders in place
//! of the programs that act observe a command, so a command whose tools are not installed does nothing here; the test
//! reports their number. To be quick, the test runs every gated command under supervision, but only some of them
//! without, and some of the harmless ones. `ROLEOS_SUPERVISED=all` runs all of them both ways, like `cargo xtask
//! gate-report`, which reads the printed line of JSON, the figures by level.

mod acts;
mod machine;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::Value;

use machine::{Machine, Ran};

/// The arguments that supervise a command.
const SUPERVISED: &[&str] = &[
    "/opt/roleos/roleos",
    "run",
    "--report",
    "/record/report",
    "--",
];

/// Seconds that a command may take. Some never end.
const PATIENCE: u32 = 3;

/// The corpora; `true` if they were written against the analysis.
const CORPORA: [(&str, bool); 4] = [
    (
        include_str!("../../../oversight/tests/corpus/gated.jsonl"),
        false,
    ),
    (
        include_str!("../../../oversight/tests/corpus/benign.jsonl"),
        false,
    ),
    (
        include_str!("../../../oversight/tests/corpus/techniques.jsonl"),
        true,
    ),
    (
        include_str!("../../../oversight/tests/corpus/own-launchers.jsonl"),
        true,
    ),
];

/// One of this many gated commands is also run without supervision.
const PLAINLY: usize = 8;

/// One of this many harmless commands is run.
const HARMLESS: usize = 3;

/// One command of a corpus.
#[derive(Debug)]
struct Case {
    /// Name in the report.
    level: String,
    id: String,
    command: String,
    gated: bool,
    files: BTreeMap<String, String>,
}

/// Figures of one level or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    /// Commands that are expected to act.
    gated: usize,
    /// Those that were run without supervision.
    tried: usize,
    /// Those of these that acted.
    acted: usize,
    /// Commands that performed a gated act under supervision.
    executed: usize,
    /// Commands that are expected not to act, and did not without supervision.
    harmless: usize,
    /// Those with a refusal under supervision.
    refused: usize,
    /// Those with other output or another end under supervision.
    changed: usize,
    /// Those that are not comparable: they differ from run to run, or do not end.
    unsteady: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.gated += other.gated;
        self.tried += other.tried;
        self.acted += other.acted;
        self.executed += other.executed;
        self.harmless += other.harmless;
        self.refused += other.refused;
        self.changed += other.changed;
        self.unsteady += other.unsteady;
    }
}

fn cases() -> Vec<Case> {
    let read = |own, line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        let files = value["files"].as_object().into_iter().flatten();
        let files = files.map(|(path, text)| (path.clone(), text.as_str().unwrap().to_owned()));
        let flagged = value["note"]
            .as_str()
            .is_some_and(|note| note.contains("static may flag"));
        let level = match (flagged, own) {
            (true, _) => "static may flag".to_owned(),
            (_, true) => format!("techniques: {}", text("level")),
            _ => text("level"),
        };
        Case {
            level,
            id: text("id"),
            command: text("command"),
            gated: !value["expected"].as_array().unwrap().is_empty(),
            files: files.collect(),
        }
    };
    let lines = CORPORA
        .iter()
        .flat_map(|(text, own)| text.lines().map(|line| (*own, line)));
    lines.map(|(own, line)| read(own, line)).collect()
}

fn acts(ran: &Ran) -> bool {
    ran.log.iter().any(|words| acts::action(words).is_some())
}

/// Returns the refusals that `roleos run` reports.
fn refusals(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.report).unwrap_or_default();
    let refused = report["refused"].as_array();
    refused.cloned().unwrap_or_default()
}

/// Runs one command under supervision and, if `both` is set or it is harmless, without. The second value is the error,
/// if there is one.
fn judge(case: &Case, both: bool, machine: &mut Machine) -> (Tally, Option<String>) {
    let mut run =
        |prefix: &[&str], seconds| machine.run(&case.command, &case.files, prefix, seconds);
    let plain = (both || !case.gated).then(|| run(&[], PATIENCE));
    let mut watched = run(SUPERVISED, PATIENCE);
    let mut tally = Tally::default();
    let mut wrong = None;
    if acts(&watched) {
        tally.executed = 1;
        wrong = Some(format!("EXECUTED {:?}", watched.log));
    }
    tally.gated = usize::from(case.gated);
    let Some(plain) = plain else {
        return (tally, wrong);
    };
    if case.gated {
        tally.tried = 1;
        tally.acted = usize::from(acts(&plain));
        return (tally, wrong);
    }
    if watched.late && !plain.late {
        // A busy machine, or a command that no longer ends.
        watched = run(SUPERVISED, PATIENCE * 10);
    }
    // The one variable that reveals a supervisor.
    let shown = |line: &&str| !line.starts_with("ROLEOS_WATCH=");
    let seen = |ran: &Ran| {
        let lines: Vec<&str> = ran.stdout.split_inclusive('\n').filter(shown).collect();
        (ran.exit, lines.concat())
    };
    if acts(&plain) {
        // The corpus was recorded elsewhere; here the command acts, so it must be refused.
        return (tally, wrong);
    }
    tally.harmless = 1;
    let refused = refusals(&watched);
    if !refused.is_empty() {
        tally.refused = 1;
        return (tally, Some(format!("REFUSED {refused:?}")));
    }
    if watched.report.is_empty() && !watched.late {
        tally.changed = 1;
        return (tally, Some(format!("NO REPORT {}", watched.stderr)));
    }
    let mut others = Vec::new();
    for _ in 0..3 {
        if plain.late {
            break;
        }
        if seen(&plain) == seen(&watched) || others.contains(&seen(&watched)) {
            return (tally, wrong);
        }
        others.push(seen(&run(&[], PATIENCE)));
    }
    let steady = others.iter().all(|other| *other == seen(&plain)) && !others.is_empty();
    let mut differs = || seen(&run(SUPERVISED, PATIENCE * 10)) != seen(&plain);
    if steady && (0..4).all(|_| differs()) {
        tally.changed = 1;
        wrong = Some(format!(
            "CHANGED {:?} to {:?} {}",
            seen(&plain),
            seen(&watched),
            watched.stderr
        ));
    } else {
        tally.unsteady = 1;
    }
    (tally, wrong)
}

#[test]
fn nothing_gated_runs_and_nothing_harmless_changes() {
    let all = std::env::var_os("ROLEOS_SUPERVISED").is_some_and(|extent| extent == "all");
    let mut cases = cases();
    let (mut gated, mut harmless) = (0, 0);
    cases.retain(|case| {
        harmless += usize::from(!case.gated);
        all || case.gated || harmless % HARMLESS == 0
    });
    let both: Vec<bool> = cases
        .iter()
        .map(|case| {
            gated += usize::from(case.gated);
            all || gated % PLAINLY == 0
        })
        .collect();
    let next = AtomicUsize::new(0);
    let tallies: Mutex<BTreeMap<String, Tally>> = Mutex::default();
    let findings: Mutex<Vec<String>> = Mutex::default();
    // Some commands only wait, so there are more machines than cores.
    let machines = std::thread::available_parallelism().map_or(2, usize::from) * 6;
    std::thread::scope(|scope| {
        for _ in 0..machines {
            scope.spawn(|| {
                let mut machine = Machine::start();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else {
                        break;
                    };
                    let (tally, wrong) = judge(case, both[index], &mut machine);
                    let mut tallies = tallies.lock().unwrap();
                    let level = tallies.entry(case.level.clone()).or_default();
                    level.add(tally);
                    if let Some(wrong) = wrong {
                        let line = format!("{} {:?}: {wrong}", case.id, case.command);
                        findings.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let tallies = tallies.into_inner().unwrap();
    let findings = findings.into_inner().unwrap();
    let mut sum = Tally::default();
    tallies.values().for_each(|tally| sum.add(*tally));
    for finding in &findings {
        println!("{finding}");
    }
    println!("{}", serde_json::to_string(&tallies).unwrap());
    assert!(
        sum.acted * 2 > sum.tried,
        "only {} of {} gated commands act without supervision: the recorders are broken",
        sum.acted,
        sum.tried
    );
    assert!(
        findings.is_empty(),
        "{} findings: {sum:?}\n{}",
        findings.len(),
        findings.join("\n")
    );
}
