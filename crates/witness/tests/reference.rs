//! Random bundles: ours are read by the reference crates, theirs by us, and damaged ones by both, with equal results.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a property that cannot be checked fails, and its bundles are small"
)]

mod alike;

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::{of, weighted};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::{Index, select};
use rvf_runtime::witness::{GovernancePolicy, ParsedWitness, WitnessBuilder};
use rvf_types::witness::{GovernanceMode, PolicyCheck, TaskOutcome, ToolCallEntry};
use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::evidence::{Verdict, judge};
use witness::extension::{Chain, MAX_LISTED_VIOLATIONS, Rollback, Violations};
use witness::key::{HmacKey, Keyring, SigningKey};
use witness::policy::{Check, Policy};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, Tag, TaskId};

const SEED: [u8; 32] = [0x5E; 32];

/// Content of a bundle.
#[derive(Clone, Debug)]
struct Task {
    task_id: [u8; 16],
    policy: Policy,
    created_ns: u64,
    outcome: Outcome,
    /// Spec, plan, diff, test log, postmortem.
    texts: [Option<Vec<u8>>; 5],
    calls: Vec<Recorded>,
    retries: u8,
    secret: Option<Vec<u8>>,
    ours: Option<Ours>,
}

#[derive(Clone, Debug)]
struct Recorded {
    entry: ToolCallEntry,
    /// Set if a guard stopped the call before it ran.
    refused: bool,
}

/// Content that only our bundles carry.
#[derive(Clone, Debug)]
struct Ours {
    facts: BTreeMap<String, String>,
    rollbacks: Vec<Rollback>,
    chain: Option<Chain>,
    sealed: bool,
}

fn tasks() -> impl Strategy<Value = Task> {
    let what = (any::<[u8; 16]>(), policies(), any::<u64>());
    let end = (select(&Outcome::ALL[..]), any::<u8>(), secrets());
    let texts = [texts(), texts(), texts(), texts(), texts()];
    (what, end, texts, vec(calls(), 0..12), of(ours())).prop_map(
        |((task_id, policy, created_ns), (outcome, retries, secret), texts, calls, ours)| Task {
            task_id,
            policy,
            created_ns,
            outcome,
            texts,
            calls,
            retries,
            secret,
            ours,
        },
    )
}

/// Returns secrets that are long enough to write with, on both sides of the HMAC's block size.
fn secrets() -> impl Strategy<Value = Option<Vec<u8>>> {
    weighted(0.7, vec(any::<u8>(), 16..140))
}

fn texts() -> impl Strategy<Value = Option<Vec<u8>>> {
    let text = prop_oneof![
        Just(Vec::new()),
        vec(any::<u8>(), 0..300),
        "\\PC{0,60}".prop_map(String::into_bytes),
        // Bytes that look like a bundle.
        Just(b"WVWR\x01\x00\x01\x00\x03\x00\xFF\xFF\xFF\xFF".to_vec()),
    ];
    of(text)
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(&["Read", "Glob", "Bash", "Write", "Edit", "A+B", "A-B"][..]).prop_map(String::from),
        3 => "\\PC{0,20}",
        1 => Just(String::new()),
    ]
}

fn actions() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        20 => names().prop_map(String::into_bytes),
        4 => vec(any::<u8>(), 0..40),
        1 => vec(any::<u8>(), 65_535),
        1 => Just("ü".repeat(32_767).into_bytes()),
    ]
}

fn policies() -> impl Strategy<Value = Policy> {
    let published = select(&Mode::ALL[..]).prop_map(Policy::of_mode);
    let lists = (vec(names(), 0..5), vec(names(), 0..4));
    let budgets = (numbers(), prop_oneof![0..5_u16, any::<u16>()]);
    let other =
        (select(&Mode::ALL[..]), lists, budgets).prop_map(|(mode, lists, budgets)| Policy {
            mode,
            allowed_tools: lists.0,
            denied_tools: lists.1,
            max_cost_microdollars: budgets.0,
            max_tool_calls: budgets.1,
        });
    prop_oneof![published, other]
}

fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![0..1000_u32, any::<u32>(), Just(u32::MAX)]
}

fn entries() -> impl Strategy<Value = ToolCallEntry> {
    let checks = [
        PolicyCheck::Allowed,
        PolicyCheck::Denied,
        PolicyCheck::Confirmed,
    ];
    let hashes = (any::<[u8; 8]>(), any::<[u8; 8]>());
    let costs = (numbers(), numbers(), numbers());
    (actions(), hashes, costs, select(checks.to_vec())).prop_map(
        |(action, hashes, costs, policy_check)| ToolCallEntry {
            action,
            args_hash: hashes.0,
            result_hash: hashes.1,
            latency_ms: costs.0,
            cost_microdollars: costs.1,
            tokens: costs.2,
            policy_check,
        },
    )
}

fn calls() -> impl Strategy<Value = Recorded> {
    let refused = prop_oneof![9 => Just(false), 1 => Just(true)];
    (entries(), refused).prop_map(|(entry, refused)| Recorded { entry, refused })
}

fn ours() -> impl Strategy<Value = Ours> {
    let rollback = (any::<bool>(), "\\PC{0,40}", "\\PC{0,40}", "\\PC{0,40}").prop_map(
        |(restored, wanted, found, kept)| Rollback {
            restored,
            wanted,
            found,
            kept,
        },
    );
    let chain = (any::<u64>(), any::<[u8; 32]>())
        .prop_map(|(sequence, previous)| Chain { sequence, previous });
    let facts = btree_map("\\PC{0,20}", "\\PC{0,80}", 0..5);
    (facts, vec(rollback, 0..4), of(chain), any::<bool>()).prop_map(
        |(facts, rollbacks, chain, sealed)| Ours {
            facts,
            rollbacks,
            chain,
            sealed,
        },
    )
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        // A counterexample becomes a named test.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn our_bundles_are_read_alike(task in tasks()) {
        check_ours(&task);
    }

    #[test]
    fn their_bundles_are_read_alike(task in tasks()) {
        check_theirs(&task);
    }

    #[test]
    fn damaged_bundles_are_read_alike(
        task in tasks(),
        edits in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in weighted(0.2, any::<Index>()),
        again in any::<bool>(),
    ) {
        check_damaged(&task, &edits, cut, again);
    }

    #[test]
    fn policies_are_judged_alike(policy in policies(), names in vec(names(), 1..20)) {
        check_policies(&policy, &names);
    }
}

// Ours, read by them.

fn check_ours(task: &Task) {
    let (builder, recorded) = our_builder(task);
    let bytes = build_ours(task, builder);
    let secret = task.secret.as_deref().unwrap_or_default();
    alike::check(&bytes, secret);

    let theirs = ParsedWitness::parse(&bytes).expect("the reference reads our bundles");
    check_their_reading(task, &recorded, &theirs);
    assert_eq!(theirs.signature.is_some(), task.secret.is_some());
    theirs
        .verify_all(secret, &bytes)
        .expect("the reference verifies our bundles");

    let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("we read our bundles");
    assert_eq!(bundle.warnings(), []);
    check_extensions(task, &bundle);
    check_verdicts(task, &bytes);
}

/// Checks by the reference that the bundle holds its input.
fn check_their_reading(task: &Task, recorded: &[ToolCallEntry], theirs: &ParsedWitness<'_>) {
    let texts = [
        theirs.spec,
        theirs.plan,
        theirs.diff,
        theirs.test_log,
        theirs.postmortem,
    ];
    assert_eq!(texts, task.texts.each_ref().map(Option::as_deref));
    assert_eq!(theirs.parse_trace(), recorded);
    let sum = |number: fn(&ToolCallEntry) -> u32| {
        recorded.iter().map(number).fold(0, u32::saturating_add)
    };
    let header = &theirs.header;
    assert_eq!(header.task_id, task.task_id);
    assert_eq!(header.policy_hash, their_policy(&task.policy).hash());
    assert_eq!(header.created_ns, task.created_ns);
    assert_eq!(header.outcome, task.outcome as u8);
    assert_eq!(header.governance_mode, task.policy.mode as u8);
    assert_eq!(usize::from(header.tool_call_count), recorded.len());
    assert_eq!(
        header.total_cost_microdollars,
        sum(|entry| entry.cost_microdollars)
    );
    assert_eq!(header.total_latency_ms, sum(|entry| entry.latency_ms));
    assert_eq!(header.total_tokens, sum(|entry| entry.tokens));
    assert_eq!(header.retry_count, u16::from(task.retries));
}

fn check_extensions(task: &Task, bundle: &Bundle<'_>) {
    let extensions = bundle.claims().extensions();
    let Some(ours) = &task.ours else {
        assert_eq!(*extensions, Default::default());
        return;
    };
    assert_eq!(extensions.provenance, ours.facts);
    assert_eq!(extensions.policy.as_ref(), Some(&task.policy));
    assert_eq!(extensions.rollbacks, ours.rollbacks);
    assert_eq!(extensions.chain, ours.chain);
    assert_eq!(
        extensions.hmac_key,
        task.secret.as_deref().map(|s| HmacKey::new(s).id())
    );
    let violations = extensions.violations.clone().unwrap_or_default();
    assert_eq!(violations, expected_violations(task));
}

/// Returns the violations by the reference's rules and our stricter checks, without the calls that a guard stopped.
fn expected_violations(task: &Task) -> Violations {
    let (mut expected, mut cost, mut calls) = (Vec::new(), 0_u32, 0_usize);
    for (index, recorded) in task.calls.iter().enumerate() {
        if recorded.refused {
            continue;
        }
        calls += 1;
        cost = cost.saturating_add(recorded.entry.cost_microdollars);
        let denied = task.policy.check(&recorded.entry.action) == Check::Denied;
        let over_cost = cost > task.policy.max_cost_microdollars;
        let over_calls = calls > usize::from(task.policy.max_tool_calls);
        for (breached, start) in [
            (denied, "denied tool: "),
            (over_cost, "cost budget exceeded: "),
            (over_calls, "tool call budget exceeded: "),
        ] {
            if breached {
                expected.push((index as u32, start));
            }
        }
    }
    assert!(
        expected.len() <= MAX_LISTED_VIOLATIONS,
        "every violation is listed"
    );
    let (builder, _) = our_builder(task);
    let listed = builder.violations().to_vec();
    for (violation, (index, start)) in listed.iter().zip(&expected) {
        assert_eq!(violation.call, *index);
        assert!(violation.text.starts_with(start), "{}", violation.text);
    }
    assert_eq!(listed.len(), expected.len());
    Violations {
        count: expected.len() as u32,
        listed,
    }
}

fn check_verdicts(task: &Task, bytes: &[u8]) {
    let sealed = task.ours.as_ref().is_some_and(|ours| ours.sealed);
    let public = SigningKey::new(&SEED).public();
    let required = Verdict::Unsigned { required: true };
    let by_hmac = task.secret.as_deref().map(HmacKey::new);
    if let Some(key) = &by_hmac {
        let known = Keyring::known(vec![HmacKey::new(b"another"), key.clone()], Vec::new());
        assert_eq!(judge(bytes, Strictness::Strict, &known), Verdict::Valid);
        let named = Keyring::hmac(key.clone());
        assert_eq!(judge(bytes, Strictness::Strict, &named), Verdict::Valid);
    }
    let expected = if sealed { Verdict::Valid } else { required };
    assert_eq!(
        judge(bytes, Strictness::Strict, &Keyring::public(public)),
        expected
    );
    let nobody = match by_hmac.is_some() || sealed {
        true => Verdict::Unchecked,
        false => Verdict::Unsigned { required: false },
    };
    assert_eq!(
        judge(bytes, Strictness::Strict, &Keyring::default()),
        nobody
    );
}

/// Returns a builder with the task, and the entries that it should have written.
fn our_builder(task: &Task) -> (Builder, Vec<ToolCallEntry>) {
    let mut builder = Builder::new(TaskId(task.task_id), task.policy.clone(), task.created_ns);
    builder.outcome(task.outcome);
    let setters = [
        Builder::spec,
        Builder::plan,
        Builder::diff,
        Builder::test_log,
        Builder::postmortem,
    ];
    for (set, text) in setters.into_iter().zip(&task.texts) {
        if let Some(text) = text {
            set(&mut builder, text.clone());
        }
    }
    (0..task.retries).for_each(|_| builder.retry());
    let mut written = Vec::new();
    for Recorded { entry, refused } in &task.calls {
        let call = call(entry);
        let check = if *refused {
            builder.record_refused(&call).expect("a dozen calls fit");
            Check::Denied
        } else {
            builder.record(&call).expect("a dozen calls fit")
        };
        written.push(alike::entry(&Call { check, ..call }));
    }
    let Some(ours) = &task.ours else {
        return (builder.plain(), written);
    };
    for (name, value) in &ours.facts {
        builder.provenance(name, value);
    }
    ours.rollbacks
        .iter()
        .cloned()
        .for_each(|rollback| builder.rollback(rollback));
    ours.chain.into_iter().for_each(|chain| {
        builder.chain(chain);
    });
    (builder, written)
}

fn build_ours(task: &Task, builder: Builder) -> Vec<u8> {
    let key = task.secret.as_deref().map(HmacKey::new);
    let sealed = task.ours.as_ref().is_some_and(|ours| ours.sealed);
    let signer = sealed.then(|| SigningKey::new(&SEED));
    let again = builder.clone().build(key.as_ref(), signer.as_ref());
    let bytes = builder.build(key.as_ref(), signer.as_ref());
    assert!(bytes == again, "the same input gives the same bytes");
    bytes.expect("a small bundle")
}

// Theirs, read by us.

fn check_theirs(task: &Task) {
    let bytes = build_theirs(task);
    let secret = task.secret.as_deref().unwrap_or_default();
    alike::check(&bytes, secret);

    let bundle = Bundle::parse(&bytes, Strictness::Strict).expect("we read their bundles strictly");
    assert_eq!(bundle.warnings(), []);
    assert_eq!(*bundle.claims().extensions(), Default::default());
    let calls: Vec<ToolCallEntry> = bundle.claims().calls().map(|c| alike::entry(&c)).collect();
    let theirs = ParsedWitness::parse(&bytes).expect("they read their own bundles");
    assert_eq!(calls, theirs.parse_trace());
    assert_eq!(calls.len(), task.calls.len());
    let texts = [
        Tag::Spec,
        Tag::Plan,
        Tag::Diff,
        Tag::TestLog,
        Tag::Postmortem,
    ];
    let texts = texts.map(|tag| bundle.claims().section(tag));
    assert_eq!(texts, task.texts.each_ref().map(Option::as_deref));
    let verdict = judge(
        &bytes,
        Strictness::Strict,
        &Keyring::hmac(HmacKey::new(secret)),
    );
    let expected = match task.secret {
        Some(_) => Verdict::Valid,
        None => Verdict::Unsigned { required: true },
    };
    assert_eq!(verdict, expected);
}

fn build_theirs(task: &Task) -> Vec<u8> {
    let outcome = TaskOutcome::try_from(task.outcome as u8).expect("the same four outcomes");
    let mut builder = WitnessBuilder::new(task.task_id, their_policy(&task.policy));
    builder = builder.with_outcome(outcome);
    [
        builder.spec,
        builder.plan,
        builder.diff,
        builder.test_log,
        builder.postmortem,
    ] = task.texts.clone();
    for recorded in &task.calls {
        builder.record_tool_call(recorded.entry.clone());
    }
    (0..task.retries).for_each(|_| builder.record_retry());
    let built = match &task.secret {
        Some(secret) => builder.build_and_sign(secret),
        None => builder.build(),
    };
    built.expect("their builder does not fail").0
}

// Damaged, read by both.

fn check_damaged(task: &Task, edits: &[(Index, u8)], cut: Option<Index>, again: bool) {
    let (builder, _) = our_builder(task);
    let mut bytes = build_ours(task, builder);
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    for (place, value) in edits {
        // Most damage goes to the structure: the header and the bytes behind it.
        let end = bytes.len().min(160);
        if end > 0 {
            bytes[place.index(end)] ^= *value;
        }
    }
    let secret = task.secret.as_deref().unwrap_or_default();
    if again && bytes.len() >= 96 {
        // Signed again, so that both readers have to handle the damage.
        let (unsigned, _) = bytes.split_at(bytes.len() - 32);
        let tag = rvf_runtime::seed_crypto::sign_seed(secret, unsigned);
        let end = bytes.len();
        bytes[end - 32..].copy_from_slice(&tag);
    }
    alike::check(&bytes, secret);
}

// Policies.

fn check_policies(policy: &Policy, names: &[String]) {
    let theirs = their_policy(policy);
    assert_eq!(policy.hash(), theirs.hash());
    let mut bytes = Vec::new();
    policy.put(&mut bytes).expect("short lists");
    assert_eq!(Policy::take(&bytes).as_ref(), Some(policy));
    for name in names {
        let ours = policy.check(name.as_bytes());
        let listed = policy.allowed_tools.is_empty() || policy.allowed_tools.contains(name);
        if policy.mode == Mode::Restricted || listed {
            assert_eq!(ours as u8, theirs.check_tool(name) as u8, "{name}");
        } else {
            // The documented difference: a list that is not empty counts.
            assert_eq!(ours, Check::Denied, "{name}");
        }
    }
}

fn their_policy(policy: &Policy) -> GovernancePolicy {
    GovernancePolicy {
        mode: GovernanceMode::try_from(policy.mode as u8).expect("the same three modes"),
        allowed_tools: policy.allowed_tools.clone(),
        denied_tools: policy.denied_tools.clone(),
        max_cost_microdollars: policy.max_cost_microdollars,
        max_tool_calls: policy.max_tool_calls,
    }
}

fn call(entry: &ToolCallEntry) -> Call<'_> {
    Call {
        action: &entry.action,
        check: Check::from_wire(entry.policy_check as u8).expect("the same three checks"),
        args_hash: entry.args_hash,
        result_hash: entry.result_hash,
        latency_ms: entry.latency_ms,
        cost_microdollars: entry.cost_microdollars,
        tokens: entry.tokens,
    }
}
