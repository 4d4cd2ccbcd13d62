//! Content of the files: bundles, languages, roles. Not checked here.

use std::collections::BTreeSet;

use crate::source::{File, Sources};
use crate::yaml::{Node, NodeId};

/// Limit of language files that one index may name.
pub const MAX_FILES: usize = 10_000;
/// Limit of roles over all language files; a file counts each time that it is named.
pub const MAX_ROLES: usize = 1_000_000;

/// One of the six hashed keys of a role, in the order in which they are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Emoji of the role.
    Emoji,
    /// Flag of a role that starts by itself.
    AutoStart,
    /// Translated display name.
    Name,
    /// Translated summary.
    Description,
    /// Translated prompt.
    Instructions,
    /// Translated first message.
    LaunchMessage,
}

impl Field {
    /// All keys, in the order of the hash.
    pub const ALL: [Self; 6] = [
        Self::Emoji,
        Self::AutoStart,
        Self::Name,
        Self::Description,
        Self::Instructions,
        Self::LaunchMessage,
    ];

    /// Returns the key in the file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Emoji => "emoji",
            Self::AutoStart => "autoStart",
            Self::Name => "name",
            Self::Description => "description",
            Self::Instructions => "instructions",
            Self::LaunchMessage => "launchMessage",
        }
    }
}

/// A role of one language file.
#[derive(Clone, Copy, Debug)]
pub struct Role<'c> {
    node: Node<'c>,
}

impl<'c> Role<'c> {
    /// Returns the slug; a number gives its text.
    #[must_use]
    pub fn slug(self) -> Option<String> {
        self.node.get("slug")?.label()
    }

    /// Returns the value of a key, with its position; `None` if it is absent or null, which mean the same.
    #[must_use]
    pub fn field(self, field: Field) -> Option<Node<'c>> {
        self.node.get(field.key()).filter(|node| !node.is_null())
    }

    /// Returns the text of a key, if it is text.
    #[must_use]
    pub fn text(self, field: Field) -> Option<&'c str> {
        self.field(field)?.text()
    }

    /// Returns the settings of the model, which are never hashed.
    #[must_use]
    pub fn model_config(self) -> Option<Node<'c>> {
        self.node.get("modelConfig").filter(|node| !node.is_null())
    }

    /// Returns the whole value.
    #[must_use]
    pub fn node(self) -> Node<'c> {
        self.node
    }
}

/// A role in the list of the index.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Slug; of a number, its text.
    pub slug: Option<String>,
    /// Version, if it is a number.
    pub version: Option<f64>,
    /// Value of the version, for edits; the whole entry if there is none.
    pub version_node: NodeId,
    /// Value of the whole entry.
    pub node: NodeId,
    /// Set if the entry is null.
    pub(crate) is_null: bool,
}

/// A bundle with an id.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Id, which is also the name of its directory.
    pub id: String,
    /// Languages in the order of the index, each once.
    pub languages: Vec<Language>,
    /// Roles in the order of the index.
    pub entries: Vec<Entry>,
    /// Value of the whole bundle.
    pub node: NodeId,
}

/// A declared language.
#[derive(Clone, Debug)]
pub struct Language {
    /// Language code as in the index.
    pub code: String,
    /// Value of the code in the index.
    pub node: NodeId,
}

/// An item of `bundles`.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Sound(Bundle),
    MissingId(NodeId),
    Malformed(NodeId, &'static str),
}

/// One language file of one bundle.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// Index into the slots.
    pub(crate) slot: usize,
    /// Index into the bundle's languages.
    pub(crate) language: usize,
    pub(crate) path: String,
}

/// Parsed structure of the index.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) slots: Vec<Slot>,
    pub(crate) visits: Vec<Visit>,
    /// Set if the limits were exceeded.
    pub(crate) is_cut: bool,
}

impl Outline {
    pub(crate) fn of(index: &File) -> Self {
        let mut outline = Self::default();
        let Some(document) = index.document() else {
            return outline;
        };
        let bundles = document.root().get("bundles");
        for node in bundles.into_iter().flat_map(Node::items) {
            let slot = slot(node);
            if let Slot::Sound(bundle) = &slot {
                outline.plan(bundle);
            }
            outline.slots.push(slot);
        }
        outline
    }

    fn plan(&mut self, bundle: &Bundle) {
        for (language, Language { code, .. }) in bundle.languages.iter().enumerate() {
            if self.visits.len() >= MAX_FILES {
                self.is_cut = true;
                return;
            }
            self.visits.push(Visit {
                slot: self.slots.len(),
                language,
                path: path(&bundle.id, code),
            });
        }
    }
}

/// Returns the path of a bundle's text in one language.
#[must_use]
pub fn path(bundle: &str, language: &str) -> String {
    format!("bundles/{bundle}/{language}.yaml")
}

fn slot(node: Node<'_>) -> Slot {
    if node.is_null() {
        return Slot::Malformed(node.id(), "the bundle is null");
    }
    let Some(id) = node.get("id").filter(|id| !id.is_falsy()) else {
        return Slot::MissingId(node.id());
    };
    let Some(label) = id.label() else {
        return Slot::Malformed(id.id(), "the id of a bundle must be text");
    };
    let roles = node.get("roles").filter(|roles| !roles.is_falsy());
    if let Some(roles) = roles
        && !roles.is_list()
    {
        return Slot::Malformed(roles.id(), "the roles of a bundle must be a list");
    }
    Slot::Sound(Bundle {
        id: label,
        languages: languages(node),
        entries: roles.into_iter().flat_map(Node::items).map(entry).collect(),
        node: node.id(),
    })
}

/// Returns the languages of a bundle. A repeated language is still one file. A value that is not a scalar is skipped.
fn languages(bundle: Node<'_>) -> Vec<Language> {
    let mut seen = BTreeSet::new();
    let nodes = bundle.get("languages").into_iter().flat_map(Node::items);
    nodes
        .filter_map(|node| {
            let code = node.scalar_text()?;
            let node = node.id();
            seen.insert(code.clone()).then_some(Language { code, node })
        })
        .collect()
}

fn entry(node: Node<'_>) -> Entry {
    let version = node.get("version");
    Entry {
        slug: node.get("slug").and_then(Node::label),
        version: version.and_then(Node::number),
        version_node: version.unwrap_or(node).id(),
        node: node.id(),
        is_null: node.is_null(),
    }
}

/// Content of all files.
#[derive(Debug)]
pub struct Contents {
    sources: Sources,
    pub(crate) outline: Outline,
}

/// A language file of one bundle.
#[derive(Clone, Copy, Debug)]
pub struct Translation<'c> {
    /// Bundle that names it.
    pub bundle: &'c Bundle,
    /// Language in the index.
    pub language: &'c Language,
    /// Path from the catalog's root.
    pub path: &'c str,
    /// The file, if it exists.
    pub file: &'c File,
}

impl<'c> Translation<'c> {
    /// Returns its roles, in the order of the file, null ones included. Empty if the file does not exist or has no
    /// list of roles.
    pub fn roles(self) -> impl Iterator<Item = Role<'c>> {
        let document = self.file.document();
        let roles = document.and_then(|document| document.root().get("roles"));
        roles
            .into_iter()
            .flat_map(Node::items)
            .map(|node| Role { node })
    }
}

impl Contents {
    pub(crate) fn new(sources: Sources) -> Self {
        let mut outline = Outline::of(&sources.index);
        let mut roles = 0;
        let count = |visit: &Visit| {
            let document = sources.file(&visit.path).document();
            let list = document.and_then(|document| document.root().get("roles"));
            list.map_or(0, |list| list.items().len())
        };
        let fitting = outline.visits.iter().take_while(|visit| {
            roles += count(visit);
            roles <= MAX_ROLES
        });
        let fitting = fitting.count();
        outline.is_cut |= fitting < outline.visits.len();
        outline.visits.truncate(fitting);
        Self { sources, outline }
    }

    /// Returns the files themselves.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns the outermost value of the index.
    #[must_use]
    pub fn index(&self) -> Option<Node<'_>> {
        self.sources
            .index
            .document()
            .map(crate::yaml::Document::root)
    }

    /// Returns a value of the index by its id.
    #[must_use]
    pub fn index_node(&self, id: NodeId) -> Option<Node<'_>> {
        self.sources
            .index
            .document()
            .map(|document| document.node(id))
    }

    /// Returns the bundles with an id, in the order of the index.
    pub fn bundles(&self) -> impl Iterator<Item = &Bundle> {
        self.outline.slots.iter().filter_map(|slot| match slot {
            Slot::Sound(bundle) => Some(bundle),
            Slot::MissingId(_) | Slot::Malformed(..) => None,
        })
    }

    /// Returns the language files in the order of the index, bundle by bundle.
    pub fn translations(&self) -> impl Iterator<Item = Translation<'_>> {
        self.outline
            .visits
            .iter()
            .filter_map(|visit| self.translation(visit))
    }

    pub(crate) fn translation<'c>(&'c self, visit: &'c Visit) -> Option<Translation<'c>> {
        let Some(Slot::Sound(bundle)) = self.outline.slots.get(visit.slot) else {
            return None;
        };
        Some(Translation {
            bundle,
            language: bundle.languages.get(visit.language)?,
            path: &visit.path,
            file: self.sources.file(&visit.path),
        })
    }

    /// Returns the offset of a value of the index.
    pub(crate) fn index_offset(&self, id: NodeId) -> usize {
        self.index_node(id).map_or(0, |node| node.span().start)
    }

    /// Returns `true` if the index has content: it exists, it is YAML, and it is not null, false, 0 or an empty
    /// string.
    pub(crate) fn has_index(&self) -> bool {
        self.index().is_some_and(|root| !root.is_falsy())
    }
}
