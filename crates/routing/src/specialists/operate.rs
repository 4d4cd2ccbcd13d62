//! Actions of an operator: register, halt, clear, repair. Each leaves a line in the events log.

use std::fs;
use std::path::PathBuf;

use ::specialist::event::{Event, Kind};
use ::specialist::level::Level;
use ::specialist::pointer::{Refusal, serviceable};
use ::specialist::registry::{Problem, Registry, Withdrawn, complete, joined};
use ::specialist::serving::Standing;
use ::specialist::state::{Halt, State};
use serde_json::{Value, json};

use super::held::{Held, Keep};
use super::pending::Recovered;
use super::{MAX_FILE, Specialists, Unreadable, read_or_nothing};
use crate::shared::Log;
use base::files::{Action, FileError};
use base::recorded;

/// Error of an operator's action.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The present registry is invalid.
    #[error("the registry `{}` is not valid", path.display())]
    Invalid {
        path: PathBuf,
        /// All problems.
        problems: Vec<Problem>,
    },
    /// The registry came with a clone, and no person has trusted it.
    #[error("the registry `{}` was not written by `roleos` here and is not confirmed", .0.display())]
    Untrusted(PathBuf),
    /// The registry would be invalid.
    #[error("REGISTRY_INVALID: refusing to save the registry: {}", joined(.0))]
    WouldBeInvalid(Vec<Problem>),
    /// The role is not registered.
    #[error("there is no role `{0}` in the registry")]
    UnknownRole(String),
    /// The id is taken.
    #[error("R3: role `{role}` has a version `{id}` already{}", withdrawn.map_or_else(String::new, |how| format!(", which is {}", how.name())))]
    DuplicateVersion {
        role: String,
        id: String,
        /// Its withdrawal, if it was withdrawn.
        withdrawn: Option<Withdrawn>,
    },
    /// The model and its version are known, with another manifest.
    #[error(
        "`{model_id}` {version} is registered for role `{role}` with another manifest ({hash})"
    )]
    OtherManifest {
        model_id: String,
        version: String,
        role: String,
        /// The other manifest's hash.
        hash: String,
    },
    /// A new role needs an address.
    #[error("role `{0}` is new and needs a backend")]
    NoBackend(String),
    /// The level does not exist.
    #[error("`certified_level` is `{0}`; certificates name L0 to L5")]
    NoSuchLevel(String),
    /// The version is malformed.
    #[error("a version must be a JSON object with an `id`")]
    NotAVersion,
    /// The version may not become active.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The role's own file could not be updated.
    #[error("the role's file does not agree with the registry: {0}")]
    RoleBlock(String),
    /// Exams are overridden without a reason.
    #[error("a forced promotion needs a reason")]
    NoReason,
    /// The state cannot be used.
    #[error("the state `{}` cannot be used", path.display())]
    Unreadable {
        /// Path of the state.
        path: PathBuf,
        /// Reason.
        source: Unreadable,
    },
}

/// Actor, time and reason of an action.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The reason; may be empty.
    pub reason: &'a str,
    /// Current time, as text.
    pub now: &'a str,
}

/// A version that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    pub id: String,
    pub level: String,
    /// The active version, unchanged.
    pub active: Option<String>,
    /// The level in its file that was not accepted, because no certifier is named.
    pub refused_level: Option<String>,
}

/// Lifted and remaining halts, each with its version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Lifted halts.
    pub lifted: Vec<(Option<String>, Halt)>,
    /// Remaining halts.
    pub stays: Vec<(Option<String>, Halt)>,
}

impl Cleared {
    /// Returns the reason of the first lifted halt.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.lifted.first().map(|(_, halt)| halt.reason.as_str())
    }
}

/// Result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// A damaged state, under its new name.
    pub set_aside: Option<PathBuf>,
    /// Roles that are halted afterwards.
    pub halted: Vec<String>,
    /// Result for an interrupted move.
    pub pointer: Recovered,
    /// Lines of the events log that are not events.
    pub damaged_events: Vec<usize>,
}

impl Specialists {
    /// Registers a version; the pointer stays. A new role is created from `new_role`. A level above L0 is accepted only
    /// with the name of its certifier, and counts as claimed until there is evidence here.
    ///
    /// # Errors
    /// The version or the registry is invalid, or a file cannot be written. Nothing is changed then.
    pub fn register(
        &self,
        role: &str,
        mut version: Value,
        new_role: Option<(&str, f64)>,
        certified_by: Option<&str>,
        operator: Operator<'_>,
    ) -> Result<Registered, OperateError> {
        let object = version.as_object_mut().ok_or(OperateError::NotAVersion)?;
        complete(object, operator.now);
        let named = object.get("certified_level").and_then(Value::as_str);
        if let Some(level) = named.filter(|name| Level::parse(name) > Some(Level::HIGHEST)) {
            return Err(OperateError::NoSuchLevel(level.to_owned()));
        }
        let refused_level = take_level(object, certified_by);
        let text = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (id, level) = (text("id"), text("certified_level"));
        let card = object.get("recipe_card").cloned();
        if id.is_empty() {
            return Err(OperateError::NotAVersion);
        }
        let held = self.hold_registry()?;
        let registry = held.registry.clone();
        if let Some(other) = other_manifest(&registry, object) {
            return Err(other);
        }
        let known = match (registry.entry(role), new_role) {
            (Some(entry), backend) => {
                // A version that is served elsewhere than its role has its own address.
                if let Some((url, _)) = backend.filter(|(url, _)| *url != entry.backend_url) {
                    object.entry("backend_url").or_insert(json!(url));
                }
                registry
            }
            (None, Some((backend, quota))) => registry.with_role(role, backend, quota),
            (None, None) => return Err(OperateError::NoBackend(role.to_owned())),
        };
        let taken = known.entry(role).and_then(|entry| entry.version(&id));
        if let Some(taken) = taken {
            return Err(OperateError::DuplicateVersion {
                role: role.to_owned(),
                withdrawn: taken.withdrawn,
                id,
            });
        }
        let after = known.with_version(role, version);
        if !after.is_valid() {
            return Err(OperateError::WouldBeInvalid(after.problems().to_vec()));
        }
        let mut data =
            json!({ "version_id": id, "certified_level": level, "operator": operator.name });
        if let (Some(name), Some(data)) = (certified_by, data.as_object_mut()) {
            data.insert("certified_by".to_owned(), json!(name));
        }
        if let (Some(card), Some(data)) = (card, data.as_object_mut()) {
            data.insert(
                "recipe_card".to_owned(),
                card.get("id").cloned().unwrap_or_default(),
            );
            data.insert(
                "recipe_sha256".to_owned(),
                card.get("sha256").cloned().unwrap_or_default(),
            );
        }
        let event = Event::new(Kind::Register, role, operator.now, data);
        self.replace_registry(held, &event, &after)?;
        let active = after
            .entry(role)
            .and_then(|entry| entry.active_version.clone());
        Ok(Registered {
            id,
            level,
            active,
            refused_level,
        })
    }

    /// Returns the valid registry, and its bytes; the remains of a crash are settled before. The caller holds its lock.
    pub(super) fn valid_registry(&self) -> Result<(Registry, Vec<u8>), OperateError> {
        self.recover_locked()?;
        let path = &self.paths().registry;
        let bytes = read_or_nothing(path, MAX_FILE)?;
        let registry = bytes
            .as_ref()
            .map_or_else(Registry::default, |bytes| Registry::parse(bytes));
        let bytes = bytes.unwrap_or_default();
        // A change would make the operator trust all the content that came with a clone.
        if !self.is_trusted(&registry, &bytes) {
            return Err(OperateError::Untrusted(path.clone()));
        }
        if registry.is_valid() {
            return Ok((registry, bytes));
        }
        Err(OperateError::Invalid {
            path: path.clone(),
            problems: registry.problems().to_vec(),
        })
    }

    /// Halts a role by hand. Returns an earlier halt, which then stays.
    ///
    /// # Errors
    /// The role is unknown, the state cannot be used, or a file cannot be written.
    pub fn halt(&self, role: &str, operator: Operator<'_>) -> Result<Option<Halt>, OperateError> {
        let is_known = self.registry()?.entry(role).is_some();
        let mut held = self.hold(role)?;
        let mut state = self.held_usable(&mut held)?;
        if !is_known && state.slot(role).is_none() {
            return Err(OperateError::UnknownRole(role.to_owned()));
        }
        if let Some(halt) = state.slot(role).and_then(|slot| slot.halt.as_ref()) {
            return Ok(Some(halt.clone()));
        }
        let reason = format!(
            "halted by {}: {}; resume with: roleos specialist clear-halt \"{role}\"",
            operator.name, operator.reason
        );
        state.slot_mut(role).halt = Some(Halt {
            reason: reason.clone(),
            since: operator.now.to_owned(),
        });
        let data = json!({ "reason": reason, "operator": operator.name });
        let event = Event::new(Kind::Halt, role, operator.now, data);
        let written = self.keep(held, state, Keep::Durable, &[(Log::Events, &event)]);
        // It holds by the state, or by its line alone.
        if written.is_ok() || self.holds_halt(role) {
            recorded::mark();
        }
        written?;
        Ok(None)
    }

    /// Returns `true` if the role is halted according to the disk, the trust store included.
    fn holds_halt(&self, role: &str) -> bool {
        let state = self.usable_state();
        state.is_ok_and(|state| state.slot(role).is_some_and(|slot| slot.halt.is_some()))
    }

    /// Lifts the halt of a version, or all halts of a role; the guard starts over.
    ///
    /// # Errors
    /// A version did not pass its newest exam and would serve again, the version is unknown, the state cannot be used, or a
    /// file cannot be written.
    pub fn clear_halt(
        &self,
        role: &str,
        version: Option<&str>,
        operator: Operator<'_>,
    ) -> Result<Cleared, OperateError> {
        let registry = self.registry()?;
        let entry = registry.entry(role);
        let version = match (entry, version) {
            (Some(entry), Some(named)) => Some(entry.resolve(named)?.id.clone()),
            (None, Some(_)) => return Err(OperateError::UnknownRole(role.to_owned())),
            (_, None) => None,
        };
        let mut held = self.hold(role)?;
        let mut state = self.held_usable(&mut held)?;
        if entry.is_none() && state.slot(role).is_none() {
            return Err(OperateError::UnknownRole(role.to_owned()));
        }
        let lifted = state.clear(role, version.as_deref());
        for id in lifted.iter().filter_map(|(id, _)| id.as_deref()) {
            let serving =
                entry.and_then(|entry| Some((entry, entry.serving().find(|one| one.id == id)?)));
            let Some((entry, found)) = serving else {
                continue;
            };
            let standing = Standing {
                failed_exam: self.standing(entry, found)?.failed_exam,
                ..Standing::default()
            };
            serviceable(entry, id, "clear the halt of", &standing, false)?;
        }
        let stays = state.halts(role);
        let stays = stays.map(|(id, halt)| (id.map(str::to_owned), halt.clone()));
        let cleared = Cleared {
            stays: stays.collect(),
            lifted,
        };
        if cleared.lifted.is_empty() {
            return Ok(cleared);
        }
        let mut data = json!({ "operator": operator.name, "reason": operator.reason });
        if let (Some(version), Some(data)) = (version, data.as_object_mut()) {
            data.insert("version".to_owned(), json!(version));
        }
        let event = Event::new(Kind::ClearHalt, role, operator.now, data);
        let lines = [(Log::Events, &event), (Log::Probes, &event)];
        let written = self.keep(held, state, Keep::Cleared, &lines);
        let is_lifted = |now: State| now.halts(role).count() == cleared.stays.len();
        if written.is_ok() || self.usable_state().is_ok_and(is_lifted) {
            recorded::mark();
        }
        written?;
        Ok(cleared)
    }

    fn held_usable(&self, held: &mut Held<'_>) -> Result<State, OperateError> {
        let state = self.held_state(held);
        state.map_err(|source| OperateError::Unreadable {
            path: self.paths().state.clone(),
            source,
        })
    }

    pub(super) fn usable_state(&self) -> Result<State, OperateError> {
        self.state().map_err(|source| OperateError::Unreadable {
            path: self.paths().state.clone(),
            source,
        })
    }

    /// Sets a damaged state aside and rebuilds it from the logs, and settles the remains of a crash.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn repair(&self, now: &str) -> Result<Repaired, OperateError> {
        if self.shared().is_some() {
            let state = self.usable_state()?;
            return Ok(Repaired {
                set_aside: None,
                halted: halted_roles(&state),
                pointer: Recovered::Nothing,
                damaged_events: self.events()?.damaged,
            });
        }
        let pointer = self.recover()?;
        let _lock = self.lock_state()?;
        let (state, set_aside) = match self.state() {
            Ok(state) => (state, None),
            Err(Unreadable::File(error)) => return Err(error.into()),
            Err(_) => {
                let path = &self.paths().state;
                let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
                let aside = path.with_added_extension(format!("damaged-{stamp}"));
                let fail = |source| FileError::new(Action::Name, path, source);
                let mut state = self.rebuilt()?;
                // The logs have no seal, and the state is about to get one.
                if self.seals.is_enforced() {
                    let logged = state.clone();
                    state.recount(&logged);
                }
                // The damaged file stays in place until a good one replaces it.
                fs::hard_link(path, &aside)
                    .or_else(|_| fs::copy(path, &aside).map(drop))
                    .map_err(fail)?;
                self.save_probes(&mut state, true)?;
                (state, Some(aside))
            }
        };
        Ok(Repaired {
            set_aside,
            halted: halted_roles(&state),
            pointer,
            damaged_events: self.events()?.damaged,
        })
    }
}

fn halted_roles(state: &State) -> Vec<String> {
    let halted = state
        .roles()
        .filter(|(_, slot)| slot.all_halts().next().is_some());
    halted.map(|(role, _)| role.to_owned()).collect()
}

/// Removes the level, unless a certifier is named; returns it then. Keys that only commands write are removed.
fn take_level(
    version: &mut serde_json::Map<String, Value>,
    certified_by: Option<&str>,
) -> Option<String> {
    version.remove("evidence_level");
    version.remove("certified_by");
    version.remove("certified_for");
    let named = version.get("certified_level").and_then(Value::as_str);
    let level = named
        .and_then(Level::parse)
        .filter(|level| level.is_certified())?;
    if let Some(name) = certified_by {
        version.insert("certified_by".to_owned(), json!(name));
        return None;
    }
    version.insert(
        "certified_level".to_owned(),
        json!(Level::UNCERTIFIED.to_string()),
    );
    Some(level.to_string())
}

/// Finds another manifest with the same model and version number, in any role.
fn other_manifest(
    registry: &Registry,
    version: &serde_json::Map<String, Value>,
) -> Option<OperateError> {
    let text = |one: &Value, key: &str| one.get(key)?.as_str().map(str::to_owned);
    let own = |key: &str| version.get(key).and_then(Value::as_str);
    let (model, number) = (own("model_id")?, own("model_version")?);
    let hash = own("manifest_hash")?;
    registry.all_written().find_map(|(role, one)| {
        let same = text(one, "model_id")? == model && text(one, "model_version")? == number;
        let other = text(one, "manifest_hash")?;
        (same && other != hash).then(|| OperateError::OtherManifest {
            model_id: model.to_owned(),
            version: number.to_owned(),
            role: role.to_owned(),
            hash: other,
        })
    })
}
