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
    house.add("s", vec![end()]);
    let told = house.seal_one();
    let restored: Vec<bool> = told.rollbacks.iter().map(|one| one.restored).collect();
    assert_eq!(restored, [false, true]);
    assert!(
        told.rollbacks
            .iter()
            .all(|one| !one.restored || one.wanted == one.found)
    );
}
