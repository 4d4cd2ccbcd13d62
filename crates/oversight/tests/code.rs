//! Code that a command brings along for another interpreter: what it starts is seen, and what it computes is asked about.

use jiff::Timestamp;
use oversight::grants::Grants;
use oversight::lookup::{Content, Lookup};
use oversight::verdict::{Place, Policy, Verdict, decide_command};

/// A machine on which npm is a script, as it is on most.
struct Machine;

impl Lookup for Machine {
    fn read(&self, path: &str) -> Content {
        match path {
            "/usr/bin/npm" => {
                Content::Text("#!/usr/bin/env node\nrequire('../lib/cli.js')(process)\n".to_owned())
            }
            _ => Content::Missing,
        }
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

fn verdict(command: &str) -> Verdict {
    let place = Place {
        directory: "/home/dev",
        home: "/home/dev",
    };
    decide_command(
        &Policy::default(),
        command,
        place,
        &Machine,
        &Grants::none(),
        Timestamp::UNIX_EPOCH,
    )
    .verdict
}

fn passes(command: &str) -> bool {
    matches!(verdict(command), Verdict::Allow | Verdict::Advise)
}

fn commands(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| line.replace('⏎', "\n"))
}

#[test]
fn code_that_starts_a_gated_act_is_stopped() {
    let missed: Vec<String> = commands(include_str!("code/gated.txt"))
        .filter(|command| passes(command))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn ordinary_code_is_left_alone() {
    let asked: Vec<String> = commands(include_str!("code/ordinary.txt"))
        .filter(|command| !passes(command))
        .collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

#[test]
fn deep_and_long_code_ends() {
    for (open, close) in [("(", ")"), ("[", "]"), ("\"\".join(", ")"), ("s{}{", "}e")] {
        for program in ["python3 -c", "perl -e", "node -e", "awk"] {
            let inside = format!("{}x{}", open.repeat(5_000), close.repeat(5_000));
            passes(&format!(
                "{program} 'import os; os.system({inside}); system {inside}'"
            ));
        }
    }
    let names = "a, ".repeat(2_000);
    let rounds = "for x in y:\n  subprocess.run(f\"{x}{x}\", shell=True)\n".repeat(600);
    let texts = "f\"{x}\", ".repeat(2_000);
    for code in [
        format!("for {names} b in [{names}]: subprocess.run([a, b])"),
        format!("y = [{names}]\n{rounds}"),
        format!("y = [\"ls\"]\n{rounds}"),
        format!("for x in [\"ls\"]:\n  subprocess.run([{texts}])\n"),
    ] {
        passes(&format!("python3 - <<'E'\nimport subprocess\n{code}\nE"));
    }
    let rounds = "for (const x of y) execSync(`${x} ${x}`);\n".repeat(600);
    for code in [
        format!("const y = [{names}]; {rounds}"),
        format!(
            "for (const x of [\"ls\"]) execSync([{}])",
            "x, ".repeat(2_000)
        ),
    ] {
        passes(&format!(
            "node - <<'E'\nconst {{execSync}} = require(\"child_process\");\n{code}\nE"
        ));
    }
}
