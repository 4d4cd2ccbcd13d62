//! Hostile text: refused, and quickly. No limit here depends on timing; each is a count.

use catalog::catalog::{Catalog, Draft};
use catalog::source::{File, Sources};
use catalog::yaml::{Document, MAX_BYTES};

fn error(text: String) -> String {
    Document::parse(text.into_bytes()).unwrap_err().error.what
}

fn is_fine(text: String) -> bool {
    Document::parse(text.into_bytes()).is_ok()
}

/// Returns a text in which `a` anchors `value` and `b` lists that many aliases.
fn aliased(value: &str, uses: usize) -> String {
    format!("a: &x {value}\nb: [{}]\n", "*x, ".repeat(uses))
}

#[test]
fn a_scalar_may_be_aliased_99_times() {
    assert!(is_fine(aliased("v", 99)));
    assert!(error(aliased("v", 100)).contains("repeat"));
    assert!(is_fine(aliased("[v, w]", 99)));
    assert!(error(aliased("[v, w]", 100)).contains("repeat"));
}

#[test]
fn nested_expansion_is_counted_together() {
    let nested = |tens: &str, times: usize| {
        format!("a: &a [x]\nb: &b [{tens}]\nc: [{}]\n", "*b, ".repeat(times))
    };
    let ten = "*a, ".repeat(10);
    assert!(is_fine(nested(&ten, 8)));
    assert!(error(nested(&ten, 10)).contains("repeat"));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let inner = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    assert!(error(bomb).contains("repeat"));
}

#[test]
fn a_long_text_may_not_be_repeated_into_a_flood() {
    let text = "x".repeat(500_000);
    assert!(is_fine(aliased(&text, 10)));
    assert!(error(aliased(&text, 50)).contains("repeat"));
}

#[test]
fn aliases_do_not_nest_deeper_than_brackets_may() {
    let nest =
        |inner: &str, depth: usize| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    // Empty lists have no size, so that only the depth stops this.
    let mut chain = format!("- &a0 {}\n", nest("", 20));
    for level in 1..2_000 {
        let inner = format!("*a{}", level - 1);
        chain.push_str(&format!("- &a{level} {}\n", nest(&inner, 20)));
    }
    assert!(error(chain).contains("deeper"));
    assert!(error("&a [*a]".to_owned()).contains("inside"));
}

#[test]
fn deep_nesting_is_refused_in_every_notation() {
    for opening in ["[", "{a: ", "- ", "? ", "a: [\n", "[a: ", "- - ? "] {
        let text = opening.repeat(900_000 / opening.len());
        assert!(!is_fine(text), "{opening:?}");
    }
    let mut text = String::new();
    for depth in 0..1_000 {
        text.push_str(&format!("{}a:\n", " ".repeat(depth)));
    }
    assert!(!is_fine(text));
}

#[test]
fn the_length_limit_is_exact() {
    let of_length = |length: usize| format!("a: {}\n", "x".repeat(length - 4));
    assert!(is_fine(of_length(MAX_BYTES)));
    assert!(error(of_length(MAX_BYTES + 1)).contains("1000001 bytes"));
}

#[test]
fn many_keys_are_compared_in_time() {
    let many: String = (0..80_000).map(|key| format!("k{key}: 1\n")).collect();
    assert!(is_fine(many.clone()));
    assert!(error(many + "k79999: 1\n").contains("same key"));
}

fn draft(index: &str, file: &str) -> Draft {
    let mut sources = Sources::new(File::of(index.as_bytes().to_vec()));
    for path in sources.wanted() {
        sources.add(path, File::of(file.as_bytes().to_vec()));
    }
    Draft::read(sources)
}

#[test]
fn an_index_cannot_make_one_file_work_for_thousands() {
    let roles = "  - { slug: a, name: b, instructions: c }\n".repeat(20_000);
    let file = format!("schemaVersion: 1\nlanguage: en\nroles:\n{roles}");
    let bundle = "  - { id: a, languages: [en], roles: [{ slug: a, version: 1 }] }\n";
    let draft = draft(&format!("bundles:\n{}", bundle.repeat(10_000)), &file);
    let last = draft.problems().last().unwrap();
    assert!(last.explain().contains("larger than"), "{}", last.explain());
}

#[test]
fn problems_have_an_end() {
    let file = format!("roles:\n{}", "-\n".repeat(400_000));
    let draft = draft("bundles: [{ id: a, languages: [en] }]", &file);
    assert!(draft.problems().len() < 11_000);
    let languages = (0..100_000)
        .map(|language| format!("l{language},"))
        .collect::<String>();
    let index = format!("bundles: [{{ id: a, languages: [{languages}] }}]");
    let sources = Sources::new(File::of(index.into_bytes()));
    assert!(Catalog::parse(sources).unwrap_err().problems().len() < 11_000);
}

/// Expects exactly these classes of a catalog of one index and no files.
fn check(index: &str, expected: &[&str]) {
    let sources = Sources::new(File::of(index.as_bytes().to_vec()));
    let draft = Catalog::parse(sources).unwrap_err();
    let found: Vec<_> = draft
        .problems()
        .iter()
        .map(|problem| problem.class.name())
        .collect();
    assert_eq!(found, expected, "{index}");
}

#[test]
fn shapes_that_stop_the_published_check_are_reported() {
    check("bundles: [null]", &["malformed"]);
    check(
        "bundles: [{ id: a, languages: [en], roles: { slug: b } }]",
        &["malformed"],
    );
    check(
        "bundles: [{ id: a, languages: [en], roles: text }]",
        &["malformed"],
    );
    check("bundles: [{ id: {}, languages: [en] }]", &["malformed"]);
    check(
        "bundles: [{ id: a, languages: [[en]], roles: [null] }]",
        &["malformed", "malformed"],
    );
    check("bundles: [text, 5, [], {}]", &["bundle_missing_id"; 4]);
    check("bundles: { a: 1 }", &["no_bundles"]);
    check("text", &["no_bundles"]);
    check("", &[]);
    check("0", &[]);
}

#[test]
fn roles_without_a_slug_are_named_as_such() {
    check(
        "bundles: [{ id: a, languages: [en], roles: [{}, { version: 1 }] }]",
        &[
            "index_duplicate_slug",
            "version_not_numeric",
            "language_file_missing",
        ],
    );
}
