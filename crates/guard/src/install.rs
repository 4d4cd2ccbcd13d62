//! Sets up a repository: hooks in the agents' settings and in git, and starter files. Removes them as well.
//!
//! Everything is planned first as whole files, before and after; a plan can be shown or executed. A file that cannot be
//! parsed stops the plan, and nothing is written then.

pub mod git_hook;
mod layout;
pub mod merge;
pub mod registration;
pub mod settings;
pub mod starter_files;
pub mod strength;
pub mod system;
pub(crate) mod words;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::agents::Agent;
use crate::protected::{Occasion, Protected};
use base::agents_above;
use base::approval_key;
use base::environment::Environment;
use base::files::{self, FileError, Privacy};
use base::git;
use base::keys::{self, KeyError};
use base::recorded;
use base::sealed_files;
use base::trust::review::{self, Candidate, Subject};
use base::trust::{self, Confirming, Kind, Trust};
use base::workspace::Workspace;

use self::git_hook::Place;
use self::registration::Program;
use self::settings::Settings;
use base::insertion;
use base::installed::{self, Installed};

/// Change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its content before; `None` if it does not exist.
    pub before: Option<Vec<u8>>,
    /// Its content after; `None` if it is removed.
    pub after: Option<Vec<u8>>,
    /// Its permissions.
    pub mode: Mode,
    /// Description for people.
    pub what: String,
}

/// Permissions of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Unchanged; 0644 for a new file.
    Plain,
    /// Exactly these permissions.
    Like(u32),
    /// A symbolic link; the content is its target.
    Link,
}

/// The planned changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files, in the order of writing.
    pub changes: Vec<Change>,
    /// Set if missing keys have to be created.
    pub keys: bool,
    /// Notes for people.
    pub notes: Vec<String>,
    /// New initialised state of the workspace; `None` leaves it unchanged.
    pub initialises: Option<bool>,
    /// A link beside the program by which it supervises an agent's commands, and the program. It stays when hooks are
    /// removed: other repositories use it as well.
    pub link: Option<(PathBuf, PathBuf)>,
}

/// Error of setting up a repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Settings that cannot be parsed.
    #[error("cannot change `{}`: {why}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Location and message.
        why: String,
    },
    /// Only root may do this.
    #[error("cannot install for the whole machine without being root")]
    NotRoot,
    /// A program that other users could replace.
    #[error("cannot install `{}` for the whole machine: {why}", path.display())]
    NotOwned {
        /// The file.
        path: PathBuf,
        /// The user who could change it.
        why: String,
    },
}

/// Plans the setup of this workspace for these agents; `managed` ones have their hook from the machine.
///
/// # Errors
/// A file cannot be read or parsed. Nothing has been written.
pub fn plan(
    workspace: &Workspace,
    agents: &[Agent],
    program: &Program,
    managed: &[Agent],
) -> Result<Plan, InstallError> {
    let root = workspace.root();
    let mut plan = Plan {
        keys: keys_are_missing(workspace)?,
        initialises: Some(true),
        ..Plan::default()
    };
    plan.changes.extend(starter_files::files(workspace)?);
    plan.notes.extend(unconfirmed_notes(workspace)?);
    let mut record = Installed::read(workspace);
    let mut settings = Vec::new();
    for &agent in agents {
        let file = Settings::of(agent, root)?;
        if managed.contains(&agent) {
            plan.notes.push(format!(
                "{} has the hook in the settings of this machine already, so it gets no second one here",
                agent.dialect().label
            ));
            continue;
        }
        plan.link = registration::watch(agent, program)
            .map(|link| (link, program.path.clone()))
            .or(plan.link);
        settings.extend(file.install(program, true, &mut record)?);
        plan.notes.extend(file.prefix_note(root)?);
        if git::is_tracked(root, &file.path) {
            plan.notes.push(tracked(root, &file.path));
        }
        if agent == Agent::Codex {
            plan.notes.push(CODEX_TRUST.to_owned());
        }
    }
    let place = git_hook::place(root);
    settings.extend(exclude(workspace, agents, &place, &mut record)?);
    match place {
        Place::Here(hooks) => {
            settings.extend(git_hook::install(&hooks, program)?);
            let [hook, _] = git_hook::files_in(&hooks);
            if git::is_tracked(root, &hook) {
                plan.notes.push(tracked(root, &hook));
            }
        }
        Place::Shared(hooks) => plan.notes.push(format!(
            "git takes its hooks from `{}`, which other repositories use as well, so no pre-push hook was put there; \
             `git config core.hooksPath .git/hooks` gives this repository its own",
            hooks.display()
        )),
        Place::NoRepository => plan.notes.push(
            "this is no working tree of git, so there is no pre-push hook as a second seam; run `roleos init` again after `git init`"
                .to_owned(),
        ),
    }
    // The record comes first: entries that are not carried out yet do no harm.
    plan.changes.extend(record_change(workspace, &record)?);
    plan.changes.extend(settings);
    if git::top_level(root).is_ok() {
        plan.notes.push(starter_files::TO_COMMIT.to_owned());
    }
    Ok(plan)
}

/// Returns notes about existing files that would need a confirmation in an initialised workspace.
fn unconfirmed_notes(workspace: &Workspace) -> Result<Vec<String>, FileError> {
    let found = review::candidates(workspace, &Environment::default())?;
    let is_foreign = |one: &&Candidate| match one.subject {
        Subject::File(kind) => {
            let trust = Trust::of(workspace);
            !one.needs.is_empty() && trust.confirmed(&one.path, &one.content, kind).is_err()
        }
        Subject::ApprovalKey | Subject::Key => one.doubt().is_some(),
    };
    let foreign = found.iter().filter(is_foreign);
    Ok(foreign
        .map(|one| {
            format!(
                "`{}` was here before and is not confirmed; `roleos trust` shows it and asks, until then it is ignored",
                shown(workspace.root(), &one.path)
            )
        })
        .collect())
}

fn tracked(root: &Path, path: &Path) -> String {
    format!(
        "`{}` is tracked by git; what was put there names a program on this machine, so keep it out of commits",
        shown(root, path)
    )
}

/// Note about the way Codex accepts a hook.
const CODEX_TRUST: &str = "Codex runs a hook only after you trusted it: start `codex` here, open `/hooks`, review the \
                           entries of Role OS and trust them; `roleos doctor` shows whether you have";

/// Plans the removal of these agents' hooks. Keys, our settings, journals and evidence stay.
///
/// # Errors
/// A file cannot be read or parsed. Nothing has been written.
pub fn plan_removal(workspace: &Workspace, agents: &[Agent]) -> Result<Plan, InstallError> {
    let root = workspace.root();
    let mut plan = Plan::default();
    let mut record = Installed::read(workspace);
    for &agent in agents {
        let file = Settings::of(agent, root)?;
        plan.changes.extend(file.uninstall(&mut record)?);
    }
    let others_left = installed(workspace)
        .into_iter()
        .any(|agent| !agents.contains(&agent));
    if !others_left {
        plan.initialises = Some(false);
        let mut shared = false;
        if let Place::Here(hooks) = git_hook::place(root) {
            plan.changes.extend(git_hook::uninstall(&hooks, root)?);
            shared = git_hook::is_shared(&hooks, root);
        }
        // All working trees share the file.
        if !shared {
            plan.changes.extend(unexclude(root, &mut record)?);
        }
    }
    plan.changes.extend(record_change(workspace, &record)?);
    Ok(plan)
}

/// Returns the agents whose settings hold one of our entries. Unparsable files hold none.
#[must_use]
pub fn installed(workspace: &Workspace) -> Vec<Agent> {
    let has_ours = |agent: &Agent| {
        let Ok(settings) = Settings::of(*agent, workspace.root()) else {
            return false;
        };
        let text = installed::read_text(&settings.path).ok().flatten();
        let entries = settings.entries(&text.unwrap_or_default());
        entries.is_ok_and(|entries| !registration::found(*agent, &entries).is_empty())
    };
    Agent::ALL.into_iter().filter(has_ours).collect()
}

/// Executes a plan.
///
/// # Errors
/// A file or key cannot be written. Earlier writes stay, and the same command finishes the work.
pub fn carry_out(workspace: &Workspace, plan: &Plan) -> Result<(), InstallError> {
    // In a workspace that was set up before, an agent must not recreate a missing record.
    let creates = !Installed::exists(workspace) || agents_above::find().is_none();
    if plan.keys {
        keys::create_missing(workspace)?;
        if matches!(approval_key::verifying_key(workspace), Ok(None)) {
            approval_key::ensure(workspace, None)?;
        }
    }
    if plan.initialises == Some(true) {
        trust::initialise(workspace)?;
        confirm_starters(workspace, &plan.changes)?;
    }
    // Before any settings name it.
    if let Some((path, program)) = &plan.link
        && !registration::is_link_to(path, program)
    {
        let is_older = registration::is_older_link(path);
        let made = link(path, Path::new(program.file_name().unwrap_or_default()));
        if !is_older {
            made?;
        }
    }
    for change in &plan.changes {
        sealed_files::announce(workspace.state(), &change.path, change.after.as_deref())?;
        write(change)?;
        if change.after.is_none() {
            remove_empty_above(&change.path, workspace.root());
        }
    }
    if plan.initialises == Some(false) {
        trust::uninitialise(workspace)?;
    }
    if !plan.changes.is_empty() {
        recorded::mark();
        // What was written now is what the first session compares with.
        let environment = &Environment::default();
        Protected::now(workspace, environment).look(&Occasion::setting_up(creates))?;
    }
    Ok(())
}

/// Confirms the settings that are about to be written, if they are new or were confirmed before.
fn confirm_starters(workspace: &Workspace, changes: &[Change]) -> Result<(), InstallError> {
    let path = workspace.config_path();
    let change = changes.iter().find(|change| change.path == path);
    let Some((change, after)) = change.and_then(|one| Some((one, one.after.as_ref()?))) else {
        return Ok(());
    };
    let was_confirmed = |before: &Vec<u8>| {
        let trust = Trust::of(workspace);
        trust.confirmed(&path, before, Kind::Settings).is_ok()
    };
    if !change.before.as_ref().is_none_or(was_confirmed) {
        return Ok(());
    }
    let place = approval_key::Place::of(workspace);
    // With a passphrase or a machine key, only `roleos trust` can sign.
    let key = match place.is_sealed() {
        Ok(false) => place.signing_key(None).ok(),
        _ => None,
    };
    let by = Confirming {
        what: "init",
        key: key.as_ref(),
    };
    Ok(trust::confirm(
        workspace,
        &path,
        after,
        Kind::Settings,
        &by,
    )?)
}

fn write(change: &Change) -> Result<(), FileError> {
    let Some(bytes) = &change.after else {
        return fs::remove_file(&change.path)
            .map_err(|source| FileError::new(files::Action::Write, &change.path, source));
    };
    files::make_directory(files::parent(&change.path), Privacy::Shared)?;
    match change.mode {
        Mode::Plain => files::rewrite(&change.path, bytes, 0o644),
        Mode::Like(mode) => files::write_as(&change.path, bytes, mode),
        Mode::Link => link(&change.path, git_hook::target(bytes)),
    }
}

/// Creates a link atomically, in place of an existing one.
fn link(path: &Path, target: &Path) -> Result<(), FileError> {
    let beside = path.with_file_name(format!(".roleos-{}-link", std::process::id()));
    let made = symlink(target, &beside).and_then(|()| fs::rename(&beside, path));
    made.map_err(|source| {
        // It may not exist.
        fs::remove_file(&beside).ok();
        FileError::new(files::Action::Write, path, source)
    })
}

/// Removes directories that were created for a file and are empty now.
fn remove_empty_above(path: &Path, root: &Path) {
    for folder in path.ancestors().skip(1) {
        let inside = folder.starts_with(root) && folder != root;
        // A directory that is not empty stays, and so do all above it.
        if !inside || folder.starts_with(root.join(".git")) || fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn keys_are_missing(workspace: &Workspace) -> Result<bool, KeyError> {
    let store = keys::KeyStore::open(workspace)?;
    let signing = store.hmac().is_some() && store.signing().is_some();
    let approval = match approval_key::verifying_key(workspace) {
        // It exists, and only a person can confirm or replace it.
        Err(KeyError::Unconfirmed { .. }) => true,
        key => key?.is_some(),
    };
    Ok(!signing || !approval)
}

fn record_change(workspace: &Workspace, record: &Installed) -> Result<Option<Change>, FileError> {
    let (path, after) = record.file(workspace);
    let before = installed::read_text(&path)?.map(String::into_bytes);
    Ok((before != after).then(|| Change {
        path,
        before,
        after,
        mode: Mode::Like(0o600),
        what: "what was put where, so that it comes out again".to_owned(),
    }))
}

/// Excludes settings with a path of this machine in this clone only.
fn exclude(
    workspace: &Workspace,
    agents: &[Agent],
    place: &Place,
    record: &mut Installed,
) -> Result<Option<Change>, InstallError> {
    let root = workspace.root();
    let (Ok(path), Ok(top)) = (git::exclude_file(root), git::top_level(root)) else {
        return Ok(None);
    };
    let private = agents
        .iter()
        .map(|agent| root.join(registration::file(*agent)))
        .chain(hooks_in_tree(place));
    let top = fs::canonicalize(&top).unwrap_or(top);
    let lines: Vec<String> = private
        .filter(|file| !git::is_tracked(root, file) && !git::is_ignored(root, file))
        .filter_map(|file| Some(format!("/{}\n", file.strip_prefix(&top).ok()?.display())))
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let before = installed::read_text(&path)?;
    let now = before.clone().unwrap_or_default();
    // The lines added for another agent are removed and added again with this one's.
    let known = record.of(&path).cloned();
    let base = match record.before(&path, &now) {
        Some(base) => base.unwrap_or_default(),
        None => now.clone(),
    };
    let mut added = String::new();
    if !base.is_empty() && !base.ends_with('\n') {
        added.push('\n');
    }
    let older = known.filter(|_| base != now);
    for insertion in older.iter().flat_map(|put| &put.insertions) {
        added.push_str(insertion.text.trim_start_matches('\n'));
    }
    added.push_str(&lines.concat());
    let insertions = vec![insertion::Insertion {
        at: base.len(),
        text: added,
    }];
    let after = insertion::apply(&base, &insertions);
    record.put(&path, before.is_none(), &after, insertions);
    Ok(Some(Change {
        path,
        before: before.map(String::into_bytes),
        after: Some(after.into_bytes()),
        mode: Mode::Plain,
        what: "files that this clone alone ignores".to_owned(),
    }))
}

/// Returns hooks among the files of the working tree, such as those of husky.
fn hooks_in_tree(place: &Place) -> Vec<PathBuf> {
    match place {
        Place::Here(hooks) if !hooks.iter().any(|part| part == ".git") => {
            git_hook::files_in(hooks).to_vec()
        }
        _ => Vec::new(),
    }
}

fn unexclude(root: &Path, record: &mut Installed) -> Result<Option<Change>, InstallError> {
    let Ok(path) = git::exclude_file(root) else {
        return Ok(None);
    };
    let (Some(now), Some(put)) = (installed::read_text(&path)?, record.of(&path).cloned()) else {
        return Ok(None);
    };
    let after = match record.before(&path, &now) {
        Some(before) => before,
        None => {
            let ours: Vec<&str> = put
                .insertions
                .iter()
                .flat_map(|one| one.text.lines())
                .collect();
            let kept = now
                .split_inclusive('\n')
                .filter(|line| !ours.contains(&line.trim_end()));
            Some(kept.collect())
        }
    };
    record.forget(&path);
    Ok(Some(Change {
        path,
        before: Some(now.into_bytes()),
        after: after.map(String::into_bytes),
        mode: Mode::Plain,
        what: "files that this clone alone ignores".to_owned(),
    }))
}

/// Returns a path as shown to people.
#[must_use]
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}
