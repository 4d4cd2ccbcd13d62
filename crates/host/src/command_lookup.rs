//! Answers what the analysis of a command asks of the machine: scripts, recipes and git's configuration, as files.
//!
//! Reads are bounded, links are followed by the system, and nothing but plain files is opened: a pipe would wait for a
//! writer. Nothing is run and nothing is written.

use std::fs;
use std::path::Path;

use oversight::lookup::{Content, Lookup};

use crate::files;

/// Longer files are not analysed.
const MAX_BYTES: u64 = 256 * 1024;

/// More names of one directory are not looked at.
const MAX_NAMES: usize = 4096;

/// The real files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

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
}

/// ELF and Mach-O: what is compiled is a program by its name, however large.
fn starts_like_a_program(path: &Path) -> bool {
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
mod tests {
    use super::*;

    #[test]
    fn files_arrive_as_what_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
        files::write(
            Path::new(&path("a.sh")),
            b"git push\n",
            files::Privacy::Shared,
        )
        .unwrap();
        files::write(
            Path::new(&path("b")),
            b"\x7fELF\0\0",
            files::Privacy::Shared,
        )
        .unwrap();
        assert_eq!(
            Disk.read(&path("a.sh")),
            Content::Text("git push\n".to_owned())
        );
        assert_eq!(Disk.read(&path("b")), Content::Binary);
        assert_eq!(Disk.read(&path("c")), Content::Missing);
        assert_eq!(Disk.read(&path("")), Content::Missing);
        assert_eq!(Disk.list(&path("")), ["a.sh", "b"]);
        assert!(Disk.list(&path("c")).is_empty());
    }

    #[test]
    fn a_device_is_not_opened() {
        assert!(matches!(Disk.read("/dev/zero"), Content::Unreadable(_)));
    }
}
