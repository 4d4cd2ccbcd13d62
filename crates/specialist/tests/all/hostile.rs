//! Arbitrary bytes: no parser panics, and a parsed value is written back the same.

use proptest::prelude::*;
use specialist::event::{Log, rebuild};
use specialist::registry::Registry;
use specialist::shadow::Settings;
use specialist::state::State;

/// Returns a valid registry or state with a few bytes changed, so that parsers are entered deeply.
fn spoiled(good: String) -> impl Strategy<Value = Vec<u8>> {
    let length = good.len();
    let edits = prop::collection::vec((0..length, any::<u8>(), 0..3_u8), 0..6);
    edits.prop_map(move |edits| {
        let mut bytes = good.clone().into_bytes();
        for (place, byte, kind) in edits {
            let place = place.min(bytes.len().saturating_sub(1));
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => bytes.truncate(place.max(1)),
            }
        }
        bytes
    })
}

fn registry_text() -> String {
    super::registry(
        serde_json::json!("v1"),
        &[super::version("v1", "L2"), super::version("v0", "L0")],
    )
    .to_string()
}

fn state_text() -> String {
    let mut state = State::default();
    for _ in 0..5 {
        state.dispatch("A", specialist::quota::Source::Specialist, 200);
    }
    let probes = state.slot_mut("A").probes.entry("v1".to_owned());
    probes.or_default().push(true, &Settings::default());
    state.print()
}

proptest! {
    #[test]
    fn a_registry_of_any_bytes(bytes in spoiled(registry_text())) {
        let registry = Registry::parse(&bytes);
        for entry in registry.entries() {
            prop_assert!(entry.workload_quota > 0.0 && entry.workload_quota <= 1.0);
            prop_assert!(entry.active().is_ok());
        }
        if registry.is_valid() {
            let again = Registry::parse(registry.print().as_bytes());
            prop_assert_eq!(again.entries(), registry.entries());
            prop_assert_eq!(again.print(), registry.print());
        }
    }

    #[test]
    fn numbers_survive_a_rewrite_to_the_last_bit(numbers in prop::collection::vec(-1e3..1e3_f64, 1..40)) {
        let mut version = super::version("v1", "L2");
        version["exam_centroid"] = serde_json::json!(numbers);
        version["mine"] = serde_json::json!({ "of": numbers });
        let before = super::parse(&super::registry(serde_json::json!("v1"), &[version]));
        let text = before.with_active("Checker", None).print();
        let after = Registry::parse(text.as_bytes()).with_active("Checker", Some("v1"));
        prop_assert_eq!(after.entries(), before.entries());
        prop_assert_eq!(after.print(), before.print());
        let kept = after.entries()[0].versions[0].exam_centroid.clone().unwrap();
        prop_assert!(kept.iter().map(|number| number.to_bits()).eq(numbers.iter().map(|number| number.to_bits())));
    }

    #[test]
    fn a_state_of_any_bytes(bytes in spoiled(state_text())) {
        if let Ok(state) = State::parse(&bytes) {
            prop_assert_eq!(State::parse(state.print().as_bytes()), Ok(state));
        }
        let log = Log::parse(&bytes);
        let rebuilt = rebuild(&log, &log, &Settings::default());
        prop_assert_eq!(State::parse(rebuilt.print().as_bytes()), Ok(rebuilt));
    }
}
