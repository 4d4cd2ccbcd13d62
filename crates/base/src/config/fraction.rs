//! Types for a share from 0 to 1, and for a non-negative amount of money.

use std::fmt;

#[cfg(any(test, feature = "reference"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A number from 0 to `MAX`, both included; never NaN, so that equality is total.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct UpTo<const MAX: u32>(f64);

/// A share.
pub type Fraction = UpTo<1>;

/// US dollars.
pub type Dollars = UpTo<1_000_000>;

/// A distance between two numbers.
pub type Distance = UpTo<1_000_000_000>;

impl<const MAX: u32> Eq for UpTo<MAX> {}

impl<const MAX: u32> Default for UpTo<MAX> {
    fn default() -> Self {
        Self(0.0)
    }
}

impl<const MAX: u32> UpTo<MAX> {
    /// Returns the number, if it is in range.
    #[must_use]
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=f64::from(MAX))
            .contains(&number)
            .then_some(Self(number))
    }

    /// Returns so many hundredths, at most `MAX`.
    #[must_use]
    pub fn hundredths(number: u32) -> Self {
        Self((f64::from(number) / 100.0).min(f64::from(MAX)))
    }

    /// Returns millionths, rounded up.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no less than nothing, and a cast stops at the largest number"
    )]
    pub fn micro(self) -> u64 {
        (self.0 * 1e6).ceil() as u64
    }

    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for UpTo<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(InRange)
    }
}

/// Visitor, written by hand because the user reads its `expecting`.
struct InRange<const MAX: u32>;

impl<const MAX: u32> Visitor<'_> for InRange<MAX> {
    type Value = UpTo<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number from 0 to {MAX}")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        UpTo::new(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what is too large to be exact is out of range"
    )]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        UpTo::new(number as f64).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

#[cfg(any(test, feature = "reference"))]
impl<const MAX: u32> JsonSchema for UpTo<MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("number_up_to_{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": MAX })
    }
}
