//! Determines if git tracks a file, from the names in the repository's index. Anything that cannot be parsed counts as
//! tracked.
//!
//! The format is git's `index-format`, versions 2 to 4. Only names are read; nothing is allocated by a number in the
//! file.

use std::path::Path;

use super::Location;
use crate::files;

/// Largest index that is read.
const MAX_INDEX: u64 = 512 * 1024 * 1024;
/// Longest name that is read.
const MAX_NAME: usize = 64 * 1024;
/// Length of the fields before the object's hash: times, device, inode, mode, owner and size.
const STAT: usize = 40;
const FLAG_EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0FFF;
const TREE: u32 = 0o040_000;

/// Returns `true` if `path` came with the repository. Without a repository or an index, it did not.
#[must_use]
pub fn is_tracked(path: &Path) -> bool {
    let by_name = path.parent().is_some_and(|folder| {
        let name = path.file_name().map(|name| folder.join(name));
        name.is_some_and(|path| is_tracked_here(folder, &path))
    });
    // A link leads elsewhere, perhaps to a file that is tracked under another name.
    by_name
        || path.canonicalize().is_ok_and(|real| {
            real != path
                && real
                    .parent()
                    .is_some_and(|folder| is_tracked_here(folder, &real))
        })
}

fn is_tracked_here(folder: &Path, path: &Path) -> bool {
    let Some(location) = Location::around(folder) else {
        return false;
    };
    let index = location.git_dir.join("index");
    // Names in the index are relative to the top, which is a real path; a link on the way is a tracked name itself.
    let names = [
        relative(&location.top, path),
        real_relative(&location.top, path),
    ];
    let wanted: Vec<String> = names.into_iter().flatten().collect();
    let bytes = match files::read(&index, MAX_INDEX) {
        Ok(bytes) => bytes,
        Err(error) => return error.source.kind() != std::io::ErrorKind::NotFound,
    };
    wanted
        .iter()
        .any(|name| holds(&bytes, name).unwrap_or(true))
}

fn relative(top: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(top).ok()?;
    Some(name.to_string_lossy().into_owned())
}

fn real_relative(top: &Path, path: &Path) -> Option<String> {
    let folder = path.parent()?.canonicalize().ok()?;
    relative(top, &folder.join(path.file_name()?))
}

/// Returns `true` if an index contains `wanted`, or a path above it; `None` if it cannot be parsed.
#[must_use]
pub fn holds(index: &[u8], wanted: &str) -> Option<bool> {
    let mut input = index;
    if take(&mut input, 4)? != b"DIRC" {
        return None;
    }
    let version = number(take(&mut input, 4)?)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = number(take(&mut input, 4)?)?;
    // Hashes have 20 bytes, or 32 in a SHA-256 repository; with the wrong length the names are garbled.
    [20, 32]
        .into_iter()
        .find_map(|hash| is_named(input, version, count, hash, wanted.as_bytes()))
}

fn is_named(
    mut input: &[u8],
    version: u32,
    count: u32,
    hash: usize,
    wanted: &[u8],
) -> Option<bool> {
    let mut name: Vec<u8> = Vec::new();
    let mut found = false;
    for _ in 0..count {
        let (stat, ..) = entry(&mut input, version, hash, &mut name)?;
        let mode = number(stat.get(24..28)?)?;
        let is_above = wanted
            .strip_prefix(name.strip_suffix(b"/").unwrap_or(&name))
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'));
        found |= is_above || (mode == TREE && wanted.starts_with(&name));
    }
    Some(found || extensions(input, hash)?)
}

/// Skips extensions; `None` for a split index, whose names are elsewhere.
fn extensions(mut input: &[u8], hash: usize) -> Option<bool> {
    while input.len() > hash {
        let kind = take(&mut input, 4)?;
        let length = usize::try_from(number(take(&mut input, 4)?)?).ok()?;
        take(&mut input, length)?;
        if kind == b"link" {
            return None;
        }
    }
    (input.len() == hash).then_some(false)
}

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path relative to the top of the working tree.
    pub path: String,
    /// Kind of file and permissions.
    pub mode: u32,
    /// Object id of its content.
    pub id: Vec<u8>,
    /// Modification time of the file when git last saw it: seconds and nanoseconds.
    pub modified: (u32, u32),
    /// The lower bits of its size.
    pub size: u32,
    /// Stage of a merge and what git is told to overlook; the length of the name is left out.
    pub flags: u32,
}

/// Returns every entry; `None` if the index cannot be parsed or is split.
#[must_use]
pub fn entries(index: &[u8]) -> Option<Vec<Entry>> {
    let mut input = index;
    if take(&mut input, 4)? != b"DIRC" {
        return None;
    }
    let version = number(take(&mut input, 4)?).filter(|version| (2..=4).contains(version))?;
    let count = number(take(&mut input, 4)?)?;
    let mut name: Vec<u8> = Vec::new();
    let mut all = Vec::new();
    for _ in 0..count {
        let (stat, id, flags) = entry(&mut input, version, 20, &mut name)?;
        let at = |from: usize| number(stat.get(from..from + 4)?);
        all.push(Entry {
            path: String::from_utf8_lossy(&name).into_owned(),
            mode: at(24)?,
            id: id.to_vec(),
            modified: (at(8)?, at(12)?),
            size: at(36)?,
            flags,
        });
    }
    extensions(input, 20).map(|_| all)
}

/// Reads one entry, leaves its name in `name`, and returns what git saw of the file, its object and its flags.
fn entry<'i>(
    input: &mut &'i [u8],
    version: u32,
    hash: usize,
    name: &mut Vec<u8>,
) -> Option<(&'i [u8], &'i [u8], u32)> {
    let before = input.len();
    let stat = take(input, STAT)?;
    let id = take(input, hash)?;
    let flags = half(take(input, 2)?)?;
    let more = match flags & FLAG_EXTENDED {
        0 => 0,
        _ => half(take(input, 2)?)?,
    };
    if version == 4 {
        let drop = variable(input)?;
        let keep = name.len().checked_sub(drop)?;
        name.truncate(keep);
    } else {
        name.clear();
    }
    let end = input.iter().take(MAX_NAME).position(|&byte| byte == 0)?;
    name.extend_from_slice(take(input, end)?);
    let said = usize::from(flags & NAME_LENGTH);
    let fits = said == usize::from(NAME_LENGTH) || said == name.len();
    if name.is_empty() || name.len() > MAX_NAME || !fits {
        return None;
    }
    if version == 4 {
        take(input, 1)?;
    } else {
        // Padded with one to eight zeros to a multiple of eight.
        let length = before - input.len();
        take(input, 8 - length % 8)?;
    }
    Some((
        stat,
        id,
        u32::from(flags & !NAME_LENGTH) << 16 | u32::from(more),
    ))
}

/// Parses the number by which version 4 shortens names: seven bits per byte, each further byte adds one.
fn variable(input: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    for _ in 0..4 {
        let byte = *take(input, 1)?.first()?;
        value = (value << 7) | usize::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value += 1;
    }
    None
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(head)
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn half(bytes: &[u8]) -> Option<u16> {
    bytes.try_into().ok().map(u16::from_be_bytes)
}
