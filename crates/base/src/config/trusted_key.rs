//! A public key in the settings.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use witness::key::PublicKey;

/// An Ed25519 public key, written as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrustedKey(PublicKey);

impl TrustedKey {
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.0
    }
}

impl TryFrom<String> for TrustedKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut bytes = [0; 32];
        let key = hex::decode_to_slice(&text, &mut bytes)
            .ok()
            .and_then(|()| PublicKey::parse(&bytes));
        key.map(Self).ok_or_else(|| {
            format!("`{text}` is not an Ed25519 public key of 64 hexadecimal digits")
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
