//! Any bytes as an audit set: no panic, and a refusal says why.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selection::audit::AuditSet;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    if let Err(problems) = AuditSet::parse(&value) {
        assert!(!problems.is_empty(), "a refusal without a reason");
    }
});
