//! Data that a server receives from us, and data that it never does.

use upstream::blocking;
use upstream::catalog_remote::{Remote, Segment, Source, Wanted};

use super::site::Site;
use super::{PATIENT, fetch, index, limits, remote, told};

#[test]
fn index_and_bundles_are_asked_for_below_the_base() {
    let site = Site::with(200, &[], "text");
    let remote = remote(&format!("{}/some/roles///", site.base()), None);
    let (id, language) = (segment("editorial"), segment("pt-br"));
    blocking::run(async {
        remote.index().await.unwrap();
        remote.bundle(&id, &language).await.unwrap();
    })
    .unwrap();
    let paths: Vec<_> = site.asked().into_iter().map(|asked| asked.path).collect();
    let expected = [
        "/some/roles/index.yaml",
        "/some/roles/bundles/editorial/pt-br.yaml",
    ];
    assert_eq!(paths, expected);
}

fn segment(text: &str) -> Segment {
    Segment::parse(text).unwrap()
}

#[test]
fn we_say_who_we_are_and_which_encodings_we_read() {
    let site = Site::with(200, &[("set-cookie", "a=b")], "text");
    let remote = remote(&site.base(), None);
    index(&remote).unwrap();
    index(&remote).unwrap();
    for asked in site.asked() {
        let expected = format!("roleos/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(asked.header("user-agent"), expected);
        assert_eq!(asked.header("accept-encoding"), "gzip");
        for absent in [
            "cookie",
            "referer",
            "authorization",
            "if-none-match",
            "if-modified-since",
        ] {
            assert!(!asked.headers.contains_key(absent), "{absent}");
        }
    }
    assert_eq!(site.asked().len(), 2);
}

#[test]
fn user_info_is_sent_to_the_server_and_told_to_nobody() {
    let site = Site::new(|asked| {
        // `me:secret`.
        let known = asked.header("authorization") == "Basic bWU6c2VjcmV0";
        super::site::respond(if known { 503 } else { 401 }, &[], "")
    });
    let base = format!("http://me:secret@{}/", site.host());
    let source = Source::parse(&base).unwrap();
    let remote = Remote::new(source, None, limits(PATIENT)).unwrap();
    let error = index(&remote).unwrap_err();
    let expected = format!(
        "the remote catalog at `{}` returned status 503",
        site.host()
    );
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{remote:?} {error:?}").contains("secret"));
}

#[test]
fn hostile_segments_never_reach_the_server() {
    let site = Site::with(200, &[], "text");
    let remote = remote(&site.base(), None);
    let good = segment("en");
    for hostile in [
        "../etc", "a/b", "A", "foo.bar", "foo_bar", "", "..", "en\n", "pt-BR", "%2e%2e", "a?b",
        "a#b", "@evil",
    ] {
        // A segment has no other constructor, so such a request is impossible.
        if let Ok(segment) = Segment::parse(hostile) {
            let as_id = Wanted::Bundle {
                id: &segment,
                language: &good,
            };
            let as_language = Wanted::Bundle {
                id: &good,
                language: &segment,
            };
            blocking::run(async {
                drop(remote.fetch(as_id).await);
                drop(remote.fetch(as_language).await);
            })
            .unwrap();
        }
    }
    assert_eq!(site.asked().len(), 0);
}

#[test]
fn an_empty_variable_asks_nobody() {
    let unset = Source::configured(None).unwrap_err();
    assert_eq!(super::name(&unset), "not configured");
    assert!(unset.hint().contains("AI_AGENT_ROLES_CATALOG_URL"));
    let blank = Source::configured(Some("  ".as_ref())).unwrap_err();
    assert_eq!(super::name(&blank), "not configured");
}

#[test]
fn a_runtime_is_not_started_inside_another() {
    let nested = blocking::run(async { blocking::run(async {}) }).unwrap();
    assert!(nested.is_err());
}

#[test]
fn one_remote_serves_many_calls() {
    let site = Site::with(200, &[], "text");
    let remote = remote(&site.base(), None);
    for _ in 0..5 {
        // Each call has its own runtime; a connection of the last one must not block.
        assert_eq!(index(&remote).unwrap().bytes, b"text");
    }
    assert_eq!(told(fetch(&site.base(), PATIENT)), "fresh: text");
}
