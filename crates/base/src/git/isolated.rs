//! A private git directory in front of a repository, so that git never loads the repository's own configuration.
//!
//! `.git/config` can name a program under dozens of keys, and every release of git adds more. Overriding the known ones
//! leaves the next one open, and a library would be a second implementation of git's index, ignore and attribute rules
//! beside the user's git. So our git runs with a directory that contains a configuration written here, and links to the
//! objects and refs of the repository. There are no hooks, drivers, helpers or remotes to find. The few values that
//! describe the repository itself (object format, line ends, ignore rules) are read as data and checked before they are
//! copied.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::settings::Settings;
use crate::files;
use crate::repository::Location;

/// Longest `HEAD` or list of ignore patterns that is copied.
const MAX_COPY: u64 = 4 * 1024 * 1024;

/// Attributes under which a file is stored and checked out byte for byte. `info/attributes` wins over every other file.
const BYTES: &str = "* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge\n";

/// Settings that apply regardless of the repository. None of them starts a program.
const FIXED: &str = "\
[core]
\tbare = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tsplitIndex = false
\tsafecrlf = false
\tlogAllRefUpdates = true
[index]
\tsparse = false
[protocol]
\tallow = never
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\taddEmbeddedRepo = false
";

/// Treatment of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// As a commit of the user would store them: git's built-in conversions of line ends and encodings apply.
    Converted,
    /// As they are on disk, under these ignore patterns instead of the clone's own.
    Bytes {
        /// Patterns, as [`Isolated::ignore_patterns`] returned them; the current ones when absent.
        ignore: Option<Vec<u8>>,
    },
}

/// A private git directory. It is removed when dropped.
#[derive(Debug)]
pub(super) struct Isolated {
    directory: tempfile::TempDir,
    pub(super) location: Location,
}

impl Isolated {
    pub(super) fn new(
        location: Location,
        settings: &Settings,
        content: &Content,
    ) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("roleos-git-").tempdir()?;
        let isolated = Self {
            directory,
            location,
        };
        isolated.write_common(settings, content)?;
        isolated.write_own()?;
        Ok(isolated)
    }

    /// Returns the value of `GIT_DIR`.
    pub(super) fn git_dir(&self) -> PathBuf {
        self.directory.path().join("own")
    }

    /// Returns the patterns of ignored files from outside the working tree: the user's and the clone's.
    pub(super) fn ignore_patterns(&self) -> io::Result<Vec<u8>> {
        fs::read(self.directory.path().join("common/info/exclude"))
    }

    /// Writes the part that all worktrees share: configuration, objects, refs, ignore patterns.
    fn write_common(&self, settings: &Settings, content: &Content) -> io::Result<()> {
        let common = self.directory.path().join("common");
        let real = &self.location.common_dir;
        fs::create_dir_all(common.join("info"))?;
        let mut config = FIXED.to_owned();
        config.push_str(&settings.format_lines());
        if *content == Content::Converted {
            config.push_str(&settings.content_lines());
            link_existing(
                &real.join("info/attributes"),
                &common.join("info/attributes"),
            )?;
        } else {
            put(&common.join("info/attributes"), BYTES.as_bytes())?;
        }
        put(&common.join("config"), config.as_bytes())?;
        let ignore = match content {
            Content::Bytes { ignore: Some(then) } => then.clone(),
            _ => [
                copy_of(settings.excludes_file.as_deref()),
                b"\n".to_vec(),
                copy_of(Some(&real.join("info/exclude"))),
            ]
            .concat(),
        };
        put(&common.join("info/exclude"), &ignore)?;
        for name in ["objects", "refs", "packed-refs"] {
            symlink(real.join(name), common.join(name))?;
        }
        for name in ["reftable", "shallow", "logs"] {
            link_existing(&real.join(name), &common.join(name))?;
        }
        Ok(())
    }

    /// Writes the part of this worktree: `HEAD` and the base of a split index.
    fn write_own(&self) -> io::Result<()> {
        let own = self.git_dir();
        let real = &self.location.git_dir;
        fs::create_dir_all(own.join("refs"))?;
        put(&own.join("commondir"), b"../common\n")?;
        put(&own.join("HEAD"), &copy_of(Some(&real.join("HEAD"))))?;
        for name in ["reftable", "logs"] {
            link_existing(&real.join(name), &own.join(name))?;
        }
        for entry in fs::read_dir(real)?.flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b"sharedindex.") {
                symlink(entry.path(), own.join(name))?;
            }
        }
        Ok(())
    }
}

/// Returns the content of a plain file; empty if there is none.
fn copy_of(path: Option<&Path>) -> Vec<u8> {
    path.and_then(|path| files::read(path, MAX_COPY).ok())
        .unwrap_or_default()
}

fn link_existing(target: &Path, link: &Path) -> io::Result<()> {
    if target.exists() {
        symlink(target, link)?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    File::create_new(path)?.write_all(bytes)
}
