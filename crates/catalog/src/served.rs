//! Verdict of a server on each file of a catalog. It trusts nothing, and one bad role makes its whole file invalid.
//!
//! This verdict and the check's differ on purpose: the check is for authors, this is for consumers.

use std::collections::BTreeMap;

use crate::contents::Contents;
use crate::source::{File, INDEX};
use crate::yaml::{Kind, Node};

/// Reason that a file would not be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file does not exist.
    Missing,
    /// The file is not valid YAML, or not readable.
    InvalidYaml,
    /// The file does not have the right shape.
    Malformed,
}

impl Refusal {
    /// Returns the stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::InvalidYaml => "invalid_yaml",
            Self::Malformed => "malformed",
        }
    }
}

/// A value of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The key, or a name for the value.
    pub key: &'static str,
    /// Required type.
    pub wanted: &'static str,
    /// Offset, in bytes of the file.
    pub offset: usize,
}

/// Returns the files that would not be served, by path.
#[must_use]
pub fn refusals(contents: &Contents) -> BTreeMap<String, Refusal> {
    let mut verdicts = BTreeMap::new();
    let mut add = |path: &str, refusal: Option<Refusal>| {
        if let Some(refusal) = refusal {
            verdicts.insert(path.to_owned(), refusal);
        }
    };
    add(INDEX, judge(contents.sources().file(INDEX), index));
    let mut seen = std::collections::BTreeSet::new();
    for translation in contents.translations() {
        if seen.insert(translation.path) {
            add(translation.path, judge(translation.file, language_file));
        }
    }
    verdicts
}

fn judge(file: &File, guard: fn(Node<'_>) -> Vec<Complaint>) -> Option<Refusal> {
    match file {
        File::Missing => Some(Refusal::Missing),
        File::Broken(_) => Some(Refusal::InvalidYaml),
        File::Read(document) => (!guard(document.root()).is_empty()).then_some(Refusal::Malformed),
    }
}

/// Returns all complaints of a server about an index.
#[must_use]
pub fn index(root: Node<'_>) -> Vec<Complaint> {
    let mut guard = Guard::default();
    if guard.map(root, "index") {
        guard.key(root, "schemaVersion", &NUMBER);
        guard.key(root, "bundles", &LIST);
        for bundle in root.get("bundles").into_iter().flat_map(Node::items) {
            guard.bundle(bundle);
        }
    }
    guard.complaints
}

/// Returns all complaints of a server about a language file.
#[must_use]
pub fn language_file(root: Node<'_>) -> Vec<Complaint> {
    let mut guard = Guard::default();
    if guard.map(root, "file") {
        guard.key(root, "schemaVersion", &NUMBER);
        guard.key(root, "language", &TEXT);
        guard.key(root, "roles", &LIST);
        for role in root.get("roles").into_iter().flat_map(Node::items) {
            guard.role(role);
        }
    }
    guard.complaints
}

/// A type, by its name and its test.
struct Type {
    name: &'static str,
    fits: fn(Kind<'_>) -> bool,
}

const TEXT: Type = Type {
    name: "text",
    fits: |kind| matches!(kind, Kind::Text(_)),
};
const NUMBER: Type = Type {
    name: "a number",
    fits: |kind| matches!(kind, Kind::Number(_)),
};
const BOOL: Type = Type {
    name: "true or false",
    fits: |kind| matches!(kind, Kind::Bool(_)),
};
const LIST: Type = Type {
    name: "a list",
    fits: |kind| matches!(kind, Kind::List),
};
const MAP: Type = Type {
    name: "a map",
    fits: |kind| matches!(kind, Kind::Map),
};
const TEXT_OR_NULL: Type = Type {
    name: "text or null",
    fits: |kind| matches!(kind, Kind::Text(_) | Kind::Null),
};
const MAP_OR_NULL: Type = Type {
    name: "a map or null",
    fits: |kind| matches!(kind, Kind::Map | Kind::Null),
};

#[derive(Default)]
struct Guard {
    complaints: Vec<Complaint>,
}

impl Guard {
    fn bundle(&mut self, bundle: Node<'_>) {
        if !self.map(bundle, "bundle") {
            return;
        }
        self.key(bundle, "id", &TEXT);
        self.key(bundle, "languages", &LIST);
        self.key(bundle, "roles", &LIST);
        self.key(bundle, "name", &MAP);
        self.optional(bundle, "description", &MAP);
        for texts in ["name", "description"] {
            for (_, value) in bundle.get(texts).into_iter().flat_map(Node::entries) {
                self.value(value, texts, &TEXT);
            }
        }
        for language in bundle.get("languages").into_iter().flat_map(Node::items) {
            self.value(language, "languages", &TEXT);
        }
        for role in bundle.get("roles").into_iter().flat_map(Node::items) {
            if self.map(role, "role") {
                self.key(role, "slug", &TEXT);
                self.key(role, "version", &NUMBER);
            }
        }
    }

    fn role(&mut self, role: Node<'_>) {
        if !self.map(role, "role") {
            return;
        }
        for key in ["slug", "name", "instructions"] {
            self.key(role, key, &TEXT);
        }
        self.optional(role, "emoji", &TEXT);
        self.optional(role, "description", &TEXT);
        self.optional(role, "autoStart", &BOOL);
        self.optional(role, "launchMessage", &TEXT_OR_NULL);
        self.optional(role, "modelConfig", &MAP_OR_NULL);
    }

    fn map(&mut self, node: Node<'_>, what: &'static str) -> bool {
        self.value(node, what, &MAP);
        node.is_map()
    }

    fn key(&mut self, node: Node<'_>, key: &'static str, wanted: &Type) {
        match node.get(key) {
            Some(value) => self.value(value, key, wanted),
            None => self.complain(node, key, wanted),
        }
    }

    /// Checks an optional value. Absent is valid; null is a value like others.
    fn optional(&mut self, node: Node<'_>, key: &'static str, wanted: &Type) {
        if let Some(value) = node.get(key) {
            self.value(value, key, wanted);
        }
    }

    fn value(&mut self, node: Node<'_>, key: &'static str, wanted: &Type) {
        if !(wanted.fits)(node.kind()) {
            self.complain(node, key, wanted);
        }
    }

    fn complain(&mut self, node: Node<'_>, key: &'static str, wanted: &Type) {
        self.complaints.push(Complaint {
            key,
            wanted: wanted.name,
            offset: node.span().start,
        });
    }
}
