//! Validity of pins after changes: those of a person, uses, and those of other programs.

use std::fs;

use jiff::Timestamp;
use witness::key::SigningKey;

use super::*;
use crate::files::Privacy;
use crate::grants::{Counted, NewGrant};
use crate::receipts::Changing;
use crate::settings_edit::{self, Change};

struct Scene {
    _guard: tempfile::TempDir,
    workspace: Workspace,
    key: SigningKey,
}

fn scene() -> Scene {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    let key = approval_key::ensure(&workspace, None).unwrap();
    Scene {
        _guard: guard,
        workspace,
        key,
    }
}

impl Scene {
    fn pin(&self) -> Pin {
        let pin = pin(&self.workspace, &Environment::default());
        // The journal stores it as text.
        let text = serde_json::to_string(&pin).unwrap();
        assert_eq!(serde_json::from_str::<Pin>(&text).unwrap(), pin);
        pin
    }

    fn holds(&self, pin: &Pin) -> bool {
        check(pin, &self.workspace, &Environment::default()) == Held::Yes
    }

    fn grant(&self, action: &str, uses: Option<u64>) {
        let new = NewGrant {
            action: action.to_owned(),
            uses,
            ..NewGrant::default()
        };
        grants::grant(&self.workspace, &new, &self.key).unwrap();
    }

    fn use_up(&self, action: &str) -> Counted {
        grants::count_use(&self.workspace, &[action.to_owned()], Timestamp::UNIX_EPOCH).unwrap()
    }

    fn write(&self, path: &Path, text: &str) {
        files::make_directory(files::parent(path), Privacy::Shared).unwrap();
        files::write(path, text.as_bytes(), Privacy::Shared).unwrap();
    }

    fn grants_text(&self) -> String {
        String::from_utf8(fs::read(self.workspace.grants_path()).unwrap()).unwrap()
    }
}

#[test]
fn what_a_person_changed_through_us_holds() {
    let scene = scene();
    let pin = scene.pin();
    assert!(scene.holds(&pin));
    scene.grant("git:push", None);
    assert!(scene.holds(&pin));
    scene.grant("npm:publish", Some(2));
    grants::revoke(&scene.workspace, "git:push", &scene.key).unwrap();
    let environment = Environment::default();
    let change = [Change::set("oversight.mode", "approved")];
    settings_edit::apply(&scene.workspace, &environment, &change, &scene.key).unwrap();
    assert!(scene.holds(&pin));
    let sealed = approval_key::replace(&scene.workspace, Some(&scene.key), None).unwrap();
    assert!(scene.holds(&pin));
    grants::revoke(&scene.workspace, "npm:publish", &sealed).unwrap();
    assert!(scene.holds(&pin));
}

#[test]
fn the_first_key_may_come_after_the_session_began() {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    let environment = Environment::default();
    let pin = pin(&workspace, &environment);
    let key = approval_key::ensure(&workspace, None).unwrap();
    let new = NewGrant {
        action: "git:push".to_owned(),
        ..NewGrant::default()
    };
    grants::grant(&workspace, &new, &key).unwrap();
    assert_eq!(check(&pin, &workspace, &environment), Held::Yes);
}

#[test]
fn what_anybody_else_changed_voids_the_grants_and_says_so() {
    type Change = fn(&Scene);
    let cases: [(&str, Change); 6] = [
        ("`capabilities.json` were changed", |scene| {
            let text = scene.grants_text().replace("git:push", "npm:publish");
            scene.write(&scene.workspace.grants_path(), &text);
        }),
        ("`capabilities.json` were changed", |scene| {
            fs::remove_file(scene.workspace.grants_path()).unwrap();
        }),
        ("`capabilities.json` were changed", |scene| {
            let text = scene.grants_text().replace("\"uses\": 2", "\"uses\": 3");
            scene.write(&scene.workspace.grants_path(), &text);
        }),
        ("`capabilities.json` were changed", |scene| {
            let text = scene.grants_text().replace(",\n    \"uses\": 2", "");
            scene.write(&scene.workspace.grants_path(), &text);
        }),
        ("the settings file was changed", |scene| {
            scene.write(
                &scene.workspace.config_path(),
                "[oversight]\nopaque = \"allow\"\n",
            );
        }),
        ("the approval key is another one", |scene| {
            approval_key::Place::of(&scene.workspace)
                .create(None)
                .unwrap();
        }),
    ];
    for (expected, change) in cases {
        let scene = scene();
        scene.grant("git:push", Some(2));
        let pin = scene.pin();
        change(&scene);
        let Held::No(said) = check(&pin, &scene.workspace, &Environment::default()) else {
            panic!("{expected}: it still holds");
        };
        assert!(said.contains(expected) && said.contains("void"), "{said}");
        assert!(scene.holds(&scene.pin()), "the next session starts afresh");
    }
}

#[test]
fn another_spelling_of_the_same_grants_is_no_change() {
    let scene = scene();
    scene.grant("git:push", Some(2));
    scene.grant("gh:release", None);
    let pin = scene.pin();
    let value: Value = serde_json::from_str(&scene.grants_text()).unwrap();
    scene.write(&scene.workspace.grants_path(), &value.to_string());
    assert!(scene.holds(&pin));
}

#[test]
fn uses_become_fewer_and_never_more() {
    let scene = scene();
    scene.grant("git:push", Some(2));
    let pin = scene.pin();
    assert_eq!(
        scene.use_up("git:push"),
        Counted::Yes(vec![("git:push".to_owned(), 1)])
    );
    assert!(scene.holds(&pin));
    let one_left = scene.grants_text();
    assert_eq!(
        scene.use_up("git:push"),
        Counted::Yes(vec![("git:push".to_owned(), 0)])
    );
    assert!(scene.holds(&pin));
    assert!(matches!(scene.use_up("git:push"), Counted::No(..)));
    scene.write(&scene.workspace.grants_path(), &one_left);
    assert!(!scene.holds(&pin), "a use was given back");
    scene.grant("git:push", Some(5));
    assert!(
        !scene.holds(&pin),
        "a person's change does not heal what was before"
    );
}

#[test]
fn a_receipt_must_be_signed_with_the_key_that_was_known() {
    let scene = scene();
    scene.grant("git:push", None);
    let pin = scene.pin();
    let forger = SigningKey::new(&[3; 32]);
    let new = NewGrant {
        action: "npm:publish".to_owned(),
        ..NewGrant::default()
    };
    grants::grant(&scene.workspace, &new, &forger).unwrap();
    assert!(!scene.holds(&pin));
}

#[test]
fn a_receipt_of_an_earlier_state_cannot_be_played_again() {
    let scene = scene();
    let path = scene.workspace.receipts_path();
    for _ in 0..2 {
        scene.grant("git:push", None);
    }
    grants::revoke(&scene.workspace, "git:push", &scene.key).unwrap();
    scene.grant("git:push", None);
    let granted = scene.grants_text();
    let lines = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    let old = lines.lines().last().unwrap();
    grants::revoke(&scene.workspace, "git:push", &scene.key).unwrap();
    let pin = scene.pin();
    // An attacker restores the old file and appends its receipt, which begins at the present state.
    scene.write(&scene.workspace.grants_path(), &granted);
    files::append(&path, format!("{old}\n").as_bytes()).unwrap();
    assert!(!scene.holds(&pin));
}

#[test]
fn a_cut_list_of_receipts_is_noticed() {
    let scene = scene();
    scene.grant("git:push", None);
    let pin = scene.pin();
    scene.write(&scene.workspace.receipts_path(), "");
    let Held::No(said) = check(&pin, &scene.workspace, &Environment::default()) else {
        panic!("it still holds");
    };
    assert!(said.contains("was cut"), "{said}");
}

#[test]
fn a_torn_line_swallows_nothing() {
    let scene = scene();
    let pin = scene.pin();
    files::append(&scene.workspace.receipts_path(), b"{\"receipt\":{\"at").unwrap();
    scene.grant("git:push", None);
    assert!(scene.holds(&pin));
    let changing = Changing::begin(&scene.workspace).unwrap();
    changing
        .decided("0123456789ab", crate::receipts::Decided::Approved)
        .unwrap();
    drop(changing);
    assert!(scene.holds(&pin));
}

#[test]
fn of_many_that_decide_at_once_only_as_many_as_there_are_uses_are_told_yes() {
    let scene = scene();
    scene.grant("git:push", Some(3));
    let yes = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                if matches!(scene.use_up("git:push"), Counted::Yes(_)) {
                    yes.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(yes.into_inner(), 3);
}
