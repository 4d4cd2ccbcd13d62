//! Sections `[specialist]`, `[privacy]` and `[fallback.claude]`: how adapters are used and who answers instead.

use std::collections::BTreeMap;
use std::time::Duration;

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fraction::{Distance, Dollars, Fraction};
use super::within::Within;

/// Section `[specialist]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Specialist {
    /// Dispatches over which a quota is a share.
    pub quota_window: Within<1, 100_000>,
    /// Whose dispatches count against a role's quota: "role" for its own, "fleet" for those of all roles together.
    pub quota_scope: QuotaScope,
    /// One shadow probe in so many answers of an adapter, drawn at random; `ROLEOS_SHADOW_K` wins.
    pub shadow_every: Within<1, 1_000_000>,
    /// Probes that the window rule looks back; `ROLEOS_SHADOW_N` wins.
    pub shadow_window: Within<1, 100_000>,
    /// Share of disagreement that is tolerated; `ROLEOS_SHADOW_TAU` wins.
    pub shadow_tau: Fraction,
    /// What halts a role: "sequential" for a test that holds however often it is looked at, "window" for the published
    /// rule, which also halts adapters that agree often enough.
    pub halt_rule: HaltRule,
    /// Chance that the sequential test ever halts an adapter that does agree often enough.
    pub halt_error: Fraction,
    /// Levels above L0 that no evidence here carries, because another program or a person wrote them: "accept" lets such
    /// versions serve, marked as claimed; "refuse" counts them as L0.
    pub claimed_levels: ClaimedLevels,
    /// Milliseconds after which a backend is given up, connection and body together, when its entry names none.
    pub backend_timeout_ms: Within<1, 600_000>,
    /// Largest answer of a backend, in KiB.
    pub max_answer_kib: Within<1, 1_048_576>,
    /// Calls that one process makes to one backend at the same time; more wait.
    pub max_concurrent: Within<1, 10_000>,
    /// Failures in a row (no answer, status 5xx) after which a running process leaves an address of a backend alone for a while.
    pub breaker_failures: Within<1, 1_000_000>,
    /// Seconds for which it is left alone.
    pub breaker_seconds: Within<1, 86_400>,
    /// Size at which the field log is set aside and begun anew, in MiB.
    pub field_log_mib: Within<1, 1_048_576>,
    /// Field logs that are kept beside the current one.
    pub field_log_keep: Within<0, 1000>,
    /// When an adapter's answer and the general model's agree, by role: `[specialist.agreement."<role>"]` with `kind` ("json", "fields", "verifier" or "command"), `fields`, `tolerance` and `command`. Without it the required fields of the declared output schema are compared, else the verifier decides about text, else the whole answers are compared.
    #[serde(deserialize_with = "agreements")]
    pub agreement: BTreeMap<String, Agreement>,
}

/// Parses comparisons; refuses one without anything to compare: every answer would agree, or none could be compared.
fn agreements<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Agreement>, D::Error> {
    let all = BTreeMap::<String, Agreement>::deserialize(from)?;
    for (role, set) in &all {
        let missing = match set.kind {
            Some(AgreementKind::Fields) if set.fields.iter().all(String::is_empty) => "fields",
            Some(AgreementKind::Command) if set.command.is_empty() => "command",
            _ => continue,
        };
        let message = format!("`{missing}` of {role:?} is empty, and its `kind` compares by it");
        return Err(serde::de::Error::custom(message));
    }
    Ok(all)
}

/// One `[specialist.agreement."<role>"]`: when an adapter's answer and the general model's agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Agreement {
    /// How answers are compared; without it by the declared output schema's required fields, else by the verifier, else whole.
    pub kind: Option<AgreementKind>,
    /// The fields that `kind = "fields"` compares, with dots for those inside others.
    pub fields: Vec<String>,
    /// How far two numbers may lie apart.
    pub tolerance: Distance,
    /// Program and arguments of `kind = "command"`: gets `{"role","input","specialist","general"}` on standard input and prints `true`, `false` or `null`.
    pub command: Vec<String>,
}

/// How answers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AgreementKind {
    /// As JSON, keys in any order.
    Json,
    /// In the named fields.
    Fields,
    /// By the version's own verifier, and by the target where one is known.
    Verifier,
    /// By a program.
    Command,
}

/// Whose dispatches count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum QuotaScope {
    /// The role's own.
    #[default]
    Role,
    /// Those of all roles.
    Fleet,
}

/// What halts a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HaltRule {
    /// The always-valid test.
    #[default]
    Sequential,
    /// The published window rule.
    Window,
}

/// What a level without evidence here is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClaimedLevels {
    /// What it says.
    #[default]
    Accept,
    /// L0.
    Refuse,
}

impl Default for Specialist {
    fn default() -> Self {
        Self {
            quota_window: Within::of::<200>(),
            quota_scope: QuotaScope::Role,
            shadow_every: Within::of::<20>(),
            shadow_window: Within::of::<50>(),
            shadow_tau: Fraction::hundredths(15),
            halt_rule: HaltRule::Sequential,
            halt_error: Fraction::hundredths(1),
            claimed_levels: ClaimedLevels::Accept,
            backend_timeout_ms: Within::of::<10_000>(),
            max_answer_kib: Within::of::<1024>(),
            max_concurrent: Within::of::<16>(),
            breaker_failures: Within::of::<10>(),
            breaker_seconds: Within::of::<30>(),
            field_log_mib: Within::of::<64>(),
            field_log_keep: Within::of::<4>(),
            agreement: BTreeMap::new(),
        }
    }
}

/// Section `[privacy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Privacy {
    /// Whether the field log keeps the text of inputs, up to 4000 characters, beside their hash.
    pub keep_inputs: bool,
    /// Environment variable that holds a key for the hashes of inputs in the run log; empty means that they are plain
    /// SHA-256, which a short input can be guessed from.
    pub prompt_key_env: String,
}

/// Section `[fallback]`: who answers when no adapter does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Fallback {
    /// The general model. Without `kind` there is none, and a dispatch that needs it is refused.
    pub claude: Claude,
}

/// Section `[fallback.claude]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Claude {
    /// "anthropic" for the Messages API, "openai" for chat completions, "command" for a program, "none".
    pub kind: Kind,
    /// Address of the API; empty means the provider's own.
    pub base_url: String,
    /// Name of the model.
    pub model: String,
    /// Environment variable that holds the key; empty means that none is sent.
    pub api_key_env: String,
    /// Program and its arguments: gets `{"role","input","trace_id"}` on standard input, prints the result as JSON.
    pub command: Vec<String>,
    /// Longest answer, in tokens.
    pub max_tokens: Within<1, 1_000_000>,
    /// Seconds after which an attempt is given up.
    pub timeout_seconds: Within<1, 3600>,
    /// Further attempts after status 429 or 5xx, with growing pauses or the one that the server asks for.
    pub retries: Within<0, 10>,
    /// Most that may be spent on a day (UTC), in US dollars; 0 means no limit.
    pub daily_cap_usd: Dollars,
    /// Price of a call, in US dollars.
    pub usd_per_call: Dollars,
    /// Price of a million input tokens, in US dollars.
    pub usd_per_million_input: Dollars,
    /// Price of a million output tokens, in US dollars.
    pub usd_per_million_output: Dollars,
}

/// How the general model is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Not at all.
    #[default]
    None,
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions.
    OpenAi,
    /// A program on this machine.
    Command,
}

impl Default for Claude {
    fn default() -> Self {
        Self {
            kind: Kind::None,
            base_url: String::new(),
            model: String::new(),
            api_key_env: String::new(),
            command: Vec::new(),
            max_tokens: Within::of::<4096>(),
            timeout_seconds: Within::of::<120>(),
            retries: Within::of::<2>(),
            daily_cap_usd: Dollars::hundredths(0),
            usd_per_call: Dollars::hundredths(0),
            usd_per_million_input: Dollars::hundredths(0),
            usd_per_million_output: Dollars::hundredths(0),
        }
    }
}

impl Claude {
    /// Returns the time after which an attempt is given up.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.get())
    }
}
