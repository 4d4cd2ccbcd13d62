//! Cost per call. The tokens of an answer count for the calls that it requested; those of an answer without calls count
//! for the call before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use witness::cost::{AT_LEAST, UNKNOWN};

use super::story::Story;
use super::transcript::{Message, Transcript};
use base::prices::{Prices, Usage};

const NO_PRICE: &str = "`[oversight.prices]` has no price for `";

/// Returns the models without a price that the fact `cost` of a bundle names.
pub fn unpriced_models(fact: &str) -> impl Iterator<Item = &str> {
    let named = fact.split_once(NO_PRICE).map_or("", |(_, models)| models);
    named
        .trim_end_matches('`')
        .split("`, `")
        .filter(|model| !model.is_empty())
}

/// Cost and tokens of a session's calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    calls: BTreeMap<usize, (u64, u64)>,
    usage: Usage,
    cost: u64,
    /// Models without a price.
    unpriced: BTreeSet<String>,
    /// Tokens by model.
    models: BTreeMap<String, u64>,
    skipped: u64,
}

impl Spent {
    /// Adds up the answers within the story's time.
    pub(super) fn new(story: &Story<'_>, transcript: &Transcript, prices: Prices<'_>) -> Self {
        let mut spent = Self {
            skipped: transcript.skipped,
            ..Self::default()
        };
        let places: HashMap<&str, usize> = story
            .calls
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.call.call_id.is_empty())
            .map(|(place, one)| (&*one.call.call_id, place))
            .collect();
        for message in &transcript.messages {
            let own: Vec<usize> = message
                .calls
                .iter()
                .filter_map(|call| places.get(&**call).copied())
                .collect();
            // A record may begin with an older session, or hold calls of another bundle.
            let in_time = message.time_ns == 0
                || (story.began_ns..=story.ended_ns).contains(&message.time_ns);
            if in_time || !own.is_empty() {
                spent.add(story, message, own, prices);
            }
        }
        spent
    }

    fn add(
        &mut self,
        story: &Story<'_>,
        message: &Message,
        mut own: Vec<usize>,
        prices: Prices<'_>,
    ) {
        let priced = || prices.cost(&message.model, message.usage);
        let cost = message.cost.or_else(priced);
        if cost.is_none() {
            self.unpriced.insert(message.model.clone());
        }
        let (cost, tokens) = (cost.unwrap_or(0), message.usage.tokens());
        self.usage.add(message.usage);
        self.cost = self.cost.saturating_add(cost);
        *self.models.entry(message.model.clone()).or_default() += tokens;
        if own.is_empty() {
            let before = story
                .calls
                .iter()
                .rposition(|one| one.time_ns <= message.time_ns);
            // Before the first call, the first call is charged.
            let first = (!story.calls.is_empty()).then_some(0);
            own.extend(before.or(first));
        }
        let count = own.len() as u64;
        for (index, place) in own.into_iter().enumerate() {
            let share = |whole: u64| whole / count + u64::from((index as u64) < whole % count);
            let entry = self.calls.entry(place).or_default();
            entry.0 = entry.0.saturating_add(share(cost));
            entry.1 = entry.1.saturating_add(share(tokens));
        }
    }

    /// Returns cost in millionths of a dollar, and tokens, of the call at this place.
    pub(super) fn of(&self, place: usize) -> (u64, u64) {
        self.calls.get(&place).copied().unwrap_or_default()
    }

    /// Returns the model with the most tokens.
    pub(super) fn model(&self) -> Option<&str> {
        let most = self.models.iter().max_by_key(|(_, tokens)| **tokens)?;
        Some(most.0)
    }

    /// Returns the usage as text for people.
    pub(super) fn usage_text(&self) -> String {
        let usage = self.usage;
        let mut text = format!(
            "{} tokens in, {} out, {} read from the cache, {} written to it",
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write.saturating_add(usage.cache_write_hour)
        );
        if self.skipped > 0 {
            text.push_str(&format!(
                "; {} lines of the agent's record were not understood",
                self.skipped
            ));
        }
        text
    }

    /// Returns the sentence about models without a price, if there are any.
    pub(super) fn unpriced_text(&self) -> Option<String> {
        let models: Vec<&str> = self.unpriced.iter().map(String::as_str).collect();
        let models = models.join("`, `");
        (!models.is_empty()).then(|| format!("{NO_PRICE}{models}`"))
    }

    /// Returns the cost as text for people.
    pub(super) fn cost_text(&self) -> String {
        let Some(unpriced) = self.unpriced_text() else {
            return format!("{} millionths of a US dollar", self.cost);
        };
        if self.models.len() == self.unpriced.len() {
            return format!("{UNKNOWN}: {unpriced}");
        }
        format!(
            "{AT_LEAST} {} millionths of a US dollar: {unpriced}",
            self.cost
        )
    }
}
