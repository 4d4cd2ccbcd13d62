//! Bundles and languages of a catalog, and one role in one language.
//!
//! The language of a text is the requested one, else English, else the first available one.

use std::collections::BTreeSet;

use crate::contents::{Bundle, Contents, Field, Role, Translation};
use crate::yaml::Node;

/// Language that is tried if the requested one is missing.
pub const FALLBACK: &str = "en";

/// The six hashed values of a role in one language, as in the file: an absent value differs from an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Emoji of the role.
    pub emoji: Option<String>,
    /// Set if the role starts by itself; an absent value counts as `true`.
    pub auto_start: Option<bool>,
    /// Display name.
    pub name: String,
    /// Summary.
    pub description: Option<String>,
    /// Prompt of the role.
    pub instructions: String,
    /// First message of the role.
    pub launch_message: Option<String>,
}

impl Fields {
    /// Reads the values; `None` if one is of a type that no consumer accepts.
    #[must_use]
    pub fn of(role: Role<'_>) -> Option<Self> {
        let text = |field| match role.field(field) {
            None => Some(None),
            Some(node) => node.text().map(|text| Some(text.to_owned())),
        };
        let auto_start = match role.field(Field::AutoStart) {
            None => None,
            Some(node) => Some(node.truth()?),
        };
        Some(Self {
            emoji: text(Field::Emoji)?,
            auto_start,
            name: text(Field::Name)??,
            description: text(Field::Description)?,
            instructions: text(Field::Instructions)??,
            launch_message: text(Field::LaunchMessage)?,
        })
    }
}

/// A role with its texts and metadata.
#[derive(Clone, Debug)]
pub struct Card<'c> {
    /// Bundle that lists it.
    pub bundle: &'c Bundle,
    /// Slug of the role.
    pub slug: String,
    /// Version in the index, else 1.
    pub version: f64,
    /// Language of this text.
    pub language: &'c str,
    /// All languages in which the role has a text.
    pub languages: Vec<&'c str>,
    /// Texts of the role.
    pub fields: Fields,
    /// The role as written.
    pub role: Role<'c>,
}

/// Reason that there is no card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCard {
    /// No bundle has the slug.
    UnknownSlug,
    /// The slug is listed, but no file has its text.
    NoText,
    /// The role has a text, but not in the required language; with the available ones.
    NoLanguage(Vec<String>),
    /// A value of the text has a type that no consumer accepts.
    WrongType,
}

/// Choice of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Exactly this language.
    Exactly(&'a str),
    /// This language if there is a text in it.
    Rather(Option<&'a str>),
}

/// Returns a role by its slug. Of several bundles that list it, the first counts.
///
/// # Errors
/// Fails if there is no such role, or no text of it that can be shown.
pub fn card<'c>(
    contents: &'c Contents,
    slug: &str,
    wanted: Wanted<'_>,
) -> Result<Card<'c>, NoCard> {
    let (bundle, version) = listed(contents, slug).ok_or(NoCard::UnknownSlug)?;
    let texts: Vec<_> = translations(contents, bundle)
        .filter_map(|translation| Some((translation, find(translation, slug)?)))
        .collect();
    let codes: Vec<&str> = texts
        .iter()
        .map(|(text, _)| text.language.code.as_str())
        .collect();
    let chosen = match wanted {
        Wanted::Exactly(code) => codes.iter().position(|one| *one == code),
        Wanted::Rather(asked) => choose(&codes, asked),
    };
    let missing = || match codes.is_empty() {
        true => NoCard::NoText,
        false => NoCard::NoLanguage(codes.iter().map(ToString::to_string).collect()),
    };
    let chosen = chosen.and_then(|place| texts.get(place));
    let (translation, role) = *chosen.ok_or_else(missing)?;
    Ok(Card {
        bundle,
        slug: slug.to_owned(),
        version: version.unwrap_or(1.0),
        language: &translation.language.code,
        languages: codes,
        fields: Fields::of(role).ok_or(NoCard::WrongType)?,
        role,
    })
}

/// Returns the first bundle that lists a slug, and the version there.
#[must_use]
pub fn listed<'c>(contents: &'c Contents, slug: &str) -> Option<(&'c Bundle, Option<f64>)> {
    contents.bundles().find_map(|bundle| {
        let entry = version_in(bundle, slug)?;
        Some((bundle, entry))
    })
}

/// Returns the version of a slug in one bundle: `None` if it is not listed, `Some(None)` if it is not a number.
pub(crate) fn version_in(bundle: &Bundle, slug: &str) -> Option<Option<f64>> {
    let mut entries = bundle.entries.iter();
    let entry = entries.find(|entry| entry.slug.as_deref() == Some(slug))?;
    Some(entry.version)
}

/// Returns the language files of one bundle, in the order of the index.
pub fn translations<'c>(
    contents: &'c Contents,
    bundle: &'c Bundle,
) -> impl Iterator<Item = Translation<'c>> {
    contents
        .translations()
        .filter(move |translation| std::ptr::eq(translation.bundle, bundle))
}

/// Returns a role of a file; the last of equals, as for the hash.
pub(crate) fn find<'c>(translation: Translation<'c>, slug: &str) -> Option<Role<'c>> {
    let named = |role: &Role<'c>| role.slug().is_some_and(|one| one == slug);
    translation.roles().filter(named).last()
}

fn choose(codes: &[&str], asked: Option<&str>) -> Option<usize> {
    let place = |wanted: &str| codes.iter().position(|code| *code == wanted);
    let first = (!codes.is_empty()).then_some(0);
    asked.and_then(place).or_else(|| place(FALLBACK)).or(first)
}

/// Returns all languages of the catalog, sorted, each once.
#[must_use]
pub fn languages(contents: &Contents) -> Vec<&str> {
    let codes = contents.bundles().flat_map(|bundle| &bundle.languages);
    let codes: BTreeSet<_> = codes.map(|language| language.code.as_str()).collect();
    codes.into_iter().collect()
}

/// Returns the name of a bundle in a language, else its id.
#[must_use]
pub fn bundle_name<'c>(contents: &'c Contents, bundle: &'c Bundle, asked: Option<&str>) -> &'c str {
    translated(contents, bundle, "name", asked).unwrap_or(&bundle.id)
}

/// Returns the description of a bundle in a language.
#[must_use]
pub fn bundle_description<'c>(
    contents: &'c Contents,
    bundle: &'c Bundle,
    asked: Option<&str>,
) -> Option<&'c str> {
    translated(contents, bundle, "description", asked)
}

/// Returns a translated text of a bundle in the available language.
pub(crate) fn bundle_text<'c>(
    contents: &'c Contents,
    bundle: &Bundle,
    key: &str,
) -> Option<&'c str> {
    translated(contents, bundle, key, None)
}

fn translated<'c>(
    contents: &'c Contents,
    bundle: &Bundle,
    key: &str,
    asked: Option<&str>,
) -> Option<&'c str> {
    let map = contents.index_node(bundle.node)?.get(key)?;
    let text = |language: &str| map.get(language).and_then(Node::text);
    asked
        .and_then(text)
        .or_else(|| text(FALLBACK))
        .or_else(|| map.entries().find_map(|(_, value)| value.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Draft;
    use crate::source::{File, Sources};

    fn draft(index: &str, files: &[(&str, &str)]) -> Draft {
        let mut sources = Sources::new(File::of(index.into()));
        for (path, text) in files {
            sources.add((*path).to_owned(), File::of((*text).into()));
        }
        Draft::read(sources)
    }

    #[test]
    fn languages_are_a_sorted_union() {
        let draft = draft(
            "bundles: [{ id: a, languages: [ru, en] }, { id: b, languages: [en, de] }]",
            &[],
        );
        assert_eq!(languages(draft.claims()), ["de", "en", "ru"]);
    }

    /// Compares the name and description of a bundle with the published browse.
    fn check(bundle: &str, asked: Option<&str>, name: &str, description: Option<&str>) {
        let draft = draft(&format!("bundles: [{{ id: a, {bundle} }}]"), &[]);
        let contents = draft.claims();
        let bundle = contents.bundles().next().unwrap();
        assert_eq!(bundle_name(contents, bundle, asked), name);
        assert_eq!(bundle_description(contents, bundle, asked), description);
    }

    #[test]
    fn a_name_is_in_the_asked_language_else_english_else_the_first_else_the_id() {
        let both = "name: { ru: Р, en: E }, description: { ru: О, en: D }";
        check(both, Some("ru"), "Р", Some("О"));
        check(both, Some("fr"), "E", Some("D"));
        check(both, None, "E", Some("D"));
        check("name: { ru: Р, de: G }", Some("fr"), "Р", None);
        check("name: {}", Some("ru"), "a", None);
    }

    const INDEX: &str = "bundles: [{ id: a, languages: [ru, en], roles: [{ slug: x, version: 7 }, { slug: y, version: no }, { slug: z, version: 1 }] }]";
    const RU: &str =
        "roles: [{ slug: x, name: И, instructions: Т }, { slug: y, name: И, instructions: Т }]";
    const EN: &str = "roles: [{ slug: x, name: N, instructions: T, autoStart: false }, { slug: x, name: N2, instructions: T }]";

    fn named(slug: &str, wanted: Wanted<'_>) -> Result<(String, f64, String), NoCard> {
        let draft = draft(
            INDEX,
            &[("bundles/a/ru.yaml", RU), ("bundles/a/en.yaml", EN)],
        );
        let card = card(draft.claims(), slug, wanted)?;
        Ok((card.language.to_owned(), card.version, card.fields.name))
    }

    #[test]
    fn a_card_is_in_the_asked_language_else_english_else_the_first() {
        let found = |language: &str, version, name: &str| {
            Ok((language.to_owned(), version, name.to_owned()))
        };
        assert_eq!(
            named("x", Wanted::Rather(Some("ru"))),
            found("ru", 7.0, "И")
        );
        assert_eq!(
            named("x", Wanted::Rather(Some("fr"))),
            found("en", 7.0, "N2")
        );
        assert_eq!(named("y", Wanted::Rather(None)), found("ru", 1.0, "И"));
        assert_eq!(named("x", Wanted::Exactly("en")), found("en", 7.0, "N2"));
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(named("w", Wanted::Rather(None)), Err(NoCard::UnknownSlug));
        assert_eq!(named("z", Wanted::Rather(None)), Err(NoCard::NoText));
        let there = vec!["ru".to_owned(), "en".to_owned()];
        assert_eq!(
            named("x", Wanted::Exactly("fr")),
            Err(NoCard::NoLanguage(there))
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_gives_no_card() {
        let text = "roles: [{ slug: x, name: N, instructions: T, autoStart: 3 }]";
        let draft = draft(INDEX, &[("bundles/a/en.yaml", text)]);
        let found = card(draft.claims(), "x", Wanted::Rather(None));
        assert_eq!(found.unwrap_err(), NoCard::WrongType);
    }
}
