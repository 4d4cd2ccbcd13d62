//! Decides about every line of standard input, for trying things out.
#![expect(clippy::print_stdout, reason = "an example for the eye")]
use std::io::BufRead as _;

use oversight::grants::Grants;
use oversight::lookup::Nothing;
use oversight::verdict::{Place, Policy, decide_command};

fn main() {
    let policy = Policy::default();
    let place = Place {
        directory: "/home/dev",
        home: "/home/dev",
    };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let line = line.replace('⏎', "\n");
        let decision = decide_command(
            &policy,
            &line,
            place,
            &Nothing,
            &Grants::none(),
            jiff::Timestamp::UNIX_EPOCH,
        );
        println!(
            "{:<6} {:<12} {line:?} {:?}",
            decision.verdict.as_str(),
            decision.actions.join(","),
            decision
                .opaque
                .iter()
                .map(|note| note.reason.as_str())
                .collect::<Vec<_>>()
        );
    }
}
