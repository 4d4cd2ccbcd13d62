//! Changes of the serving versions of a role: promote, roll back, try as a canary, put beside, retire, deactivate, set.
//!
//! Each is one change of the registry with its receipt in the events log before it, and updates the `specialist:` block
//! of the role's own file.

use ::specialist::event::{Event, Kind};
use ::specialist::pointer::{Compared, Facts, Move, Refusal, serviceable, target, was_active};
use ::specialist::registry::{Entry, Registry, Version, Withdrawn};
use serde_json::{Map, Value, json};

use super::{OperateError, Operator, Specialists};
use crate::shared::Log;

/// A moved pointer, or a new canary.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Version that was active.
    pub from: Option<String>,
    /// Version that is active, or tried.
    pub to: String,
    pub level: String,
    /// Set if the level has no evidence on this machine.
    pub claimed: bool,
    /// Halts of the role afterwards: the role itself, or versions.
    pub halted: Vec<Option<String>>,
    pub exam_hash: String,
    /// Share of inputs for a canary.
    pub share: Option<f64>,
    /// The canary that ends with it.
    pub ended_canary: Option<String>,
    /// Comparison with the active version, if both took the same exam.
    pub compared: Option<String>,
    /// Error of updating the block in the role's own file.
    pub block_error: Option<String>,
}

/// Options of a promotion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Promotion {
    /// Set to override the exams; needs a reason.
    pub force: bool,
    /// Share of the inputs for a trial first.
    pub share: Option<f64>,
}

/// Changed keys of one role, with the event that records it.
pub(super) struct Change {
    kind: Kind,
    role_keys: Vec<(&'static str, Value)>,
    version_keys: Vec<(String, Vec<(&'static str, Value)>)>,
    data: Value,
}

impl Change {
    pub(super) fn of(kind: Kind, role_keys: Vec<(&'static str, Value)>, data: Value) -> Self {
        Self {
            kind,
            role_keys,
            version_keys: Vec::new(),
            data,
        }
    }

    fn apply(&self, registry: &Registry, role: &str) -> Registry {
        let first = registry.with_role_keys(role, &self.role_keys);
        let keys = self.version_keys.iter();
        keys.fold(first, |after, (id, keys)| after.with_keys(role, id, keys))
    }
}

impl Specialists {
    /// Finds a version by its id, a prefix of it, or its model.
    ///
    /// # Errors
    /// The role is unknown, no version matches, or more than one.
    pub fn resolve(&self, role: &str, named: &str) -> Result<String, OperateError> {
        let registry = self.registry()?;
        let entry = registry
            .entry(role)
            .ok_or_else(|| OperateError::UnknownRole(role.to_owned()))?;
        Ok(entry.resolve(named)?.id.clone())
    }

    /// Makes a version active, or tries it as a canary.
    ///
    /// # Errors
    /// The version may not become active, or a file cannot be written. Nothing is changed then.
    pub fn promote(
        &self,
        role: &str,
        version: &str,
        how: Promotion,
        operator: Operator<'_>,
    ) -> Result<Moved, OperateError> {
        if how.force && operator.reason.trim().is_empty() {
            return Err(OperateError::NoReason);
        }
        self.repoint(role, Some(version), Move::Promote, how, operator)
    }

    /// Makes a version active again; without a name, the one that was active before. During a trial, the canary is the
    /// last change: it ends, and the active version stays.
    ///
    /// # Errors
    /// The version was never active or may not serve, or a file cannot be written. Nothing is changed then.
    pub fn rollback(
        &self,
        role: &str,
        version: Option<&str>,
        operator: Operator<'_>,
    ) -> Result<Moved, OperateError> {
        if version.is_none()
            && let Some(moved) = self.end_canary(role, operator)?
        {
            return Ok(moved);
        }
        self.repoint(
            role,
            version,
            Move::Rollback,
            Promotion::default(),
            operator,
        )
    }

    /// Moves the pointer to a version, or to the one that was active before, as it is while nobody else moves it.
    fn repoint(
        &self,
        role: &str,
        version: Option<&str>,
        direction: Move,
        how: Promotion,
        operator: Operator<'_>,
    ) -> Result<Moved, OperateError> {
        let mut moved = None;
        let block_error = self.change(role, operator, |entry| {
            let version = match version {
                Some(version) => version.to_owned(),
                None => self.before(entry)?,
            };
            let named = entry.resolve(&version)?;
            let facts = self.facts(entry, named, how.force)?;
            let wanted = target(entry, &version, direction, &facts)?;
            let compared = facts.compared.map(|found| found.said);
            moved = Some(Moved {
                from: entry.active_version.clone(),
                to: wanted.id.clone(),
                level: wanted.certified_level.to_string(),
                claimed: wanted.claimed,
                halted: Vec::new(),
                exam_hash: wanted.exam_hash.clone(),
                share: how.share,
                ended_canary: entry
                    .canary
                    .as_ref()
                    .map(|canary| canary.version.clone())
                    .filter(|canary| *canary != wanted.id),
                compared: compared.clone(),
                block_error: None,
            });
            match how.share {
                Some(share) => canary(entry, wanted, share).map(Some),
                None => Ok(pointed(entry, wanted, direction, how.force, compared)),
            }
        })?;
        // The closure ran, or there was an error.
        let moved = moved.ok_or_else(|| OperateError::UnknownRole(role.to_owned()))?;
        let state = self.usable_state()?;
        let halted = state
            .halts(role)
            .map(|(version, _)| version.map(str::to_owned));
        Ok(Moved {
            block_error,
            halted: halted.collect(),
            ..moved
        })
    }

    /// Returns the facts of the exams and the events log about a version.
    fn facts(&self, entry: &Entry, version: &Version, forced: bool) -> Result<Facts, OperateError> {
        let records = self.exams(&entry.role);
        let active = entry.active().ok().flatten();
        let active = active.filter(|active| active.id != version.id);
        let compared = active.and_then(|active| self.compare(entry, (active, version), &records));
        Ok(Facts {
            was_active: was_active(&self.events()?, &entry.role),
            standing: self.standing(entry, version)?,
            compared: compared.map(|found| Compared {
                holds: found.holds(),
                said: found.said(),
            }),
            forced,
        })
    }

    /// Adds certified versions beside the active one, or removes them. Returns those that are beside it now.
    ///
    /// # Errors
    /// A version is unknown or may not serve, or a file cannot be written. Nothing is changed then.
    pub fn beside(
        &self,
        role: &str,
        versions: &[String],
        remove: bool,
        operator: Operator<'_>,
    ) -> Result<Vec<String>, OperateError> {
        let mut now = Vec::new();
        self.change(role, operator, |entry| {
            now.clone_from(&entry.beside);
            for named in versions {
                let id = if remove {
                    entry.resolve(named)?.id.clone()
                } else {
                    if entry.active_version.is_none() {
                        return Err(Refusal::NothingBeside(role.to_owned()).into());
                    }
                    let standing = self.standing(entry, entry.resolve(named)?)?;
                    let wanted = serviceable(entry, named, "put beside", &standing, false)?;
                    wanted.id.clone()
                };
                now.retain(|one| *one != id);
                if !remove && entry.active_version.as_ref() != Some(&id) {
                    now.push(id);
                }
            }
            if now == entry.beside {
                return Ok(None);
            }
            let data = json!({ "beside": now, "before": entry.beside });
            let keys = vec![("beside", json!(now))];
            Ok(Some(Change::of(Kind::Beside, keys, data)))
        })?;
        Ok(now)
    }

    /// Retires versions for good: one, or all of a role. Returns their ids.
    ///
    /// # Errors
    /// The role or the version is unknown, or a file cannot be written.
    pub fn retire(
        &self,
        role: &str,
        version: Option<&str>,
        operator: Operator<'_>,
    ) -> Result<Vec<String>, OperateError> {
        let mut gone = Vec::new();
        self.change(role, operator, |entry| {
            let meant = match version {
                Some(named) => vec![entry.resolve(named)?],
                None => entry.versions.iter().collect(),
            };
            let meant = meant.into_iter().filter(|one| one.withdrawn.is_none());
            gone = meant.map(|one| one.id.clone()).collect();
            if gone.is_empty() {
                return Ok(None);
            }
            let status = Withdrawn::Deprecated.name();
            let data = json!({ "version_id": gone.join(", "), "status": status });
            let mut change = Change::of(Kind::Withdraw, without(entry, &gone), data);
            let keys = gone.iter().cloned();
            change.version_keys = keys
                .map(|id| (id, vec![("status", json!(status))]))
                .collect();
            Ok(Some(change))
        })?;
        Ok(gone)
    }

    /// Sets the pointer to null: only the general model answers. Returns the version that was active.
    ///
    /// # Errors
    /// The role is unknown, or a file cannot be written.
    pub fn deactivate(
        &self,
        role: &str,
        operator: Operator<'_>,
    ) -> Result<Option<String>, OperateError> {
        let mut was = None;
        self.change(role, operator, |entry| {
            was.clone_from(&entry.active_version);
            if was.is_none() && entry.canary.is_none() && entry.beside.is_empty() {
                return Ok(None);
            }
            let keys = vec![
                ("active_version", Value::Null),
                ("canary", Value::Null),
                ("beside", json!([])),
            ];
            let data = json!({ "from_version": was, "to_version": null });
            Ok(Some(Change::of(Kind::Deactivate, keys, data)))
        })?;
        Ok(was)
    }

    /// Changes settings of a role, and of its active or the named version. Returns the error of updating the role's own
    /// file, if any.
    ///
    /// # Errors
    /// The role or the version is unknown, a value is out of range, or a file cannot be written.
    pub fn set(
        &self,
        role: &str,
        version: Option<&str>,
        role_keys: &[(&'static str, Value)],
        version_keys: &[(&'static str, Value)],
        operator: Operator<'_>,
    ) -> Result<Option<String>, OperateError> {
        self.change(role, operator, |entry| {
            let keys: Map<String, Value> = role_keys
                .iter()
                .chain(version_keys)
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect();
            if keys.is_empty() {
                return Ok(None);
            }
            let mut data = json!({ "set": keys });
            let mut change = Change::of(Kind::Set, role_keys.to_vec(), Value::Null);
            if !version_keys.is_empty() {
                let active = entry.active_version.as_deref();
                let nothing = || Refusal::NothingActive(role.to_owned());
                let named = version.or(active).ok_or_else(nothing)?;
                let id = entry.resolve(named)?.id.clone();
                if let Some(data) = data.as_object_mut() {
                    data.insert("version_id".to_owned(), json!(id));
                }
                change.version_keys.push((id, version_keys.to_vec()));
            }
            Ok(Some(Change { data, ..change }))
        })
    }

    /// Changes the registry under its lock, with a receipt, and updates the role's own file. Returns the error of that
    /// update, if any.
    pub(super) fn change(
        &self,
        role: &str,
        operator: Operator<'_>,
        decide: impl FnOnce(&Entry) -> Result<Option<Change>, OperateError>,
    ) -> Result<Option<String>, OperateError> {
        let held = self.hold_registry()?;
        let entry = held
            .registry
            .entry(role)
            .ok_or_else(|| OperateError::UnknownRole(role.to_owned()))?;
        // Levels count as they do for the gate; the written ones stay.
        let effective = self.registry()?;
        let Some(mut change) = decide(effective.entry(role).unwrap_or(entry))? else {
            return Ok(self.sync_block(entry, operator));
        };
        let after = bound(change.apply(&held.registry, role), entry);
        if !after.is_valid() {
            return Err(OperateError::WouldBeInvalid(after.problems().to_vec()));
        }
        if let Some(data) = change.data.as_object_mut() {
            data.insert("operator".to_owned(), json!(operator.name));
            data.insert("reason".to_owned(), json!(operator.reason));
        }
        let event = Event::new(change.kind, role, operator.now, change.data);
        self.replace_registry(held, &event, &after)?;
        Ok(after
            .entry(role)
            .and_then(|entry| self.sync_block(entry, operator)))
    }

    /// Writes, changes or removes the block in the role's own files. The pointer has moved regardless of the result.
    pub(super) fn sync_block(&self, entry: &Entry, operator: Operator<'_>) -> Option<String> {
        if self.shared().is_some() {
            // The files of one machine cannot follow another machine.
            return None;
        }
        let changed = match self.blocks.write(entry) {
            Ok(changed) => changed,
            Err(why) => return Some(why),
        };
        let notes = changed.iter().map(|path| {
            let data = json!({
                "file": path.display().to_string(), "version_id": entry.active_version,
                "operator": operator.name, "reason": operator.reason,
            });
            let event = Event::new(Kind::RoleBlock, &entry.role, operator.now, data);
            self.note(Log::Events, &event, true)
        });
        let failed = notes.filter_map(Result::err).next();
        failed.map(|error| format!("{error}: {}", error.source))
    }
}

/// Returns the changed keys of a pointer; none if the version is active already.
fn pointed(
    entry: &Entry,
    wanted: &Version,
    direction: Move,
    forced: bool,
    compared: Option<String>,
) -> Option<Change> {
    let is_canary = |canary: &&::specialist::registry::Canary| canary.version == wanted.id;
    let ends_canary = entry.canary.as_ref().filter(is_canary).is_some();
    if entry.active_version.as_ref() == Some(&wanted.id) && !ends_canary {
        return None;
    }
    let mut data = json!({
        "from_version": entry.active_version, "to_version": wanted.id,
        "certified_level": wanted.certified_level.to_string(),
    });
    if let Some(data) = data.as_object_mut() {
        if forced {
            data.insert("forced".to_owned(), json!(true));
        }
        data.extend(compared.map(|said| ("comparison".to_owned(), json!(said))));
    }
    let mut keys = vec![("active_version", json!(wanted.id))];
    let mut leaves = vec![wanted.id.clone()];
    // The version that a rollback leaves does not serve anywhere.
    if direction == Move::Rollback {
        leaves.extend(entry.active_version.clone());
    }
    let others = without(entry, &leaves);
    keys.extend(
        others
            .into_iter()
            .filter(|(key, _)| *key != "active_version"),
    );
    Some(Change::of(direction.kind(), keys, data))
}

fn canary(entry: &Entry, wanted: &Version, share: f64) -> Result<Change, OperateError> {
    let role = entry.role.clone();
    match &entry.active_version {
        None => return Err(Refusal::NothingBeside(role).into()),
        Some(active) if *active == wanted.id => {
            let version = wanted.id.clone();
            return Err(Refusal::OwnCanary { role, version }.into());
        }
        Some(_) => {}
    }
    let keys = vec![("canary", json!({ "version": wanted.id, "share": share }))];
    let data = json!({ "version_id": wanted.id, "outcome": "begun", "share": share });
    Ok(Change::of(Kind::Canary, keys, data))
}

/// Returns the keys of an entry in which these versions do not serve.
fn without(entry: &Entry, ids: &[String]) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    if entry
        .active_version
        .as_ref()
        .is_some_and(|active| ids.contains(active))
    {
        keys.push(("active_version", Value::Null));
    }
    if entry.beside.iter().any(|id| ids.contains(id)) {
        let beside = entry.beside.iter().filter(|id| !ids.contains(id));
        keys.push(("beside", beside.cloned().collect()));
    }
    if entry
        .canary
        .as_ref()
        .is_some_and(|canary| ids.contains(&canary.version))
    {
        keys.push(("canary", Value::Null));
    }
    keys
}

/// Binds an unbound level to the backend that a change removes from its version.
fn bound(after: Registry, before: &Entry) -> Registry {
    let lost: Vec<(String, String)> = before
        .versions
        .iter()
        .filter(|version| version.certified_level.is_certified() && version.certified_for.is_none())
        .map(|version| (version.id.clone(), before.subject(version)))
        .filter(|(id, subject)| {
            let now = after.entry(&before.role);
            let now = now.and_then(|entry| Some(entry.subject(entry.version(id)?)));
            now.is_some_and(|now| now != *subject)
        })
        .collect();
    let bind = |after: Registry, (id, subject): (String, String)| {
        after.with_keys(&before.role, &id, &[("certified_for", json!(subject))])
    };
    lost.into_iter().fold(after, bind)
}
