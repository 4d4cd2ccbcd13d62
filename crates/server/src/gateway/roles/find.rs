//! Finds the requested role. A role that was ever named here is answered, in doubt by the general model; only a name
//! that was never used is unknown.

use std::sync::PoisonError;

use catalog::browse::{self, Wanted};
use hyper::StatusCode;
use roles::catalog::Directory;
use roles::installed_roles::Roles;

use crate::gateway::receipt::shortened;
use crate::up::App;
use web::problem::Problem;

/// A known role.
#[derive(Clone, Debug)]
pub(in crate::gateway) struct Role {
    /// Name in the registry.
    pub(in crate::gateway) name: String,
    /// Its own instructions, if it is installed or in the catalog.
    pub(in crate::gateway) instructions: Option<String>,
}

/// Finds a role; reads files.
pub(in crate::gateway) fn find(app: &App, slug: &str) -> Result<Role, Problem> {
    let installed = Roles::new(app.workspace.roles_dir()).find(slug);
    if installed.as_ref().is_some_and(|role| !role.enabled) {
        let message = format!("the role `{}` is switched off", shortened(slug));
        return Err(
            Problem::new(StatusCode::FORBIDDEN, "role_disabled", message)
                .hint("set `enabled: true` in its file under `.role-os/roles/`"),
        );
    }
    let registry = app.specialists.registry().ok();
    let registry = registry.as_deref();
    let registered = |name: &str| registry.is_some_and(|registry| registry.entry(name).is_some());
    let by_name = installed.as_ref().map(|role| role.content.name.clone());
    // A name with spaces is requested by its slug, like every other role.
    let by_slug = || {
        let mut entries = registry.iter().flat_map(|registry| registry.entries());
        entries
            .find(|entry| slug_of(&entry.role) == slug)
            .map(|entry| entry.role.clone())
    };
    let name = match by_name {
        _ if registered(slug) => slug.to_owned(),
        Some(name) if registered(&name) => name,
        _ => by_slug().unwrap_or_else(|| slug.to_owned()),
    };
    let instructions = installed.map(|role| role.content.instructions);
    let instructions = instructions.or_else(|| in_catalog(app, slug));
    if registered(&name) {
        remember(app, &name);
    } else if instructions.is_none() && !was_named(app, slug) {
        let message = format!("there is no role `{}`", shortened(slug));
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_role", message)
            .hint("`GET /v1/models` lists the roles; `roleos catalog import` installs more"));
    }
    Ok(Role { name, instructions })
}

fn remember(app: &App, name: &str) {
    let seen = &app.gateway.seen;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if !seen.contains(name) {
        seen.insert(name.to_owned());
    }
}

/// Returns `true` if a role was named, but has no valid description now: its entry was refused, the registry is damaged
/// or missing, or its file is unreadable.
fn was_named(app: &App, slug: &str) -> bool {
    if slug.is_empty() {
        return false;
    }
    let seen = app
        .gateway
        .seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if seen.contains(slug) {
        return true;
    }
    drop(seen);
    if app.specialists.was_named(slug) {
        return true;
    }
    let stored = Roles::new(app.workspace.roles_dir()).list();
    let is_file = |file: &str| file.split('.').next() == Some(slug);
    stored.is_ok_and(|all| {
        all.iter()
            .any(|one| one.role.is_err() && is_file(&one.file))
    })
}

/// Converts a name for `role:<slug>`: lower-case letters and digits, with `-` for everything between them.
pub(in crate::gateway) fn slug_of(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// Returns the instructions of a role in the workspace's own catalog that was not installed.
fn in_catalog(app: &App, slug: &str) -> Option<String> {
    let directory = Directory::open(&app.workspace.root().join("catalog")).ok()?;
    let draft = directory.draft();
    let card = browse::card(draft.claims(), slug, Wanted::Rather(None)).ok()?;
    Some(card.fields.instructions)
}

/// Returns slugs and names of all roles in the workspace's own catalog.
pub(in crate::gateway) fn all_in_catalog(app: &App) -> Vec<(String, String)> {
    let Ok(directory) = Directory::open(&app.workspace.root().join("catalog")) else {
        return Vec::new();
    };
    let draft = directory.draft();
    let contents = draft.claims();
    let entries = contents.bundles().flat_map(|bundle| &bundle.entries);
    let slugs = entries.filter_map(|entry| entry.slug.as_deref());
    let cards = slugs.filter_map(|slug| browse::card(contents, slug, Wanted::Rather(None)).ok());
    cards.map(|card| (card.slug, card.fields.name)).collect()
}
