//! What the analysis may ask of the machine, as values. The host answers; a test answers from a map.

/// The content of a file, as far as it helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// There is no such file.
    Missing,
    /// A program or other bytes that are no text.
    Binary,
    /// It is there and cannot be taken into account, and why.
    Unreadable(&'static str),
}

/// Files, read on request. Paths are absolute, without `.` and `..`.
pub trait Lookup {
    /// The content of a file.
    fn read(&self, path: &str) -> Content;
    /// The names in a directory; empty when there is none.
    fn list(&self, directory: &str) -> Vec<String>;
    /// The path with every link in it followed; what does not exist stays as it is written.
    fn real(&self, path: &str) -> String {
        path.to_owned()
    }
    /// Whether the system may start the file as a program: false where that is sure not to be so.
    fn may_start(&self, _path: &str) -> bool {
        true
    }
}

/// A machine without files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Lookup for Nothing {
    fn read(&self, _: &str) -> Content {
        Content::Missing
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Makes a path absolute and takes `.`, `..` and doubled slashes out, without asking the machine.
#[must_use]
pub fn absolute(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        let mut whole = String::with_capacity(directory.len() + 1 + path.len());
        whole.push_str(directory);
        whole.push('/');
        whole.push_str(path);
        whole
    };
    if is_straight(&whole) {
        return whole;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path has nothing to take out: most are like that.
fn is_straight(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("") && parts.all(|part| !matches!(part, "" | "." | ".."))
}

/// The last part of a path.
#[must_use]
pub fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory of a path.
#[must_use]
pub fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}
