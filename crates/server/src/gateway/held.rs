//! A body in memory, with its share of the budget of all bodies. Both are released with its last byte.

use std::sync::Arc;

use axum::BoxError;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::up::App;

/// Smallest step in which memory is reserved.
const STEP_KIB: usize = 64;

/// Received bytes, and their share of the budget.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Vec<u8>,
    budget: Arc<Semaphore>,
    part: Option<OwnedSemaphorePermit>,
    kib: usize,
}

impl Held {
    /// Reserves the share for a body of this length, or for the beginning of one. Returns `None` if none is left.
    pub(super) fn new(app: &App, length: Option<u64>) -> Option<Self> {
        let length = length.and_then(|length| usize::try_from(length).ok());
        let mut held = Self {
            bytes: Vec::new(),
            budget: Arc::clone(&app.gateway.bodies),
            part: None,
            kib: 0,
        };
        held.reserve(length.unwrap_or(0)).then_some(held)
    }

    /// Reserves the missing share for a length.
    fn reserve(&mut self, length: usize) -> bool {
        let wanted = length.div_ceil(1024);
        if wanted <= self.kib {
            return true;
        }
        let more = (wanted - self.kib).max(STEP_KIB);
        let Ok(number) = u32::try_from(more) else {
            return false;
        };
        let Ok(part) = Arc::clone(&self.budget).try_acquire_many_owned(number) else {
            return false;
        };
        match &mut self.part {
            Some(had) => had.merge(part),
            None => self.part = Some(part),
        }
        self.kib += more;
        true
    }

    /// Reads a body to its end; returns `false` if the budget is exceeded.
    pub(super) async fn fill<B>(&mut self, body: &mut B) -> Result<bool, BoxError>
    where
        B: HttpBody<Data = Bytes, Error = BoxError> + Unpin,
    {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            let length = self.bytes.len() + data.len();
            if !self.reserve(length) {
                return Ok(false);
            }
            if length > self.bytes.capacity() {
                // Never more than the reserved share, so that the budget limits the process's memory.
                let room = (self.bytes.capacity() * 2).clamp(length, (self.kib * 1024).max(length));
                self.bytes.reserve_exact(room - self.bytes.len());
            }
            self.bytes.extend_from_slice(&data);
        }
        Ok(true)
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
