//! Keeps protected files unchanged across an agent's tool calls.
//!
//! The guard of `oversight` refuses writers that it can read. This module watches the effect instead, with one rule for
//! all writers: the bytes of a protected file after a tool call are the bytes before it, unless `roleos` wrote them or
//! a person approved that act. Between calls a person may edit the files; only changes that remove our hook or switch
//! hooks off are reverted then.
//!
//! [`list`] names the files, [`content`] reads a path, [`store`] keeps their state in the trust store, [`rules`]
//! decides about a change, [`restore`] reverts it, [`refs`] does both for the snapshots in git.

mod content;
mod list;
mod pass;
mod refs;
mod restore;
mod rules;
mod store;
#[cfg(test)]
mod tests;

use std::path::Path;

use base::environment::Environment;
use base::files::FileError;
use base::installed::Installed;
use base::liveness::Process;
use base::workspace::Workspace;
use evidence::journal::record::RestoredFile;

use self::content::{Content, Seen, facts_at};
use self::list::Item;
use self::pass::Pass;
use self::store::{Entry, Record, Running, Store};

pub use self::store::Undone;

/// Time before a check in which `roleos` may have written a file if no call is known to run.
const RECENT_NS: u64 = 600_000_000_000;

/// The protected files of one workspace, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Protected<'a> {
    pub workspace: &'a Workspace,
    /// The environment variables, which may name another settings file.
    pub environment: &'a Environment,
    /// The current time.
    pub now_ns: u64,
}

/// The relevant parts of a call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub session: &'a str,
    /// The agent's name for the call; may be empty.
    pub id: &'a str,
    pub tool: &'a str,
    /// The command, if the tool is a shell.
    pub command: &'a str,
}

/// Reason for a check of the files.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The session in which this happens.
    pub session: &'a str,
    /// The call that has just ended.
    pub ended: Option<Call<'a>>,
    /// Set if a session begins: paths that are not fixed are searched then.
    pub begins: bool,
    /// Set if the gate is on or a mode is in force, according to the current settings.
    pub is_guarded: bool,
    /// Set if a person sets up the workspace, so that a record need not exist yet.
    pub creates: bool,
}

impl Occasion<'_> {
    /// Returns the occasion of a workspace's setup. With `creates`, a record need not exist yet.
    #[must_use]
    pub fn setting_up(creates: bool) -> Self {
        Self {
            session: "init",
            ended: None,
            begins: true,
            is_guarded: true,
            creates,
        }
    }
}

impl<'a> Protected<'a> {
    /// Returns the files of a workspace at this moment.
    #[must_use]
    pub fn now(workspace: &'a Workspace, environment: &'a Environment) -> Self {
        Self {
            workspace,
            environment,
            now_ns: base::clock::now_ns(),
        }
    }

    /// Compares all files with their recorded state, reverts forbidden changes, and returns the reverted files.
    ///
    /// # Errors
    /// The trust store cannot be read or written, or its record is damaged, or is missing although the workspace was
    /// initialised.
    pub fn look(&self, occasion: &Occasion<'_>) -> Result<Vec<RestoredFile>, FileError> {
        let mut lost = self.lost_store(Store::is_lost(self.workspace));
        let Some(store) = Store::open(self.workspace)? else {
            return Ok(Vec::new());
        };
        let fixed = list::fixed(self.workspace, self.environment);
        let read = match store.read() {
            Err(_) if store.recover() => {
                lost = self.lost_store(true);
                store.read()
            }
            read => read,
        };
        if !occasion.begins
            && lost.is_empty()
            && let Some(record) = read?
            && record.is_guarded == occasion.is_guarded
            && self.is_unchanged(&record, &fixed)
        {
            return Ok(Vec::new());
        }
        let _alone = store.lock()?;
        let known = store.read()?;
        if known.is_none() && !occasion.creates && self.is_installed_here() {
            return Err(store.missing());
        }
        let mut pass = Pass {
            protected: self,
            calls: self.calls(&store, occasion, !lost.is_empty()),
            store: &store,
            is_first: known.is_none(),
            session: occasion.session,
            record: known.unwrap_or_default(),
            restored: lost,
        };
        let before = pass.record.clone();
        pass.run(fixed, occasion.begins);
        pass.refs(occasion.begins);
        let Pass {
            mut record,
            restored,
            ..
        } = pass;
        record.root = self.workspace.root().to_string_lossy().into_owned();
        // The settings may be among the restored files.
        record.is_guarded = occasion.is_guarded || !restored.is_empty();
        if record != before {
            store.write(&mut record)?;
        }
        Ok(restored)
    }

    /// Returns `true` if the gate was on at the last check, regardless of the current settings.
    #[must_use]
    pub fn was_guarded(&self) -> bool {
        let record = match Store::existing(self.workspace) {
            Ok(Some(store)) => store.read(),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        // An unreadable record may be one with the gate on.
        record.map_or(true, |record| {
            record.is_some_and(|record| record.is_guarded)
        })
    }

    /// Reports that the trust store was missing or changed and was restored from its copy.
    fn lost_store(&self, is_lost: bool) -> Vec<RestoredFile> {
        let lost = self.workspace.state().filter(|_| is_lost);
        let lost = lost.map(|state| RestoredFile {
            path: key(state),
            found: Content::Absent.name().to_owned(),
            during_call: true,
            mended: false,
            kept: None,
            problem: None,
        });
        lost.into_iter().collect()
    }

    /// Returns `true` if `roleos init` changed files of this very folder: in a copy of a workspace, the paths are those
    /// of the original.
    fn is_installed_here(&self) -> bool {
        let root = self.workspace.root();
        let installed = Installed::read(self.workspace);
        installed.paths().any(|path| path.starts_with(root))
    }

    /// Records that a call was allowed. `question` is the question to a person before it runs, if there is one.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn begin(
        &self,
        call: &Call<'_>,
        question: &str,
        process: Option<Process>,
    ) -> Result<(), FileError> {
        let Some(store) = Store::open(self.workspace)? else {
            return Ok(());
        };
        let running = Running {
            question: question.to_owned(),
            process,
            ..self.running(call)
        };
        store.begin(call.id, &running)
    }

    /// Forgets a call that has ended, or all calls of a session.
    ///
    /// # Errors
    /// The trust store cannot be opened.
    pub fn end(&self, session: &str, call: Option<&Call<'_>>) -> Result<(), FileError> {
        if let Some(store) = Store::open(self.workspace)? {
            match call {
                Some(call) => store.end(session, call.id, call.tool),
                None => store.end_all(session),
            }
        }
        Ok(())
    }

    /// Returns the changes that were reverted and not settled by a person, oldest first.
    ///
    /// # Errors
    /// The trust store cannot be read, or its record is damaged.
    pub fn undone(&self) -> Result<Vec<Undone>, FileError> {
        let store = Store::open(self.workspace)?;
        let record = store.map_or(Ok(None), |store| store.read())?;
        Ok(record.map(|record| record.undone).unwrap_or_default())
    }

    /// Returns the changes that were not reported to a session yet, and marks them as reported.
    ///
    /// # Errors
    /// The trust store cannot be read or written.
    pub fn tell_undone(&self) -> Result<Vec<Undone>, FileError> {
        let mut untold = Vec::new();
        if self.undone()?.iter().all(|one| one.told) {
            return Ok(untold);
        }
        self.update(|record| {
            for one in record.undone.iter_mut().filter(|one| !one.told) {
                one.told = true;
                untold.push(one.clone());
            }
        })?;
        Ok(untold)
    }

    /// Settles a reverted change. With `take`, the file gets the reverted content.
    ///
    /// # Errors
    /// The content is no longer kept, or a file cannot be written.
    pub fn settle(&self, undone: &Undone, take: bool) -> Result<(), FileError> {
        let path = Path::new(&undone.path);
        if take {
            restore::take(self.workspace, undone)?;
        }
        self.update(|record| {
            record.undone.retain(|one| one.id != undone.id);
            if take && let Some(entry) = record.files.get_mut(&undone.path) {
                entry.content = Seen::at(path, self.now_ns).content;
                entry.facts = None;
            }
        })
    }

    /// Accepts all files as they are now, after they were shown to a person.
    ///
    /// # Errors
    /// The trust store cannot be written.
    pub fn accept(&self) -> Result<(), FileError> {
        let Some(store) = Store::open(self.workspace)? else {
            return Ok(());
        };
        let _alone = store.lock()?;
        let mut pass = Pass {
            protected: self,
            calls: Vec::new(),
            store: &store,
            is_first: true,
            session: "",
            record: Record::default(),
            restored: Vec::new(),
        };
        pass.run(list::fixed(self.workspace, self.environment), true);
        pass.refs(true);
        pass.record.is_guarded = true;
        store.write(&mut pass.record)
    }

    fn update(&self, change: impl FnOnce(&mut Record)) -> Result<(), FileError> {
        let Some(store) = Store::open(self.workspace)? else {
            return Ok(());
        };
        let _alone = store.lock()?;
        let mut record = store.read()?.unwrap_or_default();
        change(&mut record);
        store.write(&mut record)
    }

    /// Returns `true` if the facts of every path are unchanged.
    fn is_unchanged(&self, record: &Record, fixed: &[Item]) -> bool {
        let is_same = |path: &Path, entry: &Entry| {
            entry.facts.is_some() && facts_at(path, self.now_ns) == entry.facts
        };
        fixed.iter().all(|item| {
            record
                .files
                .get(&key(&item.path))
                .is_some_and(|entry| is_same(&item.path, entry))
        }) && record
            .files
            .iter()
            .filter(|(_, entry)| entry.found.is_some())
            .all(|(path, entry)| is_same(Path::new(path), entry))
            && record.refs.is_unchanged(self.now_ns)
    }

    /// Returns the calls that may have changed something since the last check.
    fn calls(&self, store: &Store, occasion: &Occasion<'_>, was_lost: bool) -> Vec<Running> {
        let mut calls = store.calls(self.now_ns);
        // A store that was removed no longer knows the calls.
        let unknown = Call {
            session: occasion.session,
            id: "",
            tool: "",
            command: "",
        };
        let ended = occasion.ended.or(was_lost.then_some(unknown));
        if let Some(ended) = &ended
            && calls.is_empty()
        {
            calls.push(Running {
                at_ns: self.now_ns.saturating_sub(RECENT_NS),
                ..self.running(ended)
            });
        }
        calls
    }

    fn running(&self, call: &Call<'_>) -> Running {
        Running {
            session: call.session.to_owned(),
            tool: call.tool.to_owned(),
            command: call.command.to_owned(),
            question: String::new(),
            at_ns: self.now_ns,
            process: None,
        }
    }
}

/// Returns the name of a path in the record.
fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
