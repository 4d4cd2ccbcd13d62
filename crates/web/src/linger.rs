//! A client that is still sending when it is refused must get to read why: its body is read on for a moment.
//!
//! Closing a connection on which bytes lie unread resets it, and a reset can overtake the answer.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::header::{EXPECT, HeaderMap};

/// How long.
const MOMENT: Duration = Duration::from_secs(2);

/// Reads on and throws away, beside the answer. A client that asks before it sends has sent nothing, and is not asked to.
pub fn linger(headers: &HeaderMap, mut body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    tokio::spawn(tokio::time::timeout(MOMENT, async move {
        while let Some(Ok(_)) = body.frame().await {}
    }));
}
