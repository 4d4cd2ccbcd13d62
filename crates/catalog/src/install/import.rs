//! Import from a bundle into the workspace: new roles, existing ones, and name conflicts.

use std::collections::BTreeSet;

use super::{Models, Unavailable, content, folded, offered};
use crate::browse;
use crate::contents::{Contents, Field, Role};
use crate::installed::{Content, Installed, Source};
use crate::model_config;
use crate::strict::is_safe;

/// Largest number that is appended to a name.
const MAX_NUMBER: u32 = 999;

/// Handling of a role whose name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Skip it.
    Skip,
    /// Append a number: ` (2)`, ` (3)` and so on.
    Rename,
}

/// Scope and options of an import.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Id of the bundle.
    pub bundle: &'a str,
    /// Language code.
    pub language: &'a str,
    /// Slugs of the roles; empty for all.
    pub slugs: &'a [String],
    /// Handling of a taken name.
    pub conflict: Conflict,
    /// Handling of model settings.
    pub models: Models,
}

/// An imported role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Slug of the role.
    pub slug: String,
    /// Name in the catalog.
    pub name: String,
    /// New name, if that was taken.
    pub renamed_to: Option<String>,
}

/// Reason that a role was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The same slug in the same language is installed.
    AlreadyInstalled,
    /// Another role has its name.
    NameConflict,
}

impl Skip {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AlreadyInstalled => "already-installed",
            Self::NameConflict => "name-conflict",
        }
    }
}

/// A skipped role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Slug of the role.
    pub slug: String,
    /// Name in the catalog.
    pub name: String,
    /// Reason that it was skipped.
    pub reason: Skip,
}

/// Model that a role requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Slug of the role.
    pub slug: String,
    /// Settings as one line of JSON.
    pub model_config: String,
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// Imported roles, in the order of the file.
    pub created: Vec<Created>,
    /// Skipped roles, in the order of the file.
    pub skipped: Vec<Skipped>,
    /// Slugs with their errors.
    pub errors: Vec<(String, String)>,
    /// Models that imported roles request, used or not.
    pub offers: Vec<Offer>,
}

impl Import {
    /// Returns the number of renamed roles.
    #[must_use]
    pub fn renamed(&self) -> usize {
        let renamed = self.created.iter().filter(|one| one.renamed_to.is_some());
        renamed.count()
    }
}

/// Reason that a role could not be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// Another process installed the same slug and language meanwhile.
    AlreadyInstalled,
    /// Another process took the name meanwhile.
    NameTaken,
    /// Any other error.
    Failed(String),
}

/// Imports roles one after another; one that fails does not stop the others.
///
/// # Errors
/// Fails if the bundle is not available in that language, or no name is free; roles that were stored before stay.
pub fn import(
    contents: &Contents,
    installed: &[Installed],
    request: Request<'_>,
    store: &mut dyn FnMut(&Installed) -> Result<(), NotStored>,
) -> Result<Import, Unavailable> {
    for part in [request.bundle, request.language] {
        if !is_safe(part) {
            return Err(Unavailable::Unsafe(part.to_owned()));
        }
    }
    let translation = offered(contents, request.bundle, request.language)?;
    let mut importer = Importer::new(installed, request);
    let slugs: Vec<_> = translation.roles().filter_map(Role::slug).collect();
    for slug in request.slugs.iter().filter(|slug| !slugs.contains(slug)) {
        importer.error(slug, "not found in the bundle");
    }
    for role in translation.roles() {
        let slug = role.slug().unwrap_or_default();
        if request.slugs.is_empty() || request.slugs.contains(&slug) {
            let version = browse::version_in(translation.bundle, &slug).flatten();
            importer.one(slug, version.unwrap_or(1.0), role, store)?;
        }
    }
    Ok(importer.done)
}

struct Importer<'a> {
    request: Request<'a>,
    keys: BTreeSet<(String, String)>,
    names: BTreeSet<String>,
    done: Import,
}

impl<'a> Importer<'a> {
    fn new(installed: &[Installed], request: Request<'a>) -> Self {
        let keys = installed.iter().filter_map(|role| role.source.as_ref());
        Self {
            request,
            keys: keys
                .map(|source| (source.slug.clone(), source.language.clone()))
                .collect(),
            names: installed
                .iter()
                .map(|role| folded(&role.content.name))
                .collect(),
            done: Import::default(),
        }
    }

    fn error(&mut self, slug: &str, what: impl Into<String>) {
        self.done.errors.push((slug.to_owned(), what.into()));
    }

    fn skip(&mut self, slug: &str, name: &str, reason: Skip) {
        self.done.skipped.push(Skipped {
            slug: slug.to_owned(),
            name: name.to_owned(),
            reason,
        });
    }

    fn one(
        &mut self,
        slug: String,
        version: f64,
        role: Role<'_>,
        store: &mut dyn FnMut(&Installed) -> Result<(), NotStored>,
    ) -> Result<(), Unavailable> {
        let name = role.text(Field::Name).unwrap_or_default().trim().to_owned();
        let Some((content, renamed_to)) = self.accepted(&slug, &name, role)? else {
            return Ok(());
        };
        let installed = Installed {
            source: Some(Source {
                slug: slug.clone(),
                language: self.request.language.to_owned(),
                version,
            }),
            hash: Some(content.hash()),
            enabled: true,
            content,
            extras: String::new(),
        };
        match store(&installed) {
            Ok(()) => {
                self.keys.insert(self.key(&slug));
                self.names.insert(folded(&installed.content.name));
                let offer = role.model_config().and_then(model_config::described);
                self.done.offers.extend(offer.map(|model_config| Offer {
                    slug: slug.clone(),
                    model_config,
                }));
                self.done.created.push(Created {
                    slug,
                    name,
                    renamed_to,
                });
            }
            Err(NotStored::AlreadyInstalled) => self.skip(&slug, &name, Skip::AlreadyInstalled),
            Err(NotStored::NameTaken) => self.error(&slug, "a role of that name exists already"),
            Err(NotStored::Failed(why)) => self.error(&slug, why),
        }
        Ok(())
    }

    /// Returns the content to store, and the new name; `None` if the role is skipped or invalid, which is then
    /// recorded.
    fn accepted(
        &mut self,
        slug: &str,
        name: &str,
        role: Role<'_>,
    ) -> Result<Option<(Content, Option<String>)>, Unavailable> {
        if self.keys.contains(&self.key(slug)) {
            self.skip(slug, name, Skip::AlreadyInstalled);
            return Ok(None);
        }
        if !is_safe(slug) {
            self.error(slug, "the slug is not safe in a path");
            return Ok(None);
        }
        let mut content = match content(role, self.request.models) {
            Ok(content) => content,
            Err(what) => {
                self.error(slug, what);
                return Ok(None);
            }
        };
        if !self.names.contains(&folded(name)) {
            return Ok(Some((content, None)));
        }
        if self.request.conflict == Conflict::Skip {
            self.skip(slug, name, Skip::NameConflict);
            return Ok(None);
        }
        let other = self.free_name(name)?;
        content.name.clone_from(&other);
        Ok(Some((content, Some(other))))
    }

    fn key(&self, slug: &str) -> (String, String) {
        (slug.to_owned(), self.request.language.to_owned())
    }

    fn free_name(&self, name: &str) -> Result<String, Unavailable> {
        let mut names = (2..=MAX_NUMBER).map(|number| format!("{name} ({number})"));
        names
            .find(|name| !self.names.contains(&folded(name)))
            .ok_or_else(|| Unavailable::NoFreeName(name.to_owned()))
    }
}
