//! The model of a trial for the harness: a socket in the box, with a meter. The server has network access.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::Path;

use base::prices::Usage;
use serde::{Deserialize, Serialize};

/// Port of the model inside the box.
pub const PORT: u16 = 7420;

/// Factory of sockets to models.
pub trait Models: Debug + Send + Sync {
    /// Listens at `socket` until the meter is dropped. Requests beyond the budget, in millionths of a dollar, are refused.
    ///
    /// # Errors
    /// The socket cannot be created.
    fn listen(&self, socket: &Path, budget: u64) -> io::Result<Box<dyn Meter>>;
}

/// Meter of one trial's traffic.
pub trait Meter: Debug + Send {
    /// Returns the traffic so far.
    fn metered(&self) -> Metered;
}

/// Traffic between an agent and its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metered {
    /// Answered requests.
    pub requests: u64,
    /// Tokens, as reported by the answers.
    pub usage: Usage,
    /// Cost by the prices of the settings; `None` if a model has no price.
    pub cost: Option<u64>,
    /// Requested models.
    pub models: BTreeSet<String>,
    /// Tool calls with a result, by id, with their tools.
    pub calls: BTreeMap<String, String>,
    /// Set if a request was refused because the budget is used up.
    pub is_exhausted: bool,
    /// Status of the last answer if it was a failure of the provider: credentials, quota, or a server error.
    pub failed: Option<u16>,
}
