//! A place in the quota lives as long as its dispatch.

use super::*;

/// Returns the used places of the quota.
fn used(specialists: &Specialists) -> u64 {
    specialists
        .state()
        .unwrap()
        .quota(ROLE, Scope::Role, 200)
        .used
}

fn begin(specialists: &Specialists) -> Begun {
    let input = input();
    specialists.begin(asked(&input), &Embedding, &|_| Ok(()))
}

/// Returns the lock files of dispatching processes.
fn leases(place: &Place) -> usize {
    let folder = place.paths.state.with_added_extension("leases");
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_dispatch_holds_its_place_until_it_ends_however_it_ends() {
    let place = Place::new(1.0);
    let (one, other) = (place.open(), place.open());
    let begun = begin(&one);
    assert_eq!((used(&one), used(&other)), (1, 1), "it is under way");
    let input = input();
    one.settle(asked(&input), &begun, Source::Specialist, Ok(()));
    drop(begun);
    assert_eq!((used(&one), used(&other)), (1, 1), "an answer counts");
    // A caller that goes away cancels its dispatch, and the process lives on.
    drop(begin(&one));
    assert_eq!(used(&one), 1);
    begin(&other);
    assert_eq!(
        one.state().unwrap().slot(ROLE).unwrap().window.dispatched(),
        3
    );
    let begun = begin(&one);
    assert_eq!(used(&other), 2);
    drop(one);
    assert_eq!(used(&other), 1, "whoever held it has gone");
    drop(begun);
}

#[test]
fn an_answer_that_could_not_be_noted_still_counts() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let begun = begin(&specialists);
    let good = fs::read_to_string(&place.paths.state).unwrap();
    place.write(&place.paths.state, "junk");
    let input = input();
    let settled = specialists.settle(asked(&input), &begun, Source::Specialist, Ok(()));
    assert!(settled.persist_error.is_some());
    drop(begun);
    place.write(&place.paths.state, &good);
    assert_eq!(used(&specialists), 1);
}

#[test]
fn files_that_dead_processes_left_are_removed_and_those_of_living_ones_stay() {
    let place = Place::new(1.0);
    let living = place.open();
    serve(&living);
    let folder = place.paths.state.with_added_extension("leases");
    for number in 0..5 {
        place.write(&folder.join(format!("dead{number}.lock")), "");
    }
    let next = place.open();
    serve(&next);
    assert_eq!(leases(&place), 2);
    drop((living, next));
    assert_eq!(leases(&place), 0);
}

#[test]
fn a_holder_that_is_no_token_names_no_file() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let begun = begin(&specialists);
    let text = fs::read_to_string(&place.paths.state).unwrap();
    let mut state: Value = serde_json::from_str(&text).unwrap();
    for holder in ["../../../etc/passwd", "", "a/b", "."] {
        state["reservations"][0]["holder"] = json!(holder);
        place.write(&place.paths.state, &state.to_string());
        assert_eq!(used(&place.open()), 1, "{holder}: doubt keeps the place");
    }
    drop(begun);
}
