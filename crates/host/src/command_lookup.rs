//! Answers what the analysis of a command asks of the machine: scripts, recipes and git's configuration, as files.
//!
//! Reads are bounded, links are followed by the system, and nothing but plain files is opened: a pipe would wait for a
//! writer. Nothing is run and nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

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

    fn real(&self, path: &str) -> String {
        if let Ok(real) = fs::canonicalize(path) {
            return real.to_string_lossy().into_owned();
        }
        resolved(path)
    }

    fn may_start(&self, path: &str) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(facts) = fs::metadata(path) else {
            return true;
        };
        !facts.is_file() || facts.permissions().mode() & 0o111 != 0
    }
}

/// More links in one path are a circle.
const MAX_LINKS: usize = 64;

/// Follows links part by part, also where the end of the path does not exist yet: writing would make it there.
fn resolved(path: &str) -> String {
    let mut real = PathBuf::from("/");
    let mut rest: Vec<String> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                let target = target.to_string_lossy().into_owned();
                if target.starts_with('/') {
                    real = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            _ => real = next,
        }
    }
    real.to_string_lossy().into_owned()
}

/// The parts of a path, the first one last.
fn parts(path: &str) -> Vec<String> {
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let mut parts: Vec<String> = parts.map(str::to_owned).collect();
    parts.reverse();
    parts
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
        assert!(!Disk.may_start(&path("a.sh")));
        let started = std::os::unix::fs::PermissionsExt::from_mode(0o744);
        fs::set_permissions(path("a.sh"), started).unwrap();
        assert!(Disk.may_start(&path("a.sh")));
        assert!(Disk.may_start(&path("c")));
        assert_eq!(Disk.read(&path("b")), Content::Binary);
        assert_eq!(Disk.read(&path("c")), Content::Missing);
        assert_eq!(Disk.read(&path("")), Content::Missing);
        assert_eq!(Disk.list(&path("")), ["a.sh", "b"]);
        assert!(Disk.list(&path("c")).is_empty());
    }

    #[test]
    fn links_are_followed_even_to_what_does_not_exist_yet() {
        let directory = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(directory.path()).unwrap();
        let path = |name: &str| top.join(name).to_string_lossy().into_owned();
        fs::create_dir(top.join("real")).unwrap();
        fs::create_dir(top.join("real/deep")).unwrap();
        std::os::unix::fs::symlink("real", top.join("link")).unwrap();
        std::os::unix::fs::symlink(top.join("real/deep"), top.join("down")).unwrap();
        std::os::unix::fs::symlink("link/new", top.join("dangling")).unwrap();
        std::os::unix::fs::symlink("circle", top.join("circle")).unwrap();
        assert_eq!(Disk.real(&path("link")), path("real"));
        assert_eq!(Disk.real(&path("link/new/file")), path("real/new/file"));
        assert_eq!(Disk.real(&path("dangling")), path("real/new"));
        // The parent of a link's target, not of the link.
        assert_eq!(Disk.real(&path("down/../x")), path("real/x"));
        assert_eq!(Disk.real(&path("./a//../b")), path("b"));
        assert!(Disk.real(&path("circle")).ends_with("circle"));
    }

    #[test]
    fn a_device_is_not_opened() {
        assert!(matches!(Disk.read("/dev/zero"), Content::Unreadable(_)));
    }
}
