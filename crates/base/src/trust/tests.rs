//! Files that count in different workspaces.

use std::fs;
use std::process::Command;

use witness::key::SigningKey;

use super::*;
use crate::config::Config;
use crate::environment::Environment;
use crate::grants::{self, NewGrant};
use jiff::Timestamp;
use oversight::grants::Standing;

/// A workspace and a trust store, both empty.
struct Scene {
    folder: tempfile::TempDir,
    environment: Environment,
    workspace: Workspace,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        fs::create_dir(&root).unwrap();
        let environment = Environment {
            state: Some(folder.path().join("state")),
            ..Environment::default()
        };
        let workspace = Workspace::find(Some(&root), &environment).unwrap();
        Self {
            folder,
            environment,
            workspace,
        }
    }

    fn initialised() -> Self {
        let scene = Self::new();
        approval_key::ensure(&scene.workspace, None).unwrap();
        initialise(&scene.workspace).unwrap();
        scene
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.workspace.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        files::write(&path, text.as_bytes(), files::Privacy::Shared).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let done = Command::new("git")
            .arg("-C")
            .arg(self.workspace.root())
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn config(&self) -> Config {
        Config::load(&self.workspace, &self.environment).unwrap()
    }

    fn standing(&self) -> Standing {
        grants::load(&self.workspace).standing("git:push", Timestamp::UNIX_EPOCH)
    }

    fn grant(&self, uses: Option<u64>) {
        let key = approval_key::ensure(&self.workspace, None).unwrap();
        let new = NewGrant {
            action: "git:push".to_owned(),
            uses,
            ..NewGrant::default()
        };
        grants::grant(&self.workspace, &new, &key).unwrap();
    }
}

const PLANTED: &str = "{\"git:push\":{\"granted\":true}}";
const GRANTS: &str = ".claude/role-os/capabilities.json";
const CONFIG: &str = ".role-os/config.toml";

#[test]
fn a_planted_grant_is_unconfirmed_in_an_initialised_workspace() {
    let scene = Scene::initialised();
    scene.write(GRANTS, PLANTED);
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn a_grant_through_us_counts_and_an_edit_of_it_does_not() {
    let scene = Scene::initialised();
    scene.grant(None);
    assert_eq!(scene.standing(), Standing::Granted);
    let text = fs::read_to_string(scene.workspace.grants_path()).unwrap();
    scene.write(GRANTS, &text.replace("true", "true , \"scope\": \"x\""));
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
    scene.write(GRANTS, &text);
    assert_eq!(scene.standing(), Standing::Granted);
}

#[test]
fn a_revoked_grant_does_not_come_back_with_its_old_file() {
    let scene = Scene::initialised();
    scene.grant(None);
    let text = fs::read_to_string(scene.workspace.grants_path()).unwrap();
    let key = approval_key::ensure(&scene.workspace, None).unwrap();
    grants::revoke(&scene.workspace, "git:push", &key).unwrap();
    scene.write(GRANTS, &text);
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn uses_that_were_spent_do_not_come_back_with_the_old_file() {
    let scene = Scene::initialised();
    scene.grant(Some(2));
    let text = fs::read_to_string(scene.workspace.grants_path()).unwrap();
    let actions = ["git:push".to_owned()];
    let counted = grants::count_use(&scene.workspace, &actions, Timestamp::UNIX_EPOCH).unwrap();
    assert!(matches!(counted, grants::Counted::Yes(_)));
    assert_eq!(scene.standing(), Standing::Granted);
    scene.write(GRANTS, &text);
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn a_grant_whose_entry_is_gone_at_the_moment_of_use_is_not_a_yes() {
    let scene = Scene::initialised();
    scene.grant(Some(1));
    fs::remove_file(scene.workspace.grants_path()).unwrap();
    let actions = ["git:push".to_owned()];
    let counted = grants::count_use(&scene.workspace, &actions, Timestamp::UNIX_EPOCH).unwrap();
    assert!(matches!(counted, grants::Counted::No(..)));
}

#[test]
fn a_new_grant_does_not_confirm_a_planted_one() {
    let scene = Scene::initialised();
    scene.write(GRANTS, &PLANTED.replace("git:push", "npm:publish"));
    let key = approval_key::ensure(&scene.workspace, None).unwrap();
    let new = NewGrant {
        action: "git:push".to_owned(),
        ..NewGrant::default()
    };
    let error = grants::grant(&scene.workspace, &new, &key).unwrap_err();
    assert!(matches!(error, grants::GrantError::Unconfirmed { .. }));
    grants::revoke(&scene.workspace, "npm:publish", &key).unwrap();
    grants::grant(&scene.workspace, &new, &key).unwrap();
    assert_eq!(scene.standing(), Standing::Granted);
}

#[test]
fn the_store_alone_does_not_confirm_without_a_signature() {
    let scene = Scene::initialised();
    scene.write(GRANTS, PLANTED);
    let by = Confirming {
        what: "forged",
        key: None,
    };
    let path = scene.workspace.grants_path();
    confirm(
        &scene.workspace,
        &path,
        PLANTED.as_bytes(),
        Kind::Grants,
        &by,
    )
    .unwrap();
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
    let stranger = SigningKey::new(&[7; 32]);
    let by = Confirming {
        key: Some(&stranger),
        ..by
    };
    confirm(
        &scene.workspace,
        &path,
        PLANTED.as_bytes(),
        Kind::Grants,
        &by,
    )
    .unwrap();
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn a_new_approval_key_keeps_what_the_old_one_signed_only_with_the_old_one_in_hand() {
    let scene = Scene::initialised();
    scene.grant(None);
    let old = approval_key::ensure(&scene.workspace, None).unwrap();
    approval_key::replace(&scene.workspace, Some(&old), None).unwrap();
    assert_eq!(scene.standing(), Standing::Granted);
    approval_key::replace(&scene.workspace, None, None).unwrap();
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn a_key_that_was_put_in_place_of_ours_is_refused() {
    let scene = Scene::initialised();
    let stranger = Scene::initialised();
    let own = scene.workspace.keys_dir().join("approval");
    for name in [approval_key::PUBLIC_FILE, approval_key::SECRET_FILE] {
        let theirs = stranger.workspace.keys_dir().join("approval").join(name);
        fs::copy(theirs, own.join(name)).unwrap();
    }
    assert!(approval_key::verifying_key(&scene.workspace).is_err());
    assert!(approval_key::ensure(&scene.workspace, None).is_err());
}

#[test]
fn in_a_workspace_that_was_never_initialised_an_untracked_file_counts_and_a_tracked_one_does_not() {
    let scene = Scene::new();
    scene.git(&["init", "--quiet"]);
    scene.write(GRANTS, PLANTED);
    scene.write(CONFIG, "[privacy]\nkeep_inputs = true\n");
    assert_eq!(scene.standing(), Standing::Granted);
    assert!(scene.config().privacy.keep_inputs);
    scene.git(&["add", "--force", "."]);
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
    assert!(!scene.config().privacy.keep_inputs);
}

#[test]
fn emptying_the_index_makes_no_file_the_users_own() {
    let scene = Scene::initialised();
    scene.git(&["init", "--quiet"]);
    scene.write(GRANTS, PLANTED);
    scene.write(CONFIG, "[privacy]\nkeep_inputs = true\n");
    for index in [&["add", "--force", "."][..], &["read-tree", "--empty"]] {
        scene.git(index);
        assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
        assert!(!scene.config().privacy.keep_inputs);
    }
    fs::remove_file(scene.workspace.root().join(".git/index")).unwrap();
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
    assert!(!scene.config().privacy.keep_inputs);
}

#[test]
fn a_folder_that_took_the_place_of_an_initialised_one_confirms_nothing() {
    let scene = Scene::initialised();
    scene.grant(None);
    let root = scene.workspace.root().to_owned();
    let text = fs::read_to_string(scene.workspace.grants_path()).unwrap();
    fs::rename(&root, scene.folder.path().join("moved")).unwrap();
    fs::create_dir(&root).unwrap();
    scene.write(GRANTS, &text);
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
    // A new record does not lift that.
    record_keys(&scene.workspace, &["k".to_owned()]).unwrap();
    assert!(matches!(scene.standing(), Standing::Unconfirmed(_)));
}

#[test]
fn a_damaged_store_confirms_nothing() {
    let scene = Scene::initialised();
    scene.grant(None);
    let record = scene
        .environment
        .state
        .as_ref()
        .unwrap()
        .join(record_name(&scene.workspace));
    for damage in ["{", "[]", "{\"root\":3}"] {
        files::write(&record, damage.as_bytes(), files::Privacy::Secret).unwrap();
        assert!(
            matches!(scene.standing(), Standing::Unconfirmed(_)),
            "{damage}"
        );
    }
}

#[test]
fn the_store_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::initialised();
    let state = scene.environment.state.as_ref().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(state), 0o700);
    assert_eq!(mode(&state.join("workspaces")), 0o700);
    assert_eq!(mode(&state.join(record_name(&scene.workspace))), 0o600);
}

#[test]
fn settings_are_measured_by_the_confirmed_ones() {
    let scene = Scene::initialised();
    let key = approval_key::ensure(&scene.workspace, None).unwrap();
    let by = Confirming {
        what: "test",
        key: Some(&key),
    };
    let text = "[oversight]\ncapability_gate = true\nmode = \"autonomous\"\nmax_tool_calls = 5\n";
    scene.write(CONFIG, text);
    let path = scene.workspace.config_path();
    confirm(
        &scene.workspace,
        &path,
        text.as_bytes(),
        Kind::Settings,
        &by,
    )
    .unwrap();
    let mode = |scene: &Scene| scene.config().oversight.governance();
    assert_eq!(mode(&scene).mode.as_str(), "autonomous");
    for (edited, expected, calls) in [
        (text.replace("autonomous", "off"), "approved", 5),
        (text.replace("= 5", "= 3"), "autonomous", 3),
        (text.replace("= 5", "= 6"), "autonomous", 5),
        (String::new(), "approved", 5),
        (text.replace("autonomous", "restricted"), "restricted", 5),
    ] {
        scene.write(CONFIG, &edited);
        assert_eq!(mode(&scene).mode.as_str(), expected, "{edited}");
        assert_eq!(mode(&scene).max_tool_calls, calls, "{edited}");
        assert!(scene.config().oversight.capability_gate);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(mode(&scene).mode.as_str(), "approved");
    assert!(scene.config().oversight.capability_gate);
}
