//! A bundle as it was read: well-formed, not yet believed.
//!
//! [`Bundle::parse`] borrows everything and checks the form; [`Bundle::verify`] in [`crate::evidence`] turns it into
//! [`Evidence`](crate::evidence::Evidence). Until then its contents can be had only as [`Bundle::claims`].

use std::fmt;

use crate::extension::{ExtensionTag, Extensions, unmark};
use crate::key::PublicKey;
use crate::trace::{Calls, Totals};
use crate::wire::{
    FLAG_SIGNED, HEADER_LEN, HMAC_LEN, Header, Mode, Outcome, Section, SectionFault, Sections, Tag,
    VERSION,
};

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

    /// Whether spec, diff and test log are all there. Presence is enough, as in the reference.
    #[must_use]
    pub fn evidence_complete(&self) -> bool {
        [Tag::Spec, Tag::Diff, Tag::TestLog]
            .into_iter()
            .all(|tag| self.section(tag).is_some())
    }
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

/// Applies one strictness to everything that is found.
struct Reader {
    strictness: Strictness,
    warnings: Vec<Reason>,
}

/// What the walk over the sections found.
#[derive(Default)]
struct Found<'a> {
    known: [Option<&'a [u8]>; 6],
    extensions: Extensions,
    public_seal: Option<(usize, &'a [u8])>,
    seen_extensions: u8,
    flags: u16,
    count: usize,
}

impl Reader {
    fn read(mut self, file: &[u8]) -> Result<Bundle<'_>, Malformed> {
        let header = self.header(file)?;
        let (bytes, area) = self.extent(&header, file)?;
        let found = self.sections(area)?;
        self.announced(&header, &found)?;
        let trace = found.known.get(slot(Tag::Trace)).copied().flatten();
        let totals = self.trace(&header, trace.unwrap_or_default())?;
        self.policy(&header, &found.extensions)?;
        let public_seal = self.public_seal(bytes, &header, found.public_seal)?;
        let hmac = header
            .is_signed()
            .then(|| bytes.last_chunk::<HMAC_LEN>())
            .flatten();
        Ok(Bundle {
            bytes,
            contents: Contents {
                header,
                area,
                known: found.known,
                extensions: found.extensions,
                totals,
            },
            hmac,
            public_seal,
            warnings: self.warnings,
        })
    }

    /// Forgives or refuses, by the strictness.
    fn note(&mut self, reason: Reason, detail: impl fmt::Display) -> Result<(), Malformed> {
        if reason.is_warning() || self.strictness == Strictness::Lenient {
            if !self.warnings.contains(&reason) {
                self.warnings.push(reason);
            }
            return Ok(());
        }
        Err(refused(reason, detail))
    }

    fn header(&mut self, file: &[u8]) -> Result<Header, Malformed> {
        let Some(bytes) = file.first_chunk::<HEADER_LEN>() else {
            return Err(refused(
                Reason::TooShort,
                format_args!(
                    "the file has {} bytes, a header needs {HEADER_LEN}",
                    file.len()
                ),
            ));
        };
        let Some(header) = Header::from_bytes(bytes) else {
            return Err(refused(
                Reason::BadMagic,
                "the file does not start with the bytes 57 56 57 52 (`WVWR`)",
            ));
        };
        if header.version != VERSION {
            self.note(
                Reason::UnsupportedVersion,
                format_args!("version {} of the format is unknown", header.version),
            )?;
        }
        Ok(header)
    }

    /// The bytes of the bundle, and those of them that hold sections.
    fn extent<'a>(
        &mut self,
        header: &Header,
        file: &'a [u8],
    ) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let total = usize::try_from(header.total_bundle_size).unwrap_or(usize::MAX);
        let Some((bytes, trailing)) = file.split_at_checked(total) else {
            return Err(refused(
                Reason::SizeMismatch,
                format_args!(
                    "the header states {total} bytes, the file has {}",
                    file.len()
                ),
            ));
        };
        let signature = if header.is_signed() { HMAC_LEN } else { 0 };
        let too_small =
            format_args!("the stated size of {total} bytes has no room for header and signature");
        // Below the signature's own size even the reference has nothing to read: it crashes there.
        let Some(end) = total.checked_sub(signature) else {
            return Err(refused(Reason::TotalTooSmall, too_small));
        };
        if end < HEADER_LEN {
            self.note(Reason::TotalTooSmall, too_small)?;
        }
        if Outcome::from_wire(header.outcome).is_none() || Mode::from_wire(header.mode).is_none() {
            self.note(
                Reason::BadEnum,
                format_args!(
                    "outcome {} or governance mode {} has no meaning",
                    header.outcome, header.mode
                ),
            )?;
        }
        if !trailing.is_empty() {
            self.note(Reason::TrailingBytes, "")?;
        }
        Ok((bytes, bytes.get(HEADER_LEN..end).unwrap_or_default()))
    }

    fn sections<'a>(&mut self, area: &'a [u8]) -> Result<Found<'a>, Malformed> {
        let mut found = Found::default();
        for section in Sections::new(area) {
            let section = match section {
                Ok(section) => section,
                Err(SectionFault::Overflow { tag, offset }) => {
                    return Err(refused(
                        Reason::SectionOverflow,
                        format_args!(
                            "section {} at byte {offset} runs past the end of the bundle",
                            section_name(tag)
                        ),
                    ));
                }
                Err(SectionFault::Stray { offset }) => {
                    self.note(
                        Reason::StraySectionBytes,
                        format_args!("bytes that are no section start at byte {offset}"),
                    )?;
                    break;
                }
            };
            found.count += 1;
            if let Some(tag) = Tag::from_wire(section.tag) {
                found.flags |= tag.flag();
                let value = found.known.get_mut(slot(tag));
                if value
                    .and_then(|value| value.replace(section.value))
                    .is_some()
                {
                    self.duplicate(&section)?;
                }
            } else if let Some(tag) = ExtensionTag::from_wire(section.tag) {
                self.extension(&mut found, tag, &section)?;
            }
        }
        Ok(found)
    }

    fn extension<'a>(
        &mut self,
        found: &mut Found<'a>,
        tag: ExtensionTag,
        section: &Section<'a>,
    ) -> Result<(), Malformed> {
        // Without our marker it is somebody else's section, skipped like every unknown one.
        let Some(value) = unmark(section.value) else {
            return Ok(());
        };
        let bit = 1 << (tag as u16 & 0x7);
        if found.seen_extensions & bit != 0 {
            self.duplicate(section)?;
        }
        found.seen_extensions |= bit;
        if tag == ExtensionTag::Ed25519 {
            found.public_seal = Some((section.offset, section.value));
        }
        if found.extensions.take(tag, value).is_none() {
            self.note(
                Reason::ExtensionMalformed,
                format_args!(
                    "section {} at byte {} cannot be read",
                    tag.name(),
                    section.offset
                ),
            )?;
        }
        Ok(())
    }

    fn duplicate(&mut self, section: &Section<'_>) -> Result<(), Malformed> {
        self.note(
            Reason::DuplicateSection,
            format_args!(
                "section {} stands twice, again at byte {}",
                section_name(section.tag),
                section.offset
            ),
        )
    }

    fn announced(&mut self, header: &Header, found: &Found<'_>) -> Result<(), Malformed> {
        if usize::from(header.section_count) != found.count {
            self.note(
                Reason::SectionCountMismatch,
                format_args!(
                    "the header states {} sections, there are {}",
                    header.section_count, found.count
                ),
            )?;
        }
        if header.flags & !FLAG_SIGNED != found.flags {
            self.note(
                Reason::FlagMismatch,
                format_args!(
                    "the header's flags 0x{:04X} announce other sections than there are",
                    header.flags
                ),
            )?;
        }
        Ok(())
    }

    fn trace(&mut self, header: &Header, value: &[u8]) -> Result<Totals, Malformed> {
        let mut totals = Totals::default();
        let mut calls = Calls::new(value);
        for call in calls.by_ref() {
            match call {
                Ok(call) => totals.add(&call),
                Err(bad) => self.note(
                    Reason::TraceMalformed,
                    format_args!(
                        "tool call {} at byte {} of the trace cannot be read",
                        totals.calls, bad.offset
                    ),
                )?,
            }
        }
        if calls.saw_padding() {
            self.note(Reason::PadNonzero, "")?;
        }
        let stated = usize::from(header.tool_call_count);
        if totals.calls != stated {
            // The reference's builder lets the count wrap; its bundles stay readable.
            if totals.calls > usize::from(u16::MAX) && totals.calls % 0x1_0000 == stated {
                self.note(Reason::ToolCallCountWrapped, "")?;
            } else {
                self.note(
                    Reason::ToolCallCountMismatch,
                    format_args!(
                        "the header states {stated} tool calls, the trace has {}",
                        totals.calls
                    ),
                )?;
            }
        }
        let sums = (totals.cost_microdollars, totals.latency_ms, totals.tokens);
        let stated = (
            header.total_cost_microdollars,
            header.total_latency_ms,
            header.total_tokens,
        );
        if sums != stated {
            self.note(Reason::TotalsMismatch, "")?;
        }
        Ok(totals)
    }

    fn policy(&mut self, header: &Header, extensions: &Extensions) -> Result<(), Malformed> {
        let Some(policy) = &extensions.policy else {
            return Ok(());
        };
        if policy.hash() != header.policy_hash || policy.mode as u8 != header.mode {
            self.note(
                Reason::PolicyMismatch,
                "the policy section is not the policy that the header names",
            )?;
        }
        Ok(())
    }

    /// The Ed25519 signature must be the last section, so that it covers everything but the HMAC.
    fn public_seal<'a>(
        &mut self,
        bytes: &'a [u8],
        header: &Header,
        section: Option<(usize, &'a [u8])>,
    ) -> Result<Option<PublicSeal<'a>>, Malformed> {
        let Some((offset, value)) = section else {
            return Ok(None);
        };
        let end = bytes.len() - if header.is_signed() { HMAC_LEN } else { 0 };
        let seal = (offset + value.len() == end)
            .then(|| read_seal(bytes, offset, value))
            .flatten();
        if seal.is_none() {
            self.note(
                Reason::ExtensionMalformed,
                format_args!(
                    "section ED25519 at byte {offset} is not a signature over all that precedes it"
                ),
            )?;
        }
        Ok(seal)
    }
}

fn read_seal<'a>(bytes: &'a [u8], offset: usize, value: &'a [u8]) -> Option<PublicSeal<'a>> {
    let (signer, signature) = unmark(value)?.split_first_chunk::<32>()?;
    let signature: &[u8; 64] = signature.try_into().ok()?;
    let covers = bytes.get(..(offset + value.len()).checked_sub(signature.len())?)?;
    Some(PublicSeal {
        signer: PublicKey::parse(signer)?,
        signature,
        covers,
    })
}

fn refused(reason: Reason, detail: impl fmt::Display) -> Malformed {
    Malformed {
        reason,
        detail: detail.to_string(),
    }
}
