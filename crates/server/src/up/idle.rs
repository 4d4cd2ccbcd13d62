//! Connections that wait for a request. If all slots are taken, the oldest of them is closed, so that clients which
//! send nothing do not block others.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;

/// All idle connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Idle {
    waiting: Mutex<(u64, BTreeMap<u64, Arc<Notify>>)>,
    added: Notify,
}

impl Idle {
    /// Adds a connection that has just been accepted.
    pub(super) fn accept(self: &Arc<Self>) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            all: Arc::clone(self),
            place: Mutex::new(None),
            close: Arc::default(),
        });
        connection.rest();
        connection
    }

    /// Closes the oldest, once there is one.
    pub(super) async fn close_oldest(&self) {
        loop {
            let added = self.added.notified();
            let oldest = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.1.pop_first()
            };
            if let Some((_, close)) = oldest {
                return close.notify_one();
            }
            added.await;
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Idle>,
    /// Its key among the idle ones.
    place: Mutex<Option<u64>>,
    close: Arc<Notify>,
}

impl Connection {
    /// Resolves when it has to be closed for another one.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    /// Marks it as waiting for a request.
    fn rest(&self) {
        let mut waiting = self
            .all
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.0 += 1;
        let place = waiting.0;
        waiting.1.insert(place, Arc::clone(&self.close));
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        drop(waiting);
        self.all.added.notify_one();
    }

    /// Marks it as busy with a request.
    pub(super) fn work(&self) {
        let place = self
            .place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(place) = place {
            let mut waiting = self
                .all
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            waiting.1.remove(&place);
        }
    }

    /// Keeps it busy until the body of this response is sent or dropped.
    pub(super) fn answer(self: Arc<Self>, response: Response<Body>) -> Response<Body> {
        response.map(|inner| {
            Body::new(Answer {
                inner,
                _until: Until(self),
            })
        })
    }
}

/// Removes it.
impl Drop for Connection {
    fn drop(&mut self) {
        self.work();
    }
}

/// Marks the connection as idle again when it is dropped.
#[derive(Debug)]
struct Until(Arc<Connection>);

impl Drop for Until {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// A body that is forwarded unchanged.
#[derive(Debug)]
struct Answer {
    inner: Body,
    _until: Until,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
