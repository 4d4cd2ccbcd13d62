//! `[ship]`: where evidence is sent after it was sealed.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `[ship]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Ship {
    /// Address of a `roleos up` that takes bundles, decisions and run-log lines in, such as `https://roleos.example`; empty means that nothing is sent. With an address, everything that is sealed is sent in the background.
    pub to: String,
    /// Environment variable that holds the token for it; empty means none, which is enough on this machine.
    pub token_env: String,
}
