//! The binary format of a shipment, which a machine sends to the archive in one request and signs with its key.
//!
//! ```text
//! "roleos shipment v1\n"                19 bytes
//! public key of the machine             32 bytes
//! Ed25519 signature                     64 bytes, over "roleos shipment ed25519 v1\n" and SHA-256 of what follows
//! leaves of the archive that the machine has seen, u64 little-endian
//! frames: kind u8, length of the body u32 little-endian, body
//! ```
//!
//! A frame of kind 1 is a bundle. One of kind 2 is a line of a log: length of the log's name u8, name, number u64
//! little-endian, text. Bundles prove themselves by their own signature; lines are covered by the signature of the
//! shipment.

use std::ops::Range;
use std::sync::Arc;

use witness::key::{PublicKey, SigningKey};

use super::LogName;

const MAGIC: &[u8; 19] = b"roleos shipment v1\n";
const CONTEXT: &[u8] = b"roleos shipment ed25519 v1\n";
const HEAD: usize = MAGIC.len() + 32 + 64;

const BUNDLE: u8 = 1;
const LINE: u8 = 2;

/// Most bytes of a shipment.
pub const MAX_SHIPMENT: usize = 16 * 1024 * 1024;
/// Most frames of a shipment.
pub const MAX_FRAMES: usize = 4096;
/// Largest bundle that fits a shipment.
pub const MAX_BUNDLE: usize = MAX_SHIPMENT - 1024;
/// Longest accepted line.
pub const MAX_LINE: usize = 4 * 1024 * 1024;

/// Reason why bytes are not a shipment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadShipment {
    /// More than [`MAX_SHIPMENT`] bytes.
    #[error("the shipment has {0} bytes, at most {MAX_SHIPMENT} are taken")]
    TooLong(usize),
    /// More than [`MAX_FRAMES`] frames.
    #[error("the shipment has more than {MAX_FRAMES} frames")]
    TooMany,
    /// The magic bytes are wrong.
    #[error("the bytes are not a shipment of version 1")]
    Magic,
    /// The sender's key is not a point of the curve.
    #[error("the public key of the sender is not valid")]
    Key,
    /// The signature does not match the bytes.
    #[error("the signature of the sender does not fit the bytes")]
    Signature,
    /// A frame is cut off or malformed.
    #[error("frame {0} of the shipment cannot be read")]
    Frame(usize),
}

/// A part of shared bytes.
#[derive(Clone)]
pub struct Slice {
    whole: Arc<[u8]>,
    range: Range<usize>,
}

impl Slice {
    /// Returns a slice of all the bytes.
    #[must_use]
    pub fn whole(bytes: impl Into<Arc<[u8]>>) -> Self {
        let whole = bytes.into();
        let range = 0..whole.len();
        Self { whole, range }
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slice({} bytes)", self.range.len())
    }
}

/// One item of a shipment.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A bundle, not checked yet.
    Bundle(Slice),
    /// A line of a log.
    Line {
        /// Name of the log.
        log: LogName,
        /// Number of the line in the log.
        number: u64,
        /// The line, without its line feed.
        text: Slice,
    },
}

/// A shipment with a valid signature; the caller checks that its sender is enrolled.
#[derive(Clone, Debug)]
pub struct Shipment {
    /// Key that signed it.
    pub sender: PublicKey,
    /// Leaves of the archive's ledger that the sender has a checkpoint of.
    pub seen: u64,
    /// Its items, in order.
    pub frames: Vec<Frame>,
}

impl Shipment {
    /// Parses a shipment and checks its signature.
    ///
    /// # Errors
    /// There are too many bytes, or they are malformed, or not signed by the key that they name.
    pub fn parse(bytes: &Arc<[u8]>) -> Result<Self, BadShipment> {
        if bytes.len() > MAX_SHIPMENT {
            return Err(BadShipment::TooLong(bytes.len()));
        }
        let rest = bytes.strip_prefix(MAGIC).ok_or(BadShipment::Magic)?;
        let (key, rest) = rest.split_first_chunk::<32>().ok_or(BadShipment::Magic)?;
        let (signature, rest) = rest.split_first_chunk::<64>().ok_or(BadShipment::Magic)?;
        let sender = PublicKey::parse(key).ok_or(BadShipment::Key)?;
        if !sender.verifies(&message(rest), signature) {
            return Err(BadShipment::Signature);
        }
        let (seen, _) = rest.split_first_chunk::<8>().ok_or(BadShipment::Frame(0))?;
        let seen = u64::from_le_bytes(*seen);
        let frames = frames(bytes, HEAD + 8)?;
        Ok(Self {
            sender,
            seen,
            frames,
        })
    }
}

fn frames(bytes: &Arc<[u8]>, mut at: usize) -> Result<Vec<Frame>, BadShipment> {
    let mut frames = Vec::new();
    while at < bytes.len() {
        if frames.len() == MAX_FRAMES {
            return Err(BadShipment::TooMany);
        }
        let bad = BadShipment::Frame(frames.len());
        let rest = bytes.get(at..).unwrap_or_default();
        let (kind, body) = frame(rest).ok_or_else(|| bad.clone())?;
        let start = at + 5;
        at = start + body.len();
        frames.push(match kind {
            BUNDLE => Frame::Bundle(Slice {
                whole: Arc::clone(bytes),
                range: start..at,
            }),
            LINE => {
                let (log, number, text) = line(body).ok_or(bad)?;
                Frame::Line {
                    log,
                    number,
                    text: Slice {
                        whole: Arc::clone(bytes),
                        range: at - text.len()..at,
                    },
                }
            }
            _ => return Err(bad),
        });
    }
    Ok(frames)
}

fn frame(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (kind, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    Some((*kind, rest.get(..length)?))
}

fn line(body: &[u8]) -> Option<(LogName, u64, &[u8])> {
    let (length, rest) = body.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let (number, text) = rest.split_first_chunk::<8>()?;
    let log = LogName::parse(std::str::from_utf8(name).ok()?)?;
    let is_line = text.len() <= MAX_LINE && !text.contains(&b'\n');
    is_line.then_some((log, u64::from_le_bytes(*number), text))
}

fn message(rest: &[u8]) -> Vec<u8> {
    let mut message = CONTEXT.to_vec();
    message.extend(base::digest(rest));
    message
}

/// Builder of shipments.
#[derive(Debug)]
pub struct Packer {
    body: Vec<u8>,
    frames: usize,
}

impl Packer {
    /// Creates an empty shipment of a machine that has seen so many leaves of the archive.
    #[must_use]
    pub fn new(seen: u64) -> Self {
        Self {
            body: seen.to_le_bytes().to_vec(),
            frames: 0,
        }
    }

    /// Returns the number of frames so far.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Returns `true` if there are no frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Adds a bundle; returns `false` if it does not fit any more.
    #[must_use]
    pub fn bundle(&mut self, bytes: &[u8]) -> bool {
        self.add(BUNDLE, &[bytes])
    }

    /// Adds a line; returns `false` if it does not fit any more.
    #[must_use]
    pub fn line(&mut self, log: &LogName, number: u64, text: &[u8]) -> bool {
        let name = log.as_str().as_bytes();
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        self.add(LINE, &[&[length], name, &number.to_le_bytes(), text])
    }

    fn add(&mut self, kind: u8, parts: &[&[u8]]) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let fits = HEAD + self.body.len() + 5 + length <= MAX_SHIPMENT;
        let Some(stated) = u32::try_from(length)
            .ok()
            .filter(|_| fits && self.frames < MAX_FRAMES)
        else {
            return false;
        };
        self.body.push(kind);
        self.body.extend(stated.to_le_bytes());
        parts.iter().for_each(|part| self.body.extend(*part));
        self.frames += 1;
        true
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        HEAD + self.body.len()
    }

    /// Signs and returns the bytes.
    #[must_use]
    pub fn sign(self, key: &SigningKey) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(key.public().to_bytes());
        bytes.extend(key.sign(&message(&self.body)));
        bytes.extend(self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SigningKey {
        SigningKey::new(&[7; 32])
    }

    fn packed() -> Vec<u8> {
        let mut packer = Packer::new(5);
        assert!(packer.bundle(b"bundle"));
        let log = LogName::parse("decisions/s-1").unwrap();
        assert!(packer.line(&log, 9, b"{\"a\":1}"));
        packer.sign(&key())
    }

    #[test]
    fn what_was_packed_is_read_again() {
        let shipment = Shipment::parse(&packed().into()).unwrap();
        assert_eq!((shipment.sender, shipment.seen), (key().public(), 5));
        let [Frame::Bundle(bundle), Frame::Line { log, number, text }] = &shipment.frames[..]
        else {
            panic!("{:?}", shipment.frames);
        };
        assert_eq!(bundle.bytes(), b"bundle");
        assert_eq!(
            (log.as_str(), *number, text.bytes()),
            ("decisions/s-1", 9, &b"{\"a\":1}"[..])
        );
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let good = packed();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(Shipment::parse(&bad.into()).is_err(), "byte {at}");
            assert!(Shipment::parse(&good[..at].to_vec().into()).is_err());
        }
    }

    #[test]
    fn a_signed_shipment_with_a_broken_frame_is_refused() {
        for tail in [
            &[1, 255, 255, 255, 255][..],
            &[3, 0, 0, 0, 0],
            &[2, 1, 0, 0, 0, 9],
        ] {
            let mut packer = Packer::new(0);
            packer.body.extend(tail);
            let read = Shipment::parse(&packer.sign(&key()).into());
            assert_eq!(read.unwrap_err(), BadShipment::Frame(0), "{tail:?}");
        }
    }
}
