//! Writing of a catalog: files replaced in one step, and the text that a role had when it was locked.

use std::fs;
use std::io;
use std::path::{Component, Path};

use ::catalog::browse;
use ::catalog::catalog::Draft;
use ::catalog::contents::Contents;
use ::catalog::source::{File, INDEX, Sources};
use ::catalog::yaml::MAX_BYTES;

use crate::catalog::Directory;
use base::files::{self, Action, FileError, Privacy};
use base::git;

/// Limit of commits that are searched for a locked text.
pub const MAX_COMMITS: usize = 1000;

/// Writes a file of the catalog, by its path from the root. Directories are created; links out of the catalog are
/// refused.
pub fn write(directory: &Directory, path: &str, text: &str) -> Result<(), FileError> {
    let target = directory.root().join(path);
    let fail = |what| FileError::new(Action::Write, &target, io::Error::other(what));
    let parts = || Path::new(path).components();
    if !parts().all(|part| matches!(part, Component::Normal(_))) {
        return Err(fail("the path leads out of the catalog"));
    }
    let folder = files::parent(&target);
    // The nearest existing directory decides: those below it are created here and are not links.
    let nearest = folder.ancestors().find(|above| above.exists());
    let real = nearest.and_then(|above| fs::canonicalize(above).ok());
    if !real.is_some_and(|real| real.starts_with(directory.root())) {
        return Err(fail("the folder leads out of the catalog"));
    }
    files::make_directory(folder, Privacy::Shared)?;
    files::write(&target, text.as_bytes(), Privacy::Shared)
}

/// Returns `true` if the catalog has an entry at a path, a dangling link included.
#[must_use]
pub fn exists(directory: &Directory, path: &str) -> bool {
    directory.root().join(path).symlink_metadata().is_ok()
}

/// State of a catalog at a commit.
#[derive(Debug)]
pub struct Past {
    pub commit: String,
    /// Its content: the index, and the files of one bundle.
    pub draft: Draft,
}

/// Returns the newest commit at which a role had this hash. Returns `None` if git has none, or there is no git.
#[must_use]
pub fn locked_text(
    directory: &Directory,
    contents: &Contents,
    slug: &str,
    hash: &str,
) -> Option<Past> {
    let (bundle, _) = browse::listed(contents, slug)?;
    let paths = [INDEX.to_owned(), format!("bundles/{}", bundle.id)];
    let commits = git::history(directory.root(), &paths, MAX_COMMITS).ok()?;
    commits.into_iter().find_map(|commit| {
        let draft = at_commit(directory.root(), &commit, &bundle.id);
        let mut roles = draft.roles().iter();
        let is_it = roles.any(|role| role.slug == slug && role.digest.to_hex() == hash);
        is_it.then_some(Past { commit, draft })
    })
}

fn at_commit(root: &Path, commit: &str, bundle: &str) -> Draft {
    let file = |path: &str| match git::file_at(root, commit, path) {
        Ok(bytes) if bytes.len() <= MAX_BYTES => File::of(bytes),
        Ok(_) | Err(_) => File::Missing,
    };
    let mut sources = Sources::new(file(INDEX));
    let prefix = format!("bundles/{bundle}/");
    for path in sources.wanted() {
        if path.starts_with(&prefix) {
            let read = file(&path);
            sources.add(path, read);
        }
    }
    Draft::read(sources)
}
