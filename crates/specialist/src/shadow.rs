//! Shadow probes: one answer in K of an adapter, drawn at random, is compared with the general model's, and
//! persistent disagreement halts.
//!
//! Probes count for the version that answered. The rule is an always-valid test ([`statistics::sequence`]): it may be
//! evaluated after every probe, and ever halts a version that agrees in `1 − tau` of its answers with a chance of at
//! most the stated error; an old good history does not protect a version. The published window rule (at least N
//! probes, and fewer than `1 − tau` of the last N agreed) can be chosen instead; it has no such bound.
//!
//! Traffic repeats itself, and the results of a version count as they are drawn. The probes that a version earns by
//! are counted by different inputs instead ([`crate::inputs`]).

use serde_json::{Value, json};
use statistics::sequence;

use crate::inputs::Inputs;
use crate::text::head;

/// Names of the environment variables.
pub const VARIABLES: [&str; 3] = ["ROLEOS_SHADOW_K", "ROLEOS_SHADOW_N", "ROLEOS_SHADOW_TAU"];

/// Settings of the probes and of their rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Number of the adapter's answers per probe, drawn at random.
    pub every: u64,
    /// Number of probes in the window of the window rule.
    pub window: u64,
    /// Tolerated share of disagreement.
    pub tau: f64,
    /// Rule that halts.
    pub rule: HaltRule,
    /// Chance that the sequential rule ever halts a version that agrees often enough.
    pub error: f64,
}

/// Rule that halts a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HaltRule {
    /// The always-valid test over all probes of a version.
    #[default]
    Sequential,
    /// The published rule over the last probes of a version.
    Window,
}

impl HaltRule {
    /// Returns the name in settings and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Window => "window",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            every: 20,
            window: 50,
            tau: 0.15,
            rule: HaltRule::Sequential,
            error: statistics::ERROR,
        }
    }
}

/// Invalid value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use `{name}={value}`: expected {range}; the default is {default}")]
pub struct BadSetting {
    /// Name of the variable.
    pub name: &'static str,
    /// Value of the variable.
    pub value: String,
    range: &'static str,
    default: &'static str,
}

impl Settings {
    /// Returns the same settings with the values of the variables; an empty one counts as unset.
    ///
    /// # Errors
    /// Fails if a value is invalid; it is never replaced silently.
    pub fn with_variables(
        mut self,
        every: Option<&str>,
        window: Option<&str>,
        tau: Option<&str>,
    ) -> Result<Self, BadSetting> {
        let [k, n, t] = VARIABLES;
        if let Some(every) = count(k, every, "20")? {
            self.every = every;
        }
        if let Some(window) = count(n, window, "50")? {
            self.window = window;
        }
        if let Some(text) = tau.filter(|text| !text.is_empty()) {
            let share = text.trim().parse::<f64>().ok();
            self.tau = share
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| BadSetting {
                    name: t,
                    value: text.to_owned(),
                    range: "a number from 0 to 1",
                    default: "0.15",
                })?;
        }
        Ok(self)
    }
}

fn count(
    name: &'static str,
    text: Option<&str>,
    default: &'static str,
) -> Result<Option<u64>, BadSetting> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text
        .trim()
        .parse::<u64>()
        .ok()
        .filter(|number| *number >= 1);
    number.map(Some).ok_or_else(|| BadSetting {
        name,
        value: text.to_owned(),
        range: "a whole number of at least 1",
        default,
    })
}

/// Probes of one version since the last clearing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Agreement of the last ones, oldest first.
    pub recent: Vec<bool>,
    /// Number of probes that agreed.
    pub agreed: u64,
    /// Number of all probes.
    pub total: u64,
    /// The same, counted by different inputs.
    pub inputs: Inputs,
}

impl Probes {
    /// Adds a probe on an input, given by its sketch.
    pub fn push_input(&mut self, input: &str, agreed: bool, settings: &Settings) {
        self.push(agreed, settings);
        self.inputs.push(input, agreed, settings.window);
    }

    /// Adds a probe and drops those that the window rule no longer uses.
    pub fn push(&mut self, agreed: bool, settings: &Settings) {
        self.total = self.total.saturating_add(1);
        self.agreed = self.agreed.saturating_add(u64::from(agreed));
        self.recent.push(agreed);
        let window = usize::try_from(settings.window).unwrap_or(usize::MAX);
        let surplus = self.recent.len().saturating_sub(window);
        self.recent.drain(..surplus);
    }

    /// Applies the rule to the probes.
    #[must_use]
    pub fn judge(&self, settings: &Settings) -> Judgement {
        let window = usize::try_from(settings.window).unwrap_or(usize::MAX);
        let tail = self.recent.iter().rev().take(window);
        let probes = tail.len() as u64;
        let agreed = tail.filter(|agreed| **agreed).count() as u64;
        let rate = rate(agreed, probes);
        let required = 1.0 - settings.tau;
        let log_evidence =
            sequence::evidence_of_fall(&self.recent, self.agreed, self.total, required);
        Judgement {
            probes,
            agreed,
            rate,
            total: self.total,
            total_agreed: self.agreed,
            inputs: self.inputs.total,
            inputs_agreed: self.inputs.agreed,
            log_evidence,
            rule: settings.rule,
            halts: match settings.rule {
                HaltRule::Sequential => log_evidence >= -settings.error.ln(),
                HaltRule::Window => probes >= settings.window && rate < required,
            },
        }
    }
}

/// Returns the share that agreed; 1 without any probe.
#[expect(
    clippy::cast_precision_loss,
    reason = "no role has more probes than a float counts exactly"
)]
fn rate(agreed: u64, probes: u64) -> f64 {
    if probes == 0 {
        1.0
    } else {
        agreed as f64 / probes as f64
    }
}

/// Result of the rule for the probes of one version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Number of probes in the window.
    pub probes: u64,
    /// Number of those that agreed.
    pub agreed: u64,
    /// Share of those that agreed.
    pub rate: f64,
    /// Number of all probes since the last clearing.
    pub total: u64,
    /// Number of those that agreed.
    pub total_agreed: u64,
    /// Number of different inputs among them.
    pub inputs: u64,
    /// Number of those inputs on which the answers agreed.
    pub inputs_agreed: u64,
    /// Evidence against the adapter.
    pub log_evidence: f64,
    /// Rule that decides.
    pub rule: HaltRule,
    /// Set if the rule halts.
    pub halts: bool,
}

impl Judgement {
    /// Returns how many probes the rule used, how many agreed, and the share.
    #[must_use]
    pub fn counted(&self) -> (u64, u64, f64) {
        match self.rule {
            HaltRule::Window => (self.probes, self.agreed, self.rate),
            HaltRule::Sequential => {
                let share = rate(self.total_agreed, self.total);
                (self.total, self.total_agreed, share)
            }
        }
    }
}

/// A compared pair of answers, short enough for a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Answer of the adapter.
    pub specialist: String,
    /// Answer of the general model.
    pub claude: String,
}

/// Returns why a version is halted: the observed and the required values, the deciding figure, and how a person
/// resumes.
#[must_use]
pub fn halt_reason(
    (role, version): (&str, &str),
    judgement: &Judgement,
    settings: &Settings,
    pair: &Pair,
) -> String {
    let decided = match judgement.rule {
        HaltRule::Sequential => format!(
            "the evidence against it is {:.2}, and {:.2} is enough at an error of {}",
            judgement.log_evidence,
            -settings.error.ln(),
            settings.error
        ),
        HaltRule::Window => "decided by the window rule".to_owned(),
    };
    let all = match judgement.total > judgement.probes {
        true => format!(
            " and {:.1}% of all {}",
            rate(judgement.total_agreed, judgement.total) * 100.0,
            judgement.total
        ),
        false => String::new(),
    };
    format!(
        "version \"{version}\" of role \"{role}\" halted: {:.1}% agreement over the last {} probes{all} instead of at least {:.1}% \
         (tau={}); {decided}; the specialist said {}, the general model said {}; resume with: roleos specialist clear-halt \"{role}\" \"{version}\"",
        judgement.rate * 100.0,
        judgement.probes,
        (1.0 - settings.tau) * 100.0,
        settings.tau,
        or_none(&pair.specialist),
        or_none(&pair.claude),
    )
}

fn or_none(summary: &str) -> &str {
    if summary.is_empty() {
        "(none)"
    } else {
        summary
    }
}

/// Returns a verdict in a few words.
#[must_use]
pub fn summary(verdict: Option<&Value>) -> String {
    match verdict {
        None | Some(Value::Null) => "(none)".to_owned(),
        Some(Value::String(text)) => head(text, 80).to_owned(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        Some(value) => head(&value.to_string(), 120).to_owned(),
    }
}

/// Returns `true` for equal JSON; keys may be in another order, and `1.0` is `1`.
#[must_use]
pub fn same(specialist: &Value, claude: &Value) -> Option<bool> {
    Some(equal(specialist, claude))
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// Result of the probe of one dispatch.
#[derive(Clone, Debug, PartialEq)]
pub enum Shadow {
    /// No probe was due.
    Counted {
        /// Number of answers since the last probe.
        counter: u64,
    },
    /// A probe was due and was skipped.
    Skipped {
        /// `synthetic_fail_open`, `incomparable`, `no_fallback` or `fallback_failed`.
        why: &'static str,
        /// Number of answers since the last probe, if it counts.
        counter: Option<u64>,
    },
    /// A probe is due, and is made once the caller has its answer.
    Pending,
    /// The answers were compared.
    Fired {
        /// Set if they agreed.
        agreed: bool,
        /// Result of the rules after this probe.
        judgement: Judgement,
        /// Set if this probe halted the role.
        halt_triggered: bool,
    },
}

impl Shadow {
    /// Returns the form in receipts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Pending => json!({ "fired": true, "pending": true }),
            Self::Counted { counter } => json!({ "fired": false, "counter": counter }),
            Self::Skipped { why, counter: None } => json!({ "fired": false, "skipped": why }),
            Self::Skipped {
                why,
                counter: Some(counter),
            } => json!({ "fired": false, "skipped": why, "counter": counter }),
            Self::Fired {
                agreed,
                judgement,
                halt_triggered,
            } => json!({
                "fired": true,
                "agreed": agreed,
                "probes": judgement.probes,
                "rate": judgement.rate,
                "halt_triggered": halt_triggered,
            }),
        }
    }
}
