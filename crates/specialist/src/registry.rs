//! The registry `roleos-specialist-registry/v1`: which adapters there are for which role, and which one is active.
//!
//! [`Registry::parse`] looks at everything and names every problem with its place. What it hands out is what a gate may
//! use: entries without problems, or none at all when the file as a whole cannot be believed. The document itself is kept
//! as it was written, so that a change rewrites one value and loses no key that is not ours.

use json_schema::unique::Unique;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::level::Level;
use crate::serving::Standing;

pub use self::problem::{Place, Problem, Refused, Rule, joined};

mod check;
mod format;
pub mod problem;

/// The schema that is understood.
pub const SCHEMA: &str = "roleos-specialist-registry/v1";

/// The only fallback there is.
pub const FALLBACK: &str = "claude";

/// What a version gets that names no threshold of its own.
pub const DEFAULT_THRESHOLD: f64 = 0.75;

/// What a version gets that names no exam: no exam has this hash.
pub const NO_EXAM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a version gets that names no audit window.
pub const DEFAULT_AUDIT_WINDOW: u64 = 200;

/// What a new role gets that names no quota.
pub const DEFAULT_QUOTA: f64 = 1.0;

/// The language that a backend speaks.
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
    /// The role, unique.
    pub role: String,
    /// Where the adapters are served.
    pub backend_url: String,
    /// Largest share of dispatches, above 0 and at most 1.
    pub workload_quota: f64,
    /// Which version serves.
    pub active_version: Option<String>,
    /// Versions that serve beside the active one, by id, because an operator put them there.
    pub beside: Vec<String>,
    /// The version that is tried on a share of the inputs.
    pub canary: Option<Canary>,
    /// All versions, oldest first as written.
    pub versions: Vec<Version>,
    /// Further addresses of the same adapters, tried when the first does not answer.
    pub backend_urls: Vec<String>,
    /// What the backend speaks.
    pub contract: Contract,
    /// Its own time limit.
    pub timeout_ms: Option<u64>,
    /// The environment variable that holds its bearer token.
    pub auth_env: Option<String>,
}

impl Entry {
    /// A version by its id.
    #[must_use]
    pub fn version(&self, id: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.id == id)
    }

    /// The version that serves; `Ok(None)` when there is none.
    ///
    /// # Errors
    /// The pointer leads nowhere; the id is handed back.
    pub fn active(&self) -> Result<Option<&Version>, &str> {
        match self.active_version.as_deref() {
            None => Ok(None),
            Some(id) => self.version(id).map(Some).ok_or(id),
        }
    }

    /// Returns the versions that may answer as far as the registry tells: the active one first, then those beside it.
    /// Without an active version there are none.
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
    /// The version's id.
    pub version: String,
    /// Its share, above 0 and at most 1.
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

/// One adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Unique within the role.
    pub id: String,
    /// The pin that the backend must echo.
    pub adapter_id: String,
    /// The model's own name in logs; the pin when it names none.
    pub model_id: String,
    /// Where it is served, when not where the others of its role are.
    pub backend_url: Option<String>,
    /// Further addresses of it, tried when the first does not answer.
    pub backend_urls: Vec<String>,
    /// What the adapter sits on.
    pub base_model: String,
    /// SHA-256 of its weights, where its manifest names it.
    pub weights: Option<String>,
    /// Lowest score that routes to it.
    pub gate_threshold: f64,
    /// How far it is certified.
    pub certified_level: Level,
    /// Whether no evidence on this machine carries its level: another program or a person wrote it down.
    pub claimed: bool,
    /// Who certified it elsewhere, as an operator said.
    pub certified_by: Option<String>,
    /// What its level was given for, as [`Entry::subject`] has it; nothing where another program gave it.
    pub certified_for: Option<String>,
    /// Which exam it was scored against.
    pub exam_hash: String,
    /// How many dispatches the field audit looks back.
    pub field_audit_window: u64,
    /// When it entered, as written.
    pub created_at: String,
    /// The middle of the exam's inputs.
    pub exam_centroid: Option<Vec<f64>>,
    /// Lowest cosine that is not out of distribution.
    pub ood_floor: Option<f64>,
    /// Why it serves no more, when it does not.
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

/// A version that was taken out: its `status` in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// Something better is there.
    Deprecated,
    /// It must not be loaded.
    Revoked,
}

impl Withdrawn {
    /// As the registry writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deprecated => "deprecated",
            Self::Revoked => "revoked",
        }
    }
}

/// A registry as far as it can be used.
#[derive(Clone, Debug)]
pub struct Registry {
    document: Value,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Default for Registry {
    /// Nobody is registered, which is the normal beginning.
    fn default() -> Self {
        Self {
            document: json!({ "schema": SCHEMA, "specialists": [] }),
            entries: Vec::new(),
            problems: Vec::new(),
        }
    }
}

impl Registry {
    /// Reads a registry and looks at all of it.
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

    /// Everything that is wrong, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// The entries that may be used.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a role, when it may be used.
    #[must_use]
    pub fn entry(&self, role: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.role == role)
    }

    /// Returns whether a version says that evidence carries its level.
    #[must_use]
    pub fn tells_of_evidence(&self) -> bool {
        let mut versions = self.entries.iter().flat_map(|entry| &entry.versions);
        versions.any(|version| version.certified_level.is_certified() && !version.claimed)
    }

    /// Returns the same registry with every level marked as claimed that is higher than what was earned here, by role and
    /// version: what a registry says of its own evidence may have come with it.
    #[must_use]
    pub fn with_evidence(mut self, earned: impl Fn(&str, &str) -> Level) -> Self {
        for entry in &mut self.entries {
            for version in &mut entry.versions {
                version.claimed |= version.certified_level > earned(&entry.role, &version.id);
            }
        }
        self
    }

    /// Returns the same registry with every claimed level counted as L0. What is written stays.
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

    /// Returns whether an entry names this role, refused or not; `None` when the file cannot be read at all.
    #[must_use]
    pub fn names(&self, role: &str) -> Option<bool> {
        let list = self.document.get("specialists").and_then(Value::as_array)?;
        let mut names = list.iter().filter_map(|entry| entry.get("role")?.as_str());
        Some(names.any(|name| name == role))
    }

    /// All versions as they were written, with their roles.
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

    /// A version as it was written, with the keys that are others' business.
    #[must_use]
    pub fn written(&self, role: &str, version: &str) -> Option<&Value> {
        self.all_written()
            .find(|(of, one)| *of == role && one.get("id").and_then(Value::as_str) == Some(version))
            .map(|(_, one)| one)
    }

    /// The problems that keep this role from being served: its own and those of the whole file.
    #[must_use]
    pub fn problems_of(&self, role: &str) -> Vec<Problem> {
        let concerns = |problem: &&Problem| {
            let own = problem.place.entry.as_ref();
            problem.refused == Refused::Registry
                || own.is_some_and(|(_, named)| named.as_deref() == Some(role))
        };
        self.problems.iter().filter(concerns).cloned().collect()
    }

    /// The file's text: two spaces, a newline at the end, every key where it was.
    #[must_use]
    pub fn print(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The same registry with another active version of a role. The result may have problems; look before saving.
    #[must_use]
    pub fn with_active(&self, role: &str, version: Option<&str>) -> Self {
        self.with_role_keys(role, &[("active_version", json!(version))])
    }

    /// The same registry with some keys of a role set. The result may have problems; look before saving.
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

    /// The same registry with some keys of a version set. The result may have problems; look before saving.
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

    /// The same registry with one more version of a role, behind the others.
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

    /// The same registry with one more role, which has no version yet.
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

/// Fills in what a version that is being registered may leave out.
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
