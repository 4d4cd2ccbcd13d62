//! Sends shipments to a `roleos up`, and returns its answers without trusting them.

use std::time::Duration;

use bytes::Bytes;
use evidence::archive::people::enrolment;
use evidence::archive::shipment::MAX_SHIPMENT;
use evidence::shipping::{IdentityAnswer, ShipAnswer};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::catalog_remote::error::reason;
use crate::exchange::{self, Client, secret};
use crate::web_address::WebAddress;

/// The header with the token of a `roleos up`.
pub const TOKEN: HeaderName = HeaderName::from_static("x-roleos-token");
/// Longest time of one request.
const PATIENCE: Duration = Duration::from_secs(120);
/// Largest answer that is read: proofs of as many bundles as fit a shipment.
const MAX_ANSWER: usize = 2 * MAX_SHIPMENT;

/// Error of sending.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The address cannot be used.
    #[error("the address `{address}` cannot be used: {why}")]
    Address {
        /// The given address, without user info.
        address: String,
        /// Reason.
        why: String,
    },
    /// It cannot be reached or is busy; a retry can succeed.
    #[error("`{address}` cannot be reached: {why}")]
    Away {
        address: String,
        /// Reason.
        why: String,
        /// Requested pause.
        again: Option<Duration>,
    },
    #[error("`{address}` refused: {message}")]
    Refused {
        address: String,
        /// Stable name of the reason.
        code: String,
        /// The reason.
        message: String,
        /// Remedy.
        hint: Option<String>,
    },
}

/// Client of one archive.
#[derive(Debug)]
pub struct Shipper {
    address: WebAddress,
    token: Option<HeaderValue>,
    client: Client,
}

impl Shipper {
    /// Creates a client. Another machine must be reached over TLS, because shipments hold prompts and diffs.
    ///
    /// # Errors
    /// The address or the token cannot be used.
    pub fn to(address: &str, token: Option<&str>) -> Result<Self, SendError> {
        let bad = |why: String| SendError::Address {
            address: address
                .split('@')
                .next_back()
                .unwrap_or_default()
                .to_owned(),
            why,
        };
        let parsed = WebAddress::parse(address.trim_end_matches('/')).map_err(bad)?;
        if !parsed.is_https() && !parsed.is_loopback() {
            return Err(bad("another machine must be reached by https".to_owned()));
        }
        let no_token = || bad("the token cannot stand in a header".to_owned());
        let token = token.map(|token| secret(TOKEN, token.trim()).ok_or_else(no_token));
        Ok(Self {
            client: exchange::client(parsed.is_https()).map_err(bad)?,
            address: parsed,
            token: token.transpose()?.map(|(_, value)| value),
        })
    }

    /// Requests the name and keys of the archive.
    ///
    /// # Errors
    /// It does not answer, or another server does.
    pub async fn identity(&self) -> Result<IdentityAnswer, SendError> {
        self.ask(Method::GET, "/api/ship", None, Bytes::new()).await
    }

    /// Sends a shipment.
    ///
    /// # Errors
    /// There was no answer; the shipment may have arrived.
    pub async fn send(&self, shipment: Vec<u8>) -> Result<ShipAnswer, SendError> {
        let kind = "application/octet-stream";
        self.ask(Method::POST, "/api/ship", Some(kind), shipment.into())
            .await
    }

    /// Enrols the key of this machine with a one-time code.
    ///
    /// # Errors
    /// There was no answer, or a refusal.
    pub async fn enroll(
        &self,
        code: &str,
        machine: &str,
        key: &witness::key::SigningKey,
    ) -> Result<IdentityAnswer, SendError> {
        let signature = key.sign(&enrolment(code));
        let body = json!({
            "code": code,
            "machine": machine,
            "public_key": hex::encode(key.public().to_bytes()),
            "signature": hex::encode(signature),
        });
        let kind = Some("application/json");
        self.ask(
            Method::POST,
            "/api/ship/enroll",
            kind,
            body.to_string().into(),
        )
        .await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        kind: Option<&'static str>,
        body: Bytes,
    ) -> Result<T, SendError> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(method, path, kind, body)).await;
        let (status, headers, body) = match answer {
            Ok(answer) => answer.map_err(|why| self.away(why, None))?,
            Err(_) => return Err(self.away("it did not answer in time".to_owned(), None)),
        };
        if (200..300).contains(&status) {
            return serde_json::from_slice(&body).map_err(|error| {
                self.refused(
                    "not_an_archive",
                    &format!("it is not a `roleos up` that takes shipments: {error}"),
                    None,
                )
            });
        }
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        let value = value.get("error").cloned().unwrap_or(value);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let message = text("message").map_or_else(|| format!("status {status}"), str::to_owned);
        if matches!(status, 408 | 425 | 429 | 500..) {
            let again = headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            let again = again
                .and_then(|text| text.parse().ok())
                .map(Duration::from_secs);
            return Err(self.away(message, again));
        }
        Err(self.refused(text("code").unwrap_or("refused"), &message, text("hint")))
    }

    fn away(&self, why: String, again: Option<Duration>) -> SendError {
        SendError::Away {
            address: self.address.origin(),
            why,
            again,
        }
    }

    fn refused(&self, code: &str, message: &str, hint: Option<&str>) -> SendError {
        SendError::Refused {
            address: self.address.origin(),
            code: code.to_owned(),
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        kind: Option<&'static str>,
        body: Bytes,
    ) -> Result<(u16, HeaderMap, Bytes), String> {
        let base = self.address.path().trim_end_matches('/').to_owned();
        let address = self.address.with_path(format!("{base}{path}"));
        let mut request: Request<Full<Bytes>> =
            exchange::request(method, &address, HeaderMap::new(), String::new())?;
        request.headers_mut().remove(hyper::header::ACCEPT_ENCODING);
        if let Some(kind) = kind {
            let kind = HeaderValue::from_static(kind);
            request.headers_mut().insert(CONTENT_TYPE, kind);
        }
        if let Some(token) = &self.token {
            request.headers_mut().insert(TOKEN, token.clone());
        }
        *request.body_mut() = Full::new(body);
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| reason(&error))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|error| format!("its answer broke off: {error}"))?;
        Ok((parts.status.as_u16(), parts.headers, body.to_bytes()))
    }
}
