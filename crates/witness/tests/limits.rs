//! Limits of the format: content beyond them is refused, no number wraps around, and everything up to them works.

#![expect(
    clippy::expect_used,
    reason = "a limit that cannot be reached fails its test"
)]

use rvf_runtime::witness::{GovernancePolicy, WitnessBuilder};
use rvf_types::witness::{PolicyCheck, ToolCallEntry};
use witness::builder::{Builder, Refused};
use witness::bundle::{Bundle, Reason, Strictness};
use witness::extension::{MAX_LISTED_VIOLATIONS, Rollback};
use witness::key::{HmacKey, MIN_HMAC_KEY, SigningKey};
use witness::policy::{Check, Meter, Policy, PolicyTooLong, Violation};
use witness::trace::{self, ActionTooLong, Call, MAX_ACTION, MAX_CALLS};
use witness::wire::{HEADER_LEN, Header, Mode, TaskId};

const CALL: Call<'static> = Call {
    action: b"Read",
    check: Check::Allowed,
    args_hash: [1; 8],
    result_hash: [2; 8],
    latency_ms: 1,
    cost_microdollars: 1,
    tokens: 1,
};

fn builder(policy: Policy) -> Builder {
    Builder::new(TaskId([4; 16]), policy, 0)
}

/// Returns a policy without lists and budgets.
fn free() -> Policy {
    Policy {
        max_cost_microdollars: u32::MAX,
        max_tool_calls: u16::MAX,
        ..Policy::of_mode(Mode::Autonomous)
    }
}

fn header(builder: Builder) -> Header {
    let bytes = builder.plain().build(None, None).expect("a bundle");
    *read(&bytes).claims().header()
}

fn read(bytes: &[u8]) -> Bundle<'_> {
    Bundle::parse(bytes, Strictness::Strict).expect("what was written can be read")
}

fn texts(builder: &Builder) -> Vec<&str> {
    builder
        .violations()
        .iter()
        .map(|v| v.text.as_str())
        .collect()
}

// Calls and names.

#[test]
fn the_last_call_that_can_be_counted_is_the_last_one_written() {
    let mut policy = free();
    policy.max_tool_calls = 65_534;
    let mut builder = builder(policy);
    for _ in 0..MAX_CALLS {
        builder.record(&CALL).expect("the header can count it");
    }
    let before = builder.clone();
    assert_eq!(texts(&before), ["tool call budget exceeded: 65535 > 65534"]);
    assert_eq!(builder.record(&CALL), Err(Refused::TooManyCalls));
    assert_eq!(builder.record_refused(&CALL), Err(Refused::TooManyCalls));
    assert_eq!(
        texts(&builder),
        texts(&before),
        "a refused call leaves no trace"
    );
    let header = header(builder);
    assert_eq!(header.tool_call_count, u16::MAX);
    assert_eq!(header.total_tokens, 65_535);
}

#[test]
fn the_longest_name_is_written_and_a_longer_one_is_not() {
    let longest = vec![b'x'; MAX_ACTION];
    let longer = vec![b'x'; MAX_ACTION + 1];
    let named = |action| Call { action, ..CALL };
    let mut builder = builder(free());
    builder
        .record(&named(&longest))
        .expect("the longest name fits");
    let refused = Refused::Action(ActionTooLong(65_536));
    assert_eq!(builder.record(&named(&longer)), Err(refused.clone()));
    assert_eq!(builder.record_refused(&named(&longer)), Err(refused));
    builder.record(&CALL).expect("the builder goes on");
    let header = header(builder);
    assert_eq!((header.tool_call_count, header.total_tokens), (2, 2));

    let mut out = b"before".to_vec();
    assert_eq!(
        trace::put(&mut out, &named(&longer)),
        Err(ActionTooLong(65_536))
    );
    assert_eq!(out, b"before", "nothing of a refused entry is written");
}

/// The reference lets the count wrap. Its bundle is read with a warning.
#[test]
fn a_wrapped_count_of_the_reference_is_a_warning() {
    for (calls, stated) in [(65_536, 0), (66_135, 599)] {
        let mut theirs = WitnessBuilder::new([4; 16], GovernancePolicy::autonomous());
        let entry = ToolCallEntry {
            action: Vec::new(),
            args_hash: [0; 8],
            result_hash: [0; 8],
            latency_ms: 0,
            cost_microdollars: 0,
            tokens: 0,
            policy_check: PolicyCheck::Allowed,
        };
        theirs.trace = vec![entry; calls];
        let (bytes, _) = theirs.build().expect("their builder does not fail");
        let bundle = read(&bytes);
        assert_eq!(bundle.warnings(), [Reason::ToolCallCountWrapped]);
        assert_eq!(bundle.claims().header().tool_call_count, stated);
        assert_eq!(bundle.claims().totals().calls, calls);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_bundle_beyond_four_gigabytes_is_refused() {
    // The pages of a zeroed vector are never touched, so the test needs no such memory.
    let largest = u32::MAX as usize - HEADER_LEN - 6;
    let mut one_section = builder(free());
    one_section.spec(vec![0; largest + 1]);
    let mut two_sections = builder(free());
    two_sections
        .spec(vec![0; largest / 2])
        .diff(vec![0; largest / 2]);
    let too_large = [(one_section, 1 << 32), (two_sections, (1 << 32) + 4)];
    for (builder, size) in too_large {
        assert_eq!(
            builder.plain().build(None, None),
            Err(Refused::TooLarge(size))
        );
    }
}

// Extensions.

type Fill = fn(&mut Builder, usize);

#[test]
fn an_extension_holds_65535_and_no_more() {
    let cases: [(&str, Fill); 8] = [
        ("a provenance name", |builder, size| {
            builder.provenance(&"x".repeat(size), "");
        }),
        ("a provenance value", |builder, size| {
            builder.provenance("", &"x".repeat(size));
        }),
        ("the provenance", |builder, size| {
            for number in 0..size {
                builder.provenance(&number.to_string(), "");
            }
        }),
        ("a violation", |builder, size| {
            builder.violation(Violation {
                call: 0,
                text: "x".repeat(size),
            });
        }),
        ("the list of rollbacks", |builder, size| {
            for _ in 0..size {
                builder.rollback(rollback(""));
            }
        }),
        ("a tree hash", |builder, size| {
            builder.rollback(rollback(&"x".repeat(size)));
        }),
        ("the policy", |builder, size| {
            *builder = with_allowed(vec!["x".repeat(size)]);
        }),
        ("the policy", |builder, size| {
            *builder = with_allowed(vec![String::new(); size]);
        }),
    ];
    for (what, fill) in cases {
        check_extension(what, fill);
    }
}

fn check_extension(what: &str, fill: Fill) {
    let filled = |size| {
        let mut builder = builder(free());
        fill(&mut builder, size);
        builder
    };
    let largest = filled(65_535).build(None, None).expect("the largest fits");
    let extensions = read(&largest).claims().extensions().clone();
    let again = extensions.put().expect("what was read can be written");
    assert!(
        again.iter().any(|(_, value)| value.len() > 65_535),
        "{what} was read"
    );

    let refused = filled(65_536)
        .build(None, None)
        .map_err(|refused| refused.to_string());
    let expected =
        format!("{what} does not fit; the section holds 65,535 items of 65,535 bytes each");
    assert_eq!(refused, Err(expected));
    filled(65_536)
        .plain()
        .build(None, None)
        .expect("a plain bundle has no such section");
}

fn rollback(wanted: &str) -> Rollback {
    Rollback {
        restored: false,
        wanted: wanted.to_owned(),
        found: String::new(),
        kept: String::new(),
    }
}

fn with_allowed(allowed_tools: Vec<String>) -> Builder {
    builder(Policy {
        allowed_tools,
        ..free()
    })
}

#[test]
fn a_policy_that_cannot_be_encoded_has_no_digest() {
    let mut policy = free();
    policy.denied_tools = vec!["x".repeat(65_535)];
    policy.digest().expect("the longest name fits");
    policy.denied_tools = vec!["x".repeat(65_536)];
    assert_eq!(policy.digest(), Err(PolicyTooLong));
}

/// Otherwise an agent could prevent the writing of its own evidence.
#[test]
fn no_name_makes_a_bundle_unwritable() {
    let names = [
        vec![0xFF; MAX_ACTION],
        vec![b'x'; MAX_ACTION],
        "ü".repeat(32_767).into_bytes(),
    ];
    let mut builder = builder(Policy::of_mode(Mode::Restricted));
    for action in &names {
        let check = builder.record(&Call { action, ..CALL });
        assert_eq!(check, Ok(Check::Denied));
    }
    for text in texts(&builder) {
        assert!(
            text.starts_with("denied tool: ") && text.ends_with('…'),
            "{text}"
        );
        assert_eq!(text.chars().count(), "denied tool: ".len() + 257);
    }
    let bytes = builder
        .build(None, None)
        .expect("long names are only quoted in part");
    let bundle = read(&bytes);
    assert!(bundle.claims().calls().map(|call| call.action).eq(&names));
}

#[test]
fn violations_beyond_the_list_are_counted() {
    let mut builder = builder(Policy::of_mode(Mode::Restricted));
    for _ in 0..1000 {
        let bash = Call {
            action: b"Bash",
            cost_microdollars: 0,
            ..CALL
        };
        builder.record(&bash).expect("there is room");
    }
    let bytes = builder.build(None, None).expect("a bundle");
    let bundle = read(&bytes);
    let violations = bundle.claims().extensions().violations.as_ref();
    let violations = violations.expect("our bundles count violations");
    // One per call for the tool, and one more for each call from the 51st.
    assert_eq!(violations.count, 1000 + 950);
    assert_eq!(violations.listed.len(), MAX_LISTED_VIOLATIONS);
}

// Keys.

#[test]
fn a_weak_key_does_not_sign() {
    for length in 0..100 {
        let key = HmacKey::new(&vec![7; length]);
        let signer = SigningKey::new(&[7; 32]);
        for signer in [None, Some(&signer)] {
            let built = builder(free()).build(Some(&key), signer).map(|_| ());
            let expected = if length < MIN_HMAC_KEY {
                Err(Refused::WeakKey)
            } else {
                Ok(())
            };
            assert_eq!(built, expected, "{length} bytes");
        }
    }
}

/// Leaving the signature out silently would return an unsigned bundle to a caller who requested a signed one.
#[test]
fn a_plain_bundle_cannot_be_sealed() {
    let (hmac, signer) = (HmacKey::new(&[7; 32]), SigningKey::new(&[7; 32]));
    for hmac in [None, Some(&hmac)] {
        let built = builder(free()).plain().build(hmac, Some(&signer));
        assert_eq!(built, Err(Refused::PlainSeal));
    }
}

// Budgets.

#[test]
fn a_budget_is_exceeded_above_its_limit_only() {
    let cases: [(&[u32], u32, u16, &[&str]); 8] = [
        (&[300, 200], 500, 9, &[]),
        (&[300, 201], 500, 9, &["1: cost budget exceeded: 501 > 500"]),
        (
            &[501, 0, 1],
            500,
            9,
            &[
                "0: cost budget exceeded: 501 > 500",
                "1: cost budget exceeded: 501 > 500",
                "2: cost budget exceeded: 502 > 500",
            ],
        ),
        (&[0, 0], 0, 2, &[]),
        (&[0, 0, 0], 0, 2, &["2: tool call budget exceeded: 3 > 2"]),
        (
            &[1],
            0,
            0,
            &[
                "0: cost budget exceeded: 1 > 0",
                "0: tool call budget exceeded: 1 > 0",
            ],
        ),
        (&[u32::MAX, u32::MAX], u32::MAX, 2, &[]),
        (
            &[u32::MAX, u32::MAX],
            u32::MAX - 1,
            2,
            &[
                "0: cost budget exceeded: 4294967295 > 4294967294",
                "1: cost budget exceeded: 4294967295 > 4294967294",
            ],
        ),
    ];
    for (costs, max_cost_microdollars, max_tool_calls, expected) in cases {
        let policy = Policy {
            max_cost_microdollars,
            max_tool_calls,
            ..free()
        };
        check_budget(costs, policy, expected);
    }
}

fn check_budget(costs: &[u32], policy: Policy, expected: &[&str]) {
    let mut builder = builder(policy);
    for cost in costs {
        let call = Call {
            cost_microdollars: *cost,
            ..CALL
        };
        builder.record(&call).expect("there is room");
    }
    let violations = builder.violations().iter();
    let found: Vec<String> = violations
        .map(|v| format!("{}: {}", v.call, v.text))
        .collect();
    assert_eq!(found, expected, "{costs:?}");
}

#[test]
fn one_call_can_breach_three_rules() {
    let mut policy = Policy::of_mode(Mode::Restricted);
    (policy.max_cost_microdollars, policy.max_tool_calls) = (0, 0);
    let mut builder = builder(policy);
    let bash = Call {
        action: b"Bash",
        ..CALL
    };
    assert_eq!(builder.record(&bash), Ok(Check::Denied));
    let expected = [
        "denied tool: Bash",
        "cost budget exceeded: 1 > 0",
        "tool call budget exceeded: 1 > 0",
    ];
    assert_eq!(texts(&builder), expected);
}

#[test]
fn a_stopped_call_is_no_violation_and_spends_no_budget() {
    let mut policy = Policy::of_mode(Mode::Restricted);
    policy.max_tool_calls = 1;
    let mut builder = builder(policy);
    let bash = Call {
        action: b"Bash",
        ..CALL
    };
    builder.record_refused(&bash).expect("there is room");
    builder.record(&CALL).expect("there is room");
    assert_eq!(texts(&builder), [""; 0]);
    builder.record(&CALL).expect("there is room");
    let place = builder.violations().first().map(|violation| violation.call);
    assert_eq!(
        place,
        Some(2),
        "the place in the trace, with the stopped call"
    );
    let bytes = builder.plain().build(None, None).expect("a bundle");
    let bundle = read(&bytes);
    let checks: Vec<Check> = bundle.claims().calls().map(|call| call.check).collect();
    assert_eq!(checks, [Check::Denied, Check::Allowed, Check::Allowed]);
}

/// The reference compares modulo 65,536 and counts 65,134 here.
#[test]
fn the_call_budget_does_not_go_quiet_in_a_long_task() {
    let (policy, mut meter, mut breaches) =
        (Policy::of_mode(Mode::Autonomous), Meter::default(), 0);
    let free_call = Call {
        cost_microdollars: 0,
        ..CALL
    };
    for _ in 0..66_135 {
        meter.record(&policy, &free_call, |_| breaches += 1);
    }
    assert_eq!(breaches, 66_135 - 500);
}

// Saturation.

#[test]
fn sums_stop_at_the_top() {
    let cases = [
        ([u32::MAX - 1, 1], u32::MAX),
        ([u32::MAX, 1], u32::MAX),
        ([u32::MAX, u32::MAX], u32::MAX),
        ([1 << 31, (1 << 31) - 1], u32::MAX),
        ([1 << 31, (1 << 31) - 2], u32::MAX - 1),
    ];
    for (numbers, sum) in cases {
        let mut builder = builder(free());
        for number in numbers {
            let call = Call {
                latency_ms: number,
                cost_microdollars: number,
                tokens: number,
                ..CALL
            };
            builder.record(&call).expect("there is room");
        }
        let header = header(builder);
        let sums = [
            header.total_latency_ms,
            header.total_cost_microdollars,
            header.total_tokens,
        ];
        assert_eq!(sums, [sum; 3], "{numbers:?}");
    }
}

#[test]
fn retries_stop_at_the_top() {
    for (retries, counted) in [(0, 0), (65_534, 65_534), (65_535, 65_535), (70_000, 65_535)] {
        let mut builder = builder(free());
        (0..retries).for_each(|_| builder.retry());
        assert_eq!(header(builder).retry_count, counted);
    }
}

// Reading: sizes that outside bytes only claim.

#[test]
fn a_claimed_size_is_compared_before_it_is_believed() {
    let empty = builder(free()).plain().build(None, None).expect("a bundle");
    let with_total = |total: u32, flags: u16| {
        let mut header = *read(&empty).claims().header();
        (header.total_bundle_size, header.flags) = (total, flags);
        header.to_bytes()
    };
    let cases = [
        (u32::MAX, 0, Reason::SizeMismatch),
        (u32::MAX, 1, Reason::SizeMismatch),
        (65, 0, Reason::SizeMismatch),
        (63, 0, Reason::TotalTooSmall),
        (0, 0, Reason::TotalTooSmall),
        (64, 1, Reason::TotalTooSmall),
        (32, 1, Reason::TotalTooSmall),
        (31, 1, Reason::TotalTooSmall),
        (0, 1, Reason::TotalTooSmall),
    ];
    for (total, flags, reason) in cases {
        let bytes = with_total(total, flags);
        let refused = Bundle::parse(&bytes, Strictness::Strict).map(|_| ());
        assert_eq!(refused.map_err(|m| m.reason), Err(reason), "{total}");
    }
}

#[test]
fn a_claimed_section_length_is_compared_before_it_is_believed() {
    for length in [1, 2, 0x7FFF_FFFF, 0x8000_0000, u32::MAX - 63, u32::MAX] {
        let mut one = builder(free());
        one.spec("");
        let mut bytes = one.plain().build(None, None).expect("a bundle");
        bytes.truncate(bytes.len() - 4);
        bytes.extend_from_slice(&length.to_le_bytes());
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let refused = Bundle::parse(&bytes, strictness).map(|_| ());
            assert_eq!(refused.map_err(|m| m.reason), Err(Reason::SectionOverflow));
        }
    }
}
