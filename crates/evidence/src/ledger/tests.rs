//! Places of leaves, read from the file.

use super::*;
use base::files::Privacy;

const FILE: &str = "2026/01/x.rvww";

fn leaf(number: u8) -> Leaf {
    Leaf {
        task_id: TaskId([number; 16]),
        created_ns: u64::from(number),
        bundle_sha256: [number; 32],
    }
}

fn line(index: u64, leaf: &Leaf, file: &str) -> String {
    let line = Line {
        index,
        task_id: leaf.task_id.to_string(),
        created_ns: leaf.created_ns,
        sha256: hex::encode(leaf.bundle_sha256),
        file: file.to_owned(),
        imported: false,
    };
    serde_json::to_string(&line).unwrap() + "\n"
}

/// Returns the place of a leaf in a file of these lines.
fn place(lines: &[String], leaf: &Leaf) -> Result<Option<(u64, u64)>, LedgerError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(LEAVES);
    files::write(&path, lines.concat().as_bytes(), Privacy::Shared).unwrap();
    place_of(folder.path(), leaf)
}

#[test]
fn a_leaf_has_its_place_among_the_whole_lines() {
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(place_of(nowhere.path(), &leaf(1)).unwrap(), None);
    assert_eq!(place(&[], &leaf(1)).unwrap(), None);
    let mut lines: Vec<String> = (0..3)
        .map(|number| line(u64::from(number), &leaf(number), FILE))
        .collect();
    for number in 0..3 {
        let found = place(&lines, &leaf(number)).unwrap();
        assert_eq!(found, Some((u64::from(number), 3)));
    }
    assert_eq!(place(&lines, &leaf(9)).unwrap(), None);
    // The same task in another bundle is another leaf.
    let other = Leaf {
        bundle_sha256: [7; 32],
        ..leaf(1)
    };
    assert_eq!(place(&lines, &other).unwrap(), None);
    // A line that was cut off does not count: its leaf is not logged yet.
    let torn = line(3, &leaf(3), FILE);
    lines.push(torn.trim_end().to_owned());
    assert_eq!(place(&lines, &leaf(3)).unwrap(), None);
    assert_eq!(place(&lines, &leaf(2)).unwrap(), Some((2, 3)));
}

#[test]
fn a_task_that_another_line_names_is_looked_for_further_on() {
    let named = format!("2026/01/{}.rvww", leaf(5).task_id);
    let again = Leaf {
        bundle_sha256: [8; 32],
        ..leaf(5)
    };
    let lines = [
        line(0, &leaf(1), &named),
        line(1, &again, &named),
        line(2, &leaf(5), &named),
    ];
    assert_eq!(place(&lines, &leaf(5)).unwrap(), Some((2, 3)));
    assert_eq!(place(&lines, &again).unwrap(), Some((1, 3)));
}

#[test]
fn damage_is_told_where_it_names_the_task_and_only_there() {
    let whole = [line(0, &leaf(1), FILE), line(1, &leaf(2), FILE)];
    let said = |lines: &[String]| place(lines, &leaf(2)).map_err(|error| error.to_string());
    let unreadable = [whole[0].clone(), whole[1].replacen('{', "", 1)];
    let error = said(&unreadable).unwrap_err();
    assert!(error.contains("line 2"), "{error}");
    let moved = [whole[1].clone(), whole[0].clone()];
    let error = said(&moved).unwrap_err();
    assert!(error.contains("index 1, 0 was due"), "{error}");
    let outside = [whole[0].clone(), line(1, &leaf(2), "../x")];
    assert!(said(&outside).unwrap_err().contains("outside"));
    let elsewhere = ["no line\n".to_owned(), whole[1].clone()];
    assert_eq!(said(&elsewhere), Ok(Some((1, 2))));
}
