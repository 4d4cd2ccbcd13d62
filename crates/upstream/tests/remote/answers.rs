//! Answers that count as a file, and errors of the others.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::site::{Site, respond};
use super::wire::{Wire, hold, say, say_forever};
use super::{PATIENT, fetch, name, told};

/// Asserts the result for an ordinary server's answer.
fn check(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>, expected: &str) {
    let site = Site::with(status, headers, body);
    assert_eq!(told(fetch(&site.base(), PATIENT)), expected, "{status}");
    assert_eq!(site.asked().len(), 1, "asked once, whatever comes");
}

/// Asserts the result for bytes on the wire.
fn check_wire(answer: impl Into<Vec<u8>>, expected: &str) {
    let wire = Wire::saying(answer);
    assert_eq!(told(fetch(&wire.base(), PATIENT)), expected);
}

#[test]
fn a_success_is_a_file() {
    check(200, &[], "text", "fresh: text");
    check(203, &[], "text", "fresh: text");
    check(200, &[], "", "fresh: ");
    check(
        200,
        &[("content-type", "text/html; charset=latin1")],
        "text",
        "fresh: text",
    );
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = Site::with(200, &[], "text");
    for status in [300, 301, 302, 303, 307, 308] {
        let location = format!("{}/index.yaml", elsewhere.base());
        check(status, &[("location", &location)], "", "redirect");
        check(status, &[("location", "/index.yaml")], "", "redirect");
        check(status, &[], "", "redirect");
    }
    assert_eq!(elsewhere.asked().len(), 0);
}

#[test]
fn other_statuses_are_named_and_some_are_worth_another_try() {
    for (status, again) in [
        (304, false),
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (410, false),
        (429, true),
        (500, true),
        (503, true),
    ] {
        let site = Site::with(
            status,
            &[],
            if status == 304 { "" } else { "a secret body" },
        );
        let error = fetch(&site.base(), PATIENT).unwrap_err();
        let expected = format!(
            "the remote catalog at `{}` returned status {status}",
            site.host()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.retryable(), again, "{status}");
        assert_eq!(error.older(), None);
    }
}

#[test]
fn what_we_ask_for_is_decoded() {
    check(
        200,
        &[("content-encoding", "gzip")],
        gzip(b"text"),
        "fresh: text",
    );
    check(
        200,
        &[("content-encoding", "identity")],
        "text",
        "fresh: text",
    );
}

#[test]
fn what_we_did_not_ask_for_is_an_error_and_no_bytes() {
    for encoding in [
        "zstd",
        "br",
        "deflate",
        "compress",
        "gzip, br",
        "aws-chunked",
        "identity, zstd",
        "",
    ] {
        check(
            200,
            &[("content-encoding", encoding)],
            gzip(b"text"),
            "bad encoding",
        );
    }
}

#[test]
fn what_is_not_encoded_as_it_says_is_an_error() {
    let whole = gzip(&[b'x'; 10_000]);
    for encoding in ["gzip", "x-gzip"] {
        check(
            200,
            &[("content-encoding", encoding)],
            "plain text",
            "bad encoding",
        );
    }
    check(
        200,
        &[("content-encoding", "gzip")],
        &whole[..20],
        "bad encoding",
    );
    let mut wrong_sum = whole;
    let sum = wrong_sum.len() - 8;
    wrong_sum[sum] ^= 1;
    check(
        200,
        &[("content-encoding", "gzip")],
        wrong_sum,
        "bad encoding",
    );
}

#[test]
fn nobody_there() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = fetch(&format!("http://me:secret@{free}/secret"), PATIENT).unwrap_err();
    let message = error.to_string();
    let expected = format!("the remote catalog at `{free}` is unavailable: Connection refused");
    assert!(message.starts_with(&expected), "{message}");
    assert!(error.retryable());
    assert!(!format!("{error:?}").contains("secret"));
}

#[test]
fn no_such_name() {
    let error = fetch("http://catalog.invalid/", PATIENT).unwrap_err();
    assert_eq!(name(&error), "unreachable");
    super::check_manners(&error);
}

#[test]
fn a_server_that_speaks_something_else() {
    check_wire("220 mail ready\r\n", "unreachable");
    check_wire("", "unreachable");
    check_wire("HTTP/1.1 200 OK\r\ncontent-le", "unreachable");
    check_wire(
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        "unreachable",
    );
    check_wire("HTTP/9.9 200 OK\r\n\r\n", "unreachable");
    check_wire(
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\ntext",
        "unreachable",
    );
}

#[test]
fn plain_text_where_tls_is_expected() {
    let wire = Wire::at_once(|mut stream| say(&mut stream, b"HTTP/1.1 200 OK\r\n\r\ntext"));
    let source = format!("https://127.0.0.1:{}", wire.port());
    let source = upstream::catalog_remote::Source::parse(&source).unwrap();
    let remote = upstream::catalog_remote::Remote::new(source, None, super::limits(PATIENT));
    // A machine without a certificate store reports that; every other one finds that this is not TLS.
    match remote {
        Ok(remote) => assert_eq!(name(&super::index(&remote).unwrap_err()), "unreachable"),
        Err(error) => assert_eq!(name(&error), "no tls"),
    }
}

#[test]
fn headers_without_end() {
    let wire = Wire::new(|mut stream| {
        say(&mut stream, b"HTTP/1.1 200 OK\r\n");
        let lines = "x-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(1_000);
        say_forever(&mut stream, lines.as_bytes(), Duration::ZERO);
    });
    assert_eq!(told(fetch(&wire.base(), PATIENT)), "unreachable");
}

#[test]
fn the_end_comes_too_soon() {
    check_wire(
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ntext",
        "interrupted",
    );
    check_wire(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n",
        "interrupted",
    );
    check_wire(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\ntext\r\n",
        "interrupted",
    );
    let mut encoded =
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 999\r\n\r\n".to_vec();
    encoded.extend_from_slice(&gzip(b"text"));
    check_wire(encoded, "interrupted");
}

#[test]
fn a_reset_in_the_middle_of_the_body() {
    let wire = Wire::unread(|mut stream| {
        say(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\ntext",
        );
        thread::sleep(Duration::from_secs(2));
    });
    let error = fetch(&wire.base(), PATIENT).unwrap_err();
    assert_eq!(name(&error), "interrupted");
    assert!(error.retryable());
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    check_wire("HTTP/1.1 200 OK\r\n\r\ntext", "fresh: text");
    check_wire("HTTP/1.0 200 OK\r\n\r\ntext", "fresh: text");
    check_wire(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\ntext",
        "fresh: text",
    );
}

#[test]
fn an_open_connection_behind_a_whole_file_is_not_waited_for() {
    let wire = Wire::new(|mut stream| {
        say(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntext and more",
        );
        hold(stream);
    });
    assert_eq!(told(fetch(&wire.base(), PATIENT)), "fresh: text");
}

#[test]
fn a_reason_is_one_short_line() {
    let site = Site::new(|_| respond(200, &[("content-encoding", &"x".repeat(5_000))], "text"));
    let error = fetch(&site.base(), PATIENT).unwrap_err();
    super::check_manners(&error);
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
