//! The catalog: bundles and languages, a role's text, installed roles and their differences.

use std::sync::Arc;

use ::catalog::browse::{self, Wanted};
use ::catalog::installed::Installed as Owned;
use ::catalog::yaml::number_text;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use present::view::roles as shape;
use roles::installed_roles::Roles;
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};

use super::frame::{Filled, Frame, Visit, encoded, show};
use crate::api::{
    Desk, How, Import, Update, catalog_directory, has_catalog, import_roles, no_card,
    readable_catalog, update_roles, waiting,
};
use crate::login::Person;
use crate::problem::Problem;
use present::show::clean;

/// Language in the query.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    lang: String,
}

impl Asked {
    fn lang(&self) -> Option<&str> {
        Some(self.lang.as_str()).filter(|lang| !lang.is_empty())
    }
}

#[derive(Template)]
#[template(path = "pages/catalog.html")]
struct List {
    frame: Frame,
    /// Set if there is a catalog.
    exists: bool,
    languages: Vec<String>,
    lang: String,
    bundles: Vec<Bundle>,
    installed: Vec<Installed>,
}

struct Bundle {
    id: String,
    name: String,
    description: String,
    languages: Vec<String>,
    roles: Vec<Role>,
}

struct Role {
    slug: String,
    href: String,
    version: String,
    state: &'static str,
}

struct Installed {
    file: String,
    name: String,
    version: String,
    enabled: bool,
    edited: bool,
    problem: Option<String>,
    href: Option<String>,
}

fn installed(desk: &Desk) -> Result<Vec<Installed>, Problem> {
    let stored = Roles::new(desk.workspace.roles_dir()).list()?;
    let shown = stored.into_iter().map(|one| {
        let file = clean::line(&one.file, 80);
        match one.role {
            Err(problem) => Installed {
                file,
                name: String::new(),
                version: String::new(),
                enabled: false,
                edited: false,
                problem: Some(clean::line(&problem, 300)),
                href: None,
            },
            Ok(role) => Installed {
                file,
                name: clean::line(&role.content.name, 80),
                version: role
                    .source
                    .as_ref()
                    .map(|source| number_text(source.version))
                    .unwrap_or_default(),
                enabled: role.enabled,
                edited: role.source.is_some() && role.is_edited(),
                problem: None,
                href: role
                    .source
                    .as_ref()
                    .map(|source| address(&source.slug, &source.language)),
            },
        }
    });
    Ok(shown.collect())
}

fn address(slug: &str, lang: &str) -> String {
    format!("/catalog/roles/{}?lang={}", encoded(slug), encoded(lang))
}

pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Response {
    show(&desk, visit, "Catalog", move |desk, visit| {
        if !has_catalog(desk) {
            // A catalog is optional; installed roles are always shown.
            return Ok(List {
                frame: visit.frame("Catalog", "Catalog"),
                exists: false,
                languages: Vec::new(),
                lang: asked.lang,
                bundles: Vec::new(),
                installed: installed(desk)?,
            });
        }
        let directory = catalog_directory(desk)?;
        let draft = readable_catalog(&directory)?;
        let contents = draft.claims();
        let states = shape::states(&draft, &directory.records().lock);
        let languages = browse::languages(contents);
        let english = languages.iter().find(|code| **code == "en");
        let shown = english.or(languages.first()).copied();
        let lang = asked.lang().or(shown);
        let text = |text: &str| clean::line(text, 400);
        let bundles = contents.bundles().map(|bundle| Bundle {
            id: text(&bundle.id),
            name: text(browse::bundle_name(contents, bundle, lang)),
            description: browse::bundle_description(contents, bundle, lang)
                .map(text)
                .unwrap_or_default(),
            languages: bundle
                .languages
                .iter()
                .map(|one| one.code.clone())
                .collect(),
            roles: bundle
                .entries
                .iter()
                .map(|entry| Role {
                    slug: entry.slug.as_deref().map(text).unwrap_or_default(),
                    href: address(
                        entry.slug.as_deref().unwrap_or_default(),
                        lang.unwrap_or("en"),
                    ),
                    version: entry.version.map(number_text).unwrap_or_default(),
                    state: shape::state(&states, entry),
                })
                .collect(),
        });
        Ok(List {
            frame: visit.frame("Catalog", "Catalog"),
            exists: true,
            lang: lang.unwrap_or_default().to_owned(),
            bundles: bundles.collect(),
            languages: languages.iter().map(ToString::to_string).collect(),
            installed: installed(desk)?,
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/role.html")]
struct One {
    frame: Frame,
    slug: String,
    /// `None` if it was installed from elsewhere.
    bundle: Option<String>,
    language: String,
    languages: Vec<(String, String)>,
    version: String,
    state: &'static str,
    name: String,
    description: String,
    launch: Option<String>,
    auto_start: bool,
    model: Option<String>,
    instructions: String,
    installed: Option<String>,
    changes: Vec<(&'static str, String)>,
}

pub(super) async fn role(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(slug): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    show(&desk, visit, "Catalog", move |desk, visit| {
        let known = one(desk, visit, &slug, &asked);
        let problem = match known {
            Err(problem) if problem.status == StatusCode::NOT_FOUND => problem,
            known => return known,
        };
        // It may be from another catalog, or the local one may be missing.
        let mine = mine(desk, &slug, asked.lang())?;
        mine.and_then(|mine| installed_one(visit, mine))
            .ok_or(problem)
    })
    .await
}

/// Returns the installed role of a slug, in this language if given.
fn mine(desk: &Desk, slug: &str, language: Option<&str>) -> Result<Option<Owned>, Problem> {
    let mine = Roles::new(desk.workspace.roles_dir()).list()?;
    let mut mine = mine.into_iter().filter_map(|one| one.role.ok());
    Ok(mine.find(|role| {
        role.source.as_ref().is_some_and(|source| {
            source.slug == slug && language.is_none_or(|language| source.language == language)
        })
    }))
}

fn shown_name(emoji: Option<&str>, name: &str) -> String {
    let name = format!("{} {name}", emoji.unwrap_or_default());
    clean::line(name.trim(), 120)
}

/// Cleans a text of several lines.
fn shown(text: &str) -> String {
    clean::text(text.as_bytes()).into_owned()
}

/// Returns the page of an installed role that is not in the catalog.
fn installed_one(visit: &Visit, role: Owned) -> Option<One> {
    let (source, content) = (role.source?, role.content);
    let name = shown_name(content.emoji.as_deref(), &content.name);
    let version = number_text(source.version);
    Some(One {
        frame: visit.frame("Catalog", name.clone()),
        languages: Vec::new(),
        bundle: None,
        slug: clean::line(&source.slug, 120),
        language: clean::line(&source.language, 40),
        state: "not in this catalog",
        name,
        description: shown(content.description.as_deref().unwrap_or_default()),
        launch: content.launch_message.as_deref().map(shown),
        auto_start: content.auto_start,
        model: None,
        instructions: shown(&content.instructions),
        installed: Some(version.clone()),
        version,
        changes: Vec::new(),
    })
}

fn one(desk: &Desk, visit: &Visit, slug: &str, asked: &Asked) -> Result<One, Problem> {
    let directory = catalog_directory(desk)?;
    let draft = readable_catalog(&directory)?;
    let states = shape::states(&draft, &directory.records().lock);
    let card = browse::card(draft.claims(), slug, Wanted::Rather(asked.lang()));
    let card = card.map_err(|reason| no_card(slug, &reason))?;
    let fields = &card.fields;
    let mine = mine(desk, slug, Some(card.language))?;
    let changes = match &mine {
        Some(role) => changes(&role.content.instructions, &fields.instructions),
        None => Vec::new(),
    };
    let name = shown_name(fields.emoji.as_deref(), &fields.name);
    Ok(One {
        frame: visit.frame("Catalog", name.clone()),
        slug: card.slug.to_string(),
        bundle: Some(card.bundle.id.clone()),
        language: card.language.to_string(),
        languages: card
            .languages
            .iter()
            .map(|code| (code.to_string(), address(slug, code)))
            .collect(),
        version: number_text(card.version),
        state: states.get(slug).copied().unwrap_or("not_in_lock"),
        name,
        description: fields.description.as_deref().map(shown).unwrap_or_default(),
        launch: fields.launch_message.as_deref().map(shown),
        auto_start: fields.auto_start.unwrap_or(true),
        model: card
            .role
            .model_config()
            .and_then(::catalog::model_config::described),
        instructions: shown(&fields.instructions),
        installed: mine.and_then(|role| role.source.map(|source| number_text(source.version))),
        changes,
    })
}

/// Returns the changes of an update to the installed instructions, line by line; empty if they are equal.
fn changes(mine: &str, theirs: &str) -> Vec<(&'static str, String)> {
    if mine == theirs {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(mine, theirs);
    diff.iter_all_changes()
        .map(|change| {
            let class = match change.tag() {
                ChangeTag::Delete => "r",
                ChangeTag::Insert => "a",
                ChangeTag::Equal => "c",
            };
            (
                class,
                clean::text(change.value().trim_end_matches('\n').as_bytes()).into_owned(),
            )
        })
        .collect()
}

/// Installation or update in a form.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    bundle: String,
    language: String,
    slug: String,
    overwrite: String,
}

async fn change(
    desk: &Arc<Desk>,
    visit: &Visit,
    work: impl FnOnce(&Desk, &Person) -> Result<(), Problem> + Send + 'static,
) -> Response {
    let person = match visit.person("/catalog") {
        Ok(person) => person,
        Err(instead) => return *instead,
    };
    match waiting(desk, move |desk| work(desk, &person)).await {
        Ok(()) => Redirect::to("/catalog#installed").into_response(),
        Err(problem) => visit.wrong("Catalog", &problem),
    }
}

pub(super) async fn import(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Filled(wish): Filled<Wish>,
) -> Response {
    let work = move |desk: &Desk, person: &Person| {
        let import = Import {
            bundle: wish.bundle,
            language: wish.language,
            slugs: Some(wish.slug)
                .filter(|slug| !slug.is_empty())
                .into_iter()
                .collect(),
            conflict: How::Skip,
            with_model_config: false,
        };
        import_roles(desk, person, &import).map(drop)
    };
    change(&desk, &visit, work).await
}

pub(super) async fn update(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Filled(wish): Filled<Wish>,
) -> Response {
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let work = move |desk: &Desk, person: &Person| {
        let update = Update {
            slug: given(wish.slug),
            language: given(wish.language),
            overwrite: wish.overwrite == "yes",
            with_model_config: false,
        };
        update_roles(desk, person, &update).map(drop)
    };
    change(&desk, &visit, work).await
}
