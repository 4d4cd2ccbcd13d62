//! A public key in the settings.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use witness::key::PublicKey;

/// An Ed25519 public key, written as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct TrustedKey(PublicKey);

impl TrustedKey {
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.0
    }
}

/// Refuses a key at its own place in a list; a conversion after the string was read would be refused with the list.
impl<'de> Deserialize<'de> for TrustedKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = TrustedKey;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TrustedKey, E> {
        let mut bytes = [0; 32];
        let key = hex::decode_to_slice(text, &mut bytes)
            .ok()
            .and_then(|()| PublicKey::parse(&bytes));
        key.map(TrustedKey).ok_or_else(|| {
            E::custom(format!(
                "`{text}` is not an Ed25519 public key of 64 hexadecimal digits"
            ))
        })
    }
}

// Written by hand because the key has no schema.
#[cfg(any(test, feature = "reference"))]
impl JsonSchema for TrustedKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TrustedKey".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl From<TrustedKey> for String {
    fn from(key: TrustedKey) -> Self {
        hex::encode(key.0.to_bytes())
    }
}
