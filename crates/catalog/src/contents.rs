//! What the files say: bundles, languages, roles. Whether it is right is not known here.

use std::collections::BTreeSet;

use crate::source::{File, Sources};
use crate::yaml::{Node, NodeId};

/// Language files that one index may name.
pub const MAX_FILES: usize = 10_000;
/// Roles over all language files, a file counted each time that it is named.
pub const MAX_ROLES: usize = 1_000_000;

/// One of the six hashed keys of a role, in the order in which they are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A picture.
    Emoji,
    /// Whether the role starts by itself.
    AutoStart,
    /// Translated display name.
    Name,
    /// Translated summary.
    Description,
    /// The translated prompt.
    Instructions,
    /// Translated first message.
    LaunchMessage,
}

impl Field {
    /// All, in the order of the hash.
    pub const ALL: [Self; 6] = [
        Self::Emoji,
        Self::AutoStart,
        Self::Name,
        Self::Description,
        Self::Instructions,
        Self::LaunchMessage,
    ];

    /// The key in the file.
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

/// A role as one language file has it.
#[derive(Clone, Copy, Debug)]
pub struct Role<'c> {
    node: Node<'c>,
}

impl<'c> Role<'c> {
    /// The slug; a number is taken by its text.
    #[must_use]
    pub fn slug(self) -> Option<String> {
        self.node.get("slug")?.label()
    }

    /// The value of a key, with its place; `None` when absent or null, which mean the same.
    #[must_use]
    pub fn field(self, field: Field) -> Option<Node<'c>> {
        self.node.get(field.key()).filter(|node| !node.is_null())
    }

    /// The text of a key, when it is text.
    #[must_use]
    pub fn text(self, field: Field) -> Option<&'c str> {
        self.field(field)?.text()
    }

    /// Settings of the model; never hashed.
    #[must_use]
    pub fn model_config(self) -> Option<Node<'c>> {
        self.node.get("modelConfig").filter(|node| !node.is_null())
    }

    /// All of it.
    #[must_use]
    pub fn node(self) -> Node<'c> {
        self.node
    }
}

/// A role as the index lists it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The slug; a number is taken by its text.
    pub slug: Option<String>,
    /// The version, when it is a number.
    pub version: Option<f64>,
    /// Where the version is written, to edit it; the whole entry when there is none.
    pub version_node: NodeId,
    /// The whole entry.
    pub node: NodeId,
    /// The entry is null.
    pub(crate) is_null: bool,
}

/// A bundle with an id.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Its id, and the name of its directory.
    pub id: String,
    /// Languages in the order of the index, each once.
    pub languages: Vec<Language>,
    /// Roles in the order of the index.
    pub entries: Vec<Entry>,
    /// All of it.
    pub node: NodeId,
}

/// A declared language.
#[derive(Clone, Debug)]
pub struct Language {
    /// As the index writes it.
    pub code: String,
    /// Where.
    pub node: NodeId,
}

/// An item of `bundles`.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Sound(Bundle),
    MissingId(NodeId),
    Malformed(NodeId, &'static str),
}

/// One language file, as one bundle names it.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// Index into the slots.
    pub(crate) slot: usize,
    /// Index into the bundle's languages.
    pub(crate) language: usize,
    pub(crate) path: String,
}

/// The index, looked through once.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) slots: Vec<Slot>,
    pub(crate) visits: Vec<Visit>,
    /// There was more than the limits allow.
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

/// Where a bundle's text in one language lies.
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

/// A language twice is still one file. What is not a scalar names none.
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

/// Everything that was read, by its meaning.
#[derive(Debug)]
pub struct Contents {
    sources: Sources,
    pub(crate) outline: Outline,
}

/// A language file as one bundle names it.
#[derive(Clone, Copy, Debug)]
pub struct Translation<'c> {
    /// The bundle.
    pub bundle: &'c Bundle,
    /// As the index writes the language.
    pub language: &'c Language,
    /// From the catalog's root.
    pub path: &'c str,
    /// What is there.
    pub file: &'c File,
}

impl<'c> Translation<'c> {
    /// Its roles, in the order of the file; null ones too. None when the file is not there or has no list of roles.
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

    /// The files themselves.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The outermost value of the index.
    #[must_use]
    pub fn index(&self) -> Option<Node<'_>> {
        self.sources
            .index
            .document()
            .map(crate::yaml::Document::root)
    }

    /// A value of the index by its name.
    #[must_use]
    pub fn index_node(&self, id: NodeId) -> Option<Node<'_>> {
        self.sources
            .index
            .document()
            .map(|document| document.node(id))
    }

    /// Bundles that can be spoken of, in the order of the index.
    pub fn bundles(&self) -> impl Iterator<Item = &Bundle> {
        self.outline.slots.iter().filter_map(|slot| match slot {
            Slot::Sound(bundle) => Some(bundle),
            Slot::MissingId(_) | Slot::Malformed(..) => None,
        })
    }

    /// Language files in the order of the index, bundle by bundle.
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

    /// Where a value of the index begins.
    pub(crate) fn index_offset(&self, id: NodeId) -> usize {
        self.index_node(id).map_or(0, |node| node.span().start)
    }

    /// Whether the index says anything: it is there, it is YAML, and it is not null, false, 0 or empty text.
    pub(crate) fn has_index(&self) -> bool {
        self.index().is_some_and(|root| !root.is_falsy())
    }
}
