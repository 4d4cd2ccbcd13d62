//! Failed tests that a diff removes.
//!
//! A test is removed when a removed line defines it and no added line does, or when the file that its name begins
//! with is gone or no longer defines it. The first is read from the text of the diff, so a test that was never in the
//! base commit is found by its file alone.

use memchr::memmem;

use super::{Judged, Run};
use crate::replay::{DiffPart, diff_lines};
use testlog::Runner;

/// Words before the name of a function in a definition.
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

/// Returns the names of the failed tests that are gone. `read` returns the content of a file, by the directory of the
/// run and the path in the log.
#[must_use]
pub fn tests(
    runs: &[(Run, Judged)],
    diff: &[u8],
    read: &dyn Fn(&str, &str) -> Option<Vec<u8>>,
) -> Vec<String> {
    let mut names: Vec<(Runner, &str, &str)> = Vec::new();
    for (run, judged) in runs {
        let Some(reading) = &judged.reading else {
            continue;
        };
        for failure in &reading.failures {
            let name = (reading.runner, &*failure.name, &*run.scope.folder);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let is_gone = |(runner, name, folder): &(Runner, &str, &str)| {
        let own = definition(*runner, name).as_bytes();
        let content = file(*runner, name).map(|file| read(folder, file));
        if content.is_some_and(|content| content.is_none_or(|text| lacks(&text, name, own))) {
            return true;
        }
        let has =
            |part: DiffPart| diff_lines(diff).any(|(of, line)| of == part && defines(line, own));
        !own.is_empty() && has(DiffPart::Removed) && !has(DiffPart::Added)
    };
    let gone = names.into_iter().filter(is_gone);
    gone.map(|(_, name, _)| name.to_owned()).collect()
}

/// Returns the file that the name of a test begins with.
fn file(runner: Runner, name: &str) -> Option<&str> {
    let (file, _) = name.split_once("::")?;
    (runner == Runner::Pytest && file.ends_with(".py")).then_some(file)
}

/// Returns `true` if a file no longer defines a test. An inherited test of a class may be defined elsewhere.
fn lacks(text: &[u8], name: &str, own: &[u8]) -> bool {
    let lines = || text.split(|byte| *byte == b'\n');
    // Decorators generate `test_a_0` and `test_a_1` from `test_a`.
    let is_own = |line: &[u8]| {
        let is_made = |end: &usize| {
            own.get(*end) == Some(&b'_') && own.get(..*end).is_some_and(|own| defines(line, own))
        };
        defines(line, own) || (b"test_".len()..own.len()).any(|end| is_made(&end))
    };
    let mut parts = name.split("::").skip(1);
    let class = parts.next().filter(|_| parts.next().is_some());
    let is_inherited = class.is_some_and(|class| {
        let is_heir = |line: &[u8]| {
            let bases = line.split(|byte| *byte == b'(').nth(1).unwrap_or_default();
            let bases = bases.split(|byte| *byte == b')').next().unwrap_or_default();
            defines(line, class.as_bytes()) && !bases.is_empty() && !bases.ends_with(b"TestCase")
        };
        lines().any(is_heir)
    });
    !is_inherited && !lines().any(is_own)
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
    // The parameters of a test are in brackets.
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
        let kept = b"def test_a(x):\n    assert x\n".to_vec();
        tests(&[(run, judged)], diff.as_bytes(), &|_, _| {
            Some(kept.clone())
        })
    }

    #[test]
    fn a_test_whose_file_does_not_define_it_any_more_is_noticed() {
        let gone = |name: &str, text: Option<&str>| {
            let run = Run {
                output: format!("FAILED a/t.py::{name} - x\n1 failed in 0.01s\n").into_bytes(),
                failed: true,
                credit: Credit::All,
                scope: Scope {
                    folder: "/p".to_owned(),
                    ..Scope::default()
                },
                ..Run::default()
            };
            let judged = run.judge();
            let found = tests(&[(run, judged)], b"", &|folder, file| {
                assert_eq!((folder, file), ("/p", "a/t.py"));
                text.map(|text| text.as_bytes().to_vec())
            });
            !found.is_empty()
        };
        for (name, text, expected) in [
            ("test_a", None, true),
            ("test_a", Some(""), true),
            ("test_a", Some("def test_b():\n    test_a\n"), true),
            ("test_a", Some("def test_a():\n"), false),
            ("test_a[1-x]", Some("async def test_a(n):\n"), false),
            ("test_a_0_x", Some("def test_a(n):\n"), false),
            (
                "T::test_a",
                Some("class T:\n    def test_a(self):\n"),
                false,
            ),
            ("T::test_a", Some("class T:\n    def test_b(self):\n"), true),
            ("T::test_a", Some("class T(unittest.TestCase):\n"), true),
            ("T::test_a", Some("class T(Base):\n    pass\n"), false),
        ] {
            assert_eq!(gone(name, text), expected, "{name} {text:?}");
        }
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
