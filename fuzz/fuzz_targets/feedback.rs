//! Any bytes as a line of feedback: no panic; a line that is read is written back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use routing::feedback::Line;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(line) = serde_json::from_slice::<Line>(bytes) {
        let text = serde_json::to_string(&line).expect("a line is JSON");
        let again: Line = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    }
});
