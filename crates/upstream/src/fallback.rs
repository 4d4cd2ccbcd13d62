//! The general model of `[fallback.claude]`: Anthropic's Messages API, chat completions, or a program.
//!
//! If none is configured, there is no answer; nothing is ever invented. The cap on the day's spending is checked before
//! a call, not afterwards.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use base::config::specialist::{Claude, Kind};
use base::environment;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use routing::specialists::command;
use routing::specialists::spending::{MicroUsd, Spending, SpendingError};
use serde_json::{Map, Value, json};
use specialist::contract::{Usage, Wire, read_text};

use crate::exchange::{self, Client, Post, Received};
use crate::web_address::WebAddress;

/// Address of Anthropic's API.
pub const ANTHROPIC: &str = "https://api.anthropic.com";

/// Address of OpenAI's API.
pub const OPENAI: &str = "https://api.openai.com";

/// The version of the Messages API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Largest answer, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// The first pause before a retry; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause, regardless of the server's request.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    pub role: &'a str,
    /// The role's own instructions, if it is installed.
    pub instructions: Option<&'a str>,
    pub input: &'a Value,
    /// The caller's id for it.
    pub trace_id: &'a str,
    /// The client's text beside the input.
    pub beside: Option<&'a Beside>,
}

/// A client's text and settings beside its input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// Its own instructions, after those of the role.
    pub system: Option<String>,
    /// Settings, named as in the general model's API.
    pub settings: Map<String, Value>,
}

/// The general model's answer, with usage.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The answer.
    pub verdict: Value,
    /// The tokens, if reported.
    pub usage: Option<Usage>,
    /// Its cost, by the set prices.
    pub cost: MicroUsd,
}

/// Reason why the general model did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FallbackError {
    /// None is configured.
    #[error("no general model is configured")]
    NotConfigured,
    /// The settings contradict each other.
    #[error("`[fallback.claude]` cannot be used: {0}")]
    Settings(String),
    /// The day's budget is spent.
    #[error(transparent)]
    Spending(#[from] SpendingError),
    /// It is overloaded, or the client has called too often.
    #[error("the general model did not answer: http_429")]
    Busy {
        /// Requested pause.
        retry_after: Option<Duration>,
    },
    /// It was called and did not answer.
    #[error("the general model did not answer: {0}")]
    NoAnswer(String),
    /// The caller calls it.
    #[error("the general model is asked elsewhere")]
    Elsewhere,
}

impl FallbackError {
    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotConfigured | Self::Settings(_) => {
                "set `kind` under `[fallback.claude]` in `.role-os/config.toml`: \"anthropic\", \"openai\" or \"command\""
            }
            Self::Spending(_) => {
                "raise `daily_cap_usd` under `[fallback.claude]`, or wait until tomorrow (UTC)"
            }
            Self::NoAnswer(_) | Self::Busy { .. } | Self::Elsewhere => {
                "try again; `[fallback.claude]` in `.role-os/config.toml` says who is asked"
            }
        }
    }

    /// Returns `true` if the same dispatch can succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::NoAnswer(_) | Self::Busy { .. } | Self::Spending(SpendingError::Cap { .. })
        )
    }
}

/// The general model.
#[derive(Debug)]
pub struct Fallback {
    set: Claude,
    spending: Spending,
    client: OnceLock<Result<Client, String>>,
}

impl Fallback {
    /// Creates the general model of the settings; `None` if they name none. `folder` contains the spending.
    #[must_use]
    pub fn new(set: &Claude, folder: &Path) -> Option<Self> {
        if set.kind == Kind::None {
            return None;
        }
        let cap = micro(set.daily_cap_usd.get());
        Some(Self {
            set: set.clone(),
            spending: Spending::new(folder, (cap > 0).then_some(cap)),
            client: OnceLock::new(),
        })
    }

    pub async fn ask(&self, prompt: Prompt<'_>) -> Result<Said, FallbackError> {
        match self.set.kind {
            Kind::None => Err(FallbackError::NotConfigured),
            Kind::Command => self.run(prompt).await,
            Kind::Anthropic | Kind::OpenAi => self.request(prompt).await,
        }
    }

    /// Returns the highest cost of one prompt, by the set prices.
    #[must_use]
    pub fn most(&self, prompt: Prompt<'_>) -> MicroUsd {
        match self.set.kind {
            Kind::None => 0,
            Kind::Command => micro(self.set.usd_per_call.get()),
            Kind::Anthropic | Kind::OpenAi => {
                let body = self.body(prompt).to_string();
                self.cost(body.len() as u64, self.set.max_tokens.get())
            }
        }
    }

    /// Reserves the highest cost of a request with `body` bytes, for a caller that makes the call itself.
    pub fn set_aside(
        &self,
        body: usize,
        max_tokens: Option<u64>,
    ) -> Result<MicroUsd, FallbackError> {
        let tokens = max_tokens.unwrap_or_else(|| self.set.max_tokens.get());
        let most = self.cost(body as u64, tokens);
        self.spending.reserve(most)?;
        Ok(most)
    }

    /// Releases a reserved amount after a call without cost.
    pub fn give_back(&self, amount: MicroUsd) {
        self.spending.settle(amount, 0).ok();
    }

    async fn run(&self, prompt: Prompt<'_>) -> Result<Said, FallbackError> {
        let words = self.set.command.clone();
        if words.is_empty() {
            return Err(FallbackError::Settings(
                "`command` names no program".to_owned(),
            ));
        }
        let price = micro(self.set.usd_per_call.get());
        self.spending.reserve(price)?;
        let input =
            json!({ "role": prompt.role, "input": prompt.input, "trace_id": prompt.trace_id })
                .to_string();
        let time = self.set.timeout();
        let ran = tokio::task::spawn_blocking(move || {
            command::run(&words, input.as_bytes(), time, MAX_ANSWER)
        });
        let output = ran
            .await
            .map_err(|error| FallbackError::NoAnswer(error.to_string()))?;
        let output = output.map_err(|error| FallbackError::NoAnswer(error.to_string()))?;
        let text = String::from_utf8(output)
            .map_err(|_| FallbackError::NoAnswer("the program's output is no text".to_owned()))?;
        if text.trim().is_empty() {
            return Err(FallbackError::NoAnswer(
                "the program printed nothing".to_owned(),
            ));
        }
        Ok(Said {
            verdict: read_text(&text),
            usage: None,
            cost: price,
        })
    }

    async fn request(&self, prompt: Prompt<'_>) -> Result<Said, FallbackError> {
        if self.set.model.is_empty() {
            return Err(FallbackError::Settings("`model` is empty".to_owned()));
        }
        let url = self.url();
        let address = WebAddress::parse(&url)
            .map_err(|why| FallbackError::Settings(format!("`base_url`: {why}")))?;
        let client = self
            .client
            .get_or_init(|| exchange::client(address.is_https()));
        let client = client
            .as_ref()
            .map_err(|why| FallbackError::NoAnswer(why.clone()))?;
        let headers = self.headers()?;
        let body = self.body(prompt);
        let max_tokens = body.get("max_tokens").and_then(Value::as_u64);
        let body = body.to_string();
        // No tokenizer makes more tokens than there are bytes.
        let most = self.cost(
            body.len() as u64,
            max_tokens.unwrap_or_else(|| self.set.max_tokens.get()),
        );
        self.spending.reserve(most)?;
        let received = self.attempts(client, &address, &headers, &body).await;
        let answer = answer(&received.wire).map(|answer| (self.verdict(&answer), used(&answer)));
        let cost = match &answer {
            Ok((_, Some(used))) => self.cost(used.input, used.output),
            // Without usage figures, the highest possible cost counts.
            Ok((_, None)) => most,
            Err(_) => 0,
        };
        self.spending.settle(most, cost).ok();
        let (verdict, usage) = answer.map_err(|why| match received.wire {
            Wire::Answer { status: 429, .. } => FallbackError::Busy {
                retry_after: received.retry_after,
            },
            _ => FallbackError::NoAnswer(why),
        })?;
        let verdict = verdict
            .ok_or_else(|| FallbackError::NoAnswer("its answer holds no text".to_owned()))?;
        Ok(Said {
            verdict,
            usage,
            cost,
        })
    }

    async fn attempts(
        &self,
        client: &Client,
        address: &WebAddress,
        headers: &HeaderMap,
        body: &str,
    ) -> Received {
        let mut pause = FIRST_PAUSE;
        let mut left = self.set.retries.get();
        loop {
            let post = Post {
                address,
                headers: headers.clone(),
                body: body.to_owned(),
                time: self.set.timeout(),
                limit: MAX_ANSWER,
            };
            let received = exchange::post(client, post).await;
            let again = matches!(
                received.wire,
                Wire::Answer {
                    status: 429 | 500..=599,
                    ..
                } | Wire::Broken {
                    status: 429 | 500..=599,
                    ..
                }
            );
            if !again || left == 0 {
                return received;
            }
            left -= 1;
            let wait = received.retry_after.unwrap_or(pause).min(LONGEST_PAUSE);
            tokio::time::sleep(wait).await;
            pause = pause.saturating_mul(2);
        }
    }

    fn url(&self) -> String {
        let (own, path) = match self.set.kind {
            Kind::Anthropic => (ANTHROPIC, "messages"),
            _ => (OPENAI, "chat/completions"),
        };
        let base = match self.set.base_url.trim_end_matches('/') {
            "" => own,
            base => base,
        };
        if base.ends_with("/v1") {
            format!("{base}/{path}")
        } else {
            format!("{base}/v1/{path}")
        }
    }

    fn headers(&self) -> Result<HeaderMap, FallbackError> {
        let mut headers = HeaderMap::new();
        if self.set.kind == Kind::Anthropic {
            headers.insert(
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static(ANTHROPIC_VERSION),
            );
        }
        let name = &self.set.api_key_env;
        if name.is_empty() {
            return Ok(headers);
        }
        let missing = || {
            FallbackError::Settings(format!(
                "the variable `{name}` holds no key that can be sent"
            ))
        };
        let key = environment::secret(name).ok_or_else(missing)?;
        let key = key.reveal().to_str().ok_or_else(missing)?;
        let header = match self.set.kind {
            Kind::Anthropic => exchange::secret(HeaderName::from_static("x-api-key"), key),
            _ => exchange::bearer(key),
        };
        let (name, value) = header.ok_or_else(missing)?;
        headers.insert(name, value);
        Ok(headers)
    }

    fn body(&self, prompt: Prompt<'_>) -> Value {
        let mut system = prompt.instructions.map_or_else(
            || format!("You play the role \"{}\".", prompt.role),
            str::to_owned,
        );
        if let Some(own) = prompt.beside.and_then(|beside| beside.system.as_deref()) {
            system = format!("{system}\n\n{own}");
        }
        let content = match prompt.input {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let max_tokens = self.set.max_tokens.get();
        let mut body = match self.set.kind {
            Kind::Anthropic => json!({
                "model": self.set.model,
                "max_tokens": max_tokens,
                "system": system,
                "messages": [{ "role": "user", "content": content }],
            }),
            _ => json!({
                "model": self.set.model,
                "max_tokens": max_tokens,
                "messages": [
                    { "role": "system", "content": system },
                    { "role": "user", "content": content },
                ],
            }),
        };
        if let (Some(body), Some(beside)) = (body.as_object_mut(), prompt.beside) {
            body.extend(beside.settings.clone());
        }
        body
    }

    fn verdict(&self, answer: &Value) -> Option<Value> {
        let text = match self.set.kind {
            Kind::Anthropic => {
                let blocks = answer.get("content")?.as_array()?.iter();
                let texts: Vec<&str> = blocks
                    .filter_map(|block| block.get("text")?.as_str())
                    .collect();
                (!texts.is_empty()).then(|| texts.concat())?
            }
            _ => answer
                .get("choices")?
                .get(0)?
                .get("message")?
                .get("content")?
                .as_str()?
                .to_owned(),
        };
        Some(read_text(&text))
    }

    fn cost(&self, input: u64, output: u64) -> MicroUsd {
        // Dollars per million tokens are millionths of a dollar per token.
        let tokens = |count: u64, price: f64| micro(count_of(count) * price / 1e6);
        micro(self.set.usd_per_call.get())
            .saturating_add(tokens(input, self.set.usd_per_million_input.get()))
            .saturating_add(tokens(output, self.set.usd_per_million_output.get()))
    }
}

/// Returns the tokens, if the answer reports them.
fn used(answer: &Value) -> Option<Usage> {
    Usage::read(answer.get("usage")?)
}

/// Returns the body of a valid answer, or the error.
fn answer(wire: &Wire) -> Result<Value, String> {
    match wire {
        Wire::Answer {
            status: 200..=299,
            body,
        } => serde_json::from_slice(body).map_err(|_| "its answer is no JSON".to_owned()),
        Wire::Answer { status, .. } | Wire::Broken { status, .. } => Err(format!("http_{status}")),
        Wire::Timeout => Err("timeout".to_owned()),
        Wire::Failed(why) => Err(why.clone()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no prompt has that many tokens")]
fn count_of(count: u64) -> f64 {
    count as f64
}

/// Converts dollars to millionths, rounded up, so that a cap is not exceeded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are no less than nothing, and a cast stops at the largest number"
)]
fn micro(dollars: f64) -> MicroUsd {
    (dollars * 1e6).ceil() as MicroUsd
}
