//! Access of the command analysis to the machine: scripts, recipes and git's configuration, as files.
//!
//! Reads are bounded, the system follows links, and only plain files are opened: a pipe would wait for a writer.
//! Nothing is run and nothing is written.

mod archives;
mod changes;
mod objects;
mod revisions;
mod work;

use std::fs;
use std::path::Path;

use oversight::lookup::{Content, Listing, Lookup, MAX_ENTRIES, Source, Work};
use walkdir::WalkDir;

use base::files;

/// Limit of the length of a file that is analysed.
const MAX_BYTES: u64 = 256 * 1024;

/// Limit of the names of one directory.
const MAX_NAMES: usize = 4096;

/// Lookup of the real files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl ::contracts::Files for Disk {
    fn list(&self, directory: &str) -> Vec<String> {
        Lookup::list(self, directory)
    }

    fn has_file(&self, path: &str) -> bool {
        fs::metadata(path).is_ok_and(|facts| !facts.is_dir())
    }
}

impl Lookup for Disk {
    fn read(&self, path: &str) -> Content {
        let path = Path::new(path);
        let Ok(facts) = fs::metadata(path) else {
            return Content::Missing;
        };
        if facts.is_dir() {
            return Content::Missing;
        }
        if !facts.is_file() {
            return Content::Unreadable("it is no plain file");
        }
        if facts.len() > MAX_BYTES {
            return if starts_like_a_program(path) {
                Content::Binary
            } else {
                Content::Unreadable("it is too large")
            };
        }
        match files::read(path, MAX_BYTES) {
            Err(_) => Content::Unreadable("it may not be read"),
            Ok(bytes) if bytes.contains(&0) => Content::Binary,
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Content::Text(text),
                Err(_) => Content::Binary,
            },
        }
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(directory) else {
            return Vec::new();
        };
        let names = entries.take(MAX_NAMES).flatten();
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    fn has(&self, path: &str) -> bool {
        fs::metadata(path).is_ok()
    }

    fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(path).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    fn search(&self, source: Source<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
        match source {
            Source::Directory(directory) => search_directory(Path::new(directory), is_wanted),
            Source::Archive(path) => archives::search(Path::new(path), is_wanted),
            Source::Git { directory, from } => {
                changes::search(Path::new(directory), from, is_wanted)
            }
        }
    }

    fn loses(&self, directory: &str, work: Work<'_>) -> Option<bool> {
        work::loses(Path::new(directory), work)
    }

    fn may_start(&self, path: &str) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(facts) = fs::metadata(path) else {
            return true;
        };
        !facts.is_file() || facts.permissions().mode() & 0o111 != 0
    }
}

/// Searches a directory recursively, through links as a copy would. A cycle of links is left out.
fn search_directory(directory: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
    if !directory.is_dir() {
        return Listing::Missing;
    }
    let walk = WalkDir::new(directory).min_depth(1).follow_links(true);
    let mut whole = true;
    for (count, entry) in walk.into_iter().enumerate() {
        let path = match &entry {
            Ok(entry) => Some(entry.path()),
            Err(error) => error.path(),
        };
        let inside = path.and_then(|path| path.strip_prefix(directory).ok());
        let name = inside.map(|path| path.to_string_lossy().into_owned());
        if let Some(name) = name.filter(|name| is_wanted(name)) {
            return Listing::Found(name);
        }
        let is_unread = |error: &walkdir::Error| {
            let kind = error.io_error().map(std::io::Error::kind);
            error.loop_ancestor().is_none() && kind != Some(std::io::ErrorKind::NotFound)
        };
        whole &= !entry.as_ref().is_err_and(is_unread);
        if count >= MAX_ENTRIES {
            return Listing::Unknown;
        }
    }
    if whole {
        Listing::Clean
    } else {
        Listing::Unknown
    }
}

/// Returns `true` for ELF and Mach-O: a compiled file is a program by its name, at any size.
pub fn starts_like_a_program(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let programs = [
        *b"\x7fELF",
        [0xCF, 0xFA, 0xED, 0xFE],
        [0xCA, 0xFE, 0xBA, 0xBE],
    ];
    read.is_ok() && programs.contains(&head)
}

#[cfg(test)]
mod tests;
