//! Copies on disk: valid and invalid ones, and their number.

use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use super::*;
use crate::catalog_remote::source::{Segment, Source, Wanted};

const LIMIT: usize = 100;
const NOW: u64 = 1_000;

fn address(base: &str) -> Address {
    Source::parse(base).unwrap().address(Wanted::Index)
}

fn entry(text: &str) -> Entry {
    Entry {
        bytes: text.into(),
        validators: Validators {
            etag: Some("W/\"1\"".into()),
            last_modified: None,
        },
        cached_at_ns: NOW,
    }
}

/// Returns a cache with one copy in it.
fn filled() -> (tempfile::TempDir, Cache, Address) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().join("copies"), 1_000_000);
    let address = address("http://me:secret@host");
    cache.keep(&address, &entry("text")).unwrap();
    (folder, cache, address)
}

#[test]
fn a_copy_comes_back_as_it_was_kept() {
    let (_folder, cache, address) = filled();
    assert_eq!(cache.find(&address, LIMIT, NOW), Some(entry("text")));
    cache.keep(&address, &entry("")).unwrap();
    assert_eq!(cache.find(&address, LIMIT, NOW), Some(entry("")));
    cache.forget(&address);
    assert_eq!(cache.find(&address, LIMIT, NOW), None);
}

#[test]
fn a_copy_belongs_to_one_address_and_one_user() {
    let (_folder, cache, _) = filled();
    for other in [
        "http://host",
        "http://you:secret@host",
        "http://me:other@host",
        "https://me:secret@host",
        "http://me:secret@host:81",
        "http://me:secret@host/a",
    ] {
        assert_eq!(cache.find(&address(other), LIMIT, NOW), None, "{other}");
    }
}

#[test]
fn a_copy_under_a_wrong_name_is_not_believed() {
    let (_folder, cache, from) = filled();
    let to = address("http://other");
    fs::rename(cache.label_path(&from), cache.label_path(&to)).unwrap();
    fs::rename(cache.body_path(&from), cache.body_path(&to)).unwrap();
    assert_eq!(cache.find(&to, LIMIT, NOW), None);
}

#[test]
fn a_copy_from_the_future_or_over_the_limit_is_not_believed() {
    let (_folder, cache, address) = filled();
    assert_eq!(cache.find(&address, LIMIT, NOW - 1), None);
    assert_eq!(cache.find(&address, 3, NOW), None);
    assert!(cache.find(&address, 4, NOW).is_some());
}

/// Damages the pair and asserts that it counts as absent, and is replaced by the next copy.
fn check_damage(damage: impl Fn(&Path, &Path)) {
    let (_folder, cache, address) = filled();
    damage(&cache.label_path(&address), &cache.body_path(&address));
    assert_eq!(cache.find(&address, LIMIT, NOW), None);
    cache.keep(&address, &entry("new")).unwrap();
    assert_eq!(cache.find(&address, LIMIT, NOW), Some(entry("new")));
}

fn overwrite(path: &Path, bytes: &[u8]) {
    files::write(path, bytes, Privacy::Shared).unwrap();
}

#[test]
fn a_damaged_pair_counts_as_absent_and_is_replaced() {
    check_damage(|label, _| overwrite(label, b""));
    check_damage(|label, _| overwrite(label, b"{\"url\":"));
    check_damage(|label, _| overwrite(label, b"[]"));
    check_damage(|label, _| overwrite(label, &[b' '; 20_000]));
    check_damage(|label, _| fs::remove_file(label).unwrap());
    check_damage(|_, body| overwrite(body, b"texT"));
    check_damage(|_, body| overwrite(body, b"tex"));
    check_damage(|_, body| fs::remove_file(body).unwrap());
}

#[test]
fn passwords_are_not_written_and_copies_are_the_owners_alone() {
    let (_folder, cache, address) = filled();
    let label = fs::read_to_string(cache.label_path(&address)).unwrap();
    assert!(label.contains("http://***@host/index.yaml"), "{label}");
    assert!(!label.contains("secret"), "{label}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cache.directory), 0o700);
    assert_eq!(mode(&cache.label_path(&address)), 0o600);
    assert_eq!(mode(&cache.body_path(&address)), 0o600);
}

#[test]
fn the_oldest_copies_go_first_and_foreign_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned(), 3_000);
    overwrite(&folder.path().join("notes.json"), &[0; 9_000]);
    let source = Source::parse("http://host").unwrap();
    let language = Segment::parse("en").unwrap();
    let addresses: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|id| {
            let id = Segment::parse(id).unwrap();
            source.address(Wanted::Bundle {
                id: &id,
                language: &language,
            })
        })
        .collect();
    for address in &addresses {
        cache.keep(address, &entry(&"x".repeat(1_000))).unwrap();
        // The file system's clock has coarse ticks.
        thread::sleep(std::time::Duration::from_millis(15));
    }
    let kept: Vec<_> = addresses
        .iter()
        .map(|address| cache.find(address, 1_000, NOW).is_some())
        .collect();
    assert_eq!(kept, [false, false, true, true]);
    assert!(folder.path().join("notes.json").exists());
}

#[test]
fn writers_at_the_same_time_leave_one_whole_copy() {
    let (_folder, cache, address) = filled();
    thread::scope(|scope| {
        for text in ["one", "two", "three"] {
            let (cache, address) = (&cache, &address);
            scope.spawn(move || {
                for _ in 0..5 {
                    cache.keep(address, &entry(text)).unwrap();
                }
            });
        }
    });
    assert!(cache.find(&address, LIMIT, NOW).is_some());
}
