//! JSON of a catalog check. The keys of a failure are exactly those of the published vectors.

use std::collections::BTreeMap;

use ::catalog::catalog::Warning;
use ::catalog::problem::Problem;
use ::catalog::yaml::number_text;
use serde::Serialize;
use serde_json::Number;

use roles::catalog::{Locate, Outcome};

/// JSON value of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Set if the catalog is valid.
    pub ok: bool,
    /// Failures in the published order.
    pub failures: Vec<Failure>,
    /// Remarks that are not failures.
    pub warnings: Vec<Remark>,
    /// Files that a server would refuse: `missing`, `invalid_yaml` or `malformed`.
    pub served: BTreeMap<String, &'static str>,
    /// Set if a refresh succeeded.
    pub lock_written: bool,
    /// Roles that are new in the lock.
    pub added: Vec<String>,
    /// Roles whose hash or version is new in the lock.
    pub updated: Vec<String>,
    /// Roles that were removed from the lock.
    pub pruned: Vec<String>,
}

impl Check {
    /// Converts the outcome of a check or a refresh.
    #[must_use]
    pub fn of(outcome: &Outcome, locate: &mut Locate<'_>) -> Self {
        let served = outcome.draft.served().into_iter();
        let written = outcome.written.as_ref();
        let warnings = outcome.draft.warnings();
        Self {
            ok: outcome.passed,
            failures: outcome.problems.iter().map(Failure::of).collect(),
            warnings: warnings
                .iter()
                .map(|warning| Remark::of(locate, warning))
                .collect(),
            served: served
                .map(|(path, refusal)| (path, refusal.name()))
                .collect(),
            lock_written: written.is_some(),
            added: written
                .map(|written| written.added.clone())
                .unwrap_or_default(),
            updated: written
                .map(|written| written.updated.clone())
                .unwrap_or_default(),
            pruned: written
                .map(|written| written.pruned.clone())
                .unwrap_or_default(),
        }
    }
}

/// One problem; the class determines its keys.
#[derive(Debug, Serialize)]
pub struct Failure {
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<Option<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slugs: Vec<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_version: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<String>,
}

impl Failure {
    fn of(problem: &Problem) -> Self {
        Self {
            class: problem.class.name(),
            bundle: problem.bundle.clone(),
            language: problem.language.clone(),
            field: problem.field,
            slug: problem.slug.clone(),
            slugs: problem.slugs.clone(),
            file: problem.file.clone(),
            version: problem.version.and_then(number),
            locked_version: problem.locked_version.and_then(number),
            first: problem.first.clone(),
            second: problem.second.clone(),
        }
    }
}

/// Returns a number without a point if it is whole, as in the lock.
fn number(number: f64) -> Option<Number> {
    serde_json::from_str(&number_text(number)).ok()
}

/// A warning with its position.
#[derive(Debug, Serialize)]
pub struct Remark {
    class: &'static str,
    message: String,
    file: String,
    line: Option<usize>,
    column: Option<usize>,
}

impl Remark {
    fn of(locate: &mut Locate<'_>, warning: &Warning) -> Self {
        let place = locate(&warning.place);
        Self {
            class: warning.class,
            message: warning.what.clone(),
            file: warning.place.file.clone(),
            line: place.as_ref().map(|(position, _)| position.line),
            column: place.as_ref().map(|(position, _)| position.column),
        }
    }
}
