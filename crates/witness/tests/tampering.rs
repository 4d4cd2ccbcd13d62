//! All known ways of tampering, none of which may succeed: single bits, truncation, stripped and swapped signatures,
//! rearranged sections, and games with key names.
//!
//! The attacker has more than an outsider: in some cases it holds the HMAC key and signs again.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on fails, and its bundles are small"
)]

mod support;

use rvf_runtime::seed_crypto::sign_seed;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use support::{key, manifest, read};
use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::evidence::{Verdict, judge};
use witness::extension::{Chain, ExtensionTag, MARKER, Rollback, TestPatch, field};
use witness::key::{HmacKey, Keyring, SigningKey};
use witness::policy::{Check, Policy};
use witness::trace::Call;
use witness::wire::{FLAG_SIGNED, HMAC_LEN, Header, Mode, Outcome, Tag, TaskId};

/// Bundles up to this size have every bit flipped; larger ones a sample.
const EXHAUSTIVE: usize = 2048;

const SECRET: &[u8] = b"the key that this workspace uses";
const OTHER_SECRET: &[u8] = b"another key of the same workspace";
const SEED: [u8; 32] = [0x5E; 32];
const OTHER_SEED: [u8; 32] = [0x07; 32];

fn hmac() -> HmacKey {
    HmacKey::new(SECRET)
}

fn signer() -> SigningKey {
    SigningKey::new(&SEED)
}

/// Returns the keyring of a reader who knows both of our keys.
fn both() -> Keyring {
    Keyring::known(vec![hmac()], vec![signer().public()])
}

/// Returns one of our bundles with every section that we write, under the given signatures.
fn ours(hmac: Option<&HmacKey>, signer: Option<&SigningKey>) -> Vec<u8> {
    let mut builder = Builder::new(TaskId([9; 16]), Policy::of_mode(Mode::Restricted), 1_760);
    builder
        .outcome(Outcome::Failed)
        .spec("make the test pass")
        .plan("1. read")
        .diff("+a\n-b\n")
        .test_log("1 failed")
        .postmortem("no permission")
        .provenance(field::AGENT, "agent 1.2")
        .provenance(field::MODEL, "model-x")
        .chain(Chain {
            sequence: 7,
            previous: [3; 32],
        })
        .test_patch(TestPatch {
            task: b"id".to_vec(),
            tests: b"{}".to_vec(),
            patch: b"+t\n".to_vec(),
        });
    for action in [&b"Read"[..], b"Bash"] {
        let call = Call {
            action,
            check: Check::Allowed,
            args_hash: [1; 8],
            result_hash: [2; 8],
            latency_ms: 30,
            cost_microdollars: 40,
            tokens: 50,
        };
        builder.record(&call).expect("there is room for two calls");
    }
    builder.rollback(Rollback {
        restored: true,
        wanted: "a1".into(),
        found: "a1".into(),
        kept: String::new(),
    });
    builder.build(hmac, signer).expect("a small bundle")
}

/// Returns the verdict for people, with the warnings of a valid bundle.
fn said(bytes: &[u8], strictness: Strictness, keyring: &Keyring) -> String {
    let bundle = match Bundle::parse(bytes, strictness) {
        Ok(bundle) => bundle,
        Err(malformed) => return format!("malformed: {}", malformed.reason.name()),
    };
    match bundle.verify(keyring).map_err(|unproven| unproven.verdict) {
        Ok(evidence) => {
            let warnings: Vec<&str> = evidence.warnings().iter().map(|w| w.name()).collect();
            format!("valid {warnings:?}").replace('"', "")
        }
        Err(Verdict::BadSignature(scheme)) => format!("bad {}", scheme.name()),
        Err(verdict) => [Some(verdict.name()), verdict.reason()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": "),
    }
}

fn check(case: &str, bytes: &[u8], keyring: &Keyring, expected: &str) {
    assert_eq!(said(bytes, Strictness::Strict, keyring), expected, "{case}");
}

// Single bits.

#[derive(Deserialize)]
struct Manifest {
    bundles: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    id: String,
    file: String,
    key_hex: Option<String>,
}

fn signed_goldens() -> Vec<(String, Vec<u8>, Keyring)> {
    let goldens = manifest::<Manifest>().bundles.into_iter();
    let signed = goldens.filter_map(|golden| {
        let keyring = Keyring::hmac(key(&golden.key_hex?));
        Some((golden.id, read(&golden.file), keyring))
    });
    signed.collect()
}

#[test]
fn a_flipped_bit_of_a_signed_golden_is_detected() {
    let goldens = signed_goldens();
    assert_eq!(goldens.len(), 14);
    for (id, mut bytes, keyring) in goldens {
        check(&id, &bytes, &keyring, "valid []");
        let bits = bits_to_flip(&bytes);
        check_flips(&id, &mut bytes, bits, &[keyring]);
    }
}

#[test]
fn a_flipped_bit_of_our_own_bundles_is_detected() {
    let (hmac, signer) = (hmac(), signer());
    let by_both = ours(Some(&hmac), Some(&signer));
    let by_hmac = ours(Some(&hmac), None);
    let by_signer = ours(None, Some(&signer));
    let named_hmac = Keyring::hmac(hmac);
    let named_signer = Keyring::public(signer.public());
    let cases = [
        ("both", by_both, vec![both(), named_hmac.clone()]),
        ("HMAC", by_hmac, vec![both(), named_hmac]),
        ("Ed25519", by_signer, vec![both(), named_signer]),
    ];
    for (name, mut bytes, keyrings) in cases {
        for keyring in &keyrings {
            assert_eq!(judge(&bytes, Strictness::Strict, keyring), Verdict::Valid);
        }
        assert!(bytes.len() <= EXHAUSTIVE, "{name} is flipped bit by bit");
        let bits = bits_to_flip(&bytes);
        check_flips(name, &mut bytes, bits, &keyrings);
    }
}

/// The Ed25519 signature is before the HMAC and cannot cover it. A reader with only the public key gets a warning.
#[test]
fn without_the_hmac_key_only_the_hmac_can_be_changed() {
    let mut bytes = ours(Some(&hmac()), Some(&signer()));
    let keyring = Keyring::public(signer().public());
    let signed = (bytes.len() - HMAC_LEN) * 8;
    check_flips(
        "all but the HMAC",
        &mut bytes,
        (0..signed).collect(),
        std::slice::from_ref(&keyring),
    );
    for bit in signed..bytes.len() * 8 {
        flip(&mut bytes, bit);
        check("the HMAC", &bytes, &keyring, "valid [unchecked_hmac]");
        flip(&mut bytes, bit);
    }
}

fn check_flips(name: &str, bytes: &mut [u8], bits: Vec<usize>, keyrings: &[Keyring]) {
    for bit in bits {
        flip(bytes, bit);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            for keyring in keyrings {
                let verdict = judge(bytes, strictness, keyring);
                assert_ne!(verdict, Verdict::Valid, "{name}, bit {bit}, {strictness:?}");
            }
        }
        flip(bytes, bit);
    }
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// Returns all bits of a small bundle. Of a large one: header, section headers, the end, and a sample of the rest.
fn bits_to_flip(bytes: &[u8]) -> Vec<usize> {
    let all = bytes.len() * 8;
    if bytes.len() <= EXHAUSTIVE {
        return (0..all).collect();
    }
    let bundle = Bundle::parse(bytes, Strictness::Strict).expect("a good bundle");
    let section_headers = bundle.claims().sections().flat_map(|section| {
        let start = section.offset - 6;
        start * 8..section.offset * 8
    });
    let comb = (0..all)
        .step_by(all / 199)
        .map(|bit| (bit | 7) - bit / 8 % 8);
    let mut bits: Vec<usize> = (0..512).collect();
    bits.extend(section_headers.chain(all - 512..all).chain(comb));
    bits.sort_unstable();
    bits.dedup();
    bits
}

// Truncation.

#[test]
fn a_truncated_bundle_is_refused_at_every_length() {
    let mut bundles = signed_goldens();
    let by_both = ours(Some(&hmac()), Some(&signer()));
    bundles.push(("both".into(), by_both, both()));
    for (id, bytes, keyring) in bundles {
        // In a large bundle the middle adds nothing over a shorter one.
        let lengths = (0..bytes.len()).filter(|n| *n <= 8192 || bytes.len() - n <= 8192);
        for length in lengths {
            let verdict = judge(&bytes[..length], Strictness::Lenient, &keyring);
            assert_eq!(verdict.name(), "malformed", "{id} cut to {length} bytes");
        }
    }
}

#[test]
fn a_truncated_bundle_with_a_corrected_size_is_refused() {
    let signers = [
        (Some(hmac()), Some(signer())),
        (Some(hmac()), None),
        (None, Some(signer())),
    ];
    for (hmac, signer) in signers {
        let bytes = ours(hmac.as_ref(), signer.as_ref());
        for length in 64..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            cut[60..64].copy_from_slice(&(length as u32).to_le_bytes());
            for strictness in [Strictness::Strict, Strictness::Lenient] {
                let verdict = judge(&cut, strictness, &both());
                assert_ne!(verdict, Verdict::Valid, "cut to {length} bytes");
            }
        }
    }
}

#[test]
fn what_follows_the_bundle_is_not_evidence() {
    let bytes = ours(Some(&hmac()), Some(&signer()));
    let longer = [&bytes[..], b"and a forged appendix"].concat();
    check("appendix", &longer, &both(), "valid [trailing_bytes]");
    let bundle = Bundle::parse(&longer, Strictness::Strict).expect("a bundle");
    let evidence = bundle.verify(&both()).expect("a good one");
    assert_eq!(evidence.bytes(), bytes);
}

// A bundle split into parts and reassembled.

struct Parts {
    header: Header,
    sections: Vec<(u16, Vec<u8>)>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let bundle = Bundle::parse(bytes, Strictness::Strict).expect("a good bundle");
        let sections = bundle.claims().sections();
        Self {
            header: *bundle.claims().header(),
            sections: sections.map(|s| (s.tag, s.value.to_vec())).collect(),
        }
    }

    fn place(&self, tag: ExtensionTag) -> usize {
        let found = self.sections.iter().position(|(t, _)| *t == tag as u16);
        found.expect("our bundles have every section of ours")
    }

    fn value(&mut self, tag: ExtensionTag) -> &mut Vec<u8> {
        let place = self.place(tag);
        &mut self.sections[place].1
    }

    fn without(mut self, tag: ExtensionTag) -> Self {
        self.sections.remove(self.place(tag));
        self
    }

    fn unsigned(&self) -> Vec<u8> {
        self.assemble(None)
    }

    fn signed_with(&self, secret: &[u8]) -> Vec<u8> {
        self.assemble(Some(secret))
    }

    /// Assembles the parts; size, count and flags are made to fit, as a careful attacker would.
    fn assemble(&self, secret: Option<&[u8]>) -> Vec<u8> {
        let lengths = self.sections.iter().map(|(_, value)| 6 + value.len());
        let size = 64 + lengths.sum::<usize>() + secret.map_or(0, |_| HMAC_LEN);
        let known = self
            .sections
            .iter()
            .filter_map(|(tag, _)| Tag::from_wire(*tag));
        let flags = known.fold(0, |flags, tag| flags | tag.flag());
        let header = Header {
            flags: flags | secret.map_or(0, |_| FLAG_SIGNED),
            section_count: self.sections.len() as u16,
            total_bundle_size: size as u32,
            ..self.header
        };
        let mut out = header.to_bytes().to_vec();
        for (tag, value) in &self.sections {
            out.extend_from_slice(&tag.to_le_bytes());
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value);
        }
        if let Some(secret) = secret {
            let tag = sign_seed(secret, &out);
            out.extend_from_slice(&tag);
        }
        out
    }
}

#[test]
fn putting_a_bundle_together_again_gives_the_same_bytes() {
    let by_both = ours(Some(&hmac()), Some(&signer()));
    assert_eq!(Parts::of(&by_both).signed_with(SECRET), by_both);
    let by_signer = ours(None, Some(&signer()));
    assert_eq!(Parts::of(&by_signer).unsigned(), by_signer);
}

// Stripped signatures.

#[test]
fn a_stripped_signature_is_not_overlooked() {
    let by_both = || Parts::of(&ours(Some(&hmac()), Some(&signer())));
    let by_hmac = Parts::of(&ours(Some(&hmac()), None)).unsigned();
    let by_signer = Parts::of(&ours(None, Some(&signer())));
    let no_hmac = by_both().unsigned();
    let no_seal = by_both().without(ExtensionTag::Ed25519);
    let nothing = by_signer.without(ExtensionTag::Ed25519).unsigned();
    let named_hmac = Keyring::hmac(hmac());
    let named_signer = Keyring::public(signer().public());
    let guessed = no_seal.signed_with(b"a key that the cheat made up");
    let cases = [
        (
            "HMAC of HMAC only",
            &by_hmac,
            &named_hmac,
            "unsigned: signature_required",
        ),
        ("HMAC of HMAC only", &by_hmac, &both(), "unsigned"),
        ("HMAC of both", &no_hmac, &both(), "bad Ed25519"),
        ("HMAC of both", &no_hmac, &named_hmac, "bad Ed25519"),
        ("HMAC of both", &no_hmac, &named_signer, "bad Ed25519"),
        ("Ed25519 of both", &guessed, &both(), "bad HMAC-SHA256"),
        ("Ed25519 of Ed25519 only", &nothing, &both(), "unsigned"),
        (
            "Ed25519 of Ed25519 only",
            &nothing,
            &named_signer,
            "unsigned: signature_required",
        ),
    ];
    for (case, bytes, keyring, expected) in cases {
        check(case, bytes, keyring, expected);
    }
}

#[test]
fn a_named_key_asks_for_its_own_kind_of_signature() {
    let by_hmac = ours(Some(&hmac()), None);
    let by_signer = ours(None, Some(&signer()));
    let plain = ours(None, None);
    let named_hmac = Keyring::hmac(hmac());
    let named_signer = Keyring::public(signer().public());
    let other_signer = Keyring::public(SigningKey::new(&OTHER_SEED).public());
    let required = "unsigned: signature_required";
    let cases = [
        ("HMAC by its key", &by_hmac, &named_hmac, "valid []"),
        ("HMAC for a public key", &by_hmac, &named_signer, required),
        ("Ed25519 by its key", &by_signer, &named_signer, "valid []"),
        ("Ed25519 for an HMAC key", &by_signer, &named_hmac, required),
        (
            "Ed25519 for another public key",
            &by_signer,
            &other_signer,
            required,
        ),
        ("nothing for an HMAC key", &plain, &named_hmac, required),
        ("nothing for a public key", &plain, &named_signer, required),
        ("nothing for a workspace", &plain, &both(), "unsigned"),
        (
            "nothing for nobody",
            &plain,
            &Keyring::default(),
            "unsigned",
        ),
        (
            "HMAC for nobody",
            &by_hmac,
            &Keyring::default(),
            "unchecked: no_key",
        ),
        (
            "Ed25519 for nobody",
            &by_signer,
            &Keyring::default(),
            "unchecked: no_key",
        ),
    ];
    for (case, bytes, keyring, expected) in cases {
        check(case, bytes, keyring, expected);
    }
}

#[test]
fn a_wrong_key_fails() {
    let by_hmac = ours(Some(&hmac()), None);
    let longer = [SECRET, b"!"].concat();
    let wrong = [OTHER_SECRET, b"", &SECRET[1..], &longer];
    for secret in wrong {
        let keyring = Keyring::hmac(HmacKey::new(secret));
        check("HMAC", &by_hmac, &keyring, "bad HMAC-SHA256");
    }
    for (id, bytes, _) in signed_goldens() {
        check(&id, &bytes, &Keyring::hmac(hmac()), "bad HMAC-SHA256");
    }
}

// Ed25519: the HMAC key is not enough.

#[test]
fn another_ed25519_key_cannot_take_the_place_of_ours() {
    let other = SigningKey::new(&OTHER_SEED);
    let by_other = ours(Some(&hmac()), Some(&other));
    let named_signer = Keyring::public(signer().public());
    check("whole seal", &by_other, &both(), "valid [unknown_signer]");
    check(
        "whole seal",
        &by_other,
        &named_signer,
        "unsigned: signature_required",
    );

    let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
    parts.value(ExtensionTag::Ed25519)[4..36].copy_from_slice(&other.public().to_bytes());
    check(
        "public key only",
        &parts.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );

    let mut parts = Parts::of(&by_other);
    parts.value(ExtensionTag::Ed25519)[4..36].copy_from_slice(&signer().public().to_bytes());
    check(
        "our name, their signature",
        &parts.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );
}

/// The point of order one, whose signature over any message would be known to everyone.
#[test]
fn a_public_key_without_a_secret_signs_nothing() {
    let mut weak = [0; 32];
    weak[0] = 1;
    let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
    let seal = parts.value(ExtensionTag::Ed25519);
    seal.truncate(4);
    seal.extend_from_slice(&weak);
    seal.extend_from_slice(&weak);
    seal.extend_from_slice(&[0; 32]);
    check(
        "weak key",
        &parts.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );
}

#[test]
fn a_signature_made_for_another_purpose_is_no_seal() {
    let sealed = ours(None, Some(&signer()));
    let prefix = &sealed[..sealed.len() - 64];
    let signature = signer().sign(prefix);
    let forged = [prefix, &signature[..]].concat();
    check("the bytes alone", &forged, &both(), "bad Ed25519");
}

#[test]
fn a_seal_of_one_bundle_does_not_fit_another() {
    let mut sealed = Parts::of(&ours(Some(&hmac()), Some(&signer())));
    sealed.header.created_ns += 1;
    check(
        "another time",
        &sealed.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );
    sealed.header.created_ns -= 1;
    sealed.header.outcome = Outcome::Solved as u8;
    check(
        "another outcome",
        &sealed.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );
}

#[test]
fn rearranged_sections_break_the_seal() {
    let good = || Parts::of(&ours(Some(&hmac()), Some(&signer())));
    let count = good().sections.len();
    for place in 0..count - 1 {
        let mut removed = good();
        removed.sections.remove(place);
        check_broken_seal("removed", place, &removed);

        let mut doubled = good();
        doubled
            .sections
            .insert(place, good().sections[place].clone());
        check_broken_seal("doubled", place, &doubled);

        let mut emptied = good();
        emptied.sections[place].1.clear();
        check_broken_seal("emptied", place, &emptied);

        for other in place + 1..count {
            let mut swapped = good();
            swapped.sections.swap(place, other);
            check_broken_seal("swapped", place, &swapped);
        }
    }
    let mut doubled_seal = good();
    doubled_seal
        .sections
        .push(good().sections[count - 1].clone());
    check_broken_seal("doubled seal", count, &doubled_seal);

    let mut appended = good();
    appended.sections.push((0x7777, b"after the seal".to_vec()));
    check_broken_seal("appended", count, &appended);
}

/// Checks a broken seal. A holder of the HMAC key can make any bundle, so the HMAC is good. Our Ed25519 signature
/// must not vouch for it.
fn check_broken_seal(case: &str, place: usize, parts: &Parts) {
    let bytes = parts.signed_with(SECRET);
    let strict = judge(&bytes, Strictness::Strict, &both());
    assert_ne!(strict, Verdict::Valid, "{case} {place}");
    let named_signer = Keyring::public(signer().public());
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        let verdict = judge(&bytes, strictness, &named_signer);
        assert_ne!(verdict, Verdict::Valid, "{case} {place}");
    }
    let Ok(bundle) = Bundle::parse(&bytes, Strictness::Lenient) else {
        return;
    };
    if let Ok(evidence) = bundle.verify(&both()) {
        assert_eq!(evidence.signers().ed25519, None, "{case} {place}");
        assert!(!evidence.warnings().is_empty(), "{case} {place}");
    }
}

/// Even the signer's own signature does not make evidence of a section behind the seal, where it is not covered.
#[test]
fn a_seal_that_does_not_cover_every_section_is_malformed() {
    let mut parts = Parts::of(&ours(None, Some(&signer())));
    parts.sections.push((0x7777, b"anybody's".to_vec()));
    let mut bytes = parts.unsigned();
    let end = bytes.len() - (6 + b"anybody's".len());
    let covered = Sha256::digest(&bytes[..end - 64]);
    let message = [b"roleos witness bundle ed25519 v1\n", &covered[..]].concat();
    bytes[end - 64..end].copy_from_slice(&signer().sign(&message));
    let expected = "malformed: extension_malformed";
    check("a section behind the seal", &bytes, &both(), expected);
    let lenient = said(&bytes, Strictness::Lenient, &both());
    assert_eq!(lenient, "unsigned", "a lenient reader sees no seal in it");
}

#[test]
fn a_seal_of_the_wrong_length_is_malformed() {
    for cut in 1..=96 {
        let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
        let seal = parts.value(ExtensionTag::Ed25519);
        seal.truncate(seal.len() - cut);
        let bytes = parts.signed_with(SECRET);
        check(
            "short seal",
            &bytes,
            &both(),
            "malformed: extension_malformed",
        );
    }
    let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
    parts.value(ExtensionTag::Ed25519).push(0);
    let bytes = parts.signed_with(SECRET);
    check(
        "long seal",
        &bytes,
        &both(),
        "malformed: extension_malformed",
    );
}

// Key names.

#[test]
fn a_bundle_is_checked_with_the_key_that_it_names() {
    let naming = |secret: &[u8]| {
        let mut parts = Parts::of(&ours(Some(&hmac()), None));
        let id = HmacKey::new(secret).id();
        *parts.value(ExtensionTag::HmacKey) = [&MARKER[..], &id.0].concat();
        parts.signed_with(SECRET)
    };
    let nameless = Parts::of(&ours(Some(&hmac()), None)).without(ExtensionTag::HmacKey);
    let nameless = nameless.signed_with(SECRET);
    let workspace = Keyring::known(vec![HmacKey::new(OTHER_SECRET), hmac()], Vec::new());
    let stranger = Keyring::known(vec![HmacKey::new(OTHER_SECRET)], Vec::new());
    let cases = [
        ("the right key", naming(SECRET), &workspace, "valid []"),
        (
            "another key of ours",
            naming(OTHER_SECRET),
            &workspace,
            "bad HMAC-SHA256",
        ),
        (
            "a key nobody has",
            naming(b"unknown"),
            &workspace,
            "unchecked: no_key",
        ),
        ("no key", nameless.clone(), &workspace, "valid []"),
        (
            "no key, for a stranger",
            nameless,
            &stranger,
            "bad HMAC-SHA256",
        ),
        (
            "the right key, for a stranger",
            naming(SECRET),
            &stranger,
            "unchecked: no_key",
        ),
    ];
    for (case, bytes, keyring, expected) in cases {
        check(case, &bytes, keyring, expected);
    }
    let chosen = Keyring::hmac(hmac());
    check(
        "the caller's choice counts",
        &naming(b"unknown"),
        &chosen,
        "valid []",
    );
}

#[test]
fn an_unknown_hmac_key_does_not_hide_a_bad_seal() {
    let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
    let unknown = HmacKey::new(b"unknown").id();
    *parts.value(ExtensionTag::HmacKey) = [&MARKER[..], &unknown.0].concat();
    check(
        "another name",
        &parts.signed_with(SECRET),
        &both(),
        "bad Ed25519",
    );
}

#[test]
fn old_keys_keep_verifying() {
    let old = ours(
        Some(&HmacKey::new(OTHER_SECRET)),
        Some(&SigningKey::new(&OTHER_SEED)),
    );
    let keyring = Keyring::known(
        vec![hmac(), HmacKey::new(OTHER_SECRET)],
        vec![signer().public(), SigningKey::new(&OTHER_SEED).public()],
    );
    check("before the rotation", &old, &keyring, "valid []");
}

// Sections of other programs.

#[test]
fn a_section_with_our_tag_and_without_our_marker_is_somebody_elses() {
    let values: [&[u8]; 5] = [b"", b"ROS", b"ROS\x02newer", b"RO5\x01", b"not ours at all"];
    for tag in ExtensionTag::ALL {
        for value in values {
            let mut parts = Parts::of(&plain());
            // Twice, because a foreign section cannot be a repeated one of ours either.
            parts.sections.push((tag as u16, value.to_vec()));
            parts.sections.push((tag as u16, value.to_vec()));
            let bytes = parts.signed_with(SECRET);
            check(tag.name(), &bytes, &both(), "valid []");
            let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("a good bundle");
            assert_eq!(*bundle.claims().extensions(), Default::default());
            assert_eq!(Parts::of(&bytes).sections, parts.sections);
        }
    }
}

#[test]
fn a_section_with_our_marker_must_be_ours_to_the_last_byte() {
    let readable = Parts::of(&ours(Some(&hmac()), None));
    for (place, (tag, value)) in readable.sections.iter().enumerate() {
        if ExtensionTag::from_wire(*tag).is_none() {
            continue;
        }
        for length in MARKER.len()..value.len() {
            check_damaged_value(&readable, place, value[..length].to_vec());
        }
        check_damaged_value(&readable, place, [&value[..], b"\0"].concat());
    }
}

fn check_damaged_value(readable: &Parts, place: usize, value: Vec<u8>) {
    let mut sections = readable.sections.clone();
    let length = value.len();
    sections[place].1 = value;
    let parts = Parts {
        header: readable.header,
        sections,
    };
    let case = format!("section {place} with {length} bytes");
    let bytes = parts.signed_with(SECRET);
    check(&case, &bytes, &both(), "malformed: extension_malformed");
}

#[test]
fn a_section_of_ours_stands_only_once() {
    for tag in ExtensionTag::ALL {
        let mut parts = Parts::of(&ours(Some(&hmac()), Some(&signer())));
        let doubled = parts.value(tag).clone();
        parts.sections.push((tag as u16, doubled));
        let bytes = parts.signed_with(SECRET);
        check(tag.name(), &bytes, &both(), "malformed: duplicate_section");
    }
}

/// Each meaning has one encoding: our decoders refuse everything that our encoders never write.
#[test]
fn a_section_that_no_builder_writes_is_refused() {
    let cases = [
        (ExtensionTag::Provenance, "no fact", "0000"),
        (
            ExtensionTag::TestPatch,
            "a part is missing",
            "01000000 61 00000000",
        ),
        (
            ExtensionTag::TestPatch,
            "bytes behind it",
            "00000000 00000000 00000000 61",
        ),
        (
            ExtensionTag::TestPatch,
            "a length beyond the end",
            "ffffffff 61 00000000 00000000",
        ),
        (
            ExtensionTag::Provenance,
            "a name twice",
            "0200 010061 0000 010061 0000",
        ),
        (
            ExtensionTag::Provenance,
            "not sorted",
            "0200 010062 0000 010061 0000",
        ),
        (ExtensionTag::Provenance, "not text", "0100 0100ff 0000"),
        (ExtensionTag::Provenance, "too many", "ffff 010061 0000"),
        (
            ExtensionTag::Policy,
            "no such mode",
            "03 10270000 3200 0000 0000",
        ),
        (
            ExtensionTag::Policy,
            "not text",
            "00 10270000 3200 0100 0100ff 0000",
        ),
        (
            ExtensionTag::Policy,
            "too many",
            "00 10270000 3200 ffff 0000",
        ),
        (
            ExtensionTag::Violations,
            "more listed than counted",
            "00000000 0100 00000000 0000",
        ),
        (
            ExtensionTag::Violations,
            "not text",
            "01000000 0100 00000000 0100ff",
        ),
        (ExtensionTag::Rollbacks, "no rollback", "0000"),
        (
            ExtensionTag::Rollbacks,
            "neither yes nor no",
            "0100 02 0000 0000 0000",
        ),
        (
            ExtensionTag::Rollbacks,
            "not text",
            "0100 01 0100ff 0000 0000",
        ),
        (ExtensionTag::HmacKey, "a short name", "00000000000000"),
        (ExtensionTag::Ed25519, "nothing", ""),
    ];
    for (tag, case, value) in cases {
        let mut parts = Parts::of(&plain());
        let value = hex::decode(value.replace(' ', "")).expect("hex");
        parts
            .sections
            .push((tag as u16, [&MARKER[..], &value].concat()));
        let case = format!("{}: {case}", tag.name());
        let bytes = parts.signed_with(SECRET);
        check(&case, &bytes, &both(), "malformed: extension_malformed");
    }
}

// Statements of the header about the rest.

type Edit = fn(&mut Header);

#[test]
fn the_header_must_agree_with_the_sections() {
    let good = ours(Some(&hmac()), None);
    let flags = Parts::of(&good).header.flags;
    for bit in 1..16 {
        let case = format!("flag {bit}");
        let bytes = with_header(&good, |header| header.flags = flags ^ (1 << bit));
        check(&case, &bytes, &both(), "malformed: flag_mismatch");
    }
    let cases: [(&str, Edit); 9] = [
        ("valid [totals_mismatch]", |h| {
            h.total_cost_microdollars += 1;
        }),
        ("valid [totals_mismatch]", |h| {
            h.total_latency_ms += 1;
        }),
        ("valid [totals_mismatch]", |h| {
            h.total_tokens += 1;
        }),
        ("malformed: tool_call_count_mismatch", |h| {
            h.tool_call_count += 1;
        }),
        ("malformed: section_count_mismatch", |h| {
            h.section_count += 1;
        }),
        ("malformed: bad_enum", |h| {
            h.outcome = 4;
        }),
        ("malformed: bad_enum", |h| {
            h.mode = 3;
        }),
        ("malformed: policy_mismatch", |h| {
            h.mode = Mode::Autonomous as u8;
        }),
        ("malformed: unsupported_version", |h| {
            h.version = 0;
        }),
    ];
    for (expected, edit) in cases {
        check(expected, &with_header(&good, edit), &both(), expected);
    }
}

/// Returns the same sections under another header, signed with the HMAC key.
fn with_header(bytes: &[u8], edit: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Parts::of(bytes).header;
    edit(&mut header);
    let (_, sections) = bytes.split_at(64);
    let (sections, _) = sections.split_at(sections.len() - HMAC_LEN);
    let unsigned = [&header.to_bytes()[..], sections].concat();
    let tag = sign_seed(SECRET, &unsigned);
    [unsigned, tag.to_vec()].concat()
}

#[test]
fn the_policy_section_must_be_the_policy_of_the_header() {
    let mut looser = Policy::of_mode(Mode::Restricted);
    looser.denied_tools.clear();
    let autonomous = Policy::of_mode(Mode::Autonomous);
    for policy in [looser, autonomous] {
        let mut parts = Parts::of(&ours(Some(&hmac()), None));
        let mut value = MARKER.to_vec();
        policy.put(&mut value).expect("a short policy");
        *parts.value(ExtensionTag::Policy) = value;
        let bytes = parts.signed_with(SECRET);
        check(
            "another policy",
            &bytes,
            &both(),
            "malformed: policy_mismatch",
        );
    }
}

/// Returns a signed bundle without our own sections.
fn plain() -> Vec<u8> {
    let mut builder = Builder::new(TaskId([9; 16]), Policy::of_mode(Mode::Approved), 1_760);
    builder.spec("nothing special");
    let plain = builder.plain().build(Some(&hmac()), None);
    plain.expect("a small bundle")
}
