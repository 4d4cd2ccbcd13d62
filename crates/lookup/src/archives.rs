//! Names in an archive: tar, tar in gzip, and zip. Contents are skipped.
//!
//! No allocation depends on a number in the file; a file that is not understood is [`Listing::Unknown`].

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use oversight::lookup::{Listing, MAX_ENTRIES};

/// Limit of the bytes of an archive that are read, after decompression.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// Limit of a name in an extended header, in bytes.
const MAX_NAME: u64 = 64 * 1024;
/// Limit of the central directory of a zip file, in bytes.
const MAX_LIST: u64 = 32 * 1024 * 1024;
/// Limit of the end record of a zip file, with its comment.
const MAX_END: u64 = 64 * 1024 + 22;

const BLOCK: usize = 512;

/// Searches the names in an archive.
pub(super) fn search(path: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
    match std::fs::metadata(path) {
        Err(_) => return Listing::Missing,
        Ok(facts) if !facts.is_file() => return Listing::Unknown,
        Ok(_) => {}
    }
    let names = File::open(path).and_then(|mut file| {
        let mut magic = [0; 2];
        file.read_exact(&mut magic)?;
        file.seek(SeekFrom::Start(0))?;
        let mut search = Names::new(is_wanted);
        match magic {
            [b'P', b'K'] => zip(file, &mut search)?,
            [0x1F, 0x8B] => tar(MultiGzDecoder::new(BufReader::new(file)), &mut search)?,
            _ => tar(BufReader::new(file), &mut search)?,
        }
        Ok(search.found)
    });
    match names {
        Ok(Some(name)) => Listing::Found(name),
        Ok(None) => Listing::Clean,
        Err(_) => Listing::Unknown,
    }
}

/// Names that were seen.
struct Names<'w> {
    is_wanted: &'w dyn Fn(&str) -> bool,
    found: Option<String>,
    seen: usize,
    links: Vec<String>,
}

impl<'w> Names<'w> {
    fn new(is_wanted: &'w dyn Fn(&str) -> bool) -> Self {
        Self {
            is_wanted,
            found: None,
            seen: 0,
            links: Vec::new(),
        }
    }

    /// Checks one name. An entry below a link of the archive itself arrives elsewhere, so the archive is not
    /// understood.
    fn see(&mut self, name: &[u8], is_link: bool) -> io::Result<()> {
        let name = String::from_utf8_lossy(name).replace('\\', "/");
        let name = name.trim_start_matches("./").trim_start_matches('/');
        self.seen = self.seen.saturating_add(1);
        let is_below = |link: &String| {
            name.strip_prefix(link.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if self.seen > MAX_ENTRIES || self.links.iter().any(is_below) {
            return Err(not_understood());
        }
        if is_link {
            self.links.push(name.trim_end_matches('/').to_owned());
        }
        if self.found.is_none() && (self.is_wanted)(name) {
            self.found = Some(name.to_owned());
        }
        Ok(())
    }
}

fn not_understood() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

/// Reads all headers. Empty blocks do not end it, because some programs read on behind them.
fn tar(input: impl Read, names: &mut Names<'_>) -> io::Result<()> {
    let mut input = input.take(MAX_BYTES);
    let mut extended = Extended::default();
    let mut block = [0; BLOCK];
    let mut blocks = 0_usize;
    while names.found.is_none() {
        match input.read_exact(&mut block) {
            Ok(()) => blocks = blocks.saturating_add(1),
            Err(error)
                if error.kind() == io::ErrorKind::UnexpectedEof
                    && blocks > 0
                    && input.limit() > 0 =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        let header = Header::parse(&block).ok_or_else(not_understood)?;
        if let b'L' | b'K' | b'x' | b'g' = header.kind {
            let data = content(&mut input, header.size)?;
            extended.add(header.kind, &data)?;
            continue;
        }
        let Extended { name, size } = std::mem::take(&mut extended);
        names.see(
            &name.unwrap_or(header.name),
            matches!(header.kind, b'1' | b'2'),
        )?;
        if !matches!(header.kind, b'1'..=b'6') {
            skip(&mut input, padded(size.unwrap_or(header.size))?)?;
        }
    }
    Ok(())
}

fn padded(size: u64) -> io::Result<u64> {
    size.checked_next_multiple_of(BLOCK as u64)
        .ok_or_else(not_understood)
}

/// Reads the content of an extended header, with its padding.
fn content(input: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    if size > MAX_NAME {
        return Err(not_understood());
    }
    let mut data = Vec::new();
    input.take(size).read_to_end(&mut data)?;
    skip(input, padded(size)?.saturating_sub(size))?;
    Ok(data)
}

/// Fields of extended headers for the next entry.
#[derive(Default)]
struct Extended {
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    fn add(&mut self, kind: u8, data: &[u8]) -> io::Result<()> {
        match kind {
            b'L' => self.name = Some(until_zero(data).to_vec()),
            b'x' => {
                for (key, value) in records(data).ok_or_else(not_understood)? {
                    match key {
                        b"path" | b"GNU.sparse.name" => self.name = Some(value.to_vec()),
                        b"size" => {
                            let text = std::str::from_utf8(value).ok();
                            let size = text.and_then(|text| text.parse().ok());
                            self.size = Some(size.ok_or_else(not_understood)?);
                        }
                        _ => {}
                    }
                }
            }
            b'g' => {
                let records = records(data).ok_or_else(not_understood)?;
                let moves = |(key, _): &(&[u8], &[u8])| matches!(*key, b"path" | b"size");
                if records.iter().any(moves) {
                    return Err(not_understood());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn skip(input: &mut impl Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut input.take(bytes), &mut io::sink())?;
    if skipped == bytes {
        Ok(())
    } else {
        Err(not_understood())
    }
}

struct Header {
    name: Vec<u8>,
    size: u64,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        let stated = octal(block.get(148..156)?)?;
        let sum = block.iter().enumerate().map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        });
        if sum.sum::<u64>() != stated {
            return None;
        }
        let mut name = Vec::new();
        if block.get(257..262)? == b"ustar" && block.get(257..265)? != b"ustar  \0" {
            let prefix = until_zero(block.get(345..500)?);
            if !prefix.is_empty() {
                name.extend_from_slice(prefix);
                name.push(b'/');
            }
        }
        name.extend_from_slice(until_zero(block.get(..100)?));
        Some(Self {
            name,
            size: size(block.get(124..136)?)?,
            kind: *block.get(156)?,
        })
    }
}

/// Parses a size: octal digits, or a binary number behind a marker.
fn size(field: &[u8]) -> Option<u64> {
    if *field.first()? & 0x80 == 0 {
        return octal(field);
    }
    let (head, tail) = field.split_at_checked(4)?;
    let is_small = head
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte == if at == 0 { 0x80 } else { 0 });
    let number: [u8; 8] = tail.try_into().ok()?;
    is_small.then(|| u64::from_be_bytes(number))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim();
    if text.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(text, 8).ok()
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Parses the records of an extended header: lines of `length key=value`.
fn records(mut data: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut all = Vec::new();
    while !data.is_empty() {
        let blank = data.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(data.get(..blank)?).ok()?.parse().ok()?;
        let (line, rest) = data.split_at_checked(length.max(1))?;
        let text = line.get(blank..)?.strip_prefix(b" ")?;
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let equals = text.iter().position(|byte| *byte == b'=')?;
        let (key, value) = text.split_at_checked(equals)?;
        all.push((key, value.get(1..)?));
        data = rest;
    }
    Some(all)
}

fn zip(mut file: File, names: &mut Names<'_>) -> io::Result<()> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_END)))?;
    let mut end = Vec::new();
    file.by_ref().take(MAX_END).read_to_end(&mut end)?;
    let at = end
        .windows(4)
        .rposition(|mark| mark == b"PK\x05\x06")
        .ok_or_else(not_understood)?;
    let record = end.get(at..).unwrap_or_default();
    let field = |from: usize| {
        let bytes = record.get(from..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_le_bytes(*bytes)))
    };
    let (size, offset) = field(12).zip(field(16)).ok_or_else(not_understood)?;
    let count = record.get(10..).and_then(|bytes| bytes.first_chunk::<2>());
    let count = count.map(|count| usize::from(u16::from_le_bytes(*count)));
    // The directory ends where the record begins. Programs differ in which of the numbers they use, so all must
    // agree; a file of more than 4 GiB stores them elsewhere.
    let from_end = (end.len() as u64)
        .saturating_sub(at as u64)
        .saturating_add(size);
    if size > MAX_LIST || length.checked_sub(from_end) != Some(offset) {
        return Err(not_understood());
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut list = Vec::new();
    file.take(size).read_to_end(&mut list)?;
    zip_list(&list, names)?;
    if names.found.is_none() && count != Some(names.seen) {
        return Err(not_understood());
    }
    Ok(())
}

fn zip_list(mut list: &[u8], names: &mut Names<'_>) -> io::Result<()> {
    while !list.is_empty() {
        let (head, rest) = list.split_at_checked(46).ok_or_else(not_understood)?;
        let half = |at: usize| {
            let bytes = head.get(at..)?.first_chunk::<2>()?;
            Some(usize::from(u16::from_le_bytes(*bytes)))
        };
        let lengths = half(28).zip(half(30)).zip(half(32));
        let ((name, extra), comment) = lengths.ok_or_else(not_understood)?;
        let mode = head.get(40..42).and_then(|bytes| bytes.first_chunk::<2>());
        let is_link = mode.is_some_and(|mode| u16::from_le_bytes(*mode) & 0o170_000 == 0o120_000);
        let whole = name.saturating_add(extra).saturating_add(comment);
        let (entry, after) = rest.split_at_checked(whole).ok_or_else(not_understood)?;
        if !head.starts_with(b"PK\x01\x02") {
            return Err(not_understood());
        }
        names.see(entry.get(..name).unwrap_or_default(), is_link)?;
        list = after;
    }
    Ok(())
}
