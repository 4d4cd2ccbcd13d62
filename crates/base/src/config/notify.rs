//! `[[notify]]`: addresses that are told when something needs a person; and `[telemetry]`: spans for a collector.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One `[[notify]]`: a webhook that `roleos up` calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Where a JSON body is posted to.
    pub url: String,
    /// What is told: `halt`, `denial`, `waiting_approval`, `failed_acceptance`; all of them when missing.
    #[serde(default = "Happening::all")]
    pub events: Vec<Happening>,
    /// Environment variable that holds the key of the signature in `x-roleos-signature`; empty means no signature.
    #[serde(default)]
    pub secret_env: String,
}

/// What a webhook can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A specialist is halted.
    Halt,
    /// A tool call was refused.
    Denial,
    /// A refused act can be approved.
    WaitingApproval,
    /// The workspace no longer meets its acceptance criteria.
    FailedAcceptance,
}

impl Happening {
    fn all() -> Vec<Self> {
        vec![
            Self::Halt,
            Self::Denial,
            Self::WaitingApproval,
            Self::FailedAcceptance,
        ]
    }

    /// Returns the name in settings and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Denial => "denial",
            Self::WaitingApproval => "waiting_approval",
            Self::FailedAcceptance => "failed_acceptance",
        }
    }
}

/// Section `[telemetry]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Address of an OTLP collector (HTTP with protobuf, such as `http://127.0.0.1:4318`) that gets dispatches, tool decisions and sessions as spans; empty means none. Needs a program that was built with the feature `otlp`, as the published ones are.
    pub otlp: String,
    /// Put the commands of tool calls into spans, with secrets taken out; without it no text of an agent or a user leaves.
    pub content: bool,
}
