//! Addresses and segments, valid and invalid; no test here uses a network.

use super::*;

/// Asserts the address of the index for this base.
fn check(base: &str, expected: &str) {
    let source = Source::parse(base).unwrap();
    assert_eq!(source.address(Wanted::Index).url.to_string(), expected);
}

/// Asserts a refusal with this message.
fn refused(base: &str, expected: &str) {
    assert_eq!(Source::parse(base).unwrap_err().to_string(), expected);
}

#[test]
fn slashes_at_the_end_and_white_space_around_do_not_count() {
    check("http://host", "http://host/index.yaml");
    check("http://host/", "http://host/index.yaml");
    check("http://host///", "http://host/index.yaml");
    check("http://host/a/b//", "http://host/a/b/index.yaml");
    check(
        " \n https://host:8443/a%20b/ \t",
        "https://host:8443/a%20b/index.yaml",
    );
}

#[test]
fn the_scheme_is_read_without_regard_to_case() {
    check("HTTP://host", "http://host/index.yaml");
    check("HttpS://Host/A", "https://host/A/index.yaml");
}

#[test]
fn a_bundle_lies_below_the_base() {
    let source = Source::parse("https://host/roles/").unwrap();
    let (id, language) = (segment("-"), segment("pt-br"));
    let wanted = Wanted::Bundle {
        id: &id,
        language: &language,
    };
    let address = source.address(wanted);
    assert_eq!(
        address.url.to_string(),
        "https://host/roles/bundles/-/pt-br.yaml"
    );
    assert_eq!(address.host, "host");
}

#[test]
fn nothing_is_not_configured() {
    let expected = "the remote catalog is unavailable: its source is not configured";
    refused("", expected);
    refused(" \t\n", expected);
    assert_eq!(Source::configured(None).unwrap_err().to_string(), expected);
    let empty = Source::configured(Some(OsStr::new(""))).unwrap_err();
    assert_eq!(empty.situation(), &Situation::NotConfigured);
}

#[test]
fn other_schemes_and_paths_are_refused_by_name() {
    for text in [
        "/srv/catalog",
        "./catalog",
        "catalog",
        "file:///srv/catalog",
        "ftp://host/catalog",
        "javascript:alert(1)",
        "http:host",
        "http:/host",
        "httpx://host",
        "//host",
    ] {
        let why = "it must begin with http:// or https://";
        refused(
            text,
            &format!("`{text}` is not the address of a catalog: {why}"),
        );
    }
}

#[test]
fn half_addresses_are_refused() {
    for text in [
        "http://",
        "https:///",
        "http://:80",
        "http://host:99999",
        "http://[::1",
    ] {
        let shown = Source::parse(text).unwrap_err().to_string();
        assert!(shown.ends_with("it is not a valid URL"), "{shown}");
    }
    for text in [
        "http://ho st",
        "http://host/a\nb",
        "http://host\\a",
        "http://host/\u{7}",
    ] {
        let shown = Source::parse(text).unwrap_err().to_string();
        assert!(
            shown.ends_with("it holds white space or a backslash"),
            "{shown}"
        );
    }
    let long = format!("http://host/{}", "a".repeat(MAX_URL));
    let shown = Source::parse(&long).unwrap_err().to_string();
    assert!(
        shown.len() < 300 && shown.ends_with("it is too long"),
        "{shown}"
    );
}

#[test]
fn query_and_fragment_are_refused_and_not_repeated() {
    for text in [
        "https://host/a?token=secret",
        "https://host/a#secret",
        "https://host/a?",
        "https://host/a#",
    ] {
        let why = "it must have neither `?` nor `#`";
        refused(
            text,
            &format!("`https://host/a` is not the address of a catalog: {why}"),
        );
    }
}

#[test]
fn user_info_is_used_and_never_shown() {
    let source = Source::parse("https://me:secret@host/roles/").unwrap();
    assert_eq!(source.to_string(), "https://***@host/roles");
    assert_eq!(format!("{source:?}"), "Source(https://***@host/roles)");
    let address = source.address(Wanted::Index);
    assert_eq!(
        address.url.secret_text(),
        "https://me:secret@host/roles/index.yaml"
    );
    assert_eq!(address.masked(), "https://***@host/roles/index.yaml");
    assert_eq!(address.host, "host");
    let only_a_name = Source::parse("http://token@host:81").unwrap();
    assert_eq!(only_a_name.to_string(), "http://***@host:81");
    assert_eq!(only_a_name.host(), "host:81");
}

#[test]
fn user_info_is_not_shown_in_refusals_either() {
    for text in [
        "ftp://me:secret@host",
        "me:secret@host",
        "https://me:secret@host/?a",
        "https://me:se#secret@host/",
        "https://me:se?secret@host/",
        "https://host/a?token=a@secret",
        "https://me:secret@ho st",
        "https://me:secret@host:99999",
        "me secret@://host",
    ] {
        let error = Source::parse(text).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn what_is_shown_of_a_bad_address_cannot_move_the_cursor() {
    let error = Source::parse("\u{1b}[2Jfile:\u{202e}x").unwrap_err();
    assert!(error.to_string().starts_with("`?[2Jfile:?x`"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let error = Source::configured(Some(OsStr::from_bytes(b"http://\xff"))).unwrap_err();
    assert!(error.to_string().ends_with("it is not UTF-8"), "{error}");
}

fn segment(text: &str) -> Segment {
    Segment::parse(text).unwrap()
}

#[test]
fn segments_have_lower_case_letters_digits_and_hyphens() {
    for good in ["-", "pt-br", "en", "0", "editorial", "a-1-b"] {
        assert_eq!(segment(good).as_str(), good);
    }
    assert_eq!(
        segment(&"a".repeat(MAX_SEGMENT)).as_str().len(),
        MAX_SEGMENT
    );
}

#[test]
fn all_other_segments_are_refused() {
    let long = "a".repeat(MAX_SEGMENT + 1);
    for bad in [
        "../etc", "a/b", "A", "foo.bar", "foo_bar", "", "..", "en\n", "pt-BR", ".", "a b", " en",
        "%2e%2e", "a\\b", "a?b", "a#b", "a@b", "a:b", "é", "a\u{0}", "ａ", &long,
    ] {
        let error = Segment::parse(bad).unwrap_err();
        assert!(
            matches!(error.situation(), Situation::BadSegment { .. }),
            "{bad:?}"
        );
        assert!(!error.retryable());
        assert!(error.to_string().chars().count() < 300);
    }
    let error = Segment::parse("en\n").unwrap_err();
    assert!(error.to_string().starts_with(r"`en\n` cannot"), "{error}");
}
