//! Probes counted by their inputs: a version earns only on different inputs, so one that repeats, or one that is
//! alike, counts once. Evidence against a version counts as it was drawn; see [`crate::shadow`].

use std::collections::VecDeque;

use serde_json::{Value, json};
use statistics::sketch;

/// Least number of inputs that are remembered. One that repeats after so many others counts again: by then as many
/// different ones were seen.
const REMEMBERED: usize = 256;

/// Results of probes on different inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Sketches of the last inputs, oldest first.
    seen: VecDeque<String>,
    /// Number of inputs.
    pub total: u64,
    /// Number of inputs on which the answers agreed the first time.
    pub agreed: u64,
}

impl Inputs {
    /// Adds the result of an input, given by its sketch, the first time that one like it is seen. At least `window`
    /// inputs are remembered.
    pub fn push(&mut self, input: &str, agreed: bool, window: u64) {
        let is_known = |known: &String| sketch::are_alike(known, input);
        if input.is_empty() || self.seen.iter().any(is_known) {
            return;
        }
        self.seen.push_back(input.to_owned());
        let most = usize::try_from(window).unwrap_or(usize::MAX);
        if self.seen.len() > most.max(REMEMBERED) {
            self.seen.pop_front();
        }
        self.total = self.total.saturating_add(1);
        self.agreed = self.agreed.saturating_add(u64::from(agreed));
    }

    /// Resets the counts; the inputs stay, so that none counts again.
    pub fn forget(&mut self) {
        (self.total, self.agreed) = (0, 0);
    }

    /// Returns the form in the state.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "total": self.total, "agreed": self.agreed, "sketches": self.seen })
    }

    /// Parses the form in the state; an older state has none, and its probes do not count as earned. Returns `None`
    /// for an invalid value.
    pub(crate) fn read(value: Option<&Value>) -> Option<Self> {
        let Some(value) = value.filter(|value| value.get("seen").is_none()) else {
            return Some(Self::default());
        };
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let (total, agreed) = (number("total")?, number("agreed")?);
        let seen = value.get("sketches").and_then(Value::as_array)?;
        let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let seen = seen
            .iter()
            .map(|one| one.as_str().filter(is_hex).map(str::to_owned));
        (agreed <= total).then_some(())?;
        Some(Self {
            seen: seen.collect::<Option<_>>()?,
            total,
            agreed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(input: u64) -> String {
        format!("{input:08x}")
    }

    #[test]
    fn an_input_counts_once_by_what_came_of_it_first() {
        let mut inputs = Inputs::default();
        for _ in 0..60 {
            inputs.push(&digest(1), true, 50);
        }
        inputs.push(&digest(1), false, 50);
        inputs.push(&digest(2), false, 50);
        inputs.push("", true, 50);
        assert_eq!((inputs.agreed, inputs.total), (1, 2));
        let read = Inputs::read(Some(&inputs.to_json()));
        assert_eq!(read.as_ref(), Some(&inputs));
        inputs.forget();
        inputs.push(&digest(1), true, 50);
        assert_eq!((inputs.agreed, inputs.total), (0, 0), "none counts again");
    }

    #[test]
    fn the_memory_is_bounded_and_holds_the_window() {
        for (window, remembered) in [(50, 256), (400, 400)] {
            let mut inputs = Inputs::default();
            for _ in 0..3 {
                (0..remembered).for_each(|input| inputs.push(&digest(input), true, window));
            }
            assert_eq!(inputs.total, remembered);
            (0..=remembered).for_each(|input| inputs.push(&digest(input), true, window));
            assert_eq!(inputs.total, remembered + 1);
            assert_eq!(inputs.seen.len() as u64, remembered);
        }
    }

    #[test]
    fn what_is_not_one_is_not_read() {
        for (value, is_read) in [
            (
                json!({ "total": 1, "agreed": 1, "sketches": ["01234567"] }),
                true,
            ),
            (json!({ "total": 1, "agreed": 2, "sketches": [] }), false),
            (json!({ "total": 1, "agreed": 1, "sketches": [1] }), false),
            (
                json!({ "total": 1, "agreed": 1, "sketches": ["xy"] }),
                false,
            ),
            (json!({ "total": 1, "agreed": 1 }), false),
            (json!([]), false),
        ] {
            assert_eq!(Inputs::read(Some(&value)).is_some(), is_read, "{value}");
        }
        assert_eq!(Inputs::read(None), Some(Inputs::default()));
    }
}
