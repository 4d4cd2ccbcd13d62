//! The published vectors: every golden bundle is read, re-encoded and rebuilt; every damaged one gets its verdict.
//!
//! `oracle` in the manifest is the result of the reference crates, `hardened` the required result of a careful
//! reader. A strict reader is held to the second, a lenient one to the first.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a vector that cannot be read fails its test"
)]

mod support;

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use support::{key, manifest, read};
use witness::builder::{Builder, Refused};
use witness::bundle::{Bundle, Contents, Strictness};
use witness::evidence::{Verdict, judge};
use witness::key::{HmacKey, Keyring};
use witness::policy::{Check, Policy};
use witness::trace::{self, Call};
use witness::wire::{Header, MAGIC, Mode, Outcome, Tag, TaskId};

#[derive(Deserialize)]
struct Manifest {
    bundles: Vec<Golden>,
    corrupted: Vec<Damaged>,
    policies: Vec<JudgingPolicy>,
}

#[derive(Deserialize)]
struct Golden {
    id: String,
    file: String,
    size: usize,
    sha256: String,
    key_hex: Option<String>,
    verify: String,
    header: HeaderFields,
    policy: PolicyFields,
    sections: Vec<SectionFields>,
    trace: TraceFields,
    evidence_complete: bool,
    signature_hex: Option<String>,
    /// Missing if the reference's builder did not make the bundle.
    builder_policy_violations: Option<ViolationFields>,
}

#[derive(Deserialize)]
struct HeaderFields {
    magic_hex_le: String,
    version: u16,
    flags: u16,
    task_id: String,
    policy_hash: String,
    created_ns: String,
    outcome: u8,
    governance_mode: u8,
    tool_call_count: u16,
    total_cost_microdollars: u32,
    total_latency_ms: u32,
    total_tokens: u32,
    retry_count: u16,
    section_count: u16,
    total_bundle_size: u32,
}

#[derive(Deserialize)]
struct PolicyFields {
    mode: u8,
    allowed_tools: Vec<String>,
    denied_tools: Vec<String>,
    max_cost_microdollars: u32,
    max_tool_calls: u16,
    preimage: String,
    policy_hash: String,
}

#[derive(Deserialize)]
struct JudgingPolicy {
    #[serde(flatten)]
    policy: PolicyFields,
    check_tool: Vec<(String, u8)>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct SectionFields {
    tag: u16,
    value_offset: usize,
    len: usize,
    sha256: String,
}

#[derive(Deserialize)]
struct TraceFields {
    entries: usize,
    sum_latency_ms: u64,
    sum_cost_microdollars: u64,
    sum_tokens: u64,
    denied: usize,
    #[serde(default)]
    items: Vec<CallFields>,
    /// Instead of `items` if the trace is long.
    #[serde(default)]
    items_head: Vec<CallFields>,
    #[serde(default)]
    items_tail: Vec<CallFields>,
}

#[derive(Deserialize)]
struct CallFields {
    index: usize,
    action_hex: Option<String>,
    action_sha256: Option<String>,
    action_len: usize,
    policy_check: u8,
    args_hash: String,
    result_hash: String,
    latency_ms: u32,
    cost_microdollars: u32,
    tokens: u32,
}

#[derive(Deserialize)]
struct ViolationFields {
    count: u32,
    /// All of them, or the first and the last if there are many.
    #[serde(default)]
    messages: Vec<String>,
    first: Option<String>,
}

#[derive(Deserialize)]
struct Damaged {
    id: String,
    file: String,
    sha256: String,
    key_hex: Option<String>,
    verify: String,
    oracle: Oracle,
    hardened: Hardened,
}

#[derive(Deserialize)]
struct Oracle {
    parse: serde_json::Value,
    #[serde(default)]
    sections_seen: Vec<SeenSection>,
    #[serde(default)]
    trace_entries: usize,
    #[serde(default)]
    evidence_complete: bool,
    #[serde(default)]
    signed: bool,
}

#[derive(Deserialize, PartialEq, Debug)]
struct SeenSection {
    name: String,
    len: usize,
    sha256: String,
}

#[derive(Deserialize)]
struct Hardened {
    verdict: String,
    reason: String,
}

#[test]
fn the_manifest_holds_every_published_vector() {
    let manifest: Manifest = manifest();
    let counts = (
        manifest.bundles.len(),
        manifest.corrupted.len(),
        manifest.policies.len(),
    );
    assert_eq!(counts, (18, 31, 11));
    for golden in &manifest.bundles {
        let bytes = read(&golden.file);
        assert_eq!(bytes.len(), golden.size, "{}", golden.id);
        assert_eq!(sha256(&bytes), golden.sha256, "{}", golden.id);
    }
    for damaged in &manifest.corrupted {
        assert_eq!(
            sha256(&read(&damaged.file)),
            damaged.sha256,
            "{}",
            damaged.id
        );
    }
}

#[test]
fn goldens_are_read_as_described() {
    for golden in manifest::<Manifest>().bundles {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            check_golden(&golden, &read(&golden.file), strictness);
        }
    }
}

fn check_golden(golden: &Golden, bytes: &[u8], strictness: Strictness) {
    let id = &golden.id;
    let bundle = Bundle::parse(bytes, strictness).unwrap_or_else(|e| panic!("{id}: {e}"));
    let contents = bundle.claims();
    assert_eq!(bundle.warnings(), [], "{id}");
    assert_eq!(*contents.header(), header(&golden.header), "{id}");
    assert_eq!(golden.header.magic_hex_le, hex::encode(MAGIC), "{id}");
    assert_eq!(sections(contents), golden.sections, "{id}");
    assert_eq!(
        contents.evidence_complete(),
        golden.evidence_complete,
        "{id}"
    );
    // Only the reference counts sections of no bytes as evidence.
    let is_empty = golden.id.starts_with("g10");
    let shows = golden.evidence_complete && !is_empty;
    assert_eq!(contents.has_evidence(), shows, "{id}");
    assert_eq!(bundle.is_signed(), golden.signature_hex.is_some(), "{id}");
    check_trace(golden, contents);
    let verdict = judge(bytes, strictness, &keyring(golden.key_hex.as_deref()));
    assert_eq!(verdict.name(), golden.verify, "{id}");
    assert_eq!(verdict.reason(), None, "{id}");
}

fn check_trace(golden: &Golden, contents: &Contents<'_>) {
    let (id, expected) = (&golden.id, &golden.trace);
    let calls: Vec<Call<'_>> = contents.calls().collect();
    let denied = calls.iter().filter(|call| call.check == Check::Denied);
    assert_eq!(calls.len(), expected.entries, "{id}");
    assert_eq!(denied.count(), expected.denied, "{id}");
    let items = [&expected.items, &expected.items_head, &expected.items_tail];
    for item in items.into_iter().flatten() {
        check_call(id, item, &calls[item.index]);
    }
    let totals = contents.totals();
    let sums = [totals.latency_ms, totals.cost_microdollars, totals.tokens];
    let expected_sums = [
        expected.sum_latency_ms,
        expected.sum_cost_microdollars,
        expected.sum_tokens,
    ];
    assert_eq!(sums.map(u64::from), expected_sums.map(saturated), "{id}");
}

fn check_call(id: &str, expected: &CallFields, call: &Call<'_>) {
    let place = format!("{id}, call {}", expected.index);
    assert_eq!(call.action.len(), expected.action_len, "{place}");
    if let Some(action) = &expected.action_hex {
        assert_eq!(hex::encode(call.action), *action, "{place}");
    }
    if let Some(digest) = &expected.action_sha256 {
        assert_eq!(sha256(call.action), *digest, "{place}");
    }
    let wanted = Call {
        action: call.action,
        check: Check::from_wire(expected.policy_check).expect("a check of the format"),
        args_hash: bytes_of(&expected.args_hash),
        result_hash: bytes_of(&expected.result_hash),
        latency_ms: expected.latency_ms,
        cost_microdollars: expected.cost_microdollars,
        tokens: expected.tokens,
    };
    assert_eq!(*call, wanted, "{place}");
}

#[test]
fn goldens_re_encode_byte_for_byte() {
    for golden in manifest::<Manifest>().bundles {
        let bytes = read(&golden.file);
        let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("goldens are well-formed");
        let signature = golden.signature_hex.as_deref().unwrap_or_default();
        let signature = hex::decode(signature).expect("signatures are written in hex");
        assert!(
            re_encode(bundle.claims(), &signature) == bytes,
            "{}",
            golden.id
        );
    }
}

/// Encodes header, sections and signature again from the parsed values; the trace call by call.
fn re_encode(contents: &Contents<'_>, signature: &[u8]) -> Vec<u8> {
    let mut out = contents.header().to_bytes().to_vec();
    for section in contents.sections() {
        let mut value = section.value.to_vec();
        if section.tag == Tag::Trace as u16 {
            value.clear();
            for call in contents.calls() {
                trace::put(&mut value, &call).expect("a name that was read can be written");
            }
        }
        out.extend_from_slice(&section.tag.to_le_bytes());
        let length = u32::try_from(value.len()).expect("vectors are small");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&value);
    }
    out.extend_from_slice(signature);
    out
}

/// Result of rebuilding a golden bundle with our builder.
enum Rebuilt {
    /// The same bytes, with the same violations.
    Same,
    /// The key is too weak to write with.
    WeakKey,
    /// Our policy is stricter than the reference's, so these are the checks that our builder writes.
    Stricter(&'static [Check]),
    /// No builder writes this: g11 to g13 were assembled by hand.
    Assembled,
}

#[test]
fn goldens_are_rebuilt_byte_for_byte() {
    let exceptions = BTreeMap::from([
        ("g09", Rebuilt::WeakKey),
        ("g11", Rebuilt::Assembled),
        ("g12", Rebuilt::Assembled),
        ("g13", Rebuilt::Assembled),
        // An allow list that is not empty counts in every mode; the first name is not on it.
        ("g15", Rebuilt::Stricter(&[Check::Denied; 3])),
        // A name that is not UTF-8 is denied.
        ("g17", Rebuilt::Stricter(&[Check::Denied; 2])),
    ]);
    for golden in manifest::<Manifest>().bundles {
        let short_id = golden.id.split('-').next().unwrap_or_default();
        let expected = exceptions.get(short_id).unwrap_or(&Rebuilt::Same);
        check_rebuilt(&golden, expected);
    }
}

fn check_rebuilt(golden: &Golden, expected: &Rebuilt) {
    let (id, bytes) = (&golden.id, read(&golden.file));
    let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("goldens are well-formed");
    let key = golden.key_hex.as_deref().map(key);
    let (builder, checks) = builder_with(bundle.claims(), policy(&golden.policy));
    match expected {
        Rebuilt::Same => {
            check_violations(golden, &builder, key.as_ref());
            let rebuilt = builder.plain().build(key.as_ref(), None);
            assert!(rebuilt.expect("goldens can be written") == bytes, "{id}");
        }
        Rebuilt::WeakKey => {
            let rebuilt = builder.plain().build(key.as_ref(), None);
            assert_eq!(rebuilt, Err(Refused::WeakKey), "{id}");
        }
        Rebuilt::Stricter(stricter) => {
            assert_eq!(checks, *stricter, "{id}");
            let before: Vec<Check> = bundle.claims().calls().map(|call| call.check).collect();
            assert_ne!(checks, before, "{id}");
            check_stricter(golden, &builder, key.as_ref());
        }
        Rebuilt::Assembled => {
            assert!(golden.builder_policy_violations.is_none(), "{id}");
            let rebuilt = builder.plain().build(key.as_ref(), None);
            assert!(
                rebuilt.expect("the contents can be written") != bytes,
                "{id}"
            );
        }
    }
}

/// Checks that the bundle carries as many violations as the reference counted, with the reference's texts.
fn check_violations(golden: &Golden, builder: &Builder, key: Option<&HmacKey>) {
    let id = &golden.id;
    let expected = golden.builder_policy_violations.as_ref();
    let expected = expected.expect("the reference's builder made this one");
    let listed: Vec<&str> = builder.violations().iter().map(|v| &*v.text).collect();
    if expected.count as usize == expected.messages.len() {
        assert_eq!(listed, expected.messages, "{id}");
    }
    if let Some(first) = &expected.first {
        assert_eq!(listed.first(), Some(&first.as_str()), "{id}");
    }
    assert_eq!(violations_on_the_wire(builder, key), expected.count, "{id}");
}

/// Checks that a call that only the reference allows is one more violation of ours, and that the bundle stays
/// writable and valid.
fn check_stricter(golden: &Golden, builder: &Builder, key: Option<&HmacKey>) {
    let expected = golden.builder_policy_violations.as_ref();
    let expected = expected.expect("the reference's builder made this one");
    let count = violations_on_the_wire(builder, key);
    assert_eq!(count, expected.count + 1, "{}", golden.id);
}

fn violations_on_the_wire(builder: &Builder, key: Option<&HmacKey>) -> u32 {
    let bytes = builder
        .clone()
        .build(key, None)
        .expect("an extended bundle can be written");
    let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("what was written can be read");
    let violations = bundle.claims().extensions().violations.as_ref();
    violations
        .expect("our builder always counts violations")
        .count
}

/// Returns a builder with the whole content of the bundle, and the verdicts that it gave.
fn builder_with(contents: &Contents<'_>, policy: Policy) -> (Builder, Vec<Check>) {
    let header = contents.header();
    let mut builder = Builder::new(header.task_id, policy, header.created_ns);
    builder.outcome(contents.outcome());
    for tag in Tag::ALL {
        let Some(value) = contents.section(tag) else {
            continue;
        };
        match tag {
            Tag::Spec => builder.spec(value),
            Tag::Plan => builder.plan(value),
            Tag::Trace => &mut builder,
            Tag::Diff => builder.diff(value),
            Tag::TestLog => builder.test_log(value),
            Tag::Postmortem => builder.postmortem(value),
        };
    }
    (0..header.retry_count).for_each(|_| builder.retry());
    let mut checks = Vec::new();
    for call in contents.calls() {
        // The caller's own verdict must not reach the bundle, so it is always the wrong one.
        let check = match call.check {
            Check::Denied => Check::Allowed,
            Check::Allowed | Check::Confirmed => Check::Denied,
        };
        let given = builder.record(&Call { check, ..call });
        checks.push(given.expect("goldens fit the format"));
    }
    (builder, checks)
}

#[test]
fn damaged_bundles_get_their_hardened_verdicts() {
    for damaged in manifest::<Manifest>().corrupted {
        check_hardened(&damaged);
    }
}

fn check_hardened(damaged: &Damaged) {
    let (id, bytes) = (&damaged.id, read(&damaged.file));
    let keyring = keyring(damaged.key_hex.as_deref());
    let verdict = judge(&bytes, Strictness::Strict, &keyring);
    let reason = damaged.hardened.reason.as_str();
    if damaged.hardened.verdict == "warn" {
        assert_eq!(verdict, Verdict::Valid, "{id}");
        let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("it was just read");
        let evidence = bundle.verify(&keyring).expect("it was just verified");
        let warnings: Vec<&str> = evidence.warnings().iter().map(|w| w.name()).collect();
        assert_eq!(warnings, [reason], "{id}");
        return;
    }
    assert_eq!(damaged.hardened.verdict, "reject", "{id}");
    let name = match reason {
        "bad_signature" => "bad_signature",
        "signature_required" => "unsigned",
        _ => "malformed",
    };
    assert_eq!(
        (verdict.name(), verdict.reason()),
        (name, Some(reason)),
        "{id}"
    );
}

#[test]
fn a_bad_call_is_named_by_its_place() {
    let cases = [
        (
            "c27-trace-bad-policy-check",
            "tool call 1 at byte 36 of the trace cannot be read",
        ),
        (
            "c28-trace-action-too-long",
            "tool call 2 at byte 72 of the trace cannot be read",
        ),
    ];
    for (id, expected) in cases {
        let bytes = read(&format!("{id}.rvww"));
        let verdict = judge(&bytes, Strictness::Strict, &Keyring::default());
        assert_eq!(verdict.explain(), expected, "{id}");
    }
}

#[test]
fn damaged_bundles_are_read_leniently_as_the_reference_reads_them() {
    for damaged in manifest::<Manifest>().corrupted {
        check_lenient(&damaged);
    }
}

fn check_lenient(damaged: &Damaged) {
    let (id, bytes) = (&damaged.id, read(&damaged.file));
    let keyring = keyring(damaged.key_hex.as_deref());
    let expected = match damaged.verify.as_str() {
        // If the reference crashes, there is nothing to read.
        "parse_error" | "panic" => "malformed",
        other => other,
    };
    let verdict = judge(&bytes, Strictness::Lenient, &keyring);
    assert_eq!(verdict.name(), expected, "{id}");
    match Bundle::parse(&bytes, Strictness::Lenient) {
        Err(malformed) => {
            assert_ne!(damaged.oracle.parse, "ok", "{id}");
            if let Some(offset) = damaged.oracle.parse.get("offset") {
                let place = format!("at byte {offset} ");
                assert!(malformed.detail.contains(&place), "{id}: {malformed}");
            }
        }
        Ok(bundle) => {
            let oracle = &damaged.oracle;
            let contents = bundle.claims();
            assert_eq!(oracle.parse, "ok", "{id}");
            assert_eq!(seen_sections(contents), oracle.sections_seen, "{id}");
            assert_eq!(contents.calls().count(), oracle.trace_entries, "{id}");
            assert_eq!(
                contents.evidence_complete(),
                oracle.evidence_complete,
                "{id}"
            );
            assert_eq!(bundle.is_signed(), oracle.signed, "{id}");
        }
    }
}

#[test]
fn policies_have_the_published_text_hash_and_decisions() {
    for vector in manifest::<Manifest>().policies {
        check_policy(&vector);
    }
}

fn check_policy(vector: &JudgingPolicy) {
    let policy = policy(&vector.policy);
    let text = policy.hashed_text();
    assert_eq!(text, vector.policy.preimage);
    assert_eq!(hex::encode(policy.hash()), vector.policy.policy_hash);
    // The one documented difference: outside Restricted the reference ignores the allow list, our policy does not.
    let ignored_list = policy.mode != Mode::Restricted && !policy.allowed_tools.is_empty();
    for (name, check) in &vector.check_tool {
        let theirs = Check::from_wire(*check).expect("a check of the format");
        let expected = if ignored_list && !policy.allowed_tools.contains(name) {
            Check::Denied
        } else {
            theirs
        };
        assert_eq!(policy.check(name.as_bytes()), expected, "{text}: {name}");
    }
}

#[test]
fn the_three_modes_have_the_published_policies() {
    let published = [
        (Mode::Restricted, "66fb836fa37e48ef"),
        (Mode::Approved, "37174386ed336528"),
        (Mode::Autonomous, "f9210ee4856ff1e0"),
    ];
    for (mode, hash) in published {
        let policy = Policy::of_mode(mode);
        assert_eq!(hex::encode(policy.hash()), hash);
        assert_eq!(Policy::published(policy.hash()), Some(policy));
    }
    let unpublished = Policy {
        max_tool_calls: 501,
        ..Policy::of_mode(Mode::Autonomous)
    };
    assert_eq!(Policy::published(unpublished.hash()), None);
}

#[test]
fn an_allow_list_counts_in_every_mode() {
    let allow_read = |mode| Policy {
        allowed_tools: vec!["Read".into()],
        denied_tools: vec!["Bash".into()],
        ..Policy::of_mode(mode)
    };
    let cases = [
        (Mode::Restricted, "Read", Check::Allowed),
        (Mode::Approved, "Read", Check::Confirmed),
        (Mode::Autonomous, "Read", Check::Allowed),
        (Mode::Restricted, "Glob", Check::Denied),
        (Mode::Approved, "Glob", Check::Denied),
        (Mode::Autonomous, "Glob", Check::Denied),
        (Mode::Approved, "Bash", Check::Denied),
        (Mode::Autonomous, "Bash", Check::Denied),
        (Mode::Autonomous, "read", Check::Denied),
        (Mode::Autonomous, "Read ", Check::Denied),
    ];
    for (mode, name, expected) in cases {
        let given = allow_read(mode).check(name.as_bytes());
        assert_eq!(given, expected, "{name} in {}", mode.name());
    }
}

#[test]
fn a_name_that_is_not_text_is_denied_in_every_mode() {
    for mode in Mode::ALL {
        let policy = Policy::of_mode(mode);
        for name in [&b"Bash\xFF"[..], b"\xFF", b"\xC0\x80", b"Read\xED\xA0\x80"] {
            assert_eq!(
                policy.check(name),
                Check::Denied,
                "{name:?} in {}",
                mode.name()
            );
        }
    }
}

#[test]
fn policies_that_share_the_short_hash_have_different_digests() {
    let with = |allowed: &[&str], denied: &[&str]| Policy {
        allowed_tools: allowed.iter().map(ToString::to_string).collect(),
        denied_tools: denied.iter().map(ToString::to_string).collect(),
        ..Policy::of_mode(Mode::Autonomous)
    };
    let pairs = [
        (with(&["A", "B"], &[]), with(&["A+B"], &[])),
        (with(&["A"], &["B"]), with(&["A-B"], &[])),
    ];
    for (one, other) in pairs {
        assert_eq!(one.hash(), other.hash());
        assert_ne!(one.digest(), other.digest());
    }
}

#[test]
fn numbers_without_a_meaning_have_no_name() {
    let outcomes = Outcome::ALL.map(|outcome| outcome as u8);
    let modes = Mode::ALL.map(|mode| mode as u8);
    let checks = Check::ALL.map(|check| check as u8);
    assert_eq!(
        (outcomes, modes, checks),
        ([0, 1, 2, 3], [0, 1, 2], [0, 1, 2])
    );
    for (outcome, mode, check) in [(4, 3, 3), (255, 255, 255)] {
        assert_eq!(Outcome::from_wire(outcome), None);
        assert_eq!(Mode::from_wire(mode), None);
        assert_eq!(Check::from_wire(check), None);
    }
}

fn keyring(key_hex: Option<&str>) -> Keyring {
    key_hex.map_or_else(Keyring::default, |text| Keyring::hmac(key(text)))
}

fn header(fields: &HeaderFields) -> Header {
    Header {
        version: fields.version,
        flags: fields.flags,
        task_id: TaskId(bytes_of(&fields.task_id)),
        policy_hash: bytes_of(&fields.policy_hash),
        created_ns: fields.created_ns.parse().expect("a decimal number"),
        outcome: fields.outcome,
        mode: fields.governance_mode,
        tool_call_count: fields.tool_call_count,
        total_cost_microdollars: fields.total_cost_microdollars,
        total_latency_ms: fields.total_latency_ms,
        total_tokens: fields.total_tokens,
        retry_count: fields.retry_count,
        section_count: fields.section_count,
        total_bundle_size: fields.total_bundle_size,
    }
}

fn policy(fields: &PolicyFields) -> Policy {
    Policy {
        mode: Mode::from_wire(fields.mode).expect("a mode of the format"),
        allowed_tools: fields.allowed_tools.clone(),
        denied_tools: fields.denied_tools.clone(),
        max_cost_microdollars: fields.max_cost_microdollars,
        max_tool_calls: fields.max_tool_calls,
    }
}

fn sections(contents: &Contents<'_>) -> Vec<SectionFields> {
    let described = contents.sections().map(|section| SectionFields {
        tag: section.tag,
        value_offset: section.offset,
        len: section.value.len(),
        sha256: sha256(section.value),
    });
    described.collect()
}

/// Returns the defined sections, in the order of their tags, as the reference's reader lists them.
fn seen_sections(contents: &Contents<'_>) -> Vec<SeenSection> {
    let seen = |tag: Tag| {
        contents.section(tag).map(|value| SeenSection {
            name: tag.name().to_owned(),
            len: value.len(),
            sha256: sha256(value),
        })
    };
    Tag::ALL.into_iter().filter_map(seen).collect()
}

fn bytes_of<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).expect("hex of the right length");
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn saturated(sum: u64) -> u64 {
    sum.min(u64::from(u32::MAX))
}
