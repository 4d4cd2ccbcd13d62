//! The TRACE section: tool calls back to back, 32 fixed bytes and a name each, without a count.
//!
//! ```text
//! 0x00 u16 action_len    0x04 8 args_hash      0x14 u32 latency_ms            0x20 action
//! 0x02 u8  check         0x0C 8 result_hash    0x18 u32 cost_microdollars
//! 0x03 u8  pad (0)                             0x1C u32 tokens
//! ```

use crate::policy::Check;
use crate::wire::{join, take, take_slice, take_u8, take_u16, take_u32};

/// Bytes of an entry before its name.
pub const ENTRY_LEN: usize = 32;
/// Longest name that fits the length field.
pub const MAX_ACTION: usize = u16::MAX as usize;
/// Limit of entries that fit the header's count.
pub const MAX_CALLS: usize = u16::MAX as usize;

/// One tool call. The name is bytes: the format intends UTF-8 and does not enforce it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Tool name.
    pub action: &'a [u8],
    /// Verdict of the policy.
    pub check: Check,
    /// First eight bytes of SHA-256 of the arguments.
    pub args_hash: [u8; 8],
    /// First eight bytes of SHA-256 of the result.
    pub result_hash: [u8; 8],
    /// Duration of the call.
    pub latency_ms: u32,
    /// Cost, in millionths of a US dollar.
    pub cost_microdollars: u32,
    /// Tokens of the call.
    pub tokens: u32,
}

/// A name longer than [`MAX_ACTION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tool name of {0} bytes does not fit; the format holds {MAX_ACTION}")]
pub struct ActionTooLong(pub usize);

/// Appends one entry.
///
/// # Errors
/// Fails if the name is longer than [`MAX_ACTION`].
pub fn put(out: &mut Vec<u8>, call: &Call<'_>) -> Result<(), ActionTooLong> {
    let length = u16::try_from(call.action.len()).map_err(|_| ActionTooLong(call.action.len()))?;
    let fixed: [u8; ENTRY_LEN] = join([
        &length.to_le_bytes(),
        &[call.check as u8, 0],
        &call.args_hash,
        &call.result_hash,
        &call.latency_ms.to_le_bytes(),
        &call.cost_microdollars.to_le_bytes(),
        &call.tokens.to_le_bytes(),
    ]);
    out.extend_from_slice(&fixed);
    out.extend_from_slice(call.action);
    Ok(())
}

/// Iterator over the entries. An error ends it: the position of an entry after a bad one is unknown.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    rest: &'a [u8],
    offset: usize,
    padded: bool,
}

/// An entry that is short, overruns, or has an unknown check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// Offset of the entry, counted from the start of the section value.
    pub offset: usize,
}

impl<'a> Calls<'a> {
    /// Creates an iterator over the value of a TRACE section.
    #[must_use]
    pub fn new(value: &'a [u8]) -> Self {
        Self {
            rest: value,
            offset: 0,
            padded: false,
        }
    }

    /// Returns `true` if an entry so far had a pad byte other than 0.
    #[must_use]
    pub fn saw_padding(&self) -> bool {
        self.padded
    }

    fn entry(&mut self) -> Option<Call<'a>> {
        let mut input = self.rest;
        let length = usize::from(take_u16(&mut input)?);
        let check = Check::from_wire(take_u8(&mut input)?)?;
        let pad = take_u8(&mut input)?;
        let call = Call {
            check,
            args_hash: take(&mut input)?,
            result_hash: take(&mut input)?,
            latency_ms: take_u32(&mut input)?,
            cost_microdollars: take_u32(&mut input)?,
            tokens: take_u32(&mut input)?,
            action: take_slice(&mut input, length)?,
        };
        self.padded |= pad != 0;
        self.rest = input;
        self.offset += ENTRY_LEN + length;
        Some(call)
    }
}

impl<'a> Iterator for Calls<'a> {
    type Item = Result<Call<'a>, BadEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bad = BadEntry {
            offset: self.offset,
        };
        Some(self.entry().ok_or_else(|| {
            self.rest = &[];
            bad
        }))
    }
}

/// Sums of a whole trace, as the header states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of entries.
    pub calls: usize,
    /// Saturating sum of the costs.
    pub cost_microdollars: u32,
    /// Saturating sum of the latencies.
    pub latency_ms: u32,
    /// Saturating sum of the tokens.
    pub tokens: u32,
}

impl Totals {
    /// Adds one call.
    pub fn add(&mut self, call: &Call<'_>) {
        self.calls += 1;
        self.cost_microdollars = self
            .cost_microdollars
            .saturating_add(call.cost_microdollars);
        self.latency_ms = self.latency_ms.saturating_add(call.latency_ms);
        self.tokens = self.tokens.saturating_add(call.tokens);
    }
}
