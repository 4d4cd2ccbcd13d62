//! Each session is sealed once: interrupted, continued, beside another, kept, changed.

use super::*;

#[test]
fn a_session_is_sealed_once_and_what_follows_goes_into_another_bundle() {
    let house = House::new();
    house.session("s", vec![end()]);
    assert_eq!(house.seal().len(), 1);
    assert_eq!(house.seal().len(), 0);
    let again = house.sealer().seal(&SessionId::new("s")).unwrap();
    assert_eq!(again, Done::Already);
    house.add("s", vec![house.start("s"), prompt("and now this"), end()]);
    let told = house.seal_one();
    assert_eq!(told.section(Tag::Spec), "and now this");
    assert_eq!(house.bundles(), 2);
    // Opened and closed again: nothing to seal.
    house.add("s", vec![house.start("s"), end()]);
    assert_eq!(house.seal().len(), 0);
    assert_eq!(house.bundles(), 2);
    assert!(matches!(
        house.lines("s").last().unwrap().record,
        Record::Sealed(_)
    ));
}

#[test]
fn a_seal_that_was_cut_off_is_finished_under_the_same_task_id() {
    let house = House::new();
    house.session("s", vec![end()]);
    // Before the bundle: only the mark is there.
    let task_id = base::fresh_task_id();
    house.add(
        "s",
        vec![
            Record::Sealing(Sealing {
                task_id: task_id.to_string(),
                from: 0,
            }),
            prompt("came while it was sealed"),
        ],
    );
    let told = house.seal_one();
    assert_eq!(told.header.task_id, task_id);
    assert_eq!(told.section(Tag::Spec), "make it better");
    // After the bundle: the mark that it is done was never written.
    let path = SessionId::new("s").path_in(&house.workspace.sessions_dir());
    let text = fs::read_to_string(&path).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    let shorter = text.get(..cut).unwrap();
    files::write(&path, shorter.as_bytes(), Privacy::Secret).unwrap();
    let told = house.seal_one();
    assert_eq!(told.header.task_id, task_id);
    assert_eq!(house.bundles(), 1);
    // Later lines are in the next bundle.
    house.add("s", vec![end()]);
    let told = house.seal_one();
    assert_eq!(told.section(Tag::Spec), "came while it was sealed");
    assert_eq!(house.bundles(), 2);
}

#[test]
fn two_sessions_at_once_do_not_mix() {
    let house = House::new();
    house.add("one", vec![house.start("one"), prompt("first")]);
    house.add("two", vec![house.start("two"), prompt("second")]);
    house.put("src.rs", "fn a() { b() }\n");
    house.add("one", Vec::from(tests("x", PASSES, 0)));
    house.add("two", Vec::from(tests("x", FAILS, 1)));
    house.add("two", vec![end()]);
    house.add("one", vec![end()]);
    let told = house.seal();
    let of = |name: &str| &told.iter().find(|(session, _)| session == name).unwrap().1;
    assert_eq!(of("one").outcome, Ended::Solved);
    assert_eq!(of("one").section(Tag::Spec), "first");
    assert_eq!(of("two").outcome, Ended::Failed);
    assert_eq!(of("two").header.tool_call_count, 1);
    assert_eq!(
        of("one").fact("beside"),
        "the diff may hold work of sessions two"
    );
}

#[test]
fn journals_are_kept_for_a_while_after_they_were_sealed() {
    let house = House::new();
    house.session("s", vec![end()]);
    house.seal();
    let session = SessionId::new("s");
    let snapshot = snapshot::Snapshot::take(house.directory.path(), &session).unwrap();
    let path = session.path_in(&house.workspace.sessions_dir());
    house.seal();
    assert!(path.exists());
    // A last line from long ago.
    let directory = house.workspace.sessions_dir();
    let mut journal = Journal::open(&directory, &session).unwrap();
    let mark = Record::Sealed(SealedLine {
        upto: journal.head().seq,
        ..SealedLine::default()
    });
    journal.push("claude", 1, mark);
    journal.commit(false).unwrap();
    drop(journal);
    house.seal();
    assert!(!path.exists());
    let left = snapshot::Snapshot::find(house.directory.path(), &session).unwrap();
    assert_eq!((left, snapshot.name.is_empty()), (None, false));
}

#[test]
fn a_changed_journal_is_sealed_with_a_warning() {
    let house = House::new();
    house.session("s", vec![end()]);
    let path = SessionId::new("s").path_in(&house.workspace.sessions_dir());
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("make it better", "make it faster");
    files::write(&path, text.as_bytes(), Privacy::Secret).unwrap();
    let told = house.seal_one();
    assert_eq!(
        told.fact("journal_problem"),
        "a line was changed, lost or cut off"
    );
}
