//! Any bytes as a trace: what is decoded is what the reference decodes, and writing it again gives the bytes back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rvf_types::witness::ToolCallEntry;
use witness::trace::{self, Call, Calls, ENTRY_LEN, Totals};

/// Where the pad byte lies in an entry.
const PAD: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let mut calls = Calls::new(bytes);
    let (mut offset, mut totals) = (0, Totals::default());
    let mut padded = false;
    for call in calls.by_ref() {
        let rest = &bytes[offset..];
        match call {
            Ok(call) => {
                check_entry(&call, rest);
                padded |= rest[PAD] != 0;
                offset += ENTRY_LEN + call.action.len();
                totals.add(&call);
            }
            Err(bad) => {
                assert_eq!(bad.offset, offset);
                assert_eq!(ToolCallEntry::from_bytes(rest), None, "only we refuse");
                offset = bytes.len();
            }
        }
    }
    assert_eq!(
        offset,
        bytes.len(),
        "the walk ends at the end or at an error"
    );
    assert_eq!(calls.next(), None, "and stays there");
    assert_eq!(calls.saw_padding(), padded);
    check_totals(bytes, &totals);
});

/// One entry, against the reference and against its own bytes.
fn check_entry(call: &Call<'_>, rest: &[u8]) {
    let (entry, consumed) = ToolCallEntry::from_bytes(rest).expect("only they refuse");
    assert_eq!(consumed, ENTRY_LEN + call.action.len());
    assert_eq!(entry.action, call.action);
    assert_eq!(entry.policy_check as u8, call.check as u8);
    assert_eq!(entry.args_hash, call.args_hash);
    assert_eq!(entry.result_hash, call.result_hash);
    assert_eq!(entry.latency_ms, call.latency_ms);
    assert_eq!(entry.cost_microdollars, call.cost_microdollars);
    assert_eq!(entry.tokens, call.tokens);

    let mut written = Vec::new();
    trace::put(&mut written, call).expect("a name that was read can be written");
    assert_eq!(written, entry.to_bytes());
    // All that decoding loses is the pad byte.
    written[PAD] = rest[PAD];
    assert_eq!(written, rest[..consumed]);
    assert_eq!(Calls::new(&written).next(), Some(Ok(*call)));
}

/// The sums do not depend on the way they are added up.
fn check_totals(bytes: &[u8], totals: &Totals) {
    let calls = || Calls::new(bytes).map_while(Result::ok);
    let sum = |number: fn(Call<'_>) -> u32| {
        let exact: u64 = calls().map(|call| u64::from(number(call))).sum();
        u32::try_from(exact).unwrap_or(u32::MAX)
    };
    let expected = Totals {
        calls: calls().count(),
        cost_microdollars: sum(|call| call.cost_microdollars),
        latency_ms: sum(|call| call.latency_ms),
        tokens: sum(|call| call.tokens),
    };
    assert_eq!(*totals, expected);
}
