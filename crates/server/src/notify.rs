//! Webhooks: events that need a person are posted as JSON, signed if a secret is set, and retried while they fail.
//!
//! Nothing waits for a webhook: messages go into a bounded queue, and the rest is counted and dropped. Each webhook has
//! a separate queue, so that one that does not answer does not delay another.

use std::sync::Arc;
use std::time::Duration;

use base::clock;
use base::config::notify::{Happening, Notify};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use sha2::Sha256;
use specialist::contract::Wire;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use zeroize::Zeroizing;

use crate::up::{App, UpError, named_secret};
use upstream::exchange::{self, Client, Post};
use upstream::web_address::WebAddress;
use web::news::News;

/// Most messages that wait for one webhook.
const MAX_WAITING: usize = 256;
/// Attempts per message.
const TRIES: u32 = 8;
/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Longest time of one attempt.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer that is read; its content is ignored.
const MAX_ANSWER: usize = 64 * 1024;

const SIGNATURE: HeaderName = HeaderName::from_static("x-roleos-signature");
const EVENT: HeaderName = HeaderName::from_static("x-roleos-event");
const DELIVERY: HeaderName = HeaderName::from_static("x-roleos-delivery");

/// One message; retries carry the same id.
#[derive(Clone, Debug)]
struct Message {
    id: String,
    event: &'static str,
    body: String,
}

/// One `[[notify]]`.
#[derive(Debug)]
struct Hook {
    address: WebAddress,
    events: Vec<Happening>,
    secret: Option<Zeroizing<Vec<u8>>>,
    client: Client,
    queue: Sender<Message>,
}

/// All webhooks, and their queues until the process serves.
#[derive(Debug)]
pub(crate) struct Webhooks {
    hooks: Vec<Arc<Hook>>,
    waiting: Vec<Receiver<Message>>,
}

impl Webhooks {
    /// Reads the settings.
    pub(crate) fn open(set: &[Notify]) -> Result<Self, UpError> {
        let mut webhooks = Self {
            hooks: Vec::new(),
            waiting: Vec::new(),
        };
        for (index, one) in set.iter().enumerate() {
            let bad = |why: String| {
                UpError::Setting(format!(
                    "`url` of `[[notify]]` {} cannot be used: {why}",
                    index + 1
                ))
            };
            let address = WebAddress::parse(&one.url).map_err(bad)?;
            let secret = match one.secret_env.as_str() {
                "" => None,
                name => Some(Zeroizing::new(named_secret("notify.secret_env", name)?)),
            };
            let (queue, waiting) = channel(MAX_WAITING);
            webhooks.hooks.push(Arc::new(Hook {
                client: exchange::client(address.is_https()).map_err(bad)?,
                address,
                events: one.events.clone(),
                secret,
                queue,
            }));
            webhooks.waiting.push(waiting);
        }
        Ok(webhooks)
    }

    /// Starts sending, on the caller's runtime; sending stops with it.
    pub(crate) fn start(self, app: &Arc<App>) {
        for (hook, mut waiting) in self.hooks.into_iter().zip(self.waiting) {
            let app = Arc::clone(app);
            tokio::spawn(async move {
                while let Some(message) = waiting.recv().await {
                    let delivered = hook.deliver(&message).await;
                    app.metrics
                        .notified(if delivered { "delivered" } else { "failed" });
                }
            });
        }
    }

    /// Returns the receiver of news; `lost` is called for each message that did not fit.
    pub(crate) fn listener(
        &self,
        root: String,
        lost: impl Fn() + Send + Sync + 'static,
    ) -> impl Fn(&News) + Send + Sync + 'static {
        let hooks = self.hooks.clone();
        move |news| {
            for (happening, data) in messages(news) {
                let message = message(happening, &root, &data);
                for hook in &hooks {
                    let wanted = hook.events.contains(&happening);
                    if wanted && hook.queue.try_send(message.clone()).is_err() {
                        lost();
                    }
                }
            }
        }
    }
}

impl Hook {
    async fn deliver(&self, message: &Message) -> bool {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let received = exchange::post(&self.client, self.post(message)).await;
            match received.wire {
                Wire::Answer { status, .. } | Wire::Broken { status, .. } => match status {
                    200..=299 => return true,
                    408 | 425 | 429 | 500.. => {}
                    // It does not accept the message, and will not later.
                    _ => return false,
                },
                _ => {}
            }
            if attempt < TRIES {
                let asked = received.retry_after.unwrap_or_default();
                tokio::time::sleep(pause.max(asked).min(LONGEST_PAUSE)).await;
                pause *= 2;
            }
        }
        false
    }

    fn post(&self, message: &Message) -> Post<'_> {
        let mut headers = HeaderMap::new();
        headers.insert(EVENT, HeaderValue::from_static(message.event));
        if let Ok(id) = HeaderValue::from_str(&message.id) {
            headers.insert(DELIVERY, id);
        }
        let seconds = clock::now_ns() / 1_000_000_000;
        if let Some(value) = self.signature(seconds, &message.body) {
            headers.insert(SIGNATURE, value);
        }
        Post {
            address: &self.address,
            headers,
            body: message.body.clone(),
            time: PATIENCE,
            limit: MAX_ANSWER,
        }
    }

    /// Returns `t=<seconds>,v1=<hex>`: the HMAC-SHA256 of the seconds, a point and the body, so that an old message
    /// cannot be replayed as a new one.
    fn signature(&self, seconds: u64, body: &str) -> Option<HeaderValue> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_ref()?).ok()?;
        mac.update(format!("{seconds}.{body}").as_bytes());
        let mac = hex::encode(mac.finalize().into_bytes());
        HeaderValue::from_str(&format!("t={seconds},v1={mac}")).ok()
    }
}

fn message(event: Happening, root: &str, data: &Value) -> Message {
    let id = base::fresh_task_id().to_string();
    let body = json!({
        "id": id,
        "event": event.name(),
        "time": clock::text(clock::now_ns()),
        "workspace": root,
        "data": data,
    });
    Message {
        id,
        event: event.name(),
        body: body.to_string(),
    }
}

/// Returns the messages, without commands and arguments, which stay on this machine.
fn messages(news: &News) -> Vec<(Happening, Value)> {
    let mut found = Vec::new();
    for decision in news.decisions.iter().filter(|one| one.verdict == "deny") {
        let data = json!({
            "session": decision.session,
            "agent": decision.agent,
            "tool": decision.tool,
            "actions": decision.actions,
            "refusal": decision.refusal,
            "time": decision.time,
        });
        found.push((Happening::Denial, data.clone()));
        if let (Some(id), Value::Object(mut data)) = (&decision.refusal, data) {
            data.insert("approve".to_owned(), json!(format!("roleos approve {id}")));
            found.push((Happening::WaitingApproval, Value::Object(data)));
        }
    }
    for event in news.events.iter().filter(|one| one.kind == "halt") {
        let data = json!({ "role": event.role, "time": event.ts, "halt": event.data });
        found.push((Happening::Halt, data));
    }
    if let Some(reasons) = &news.failed {
        found.push((Happening::FailedAcceptance, json!({ "reasons": reasons })));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use index::rows::Event;

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_waits() {
        let set = Notify {
            url: "http://127.0.0.1:1".to_owned(),
            events: vec![Happening::Halt],
            secret_env: String::new(),
        };
        let webhooks = Webhooks::open(&[set]).unwrap();
        let lost: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&lost);
        let listener = webhooks.listener(String::new(), move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let halt = Event {
            role: "r".to_owned(),
            kind: "halt".to_owned(),
            ts: String::new(),
            agreed: None,
            data: Value::Null,
        };
        let news = News {
            events: vec![halt; MAX_WAITING + 7],
            // Not requested.
            failed: Some(vec!["x".to_owned()]),
            ..News::default()
        };
        listener(&news);
        assert_eq!(lost.load(Ordering::Relaxed), 7);
    }
}
