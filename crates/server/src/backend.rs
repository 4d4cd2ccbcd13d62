//! The adapters' backends: calls under limits, a few at a time, and none for a while to one that does not answer.
//!
//! What is sent and what counts as an answer is decided in `specialist`; here the bytes travel.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use host::config::specialist::Specialist;
use host::environment;
use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use specialist::contract::{Answered, Call, CallError, Wire, judge, precheck};
use tokio::sync::Semaphore;

use crate::exchange::{self, Post};

/// What calls may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From waiting for a free place to the last byte, when the entry names no time of its own.
    pub time: Duration,
    /// Largest answer, in bytes.
    pub bytes: usize,
    /// Calls to one backend at the same time.
    pub concurrent: usize,
    /// Transport failures in a row after which a backend is left alone.
    pub failures: u64,
    /// For how long.
    pub rest: Duration,
}

impl From<&Specialist> for Limits {
    fn from(set: &Specialist) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            time: Duration::from_millis(set.backend_timeout_ms.get()),
            bytes: number(set.max_answer_kib.get().saturating_mul(1024)),
            concurrent: number(set.max_concurrent.get()),
            failures: set.breaker_failures.get(),
            rest: Duration::from_secs(set.breaker_seconds.get()),
        }
    }
}

/// All backends that this process talks to.
#[derive(Debug)]
pub struct Backends {
    limits: Limits,
    known: Mutex<HashMap<String, Arc<Backend>>>,
    plain: Mutex<Option<Client>>,
    secure: Mutex<Option<Client>>,
}

/// One backend.
#[derive(Debug)]
struct Backend {
    places: Semaphore,
    health: Mutex<Health>,
    called: AtomicBool,
}

/// How it did lately.
#[derive(Debug, Default)]
struct Health {
    failures: u64,
    rests_until: Option<Instant>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backends {
    /// Nobody is called yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            known: Mutex::default(),
            plain: Mutex::default(),
            secure: Mutex::default(),
        }
    }

    fn backend(&self, url: &str) -> Arc<Backend> {
        let mut known = locked(&self.known);
        let backend = known.entry(url.to_owned()).or_insert_with(|| {
            Arc::new(Backend {
                places: Semaphore::new(self.limits.concurrent.min(Semaphore::MAX_PERMITS)),
                health: Mutex::default(),
                called: AtomicBool::new(false),
            })
        });
        Arc::clone(backend)
    }

    /// Whether a backend was talked to before, so that it need not warm up.
    #[must_use]
    pub fn knows(&self, call: &Call) -> bool {
        let backend = self.backend(&call.backend_url);
        backend.called.load(Ordering::Relaxed)
    }

    /// Whether a backend may be asked now. When its rest is over, one call may try; the others wait for what it finds.
    ///
    /// # Errors
    /// It is left alone, and why.
    pub fn may_call(&self, call: &Call) -> Result<(), String> {
        let backend = self.backend(&call.backend_url);
        let mut health = locked(&backend.health);
        let now = Instant::now();
        match health.rests_until {
            None => Ok(()),
            Some(until) if until <= now => {
                health.rests_until = Some(now + self.limits.rest);
                Ok(())
            }
            Some(_) => Err(format!(
                "the backend did not answer {} times in a row and is left alone for {} seconds",
                health.failures,
                self.limits.rest.as_secs()
            )),
        }
    }

    /// Asks an adapter.
    ///
    /// # Errors
    /// There was no answer that counts.
    pub async fn call(&self, call: &Call) -> Result<Answered, CallError> {
        precheck(call)?;
        let url = call.url();
        let address = exchange::address(&url).map_err(|why| {
            CallError::early("bad_backend_url", format!("`{}`: {why}", call.backend_url))
        })?;
        let headers = headers(call)?;
        let client = self
            .client(address.scheme() == "https")
            .map_err(|why| CallError::early("tls_unavailable", why))?;
        let backend = self.backend(&call.backend_url);
        let time = call
            .timeout_ms
            .map_or(self.limits.time, Duration::from_millis);
        let started = Instant::now();
        let place = tokio::time::timeout(time, backend.places.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(CallError {
                error: "timeout".to_owned(),
                detail: "no place at the backend became free within the time limit".to_owned(),
                status: Some(0),
            });
        };
        let post = Post {
            url: address.as_str(),
            headers,
            body: call.body.to_string(),
            time: time.saturating_sub(started.elapsed()),
            limit: self.limits.bytes,
        };
        let received = exchange::post(&client, post).await;
        self.note(&backend, &received.wire);
        backend.called.store(true, Ordering::Relaxed);
        judge(
            call,
            &received.wire,
            received.elapsed.as_secs_f64() * 1000.0,
        )
    }

    /// A backend that answers anything at all is alive.
    fn note(&self, backend: &Backend, wire: &Wire) {
        let mut health = locked(&backend.health);
        match wire {
            Wire::Answer { .. } | Wire::Broken { .. } => *health = Health::default(),
            Wire::Timeout | Wire::Failed(_) => {
                health.failures = health.failures.saturating_add(1);
                if health.failures >= self.limits.failures {
                    health.rests_until = Some(Instant::now() + self.limits.rest);
                }
            }
        }
    }

    fn client(&self, https: bool) -> Result<Client, String> {
        let slot = if https { &self.secure } else { &self.plain };
        let mut slot = locked(slot);
        if let Some(client) = &*slot {
            return Ok(client.clone());
        }
        let client = exchange::client(https)?;
        *slot = Some(client.clone());
        Ok(client)
    }
}

fn headers(call: &Call) -> Result<HeaderMap, CallError> {
    let mut headers = HeaderMap::new();
    let Some(name) = &call.auth_env else {
        return Ok(headers);
    };
    let missing = || {
        let detail = format!("the variable `{name}` holds no token that can be sent");
        CallError::early("missing_auth", detail)
    };
    let token = environment::secret(name).ok_or_else(missing)?;
    let token = token.reveal().to_str().ok_or_else(missing)?;
    let (header, value) = exchange::bearer(token).ok_or_else(missing)?;
    headers.insert(header, value);
    Ok(headers)
}

/// What a person should know about an address: prompts in the open.
#[must_use]
pub fn warning(backend_url: &str) -> Option<String> {
    let url = match exchange::address(backend_url) {
        Ok(url) => url,
        Err(why) => return Some(format!("backend `{backend_url}` cannot be asked: {why}")),
    };
    (url.scheme() == "http" && !is_loopback(&url)).then(|| {
        format!("backend `{backend_url}` is plain http to another machine: inputs and verdicts travel in the open")
    })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
