//! The cost of tokens, by the prices in the settings, where users see them: a price list in the program would soon be
//! wrong, unnoticed. A model without a price has an unknown cost, which is not the same as none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::oversight::{Dollars, Price};
use crate::settings_edit::Change;

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Read by the model, without those from the cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache for minutes.
    pub cache_write: u64,
    /// Written to the cache for an hour.
    pub cache_write_hour: u64,
}

impl Usage {
    /// Returns the sum of all tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        [
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.cache_write_hour,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Returns the maximum, field by field: an answer is written several times while it grows.
    #[must_use]
    pub fn grown(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_hour: self.cache_write_hour.max(other.cache_write_hour),
        }
    }

    /// Returns the difference to another usage.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            cache_write_hour: self.cache_write_hour.saturating_sub(other.cache_write_hour),
        }
    }

    /// Adds the usage of another answer.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_hour = self.cache_write_hour.saturating_add(other.cache_write_hour);
    }
}

/// Prices by model.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'a> {
    set: &'a BTreeMap<String, Price>,
}

impl<'a> Prices<'a> {
    /// Uses the prices of the settings.
    #[must_use]
    pub fn new(set: &'a BTreeMap<String, Price>) -> Self {
        Self { set }
    }

    /// Returns the cost of an answer, in millionths of a US dollar; `None` if the model has no price.
    #[must_use]
    pub fn cost(&self, model: &str, usage: Usage) -> Option<u64> {
        let price = self.of(model)?;
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

    /// Returns `true` if the model has a price.
    #[must_use]
    pub fn knows(&self, model: &str) -> bool {
        self.of(model).is_some()
    }

    /// Returns the price under the model's own name, else under its longest prefix; a `*` at the end of a prefix is
    /// optional. Providers prepend their own name: `anthropic/…`, `us.anthropic.…`.
    pub(crate) fn of(&self, model: &str) -> Option<Price> {
        let own = self.set.get(model);
        let begun = || {
            let behind = |(at, sign): (usize, &str)| model.get(at + sign.len()..);
            let inner = model.match_indices(['/', '.']).filter_map(behind);
            let names = std::iter::once(model).chain(inner);
            let fits = names.flat_map(|name| {
                let families = self.set.iter().map(|(key, price)| (family(key), price));
                families.filter(move |(key, _)| !key.is_empty() && name.starts_with(*key))
            });
            fits.max_by_key(|(key, _)| key.len())
                .map(|(_, price)| price)
        };
        own.or_else(begun).copied()
    }
}

/// Returns the prefix of the names that a key stands for.
fn family(key: &str) -> &str {
    key.strip_suffix('*').unwrap_or(key)
}

/// Error of reading a price list.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the price list{}: {why}", key.iter().map(|key| format!(", model `{key}`")).collect::<String>())]
pub struct ListError {
    key: Option<String>,
    why: String,
}

/// Parses a price list: TOML or JSON, with the models at the top or under `oversight.prices`.
///
/// # Errors
/// It is neither, or an entry is not a price.
pub fn read_list(text: &str) -> Result<BTreeMap<String, Price>, ListError> {
    let whole = |why: String| ListError { key: None, why };
    let value: serde_json::Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| whole(error.to_string()))?
    } else {
        toml::from_str(text).map_err(|error: toml::de::Error| whole(error.message().to_owned()))?
    };
    let models = value.pointer("/oversight/prices").unwrap_or(&value);
    let models = models.as_object().into_iter().flatten();
    let prices: BTreeMap<String, Price> = models
        .map(|(key, price)| {
            let price = Price::deserialize(price).map_err(|error| ListError {
                key: Some(key.clone()),
                why: error.to_string(),
            })?;
            Ok((key.clone(), price))
        })
        .collect::<Result<_, ListError>>()?;
    if prices.is_empty() {
        return Err(whole("it names no model".to_owned()));
    }
    Ok(prices)
}

/// Returns the changes that write a price list to the settings. A new price replaces the old one of the same model or
/// family, in any spelling; everything else stays.
#[must_use]
pub fn changes(set: &BTreeMap<String, Price>, list: &BTreeMap<String, Price>) -> Vec<Change> {
    let key = |model: &str| format!("oversight.prices.{}", serde_json::Value::from(model));
    let mut changes = Vec::new();
    for (model, price) in list {
        let same = |old: &&String| *old != model && family(old) == family(model);
        changes.extend(set.keys().filter(same).map(|old| Change {
            key: key(old),
            value: None,
        }));
        if set.get(model) != Some(price) {
            changes.push(Change::set(key(model), price_text(price)));
        }
    }
    changes
}

/// Formats a price as an inline table.
fn price_text(price: &Price) -> String {
    let parts = [
        ("input", price.input),
        ("output", price.output),
        ("cache_read", price.cache_read),
        ("cache_write", price.cache_write),
    ];
    let parts = parts
        .into_iter()
        .filter(|(_, amount)| amount.microdollars() > 0)
        .map(|(name, amount)| format!("{name} = {}", serde_json::json!(amount)));
    format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: u64, output: u64, cache_read: u64) -> Price {
        let [input, output, cache_read] = [input, output, cache_read].map(Dollars::of_microdollars);
        Price {
            input,
            output,
            cache_read,
            ..Price::default()
        }
    }

    #[test]
    fn a_model_costs_what_the_settings_say_and_unknown_is_not_free() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 10,
            cache_write: 0,
            cache_write_hour: 1_000,
        };
        let none = BTreeMap::new();
        assert_eq!(Prices::new(&none).cost("claude-sonnet-4-5", usage), None);
        let set = BTreeMap::from([
            (
                "claude-sonnet-4".to_owned(),
                price(3_000_000, 15_000_000, 300_000),
            ),
            ("claude-sonnet-4-9".to_owned(), price(1_000_000, 0, 0)),
            ("gpt-5".to_owned(), price(2_000_000, 0, 0)),
            ("gpt-5.1".to_owned(), price(4_000_000, 0, 0)),
        ]);
        let prices = Prices::new(&set);
        // 3 + 1.5 dollars, 3 millionths, and 0.006 dollars.
        for name in [
            "claude-sonnet-4",
            "claude-sonnet-4-5-20250929",
            "us.anthropic.claude-sonnet-4-5",
            "anthropic/claude-sonnet-4-5",
        ] {
            assert_eq!(prices.cost(name, usage), Some(4_506_003), "{name}");
        }
        assert_eq!(prices.cost("claude-sonnet-4-9", usage), Some(1_002_000));
        assert_eq!(prices.cost("gpt-5-mini", usage), Some(2_004_000));
        assert_eq!(prices.cost("openai/gpt-5.1-codex", usage), Some(4_008_000));
        assert_eq!(prices.cost("some-model", usage), None);
        assert_eq!(prices.cost("claude-sonnet", usage), None);
    }
    #[test]
    fn a_family_has_the_price_of_its_longest_beginning() {
        let set = BTreeMap::from([
            ("claude-opus-*".to_owned(), price(5_000_000, 0, 0)),
            ("claude-opus-4-1".to_owned(), price(15_000_000, 0, 0)),
        ]);
        let prices = Prices::new(&set);
        for (model, dollars) in [
            ("claude-opus-5-5", Some(5)),
            ("claude-opus-4-1-20250805", Some(15)),
            ("eu.anthropic.claude-opus-6", Some(5)),
            ("claude-opus", None),
        ] {
            let input = prices
                .of(model)
                .map(|price| price.input.microdollars() / 1_000_000);
            assert_eq!(input, dollars, "{model}");
            assert_eq!(prices.knows(model), dollars.is_some());
        }
    }

    #[test]
    fn a_list_replaces_prices_of_the_same_family() {
        let old = BTreeMap::from([
            ("claude-opus".to_owned(), price(15_000_000, 0, 0)),
            ("gpt-5".to_owned(), price(1_250_000, 0, 0)),
        ]);
        let toml = "[\"claude-opus-*\"]\ninput = 4.5\noutput = 20\n[\"gpt-5\"]\ninput = 1.25\n";
        let list = read_list(toml).unwrap();
        let json = r#"{"oversight":{"prices":{"claude-opus-*":{"input":4.5,"output":20},"gpt-5":{"input":1.25}}}}"#;
        assert_eq!(read_list(json).unwrap(), list);
        let key = "oversight.prices.\"claude-opus-*\"";
        let set = Change::set(key, "{ input = 4.5, output = 20.0 }");
        // `claude-opus` and `claude-opus-*` differ.
        assert_eq!(changes(&old, &list), std::slice::from_ref(&set));
        let old = BTreeMap::from([("claude-opus-".to_owned(), price(15_000_000, 0, 0))]);
        let removed = Change {
            key: "oversight.prices.\"claude-opus-\"".to_owned(),
            value: None,
        };
        assert_eq!(changes(&old, &list)[..2], [removed, set]);
        for (text, part) in [
            ("", "it names no model"),
            ("x", "cannot read the price list: "),
            ("m = 3", "model `m`: invalid type"),
            ("[m]\ninput = -1", "model `m`: invalid value"),
            ("[m]\ninptu = 1", "model `m`: unknown field `inptu`"),
        ] {
            let error = read_list(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
