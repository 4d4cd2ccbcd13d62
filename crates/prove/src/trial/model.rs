//! The model of a trial as seen from the harness: a socket in the box, and a meter on it. The server has the network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::Path;

use base::prices::Usage;
use serde::{Deserialize, Serialize};

/// Port inside of the box at which the model is reached.
pub const PORT: u16 = 7420;

/// Opens sockets to models.
pub trait Models: Debug + Send + Sync {
    /// Listens at `socket` until the meter is dropped. Requests beyond the budget, in millionths of a dollar, are refused.
    ///
    /// # Errors
    /// The socket cannot be made.
    fn listen(&self, socket: &Path, budget: u64) -> io::Result<Box<dyn Meter>>;
}

/// Counts the traffic of one trial.
pub trait Meter: Debug + Send {
    /// Returns what passed so far.
    fn metered(&self) -> Metered;
}

/// Traffic between an agent and its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metered {
    /// Requests that were answered.
    pub requests: u64,
    /// Tokens by the answers' own account.
    pub usage: Usage,
    /// Cost by the prices of the settings; `None` if a model has no price.
    pub cost: Option<u64>,
    /// Models that were asked.
    pub models: BTreeSet<String>,
    /// Tool calls of which a result came back, by id, with their tools.
    pub calls: BTreeMap<String, String>,
    /// A request was refused because the budget is used up.
    pub is_exhausted: bool,
    /// Status of the last answer if it was a failure of the provider: credentials, quota, or a server error.
    pub failed: Option<u16>,
}
