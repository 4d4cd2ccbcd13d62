//! Edits of catalog files that leave everything else as it is: comments, quotes, order.
//!
//! An edit changes the text at the positions of its values; an unsafe edit is refused with a hint for a manual one.

use std::ops::Range;

use crate::contents::Contents;
use crate::source::INDEX;
use crate::yaml::{Document, Node, Source, Style};

/// Largest version that every number parser can distinguish from the next.
const MAX_VERSION: u64 = 9_007_199_254_740_991;

/// Reason that a file was not edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Reason in lower case, without a full stop.
    pub what: String,
    /// Hint for a manual edit.
    pub hint: String,
}

impl Refused {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// An index with one version raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bumped {
    /// Version before.
    pub from: u64,
    /// Version after.
    pub to: u64,
    /// Text of the whole index.
    pub text: String,
}

/// Raises the version of a role by one.
///
/// # Errors
/// Fails if the role is not listed exactly once, or its version is not a plain whole number.
pub fn bump(contents: &Contents, slug: &str) -> Result<Bumped, Refused> {
    let entries = contents.bundles().flat_map(|bundle| &bundle.entries);
    let mut entries = entries.filter(|entry| entry.slug.as_deref() == Some(slug));
    let list = "`roleos catalog list` shows the roles";
    let Some(entry) = entries.next() else {
        return Err(Refused::new(
            format!("the index has no role `{slug}`"),
            list,
        ));
    };
    if entries.next().is_some() {
        let hint = "`roleos catalog check` says where; keep one of them";
        return Err(Refused::new(
            format!("the index lists `{slug}` more than once"),
            hint,
        ));
    }
    let document = contents.sources().file(INDEX).document();
    let found = document.and_then(|document| version(document, document.node(entry.version_node)));
    let hint = format!("write a whole number as the `version` of `{slug}` in {INDEX}");
    let Some((source, span, from)) = found else {
        let what = format!("the version of `{slug}` is not a whole number that can be raised");
        return Err(Refused::new(what, hint));
    };
    let to = from + 1;
    let text = source.replaced(span, &to.to_string());
    let text = text.ok_or_else(|| Refused::new("the version has no place in the index", hint))?;
    Ok(Bumped { from, to, text })
}

/// Returns the version as written: only digits, so that only digits are replaced.
fn version<'d>(document: &'d Document, node: Node<'d>) -> Option<(&'d Source, Range<usize>, u64)> {
    let source = document.source();
    let span = node.span();
    let digits = source.text().get(span.clone())?;
    let is_plain = node.style() == Style::Plain && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_plain)?;
    (number < MAX_VERSION && node.number().is_some()).then_some((source, span, number))
}

/// Text to insert at an offset; nothing is removed.
#[derive(Clone, Debug)]
pub(crate) struct Insertion {
    pub(crate) offset: usize,
    pub(crate) text: String,
}

/// Applies all insertions. Those at the same offset stay in their order.
pub(crate) fn inserted(source: &Source, mut insertions: Vec<Insertion>) -> Option<String> {
    insertions.sort_by_key(|one| one.offset);
    let mut out = String::new();
    let mut done = 0;
    for Insertion { offset, text } in insertions {
        out.push_str(source.text().get(done..offset)?);
        out.push_str(&text);
        done = offset;
    }
    out.push_str(source.text().get(done..)?);
    Some(out)
}

/// Inserts a new member behind the last one of a list or map. `lines` is the member as a block, its first line at the
/// margin; a list's begins with `- `. `flow` is the same on one line. Returns `None` if the collection is empty or
/// has an unusual layout.
pub(crate) fn append(
    source: &Source,
    collection: Node<'_>,
    lines: &str,
    flow: &str,
) -> Option<Insertion> {
    let last = last_member(collection)?;
    if collection.style() == Style::Flow {
        let offset = end_of(last);
        let text = format!(", {flow}");
        return Some(Insertion { offset, text });
    }
    let indentation = indentation(source, collection)?;
    let end = end_of(last);
    let rest = source.text().get(end..)?;
    // A block that ends with newlines ends behind them.
    let ends_line = source.text().get(..end)?.ends_with('\n');
    let line = if ends_line {
        0
    } else {
        rest.find('\n').map_or(rest.len(), |at| at + 1)
    };
    let offset = end + line;
    let needs_newline = offset == source.text().len() && !source.text().ends_with('\n');
    let mut text = String::from(if needs_newline { "\n" } else { "" });
    for line in lines.lines() {
        if !line.is_empty() {
            text.push_str(indentation);
            text.push_str(line);
        }
        text.push('\n');
    }
    Some(Insertion { offset, text })
}

fn last_member<'d>(collection: Node<'d>) -> Option<Node<'d>> {
    match collection.is_list() {
        true => collection.items().last(),
        false => collection.entries().last().map(|(_, value)| value),
    }
}

/// Returns the end of the last scalar of a value: collections may extend over comments that follow them.
fn end_of(node: Node<'_>) -> usize {
    let mut node = node;
    while node.style() == Style::Block {
        match last_member(node) {
            Some(member) => node = member,
            None => break,
        }
    }
    node.span().end
}

/// Returns the blanks before the first member.
fn indentation<'d>(source: &'d Source, collection: Node<'d>) -> Option<&'d str> {
    let first = match collection.is_list() {
        true => collection.items().next()?,
        false => collection.entries().next()?.0,
    };
    let before = source.text().get(..first.span().start)?;
    let line = before.rsplit('\n').next()?;
    let line = match collection.is_list() {
        true => line.trim_end().strip_suffix('-')?,
        false => line,
    };
    line.bytes().all(|byte| byte == b' ').then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Draft;
    use crate::source::{File, Sources};

    fn check(version: &str, expected: Option<&str>) {
        let index = |version: &str| {
            format!(
                "# a\nbundles:\n  - id: a # b\n    roles:\n    -   version:   {version}  # c\n        slug: 'x'\r\n"
            )
        };
        let draft = Draft::read(Sources::new(File::of(index(version).into())));
        let found = bump(draft.claims(), "x").ok().map(|bumped| bumped.text);
        assert_eq!(found, expected.map(index));
    }

    #[test]
    fn one_number_changes_and_nothing_else() {
        check("1", Some("2"));
        check("999", Some("1000"));
        check("0", Some("1"));
    }

    #[test]
    fn other_versions_are_left_to_a_person() {
        for version in [
            "1.5",
            "'1'",
            "-3",
            "1e3",
            "0x10",
            "",
            "no",
            "9007199254740991",
            "+1",
        ] {
            check(version, None);
        }
    }

    #[test]
    fn a_role_must_be_listed_once() {
        let index =
            "bundles: [{ id: a, roles: [{ slug: x, version: 1 }, { slug: x, version: 1 }] }]";
        let draft = Draft::read(Sources::new(File::of(index.into())));
        let what = |slug| bump(draft.claims(), slug).unwrap_err().what;
        assert_eq!(what("x"), "the index lists `x` more than once");
        assert_eq!(what("y"), "the index has no role `y`");
    }

    fn appended(text: &str, lines: &str, flow: &str) -> Option<String> {
        let document = Document::parse(text.into()).unwrap();
        let list = document.root().get("a").unwrap();
        let insertion = append(document.source(), list, lines, flow)?;
        inserted(document.source(), vec![insertion])
    }

    #[test]
    fn members_go_behind_the_last_one() {
        let list = |text| appended(text, "- z: 1\n  y: 2\n", "z").unwrap();
        assert_eq!(
            list("a:\n  - b # c\nd: 1\n"),
            "a:\n  - b # c\n  - z: 1\n    y: 2\nd: 1\n"
        );
        assert_eq!(
            list("a:\n- b:\n    c: d"),
            "a:\n- b:\n    c: d\n- z: 1\n  y: 2\n"
        );
        assert_eq!(
            list("a:\n  - b: |-\n      c\n\n      d\n# e\n"),
            "a:\n  - b: |-\n      c\n\n      d\n  - z: 1\n    y: 2\n# e\n"
        );
        assert_eq!(list("a: [b, c ]\n"), "a: [b, c, z ]\n");
        assert_eq!(
            appended("a:\n  b: 1\n", "z: 2\n", "z: 2").unwrap(),
            "a:\n  b: 1\n  z: 2\n"
        );
        assert_eq!(appended("a: []\n", "- z\n", "z"), None);
    }
}
