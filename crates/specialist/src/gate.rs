//! The gate: decides if an adapter may answer a dispatch, and which one. A pure function; every refusal has a name.
//!
//! The order is part of the contract: a halt is checked before everything but the entry's existence, the quota before
//! the input, and out of distribution before the score. Any doubt routes to the general model. Each version that
//! serves the role is weighed by itself; of those that may answer, the one with the highest reward does.

use serde_json::{Value, json};

use crate::classifier::{Classifier, Fit, Verdict};
use crate::quota::{Source, View};
use crate::registry::{Entry, Version};
use crate::role_block::RoleBlock;
use crate::serving::{Bar, Standing};
use crate::state::Halts;

/// Reason of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every condition holds.
    Ok,
    /// The role is not registered, or its entry was refused.
    NoRegistryEntry,
    /// The registry cannot be read, or is not valid as a whole.
    RegistryDamaged,
    /// The registry came with a clone and is not trusted.
    RegistryUntrusted,
    /// The role is halted.
    ShadowProbeHalt,
    /// The role's own file disables its specialist.
    RoleBlockOff,
    /// The active version is not among the versions.
    RegistryDanglingPointer,
    /// No version is active.
    NoActiveVersion,
    /// The active version is not certified.
    UncertifiedActiveVersion,
    /// The active version was withdrawn.
    VersionWithdrawn,
    /// The role's own file disagrees with the registry.
    RoleBlockMismatch,
    /// The adapter has served its share.
    QuotaExhausted,
    /// The test for out of distribution failed.
    OodCheckThrew,
    /// The version does not take the input, by its own manifest.
    OutOfScope,
    /// The selector exists but cannot be used.
    SelectorDamaged,
    /// Nothing was learned about the version yet.
    NotTrained,
    /// The input is out of distribution.
    Ood,
    /// The score is missing.
    ScoreFnThrew,
    /// The score is not a number from 0 to 1.
    ScoreInvalid,
    /// The score is too low.
    ScoreBelowThreshold,
    /// The state could not be read or kept, so routing is not allowed.
    StateUnreadable,
    /// The store that machines share is unreachable, so routing is not allowed.
    StoreUnreachable,
    /// The backend failed so often in a row that it is paused.
    CircuitOpen,
}

impl Reason {
    /// Returns the name in receipts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoRegistryEntry => "no_registry_entry",
            Self::RegistryDamaged => "registry_damaged",
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
            Self::OutOfScope => "out_of_scope",
            Self::SelectorDamaged => "selector_damaged",
            Self::NotTrained => "not_trained",
            Self::Ood => "ood",
            Self::ScoreFnThrew => "score_fn_threw",
            Self::ScoreInvalid => "score_invalid",
            Self::ScoreBelowThreshold => "score_below_threshold",
            Self::StateUnreadable => "state_unreadable",
            Self::StoreUnreachable => "store_unreachable",
            Self::CircuitOpen => "circuit_open",
        }
    }
}

/// Route of a dispatch, with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub route: Source,
    pub reason: Reason,
    /// The score, or 0 if it was not reached.
    pub score: f64,
    /// Set if the input was out of distribution.
    pub ood: bool,
    /// Set if the quota had room.
    pub quota_ok: bool,
    /// The reason as text.
    pub detail: String,
}

impl Decision {
    /// Creates a decision for the general model.
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

    /// Returns the form in receipts.
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

/// Input of the gate.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub role: &'a str,
    /// The input; text is a JSON string.
    pub input: &'a Value,
    /// Entry of the role, if there is a usable one.
    pub entry: Option<&'a Entry>,
    pub block: &'a RoleBlock,
    /// Used part of the quota.
    pub quota: View,
    /// Halts of the role and its versions.
    pub halts: Halts<'a>,
    /// Classifier of the input.
    pub classifier: &'a dyn Classifier,
    /// Lookup of a version's manifest for the input.
    pub declared: &'a dyn Fn(&Version) -> Declared,
}

/// Conditions of a version's manifest for an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Reason that the version does not take the input.
    pub out_of_scope: Option<String>,
    /// Least score at which the version answers.
    pub least_score: f64,
}

impl Declared {
    /// Returns the conditions of a version without a manifest.
    #[must_use]
    pub fn nothing(_: &Version) -> Self {
        Self::default()
    }
}

/// Result of the gate.
#[derive(Clone, Debug)]
pub struct Weighing<'a> {
    /// Route of the dispatch, with its reason.
    pub decision: Decision,
    /// Versions that may answer, the highest reward first.
    pub admitted: Vec<&'a Version>,
    /// Every version that serves the role, as far as the gate weighed them.
    pub weighed: Vec<Weighed<'a>>,
}

/// Result for one version.
#[derive(Clone, Debug)]
pub struct Weighed<'a> {
    pub version: &'a Version,
    /// Verdict of the classifier; `None` if it did not run.
    pub verdict: Option<Verdict>,
    /// Decision of the gate on this version alone.
    pub decision: Decision,
}

impl Weighed<'_> {
    fn reward(&self) -> f64 {
        match self.verdict {
            Some(Verdict::Scored(Fit { reward, .. })) => reward,
            _ => f64::NEG_INFINITY,
        }
    }
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// The gate itself. It is stateless; all its input is in the question.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gate;

impl Gate {
    /// Decides a dispatch. The entry is trusted: problems of a registry are found when it is parsed.
    #[must_use]
    pub fn decide(question: Question<'_>) -> Decision {
        Self::weigh(question).decision
    }

    /// Weighs every version that serves the role.
    #[must_use]
    pub fn weigh<'a>(question: Question<'a>) -> Weighing<'a> {
        let general = |refused: Box<Decision>| Weighing {
            decision: *refused,
            admitted: Vec::new(),
            weighed: Vec::new(),
        };
        let entry = match version(question) {
            Ok((entry, _)) => entry,
            Err(refused) => return general(refused),
        };
        if let Err(refused) = quota(entry, question.quota) {
            return general(refused);
        }
        let canary = canary(entry, question.input);
        let is_canary = |version: &Version| canary.is_some_and(|canary| canary.id == version.id);
        let others = entry.serving().filter(|version| !is_canary(version));
        let serving: Vec<&Version> = canary.into_iter().chain(others).collect();
        let weighed = Self::suits(question, &serving);
        let mut admitted: Vec<&Weighed<'a>> = weighed
            .iter()
            .filter(|one| one.decision.route == Source::Specialist)
            .collect();
        admitted.sort_by(|one, other| other.reward().total_cmp(&one.reward()));
        // Within its share the canary comes before every version with a higher reward.
        admitted.sort_by_key(|one| !is_canary(one.version));
        let first = admitted.first().copied().or(weighed.first());
        let nobody = || Decision::open(Reason::NoActiveVersion, "no version may serve");
        Weighing {
            decision: first.map_or_else(nobody, |one| one.decision.clone()),
            admitted: admitted.into_iter().map(|one| one.version).collect(),
            weighed,
        }
    }

    /// Decides by the input alone, for some versions, whether they serve or not.
    #[must_use]
    pub fn suits<'a>(question: Question<'a>, versions: &[&'a Version]) -> Vec<Weighed<'a>> {
        let Question { role, input, .. } = question;
        let verdicts = question.classifier.judge(role, input, versions);
        let one = |(version, verdict): (&&'a Version, Verdict)| {
            let declared = (question.declared)(version);
            let decision = match question.halts.of(&version.id) {
                Some(reason) => Decision::open(Reason::ShadowProbeHalt, reason),
                None => suits(version, &declared, &verdict).unwrap_or_else(|refused| *refused),
            };
            Weighed {
                version,
                verdict: Some(verdict),
                decision,
            }
        };
        versions.iter().zip(verdicts).map(one).collect()
    }

    /// Checks that the quota has room for one more dispatch.
    ///
    /// # Errors
    /// Fails if it has no room.
    pub fn quota(entry: &Entry, view: View) -> Result<(), Box<Decision>> {
        quota(entry, view)
    }
}

/// Returns the canary, if the input is in its share of the role's inputs.
fn canary<'a>(entry: &'a Entry, input: &Value) -> Option<&'a Version> {
    entry.canary.as_ref()?;
    match input.as_str() {
        Some(text) => entry.canary_for(text),
        None => entry.canary_for(&input.to_string()),
    }
}

/// Returns why no version may serve: the role is halted, or every version that would serve is.
fn halted<'a>(entry: &Entry, halts: Halts<'a>) -> Option<&'a str> {
    if halts.role.is_some() {
        return halts.role;
    }
    let mut versions = entry.serving();
    let first = halts.of(&versions.next()?.id)?;
    versions
        .all(|version| halts.of(&version.id).is_some())
        .then_some(first)
}

fn open(reason: Reason, detail: impl Into<String>) -> Box<Decision> {
    Box::new(Decision::open(reason, detail))
}

fn version<'a>(question: Question<'a>) -> Result<(&'a Entry, &'a Version), Box<Decision>> {
    let Some(entry) = question.entry else {
        let detail = format!("no registry entry for role {:?}", question.role);
        return Err(open(Reason::NoRegistryEntry, detail));
    };
    if let Some(reason) = halted(entry, question.halts) {
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
    // Halts were checked before; exams were when an operator let the version serve.
    if let Err(bar) = entry.may_serve(version, &Standing::default()) {
        let id = &version.id;
        let (reason, detail) = match bar {
            Bar::Withdrawn(withdrawn) => {
                let detail = format!("active version {id:?} is {}", withdrawn.name());
                (Reason::VersionWithdrawn, detail)
            }
            Bar::Uncertified => {
                let detail = format!("active version {id:?} is {}", version.certified_level);
                (Reason::UncertifiedActiveVersion, detail)
            }
            bar => {
                let detail = format!("active version {id:?} may not serve: {bar}");
                (Reason::UncertifiedActiveVersion, detail)
            }
        };
        return Err(open(reason, detail));
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

/// Checks that the version may answer.
fn suits(
    version: &Version,
    declared: &Declared,
    verdict: &Verdict,
) -> Result<Decision, Box<Decision>> {
    if let Some(why) = &declared.out_of_scope {
        return Err(open(Reason::OutOfScope, why));
    }
    let score = match verdict {
        Verdict::OodUnknown(why) => return Err(open(Reason::OodCheckThrew, why)),
        Verdict::ScoreUnknown(why) => return Err(open(Reason::ScoreFnThrew, why)),
        Verdict::Damaged(why) => return Err(open(Reason::SelectorDamaged, why)),
        Verdict::NotTrained(what) => return Err(open(Reason::NotTrained, what)),
        Verdict::Unfamiliar(found) => {
            let detail = found.map_or_else(
                || "the input is out of distribution, or cannot be placed".to_owned(),
                |found| {
                    let (share, from) = (found.share, found.from);
                    format!("{share:.3} of its words are known, {from:.3} are needed")
                },
            );
            let mut decision = open(Reason::Ood, detail);
            decision.ood = true;
            return Err(decision);
        }
        Verdict::Scored(fit) => fit.score,
    };
    if !(0.0..=1.0).contains(&score) {
        let detail = format!("score {score} is no number from 0 to 1");
        return Err(open(Reason::ScoreInvalid, detail));
    }
    let (threshold, least) = (version.gate_threshold, declared.least_score);
    if score < threshold.max(least) {
        let detail = if score < threshold {
            format!("score {score:.3} < threshold {threshold:.3}")
        } else {
            format!("score {score:.3} < its least confidence {least:.3}")
        };
        let mut decision = open(Reason::ScoreBelowThreshold, detail);
        decision.score = score;
        return Err(decision);
    }
    Ok(Decision {
        route: Source::Specialist,
        reason: Reason::Ok,
        score,
        ood: false,
        quota_ok: true,
        detail: format!(
            "score {score:.3} >= threshold {threshold:.3}; {} at {}",
            version.id, version.certified_level
        ),
    })
}
