//! Routing decisions: nothing registered, a role's own file, refused entries.

use super::*;

#[test]
fn nothing_is_there_in_the_beginning() {
    let place = Place::new(1.0);
    fs::remove_file(&place.paths.registry).unwrap();
    let specialists = place.open();
    let registry = specialists.registry().unwrap();
    assert!(registry.is_valid() && registry.entries().is_empty());
    assert_eq!(specialists.state().unwrap(), State::default());
    assert!(specialists.events().unwrap().events.is_empty());
    let [probes, _] = specialists.probes().unwrap();
    assert!(probes.events.is_empty() && probes.damaged.is_empty());
    assert!(specialists.field_log().unwrap().is_empty());
    assert_eq!(reason(&serve(&specialists)), "no_registry_entry");
}

#[test]
fn a_roles_own_file_switches_off_or_disagrees() {
    let place = Place::new(1.0);
    let specialists = place.open();
    let role = |extra: &str| {
        let text = format!(
            "source:\n  slug: {ROLE}\n  language: en\n  version: 1\nname: x\ninstructions: y\n{extra}"
        );
        place.write(&place.paths.roles.join("checker.en.yaml"), &text);
        reason(&serve(&specialists))
    };
    assert_eq!(role(""), "role_block_off", "a file without a block");
    assert_eq!(role("specialist: ~\nspecialist: {}\n"), "role_block_off");
    assert_eq!(role("specialist: null\n"), "role_block_off");
    assert_eq!(
        role("specialist:\n  adapter_id: v1-a\n  certified_level: L2\n"),
        "ok"
    );
    assert_eq!(
        role("specialist:\n  adapter_id: v9-a\n"),
        "role_block_mismatch"
    );
    let named = "name: Checker\ninstructions: y\nspecialist: null\n";
    fs::remove_file(place.paths.roles.join("checker.en.yaml")).unwrap();
    place.write(&place.paths.roles.join("mine.yaml"), named);
    assert_eq!(reason(&serve(&specialists)), "role_block_off");
}

#[test]
fn a_refused_entry_is_named_and_the_breaker_has_its_own_reason() {
    let place = Place::new(1.0);
    let input = input();
    let open = place
        .open()
        .begin(asked(&input), &Embedding, &|_| Err("resting".to_owned()));
    assert_eq!(
        (reason(&open), open.decision.detail.as_str()),
        ("circuit_open", "resting")
    );
    let text = fs::read_to_string(&place.paths.registry)
        .unwrap()
        .replace("Qwen/Qwen3-8B", "claude-3");
    place.write(&place.paths.registry, &text);
    let begun = serve(&place.open());
    assert_eq!(reason(&begun), "no_registry_entry");
    assert!(
        begun.decision.detail.contains("R1"),
        "{}",
        begun.decision.detail
    );
    let peeked = place.open().route(asked(&input), None, &Embedding).decision;
    assert_eq!(peeked.reason.name(), "no_registry_entry");
}
