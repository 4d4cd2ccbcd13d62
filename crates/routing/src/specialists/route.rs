//! The route of an input with reasons, version by version. No request is sent and nothing is counted; a dispatch
//! decides by the same function.

use ::specialist::classifier::{Classifier, Familiarity, Verdict};
use ::specialist::gate::{Decision, Declared, Gate, Question, Reason, Weighed, Weighing};
use ::specialist::quota::{Source, View};
use ::specialist::registry::{Entry, Refused, Registry, Version, joined};
use ::specialist::role_block::RoleBlock;
use ::specialist::serving::Standing;
use ::specialist::state::State;
use selection::candidates::{self, Declaration};
use serde_json::{Value, json};

use super::dispatch::said;
use super::{Asked, Seen, Specialists};

/// The route of an input.
#[derive(Clone, Debug)]
pub struct Route {
    /// The gate's decision.
    pub decision: Decision,
    /// The version that would answer.
    pub version: Option<String>,
    /// Used quota, and the largest share; `None` for a role that is not registered.
    pub quota: Option<(View, f64)>,
    /// Every version of the role.
    pub versions: Vec<Candidate>,
}

/// One version in a route.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub version: String,
    pub model_id: String,
    pub level: String,
    /// The least score that routes to it.
    pub threshold: f64,
    /// Set if it is in the serving set for this input.
    pub serves: bool,
    /// The classifier's verdict.
    pub verdict: Option<Verdict>,
    /// The gate's decision about it alone.
    pub decision: Decision,
}

impl Candidate {
    /// Returns the familiarity of the input, if measured.
    #[must_use]
    pub fn familiarity(&self) -> Option<Familiarity> {
        match &self.verdict {
            Some(Verdict::Scored(fit)) => fit.familiarity,
            Some(Verdict::Unfamiliar(found)) => *found,
            _ => None,
        }
    }

    /// Returns its score and the mean value of its answers.
    #[must_use]
    pub fn score(&self) -> Option<(f64, f64)> {
        match &self.verdict {
            Some(Verdict::Scored(fit)) => Some((fit.score, fit.reward)),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        let (familiarity, score) = (self.familiarity(), self.score());
        json!({
            "version": self.version,
            "model_id": self.model_id,
            "level": self.level,
            "serves": self.serves,
            "would_answer": self.serves && self.decision.route == Source::Specialist,
            "score": score.map(|(score, _)| score),
            "expected_reward": score.map(|(_, reward)| reward),
            "threshold": self.threshold,
            "familiarity": familiarity.map(|found| found.share),
            "familiar_from": familiarity.map(|found| found.from),
            "reason": self.decision.reason.name(),
            "detail": self.decision.detail,
        })
    }
}

impl Route {
    fn open(decision: Decision) -> Self {
        Self {
            decision,
            version: None,
            quota: None,
            versions: Vec::new(),
        }
    }

    /// Returns JSON for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let quota = self
            .quota
            .map(|(view, most)| json!({ "used": view.used, "window": view.window, "quota": most }));
        json!({
            "decision": self.decision.to_json(),
            "version": self.version,
            "quota": quota,
            "versions": self.versions.iter().map(Candidate::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Specialists {
    /// Returns the route of an input, with reasons. `task` is the input's, if the input does not name one itself.
    pub fn route(
        &self,
        asked: Asked<'_>,
        task: Option<&str>,
        classifier: &dyn Classifier,
    ) -> Route {
        let seen = match self.see() {
            Ok(seen) => seen,
            Err(error) => {
                return Route::open(Decision::open(Reason::RegistryDamaged, said(&error)));
            }
        };
        let state = match self.state() {
            Ok(state) => state,
            Err(error) => {
                return Route::open(Decision::open(Reason::StateUnreadable, error.to_string()));
            }
        };
        let all = |weighing: Weighing<'_>, question: Option<Question<'_>>| {
            let (entry, question) = question.and_then(|one| one.entry.zip(Some(one))).unzip();
            let versions: Vec<&Version> = entry
                .into_iter()
                .flat_map(|entry| &entry.versions)
                .collect();
            let quota = entry
                .zip(question)
                .map(|(entry, one)| (one.quota, entry.workload_quota));
            Route {
                version: weighing.admitted.first().map(|version| version.id.clone()),
                quota,
                versions: question.map_or_else(Vec::new, |one| listed(&weighing, one, &versions)),
                decision: weighing.decision,
            }
        };
        self.weigh(asked, task, &seen, &state, classifier, all)
    }

    /// Queries the gate, and returns its result with the question.
    pub(super) fn weigh<T>(
        &self,
        asked: Asked<'_>,
        task: Option<&str>,
        seen: &Seen,
        state: &State,
        classifier: &dyn Classifier,
        take: impl FnOnce(Weighing<'_>, Option<Question<'_>>) -> T,
    ) -> T {
        let (settings, registry) = (self.settings(), &seen.registry);
        let entry = registry.entry(asked.role);
        if entry.is_some() && !seen.is_trusted {
            let weighing = Weighing {
                decision: Decision::open(Reason::RegistryUntrusted, self.distrust()),
                admitted: Vec::new(),
                weighed: Vec::new(),
            };
            return take(weighing, None);
        }
        let block = match entry {
            Some(_) if self.shared().is_none() => self.blocks.of(asked.role),
            _ => RoleBlock::NoFile,
        };
        let declared = |version: &Version| declared(registry, asked, task, version);
        let question = Question {
            role: asked.role,
            input: asked.input,
            entry,
            block: &block,
            quota: state.quota(asked.role, settings.scope, settings.quota_window),
            halts: state.halts_for(asked.role),
            classifier,
            declared: &declared,
        };
        let mut weighing = Gate::weigh(question);
        let problems = registry.problems_of(asked.role);
        if entry.is_none() && !problems.is_empty() {
            let is_whole = problems.iter().any(|one| one.refused == Refused::Registry);
            let reason = match is_whole {
                true => Reason::RegistryDamaged,
                false => Reason::NoRegistryEntry,
            };
            weighing.decision = Decision::open(reason, joined(&problems));
        }
        take(weighing, Some(question))
    }
}

/// Returns every version with the gate's decision: for serving ones as decided, for others with the reason why they do
/// not serve.
fn listed(
    weighing: &Weighing<'_>,
    question: Question<'_>,
    versions: &[&Version],
) -> Vec<Candidate> {
    let suited = Gate::suits(question, versions);
    let one = |alone: &Weighed<'_>| {
        let version = alone.version;
        let weighed = weighing
            .weighed
            .iter()
            .find(|one| one.version.id == version.id);
        let decision = match weighed {
            Some(weighed) => weighed.decision.clone(),
            None => question.entry.map_or_else(
                || alone.decision.clone(),
                |entry| Decision::open(weighing.decision.reason, aside(entry, version, weighing)),
            ),
        };
        Candidate {
            version: version.id.clone(),
            model_id: version.model_id.clone(),
            level: version.shown_level(),
            threshold: version.gate_threshold,
            serves: weighed.is_some(),
            verdict: alone.verdict.clone(),
            decision,
        }
    };
    suited.iter().map(one).collect()
}

/// Returns why a version is not in the serving set.
pub(super) fn aside(entry: &Entry, version: &Version, weighing: &Weighing<'_>) -> String {
    if let Err(bar) = entry.may_serve(version, &Standing::default()) {
        return bar.to_string();
    }
    if weighing.weighed.is_empty() && entry.serving().any(|one| one.id == version.id) {
        return weighing.decision.detail.clone();
    }
    format!(
        "it is not active; `roleos specialist promote {role} {id}` makes it so, `specialist beside` puts it beside the active one",
        role = entry.role,
        id = version.id
    )
}

/// Returns the statement of a version's manifest about the input.
pub(super) fn declared(
    registry: &Registry,
    asked: Asked<'_>,
    task: Option<&str>,
    version: &Version,
) -> Declared {
    let written = registry.written(asked.role, &version.id);
    let declaration = Declaration::of(written.unwrap_or(&Value::Null));
    let task = task.or_else(|| candidates::task(asked.input));
    Declared {
        out_of_scope: declaration.out_of_scope(asked.input, task),
        least_score: declaration.min_confidence,
    }
}
