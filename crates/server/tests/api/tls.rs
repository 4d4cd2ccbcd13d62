//! TLS, by a client that trusts only the authority of the test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use server::up::tls::Tls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::place::Place;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a new certificate of the authority and its key.
fn issue(authority: &Authority, folder: &Path) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

/// Sends one request over TLS; returns the answer and the server's certificate.
async fn ask(
    place: &Place,
    authority: &Authority,
    request: &str,
) -> std::io::Result<(String, CertificateDer<'static>)> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(place.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await?;
    let shown = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok((answer, shown.into_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_trusts_the_authority_is_served_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority();
    issue(&authority, folder.path());
    let load = || {
        Tls::load(
            &folder.path().join("cert.pem"),
            &folder.path().join("key.pem"),
        )
    };
    let place = Place::over_tls(load().unwrap()).await;
    let get = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let (answer, first) = ask(&place, &authority, get).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");

    let body = json!({ "code": place.code() }).to_string();
    let log_in = format!(
        "POST /api/login HTTP/1.1\r\nhost: localhost\r\norigin: https://localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (answer, _) = ask(&place, &authority, &log_in).await.unwrap();
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie: "));
    assert!(cookie.unwrap().ends_with("; Secure"), "{answer}");

    let stranger = ask(&place, &self::authority(), get).await.unwrap_err();
    assert!(
        stranger.to_string().contains("invalid peer certificate"),
        "{stranger}"
    );
    let mut plain = TcpStream::connect(place.address).await.unwrap();
    plain.write_all(get.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).await.ok();
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");

    // A partly written renewal changes nothing; a complete one is used without a restart.
    std::fs::write(folder.path().join("cert.pem"), "").unwrap();
    assert!(load().unwrap_err().to_string().contains("no certificate"));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(ask(&place, &authority, get).await.unwrap().1, first);
    issue(&authority, folder.path());
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_ne!(ask(&place, &authority, get).await.unwrap().1, first);
}
