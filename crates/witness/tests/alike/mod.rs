//! Invariants for arbitrary bytes. The property tests and the fuzz targets share them.

use std::collections::BTreeMap;

use rvf_runtime::witness::{ParsedWitness, WitnessError};
use rvf_types::witness::{PolicyCheck, ToolCallEntry};
use witness::bundle::{Bundle, Contents, Reason, Strictness};
use witness::evidence::{Scheme, Verdict, judge};
use witness::key::{HmacKey, Keyring};
use witness::policy::Check;
use witness::trace::Call;
use witness::wire::{HMAC_LEN, Header, Section, Tag};

/// Asserts all invariants of this module.
pub(crate) fn check(bytes: &[u8], secret: &[u8]) {
    check_lenient_is_the_reference(bytes, secret);
    check_strict_is_narrower(bytes);
    check_valid_is_signed(bytes, secret);
}

/// Checks that the lenient reader accepts what the reference accepts, with the same content.
fn check_lenient_is_the_reference(bytes: &[u8], secret: &[u8]) {
    let ours = Bundle::parse(bytes, Strictness::Lenient);
    if crashes_the_reference(bytes) {
        let reason = ours.map(|_| ()).map_err(|malformed| malformed.reason);
        assert_eq!(reason, Err(Reason::TotalTooSmall));
        return;
    }
    match (ours, ParsedWitness::parse(bytes)) {
        (Err(_), Err(_)) => {}
        (Ok(ours), Ok(theirs)) => {
            check_same_contents(ours.claims(), &theirs);
            check_same_signature(bytes, secret, &theirs);
        }
        (Err(malformed), Ok(_)) => panic!("only we refuse: {malformed}"),
        (Ok(_), Err(error)) => panic!("only they refuse: {error}"),
    }
}

/// Returns `true` if the reference crashes: it subtracts the signature's length from the stated size without a check.
fn crashes_the_reference(bytes: &[u8]) -> bool {
    let header = bytes.first_chunk().and_then(Header::from_bytes);
    header.is_some_and(|h| h.is_signed() && h.total_bundle_size < HMAC_LEN as u32)
}

fn check_same_contents(ours: &Contents<'_>, theirs: &ParsedWitness<'_>) {
    assert_eq!(ours.header().to_bytes(), theirs.header.to_bytes());
    let sections = [
        (Tag::Spec, theirs.spec),
        (Tag::Plan, theirs.plan),
        (Tag::Trace, theirs.trace),
        (Tag::Diff, theirs.diff),
        (Tag::TestLog, theirs.test_log),
        (Tag::Postmortem, theirs.postmortem),
    ];
    for (tag, value) in sections {
        assert_eq!(ours.section(tag), value, "{}", tag.name());
    }
    let calls: Vec<ToolCallEntry> = ours.calls().map(|call| entry(&call)).collect();
    assert_eq!(calls, theirs.parse_trace());
    assert_eq!(calls.len(), ours.totals().calls);
    assert_eq!(ours.evidence_complete(), theirs.evidence_complete());
}

/// Compares our verdict under a named HMAC key with the reference's.
fn check_same_signature(bytes: &[u8], secret: &[u8], theirs: &ParsedWitness<'_>) {
    let ours = judge(bytes, Strictness::Lenient, &named(secret));
    let bad_seal = ours == Verdict::BadSignature(Scheme::Ed25519);
    match theirs.verify_signature(secret, bytes) {
        Ok(()) => assert!(ours == Verdict::Valid || bad_seal, "{ours:?}"),
        Err(WitnessError::SignatureInvalid) => {
            assert_eq!(ours, Verdict::BadSignature(Scheme::Hmac));
        }
        // The reference accepts a bundle without a signature as well; we do not.
        Err(_) => {
            assert!(
                ours == Verdict::Unsigned { required: true } || bad_seal,
                "{ours:?}"
            );
        }
    }
}

/// Checks that a lenient reader parses everything that a strict one accepts, with the same content, and that it is
/// written back byte for byte.
fn check_strict_is_narrower(bytes: &[u8]) {
    let Ok(strict) = Bundle::parse(bytes, Strictness::Strict) else {
        return;
    };
    let lenient = Bundle::parse(bytes, Strictness::Lenient).map_err(|malformed| malformed.reason);
    let lenient = lenient.as_ref().map(Bundle::claims);
    let contents = strict.claims();
    assert_eq!(lenient.map(Contents::header), Ok(contents.header()));
    assert_eq!(lenient.map(Contents::extensions), Ok(contents.extensions()));
    assert_eq!(lenient.map(Contents::totals), Ok(contents.totals()));
    assert_eq!(lenient.map(sections), Ok(sections(contents)));
    check_no_section_twice(contents);
    let signature = if contents.header().is_signed() {
        HMAC_LEN
    } else {
        0
    };
    let (unsigned, _) = strict.bytes().split_at(strict.bytes().len() - signature);
    assert_eq!(re_encode(contents), unsigned);
}

fn check_no_section_twice(contents: &Contents<'_>) {
    let mut seen = BTreeMap::<u16, usize>::new();
    for section in contents.sections() {
        *seen.entry(section.tag).or_default() += 1;
    }
    for tag in Tag::ALL {
        let times = usize::from(contents.section(tag).is_some());
        assert_eq!(seen.get(&(tag as u16)).copied().unwrap_or_default(), times);
    }
    assert_eq!(
        seen.values().sum::<usize>(),
        usize::from(contents.header().section_count)
    );
}

/// Checks that no bundle is valid under a named HMAC key unless an independent HMAC over its bytes confirms it.
fn check_valid_is_signed(bytes: &[u8], secret: &[u8]) {
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        if judge(bytes, strictness, &named(secret)) != Verdict::Valid {
            continue;
        }
        let bundle = Bundle::parse(bytes, strictness).map_err(|malformed| malformed.reason);
        let signed = bundle.map(|bundle| {
            let (unsigned, tag) = bundle.bytes().split_at(bundle.bytes().len() - HMAC_LEN);
            rvf_runtime::seed_crypto::verify_seed(secret, unsigned, tag)
        });
        assert_eq!(signed, Ok(true));
        assert_ne!(
            judge(bytes, strictness, &Keyring::default()),
            Verdict::Valid
        );
    }
}

fn named(secret: &[u8]) -> Keyring {
    Keyring::hmac(HmacKey::new(secret))
}

fn sections<'a>(contents: &Contents<'a>) -> Vec<Section<'a>> {
    contents.sections().collect()
}

fn re_encode(contents: &Contents<'_>) -> Vec<u8> {
    let mut out = contents.header().to_bytes().to_vec();
    for section in contents.sections() {
        let length = u32::try_from(section.value.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&section.tag.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(section.value);
    }
    out
}

/// Converts our call to the reference's type.
pub(crate) fn entry(call: &Call<'_>) -> ToolCallEntry {
    ToolCallEntry {
        action: call.action.to_vec(),
        args_hash: call.args_hash,
        result_hash: call.result_hash,
        latency_ms: call.latency_ms,
        cost_microdollars: call.cost_microdollars,
        tokens: call.tokens,
        policy_check: match call.check {
            Check::Allowed => PolicyCheck::Allowed,
            Check::Denied => PolicyCheck::Denied,
            Check::Confirmed => PolicyCheck::Confirmed,
        },
    }
}
