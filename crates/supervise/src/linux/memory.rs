//! Strings and pointers in the memory of a process that waits for an answer. All of it is hostile: lengths are
//! limited before any allocation.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileExt as _;

use super::sys;

/// Limit of a list: the kernel allows arguments and environment together at most three quarters of 8 MiB.
const MAX_LIST: usize = 8 << 20;
/// Limit of a single argument in the kernel.
const MAX_WORD: usize = 128 << 10;
/// Limit of a path in the kernel.
const MAX_PATH: usize = 4096;
/// Limit of arguments that fit [`MAX_LIST`].
const MAX_WORDS: usize = MAX_LIST / 8;
const PAGE: usize = 4096;
/// Number of bytes of each argument that are read at first.
const FIRST: usize = 256;
/// Number of arguments per call.
const BATCH: usize = 64;
/// Number of bytes of a new image's stack that are read at first: the list of arguments, and mostly the arguments.
const HEAD: usize = 3072;

/// Reason that memory cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The kernel would fail as well, with this error number.
    Invalid(i32),
    /// The process does not permit it.
    Forbidden,
}

/// Memory of one thread.
#[derive(Debug)]
pub(super) struct Memory {
    thread: u32,
}

impl Memory {
    pub(super) fn of(thread: u32) -> Self {
        Self { thread }
    }

    /// Reads pieces in order; stops at the first unmapped one.
    fn read(&self, pieces: &[(u64, usize)], into: &mut [u8]) -> Result<usize, Unread> {
        match sys::read_memory(self.thread, pieces, into) {
            Ok(read) => Ok(read),
            Err(error) => match error.raw_os_error() {
                Some(libc::EFAULT) => Err(Unread::Invalid(libc::EFAULT)),
                // A sandbox may forbid the call and permit the file.
                Some(libc::EPERM | libc::ENOSYS) => self.read_file(pieces, into),
                Some(libc::ESRCH) => Err(Unread::Invalid(libc::ESRCH)),
                _ => Err(Unread::Forbidden),
            },
        }
    }

    fn read_file(&self, pieces: &[(u64, usize)], into: &mut [u8]) -> Result<usize, Unread> {
        let file =
            File::open(format!("/proc/{}/mem", self.thread)).map_err(|_| Unread::Forbidden)?;
        let mut done = 0;
        for (address, length) in pieces {
            let Some(room) = into.get_mut(done..done + length) else {
                break;
            };
            match file.read_at(room, *address) {
                Ok(read) => done += read,
                Err(_) if done > 0 => break,
                Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                    return Err(Unread::Invalid(libc::EFAULT));
                }
                Err(_) => return Err(Unread::Forbidden),
            }
        }
        Ok(done)
    }

    /// Reads bytes that must all be mapped.
    pub(super) fn bytes(&self, address: u64, into: &mut [u8]) -> Result<(), Unread> {
        let length = into.len();
        let read = self.read(&[(address, length)], into)?;
        if read == length {
            Ok(())
        } else {
            Err(Unread::Invalid(libc::EFAULT))
        }
    }

    /// Reads a path, and the address of the first argument of a list, by one call if possible.
    pub(super) fn path_and_first(
        &self,
        path: u64,
        words: u64,
        wide: bool,
    ) -> Result<(Vec<u8>, u64), Unread> {
        let width = if wide { 8 } else { 4 };
        let pieces = [(path, to_page_end(path).min(FIRST)), (words, width)];
        let [(_, length), _] = pieces;
        let mut buffer = [0; FIRST + 8];
        let room = buffer.get_mut(..length + width).unwrap_or_default();
        // An unmapped part is found when each is read separately.
        let read = match self.read(&pieces, room) {
            Ok(read) => read,
            Err(Unread::Invalid(libc::EFAULT)) => 0,
            Err(other) => return Err(other),
        };
        let known = buffer.get(..read.min(length)).unwrap_or_default();
        let path = match known.iter().position(|byte| *byte == 0) {
            Some(end) => known.iter().copied().take(end).collect(),
            None => self.rest_of(known.to_vec(), path, MAX_PATH, libc::ENAMETOOLONG)?,
        };
        let first = match buffer.get(length..length + width) {
            Some(bytes) if read == length + width => number(bytes),
            _ if words == 0 => 0,
            _ => {
                let mut bytes = [0; 8];
                self.bytes(words, bytes.get_mut(..width).unwrap_or_default())?;
                number(&bytes)
            }
        };
        Ok((path, first))
    }

    /// Reads an argument; `None` for a null pointer.
    pub(super) fn word(&self, address: u64) -> Result<Option<Vec<u8>>, Unread> {
        match address {
            0 => Ok(None),
            address => self.string(address, MAX_WORD, libc::E2BIG).map(Some),
        }
    }

    /// Reads a string that ends with a zero byte. One that is too long gives the kernel's `error`.
    fn string(&self, address: u64, max: usize, error: i32) -> Result<Vec<u8>, Unread> {
        self.rest_of(Vec::new(), address, max, error)
    }

    /// Reads the rest of a string behind its known part.
    fn rest_of(
        &self,
        mut known: Vec<u8>,
        address: u64,
        max: usize,
        error: i32,
    ) -> Result<Vec<u8>, Unread> {
        let mut page = [0; PAGE];
        while known.len() <= max {
            let at = address.wrapping_add(known.len() as u64);
            let want = to_page_end(at).min(if known.is_empty() { FIRST } else { PAGE });
            let Some(room) = page.get_mut(..want) else {
                break;
            };
            let read = self.read(&[(at, want)], room)?;
            let part = page.get(..read).filter(|part| !part.is_empty());
            let Some(part) = part else {
                return Err(Unread::Invalid(libc::EFAULT));
            };
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                known.extend(part.iter().take(end));
                return Ok(known);
            }
            known.extend(part);
        }
        Err(Unread::Invalid(error))
    }

    /// Reads pointers up to the null pointer.
    fn pointers(&self, address: u64, wide: bool) -> Result<Vec<u64>, Unread> {
        let width = if wide { 8 } else { 4 };
        let mut found = Vec::new();
        // A null list is empty.
        if address == 0 {
            return Ok(found);
        }
        let mut page = [0; PAGE];
        let mut at = address;
        while found.len() < MAX_WORDS {
            let want = to_page_end(at).min(if found.is_empty() { FIRST } else { PAGE });
            // A pointer may cross the end of a page.
            let want = if want < width {
                width
            } else {
                want - want % width
            };
            let Some(room) = page.get_mut(..want) else {
                break;
            };
            let read = self.read(&[(at, want)], room)?;
            if read < width {
                return Err(Unread::Invalid(libc::EFAULT));
            }
            for bytes in page.get(..read).unwrap_or_default().chunks_exact(width) {
                match number(bytes) {
                    0 => return Ok(found),
                    pointer => found.push(pointer),
                }
            }
            at = at.wrapping_add((read - read % width) as u64);
        }
        Err(Unread::Invalid(libc::E2BIG))
    }

    /// Reads a list of strings in the form of `execve`.
    pub(super) fn list(&self, address: u64, wide: bool) -> Result<Vec<OsString>, Unread> {
        let pointers = self.pointers(address, wide)?;
        let mut words = Vec::with_capacity(pointers.len());
        let mut total = 0;
        for batch in pointers.chunks(BATCH) {
            for (address, begun) in self.beginnings(batch)? {
                let word = match begun {
                    Begun::Whole(word) => word,
                    Begun::Part(part) => self.rest_of(part, address, MAX_WORD, libc::E2BIG)?,
                };
                total += word.len() + 1;
                if total > MAX_LIST {
                    return Err(Unread::Invalid(libc::E2BIG));
                }
                words.push(OsString::from_vec(word));
            }
        }
        Ok(words)
    }

    /// Reads the beginnings of many strings by one call. An unreadable one begins empty.
    fn beginnings(&self, pointers: &[u64]) -> Result<Vec<(u64, Begun)>, Unread> {
        let pieces: Vec<(u64, usize)> = pointers
            .iter()
            .map(|address| (*address, to_page_end(*address).min(FIRST)))
            .collect();
        let mut buffer = vec![0; pieces.iter().map(|(_, length)| length).sum()];
        let read = match self.read(&pieces, &mut buffer) {
            Ok(read) => read,
            // The first is unmapped; it is found when each is read separately.
            Err(Unread::Invalid(libc::EFAULT)) => 0,
            Err(other) => return Err(other),
        };
        let mut rest = buffer.get(..read).unwrap_or_default();
        let begun = pieces.iter().map(|(address, length)| {
            let (piece, behind) = rest.split_at_checked(*length).unwrap_or((&[], &[]));
            rest = behind;
            let begun = match piece.iter().position(|byte| *byte == 0) {
                Some(end) => Begun::Whole(piece.iter().copied().take(end).collect()),
                None => Begun::Part(piece.to_vec()),
            };
            (*address, begun)
        });
        Ok(begun.collect())
    }

    /// Returns `true` if the stack of an image that has not begun yet holds exactly these arguments; without `whole`,
    /// if it begins with them. Returns `false` as well if that is unknown, because the layout is not that of a 64-bit
    /// program.
    pub(super) fn starts_with(&self, stack: u64, words: &[&OsStr], whole: bool) -> bool {
        let mut head = [0; HEAD];
        let near = to_page_end(stack).min(HEAD);
        let pieces = [
            (stack, near),
            (stack.wrapping_add(near as u64), HEAD - near),
        ];
        let Ok(read) = self.read(&pieces, &mut head) else {
            return false;
        };
        let head = head.get(..read).unwrap_or_default();
        let (numbers, _) = head.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let count = numbers.next().and_then(|count| usize::try_from(count).ok());
        let fits = |count: usize| count == words.len() || (!whole && count > words.len());
        let Some(first) = numbers.next().filter(|_| count.is_some_and(fits)) else {
            return false;
        };
        // The kernel stores the arguments one behind another.
        let mut at = first;
        let mut expected = Vec::new();
        for (word, pointer) in words
            .iter()
            .zip(std::iter::once(first).chain(numbers.by_ref()))
        {
            if pointer != at {
                return false;
            }
            expected.extend_from_slice(word.as_bytes());
            expected.push(0);
            at = first.wrapping_add(expected.len() as u64);
        }
        // The list must have been long enough for all of them.
        if expected.iter().filter(|byte| **byte == 0).count() != words.len() {
            return false;
        }
        let near = usize::try_from(first.wrapping_sub(stack))
            .ok()
            .and_then(|start| head.get(start..start.checked_add(expected.len())?));
        if let Some(near) = near {
            return near == expected;
        }
        let mut found = vec![0; expected.len()];
        self.bytes(first, &mut found).is_ok() && found == expected
    }
}

/// Converts at most eight bytes to a number.
fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    for (to, from) in whole.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(whole)
}

/// Known part of a string.
enum Begun {
    Whole(Vec<u8>),
    Part(Vec<u8>),
}

/// Returns the number of bytes up to the end of the page, behind which nothing may be mapped.
fn to_page_end(address: u64) -> usize {
    PAGE - usize::try_from(address % PAGE as u64).unwrap_or(0)
}

/// Reads a file of `/proc` with strings that each end with a zero byte.
pub(super) fn strings_of(process: u32, file: &str) -> io::Result<Vec<u8>> {
    std::fs::read(format!("/proc/{process}/{file}"))
}

/// Splits the result of [`strings_of`].
pub(super) fn split(bytes: &[u8]) -> Vec<OsString> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes
        .split(|byte| *byte == 0)
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect()
}

/// Returns `true` if zero-terminated strings are exactly these arguments.
pub(super) fn are(bytes: &[u8], words: &[impl AsRef<OsStr>]) -> bool {
    let mut rest = bytes;
    for word in words {
        let word = word.as_ref().as_bytes();
        let Some(behind) = rest
            .strip_prefix(word)
            .and_then(|behind| behind.strip_prefix(&[0]))
        else {
            return false;
        };
        rest = behind;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Memory {
        Memory::of(std::process::id())
    }

    #[test]
    fn words_are_read_whole() {
        let long = "x".repeat(100_000);
        for words in [
            vec![],
            vec!["a"],
            vec!["", "", "b"],
            vec![long.as_str(), "tail"],
            vec!["w"; 9_000],
        ] {
            let kept: Vec<Vec<u8>> = words
                .iter()
                .map(|word| [word.as_bytes(), &[0]].concat())
                .collect();
            let mut list: Vec<u64> = kept
                .iter()
                .map(|word| word.as_ptr().addr() as u64)
                .collect();
            list.push(0);
            let found = own().list(list.as_ptr().addr() as u64, true).unwrap();
            assert_eq!(found, words);
            let bytes = kept.concat();
            assert!(are(&bytes, &found));
            assert_eq!(split(&bytes), found);
            assert!(!are(&[bytes.as_slice(), b"more\0"].concat(), &found));
        }
    }

    #[test]
    fn a_path_and_the_first_word_are_read_together() {
        let long = format!("/{}", "x".repeat(3_000));
        for (path, name) in [
            ("/bin/true", Some("true")),
            ("", Some("")),
            (long.as_str(), Some(long.as_str())),
            ("a", None),
        ] {
            let ended = |text: &str| [text.as_bytes(), &[0]].concat();
            let (path_there, name_there) = (ended(path), name.map(ended));
            let at = |bytes: &Vec<u8>| bytes.as_ptr().addr() as u64;
            let list = [name_there.as_ref().map_or(0, at), 0];
            let found = own().path_and_first(at(&path_there), list.as_ptr().addr() as u64, true);
            let (found, first) = found.unwrap();
            assert_eq!(found, path.as_bytes());
            let called = own().word(first).unwrap();
            assert_eq!(called.as_deref(), name.map(str::as_bytes));
            let found = own().path_and_first(at(&path_there), 0, true);
            assert_eq!(found, Ok((path.as_bytes().to_vec(), 0)));
        }
        let fault = Err(Unread::Invalid(libc::EFAULT));
        assert!(own().word(8).is_err());
        assert_eq!(own().path_and_first(8, 0, true), fault);
        let path = b"a\0";
        let there = path.as_ptr().addr() as u64;
        assert_eq!(own().path_and_first(there, 8, true), fault);
    }

    #[test]
    fn words_on_a_new_stack_are_compared_whole() {
        // The kernel's layout: the number of arguments, their addresses, a null pointer, and the arguments behind it.
        let stack = |count: u64, words: &[&str], gap: u64| {
            let text: Vec<u8> = words
                .iter()
                .flat_map(|word| [word.as_bytes(), &[0]].concat())
                .collect();
            let mut numbers = vec![count];
            numbers.resize(words.len() + 2, 0);
            let room = text.len().div_ceil(8);
            let start = numbers.len();
            numbers.resize(start + room + HEAD / 8, 0);
            let base = numbers.as_ptr().addr() as u64 + 8 * start as u64;
            let mut at = base;
            for (place, word) in numbers.iter_mut().skip(1).zip(words) {
                *place = at;
                at += word.len() as u64 + 1 + gap;
            }
            for (place, bytes) in numbers.iter_mut().skip(start).zip(text.chunks(8)) {
                *place = number(bytes);
            }
            numbers
        };
        let check = |stack: &[u64], words: &[&str], whole: bool| {
            let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
            own().starts_with(stack.as_ptr().addr() as u64, &words, whole)
        };
        let long = "y".repeat(5_000);
        for words in [
            vec!["git", "push", "origin"],
            vec![""],
            vec!["a", long.as_str(), "b"],
        ] {
            let laid = stack(words.len() as u64, &words, 0);
            assert!(check(&laid, &words, true), "{words:?}");
            assert!(check(&laid, &words[..1], false));
            assert_eq!(check(&laid, &words[..1], true), words.len() == 1);
            assert!(!check(&laid, &[&words[..], &["more"]].concat(), true));
            assert!(!check(&laid, &["other"], false));
            assert!(!check(
                &stack(words.len() as u64 + 1, &words, 0),
                &words,
                true
            ));
        }
        assert!(
            !check(&stack(2, &["a", "b"], 1), &["a", "b"], true),
            "laid out otherwise"
        );
        assert!(!check(&stack(0, &[], 0), &["a"], false));
        assert!(!own().starts_with(8, &[OsStr::new("a")], false));
    }

    #[test]
    fn narrow_pointers_are_read() {
        let list = [0_u32, 7];
        let found = own().pointers(list.as_ptr().addr() as u64, false).unwrap();
        assert_eq!(found, Vec::<u64>::new());
    }

    #[test]
    fn what_is_not_there_is_the_kernels_error() {
        let fault = Unread::Invalid(libc::EFAULT);
        assert_eq!(own().list(8, true), Err(fault));
        assert_eq!(own().list(0, true), Ok(Vec::new()));
        let list = [8_u64, 0];
        assert_eq!(own().list(list.as_ptr().addr() as u64, true), Err(fault));
        assert_eq!(own().string(8, MAX_PATH, libc::ENAMETOOLONG), Err(fault));
        let endless = vec![b'x'; 8192];
        let found = own().string(endless.as_ptr().addr() as u64, MAX_PATH, libc::ENAMETOOLONG);
        assert_eq!(found, Err(Unread::Invalid(libc::ENAMETOOLONG)));
    }
}
