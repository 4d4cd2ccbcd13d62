//! One comparison of all protected files with their recorded state, and its consequences.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::content::{Content, Seen};
use super::list::{self, Item, Kind};
use super::refs::{self, Refs};
use super::rules::{self, Change, Outcome};
use super::store::{Entry, Record, Running, Store, Undone};
use super::{Protected, RECENT_NS, key, restore};
use base::clock;
use evidence::journal::record::RestoredFile;

/// Most files in folders that are checked.
const MAX_LISTED: usize = 4096;

/// One pass over all files, under the lock.
pub(super) struct Pass<'a> {
    pub(super) protected: &'a Protected<'a>,
    pub(super) store: &'a Store,
    pub(super) calls: Vec<Running>,
    /// Set if nothing is recorded yet, so that everything is accepted as it is.
    pub(super) is_first: bool,
    pub(super) session: &'a str,
    pub(super) record: Record,
    pub(super) restored: Vec<RestoredFile>,
}

impl Pass<'_> {
    pub(super) fn run(&mut self, fixed: Vec<Item>, begins: bool) {
        let paths = fixed.iter().map(|item| item.path.clone());
        let mut done: BTreeSet<PathBuf> = paths.collect();
        let mut left = MAX_LISTED;
        for item in fixed {
            let was_known = self.record.files.contains_key(&key(&item.path));
            self.item(&item, None);
            self.listed(&item, was_known, &mut done, &mut left);
        }
        if begins || self.is_first {
            for item in list::searched(self.protected.workspace) {
                if done.insert(item.path.clone()) {
                    self.item(&item, Some(false));
                }
            }
        }
        let found: Vec<(PathBuf, Kind)> = self
            .record
            .files
            .iter()
            .filter_map(|(path, entry)| Some((PathBuf::from(path), entry.found?)))
            .filter(|(path, _)| !done.contains(path))
            .collect();
        for (path, kind) in found {
            let workspace = self.protected.workspace;
            let mut bases = [Some(workspace.root()), workspace.state()]
                .into_iter()
                .flatten();
            let item = match bases.find(|base| path.starts_with(base)) {
                Some(base) => Item::below(base, path, kind),
                None => Item::alone(path, kind),
            };
            self.item(&item, Some(true));
        }
    }

    /// Checks the content of a folder whose files are protected. `was_known` is set if the folder was checked before,
    /// so that files missing in the record are new.
    fn listed(
        &mut self,
        folder: &Item,
        was_known: bool,
        done: &mut BTreeSet<PathBuf>,
        left: &mut usize,
    ) {
        if folder.kind != Kind::Listed {
            return;
        }
        for item in folder.listed() {
            let Some(rest) = left.checked_sub(1) else {
                return;
            };
            *left = rest;
            if !done.insert(item.path.clone()) {
                continue;
            }
            // A folder comes and goes with its content.
            let is_new = was_known && item.kind != Kind::Listed;
            self.item(&item, Some(is_new));
            self.listed(&item, was_known, done, left);
        }
    }

    /// Checks the refs of the snapshots.
    pub(super) fn refs(&mut self, begins: bool) {
        let (root, now_ns) = (self.protected.workspace.root(), self.protected.now_ns);
        let known = std::mem::take(&mut self.record.refs);
        let read = || match known.directory().filter(|_| !begins) {
            Some(directory) => Refs::at(&directory, now_ns),
            None => Refs::around(root, now_ns),
        };
        let now = read();
        let is_same_place = known.directory == now.directory || known.directory.is_empty();
        if self.calls.is_empty() || !is_same_place {
            self.record.refs = now;
            return;
        }
        let mut has_failed = false;
        for (name, value) in known.lost(&now) {
            let problem = refs::put_back(root, name, value).err();
            has_failed |= problem.is_some();
            self.restored.push(RestoredFile {
                path: name.to_owned(),
                found: "another ref".to_owned(),
                during_call: true,
                mended: false,
                kept: None,
                problem,
            });
        }
        self.record.refs = if has_failed { known } else { read() };
    }

    /// Checks one path. `found` is set for a path that is not fixed; its value is `true` if the record would contain
    /// it.
    fn item(&mut self, item: &Item, found: Option<bool>) {
        let now_ns = self.protected.now_ns;
        let name = key(&item.path);
        let seen = Seen::at(&item.path, now_ns);
        let known = self.record.files.get(&name).cloned();
        let before = match known {
            Some(entry) => entry.content,
            None if found == Some(true) && !self.is_first => Content::Absent,
            None => return self.adopt(item, found.is_some(), seen),
        };
        if before == seen.content {
            if let Some(entry) = self.record.files.get_mut(&name) {
                entry.facts = seen.facts;
                return;
            }
            return self.adopt(item, found.is_some(), seen);
        }
        let outcome = self.decide(item, &before, &seen);
        match outcome {
            Outcome::Keep => self.adopt(item, found.is_some(), seen),
            outcome => self.take_back(item, found.is_some(), &before, &seen, &outcome),
        }
    }

    fn decide(&self, item: &Item, before: &Content, seen: &Seen) -> Outcome {
        let since = self.calls.iter().map(|call| call.at_ns).min();
        let since = since.unwrap_or_else(|| self.protected.now_ns.saturating_sub(RECENT_NS));
        // We write content: a change of permissions alone was not announced.
        let is_written = before.sha256().is_none() || before.sha256() != seen.content.sha256();
        if is_written && self.store.is_announced(&item.path, &seen.content, since) {
            return Outcome::Keep;
        }
        let old = before.sha256().and_then(|hash| self.store.copy(hash).ok());
        let text = |bytes: Option<&Vec<u8>>| {
            let bytes = bytes.map(Vec::as_slice).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let shown = crate::install::shown(self.protected.workspace.root(), &item.path);
        let change = Change {
            kind: item.kind,
            name: &shown,
            before,
            now: &seen.content,
            text_before: &text(old.as_ref()),
            text_now: &text(seen.bytes.as_ref()),
        };
        match self.calls.is_empty() {
            true => rules::between_calls(&change),
            false => rules::during_calls(&change, &self.calls),
        }
    }

    /// Records the current content as the wanted one.
    fn adopt(&mut self, item: &Item, found: bool, seen: Seen) {
        if let Some(bytes) = &seen.bytes
            && self.store.keep(bytes).is_err()
        {
            // Without a copy, nothing could be restored, so the next check tries again.
            return;
        }
        if let (Content::Link(_), Kind::Settings(_) | Kind::Plain) = (&seen.content, item.kind)
            && let Ok(real) = std::fs::canonicalize(&item.path)
            && !self.record.files.contains_key(&key(&real))
        {
            let real = Item::alone(real, item.kind);
            let behind = Seen::at(&real.path, self.protected.now_ns);
            self.adopt(&real, true, behind);
        }
        let is_listed = matches!(item.kind, Kind::Plain | Kind::Listed);
        let is_gone = found && seen.content == Content::Absent && is_listed;
        if is_gone {
            self.record.files.remove(&key(&item.path));
            return;
        }
        let entry = Entry {
            content: seen.content,
            facts: seen.facts,
            found: found.then_some(item.kind),
        };
        self.record.files.insert(key(&item.path), entry);
    }

    fn take_back(
        &mut self,
        item: &Item,
        found: bool,
        before: &Content,
        seen: &Seen,
        outcome: &Outcome,
    ) {
        let id = base::fresh_uuid().simple().to_string();
        let kept = restore::set_aside(self.store, &id, item, seen);
        let done = match outcome {
            Outcome::Mend(text) => restore::mend(item, seen, text),
            _ => restore::put_back(self.store, item, before),
        };
        let (problem, moved) = match done {
            Ok(moved) => (None, moved),
            Err(error) => (Some(base::said(&error)), None),
        };
        let kept = kept.or(moved.map(|path| key(&path)));
        if problem.is_none() {
            let now = Seen::at(&item.path, self.protected.now_ns);
            self.adopt(item, found, now);
        }
        let mode = match &seen.content {
            Content::File { mode, .. } => Some(*mode),
            Content::Absent => Some(0),
            _ => None,
        };
        if let Some(mode) = mode.filter(|_| problem.is_none()) {
            self.record.undone.push(Undone {
                id,
                at: clock::text(self.protected.now_ns),
                session: self.session.to_owned(),
                path: key(&item.path),
                kept: kept.clone(),
                mode,
                told: false,
            });
        }
        self.restored.push(RestoredFile {
            path: key(&item.path),
            found: seen.content.name().to_owned(),
            during_call: !self.calls.is_empty(),
            mended: matches!(outcome, Outcome::Mend(_)),
            kept,
            problem,
        });
    }
}
