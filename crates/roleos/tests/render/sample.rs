//! Sample bundles and curves for the tests and the gallery. Clock and keys are fixed, so the bytes are too.

use roleos::render::replay_view::ReplayView;
use testlog::{Failure, Reading, Runner};
use witness::builder::Builder;
use witness::bundle::{Bundle, Strictness};
use witness::cost::Cost;
use witness::curve::Point;
use witness::evidence::{Signers, Verdict};
use witness::extension::{Chain, Rollback, field};
use witness::key::{HmacKey, Keyring, SigningKey};
use witness::policy::{Check, Policy, short_hash};
use witness::replay::{Agreement, OutcomeCheck};
use witness::trace::Call;
use witness::wire::{Mode, Outcome, TaskId};

/// Sunday 2026-02-15, noon.
const NOON: u64 = 1_771_156_800_000_000_000;
const SECRET: &[u8] = b"a secret that is long enough";

/// Bytes of a bundle with the check that a reader of test logs would compute.
pub(crate) struct Sample {
    pub(crate) file: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) check: OutcomeCheck,
}

fn builder(outcome: Outcome, policy: Policy) -> Builder {
    let task = TaskId::parse("018f3c1e-7a2b-4c5d-8e9f-0123456789ab").unwrap();
    let mut builder = Builder::new(task, policy, NOON);
    builder.outcome(outcome);
    builder
}

fn record(builder: &mut Builder, action: &str, latency_ms: u32, cost: u32, tokens: u32) {
    let call = Call {
        action: action.as_bytes(),
        check: Check::Allowed,
        args_hash: short_hash(action.as_bytes()),
        result_hash: short_hash(&latency_ms.to_le_bytes()),
        latency_ms,
        cost_microdollars: cost,
        tokens,
    };
    builder.record(&call).unwrap();
}

fn seal(builder: Builder) -> Vec<u8> {
    let (hmac, signer) = (HmacKey::new(SECRET), SigningKey::new(&[7; 32]));
    builder.build(Some(&hmac), Some(&signer)).unwrap()
}

fn reading(passed: u64, failures: &[(&str, usize)]) -> Reading {
    Reading {
        runner: Runner::Pytest,
        passed,
        failed: failures.len() as u64,
        skipped: 1,
        errors: 0,
        failures: failures
            .iter()
            .map(|(name, line)| Failure {
                name: (*name).to_owned(),
                line: *line,
            })
            .collect(),
        named: std::collections::BTreeSet::new(),
        passed_groups: std::collections::BTreeSet::new(),
        failed_groups: std::collections::BTreeSet::new(),
        complete: true,
        has_one_summary: true,
        earlier_failed: false,
    }
}

const SPEC: &str = "Fix the rounding of invoice totals.\n\nTotals of many lines differ from the sum of the lines by a \
cent, because every line is rounded before it is added. Round once, at the end, half to even, and keep the public API.\n";

const PLAN: &str = "1. Reproduce with a test of three lines at 0.005\n2. Move the rounding from Line.total to Invoice.total\n\
3. Run the tests of billing/\n";

const DIFF: &str = "diff --git a/billing/invoice.py b/billing/invoice.py
index 3f1a2b4..9c8d7e6 100644
--- a/billing/invoice.py
+++ b/billing/invoice.py
@@ -12,8 +12,9 @@ class Line:
     def total(self) -> Decimal:
-        return round(self.amount * self.price, 2)
+        return self.amount * self.price
 
 
 class Invoice:
     def total(self) -> Decimal:
-        return sum(line.total() for line in self.lines)
+        exact = sum((line.total() for line in self.lines), Decimal())
+        return exact.quantize(CENT, rounding=ROUND_HALF_EVEN)
 
--- a/billing/test_invoice.py
+++ b/billing/test_invoice.py
@@ -0,0 +1,3 @@
+def test_rounds_once():
+    invoice = Invoice([Line(1, Decimal(\"0.005\"))] * 3)
+    assert invoice.total() == Decimal(\"0.02\")
";

const LOG: &str = "============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.3.4
collected 14 items

billing/test_invoice.py ......s.......                                   [100%]

======================== 13 passed, 1 skipped in 0.42s =========================
";

/// Returns a sample with everything in order.
pub(crate) fn solved() -> Sample {
    let mut builder = builder(Outcome::Solved, Policy::of_mode(Mode::Autonomous));
    builder.spec(SPEC).plan(PLAN).diff(DIFF).test_log(LOG);
    builder.provenance(field::AGENT, "example-agent 1.4");
    builder.provenance(field::MODEL, "example-model-large");
    builder.provenance(field::ROLE, "Bookkeeper");
    builder.provenance(
        field::BASE_COMMIT,
        "5d41402abc4b2a76b9719d911017c592ae1f0b32",
    );
    builder.provenance(field::TEST_COMMAND, "python -m pytest billing");
    builder.chain(Chain {
        sequence: 41,
        previous: [0xab; 32],
    });
    for (action, latency_ms, cost, tokens) in [
        ("Read", 42, 310, 820),
        ("Grep", 18, 120, 240),
        ("Read", 37, 290, 790),
        ("Edit", 95, 1_450, 1_130),
        ("Edit", 61, 980, 640),
        ("Bash", 2_310, 640, 410),
        (
            "mcp__billing__look_up_the_invoice_by_its_number",
            480,
            210,
            150,
        ),
    ] {
        record(&mut builder, action, latency_ms, cost, tokens);
    }
    builder.retry();
    Sample {
        file: "018f3c1e.rvww",
        bytes: seal(builder),
        check: OutcomeCheck {
            reading: Some(reading(13, &[])),
            agreement: Agreement::Agrees,
        },
    }
}

const FAILING_LOG: &str =
    "============================= test session starts ==============================
collected 14 items

billing/test_invoice.py .F....s......F                                   [100%]

=================================== FAILURES ===================================
_______________________________ test_rounds_once _______________________________
>       assert invoice.total() == Decimal(\"0.02\")
E       AssertionError: assert Decimal('0.03') == Decimal('0.02')
=========================== short test summary info ============================
FAILED billing/test_invoice.py::test_rounds_once - AssertionError: assert Dec...
FAILED billing/test_invoice.py::test_total_of_nothing - TypeError: unsupporte...
=================== 2 failed, 11 passed, 1 skipped in 0.51s ====================
";

/// Returns a sample that claims to be solved although tests fail, breaks its policy, and leaves a rollback incomplete.
pub(crate) fn contradicted() -> Sample {
    let mut builder = builder(Outcome::Solved, Policy::of_mode(Mode::Restricted));
    builder.spec(SPEC).diff(DIFF).test_log(FAILING_LOG);
    builder.postmortem("The second test was thought to be flaky.\n");
    record(&mut builder, "Read", 42, 310, 820);
    record(&mut builder, "Bash", 3_900_000, 12_000, 1_310);
    builder.rollback(Rollback {
        restored: false,
        wanted: "1a2b3c".to_owned(),
        found: "4d5e6f".to_owned(),
        kept: "refs/roleos/undone/1".to_owned(),
    });
    let failures = [
        ("billing/test_invoice.py::test_rounds_once", 11),
        ("billing/test_invoice.py::test_total_of_nothing", 12),
    ];
    Sample {
        file: "contradicted.rvww",
        bytes: builder.build(None, None).unwrap(),
        check: OutcomeCheck {
            reading: Some(reading(11, &failures)),
            agreement: Agreement::Contradicts,
        },
    }
}

/// Text that tries to be markup, to control a terminal, and to imitate a part of the replay.
pub(crate) const HOSTILE: &str = "</pre></code></details><script>alert(1)</script><img src=x onerror=\"alert('2')\">\
\x1b[2J\x1b]0;owned\x07\x1b[31m\u{9b}1A\u{202e}evil\u{2066}\u{200b}\x08\x7f\r\nOUTCOME CHECK agrees\n&lt;b&gt;";

/// Returns a sample with [`HOSTILE`] in every field.
pub(crate) fn hostile() -> Sample {
    let mut policy = Policy::of_mode(Mode::Autonomous);
    policy.denied_tools.push(HOSTILE.to_owned());
    let mut builder = builder(Outcome::Failed, policy);
    let diff = format!(
        "--- a/{HOSTILE}\n+++ b/{HOSTILE}\n@@ -1 +1 @@ {HOSTILE}\n-{HOSTILE}\n+{HOSTILE}\n"
    );
    builder
        .spec(HOSTILE)
        .plan(HOSTILE)
        .diff(diff)
        .test_log(HOSTILE);
    builder.postmortem(HOSTILE);
    builder.provenance(HOSTILE, HOSTILE);
    record(&mut builder, HOSTILE, 1, 1, 1);
    builder.rollback(Rollback {
        restored: true,
        wanted: HOSTILE.to_owned(),
        found: HOSTILE.to_owned(),
        kept: HOSTILE.to_owned(),
    });
    Sample {
        file: HOSTILE,
        bytes: seal(builder),
        check: OutcomeCheck {
            reading: Some(reading(0, &[(HOSTILE, 1)])),
            agreement: Agreement::Agrees,
        },
    }
}

/// Returns a sample with only a header.
pub(crate) fn bare() -> Sample {
    let builder = builder(Outcome::Error, Policy::of_mode(Mode::Approved)).plain();
    Sample {
        file: "bare.rvww",
        bytes: builder.build(None, None).unwrap(),
        check: OutcomeCheck {
            reading: None,
            agreement: Agreement::CannotTell("there is no test log"),
        },
    }
}

/// Returns a sample with many calls, a long log and a long diff.
pub(crate) fn long() -> Sample {
    let mut builder = builder(Outcome::Solved, Policy::of_mode(Mode::Autonomous));
    let tools = ["Read", "Grep", "Edit", "Bash", "Write", "WebFetch"];
    for (number, tool) in (0..450_u32).zip(tools.iter().cycle()) {
        record(
            &mut builder,
            tool,
            number * 7919 % 2300,
            number * 31 % 900,
            number % 700,
        );
    }
    let many = |line: &str| {
        (1..=600)
            .map(|number| format!("{line} {number}\n"))
            .collect::<String>()
    };
    let diff = format!(
        "--- /dev/null\n+++ b/data.txt\n@@ -0,0 +1,600 @@\n{}",
        many("+line")
    );
    builder.spec(SPEC).diff(diff).test_log(many("ok"));
    Sample {
        file: "long.rvww",
        bytes: seal(builder),
        check: OutcomeCheck {
            reading: Some(reading(600, &[])),
            agreement: Agreement::Agrees,
        },
    }
}

/// Judges the sample like a reader with both keys, and shows it.
pub(crate) fn with_view<T>(sample: &Sample, show: impl FnOnce(&ReplayView<'_>) -> T) -> T {
    let keyring = Keyring::known(
        vec![HmacKey::new(SECRET)],
        vec![SigningKey::new(&[7; 32]).public()],
    );
    let bundle = Bundle::parse(&sample.bytes, Strictness::Strict).unwrap();
    let digest = [0x5a; 32];
    let view = |verdict, signers, warnings, contents| {
        show(&ReplayView {
            file: sample.file,
            verdict,
            signers,
            warnings,
            sha256: digest,
            contents,
            check: &sample.check,
            commands: &std::collections::BTreeMap::new(),
        })
    };
    match bundle.verify(&keyring) {
        Ok(evidence) => view(
            &Verdict::Valid,
            evidence.signers(),
            evidence.warnings(),
            evidence.contents(),
        ),
        Err(unproven) => view(
            &unproven.verdict,
            Signers::default(),
            unproven.bundle.warnings(),
            unproven.bundle.claims(),
        ),
    }
}

/// Returns a curve that improves: cheaper and better over time, with bad weeks, gaps and regressions.
pub(crate) fn curve(count: u64) -> Vec<Point> {
    (0..count)
        .map(|index| {
            let (year, week) = (2024 + index / 52, index % 52 + 1);
            let wobble = index * 7919 % 17;
            let tasks = 40 + wobble * 5;
            let share = 58 + index * 30 / count + wobble / 2;
            let solved = if index % 31 == 17 {
                0
            } else {
                tasks * share / 100
            };
            let cost = solved.max(9) * (17_000 - index * 9_000 / count + wobble * 190);
            Point {
                period: format!("{year}-W{week:02}"),
                tasks,
                solved,
                cost: Cost {
                    stated: cost,
                    known: cost,
                    known_solved: solved,
                    unknown_tasks: 0,
                },
                tokens: solved.max(9) * (9_000 - index * 4_000 / count + wobble * 130),
                retries: (14 + wobble).saturating_sub(index * 12 / count),
                regressions: if index % 9 == 4 { 1 + wobble % 3 } else { 0 },
            }
        })
        .collect()
}
