//! The form of the files, for the strict check: schema version, unknown fields, hints, unfinished texts, and
//! undeclared files.

use std::collections::BTreeSet;

use crate::contents::{Bundle, Contents, Field};
use crate::hints::Hints;
use crate::problem::{Class, Problem};
use crate::source::INDEX;
use crate::yaml::Node;

/// The only version of the format.
const SCHEMA_VERSION: f64 = 1.0;

const INDEX_KEYS: &[&str] = &["schemaVersion", "bundles"];
const BUNDLE_KEYS: &[&str] = &["id", "name", "description", "languages", "roles"];
const ENTRY_KEYS: &[&str] = &["slug", "version", "tools", "model"];
const FILE_KEYS: &[&str] = &["schemaVersion", "language", "roles"];
const ROLE_KEYS: &[&str] = &[
    "slug",
    "emoji",
    "name",
    "description",
    "autoStart",
    "launchMessage",
    "modelConfig",
    "instructions",
];

pub(crate) fn check(contents: &Contents) -> Vec<Problem> {
    let mut form = Form(Vec::new());
    if let Some(root) = contents.index() {
        form.head(INDEX, root, INDEX_KEYS);
        for bundle in contents.bundles() {
            form.bundle(contents, bundle);
        }
    }
    let mut seen = BTreeSet::new();
    for translation in contents.translations() {
        let path = translation.path;
        let Some(document) = translation.file.document().filter(|_| seen.insert(path)) else {
            continue;
        };
        form.head(path, document.root(), FILE_KEYS);
        for role in translation.roles() {
            form.keys(path, role.node(), ROLE_KEYS);
            for field in Field::ALL {
                if let Some(node) = role.field(field) {
                    form.text(path, node, field.key());
                }
            }
        }
    }
    form.undeclared(contents);
    form.0
}

/// Collector of problems.
struct Form(Vec<Problem>);

impl Form {
    fn head(&mut self, path: &str, root: Node<'_>, known: &[&str]) {
        self.keys(path, root, known);
        let version = root.get("schemaVersion");
        if let Some(node) = version.filter(|node| node.number() != Some(SCHEMA_VERSION)) {
            // A value that is not a number is reported as one of the wrong type.
            if node.number().is_some() {
                self.push(Class::SchemaVersion, path, node, String::new());
            }
        }
    }

    fn bundle(&mut self, contents: &Contents, bundle: &Bundle) {
        let Some(node) = contents.index_node(bundle.node) else {
            return;
        };
        self.keys(INDEX, node, BUNDLE_KEYS);
        for key in ["name", "description"] {
            for (code, text) in node.get(key).into_iter().flat_map(Node::entries) {
                let code_text = code.scalar_text().unwrap_or_default();
                if !bundle.languages.iter().any(|one| one.code == code_text) {
                    let what = format!(
                        "`{key}` has a text in `{code_text}`, which the bundle does not declare"
                    );
                    self.push(Class::Undeclared, INDEX, code, what);
                }
                self.text(INDEX, text, key);
            }
        }
        for entry in &bundle.entries {
            let Some(node) = contents.index_node(entry.node) else {
                continue;
            };
            self.keys(INDEX, node, ENTRY_KEYS);
            if let Err(what) = Hints::parse(node) {
                self.push(Class::WrongType, INDEX, node, what);
            }
        }
    }

    fn keys(&mut self, path: &str, map: Node<'_>, known: &[&str]) {
        if !map.is_map() {
            return;
        }
        for (key, _) in map.entries() {
            let name = key.scalar_text().unwrap_or_default();
            if !known.contains(&name.as_str()) {
                self.push(Class::UnknownField, path, key, name);
            }
        }
    }

    fn text(&mut self, path: &str, node: Node<'_>, field: &'static str) {
        if node.text().is_some_and(is_unfinished) {
            self.push(Class::Unfinished, path, node, field.to_owned());
        }
    }

    fn undeclared(&mut self, contents: &Contents) {
        let declared: BTreeSet<_> = contents.translations().map(|one| one.path).collect();
        for path in contents.sources().found() {
            let inside = format!("{path}/");
            let is_known = declared.contains(path.as_str())
                || declared.iter().any(|known| known.starts_with(&inside));
            if !is_known {
                let what = format!("`{path}` is not declared in index.yaml");
                let problem = Problem::new(Class::Undeclared).file(path);
                self.0.push(problem.detail(what));
            }
        }
    }

    fn push(&mut self, class: Class, path: &str, node: Node<'_>, detail: String) {
        let problem = Problem::new(class).file(path).detail(detail);
        self.0.push(problem.at(path, node.span().start));
    }
}

/// Returns `true` if a line begins with the mark of skeletons, behind list and heading markers.
fn is_unfinished(text: &str) -> bool {
    let is_sign = |c: char| c.is_whitespace() || c.is_ascii_digit() || "-*#>.".contains(c);
    text.lines().any(|line| {
        let rest = line.trim_start_matches(is_sign).strip_prefix("TODO");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
    })
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Draft, Rigour};
    use crate::source::{File, Sources};

    const GOOD_INDEX: &str = "schemaVersion: 1\nbundles:\n  - id: a\n    name: { en: A }\n    languages: [en]\n    roles: [{ slug: x, version: 1, tools: [read, run], model: fast }]\n";
    const GOOD_FILE: &str = "schemaVersion: 1\nlanguage: en\nroles:\n  - { slug: x, name: X, instructions: find every TODO comment }\n";

    /// Checks the classes and details after one replacement in one of the files.
    fn check(from: &str, to: &str, found: &[&str], expected: &str) {
        let text = |text: &str| File::of(text.replace(from, to).into());
        let mut sources = Sources::new(text(GOOD_INDEX));
        sources.add("bundles/a/en.yaml".to_owned(), text(GOOD_FILE));
        sources.note_found(found.iter().map(|path| (*path).to_owned()).collect());
        let report = Draft::read(sources).check_unlocked(Rigour::Strict);
        let said: Vec<_> = report
            .problems
            .iter()
            .map(|one| format!("{}: {}", one.class.name(), one.explain()))
            .collect();
        assert_eq!(said.join("\n"), expected, "{from} → {to}");
    }

    #[test]
    fn the_form_is_checked_to_the_last_key() {
        let declared = ["bundles/a", "bundles/a/en.yaml"];
        check("", "", &declared, "");
        for (from, to, expected) in [
            (
                "schemaVersion: 1\nbundles",
                "schemaVersion: 2\nbundles",
                "schema_version: `schemaVersion` must be 1",
            ),
            (
                "schemaVersion: 1\nlanguage",
                "schemaVersion: 0\nlanguage",
                "schema_version: `schemaVersion` must be 1",
            ),
            (
                "languages: [en]",
                "languages: [en]\n    titel: b",
                "unknown_field: the format has no field `titel` here",
            ),
            (
                "name: X",
                "name: X, Emoji: e",
                "unknown_field: the format has no field `Emoji` here",
            ),
            (
                "name: X",
                "name: 'TODO: name of x'",
                "unfinished: `name` still says TODO",
            ),
            (
                "instructions: find every TODO comment",
                "instructions: \"a\\n1. TODO: the steps\"",
                "unfinished: `instructions` still says TODO",
            ),
            (
                "{ en: A }",
                "{ en: A, de: B }",
                "undeclared: `name` has a text in `de`, which the bundle does not declare",
            ),
            (
                "[read, run]",
                "[read, fly]",
                "wrong_type: `tools` must be a list of read, edit, run and web",
            ),
            (
                "model: fast",
                "model: gpt",
                "wrong_type: `model` must be strong or fast",
            ),
        ] {
            check(from, to, &declared, expected);
        }
        check(
            "",
            "",
            &["bundles/a", "bundles/a/de.yaml", "bundles/b"],
            "undeclared: `bundles/a/de.yaml` is not declared in index.yaml\n\
             undeclared: `bundles/b` is not declared in index.yaml",
        );
    }
}
