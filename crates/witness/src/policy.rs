//! Permissions of an agent, their hash, and the check of a call against them.
//!
//! The eight-byte hash of the header covers a string whose names are not escaped, so two policies can share it.
//! [`Policy::digest`] covers the length-prefixed encoding of [`Policy::put`] instead; our bundle carries both.

use sha2::{Digest, Sha256};

use crate::trace::Call;
use crate::wire::{Mode, take_slice, take_u8, take_u16, take_u32};

/// Verdict of the policy on one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Check {
    /// The call may run.
    Allowed = 0,
    /// The call may not run.
    Denied = 1,
    /// The call may run after a person confirmed it.
    Confirmed = 2,
}

impl Check {
    /// All verdicts, in wire order.
    pub const ALL: [Self; 3] = [Self::Allowed, Self::Denied, Self::Confirmed];

    /// Returns the verdict of a number on the wire.
    #[must_use]
    pub fn from_wire(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u8 == byte)
    }

    /// Returns the lower-case name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Confirmed => "confirmed",
        }
    }
}

/// Hashes of the three published policies.
const PUBLISHED: [(Mode, [u8; 8]); 3] = [
    (Mode::Restricted, 0x66fb_836f_a37e_48ef_u64.to_be_bytes()),
    (Mode::Approved, 0x3717_4386_ed33_6528_u64.to_be_bytes()),
    (Mode::Autonomous, 0xf921_0ee4_856f_f1e0_u64.to_be_bytes()),
];

/// Mode, tool lists and budgets of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Governance mode.
    pub mode: Mode,
    /// Tools that may be used; empty means no list, except in Restricted, where it means none.
    pub allowed_tools: Vec<String>,
    /// Tools that may never be used; checked first.
    pub denied_tools: Vec<String>,
    /// Budget in millionths of a US dollar.
    pub max_cost_microdollars: u32,
    /// Budget in calls.
    pub max_tool_calls: u16,
}

impl Policy {
    /// Returns the published policy of a mode.
    #[must_use]
    pub fn of_mode(mode: Mode) -> Self {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let (allowed, denied, max_cost_microdollars, max_tool_calls): (&[&str], &[&str], _, _) =
            match mode {
                Mode::Restricted => (
                    &["Read", "Glob", "Grep", "WebFetch", "WebSearch"],
                    &["Bash", "Write", "Edit"],
                    10_000,
                    50,
                ),
                Mode::Approved => (&[], &[], 100_000, 200),
                Mode::Autonomous => (&[], &[], 1_000_000, 500),
            };
        Self {
            mode,
            allowed_tools: names(allowed),
            denied_tools: names(denied),
            max_cost_microdollars,
            max_tool_calls,
        }
    }

    /// Returns the published policy with this hash, if it is one of the three. A look-up, because scorecards need it
    /// for every bundle.
    #[must_use]
    pub fn published(hash: [u8; 8]) -> Option<Self> {
        let (mode, _) = PUBLISHED.into_iter().find(|(_, known)| *known == hash)?;
        Some(Self::of_mode(mode))
    }

    /// Returns `true` if the hash is that of one of the three published policies.
    #[must_use]
    pub fn is_published(hash: [u8; 8]) -> bool {
        PUBLISHED.iter().any(|(_, known)| *known == hash)
    }

    /// Returns the string whose hash is in the header.
    #[must_use]
    pub fn hashed_text(&self) -> String {
        let mut text = format!("mode={}", self.mode as u8);
        for tool in &self.allowed_tools {
            text.push('+');
            text.push_str(tool);
        }
        for tool in &self.denied_tools {
            text.push('-');
            text.push_str(tool);
        }
        text.push_str(&format!(
            "|cost={}|calls={}",
            self.max_cost_microdollars, self.max_tool_calls
        ));
        text
    }

    /// Returns the eight hash bytes of the header.
    #[must_use]
    pub fn hash(&self) -> [u8; 8] {
        short_hash(self.hashed_text().as_bytes())
    }

    /// Returns the SHA-256 of the unambiguous encoding.
    ///
    /// # Errors
    /// Fails if a list or name is too long for the encoding.
    pub fn digest(&self) -> Result<[u8; 32], PolicyTooLong> {
        let mut bytes = Vec::new();
        self.put(&mut bytes)?;
        Ok(Sha256::digest(&bytes).into())
    }

    /// Checks one tool name. A name that is not UTF-8 is denied, because no list can contain it.
    ///
    /// An allow list that is not empty counts in every mode; the reference checks it in Restricted only.
    #[must_use]
    pub fn check(&self, action: &[u8]) -> Check {
        let Ok(name) = std::str::from_utf8(action) else {
            return Check::Denied;
        };
        let listed = |list: &[String]| list.iter().any(|tool| tool == name);
        if listed(&self.denied_tools) {
            return Check::Denied;
        }
        let must_be_listed = self.mode == Mode::Restricted || !self.allowed_tools.is_empty();
        if must_be_listed && !listed(&self.allowed_tools) {
            return Check::Denied;
        }
        match self.mode {
            Mode::Approved => Check::Confirmed,
            Mode::Restricted | Mode::Autonomous => Check::Allowed,
        }
    }

    /// Appends mode, budgets and the length-prefixed lists.
    ///
    /// # Errors
    /// Fails if a list has more than 65,535 names, or a name has more than 65,535 bytes.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<(), PolicyTooLong> {
        out.push(self.mode as u8);
        out.extend_from_slice(&self.max_cost_microdollars.to_le_bytes());
        out.extend_from_slice(&self.max_tool_calls.to_le_bytes());
        for list in [&self.allowed_tools, &self.denied_tools] {
            let count = u16::try_from(list.len()).map_err(|_| PolicyTooLong)?;
            out.extend_from_slice(&count.to_le_bytes());
            for name in list {
                let length = u16::try_from(name.len()).map_err(|_| PolicyTooLong)?;
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(name.as_bytes());
            }
        }
        Ok(())
    }

    /// Parses the output of [`Policy::put`]; `None` for anything else, also for trailing bytes.
    #[must_use]
    pub fn take(mut input: &[u8]) -> Option<Self> {
        let input = &mut input;
        let mode = Mode::from_wire(take_u8(input)?)?;
        let max_cost_microdollars = take_u32(input)?;
        let max_tool_calls = take_u16(input)?;
        let policy = Self {
            mode,
            allowed_tools: take_names(input)?,
            denied_tools: take_names(input)?,
            max_cost_microdollars,
            max_tool_calls,
        };
        input.is_empty().then_some(policy)
    }
}

fn take_names(input: &mut &[u8]) -> Option<Vec<String>> {
    let count = take_u16(input)?;
    let mut names = Vec::new();
    for _ in 0..count {
        let length = take_u16(input)?;
        let name = take_slice(input, usize::from(length))?;
        names.push(std::str::from_utf8(name).ok()?.to_owned());
    }
    Some(names)
}

/// A tool list that the encoding cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy's tool lists do not fit; at most 65,535 names of 65,535 bytes each")]
pub struct PolicyTooLong;

/// Returns the first eight bytes of SHA-256, as the format uses them for policies, arguments and results.
#[must_use]
pub fn short_hash(bytes: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// One breach of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Index of the call, counted from 0.
    pub call: u32,
    /// Sentence about the breach, with the numbers.
    pub text: String,
}

/// Limit of the characters of a tool name that a violation repeats. A name may be as long as a text in the section of
/// violations, and a call must not make its own bundle impossible to write.
const MAX_QUOTED: usize = 256;

fn quoted(action: &[u8]) -> String {
    let name = String::from_utf8_lossy(action);
    let mut quoted: String = name.chars().take(MAX_QUOTED).collect();
    if quoted.len() < name.len() {
        quoted.push('…');
    }
    quoted
}

/// Checker of successive calls with running budgets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    cost_microdollars: u32,
    calls: u32,
}

impl Meter {
    /// Checks the next call and reports each breach. A refused call counts towards the budgets, as in the reference.
    ///
    /// The reference compares its call count modulo 65,536, so that its budget has no effect in long tasks; this one
    /// does not.
    pub fn record(
        &mut self,
        policy: &Policy,
        call: &Call<'_>,
        mut breach: impl FnMut(Violation),
    ) -> Check {
        let call_index = self.calls;
        let check = policy.check(call.action);
        if check == Check::Denied {
            let text = format!("denied tool: {}", quoted(call.action));
            breach(Violation {
                call: call_index,
                text,
            });
        }
        self.spend(policy, call, &mut breach);
        self.calls = self.calls.saturating_add(1);
        let (calls, max_calls) = (self.calls, policy.max_tool_calls);
        if calls > u32::from(max_calls) {
            let text = format!("tool call budget exceeded: {calls} > {max_calls}");
            breach(Violation {
                call: call_index,
                text,
            });
        }
        check
    }

    /// Adds the cost of a call that a guard stopped, and reports if the budget of cost is exceeded.
    pub fn spend(&mut self, policy: &Policy, call: &Call<'_>, mut breach: impl FnMut(Violation)) {
        self.cost_microdollars = self
            .cost_microdollars
            .saturating_add(call.cost_microdollars);
        let (cost, max_cost) = (self.cost_microdollars, policy.max_cost_microdollars);
        if cost > max_cost {
            let text = format!("cost budget exceeded: {cost} > {max_cost}");
            breach(Violation {
                call: self.calls,
                text,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_hashes_are_those_of_the_modes() {
        for (mode, hash) in PUBLISHED {
            assert_eq!(Policy::of_mode(mode).hash(), hash);
            assert_eq!(Policy::published(hash), Some(Policy::of_mode(mode)));
        }
    }
}
