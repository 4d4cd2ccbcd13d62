//! What tokens cost: the prices of the settings, then those that we ship. A model without a price costs nothing that we know.

use std::collections::BTreeMap;

use super::transcript::Usage;
use crate::config::oversight::{Dollars, Price};

/// Published list prices by the beginning of the model's name, in cents per million tokens: input, output, read from
/// the cache, written to it. Longer beginnings first, where one contains another.
const SHIPPED: &[(&str, [u64; 4])] = &[
    ("claude-opus-4-5", [500, 2500, 50, 625]),
    ("claude-opus-4", [1500, 7500, 150, 1875]),
    ("claude-sonnet-4", [300, 1500, 30, 375]),
    ("claude-haiku-4", [100, 500, 10, 125]),
    ("claude-3-7-sonnet", [300, 1500, 30, 375]),
    ("claude-3-5-haiku", [80, 400, 8, 100]),
    ("gpt-5-mini", [25, 200, 3, 0]),
    ("gpt-5-nano", [5, 40, 1, 0]),
    ("gpt-5", [125, 1000, 13, 0]),
];

/// Dollars in a cent, in millionths.
const CENT: u64 = 10_000;

/// Prices by model.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'a> {
    set: &'a BTreeMap<String, Price>,
}

impl<'a> Prices<'a> {
    /// The prices of the settings, with ours behind them.
    #[must_use]
    pub fn new(set: &'a BTreeMap<String, Price>) -> Self {
        Self { set }
    }

    /// What an answer cost, in millionths of a US dollar; none when the model has no price.
    #[must_use]
    pub fn cost(&self, model: &str, usage: Usage) -> Option<u64> {
        let price = self.set.get(model).copied().or_else(|| shipped(model))?;
        // An hour in the cache costs twice the input.
        let hour = Dollars::of_microdollars(price.input.microdollars().saturating_mul(2));
        let parts = [
            (usage.input, price.input),
            (usage.output, price.output),
            (usage.cache_read, price.cache_read),
            (usage.cache_write, price.cache_write),
            (usage.cache_write_hour, hour),
        ];
        let sum: u128 = parts
            .into_iter()
            .map(|(tokens, price)| u128::from(tokens) * u128::from(price.microdollars()))
            .sum();
        Some(u64::try_from((sum + 500_000) / 1_000_000).unwrap_or(u64::MAX))
    }
}

fn shipped(model: &str) -> Option<Price> {
    // Providers put their own name in front: `anthropic/…`, `us.anthropic.…`.
    let name = model.rsplit(['/', '.']).find(|part| {
        SHIPPED
            .iter()
            .any(|(beginning, _)| part.starts_with(beginning))
    })?;
    let (_, cents) = SHIPPED
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))?;
    let [input, output, cache_read, cache_write] =
        cents.map(|cents| Dollars::of_microdollars(cents * CENT));
    Some(Price {
        input,
        output,
        cache_read,
        cache_write,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_first_and_unknown_is_not_free() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 10,
            cache_write: 0,
            cache_write_hour: 1_000,
        };
        let none = BTreeMap::new();
        let prices = Prices::new(&none);
        // 3 + 1.5 dollars, 3 millionths, and 0.006 dollars.
        let expected = Some(4_506_003);
        assert_eq!(prices.cost("claude-sonnet-4-5-20250929", usage), expected);
        assert_eq!(
            prices.cost("us.anthropic.claude-sonnet-4-5", usage),
            expected
        );
        assert_eq!(prices.cost("some-model", usage), None);
        let set = BTreeMap::from([(
            "claude-sonnet-4-5".to_owned(),
            Price {
                input: Dollars::of_microdollars(1_000_000),
                ..Price::default()
            },
        )]);
        let cost = Prices::new(&set).cost("claude-sonnet-4-5", usage);
        assert_eq!(cost, Some(1_002_000));
    }
}
