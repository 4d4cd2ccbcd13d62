//! The YAML dialect as a table: text on the left, value or error on the right.
//!
//! `dialect.json` was recorded by running the npm package `yaml` 2.8.3 with `strict` and an alias limit of 100;
//! `dialect-ours.json` has the texts where we differ on purpose, each with its reason.

use catalog::yaml::{Document, Kind, Node, Position, Style};
use serde_json::Value;

use crate::vectors::vectors;

/// Shows text in quotes, numbers after `#`, everything else as in JSON.
fn show(node: Node<'_>) -> String {
    let text = |text: &str| Value::from(text).to_string();
    match node.kind() {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(_) => format!("#{}", node.scalar_text().unwrap()),
        Kind::Text(value) => text(value),
        Kind::List => {
            let items: Vec<_> = node.items().map(show).collect();
            format!("[{}]", items.join(","))
        }
        Kind::Map => {
            let entries = node
                .entries()
                .map(|(key, value)| format!("{}:{}", text(&key.name().unwrap()), show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

fn read(yaml: &str) -> String {
    match Document::parse(yaml.as_bytes().to_vec()) {
        Err(_) => "error".to_owned(),
        Ok(document) if document.warnings().is_empty() => show(document.root()),
        Ok(document) => format!("{} (warning)", show(document.root())),
    }
}

fn table(file: &str) -> Vec<Vec<String>> {
    serde_json::from_slice(&std::fs::read(vectors().join(file)).unwrap()).unwrap()
}

#[test]
fn texts_read_as_the_published_parser_reads_them() {
    let rows = table("dialect.json");
    assert!(rows.len() > 250);
    for row in rows {
        assert_eq!(read(&row[0]), row[1], "{:?}", row[0]);
    }
}

#[test]
fn differences_are_known_and_have_a_reason() {
    for row in table("dialect-ours.json") {
        assert_eq!(read(&row[0]), row[1], "{:?}: {}", row[0], row[2]);
    }
}

/// Expects the error at this position.
fn check_error(yaml: &str, line: usize, column: usize, words: &str) {
    let broken = Document::parse(yaml.as_bytes().to_vec()).unwrap_err();
    let position = broken.source.position(broken.error.offset);
    assert_eq!(
        position,
        Position { line, column },
        "{yaml:?}: {}",
        broken.error.what
    );
    assert!(broken.error.what.contains(words), "{}", broken.error.what);
}

#[test]
fn errors_name_line_and_column() {
    check_error("a: 1\nb: 2\na: 3\n", 3, 1, "same key");
    check_error("a: 1\n---\nb: 2\n", 2, 1, "second document");
    check_error("é: &x 1\né2: *y\n", 2, 5, "anchor");
    check_error("\u{FEFF}a: 1\na: 2\n", 2, 1, "same key");
    check_error("\u{FEFF}{a: 1, a: 2}", 1, 8, "same key");
    check_error("a:\r\n  b: \"x\r\nc: 1\"\r\n", 3, 1, "indentation");
    check_error("a:\n  b: [\n  1 ]\n", 3, 3, "indented");
    let long = format!("{}- [x\n", "- filler\n".repeat(100_000));
    let broken = Document::parse(long.into_bytes()).unwrap_err();
    let position = broken.source.position(broken.error.offset);
    assert_eq!(
        position,
        Position {
            line: 100_001,
            column: 3
        }
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_place() {
    let broken = Document::parse(b"a: b\nc: \xFF\n".to_vec()).unwrap_err();
    let position = broken.source.position(broken.error.offset);
    assert_eq!(position, Position { line: 2, column: 4 });
}

/// Expects the value of key `a` to have exactly this notation.
fn check_span(yaml: &str, written: &str, style: Style) {
    let document = Document::parse(yaml.as_bytes().to_vec()).unwrap();
    let node = document.root().get("a").unwrap();
    let span = node.span();
    let text = &document.source().text()[span];
    assert_eq!(text.trim_end(), written, "{yaml:?}");
    assert_eq!(node.style(), style);
}

#[test]
fn values_know_where_they_are_written() {
    check_span("a: 12 # c\n", "12", Style::Plain);
    check_span("\u{FEFF}a: 12\n", "12", Style::Plain);
    check_span("é: x\na: 'it''s'\n", "'it''s'", Style::SingleQuoted);
    check_span("a: !t &x \"b\"\n", "\"b\"", Style::DoubleQuoted);
    check_span("a: [1, 2]\nb: 3\n", "[1, 2]", Style::Flow);
    check_span("b: &x 1\na: *x\n", "*x", Style::Alias);
    check_span("a: |-\n  one\n  two\nb: 1\n", "one\n  two", Style::Literal);
    check_span("{\"a\": 1}", "1", Style::Plain);
}

#[test]
fn one_value_can_be_replaced_and_the_rest_stays() {
    let yaml = "\u{FEFF}roles:\r\n  - { slug: x, version: 3 } # keep me\r\n";
    let document = Document::parse(yaml.as_bytes().to_vec()).unwrap();
    let role = document
        .root()
        .get("roles")
        .unwrap()
        .items()
        .next()
        .unwrap();
    let span = role.get("version").unwrap().span();
    let edited = document.source().replaced(span, "4").unwrap();
    assert_eq!(edited, yaml.replace('3', "4"));
}
