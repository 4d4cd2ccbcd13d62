//! Copies on disk: revalidation, use, and offers of old copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use upstream::catalog_remote::{Age, Fetched, Remote, Segment, Source, Wanted};

use super::site::{Asked, Site, respond};
use super::{PATIENT, index, limits, name, remote};

/// A remote with copies, and a site with this answer function.
struct Stage {
    site: Site,
    remote: Remote,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(
        answer: impl Fn(&Asked) -> axum::http::Response<axum::body::Body> + Send + Sync + 'static,
    ) -> Self {
        let site = Site::new(answer);
        let folder = tempfile::tempdir().unwrap();
        let remote = remote(&site.base(), Some(&folder.path().join("copies")));
        Self {
            site,
            remote,
            folder,
        }
    }

    fn fetch(&self) -> Fetched {
        let fetched = index(&self.remote).unwrap();
        assert!(fetched.not_kept.is_none(), "{fetched:?}");
        fetched
    }

    /// Returns `<age>: <text>` of one fetch.
    fn told(&self) -> String {
        let fetched = self.fetch();
        let age = match fetched.age {
            Age::Fresh => "fresh",
            Age::Revalidated { .. } => "revalidated",
        };
        format!("{age}: {}", String::from_utf8(fetched.bytes).unwrap())
    }

    /// Returns a header of the last request.
    fn last(&self, header: &str) -> String {
        self.site.asked().last().unwrap().header(header).to_owned()
    }

    fn copies(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.folder.path().join("copies")) else {
            return Vec::new();
        };
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect()
    }
}

/// Answers like a web server with this text under this tag.
fn tagged(asked: &Asked, etag: &str, text: &'static str) -> axum::http::Response<axum::body::Body> {
    if asked.header("if-none-match") == etag {
        respond(304, &[("etag", etag)], "")
    } else {
        respond(200, &[("etag", etag)], text)
    }
}

#[test]
fn an_unchanged_file_does_not_travel_again() {
    let stage = Stage::new(|asked| tagged(asked, "\"one\"", "text"));
    let before = base::clock::now_ns();
    assert_eq!(stage.told(), "fresh: text");
    let after = base::clock::now_ns();
    assert_eq!(stage.last("if-none-match"), "");
    let second = stage.fetch();
    assert_eq!(stage.last("if-none-match"), "\"one\"");
    assert_eq!(second.bytes, b"text");
    let Age::Revalidated { cached_at_ns } = second.age else {
        panic!("{second:?}");
    };
    assert!(
        (before..=after).contains(&cached_at_ns),
        "when the bytes came"
    );
    // A second program finds the same copy.
    let other = remote(
        &stage.site.base(),
        Some(&stage.folder.path().join("copies")),
    );
    let age = index(&other).unwrap().age;
    assert_eq!(age, Age::Revalidated { cached_at_ns });
}

#[test]
fn a_changed_file_replaces_its_copy() {
    let stage = Stage::new(|asked| match asked.before {
        0 | 1 => tagged(asked, "\"one\"", "old"),
        _ => tagged(asked, "\"two\"", "new"),
    });
    assert_eq!(stage.told(), "fresh: old");
    assert_eq!(stage.told(), "revalidated: old");
    assert_eq!(stage.told(), "fresh: new");
    assert_eq!(stage.last("if-none-match"), "\"one\"");
    assert_eq!(stage.told(), "revalidated: new");
    assert_eq!(stage.last("if-none-match"), "\"two\"");
    assert_eq!(stage.copies("body").len(), 1);
}

#[test]
fn a_weak_tag_is_sent_back_as_it_came() {
    let stage = Stage::new(|asked| tagged(asked, "W/\"one\"", "text"));
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "revalidated: text");
    assert_eq!(stage.last("if-none-match"), "W/\"one\"");
}

#[test]
fn a_tag_may_lose_its_weakness_on_the_way() {
    let stage = Stage::new(|asked| match asked.before {
        0 => respond(200, &[("etag", "W/\"one\"")], "text"),
        _ => respond(304, &[("etag", "\"one\"")], ""),
    });
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "revalidated: text");
}

#[test]
fn a_date_serves_where_there_is_no_tag() {
    let date = "Sun, 01 Nov 2026 08:00:00 GMT";
    let stage = Stage::new(move |asked| {
        let status = if asked.header("if-modified-since") == date {
            304
        } else {
            200
        };
        respond(
            status,
            &[("last-modified", date)],
            if status == 200 { "text" } else { "" },
        )
    });
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "revalidated: text");
    assert_eq!(stage.last("if-none-match"), "");
}

#[test]
fn without_a_validator_the_whole_file_is_asked_for_again() {
    let stage = Stage::new(|_| respond(200, &[], "text"));
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.last("if-none-match"), "");
    assert!(stage.remote.cached(Wanted::Index).is_some());
}

#[test]
fn a_tag_of_unusual_length_is_not_sent_back() {
    let tag = format!("\"{}\"", "x".repeat(5_000));
    let stage = Stage::new(move |_| respond(200, &[("etag", &tag)], "text"));
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.last("if-none-match"), "");
}

#[test]
fn unchanged_without_a_question_is_an_error() {
    let stage = Stage::new(|_| respond(304, &[("etag", "\"one\"")], ""));
    let error = index(&stage.remote).unwrap_err();
    assert!(
        error.to_string().ends_with("returned status 304"),
        "{error}"
    );
    assert_eq!(error.older(), None);
}

#[test]
fn unchanged_without_a_validator_is_an_error() {
    let stage = Stage::new(|asked| match asked.before {
        0 => respond(200, &[], "text"),
        _ => respond(304, &[], ""),
    });
    assert_eq!(stage.told(), "fresh: text");
    let error = index(&stage.remote).unwrap_err();
    assert!(
        error.to_string().contains("returned status 304; a copy"),
        "{error}"
    );
}

#[test]
fn unchanged_by_another_tag_confirms_nothing() {
    let stage = Stage::new(|asked| match asked.before {
        0 => respond(200, &[("etag", "\"one\"")], "text"),
        _ => respond(304, &[("etag", "\"two\"")], ""),
    });
    assert_eq!(stage.told(), "fresh: text");
    let error = index(&stage.remote).unwrap_err();
    assert_eq!(name(&error), "status");
    assert!(error.older().is_some());
}

#[test]
fn after_a_failure_the_copy_is_offered_with_its_age_and_not_served() {
    let stage = Stage::new(|asked| match asked.before {
        0 => respond(200, &[("etag", "\"one\"")], "text"),
        _ => respond(503, &[], ""),
    });
    assert_eq!(stage.remote.cached(Wanted::Index), None);
    assert_eq!(stage.told(), "fresh: text");
    let error = index(&stage.remote).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("returned status 503; a copy that is "),
        "{message}"
    );
    assert!(message.ends_with(" old is at hand"), "{message}");
    let older = error.older().unwrap();
    assert!(older.age < Duration::from_secs(60));
    let kept = stage.remote.cached(Wanted::Index).unwrap();
    assert_eq!(kept.bytes, b"text");
    assert_eq!(kept.older.cached_at_ns, older.cached_at_ns);
    assert_eq!(stage.site.asked().len(), 2, "a copy costs no question");
}

#[test]
fn a_failed_answer_leaves_the_copy_as_it_was() {
    let large = vec![b'x'; 1_000_001];
    let stage = Stage::new(move |asked| match asked.before {
        0 => respond(200, &[("etag", "\"one\"")], "text"),
        1 => respond(200, &[("etag", "\"two\"")], large.clone()),
        _ => tagged(asked, "\"one\"", "text"),
    });
    assert_eq!(stage.told(), "fresh: text");
    let error = index(&stage.remote).unwrap_err();
    assert_eq!(name(&error), "too large");
    assert!(error.older().is_some());
    assert_eq!(stage.told(), "revalidated: text");
}

/// Damages the copy and asserts that it is fetched as if it had never existed, and replaced.
fn check_damage(extension: &str, damage: impl Fn(&Path)) {
    let stage = Stage::new(|asked| tagged(asked, "\"one\"", "text"));
    assert_eq!(stage.told(), "fresh: text");
    let copies = stage.copies(extension);
    assert_eq!(copies.len(), 1);
    damage(&copies[0]);
    assert_eq!(stage.remote.cached(Wanted::Index), None);
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.last("if-none-match"), "");
    assert_eq!(stage.told(), "revalidated: text");
}

#[test]
fn a_damaged_copy_is_ignored_and_replaced() {
    let write = |path: &Path, bytes: &[u8]| {
        base::files::write(path, bytes, base::files::Privacy::Secret).unwrap();
    };
    check_damage("body", |path| write(path, b"evil"));
    check_damage("body", |path| write(path, b""));
    check_damage("body", |path| fs::remove_file(path).unwrap());
    check_damage("json", |path| write(path, b"\xff\x00{"));
    check_damage("json", |path| write(path, b"{}"));
    check_damage("json", |path| fs::remove_file(path).unwrap());
}

#[test]
fn a_label_cannot_smuggle_a_header() {
    let stage = Stage::new(|asked| tagged(asked, "\"one\"", "text"));
    assert_eq!(stage.told(), "fresh: text");
    let label = stage.copies("json").remove(0);
    let text = fs::read_to_string(&label).unwrap();
    let text = text.replace(r#"\"one\""#, r#"a\r\nx-evil: 1"#);
    base::files::write(&label, text.as_bytes(), base::files::Privacy::Secret).unwrap();
    // The copy's validator cannot be sent, so the request is unconditional.
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.last("x-evil"), "");
}

#[test]
fn what_may_not_be_kept_is_not_kept_and_ends_the_older_copy() {
    let stage = Stage::new(|asked| match asked.before {
        0 => respond(200, &[("etag", "\"one\"")], "text"),
        _ => respond(200, &[("cache-control", "private, No-Store")], "new"),
    });
    assert_eq!(stage.told(), "fresh: text");
    assert!(stage.remote.cached(Wanted::Index).is_some());
    assert_eq!(stage.told(), "fresh: new");
    assert_eq!(stage.remote.cached(Wanted::Index), None);
    assert!(stage.copies("body").is_empty());
}

#[test]
fn a_part_of_a_file_is_not_kept() {
    let stage = Stage::new(|_| respond(206, &[("etag", "\"one\"")], "te"));
    assert_eq!(stage.told(), "fresh: te");
    assert_eq!(stage.remote.cached(Wanted::Index), None);
}

#[test]
fn an_encoded_file_is_kept_decoded() {
    let stage = Stage::new(|asked| match asked.before {
        0 => {
            let headers = [("etag", "\"one\""), ("content-encoding", "gzip")];
            respond(200, &headers, super::answers::gzip(b"text"))
        }
        _ => respond(304, &[], ""),
    });
    assert_eq!(stage.told(), "fresh: text");
    assert_eq!(stage.told(), "revalidated: text");
}

#[test]
fn every_file_has_its_own_copy() {
    let stage = Stage::new(|asked| respond(200, &[("etag", "\"one\"")], asked.path.clone()));
    let [id, ru, en] = ["editorial", "ru", "en"].map(|text| Segment::parse(text).unwrap());
    let wanted = [
        Wanted::Index,
        Wanted::Bundle {
            id: &id,
            language: &ru,
        },
        Wanted::Bundle {
            id: &id,
            language: &en,
        },
    ];
    for wanted in wanted {
        upstream::blocking::run(stage.remote.fetch(wanted))
            .unwrap()
            .unwrap();
    }
    let copies = wanted.map(|wanted| {
        let kept = stage.remote.cached(wanted).unwrap();
        String::from_utf8(kept.bytes).unwrap()
    });
    let expected = [
        "/index.yaml",
        "/bundles/editorial/ru.yaml",
        "/bundles/editorial/en.yaml",
    ];
    assert_eq!(copies, expected);
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_copy_and_not_the_file() {
    let site = Site::with(200, &[("etag", "\"one\"")], "text");
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    base::files::write(&in_the_way, b"", base::files::Privacy::Shared).unwrap();
    let source = Source::parse(&site.base()).unwrap();
    let remote = Remote::new(source, Some(in_the_way.join("copies")), limits(PATIENT)).unwrap();
    let fetched = index(&remote).unwrap();
    assert_eq!(
        (fetched.bytes.as_slice(), fetched.age),
        (&b"text"[..], Age::Fresh)
    );
    assert!(fetched.not_kept.is_some());
}
