//! Descendants of a process, and their memory: read from `/proc`, which every user may read to this extent.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base::files;

/// Most bytes of a list of children: some ten thousand of them.
const MAX_CHILDREN: u64 = 1 << 20;

/// Parent and resident pages by process, as far as they are visible.
pub(crate) fn table() -> BTreeMap<u32, (u32, u64)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let read = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, facts(pid)?))
    };
    entries.flatten().filter_map(read).collect()
}

/// Parent and resident pages of a process.
fn facts(pid: u32) -> Option<(u32, u64)> {
    let stat = files::read(Path::new(&format!("/proc/{pid}/stat")), 4096).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // The name in parentheses may hold anything; what follows its end is numbers.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let pages = fields.nth(19)?.parse().ok()?;
    Some((parent, pages))
}

/// A process and everything below it.
pub(crate) fn below(root: u32, table: &BTreeMap<u32, (u32, u64)>) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (pid, (parent, _)) in table {
        children.entry(*parent).or_default().push(*pid);
    }
    family(root, |pid| children.remove(&pid).unwrap_or_default())
}

fn family(root: u32, mut children: impl FnMut(u32) -> Vec<u32>) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let more = children(*pid);
        found.extend(more);
        next += 1;
    }
    found
}

/// The children of all threads of a process, as the kernel lists them; one that begins or ends meanwhile may be missed.
fn listed_children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| files::read(&thread.path().join("children"), MAX_CHILDREN).ok());
    let numbers = |list: Vec<u8>| {
        let text = String::from_utf8_lossy(&list).into_owned();
        let numbers = text.split_whitespace().filter_map(|one| one.parse().ok());
        numbers.collect::<Vec<u32>>()
    };
    lists.flat_map(numbers).collect()
}

/// How many processes there are at and below one, and how much memory they hold.
pub(crate) fn used(root: u32) -> (u64, u64) {
    // The lists need few of the files that a look at all processes of the machine takes; not every kernel has them.
    let pages: Vec<u64> = if Path::new("/proc/thread-self/children").exists() {
        let held = family(root, listed_children).into_iter().filter_map(facts);
        held.map(|(_, pages)| pages).collect()
    } else {
        let table = table();
        let held = below(root, &table).into_iter();
        held.filter_map(|pid| table.get(&pid))
            .map(|(_, pages)| *pages)
            .collect()
    };
    let page = rustix::param::page_size() as u64;
    let memory = pages
        .iter()
        .map(|pages| pages.saturating_mul(page))
        .fold(0, u64::saturating_add);
    (pages.len() as u64, memory)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn both_ways_find_the_same_processes() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & sleep 60 & wait"])
            .spawn()
            .unwrap();
        let root = child.id();
        let sorted = |mut pids: Vec<u32>| {
            pids.sort_unstable();
            pids
        };
        while used(root).0 < 3 {
            std::thread::yield_now();
        }
        let (table, listed) = (table(), sorted(family(root, listed_children)));
        assert_eq!(sorted(below(root, &table)), listed);
        assert!(used(root).1 > 0);
        for pid in listed.into_iter().rev() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
        child.wait().unwrap();
    }
}
