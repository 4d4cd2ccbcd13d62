//! The registry `roleos-specialist-registry/v1`: the adapters of each role, and the active one.
//!
//! [`Registry::parse`] checks everything and names every problem with its place. It returns the part that a gate may
//! use: entries without problems, or none at all if the file as a whole cannot be trusted. The document itself is
//! kept as it was written, so that a change rewrites one value and keeps every unknown key.

use json_schema::unique::Unique;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::level::Level;
use crate::serving::Standing;

pub use self::problem::{Place, Problem, Refused, Rule, joined};

mod check;
mod format;
pub mod problem;

/// Supported schema.
pub const SCHEMA: &str = "roleos-specialist-registry/v1";

/// The only supported fallback.
pub const FALLBACK: &str = "claude";

/// Threshold of a version that declares none.
pub const DEFAULT_THRESHOLD: f64 = 0.75;

/// Exam of a version that declares none: no exam has this hash.
pub const NO_EXAM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Audit window of a version that declares none.
pub const DEFAULT_AUDIT_WINDOW: u64 = 200;

/// Quota of a new role that declares none.
pub const DEFAULT_QUOTA: f64 = 1.0;

/// Protocol of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contract {
    /// `POST <backend_url>/verify`.
    #[default]
    Verify,
    /// OpenAI's chat completions, with the adapter as the model.
    OpenAi,
}

/// One role and its adapters.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Unique name of the role.
    pub role: String,
    /// Address that serves the adapters.
    pub backend_url: String,
    /// Largest share of dispatches, above 0 and at most 1.
    pub workload_quota: f64,
    /// Id of the version that serves.
    pub active_version: Option<String>,
    /// Ids of the versions that serve beside the active one, by an operator's choice.
    pub beside: Vec<String>,
    /// Version that is tried on a share of the inputs.
    pub canary: Option<Canary>,
    /// All versions, in the order of the file.
    pub versions: Vec<Version>,
    /// Further addresses of the same adapters, tried if the first does not answer.
    pub backend_urls: Vec<String>,
    /// Protocol of the backend.
    pub contract: Contract,
    /// Time limit of the backend, if it has its own.
    pub timeout_ms: Option<u64>,
    /// Environment variable with its bearer token.
    pub auth_env: Option<String>,
}

impl Entry {
    /// Returns a version by its id.
    #[must_use]
    pub fn version(&self, id: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.id == id)
    }

    /// Returns the version that serves; `Ok(None)` if there is none.
    ///
    /// # Errors
    /// Fails with the id if the pointer is dangling.
    pub fn active(&self) -> Result<Option<&Version>, &str> {
        match self.active_version.as_deref() {
            None => Ok(None),
            Some(id) => self.version(id).map(Some).ok_or(id),
        }
    }

    /// Returns the versions that may answer by the registry: the active one first, then those beside it. Without an
    /// active version there are none.
    pub fn serving(&self) -> impl Iterator<Item = &Version> {
        let active = self.active_version.as_deref();
        let beside = self.beside.iter().map(String::as_str);
        let beside = beside.filter(move |id| Some(*id) != active);
        let ids = active
            .into_iter()
            .chain(beside.filter(move |_| active.is_some()));
        ids.filter_map(|id| self.version(id))
            .filter(|version| self.may_serve(version, &Standing::default()).is_ok())
    }

    /// Returns `true` if every version was withdrawn.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        !self.versions.is_empty() && self.versions.iter().all(|one| one.withdrawn.is_some())
    }

    /// Returns the canary's version if this input is in its share and it may serve.
    #[must_use]
    pub fn canary_for(&self, input: &str) -> Option<&Version> {
        self.active_version.as_ref()?;
        let canary = self.canary.as_ref().filter(|canary| canary.takes(input))?;
        self.version(&canary.version)
            .filter(|version| self.may_serve(version, &Standing::default()).is_ok())
    }

    /// Returns the addresses of a version in the order in which they are tried; never empty.
    #[must_use]
    pub fn addresses<'a>(&'a self, version: &'a Version) -> Vec<&'a str> {
        let (first, more) = match &version.backend_url {
            Some(own) => (own, &version.backend_urls),
            None if version.backend_urls.is_empty() => (&self.backend_url, &self.backend_urls),
            None => return version.backend_urls.iter().map(String::as_str).collect(),
        };
        let more = more.iter().filter(|url| *url != first);
        std::iter::once(first)
            .chain(more)
            .map(String::as_str)
            .collect()
    }
}

/// A version that is tried on a share of the inputs before it replaces the active one.
#[derive(Clone, Debug, PartialEq)]
pub struct Canary {
    /// Id of the version.
    pub version: String,
    /// Share of the inputs, above 0 and at most 1.
    pub share: f64,
}

impl Canary {
    /// Returns `true` if this input is in the share. The same input always gives the same answer.
    #[must_use]
    pub fn takes(&self, input: &str) -> bool {
        let mut hasher = Sha256::new();
        hasher.update(self.version.as_bytes());
        hasher.update([0]);
        hasher.update(input.as_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        let [a, b, c, d, ..] = digest;
        let place = f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0);
        place < self.share
    }
}

/// One adapter of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Id, unique within the role.
    pub id: String,
    /// Pinned id that the backend must echo.
    pub adapter_id: String,
    /// Name of the model in logs; the pin if it has none.
    pub model_id: String,
    /// Address of this version, if it differs from the role's.
    pub backend_url: Option<String>,
    /// Further addresses of it, tried if the first does not answer.
    pub backend_urls: Vec<String>,
    /// Base model of the adapter.
    pub base_model: String,
    /// SHA-256 of its weights, if its manifest names it.
    pub weights: Option<String>,
    /// Lowest score that routes to it.
    pub gate_threshold: f64,
    /// Certification level.
    pub certified_level: Level,
    /// Set if no evidence on this machine supports its level: another program or a person wrote it.
    pub claimed: bool,
    /// Certifier elsewhere, as entered by an operator.
    pub certified_by: Option<String>,
    /// Subject of its level, as by [`Entry::subject`]; `None` if another program set the level.
    pub certified_for: Option<String>,
    /// Hash of the exam that it was scored against.
    pub exam_hash: String,
    /// Number of dispatches in the window of the field audit.
    pub field_audit_window: u64,
    /// Time of its registration, as written.
    pub created_at: String,
    /// Centroid of the exam's inputs.
    pub exam_centroid: Option<Vec<f64>>,
    /// Lowest cosine that is not out of distribution.
    pub ood_floor: Option<f64>,
    /// Status of a version that no longer serves.
    pub withdrawn: Option<Withdrawn>,
}

impl Version {
    /// Returns the level as lists show it: `L2`, or `L2 claimed`.
    #[must_use]
    pub fn shown_level(&self) -> String {
        let claimed = if self.claimed { " claimed" } else { "" };
        format!("{}{claimed}", self.certified_level)
    }
}

/// Status of a withdrawn version in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// A better version exists.
    Deprecated,
    /// The version must not be loaded.
    Revoked,
}

impl Withdrawn {
    /// Returns the name in the registry.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deprecated => "deprecated",
            Self::Revoked => "revoked",
        }
    }
}

/// Usable part of a registry.
#[derive(Clone, Debug)]
pub struct Registry {
    document: Value,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Default for Registry {
    /// Returns a registry without entries, which is the normal beginning.
    fn default() -> Self {
        Self {
            document: json!({ "schema": SCHEMA, "specialists": [] }),
            entries: Vec::new(),
            problems: Vec::new(),
        }
    }
}

impl Registry {
    /// Parses a registry and checks all of it.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        match serde_json::from_slice(bytes) {
            Ok(Unique(document)) => Self::of(document),
            Err(error) => Self {
                document: Value::Null,
                entries: Vec::new(),
                problems: vec![Problem {
                    rule: None,
                    place: Place::default(),
                    what: format!("registry parse error: {error}"),
                    refused: Refused::Registry,
                }],
            },
        }
    }

    fn of(document: Value) -> Self {
        let (entries, problems) = check::all(&document);
        Self {
            document,
            entries,
            problems,
        }
    }

    /// Returns all problems, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns `true` if there is no problem.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the usable entries.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the usable entry of a role.
    #[must_use]
    pub fn entry(&self, role: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.role == role)
    }

    /// Returns `true` if a version claims evidence for its level.
    #[must_use]
    pub fn tells_of_evidence(&self) -> bool {
        let mut versions = self.entries.iter().flat_map(|entry| &entry.versions);
        versions.any(|version| version.certified_level.is_certified() && !version.claimed)
    }

    /// Returns the same registry, in which every level above the one that was earned here, by role and version, is
    /// marked as claimed: the registry's own statement about its evidence may have come with the file.
    #[must_use]
    pub fn with_evidence(mut self, earned: impl Fn(&str, &str) -> Level) -> Self {
        for entry in &mut self.entries {
            for version in &mut entry.versions {
                version.claimed |= version.certified_level > earned(&entry.role, &version.id);
            }
        }
        self
    }

    /// Returns the same registry with every claimed level counted as L0. The document stays as it is.
    #[must_use]
    pub fn without_claims(mut self) -> Self {
        let versions = self
            .entries
            .iter_mut()
            .flat_map(|entry| &mut entry.versions);
        for version in versions.filter(|version| version.claimed) {
            version.certified_level = Level::UNCERTIFIED;
        }
        self
    }

    /// Returns `true` if an entry names this role, refused or not; `None` if the file cannot be read at all.
    #[must_use]
    pub fn names(&self, role: &str) -> Option<bool> {
        let list = self.document.get("specialists").and_then(Value::as_array)?;
        let mut names = list.iter().filter_map(|entry| entry.get("role")?.as_str());
        Some(names.any(|name| name == role))
    }

    /// Returns all versions as they were written, with their roles.
    pub fn all_written(&self) -> impl Iterator<Item = (&str, &Value)> {
        let list = self.document.get("specialists").and_then(Value::as_array);
        list.into_iter().flatten().flat_map(|entry| {
            let role = entry
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let versions = entry.get("versions").and_then(Value::as_array);
            versions.into_iter().flatten().map(move |one| (role, one))
        })
    }

    /// Returns a version as it was written, with its unknown keys.
    #[must_use]
    pub fn written(&self, role: &str, version: &str) -> Option<&Value> {
        self.all_written()
            .find(|(of, one)| *of == role && one.get("id").and_then(Value::as_str) == Some(version))
            .map(|(_, one)| one)
    }

    /// Returns the problems that keep this role from being served: its own and those of the whole file.
    #[must_use]
    pub fn problems_of(&self, role: &str) -> Vec<Problem> {
        let concerns = |problem: &&Problem| {
            let own = problem.place.entry.as_ref();
            problem.refused == Refused::Registry
                || own.is_some_and(|(_, named)| named.as_deref() == Some(role))
        };
        self.problems.iter().filter(concerns).cloned().collect()
    }

    /// Returns the text of the file: two spaces, a newline at the end, every key in its position.
    #[must_use]
    pub fn print(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the same registry with another active version of a role. The result may have problems; check before
    /// saving.
    #[must_use]
    pub fn with_active(&self, role: &str, version: Option<&str>) -> Self {
        self.with_role_keys(role, &[("active_version", json!(version))])
    }

    /// Returns the same registry with some keys of a role set. The result may have problems; check before saving.
    #[must_use]
    pub fn with_role_keys(&self, role: &str, keys: &[(&str, Value)]) -> Self {
        let mut document = self.document.clone();
        if let Some(entry) = entry_mut(&mut document, role) {
            for (key, value) in keys {
                entry.insert((*key).to_owned(), value.clone());
            }
        }
        Self::of(document)
    }

    /// Returns the same registry with some keys of a version set. The result may have problems; check before saving.
    #[must_use]
    pub fn with_keys(&self, role: &str, version: &str, keys: &[(&str, Value)]) -> Self {
        let mut document = self.document.clone();
        let versions = entry_mut(&mut document, role)
            .and_then(|entry| entry.get_mut("versions"))
            .and_then(Value::as_array_mut);
        let found = versions.and_then(|versions| {
            versions
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .find(|one| one.get("id").and_then(Value::as_str) == Some(version))
        });
        if let Some(object) = found {
            for (key, value) in keys {
                object.insert((*key).to_owned(), value.clone());
            }
        }
        Self::of(document)
    }

    /// Returns the same registry with one more version of a role, behind the others.
    #[must_use]
    pub fn with_version(&self, role: &str, version: Value) -> Self {
        let mut document = self.document.clone();
        let versions = entry_mut(&mut document, role)
            .and_then(|entry| entry.get_mut("versions"))
            .and_then(Value::as_array_mut);
        if let Some(versions) = versions {
            versions.push(version);
        }
        Self::of(document)
    }

    /// Returns the same registry with one more role, which has no version yet.
    #[must_use]
    pub fn with_role(&self, role: &str, backend_url: &str, quota: f64) -> Self {
        let mut document = self.document.clone();
        let list = document
            .get_mut("specialists")
            .and_then(Value::as_array_mut);
        if let Some(list) = list {
            list.push(json!({
                "role": role,
                "backend_url": backend_url,
                "fallback": FALLBACK,
                "workload_quota": quota,
                "active_version": null,
                "versions": [],
            }));
        }
        Self::of(document)
    }
}

fn entry_mut<'a>(document: &'a mut Value, role: &str) -> Option<&'a mut Map<String, Value>> {
    let list = document.get_mut("specialists")?.as_array_mut()?;
    list.iter_mut()
        .filter_map(Value::as_object_mut)
        .find(|entry| entry.get("role").and_then(Value::as_str) == Some(role))
}

/// Fills in the optional keys of a version that is being registered.
pub fn complete(version: &mut Map<String, Value>, now: &str) {
    let mut default = |key: &str, value: Value| {
        version.entry(key).or_insert(value);
    };
    default("gate_threshold", json!(DEFAULT_THRESHOLD));
    default("certified_level", json!(Level::UNCERTIFIED.to_string()));
    default("exam_hash", json!(NO_EXAM));
    default("field_audit_window", json!(DEFAULT_AUDIT_WINDOW));
    default("created_at", json!(now));
}
