//! A violation in autonomous mode.

use super::*;

#[test]
fn a_violation_returns_to_the_start_and_the_journal_tells() {
    let house = House::new();
    let session = SessionId::new("s");
    let sessions = house.workspace.sessions_dir();
    let place = rollback::Place {
        sessions: &sessions,
        session: &session,
        agent: "claude",
        directory: house.directory.path(),
    };
    house.session("s", vec![]);
    let words = rollback::undo(place, "0").unwrap().unwrap();
    assert!(words.contains("there is no snapshot"), "{words}");
    rollback::begin(place).unwrap();
    house.put("src.rs", "changed");
    house.add(
        "s",
        vec![call("1", "Edit", json!({})), result("1", false, "", 0)],
    );
    let words = rollback::undo(place, "2").unwrap().unwrap();
    assert!(words.contains("kept as refs/roleos/undone/s/1"), "{words}");
    assert_eq!(
        fs::read_to_string(house.path("src.rs")).unwrap(),
        "fn a() {}\n"
    );
    assert_eq!(
        rollback::undo(place, "3").unwrap(),
        None,
        "nothing ran since"
    );
    // A process in the background wrote on, with no tool result in between.
    house.put("src.rs", "late");
    let words = rollback::undo(place, "4").unwrap().unwrap();
    assert!(words.contains("kept as refs/roleos/undone/s/2"), "{words}");
    house.add("s", vec![end()]);
    let told = house.seal_one();
    let restored: Vec<bool> = told.rollbacks.iter().map(|one| one.restored).collect();
    assert_eq!(restored, [false, true, true]);
    assert!(
        told.rollbacks
            .iter()
            .all(|one| !one.restored || one.wanted == one.found)
    );
}

#[test]
fn a_resumed_session_returns_to_its_first_start() {
    let house = House::new();
    let session = SessionId::new("s");
    let sessions = house.workspace.sessions_dir();
    let place = rollback::Place {
        sessions: &sessions,
        session: &session,
        agent: "claude",
        directory: house.directory.path(),
    };
    house.session("s", vec![]);
    rollback::begin(place).unwrap();
    house.put("src.rs", "changed");
    for _ in ["resume", "clear", "startup"] {
        house.add("s", vec![house.start("s")]);
        rollback::begin(place).unwrap();
    }
    let words = rollback::undo(place, "1").unwrap().unwrap();
    assert!(words.contains("kept as refs/roleos/undone/s/1"), "{words}");
    assert_eq!(
        fs::read_to_string(house.path("src.rs")).unwrap(),
        "fn a() {}\n"
    );
}

#[test]
fn the_work_of_another_session_in_the_tree_is_not_undone() {
    let house = House::new();
    let sessions = house.workspace.sessions_dir();
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    let place = |session| rollback::Place {
        sessions: &sessions,
        session,
        agent: "claude",
        directory: house.directory.path(),
    };
    let here = house.directory.path().display().to_string();
    let edit = |id: &str| match call(id, "Edit", json!({})) {
        Record::Call(mut call) => {
            call.cwd.clone_from(&here);
            Record::Call(call)
        }
        other => other,
    };
    // It worked before the other one began: its work is part of the other one's start.
    house.session("two", vec![edit("0")]);
    house.put("theirs", "before");
    house.session("one", vec![]);
    rollback::begin(place(&one)).unwrap();
    house.put("src.rs", "changed by one");
    let words = rollback::undo(place(&one), "1").unwrap().unwrap();
    assert!(words.contains("kept as"), "{words}");
    assert!(house.path("theirs").exists());
    // Now it works on.
    house.add("two", vec![edit("1")]);
    house.put("theirs", "after");
    house.put("src.rs", "changed by one again");
    let words = rollback::undo(place(&one), "2").unwrap().unwrap();
    assert!(
        words.contains("session `two` worked in the same tree"),
        "{words}"
    );
    assert_eq!(fs::read_to_string(house.path("theirs")).unwrap(), "after");
    // The other one began after the last call of the first.
    rollback::begin(place(&two)).unwrap();
    house.put("theirs", "more");
    let words = rollback::undo(place(&two), "3").unwrap().unwrap();
    assert!(
        words.contains("kept as refs/roleos/undone/two/1"),
        "{words}"
    );
    house.add("one", vec![end()]);
    house.add("two", vec![end()]);
    let bundles = house.seal();
    let (_, told) = bundles.iter().find(|(name, _)| name == "one").unwrap();
    assert!(told.fact("rollback 2 problem").contains("session `two`"));
    assert!(told.fact("rollback_not_covered").contains("ignored files"));
    let restored: Vec<bool> = told.rollbacks.iter().map(|one| one.restored).collect();
    assert_eq!(restored, [true, false]);
}

#[test]
fn a_deleted_ref_does_not_stop_a_rollback_and_a_deleted_repository_is_told() {
    let house = House::new();
    let session = SessionId::new("s");
    let sessions = house.workspace.sessions_dir();
    let place = rollback::Place {
        sessions: &sessions,
        session: &session,
        agent: "claude",
        directory: house.directory.path(),
    };
    house.session("s", vec![]);
    rollback::begin(place).unwrap();
    house.git(&["update-ref", "-d", "refs/roleos/snapshot/s"]);
    house.put("src.rs", "changed");
    let words = rollback::undo(place, "1").unwrap().unwrap();
    assert!(words.contains("kept as refs/roleos/undone/s/1"), "{words}");
    fs::remove_dir_all(house.path(".git")).unwrap();
    house.put("src.rs", "changed");
    let words = rollback::undo(place, "2").unwrap().unwrap();
    assert!(words.contains("could not be returned"), "{words}");
    let lines = house.lines("s");
    let last = lines.iter().rev().find_map(|line| match &line.record {
        Record::Rollback(rollback) => Some(rollback.clone()),
        _ => None,
    });
    let last = last.unwrap();
    assert!(!last.restored && last.problem.is_some(), "{last:?}");
}
