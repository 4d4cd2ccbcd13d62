//! Any text as a shell command: the analysis ends, never panics, and a wrapper never makes a gated command look harmless.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::verdict::{Decision, Place, Policy, Verdict, decide_command};

/// Made once, as a run of many commands does.
static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

fn decide(command: &str) -> Decision {
    let place = Place {
        directory: "/home/dev",
        home: "/home/dev",
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    decide_command(&POLICY, command, place, &Nothing, &Grants::none(), now)
}

fuzz_target!(
    // The parser is another project's, and its panics are caught where it is called: only what comes out of the
    // analysis is a finding, and for that the fuzzer looks itself.
    init: std::panic::set_hook(Box::new(|panic| {
        if !panic.location().is_some_and(|place| place.file().contains("brush-parser")) {
            eprintln!("{panic}");
        }
    })),
    |text: &str| check(text)
);

fn check(text: &str) {
    if text.len() > 4096 {
        return;
    }
    let decision = decide(text);
    for (start, end) in &decision.spans {
        assert!(start <= end && *end <= text.len());
    }
    // How many words `bash -c` is given is known, and `$#` tells.
    let counts = text.contains('$') && text.contains('#');
    if decision.verdict == Verdict::Deny && !text.contains(['\'', '\0']) && !counts {
        // The dashes: bash takes a text that begins with a sign for an option. The words: `$2` is not known in the text
        // alone and `$*` is empty there, so one of the two is as it is there.
        let words = r#" "$0" "$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$9""#;
        let stopped = ["", words]
            .iter()
            .any(|words| decide(&format!("bash -c -- '{text}'{words}")).verdict >= Verdict::Ask);
        assert!(stopped, "bash -c hides it");
    }
}
