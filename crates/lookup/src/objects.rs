//! Git's objects, parsed from files: loose ones and those in packs. Git is not run.
//!
//! Sizes are bounded, and an object that is not understood is `None`.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;

use base::files;

/// Limit of the size of an object, in bytes.
const MAX_OBJECT: u64 = 16 * 1024 * 1024;
/// Limit of the length of a chain of deltas.
const MAX_CHAIN: usize = 4096;
/// Limit of packs.
const MAX_PACKS: usize = 512;
/// Offset of the names in a pack's index: behind its header and the fan-out table.
const NAMES: u64 = 8 + 1024;

/// The name of an object.
pub(super) type Id = [u8; 20];

/// Type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// The objects of one repository.
pub(super) struct Objects {
    folders: Vec<PathBuf>,
    packs: Vec<Pack>,
}

struct Pack {
    index: File,
    data: File,
    count: u64,
}

impl Objects {
    /// Opens the objects below `common_dir`, and those of its alternates.
    pub(super) fn open(common_dir: &Path) -> Self {
        let own = common_dir.join("objects");
        let mut folders = vec![own.clone()];
        if let Ok(text) = files::read(&own.join("info/alternates"), 64 * 1024) {
            let text = String::from_utf8_lossy(&text).into_owned();
            folders.extend(text.lines().take(8).map(|line| own.join(line)));
        }
        let lists = folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder.join("pack")).ok());
        let packs = lists
            .flat_map(|list| list.take(4 * MAX_PACKS).flatten())
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "idx"))
            .take(MAX_PACKS)
            .filter_map(|path| Pack::open(&path))
            .collect();
        Self { folders, packs }
    }

    /// Reads an object.
    pub(super) fn read(&self, id: &Id) -> Option<(Kind, Vec<u8>)> {
        self.loose(id).or_else(|| {
            let (pack, offset) = self
                .packs
                .iter()
                .find_map(|pack| Some((pack, pack.offset(id)?)))?;
            self.packed(pack, offset)
        })
    }

    /// Returns the object whose name begins with these digits, if there is exactly one.
    pub(super) fn by_prefix(&self, digits: &str) -> Option<Id> {
        if digits.len() < 4 || digits.len() > 40 {
            return None;
        }
        if let Some(id) = parse_id(digits) {
            return Some(id);
        }
        let digits = digits.to_ascii_lowercase();
        let (folder, rest) = digits.split_at_checked(2)?;
        let mut found: Vec<Id> = Vec::new();
        for place in &self.folders {
            let names = std::fs::read_dir(place.join(folder))
                .into_iter()
                .flatten()
                .flatten();
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            let fitting = names.filter(|name| name.starts_with(rest));
            found.extend(fitting.filter_map(|name| parse_id(&format!("{folder}{name}"))));
        }
        found.extend(
            self.packs
                .iter()
                .filter_map(|pack| pack.first_from(&digits)),
        );
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    fn loose(&self, id: &Id) -> Option<(Kind, Vec<u8>)> {
        let name = hex::encode(id);
        let (folder, rest) = name.split_at_checked(2)?;
        let paths = self
            .folders
            .iter()
            .map(|place| place.join(folder).join(rest));
        let file = paths.filter_map(|path| File::open(path).ok()).next()?;
        let whole = inflate(file, MAX_OBJECT)?;
        let zero = whole.iter().position(|byte| *byte == 0)?;
        let head = std::str::from_utf8(whole.get(..zero)?).ok()?;
        let kind = match head.split(' ').next()? {
            "commit" => Kind::Commit,
            "tree" => Kind::Tree,
            "blob" => Kind::Blob,
            "tag" => Kind::Tag,
            _ => return None,
        };
        Some((kind, whole.get(zero.checked_add(1)?..)?.to_vec()))
    }

    /// Reads an object of a pack: its base first, then the deltas, the last one first.
    fn packed(&self, pack: &Pack, offset: u64) -> Option<(Kind, Vec<u8>)> {
        let mut deltas = Vec::new();
        let mut at = offset;
        let (kind, mut bytes) = loop {
            if deltas.len() > MAX_CHAIN {
                return None;
            }
            let entry = pack.entry(at)?;
            match entry.base {
                Base::None(kind) => break (kind, pack.inflated(&entry)?),
                Base::Offset(back) => {
                    deltas.push(pack.inflated(&entry)?);
                    at = at.checked_sub(back).filter(|_| back > 0)?;
                }
                Base::Object(id) => {
                    deltas.push(pack.inflated(&entry)?);
                    match pack.offset(&id) {
                        Some(offset) if offset != at => at = offset,
                        Some(_) => return None,
                        None => break self.loose(&id)?,
                    }
                }
            }
        };
        for delta in deltas.iter().rev() {
            bytes = patched(&bytes, delta)?;
        }
        Some((kind, bytes))
    }
}

enum Base {
    None(Kind),
    Offset(u64),
    Object(Id),
}

struct Entry {
    base: Base,
    size: u64,
    data: u64,
}

impl Pack {
    fn open(index: &Path) -> Option<Self> {
        let data = File::open(index.with_extension("pack")).ok()?;
        let index = File::open(index).ok()?;
        let mut head = [0; 8];
        index.read_exact_at(&mut head, 0).ok()?;
        if head != [0xFF, b't', b'O', b'c', 0, 0, 0, 2] {
            return None;
        }
        let count = u64::from(number(&index, 8 + 255 * 4)?);
        Some(Self { index, data, count })
    }

    fn name(&self, at: u64) -> Option<Id> {
        let mut id = [0; 20];
        self.index
            .read_exact_at(&mut id, NAMES + at.checked_mul(20)?)
            .ok()?;
        Some(id)
    }

    /// Returns the index of the first name that is not smaller.
    fn lower_bound(&self, wanted: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.name(middle)?.as_slice() < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    fn first_from(&self, digits: &str) -> Option<Id> {
        let even = digits.get(..digits.len() & !1)?;
        let at = self.lower_bound(&hex::decode(even).ok()?)?;
        (at..self.count)
            .take(512)
            .map_while(|at| self.name(at))
            .take_while(|id| hex::encode(id).starts_with(even))
            .find(|id| hex::encode(id).starts_with(digits))
    }

    fn offset(&self, id: &Id) -> Option<u64> {
        let at = self.lower_bound(id)?;
        if at >= self.count || self.name(at)? != *id {
            return None;
        }
        let offsets = NAMES + self.count * 24;
        let small = number(&self.index, offsets + at * 4)?;
        if small & 0x8000_0000 == 0 {
            return Some(u64::from(small));
        }
        let mut large = [0; 8];
        let place = offsets + self.count * 4 + u64::from(small & 0x7FFF_FFFF) * 8;
        self.index.read_exact_at(&mut large, place).ok()?;
        Some(u64::from_be_bytes(large))
    }

    fn byte(&self, at: &mut u64) -> Option<u8> {
        let mut byte = [0];
        self.data.read_exact_at(&mut byte, *at).ok()?;
        *at = at.checked_add(1)?;
        byte.first().copied()
    }

    fn entry(&self, offset: u64) -> Option<Entry> {
        let mut at = offset;
        let first = self.byte(&mut at)?;
        let mut size = u64::from(first & 0x0F);
        let mut shift = 4;
        let mut byte = first;
        while byte & 0x80 != 0 {
            byte = self.byte(&mut at)?;
            size |= u64::from(byte & 0x7F).checked_shl(shift)?;
            shift += 7;
        }
        let base = match (first >> 4) & 7 {
            1 => Base::None(Kind::Commit),
            2 => Base::None(Kind::Tree),
            3 => Base::None(Kind::Blob),
            4 => Base::None(Kind::Tag),
            6 => {
                let mut byte = self.byte(&mut at)?;
                let mut back = u64::from(byte & 0x7F);
                while byte & 0x80 != 0 {
                    byte = self.byte(&mut at)?;
                    back = (back.checked_add(1)?.checked_mul(128)?) | u64::from(byte & 0x7F);
                }
                Base::Offset(back)
            }
            7 => {
                let mut id = [0; 20];
                self.data.read_exact_at(&mut id, at).ok()?;
                at = at.checked_add(20)?;
                Base::Object(id)
            }
            _ => return None,
        };
        (size <= MAX_OBJECT).then_some(Entry {
            base,
            size,
            data: at,
        })
    }

    fn inflated(&self, entry: &Entry) -> Option<Vec<u8>> {
        let bytes = inflate(
            At {
                file: &self.data,
                at: entry.data,
            },
            entry.size,
        )?;
        (bytes.len() as u64 == entry.size).then_some(bytes)
    }
}

/// Reader of a file from an offset.
struct At<'f> {
    file: &'f File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at = self.at.saturating_add(read as u64);
        Ok(read)
    }
}

fn inflate(input: impl Read, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut input = ZlibDecoder::new(input).take(limit.saturating_add(1));
    input.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

fn number(file: &File, at: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(u32::from_be_bytes(bytes))
}

/// Parses forty digits.
pub(super) fn parse_id(digits: &str) -> Option<Id> {
    hex::decode(digits).ok()?.try_into().ok()
}

/// Applies a delta: copies of the base, and literal bytes.
fn patched(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut input = delta.iter().copied();
    let from = length(&mut input)?;
    let to = length(&mut input)?;
    if from != base.len() as u64 || to > MAX_OBJECT {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(command) = input.next() {
        if command & 0x80 == 0 {
            let own: Vec<u8> = input.by_ref().take(usize::from(command)).collect();
            if own.is_empty() || own.len() != usize::from(command) {
                return None;
            }
            bytes.extend(own);
        } else {
            let mut part = |bits: std::ops::Range<u8>| {
                let mut value = 0_usize;
                for (place, bit) in bits.enumerate() {
                    if command & (1 << bit) != 0 {
                        value |= usize::from(input.next()?) << (place * 8);
                    }
                }
                Some(value)
            };
            let start = part(0..4)?;
            let size = match part(4..7)? {
                0 => 0x1_0000,
                size => size,
            };
            bytes.extend(base.get(start..start.checked_add(size)?)?);
        }
        if bytes.len() as u64 > to {
            return None;
        }
    }
    (bytes.len() as u64 == to).then_some(bytes)
}

fn length(input: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = input.next()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
