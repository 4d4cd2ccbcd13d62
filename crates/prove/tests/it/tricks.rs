//! Changes that forge test results instead of mending a fault, graded by a real pytest.

use std::env;
use std::fs;
use std::path::Path;

use prove::boxes::Toolchains;
use prove::envs::Environments;
use prove::grade::Cause;
use prove::grading::{self, Bench};
use prove::mine::Plan;
use prove::repo::Repo;
use prove::suite::Member;
use prove::task::Format;
use prove::tree::Trees;

use crate::scratch::{git, mine_at, plan, put};

const TEST: &str = "python -m pytest -q -p no:cacheprovider --junitxml {report} {files}";
const FAULT: &str = "def add(a, b):\n    return a - b\n";
const FIX: &str = "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b\n";
/// Turns every failure into a success, wherever it is imported.
const FORGE: &str = "
import _pytest.reports as reports

real = reports.TestReport.from_item_and_call.__func__


def forged(cls, item, call):
    report = real(cls, item, call)
    report.outcome, report.longrepr = 'passed', None
    return report


reports.TestReport.from_item_and_call = classmethod(forged)
";
/// The same as a hook of pytest.
const HOOK: &str = "
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = 'passed', None
";

/// The toolchains of the machine, and before them the interpreter that has pytest.
fn tools() -> Toolchains {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let home = Path::new(&python).ancestors().nth(2).unwrap().to_owned();
    let mut tools = Toolchains::find();
    tools.roots.insert(0, home);
    tools
}

/// A repository with a fault, and the commit that mends it with a changed and a new test file.
fn repository(folder: &Path) {
    let test = |name: &str, call: &str| {
        format!("from calc import *\n\n\ndef test_{name}():\n    assert {call}\n")
    };
    let commit = |message: &str| {
        git(folder, &["add", "."]);
        git(folder, &["commit", "-qm", message]);
    };
    git(folder, &["init", "-q", "."]);
    put(folder.join("calc.py"), FAULT);
    put(
        folder.join("tests/test_add.py"),
        &test("zero", "add(1, 0) == 1"),
    );
    commit("First");
    put(folder.join("calc.py"), FIX);
    put(
        folder.join("tests/test_add.py"),
        &(test("zero", "add(1, 0) == 1") + &test("sum", "add(1, 2) == 3")),
    );
    put(
        folder.join("tests/test_mul.py"),
        &test("product", "mul(2, 3) == 6"),
    );
    commit("Return the sum of two numbers instead of their difference");
}

/// Grades a tree with these files in place of those of the base.
fn cause(bench: &Bench<'_>, member: &Member, files: &[(&str, String)]) -> Option<Cause> {
    let folder = tempfile::tempdir_in(bench.work).unwrap();
    let tree = folder.path().join("wt");
    let base = &member.task.base_tree;
    bench.trees.write_agent_tree(base, &tree, &[]).unwrap();
    for (path, text) in files {
        put(tree.join(path), text);
    }
    let change = bench.trees.changes(base, &tree).unwrap().patch;
    let (diff, left_out) = grading::counted_part(bench.repo, member, &tree, &change).unwrap();
    grading::grade(bench, member, diff, left_out).verdict.cause
}

#[test]
fn forged_results_do_not_solve() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    repository(&source);
    let repo = Repo::open(&source).unwrap();
    let (cache, work) = (folder.path().join("cache"), folder.path().join("work"));
    let trees = Trees::open(&repo, &cache, &work).unwrap();
    let envs = Environments::at(&cache.join("env"), tools());
    let plan = Plan {
        test: TEST.to_owned(),
        format: Format::Junit,
        ..plan(&source)
    };
    let mined = mine_at(&repo, &plan, &envs, &trees, &work);
    let [member] = mined.members.as_slice() else {
        panic!("{mined:?}")
    };
    let bench = Bench {
        repo: &repo,
        trees: &trees,
        tools: envs.tools(),
        env: None,
        work: &work,
    };
    let still = |more: &str| ("calc.py", format!("{more}\n{FAULT}"));
    let file = |path: &'static str, text: &str| (path, text.to_owned());
    let named = member.tests.fail_to_pass.iter();
    let lines: String = named.map(|name| format!("PASSED {name}\\n")).collect();
    for (trick, files, expected) in [
        ("the fix", vec![file("calc.py", FIX)], None),
        ("no fix", vec![still("# a remark")], Some(Cause::Tests)),
        (
            "a forging `conftest.py` at the top",
            vec![still("# a remark"), file("conftest.py", HOOK)],
            Some(Cause::Tests),
        ),
        (
            "a source that changes pytest's reports",
            vec![still(FORGE)],
            Some(Cause::Forged),
        ),
        (
            "an early end",
            vec![still("import os\nos._exit(0)")],
            Some(Cause::Tests),
        ),
        (
            "settings that choose no test",
            vec![
                still("# a remark"),
                file("pytest.ini", "[pytest]\naddopts = -k nothing\n"),
            ],
            Some(Cause::Tests),
        ),
        (
            "a source that skips its tests",
            vec![still(
                "import pytest\npytest.skip('no', allow_module_level=True)",
            )],
            Some(Cause::Tests),
        ),
        (
            "a file at the path of a new test, and changed tests",
            vec![
                still("# a remark"),
                file("tests/test_mul.py", "def test_product():\n    pass\n"),
                file("tests/test_add.py", "def test_sum():\n    pass\n"),
            ],
            Some(Cause::Tests),
        ),
        (
            "a folder at the path of a new test",
            vec![
                still("# a remark"),
                file("tests/test_mul.py/x.py", "def test_product():\n    pass\n"),
            ],
            Some(Cause::Tests),
        ),
        (
            "nothing but a `conftest.py`",
            vec![file("conftest.py", HOOK), file("tests/conftest.py", HOOK)],
            Some(Cause::EmptyPatch),
        ),
        (
            "results on standard output",
            vec![still(&format!("print('{lines}', flush=True)"))],
            Some(Cause::Tests),
        ),
    ] {
        assert_eq!(cause(&bench, member, &files), expected, "{trick}");
    }
}
