//! Who takes part when several versions of a role are asked: the gate for each when serving, halts alone when learning.
//! One dispatch takes one place in the quota, however many versions it asks; a learning run takes none.

use std::collections::BTreeMap;

use ::specialist::classifier::Classifier;
use ::specialist::contract::Call;
use ::specialist::gate::{Decision, Gate, Question, Reason};
use ::specialist::quota::Source;
use ::specialist::registry::{Entry, Registry, Version, joined};
use ::specialist::role_block::RoleBlock;
use ::specialist::state::State;
use selection::candidates::{self, Declaration, Eligible};
use serde_json::Value;

use super::dispatch::said;
use super::{Asked, Begun, Specialists};
use crate::files::FileError;

/// What kind of contest is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// How many are asked.
    pub k: usize,
    /// Whether it is to learn from, and not only to serve.
    pub learn: bool,
    /// The input's task, when it is known.
    pub task: Option<&'a str>,
    /// How often each version was tried lately, by its id.
    pub trials: &'a BTreeMap<String, u64>,
}

/// One who takes part.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// The version.
    pub version: Version,
    /// What it declares.
    pub declaration: Declaration,
    /// What it is asked.
    pub call: Call,
    /// The gate's or the selector's score, when there is one.
    pub score: Option<f64>,
    /// Whether it is the role's active version.
    pub active: bool,
}

/// One who does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The version.
    pub version: String,
    /// Why.
    pub why: String,
}

/// A contest that can be held.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The dispatch, which was counted.
    pub begun: Begun,
    /// Who is asked, in order.
    pub entrants: Vec<Entrant>,
    /// Who could be asked as well.
    pub spare: Vec<Entrant>,
    /// Who may not, and why.
    pub left_out: Vec<LeftOut>,
}

/// What is found out about all versions of a role.
struct Field {
    /// What is said when nobody takes part.
    decision: Decision,
    /// What is said otherwise.
    admitted: Option<Decision>,
    entrants: Vec<Entrant>,
    left_out: Vec<LeftOut>,
}

impl Specialists {
    /// Finds those who take part and takes a place in the quota. `may_call` can keep a backend from being asked.
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
        let registry = match self.see() {
            Ok(seen) if !seen.is_trusted => {
                return nobody(Reason::RegistryUntrusted, self.distrust());
            }
            Ok(seen) => seen.registry,
            Err(error) => return nobody(Reason::NoRegistryEntry, said(&error)),
        };
        let load_error = |error: FileError| format!("STATE_LOAD_ERROR: {}", said(&error));
        let _lock = match self.lock_state() {
            Ok(lock) => lock,
            Err(error) => return nobody(Reason::StateUnreadable, load_error(error)),
        };
        let mut state = match self.state() {
            Ok(state) => state,
            Err(error) => return nobody(Reason::StateUnreadable, error.to_string()),
        };
        let Field {
            mut decision,
            admitted,
            mut entrants,
            mut left_out,
        } = self.field(asked, wanted, &registry, &state, classifier);
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
            false => self.count(asked.role, &mut state, decision, call, None),
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

    fn field(
        &self,
        asked: Asked<'_>,
        wanted: Wanted<'_>,
        registry: &Registry,
        state: &State,
        classifier: &dyn Classifier,
    ) -> Field {
        let settings = self.settings();
        let question = |entry, block| Question {
            role: asked.role,
            input: asked.input,
            entry,
            block,
            quota: state.quota(asked.role, settings.scope, settings.quota_window),
            halt: state.halt(asked.role).map(|halt| halt.reason.as_str()),
            classifier,
        };
        let Some(entry) = registry.entry(asked.role) else {
            let mut decision = Gate::decide(question(None, &RoleBlock::NoFile));
            let problems = registry.problems_of(asked.role);
            if !problems.is_empty() {
                decision.detail = joined(&problems);
            }
            return Field {
                decision,
                admitted: None,
                entrants: Vec::new(),
                left_out: Vec::new(),
            };
        };
        let block = self.blocks.of(asked.role);
        let mut found = Field {
            decision: Gate::decide(question(Some(entry), &block)),
            admitted: None,
            entrants: Vec::new(),
            left_out: Vec::new(),
        };
        // The gate looks at the active version: each is asked about as if it were.
        let alone = |version: &Version| Entry {
            active_version: Some(version.id.clone()),
            ..entry.clone()
        };
        let each: Vec<Entry> = ordered(entry).into_iter().map(alone).collect();
        for (version, alone) in ordered(entry).into_iter().zip(&each) {
            let asked_for = question(Some(alone), &block);
            let decision = if wanted.learn {
                learning(asked_for, version)
            } else {
                Gate::decide(asked_for)
            };
            let active = entry.active_version.as_deref() == Some(&version.id);
            match entrant(
                asked, wanted, registry, entry, version, &decision, classifier,
            ) {
                Ok(entrant) => {
                    found.entrants.push(entrant);
                    found.admitted.get_or_insert(decision);
                }
                Err(why) => {
                    found.left_out.push(LeftOut {
                        version: version.id.clone(),
                        why: match why.reason {
                            Reason::UncertifiedActiveVersion => {
                                format!("it is not certified ({})", version.certified_level)
                            }
                            _ => why.detail.clone(),
                        },
                    });
                    if active || (wanted.learn && entry.active_version.is_none()) {
                        found.decision = why;
                    }
                }
            }
        }
        found
    }
}

fn entrant(
    asked: Asked<'_>,
    wanted: Wanted<'_>,
    registry: &Registry,
    entry: &Entry,
    version: &Version,
    decision: &Decision,
    classifier: &dyn Classifier,
) -> Result<Entrant, Decision> {
    if decision.route == Source::Claude {
        return Err(decision.clone());
    }
    let written = registry.written(asked.role, &version.id);
    let declaration = Declaration::of(written.unwrap_or(&Value::Null));
    let score = if wanted.learn {
        score(asked, version, classifier)
    } else {
        Some(decision.score)
    };
    // A newcomer is tried whatever its score.
    let newcomer = wanted.learn && !candidates::is_tried(&version.id, wanted.trials);
    let counted = score.filter(|_| !newcomer);
    if let Some(why) = declaration.excluded(wanted.task, counted) {
        return Err(Decision::open(Reason::ScoreBelowThreshold, why));
    }
    Ok(Entrant {
        call: Call::new(entry, version, asked.input, asked.trace_id),
        version: version.clone(),
        declaration,
        score,
        active: entry.active_version.as_deref() == Some(&version.id),
    })
}

/// The active version first, then the others as they were written.
fn ordered(entry: &Entry) -> Vec<&Version> {
    let is_active = |version: &&Version| entry.active_version.as_deref() == Some(&version.id);
    let mut versions: Vec<&Version> = entry.versions.iter().filter(is_active).collect();
    versions.extend(entry.versions.iter().filter(|version| !is_active(version)));
    versions
}

/// Learning respects halts and a role that switches its specialists off; not levels, scores, pointers or the quota, of
/// which it takes nothing.
fn learning(question: Question<'_>, version: &Version) -> Decision {
    if let Some(reason) = question.halt {
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

fn score(asked: Asked<'_>, version: &Version, classifier: &dyn Classifier) -> Option<f64> {
    let known = !classifier
        .is_ood(asked.role, asked.input, version)
        .unwrap_or(true);
    known.then(|| classifier.score(asked.role, asked.input, version).ok())?
}

/// Those who are asked, in order, and the rest.
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
        candidates::serving(&eligible, wanted.k)
    };
    let mut places: Vec<Option<Entrant>> = entrants.into_iter().map(Some).collect();
    let take = |at: usize| places.get_mut(at).and_then(Option::take);
    let asked: Vec<Entrant> = order.into_iter().filter_map(take).collect();
    (asked, places.into_iter().flatten().collect())
}
