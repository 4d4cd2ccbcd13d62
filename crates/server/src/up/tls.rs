//! TLS for clients: a certificate and its key from files, read again when they change.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::files::{self, Action, FileError};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use super::UpError;

/// Longest file that is read.
const MAX_FILE: u64 = 1024 * 1024;
/// Shortest time between two checks of the files.
const EVERY: Duration = Duration::from_secs(1);

/// Mark of a file's content that is compared without reading it.
type Stamp = [(u64, u64, i64, i64); 2];

/// A certificate chain with its key.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    acceptor: TlsAcceptor,
    stamp: Stamp,
    looked: Instant,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads PEM files: the certificate with the chain above it, and its private key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, UpError> {
        for file in [certificate, key] {
            files::metadata(file)
                .map_err(|error| UpError::File(FileError::new(Action::Read, file, error)))?;
        }
        let stamp = stamp(certificate, key)
            .map_err(|error| UpError::Tls(format!("cannot read the certificate: {error}")))?;
        Ok(Self {
            current: Mutex::new(Current {
                acceptor: acceptor(certificate, key)?,
                stamp,
                looked: Instant::now(),
            }),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        })
    }

    /// Returns the acceptor for a new connection. Changed files are read again; while they are unusable (a renewal
    /// writes one after the other), the last valid ones stay.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= EVERY {
            current.looked = Instant::now();
            self.renew(&mut current);
        }
        current.acceptor.clone()
    }

    fn renew(&self, current: &mut Current) {
        let Ok(stamp) = stamp(&self.certificate, &self.key) else {
            return;
        };
        if stamp == current.stamp {
            return;
        }
        if let Ok(acceptor) = acceptor(&self.certificate, &self.key) {
            current.acceptor = acceptor;
            current.stamp = stamp;
        }
    }
}

fn stamp(certificate: &Path, key: &Path) -> io::Result<Stamp> {
    let one = |path: &Path| {
        let found = std::fs::metadata(path)?;
        Ok::<_, io::Error>((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
    };
    Ok([one(certificate)?, one(key)?])
}

fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, UpError> {
    let fail = |path: &Path, why: &dyn std::fmt::Display| {
        UpError::Tls(format!("cannot use `{}` for TLS: {why}", path.display()))
    };
    let pem = files::read(certificate, MAX_FILE)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.map_err(|error| fail(certificate, &error))?;
    if chain.is_empty() {
        return Err(fail(certificate, &"it holds no certificate in PEM form"));
    }
    let pem = Zeroizing::new(files::read(key, MAX_FILE)?);
    let secret = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| fail(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, secret)
        })
        .map_err(|error| fail(certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
