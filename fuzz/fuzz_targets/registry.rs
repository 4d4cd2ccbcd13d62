//! Any bytes as a registry: nobody crashes, what may be used has no problem, and a rewrite reads back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use specialist::registry::Registry;

fuzz_target!(|bytes: &[u8]| {
    let registry = Registry::parse(bytes);
    for problem in registry.problems() {
        assert!(!problem.to_string().is_empty());
    }
    for entry in registry.entries() {
        assert!(entry.workload_quota > 0.0 && entry.workload_quota <= 1.0);
        let active = entry.active().expect("a dangling pointer refuses the registry");
        assert!(active.is_none_or(|version| version.certified_level.is_certified()));
        assert!(
            entry
                .versions
                .iter()
                .all(|version| !specialist::family::refusal(&version.base_model).is_some())
        );
    }
    if registry.is_valid() {
        let again = Registry::parse(registry.print().as_bytes());
        assert!(again.is_valid());
        assert_eq!(again.entries(), registry.entries());
        assert_eq!(again.print(), registry.print());
    }
});
