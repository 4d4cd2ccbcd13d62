//! The three levels: the users that can sign, and the trusted key.

use super::*;

fn workspace() -> (tempfile::TempDir, Workspace) {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    (guard, workspace)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn the_first_yes_makes_a_key_that_only_the_owner_can_read() {
    let (_guard, workspace) = workspace();
    assert_eq!(verifying_key(&workspace).unwrap(), None);
    let key = ensure(&workspace, None).unwrap();
    assert_eq!(verifying_key(&workspace).unwrap(), Some(key.public()));
    assert_eq!(ensure(&workspace, None).unwrap().public(), key.public());
    let place = Place::of(&workspace);
    assert_eq!(place.level().unwrap(), Level::SameUser);
    assert_eq!(mode(&place.secret_path()), 0o600);
    assert_eq!(mode(&place.directory), 0o700);
}

#[test]
fn it_signs_no_bundles() {
    let (_guard, workspace) = workspace();
    ensure(&workspace, None).unwrap();
    let keys = keys::KeyStore::open(&workspace).unwrap();
    assert!(keys.signing().is_none() && keys.public_keys().is_empty());
}

#[test]
fn a_passphrase_opens_the_key_and_nothing_else_does() {
    let (_guard, workspace) = workspace();
    let old = ensure(&workspace, None).unwrap();
    let key = replace(&workspace, Some(&old), Some("correct horse")).unwrap();
    let place = Place::of(&workspace);
    assert_eq!(place.level().unwrap(), Level::Passphrase);
    assert!(place.is_sealed().unwrap());
    assert_ne!(key.public(), old.public());
    assert_eq!(
        ensure(&workspace, Some("correct horse")).unwrap().public(),
        key.public()
    );
    for wrong in [None, Some(""), Some("correct hors"), Some("Correct horse")] {
        let error = ensure(&workspace, wrong).unwrap_err();
        assert!(matches!(error, KeyError::WrongPassphrase { .. }), "{error}");
    }
    let text = String::from_utf8(fs::read(place.secret_path()).unwrap()).unwrap();
    assert!(!text.contains("correct"), "{text}");
}

#[test]
fn a_damaged_key_file_is_named_and_asks_for_no_memory() {
    let (_guard, workspace) = workspace();
    replace(&workspace, None, Some("correct horse")).unwrap();
    let place = Place::of(&workspace);
    let text = String::from_utf8(fs::read(place.secret_path()).unwrap()).unwrap();
    let changes = [
        ("roleos-approval-key/v1", "roleos-approval-key/v9"),
        ("\"memory_kib\": 65536", "\"memory_kib\": 4294967295"),
        ("\"memory_kib\": 65536", "\"memory_kib\": 1"),
        ("\"passes\": 3", "\"passes\": 4000000000"),
        ("\"salt\": \"", "\"salt\": \"zz"),
        ("\"nonce\": \"", "\"nonce\": \"00"),
        ("argon2id+", "scrypt+"),
        ("\"secret\": \"", "\"secret\": \"00"),
        ("\"id\": \"", "\"id\": \"0"),
        ("{", "["),
    ];
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        files::write(
            &place.secret_path(),
            text.replacen(from, to, 1).as_bytes(),
            Privacy::Secret,
        )
        .unwrap();
        let error = place.signing_key(Some("correct horse")).unwrap_err();
        let named = matches!(
            error,
            KeyError::NotAKey { .. } | KeyError::WrongPassphrase { .. }
        );
        assert!(named, "{from}: {error}");
    }
}

#[test]
fn halves_that_do_not_belong_together_are_refused() {
    let (_guard, workspace) = workspace();
    ensure(&workspace, None).unwrap();
    let other = SigningKey::new(&[9; 32]).public();
    let path = Place::of(&workspace).public_path();
    files::write(&path, keys::public_line(&other).as_bytes(), Privacy::Shared).unwrap();
    let error = ensure(&workspace, None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not belong to `approval.pub`"),
        "{error}"
    );
}

/// Checks a key that must belong to `owner`, in a directory and a file with these modes.
fn owned(owner: u32, directory_mode: u32, file_mode: u32) -> Result<Option<PublicKey>, KeyError> {
    use std::os::unix::fs::PermissionsExt as _;
    let guard = tempfile::tempdir().unwrap();
    let directory = guard.path().join("roleos");
    fs::create_dir(&directory).unwrap();
    let place = Place::owned(&directory, owner);
    let line = keys::public_line(&SigningKey::new(&[9; 32]).public());
    files::write(&place.public_path(), line.as_bytes(), Privacy::Shared).unwrap();
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&place.public_path(), file_mode);
    set(&directory, directory_mode);
    assert_eq!(place.level().unwrap(), Level::System);
    place.verifying_key()
}

#[test]
fn the_machines_key_is_believed_only_where_nobody_else_can_write() {
    let me = rustix::process::geteuid().as_raw();
    assert!(owned(me, 0o755, 0o644).unwrap().is_some());
    for (directory, file) in [
        (0o777, 0o644),
        (0o775, 0o644),
        (0o755, 0o666),
        (0o755, 0o664),
    ] {
        let error = owned(me, directory, file).unwrap_err();
        assert!(
            error.to_string().contains("others may write to it"),
            "{error}"
        );
    }
    if me != 0 {
        let error = owned(0, 0o755, 0o644).unwrap_err();
        assert!(error.to_string().contains("it belongs to user"), "{error}");
    }
}

#[test]
fn a_file_of_somebody_else_is_not_the_machines_key() {
    use std::os::unix::fs::chown;
    let guard = tempfile::tempdir().unwrap();
    let place = Place::owned(guard.path(), 0);
    let line = keys::public_line(&SigningKey::new(&[9; 32]).public());
    files::write(&place.public_path(), line.as_bytes(), Privacy::Shared).unwrap();
    // Only root can change the owner; other users own the file already.
    chown(place.public_path(), Some(65_534), None).ok();
    let error = place.verifying_key().unwrap_err();
    assert!(matches!(error, KeyError::NotOwned { .. }), "{error}");
}
