//! From an older version to the catalog's: only what the catalog owns changes, and never what a person edited.

use super::{Models, Unavailable, content, folded, offered};
use crate::browse;
use crate::contents::Contents;
use crate::installed::{Installed, Source};

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The catalog has no such role any more.
    NotInCatalog,
    /// There is nothing newer.
    UpToDate,
    /// The bundle does not offer the language.
    LanguageUnavailable,
    /// A person edited the role, and nobody said to overwrite that.
    LocalEdits,
}

impl Reason {
    /// Stable name, as used in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotInCatalog => "not-in-catalog",
            Self::UpToDate => "up-to-date",
            Self::LanguageUnavailable => "language-unavailable",
            Self::LocalEdits => "local-edits",
        }
    }
}

/// What an update may do.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Whether edits of a person are overwritten.
    pub overwrite: bool,
    /// Whether models are taken; else the role keeps the one it has.
    pub models: Models,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Store this instead.
    Updated {
        /// The version before.
        from: f64,
        /// The version now.
        to: f64,
        /// The role with it.
        role: Box<Installed>,
    },
    /// Nothing to store.
    Unchanged(Reason),
}

/// Why an update could not be worked out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateError {
    /// A person wrote the role; no catalog has it.
    NoSource,
    /// The catalog cannot be read.
    Unavailable(Unavailable),
    /// The new content is beyond a limit.
    Unfit(String),
}

/// Works out the update of `role`. `others` are all other roles, for their names.
///
/// # Errors
/// See [`UpdateError`].
pub fn update<'o>(
    contents: &Contents,
    role: &Installed,
    others: impl IntoIterator<Item = &'o Installed>,
    policy: Policy,
) -> Result<Update, UpdateError> {
    let source = role.source.as_ref().ok_or(UpdateError::NoSource)?;
    let unchanged = |reason| Ok(Update::Unchanged(reason));
    let Some((bundle, version)) = browse::listed(contents, &source.slug) else {
        return unchanged(Reason::NotInCatalog);
    };
    let to = version.unwrap_or(1.0);
    // Written so that a version that is no number is never newer.
    let is_newer = to > source.version;
    if !is_newer {
        return unchanged(Reason::UpToDate);
    }
    let mut codes = bundle.languages.iter().map(|language| &language.code);
    if !codes.any(|code| *code == source.language) {
        return unchanged(Reason::LanguageUnavailable);
    }
    let translation =
        offered(contents, &bundle.id, &source.language).map_err(UpdateError::Unavailable)?;
    let Some(found) = browse::find(translation, &source.slug) else {
        return unchanged(Reason::NotInCatalog);
    };
    if role.is_edited() && !policy.overwrite {
        return unchanged(Reason::LocalEdits);
    }
    let mut content = content(found, policy.models).map_err(UpdateError::Unfit)?;
    if policy.models == Models::Ignore {
        content.model_config.clone_from(&role.content.model_config);
    }
    let is_same = folded(&content.name) == folded(&role.content.name);
    let mut names = others.into_iter().map(|other| folded(&other.content.name));
    if !is_same && names.any(|name| name == folded(&content.name)) {
        content.name.clone_from(&role.content.name);
    }
    let updated = Installed {
        source: Some(Source {
            version: to,
            ..source.clone()
        }),
        hash: Some(content.hash()),
        content,
        ..role.clone()
    };
    Ok(Update::Updated {
        from: source.version,
        to,
        role: Box::new(updated),
    })
}
