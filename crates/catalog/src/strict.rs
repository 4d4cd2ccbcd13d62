//! Rules of the strict check: all refusals of a server, and mistakes that the published check accepts.
//!
//! The order is that of the files: the index, then each language file, then each role over its languages.

use std::collections::{BTreeMap, BTreeSet};

use crate::contents::{Bundle, Contents, Field, Role, Translation};
use crate::problem::{Class, Problem};
use crate::served;
use crate::source::INDEX;
use crate::yaml::Kind;

/// Limit of problems after which the check stops.
const MAX_PROBLEMS: usize = 10_000;

pub(crate) fn check(contents: &Contents) -> Vec<Problem> {
    let mut strict = Strict {
        contents,
        problems: Vec::new(),
    };
    strict.index();
    let mut seen = BTreeSet::new();
    for translation in contents.translations() {
        if seen.insert(translation.path) {
            strict.file(translation);
        }
    }
    strict.languages();
    strict.problems.truncate(MAX_PROBLEMS);
    strict.problems
}

struct Strict<'c> {
    contents: &'c Contents,
    problems: Vec<Problem>,
}

impl<'c> Strict<'c> {
    fn index(&mut self) {
        let Some(root) = self.contents.index() else {
            return;
        };
        self.types(INDEX, served::index(root));
        let mut ids = BTreeSet::new();
        for bundle in self.contents.bundles() {
            let offset = self.contents.index_offset(bundle.node);
            let about = |class| Problem::new(class).bundle(&bundle.id).at(INDEX, offset);
            if !ids.insert(&bundle.id) {
                self.problems.push(about(Class::DuplicateBundleId));
            }
            if !is_safe(&bundle.id) {
                self.problems
                    .push(about(Class::UnsafeId).detail(format!("the bundle id `{}`", bundle.id)));
            }
            self.declared_languages(bundle);
            self.entries(bundle);
        }
    }

    fn declared_languages(&mut self, bundle: &Bundle) {
        for language in bundle
            .languages
            .iter()
            .filter(|language| !is_safe(&language.code))
        {
            let problem = Problem::new(Class::UnsafeId)
                .bundle(&bundle.id)
                .language(&language.code);
            let detail = format!("the language `{}`", language.code);
            let offset = self.contents.index_offset(language.node);
            self.problems.push(problem.detail(detail).at(INDEX, offset));
        }
        let node = self
            .contents
            .index_node(bundle.node)
            .and_then(|node| node.get("languages"));
        let mut seen = BTreeSet::new();
        for node in node.into_iter().flat_map(crate::yaml::Node::items) {
            if let Some(code) = node.scalar_text()
                && !seen.insert(code.clone())
            {
                let problem = Problem::new(Class::DuplicateLanguage).bundle(&bundle.id);
                self.problems
                    .push(problem.language(&code).at(INDEX, node.span().start));
            }
        }
    }

    fn entries(&mut self, bundle: &Bundle) {
        for entry in &bundle.entries {
            let slug = entry.slug.as_deref();
            if let Some(slug) = slug.filter(|slug| !is_safe(slug)) {
                let problem = Problem::new(Class::UnsafeId).bundle(&bundle.id).slug(slug);
                let offset = self.contents.index_offset(entry.node);
                self.problems.push(
                    problem
                        .detail(format!("the slug `{slug}`"))
                        .at(INDEX, offset),
                );
            }
            if let Some(version) = entry.version.filter(|version| version.is_finite())
                && (version < 1.0 || version.fract() != 0.0)
            {
                let problem = Problem::new(Class::VersionNotPositiveInteger).bundle(&bundle.id);
                let offset = self.contents.index_offset(entry.version_node);
                self.problems.push(
                    problem
                        .slug_if_any(slug)
                        .version(Some(version))
                        .at(INDEX, offset),
                );
            }
        }
    }

    fn types(&mut self, path: &str, complaints: Vec<served::Complaint>) {
        for complaint in complaints {
            let detail = format!("`{}` must be {}", complaint.key, complaint.wanted);
            let problem = Problem::new(Class::WrongType)
                .file(path)
                .field(complaint.key);
            self.problems
                .push(problem.detail(detail).at(path, complaint.offset));
        }
    }

    fn file(&mut self, translation: Translation<'c>) {
        let Translation {
            bundle,
            language,
            path,
            file,
        } = translation;
        let Some(document) = file.document() else {
            return;
        };
        let root = document.root();
        self.types(path, served::language_file(root));
        let about = |class| {
            Problem::new(class)
                .bundle(&bundle.id)
                .language(&language.code)
        };
        if let Some(node) = root.get("language")
            && let Some(said) = node.text().filter(|said| *said != language.code)
        {
            let detail = format!("the file says that its language is `{said}`");
            let problem = about(Class::LanguageMismatch).file(path).detail(detail);
            self.problems.push(problem.at(path, node.span().start));
        }
        let mut slugs = BTreeSet::new();
        for role in translation.roles() {
            let slug = role.slug();
            let place = role.node().span().start;
            if let Some(slug) = &slug
                && !slugs.insert(slug.clone())
            {
                self.problems
                    .push(about(Class::DuplicateSlugInFile).slug(slug).at(path, place));
            }
            for field in [Field::Name, Field::Instructions] {
                let blank = |text: &&str| !text.is_empty() && text.trim().is_empty();
                if role.text(field).filter(blank).is_some() {
                    let problem = about(Class::BlankField).field(field.key());
                    self.problems
                        .push(problem.slug_if_any(slug.as_deref()).at(path, place));
                }
            }
        }
    }

    /// Checks each role of a bundle over its languages: values that must be equal, and values that must differ.
    fn languages(&mut self) {
        let mut roles: BTreeMap<(&str, String), Vec<(Translation<'c>, Role<'c>)>> = BTreeMap::new();
        for translation in self.contents.translations() {
            for role in translation.roles() {
                if let Some(slug) = role.slug() {
                    let key = (translation.bundle.id.as_str(), slug);
                    roles.entry(key).or_default().push((translation, role));
                }
            }
        }
        for ((_, slug), texts) in roles {
            let Some(((first, one), others)) = texts.split_first() else {
                continue;
            };
            for (second, other) in others {
                if first.language.code != second.language.code {
                    self.pair(&slug, (*first, *one), (*second, *other));
                }
            }
        }
    }

    fn pair(
        &mut self,
        slug: &str,
        first: (Translation<'c>, Role<'c>),
        second: (Translation<'c>, Role<'c>),
    ) {
        for field in Field::ALL {
            let values = (first.1.field(field), second.1.field(field));
            let class = match (field, values) {
                (Field::Emoji | Field::AutoStart, (one, other)) if !same(one, other) => {
                    Class::TranslationDrift
                }
                (Field::Emoji | Field::AutoStart, _) => continue,
                (_, (Some(one), Some(other))) if is_text(one) && same(Some(one), Some(other)) => {
                    Class::Untranslated
                }
                _ => continue,
            };
            let place = values.1.unwrap_or(second.1.node()).span().start;
            let problem = Problem::new(class)
                .bundle(&first.0.bundle.id)
                .slug(slug)
                .field(field.key())
                .between(&name(first.0), &name(second.0));
            self.problems.push(problem.at(second.0.path, place));
        }
    }
}

fn name(translation: Translation<'_>) -> String {
    format!("{}/{}", translation.bundle.id, translation.language.code)
}

/// Returns `true` for text that a translator would change.
fn is_text(node: crate::yaml::Node<'_>) -> bool {
    node.text().is_some_and(|text| !text.trim().is_empty())
}

fn same(one: Option<crate::yaml::Node<'_>>, other: Option<crate::yaml::Node<'_>>) -> bool {
    match (
        one.map(crate::yaml::Node::kind),
        other.map(crate::yaml::Node::kind),
    ) {
        (None, None) => true,
        (Some(Kind::Text(one)), Some(Kind::Text(other))) => one == other,
        (Some(Kind::Bool(one)), Some(Kind::Bool(other))) => one == other,
        // The wrong type is reported elsewhere.
        (Some(one), Some(other)) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
        _ => false,
    }
}

/// Returns `true` if a name is safe in a path and a URL, by the rule of a server.
#[must_use]
pub fn is_safe(segment: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !segment.is_empty() && segment.bytes().all(fits)
}
