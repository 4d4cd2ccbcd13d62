//! The published tables of import and update, and our additional limits.

use super::*;
use crate::catalog::Draft;
use crate::installed::{Installed, Source};
use crate::source::{File, Sources};

/// Returns a catalog of one bundle, `general`, in English.
fn catalog(version: &str, roles: &str) -> Draft {
    let index = format!(
        "schemaVersion: 1\nbundles: [{{ id: general, name: {{}}, languages: [en], roles: [{version}] }}]"
    );
    let text = format!("schemaVersion: 1\nlanguage: en\nroles: [{roles}]");
    let mut sources = Sources::new(File::of(index.into()));
    sources.add("bundles/general/en.yaml".to_owned(), File::of(text.into()));
    Draft::read(sources)
}

const LISTED: &str = "{ slug: researcher, version: 3 }";
const ROLE: &str = "{ slug: researcher, name: ' Researcher ', instructions: ' Do. ', emoji: ' ', launchMessage: ' Go ' }";

fn role(slug: &str, language: &str, version: f64, name: &str) -> Installed {
    let content = Content {
        name: name.to_owned(),
        emoji: None,
        description: None,
        instructions: "x".to_owned(),
        auto_start: true,
        launch_message: None,
        model_config: None,
    };
    Installed {
        source: (!slug.is_empty()).then(|| Source {
            slug: slug.to_owned(),
            language: language.to_owned(),
            version,
        }),
        hash: Some(content.hash()),
        enabled: false,
        content,
        extras: "specialist: null\n".to_owned(),
    }
}

fn ask<'a>(slugs: &'a [String], conflict: Conflict) -> Request<'a> {
    Request {
        bundle: "general",
        language: "en",
        slugs,
        conflict,
        models: Models::Ignore,
    }
}

/// Imports, and returns `created,skipped,renamed`, the stored roles, and the whole result.
fn run(
    draft: &Draft,
    installed: &[Installed],
    request: Request<'_>,
) -> (String, Vec<Installed>, Import) {
    let mut stored = Vec::new();
    let done = import(draft.claims(), installed, request, &mut |role| {
        stored.push(role.clone());
        Ok(())
    });
    let done = done.unwrap();
    (counts(&done), stored, done)
}

fn counts(done: &Import) -> String {
    format!(
        "{},{},{}",
        done.created.len(),
        done.skipped.len(),
        done.renamed()
    )
}

#[test]
fn a_new_role_is_stored_trimmed_and_enabled() {
    let draft = catalog(LISTED, ROLE);
    let (counts, stored, _) = run(&draft, &[], ask(&[], Conflict::Skip));
    assert_eq!(counts, "1,0,0");
    let source = stored[0].source.as_ref().unwrap();
    assert_eq!(
        (
            source.slug.as_str(),
            source.language.as_str(),
            source.version
        ),
        ("researcher", "en", 3.0)
    );
    let content = &stored[0].content;
    assert_eq!(
        (content.name.as_str(), content.instructions.as_str()),
        ("Researcher", " Do. ")
    );
    assert_eq!(
        (&content.emoji, content.launch_message.as_deref()),
        (&None, Some("Go"))
    );
    assert!(stored[0].enabled && content.auto_start && !stored[0].is_edited());
}

#[test]
fn one_slug_in_one_language_is_installed_once() {
    let draft = catalog(LISTED, ROLE);
    let (counts, stored, done) = run(
        &draft,
        &[role("researcher", "en", 1.0, "x")],
        ask(&[], Conflict::Rename),
    );
    assert_eq!((counts.as_str(), stored.len()), ("0,1,0", 0));
    assert_eq!(done.skipped[0].reason.name(), "already-installed");
    let (counts, ..) = run(
        &draft,
        &[role("researcher", "ru", 3.0, "x")],
        ask(&[], Conflict::Skip),
    );
    assert_eq!(counts, "1,0,0");
}

#[test]
fn a_taken_name_is_skipped_or_numbered() {
    let draft = catalog(LISTED, ROLE);
    let there = [
        role("", "", 0.0, " RESEARCHER "),
        role("", "", 0.0, "researcher (2)"),
    ];
    let (counts, _, done) = run(&draft, &there, ask(&[], Conflict::Skip));
    assert_eq!(counts, "0,1,0");
    assert_eq!(done.skipped[0].reason.name(), "name-conflict");
    assert_eq!(done.skipped[0].name, "Researcher");
    let (counts, stored, done) = run(&draft, &there, ask(&[], Conflict::Rename));
    assert_eq!(counts, "1,0,1");
    assert_eq!(stored[0].content.name, "Researcher (3)");
    assert_eq!(
        done.created[0].renamed_to.as_deref(),
        Some("Researcher (3)")
    );
    assert!(!stored[0].is_edited());
}

#[test]
fn when_no_number_is_free_the_whole_request_fails() {
    let draft = catalog(LISTED, ROLE);
    let mut there = vec![role("", "", 0.0, "Researcher")];
    there.extend((2..=999).map(|number| role("", "", 0.0, &format!("Researcher ({number})"))));
    let done = import(
        draft.claims(),
        &there,
        ask(&[], Conflict::Rename),
        &mut |_| Ok(()),
    );
    assert_eq!(done, Err(Unavailable::NoFreeName("Researcher".to_owned())));
}

const TWO: &str = "{ slug: a, version: 1 }, { slug: b, version: 1 }";
const TWO_ROLES: &str =
    "{ slug: b, name: B, instructions: i }, { slug: a, name: A, instructions: i }";

#[test]
fn unknown_slugs_are_errors_and_the_order_is_that_of_the_file() {
    let draft = catalog(TWO, TWO_ROLES);
    let slugs = ["a", "ghost", "b", "ghost"].map(str::to_owned);
    let (_, stored, done) = run(&draft, &[], ask(&slugs, Conflict::Skip));
    let names: Vec<_> = stored
        .iter()
        .map(|role| role.content.name.as_str())
        .collect();
    assert_eq!(names, ["B", "A"]);
    let error = ("ghost".to_owned(), "not found in the bundle".to_owned());
    assert_eq!(done.errors, [error.clone(), error]);
}

/// Imports with this failure when `a` is stored; `b` is stored.
fn with_failure(failure: &NotStored) -> Import {
    let draft = catalog(TWO, TWO_ROLES);
    let done = import(draft.claims(), &[], ask(&[], Conflict::Skip), &mut |role| {
        let is_a = role.content.name == "A";
        if is_a { Err(failure.clone()) } else { Ok(()) }
    });
    done.unwrap()
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let done = with_failure(&NotStored::NameTaken);
    assert_eq!(
        (counts(&done).as_str(), done.errors[0].0.as_str()),
        ("1,0,0", "a")
    );
    let done = with_failure(&NotStored::AlreadyInstalled);
    assert_eq!((counts(&done).as_str(), done.errors.len()), ("1,1,0", 0));
    let done = with_failure(&NotStored::Failed("disk".to_owned()));
    assert_eq!(done.errors, [("a".to_owned(), "disk".to_owned())]);
}

#[test]
fn a_bundle_that_cannot_be_had_stores_nothing() {
    let draft = catalog(LISTED, ROLE);
    let fails = |bundle: &'static str, language: &'static str| {
        let request = Request {
            bundle,
            language,
            ..ask(&[], Conflict::Skip)
        };
        import(draft.claims(), &[], request, &mut |_| panic!("stored")).unwrap_err()
    };
    assert_eq!(fails("other", "en"), Unavailable::UnknownBundle);
    assert_eq!(fails("../x", "en"), Unavailable::Unsafe("../x".to_owned()));
    assert!(matches!(fails("general", "ru"), Unavailable::File(..)));
    let draft = catalog(LISTED, "{ slug: researcher, name: n }");
    let done = import(draft.claims(), &[], ask(&[], Conflict::Skip), &mut |_| {
        panic!("stored")
    });
    assert!(matches!(
        done,
        Err(Unavailable::File(_, served::Refusal::Malformed))
    ));
}

#[test]
fn a_role_without_a_version_in_the_index_is_version_one() {
    let draft = catalog("", ROLE);
    let (_, stored, _) = run(&draft, &[], ask(&[], Conflict::Skip));
    assert_eq!(stored[0].source.as_ref().unwrap().version, 1.0);
}

/// Imports a role with these keys and expects this error.
fn refuses(keys: &str, expected: &str) {
    let draft = catalog(LISTED, &format!("{{ slug: researcher, {keys} }}"));
    let request = Request {
        models: Models::Take,
        ..ask(&[], Conflict::Skip)
    };
    let (counts, _, done) = run(&draft, &[], request);
    assert_eq!(counts, "0,0,0");
    assert_eq!(
        done.errors,
        [("researcher".to_owned(), expected.to_owned())]
    );
}

#[test]
fn limits_of_people_hold_for_catalogs() {
    let long = |count| "x".repeat(count);
    refuses(
        &format!("name: {}, instructions: i", long(201)),
        "`name` is longer than 200 characters",
    );
    refuses(
        &format!("name: n, instructions: {}", long(20_001)),
        "`instructions` is longer than 20000 characters",
    );
    refuses(
        &format!("name: n, instructions: i, emoji: {}", long(33)),
        "`emoji` is longer than 32 characters",
    );
    refuses(
        &format!("name: n, instructions: i, description: {}", long(2001)),
        "`description` is longer than 2000 characters",
    );
    refuses(
        &format!("name: n, instructions: i, launchMessage: {}", long(2001)),
        "`launchMessage` is longer than 2000 characters",
    );
    refuses("name: ' ', instructions: i", "`name` is blank");
    refuses("name: n, instructions: ' '", "`instructions` is blank");
    refuses(
        r#"name: "a\eb", instructions: i"#,
        "`name` has control characters",
    );
    refuses(
        r#"name: "a\u202Eb", instructions: i"#,
        "`name` has control characters",
    );
    refuses(
        "name: n, instructions: i, modelConfig: { driver: evil }",
        "the driver `evil` is none of openai, gemini, ollama",
    );
}

#[test]
fn a_model_is_offered_and_taken_only_when_asked() {
    let draft = catalog(
        LISTED,
        "{ slug: researcher, name: n, instructions: i, modelConfig: { driver: ollama } }",
    );
    let (_, stored, done) = run(&draft, &[], ask(&[], Conflict::Skip));
    assert_eq!(stored[0].content.model_config, None);
    assert_eq!(done.offers[0].model_config, r#"{"driver":"ollama"}"#);
    let request = Request {
        models: Models::Take,
        ..ask(&[], Conflict::Skip)
    };
    let (_, stored, _) = run(&draft, &[], request);
    assert!(stored[0].content.model_config.is_some());
}

const FIVE: &str = "{ slug: researcher, version: 5 }";

fn updated(
    draft: &Draft,
    role: &Installed,
    others: &[Installed],
    overwrite: bool,
) -> Result<Update, UpdateError> {
    let policy = Policy {
        overwrite,
        models: Models::Ignore,
    };
    update(draft.claims(), role, others, policy)
}

/// Expects that nothing changes, with this reason.
fn stays(draft: &Draft, role: &Installed, reason: &str) {
    match updated(draft, role, &[], false) {
        Ok(Update::Unchanged(found)) => assert_eq!(found.name(), reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_update_has_its_reasons_to_do_nothing() {
    let draft = catalog(FIVE, ROLE);
    assert_eq!(
        updated(&draft, &role("", "", 0.0, "x"), &[], false),
        Err(UpdateError::NoSource)
    );
    stays(&draft, &role("researcher", "en", 5.0, "x"), "up-to-date");
    stays(&draft, &role("researcher", "en", 6.0, "x"), "up-to-date");
    stays(&draft, &role("ghost", "en", 1.0, "x"), "not-in-catalog");
    stays(
        &draft,
        &role("researcher", "ru", 1.0, "x"),
        "language-unavailable",
    );
    stays(
        &catalog(FIVE, ""),
        &role("researcher", "en", 1.0, "x"),
        "not-in-catalog",
    );
    let mut edited = role("researcher", "en", 1.0, "x");
    edited.content.instructions.push('!');
    stays(&draft, &edited, "local-edits");
    assert!(matches!(
        updated(&draft, &edited, &[], true),
        Ok(Update::Updated { .. })
    ));
}

fn after(draft: &Draft, role: &Installed, others: &[Installed]) -> (f64, f64, Installed) {
    match updated(draft, role, others, false).unwrap() {
        Update::Updated { from, to, role } => (from, to, *role),
        Update::Unchanged(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn an_update_changes_what_the_catalog_owns() {
    let draft = catalog(FIVE, ROLE);
    let (from, to, role) = after(&draft, &role("researcher", "en", 1.0, "old"), &[]);
    assert_eq!((from, to), (1.0, 5.0));
    assert!(!role.enabled, "never touched");
    assert_eq!(role.extras, "specialist: null\n");
    assert_eq!(role.source.as_ref().unwrap().version, 5.0);
    assert_eq!(
        (
            role.content.name.as_str(),
            role.content.instructions.as_str()
        ),
        ("Researcher", " Do. ")
    );
    assert!(!role.is_edited());
}

#[test]
fn a_name_that_another_role_has_is_not_taken() {
    let draft = catalog(FIVE, ROLE);
    let (_, _, kept) = after(
        &draft,
        &role("researcher", "en", 1.0, "old"),
        &[role("", "", 0.0, "RESEARCHER")],
    );
    assert_eq!(kept.content.name, "old");
    let (_, _, same) = after(
        &draft,
        &role("researcher", "en", 1.0, "RESEARCHER"),
        &[role("", "", 0.0, "researcher")],
    );
    assert_eq!(same.content.name, "Researcher");
}

#[test]
fn an_update_keeps_the_model_and_the_limits() {
    let draft = catalog(
        FIVE,
        "{ slug: researcher, name: n, instructions: i, modelConfig: { driver: ollama } }",
    );
    let (_, _, kept) = after(&draft, &role("researcher", "en", 1.0, "old"), &[]);
    assert_eq!(kept.content.model_config, None);
    let draft = catalog(FIVE, "{ slug: researcher, name: n, instructions: ' ' }");
    let found = updated(&draft, &role("researcher", "en", 1.0, "old"), &[], false);
    assert_eq!(
        found,
        Err(UpdateError::Unfit("`instructions` is blank".to_owned()))
    );
}
