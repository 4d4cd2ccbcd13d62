//! Parsing of test logs: real logs of toy tests in `logs/`, the rules in short logs, and hostile bytes.
//!
//! The toy tests print summaries of their own (`3 passed in 0.5s`, `test result: ok. 9 passed; …`), which must not
//! count.

#![expect(
    clippy::expect_used,
    reason = "a helper that fails is a test that fails"
)]

use std::path::Path;

use proptest::prelude::*;
use testlog::{MAX_FAILURES, MAX_NAME_CHARS, Reading, read};

fn log_of(file: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    std::fs::read(folder.join(format!("{file}.txt"))).expect("the log is in the folder")
}

fn show(reading: Option<&Reading>) -> String {
    let Some(reading) = reading else {
        return "unknown".to_owned();
    };
    let failures: Vec<String> = reading
        .failures
        .iter()
        .map(|failure| format!("{}: {}", failure.line, failure.name))
        .collect();
    format!(
        "{} passed={} failed={} skipped={} errors={} complete={} failures=[{}]",
        reading.runner.name(),
        reading.passed,
        reading.failed,
        reading.skipped,
        reading.errors,
        reading.complete,
        failures.join("; ")
    )
}

/// Checks a log in the directory.
fn check(file: &str, expected: &str) {
    assert_eq!(show(read(&log_of(file)).as_ref()), expected, "{file}");
}

/// Checks a log in the test itself; `expected` ends with the result of [`Reading::passes`].
fn check_text(log: &str, expected: &str) {
    let reading = read(log.as_bytes());
    let passes = reading.as_ref().is_some_and(Reading::passes);
    let verdict = if passes { "passes" } else { "does not pass" };
    assert_eq!(
        format!("{}, {verdict}", show(reading.as_ref())),
        expected,
        "{log}"
    );
}

/// Every log in the directory and its result.
const LOGS: [(&str, &str); 172] = [
    (
        "pytest-all-deselected",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-collect-only",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-collection-error",
        "pytest passed=0 failed=0 skipped=0 errors=1 complete=false failures=[19: test_broken.py]",
    ),
    (
        "pytest-collection-error-continued",
        "pytest passed=3 failed=0 skipped=0 errors=1 complete=true failures=[21: test_broken.py]",
    ),
    (
        "pytest-collection-error-quiet",
        "pytest passed=0 failed=0 skipped=0 errors=1 complete=false failures=[14: test_broken.py]",
    ),
    (
        "pytest-deselected",
        "pytest passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-empty",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-empty-quiet",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-internal-error",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=false failures=[]",
    ),
    (
        "pytest-interrupted",
        "pytest passed=1 failed=0 skipped=0 errors=0 complete=false failures=[]",
    ),
    (
        "pytest-mixed",
        "pytest passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[46: test_mixed.py::test_bad; \
         47: test_mixed.py::TestGroup::test_param[a b - c]; \
         48: test_mixed.py::test_err]",
    ),
    (
        "pytest-mixed-colour",
        "pytest passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[9: test_mixed.py::test_bad; \
         11: test_mixed.py::TestGroup::test_param[a b - c]; \
         13: test_mixed.py::test_err]",
    ),
    (
        "pytest-mixed-listed",
        "pytest passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[15: test_mixed.py::test_err; \
         16: test_mixed.py::test_bad; \
         17: test_mixed.py::TestGroup::test_param[a b - c]]",
    ),
    (
        "pytest-mixed-quiet",
        "pytest passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[39: test_mixed.py::test_bad; \
         40: test_mixed.py::TestGroup::test_param[a b - c]; \
         41: test_mixed.py::test_err]",
    ),
    (
        "pytest-mixed-silent",
        "pytest passed=0 failed=3 skipped=0 errors=0 complete=false \
         failures=[39: test_mixed.py::test_bad; \
         40: test_mixed.py::TestGroup::test_param[a b - c]; \
         41: test_mixed.py::test_err]",
    ),
    (
        "pytest-mixed-xdist",
        "pytest passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[49: test_mixed.py::test_bad; \
         50: test_mixed.py::TestGroup::test_param[a b - c]; \
         51: test_mixed.py::test_err]",
    ),
    (
        "pytest-pass",
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-pass-colour",
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-pass-quiet",
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-pass-verbose",
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-rerun",
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "pytest-stopped",
        "pytest passed=2 failed=1 skipped=0 errors=0 complete=false failures=[27: test_mixed.py::test_bad]",
    ),
    (
        "pytest-subtests",
        "pytest passed=1 failed=3 skipped=0 errors=0 complete=true \
         failures=[35: [number] (i=1) test_s.py::test_subs; \
         36: test_s.py::test_subs; \
         37: (i=1) test_s.py::T::test_u]",
    ),
    (
        "cargo-abort",
        "cargo-test passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "cargo-compile-error",
        "cargo-test passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "cargo-compile-error-colour",
        "cargo-test passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "cargo-doc",
        "cargo-test passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-fail",
        "cargo-test passed=3 failed=2 skipped=1 errors=0 complete=true failures=[6: more::wrong; 8: more::should]",
    ),
    (
        "cargo-fail-all",
        "cargo-test passed=5 failed=3 skipped=1 errors=0 complete=true \
         failures=[5: more::should; 6: more::wrong; 44: src/lib.rs - sub (line 15)]",
    ),
    (
        "cargo-fail-colour",
        "cargo-test passed=5 failed=3 skipped=1 errors=0 complete=true \
         failures=[5: more::should; 6: more::wrong; 44: src/lib.rs - sub (line 15)]",
    ),
    (
        "cargo-fail-nocapture",
        "cargo-test passed=3 failed=2 skipped=1 errors=0 complete=true failures=[5: more::should; 13: more::wrong]",
    ),
    (
        "cargo-fail-quiet",
        "cargo-test passed=5 failed=3 skipped=1 errors=0 complete=true \
         failures=[3: more::should; 4: more::wrong; 34: src/lib.rs - sub (line 15)]",
    ),
    (
        "cargo-filtered",
        "cargo-test passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-pass",
        "cargo-test passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-pass-colour",
        "cargo-test passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-pass-quiet",
        "cargo-test passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-rerun",
        "cargo-test passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-stdout-then-stderr",
        "cargo-test passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "cargo-stdout-then-stderr-fail",
        "cargo-test passed=3 failed=2 skipped=1 errors=0 complete=true failures=[3: more::should; 4: more::wrong]",
    ),
    (
        "nextest-abort",
        "nextest passed=2 failed=1 skipped=1 errors=0 complete=false failures=[6: toy a::aborts]",
    ),
    (
        "nextest-compile-error",
        "cargo-test passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "nextest-fail",
        "nextest passed=0 failed=2 skipped=1 errors=0 complete=false \
         failures=[5: toy more::wrong; 28: toy more::should]",
    ),
    (
        "nextest-fail-all",
        "nextest passed=4 failed=2 skipped=1 errors=0 complete=true \
         failures=[5: toy more::wrong; 27: toy more::should]",
    ),
    (
        "nextest-fail-colour",
        "nextest passed=4 failed=2 skipped=1 errors=0 complete=true \
         failures=[5: toy more::should; 26: toy more::wrong]",
    ),
    (
        "nextest-fail-retries",
        "nextest passed=4 failed=2 skipped=1 errors=0 complete=true \
         failures=[44: toy more::wrong; 67: toy more::should]",
    ),
    (
        "nextest-flaky",
        "nextest passed=5 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "nextest-none",
        "nextest passed=0 failed=0 skipped=5 errors=0 complete=true failures=[]",
    ),
    (
        "nextest-pass",
        "nextest passed=4 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "nextest-pass-colour",
        "nextest passed=4 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "go-all",
        "go-test passed=1 failed=4 skipped=0 errors=1 complete=false \
         failures=[4: TestAdd; 6: TestTable; 7: TestTable/two; 14: TestBoom]",
    ),
    (
        "go-broken",
        "go-test passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "go-broken-json",
        "go-test passed=0 failed=1 skipped=0 errors=1 complete=false failures=[23: TestBoom]",
    ),
    (
        "go-cover",
        "go-test passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "go-fail",
        "go-test passed=1 failed=3 skipped=0 errors=0 complete=true \
         failures=[3: TestAdd; 5: TestTable; 6: TestTable/two]",
    ),
    (
        "go-fail-json",
        "go-test passed=6 failed=3 skipped=1 errors=0 complete=true \
         failures=[6: TestAdd; 18: TestTable/two; 19: TestTable]",
    ),
    (
        "go-fail-verbose",
        "go-test passed=6 failed=3 skipped=1 errors=0 complete=true \
         failures=[17: TestAdd; 22: TestTable; 24: TestTable/two]",
    ),
    (
        "go-filtered",
        "go-test passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "go-none",
        "go-test passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "go-panic",
        "go-test passed=0 failed=1 skipped=0 errors=0 complete=true failures=[1: TestBoom]",
    ),
    (
        "go-pass",
        "go-test passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "go-pass-cached",
        "go-test passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "go-pass-json",
        "go-test passed=4 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "go-pass-verbose",
        "go-test passed=4 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "jest-bail",
        "jest passed=1 failed=2 skipped=1 errors=0 complete=false \
         failures=[9: math › subtracts > wrongly; 26: math › deep › throws]",
    ),
    (
        "jest-broken",
        "jest passed=2 failed=0 skipped=2 errors=1 complete=true failures=[3: ./broken.test.js]",
    ),
    (
        "jest-fail",
        "jest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[9: math › subtracts > wrongly; 26: math › deep › throws]",
    ),
    (
        "jest-fail-colour",
        "jest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[9: math › subtracts > wrongly; 26: math › deep › throws]",
    ),
    (
        "jest-fail-verbose",
        "jest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[14: math › subtracts > wrongly; 31: math › deep › throws]",
    ),
    (
        "jest-filter",
        "jest passed=1 failed=0 skipped=7 errors=0 complete=true failures=[]",
    ),
    (
        "jest-none",
        "jest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "jest-pass",
        "jest passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "vitest-bail",
        "vitest passed=1 failed=1 skipped=1 errors=0 complete=false \
         failures=[15: bad.test.mjs > math > subtracts > wrongly]",
    ),
    (
        "vitest-broken",
        "vitest passed=2 failed=0 skipped=2 errors=1 complete=true failures=[9: broken.test.mjs]",
    ),
    (
        "vitest-fail",
        "vitest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[16: bad.test.mjs > math > subtracts > wrongly; 35: bad.test.mjs > math > deep > throws]",
    ),
    (
        "vitest-fail-colour",
        "vitest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[16: bad.test.mjs > math > subtracts > wrongly; 35: bad.test.mjs > math > deep > throws]",
    ),
    (
        "vitest-fail-verbose",
        "vitest passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[20: bad.test.mjs > math > subtracts > wrongly; 39: bad.test.mjs > math > deep > throws]",
    ),
    (
        "vitest-flaky",
        "vitest passed=2 failed=1 skipped=0 errors=0 complete=true failures=[11: f.test.mjs > never]",
    ),
    (
        "vitest-none",
        "vitest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "vitest-pass",
        "vitest passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "vitest-pass-colour",
        "vitest passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "vitest-unhandled",
        "vitest passed=1 failed=0 skipped=0 errors=1 complete=true failures=[]",
    ),
    (
        "junit-nextest",
        "junit-xml passed=4 failed=2 skipped=0 errors=0 complete=true \
         failures=[4: toy more::wrong; 31: toy more::should]",
    ),
    (
        "junit-pytest",
        "junit-xml passed=4 failed=2 skipped=2 errors=1 complete=true \
         failures=[1: test_mixed test_bad; \
         6: test_mixed.TestGroup test_param[a b - c]; \
         13: test_mixed test_err]",
    ),
    (
        "junit-pytest-collection-error",
        "junit-xml passed=0 failed=0 skipped=0 errors=1 complete=true failures=[1: test_broken]",
    ),
    (
        "junit-vitest",
        "junit-xml passed=3 failed=2 skipped=3 errors=0 complete=true \
         failures=[6: bad.test.mjs math > subtracts > wrongly; 23: bad.test.mjs math > deep > throws]",
    ),
    (
        "cargo-fail-json",
        "cargo-test passed=1 failed=1 skipped=1 errors=0 complete=true failures=[10: t::wrong]",
    ),
    (
        "cargo-pass-json",
        "cargo-test passed=1 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "ctest-fail",
        "ctest passed=2 failed=2 skipped=0 errors=0 complete=true \
         failures=[26: bad; \
         27: missing]",
    ),
    (
        "ctest-none",
        "ctest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "ctest-pass",
        "ctest passed=2 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "ctest-stopped",
        "ctest passed=2 failed=1 skipped=0 errors=0 complete=true failures=[15: bad]",
    ),
    (
        "dotnet-fail",
        "dotnet passed=2 failed=1 skipped=1 errors=0 complete=true \
         failures=[6: Toy.Tests.Wrong]",
    ),
    (
        "dotnet-pass",
        "dotnet passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "dotnet-summary",
        "dotnet passed=2 failed=1 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "dotnet-two",
        "dotnet passed=7 failed=1 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "dotnet-unbuilt",
        "dotnet passed=0 failed=0 skipped=0 errors=1 complete=false failures=[]",
    ),
    (
        "gradle-fail",
        "gradle passed=2 failed=2 skipped=1 errors=0 complete=true \
         failures=[4: BadTest > wrong(); \
         7: BadTest > boom()]",
    ),
    (
        "gradle-none",
        "gradle passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "gradle-pass-verbose",
        "gradle passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "gradle-pass",
        "gradle passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "gradle-unbuilt",
        "gradle passed=0 failed=0 skipped=0 errors=1 complete=true failures=[]",
    ),
    (
        "jest-fail-json",
        "jest passed=1 failed=1 skipped=1 errors=0 complete=true failures=[1: deep wrong]",
    ),
    (
        "jest-pass-json",
        "jest passed=1 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    ("maven-cut", "unknown"),
    (
        "maven-fail-colour",
        "maven passed=2 failed=1 skipped=0 errors=1 complete=true \
         failures=[17: BadTest.wrong; \
         19: BadTest.boom]",
    ),
    (
        "maven-fail",
        "maven passed=2 failed=1 skipped=0 errors=1 complete=true \
         failures=[17: BadTest.wrong; \
         19: BadTest.boom]",
    ),
    (
        "maven-pass",
        "maven passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "maven-unbuilt",
        "maven passed=0 failed=0 skipped=0 errors=1 complete=true failures=[]",
    ),
    (
        "minitest-cut",
        "minitest passed=0 failed=1 skipped=0 errors=0 complete=false \
         failures=[10: BadTest#test_wrong]",
    ),
    (
        "minitest-fail-verbose",
        "minitest passed=1 failed=1 skipped=0 errors=1 complete=true \
         failures=[12: BadTest#test_wrong; \
         17: BadTest#test_boom]",
    ),
    (
        "minitest-fail",
        "minitest passed=1 failed=1 skipped=0 errors=1 complete=true \
         failures=[10: BadTest#test_wrong; \
         15: BadTest#test_boom]",
    ),
    (
        "minitest-none",
        "minitest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "minitest-pass",
        "minitest passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "mocha-fail-colour",
        "mocha passed=3 failed=2 skipped=1 errors=0 complete=true \
         failures=[20: math subtracts wrongly; \
         32: math deep throws]",
    ),
    (
        "mocha-fail-crlf",
        "mocha passed=3 failed=2 skipped=1 errors=0 complete=true \
         failures=[20: math subtracts wrongly; \
         32: math deep throws]",
    ),
    (
        "mocha-fail-dot",
        "mocha passed=3 failed=2 skipped=1 errors=0 complete=true \
         failures=[10: math subtracts wrongly; \
         22: math deep throws]",
    ),
    (
        "mocha-fail-json",
        "mocha passed=3 failed=2 skipped=1 errors=0 complete=true \
         failures=[103: math subtracts wrongly; \
         114: math deep throws]",
    ),
    (
        "mocha-fail",
        "mocha passed=3 failed=2 skipped=1 errors=0 complete=true \
         failures=[20: math subtracts wrongly; \
         32: math deep throws]",
    ),
    (
        "mocha-hook",
        "mocha passed=0 failed=1 skipped=0 errors=0 complete=true \
         failures=[10: hooked \"before all\" hook for \"never\"]",
    ),
    (
        "mocha-none",
        "mocha passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "mocha-pass-colour",
        "mocha passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "mocha-pass-json",
        "mocha passed=1 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "mocha-pass",
        "mocha passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "node-broken",
        "node-test passed=0 failed=1 skipped=0 errors=0 complete=true \
         failures=[9: /toy/nt/broken.test.mjs]",
    ),
    (
        "node-cut",
        "tap passed=0 failed=1 skipped=0 errors=0 complete=false failures=[3: wrong]",
    ),
    (
        "node-fail-junit",
        "junit-xml passed=3 failed=2 skipped=2 errors=0 complete=true \
         failures=[3: test wrong; \
         20: test throws]",
    ),
    (
        "node-fail-spec",
        "node-test passed=3 failed=2 skipped=2 errors=0 complete=true \
         failures=[40: wrong; \
         51: throws]",
    ),
    (
        "node-fail",
        "node-test passed=3 failed=2 skipped=2 errors=0 complete=true \
         failures=[3: wrong; \
         37: group]",
    ),
    ("node-pass-dot", "unknown"),
    (
        "node-pass-spec",
        "node-test passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "node-pass",
        "node-test passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "phpunit-fail-colour",
        "phpunit passed=5 failed=2 skipped=3 errors=1 complete=true \
         failures=[10: BadTest::testBoom; \
         19: BadTest::testWrong; \
         24: BadTest::testRows with data set \"two\" (2)]",
    ),
    (
        "phpunit-fail-crlf",
        "phpunit passed=5 failed=2 skipped=3 errors=1 complete=true \
         failures=[10: BadTest::testBoom; \
         19: BadTest::testWrong; \
         24: BadTest::testRows with data set \"two\" (2)]",
    ),
    (
        "phpunit-fail-junit",
        "junit-xml passed=4 failed=2 skipped=3 errors=2 complete=true \
         failures=[5: BadTest testWrong; \
         11: BadTest testBoom; \
         22: BadTest testRows with data set \"two\"; \
         42: SkipTest testRisky]",
    ),
    (
        "phpunit-fail-testdox",
        "phpunit passed=1 failed=2 skipped=1 errors=1 complete=true failures=[]",
    ),
    (
        "phpunit-fail",
        "phpunit passed=5 failed=2 skipped=3 errors=1 complete=true \
         failures=[10: BadTest::testBoom; \
         19: BadTest::testWrong; \
         24: BadTest::testRows with data set \"two\" (2)]",
    ),
    (
        "phpunit-none",
        "phpunit passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "phpunit-pass-colour",
        "phpunit passed=2 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "phpunit-pass",
        "phpunit passed=2 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "phpunit-skipped",
        "phpunit passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "phpunit-stopped",
        "phpunit passed=0 failed=1 skipped=0 errors=0 complete=true \
         failures=[9: BadTest::testWrong]",
    ),
    (
        "playwright-cut",
        "playwright passed=0 failed=0 skipped=0 errors=0 complete=false failures=[]",
    ),
    (
        "playwright-fail-dot",
        "playwright passed=2 failed=2 skipped=1 errors=0 complete=true \
         failures=[34: pw/bad.spec.js:2:1 › wrong; \
         35: pw/bad.spec.js:2:67 › deep › throws]",
    ),
    (
        "playwright-fail-json",
        "playwright passed=2 failed=2 skipped=1 errors=0 complete=true \
         failures=[47: wrong; \
         119: throws]",
    ),
    (
        "playwright-fail-junit",
        "junit-xml passed=0 failed=1 skipped=0 errors=1 complete=true \
         failures=[3: bad.spec.js wrong; \
         27: bad.spec.js deep › throws]",
    ),
    (
        "playwright-fail-list",
        "playwright passed=2 failed=2 skipped=1 errors=0 complete=true \
         failures=[40: pw/bad.spec.js:2:1 › wrong; \
         41: pw/bad.spec.js:2:67 › deep › throws]",
    ),
    (
        "playwright-flaky",
        "playwright passed=2 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "playwright-none",
        "playwright passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "playwright-pass-dot",
        "playwright passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "playwright-pass-line",
        "playwright passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "playwright-pass-list",
        "playwright passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "playwright-stopped",
        "playwright passed=0 failed=1 skipped=0 errors=1 complete=false \
         failures=[24: pw/bad.spec.js:2:1 › wrong]",
    ),
    (
        "pytest-fail-json",
        "pytest passed=0 failed=3 skipped=1 errors=0 complete=true \
         failures=[1: test_bad.py::Bad::test_boom; \
         1: test_bad.py::Bad::test_subs; \
         1: test_bad.py::Bad::test_wrong]",
    ),
    (
        "pytest-pass-json",
        "pytest passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "rspec-broken",
        "rspec passed=0 failed=0 skipped=0 errors=1 complete=true failures=[]",
    ),
    ("rspec-cut", "unknown"),
    (
        "rspec-fail-colour",
        "rspec passed=2 failed=2 skipped=2 errors=0 complete=true \
         failures=[42: math wrong; \
         43: math deep throws]",
    ),
    (
        "rspec-fail-documentation",
        "rspec passed=0 failed=2 skipped=0 errors=0 complete=true \
         failures=[30: math wrong; \
         31: math deep throws]",
    ),
    (
        "rspec-fail-json",
        "rspec passed=0 failed=2 skipped=0 errors=0 complete=true \
         failures=[1: math wrong; \
         1: math deep throws]",
    ),
    (
        "rspec-fail",
        "rspec passed=2 failed=2 skipped=2 errors=0 complete=true \
         failures=[41: math wrong; \
         42: math deep throws]",
    ),
    (
        "rspec-none",
        "rspec passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "rspec-pass",
        "rspec passed=2 failed=0 skipped=2 errors=0 complete=true failures=[]",
    ),
    (
        "unittest-broken",
        "unittest passed=0 failed=0 skipped=0 errors=1 complete=true \
         failures=[3: test_missing (unittest.loader._FailedTest.test_missing)]",
    ),
    (
        "unittest-fail-verbose",
        "unittest passed=0 failed=2 skipped=1 errors=1 complete=true \
         failures=[8: test_boom (test_bad.Bad.test_boom); \
         17: test_subs (test_bad.Bad.test_subs) (i=1); \
         26: test_wrong (test_bad.Bad.test_wrong)]",
    ),
    (
        "unittest-fail",
        "unittest passed=2 failed=2 skipped=2 errors=1 complete=true \
         failures=[6: test_boom (test_bad.Bad.test_boom); \
         15: test_subs (test_bad.Bad.test_subs) (i=1); \
         24: test_wrong (test_bad.Bad.test_wrong)]",
    ),
    ("unittest-interrupted", "unknown"),
    (
        "unittest-none",
        "unittest passed=0 failed=0 skipped=0 errors=0 complete=true failures=[]",
    ),
    (
        "unittest-pass-crlf",
        "unittest passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "unittest-pass-verbose",
        "unittest passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "unittest-pass",
        "unittest passed=2 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
    (
        "vitest-fail-json",
        "jest passed=1 failed=1 skipped=1 errors=0 complete=true failures=[1: deep wrong]",
    ),
    (
        "vitest-pass-json",
        "jest passed=1 failed=0 skipped=1 errors=0 complete=true failures=[]",
    ),
];

#[test]
fn real_logs_say_what_the_runner_meant() {
    for (file, expected) in LOGS {
        check(file, expected);
    }
}
#[test]
fn every_log_is_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let logs = files.flatten().filter(|file| {
        file.path()
            .extension()
            .is_some_and(|ending| ending == "txt")
    });
    assert_eq!(logs.count(), LOGS.len());
}

#[test]
fn prose_is_no_summary() {
    for prose in [
        "",
        "\n\n",
        "3 passed",
        "all good: 3 passed in 0.5s",
        "3 passed in total",
        "3 passed and more in 0.5s",
        "the run had 3 passed, 0 failed in 0.50s",
        "=== built in 0.5s ===",
        "test result: ok",
        "test result: ok. 3 passed",
        "  test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "Summary: 3 tests run: 3 passed, 0 skipped",
        "     Summary [   0.1s] 6 tests run: 3 passed, 0 skipped",
        "ok 1 - adds",
        "ok  then 3 things",
        "FAIL me not",
        "--- FAIL: because (reasons)",
        "Tests: 3 passed",
        "Tests:       3 passed, 4 total",
        "We ran Tests:       3 passed, 3 total",
        "Tests 3 passed (3)",
        "      Tests  4 passed (3)",
        "ERROR something broke",
        "<testsuitesque/>",
        "see <testsuite tests=\"3\"/>",
        "{\"Action\":\"pass\"}",
        "{\"Action\":\"pass\",\"Package\":{}}",
        "99999999999999999999 passed in 0.5s",
    ] {
        check_text(prose, "unknown, does not pass");
    }
}

#[test]
fn line_ends_colours_and_nuls_do_not_matter() {
    let expected = "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[], passes";
    for log in [
        "3 passed in 0.5s",
        "3 passed in 0.5s\r\n",
        "...\r3 passed in 0.5s\r\n",
        "\x1b[32m3 passed\x1b[0m in 0.5s\x1b(B\n",
        "\x1b]8;;http://x\x1b\\3 passed\x1b]8;;\x07 in 0.5s\n",
        "3\0 \0p\0a\0s\0s\0e\0d\0 \0i\0n\0 \x000\0.\x005\0s\0\r\0\n\0",
        "3 passed in 75.00s (0:01:15)",
        "=== 3 passed in 0.12 seconds ===",
    ] {
        check_text(log, expected);
    }
}

#[test]
fn the_last_pytest_run_decides() {
    let bad = "FAILED a.py::t - assert 0\n1 failed, 2 passed in 0.5s\n";
    let good = "3 passed in 0.5s\n";
    check_text(
        &format!("{bad}{good}"),
        "pytest passed=3 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
    check_text(
        &format!("{good}{bad}"),
        "pytest passed=2 failed=1 skipped=0 errors=0 complete=true failures=[2: a.py::t], does not pass",
    );
    check_text(
        &format!("{good}nested/a.py::t FAILED   [ 50%]\n"),
        "pytest passed=0 failed=1 skipped=0 errors=0 complete=false failures=[2: nested/a.py::t], does not pass",
    );
    check_text(
        &format!("{good}=== test session starts ===\ncollected 2 items\n"),
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn a_failed_tests_own_words_are_no_pytest_summary() {
    check_text(
        "=== FAILURES ===\n--- Captured stdout call ---\n=== 9 passed in 0.1s ===\n9 passed in 0.1s\n",
        "pytest passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

const CARGO_GOOD: &str = "running 1 test\ntest a ... ok\n\n\
    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
const CARGO_BAD: &str = "running 1 test\ntest a ... FAILED\n\n\
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
const CARGO_BUILT: &str =
    "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.02s\n";
const CARGO_RUNS: &str =
    "     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)\n";

#[test]
fn cargo_sections_are_added_until_the_next_build() {
    let one = "cargo-test passed=1 failed=0 skipped=0 errors=0 complete=true failures=[], passes";
    let both = "cargo-test passed=1 failed=1 skipped=0 errors=0 complete=true failures=[2: a], does not pass";
    check_text(&format!("{CARGO_BAD}{CARGO_GOOD}"), both);
    check_text(&format!("{CARGO_BAD}{CARGO_BUILT}{CARGO_GOOD}"), one);
    check_text(
        &format!("{CARGO_BAD}   Compiling a v0.1.0\n{CARGO_GOOD}"),
        one,
    );
    check_text(
        &format!("{CARGO_BAD}error: 1 target failed:\n    `--lib`\n{CARGO_GOOD}"),
        one,
    );
    check_text(&format!("{CARGO_GOOD}{CARGO_BUILT}"), one);
}

#[test]
fn a_cargo_run_that_is_cut_off_is_incomplete() {
    let good = format!("{CARGO_BUILT}{CARGO_RUNS}{CARGO_GOOD}");
    let cut =
        "cargo-test passed=1 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass";
    check_text(&format!("{good}{CARGO_RUNS}"), cut);
    check_text(&format!("{good}   Doc-tests a\n"), cut);
    check_text(&format!("{good}{CARGO_BUILT}{CARGO_RUNS}"), cut);
    check_text(&format!("{good}running 2 tests\ntest a ... ok\n"), cut);
    check_text(
        &format!("{good}error[E0308]: mismatched types\n"),
        "cargo-test passed=1 failed=0 skipped=0 errors=1 complete=false failures=[], does not pass",
    );
    check_text(
        &format!("{good}error: test failed, to rerun pass `--lib`\n"),
        "cargo-test passed=1 failed=0 skipped=0 errors=1 complete=false failures=[], does not pass",
    );
}

#[test]
fn what_a_rust_test_builds_is_no_new_cargo_run() {
    let builds = CARGO_GOOD.replace("test a", &format!("{CARGO_BUILT}error[E0308]: x\ntest a"));
    check_text(
        &format!("{CARGO_BAD}{builds}"),
        "cargo-test passed=1 failed=1 skipped=0 errors=0 complete=true failures=[2: a], does not pass",
    );
}

#[test]
fn results_alone_are_enough_for_cargo() {
    let results =
        "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n".repeat(3);
    check_text(
        &results,
        "cargo-test passed=15 failed=0 skipped=3 errors=0 complete=true failures=[], passes",
    );
}

#[test]
fn a_build_that_works_again_forgives_the_one_before_nextest() {
    check_text(
        &format!(
            "error: could not compile `a` (lib) due to 1 previous error\n{CARGO_BUILT}    Starting 1 test across 1 \
             binary\n        PASS [   0.1s] a t\n     Summary [   0.1s] 1 test run: 1 passed, 0 skipped\n"
        ),
        "nextest passed=1 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
}

#[test]
fn the_output_of_tests_is_not_read_while_nextest_runs() {
    check_text(
        &format!(
            "    Starting 1 test across 1 binary\n{CARGO_BAD}     Summary [   0.1s] 1 test run: 1 passed, 0 skipped\n"
        ),
        "nextest passed=1 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
}

#[test]
fn nextest_counts_what_could_not_be_run() {
    check_text(
        "     Summary [  15.750s] 8/10 tests run: 4 passed (1 slow, 1 flaky, 1 leaky), 2 failed (1 due to being leaky), \
         1 exec failed, 1 timed out, 2 skipped\n     TIMEOUT [  60.000s] a slow\n",
        "nextest passed=4 failed=3 skipped=2 errors=1 complete=false failures=[2: a slow], does not pass",
    );
}

#[test]
fn summaries_may_have_lost_their_indent() {
    check_text(
        "Summary [ 0.5s] 120 tests run: 118 passed (1 slow), 2 failed, 3 skipped",
        "nextest passed=118 failed=2 skipped=3 errors=0 complete=true failures=[], does not pass",
    );
    check_text(
        "Tests  2 failed | 10 passed | 1 skipped (13)",
        "vitest passed=10 failed=2 skipped=1 errors=0 complete=true failures=[], does not pass",
    );
    let inside = " RUN  v4.1.12 /toy\nTests  10 passed (10)\n";
    check_text(
        inside,
        "vitest passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn each_go_package_has_its_own_last_result() {
    let first =
        "--- FAIL: TestA (0.00s)\nFAIL\na.b/x\t0.1s\nFAIL\ta.b/x\t0.1s\nok  \ta.b/y\t0.1s\n";
    check_text(
        first,
        "go-test passed=1 failed=1 skipped=0 errors=0 complete=true failures=[1: TestA], does not pass",
    );
    check_text(
        &format!("{first}ok  \ta.b/x\t0.1s\n"),
        "go-test passed=2 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
    check_text(
        &format!("{first}ok  \ta.b/z\t0.1s\n"),
        "go-test passed=2 failed=1 skipped=0 errors=0 complete=true failures=[1: TestA], does not pass",
    );
    check_text(
        "ok  \ta.b/x\t0.1s\n=== RUN   TestA\n",
        "go-test passed=1 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn go_events_may_be_escaped_and_cut_off() {
    let event = |action: &str, test: &str| {
        format!(
            "{{\"Time\":\"x\",\"Action\":\"{action}\",\"Package\":\"p\"{test},\"Elapsed\":0.1}}\n"
        )
    };
    let test = ",\"Test\":\"T/a\\u003eb\\\\n\\\"c\"";
    check_text(
        &format!(
            "{}{}{}",
            event("run", test),
            event("fail", test),
            event("fail", "")
        ),
        "go-test passed=0 failed=1 skipped=0 errors=0 complete=true failures=[2: T/a>b\\n\"c], does not pass",
    );
    check_text(
        &format!("{}{}", event("run", test), event("pass", test)),
        "go-test passed=1 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
    check_text(
        &format!("{}{}", event("fail", ""), event("pass", "")),
        "go-test passed=0 failed=0 skipped=0 errors=0 complete=true failures=[], does not pass",
    );
}

#[test]
fn runners_add_up_and_the_last_one_gives_the_name() {
    let pytest = "FAILED a.py::t\n1 failed in 0.5s\n";
    let jest = "Tests:       1 skipped, 2 passed, 3 total\n";
    check_text(
        &format!("{CARGO_GOOD}{pytest}{jest}"),
        "jest passed=3 failed=1 skipped=1 errors=0 complete=true failures=[5: a.py::t], does not pass",
    );
    check_text(
        &format!("{CARGO_GOOD}{jest}"),
        "jest passed=3 failed=0 skipped=1 errors=0 complete=true failures=[], passes",
    );
    check_text(
        &format!("{jest}running 2 tests\n"),
        "jest passed=2 failed=0 skipped=1 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn a_report_counts_its_test_cases() {
    let report = |inner: &str| {
        format!("text\n<testsuites tests=\"9\" failures=\"0\">{inner}</testsuites>\ntext\n")
    };
    check_text(
        &report("<testcase name='a'/>\n<testcase classname='c' name='b'><failure/></testcase>"),
        "junit-xml passed=1 failed=1 skipped=0 errors=0 complete=true failures=[3: c b], does not pass",
    );
    check_text(
        &report(""),
        "junit-xml passed=9 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
    check_text(
        &report("<testsuite tests='1' failures='1'><testcase name='a'/></testsuite>"),
        "junit-xml passed=1 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
    check_text(
        &report("<testsuite><error/></testsuite><testcase name='a'/>"),
        "junit-xml passed=1 failed=0 skipped=0 errors=1 complete=true failures=[], does not pass",
    );
    check_text(
        &report("<testcase name='a'/>").repeat(2),
        "junit-xml passed=2 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
    check_text(
        "<testsuite tests='2' failures='1' errors='0' skipped='1'/>",
        "junit-xml passed=0 failed=1 skipped=1 errors=0 complete=true failures=[], does not pass",
    );
}

#[test]
fn hostile_reports_are_harmless() {
    let cut =
        "junit-xml passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass";
    check_text("<testsuite", cut);
    check_text("<testsuite>", cut);
    check_text("<testsuite><!-- ", cut);
    check_text("<testsuite></other>", cut);
    check_text(&format!("<testsuite>{}", "<a>".repeat(100_000)), cut);
    check_text(&"<testsuite>\n".repeat(10_000), cut);
    let bomb = "<?xml version='1.0'?>\n<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>\n";
    check_text(
        &format!(
            "{bomb}<testsuite><testcase name='&b;&#x41;&lt;'><failure>&b;</failure></testcase></testsuite>"
        ),
        "junit-xml passed=0 failed=1 skipped=0 errors=0 complete=true failures=[3: &b;&#x41;&lt;], does not pass",
    );
    let attributes = " a='1'".repeat(50_000);
    check_text(
        &format!("<testsuite{attributes}><testcase name='a'{attributes}/></testsuite>"),
        "junit-xml passed=1 failed=0 skipped=0 errors=0 complete=true failures=[], passes",
    );
}

#[test]
fn numbers_can_be_added() {
    let huge = "test result: FAILED. 999999999999999 passed; 999999999999999 failed; 999999999999999 ignored; \
                0 measured; 0 filtered out\n";
    let reading = read(huge.repeat(20_000).as_bytes()).expect("cargo is known");
    let Reading {
        passed,
        failed,
        skipped,
        errors,
        ..
    } = reading;
    let sum = [passed, failed, skipped, errors]
        .into_iter()
        .try_fold(0_u64, u64::checked_add);
    assert!(sum.is_some(), "{passed} {failed} {skipped} {errors}");
}

#[test]
fn names_are_bounded() {
    let mut log = String::new();
    for index in 0..2 * MAX_FAILURES {
        log.push_str(&format!(
            "FAILED a.py::{index}{}\n",
            "ä".repeat(2 * MAX_NAME_CHARS)
        ));
    }
    log.push_str("200 failed in 0.5s\n");
    let reading = read(log.as_bytes()).expect("pytest is known");
    assert_eq!(
        (reading.failed, reading.failures.len()),
        (200, MAX_FAILURES)
    );
    let longest = reading
        .failures
        .iter()
        .map(|failure| failure.name.chars().count())
        .max();
    assert_eq!(longest, Some(MAX_NAME_CHARS));
}

#[test]
fn a_summary_that_a_test_prints_is_not_the_runners() {
    // Without the line of dashes, with inconsistent numbers, and without the heading.
    check_text("Ran 9 tests in 0.001s\n\nOK\n", "unknown, does not pass");
    check_text(
        "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0\n",
        "unknown, does not pass",
    );
    check_text("Tests: 4, Assertions: 1.\n", "unknown, does not pass");
    check_text("1..4\n", "unknown, does not pass");
    check_text("BUILD SUCCESSFUL in 3s\n", "unknown, does not pass");
    check_text("3 passing tests\n", "unknown, does not pass");
    check_text(
        "{\"passed\": 3}\n{\"tests\": []}\n{}\n",
        "unknown, does not pass",
    );
    check_text(
        "Running 3 tests using 1 worker\n  9 passed (1.0s)\n",
        "playwright passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
    check_text(
        "1..3\nok 1 - a\nok 2 - b\n",
        "tap passed=2 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn a_log_that_was_cut_at_its_start_shows_the_failure_at_its_end() {
    check_text(
        "ok  \ta.b/x\t0.1s\nFAIL\n",
        "go-test passed=1 failed=0 skipped=0 errors=1 complete=false failures=[], does not pass",
    );
    check_text(
        "    1) adds\n\n  2 passing (3ms)\n",
        "mocha passed=2 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

#[test]
fn an_earlier_failure_in_the_log_is_kept_in_mind() {
    let is_kept = |log: &str| read(log.as_bytes()).is_some_and(|reading| reading.earlier_failed);
    let unittest =
        |verdict: &str| format!("{}\nRan 2 tests in 0.001s\n\n{verdict}\n", "-".repeat(70));
    let pairs = [
        (
            "1 failed in 0.5s\n".to_owned(),
            "1 passed in 0.5s\n".to_owned(),
        ),
        (CARGO_BAD.to_owned(), format!("{CARGO_BUILT}{CARGO_GOOD}")),
        (unittest("FAILED (failures=1)"), unittest("OK")),
        (
            "  1 passing (1ms)\n  1 failing\n".to_owned(),
            "  2 passing (1ms)\n".to_owned(),
        ),
        (
            "2 examples, 1 failure\n".to_owned(),
            "2 examples, 0 failures\n".to_owned(),
        ),
        (
            "Tests:       1 failed, 1 total\n".to_owned(),
            "Tests:       1 passed, 1 total\n".to_owned(),
        ),
        (
            "FAIL\ta.b/x\t0.1s\n".to_owned(),
            "ok  \ta.b/x\t0.1s\n".to_owned(),
        ),
    ];
    for (bad, good) in pairs {
        assert!(is_kept(&format!("{bad}{good}")), "{bad}{good}");
        assert!(!is_kept(&good), "{good}");
        assert!(!is_kept(&format!("{good}{good}")), "{good}");
    }
}

#[test]
fn hostile_json_is_harmless() {
    check_text(&"{".repeat(200_000), "unknown, does not pass");
    check_text(&"{\n".repeat(100_000), "unknown, does not pass");
    check_text(&"{\"a\n".repeat(100_000), "unknown, does not pass");
    check_text(&"{\"a\":[".repeat(50_000), "unknown, does not pass");
    check_text(&"{\"a\":1}\n".repeat(50_000), "unknown, does not pass");
    check_text(
        "{\"numTotalTests\":99999999999999999999,\"numPassedTests\":1}",
        "unknown, does not pass",
    );
    check_text(
        "{\"numTotalTests\":1,\"numPassedTests\":1",
        "unknown, does not pass",
    );
    check_text(
        "{\"numTotalTests\":1,\"numPassedTests\":1,\"success\":false}",
        "jest passed=1 failed=0 skipped=0 errors=1 complete=true failures=[], does not pass",
    );
    check_text(
        "{\"type\":\"suite\",\"event\":\"started\"}\n",
        "cargo-test passed=0 failed=0 skipped=0 errors=0 complete=false failures=[], does not pass",
    );
}

/// Returns logs of single runs in which a test fails by name.
fn failing_logs() -> impl Iterator<Item = (Vec<u8>, Reading)> {
    LOGS.iter().map(|(file, _)| log_of(file)).filter_map(|log| {
        let reading = read(&log).filter(|reading| !reading.failures.is_empty())?;
        Some((log, reading))
    })
}

/// Returns the end of the first line that names a failed test.
fn end_of_first_failure(log: &[u8], reading: &Reading) -> usize {
    let line = reading.failures.first().expect("it has failures").line;
    let mut ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.nth(line - 1).map_or(log.len(), |(end, _)| end)
}

#[test]
fn a_failure_that_was_seen_is_not_cut_away() {
    for (log, reading) in failing_logs() {
        let ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let first = end_of_first_failure(&log, &reading);
        for (end, _) in ends.filter(|(end, _)| *end >= first) {
            let cut = read(&log[..end]);
            assert!(
                !cut.is_some_and(|cut| cut.passes()),
                "{}",
                String::from_utf8_lossy(&log[..end])
            );
        }
    }
}

fn any_log() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(LOGS.to_vec()).prop_map(|(file, _)| log_of(file))
}

/// Generates lines of all logs in any order, with broken and unfinished ones among them.
fn line_soup() -> impl Strategy<Value = Vec<u8>> {
    let logs = LOGS.map(|(file, _)| log_of(file)).concat();
    let mut lines: Vec<Vec<u8>> = logs
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines.extend([
        b"<testsuite><".to_vec(),
        b"\x1b[".to_vec(),
        b"\x1b".to_vec(),
        b"{\"\\".to_vec(),
    ]);
    prop::collection::vec((prop::sample::select(lines), 0..200_usize), 0..40).prop_map(|lines| {
        let mut log = Vec::new();
        for (line, keep) in lines {
            log.extend_from_slice(line.get(..keep).unwrap_or(&line));
            log.push(b'\n');
        }
        log
    })
}

/// Checks the invariants of every reading.
fn check_bounds(log: &[u8]) {
    let Some(reading) = read(log) else {
        return;
    };
    let lines = log.split(|byte| *byte == b'\n').count();
    assert!(reading.failures.len() <= MAX_FAILURES);
    for failure in &reading.failures {
        assert!(failure.name.chars().count() <= MAX_NAME_CHARS);
        assert!((1..=lines).contains(&failure.line));
    }
    let is_bad = reading.failed > 0 || reading.errors > 0 || !reading.failures.is_empty();
    assert!(!(reading.passes() && (is_bad || !reading.complete || reading.passed == 0)));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(log in prop::collection::vec(any::<u8>(), 0..2_000)) {
        check_bounds(&log);
    }

    #[test]
    fn any_lines_can_be_read(log in line_soup()) {
        check_bounds(&log);
    }

    #[test]
    fn any_change_can_be_read(
        log in any_log(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut log = log;
        for (at, byte) in changes {
            let at = at.index(log.len());
            log[at] = byte;
        }
        check_bounds(&log);
        check_bounds(&log[cut.index(log.len())..]);
    }

    #[test]
    fn a_failure_that_was_seen_stays(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let logs: Vec<_> = failing_logs().collect();
        let (log, reading) = which.get(&logs);
        let first = end_of_first_failure(log, reading);
        let end = first + cut.index(log.len() - first + 1);
        prop_assert!(!read(&log[..end]).is_some_and(|cut| cut.passes()));
    }
}
