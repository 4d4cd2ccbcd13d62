//! Any bytes as a bundle: nobody crashes, the readers agree, and nothing is valid that nobody signed.
//!
//! A mutation cannot guess a signature, so that each input is tried three times: as it is, with its size and HMAC made
//! right, and with an Ed25519 signature by a known key at its end. The last two reach what only a signed bundle reaches.

#![no_main]

#[path = "../../crates/witness/tests/alike/mod.rs"]
mod alike;

use std::sync::LazyLock;

use ed25519_dalek::Signature;
use libfuzzer_sys::fuzz_target;
use rvf_runtime::seed_crypto::{sign_seed, verify_seed};
use sha2::{Digest, Sha256};
use witness::bundle::{Bundle, Strictness};
use witness::evidence::{Evidence, Scheme, Verdict, judge};
use witness::extension::{ExtensionTag, MARKER};
use witness::key::{HmacKey, Keyring, SigningKey};
use witness::wire::{HEADER_LEN, HMAC_LEN, Header, MAGIC};

const SECRET: &[u8] = b"the key that the fuzzer knows";
const SEED: [u8; 32] = [0xE0; 32];

static SIGNER: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::new(&SEED));
/// Who knows the fuzzer's keys and others, who named its HMAC key, and who named its public key.
static READERS: LazyLock<[Keyring; 3]> = LazyLock::new(|| {
    let (hmac, public) = (HmacKey::new(SECRET), SIGNER.public());
    [
        Keyring::known(vec![HmacKey::new(b""), hmac.clone()], vec![public]),
        Keyring::hmac(hmac),
        Keyring::public(public),
    ]
});

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let [_, by_hmac, by_signer] = &*READERS;
    if let Some(signed) = signed_again(bytes) {
        check(&signed);
        let verdict = judge(&signed, Strictness::Strict, by_hmac);
        // What is well-formed is valid now, unless it carries a bad seal besides.
        let bad_seal = verdict == Verdict::BadSignature(Scheme::Ed25519);
        assert!(
            bad_seal || matches!(verdict, Verdict::Valid | Verdict::Malformed(_)),
            "{verdict:?}"
        );
    }
    if let Some(sealed) = sealed(bytes) {
        check(&sealed);
        assert_eq!(
            judge(&sealed, Strictness::Strict, by_signer),
            Verdict::Valid
        );
        let nobody = Keyring::default();
        assert_eq!(
            judge(&sealed, Strictness::Strict, &nobody),
            Verdict::Unchecked
        );
    }
});

fn check(bytes: &[u8]) {
    alike::check(bytes, SECRET);
    let [workspace, ..] = &*READERS;
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        check_verdict(bytes, strictness, workspace);
    }
}

/// Valid means that a known key signed these very bytes, by the word of other implementations.
fn check_verdict(bytes: &[u8], strictness: Strictness, keyring: &Keyring) {
    let Ok(bundle) = Bundle::parse(bytes, strictness) else {
        return;
    };
    let Ok(evidence) = bundle.verify(keyring) else {
        return;
    };
    let signers = evidence.signers();
    assert!(signers.hmac.is_some() || signers.ed25519.is_some());
    if signers.hmac.is_some() {
        let (unsigned, tag) = evidence.bytes().split_at(evidence.bytes().len() - HMAC_LEN);
        assert!(verify_seed(SECRET, unsigned, tag) || verify_seed(b"", unsigned, tag));
    }
    if signers.ed25519.is_some() {
        check_seal(&evidence);
    }
}

/// The signature in the last section, checked by hand.
fn check_seal(evidence: &Evidence<'_>) {
    let last = evidence
        .contents()
        .sections()
        .last()
        .expect("the seal is a section");
    assert_eq!(last.tag, ExtensionTag::Ed25519 as u16);
    assert_eq!(
        last.value[..36],
        [&MARKER[..], &SIGNER.public().to_bytes()].concat()
    );
    let covered = &evidence.bytes()[..last.offset + 36];
    let message = [
        b"roleos witness bundle ed25519 v1\n",
        &Sha256::digest(covered)[..],
    ]
    .concat();
    let signature = Signature::from_slice(&last.value[36..]).expect("64 bytes");
    let public = ed25519_dalek::SigningKey::from_bytes(&SEED).verifying_key();
    public
        .verify_strict(&message, &signature)
        .expect("a good signature");
}

/// The same bytes as a signed bundle of the right size, with the HMAC over whatever they say.
fn signed_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = with_magic(bytes)?;
    let end = bytes
        .len()
        .checked_sub(HMAC_LEN)
        .filter(|end| *end >= HEADER_LEN)?;
    bytes[6] |= 1;
    set_size(&mut bytes);
    let tag = sign_seed(SECRET, &bytes[..end]);
    bytes[end..].copy_from_slice(&tag);
    Some(bytes)
}

/// The sections up to the first bad one, and our seal as one more. The HMAC is left out.
///
/// Signing and checking the seal costs more time than all the rest, so every fourth length has to do.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() % 4 != 0 {
        return None;
    }
    let bytes = with_magic(bytes)?;
    let bundle = Bundle::parse(&bytes, Strictness::Lenient).ok()?;
    let ours = |tag| tag == ExtensionTag::Ed25519 as u16;
    let sections: Vec<_> = bundle
        .claims()
        .sections()
        .filter(|s| !ours(s.tag))
        .collect();
    let header = Header {
        flags: bundle.claims().header().flags & !1,
        section_count: u16::try_from(sections.len() + 1).ok()?,
        ..*bundle.claims().header()
    };
    let mut out = header.to_bytes().to_vec();
    for section in sections {
        put(&mut out, section.tag, section.value);
    }
    let seal = [&MARKER[..], &SIGNER.public().to_bytes(), &[0; 64]].concat();
    put(&mut out, ExtensionTag::Ed25519 as u16, &seal);
    set_size(&mut out);
    // Nor is it worth the time where the form is bad.
    Bundle::parse(&out, Strictness::Strict).ok()?;
    let end = out.len() - 64;
    let message = [
        b"roleos witness bundle ed25519 v1\n",
        &Sha256::digest(&out[..end])[..],
    ]
    .concat();
    out[end..].copy_from_slice(&SIGNER.sign(&message));
    Some(out)
}

fn with_magic(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    bytes.get_mut(..HEADER_LEN)?[..4].copy_from_slice(&MAGIC);
    Some(bytes)
}

fn set_size(bytes: &mut [u8]) {
    let size = u32::try_from(bytes.len()).expect("inputs are small");
    bytes[60..64].copy_from_slice(&size.to_le_bytes());
}

fn put(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    let length = u32::try_from(value.len()).expect("inputs are small");
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(value);
}
