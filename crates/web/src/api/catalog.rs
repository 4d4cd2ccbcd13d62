//! The catalog of this workspace: roles on offer, installed roles, import and update.

use std::sync::Arc;

use ::catalog::browse::{self, NoCard, Wanted};
use ::catalog::catalog::Draft;
use ::catalog::install::{Conflict, Models, Policy, Request, Unavailable};
use ::catalog::source::INDEX;
use axum::extract::State;
use present::view::roles as shape;
use roles::catalog::Directory;
use roles::installed_roles::{Roles, RolesError};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::Desk;
use super::audit::audited;
use super::errors::{conflict, unfit};
use super::frame::{Answer, Asked, Given, LoggedIn, Part, answer, missing};
use crate::login::Person;
use crate::problem::Problem;

/// The folder of the catalog in a workspace.
const CATALOG: &str = "catalog";

/// In which language.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Language {
    /// Language of the text [default: en, else the first].
    lang: Option<String>,
}

/// Returns the catalog's folder: `catalog/` of the workspace.
pub(crate) fn catalog_directory(desk: &Desk) -> Result<Directory, Problem> {
    let own = desk.workspace.root().join(CATALOG);
    if !has_catalog(desk) {
        return Err(
            missing("no_catalog", "there is no catalog in this workspace")
                .hint("a catalog is a folder `catalog/` with an `index.yaml`"),
        );
    }
    Ok(Directory::open(&own)?)
}

/// Returns `true` if this workspace has its own catalog.
pub(crate) fn has_catalog(desk: &Desk) -> bool {
    desk.workspace.root().join(CATALOG).is_dir()
}

/// Reads a catalog with a readable index.
pub(crate) fn readable_catalog(directory: &Directory) -> Result<Draft, Problem> {
    let draft = directory.draft();
    match draft.served().remove(INDEX) {
        None => Ok(draft),
        Some(refusal) => Err(bad(&format!(
            "the index of the catalog is {}",
            refusal.name()
        ))),
    }
}

fn bad(message: &str) -> Problem {
    conflict("bad_catalog", message).hint("`roleos catalog check --strict` says where")
}

/// Bundles, their languages, and their roles with what the lock says of each.
#[utoipa::path(get, path = "/api/catalog", operation_id = "list_catalog", tag = "catalog", params(Language),
    responses((status = 200, body = Value, description = "As `roleos catalog list --json`.")))]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Asked(asked): Asked<Language>,
) -> Answer<Value> {
    answer(&desk, move |desk| {
        let directory = catalog_directory(desk)?;
        let draft = readable_catalog(&directory)?;
        let states = shape::states(&draft, &directory.records().lock);
        Ok(shape::listing(
            draft.claims(),
            &states,
            asked.lang.as_deref(),
        ))
    })
    .await
}

/// One role as its user will read it.
#[utoipa::path(get, path = "/api/catalog/roles/{slug}", operation_id = "get_catalog_role", tag = "catalog", params(("slug" = String, Path), Language),
    responses((status = 200, body = Value, description = "As `roleos catalog show --json`.")))]
pub(super) async fn open(
    State(desk): State<Arc<Desk>>,
    Part(slug): Part,
    Asked(asked): Asked<Language>,
) -> Answer<Value> {
    answer(&desk, move |desk| {
        let draft = readable_catalog(&catalog_directory(desk)?)?;
        let wanted = Wanted::Rather(asked.lang.as_deref());
        let card = browse::card(draft.claims(), &slug, wanted);
        card.map(|card| shape::card(&card))
            .map_err(|reason| no_card(&slug, &reason))
    })
    .await
}

/// Returns the reason why there is no such role.
pub(crate) fn no_card(slug: &str, reason: &NoCard) -> Problem {
    match reason {
        NoCard::UnknownSlug => missing(
            "role_not_found",
            format!("the catalog has no role `{slug}`"),
        )
        .hint("`GET /api/catalog` lists what it has"),
        NoCard::NoText => missing(
            "role_without_text",
            format!("no file has a text of `{slug}`"),
        ),
        NoCard::NoLanguage(codes) => missing(
            "language_unavailable",
            format!("`{slug}` has no text in that language"),
        )
        .hint(format!("it is there in {}", codes.join(", "))),
        NoCard::WrongType => bad(&format!("a value of `{slug}` is not of its type")),
    }
}

/// The roles of this workspace.
#[utoipa::path(get, path = "/api/catalog/installed", operation_id = "list_installed_roles", tag = "catalog",
    responses((status = 200, body = Vec<Value>, description = "As `roleos catalog installed --json`.")))]
pub(super) async fn installed(State(desk): State<Arc<Desk>>) -> Answer<Vec<Value>> {
    answer(&desk, |desk| {
        let roles = Roles::new(desk.workspace.roles_dir()).list()?;
        Ok(roles.iter().map(shape::installed).collect())
    })
    .await
}

/// What to do with a role whose name is taken.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    /// Leave it out.
    Skip,
    /// Number it.
    Rename,
}

/// What to import.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Import {
    /// The bundle.
    #[schema(pattern = "^[a-z0-9-]+$")]
    pub(crate) bundle: String,
    /// The language.
    #[schema(pattern = "^[a-z0-9-]+$")]
    pub(crate) language: String,
    /// Roles of it [default: all].
    #[serde(default)]
    pub(crate) slugs: Vec<String>,
    /// What to do with a role whose name is taken.
    pub(crate) conflict: How,
    /// Also take the model that a role asks for.
    #[serde(default)]
    pub(crate) with_model_config: bool,
}

fn models(taken: bool) -> Models {
    if taken { Models::Take } else { Models::Ignore }
}

/// Installs roles of a bundle.
#[utoipa::path(post, path = "/api/catalog/import", operation_id = "import_roles", tag = "catalog", request_body = Import,
    responses((status = 200, body = Value, description = "As `roleos catalog import --json`.")))]
pub(super) async fn import(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Given(body): Given<Import>,
) -> Answer<Value> {
    answer(&desk, move |desk| import_roles(desk, &person, &body)).await
}

/// Installs roles of a bundle.
pub(crate) fn import_roles(desk: &Desk, person: &Person, body: &Import) -> Result<Value, Problem> {
    let draft = readable_catalog(&catalog_directory(desk)?)?;
    let request = Request {
        bundle: &body.bundle,
        language: &body.language,
        slugs: &body.slugs,
        conflict: match body.conflict {
            How::Skip => Conflict::Skip,
            How::Rename => Conflict::Rename,
        },
        models: models(body.with_model_config),
    };
    let roles = Roles::new(desk.workspace.roles_dir());
    let subject = format!("{} {}", body.bundle, body.language);
    audited(desk, person, ("catalog.import", &subject, ""), || {
        let done = roles.import(draft.claims(), request);
        let done = done.map_err(|error| match error {
            RolesError::Unavailable(reason) => unavailable(&body.bundle, &reason),
            error => error.into(),
        })?;
        Ok(shape::imported(&done))
    })
}

fn unavailable(bundle: &str, reason: &Unavailable) -> Problem {
    match reason {
        Unavailable::UnknownBundle => missing(
            "bundle_unknown",
            format!("the catalog has no bundle `{bundle}`"),
        )
        .hint("`GET /api/catalog` lists the bundles"),
        Unavailable::File(path, refusal) => {
            bad(&format!("`{path}` of the catalog is {}", refusal.name()))
        }
        Unavailable::Unsafe(part) => unfit(
            "unsafe_name",
            format!("`{part}` cannot be a bundle or a language"),
        )
        .hint("use a-z, 0-9 and -"),
        Unavailable::NoFreeName(name) => conflict(
            "no_free_name",
            format!("no number is free behind the name `{name}`"),
        ),
        _ => bad("the catalog cannot be installed from"),
    }
}

/// What to update.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Update {
    /// Only this role.
    pub(crate) slug: Option<String>,
    /// Only this language.
    pub(crate) language: Option<String>,
    /// Also where the installed text was edited.
    pub(crate) overwrite: bool,
    /// Also take the model that a role asks for.
    pub(crate) with_model_config: bool,
}

/// Brings installed roles to the catalog's version. Edited ones only when that is asked for.
#[utoipa::path(post, path = "/api/catalog/update", operation_id = "update_roles", tag = "catalog", request_body = Update,
    responses((status = 200, body = Vec<Value>, description = "As `roleos catalog update --json`.")))]
pub(super) async fn update(
    LoggedIn(person): LoggedIn,
    State(desk): State<Arc<Desk>>,
    Given(body): Given<Update>,
) -> Answer<Vec<Value>> {
    answer(&desk, move |desk| update_roles(desk, &person, &body)).await
}

/// Brings installed roles to the catalog's version.
pub(crate) fn update_roles(
    desk: &Desk,
    person: &Person,
    body: &Update,
) -> Result<Vec<Value>, Problem> {
    let draft = readable_catalog(&catalog_directory(desk)?)?;
    let policy = Policy {
        overwrite: body.overwrite,
        models: models(body.with_model_config),
    };
    let same = |wanted: &Option<String>, found: &String| {
        wanted.as_ref().is_none_or(|wanted| wanted == found)
    };
    let roles = Roles::new(desk.workspace.roles_dir());
    let subject = body.slug.as_deref().unwrap_or("all roles");
    let done = audited(desk, person, ("catalog.update", subject, ""), || {
        let done = roles.update(draft.claims(), policy, |role| {
            role.source.as_ref().is_some_and(|source| {
                same(&body.slug, &source.slug) && same(&body.language, &source.language)
            })
        });
        Ok(done?)
    })?;
    if let Some(slug) = body.slug.as_ref().filter(|_| done.is_empty()) {
        let message = format!("no catalog role `{slug}` is installed");
        return Err(
            missing("not_installed", message).hint("`GET /api/catalog/installed` shows what is")
        );
    }
    Ok(done.iter().map(shape::updated).collect())
}
