//! Which failed tests a diff removes.
//!
//! A test is removed when a removed line defines it and no added line does. That is read from the text of the diff, so a
//! test that never was in the base commit is not noticed here.

use memchr::memmem;

use super::{Judged, Run};
use crate::replay::{DiffPart, diff_lines};
use crate::test_log::Runner;

/// Words that stand before the name of a function in a definition.
const DEFINES: [&[u8]; 8] = [
    b"def",
    b"fn",
    b"func",
    b"fun",
    b"function",
    b"void",
    b"Task",
    b"class",
];

/// Returns the names of the failed tests whose definition the diff removes.
#[must_use]
pub fn tests(runs: &[(Run, Judged)], diff: &[u8]) -> Vec<String> {
    let mut names: Vec<(Runner, &str)> = Vec::new();
    for reading in runs
        .iter()
        .filter_map(|(_, judged)| judged.reading.as_ref())
    {
        for failure in &reading.failures {
            let name = (reading.runner, &*failure.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let is_gone = |(runner, name): &(Runner, &str)| {
        let own = definition(*runner, name).as_bytes();
        let has =
            |part: DiffPart| diff_lines(diff).any(|(of, line)| of == part && defines(line, own));
        !own.is_empty() && has(DiffPart::Removed) && !has(DiffPart::Added)
    };
    let gone = names.into_iter().filter(is_gone);
    gone.map(|(_, name)| name.to_owned()).collect()
}

/// Returns the part of a test's name under which its source defines it.
fn definition(runner: Runner, name: &str) -> &str {
    let after = |separator: &str| name.rsplit(separator).next().unwrap_or(name).trim();
    let own = match runner {
        Runner::Pytest => after("::"),
        Runner::CargoTest | Runner::Nextest | Runner::JunitXml => {
            let last = after("::");
            last.rsplit(' ').next().unwrap_or(last)
        }
        Runner::GoTest => name.split('/').next().unwrap_or(name),
        Runner::Unittest => name.split(" (").next().unwrap_or(name),
        _ => [" \u{203a} ", " > ", "::", "#"]
            .iter()
            .map(|separator| after(separator))
            .min_by_key(|own| own.len())
            .unwrap_or(name),
    };
    // The parameters of a test stand in brackets.
    own.split('[').next().unwrap_or(own).trim()
}

/// Returns `true` if a line defines `own`: `def own(`, `fn own(`, `it("own"`.
fn defines(line: &[u8], own: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memmem::find_iter(line, own).any(|at| {
        let (before, rest) = line.split_at(at);
        let after = rest.get(own.len()..).unwrap_or_default();
        if before
            .last()
            .is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'))
        {
            return before.last() == after.first();
        }
        let word = before.trim_ascii_end();
        let word = word.rsplit(|byte| !is_part(byte)).next().unwrap_or(word);
        DEFINES.contains(&word) && word.len() < before.len() && !after.first().is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests_of_diffs {
    use super::*;
    use crate::outcome::Credit;
    use crate::outcome::scope::Scope;

    fn gone(log: &str, diff: &str) -> Vec<String> {
        let run = Run {
            output: log.as_bytes().to_vec(),
            failed: true,
            credit: Credit::All,
            scope: Scope::default(),
            ..Run::default()
        };
        let judged = run.judge();
        tests(&[(run, judged)], diff.as_bytes())
    }

    #[test]
    fn a_removed_definition_is_noticed_and_a_moved_one_is_not() {
        let pytest = "FAILED t.py::test_a[1] - x\n1 failed in 0.01s\n";
        let head = "--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,2 @@\n";
        let cases = [
            ("-def test_a(x):\n-    assert x\n", true),
            ("-    async def test_a(self):\n", true),
            ("-def test_a():\n+def test_a(y):\n", false),
            ("-def test_ab():\n", false),
            ("-    test_a()\n", false),
            ("-# see test_a\n", false),
            ("+def test_a():\n", false),
        ];
        for (lines, is_gone) in cases {
            let found = gone(pytest, &format!("{head}{lines}"));
            assert_eq!(!found.is_empty(), is_gone, "{lines}");
        }
        let cargo = "running 1 test\ntest a::adds ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; \
                     0 measured; 0 filtered out\n";
        assert_eq!(
            gone(cargo, &format!("{head}-    fn adds() {{\n")),
            ["a::adds"]
        );
        let go =
            "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/two (0.00s)\nFAIL\nFAIL\tx/y\t0.1s\n";
        let found = gone(go, &format!("{head}-func TestA(t *testing.T) {{\n"));
        assert_eq!(found, ["TestA", "TestA/two"]);
        let jest = "FAIL ./a.test.js\n  \u{25cf} sums \u{203a} adds two\n\nTest Suites: 1 failed, 1 total\n\
                    Tests:       1 failed, 1 total\n";
        assert_eq!(
            gone(jest, &format!("{head}-  it('adds two', () => {{\n")).len(),
            1
        );
    }
}
