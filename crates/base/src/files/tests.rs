//! Tests of reading the end of a log.

use super::*;

#[test]
fn a_tail_has_every_line_that_begins_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let long = "x".repeat(5000);
    let check = |text: &str, length: u64, expected: &str| {
        write(&path, text.as_bytes(), Privacy::Shared).unwrap();
        let tail = String::from_utf8(read_tail(&path, length).unwrap()).unwrap();
        assert_eq!(tail, expected, "the last {length} bytes of {text:?}");
    };
    let lines = "a\nbb\nc\n";
    for (length, expected) in [
        (0, ""),
        // The end of a line is not a line.
        (1, ""),
        // Exactly the last line, and a byte of the one before.
        (2, "c\n"),
        (3, "c\n"),
        (4, "c\n"),
        (5, "bb\nc\n"),
        (6, "bb\nc\n"),
        (7, lines),
        (8, lines),
        (u64::MAX, lines),
    ] {
        check(lines, length, expected);
    }
    // A torn last line stays torn.
    check("a\nbc", 1, "");
    check("a\nbc", 2, "bc");
    check("a\nbc", 3, "bc");
    check("a\nbc", 4, "a\nbc");
    // A line that is longer than the tail has no beginning in it.
    check(&long, 100, "");
    check(&format!("{long}\n"), 100, "");
    check(&format!("{long}\nb\n"), 100, "b\n");
    check(&format!("b\n{long}\n"), 5001, &format!("{long}\n"));
    check("", 100, "");
    check("\n\n\n", 2, "\n\n");
}

#[test]
fn a_log_that_shrinks_or_goes_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    write(&path, b"a\nb\nc\n", Privacy::Shared).unwrap();
    assert_eq!(read_tail(&path, 4).unwrap(), b"b\nc\n");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(3).unwrap();
    assert_eq!(read_tail(&path, 2).unwrap(), b"b");
    assert_eq!(read_tail(&path, 4).unwrap(), b"a\nb");
    fs::remove_file(&path).unwrap();
    let error = read_tail(&path, 4).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("log"), "{error}");
}

#[test]
fn no_component_below_the_guarded_folders_is_followed() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let real = folder.path().join("real");
    for made in ["root/.role-os/a/b", "root/.claude", "real/role-os"] {
        fs::create_dir_all(folder.path().join(made)).unwrap();
    }
    symlink(&real, root.join(".role-os/link")).unwrap();
    symlink(real.join("file"), root.join(".role-os/a/b/file")).unwrap();
    symlink(&real, root.join(".claude/role-os")).unwrap();
    symlink(&root, folder.path().join("other-root")).unwrap();
    let mine = folder.path().join("other-root/.role-os/a/b/mine");
    write(&mine, b"x", Privacy::Secret).unwrap();
    assert_eq!(read(&mine, 10).unwrap(), b"x");
    let plain = folder.path().join("root/.role-os/a/../a/b/mine");
    assert_eq!(read(&plain, 10).unwrap(), b"x");
    for path in [
        ".role-os/link/file",
        ".role-os/link",
        ".role-os/a/b/file",
        ".claude/role-os/capabilities.json",
        ".role-os/a/../link/file",
    ] {
        let path = root.join(path);
        let told = |error: FileError| assert!(error.is_link(), "{path:?} {error:?}");
        told(read(&path, 10).unwrap_err());
        told(read_tail(&path, 10).unwrap_err());
        told(write(&path, b"x", Privacy::Shared).unwrap_err());
        told(rewrite(&path, b"x", 0o644).unwrap_err());
        told(append(&path, b"x").unwrap_err());
        told(append_line(&path, "x\n", true).unwrap_err());
        told(write_quickly(&path, b"x").unwrap_err());
        told(Lock::take(&path).unwrap_err());
        told(make_directory(&path, Privacy::Secret).unwrap_err());
        told(make_directory(&path.join("deep"), Privacy::Secret).unwrap_err());
        assert!(is_link(&metadata(&path).unwrap_err()), "{path:?}");
        assert!(is_link(&open_log(&path).unwrap_err()), "{path:?}");
        assert!(is_link(&read_dir(&path).unwrap_err()), "{path:?}");
    }
    let made: Vec<_> = fs::read_dir(&real).unwrap().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(fs::read_dir(real.join("role-os")).unwrap().count(), 0);
}

#[test]
fn a_prepared_file_that_is_dropped_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    drop(prepare(&path, b"x", Privacy::Secret).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    prepare(&path, b"x", Privacy::Secret)
        .unwrap()
        .commit()
        .unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn new_content_trades_places_with_a_file_and_with_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for content in ["one", "two", "three"] {
        write(&path, content.as_bytes(), Privacy::Secret).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        // The old one does not stay under the name under which the new one waited.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let below = folder.path().join("folder");
    fs::create_dir_all(below.join("kept")).unwrap();
    assert!(write(&below, b"x", Privacy::Secret).is_err());
    assert!(below.join("kept").is_dir());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_lock_that_is_held_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let held = Lock::take(&path).unwrap();
    wait_at_most(std::time::Duration::from_millis(50));
    let error = Lock::take(&path).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::TimedOut);
    let by = format!("held by process {} (", std::process::id());
    assert!(error.source.to_string().contains(&by), "{error:?}");
    assert!(Lock::share(&path).is_err());
    drop(held);
    // The waiter that gave up releases its lock.
    wait_at_most(std::time::Duration::from_secs(10));
    drop(Lock::take(&path).unwrap());
    Lock::share(&path).unwrap();
}
