//! Any bytes as a catalog: nobody crashes, places are inside the text, JSON of a value reads back as that value, and a
//! refreshed lock makes the check pass.
//!
//! The input is cut at each `\0` into index, language file, lock and tombstones; every language reads the same file.

#![no_main]

use catalog::catalog::{Catalog, Damaged, Draft, Records, Rigour};
use catalog::lock::Lock;
use catalog::source::{File, Sources};
use catalog::tombstones::Tombstones;
use catalog::yaml::{Document, Kind, MAX_DEPTH, Node, number_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut part = || parts.next();
    let (index, file, lock, tombstones) = (part().unwrap_or_default(), part(), part(), part());
    check_document(index);
    check_document(file.unwrap_or_default());
    let records = Records {
        lock: Lock::parse(lock),
        tombstones: Tombstones::parse(tombstones),
    };
    check_catalog(index, file, &records);
});

fn sources(index: &[u8], file: Option<&[u8]>) -> Sources {
    let mut sources = Sources::new(File::of(index.to_vec()));
    for path in sources.wanted() {
        let read = file.map_or(File::Missing, |bytes| File::of(bytes.to_vec()));
        sources.add(path, read);
    }
    sources
}

fn check_catalog(index: &[u8], file: Option<&[u8]>, records: &Records) {
    let draft = Draft::read(sources(index, file));
    for rigour in [Rigour::Published, Rigour::Strict] {
        for problem in draft.check(records, rigour).problems {
            assert!(!problem.explain().is_empty());
            let place = problem.place.as_ref();
            place.and_then(|place| draft.claims().sources().locate(place));
        }
        let Ok(refreshed) = draft.refresh(records, rigour, Damaged::Replace) else {
            continue;
        };
        let tombstones = refreshed.tombstones.as_deref().map(str::as_bytes);
        let again = Records {
            lock: Lock::parse(Some(refreshed.text.as_bytes())),
            tombstones: tombstones.map_or_else(
                || records.tombstones.clone(),
                |text| Tombstones::parse(Some(text)),
            ),
        };
        assert!(draft.check(&again, Rigour::Published).passed);
        let twice = draft
            .refresh(&again, rigour, Damaged::Refuse)
            .expect("nothing changed");
        assert_eq!(twice.text, refreshed.text);
        assert!(Catalog::parse(sources(index, file)).is_ok());
    }
    draft.served();
    draft.warnings();
}

fn check_document(bytes: &[u8]) {
    let document = match Document::parse(bytes.to_vec()) {
        Ok(document) => document,
        Err(broken) => {
            broken.source.position(broken.error.offset);
            broken.source.excerpt(broken.error.offset);
            return;
        }
    };
    let mut json = String::new();
    if write(&document, document.root(), 0, &mut json) && json.len() < 500_000 {
        let again = Document::parse(json.clone().into_bytes()).expect("JSON is YAML");
        let mut twice = String::new();
        assert!(write(&again, again.root(), 0, &mut twice));
        assert_eq!(json, twice);
    }
}

/// Writes a value as JSON and looks at its places. False when JSON cannot hold it, or YAML not in one line.
fn write(document: &Document, node: Node<'_>, depth: usize, out: &mut String) -> bool {
    assert!(depth <= MAX_DEPTH);
    assert!(document.source().text().get(node.span()).is_some());
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Kind::Number(number) if !number.is_finite() => return false,
        Kind::Number(number) => out.push_str(&number_text(number)),
        Kind::Text(text) => string(text, out),
        Kind::List => {
            out.push('[');
            for (number, item) in node.items().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                if !write(document, item, depth + 1, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Kind::Map => {
            out.push('{');
            for (number, (key, value)) in node.entries().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                let Some(name) = key.text().filter(|name| name.len() < 100) else {
                    return false;
                };
                string(name, out);
                out.push(':');
                if !write(document, value, depth + 1, out) {
                    return false;
                }
            }
            out.push('}');
        }
    }
    true
}

/// As JSON, and with what YAML wants escaped as well.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' => {
                out.push_str(&format!("\\u{:04x}", char as u32));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
}
