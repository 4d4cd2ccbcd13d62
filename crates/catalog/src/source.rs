//! The files of a catalog as values. The caller supplies them, from disk or elsewhere; nothing is read here.

use std::collections::{BTreeMap, BTreeSet};

use crate::problem::Place;
use crate::yaml::{Broken, Document, Excerpt, Position, Remark, Source};

/// Path of the index.
pub const INDEX: &str = "index.yaml";
/// Path of the signature over the served files, beside the index.
pub const NOTE: &str = "index.yaml.note";
/// Path of the content lock.
pub const LOCK: &str = "scripts/content-hashes.json";
/// Path of the versions that were locked before and are gone from the lock.
pub const TOMBSTONES: &str = "scripts/content-tombstones.json";

/// One YAML file.
#[derive(Debug)]
pub enum File {
    /// The file does not exist.
    Missing,
    /// The file exists, but is not a document.
    Broken(Box<Broken>),
    /// The file is a document.
    Read(Document),
}

impl File {
    /// Parses the bytes as YAML. Files are independent, so that this can run on several threads.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        match Document::parse(bytes) {
            Ok(document) => Self::Read(document),
            Err(broken) => Self::Broken(broken),
        }
    }

    /// Parses the bytes as YAML and does not keep their text; see [`Document::parse_without_source`].
    #[must_use]
    pub fn of_values(bytes: &[u8]) -> Self {
        match Document::parse_without_source(bytes) {
            Ok(document) => Self::Read(document),
            Err(broken) => Self::Broken(broken),
        }
    }

    /// Creates an existing file that could not be read, with the reason.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        Self::Broken(Box::new(Broken {
            source: Source::default(),
            error: Remark {
                what: why.to_owned(),
                offset: 0,
            },
        }))
    }

    /// Returns the document, if there is one.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Read(document) => Some(document),
            Self::Missing | Self::Broken(_) => None,
        }
    }

    fn source(&self) -> Option<&Source> {
        match self {
            Self::Read(document) => Some(document.source()),
            Self::Broken(broken) => Some(&broken.source),
            Self::Missing => None,
        }
    }
}

/// All YAML files of a catalog. The caller creates it from the index, and adds the [`wanted`](Self::wanted) files.
#[derive(Debug)]
pub struct Sources {
    pub(crate) index: File,
    pub(crate) files: BTreeMap<String, File>,
    found: Vec<String>,
}

impl Sources {
    /// Creates the sources with only the index.
    #[must_use]
    pub fn new(index: File) -> Self {
        Self {
            index,
            files: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Returns the paths of the language files of the index, in its order and each once. The parts come from the
    /// index and may contain anything, also `..`.
    #[must_use]
    pub fn wanted(&self) -> Vec<String> {
        let outline = crate::contents::Outline::of(&self.index);
        let paths = outline.visits.iter().map(|visit| visit.path.clone());
        let mut seen = BTreeSet::new();
        paths.filter(|path| seen.insert(path.clone())).collect()
    }

    /// Adds a language file. A wanted one that is never added counts as missing.
    pub fn add(&mut self, path: String, file: File) {
        self.files.insert(path, file);
    }

    /// Records the directories and YAML files below `bundles/`, declared or not, for the strict check.
    pub fn note_found(&mut self, paths: Vec<String>) {
        self.found = paths;
    }

    pub(crate) fn found(&self) -> &[String] {
        &self.found
    }

    /// Returns a file by its path.
    #[must_use]
    pub fn file(&self, path: &str) -> &File {
        if path == INDEX {
            return &self.index;
        }
        self.files.get(path).unwrap_or(&File::Missing)
    }

    /// Returns line, column and text of a position; `None` if its file has no text, or it was not kept.
    #[must_use]
    pub fn locate(&self, place: &Place) -> Option<(Position, Excerpt)> {
        let source = self.file(&place.file).source()?;
        (!source.text().is_empty())
            .then(|| (source.position(place.offset), source.excerpt(place.offset)))
    }
}
