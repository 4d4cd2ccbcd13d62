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
        agreement: None,
        unverified: false,
        price_usd: None,
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
                    append(
                        &Seals::default(),
                        path,
                        contest(&format!("{writer}-{number}"), "serve"),
                    )
                    .unwrap();
                }
            });
        }
    });
    let (lines, bad) = verify(&Seals::default(), &path, vec![Metric::v1()]).unwrap();
    assert_eq!((lines, bad.as_slice()), (320, &[][..]));
}

#[expect(clippy::disallowed_methods, reason = "plays a crash")]
fn cut(path: &Path, keep: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..keep]).unwrap();
}

#[test]
fn a_torn_contest_is_set_aside_and_reported_and_the_log_holds_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    for with_head in [true, false] {
        fs::remove_file(&path).ok();
        fs::remove_file(path.with_added_extension("torn")).ok();
        assert_eq!(
            append(&Seals::default(), &path, contest("1", "serve")).unwrap(),
            Tail::Whole
        );
        let first = fs::read(&path).unwrap().len();
        let head = fs::read(path.with_added_extension("head")).unwrap();
        append(&Seals::default(), &path, contest("2", "serve")).unwrap();
        let second = fs::read(&path).unwrap().len();
        // The crash happened in the middle of the second contest's second line, or of its first.
        cut(&path, if with_head { second - 30 } else { first + 30 });
        if with_head {
            files::write(
                &path.with_added_extension("head"),
                &head,
                files::Privacy::Shared,
            )
            .unwrap();
        } else {
            fs::remove_file(path.with_added_extension("head")).unwrap();
        }
        let tail = append(&Seals::default(), &path, contest("3", "serve")).unwrap();
        assert_eq!(tail, Tail::Torn);
        assert!(
            report(&path, tail)
                .unwrap_err()
                .source
                .to_string()
                .contains("torn")
        );
        assert_eq!(
            verify(&Seals::default(), &path, vec![Metric::v1()]).unwrap(),
            (4, Vec::new())
        );
        let aside = fs::read(path.with_added_extension("torn")).unwrap();
        assert!(
            String::from_utf8_lossy(&aside).starts_with('{'),
            "{aside:?}"
        );
        assert_eq!(
            append(&Seals::default(), &path, contest("4", "serve")).unwrap(),
            Tail::Whole
        );
    }
}

#[test]
fn whole_contests_that_were_taken_off_the_end_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    append(&Seals::default(), &path, contest("1", "serve")).unwrap();
    let first = fs::read(&path).unwrap().len();
    append(&Seals::default(), &path, contest("2", "serve")).unwrap();
    assert_eq!(
        verify(&Seals::default(), &path, vec![Metric::v1()]).unwrap(),
        (4, Vec::new())
    );
    cut(&path, first);
    let (lines, bad) = verify(&Seals::default(), &path, vec![Metric::v1()]).unwrap();
    assert_eq!((lines, bad.len(), bad[0].line), (2, 1, 3), "{bad:?}");
}

/// Returns a workspace with a trust store, in a folder that lasts as long as the first part.
fn initialised() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    fs::create_dir_all(root.join(".role-os")).unwrap();
    let environment = base::environment::Environment {
        state: Some(folder.path().join("state")),
        ..Default::default()
    };
    let workspace = Workspace::find(Some(&root), &environment).unwrap();
    base::trust::initialise(&workspace).unwrap();
    (folder, workspace)
}

/// Regression: an older log, restored with its head, was trusted.
#[test]
#[expect(clippy::disallowed_methods, reason = "plays who puts files back")]
fn an_older_log_that_was_put_back_counts_for_nothing_and_is_kept() {
    let (_folder, workspace) = initialised();
    let (seals, log) = (Seals::of(&workspace), path(&workspace));
    let head = log.with_added_extension("head");
    let found = || verify(&seals, &log, vec![Metric::v1()]).unwrap();
    append(&seals, &log, contest("1", "learn")).unwrap();
    let older = [&log, &head].map(|path| (path.clone(), fs::read(path).unwrap()));
    append(&seals, &log, contest("2", "learn")).unwrap();
    assert_eq!(found(), (4, Vec::new()));
    for round in ["unsealed", "unsealed.1"] {
        for (path, bytes) in &older {
            fs::write(path, bytes).unwrap();
        }
        let (_, bad) = found();
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert!(bad[0].reason.contains("it was put back"), "{bad:?}");
        let tail = append(&seals, &log, contest("3", "learn")).unwrap();
        assert_eq!(tail, Tail::Torn);
        assert_eq!(found(), (2, Vec::new()), "a new one begins");
        let aside = fs::read(log.with_added_extension(round)).unwrap();
        assert_eq!(aside, older[0].1, "and nothing is lost");
    }
    // Cut, or changed at its end, and left for the next contest to seal.
    let endings = ["unsealed.2", "unsealed.3"];
    for (ending, spoil) in endings
        .iter()
        .zip([cut_one, change_last] as [fn(&str) -> String; 2])
    {
        append(&seals, &log, contest("4", "learn")).unwrap();
        append(&seals, &log, contest("5", "learn")).unwrap();
        let spoilt = spoil(&fs::read_to_string(&log).unwrap());
        fs::write(&log, &spoilt).unwrap();
        assert!(!found().1.is_empty());
        append(&seals, &log, contest("6", "learn")).unwrap();
        assert_eq!(found(), (2, Vec::new()), "{ending}");
        let aside = fs::read_to_string(log.with_added_extension(ending)).unwrap();
        assert_eq!(aside, spoilt);
    }
}

fn cut_one(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines[..lines.len() - 4].concat()
}

fn change_last(text: &str) -> String {
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    format!("{before}\n{}\n", last.replace("05:06:07", "05:06:08"))
}

/// After a crash at any point between writing the lines, the head and the trust store, the log still counts.
#[test]
#[expect(clippy::disallowed_methods, reason = "plays a crash")]
fn a_crash_between_the_log_and_the_trust_store_loses_nothing() {
    let (_folder, workspace) = initialised();
    let (seals, log) = (Seals::of(&workspace), path(&workspace));
    let name = ".role-os/run_log.jsonl";
    append(&seals, &log, contest("1", "learn")).unwrap();
    let known = seals.marks(name).unwrap();
    let before = fs::read(&log).unwrap();
    append(&seals, &log, contest("2", "learn")).unwrap();
    let (newer, after) = (seals.marks(name).unwrap(), fs::read(&log).unwrap());
    let more = (after.len() - before.len()) as u64;
    // The head as it is while the second contest is written.
    fs::write(&log, &before).unwrap();
    head::write(&seals, &log, more, &newer[0]).unwrap();
    for (name_of_case, lines, text, marks) in [
        ("before the lines", 2, &before, &known),
        ("after the lines", 4, &after, &known),
        ("after the trust store", 4, &after, &newer),
    ] {
        fs::write(&log, text).unwrap();
        seals.set_head(name, marks).unwrap();
        let found = verify(&seals, &log, vec![Metric::v1()]).unwrap();
        assert_eq!(found, (lines, Vec::new()), "{name_of_case}");
    }
    assert_eq!(
        append(&seals, &log, contest("3", "learn")).unwrap(),
        Tail::Whole
    );
    let found = verify(&seals, &log, vec![Metric::v1()]).unwrap();
    assert_eq!(found, (6, Vec::new()));
}

#[test]
fn trials_are_those_of_learning_runs_in_the_role() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run_log.jsonl");
    assert_eq!(trials(&path, "writer").unwrap(), BTreeMap::new());
    append(&Seals::default(), &path, contest("1", "learn")).unwrap();
    append(&Seals::default(), &path, contest("2", "learn")).unwrap();
    append(&Seals::default(), &path, contest("3", "serve")).unwrap();
    let expected = BTreeMap::from([("a-1".to_owned(), 2), ("b-1".to_owned(), 2)]);
    assert_eq!(trials(&path, "writer").unwrap(), expected);
    assert_eq!(trials(&path, "reader").unwrap(), BTreeMap::new());
}
