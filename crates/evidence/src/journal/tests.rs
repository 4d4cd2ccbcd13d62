//! Crashes, foreign writers and concurrent writers of a journal.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use super::append::Journal;
use super::read::{Problem, Reader, Session, journals};
use super::record::{Call, End, Prompt, Record, Start};
use super::{SessionId, capture};

fn prompt(text: &str) -> Record {
    Record::Prompt(Prompt {
        kept: capture::text(text, 100),
    })
}

fn add(directory: &Path, record: Record) {
    let mut journal = Journal::open(directory, &SessionId::new("s")).unwrap();
    journal.push("claude", 7, record);
    journal.commit(false).unwrap();
}

fn spoil(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_session_id_never_leaves_its_directory() {
    let check = |text: &str, plain: bool| {
        let name = SessionId::new(text);
        assert_eq!(name.as_str() == text, plain, "{text}");
        assert!(!name.as_str().contains('/') && !name.as_str().starts_with('.'));
        let path = name.path_in(Path::new("d"));
        assert_eq!(SessionId::of_path(&path), Some(name));
    };
    check("0199c0de-7000-7000-8000-000000000000", true);
    check("a.b_c", true);
    for text in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a b",
        "ü",
        "-x",
        &"x".repeat(101),
    ] {
        check(text, false);
    }
    assert_ne!(SessionId::new("a b"), SessionId::new("a c"));
}

#[test]
fn lines_follow_each_other_across_processes() {
    let directory = tempfile::tempdir().unwrap();
    let start = Start {
        session: "s".to_owned(),
        gate: true,
        ..Start::default()
    };
    add(directory.path(), Record::Start(Box::new(start.clone())));
    add(directory.path(), Record::Call(Box::default()));
    // Longer than the part that is read first from the end.
    add(directory.path(), prompt(&"x".repeat(20_000)));
    let call = Call {
        input: json!({"b": "x".repeat(70_000)}),
        ..Call::default()
    };
    add(directory.path(), Record::Call(Box::new(call)));
    add(directory.path(), Record::End(End::default()));
    let path = SessionId::new("s").path_in(directory.path());
    let session = Session::read(&path).unwrap();
    assert_eq!(session.problems, []);
    let numbers: Vec<_> = session
        .lines
        .iter()
        .map(|line| (line.seq, line.calls))
        .collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)]);
    assert!(session.has_ended());
    let journal = Journal::open(directory.path(), &SessionId::new("s")).unwrap();
    assert_eq!(journal.start().unwrap(), Some(start));
    assert_eq!((journal.head().seq, journal.head().calls), (5, 2));
    let found = journals(directory.path()).unwrap();
    assert_eq!(found, [(SessionId::new("s"), path)]);
}

#[test]
fn a_torn_line_is_taken_out_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    add(directory.path(), prompt("one"));
    for torn in ["{\"seq\":1,\"pr", "x", &"y".repeat(10_000)] {
        spoil(&path, torn.as_bytes());
        let problems = Session::read(&path).unwrap().problems;
        let bytes = torn.len() as u64;
        assert_eq!(problems, [Problem::Torn { bytes }]);
        add(directory.path(), prompt("two"));
        let session = Session::read(&path).unwrap();
        assert_eq!(session.problems, []);
        let kinds: Vec<_> = session
            .lines
            .iter()
            .rev()
            .map(|line| line.record.kind())
            .collect();
        assert_eq!(kinds[..2], ["prompt", "repaired"]);
        let Record::Repaired(report) = &session.lines[session.lines.len() - 2].record else {
            panic!("no report")
        };
        assert_eq!(report.bytes, bytes);
        assert!(torn.starts_with(&report.text));
    }
}

#[test]
fn a_torn_first_line_is_taken_out_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    fs::File::create(&path).unwrap();
    spoil(&path, b"{\"seq\":0");
    add(directory.path(), prompt("one"));
    let session = Session::read(&path).unwrap();
    assert_eq!(session.problems, []);
    assert_eq!(session.lines.len(), 2);
}

#[test]
fn a_changed_removed_or_foreign_line_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    for text in ["one", "two", "three"] {
        add(directory.path(), prompt(text));
    }
    let whole = fs::read_to_string(&path).unwrap();
    let check = |text: &str, problem: &Problem| {
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap();
        spoil(&path, text.as_bytes());
        let problems = Session::read(&path).unwrap().problems;
        assert!(problems.contains(problem), "{problems:?}");
        // The session goes on nevertheless, and its later lines are a chain again.
        let before = problems.len();
        add(directory.path(), prompt("later"));
        add(directory.path(), prompt("later"));
        assert_eq!(Session::read(&path).unwrap().problems.len(), before);
    };
    check(&whole.replace("two", "TWO"), &Problem::Broken { line: 3 });
    let lines: Vec<_> = whole.lines().collect();
    check(
        &format!("{}\n{}\n", lines[0], lines[2]),
        &Problem::Broken { line: 2 },
    );
    check(
        &format!("{}\n{}\n", lines[1], lines[2]),
        &Problem::Broken { line: 1 },
    );
}

#[test]
fn a_last_line_that_is_none_of_ours_is_counted_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    add(directory.path(), prompt("one"));
    spoil(&path, b"not json\n");
    add(directory.path(), prompt("two"));
    let session = Session::read(&path).unwrap();
    assert!(
        matches!(session.problems[..], [Problem::Unreadable { line: 2, .. }]),
        "{:?}",
        session.problems
    );
    assert_eq!(session.lines[1].seq, 2);
}

#[test]
fn a_removed_journal_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path(), &SessionId::new("s")).unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    let waiting = std::thread::spawn({
        let directory = directory.path().to_owned();
        move || add(&directory, prompt("one"))
    });
    fs::remove_file(&path).unwrap();
    drop(journal);
    waiting.join().unwrap();
    assert_eq!(Session::read(&path).unwrap().lines.len(), 1);
}

#[test]
fn a_reader_follows_what_is_added_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = SessionId::new("s").path_in(directory.path());
    add(directory.path(), prompt("one"));
    let mut reader = Reader::open(&path).unwrap();
    let mut next = || reader.next_line().unwrap().map(|line| line.unwrap().seq);
    assert_eq!((next(), next()), (Some(0), None));
    add(directory.path(), prompt("two"));
    assert_eq!((next(), next()), (Some(1), None));
    spoil(&path, &b"z".repeat(5_000));
    assert_eq!(next(), None);
    add(directory.path(), prompt("three"));
    assert_eq!((next(), next(), next()), (Some(2), Some(3), None));
    assert_eq!(reader.broken(), []);
}

#[test]
fn what_does_not_fit_is_cut_and_hashed_whole() {
    let long = "é".repeat(50_000);
    let kept = capture::text(&long, 1000);
    assert!(kept.capped && kept.text.len() < 1100 && kept.bytes == 100_000);
    let value = json!({"b": {"y": long, "x": 1}, "a": [1, 2]});
    let input = capture::input(&value);
    assert!(input.capped && input.value.to_string().len() < 2 * capture::MAX_INPUT);
    assert!(capture::canonical(&value).starts_with(r#"{"a":[1,2],"b":{"x":1,"y":"#));
    let wide = json!((0..100_000).map(|_| "").collect::<Vec<_>>());
    assert!(capture::input(&wide).value.to_string().len() < 2 * capture::MAX_INPUT);
}
