//! Type of a whole number within a range.
//!
//! The range is part of the error message and of the schema, so it is written once. No setting is named here.

use std::fmt;

#[cfg(any(test, feature = "reference"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Within<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// Returns the number `N`; one out of range does not compile.
    #[must_use]
    pub const fn of<const N: u64>() -> Self {
        const { assert!(MIN <= N && N <= MAX) };
        Self(N)
    }

    /// Returns the number, if it is in range.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (MIN..=MAX).contains(&number).then_some(Self(number))
    }

    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Zero, for ranges that begin there.
impl<const MAX: u64> Default for Within<0, MAX> {
    fn default() -> Self {
        Self(0)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(InRange)
    }
}

/// Visitor, written by hand because the user reads its `expecting`: the range, not a Rust type.
struct InRange<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for InRange<MIN, MAX> {
    type Value = Within<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Within::new(number).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        u64::try_from(number)
            .ok()
            .and_then(Within::new)
            .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

#[cfg(any(test, feature = "reference"))]
impl<const MIN: u64, const MAX: u64> JsonSchema for Within<MIN, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("whole_number_{MIN}_to_{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}
