//! Copies the base trees of tasks into the suite itself, without commits, so that it needs no other repository.

use std::fs;
use std::io;
use std::path::Path;

use base::git::GitError;

use crate::repo::Repo;
use crate::suite::Member;
use crate::tree::{failed, put};

/// Folder of stores in a suite.
pub const FOLDER: &str = "store";

/// Writes a bare repository with the base trees of the tasks, and makes it their source.
///
/// # Errors
/// An object is missing, or a file cannot be written.
pub fn vendor(
    repo: &Repo,
    suite: &Path,
    name: &str,
    members: &mut [Member],
) -> Result<(), GitError> {
    let source = format!("{FOLDER}/{name}.git");
    let store = suite.join(&source);
    let mut arguments = vec!["rev-list", "--objects", "--no-object-names"];
    arguments.extend(members.iter().map(|member| member.task.base_tree.as_str()));
    let objects = repo.run(&arguments)?;
    // One thread, so that equal trees give equal bytes.
    let packed = repo.run_with(&["pack-objects", "--stdout", "-q", "--threads=1"], &objects)?;
    let format = repo.line(&["rev-parse", "--show-object-format"])?;
    let pack = store.join("objects/pack/pack-trees.pack");
    write(&store, &pack, &packed, &format).map_err(failed)?;
    let pack = std::path::absolute(&pack).map_err(failed)?;
    repo.run(&["index-pack", &pack.to_string_lossy()])?;
    for member in members {
        member.task.source.clone_from(&source);
        *member = member.clone().with_digest();
    }
    Ok(())
}

fn write(store: &Path, pack: &Path, packed: &[u8], format: &str) -> io::Result<()> {
    for folder in ["objects/pack", "refs"] {
        fs::create_dir_all(store.join(folder))?;
    }
    let extension = match format {
        "sha1" => "[core]\n\trepositoryformatversion = 0\n".to_owned(),
        format => format!(
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = {format}\n"
        ),
    };
    put(
        &store.join("config"),
        format!("{extension}[core]\n\tbare = true\n").as_bytes(),
    )?;
    put(&store.join("HEAD"), b"ref: refs/heads/main\n")?;
    put(pack, packed)
}
