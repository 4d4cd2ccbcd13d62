//! The price of a model call: the only code that knows the place of prices in the settings.

use super::Config;
use super::oversight::{Dollars, Price};
use crate::prices::Prices;

/// Prices of one model's calls, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallPrice {
    per_call: f64,
    per_million_input: f64,
    per_million_output: f64,
}

impl CallPrice {
    /// Returns the cost of a call with these tokens, in US dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens of one call")]
    pub fn usd(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        let tokens = |count: u64, price: f64| count as f64 * price / 1e6;
        self.per_call
            + tokens(input_tokens, self.per_million_input)
            + tokens(output_tokens, self.per_million_output)
    }
}

impl From<Price> for CallPrice {
    fn from(price: Price) -> Self {
        Self {
            per_call: 0.0,
            per_million_input: usd(price.input),
            per_million_output: usd(price.output),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a price of the settings")]
fn usd(amount: Dollars) -> f64 {
    amount.microdollars() as f64 / 1e6
}

impl Config {
    /// Returns the general model's price: the keys of `[fallback.claude]` if one is set, else its entry under
    /// `[oversight.prices]`.
    #[must_use]
    pub fn general_price(&self) -> Option<CallPrice> {
        let set = &self.fallback.claude;
        let own = CallPrice {
            per_call: set.usd_per_call.get(),
            per_million_input: set.usd_per_million_input.get(),
            per_million_output: set.usd_per_million_output.get(),
        };
        if own == CallPrice::default() {
            return self.model_price([set.model.as_str()]);
        }
        Some(own)
    }

    /// Returns a model's entry under `[oversight.prices]`, by the first of its names that has one. Without an entry its
    /// price is unknown, which is not the same as free.
    #[must_use]
    pub fn model_price<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<CallPrice> {
        let prices = Prices::new(&self.oversight.prices);
        let found = names.into_iter().find_map(|name| prices.of(name));
        found.map(CallPrice::from)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(settings: &str, general: Option<f64>, adapter: Option<f64>) {
        let config = Config::parse(Path::new("config.toml"), settings).expect("good settings");
        let usd = |price: Option<CallPrice>| price.map(|price| price.usd(1_000_000, 100_000));
        assert_eq!(usd(config.general_price()), general, "{settings}");
        let names = ["router", "Qwen/Qwen3-8B"];
        assert_eq!(usd(config.model_price(names)), adapter, "{settings}");
    }

    #[test]
    fn prices_come_from_either_section() {
        let general = "[fallback.claude]\nmodel = \"big-1\"\n";
        let prices = "[oversight.prices.big]\ninput = 3\noutput = 15\n\
             [oversight.prices.\"Qwen/Qwen3-8B\"]\ninput = 0.5\n";
        check("", None, None);
        check(general, None, None);
        check(&format!("{general}{prices}"), Some(4.5), Some(0.5));
        let own = "usd_per_call = 0.25\nusd_per_million_output = 10\n";
        check(&format!("{general}{own}{prices}"), Some(1.25), Some(0.5));
    }
}
