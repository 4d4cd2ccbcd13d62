//! JSON of a catalog's roles and of installed ones.

use std::collections::BTreeMap;

use ::catalog::browse::{self, Card};
use ::catalog::catalog::Draft;
use ::catalog::contents::{Bundle, Contents, Entry};
use ::catalog::install::{Import, Update};
use ::catalog::lock::{self, Lock};
use ::catalog::model_config;
use ::catalog::yaml::number_text;
use serde_json::{Number, Value, json};

use roles::installed_roles::{Stored, Updated};

/// Returns a number without a point if it is whole, as in the lock; `None` if JSON cannot represent it.
#[must_use]
pub fn number(number: f64) -> Option<Number> {
    serde_json::from_str(&number_text(number)).ok()
}

/// Returns the states by slug: `locked`, or the class of the problem.
#[must_use]
pub fn states(draft: &Draft, lock: &Lock) -> BTreeMap<String, &'static str> {
    let state = |role| lock::state(role, lock).map_or("locked", |class| class.name());
    let roles = draft.roles().iter();
    roles.map(|role| (role.slug.clone(), state(role))).collect()
}

/// Returns the state of a role by the lock.
#[must_use]
pub fn state(states: &BTreeMap<String, &'static str>, entry: &Entry) -> &'static str {
    let slug = entry.slug.as_deref().unwrap_or_default();
    states.get(slug).copied().unwrap_or("not_in_lock")
}

/// Returns the whole list of a catalog; names in `lang`, else in the first language.
#[must_use]
pub fn listing(
    contents: &Contents,
    states: &BTreeMap<String, &'static str>,
    lang: Option<&str>,
) -> Value {
    let bundles = contents
        .bundles()
        .map(|one| bundle(contents, states, lang, one));
    json!({
        "languages": browse::languages(contents),
        "bundles": bundles.collect::<Vec<_>>(),
    })
}

fn bundle(
    contents: &Contents,
    states: &BTreeMap<String, &'static str>,
    lang: Option<&str>,
    bundle: &Bundle,
) -> Value {
    let roles = bundle.entries.iter().map(|entry| {
        json!({
            "slug": entry.slug,
            "version": entry.version.and_then(number),
            "state": state(states, entry),
        })
    });
    let codes = bundle.languages.iter().map(|language| &language.code);
    json!({
        "id": bundle.id,
        "name": browse::bundle_name(contents, bundle, lang),
        "description": browse::bundle_description(contents, bundle, lang),
        "languages": codes.collect::<Vec<_>>(),
        "roles": roles.collect::<Vec<_>>(),
    })
}

/// Returns one role in the form for its user.
#[must_use]
pub fn card(card: &Card<'_>) -> Value {
    let fields = &card.fields;
    json!({
        "slug": card.slug,
        "bundle": card.bundle.id,
        "language": card.language,
        "languages": card.languages,
        "version": number(card.version),
        "emoji": fields.emoji,
        "name": fields.name,
        "description": fields.description,
        "autoStart": fields.auto_start.unwrap_or(true),
        "launchMessage": fields.launch_message,
        "instructions": fields.instructions,
        "modelConfig": card.role.model_config().and_then(model_config::described),
    })
}

/// Returns an installed role.
#[must_use]
pub fn installed(stored: &Stored) -> Value {
    match &stored.role {
        Err(what) => json!({ "file": stored.file, "error": what }),
        Ok(role) => json!({
            "file": stored.file,
            "source": role.source.as_ref().map(|source| json!({
                "slug": source.slug,
                "language": source.language,
                "version": number(source.version),
            })),
            "name": role.content.name,
            "emoji": role.content.emoji,
            "description": role.content.description,
            "enabled": role.enabled,
            "edited": role.source.is_some() && role.is_edited(),
        }),
    }
}

#[must_use]
pub fn imported(done: &Import) -> Value {
    let created = done.created.iter();
    let created = created
        .map(|one| json!({ "slug": one.slug, "name": one.name, "renamedTo": one.renamed_to }));
    let skipped = done.skipped.iter();
    let skipped = skipped
        .map(|one| json!({ "slug": one.slug, "name": one.name, "reason": one.reason.name() }));
    let errors = done.errors.iter();
    let errors = errors.map(|(slug, message)| json!({ "slug": slug, "message": message }));
    let offers = done.offers.iter();
    let offers = offers.map(|one| json!({ "slug": one.slug, "modelConfig": one.model_config }));
    json!({
        "created": done.created.len(),
        "skipped": done.skipped.len(),
        "renamed": done.renamed(),
        "errors": errors.collect::<Vec<_>>(),
        "createdRoles": created.collect::<Vec<_>>(),
        "skippedRoles": skipped.collect::<Vec<_>>(),
        "offeredModels": offers.collect::<Vec<_>>(),
    })
}

/// Returns the result of an update for one role.
#[must_use]
pub fn updated(one: &Updated) -> Value {
    let source = one.before.source.as_ref();
    let mut answer = json!({
        "slug": source.map(|source| &source.slug),
        "language": source.map(|source| &source.language),
        "updated": matches!(one.outcome, Ok(Update::Updated { .. })),
    });
    let more = match &one.outcome {
        Ok(Update::Updated { from, to, .. }) => json!({
            "fromVersion": number(*from),
            "toVersion": number(*to),
        }),
        Ok(Update::Unchanged(reason)) => json!({ "reason": reason.name() }),
        Err(what) => json!({ "error": what }),
    };
    if let (Value::Object(answer), Value::Object(more)) = (&mut answer, more) {
        answer.extend(more);
    }
    answer
}
