//! The models: adapters and the general model, real HTTP servers on loopback whose answers depend on the seed.
//!
//! The model's name and the input determine if an answer is right, so a model always gives the same answer to the
//! same input. Every call is metered, as a provider would bill it.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::chance::even;
use crate::failure::{Failure, Result};

/// Name of the general model.
pub(crate) const GENERAL: &str = "general";
/// Probability that the general model is right.
const GENERAL_RIGHT: f64 = 0.95;
/// Dollars per million tokens of the general model, input and output.
pub(crate) const PRICE: (f64, f64) = (3.0, 15.0);
/// The same for an adapter: a tenth.
pub(crate) const ADAPTER_PRICE: (f64, f64) = (0.3, 1.5);

const TEAMS: [&str; 8] = [
    "billing", "access", "returns", "network", "payroll", "safety", "legal", "travel",
];

/// Skill of an adapter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skill {
    /// Topic that it was trained on; `None` for all.
    pub(crate) home: Option<usize>,
    /// Probability that it is right on that topic.
    pub(crate) at_home: f64,
    /// Probability that it is right on others.
    pub(crate) away: f64,
}

impl Skill {
    /// Returns the skill of an adapter that is equally good on every topic.
    pub(crate) fn even(right: f64) -> Self {
        Self {
            home: None,
            at_home: right,
            away: right,
        }
    }

    fn right(&self, topic: Option<usize>) -> f64 {
        match self.home {
            Some(home) if topic != Some(home) => self.away,
            _ => self.at_home,
        }
    }
}

/// Form of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `{"team": …}`.
    Label,
    /// A sentence, which each model words differently.
    Text,
}

/// Bill of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bill {
    /// Number of calls.
    pub(crate) calls: u64,
    /// Amount in dollars.
    pub(crate) usd: f64,
}

#[derive(Default)]
struct Known {
    topics: HashMap<String, usize>,
    skills: BTreeMap<String, Skill>,
    bills: BTreeMap<String, Bill>,
}

/// The models of one scenario.
#[derive(Clone)]
pub(crate) struct Models {
    seed: u64,
    form: Form,
    known: Arc<Mutex<Known>>,
    url: String,
}

impl Models {
    /// Starts the server on a free port; its thread ends with the process.
    pub(crate) fn start(seed: u64, form: Form) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Failure::of("cannot listen on loopback", error))?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::of("cannot tell the own address", error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| Failure::of("cannot use the listener", error))?;
        let models = Self {
            seed,
            form,
            known: Arc::default(),
            url: format!("http://{address}"),
        };
        let served = models.clone();
        thread::spawn(move || serve(listener, served));
        Ok(models)
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the form of the answers.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Sets the skill of an adapter from now on.
    pub(crate) fn set(&self, model: &str, skill: Skill) {
        self.lock().skills.insert(model.to_owned(), skill);
    }

    /// Sets the topic of a text.
    pub(crate) fn about(&self, text: &str, topic: usize) {
        self.lock().topics.insert(text.to_owned(), topic);
    }

    /// Returns the bills so far, by model.
    pub(crate) fn bills(&self) -> BTreeMap<String, Bill> {
        self.lock().bills.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the right answer.
    pub(crate) fn truth(&self, text: &str) -> Value {
        match self.form {
            Form::Label => json!({ "team": team(self.truth_at(text)) }),
            Form::Text => Value::String(excerpt(text, 0)),
        }
    }

    fn truth_at(&self, text: &str) -> usize {
        pick(even(self.seed, &["truth", text]), TEAMS.len())
    }

    /// Returns `true` if an answer is right.
    pub(crate) fn is_right(&self, text: &str, answer: &Value) -> bool {
        match self.form {
            Form::Label => *answer == self.truth(text),
            Form::Text => {
                let said = answer.as_str().unwrap_or_default();
                said.ends_with(&excerpt(text, 0))
            }
        }
    }

    /// Returns the answer of a model to a text.
    pub(crate) fn answer(&self, model: &str, text: &str) -> Value {
        let known = self.lock();
        let topic = known.topics.get(text).copied();
        let right = match known.skills.get(model) {
            Some(skill) => skill.right(topic),
            None => GENERAL_RIGHT,
        };
        drop(known);
        let is_right = even(self.seed, &["right", model, text]) < right;
        match self.form {
            Form::Label => {
                let other = 1 + pick(even(self.seed, &["wrong", model, text]), TEAMS.len() - 1);
                let step = if is_right { 0 } else { other };
                json!({ "team": team((self.truth_at(text) + step) % TEAMS.len()) })
            }
            Form::Text => {
                let opening = if model == GENERAL {
                    "Summary:"
                } else {
                    "In short:"
                };
                let from = if is_right { 0 } else { 30 };
                json!(format!("{opening} {}", excerpt(text, from)))
            }
        }
    }

    /// Returns the price of a call in dollars.
    #[expect(clippy::cast_precision_loss, reason = "the length of a text")]
    pub(crate) fn price(model: &str, text: &str, answer: &Value) -> f64 {
        let (input, output) = if model == GENERAL {
            PRICE
        } else {
            ADAPTER_PRICE
        };
        let usd = |text: &str, price: f64| tokens(text) as f64 * price / 1e6;
        usd(text, input) + usd(&said(answer), output)
    }

    fn bill(&self, model: &str, text: &str, answer: &Value) {
        let mut known = self.lock();
        let bill = known.bills.entry(model.to_owned()).or_default();
        bill.calls += 1;
        bill.usd += Self::price(model, text, answer);
    }
}

/// Returns a few words of a text, from a position on.
fn excerpt(text: &str, from: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().skip(from).take(16).collect();
    words.join(" ")
}

fn team(at: usize) -> &'static str {
    TEAMS.get(at).copied().unwrap_or("billing")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a short list"
)]
fn pick(share: f64, count: usize) -> usize {
    (share * count as f64) as usize
}

fn said(answer: &Value) -> String {
    answer
        .as_str()
        .map_or_else(|| answer.to_string(), str::to_owned)
}

/// Returns the number of tokens: a quarter of the bytes.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

fn serve(listener: TcpListener, models: Models) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return;
    };
    runtime.block_on(async {
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            let router = Router::new()
                .route("/verify", post(adapter))
                .route("/v1/chat/completions", post(general))
                .with_state(models);
            // It ends with the process; an error here shows as an unreachable backend.
            drop(axum::serve(listener, router).await);
        }
    });
}

async fn adapter(State(models): State<Models>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (Some(model), Some(text)) = (string(&request, "adapter_id"), string(&request, "input"))
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let verdict = models.answer(model, text);
    models.bill(model, text, &verdict);
    let usage = json!({ "input_tokens": tokens(text), "output_tokens": tokens(&said(&verdict)) });
    reply(&json!({ "verdict": verdict, "adapter_id": model, "usage": usage }))
}

async fn general(State(models): State<Models>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let messages = request.get("messages").and_then(Value::as_array);
    let text = messages.and_then(|all| string(all.last()?, "content"));
    let Some(text) = text else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let verdict = models.answer(GENERAL, text);
    models.bill(GENERAL, text, &verdict);
    let content = said(&verdict);
    reply(&json!({
        "object": "chat.completion", "model": GENERAL,
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": content } }],
        "usage": { "prompt_tokens": tokens(text), "completion_tokens": tokens(&content) },
    }))
}

fn string<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn reply(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}
