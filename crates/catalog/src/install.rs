//! Installs roles from a catalog that is not trusted, and updates them.
//!
//! An install is one slug in one language. The texts of a catalog must respect the limits of typed input. Stored
//! roles are passed in as values, and roles to store are passed to a function of the caller.

mod import;
mod update;

pub use import::{Conflict, Created, Import, NotStored, Offer, Request, Skip, Skipped, import};
pub use update::{Policy, Reason, Update, UpdateError, update};

use crate::browse::Fields;
use crate::contents::{Contents, Role, Translation};
use crate::installed::Content;
use crate::model_config;
use crate::source::INDEX;
use crate::{browse, served};

/// Limits of typed input, in characters, which also apply to a catalog.
const LIMITS: [(&str, usize); 5] = [
    ("name", 200),
    ("emoji", 32),
    ("description", 2000),
    ("instructions", 20_000),
    ("launchMessage", 2000),
];

/// Handling of a role's model settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Models {
    /// The user chooses the model.
    Ignore,
    /// The role chooses the model.
    Take,
}

/// Reason that nothing can be installed from a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// A needed file is missing, is not YAML, or is malformed.
    File(String, served::Refusal),
    /// The index lacks the bundle.
    UnknownBundle,
    /// The language or the slug is unsafe in a path.
    Unsafe(String),
    /// No name is free up to ` (999)`. Roles that were created before stay.
    NoFreeName(String),
}

/// Returns the file of a bundle in a language, if a server would serve both it and the index.
fn offered<'c>(
    contents: &'c Contents,
    bundle: &str,
    language: &str,
) -> Result<Translation<'c>, Unavailable> {
    let refusals = served::refusals(contents);
    let check = |path: &str| match refusals.get(path) {
        Some(refusal) => Err(Unavailable::File(path.to_owned(), *refusal)),
        None => Ok(()),
    };
    check(INDEX)?;
    let mut bundles = contents.bundles();
    let bundle = bundles
        .find(|one| one.id == bundle)
        .ok_or(Unavailable::UnknownBundle)?;
    let path = crate::contents::path(&bundle.id, language);
    let found = browse::translations(contents, bundle).find(|one| one.path == path);
    check(&path)?;
    found.ok_or(Unavailable::File(path, served::Refusal::Missing))
}

/// Returns a role as it would be stored, or the reason that it is not.
fn content(role: Role<'_>, models: Models) -> Result<Content, String> {
    let fields = Fields::of(role).ok_or("a value is not of its type")?;
    let trimmed = |text: Option<String>| {
        let text = text.unwrap_or_default().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let model = role.model_config().filter(|_| models == Models::Take);
    let content = Content {
        name: fields.name.trim().to_owned(),
        emoji: trimmed(fields.emoji),
        description: trimmed(fields.description),
        instructions: fields.instructions,
        auto_start: fields.auto_start.unwrap_or(true),
        launch_message: trimmed(fields.launch_message),
        model_config: model.map(model_config::read).transpose()?.flatten(),
    };
    fits(&content)?;
    Ok(content)
}

fn fits(content: &Content) -> Result<(), String> {
    let texts = [
        content.name.as_str(),
        content.emoji.as_deref().unwrap_or_default(),
        content.description.as_deref().unwrap_or_default(),
        &content.instructions,
        content.launch_message.as_deref().unwrap_or_default(),
    ];
    for ((key, limit), text) in LIMITS.into_iter().zip(texts) {
        if text.chars().count() > limit {
            return Err(format!("`{key}` is longer than {limit} characters"));
        }
        if matches!(key, "name" | "emoji") && text.chars().any(is_control) {
            return Err(format!("`{key}` has control characters"));
        }
        if matches!(key, "name" | "instructions") && text.trim().is_empty() {
            return Err(format!("`{key}` is blank"));
        }
    }
    Ok(())
}

/// Returns `true` for control characters, also for those that change the text direction: in a list they make one role
/// look like another.
fn is_control(char: char) -> bool {
    let turns =
        matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    char.is_control() || turns || matches!(char, '\u{2028}' | '\u{2029}')
}

/// Returns a name for comparison, without case and outer blanks.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests;
