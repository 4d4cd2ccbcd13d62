//! The repository around a directory, by its files.

use crate::lookup::{Content, Lookup, absolute};

/// Returns the top of the working tree around a directory, with its folder of git and the text of `HEAD`.
#[must_use]
pub fn around(directory: &str, lookup: &dyn Lookup) -> Option<(String, String, String)> {
    let mut folder = directory.trim_end_matches('/').to_owned();
    loop {
        let dot = format!("{folder}/.git");
        if let Content::Text(head) = lookup.read(&format!("{dot}/HEAD")) {
            return Some((folder, dot, head));
        }
        if let Content::Text(link) = lookup.read(&dot) {
            let linked = absolute(&folder, link.trim().strip_prefix("gitdir:")?.trim());
            let Content::Text(head) = lookup.read(&format!("{linked}/HEAD")) else {
                return None;
            };
            return Some((folder, linked, head));
        }
        let (parent, _) = folder.rsplit_once('/')?;
        folder = parent.to_owned();
    }
}

/// Returns the top of the working tree around a directory.
#[must_use]
pub fn top(directory: &str, lookup: &dyn Lookup) -> Option<String> {
    around(directory, lookup).map(|(top, ..)| top)
}
