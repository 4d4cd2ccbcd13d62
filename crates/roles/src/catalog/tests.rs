//! Hostile directories: links out, pipes, and names that climb.

use std::os::unix::fs::symlink;

use super::*;

fn made(index: &str) -> (tempfile::TempDir, Directory) {
    let guard = tempfile::tempdir().unwrap();
    let root = guard.path().join("catalog");
    fs::create_dir_all(root.join("bundles/a")).unwrap();
    fs::File::create(guard.path().join("secret.yaml")).unwrap();
    put(&root.join(INDEX), index);
    let directory = Directory::open(&root).unwrap();
    (guard, directory)
}

fn put(path: &Path, text: &str) {
    files::write(path, text.as_bytes(), Privacy::Shared).unwrap();
}

fn classes(directory: &Directory) -> Vec<&'static str> {
    let draft = directory.draft();
    draft
        .problems()
        .iter()
        .map(|problem| problem.class.name())
        .collect()
}

const INDEX_A: &str = "bundles: [{ id: a, languages: [en], roles: [] }]";

#[test]
fn a_link_out_of_the_catalog_is_not_followed() {
    let (guard, directory) = made(INDEX_A);
    symlink(
        guard.path().join("secret.yaml"),
        directory.root().join("bundles/a/en.yaml"),
    )
    .unwrap();
    assert_eq!(classes(&directory), ["yaml_error"]);
}

#[test]
fn a_link_inside_of_the_catalog_is_followed() {
    let (_guard, directory) = made(INDEX_A);
    put(&directory.root().join("bundles/real.yaml"), "roles: []");
    symlink("../real.yaml", directory.root().join("bundles/a/en.yaml")).unwrap();
    assert_eq!(classes(&directory), [""; 0]);
}

#[test]
fn a_name_that_climbs_is_not_followed() {
    let (_guard, directory) = made("bundles: [{ id: ../.., languages: [secret] }]");
    assert_eq!(classes(&directory), ["yaml_error"]);
}

#[test]
fn a_pipe_or_a_folder_is_no_file() {
    let (_guard, directory) = made(INDEX_A);
    let path = directory.root().join("bundles/a/en.yaml");
    fs::create_dir(&path).unwrap();
    assert_eq!(classes(&directory), ["yaml_error"]);
    fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(classes(&directory), ["yaml_error"]);
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    let (_guard, directory) = made(INDEX_A);
    put(
        &directory.root().join("bundles/a/en.yaml"),
        &format!("a: {}", "x".repeat(MAX_BYTES)),
    );
    assert_eq!(classes(&directory), ["yaml_error"]);
}

#[test]
fn a_lock_is_not_written_through_a_link() {
    let (guard, directory) = made(INDEX_A);
    put(&directory.root().join("bundles/a/en.yaml"), "roles: []");
    symlink(guard.path(), directory.root().join("scripts")).unwrap();
    let request = Request {
        rigour: Rigour::Published,
        refresh: Some(Damaged::Refuse),
    };
    check(&directory, request).unwrap_err();
    assert!(!guard.path().join("content-hashes.json").exists());
}
