//! A parsed bundle: well-formed, not yet verified.
//!
//! [`Bundle::parse`] borrows everything and checks the form; [`Bundle::verify`] in [`crate::evidence`] turns it into
//! [`Evidence`](crate::evidence::Evidence). Until then its contents are available only as [`Bundle::claims`].

use crate::extension::{ExtensionTag, Extensions};
use crate::key::PublicKey;
use crate::trace::{Calls, Totals};
use crate::wire::{HMAC_LEN, Header, Mode, Outcome, Section, Sections, Tag};

use self::reader::Reader;

mod reader;

/// Tolerance of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Refuse content that two readers could interpret differently.
    Strict,
    /// Accept everything that the reference reader accepts; tolerated problems become warnings.
    Lenient,
}

/// Problem with the form of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Fewer bytes than a header.
    TooShort,
    /// The first four bytes are not the magic.
    BadMagic,
    /// A version other than 1.
    UnsupportedVersion,
    /// The stated size is larger than the file.
    SizeMismatch,
    /// The stated size has no room for header and signature.
    TotalTooSmall,
    /// An unknown number of an outcome or a mode.
    BadEnum,
    /// A section runs past the end.
    SectionOverflow,
    /// Bytes between the last section and the end.
    StraySectionBytes,
    /// The same section twice.
    DuplicateSection,
    /// The header states another number of sections.
    SectionCountMismatch,
    /// The header's flags announce other sections.
    FlagMismatch,
    /// A tool call that cannot be parsed.
    TraceMalformed,
    /// The header states another number of tool calls.
    ToolCallCountMismatch,
    /// One of our sections that cannot be parsed.
    ExtensionMalformed,
    /// The policy section does not match the hash and mode of the header.
    PolicyMismatch,
    /// Bytes after the end of the bundle; they are not signed.
    TrailingBytes,
    /// Cost, latency or tokens of the header are not the sums of the trace.
    TotalsMismatch,
    /// A pad byte that is not 0.
    PadNonzero,
    /// More calls than the header can count; its number is the rest after division by 65,536.
    ToolCallCountWrapped,
    /// The Ed25519 signature is by a key that is unknown to the reader.
    UnknownSigner,
    /// The bundle is verified by its Ed25519 signature, which does not cover the HMAC; anyone can change those bytes.
    UncheckedHmac,
}

impl Reason {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TooShort => "too_short",
            Self::BadMagic => "bad_magic",
            Self::UnsupportedVersion => "unsupported_version",
            Self::SizeMismatch => "size_mismatch",
            Self::TotalTooSmall => "total_too_small",
            Self::BadEnum => "bad_enum",
            Self::SectionOverflow => "section_overflow",
            Self::StraySectionBytes => "stray_section_bytes",
            Self::DuplicateSection => "duplicate_section",
            Self::SectionCountMismatch => "section_count_mismatch",
            Self::FlagMismatch => "flag_mismatch",
            Self::TraceMalformed => "trace_malformed",
            Self::ToolCallCountMismatch => "tool_call_count_mismatch",
            Self::ExtensionMalformed => "extension_malformed",
            Self::PolicyMismatch => "policy_mismatch",
            Self::TrailingBytes => "trailing_bytes",
            Self::TotalsMismatch => "totals_mismatch",
            Self::PadNonzero => "pad_nonzero",
            Self::ToolCallCountWrapped => "tool_call_count_wrapped",
            Self::UnknownSigner => "unknown_signer",
            Self::UncheckedHmac => "unchecked_hmac",
        }
    }

    /// Returns `true` if even a strict reader only warns.
    fn is_warning(self) -> bool {
        self >= Self::TrailingBytes
    }
}

/// Error of a bundle that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Malformed {
    /// Reason for programs.
    pub reason: Reason,
    /// Description for people, with the position.
    pub detail: String,
}

/// Statements of a bundle, verified or not.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    header: Header,
    area: &'a [u8],
    known: [Option<&'a [u8]>; 6],
    extensions: Extensions,
    totals: Totals,
}

impl<'a> Contents<'a> {
    /// Returns the header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the outcome of the task. A lenient reader counts unknown values as errors, like the reference's
    /// scorecard.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::from_wire(self.header.outcome).unwrap_or(Outcome::Error)
    }

    /// Returns the mode of the agent, if the number is known.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        Mode::from_wire(self.header.mode)
    }

    /// Returns the bytes of one of the six defined sections.
    #[must_use]
    pub fn section(&self, tag: Tag) -> Option<&'a [u8]> {
        self.known.get(slot(tag)).copied().flatten()
    }

    /// Returns every section in file order, unknown ones included.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> {
        Sections::new(self.area).map_while(Result::ok)
    }

    /// Returns the calls up to the first that cannot be parsed; for a strict reader, these are all calls.
    pub fn calls(&self) -> impl Iterator<Item = crate::trace::Call<'a>> {
        Calls::new(self.section(Tag::Trace).unwrap_or_default()).map_while(Result::ok)
    }

    /// Returns the sums of the trace.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the extensions: provenance, policy, violations, rollbacks, chain.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns `true` if spec, diff and test log are all present. Presence is enough, as in the reference.
    #[must_use]
    pub fn evidence_complete(&self) -> bool {
        let mut evidence = EVIDENCE.into_iter();
        evidence.all(|tag| self.section(tag).is_some())
    }

    /// Returns `true` if spec, diff and test log are all present and not empty, which is the rule of a scorecard.
    #[must_use]
    pub fn has_evidence(&self) -> bool {
        EVIDENCE.into_iter().all(|tag| self.has_text(tag))
    }

    /// Returns `true` if the section is present and visible: not only white space and characters without a shape.
    #[must_use]
    pub fn has_text(&self, tag: Tag) -> bool {
        let shows = |chunk: std::str::Utf8Chunk<'_>| {
            chunk.valid().chars().any(is_visible) || !chunk.invalid().is_empty()
        };
        // Nearly every section begins with a letter, and then the rest need not be decoded.
        self.section(tag).is_some_and(|value| {
            value.iter().any(u8::is_ascii_graphic) || value.utf8_chunks().any(shows)
        })
    }
}

/// Sections that show the request, the change and the tests.
const EVIDENCE: [Tag; 3] = [Tag::Spec, Tag::Diff, Tag::TestLog];

/// Returns `false` for white space, control characters and characters of no width.
fn is_visible(character: char) -> bool {
    let has_no_width = matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
    !character.is_whitespace() && !character.is_control() && !has_no_width
}

/// Returns the name of a section for people and programs.
#[must_use]
pub fn section_name(tag: u16) -> String {
    let defined = Tag::from_wire(tag).map(Tag::name);
    let ours = || ExtensionTag::from_wire(tag).map(ExtensionTag::name);
    defined
        .or_else(ours)
        .map_or_else(|| format!("0x{tag:04X}"), str::to_owned)
}

fn slot(tag: Tag) -> usize {
    tag as usize - 1
}

/// An Ed25519 signature and the bytes that it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicSeal<'a> {
    pub(crate) signer: PublicKey,
    pub(crate) signature: &'a [u8; 64],
    pub(crate) covers: &'a [u8],
}

/// A well-formed bundle that is not verified yet.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    bytes: &'a [u8],
    contents: Contents<'a>,
    pub(crate) hmac: Option<&'a [u8; HMAC_LEN]>,
    pub(crate) public_seal: Option<PublicSeal<'a>>,
    pub(crate) warnings: Vec<Reason>,
}

impl<'a> Bundle<'a> {
    /// Parses a bundle without copying it.
    ///
    /// # Errors
    /// Fails if the bytes are not a bundle, or one that two readers could interpret differently.
    pub fn parse(bytes: &'a [u8], strictness: Strictness) -> Result<Self, Malformed> {
        Reader {
            strictness,
            warnings: Vec::new(),
        }
        .read(bytes)
    }

    /// Returns the statements of the bundle, not yet verified.
    #[must_use]
    pub fn claims(&self) -> &Contents<'a> {
        &self.contents
    }

    /// Returns the bytes that the header covers, without trailing ones.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `true` if the bundle has any signature.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.hmac.is_some() || self.public_seal.is_some()
    }

    /// Returns the problems that did not prevent parsing.
    #[must_use]
    pub fn warnings(&self) -> &[Reason] {
        &self.warnings
    }

    pub(crate) fn into_contents(self) -> Contents<'a> {
        self.contents
    }

    /// Returns the bytes that the HMAC covers.
    pub(crate) fn hmac_payload(&self) -> &'a [u8] {
        let end = self.bytes.len().saturating_sub(HMAC_LEN);
        self.bytes.get(..end).unwrap_or_default()
    }
}
