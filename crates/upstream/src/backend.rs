//! The adapters' backends: calls with limits, a few at a time, and pauses for one that does not answer.
//!
//! `specialist` decides about requests and answers; this module transports the bytes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::config::specialist::Specialist;
use base::environment;
use hyper::header::HeaderMap;
use specialist::contract::{Answered, Call, CallError, judge, precheck};
use tokio::sync::Semaphore;

use crate::exchange::{self, Client, Post};
use crate::web_address::WebAddress;

use self::health::{Finding, Health, Patience};

mod health;

/// Limits of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time from waiting for a slot to the last byte, if the entry has no time of its own.
    pub time: Duration,
    /// Largest answer, in bytes.
    pub bytes: usize,
    /// Concurrent calls to one backend.
    pub concurrent: usize,
    /// Failures in a row after which an address is paused.
    pub failures: u64,
    /// Duration of the pause.
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

/// All backends of this process.
#[derive(Debug)]
pub struct Backends {
    limits: Limits,
    known: Mutex<HashMap<String, Arc<Backend>>>,
    turn: AtomicUsize,
    plain: Mutex<Option<Client>>,
    secure: Mutex<Option<Client>>,
}

/// One address.
#[derive(Debug)]
struct Backend {
    places: Semaphore,
    health: Mutex<Health>,
    called: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backends {
    /// Creates the backends; no call is made yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            known: Mutex::default(),
            turn: AtomicUsize::new(0),
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

    fn patience(&self) -> Patience {
        Patience {
            failures: self.limits.failures,
            rest: self.limits.rest,
        }
    }

    /// Returns `true` if one of its addresses was called before, so that it need not warm up.
    #[must_use]
    pub fn knows(&self, call: &Call) -> bool {
        let mut addresses = call.addresses().into_iter();
        addresses.any(|url| self.backend(url).called.load(Ordering::Relaxed))
    }

    /// Checks that some address may be called now. After a pause, one call may try; the others wait for its result.
    pub fn may_call(&self, call: &Call) -> Result<(), String> {
        let now = Instant::now();
        let backends: Vec<_> = call
            .addresses()
            .into_iter()
            .map(|url| self.backend(url))
            .collect();
        let mut on_trial = None;
        for backend in &backends {
            let health = locked(&backend.health);
            if health.is_on_trial(now) {
                on_trial.get_or_insert(backend);
            } else if !health.rests(now) {
                return Ok(());
            }
        }
        if let Some(backend) = on_trial {
            locked(&backend.health).try_again(self.patience(), now);
            return Ok(());
        }
        let why = backends
            .first()
            .map(|backend| locked(&backend.health).reason(now));
        Err(why.unwrap_or_default())
    }

    /// Returns the addresses in the order of calls: in turn, and paused ones only if there is no other.
    fn order<'a>(&self, call: &'a Call) -> Vec<&'a str> {
        let mut all = call.addresses();
        if all.len() > 1 {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % all.len();
            all.rotate_left(turn);
            let now = Instant::now();
            let rests = |url: &&str| locked(&self.backend(url).health).rests(now);
            let (resting, ready): (Vec<&str>, Vec<&str>) = all.into_iter().partition(rests);
            all = if ready.is_empty() { resting } else { ready };
        }
        all
    }

    /// Calls an adapter; if one address fails for a reason independent of the input, another one is called within the
    /// same time.
    pub async fn call(&self, call: &Call) -> Result<Answered, CallError> {
        precheck(call)?;
        let headers = headers(call)?;
        let time = call
            .timeout_ms
            .map_or(self.limits.time, Duration::from_millis);
        let deadline = Instant::now() + time;
        let mut last = Err(CallError::early(
            "no_backend_url",
            "the registry names no backend",
        ));
        let order = self.order(call);
        for (place, base) in order.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            // An address that hangs leaves the others their share of the time.
            let rest = u32::try_from(order.len() - place).unwrap_or(u32::MAX);
            let share = left / rest.max(1);
            if share.is_zero() {
                break;
            }
            let (answer, goes_on) = self.at(call, base, headers.clone(), share).await;
            last = answer;
            if !goes_on {
                break;
            }
        }
        last
    }

    /// Calls one address. Returns `true` if another one may succeed.
    async fn at(
        &self,
        call: &Call,
        base: &str,
        headers: HeaderMap,
        time: Duration,
    ) -> (Result<Answered, CallError>, bool) {
        let url = call.url(base);
        let address = match WebAddress::parse(&url) {
            Ok(address) => address,
            Err(why) => {
                let why = format!("`{base}`: {why}");
                return (Err(CallError::early("bad_backend_url", why)), true);
            }
        };
        let client = match self.client(address.is_https()) {
            Ok(client) => client,
            Err(why) => return (Err(CallError::early("tls_unavailable", why)), false),
        };
        let backend = self.backend(base);
        let started = Instant::now();
        let place = tokio::time::timeout(time, backend.places.acquire()).await;
        let Ok(Ok(_place)) = place else {
            let full = CallError {
                error: "timeout".to_owned(),
                detail: "no place at the backend became free within the time limit".to_owned(),
                status: Some(0),
            };
            return (Err(full), true);
        };
        let post = Post {
            address: &address,
            headers,
            body: call.body.to_string(),
            time: time.saturating_sub(started.elapsed()),
            limit: self.limits.bytes,
        };
        let received = exchange::post(&client, post).await;
        let answer = judge(
            call,
            &received.wire,
            received.elapsed.as_secs_f64() * 1000.0,
        );
        let is_other = matches!(&answer, Err(error) if error.error == "adapter_id_mismatch");
        let finding = Finding::of(&received.wire, received.retry_after, is_other);
        locked(&backend.health).note(finding, self.patience(), Instant::now());
        backend.called.store(true, Ordering::Relaxed);
        (answer, finding.is_worth_another())
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

/// Returns a warning about an address: prompts are sent unencrypted.
#[must_use]
pub fn warning(backend_url: &str) -> Option<String> {
    let url = match WebAddress::parse(backend_url) {
        Ok(url) => url,
        Err(why) => return Some(format!("backend `{backend_url}` cannot be asked: {why}")),
    };
    (!url.is_https() && !url.is_loopback()).then(|| {
        format!("backend `{backend_url}` is plain http to another machine: inputs and verdicts travel in the open")
    })
}
