//! Selection of entrants of a contest: the versions that the gate admits when serving, and every version that is not
//! halted when learning. One dispatch takes one place in the quota, regardless of the number of versions; a learning
//! run takes none.

use std::collections::BTreeMap;

use ::specialist::classifier::{Classifier, Verdict};
use ::specialist::contract::Call;
use ::specialist::gate::{Decision, Gate, Question, Reason, Weighing};
use ::specialist::quota::Source;
use ::specialist::registry::{Entry, Registry, Version};
use selection::candidates::{self, Declaration, Eligible};
use serde_json::Value;

use super::route::aside;
use super::{Asked, Begun, Specialists};

/// Options of a contest.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Number of entrants.
    pub k: usize,
    /// Set if it is for learning, and not only for serving.
    pub learn: bool,
    /// The input's task, if known.
    pub task: Option<&'a str>,
    /// Number of recent trials of each version, by id.
    pub trials: &'a BTreeMap<String, u64>,
}

#[derive(Clone, Debug)]
pub struct Entrant {
    pub version: Version,
    pub declaration: Declaration,
    /// The request to it.
    pub call: Call,
    /// Score of the gate or the selector, if there is one.
    pub score: Option<f64>,
    /// Set if it is the role's active version.
    pub active: bool,
}

/// A version that does not take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub version: String,
    /// Reason.
    pub why: String,
}

/// A contest ready to start.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The counted dispatch.
    pub begun: Begun,
    /// The entrants, in order.
    pub entrants: Vec<Entrant>,
    /// Further possible entrants.
    pub spare: Vec<Entrant>,
    /// Excluded versions, with reasons.
    pub left_out: Vec<LeftOut>,
}

/// Candidates and excluded versions of a role.
struct Field {
    /// Decision if there is no entrant.
    decision: Decision,
    /// Decision otherwise.
    admitted: Option<Decision>,
    entrants: Vec<Entrant>,
    left_out: Vec<LeftOut>,
}

impl Specialists {
    /// Selects the entrants and takes a place in the quota. `may_call` can exclude a backend.
    pub fn open_contest(
        &self,
        asked: Asked<'_>,
        wanted: Wanted<'_>,
        classifier: &dyn Classifier,
        may_call: &dyn Fn(&Call) -> Result<(), String>,
    ) -> Opened {
        let nobody = |reason, detail: String| Opened {
            begun: Begun::open(reason, detail),
            entrants: Vec::new(),
            spare: Vec::new(),
            left_out: Vec::new(),
        };
        let (seen, held, state) = match self.enter(asked.role) {
            Ok(entered) => entered,
            Err((reason, detail)) => return nobody(reason, detail),
        };
        let Field {
            mut decision,
            admitted,
            mut entrants,
            mut left_out,
        } = self.weigh(
            asked,
            wanted.task,
            &seen,
            &state,
            classifier,
            |weighing, question| field(asked, wanted, &seen.registry, weighing, question),
        );
        entrants.retain(|entrant| {
            let Err(why) = may_call(&entrant.call) else {
                return true;
            };
            decision = Decision::open(Reason::CircuitOpen, why.clone());
            left_out.push(LeftOut {
                version: entrant.version.id.clone(),
                why,
            });
            false
        });
        if let Some(admitted) = admitted.filter(|_| !entrants.is_empty()) {
            decision = admitted;
        }
        let (entrants, spare) = chosen(entrants, wanted);
        let call = entrants.first().map(|entrant| entrant.call.clone());
        let begun = match wanted.learn {
            true => Begun::uncounted(decision, call),
            false => self.count(asked.role, (held, state), decision, call, None),
        };
        if begun.decision.route == Source::Claude {
            return Opened {
                begun,
                entrants: Vec::new(),
                spare: Vec::new(),
                left_out,
            };
        }
        Opened {
            begun,
            entrants,
            spare,
            left_out,
        }
    }
}

fn field(
    asked: Asked<'_>,
    wanted: Wanted<'_>,
    registry: &Registry,
    weighing: Weighing<'_>,
    question: Option<Question<'_>>,
) -> Field {
    let mut found = Field {
        decision: weighing.decision.clone(),
        admitted: None,
        entrants: Vec::new(),
        left_out: Vec::new(),
    };
    let entered = question.and_then(|question| question.entry.map(|entry| (entry, question)));
    let Some((entry, question)) = entered else {
        return found;
    };
    let entrant = |version: &Version, score: Option<f64>| {
        let written = registry.written(asked.role, &version.id);
        Entrant {
            call: Call::new(entry, version, asked.input, asked.trace_id),
            version: version.clone(),
            declaration: Declaration::of(written.unwrap_or(&Value::Null)),
            score,
            active: entry.active_version.as_deref() == Some(&version.id),
        }
    };
    if wanted.learn {
        found.learn(entry, question, entrant);
    } else {
        found.serve(entry, weighing, entrant);
    }
    found
}

impl Field {
    /// Selects the versions that the gate admits, best first.
    fn serve(
        &mut self,
        entry: &Entry,
        weighing: Weighing<'_>,
        entrant: impl Fn(&Version, Option<f64>) -> Entrant,
    ) {
        let of = |id: &str| weighing.weighed.iter().find(|one| one.version.id == id);
        for version in &weighing.admitted {
            let score = of(&version.id).map(|one| one.decision.score);
            self.entrants.push(entrant(version, score));
        }
        for version in &entry.versions {
            if weighing.admitted.iter().any(|one| one.id == version.id) {
                continue;
            }
            let why = of(&version.id).map(|one| one.decision.detail.clone());
            self.left_out.push(LeftOut {
                version: version.id.clone(),
                why: why.unwrap_or_else(|| aside(entry, version, &weighing)),
            });
        }
        self.admitted = (!self.entrants.is_empty()).then_some(weighing.decision);
    }

    /// Selects every version that may learn.
    fn learn(
        &mut self,
        entry: &Entry,
        question: Question<'_>,
        entrant: impl Fn(&Version, Option<f64>) -> Entrant,
    ) {
        for weighed in Gate::suits(question, &ordered(entry)) {
            let version = weighed.version;
            let score = match &weighed.verdict {
                Some(Verdict::Scored(fit)) => Some(fit.score),
                _ => None,
            };
            // Regardless of its score: a low score of a backend that was repaired since must not stop it from learning
            // again.
            let mut decision = learning(question, version);
            if let Some(why) = (question.declared)(version).out_of_scope {
                decision = Decision::open(Reason::OutOfScope, why);
            }
            if decision.route == Source::Specialist {
                self.entrants.push(entrant(version, score));
                self.admitted.get_or_insert(decision);
                continue;
            }
            self.left_out.push(LeftOut {
                version: version.id.clone(),
                why: decision.detail.clone(),
            });
            self.decision = decision;
        }
    }
}

/// Returns the active version first, then the others as written.
fn ordered(entry: &Entry) -> Vec<&Version> {
    let is_active = |version: &&Version| entry.active_version.as_deref() == Some(&version.id);
    let mut versions: Vec<&Version> = entry.versions.iter().filter(is_active).collect();
    versions.extend(entry.versions.iter().filter(|version| !is_active(version)));
    versions
}

/// Decides about a learning run: only halts and a role that switches its specialists off count; not levels, scores,
/// pointers or the quota, of which it takes nothing.
fn learning(question: Question<'_>, version: &Version) -> Decision {
    if let Some(reason) = question.halts.of(&version.id) {
        return Decision::open(Reason::ShadowProbeHalt, reason);
    }
    if let Some(detail) = question.block.off() {
        return Decision::open(Reason::RoleBlockOff, detail);
    }
    if let Some(withdrawn) = version.withdrawn {
        let detail = format!("version {:?} is {}", version.id, withdrawn.name());
        return Decision::open(Reason::VersionWithdrawn, detail);
    }
    Decision {
        route: Source::Specialist,
        reason: Reason::Ok,
        score: 0.0,
        ood: false,
        quota_ok: true,
        detail: format!(
            "learning run; {} at {}",
            version.id, version.certified_level
        ),
    }
}

/// Returns the entrants, in order, and the rest.
fn chosen(entrants: Vec<Entrant>, wanted: Wanted<'_>) -> (Vec<Entrant>, Vec<Entrant>) {
    let eligible: Vec<Eligible> = entrants
        .iter()
        .map(|entrant| Eligible {
            version: entrant.version.id.clone(),
            score: entrant.score,
        })
        .collect();
    let order = if wanted.learn {
        candidates::learning(&eligible, wanted.trials, wanted.k)
    } else {
        (0..eligible.len().min(wanted.k)).collect()
    };
    let mut places: Vec<Option<Entrant>> = entrants.into_iter().map(Some).collect();
    let take = |at: usize| places.get_mut(at).and_then(Option::take);
    let asked: Vec<Entrant> = order.into_iter().filter_map(take).collect();
    (asked, places.into_iter().flatten().collect())
}
