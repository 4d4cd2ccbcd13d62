//! The rules of outcomes, on runs with short logs.

use super::*;

const PASSES: &str = "============================= test session starts ==============================\ncollected 2 items\n\n============================== 2 passed in 0.01s ===============================\n";
const ONE: &str = "============================= test session starts ==============================\ncollected 2 items / 1 deselected / 1 selected\n\n======================= 1 passed, 1 deselected in 0.01s ========================\n";
const FAILS: &str = "============================= test session starts ==============================\ncollected 2 items\n\n=========================== short test summary info ============================\nFAILED t.py::test_a - x\n========================= 1 failed, 1 passed in 0.01s ==========================\n";

fn pytest() -> Scope {
    Scope {
        program: "pytest".to_owned(),
        is_direct: true,
        is_recursive: true,
        folder: "/p".to_owned(),
        ..Scope::default()
    }
}

fn places(names: &[&str]) -> Scope {
    Scope {
        places: names.iter().map(ToString::to_string).collect(),
        ..pytest()
    }
}

fn filter(option: &str, value: &str) -> Scope {
    Scope {
        filters: vec![(option.to_owned(), value.to_owned())],
        ..pytest()
    }
}

fn run(scope: Scope, output: &str, exit: i64) -> Run {
    Run {
        output: output.as_bytes().to_vec(),
        failed: exit != 0,
        exit: Some(exit),
        credit: Credit::All,
        scope,
        ..Run::default()
    }
}

fn tests(runs: Vec<Run>) -> Option<Tests> {
    tests_without(runs, &[])
}

fn tests_without(runs: Vec<Run>, deleted: &[&str]) -> Option<Tests> {
    let deleted: Vec<String> = deleted.iter().map(ToString::to_string).collect();
    let judged = |run: Run| {
        let judged = run.judge();
        (run, judged)
    };
    let runs: Vec<_> = runs.into_iter().map(judged).collect();
    weigh(&runs, &deleted).tests
}

#[test]
fn a_success_needs_the_runners_own_words() {
    let end = |credit, output, exit| {
        let run = Run {
            credit,
            ..run(pytest(), output, exit)
        };
        run.judge().end
    };
    assert_eq!(end(Credit::All, PASSES, 0), RunEnd::Passed);
    assert_eq!(end(Credit::Output, PASSES, 0), RunEnd::Passed);
    assert_eq!(end(Credit::SomeLines, PASSES, 0), RunEnd::Passed);
    assert_eq!(end(Credit::Nothing, PASSES, 0), RunEnd::CannotTell);
    assert_eq!(end(Credit::All, PASSES, 1), RunEnd::Failed);
    assert_eq!(end(Credit::Output, PASSES, 1), RunEnd::CannotTell);
    for credit in [
        Credit::Nothing,
        Credit::SomeLines,
        Credit::Output,
        Credit::All,
    ] {
        assert_eq!(end(credit, FAILS, 0), RunEnd::Failed, "{credit:?}");
        assert_eq!(end(credit, "all good", 0), RunEnd::CannotTell, "{credit:?}");
        assert_eq!(end(credit, "not found", 127), RunEnd::NotStarted);
    }
    assert_eq!(end(Credit::All, "bad", 2), RunEnd::Failed);
    assert_eq!(end(Credit::Output, "bad", 2), RunEnd::CannotTell);
    let both = format!("{FAILS}{PASSES}");
    assert_eq!(
        end(Credit::All, &both, 0),
        RunEnd::Failed,
        "one command, two runs"
    );
    let ok = "ok  \ta.b/x\t0.1s\n";
    assert_eq!(
        end(Credit::SomeLines, ok, 0),
        RunEnd::CannotTell,
        "`grep ok` hides a FAIL"
    );
    assert_eq!(end(Credit::Output, ok, 0), RunEnd::Passed);
}

#[test]
fn a_failing_test_stays_failing_until_a_run_that_includes_it_passes() {
    let after =
        |scope: Scope, output: &str| tests(vec![run(pytest(), FAILS, 1), run(scope, output, 0)]);
    for narrower in [
        filter("-k", "test_b"),
        filter("-k", "not test_a"),
        filter("-m", "fast"),
        filter("--deselect", "t.py::test_a"),
        filter("--lf", ""),
        places(&["t.py::test_b"]),
        places(&["u.py"]),
        places(&["t.py::test_"]),
        Scope {
            folder: "/p/sub".to_owned(),
            ..pytest()
        },
        Scope {
            is_unclear: true,
            ..pytest()
        },
        Scope {
            program: "make".to_owned(),
            is_direct: false,
            ..pytest()
        },
    ] {
        assert_eq!(
            after(narrower.clone(), ONE),
            Some(Tests::Failed),
            "{narrower:?}"
        );
    }
    for including in [
        filter("-k", "test_a"),
        filter("-k", "test_b or test_a"),
        places(&["t.py::test_a"]),
        places(&["t.py"]),
    ] {
        assert_eq!(
            after(including.clone(), ONE),
            Some(Tests::PassedNarrower),
            "{including:?}"
        );
    }
    assert_eq!(after(pytest(), PASSES), Some(Tests::Passed));
    assert_eq!(
        after(pytest(), ONE),
        Some(Tests::Failed),
        "the same command ran fewer tests: one was deleted, skipped or left out"
    );
    let above = Scope {
        folder: "/".to_owned(),
        ..pytest()
    };
    assert_eq!(
        after(above, PASSES),
        Some(Tests::Failed),
        "settings of another directory may leave tests out"
    );
    let make = Scope {
        program: "make".to_owned(),
        is_direct: false,
        ..pytest()
    };
    assert_eq!(
        after(make, PASSES),
        Some(Tests::Passed),
        "it ran as many tests"
    );
}

#[test]
fn a_run_that_stopped_early_is_covered_only_as_a_whole() {
    let stopped = Scope {
        stops_early: true,
        ..pytest()
    };
    let two = |scope| tests(vec![run(stopped.clone(), FAILS, 1), run(scope, ONE, 0)]);
    assert_eq!(two(places(&["t.py::test_a"])), Some(Tests::Failed));
    assert_eq!(two(pytest()), Some(Tests::Failed));
    let whole = tests(vec![run(stopped, FAILS, 1), run(pytest(), PASSES, 0)]);
    assert_eq!(whole, Some(Tests::Passed));
}

/// Returns a log of `pytest -v`: the tests by name, each with its verdict.
fn verbose(tests: &[(&str, &str)]) -> String {
    let mut log = "============ test session starts ============\n".to_owned();
    let count = |wanted: &str| {
        tests
            .iter()
            .filter(|(_, verdict)| *verdict == wanted)
            .count()
    };
    for (name, verdict) in tests {
        log.push_str(&format!("{name} {verdict}      [ 50%]\n"));
    }
    let (failed, passed) = (count("FAILED"), count("PASSED"));
    let failed = if failed > 0 {
        format!("{failed} failed, ")
    } else {
        String::new()
    };
    log.push_str(&format!(
        "======= {failed}{passed} passed in 0.01s =======\n"
    ));
    log
}

#[test]
fn the_names_of_passed_tests_decide_where_the_log_has_them() {
    let failed = || {
        let log = verbose(&[("t.py::test_a", "FAILED"), ("t.py::test_b", "PASSED")]);
        run(pytest(), &log, 1)
    };
    let after = |scope: Scope, names: &[&str]| {
        let all: Vec<_> = names.iter().map(|name| (*name, "PASSED")).collect();
        tests(vec![failed(), run(scope, &verbose(&all), 0)])
    };
    let (a, b, c) = ("t.py::test_a", "t.py::test_b", "t.py::test_c");
    let above = || Scope {
        folder: "/".to_owned(),
        ..pytest()
    };
    assert_eq!(after(pytest(), &[a, b]), Some(Tests::Passed));
    assert_eq!(
        after(filter("-m", "fast"), &[a]),
        Some(Tests::PassedNarrower)
    );
    assert_eq!(after(above(), &[a, b]), Some(Tests::Passed));
    assert_eq!(
        after(pytest(), &[b, c]),
        Some(Tests::Failed),
        "another test in its place"
    );
    assert_eq!(
        after(filter("-k", "test_a"), &["t.py::test_ab"]),
        Some(Tests::Failed)
    );
    let beside = Scope {
        folder: "/q".to_owned(),
        ..pytest()
    };
    assert_eq!(
        after(beside, &[a, b]),
        Some(Tests::Failed),
        "another project's test of that name"
    );
}

#[test]
fn a_file_or_class_that_could_not_be_loaded_is_lifted_by_its_tests() {
    let pytest_error = "==== test session starts ====\n==== short test summary info ====\nERROR t.py - ImportError\n\
                        !!! Interrupted: 1 error during collection !!!\n==== 1 error in 0.01s ====\n";
    let loaded = verbose(&[("t.py::test_a", "PASSED")]);
    let runs = vec![run(pytest(), pytest_error, 2), run(pytest(), &loaded, 0)];
    assert_eq!(tests(runs), Some(Tests::Passed));
    let rule = |sign: &str| sign.repeat(70);
    let unittest = |name: &str| {
        let (equals, dashes) = (rule("="), rule("-"));
        format!(
            "{equals}\nERROR: {name}\n{dashes}\nx\n{dashes}\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n"
        )
    };
    let fine = format!(
        "test_a (mod.Case.test_a) ... ok\n\n{}\nRan 1 test in 0.1s\n\nOK\n",
        rule("-")
    );
    for (name, expected) in [
        ("setUpClass (mod.Case)", Tests::Passed),
        ("mod (unittest.loader._FailedTest.mod)", Tests::Passed),
        ("test_a (mod.Case.test_a)", Tests::Passed),
        ("test_b (mod.Case.test_b)", Tests::Failed),
    ] {
        let runs = vec![run(pytest(), &unittest(name), 1), run(pytest(), &fine, 0)];
        assert_eq!(tests(runs), Some(expected), "{name}");
    }
}

#[test]
fn a_deleted_test_is_lifted_by_its_name_alone() {
    let failed = || run(pytest(), FAILS, 1);
    let three = PASSES.replace("2 passed", "3 passed");
    let lifts = |later: Run| tests_without(vec![failed(), later], &["t.py::test_a"]);
    assert_eq!(lifts(run(pytest(), &three, 0)), Some(Tests::Failed));
    assert_eq!(
        lifts(run(filter("-k", "test_a"), ONE, 0)),
        Some(Tests::Failed)
    );
    let shown = verbose(&[("t.py::test_a", "PASSED"), ("t.py::test_b", "PASSED")]);
    assert_eq!(lifts(run(pytest(), &shown, 0)), Some(Tests::Passed));
}

#[test]
fn one_package_of_go_does_not_outvote_all_of_them() {
    const FAILS: &str = "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/pkg\t0.1s\nok  \tx\t0.1s\nFAIL\n";
    const ROOT: &str = "ok  \tx\t0.1s\n";
    const ALL: &str = "ok  \tx/pkg\t0.1s\nok  \tx\t0.1s\n";
    let go = |places: &[&str], is_recursive, run_filter: Option<&str>| Scope {
        program: "go test".to_owned(),
        is_recursive,
        filters: run_filter
            .map(|name| ("-run".to_owned(), name.to_owned()))
            .into_iter()
            .collect(),
        ..self::places(places)
    };
    let all = || go(&[], true, None);
    let cases = [
        (all(), go(&[], false, None), ROOT, Tests::Failed),
        (all(), go(&[], false, Some("TestA")), ROOT, Tests::Failed),
        (
            all(),
            go(&["other"], false, Some("TestA")),
            ROOT,
            Tests::Failed,
        ),
        (
            all(),
            go(&[], true, Some("TestA")),
            ALL,
            Tests::PassedNarrower,
        ),
        (all(), all(), ALL, Tests::Passed),
        (
            go(&["pkg/..."], false, None),
            go(&["pkg"], false, None),
            ALL,
            Tests::Failed,
        ),
        (
            go(&["pkg/sub"], false, None),
            go(&["pkg"], false, None),
            ALL,
            Tests::Failed,
        ),
        (
            go(&["pkg/sub"], false, None),
            go(&["pkg/..."], false, None),
            ALL,
            Tests::Passed,
        ),
        (
            go(&["pkg"], false, None),
            go(&["pkg"], false, None),
            ALL,
            Tests::Passed,
        ),
        (go(&["pkg"], false, None), all(), ALL, Tests::Passed),
    ];
    for (old, new, log, expected) in cases {
        let told = format!("{old:?} {new:?}");
        let found = tests(vec![run(old, FAILS, 1), run(new, log, 0)]);
        assert_eq!(found, Some(expected), "{told}");
    }
}

#[test]
fn tests_of_another_tree_say_nothing_of_this_one() {
    let elsewhere = |output: &str, exit| Run {
        credit: Credit::Elsewhere,
        ..run(pytest(), output, exit)
    };
    assert_eq!(tests(vec![elsewhere(PASSES, 0)]), Some(Tests::CannotTell));
    assert_eq!(tests(vec![elsewhere(FAILS, 1)]), Some(Tests::CannotTell));
    let here = || run(pytest(), PASSES, 0);
    assert_eq!(
        tests(vec![elsewhere(FAILS, 1), here()]),
        Some(Tests::Passed)
    );
    let failed = run(pytest(), FAILS, 1);
    assert_eq!(
        tests(vec![failed, elsewhere(PASSES, 0)]),
        Some(Tests::Failed)
    );
}

#[test]
fn several_narrow_runs_lift_several_failures() {
    let two = FAILS
        .replace(
            "FAILED t.py::test_a - x\n",
            "FAILED t.py::test_a - x\nFAILED t.py::test_b\n",
        )
        .replace("1 failed, 1 passed", "2 failed");
    let a = || run(places(&["t.py::test_a"]), ONE, 0);
    let b = || run(places(&["t.py::test_b"]), ONE, 0);
    let failed = || run(pytest(), &two, 1);
    assert_eq!(tests(vec![failed(), a()]), Some(Tests::Failed));
    assert_eq!(tests(vec![failed(), a(), b()]), Some(Tests::PassedNarrower));
    assert_eq!(tests(vec![a(), b(), failed()]), Some(Tests::Failed));
}

#[test]
fn what_cannot_be_believed_lifts_nothing() {
    let hidden = Run {
        credit: Credit::Nothing,
        ..run(pytest(), PASSES, 0)
    };
    assert_eq!(
        tests(vec![run(pytest(), FAILS, 1), hidden.clone()]),
        Some(Tests::Failed)
    );
    assert_eq!(tests(vec![hidden]), Some(Tests::CannotTell));
    let make = Scope {
        program: "make".to_owned(),
        ..Scope::default()
    };
    let bad = || run(make.clone(), "x", 2);
    let good = || run(make.clone(), "y", 0);
    assert_eq!(tests(vec![bad()]), Some(Tests::Failed));
    assert_eq!(tests(vec![bad(), good()]), Some(Tests::CannotTell));
    assert_eq!(tests(vec![good(), bad()]), Some(Tests::Failed));
    assert_eq!(tests(vec![good()]), Some(Tests::CannotTell));
    assert_eq!(
        tests(vec![good(), run(pytest(), PASSES, 0)]),
        Some(Tests::Passed)
    );
    assert_eq!(tests(vec![run(make, "", 127)]), Some(Tests::NotStarted));
    assert_eq!(tests(Vec::new()), None);
}

#[test]
fn a_run_before_the_last_edit_proves_nothing() {
    let stale = Run {
        is_stale: true,
        ..run(pytest(), PASSES, 0)
    };
    assert_eq!(tests(vec![stale.clone()]), Some(Tests::PassedBefore));
    assert_eq!(
        tests(vec![stale.clone(), run(places(&["t.py"]), ONE, 0)]),
        Some(Tests::PassedNarrower)
    );
    let failed = Run {
        is_stale: true,
        ..run(pytest(), FAILS, 1)
    };
    assert_eq!(tests(vec![stale, failed]), Some(Tests::Failed));
}

#[test]
fn the_rules() {
    let check = |tests, change, broke, outcome, doubt| {
        let known = Known {
            tests,
            change,
            broke,
            is_cut: false,
        };
        let cut = Known {
            is_cut: true,
            ..known
        };
        assert_eq!(decide(cut).outcome, Outcome::Failed);
        assert_eq!(decide(known), Decision { outcome, doubt }, "{known:?}");
    };
    let (passed, applies) = (Some(Tests::Passed), Change::Applies);
    check(passed, applies, false, Outcome::Solved, None);
    check(passed, applies, true, Outcome::Solved, None);
    check(
        passed,
        Change::Nothing,
        false,
        Outcome::Skipped,
        Some(Doubt::NothingChanged),
    );
    check(
        passed,
        Change::Unknown,
        false,
        Outcome::Skipped,
        Some(Doubt::NoDiff),
    );
    check(
        passed,
        Change::DoesNotApply,
        false,
        Outcome::Failed,
        Some(Doubt::DiffFails),
    );
    let before = Some(Tests::PassedBefore);
    check(
        before,
        applies,
        false,
        Outcome::Skipped,
        Some(Doubt::EditedAfterwards),
    );
    let unclear = Some(Tests::CannotTell);
    check(
        unclear,
        applies,
        false,
        Outcome::Skipped,
        Some(Doubt::CannotTell),
    );
    check(
        Some(Tests::Failed),
        Change::Nothing,
        true,
        Outcome::Failed,
        None,
    );
    check(
        Some(Tests::NotStarted),
        applies,
        false,
        Outcome::Error,
        None,
    );
    check(None, applies, true, Outcome::Error, None);
    check(None, applies, false, Outcome::Skipped, None);
}

#[test]
fn other_settings_of_the_runner_lift_a_failure_only_by_its_name() {
    let failed = "FAILED t.py::test_a - x\n==== 1 failed, 1 passed in 0.01s ====\n";
    let quiet = "==== 2 passed in 0.01s ====\n";
    let named = "==== test session starts ====\nt.py::test_a PASSED [ 50%]\nt.py::test_b PASSED [100%]\n\
                 ==== 2 passed in 0.01s ====\n";
    let other = "==== test session starts ====\nu.py::test_c PASSED [ 50%]\nu.py::test_d PASSED [100%]\n\
                 ==== 2 passed in 0.01s ====\n";
    let with = |setup: &str, output: &str, exit| Run {
        setup: Some(setup.to_owned()),
        ..run(Scope::default(), output, exit)
    };
    for (setup, output, expected) in [
        ("one", quiet, Tests::Passed),
        ("two", quiet, Tests::PassedOtherwise),
        ("two", named, Tests::Passed),
        ("one", other, Tests::Failed),
        ("two", other, Tests::Failed),
    ] {
        let found = tests(vec![with("one", failed, 1), with(setup, output, 0)]);
        assert_eq!(found, Some(expected), "{setup} {output}");
    }
    // A run with the old settings resolves it.
    let runs = vec![
        with("one", failed, 1),
        with("two", quiet, 0),
        with("one", quiet, 0),
    ];
    assert_eq!(tests(runs), Some(Tests::Passed));
    let decided = decide(Known {
        tests: Some(Tests::PassedOtherwise),
        change: Change::Applies,
        ..Known::default()
    });
    assert_eq!(decided.outcome, Outcome::Skipped);
    assert_eq!(decided.doubt, Some(Doubt::OtherSetup));
}

#[test]
fn a_test_that_is_skipped_instead_stays_failed() {
    let failed = "FAILED t.py::test_a - x\n==== 1 failed, 1 passed in 0.01s ====\n";
    let skipped = "==== 2 passed, 1 skipped in 0.01s ====\n";
    let runs = vec![
        run(Scope::default(), failed, 1),
        run(Scope::default(), skipped, 0),
    ];
    assert_eq!(tests(runs), Some(Tests::Failed));
}

#[test]
fn a_package_that_failed_has_to_pass_itself() {
    let failed = "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/pkg\t0.1s\nok  \tx\t0.1s\nFAIL\n";
    for (output, expected) in [
        ("ok  \tx\t0.1s\nok  \tx/pkg\t0.1s\n", Tests::Passed),
        (
            "ok  \tx\t0.1s\n?   \tx/pkg\t[no test files]\n",
            Tests::Failed,
        ),
        (
            "ok  \tx\t0.1s\nok  \tx/pkg\t0.1s [no tests to run]\n",
            Tests::Failed,
        ),
        ("ok  \tx\t0.1s\nok  \tx/other\t0.1s\n", Tests::Failed),
    ] {
        let runs = vec![
            run(Scope::default(), failed, 1),
            run(Scope::default(), output, 0),
        ];
        assert_eq!(tests(runs), Some(expected), "{output}");
    }
}

#[test]
fn tests_pass_as_widely_as_they_ran_before() {
    let stale = |scope: Scope| Run {
        is_stale: true,
        ..run(scope, PASSES, 0)
    };
    let sub = || Scope {
        folder: "/p/sub".to_owned(),
        ..pytest()
    };
    for (before, after, expected) in [
        (pytest(), pytest(), Tests::Passed),
        (pytest(), places(&["t.py::test_a"]), Tests::PassedNarrower),
        (pytest(), filter("FOO=1", ""), Tests::PassedNarrower),
        (pytest(), sub(), Tests::PassedNarrower),
        (places(&["t.py"]), pytest(), Tests::Passed),
        (
            places(&["t.py"]),
            places(&["t.py::test_a"]),
            Tests::PassedNarrower,
        ),
        (places(&["t.py"]), places(&["t.py", "u.py"]), Tests::Passed),
        // Neither contains the other.
        (places(&["t.py"]), places(&["u.py"]), Tests::Passed),
        (filter("FOO=1", ""), filter("FOO=1", ""), Tests::Passed),
    ] {
        let told = format!("{before:?} {after:?}");
        let runs = vec![stale(before.clone()), run(after.clone(), PASSES, 0)];
        assert_eq!(tests(runs), Some(expected), "{told}");
        let whole = vec![
            stale(before),
            run(after, PASSES, 0),
            run(pytest(), PASSES, 0),
        ];
        assert_eq!(tests(whole), Some(Tests::Passed), "{told}");
    }
    let known = Known {
        tests: Some(Tests::PassedNarrower),
        change: Change::Applies,
        ..Known::default()
    };
    assert_eq!(decide(known).doubt, Some(Doubt::Narrower));
    assert_eq!(decide(known).outcome, Outcome::Skipped);
}

#[test]
fn tests_that_are_found_in_another_folder_lift_nothing() {
    const BROKEN: &str = "test_add (test_calc.T.test_add) ... FAIL\n\n======================================================================\nFAIL: test_add (test_calc.T.test_add)\n----------------------------------------------------------------------\nTraceback\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    const MENDED: &str = "test_add (test_calc.T.test_add) ... ok\n\n----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nOK\n";
    let unittest = |names: &[&str]| Scope {
        program: "unittest".to_owned(),
        ..places(names)
    };
    for (first, second, expected) in [
        (
            vec!["test_calc.T.test_add"],
            vec!["discover", "copy"],
            Tests::Failed,
        ),
        (
            vec!["discover", "tests"],
            vec!["discover", "copy"],
            Tests::Failed,
        ),
        (
            vec!["discover", "tests"],
            vec!["discover", "tests"],
            Tests::Passed,
        ),
        (vec!["test_calc"], vec!["discover"], Tests::Passed),
        (vec![], vec![], Tests::Passed),
    ] {
        let runs = vec![
            run(unittest(&first), BROKEN, 1),
            run(unittest(&second), MENDED, 0),
        ];
        assert_eq!(tests(runs), Some(expected), "{first:?} {second:?}");
    }
}

#[test]
fn a_log_without_names_lifts_nothing_if_more_is_skipped_or_less_passes() {
    let rule = "-".repeat(70);
    let failure = format!(
        "{}\nFAIL: test_add (test_calc.T.test_add)\n",
        "=".repeat(70)
    );
    let log = |ran: u64, end: &str| format!("{rule}\nRan {ran} tests in 0.001s\n\n{end}\n");
    for named in [&["test_calc"][..], &["discover", "tests"], &[]] {
        for (ran, end, expected) in [
            (2, "OK", Tests::Passed),
            (2, "OK (skipped=1)", Tests::Failed),
            (2, "OK (expected failures=1)", Tests::Failed),
            (3, "OK (skipped=1)", Tests::Failed),
            (1, "OK", Tests::Failed),
        ] {
            let broken = format!("{failure}{}", log(2, "FAILED (failures=1)"));
            let scope = || Scope {
                program: "unittest".to_owned(),
                ..places(named)
            };
            let runs = vec![run(scope(), &broken, 1), run(scope(), &log(ran, end), 0)];
            assert_eq!(tests(runs), Some(expected), "{named:?} {ran} {end}");
        }
    }
}
