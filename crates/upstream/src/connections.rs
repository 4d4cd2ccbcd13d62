//! Connections to other servers: HTTP/1.1, plain or with TLS, kept for a while and reused. No proxy, no redirect.

use std::time::Duration;

use hyper::Request;
use hyper::Response;
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// Time that an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// A client for either plain or encrypted connections.
#[derive(Clone, Debug)]
pub enum Connections<B> {
    Plain(Client<HttpConnector, B>),
    /// https; trust comes from the system's certificate store.
    Secure(Client<HttpsConnector<HttpConnector>, B>),
}

impl<B> Connections<B>
where
    B: Body + Send + 'static + Unpin,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Prepares plain connections; `connect` limits the time to establish one.
    pub fn plain(connect: Option<Duration>) -> Self {
        Self::Plain(builder().build(connector(connect)))
    }

    /// Prepares encrypted connections.
    pub fn secure(connect: Option<Duration>) -> Result<Self, String> {
        let https = HttpsConnectorBuilder::new()
            .try_with_platform_verifier()
            .map_err(|error| error.to_string())?
            .https_only()
            .enable_http1()
            .wrap_connector(connector(connect));
        Ok(Self::Secure(builder().build(https)))
    }

    /// Sends a request and waits for the head of the answer.
    pub async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Secure(client) => client.request(request).await,
        }
    }
}

fn builder() -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_preserve_header_case(true);
    builder
}

fn connector(connect: Option<Duration>) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(connect);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Duration::from_secs(60)));
    connector.enforce_http(false);
    connector
}
