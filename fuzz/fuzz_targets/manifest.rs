//! Any bytes as a model manifest: no panic, and the same verdict every time; what the strict mode takes the lenient one takes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selection::manifest::{Manifest, Mode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    let licenses = ["MIT".to_owned(), "Apache-2.0".to_owned()];
    let strict = Manifest::parse(&value, Mode::Strict, &licenses);
    let lenient = Manifest::parse(&value, Mode::Lenient, &licenses);
    assert!(strict.is_err() || lenient.is_ok(), "strict takes what lenient refuses");
    if let Err(problems) = strict {
        assert!(!problems.is_empty(), "a refusal without a reason");
    }
});
