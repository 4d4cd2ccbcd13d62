//! Section `[retention]`: the days for which `roleos prune` keeps each kind of log.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::within::Within;

/// Section `[retention]`. A missing key means `oversight.keep_days`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Days for which logs of the gateway are kept after they were set aside.
    pub gateway_days: Option<Within<1, 3650>>,
    /// Days for which logs of the adapters' answers are kept after they were set aside.
    pub adapter_days: Option<Within<1, 3650>>,
    /// Days for which refused and denied acts are kept.
    pub refusal_days: Option<Within<1, 3650>>,
}
