//! Extensions of the original format, in sections of the private tag range that its readers skip.
//!
//! Every value starts with the marker `ROS` and a version byte, so that another program's section with the same tag
//! is skipped instead of being misread. `docs/witness-format.md` has the layouts. Encoder and decoder of each section
//! stand side by side and refuse the same things.

use std::collections::BTreeMap;

use crate::key::KeyId;
use crate::policy::{Policy, PolicyTooLong, Violation};
use crate::wire::{take, take_slice, take_u8, take_u16, take_u32};

/// First bytes of each value: our marker, then the version of the layout.
pub const MARKER: [u8; 4] = *b"ROS\x01";
/// Limit of violations that are listed as text; further ones are counted.
pub const MAX_LISTED_VIOLATIONS: usize = 256;

/// Tag of one of our sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum ExtensionTag {
    /// Named facts about the origin of the bundle.
    Provenance = 0x8A01,
    /// The whole policy; the header has eight bytes of its hash.
    Policy = 0x8A02,
    /// Breaches of the policy.
    Violations = 0x8A03,
    /// Rollbacks, each with its check.
    Rollbacks = 0x8A04,
    /// Position in the writer's chain of bundles.
    Chain = 0x8A05,
    /// Id of the HMAC key that signed.
    HmacKey = 0x8A06,
    /// The tests that graded a task of a suite.
    TestPatch = 0x8A07,
    /// Signature for third parties; always the last section.
    Ed25519 = 0x8A0F,
}

impl ExtensionTag {
    /// All of our sections, in the order in which a builder writes them.
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

    /// Returns the tag of a number on the wire.
    #[must_use]
    pub fn from_wire(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == tag)
    }

    /// Returns the name for people.
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

/// Facts under the keys of [`field`] and any others that the writer adds.
pub type Provenance = BTreeMap<String, String>;

/// Names of the provenance facts that this project itself writes or reads.
pub mod field {
    /// Program that executed the task.
    pub const AGENT: &str = "agent";
    /// Reason that passing tests do not make the task solved.
    pub const UNPROVED: &str = "unproved";
    /// Model that answered.
    pub const MODEL: &str = "model";
    /// Role of the agent.
    pub const ROLE: &str = "role";
    /// Version of the specialist, if one served.
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
    /// Tokens of the session as text; begins with `unknown` if the agent does not report them.
    pub const USAGE: &str = "usage";
    /// Cost of the session as text; begins with `unknown` or `at least` if a price is missing.
    pub const COST: &str = "cost";
    /// Content that was left out or masked on capture.
    pub const REDACTED: &str = "redacted";
    /// Agent that `witness seal` ran below. Such a bundle does not count for acceptance.
    pub const SEALED_BELOW_AGENT: &str = "sealed_below_agent";
}

/// Breaches of the policy: their number, and the first ones as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    /// Number of all breaches.
    pub count: u32,
    /// The first breaches, at most [`MAX_LISTED_VIOLATIONS`].
    pub listed: Vec<Violation>,
}

impl Violations {
    /// Counts a breach and lists it up to the limit.
    pub fn add(&mut self, violation: Violation) {
        self.count = self.count.saturating_add(1);
        if self.listed.len() < MAX_LISTED_VIOLATIONS {
            self.listed.push(violation);
        }
    }
}

/// One return to an earlier state, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollback {
    /// Set if the tree found afterwards is the wanted one.
    pub restored: bool,
    /// Hash of the wanted tree.
    pub wanted: String,
    /// Hash of the tree that was found.
    pub found: String,
    /// Location of the undone work; empty if it was not kept.
    pub kept: String,
}

/// Position in the writer's chain of bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Number of bundles before this one.
    pub sequence: u64,
    /// SHA-256 of the bundle before, zeros for the first.
    pub previous: [u8; 32],
}

/// All of our sections that a bundle can carry, except the Ed25519 signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Facts; empty if the bundle has none.
    pub provenance: Provenance,
    /// The whole policy.
    pub policy: Option<Policy>,
    /// Breaches; `None` if the bundle has no such section.
    pub violations: Option<Violations>,
    /// Rollbacks; empty if there was nothing to roll back.
    pub rollbacks: Vec<Rollback>,
    /// Position in the chain.
    pub chain: Option<Chain>,
    /// Id of the HMAC key that signed.
    pub hmac_key: Option<KeyId>,
    /// The tests that graded the task.
    pub test_patch: Option<TestPatch>,
}

/// The tests that graded a task of a suite, so that repository and bundle are enough to grade it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestPatch {
    /// The task, as in its suite.
    pub task: Vec<u8>,
    /// Names of the tests and their required results.
    pub tests: Vec<u8>,
    /// The change of the test files.
    pub patch: Vec<u8>,
}

/// Limit of the bytes of [`TestPatch`], all parts together.
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
    /// Returns the sections to write, in their order.
    ///
    /// # Errors
    /// Fails if a value is too long for its section.
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

    /// Parses one of our values, without its marker; `None` if it is not the output of [`Extensions::put`].
    pub(crate) fn take(&mut self, tag: ExtensionTag, value: &[u8]) -> Option<()> {
        match tag {
            ExtensionTag::Provenance => self.provenance = take_provenance(value)?,
            ExtensionTag::Policy => self.policy = Some(Policy::take(value)?),
            ExtensionTag::Violations => self.violations = Some(take_violations(value)?),
            ExtensionTag::Rollbacks => self.rollbacks = take_rollbacks(value)?,
            ExtensionTag::Chain => self.chain = Some(take_chain(value)?),
            ExtensionTag::HmacKey => self.hmac_key = Some(KeyId(value.try_into().ok()?)),
            ExtensionTag::TestPatch => self.test_patch = Some(take_test_patch(value)?),
            // The signature is read by `bundle`, which knows its position.
            ExtensionTag::Ed25519 => {}
        }
        Some(())
    }
}

/// Returns the value after the marker, if the section is one of ours in a known version.
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
