//! Serialises a secret as hexadecimal digits, wiped on both sides.
use serde::{Deserialize, Deserializer, Serializer};
use zeroize::Zeroizing;

pub(crate) fn serialize<S: Serializer>(
    secret: &Zeroizing<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&Zeroizing::new(hex::encode(secret)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Zeroizing<Vec<u8>>, D::Error> {
    let text = Zeroizing::new(String::deserialize(deserializer)?);
    hex::decode(text.as_str())
        .map(Zeroizing::new)
        .map_err(serde::de::Error::custom)
}
