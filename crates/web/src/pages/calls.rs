//! Tokens and costs of a session's calls, from its bundles.

use std::collections::HashMap;

use witness::bundle::Contents;

use present::show::units::{call_cost, grouped};

/// Usage of a call.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    pub(super) tokens: u64,
    cost: String,
}

impl Spent {
    pub(super) fn text(&self) -> String {
        format!("{} tokens, {}", grouped(self.tokens), self.cost)
    }
}

/// Usage of calls, by the digest of their arguments; the first of equal calls last.
pub(super) type SpentByCall = HashMap<String, Vec<Spent>>;

/// Adds the usage of each call in a bundle.
pub(super) fn add_spent(all: &mut SpentByCall, contents: &Contents<'_>) {
    let is_known = witness::cost::is_known(&contents.extensions().provenance);
    for call in contents.calls() {
        let spent = Spent {
            tokens: u64::from(call.tokens),
            cost: call_cost(call.cost_microdollars, is_known),
        };
        let equal = all.entry(hex::encode(call.args_hash)).or_default();
        equal.insert(0, spent);
    }
}
