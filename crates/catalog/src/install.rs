//! Installing roles from a catalog that is not trusted, and bringing them up to date.
//!
//! An install is one slug in one language. What a catalog says passes the limits that hold for people who type it.
//! What is stored comes in as values, and what to store goes out through a function of the caller.

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

/// What a person may type, in characters; a catalog gets no more.
const LIMITS: [(&str, usize); 5] = [
    ("name", 200),
    ("emoji", 32),
    ("description", 2000),
    ("instructions", 20_000),
    ("launchMessage", 2000),
];

/// Whether the model that a role asks for is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Models {
    /// The user chooses the model.
    Ignore,
    /// The role does.
    Take,
}

/// Why a catalog cannot be installed from at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// A file that is needed is missing, no YAML, or malformed.
    File(String, served::Refusal),
    /// The index has no such bundle.
    UnknownBundle,
    /// The language or the slug cannot be part of a path.
    Unsafe(String),
    /// No name is free up to ` (999)`. What was created before stays.
    NoFreeName(String),
}

/// The file of a bundle in a language, when a server would hand out both it and the index.
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

/// A role as it would be stored, or why it is not.
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

/// Also characters that turn the direction of what follows: in a list they make one role look like another.
fn is_control(char: char) -> bool {
    let turns =
        matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    char.is_control() || turns || matches!(char, '\u{2028}' | '\u{2029}')
}

/// Names are compared without case and outer blanks.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests;
