//! Limits of bytes and time of an answer.

use std::thread;
use std::time::{Duration, Instant};

use upstream::catalog_remote::{Gaps, Limits, Remote, Source};

use super::answers::gzip;
use super::site::{Site, respond};
use super::wire::{Wire, chunk, hold, say, say_forever};
use super::{IMPATIENT, PATIENT, fetch, name};

/// The limit of the product.
const LIMIT: usize = 1_000_000;

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns `<count> bytes` or the situation's name.
fn cost(base: &str, time: Duration) -> String {
    match fetch(base, time) {
        Ok(bytes) => format!("{} bytes", bytes.len()),
        Err(error) => name(&error).to_owned(),
    }
}

#[test]
fn a_declared_length_is_refused_before_the_body_is_read() {
    for length in [LIMIT + 1, 2_000_000, usize::MAX / 2] {
        let wire = Wire::new(move |mut stream| {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            say(&mut stream, head.as_bytes());
            // There is never a body; waiting for it runs into the time limit.
            hold(stream);
        });
        assert_eq!(cost(&wire.base(), PATIENT), "too large");
    }
}

#[test]
fn exactly_the_limit_is_accepted() {
    let declared = Site::with(200, &[], vec![b'x'; LIMIT]);
    assert_eq!(cost(&declared.base(), PATIENT), "1000000 bytes");
    let encoded = Site::with(200, &[("content-encoding", "gzip")], gzip(&[b'x'; LIMIT]));
    assert_eq!(cost(&encoded.base(), PATIENT), "1000000 bytes");
    let chunked = Wire::new(|mut stream| {
        say(&mut stream, CHUNKED);
        for _ in 0..4 {
            say(&mut stream, &chunk(&[b'x'; LIMIT / 4]));
        }
        say(&mut stream, b"0\r\n\r\n");
    });
    assert_eq!(cost(&chunked.base(), PATIENT), "1000000 bytes");
}

#[test]
fn one_byte_more_is_not() {
    let declared = Site::with(200, &[], vec![b'x'; LIMIT + 1]);
    assert_eq!(cost(&declared.base(), PATIENT), "too large");
    let encoded = Site::with(
        200,
        &[("content-encoding", "gzip")],
        gzip(&[b'x'; LIMIT + 1]),
    );
    assert_eq!(cost(&encoded.base(), PATIENT), "too large");
    let undeclared = Wire::new(|mut stream| {
        say(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n");
        say(&mut stream, &[b'x'; LIMIT + 1]);
    });
    assert_eq!(cost(&undeclared.base(), PATIENT), "too large");
}

#[test]
fn chunks_without_a_length_are_counted() {
    let wire = Wire::new(|mut stream| {
        say(&mut stream, CHUNKED);
        for _ in 0..6 {
            say(&mut stream, &chunk(&[b'x'; 256 * 1024]));
        }
        // The error is known before the last chunk.
        hold(stream);
    });
    assert_eq!(cost(&wire.base(), PATIENT), "too large");
}

#[test]
fn a_stream_without_end_is_left() {
    let wire = Wire::new(|mut stream| {
        say(&mut stream, CHUNKED);
        say_forever(&mut stream, &chunk(&[b'x'; 64 * 1024]), Duration::ZERO);
    });
    assert_eq!(cost(&wire.base(), PATIENT), "too large");
}

#[test]
fn a_small_body_that_inflates_is_stopped() {
    let zeros = vec![0; 50_000_000];
    let bomb = gzip(&zeros);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    let site = Site::with(200, &[("content-encoding", "gzip")], bomb);
    assert_eq!(cost(&site.base(), PATIENT), "too large");
}

#[test]
fn a_body_that_inflates_to_nothing_runs_out_of_time() {
    let wire = Wire::new(|mut stream| {
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n";
        say(&mut stream, head);
        say(&mut stream, &chunk(&gzip(b"")[..10]));
        // Stored blocks of no bytes, none of which is the last.
        let nothing = chunk(&[0, 0, 0, 0xff, 0xff].repeat(2_000));
        say_forever(&mut stream, &nothing, Duration::ZERO);
    });
    assert_eq!(cost(&wire.base(), IMPATIENT), "timeout");
}

/// Asserts the time limit, with some grace for a busy machine.
fn check_time(script: impl Fn(std::net::TcpStream) + Clone + Send + 'static) {
    let wire = Wire::new(script);
    let since = Instant::now();
    let error = fetch(&wire.base(), IMPATIENT).unwrap_err();
    let took = since.elapsed();
    assert_eq!(name(&error), "timeout");
    assert!(error.to_string().ends_with("within 300 ms"), "{error}");
    assert!(error.retryable());
    assert!(took >= IMPATIENT && took < IMPATIENT * 10, "{took:?}");
}

#[test]
fn silence_is_not_waited_for() {
    check_time(hold);
}

#[test]
fn slow_headers_are_not_waited_for() {
    check_time(|mut stream| {
        say(&mut stream, b"HTTP/1.1 200 OK\r\nx-filler: ");
        say_forever(&mut stream, b"a", Duration::from_millis(20));
    });
}

#[test]
fn a_dripping_body_is_not_waited_for() {
    check_time(|mut stream| {
        say(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n",
        );
        say_forever(&mut stream, b"a", Duration::from_millis(20));
    });
}

#[test]
fn a_body_that_stops_is_not_waited_for() {
    check_time(|mut stream| {
        say(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\ntext",
        );
        hold(stream);
    });
}

#[test]
fn a_pause_within_the_limit_is_fine() {
    let wire = Wire::new(|mut stream| {
        say(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\ntext",
        );
        thread::sleep(Duration::from_millis(50));
        say(&mut stream, b"text");
    });
    assert_eq!(cost(&wire.base(), PATIENT), "8 bytes");
}

/// Returns a catalog with so many languages, each file of 300 bytes.
fn catalog(languages: usize) -> Site {
    let codes: Vec<_> = (0..languages).map(|number| format!("l{number}")).collect();
    let index = format!(
        "schemaVersion: 1\nbundles: [{{ id: a, name: {{}}, languages: [{}], roles: [] }}]\n",
        codes.join(", ")
    );
    Site::new(move |asked| match asked.path.as_str() {
        "/index.yaml" => respond(200, &[], index.clone()),
        "/bundles/a/l9.yaml" => {
            thread::sleep(Duration::from_millis(400));
            respond(200, &[], "roles: []")
        }
        _ => respond(200, &[], "#".repeat(300)),
    })
}

#[test]
fn all_files_together_have_one_limit() {
    let check = |limits: Limits, expected: &str| {
        let site = catalog(10);
        let source = Source::parse(&site.base()).unwrap();
        let remote = Remote::new(source, None, limits).unwrap();
        let whole = remote.whole(&|_| true, Gaps::Refuse);
        let told = match upstream::blocking::run(whole).unwrap() {
            Ok(whole) => format!("{} files", whole.fresh),
            Err(error) => error.situation().to_string(),
        };
        assert!(told.contains(expected), "{told}");
    };
    let patient = super::limits(PATIENT);
    check(patient, "11 files");
    check(
        Limits {
            files: 9,
            ..patient
        },
        "more than 9 files",
    );
    check(
        Limits {
            total_bytes: 2000,
            ..patient
        },
        "more than 2000 bytes",
    );
    check(
        Limits {
            total_time: IMPATIENT,
            ..patient
        },
        "within 300 ms",
    );
}
