//! The structural check: all declared things must be present, and nothing else. All problems, in the published order.
//!
//! Hashes and the lock come later, in [`crate::lock`]; the rules of the strict check are in [`crate::strict`].

use std::collections::{BTreeMap, BTreeSet};

use crate::contents::{Bundle, Contents, MAX_FILES, MAX_ROLES, Role, Slot, Translation};
use crate::problem::{Class, Problem};
use crate::source::{File, INDEX};
use crate::yaml::{Kind, Node};

/// Limit of problems after which the check stops.
const MAX_PROBLEMS: usize = 10_000;

/// Required keys of a role, in the order in which they are checked.
const REQUIRED: [&str; 3] = ["slug", "name", "instructions"];

pub(crate) fn structure(contents: &Contents) -> Vec<Problem> {
    let mut checker = Checker {
        contents,
        problems: Vec::new(),
        first_seen: BTreeMap::new(),
        broken: BTreeSet::new(),
    };
    checker.run();
    checker.problems
}

/// Returns the problem of a file that is not a document.
pub(crate) fn yaml_error(path: &str, file: &File) -> Option<Problem> {
    let File::Broken(broken) = file else {
        return None;
    };
    let problem = Problem::new(Class::YamlError).file(path);
    let problem = problem.detail(broken.error.what.clone());
    Some(problem.at(path, broken.error.offset))
}

struct Checker<'c> {
    contents: &'c Contents,
    problems: Vec<Problem>,
    /// Slug to the bundle and the `bundle/language` that had it first.
    first_seen: BTreeMap<String, (&'c str, String)>,
    /// Files whose error was reported; two bundles with the same id name the same ones.
    broken: BTreeSet<&'c str>,
}

impl<'c> Checker<'c> {
    fn run(&mut self) {
        if !self.index() {
            return;
        }
        let mut visits = self.contents.outline.visits.iter().peekable();
        for (number, slot) in self.contents.outline.slots.iter().enumerate() {
            if self.problems.len() >= MAX_PROBLEMS {
                return self.give_up();
            }
            self.slot(slot);
            while let Some(visit) = visits.next_if(|visit| visit.slot == number) {
                if let Some(translation) = self.contents.translation(visit) {
                    self.translation(translation);
                }
                if self.problems.len() >= MAX_PROBLEMS {
                    return self.give_up();
                }
            }
        }
        if self.contents.outline.is_cut {
            let detail = format!(
                "the catalog is larger than {MAX_FILES} language files or {MAX_ROLES} roles in them"
            );
            let problem = Problem::new(Class::Malformed).file(INDEX);
            self.problems.push(problem.detail(detail));
        }
    }

    /// Returns `true` if there is an index to check. An empty one fails without a problem of its own.
    fn index(&mut self) -> bool {
        let file = self.contents.sources().file(INDEX);
        if let File::Missing = file {
            self.problems.push(Problem::new(Class::IndexMissing));
        }
        self.problems.extend(yaml_error(INDEX, file));
        let Some(root) = self.contents.index().filter(|_| self.contents.has_index()) else {
            return false;
        };
        let bundles = root.get("bundles");
        if bundles.is_none_or(|bundles| bundles.items().len() == 0) {
            let offset = bundles.unwrap_or(root).span().start;
            self.problems
                .push(Problem::new(Class::NoBundles).at(INDEX, offset));
        }
        true
    }

    fn give_up(&mut self) {
        let detail = format!("more than {MAX_PROBLEMS} problems; correct some and check again");
        self.problems
            .push(Problem::new(Class::TooManyProblems).detail(detail));
    }

    fn slot(&mut self, slot: &'c Slot) {
        match slot {
            Slot::Malformed(node, what) => {
                let problem = Problem::new(Class::Malformed).file(INDEX).detail(*what);
                let offset = self.contents.index_offset(*node);
                self.problems.push(problem.at(INDEX, offset));
            }
            Slot::MissingId(node) => {
                let offset = self.contents.index_offset(*node);
                let problem = Problem::new(Class::BundleMissingId);
                self.problems.push(problem.at(INDEX, offset));
            }
            Slot::Sound(bundle) => self.bundle(bundle),
        }
    }

    fn bundle(&mut self, bundle: &Bundle) {
        let mut seen = BTreeSet::new();
        let entries = bundle.entries.iter().filter(|entry| !entry.is_null);
        let twice = entries.clone().find(|entry| !seen.insert(&entry.slug));
        if let Some(entry) = twice {
            let problem = Problem::new(Class::IndexDuplicateSlug).bundle(&bundle.id);
            let offset = self.contents.index_offset(entry.node);
            self.problems.push(problem.at(INDEX, offset));
        }
        for entry in &bundle.entries {
            let offset = self.contents.index_offset(entry.version_node);
            if entry.is_null {
                let problem = Problem::new(Class::Malformed)
                    .file(INDEX)
                    .bundle(&bundle.id);
                let problem = problem.detail("the role is null");
                self.problems.push(problem.at(INDEX, offset));
            } else if !entry.version.is_some_and(f64::is_finite) {
                let problem = Problem::new(Class::VersionNotNumeric).bundle(&bundle.id);
                let problem = problem.slug_if_any(entry.slug.as_deref());
                self.problems.push(problem.at(INDEX, offset));
            }
        }
        self.languages(bundle);
    }

    fn languages(&mut self, bundle: &Bundle) {
        let Some(node) = self.contents.index_node(bundle.node) else {
            return;
        };
        let languages = node.get("languages");
        if languages.is_none_or(|languages| languages.items().len() == 0) {
            let problem = Problem::new(Class::NoLanguages).bundle(&bundle.id);
            let offset = languages.unwrap_or(node).span().start;
            self.problems.push(problem.at(INDEX, offset));
        }
        let nameless = |node: &Node<'_>| matches!(node.kind(), Kind::List | Kind::Map);
        for node in languages.into_iter().flat_map(Node::items).filter(nameless) {
            let problem = Problem::new(Class::Malformed)
                .file(INDEX)
                .bundle(&bundle.id);
            let problem = problem.detail("a language must be text");
            self.problems.push(problem.at(INDEX, node.span().start));
        }
    }

    fn translation(&mut self, translation: Translation<'c>) {
        let Translation {
            bundle,
            language,
            path,
            file,
        } = translation;
        let about = |class| {
            Problem::new(class)
                .bundle(&bundle.id)
                .language(&language.code)
        };
        let document = match file {
            File::Missing => {
                let offset = self.contents.index_offset(language.node);
                let problem = about(Class::LanguageFileMissing);
                return self.problems.push(problem.at(INDEX, offset));
            }
            File::Broken(_) => {
                let is_new = self.broken.insert(path);
                let problem = yaml_error(path, file).filter(|_| is_new);
                return self.problems.extend(problem);
            }
            File::Read(document) => document,
        };
        if document.root().is_falsy() {
            return;
        }
        let mut slugs = Vec::new();
        for role in translation.roles() {
            let slug = role.slug();
            self.required(role, slug.as_deref(), translation);
            slugs.push((slug, role.node().span().start));
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
        }
        self.compare(translation, &slugs);
        self.across_bundles(translation, &slugs);
    }

    fn required(&mut self, role: Role<'_>, slug: Option<&str>, translation: Translation<'_>) {
        for key in REQUIRED {
            let value = role.node().get(key);
            let is_there = value.is_some_and(|value| !value.is_null() && value.text() != Some(""));
            if !is_there {
                let problem = Problem::new(Class::MissingRequiredField)
                    .bundle(&translation.bundle.id)
                    .language(&translation.language.code)
                    .field(key)
                    .slug_if_any(slug);
                let offset = value.unwrap_or(role.node()).span().start;
                self.problems.push(problem.at(translation.path, offset));
            }
        }
    }

    /// Compares the bundle's slugs with those of the file.
    fn compare(&mut self, translation: Translation<'_>, slugs: &[(Option<String>, usize)]) {
        let Translation {
            bundle,
            language,
            path,
            file,
        } = translation;
        let about = |class| {
            Problem::new(class)
                .bundle(&bundle.id)
                .language(&language.code)
        };
        let in_file: BTreeSet<_> = slugs.iter().map(|(slug, _)| slug).collect();
        let declared = || bundle.entries.iter().filter(|entry| !entry.is_null);
        let in_index: BTreeSet<_> = declared().map(|entry| &entry.slug).collect();
        let missing = declared()
            .map(|entry| &entry.slug)
            .filter(|slug| !in_file.contains(slug));
        let missing = without_repetition(missing);
        let document = file.document().map(crate::yaml::Document::root);
        let roles = document.and_then(|root| root.get("roles"));
        let roles = roles.map_or(0, |roles| roles.span().start);
        if !missing.is_empty() {
            self.problems.push(
                about(Class::RoleMissingInFile)
                    .slugs(missing)
                    .at(path, roles),
            );
        }
        let extra = || slugs.iter().filter(|(slug, _)| !in_index.contains(slug));
        if let Some((_, offset)) = extra().next() {
            let list = without_repetition(extra().map(|(slug, _)| slug));
            self.problems
                .push(about(Class::RoleUndeclared).slugs(list).at(path, *offset));
        }
    }

    fn across_bundles(&mut self, translation: Translation<'c>, slugs: &[(Option<String>, usize)]) {
        let Translation {
            bundle,
            language,
            path,
            ..
        } = translation;
        let mut told = BTreeSet::new();
        for (slug, offset) in slugs {
            let Some(slug) = slug.as_ref().filter(|slug| !slug.is_empty()) else {
                continue;
            };
            let here = || format!("{}/{}", bundle.id, language.code);
            let Some((other, first)) = self.first_seen.get(slug) else {
                self.first_seen.insert(slug.clone(), (&bundle.id, here()));
                continue;
            };
            if *other != bundle.id && told.insert(slug) {
                let problem = Problem::new(Class::SlugDuplicatedAcrossBundles).slug(slug);
                self.problems
                    .push(problem.between(first, &here()).at(path, *offset));
            }
        }
    }
}

fn without_repetition<'a>(slugs: impl Iterator<Item = &'a Option<String>>) -> Vec<Option<String>> {
    let mut seen = BTreeSet::new();
    slugs.filter(|slug| seen.insert(*slug)).cloned().collect()
}
