//! Writes a bundle. Content that the format cannot hold is refused; no number wraps around.

use crate::extension::{
    Chain, ExtensionTag, ExtensionTooLong, Extensions, MARKER, MAX_TEST_PATCH, Rollback, TestPatch,
};
use crate::key::{HmacKey, SigningKey};
use crate::policy::{Check, Meter, Policy, Violation};
use crate::replay;
use crate::trace::{self, ActionTooLong, Call, MAX_CALLS, Totals};
use crate::wire::{
    FLAG_SIGNED, HEADER_LEN, HMAC_LEN, Header, Outcome, SECTION_HEADER_LEN, Tag, TaskId, VERSION,
};

/// Bytes of the Ed25519 section: marker, public key, signature.
const SEAL_LEN: usize = MARKER.len() + 32 + 64;

/// Reason that a bundle cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A tool name is too long.
    #[error(transparent)]
    Action(#[from] ActionTooLong),
    /// The header's count is full.
    #[error("a bundle holds at most {MAX_CALLS} tool calls")]
    TooManyCalls,
    /// The size field is full.
    #[error("a bundle of {0} bytes does not fit; the format ends at 4 GiB")]
    TooLarge(usize),
    /// An extension is too long.
    #[error(transparent)]
    Extension(#[from] ExtensionTooLong),
    /// The HMAC key is so short that it can be guessed.
    #[error(
        "an HMAC key of fewer than {} bytes is not used for writing",
        crate::key::MIN_HMAC_KEY
    )]
    WeakKey,
    /// A signature was requested that the bundle would not carry.
    #[error("a plain bundle has no place for an Ed25519 signature")]
    PlainSeal,
}

/// Collector of a task's content, which then writes the bundle.
#[derive(Clone, Debug)]
pub struct Builder {
    task_id: TaskId,
    policy: Policy,
    created_ns: u64,
    outcome: Outcome,
    sections: [Option<Vec<u8>>; 6],
    totals: Totals,
    retries: u16,
    meter: Meter,
    extensions: Extensions,
    extended: bool,
}

impl Builder {
    /// Starts a bundle. The clock is the caller's, so that the same input gives the same bytes.
    ///
    /// The outcome is Skipped until [`Builder::outcome`] sets another one.
    #[must_use]
    pub fn new(task_id: TaskId, policy: Policy, created_ns: u64) -> Self {
        Self {
            task_id,
            policy,
            created_ns,
            outcome: Outcome::Skipped,
            sections: Default::default(),
            totals: Totals::default(),
            retries: 0,
            meter: Meter::default(),
            extensions: Extensions {
                violations: Some(crate::extension::Violations::default()),
                ..Extensions::default()
            },
            extended: true,
        }
    }

    /// Leaves out every section that the original format does not define.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.extended = false;
        self
    }

    /// Sets the outcome of the task.
    pub fn outcome(&mut self, outcome: Outcome) -> &mut Self {
        self.outcome = outcome;
        self
    }

    /// Returns the outcome that was set.
    #[must_use]
    pub fn stated_outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns the outcome that the test log supports: `solved` needs a whole run that passes, if the runner is
    /// known.
    #[must_use]
    pub fn supported_outcome(&self) -> Outcome {
        let [_, _, _, _, log, _] = &self.sections;
        replay::supported(self.outcome, log.as_deref())
    }

    /// Sets the task as the user gave it. An empty section is written with length 0.
    pub fn spec(&mut self, value: impl Into<Vec<u8>>) -> &mut Self {
        self.set(Tag::Spec, value.into())
    }

    /// Sets the plan that was made before acting.
    pub fn plan(&mut self, value: impl Into<Vec<u8>>) -> &mut Self {
        self.set(Tag::Plan, value.into())
    }

    /// Sets the diff of the task.
    pub fn diff(&mut self, value: impl Into<Vec<u8>>) -> &mut Self {
        self.set(Tag::Diff, value.into())
    }

    /// Sets the output of the test runner.
    pub fn test_log(&mut self, value: impl Into<Vec<u8>>) -> &mut Self {
        self.set(Tag::TestLog, value.into())
    }

    /// Sets the reason that the task was not solved.
    pub fn postmortem(&mut self, value: impl Into<Vec<u8>>) -> &mut Self {
        self.set(Tag::Postmortem, value.into())
    }

    /// Adds a fact about the origin of the bundle; see [`crate::extension::field`].
    pub fn provenance(&mut self, name: &str, value: &str) -> &mut Self {
        self.extensions
            .provenance
            .insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the position of the bundle in a chain.
    pub fn chain(&mut self, chain: Chain) -> &mut Self {
        self.extensions.chain = Some(chain);
        self
    }

    /// Checks a call against the policy and records it with that verdict; breaches become violations.
    ///
    /// # Errors
    /// Fails if the format cannot hold another call, or not this name.
    pub fn record(&mut self, call: &Call<'_>) -> Result<Check, Refused> {
        let mut meter = self.meter;
        let mut breaches = Vec::new();
        // A call that a guard stopped is in the trace but not in the meter, so the index is counted here.
        let call_index = u32::try_from(self.totals.calls).unwrap_or(u32::MAX);
        let check = meter.record(&self.policy, call, |violation| {
            breaches.push(Violation {
                call: call_index,
                ..violation
            });
        });
        self.write_call(&Call { check, ..*call })?;
        self.meter = meter;
        breaches
            .into_iter()
            .for_each(|breach| self.violation(breach));
        Ok(check)
    }

    /// Records a call that a guard stopped before it ran: Denied, and not a violation, because the guard worked.
    ///
    /// # Errors
    /// Fails if the format cannot hold another call, or not this name.
    pub fn record_refused(&mut self, call: &Call<'_>) -> Result<(), Refused> {
        self.write_call(&Call {
            check: Check::Denied,
            ..*call
        })
    }

    /// Records a call with the verdict and the breaches that were found when it was made.
    ///
    /// # Errors
    /// Fails if the format cannot hold another call, or not this name.
    pub fn record_judged(&mut self, call: &Call<'_>, breaches: &[String]) -> Result<(), Refused> {
        let index = u32::try_from(self.totals.calls).unwrap_or(u32::MAX);
        self.write_call(call)?;
        for text in breaches {
            self.violation(Violation {
                call: index,
                text: text.clone(),
            });
        }
        Ok(())
    }

    /// Adds a breach that the policy alone cannot see.
    pub fn violation(&mut self, violation: Violation) {
        if let Some(violations) = &mut self.extensions.violations {
            violations.add(violation);
        }
    }

    /// Counts a call that repeated a failed one.
    pub fn retry(&mut self) {
        self.retries = self.retries.saturating_add(1);
    }

    /// Adds the tests that graded the task. Longer ones than [`MAX_TEST_PATCH`] are left out.
    pub fn test_patch(&mut self, tests: TestPatch) -> &mut Self {
        let parts = [&tests.task, &tests.tests, &tests.patch];
        let length: usize = parts.iter().map(|part| part.len() + 4).sum();
        self.extensions.test_patch = (length <= MAX_TEST_PATCH).then_some(tests);
        self
    }

    /// Records a return to an earlier state.
    pub fn rollback(&mut self, rollback: Rollback) {
        self.extensions.rollbacks.push(rollback);
    }

    /// Returns the breaches so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        self.extensions
            .violations
            .as_ref()
            .map_or(&[], |violations| &violations.listed)
    }

    /// Writes the bundle, signed with the given keys.
    ///
    /// # Errors
    /// Fails if the format cannot hold the bundle, or the HMAC key is too short to sign with.
    pub fn build(
        mut self,
        hmac: Option<&HmacKey>,
        signer: Option<&SigningKey>,
    ) -> Result<Vec<u8>, Refused> {
        if hmac.is_some_and(|key| !key.is_strong()) {
            return Err(Refused::WeakKey);
        }
        if signer.is_some() && !self.extended {
            return Err(Refused::PlainSeal);
        }
        let ours = self.encode_extensions(hmac)?;
        let size = self.size(&ours, hmac.is_some(), signer.is_some());
        let total = u32::try_from(size).map_err(|_| Refused::TooLarge(size))?;

        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(&self.header(&ours, total, hmac.is_some(), signer.is_some()));
        for (tag, value) in Tag::ALL.into_iter().zip(&self.sections) {
            if let Some(value) = value {
                put_section(&mut out, tag as u16, value);
            }
        }
        for (tag, value) in &ours {
            put_section(&mut out, *tag as u16, value);
        }
        if let Some(signer) = signer {
            let mut seal = MARKER.to_vec();
            seal.extend_from_slice(&signer.public().to_bytes());
            seal.resize(SEAL_LEN, 0);
            put_section(&mut out, ExtensionTag::Ed25519 as u16, &seal);
            out.truncate(out.len() - 64);
            let signature = signer.sign_bundle(&out);
            out.extend_from_slice(&signature);
        }
        if let Some(key) = hmac {
            let tag = key.tag(&out);
            out.extend_from_slice(&tag);
        }
        Ok(out)
    }

    fn set(&mut self, tag: Tag, value: Vec<u8>) -> &mut Self {
        *self.slot(tag) = Some(value);
        self
    }

    fn write_call(&mut self, call: &Call<'_>) -> Result<(), Refused> {
        if self.totals.calls >= MAX_CALLS {
            return Err(Refused::TooManyCalls);
        }
        trace::put(self.slot(Tag::Trace).get_or_insert_default(), call)?;
        self.totals.add(call);
        Ok(())
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a tag is 1 to 6 and there are six slots"
    )]
    fn slot(&mut self, tag: Tag) -> &mut Option<Vec<u8>> {
        &mut self.sections[tag as usize - 1]
    }

    fn encode_extensions(
        &mut self,
        hmac: Option<&HmacKey>,
    ) -> Result<Vec<(ExtensionTag, Vec<u8>)>, Refused> {
        if !self.extended {
            return Ok(Vec::new());
        }
        self.extensions.policy = Some(self.policy.clone());
        self.extensions.hmac_key = hmac.map(HmacKey::id);
        Ok(self.extensions.put()?)
    }

    fn size(&self, ours: &[(ExtensionTag, Vec<u8>)], hmac: bool, sealed: bool) -> usize {
        let defined = self.sections.iter().flatten().map(Vec::len);
        let sections = defined.chain(ours.iter().map(|(_, value)| value.len()));
        HEADER_LEN
            + sections
                .map(|length| SECTION_HEADER_LEN + length)
                .sum::<usize>()
            + if sealed {
                SECTION_HEADER_LEN + SEAL_LEN
            } else {
                0
            }
            + if hmac { HMAC_LEN } else { 0 }
    }

    fn header(
        &self,
        ours: &[(ExtensionTag, Vec<u8>)],
        total: u32,
        hmac: bool,
        sealed: bool,
    ) -> [u8; HEADER_LEN] {
        let mut flags = if hmac { FLAG_SIGNED } else { 0 };
        let mut count = ours.len() + usize::from(sealed);
        for (tag, value) in Tag::ALL.into_iter().zip(&self.sections) {
            if value.is_some() {
                flags |= tag.flag();
                count += 1;
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most thirteen sections, and `write_call` stops at 65,535 calls"
        )]
        let (section_count, tool_call_count) = (count as u16, self.totals.calls as u16);
        Header {
            version: VERSION,
            flags,
            task_id: self.task_id,
            policy_hash: self.policy.hash(),
            created_ns: self.created_ns,
            outcome: self.outcome as u8,
            mode: self.policy.mode as u8,
            tool_call_count,
            total_cost_microdollars: self.totals.cost_microdollars,
            total_latency_ms: self.totals.latency_ms,
            total_tokens: self.totals.tokens,
            retry_count: self.retries,
            section_count,
            total_bundle_size: total,
        }
        .to_bytes()
    }
}

/// Appends one section. The caller has checked that the whole bundle fits its size field, and so does each section.
fn put_section(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the caller checked that the sum of all sections fits 32 bits"
    )]
    let length = value.len() as u32;
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(value);
}
