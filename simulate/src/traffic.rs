//! Requests to `roleos up`, and their results.

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::failure::{Failure, Result};
use crate::models::{GENERAL, Models};
use crate::place::{Place, ROLE, Up};
use crate::world::{TOPICS, World};

/// Number of simultaneous requests.
const AT_ONCE: usize = 6;

/// Source of unused inputs, in turns from every topic.
pub(crate) struct Source<'a> {
    world: &'a World,
    models: Models,
    chance: Chance,
    next: usize,
}

impl<'a> Source<'a> {
    /// Creates a source at the beginning of a seed.
    pub(crate) fn new(world: &'a World, models: &Models, seed: u64, name: &str) -> Self {
        Self {
            world,
            models: models.clone(),
            chance: Chance::new(seed, name),
            next: 0,
        }
    }

    /// Returns this many fresh inputs, of one topic or of all in turn.
    pub(crate) fn take(&mut self, count: usize, topic: Option<usize>) -> Vec<String> {
        let one = |_| {
            let topic = topic.unwrap_or(self.next % TOPICS);
            self.next += 1;
            let text = self.world.text(topic, &mut self.chance);
            self.models.about(&text, topic);
            text
        };
        (0..count).map(one).collect()
    }

    /// Returns texts that share no word with any input.
    pub(crate) fn foreign(&mut self, count: usize) -> Vec<String> {
        let one = |_| self.world.foreign(&mut self.chance);
        (0..count).map(one).collect()
    }
}

/// Statistics of some requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Number of requests.
    pub(crate) n: u64,
    /// Number of those that an adapter answered.
    pub(crate) routed: u64,
    /// Number of right answers.
    pub(crate) right: u64,
    /// Number of right answers of adapters.
    pub(crate) routed_right: u64,
    /// Number of right answers by the general model to the same inputs.
    pub(crate) general_right: u64,
    /// Cost of the general model alone on the same inputs.
    pub(crate) general_usd: f64,
    /// Number of requests that found the role halted.
    pub(crate) halted: u64,
    /// Number of due probes.
    pub(crate) probes: u64,
    /// Reasons of those that no adapter answered, with their numbers.
    pub(crate) reasons: std::collections::BTreeMap<String, u64>,
}

impl Seen {
    /// Adds the statistics of further requests.
    pub(crate) fn add(&mut self, more: &Self) {
        self.n += more.n;
        self.routed += more.routed;
        self.right += more.right;
        self.routed_right += more.routed_right;
        self.general_right += more.general_right;
        self.general_usd += more.general_usd;
        self.halted += more.halted;
        self.probes += more.probes;
        for (reason, count) in &more.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }

    fn note(&mut self, models: &Models, input: &str, answer: &Value) {
        let at = |pointer: &str| {
            answer
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or("")
        };
        let is_routed = at("/receipt/source") == "specialist";
        let reason = at("/receipt/decision/reason");
        let is_right = models.is_right(input, answer.get("result").unwrap_or(&Value::Null));
        let general = models.answer(GENERAL, input);
        self.n += 1;
        self.routed += u64::from(is_routed);
        self.right += u64::from(is_right);
        self.routed_right += u64::from(is_right && is_routed);
        self.general_right += u64::from(models.is_right(input, &general));
        self.general_usd += Models::price(GENERAL, input, &general);
        self.halted += u64::from(reason == "shadow_probe_halt");
        self.probes +=
            u64::from(answer.pointer("/receipt/shadow/fired") == Some(&Value::Bool(true)));
        if !is_routed {
            *self.reasons.entry(reason.to_owned()).or_default() += 1;
        }
    }
}

/// Sends inputs to a running gateway, a few at a time.
pub(crate) fn send(up: &Up, models: &Models, inputs: &[String]) -> Result<Seen> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::of("cannot start a runtime", error))?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(|error| Failure::of("cannot make a client", error))?;
    let url = format!("{}/v1/dispatch", up.url);
    runtime.block_on(async {
        let ask = async |input: &String| -> Result<Value> {
            let body = json!({ "role": ROLE, "input": input }).to_string();
            let failed = |error: reqwest::Error| Failure::of("a request got no answer", error);
            let request = client
                .post(&url)
                .header("content-type", "application/json")
                .body(body);
            let response = request.send().await.map_err(failed)?;
            let status = response.status();
            let bytes = response.bytes().await.map_err(failed)?;
            if !status.is_success() {
                let text = String::from_utf8_lossy(&bytes);
                return Err(Failure::new(format!(
                    "a request was answered with {status}: {text}"
                )));
            }
            serde_json::from_slice(&bytes)
                .map_err(|error| Failure::of("an answer is not JSON", error))
        };
        let mut seen = Seen::default();
        let asked = inputs.iter().map(async |input| (input, ask(input).await));
        let mut answers = futures_util::stream::iter(asked).buffer_unordered(AT_ONCE);
        while let Some((input, answer)) = answers.next().await {
            seen.note(models, input, &answer?);
        }
        Ok(seen)
    })
}

/// Returns the number of recorded probes, and of those that agreed.
pub(crate) fn probes(place: &Place) -> Result<(u64, u64)> {
    let text = place.read(".role-os/specialist-shadow-probes.jsonl")?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made = lines.filter_map(|line| {
        let told = line.get("agreed").or_else(|| line.pointer("/data/agreed"));
        told.and_then(Value::as_bool)
    });
    Ok(made.fold((0, 0), |(all, agreed), one| {
        (all + 1, agreed + u64::from(one))
    }))
}
