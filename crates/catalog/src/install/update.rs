//! Update from an older version to the catalog's: only values of the catalog change, and never those that a person
//! edited.

use super::{Models, Unavailable, content, folded, offered};
use crate::browse;
use crate::contents::Contents;
use crate::installed::{Installed, Source};

/// Reason that nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The catalog no longer has the role.
    NotInCatalog,
    /// There is no newer version.
    UpToDate,
    /// The bundle does not offer the language.
    LanguageUnavailable,
    /// A person edited the role, and overwriting was not requested.
    LocalEdits,
}

impl Reason {
    /// Returns the stable name for JSON.
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

/// Options of an update.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Set if edits of a person are overwritten.
    pub overwrite: bool,
    /// Handling of model settings; if ignored, the role keeps its own.
    pub models: Models,
}

/// Result of an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The role must be stored.
    Updated {
        /// Version before.
        from: f64,
        /// Version after.
        to: f64,
        /// The updated role.
        role: Box<Installed>,
    },
    /// The role is unchanged.
    Unchanged(Reason),
}

/// Reason that an update failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateError {
    /// A person wrote the role; it is not from a catalog.
    NoSource,
    /// The catalog cannot be read.
    Unavailable(Unavailable),
    /// The new content exceeds a limit.
    Unfit(String),
}

/// Updates `role`. `others` are all other roles, for their names.
///
/// # Errors
/// Fails as listed in [`UpdateError`].
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
    // Written so that a version that is not a number is never newer.
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
