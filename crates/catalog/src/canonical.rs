//! The bytes that are hashed for a role, and their SHA-256.
//!
//! A list of `[language, fields]`, languages in the order of UTF-16 code units, `fields` an object of the six hashed
//! keys in their order, all as compact JSON. Serialised by hand, so that no map type can change the order of a key.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread;

use sha2::{Digest as _, Sha256};

use crate::contents::{Contents, Field, Role};
use crate::yaml::{Kind, Node, number_text};

/// Number of roles below which hashing is faster than starting a thread.
const WORTH_A_THREAD: usize = 64;

/// SHA-256 of a role's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the form in the lock.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

/// A role of the catalog, over all its languages.
#[derive(Clone, Debug)]
pub struct Hashed {
    /// Slug of the role.
    pub slug: String,
    /// Version in the index, if it is a number.
    pub version: Option<f64>,
    /// Hash of its content.
    pub digest: Digest,
    /// Offset of its version in the index.
    pub version_offset: usize,
}

/// Hashes every role of the index, in the order of its first appearance, on this many threads.
pub(crate) fn hash_all(contents: &Contents, threads: NonZeroUsize) -> Vec<Hashed> {
    let texts = collect(contents);
    let part = texts
        .roles
        .len()
        .div_ceil(threads.get())
        .max(WORTH_A_THREAD);
    let mut parts = texts.roles.chunks(part);
    let own = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| (part, scope.spawn(|| hash(part, &texts.by_slug))))
            .collect();
        let mut hashed = hash(own, &texts.by_slug);
        for (part, other) in others {
            // A thread that panicked has printed why; its part is hashed again here.
            hashed.extend(other.join().unwrap_or_else(|_| hash(part, &texts.by_slug)));
        }
        hashed
    })
}

fn hash(roles: &[Listed<'_>], by_slug: &BySlug<'_>) -> Vec<Hashed> {
    let mut buffer = Vec::new();
    let hashed = roles.iter().map(|(slug, version, version_offset)| {
        buffer.clear();
        write(&mut buffer, by_slug.get(slug));
        Hashed {
            slug: (*slug).to_owned(),
            version: *version,
            digest: Digest(Sha256::digest(&buffer).into()),
            version_offset: *version_offset,
        }
    });
    hashed.collect()
}

/// Returns the exact text that is hashed for a role.
#[must_use]
pub fn text(contents: &Contents, slug: &str) -> String {
    let mut buffer = Vec::new();
    let texts = collect(contents);
    write(&mut buffer, texts.by_slug.get(slug));
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Slug, version, and offset of the version in the index.
type Listed<'c> = (&'c str, Option<f64>, usize);
/// Texts of a role by language.
type Languages<'c> = BTreeMap<Utf16<'c>, Role<'c>>;
type BySlug<'c> = BTreeMap<&'c str, Languages<'c>>;

struct Texts<'c> {
    roles: Vec<Listed<'c>>,
    by_slug: BySlug<'c>,
}

/// Collects the texts by language for each declared slug. A slug counts as declared from its bundle on; a later text
/// of the same language replaces an earlier one, and so does a later version.
fn collect(contents: &Contents) -> Texts<'_> {
    let mut roles: Vec<Listed<'_>> = Vec::new();
    let mut by_slug = BySlug::new();
    let mut places = BTreeMap::new();
    let mut translations = contents.translations().peekable();
    for bundle in contents.bundles() {
        for entry in &bundle.entries {
            let Some(slug) = entry.slug.as_deref() else {
                continue;
            };
            let role = (
                slug,
                entry.version,
                contents.index_offset(entry.version_node),
            );
            let place = *places.entry(slug).or_insert(roles.len());
            match roles.get_mut(place) {
                Some(known) => *known = role,
                None => roles.push(role),
            }
            by_slug.entry(slug).or_default();
        }
        while let Some(translation) = translations.next_if(|next| std::ptr::eq(next.bundle, bundle))
        {
            for role in translation.roles() {
                let slug = role.slug();
                if let Some(languages) = slug.as_deref().and_then(|slug| by_slug.get_mut(slug)) {
                    languages.insert(Utf16(&translation.language.code), role);
                }
            }
        }
    }
    Texts { roles, by_slug }
}

/// Text that is ordered by UTF-16 code units, as in the published format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Utf16<'c>(&'c str);

impl Ord for Utf16<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Utf16<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn write(out: &mut Vec<u8>, languages: Option<&Languages<'_>>) {
    out.push(b'[');
    for (number, (language, role)) in languages.into_iter().flatten().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.push(b'[');
        string(out, language.0);
        out.push(b',');
        fields(out, *role);
        out.push(b']');
    }
    out.push(b']');
}

fn fields(out: &mut Vec<u8>, role: Role<'_>) {
    out.push(b'{');
    for (number, field) in Field::ALL.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        string(out, field.key());
        out.push(b':');
        match role.field(field) {
            Some(node) => value(out, node),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

/// Returns one value as the JSON that is hashed.
#[must_use]
pub fn json(node: Node<'_>) -> String {
    let mut out = Vec::new();
    value(&mut out, node);
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes a value. A valid catalog has only text and booleans; other types are hashed as by the published tool. The
/// depth is that of the document, which has a limit.
fn value(out: &mut Vec<u8>, node: Node<'_>) {
    match node.kind() {
        Kind::Null => out.extend_from_slice(b"null"),
        Kind::Bool(true) => out.extend_from_slice(b"true"),
        Kind::Bool(false) => out.extend_from_slice(b"false"),
        Kind::Number(number) if number.is_finite() => {
            out.extend_from_slice(number_text(number).as_bytes());
        }
        Kind::Number(_) => out.extend_from_slice(b"null"),
        Kind::Text(text) => string(out, text),
        Kind::List => {
            out.push(b'[');
            for (number, item) in node.items().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                value(out, item);
            }
            out.push(b']');
        }
        Kind::Map => map(out, node),
    }
}

/// Writes a map. Keys that are array indices come first in the order of their numbers, the others as written; of
/// equal ones the last value takes the position of the first.
fn map(out: &mut Vec<u8>, node: Node<'_>) {
    let mut entries: Vec<(String, Node<'_>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (key, value) in node.entries() {
        let name = key.name().unwrap_or_default();
        let place = *places.entry(name.clone()).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(entry) => entry.1 = value,
            None => entries.push((name, value)),
        }
    }
    entries.sort_by_key(|(name, _)| array_index(name).map_or((1, 0), |index| (0, index)));
    out.push(b'{');
    for (number, (name, item)) in entries.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        string(out, &name);
        out.push(b':');
        value(out, item);
    }
    out.push(b'}');
}

/// Returns the number of a key that is an array index: without leading zeros, below the largest index.
pub(crate) fn array_index(name: &str) -> Option<u32> {
    let is_canonical = name == "0" || name.starts_with(|first: char| ('1'..='9').contains(&first));
    let index: u32 = name.parse().ok().filter(|_| is_canonical)?;
    (index < u32::MAX).then_some(index)
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory cannot fail, and text is always JSON.
    serde_json::to_writer(out, text).ok();
}
