//! A body in memory, with its part of the budget over all bodies. Both are given back with the last of its bytes.

use std::sync::Arc;

use axum::BoxError;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::up::App;

/// Memory is taken in such steps at least.
const STEP_KIB: usize = 64;

/// Bytes that have come, and the part of the budget that they take.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Vec<u8>,
    budget: Arc<Semaphore>,
    part: Option<OwnedSemaphorePermit>,
    kib: usize,
}

impl Held {
    /// Takes the part for a body of this length, or for the beginning of one. `None` when there is none left.
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

    /// Takes what is missing for so many bytes.
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

    /// Reads a body to its end; `false` when the budget does not reach.
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
                // Never more than the part that was taken, so that the budget is what the process has.
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
