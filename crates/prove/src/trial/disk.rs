//! The room that the files of a trial take, while its agent works and afterwards.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::suite::Member;
use crate::world::World;

/// Time between two looks at least.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look takes one of so many parts of the time at most.
const SHARE: u32 = 20;
/// Folders of a slot that an agent can write to.
const WRITABLE: [&str; 4] = ["wt", "home", "out", "cache"];

/// Returns the bytes that the files of an agent may have.
pub(super) fn room(member: &Member, before: &World) -> u64 {
    let limit = member.task.limits.disk_mb.saturating_mul(1 << 20);
    limit.max(before.size.saturating_mul(2))
}

/// Returns the bytes of all files of an agent, holes included; more than anything if a folder cannot be read.
pub(super) fn size(slot: &Path) -> u64 {
    let folders = WRITABLE.iter().map(|name| slot.join(name));
    let sizes = folders
        .flat_map(walkdir::WalkDir::new)
        .map(|entry| match entry {
            Ok(entry) if entry.file_type().is_dir() => Ok(0),
            Ok(entry) => entry.metadata().map(|facts| facts.len()),
            Err(error) => Err(error),
        });
    // A folder that the agent closed can hold anything; a file that went away meanwhile holds nothing.
    let is_gone = |error: &walkdir::Error| {
        let error = error.io_error();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    sizes.fold(0, |sum, size| match size {
        Ok(size) => sum.saturating_add(size),
        Err(error) if is_gone(&error) => sum,
        Err(_) => u64::MAX,
    })
}

/// Looks at the files of a running agent now and then.
#[derive(Debug)]
pub(super) struct DiskWatch<'a> {
    slot: &'a Path,
    room: u64,
    next: Instant,
}

impl<'a> DiskWatch<'a> {
    pub(super) fn new(slot: &'a Path, room: u64) -> Self {
        Self {
            slot,
            room,
            next: Instant::now() + LOOK_EVERY,
        }
    }

    /// Returns `true` if the files were seen to be larger than they may be.
    pub(super) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        let is_over = size(self.slot) > self.room;
        self.next = Instant::now() + (now.elapsed() * SHARE).max(LOOK_EVERY);
        is_over
    }
}
