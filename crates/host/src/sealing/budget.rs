//! What a session has cost so far, while it goes on: its budget is judged before every call.

use std::fs;
use std::path::Path;

use oversight::governance::Spent;

use super::prices::Prices;
use super::transcript;

/// A longer record takes too long to read before every call; the cost then counts as unknown.
const MAX_RECORD: u64 = 64 * 1024 * 1024;

/// Cost and tokens by the agent's own record; none where that is not known.
#[must_use]
pub fn so_far(agent: &str, record: &Path, prices: Prices<'_>) -> Option<Spent> {
    if fs::metadata(record).ok()?.len() > MAX_RECORD {
        return None;
    }
    let transcript = transcript::read(agent, record).ok()?;
    let mut spent = Spent::default();
    for message in &transcript.messages {
        let cost = prices.cost(&message.model, message.usage).unwrap_or(0);
        spent.cost_microdollars = spent.cost_microdollars.saturating_add(cost);
        spent.tokens = spent.tokens.saturating_add(message.usage.tokens());
    }
    Some(spent)
}
