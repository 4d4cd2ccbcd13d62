//! What is read of the end of a log.

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
    // A torn last line stays what it is.
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
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(3).unwrap();
    assert_eq!(read_tail(&path, 2).unwrap(), b"b");
    assert_eq!(read_tail(&path, 4).unwrap(), b"a\nb");
    fs::remove_file(&path).unwrap();
    let error = read_tail(&path, 4).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("log"), "{error}");
}
