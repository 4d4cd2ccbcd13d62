//! Section `[selection]`: contests between candidates, and what a verifier's command may use.

use std::time::Duration;

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fraction::{Dollars, Fraction};
use super::within::Within;

/// Section `[selection]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Candidates that a serving dispatch asks when `--k` names no number.
    pub k_infer: Within<1, 16>,
    /// Candidates that a learning run compares when `--k` names no number.
    pub k_train: Within<1, 64>,
    /// Times that a learning run asks each candidate; times are the median.
    pub measurements: Within<1, 9>,
    /// Share of the dispatches of `up` that are also held as a learning contest, in the background; 0 means none.
    pub learn_share: Fraction,
    /// Most that learning contests may cost on a day (UTC), in US dollars, by the prices that are set.
    pub learn_budget_usd: Dollars,
    /// New contests after which `up` trains the selector again.
    pub learn_contests: Within<1, 1_000_000>,
    /// Days after which `up` takes a version's exam again, in the background; 0 means never.
    pub audit_max_age: Within<0, 3650>,
    /// By how much a version's quality may be worse than another's on the same exam, from 0 to 1.
    pub exam_margin: Fraction,
    /// Licences that a manifest may name; empty means those of the published schema.
    pub licenses: Vec<String>,
    /// Whether a manifest must carry a good signature to be registered.
    pub require_signature: bool,
    /// Seconds after which a verifier's command is stopped.
    pub verifier_seconds: Within<1, 3600>,
    /// Memory that a verifier's command may use, all its processes together, in MiB.
    pub verifier_memory_mib: Within<16, 1_048_576>,
    /// Processes that a verifier's command may have at a time.
    pub verifier_processes: Within<4, 100_000>,
    /// Output after which a verifier's command is stopped, in KiB.
    pub verifier_output_kib: Within<1, 1_048_576>,
    /// Size of each of its private folders, in MiB.
    pub verifier_scratch_mib: Within<1, 1_048_576>,
    /// Further folders that a verifier's command may read, beside the system's programs.
    pub verifier_reads: Vec<String>,
    /// Whether a verifier's command may run where the machine offers no sandbox.
    pub allow_unsandboxed: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            k_infer: Within::of::<1>(),
            k_train: Within::of::<4>(),
            measurements: Within::of::<3>(),
            learn_share: Fraction::hundredths(0),
            learn_budget_usd: Dollars::hundredths(500),
            learn_contests: Within::of::<50>(),
            audit_max_age: Within::of::<30>(),
            exam_margin: Fraction::hundredths(2),
            licenses: Vec::new(),
            require_signature: false,
            verifier_seconds: Within::of::<60>(),
            verifier_memory_mib: Within::of::<1024>(),
            verifier_processes: Within::of::<64>(),
            verifier_output_kib: Within::of::<1024>(),
            verifier_scratch_mib: Within::of::<64>(),
            verifier_reads: Vec::new(),
            allow_unsandboxed: false,
        }
    }
}

impl Selection {
    /// Returns the age at which an exam is repeated; `None` if never.
    #[must_use]
    pub fn audit_max_age(&self) -> Option<Duration> {
        let days = self.audit_max_age.get();
        (days > 0).then(|| Duration::from_secs(days * 24 * 3600))
    }

    /// Returns the time after which a verifier's command is stopped.
    #[must_use]
    pub fn verifier_time(&self) -> Duration {
        Duration::from_secs(self.verifier_seconds.get())
    }
}
