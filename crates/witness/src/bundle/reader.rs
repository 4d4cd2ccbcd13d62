//! Parser behind [`Bundle::parse`]: each check of the form, tolerated or refused by the strictness.
//!
//! It checks the form only; signatures are checked in [`crate::evidence`].

use std::fmt;

use super::{Bundle, Contents, Malformed, PublicSeal, Reason, Strictness, section_name, slot};
use crate::extension::{ExtensionTag, Extensions, unmark};
use crate::key::PublicKey;
use crate::trace::{Calls, Totals};
use crate::wire::{
    FLAG_SIGNED, HEADER_LEN, HMAC_LEN, Header, Mode, Outcome, Section, SectionFault, Sections, Tag,
    VERSION,
};

/// Parser that applies one strictness to every problem.
pub(super) struct Reader {
    pub(super) strictness: Strictness,
    pub(super) warnings: Vec<Reason>,
}

/// Result of the walk over the sections.
#[derive(Default)]
struct Found<'a> {
    known: [Option<&'a [u8]>; 6],
    extensions: Extensions,
    public_seal: Option<(usize, &'a [u8])>,
    seen_extensions: u16,
    flags: u16,
    count: usize,
}

impl Reader {
    pub(super) fn read(mut self, file: &[u8]) -> Result<Bundle<'_>, Malformed> {
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

    /// Records a warning or fails, by the strictness.
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

    /// Returns the bytes of the bundle, and those of them that hold sections.
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
        // Without our marker it is another program's section, skipped like every unknown one.
        let Some(value) = unmark(section.value) else {
            return Ok(());
        };
        let bit = 1 << (tag as u16 & 0xF);
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

    /// Checks the Ed25519 signature: it must be the last section, so that it covers everything but the HMAC.
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
