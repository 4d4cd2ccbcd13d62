//! The run log under several writers and after a crash.

use std::fs;
use std::thread;

use selection::contest::{Common, Measured, Scale, hold};
use selection::verifier::Outcome;

use super::*;

pub(super) fn contest(run_id: &str, mode: &str) -> Vec<Record> {
    let metric = Metric::v1();
    let scale = Scale {
        metric: &metric,
        mixed: None,
    };
    let measured = |model: &str, outcome| Measured {
        model_id: model.to_owned(),
        version: format!("{model}-1"),
        stable: false,
        outcome,
        q1: None,
        refusal_penalty: 0.0,
        time_ms: 7,
        input_tokens: 1,
        output_tokens: 2,
        output_hash: None,
        cache_state: None,
        nondeterministic: false,
    };
    let held = hold(
        scale,
        vec![
            measured("a", Outcome::Pass),
            measured("b", Outcome::Fail("no".to_owned())),
        ],
    );
    let common = Common {
        timestamp: "2026-03-04T05:06:07Z".to_owned(),
        prompt_hash: "ab".repeat(32),
        run_id: run_id.to_owned(),
        role: "writer".to_owned(),
        mode: mode.to_owned(),
        ..Common::default()
    };
    held.records(scale, &common)
}

#[test]
fn writers_at_the_same_time_keep_one_chain_and_each_contest_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..20 {
                    append(path, contest(&format!("{writer}-{number}"), "serve")).unwrap();
                }
            });
        }
    });
    let (lines, bad) = verify(&path, vec![Metric::v1()]).unwrap();
    assert_eq!((lines, bad.as_slice()), (320, &[][..]));
}

#[test]
fn a_torn_line_stays_visible_and_the_chain_goes_on_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    assert_eq!(append(&path, contest("1", "serve")).unwrap(), Tail::Whole);
    let mut torn = fs::read(&path).unwrap();
    torn.truncate(torn.len() - 30);
    #[expect(clippy::disallowed_methods, reason = "plays a crash")]
    fs::write(&path, torn).unwrap();
    assert_eq!(append(&path, contest("2", "serve")).unwrap(), Tail::Torn);
    let (lines, bad) = verify(&path, vec![Metric::v1()]).unwrap();
    let numbers: Vec<u64> = bad.iter().map(|bad| bad.line).collect();
    assert_eq!((lines, numbers.as_slice()), (4, &[2][..]), "{bad:?}");
}

#[test]
fn trials_are_those_of_learning_runs_in_the_role() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    assert_eq!(trials(&path, "writer").unwrap(), BTreeMap::new());
    append(&path, contest("1", "learn")).unwrap();
    append(&path, contest("2", "learn")).unwrap();
    append(&path, contest("3", "serve")).unwrap();
    let expected = BTreeMap::from([("a-1".to_owned(), 2), ("b-1".to_owned(), 2)]);
    assert_eq!(trials(&path, "writer").unwrap(), expected);
    assert_eq!(trials(&path, "reader").unwrap(), BTreeMap::new());
}
