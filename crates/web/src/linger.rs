//! Drains the body of a refused request for a moment, so that a client that is still sending receives the response.
//!
//! Closing a connection with unread bytes resets it, and a reset can overtake the response.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::header::{EXPECT, HeaderMap};

/// Longest time of draining.
const MOMENT: Duration = Duration::from_secs(2);

/// Reads and discards the body in the background. A client with `Expect` has not sent a body, and is not asked for it.
pub fn linger(headers: &HeaderMap, mut body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    tokio::spawn(tokio::time::timeout(MOMENT, async move {
        while let Some(Ok(_)) = body.frame().await {}
    }));
}
