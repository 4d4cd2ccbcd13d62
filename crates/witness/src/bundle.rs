//! A bundle as it was read: well-formed, not yet believed.
//!
//! [`Bundle::parse`] borrows everything and checks the form; [`Bundle::verify`] in [`crate::evidence`] turns it into
//! [`Evidence`](crate::evidence::Evidence). Until then its contents can be had only as [`Bundle::claims`].

use crate::extension::{ExtensionTag, Extensions};
use crate::key::PublicKey;
use crate::trace::{Calls, Totals};
use crate::wire::{HMAC_LEN, Header, Mode, Outcome, Section, Sections, Tag};

use self::reader::Reader;

mod reader;

/// How much a reader forgives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Refuse what two readers could understand differently.
    Strict,
    /// Accept what the reference reader accepts; what was forgiven becomes a warning.
    Lenient,
}

/// What is wrong with the form of a bundle.
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
    /// An outcome or mode without a meaning.
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
    /// A tool call that cannot be read.
    TraceMalformed,
    /// The header states another number of tool calls.
    ToolCallCountMismatch,
    /// A section of ours that cannot be read.
    ExtensionMalformed,
    /// The policy section is not the one that the header's hash and mode speak of.
    PolicyMismatch,
    /// Bytes after the end of the bundle; they are not signed.
    TrailingBytes,
    /// Cost, latency or tokens of the header are not the sums of the trace.
    TotalsMismatch,
    /// A pad byte that is not 0.
    PadNonzero,
    /// More calls than the header can count; its number is the rest after division by 65,536.
    ToolCallCountWrapped,
    /// The Ed25519 signature is by a key that the reader does not know.
    UnknownSigner,
    /// The bundle is believed by its Ed25519 signature, which does not cover the HMAC; anybody can change those bytes.
    UncheckedHmac,
}

impl Reason {
    /// Stable name, as used in JSON.
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

    /// Whether even a strict reader only warns.
    fn is_warning(self) -> bool {
        self >= Self::TrailingBytes
    }
}

/// Why a bundle could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Malformed {
    /// For programs.
    pub reason: Reason,
    /// For people, with the place.
    pub detail: String,
}

/// What a bundle says. Whether it is true is not known here.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    header: Header,
    area: &'a [u8],
    known: [Option<&'a [u8]>; 6],
    extensions: Extensions,
    totals: Totals,
}

impl<'a> Contents<'a> {
    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How the task ended. A lenient reader counts unknown values as errors, like the reference's scorecard.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::from_wire(self.header.outcome).unwrap_or(Outcome::Error)
    }

    /// How much freedom the agent had, when the number has a meaning.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        Mode::from_wire(self.header.mode)
    }

    /// The bytes of one of the six defined sections.
    #[must_use]
    pub fn section(&self, tag: Tag) -> Option<&'a [u8]> {
        self.known.get(slot(tag)).copied().flatten()
    }

    /// Every section in file order, unknown ones included.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> {
        Sections::new(self.area).map_while(Result::ok)
    }

    /// The calls up to the first that cannot be read; a strict reader has made sure that there is none.
    pub fn calls(&self) -> impl Iterator<Item = crate::trace::Call<'a>> {
        Calls::new(self.section(Tag::Trace).unwrap_or_default()).map_while(Result::ok)
    }

    /// What the trace adds up to.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Provenance, policy, violations, rollbacks, chain.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns `true` if spec, diff and test log are all there. Presence is enough, as in the reference.
    #[must_use]
    pub fn evidence_complete(&self) -> bool {
        let mut evidence = EVIDENCE.into_iter();
        evidence.all(|tag| self.section(tag).is_some())
    }

    /// Returns `true` if spec, diff and test log are all there and none is empty, which is what a scorecard counts.
    #[must_use]
    pub fn has_evidence(&self) -> bool {
        EVIDENCE.into_iter().all(|tag| self.has_text(tag))
    }

    /// Returns `true` if the section is there and shows something: not only white space and characters without a shape.
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

/// The sections that show what was asked, done and tested.
const EVIDENCE: [Tag; 3] = [Tag::Spec, Tag::Diff, Tag::TestLog];

/// Returns `false` for white space, control characters and those that are drawn with no width.
fn is_visible(character: char) -> bool {
    let has_no_width = matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
    !character.is_whitespace() && !character.is_control() && !has_no_width
}

/// Name of a section for people and programs.
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

/// A well-formed bundle that nobody has checked yet.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    bytes: &'a [u8],
    contents: Contents<'a>,
    pub(crate) hmac: Option<&'a [u8; HMAC_LEN]>,
    pub(crate) public_seal: Option<PublicSeal<'a>>,
    pub(crate) warnings: Vec<Reason>,
}

impl<'a> Bundle<'a> {
    /// Reads a bundle without copying it.
    ///
    /// # Errors
    /// The bytes are not a bundle, or not one that is read the same way by everybody.
    pub fn parse(bytes: &'a [u8], strictness: Strictness) -> Result<Self, Malformed> {
        Reader {
            strictness,
            warnings: Vec::new(),
        }
        .read(bytes)
    }

    /// What the bundle says, before anybody has checked who says it.
    #[must_use]
    pub fn claims(&self) -> &Contents<'a> {
        &self.contents
    }

    /// The bytes that the header speaks of, without anything that trails them.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the bundle carries any signature.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.hmac.is_some() || self.public_seal.is_some()
    }

    /// What a reader should know although the bundle was read.
    #[must_use]
    pub fn warnings(&self) -> &[Reason] {
        &self.warnings
    }

    pub(crate) fn into_contents(self) -> Contents<'a> {
        self.contents
    }

    /// The bytes that the HMAC covers.
    pub(crate) fn hmac_payload(&self) -> &'a [u8] {
        let end = self.bytes.len().saturating_sub(HMAC_LEN);
        self.bytes.get(..end).unwrap_or_default()
    }
}
