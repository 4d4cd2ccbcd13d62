//! Any bytes as an event of each agent: no panic, and an event that is read is read the same way again.

#![no_main]

use guard::agents::Agent;
use libfuzzer_sys::fuzz_target;

const NAMES: [Option<&str>; 4] = [None, Some("PreToolUse"), Some("beforeShellExecution"), Some("preToolUse")];

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    for agent in Agent::ALL {
        for named in NAMES {
            let read = || format!("{:?}", agent.dialect().read(&value, named));
            assert_eq!(read(), read());
        }
    }
});
