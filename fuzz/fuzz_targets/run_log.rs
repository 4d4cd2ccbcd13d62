//! Any bytes as a line of the run log: no panic, and a refusal says why.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selection::run_log::Record;

fuzz_target!(|bytes: &[u8]| {
    if let Err(why) = Record::parse(bytes) {
        assert!(!why.is_empty());
    }
});
