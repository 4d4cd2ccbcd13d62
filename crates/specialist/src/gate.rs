//! The gate: may the active adapter answer this dispatch? A pure function; every refusal has a name.
//!
//! The order is part of the contract: a halt is looked at before all but the entry's existence, the quota before the
//! input, and whether the input is out of distribution before its score. Any doubt routes to the general model.

use serde_json::{Value, json};

use crate::classifier::Classifier;
use crate::quota::{Source, View};
use crate::registry::{Entry, Version};
use crate::role_block::RoleBlock;

/// Why the gate routed as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Everything holds.
    Ok,
    /// The role is not registered, or its entry was refused.
    NoRegistryEntry,
    /// The registry came with a clone, and nobody has trusted it.
    RegistryUntrusted,
    /// The role is halted.
    ShadowProbeHalt,
    /// The role's own file switches its specialist off.
    RoleBlockOff,
    /// The active version is not among the versions.
    RegistryDanglingPointer,
    /// No version is active.
    NoActiveVersion,
    /// The active version is not certified.
    UncertifiedActiveVersion,
    /// The active version was taken out.
    VersionWithdrawn,
    /// The role's own file says something else than the registry.
    RoleBlockMismatch,
    /// The adapter has served its share.
    QuotaExhausted,
    /// Whether the input is out of distribution could not be told.
    OodCheckThrew,
    /// The input is out of distribution.
    Ood,
    /// There is no score.
    ScoreFnThrew,
    /// The score is no number from 0 to 1.
    ScoreInvalid,
    /// The score is too low.
    ScoreBelowThreshold,
    /// The state could not be read or kept, so nothing may be routed.
    StateUnreadable,
    /// The backend failed so often in a row that it is left alone for a while.
    CircuitOpen,
}

impl Reason {
    /// As receipts write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoRegistryEntry => "no_registry_entry",
            Self::RegistryUntrusted => "registry_untrusted",
            Self::ShadowProbeHalt => "shadow_probe_halt",
            Self::RoleBlockOff => "role_block_off",
            Self::RegistryDanglingPointer => "registry_dangling_pointer",
            Self::NoActiveVersion => "no_active_version",
            Self::UncertifiedActiveVersion => "uncertified_active_version",
            Self::VersionWithdrawn => "version_withdrawn",
            Self::RoleBlockMismatch => "role_block_mismatch",
            Self::QuotaExhausted => "quota_exhausted",
            Self::OodCheckThrew => "ood_check_threw",
            Self::Ood => "ood",
            Self::ScoreFnThrew => "score_fn_threw",
            Self::ScoreInvalid => "score_invalid",
            Self::ScoreBelowThreshold => "score_below_threshold",
            Self::StateUnreadable => "state_unreadable",
            Self::CircuitOpen => "circuit_open",
        }
    }
}

/// Where a dispatch goes, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Where to.
    pub route: Source,
    /// Why.
    pub reason: Reason,
    /// The score, where it came to one.
    pub score: f64,
    /// The input was out of distribution.
    pub ood: bool,
    /// The quota had room.
    pub quota_ok: bool,
    /// The reason in words.
    pub detail: String,
}

impl Decision {
    /// Routes to the general model.
    #[must_use]
    pub fn open(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            route: Source::Claude,
            reason,
            score: 0.0,
            ood: false,
            quota_ok: true,
            detail: detail.into(),
        }
    }

    /// As receipts write it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "route": self.route.name(),
            "reason": self.reason.name(),
            "score": self.score,
            "ood": self.ood,
            "quotaOk": self.quota_ok,
            "detail": self.detail,
        })
    }
}

/// What the gate is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The role.
    pub role: &'a str,
    /// The input; text is a JSON string.
    pub input: &'a Value,
    /// The role's entry, when there is one that may be used.
    pub entry: Option<&'a Entry>,
    /// What the role's own file says.
    pub block: &'a RoleBlock,
    /// How much of the quota is used.
    pub quota: View,
    /// Why the role is halted, when it is.
    pub halt: Option<&'a str>,
    /// Who judges the input.
    pub classifier: &'a dyn Classifier,
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// The gate itself. It holds nothing; what it needs to know is in the question.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gate;

impl Gate {
    /// Decides. The entry is trusted as it is: what is wrong with a registry is found when it is read.
    #[must_use]
    pub fn decide(question: Question<'_>) -> Decision {
        decide(question).unwrap_or_else(|refused| *refused)
    }

    /// The version that may serve and its entry, up to the quota: all that does not depend on the input.
    ///
    /// # Errors
    /// Why none may.
    pub fn version<'a>(question: Question<'a>) -> Result<(&'a Entry, &'a Version), Box<Decision>> {
        version(question)
    }
}

impl Gate {
    /// Whether the quota has room for one more dispatch.
    ///
    /// # Errors
    /// It has none.
    pub fn quota(entry: &Entry, view: View) -> Result<(), Box<Decision>> {
        quota(entry, view)
    }
}

fn open(reason: Reason, detail: impl Into<String>) -> Box<Decision> {
    Box::new(Decision::open(reason, detail))
}

fn decide(question: Question<'_>) -> Result<Decision, Box<Decision>> {
    let (entry, version) = version(question)?;
    quota(entry, question.quota)?;
    let score = suits(question, version)?;
    Ok(Decision {
        route: Source::Specialist,
        reason: Reason::Ok,
        score,
        ood: false,
        quota_ok: true,
        detail: format!(
            "score {score:.3} >= threshold {:.3}; {} at {}",
            version.gate_threshold, version.id, version.certified_level
        ),
    })
}

fn version<'a>(question: Question<'a>) -> Result<(&'a Entry, &'a Version), Box<Decision>> {
    let Some(entry) = question.entry else {
        let detail = format!("no registry entry for role {:?}", question.role);
        return Err(open(Reason::NoRegistryEntry, detail));
    };
    if let Some(reason) = question.halt {
        let detail = if reason.is_empty() {
            "the role is halted"
        } else {
            reason
        };
        return Err(open(Reason::ShadowProbeHalt, detail));
    }
    if let Some(detail) = question.block.off() {
        return Err(open(Reason::RoleBlockOff, detail));
    }
    let version = match entry.active() {
        Ok(Some(version)) => version,
        Ok(None) => return Err(open(Reason::NoActiveVersion, "no version is active")),
        Err(id) => {
            let detail = format!("active_version {id:?} not found in versions[]");
            return Err(open(Reason::RegistryDanglingPointer, detail));
        }
    };
    if !version.certified_level.is_certified() {
        let detail = format!(
            "active version {:?} is {}",
            version.id, version.certified_level
        );
        return Err(open(Reason::UncertifiedActiveVersion, detail));
    }
    if let Some(withdrawn) = version.withdrawn {
        let detail = format!("active version {:?} is {}", version.id, withdrawn.name());
        return Err(open(Reason::VersionWithdrawn, detail));
    }
    if let Some(detail) = question.block.mismatch(entry, version) {
        return Err(open(Reason::RoleBlockMismatch, detail));
    }
    Ok((entry, version))
}

fn quota(entry: &Entry, view: View) -> Result<(), Box<Decision>> {
    let share = view.share_after_next();
    if share <= entry.workload_quota {
        return Ok(());
    }
    let detail = format!(
        "({} + 1) of {} is {share:.3} > quota {:.3}",
        view.used, view.window, entry.workload_quota
    );
    let mut decision = open(Reason::QuotaExhausted, detail);
    decision.quota_ok = false;
    Err(decision)
}

/// The score, when the input suits the version.
fn suits(question: Question<'_>, version: &Version) -> Result<f64, Box<Decision>> {
    let Question {
        role,
        input,
        classifier,
        ..
    } = question;
    let score = match classifier.judge(role, input, version) {
        Err(why) => return Err(open(Reason::OodCheckThrew, why)),
        Ok(None) => {
            let mut decision = open(
                Reason::Ood,
                "the input is out of distribution, or cannot be placed",
            );
            decision.ood = true;
            return Err(decision);
        }
        Ok(Some(Err(why))) => return Err(open(Reason::ScoreFnThrew, why)),
        Ok(Some(Ok(score))) => score,
    };
    if !(0.0..=1.0).contains(&score) {
        let detail = format!("score {score} is no number from 0 to 1");
        return Err(open(Reason::ScoreInvalid, detail));
    }
    if score < version.gate_threshold {
        let detail = format!("score {score:.3} < threshold {:.3}", version.gate_threshold);
        let mut decision = open(Reason::ScoreBelowThreshold, detail);
        decision.score = score;
        return Err(decision);
    }
    Ok(score)
}
