//! The rules, on runs with short logs.

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
    let judged = |run: Run| {
        let judged = run.judge();
        (run, judged)
    };
    let runs: Vec<_> = runs.into_iter().map(judged).collect();
    weigh(&runs).tests
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
        pytest(),
        filter("-k", "test_a"),
        filter("-k", "test_b or test_a"),
        places(&["t.py::test_a"]),
        places(&["t.py"]),
        Scope {
            folder: "/".to_owned(),
            ..pytest()
        },
    ] {
        assert_eq!(
            after(including.clone(), ONE),
            Some(Tests::Passed),
            "{including:?}"
        );
    }
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
    assert_eq!(two(pytest()), Some(Tests::Passed));
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
    assert_eq!(tests(vec![failed(), a(), b()]), Some(Tests::Passed));
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
        Some(Tests::Passed)
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
        };
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
