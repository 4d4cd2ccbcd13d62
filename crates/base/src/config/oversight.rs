//! Section `[oversight]`: the capability gate, governance, what is kept, and prices, as the rooms want them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oversight::actions::{Action, Catalog, Rule, Set};
use oversight::governance::{Governance, Mode};
use oversight::protection::Guard;
use oversight::verdict::{Answers, OnOpaque, Policy, Verdict};
#[cfg(any(test, feature = "reference"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use super::own_action::{OwnAction, OwnSet};

use super::own_action::own_actions;
use super::within::Within;
use crate::environment::Environment;
use crate::guarded_links;
use crate::programs;
use crate::second_copy::SecondCopy;
use crate::workspace::Workspace;

/// Section `[oversight]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Oversight {
    /// Whether irreversible actions need a grant; `ROLEOS_CAPABILITY_GATE` switches it on as well, and neither switches the other off.
    pub capability_gate: bool,
    /// The answer to a command of which a part could not be followed.
    pub opaque: Unfollowed,
    /// What a question becomes when the agent runs without a person.
    pub unattended: Unattended,
    /// Variables that supervised commands do not get, beside those that hold secrets for publishing; a `*` at the end stands for any ending. `GH_TOKEN`, `GITHUB_TOKEN` and `SSH_AUTH_SOCK` may be named here.
    pub withheld_variables: Vec<String>,
    /// Whether supervised commands see `.role-os`, `.claude/role-os`, the agents' settings and `roleos` itself as read-only, by mounts, where the machine lets a process make them. Commands of `roleos` that write there then fail below an agent.
    pub read_only_files: bool,
    /// Whether the `scope` of every grant binds, not only of those that say `"enforce": true`.
    pub enforce_scope: bool,
    /// Further actions that need a grant: `true` for the whole set `extended`, or a list of ids.
    pub extended: Extended,
    /// The answer to acts that destroy something, while the gate is on.
    pub destructive: Answer,
    /// The answer to commands that read private keys or credentials, while the gate is on.
    pub secrets: Answer,
    /// How much freedom the agent has.
    pub mode: GovernanceMode,
    /// Tools that may be used; without it the published list of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that may never be used; without it the published list of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_tools: Option<Vec<String>>,
    /// Budget of a session in millionths of a US dollar; without it the published one of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_microdollars: Option<Within<0, 4_294_967_295>>,
    /// Budget of a session in calls of tools; without it the published one of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<Within<0, 65_535>>,
    /// Minutes for which `roleos approve` allows an act.
    pub approval_minutes: Within<1, 1440>,
    /// Commands of your own that run tests, by their first words; the usual test runners are known.
    pub test_commands: Vec<String>,
    /// Days for which a session's journal is kept after it was sealed.
    pub keep_days: Within<1, 3650>,
    /// Actions of your own, and further ways to perform the known ones.
    #[serde(deserialize_with = "own_actions")]
    pub action: Vec<OwnAction>,
    /// Prices by model or by the beginning of its name (`claude-opus-*`; the longest one counts), in US dollars per million tokens: `input`, `output`, `cache_read` and `cache_write`. `roleos init` writes those of some usual models; what a model costs that is not listed is not known.
    pub prices: BTreeMap<String, Price>,
}

impl Default for Oversight {
    fn default() -> Self {
        Self {
            capability_gate: false,
            opaque: Unfollowed::Watch,
            unattended: Unattended::Deny,
            withheld_variables: Vec::new(),
            read_only_files: false,
            enforce_scope: false,
            extended: Extended::All(false),
            destructive: Answer::Ask,
            secrets: Answer::Ask,
            mode: GovernanceMode::Off,
            allowed_tools: None,
            denied_tools: None,
            max_cost_microdollars: None,
            max_tool_calls: None,
            approval_minutes: Within::of::<10>(),
            test_commands: Vec::new(),
            keep_days: Within::of::<30>(),
            action: Vec::new(),
            prices: BTreeMap::new(),
        }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Let it run.
    Allow,
    /// Ask a person.
    Ask,
    /// Refuse.
    Deny,
}

/// The answer to a command that cannot be followed, from the weakest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unfollowed {
    /// Let it run.
    Allow,
    /// Let it run under supervision, which judges every program of it when that begins; ask where that is not to be had.
    Watch,
    /// Ask a person.
    Ask,
    /// Refuse.
    Deny,
}

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Allow => Self::Allow,
            Answer::Ask => Self::Ask,
            Answer::Deny => Self::Deny,
        }
    }
}

/// What a question becomes without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unattended {
    /// It stays a question, and the agent's own rules answer it.
    Ask,
    /// A refusal.
    Deny,
}

/// A mode of governance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GovernanceMode {
    /// No lists, no budgets.
    Off,
    /// Only the tools of the allow list.
    Restricted,
    /// A person confirms everything that does not only read.
    Approved,
    /// Everything within the budgets.
    Autonomous,
}

impl From<GovernanceMode> for Mode {
    fn from(mode: GovernanceMode) -> Self {
        match mode {
            GovernanceMode::Off => Self::Off,
            GovernanceMode::Restricted => Self::Restricted,
            GovernanceMode::Approved => Self::Approved,
            GovernanceMode::Autonomous => Self::Autonomous,
        }
    }
}

/// Further actions that are gated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Extended {
    /// All or none.
    All(bool),
    /// The listed ones.
    Named(Vec<String>),
}

impl<'de> Deserialize<'de> for Extended {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtendedReader)
    }
}

/// Returns the ids of the known actions that can need a grant.
fn gates() -> impl Iterator<Item = std::borrow::Cow<'static, str>> {
    let gates = Catalog::known().filter(|action| action.set.needs_grant());
    gates.map(|action| action.id)
}

/// Visitor, written by hand because the user reads its `expecting`.
struct ExtendedReader;

impl<'de> Visitor<'de> for ExtendedReader {
    type Value = Extended;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = gates().collect();
        write!(f, "true, false or a list of {}", known.join(", "))
    }

    fn visit_bool<E: Error>(self, all: bool) -> Result<Extended, E> {
        Ok(Extended::All(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Extended, A::Error> {
        let mut named = Vec::new();
        while let Some(id) = items.next_element::<String>()? {
            if !gates().any(|known| known == id) {
                return Err(A::Error::invalid_value(Unexpected::Str(&id), &self));
            }
            named.push(id);
        }
        Ok(Extended::Named(named))
    }
}

#[cfg(any(test, feature = "reference"))]
impl JsonSchema for Extended {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "extended_actions".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "array"] })
    }
}

/// Prices of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a price such as `{ input = 3, output = 15 }`"
)]
pub struct Price {
    /// Tokens that go in.
    pub input: Dollars,
    /// Tokens that come out.
    pub output: Dollars,
    /// Tokens read from the cache.
    pub cache_read: Dollars,
    /// Tokens written to the cache.
    pub cache_write: Dollars,
}

/// An amount of money, stored in millionths of a dollar so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dollars(u64);

/// Highest price per million tokens.
const MAX_DOLLARS: f64 = 1_000_000.0;

impl Dollars {
    /// Creates an amount from millionths of a dollar.
    #[must_use]
    pub const fn of_microdollars(amount: u64) -> Self {
        Self(amount)
    }

    /// Returns the amount in millionths of a dollar.
    #[must_use]
    pub const fn microdollars(self) -> u64 {
        self.0
    }
}

impl Serialize for Dollars {
    #[expect(
        clippy::cast_precision_loss,
        reason = "an amount in range is exact to the millionth"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked before"
    )]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        if !(0.0..=MAX_DOLLARS).contains(&amount) {
            let expected = &"an amount in US dollars from 0 to 1000000";
            return Err(D::Error::invalid_value(Unexpected::Float(amount), expected));
        }
        Ok(Self((amount * 1e6).round() as u64))
    }
}

#[cfg(any(test, feature = "reference"))]
impl JsonSchema for Dollars {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "dollars".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1_000_000 })
    }
}

impl Oversight {
    /// Returns the time for which an approval is valid.
    #[must_use]
    pub fn approval_lifetime(&self) -> Duration {
        Duration::from_secs(self.approval_minutes.get().saturating_mul(60))
    }

    /// Returns the gate's settings. The caller adds the protected paths of its workspace.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            catalog: self.catalog(),
            answers: Answers {
                destructive: self.destructive.into(),
                secrets: self.secrets.into(),
            },
            opaque: match self.opaque {
                Unfollowed::Allow => OnOpaque::Allow,
                Unfollowed::Watch => OnOpaque::Watch,
                Unfollowed::Ask => OnOpaque::Ask,
                Unfollowed::Deny => OnOpaque::Deny,
            },
            enforce_scope: self.enforce_scope,
            guard: Guard::default(),
        }
    }

    /// Returns the gate's settings with the protected paths of this workspace.
    #[must_use]
    pub fn policy_in(&self, workspace: &Workspace, environment: &Environment) -> Policy {
        let running = programs::running();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Policy {
            guard: Guard {
                root: Some(text(workspace.root())),
                binaries: running.map_or_else(
                    |_| Vec::new(),
                    |path| programs::all(&path).iter().map(|path| text(path)).collect(),
                ),
                trust: trust_folders(environment),
                linked: guarded_links::find(workspace.root()),
            },
            ..self.policy()
        }
    }

    fn catalog(&self) -> Catalog {
        let is_on = |action: &Action| match (action.set, &self.extended) {
            (Set::Gated, _) => true,
            (Set::Extended, Extended::All(all)) => *all,
            (Set::Extended, Extended::Named(ids)) => ids.iter().any(|id| *id == action.id),
            (Set::Destructive, _) => self.destructive != Answer::Allow,
            (Set::Secrets, _) => self.secrets != Answer::Allow,
        };
        let own = self.action.iter().map(|own| Action {
            id: own.id.clone().into(),
            label: own.label.clone().into(),
            compensator: own.compensator.clone().into(),
            set: match own.set {
                None | Some(OwnSet::Gated) => Set::Gated,
                Some(OwnSet::Destructive) => Set::Destructive,
                Some(OwnSet::Secrets) => Set::Secrets,
            },
        });
        let rules = self.action.iter().flat_map(|own| {
            let rules = own.all_rules().into_iter();
            rules.map(move |text| Rule {
                action: own.id.clone(),
                text,
            })
        });
        Catalog::new(&is_on, own.collect(), rules.collect())
    }

    /// Tries the examples of the user's actions; returns those with a wrong result, with their action.
    #[must_use]
    pub fn wrong_examples(&self) -> Vec<(&str, &str)> {
        let catalog = self.catalog();
        let examples = self.action.iter().flat_map(|own| {
            let wrong =
                oversight::examples::wrong(&catalog, &own.id, &own.must_match, &own.must_not_match);
            let id = own.id.as_str();
            wrong.into_iter().map(move |example| (id, example))
        });
        examples.collect()
    }

    /// Returns mode, lists and budgets: the published ones of the mode, overridden by the settings.
    #[must_use]
    pub fn governance(&self) -> Governance {
        let published = Governance::of_mode(self.mode.into());
        if self.mode == GovernanceMode::Off {
            return published;
        }
        let cost = self.max_cost_microdollars.map(Within::get);
        let calls = self.max_tool_calls.map(Within::get);
        Governance {
            mode: published.mode,
            allowed_tools: self
                .allowed_tools
                .clone()
                .unwrap_or(published.allowed_tools),
            denied_tools: self.denied_tools.clone().unwrap_or(published.denied_tools),
            max_cost_microdollars: cost
                .and_then(|cost| u32::try_from(cost).ok())
                .unwrap_or(published.max_cost_microdollars),
            max_tool_calls: calls
                .and_then(|calls| u16::try_from(calls).ok())
                .unwrap_or(published.max_tool_calls),
        }
    }
}

/// Resolves the links of a path; returns it unchanged if it does not exist yet.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Converts governance for a bundle.
#[must_use]
pub fn recorded(governance: &Governance) -> witness::policy::Policy {
    use witness::wire::Mode as Wire;
    witness::policy::Policy {
        mode: match governance.mode {
            Mode::Restricted => Wire::Restricted,
            Mode::Approved => Wire::Approved,
            Mode::Off | Mode::Autonomous => Wire::Autonomous,
        },
        allowed_tools: governance.allowed_tools.clone(),
        denied_tools: governance.denied_tools.clone(),
        max_cost_microdollars: governance.max_cost_microdollars,
        max_tool_calls: governance.max_tool_calls,
    }
}

/// Returns the folders of the trust store and of its copy.
fn trust_folders(environment: &Environment) -> Vec<String> {
    let text = |path: &Path| real(path).to_string_lossy().into_owned();
    let state = environment.state.as_deref();
    let copy = state.map(SecondCopy::of);
    let copy = copy.as_ref().map(SecondCopy::folder);
    state.into_iter().chain(copy).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<Oversight, String> {
        let config = Config::parse(Path::new("config.toml"), text);
        config
            .map(|config| config.oversight)
            .map_err(|error| error.to_string())
    }

    /// Asserts that the text is refused with a message that contains all of these.
    fn refused(text: &str, parts: &[&str]) {
        let message = parse(text).unwrap_err();
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
    }

    #[test]
    fn everything_can_be_set() {
        let set = parse(
            "[oversight]\ncapability_gate = true\nopaque = \"deny\"\nunattended = \"ask\"\n\
             enforce_scope = true\nextended = [\"cargo:publish\", \"gh:pr-merge\"]\n\
             destructive = \"allow\"\nsecrets = \"deny\"\nmode = \"restricted\"\n\
             denied_tools = [\"WebFetch\"]\nmax_tool_calls = 7\nkeep_days = 3\n\
             [[oversight.action]]\nid = \"acme:deploy\"\nprogram = \"Acme\"\nsubcommand = \"deploy prod|live\"\n\
             harmless = [\"--plan\"]\nlabel = \"deploy\"\ncompensator = \"acme rollback\"\n\
             [oversight.prices.\"big-1\"]\ninput = 3\noutput = 15.25\ncache_read = 0.3\n",
        )
        .unwrap();
        assert!(set.capability_gate);
        let policy = set.policy();
        assert_eq!(policy.opaque, OnOpaque::Deny);
        assert!(policy.enforce_scope);
        assert!(policy.catalog.action("cargo:publish").is_some());
        assert!(policy.catalog.action("gh:pr-merge").is_some());
        assert!(policy.catalog.action("terraform:apply").is_none());
        assert!(policy.catalog.action("db:drop").is_none());
        assert_eq!(policy.answers.secrets, Verdict::Deny);
        let own = policy.catalog.action("acme:deploy").unwrap();
        assert_eq!(own.compensator, "acme rollback");
        let governance = set.governance();
        assert_eq!(governance.mode, Mode::Restricted);
        assert_eq!(governance.denied_tools, ["WebFetch"]);
        assert_eq!(governance.allowed_tools.len(), 5);
        assert_eq!(governance.max_tool_calls, 7);
        assert_eq!(governance.max_cost_microdollars, 10_000);
        let price = set.prices["big-1"];
        assert_eq!(price.output.microdollars(), 15_250_000);
        assert_eq!(price.cache_read.microdollars(), 300_000);
        assert_eq!(price.cache_write.microdollars(), 0);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        refused("oversight.opaque = \"maybe\"", &["maybe", "ask"]);
        refused(
            "oversight.extended = [\"git:pull\"]",
            &["git:pull", "cargo:publish"],
        );
        refused("oversight.extended = 3", &["true, false or a list of"]);
        refused("oversight.keep_days = 0", &["from 1 to 3650"]);
        refused("oversight.mode = \"free\"", &["free", "autonomous"]);
        refused(
            "[[oversight.action]]\nid = \"a b\"\nprogram = \"x\"",
            &["a b", "one word"],
        );
        refused("[[oversight.action]]\nid = \"a\"", &["program"]);
        refused(
            "oversight.prices.m.input = -1",
            &["0 to 1000000", "oversight.prices"],
        );
    }

    #[test]
    fn a_bundle_carries_the_published_policies_and_off_as_autonomous_without_limits() {
        for (mode, wire) in [
            (Mode::Restricted, witness::wire::Mode::Restricted),
            (Mode::Approved, witness::wire::Mode::Approved),
            (Mode::Autonomous, witness::wire::Mode::Autonomous),
        ] {
            let policy = recorded(&Governance::of_mode(mode));
            assert_eq!(policy, witness::policy::Policy::of_mode(wire));
            assert_eq!(policy.mode as u8, mode.wire());
        }
        let off = recorded(&Governance::default());
        assert_eq!(off.hashed_text(), "mode=2|cost=4294967295|calls=65535");
    }
}
