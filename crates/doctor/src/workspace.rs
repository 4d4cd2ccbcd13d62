//! Checks of the workspace itself: gate, contracts, grants, journals, keys, and git's hook.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use oversight::grants::Standing;

use super::{Check, program};
use base::approval_key::{self, Place};
use base::clock;
use base::config::Config;
use base::environment::Environment;
use base::grants;
use base::keys::KeyStore;
use base::programs;
use base::repository::index;
use base::said;
use base::workspace::Workspace;
use evidence::journal::read::{Session, journals};
use guard::contracts;
use guard::install::git_hook;
use routing::specialists::{Named, Paths, Settings, Specialists};

/// Limit of journals: only the newest are read; older ones were checked before.
const JOURNALS: usize = 20;

pub(super) fn gate_check(
    workspace: &Workspace,
    config: &Config,
    environment: &Environment,
) -> Check {
    let is_gone = environment.config.is_none() && !workspace.config_path().exists();
    if is_gone && config.oversight.capability_gate {
        return Check::wrong(
            "gate",
            "`.role-os/config.toml` is gone although hooks were installed with it; the gate counts as on",
            "`roleos init` writes it anew, `roleos init --uninstall` takes the hooks out",
        );
    }
    let by = match (
        config.oversight.capability_gate,
        environment.capability_gate,
    ) {
        (true, true) => "on, by the settings and by `ROLEOS_CAPABILITY_GATE`",
        (true, false) => "on, by the settings",
        (false, true) => "on, by `ROLEOS_CAPABILITY_GATE`",
        (false, false) => {
            return Check::wrong(
                "gate",
                "the capability gate is off: nothing is refused",
                "`roleos init` switches it on, or write `capability_gate = true` under `[oversight]` into `.role-os/config.toml`",
            );
        }
    };
    let ignored: Vec<&str> = config.ignored.iter().map(|one| one.key).collect();
    if ignored.is_empty() {
        return Check::good("gate", by);
    }
    let doubt = config.ignored.first().map(|one| one.doubt.to_string());
    Check::note(
        "gate",
        format!(
            "{by}; ignored in the settings file, for {}: {}",
            doubt.unwrap_or_default(),
            ignored.join(", ")
        ),
        "`roleos trust` shows these settings and asks",
    )
}

/// Checks the registry; `None` if no specialist is registered.
pub(super) fn registry_check(
    workspace: &Workspace,
    config: &Config,
    environment: &Environment,
) -> Option<Check> {
    let name = "registry";
    let paths = Paths::find(workspace, environment, &Named::default());
    let settings = match Settings::load(config, environment) {
        Ok(settings) => settings,
        Err(error) => {
            let next = "correct the variable, or unset it";
            return Some(Check::wrong(name, error.to_string(), next));
        }
    };
    let specialists = Specialists::new(paths, settings);
    let seen = match specialists.see() {
        Ok(seen) => seen,
        Err(error) => {
            let next = "make it readable; until then nothing is served by a specialist";
            return Some(Check::wrong(name, said(&error), next));
        }
    };
    let (entries, problems) = (seen.registry.entries(), seen.registry.problems());
    let path = &specialists.paths().registry;
    Some(if let Some(first) = problems.first() {
        let text = format!("{} problems, the first: {first}", problems.len());
        Check::wrong(name, text, "`roleos specialist list` names every one")
    } else if entries.is_empty() {
        return None;
    } else if !seen.is_trusted {
        let text = format!("`{}` is not followed: it is not confirmed", path.display());
        Check::wrong(name, text, "`roleos trust` shows it and asks")
    } else if index::is_tracked(&specialists.paths().state) {
        let text = "git tracks the specialists' state, so whoever pulls can lose a halt";
        Check::note(
            name,
            text,
            "`git rm --cached` it; `roleos init` makes git pass over it",
        )
    } else {
        Check::good(name, format!("{} roles have specialists", entries.len()))
    })
}

pub(super) fn contracts_check(workspace: &Workspace) -> Check {
    let next = "`roleos contracts check` names every place";
    let source = match contracts::Source::of(workspace) {
        Ok(source) => source,
        Err(error) => return Check::wrong("contracts", said(&error), next),
    };
    let parsed = source.contracts();
    let problems = parsed.problems().len();
    let from = match &source.path {
        Some(path) => path.display().to_string(),
        None => "those that are shipped".to_owned(),
    };
    if problems > 0 {
        let problems = if problems == 1 {
            "1 problem".to_owned()
        } else {
            format!("{problems} problems")
        };
        return Check::wrong("contracts", format!("{problems} in {from}"), next);
    }
    let tools = parsed.tools().count();
    Check::good("contracts", format!("{tools} tools, {from}"))
}

/// Tests the examples of the user's own actions.
pub(super) fn actions_check(config: &Config) -> Option<Check> {
    let own = config.oversight.action.len();
    if own == 0 {
        return None;
    }
    let wrong = config.oversight.wrong_examples();
    let Some((id, example)) = wrong.first() else {
        return Some(Check::good(
            "actions",
            format!("{own} of your own, their examples hold"),
        ));
    };
    Some(Check::wrong(
        "actions",
        format!(
            "{} of the examples of your own actions fail, first `{example}` of `{id}`",
            wrong.len()
        ),
        "correct `rules`, `must_match` or `must_not_match` of the action in `.role-os/config.toml`",
    ))
}

pub(super) fn grants_check(workspace: &Workspace) -> Check {
    let now = i128::from(clock::now_ns());
    let now = Timestamp::from_nanosecond(now).unwrap_or(Timestamp::MAX);
    match grants::list(workspace, now) {
        Ok(entries) => {
            let is_unconfirmed =
                |entry: &&grants::Entry| matches!(entry.standing, Standing::Unconfirmed(_));
            let unconfirmed: Vec<&str> = entries
                .iter()
                .filter(is_unconfirmed)
                .map(|entry| entry.action.as_str())
                .collect();
            if unconfirmed.is_empty() {
                let text = format!("{} in force or listed", entries.len());
                return Check::good("grants", text);
            }
            Check::wrong(
                "grants",
                format!("unconfirmed, so refused: {}", unconfirmed.join(", ")),
                "`roleos trust` shows them and asks; `roleos revoke <action>` takes one out",
            )
        }
        Err(error) => Check::wrong(
            "grants",
            said(&error),
            "correct the file or remove it; while it is damaged nothing is granted",
        ),
    }
}

pub(super) fn journal_check(workspace: &Workspace) -> Check {
    let directory = workspace.sessions_dir();
    let all = match journals(&directory) {
        Ok(all) => all,
        Err(error) => {
            return Check::wrong("journal", said(&error), "check who may read it");
        }
    };
    let writable = nearest(&directory)
        .is_some_and(|folder| rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK).is_ok());
    if !writable {
        return Check::wrong(
            "journal",
            format!("`{}` cannot be written", directory.display()),
            "let your user write there; until then every call is blocked",
        );
    }
    let newest = all.iter().rev().take(JOURNALS);
    let broken: Vec<String> = newest
        .filter(|(_, path)| Session::read(path).map_or(true, |session| !session.is_whole()))
        .map(|(session, _)| session.as_str().to_owned())
        .collect();
    if broken.is_empty() {
        return Check::good("journal", format!("{} sessions, all whole", all.len()));
    }
    Check::wrong(
        "journal",
        format!("lines are missing or changed in {}", broken.join(", ")),
        "`roleos sessions show <session>` names the places; a torn last line is repaired by the next event",
    )
}

/// Returns the nearest existing parent directory.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|folder| folder.exists())
        .map(Path::to_owned)
}

/// Returns a key that is readable for other users. The directory around it does not stop a process that has it open
/// already.
fn open_to_others(keys: &Path) -> Option<PathBuf> {
    let below = fs::read_dir(keys).into_iter().flatten().flatten();
    below.map(|entry| entry.path()).find_map(|path| {
        let facts = fs::symlink_metadata(&path).ok()?;
        if facts.is_dir() {
            return open_to_others(&path);
        }
        let is_key = path.extension().is_some_and(|end| end == "key");
        let is_open = facts.permissions().mode() & 0o077 != 0;
        (is_key && is_open).then_some(path)
    })
}

pub(super) fn keys_check(workspace: &Workspace) -> Check {
    let next = "`roleos key new` makes the missing ones, and so does `roleos init`";
    if let Some(open) = open_to_others(&workspace.keys_dir()) {
        let text = format!("others can read `{}`", open.display());
        let next = "`chmod -R go= .role-os/keys`, and `roleos key rotate` if somebody may have";
        return Check::wrong("keys", text, next);
    }
    match KeyStore::open(workspace) {
        Ok(store) if !store.refused().is_empty() => {
            let files = store.refused().iter();
            let files: Vec<String> = files.map(|(path, _)| path.display().to_string()).collect();
            Check::wrong(
                "keys",
                format!(
                    "not made here and not confirmed, so not used: {}",
                    files.join(", ")
                ),
                "`roleos trust` shows them and asks; remove those that are not yours",
            )
        }
        Err(error) => Check::wrong("keys", said(&error), "restore the file from a backup"),
        Ok(store) => match (store.hmac(), store.signing()) {
            (Some(_), Some(_)) => Check::good("keys", "bundles and checkpoints can be signed"),
            _ => Check::wrong("keys", "a key that signs bundles is missing", next),
        },
    }
}

pub(super) fn approval_check(workspace: &Workspace) -> Check {
    let place = Place::of(workspace);
    let key = approval_key::verifying_key(workspace);
    match (key, place.level()) {
        (Err(error), _) | (_, Err(error)) => Check::wrong(
            "approvals",
            said(&error),
            "`roleos key new --approval` makes a new approval key",
        ),
        (Ok(None), _) => Check::note(
            "approvals",
            "there is no approval key yet",
            "the first `roleos approve` makes it, and so does `roleos init`",
        ),
        (Ok(Some(key)), Ok(level)) => Check::good(
            "approvals",
            format!("level {}, key {}", level.as_str(), key.id()),
        ),
    }
}

pub(super) fn git_check(workspace: &Workspace, running: &Path) -> Check {
    let hook = program(workspace, &programs::hook(running));
    let older = program(workspace, running);
    let name = "git hook";
    match git_hook::place(workspace.root()) {
        git_hook::Place::NoRepository => Check::note(
            name,
            "this is no working tree of git, so there is no second seam",
            "`git init`, then `roleos init`",
        ),
        git_hook::Place::Shared(hooks) => Check::note(
            name,
            format!(
                "git takes its hooks from `{}`, which is not this repository's",
                hooks.display()
            ),
            "`git config core.hooksPath .git/hooks`, then `roleos init`",
        ),
        git_hook::Place::Here(hooks) => match git_hook::state(&hooks, &hook) {
            Some(true) => Check::good(name, "pre-push asks the gate about pushes below an agent"),
            Some(false) if git_hook::state(&hooks, &older) == Some(true) => Check::note(
                name,
                "pre-push asks the gate about pushes below an agent, through `roleos` instead of `roleos-hook`",
                "`roleos init` brings it up to date",
            ),
            Some(false) => Check::wrong(
                name,
                "the pre-push hook is ours but starts another program or root, or cannot be executed",
                "`roleos init` brings it up to date",
            ),
            None => Check::wrong(
                name,
                "there is no pre-push hook of ours, so a push from inside a script is not seen",
                "`roleos init` puts it there",
            ),
        },
    }
}
