//! An ordinary web server on a separate port, which returns a test's answers and records the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Number of requests before it.
    pub(crate) before: usize,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

impl Asked {
    /// Returns a header's text; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// The server; its thread ends with the test program.
#[derive(Debug)]
pub(crate) struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub(crate) fn new(answer: impl Fn(&Asked) -> Response<Body> + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let answer = Arc::new(answer);
        let app = Router::new().fallback(move |request: Request| {
            let mut seen = seen.lock().unwrap();
            let asked = Asked {
                before: seen.len(),
                path: request.uri().to_string(),
                headers: request.headers().clone(),
            };
            seen.push(asked.clone());
            let response = answer(&asked);
            async move { response }
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { address, asked }
    }

    /// Creates a server that answers every request alike.
    pub(crate) fn with(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let body = body.into();
        Self::new(move |_| {
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            respond(status, &headers, body.clone())
        })
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns all requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn respond(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}
