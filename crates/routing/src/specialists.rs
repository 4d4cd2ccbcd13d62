//! The specialists' files: registry, state, events, probes, field log. The decisions are in `specialist`.
//!
//! Reading order: [`Paths`] and [`Settings`], [`Specialists`], then `dispatch` (one dispatch from the gate to the
//! probe), `contest` (selection of entrants), `operate` and `pointing` (actions of an operator), `exams` (evidence for
//! a version), `trial` (end of a canary), [`certify`] (effects of the evidence), `pending` (moving the pointer in two
//! steps), `role_blocks` (blocks in roles' own files), [`spending`] (today's cost of the general model).
//!
//! A registry that came with a clone could send inputs, and tokens of the environment, to any address. It is shown and
//! not used until a person has trusted exactly this content ([`Seen::is_trusted`]).
//!
//! Locks have an order: registry, state, then a log. No holder of a later lock waits for an earlier one.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ::specialist::event::rebuild;
use ::specialist::quota::Scope;
use ::specialist::registry::Registry;
use ::specialist::shadow::{self, BadSetting};
use ::specialist::state::{Halt, State, StateError};

use crate::shared::{REGISTRY, Shared};
use base::chance::Chance;
use base::clock;
use base::config::Config;
use base::config::specialist::{ClaimedLevels, HaltRule, QuotaScope};
use base::environment::Environment;
use base::files::{self, FileError, Lock, Tail};
use base::seals::Seals;
use base::trust::{self, Belief, Confirming, Doubt, HaltRecord, Kind, Trust};

pub use base::specialist_paths::{Named, Paths};

use self::held::unreadable;
use self::lease::Leases;
use self::role_blocks::RoleBlocks;

pub use self::contest::{Entrant, LeftOut, Opened, Wanted};
pub use self::dispatch::{Asked, Begun, Compared, Probed, Settled};
pub use self::operate::{Cleared, OperateError, Operator, Registered, Repaired};
pub use self::pointing::{Moved, Promotion};
pub use self::route::{Candidate, Route};

pub mod certify;
pub mod command;
mod contest;
mod dispatch;
mod exams;
mod held;
mod lease;
mod logs;
pub mod moving;
mod operate;
pub mod pending;
mod pointing;
mod role_blocks;
mod route;
mod saving;
pub mod spending;
mod trial;

/// Largest registry and state that are read.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Largest log that is read as a whole.
const MAX_LOG: u64 = 4 * 1024 * 1024 * 1024;

/// Most attempts to read a state that changes meanwhile.
const MAX_LOOKS: usize = 8;

/// A file that changed less than this ago may change again without a visible difference.
const RACY_NS: i128 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Probes and halts.
    pub shadow: shadow::Settings,
    /// Dispatches over which a quota is a share.
    pub quota_window: usize,
    /// Dispatches that count for a quota.
    pub scope: Scope,
    /// Set if the text of inputs is stored.
    pub keep_inputs: bool,
    /// Size at which the field log is rotated.
    pub field_log_bytes: u64,
    /// Number of rotated logs to keep.
    pub field_log_keep: u64,
    /// Set if a level without evidence on this machine counts as L0.
    pub refuse_claimed: bool,
    /// Allowed deficit of a version against another on the same exam.
    pub exam_margin: f64,
}

impl Settings {
    /// Loads the settings file, overridden by environment variables.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn load(config: &Config, environment: &Environment) -> Result<Self, BadSetting> {
        let set = &config.specialist;
        let [every, window, tau] = environment.shadow.each_ref().map(Option::as_deref);
        let shadow = shadow::Settings {
            every: set.shadow_every.get(),
            window: set.shadow_window.get(),
            tau: set.shadow_tau.get(),
            rule: match set.halt_rule {
                HaltRule::Sequential => shadow::HaltRule::Sequential,
                HaltRule::Window => shadow::HaltRule::Window,
            },
            error: set.halt_error.get(),
        };
        Ok(Self {
            shadow: shadow.with_variables(every, window, tau)?,
            quota_window: usize::try_from(set.quota_window.get()).unwrap_or(usize::MAX),
            scope: match set.quota_scope {
                QuotaScope::Role => Scope::Role,
                QuotaScope::Fleet => Scope::Fleet,
            },
            keep_inputs: config.privacy.keep_inputs,
            field_log_bytes: set.field_log_mib.get().saturating_mul(1024 * 1024),
            field_log_keep: set.field_log_keep.get(),
            refuse_claimed: set.claimed_levels == ClaimedLevels::Refuse,
            exam_margin: config.selection.exam_margin.get(),
        })
    }
}

/// Error of a state that cannot be used. Then nothing may be routed to a specialist.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The file cannot be read.
    #[error("STATE_LOAD_ERROR: {}: {}", .0, .0.source)]
    File(FileError),
    /// It is readable, but not a valid state.
    #[error(transparent)]
    Content(StateError),
}

/// The specialists of one workspace.
#[derive(Debug)]
pub struct Specialists {
    paths: Paths,
    settings: Settings,
    shared: Option<Arc<dyn Shared>>,
    registry: Mutex<Option<(Known, Seen)>>,
    blocks: RoleBlocks,
    chance: Chance,
    leases: Leases,
    seals: Seals,
}

/// A registry as it was read.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its content.
    pub registry: Arc<Registry>,
    /// Set if it may be used: it is this machine's own, or a person trusted exactly this content.
    pub is_trusted: bool,
}

/// Mark of an unchanged registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    File(Stamp),
    Shared(i64),
}

/// Mark of an unchanged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    length: u64,
    changed_ns: i128,
}

impl Stamp {
    /// Reads the mark; `None` if the file is missing, or so new that it may change without a visible difference.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = files::metadata(path).ok()?;
        let changed_ns =
            i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
        let age = i128::from(clock::now_ns()) - changed_ns;
        (age > RACY_NS).then(|| Self {
            inode: metadata.ino(),
            length: metadata.len(),
            changed_ns,
        })
    }
}

impl Specialists {
    /// Opens the files, which need not exist yet. The remains of a crash are completed or undone.
    #[must_use]
    pub fn new(paths: Paths, settings: Settings) -> Self {
        let blocks = RoleBlocks::new(paths.roles.clone());
        Self {
            leases: Leases::beside(&paths.state),
            seals: Seals::of(&paths.workspace),
            paths,
            settings,
            shared: None,
            registry: Mutex::default(),
            blocks,
            chance: Chance::default(),
        }
    }

    /// Uses a store that machines share instead of the files.
    #[must_use]
    pub fn with_shared(mut self, shared: Arc<dyn Shared>) -> Self {
        self.leases = Leases::shared(Arc::clone(&shared));
        self.shared = Some(shared);
        self
    }

    /// Returns the store that machines share, if there is one.
    #[must_use]
    pub fn shared(&self) -> Option<&Arc<dyn Shared>> {
        self.shared.as_ref()
    }

    /// Uses another source of draws.
    #[must_use]
    pub fn with_chance(mut self, chance: Chance) -> Self {
        self.chance = chance;
        self
    }

    /// Returns the paths of the files.
    #[must_use]
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Returns the seals, which prove that `roleos` wrote evidence here.
    #[must_use]
    pub fn seals(&self) -> &Seals {
        &self.seals
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the current registry; an empty one if there is none. Only for display; use [`Self::see`] before routing
    /// by it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn registry(&self) -> Result<Arc<Registry>, FileError> {
        Ok(self.see()?.registry)
    }

    /// Returns `true` if a role ever occurred here: in the registry, in the state or in the events. An unreadable
    /// registry may name any role.
    #[must_use]
    pub fn was_named(&self, role: &str) -> bool {
        let registry = self.registry().ok();
        registry.is_none_or(|registry| registry.names(role).unwrap_or(true))
            || self.state().is_ok_and(|state| state.slot(role).is_some())
            || self
                .events()
                .is_ok_and(|log| log.events.iter().any(|one| one.role == role))
    }

    /// Returns the current registry, with the flag whether it may be used.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn see(&self) -> Result<Seen, FileError> {
        if let Some(shared) = &self.shared {
            return self.see_document(shared.document(REGISTRY)?.as_ref());
        }
        if self.pending_path().exists() {
            // A running change is finished first; the remains of a crash are settled. If that fails, the registry stays
            // as it is, and the next operator is told.
            self.recover().ok();
        }
        let known = Stamp::of(&self.paths.registry).map(Known::File);
        let mut cache = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(now), Some((then, seen))) = (known, cache.as_ref())
            && now == *then
            // A person may trust it at any moment.
            && seen.is_trusted
        {
            return Ok(seen.clone());
        }
        let bytes = read_or_nothing(&self.paths.registry, MAX_FILE)?;
        let registry = self.effective(bytes.as_deref());
        let seen = Seen {
            is_trusted: self.is_trusted(&registry, bytes.as_deref().unwrap_or_default()),
            registry: Arc::new(registry),
        };
        *cache = known.map(|known| (known, seen.clone()));
        Ok(seen)
    }

    /// Returns a registry with the levels that count here.
    fn effective(&self, bytes: Option<&[u8]>) -> Registry {
        let registry = bytes.map_or_else(Registry::default, Registry::parse);
        let registry = if registry.tells_of_evidence() {
            let events = self.events().unwrap_or_default();
            registry.with_evidence(|role, version| certify::earned(&events, role, version))
        } else {
            registry
        };
        if self.settings.refuse_claimed {
            registry.without_claims()
        } else {
            registry
        }
    }

    /// Returns `true` if the registry may be used. One without entries routes nothing anywhere.
    fn is_trusted(&self, registry: &Registry, bytes: &[u8]) -> bool {
        registry.entries().is_empty() || self.belief(bytes) == Belief::Own
    }

    /// Returns the user's confirmation of this registry content.
    pub(crate) fn belief(&self, bytes: &[u8]) -> Belief {
        Trust::of(&self.paths.workspace).belief(&self.paths.registry, bytes, Kind::Plain)
    }

    /// Confirms the registry that is about to be written, beside the present one until it is settled.
    fn confirm_next(&self, text: &str, what: &str) -> Result<(), FileError> {
        let by = Confirming { what, key: None };
        let (workspace, path) = (&self.paths.workspace, &self.paths.registry);
        trust::confirm_next(workspace, path, text.as_bytes(), Kind::Plain, &by)
    }

    /// Confirms the written registry, and no other.
    fn confirm(&self, text: &str, what: &str) -> Result<(), FileError> {
        let by = Confirming { what, key: None };
        let (workspace, path) = (&self.paths.workspace, &self.paths.registry);
        trust::confirm(workspace, path, text.as_bytes(), Kind::Plain, &by)
    }

    /// Returns the message about a registry that is not used.
    #[must_use]
    pub fn distrust(&self) -> String {
        let path = self.paths.registry.display();
        let bytes = held::registry_bytes(self);
        let why = match self.belief(&bytes.ok().flatten().unwrap_or_default()) {
            Belief::Unconfirmed(doubt) => format!(": {doubt}"),
            Belief::Own => String::new(),
        };
        format!("the registry `{path}` is not followed{why}; `roleos trust` shows it and asks")
    }

    /// Returns the current state. A missing one is rebuilt from the logs, so that deleting it lifts no halt. A halt
    /// that only the user's trust store knows is in force as well, and places of dispatches that died are released.
    ///
    /// # Errors
    /// The file exists and cannot be used. It is left as it is.
    pub fn state(&self) -> Result<State, Unreadable> {
        if let Some(shared) = &self.shared {
            let mut state = shared.state().map_err(unreadable)?;
            state.release(|reservation| self.leases.is_abandoned(reservation));
            return Ok(state);
        }
        let (mut state, text) = self.written_state()?;
        if self.doubt_of(&state, text).is_some() {
            state.recount(&self.rebuilt().map_err(Unreadable::File)?);
        }
        state.release(|reservation| self.leases.is_abandoned(reservation));
        for (role, halts) in Trust::of(&self.paths.workspace).halts() {
            let slot = state.slot_mut(&role);
            for halt in halts {
                let HaltRecord {
                    version,
                    reason,
                    since,
                } = halt;
                let halt = Halt { reason, since };
                match version {
                    Some(version) => drop(slot.halts.entry(version).or_insert(halt)),
                    None => drop(slot.halt.get_or_insert(halt)),
                }
            }
        }
        Ok(state)
    }

    /// Returns the reason if the probes so far earn nothing: another program than `roleos` wrote the state, or it is
    /// missing and its logs are not sealed.
    #[must_use]
    pub fn state_doubt(&self) -> Option<Doubt> {
        if self.shared.is_some() {
            return None;
        }
        let (state, text) = self.written_state().ok()?;
        self.doubt_of(&state, text)
    }

    fn doubt_of(&self, state: &State, text: Option<Vec<u8>>) -> Option<Doubt> {
        if !self.seals.is_enforced() {
            return None;
        }
        let Some(text) = text else {
            return self.paths.probes.exists().then_some(Doubt::NotConfirmed);
        };
        let text = String::from_utf8(text).unwrap_or_default();
        let (body, seal) = unsealed(&text);
        let sealed = self.seals.check(STATE, body.as_bytes(), seal);
        let mark = state.sequence.to_string();
        let newest = || self.seals.check_newest(STATE, &[&mark]);
        sealed.and_then(|()| newest()).err()
    }

    /// Returns the state from its file, else from the logs, and the file's content.
    fn written_state(&self) -> Result<(State, Option<Vec<u8>>), Unreadable> {
        let read = || read_or_nothing(&self.paths.state, MAX_FILE).map_err(Unreadable::File);
        let mut bytes = read()?;
        for _ in 0..MAX_LOOKS {
            let Some(now) = &bytes else {
                let rebuilt = self.rebuilt().map_err(Unreadable::File)?;
                return Ok((rebuilt, None));
            };
            let error = match State::parse(now) {
                Ok(state) => return Ok((state, bytes)),
                Err(error) => error,
            };
            // It may have been in the middle of a write; if it stays the same, it is damaged.
            let again = read()?;
            if again == bytes {
                return Err(Unreadable::Content(error));
            }
            bytes = again;
        }
        let state = State::parse(bytes.as_deref().unwrap_or_default());
        Ok((state.map_err(Unreadable::Content)?, bytes))
    }

    fn rebuilt(&self) -> Result<State, FileError> {
        let events = self.events()?;
        let probes = logs::read_log(&self.paths.probes)?;
        Ok(rebuild(&events, &probes, &self.settings.shadow))
    }

    fn lock_state(&self) -> Result<Lock, FileError> {
        lock(&self.paths.state)
    }
}

/// Kind of the state's seal.
const STATE: &str = "specialist state";

/// Text before the seal at the end of the state.
const SEAL_KEY: &str = ",\n  \"seal\": \"";

/// Returns the text of a state with its seal as the last key.
fn sealed(seals: &Seals, text: String) -> String {
    let body = text.trim_end().strip_suffix('}').map(str::trim_end);
    match (body, seals.seal(STATE, text.as_bytes())) {
        (Some(body), Some(seal)) => format!("{body}{SEAL_KEY}{seal}\"\n}}\n"),
        _ => text,
    }
}

/// Returns the text that a seal covers, and the seal.
fn unsealed(text: &str) -> (String, Option<&str>) {
    match text.rsplit_once(SEAL_KEY) {
        Some((body, rest)) => (format!("{body}\n}}\n"), rest.strip_suffix("\"\n}\n")),
        None => (text.to_owned(), None),
    }
}

/// Locks a file, by a lock beside it.
fn lock(path: &Path) -> Result<Lock, FileError> {
    Lock::beside(path)
}

/// Adds a line to a log under the log's own lock.
fn append(path: &Path, line: &str, durable: bool) -> Result<Tail, FileError> {
    let _lock = lock(path)?;
    files::append_line(path, line, durable)
}

fn read_or_nothing(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    match files::read(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
