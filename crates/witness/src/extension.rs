//! What the original format lacks, in sections of the private tag range that its readers skip.
//!
//! Every value starts with the marker `ROS` and a version byte, so that another program's section with the same tag
//! is left alone instead of being misread. `docs/witness-format.md` has the layouts. Encoder and decoder of each
//! section stand side by side and refuse the same things.

use std::collections::BTreeMap;

use crate::key::KeyId;
use crate::policy::{Policy, PolicyTooLong, Violation};
use crate::wire::{take, take_slice, take_u8, take_u16, take_u32};

/// First bytes of each value: our mark, then the version of the layout.
pub const MARKER: [u8; 4] = *b"ROS\x01";
/// Violations that are listed word by word; the rest is counted.
pub const MAX_LISTED_VIOLATIONS: usize = 256;

/// Tag of a section of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum ExtensionTag {
    /// Named facts about where the bundle comes from.
    Provenance = 0x8A01,
    /// The whole policy, of which the header has eight hash bytes.
    Policy = 0x8A02,
    /// Breaches of the policy.
    Violations = 0x8A03,
    /// Rollbacks, each with its check.
    Rollbacks = 0x8A04,
    /// Place in the writer's chain of bundles.
    Chain = 0x8A05,
    /// Which HMAC key signed.
    HmacKey = 0x8A06,
    /// The tests that graded a task of a suite.
    TestPatch = 0x8A07,
    /// Signature that others can check; always the last section.
    Ed25519 = 0x8A0F,
}

impl ExtensionTag {
    /// Every section of ours, in the order in which a builder writes them.
    pub const ALL: [Self; 8] = [
        Self::Provenance,
        Self::Policy,
        Self::Violations,
        Self::Rollbacks,
        Self::Chain,
        Self::HmacKey,
        Self::TestPatch,
        Self::Ed25519,
    ];

    /// The tag for a number on the wire.
    #[must_use]
    pub fn from_wire(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == tag)
    }

    /// Name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Provenance => "PROVENANCE",
            Self::Policy => "POLICY",
            Self::Violations => "VIOLATIONS",
            Self::Rollbacks => "ROLLBACKS",
            Self::Chain => "CHAIN",
            Self::HmacKey => "HMAC_KEY",
            Self::TestPatch => "TEST_PATCH",
            Self::Ed25519 => "ED25519",
        }
    }
}

/// Facts under the keys of [`field`] and any others that the writer finds useful.
pub type Provenance = BTreeMap<String, String>;

/// Names of the provenance facts that this project itself writes or reads.
pub mod field {
    /// Program that executed the task.
    pub const AGENT: &str = "agent";
    /// Why tests that pass do not make the task solved.
    pub const UNPROVED: &str = "unproved";
    /// Model that answered.
    pub const MODEL: &str = "model";
    /// Role that was played.
    pub const ROLE: &str = "role";
    /// Version of the specialist, when one served.
    pub const SPECIALIST: &str = "specialist";
    /// Commit on which the diff applies.
    pub const BASE_COMMIT: &str = "base_commit";
    /// Command that produced the test log.
    pub const TEST_COMMAND: &str = "test_command";
    /// The agent's own id of the session.
    pub const SESSION: &str = "session";
    /// Suite that the task belongs to.
    pub const SUITE: &str = "suite";
    /// Id of the task in its suite; the same across attempts.
    pub const SUITE_TASK: &str = "suite_task";
    /// Tokens of the session in words; begins with `unknown` when the agent does not tell.
    pub const USAGE: &str = "usage";
    /// Cost of the session in words; begins with `unknown` or `at least` when a price is missing.
    pub const COST: &str = "cost";
    /// What was left out or masked on capture.
    pub const REDACTED: &str = "redacted";
    /// Agent below which `witness seal` ran. Such a bundle does not count for acceptance.
    pub const SEALED_BELOW_AGENT: &str = "sealed_below_agent";
}

/// Breaches of the policy: how many, and the first ones in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    /// How many in all.
    pub count: u32,
    /// At most [`MAX_LISTED_VIOLATIONS`].
    pub listed: Vec<Violation>,
}

impl Violations {
    /// Counts one and lists it while there is room.
    pub fn add(&mut self, violation: Violation) {
        self.count = self.count.saturating_add(1);
        if self.listed.len() < MAX_LISTED_VIOLATIONS {
            self.listed.push(violation);
        }
    }
}

/// One return to an earlier state, and whether it was proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollback {
    /// The tree found afterwards is the one that was wanted.
    pub restored: bool,
    /// Tree hash that was wanted.
    pub wanted: String,
    /// Tree hash that was found.
    pub found: String,
    /// Where the undone work is kept, empty if nowhere.
    pub kept: String,
}

/// Place in the writer's chain of bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of bundles before this one.
    pub sequence: u64,
    /// SHA-256 of the bundle before, zeros for the first.
    pub previous: [u8; 32],
}

/// Everything of ours that a bundle can carry, except the Ed25519 signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Empty when the bundle has none.
    pub provenance: Provenance,
    /// The whole policy.
    pub policy: Option<Policy>,
    /// `None` when the bundle says nothing about violations.
    pub violations: Option<Violations>,
    /// Empty when there was nothing to roll back.
    pub rollbacks: Vec<Rollback>,
    /// Place in the chain.
    pub chain: Option<Chain>,
    /// Which HMAC key signed.
    pub hmac_key: Option<KeyId>,
    /// The tests that graded the task.
    pub test_patch: Option<TestPatch>,
}

/// The tests that graded a task of a suite, so that repository and bundle are enough to grade it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestPatch {
    /// The task, as its suite has it.
    pub task: Vec<u8>,
    /// Names of the tests and what they must do.
    pub tests: Vec<u8>,
    /// The change of the test files.
    pub patch: Vec<u8>,
}

/// Most bytes of [`TestPatch`], all parts together.
pub const MAX_TEST_PATCH: usize = 1 << 20;

/// A value that its section cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} does not fit; the section holds 65,535 items of 65,535 bytes each")]
pub struct ExtensionTooLong {
    what: &'static str,
}

impl From<PolicyTooLong> for ExtensionTooLong {
    fn from(_: PolicyTooLong) -> Self {
        Self { what: "the policy" }
    }
}

impl Extensions {
    /// The sections to write, in their order.
    ///
    /// # Errors
    /// A value is too long for its section.
    pub fn put(&self) -> Result<Vec<(ExtensionTag, Vec<u8>)>, ExtensionTooLong> {
        let mut sections = Vec::new();
        if !self.provenance.is_empty() {
            let value = marked(|out| put_provenance(out, &self.provenance))?;
            sections.push((ExtensionTag::Provenance, value));
        }
        if let Some(policy) = &self.policy {
            let value = marked(|out| Ok(policy.put(out)?))?;
            sections.push((ExtensionTag::Policy, value));
        }
        if let Some(violations) = &self.violations {
            let value = marked(|out| put_violations(out, violations))?;
            sections.push((ExtensionTag::Violations, value));
        }
        if !self.rollbacks.is_empty() {
            let value = marked(|out| put_rollbacks(out, &self.rollbacks))?;
            sections.push((ExtensionTag::Rollbacks, value));
        }
        if let Some(chain) = self.chain {
            let value = [&MARKER[..], &chain.sequence.to_le_bytes(), &chain.previous].concat();
            sections.push((ExtensionTag::Chain, value));
        }
        if let Some(key) = self.hmac_key {
            sections.push((ExtensionTag::HmacKey, [&MARKER[..], &key.0].concat()));
        }
        if let Some(tests) = &self.test_patch {
            let value = marked(|out| put_test_patch(out, tests))?;
            sections.push((ExtensionTag::TestPatch, value));
        }
        Ok(sections)
    }

    /// Reads one value of ours, without its marker; `None` when it is not what [`Extensions::put`] writes.
    pub(crate) fn take(&mut self, tag: ExtensionTag, value: &[u8]) -> Option<()> {
        match tag {
            ExtensionTag::Provenance => self.provenance = take_provenance(value)?,
            ExtensionTag::Policy => self.policy = Some(Policy::take(value)?),
            ExtensionTag::Violations => self.violations = Some(take_violations(value)?),
            ExtensionTag::Rollbacks => self.rollbacks = take_rollbacks(value)?,
            ExtensionTag::Chain => self.chain = Some(take_chain(value)?),
            ExtensionTag::HmacKey => self.hmac_key = Some(KeyId(value.try_into().ok()?)),
            ExtensionTag::TestPatch => self.test_patch = Some(take_test_patch(value)?),
            // The signature is read by `bundle`, which knows where it lies.
            ExtensionTag::Ed25519 => {}
        }
        Some(())
    }
}

/// The value after the marker, when the section is one of ours in a version that this reader knows.
#[must_use]
pub fn unmark(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(&MARKER)
}

fn marked(
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), ExtensionTooLong>,
) -> Result<Vec<u8>, ExtensionTooLong> {
    let mut value = MARKER.to_vec();
    fill(&mut value)?;
    Ok(value)
}

fn put_provenance(out: &mut Vec<u8>, facts: &Provenance) -> Result<(), ExtensionTooLong> {
    put_count(out, facts.len(), "the provenance")?;
    for (name, value) in facts {
        put_text(out, name, "a provenance name")?;
        put_text(out, value, "a provenance value")?;
    }
    Ok(())
}

fn take_provenance(mut input: &[u8]) -> Option<Provenance> {
    let input = &mut input;
    let count = take_u16(input)?;
    let mut facts = Provenance::new();
    for _ in 0..count {
        let name = take_text(input)?;
        let value = take_text(input)?;
        // Sorted and without repetition, so that the same facts have one encoding.
        if facts
            .last_key_value()
            .is_some_and(|(last, _)| *last >= name)
        {
            return None;
        }
        facts.insert(name, value);
    }
    (count > 0 && input.is_empty()).then_some(facts)
}

fn put_test_patch(out: &mut Vec<u8>, tests: &TestPatch) -> Result<(), ExtensionTooLong> {
    let too_long = ExtensionTooLong {
        what: "the test patch",
    };
    let start = out.len();
    for part in [&tests.task, &tests.tests, &tests.patch] {
        let length = u32::try_from(part.len()).map_err(|_| too_long)?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(part);
    }
    if out.len() - start > MAX_TEST_PATCH {
        return Err(too_long);
    }
    Ok(())
}

fn take_test_patch(mut input: &[u8]) -> Option<TestPatch> {
    if input.len() > MAX_TEST_PATCH {
        return None;
    }
    let input = &mut input;
    let mut part = || {
        let length = take_u32(input)?;
        take_slice(input, usize::try_from(length).ok()?).map(<[u8]>::to_vec)
    };
    let tests = TestPatch {
        task: part()?,
        tests: part()?,
        patch: part()?,
    };
    input.is_empty().then_some(tests)
}

fn put_violations(out: &mut Vec<u8>, violations: &Violations) -> Result<(), ExtensionTooLong> {
    out.extend_from_slice(&violations.count.to_le_bytes());
    put_count(out, violations.listed.len(), "the list of violations")?;
    for violation in &violations.listed {
        out.extend_from_slice(&violation.call.to_le_bytes());
        put_text(out, &violation.text, "a violation")?;
    }
    Ok(())
}

fn take_violations(mut input: &[u8]) -> Option<Violations> {
    let input = &mut input;
    let count = take_u32(input)?;
    let listed_count = take_u16(input)?;
    if u32::from(listed_count) > count {
        return None;
    }
    let mut listed = Vec::new();
    for _ in 0..listed_count {
        let call = take_u32(input)?;
        let text = take_text(input)?;
        listed.push(Violation { call, text });
    }
    input.is_empty().then_some(Violations { count, listed })
}

fn put_rollbacks(out: &mut Vec<u8>, rollbacks: &[Rollback]) -> Result<(), ExtensionTooLong> {
    put_count(out, rollbacks.len(), "the list of rollbacks")?;
    for rollback in rollbacks {
        out.push(u8::from(rollback.restored));
        put_text(out, &rollback.wanted, "a tree hash")?;
        put_text(out, &rollback.found, "a tree hash")?;
        put_text(out, &rollback.kept, "a ref")?;
    }
    Ok(())
}

fn take_rollbacks(mut input: &[u8]) -> Option<Vec<Rollback>> {
    let input = &mut input;
    let count = take_u16(input)?;
    let mut rollbacks = Vec::new();
    for _ in 0..count {
        let restored = match take_u8(input)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        rollbacks.push(Rollback {
            restored,
            wanted: take_text(input)?,
            found: take_text(input)?,
            kept: take_text(input)?,
        });
    }
    (count > 0 && input.is_empty()).then_some(rollbacks)
}

fn take_chain(mut input: &[u8]) -> Option<Chain> {
    let input = &mut input;
    let chain = Chain {
        sequence: u64::from_le_bytes(take(input)?),
        previous: take(input)?,
    };
    input.is_empty().then_some(chain)
}

fn put_count(out: &mut Vec<u8>, count: usize, what: &'static str) -> Result<(), ExtensionTooLong> {
    let count = u16::try_from(count).map_err(|_| ExtensionTooLong { what })?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

fn put_text(out: &mut Vec<u8>, text: &str, what: &'static str) -> Result<(), ExtensionTooLong> {
    put_count(out, text.len(), what)?;
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn take_text(input: &mut &[u8]) -> Option<String> {
    let length = take_u16(input)?;
    let bytes = take_slice(input, usize::from(length))?;
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}
