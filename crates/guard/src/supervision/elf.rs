//! Executable files of Linux, as far as needed to recognise one under another name: features that a copy keeps when
//! bytes are appended, sections are stripped or single places are changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Limits of reading.
const MAX_HEADERS: u16 = 64;
const MAX_DYNAMIC: u64 = 16 * 1024;
const MAX_NOTE: u64 = 4096;
const MAX_INTERPRETER: u64 = 4096;
/// Sizes in the format, 64 bits and little endian.
const FILE_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// Smaller parts are alike in many programs.
const LARGE: u64 = 4096;
/// Distance of the compared blocks.
const STEP: u64 = 16 * 1024;
const BLOCK: usize = 1024;
const MAX_BLOCKS: usize = 256;
/// Smallest number of blocks that prove anything.
const MIN_BLOCKS: usize = 4;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NOTE: u32 = 4;
const EH_FRAME: u32 = 0x6474_e550;
const WRITABLE: u32 = 2;
const SHARED: u16 = 3;
const DT_SONAME: u64 = 14;
const BUILD_ID: u32 = 3;

/// A part of the file, from the program headers.
#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    length: u64,
}

/// An executable file.
#[derive(Debug)]
pub(super) struct Elf {
    file: File,
    entry: u64,
    is_shared: bool,
    segments: Vec<Segment>,
}

impl Elf {
    /// Reads the headers; `None` if it is not such a file.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut header = [0; FILE_HEADER];
        file.read_exact_at(&mut header, 0).ok()?;
        // Magic number, 64 bits, little endian.
        if !header.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
            return None;
        }
        let count = usize::from(number16(&header, 56)?.min(MAX_HEADERS));
        if number16(&header, 54)? != u16::try_from(PROGRAM_HEADER).ok()? {
            return None;
        }
        let mut table = vec![0; count * PROGRAM_HEADER];
        file.read_exact_at(&mut table, number64(&header, 32)?)
            .ok()?;
        let segment = |bytes: &[u8]| {
            Some(Segment {
                kind: number32(bytes, 0)?,
                flags: number32(bytes, 4)?,
                offset: number64(bytes, 8)?,
                address: number64(bytes, 16)?,
                length: number64(bytes, 32)?,
            })
        };
        Some(Self {
            entry: number64(&header, 24)?,
            is_shared: number16(&header, 16)? == SHARED,
            segments: table.chunks(PROGRAM_HEADER).filter_map(segment).collect(),
            file,
        })
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(move |segment| segment.kind == kind)
    }

    fn bytes(&self, segment: &Segment, most: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(segment.length.min(most)).unwrap_or(0);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, segment.offset)?;
        Ok(bytes)
    }

    /// Returns the path of its loader.
    pub(super) fn interpreter(&self) -> Option<PathBuf> {
        let segment = self.of_kind(INTERPRETER).next()?;
        let bytes = self.bytes(segment, MAX_INTERPRETER).ok()?;
        let name = bytes.split(|byte| *byte == 0).next()?;
        Some(PathBuf::from(OsStr::from_bytes(name)))
    }

    /// Returns `true` for a dynamic loader: a library that is executed as a program without another loader. A static
    /// program has no library name.
    pub(super) fn is_loader(&self) -> bool {
        let is_name = |entry: &[u8]| number64(entry, 0) == Some(DT_SONAME);
        self.is_shared
            && self.of_kind(INTERPRETER).next().is_none()
            && self.of_kind(DYNAMIC).any(|segment| {
                self.bytes(segment, MAX_DYNAMIC)
                    .is_ok_and(|bytes| bytes.chunks(16).any(is_name))
            })
    }

    /// Returns marks that two files share only by chance unless one was made from the other: position and length of
    /// large parts, the entry point, the build id.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![Mark::Place(0, self.entry, 0)];
        for segment in &self.segments {
            let Segment {
                kind,
                address,
                length,
                ..
            } = *segment;
            match kind {
                LOAD if length >= LARGE => marks.push(Mark::Place(kind, address, length)),
                DYNAMIC | EH_FRAME => marks.push(Mark::Place(kind, address, length)),
                NOTE => marks.extend(
                    self.bytes(segment, MAX_NOTE)
                        .ok()
                        .and_then(|bytes| build_id(&bytes))
                        .map(Mark::Build),
                ),
                _ => {}
            }
        }
        marks
    }

    /// Reads the bytes at an address, if the file holds them.
    fn at(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let segment = self.of_kind(LOAD).find(|segment| {
            address >= segment.address && address - segment.address < segment.length
        })?;
        let inside = address - segment.address;
        if segment.length - inside < u64::try_from(into.len()).ok()? {
            return None;
        }
        let offset = segment.offset.checked_add(inside)?;
        self.file.read_exact_at(into, offset).ok()
    }

    /// Returns `true` if most of the loaded read-only bytes are equal at the same addresses.
    pub(super) fn is_made_from(&self, original: &Self) -> bool {
        let constant = |segment: &&Segment| segment.flags & WRITABLE == 0;
        let places = original.of_kind(LOAD).filter(constant).flat_map(|segment| {
            let first = segment.address.checked_next_multiple_of(STEP);
            let steps = 0..(segment.length / STEP).saturating_add(1);
            steps.filter_map(move |step| first?.checked_add(step.checked_mul(STEP)?))
        });
        let (mut one, mut other) = ([0; BLOCK], [0; BLOCK]);
        let (mut compared, mut same) = (0_usize, 0_usize);
        // The first block holds the headers.
        for place in places.filter(|place| *place != 0).take(MAX_BLOCKS) {
            let filled = original.at(place, &mut one).is_some();
            if !filled || one.iter().all(|byte| *byte == 0) {
                continue;
            }
            compared += 1;
            same += usize::from(self.at(place, &mut other).is_some() && one == other);
        }
        compared >= MIN_BLOCKS && same * 2 > compared
    }
}

/// A feature by which a file may be recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mark {
    /// Kind, address and length of a part.
    Place(u32, u64, u64),
    /// Build id of the linker.
    Build(Vec<u8>),
}

/// Finds the build id among notes: lengths of name and text, kind, name, text, each padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let name = usize::try_from(number32(notes, 0)?).ok()?;
        let text = usize::try_from(number32(notes, 4)?).ok()?;
        let begin = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = begin.checked_add(text)?;
        if number32(notes, 8)? == BUILD_ID && notes.get(12..12 + name.min(4)) == Some(b"GNU\0") {
            return notes.get(begin..end).map(<[u8]>::to_vec);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make files that another would make"
)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Returns a program of this machine that is large enough, and another one.
    fn programs() -> (PathBuf, PathBuf) {
        let own = std::env::current_exe().unwrap();
        (own, fs::canonicalize("/bin/bash").unwrap())
    }

    fn shares_a_mark(one: &Path, other: &Path) -> bool {
        let (one, other) = (Elf::open(one).unwrap(), Elf::open(other).unwrap());
        let known = other.marks();
        one.marks().iter().any(|mark| known.contains(mark))
    }

    fn is_copy(one: &Path, other: &Path) -> bool {
        let (one, other) = (Elf::open(one).unwrap(), Elf::open(other).unwrap());
        one.is_made_from(&other)
    }

    #[test]
    fn a_changed_copy_is_known_and_another_program_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (own, bash) = programs();
        let bytes = fs::read(&bash).unwrap();
        let appended = [bytes.as_slice(), b"x"].concat();
        let mut entry = bytes.clone();
        entry[24] ^= 4;
        let mut text = bytes;
        for at in (8192..text.len()).step_by(100_003) {
            text[at] ^= 1;
        }
        for (name, changed) in [("appended", appended), ("entry", entry), ("text", text)] {
            let copy = folder.path().join(name);
            fs::write(&copy, changed).unwrap();
            assert!(shares_a_mark(&copy, &bash), "{name}");
            assert!(is_copy(&copy, &bash), "{name}");
            assert!(!is_copy(&copy, &own), "{name}");
        }
        assert!(!is_copy(&own, &bash));
        assert!(!is_copy(&bash, &own));
    }

    #[test]
    fn sections_that_are_taken_out_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (_, bash) = programs();
        let copy = folder.path().join("stripped");
        let made = Command::new("objcopy")
            .args(["--strip-all", "--remove-section=.note.gnu.build-id"])
            .args([&bash, &copy])
            .status();
        assert!(made.unwrap().success());
        assert_ne!(fs::read(&copy).unwrap(), fs::read(&bash).unwrap());
        assert!(shares_a_mark(&copy, &bash));
        assert!(is_copy(&copy, &bash));
    }

    #[test]
    fn a_loader_is_a_library_that_needs_none() {
        let (own, bash) = programs();
        let loader = Elf::open(&bash).unwrap().interpreter().unwrap();
        assert!(Elf::open(&loader).unwrap().is_loader());
        assert!(!Elf::open(&bash).unwrap().is_loader());
        assert!(!Elf::open(&own).unwrap().is_loader());
    }

    #[test]
    fn a_program_without_a_loader_is_not_one_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (code, program) = (folder.path().join("a.c"), folder.path().join("a"));
        fs::write(&code, "int main(void) { return 0; }\n").unwrap();
        let made = Command::new("cc")
            .arg("-static-pie")
            .args([&code, Path::new("-o"), &program])
            .status();
        assert!(made.unwrap().success());
        let elf = Elf::open(&program).unwrap();
        assert!(elf.interpreter().is_none() && !elf.is_loader());
    }

    #[test]
    fn broken_files_are_no_programs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let (_, bash) = programs();
        let mut bytes = fs::read(bash).unwrap();
        for end in [0, 3, 40, 64, 100, 4096] {
            fs::write(&file, &bytes[..end]).unwrap();
            if let Some(elf) = Elf::open(&file) {
                elf.marks();
                assert!(!elf.is_loader() && !elf.is_made_from(&elf), "{end}");
            }
        }
        // Parts beyond every valid offset.
        bytes[64..64 + 20 * PROGRAM_HEADER].fill(0xff);
        fs::write(&file, &bytes).unwrap();
        let elf = Elf::open(&file).unwrap();
        elf.marks();
        assert!(!elf.is_loader() && !elf.is_made_from(&elf));
    }
}
