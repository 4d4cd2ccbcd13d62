//! Descendants of a process, and their memory: read from `/proc`, which every user may read to this extent.

use std::collections::BTreeMap;
use std::fs;

use base::files;

/// Returns parent and resident pages by process, as far as they are visible.
pub(crate) fn table() -> BTreeMap<u32, (u32, u64)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let read = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = files::read(&entry.path().join("stat"), 4096).ok()?;
        let stat = String::from_utf8_lossy(&stat).into_owned();
        // The name in parentheses may contain anything; the fields behind it are numbers.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let pages = fields.nth(19)?.parse().ok()?;
        Some((pid, (parent, pages)))
    };
    entries.flatten().filter_map(read).collect()
}

/// Returns a process and its descendants.
pub(crate) fn below(root: u32, table: &BTreeMap<u32, (u32, u64)>) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (pid, (parent, _)) in table {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        if let Some(more) = children.remove(pid) {
            found.extend(more);
        }
        next += 1;
    }
    found
}

/// Returns the number and the memory of a process and its descendants.
pub(crate) fn used(root: u32) -> (u64, u64) {
    let table = table();
    let all = below(root, &table);
    let page = rustix::param::page_size() as u64;
    let memory = all
        .iter()
        .filter_map(|pid| table.get(pid))
        .map(|(_, pages)| pages.saturating_mul(page))
        .fold(0, u64::saturating_add);
    (all.len() as u64, memory)
}
