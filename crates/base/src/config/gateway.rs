//! Section `[gateway]`: which models lie where, who may ask, and what a request may cost.

use std::collections::BTreeMap;
use std::time::Duration;

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::within::Within;

/// Section `[gateway]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Gateway {
    /// Largest body of a request that names a model, in MiB.
    pub max_body_mib: Within<1, 512>,
    /// Memory for the bodies of all requests together, in MiB; a request that finds none is answered with 503.
    pub max_bodies_mib: Within<1, 1_048_576>,
    /// Connections at the same time; when all are taken, the oldest one that is idle is closed.
    pub max_connections: Within<1, 100_000>,
    /// Seconds in which a request's head must arrive, and after which an unused connection is closed.
    pub header_timeout_seconds: Within<1, 3600>,
    /// Seconds in which a request's body must arrive; of an upload that is passed on unread, the longest pause.
    pub body_timeout_seconds: Within<1, 3600>,
    /// Seconds in which an upstream must accept a connection.
    pub connect_timeout_seconds: Within<1, 600>,
    /// Names beside `localhost` and numeric addresses by which this gateway may be called, as the `Host` header has them.
    pub hosts: Vec<String>,
    /// Environment variable that holds the token which every request must bring in `x-roleos-token`; empty means none on a loopback address and one in `.role-os/keys/` on any other.
    pub token_env: String,
    /// Environment variable that holds a token of at least 16 characters; a request with it as a bearer token may change things as a logged-in operator may. Empty means that there is none.
    pub operator_token_env: String,
    /// Size at which the log of requests is set aside and begun anew, in MiB.
    pub log_mib: Within<1, 1_048_576>,
    /// Logs of requests that are kept beside the current one.
    pub log_keep: Within<0, 1000>,
    /// What happens to requests while their receipts cannot be written: "best-effort" answers them and keeps up to 4 MiB of receipts in memory, "required" refuses them with 503.
    pub receipts: Receipts,
    /// Roles of agents: what stands in `x-claude-code-agent-id`, and the role that answers for it where it may.
    pub agents: BTreeMap<String, String>,
    /// Where models lie, `[[gateway.upstream]]`: `name`, `kind` ("openai" or "anthropic"), `base_url`, `models` (patterns with `*` and `?`, all when missing) and `api_key_env` (without it the client's own credentials are passed on). The first that fits answers.
    pub upstream: Vec<Upstream>,
}

/// Whether a request may be answered without its receipt on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Receipts {
    /// It is answered.
    #[default]
    BestEffort,
    /// It is refused.
    Required,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            max_body_mib: Within::of::<64>(),
            max_bodies_mib: Within::of::<1024>(),
            max_connections: Within::of::<4096>(),
            header_timeout_seconds: Within::of::<30>(),
            body_timeout_seconds: Within::of::<60>(),
            connect_timeout_seconds: Within::of::<10>(),
            hosts: Vec::new(),
            token_env: String::new(),
            operator_token_env: String::new(),
            log_mib: Within::of::<64>(),
            log_keep: Within::of::<4>(),
            receipts: Receipts::BestEffort,
            agents: BTreeMap::new(),
            upstream: Vec::new(),
        }
    }
}

impl Gateway {
    /// Returns largest body that is read whole, in bytes.
    #[must_use]
    pub fn max_body_bytes(&self) -> usize {
        usize::try_from(self.max_body_mib.get().saturating_mul(super::MIB)).unwrap_or(usize::MAX)
    }

    /// Returns memory for all bodies, in KiB.
    #[must_use]
    pub fn max_bodies_kib(&self) -> usize {
        usize::try_from(self.max_bodies_mib.get().saturating_mul(1024)).unwrap_or(usize::MAX)
    }

    /// Returns time in which a request's head must arrive.
    #[must_use]
    pub fn header_timeout(&self) -> Duration {
        Duration::from_secs(self.header_timeout_seconds.get())
    }

    /// Returns time in which a request's body must arrive.
    #[must_use]
    pub fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_timeout_seconds.get())
    }

    /// Returns time in which an upstream must accept a connection.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.connect_timeout_seconds.get())
    }
}

/// One `[[gateway.upstream]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// How it is called in receipts.
    pub name: String,
    /// Whose API it speaks.
    pub kind: Protocol,
    /// Its address; the path and query of a request are put behind it.
    pub base_url: String,
    /// The models that it has, as patterns with `*` and `?`.
    #[serde(default = "every_model")]
    pub models: Vec<String>,
    /// Environment variable that holds its key; empty means that the client's own credentials are passed on.
    #[serde(default)]
    pub api_key_env: String,
}

fn every_model() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Whose API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// OpenAI's: chat completions, responses.
    OpenAi,
    /// Anthropic's: messages.
    Anthropic,
}

impl Protocol {
    /// Returns the name in settings and receipts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}
