//! Export of a public key for other programs: PEM for OpenSSL, and a JWK.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::PublicKey;

/// DER of a `SubjectPublicKeyInfo` for Ed25519, up to the 32 bytes of the key (RFC 8410).
const SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

impl PublicKey {
    /// Returns the key as a PEM of its `SubjectPublicKeyInfo`.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let der = [&SPKI[..], &self.to_bytes()].concat();
        let body = STANDARD.encode(der);
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }

    /// Returns the key as a JSON Web Key (RFC 8037).
    #[must_use]
    pub fn to_jwk(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.to_bytes());
        let id = self.id();
        format!(
            r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","kid":"{id}","use":"sig","alg":"EdDSA"}}"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 8037, appendix A, and of RFC 8410, section 10.1.
    #[test]
    fn published_examples_come_out() {
        let rfc8037 = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let key = key(rfc8037);
        let jwk = key.to_jwk();
        assert!(
            jwk.contains(r#""x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#),
            "{jwk}"
        );
        let rfc8410 = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
        let pem = self::key(rfc8410).to_pem();
        assert!(
            pem.contains("\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"),
            "{pem}"
        );
    }

    fn key(text: &str) -> PublicKey {
        let bytes: [u8; 32] = hex::decode(text).unwrap().try_into().unwrap();
        PublicKey::parse(&bytes).unwrap()
    }
}
