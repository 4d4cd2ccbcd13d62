//! SWE-bench: rows of a dataset (versions 4 and 5, and relatives with the same names), predictions, and reports.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use witness::wire::Outcome;

use crate::grade::Cause;
use crate::suite::Member;
use crate::task::{
    self, BadTask, Canary, Environment, Format, Issue, IssueSource, Limits, Network, Task, Test,
    Tests,
};
use crate::trial::TrialRecord;
use crate::{glob, patch};

/// Format of test lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As strings that contain JSON.
    V4,
    /// As lists.
    V5,
}

/// Fields that are kept for a round trip without a meaning here.
const KEPT: [&str; 7] = [
    "version",
    "environment_setup_commit",
    "difficulty",
    "split",
    "eval_script",
    "log_parser",
    "eval_type",
];

/// Reads a row. The base tree is not in it: the caller fills it in from the repository.
///
/// # Errors
/// A field is missing, or requires something unsupported.
pub fn import(row: &Value, source: &str, command: &str, format: Format) -> Result<Member, BadTask> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let wanted =
        |name: &str| text(name).ok_or_else(|| BadTask::new(format!("the row has no `{name}`")));
    if row
        .get("image_assets")
        .is_some_and(|assets| !is_empty(assets))
    {
        return Err(BadTask::new("`image_assets` are not supported"));
    }
    let test_patch = wanted("test_patch")?.as_bytes().to_vec();
    let paths: Vec<String> = patch::files(&test_patch)
        .map_err(|error| BadTask::new(error.to_string()))?
        .into_iter()
        .map(|file| file.path)
        .collect();
    let reference = text("patch")
        .filter(|patch| !patch.trim().is_empty())
        .map(|patch| patch.as_bytes().to_vec());
    let mut x = toml::Table::new();
    for name in KEPT {
        if let Some(value) = text(name).filter(|value| !value.is_empty()) {
            x.insert(name.to_owned(), value.into());
        }
    }
    let test = Test {
        command: command.to_owned(),
        files: paths
            .iter()
            .filter(|path| crate::mine::screen::is_runnable(path))
            .cloned()
            .collect(),
        format,
        canary: Canary::Auto,
    };
    // Our own export writes them again.
    let ours = evaluation(&test);
    if ours.iter().all(|(name, value)| text(name) == Some(value)) {
        x.retain(|name, _| ours.iter().all(|(own, _)| *own != name));
    }
    let task = Task {
        schema: task::SCHEMA,
        id: wanted("instance_id")?.to_owned(),
        repo: format!("github:{}", wanted("repo")?),
        source: source.to_owned(),
        base_commit: wanted("base_commit")?.to_owned(),
        base_tree: String::new(),
        fix_commit: String::new(),
        created_at: text("created_at").unwrap_or_default().to_owned(),
        language: paths
            .iter()
            .find_map(|path| glob::language(path))
            .unwrap_or_default()
            .to_owned(),
        test_paths: paths.clone(),
        guarded: Vec::new(),
        allow_guarded: Vec::new(),
        issue: Issue {
            source: IssueSource::Issue,
            ..Issue::default()
        },
        environment: Environment {
            image: text("image").unwrap_or_default().to_owned(),
            ..Environment::default()
        },
        test,
        limits: Limits::default(),
        network: Network::default(),
        x,
    };
    task::check_id(&task.id)?;
    Ok(Member {
        task,
        tests: Tests {
            fail_to_pass: tests(row.get("FAIL_TO_PASS"))?,
            pass_to_pass: tests(row.get("PASS_TO_PASS"))?,
            known_failing: tests(row.get("FAIL_TO_FAIL"))?,
            unstable: BTreeSet::new(),
        },
        issue: wanted("problem_statement")?.to_owned(),
        reference,
        test_patch,
        digest: String::new(),
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => matches!(text.trim(), "" | "{}" | "[]" | "null"),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        _ => false,
    }
}

/// Parses a list of names, or a string with a JSON list.
fn tests(value: Option<&Value>) -> Result<BTreeSet<String>, BadTask> {
    let parsed;
    let list = match value {
        None | Some(Value::Null) => return Ok(BTreeSet::new()),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(BTreeSet::new()),
        Some(Value::String(text)) => {
            parsed = serde_json::from_str::<Value>(text)
                .map_err(|error| BadTask::new(format!("a list of tests: {error}")))?;
            &parsed
        }
        Some(value) => value,
    };
    let names = list
        .as_array()
        .ok_or_else(|| BadTask::new("a list of tests is none"))?;
    names
        .iter()
        .map(|name| {
            name.as_str()
                .map(str::to_owned)
                .ok_or_else(|| BadTask::new("the name of a test is no text"))
        })
        .collect()
}

/// Returns SWE-bench's way to run and parse the tests, as fields of a row.
fn evaluation(test: &Test) -> [(&'static str, String); 3] {
    let script = format!(
        "#!/bin/bash\necho '>>>>> Start Test Output'\n{}\necho '>>>>> End Test Output'\n",
        test.command
    );
    let parser = match test.format {
        Format::Junit => "parse_log_pytest",
        Format::Cargo => "parse_log_cargo",
        Format::GotestJson => "parse_log_gotest",
        _ => "parse_log_tap",
    };
    [
        ("eval_script", script),
        ("log_parser", parser.to_owned()),
        ("eval_type", "pass_and_fail".to_owned()),
    ]
}

/// Writes a row, and returns the parts that it cannot contain.
#[must_use]
pub fn export(member: &Member, dialect: Dialect) -> (Value, Vec<String>) {
    let task = &member.task;
    let list = |names: &BTreeSet<String>| match dialect {
        Dialect::V4 => json!(serde_json::to_string(names).unwrap_or_default()),
        Dialect::V5 => json!(names),
    };
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| {
        row.insert(name.to_owned(), value);
    };
    put("instance_id", json!(task.id));
    put(
        "repo",
        json!(task.repo.strip_prefix("github:").unwrap_or(&task.repo)),
    );
    put("base_commit", json!(task.base_commit));
    put(
        "patch",
        json!(String::from_utf8_lossy(
            member.reference.as_deref().unwrap_or_default()
        )),
    );
    put(
        "test_patch",
        json!(String::from_utf8_lossy(&member.test_patch)),
    );
    put("problem_statement", json!(member.issue));
    put("hints_text", json!(""));
    put("created_at", json!(task.created_at));
    put("FAIL_TO_PASS", list(&member.tests.fail_to_pass));
    put("PASS_TO_PASS", list(&member.tests.pass_to_pass));
    for name in KEPT {
        let kept = task.x.get(name).and_then(toml::Value::as_str);
        put(name, json!(kept.unwrap_or_default()));
    }
    if dialect == Dialect::V5 {
        put("image", json!(task.environment.image));
        if !task.x.contains_key("eval_script") {
            for (name, value) in evaluation(&task.test) {
                put(name, json!(value));
            }
        }
    }
    let mut lost = Vec::new();
    if task.environment.image.is_empty() {
        lost.push(format!(
            "{}: not runnable by swebench without an image",
            task.id
        ));
    }
    if !member.tests.unstable.is_empty() || !member.tests.known_failing.is_empty() {
        lost.push(format!(
            "{}: unstable and known failing tests are left out",
            task.id
        ));
    }
    (Value::Object(row), lost)
}

/// Writes a prediction: one line of `predictions.jsonl`.
#[must_use]
pub fn prediction(task: &str, model: &str, diff: &[u8]) -> Value {
    json!({
        "instance_id": task,
        "model_name_or_path": model,
        "model_patch": String::from_utf8_lossy(diff),
    })
}

/// Reads predictions: lines, a list, or a map by id.
#[must_use]
pub fn predictions(text: &str) -> Vec<(String, String)> {
    let one = |value: &Value| {
        let patch = value
            .get("model_patch")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Some((
            value.get("instance_id")?.as_str()?.to_owned(),
            patch.to_owned(),
        ))
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(list)) => list.iter().filter_map(one).collect(),
        Ok(Value::Object(map)) if !map.contains_key("instance_id") => {
            map.values().filter_map(one).collect()
        }
        _ => text
            .lines()
            .filter_map(|line| one(&serde_json::from_str(line).ok()?))
            .collect(),
    }
}

/// A trial for SWE-bench: a task, and a change of it, graded or not.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Result of the trial.
    pub record: &'a TrialRecord,
    /// The kept change.
    pub diff: &'a [u8],
}

impl Submission<'_> {
    /// Returns `true` for an empty change, whose tests are ignored.
    fn is_empty(self) -> bool {
        self.diff.is_empty()
    }

    fn is_graded(self) -> bool {
        !self.is_empty() && self.record.test_runs > 0
    }

    fn is_resolved(self) -> bool {
        self.is_graded() && self.record.outcome() == Outcome::Solved
    }
}

/// Writes the report of one trial, as `report.json` of an instance; there is none without a graded change.
#[must_use]
pub fn instance_report(member: &Member, submission: Submission<'_>) -> Option<Value> {
    let record = submission.record;
    if !submission.is_graded() {
        return None;
    }
    let failing: BTreeSet<&str> = record
        .failing
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    // A forged or broken report proves nothing about any test.
    let is_believed = matches!(record.cause, None | Some(Cause::Tests));
    let sorted = |names: &BTreeSet<String>| {
        let (failure, success): (Vec<&String>, Vec<&String>) = names
            .iter()
            .partition(|name| !is_believed || failing.contains(name.as_str()));
        json!({"success": success, "failure": failure})
    };
    let none = || json!({"success": [], "failure": []});
    Some(json!({
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": submission.is_resolved(),
        "infra_failure": record.outcome() == Outcome::Error,
        "tests_status": {
            "FAIL_TO_PASS": sorted(&member.tests.fail_to_pass),
            "PASS_TO_PASS": sorted(&member.tests.pass_to_pass),
            "FAIL_TO_FAIL": none(),
            "PASS_TO_FAIL": none(),
        },
    }))
}

/// Writes the report of a run, version 2, from the first attempt at each of its tasks.
#[must_use]
pub fn run_report(tasks: &[String], submissions: &[Submission<'_>]) -> Value {
    let ids = |is: &dyn Fn(Submission<'_>) -> bool| -> BTreeSet<&str> {
        let found = submissions.iter().filter(|one| is(**one));
        found.map(|one| one.record.task.as_str()).collect()
    };
    let all = ids(&|_| true);
    let resolved = ids(&|one| one.is_resolved());
    let unresolved = ids(&|one| one.is_graded() && !one.is_resolved());
    let completed = ids(&|one| one.is_graded());
    let empty = ids(&|one| one.is_empty());
    let errors = ids(&|one| !one.is_empty() && !one.is_graded());
    let infra = ids(&|one| one.record.outcome() == Outcome::Error);
    let incomplete: BTreeSet<&str> = tasks
        .iter()
        .map(String::as_str)
        .filter(|task| !all.contains(task))
        .collect();
    let reasons: Map<String, Value> = submissions
        .iter()
        .filter_map(|one| Some((one.record.task.clone(), json!(one.record.cause?.name()))))
        .collect();
    json!({
        "schema_version": 2,
        "total_instances": tasks.len(),
        "submitted_instances": all.len(),
        "completed_instances": completed.len(),
        "resolved_instances": resolved.len(),
        "unresolved_instances": unresolved.len(),
        "infra_failure_instances": infra.len(),
        "ambiguous_failure_instances": 0,
        "empty_patch_instances": empty.len(),
        "error_instances": errors.len(),
        "submitted_ids": all,
        "completed_ids": completed,
        "incomplete_ids": incomplete,
        "resolved_ids": resolved,
        "unresolved_ids": unresolved,
        "infra_failure_ids": infra,
        "ambiguous_failure_ids": [],
        "empty_patch_ids": empty,
        "error_ids": errors,
        "failure_reasons": reasons,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::tests::member;

    fn whole() -> Member {
        let mut member = member("a__b-1", "github:a/b", 1);
        let patch = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n";
        member.test_patch = patch.as_bytes().to_vec();
        member.reference = Some(patch.replace("tests/test_a", "src/a").into_bytes());
        member.tests.pass_to_pass.insert("b".to_owned());
        member
    }

    #[test]
    fn a_row_survives_the_way_out_and_in() {
        for dialect in [Dialect::V4, Dialect::V5] {
            let (row, lost) = export(&whole(), dialect);
            assert_eq!(lost, ["a__b-1: not runnable by swebench without an image"]);
            let task = whole().task;
            let back = |row: &Value| {
                import(row, &task.source, &task.test.command, task.test.format).unwrap()
            };
            let (first, (again, _)) = (back(&row), export(&back(&row), dialect));
            assert_eq!(back(&again), first, "{dialect:?}");
            assert_eq!(again, row);
            assert_eq!(
                (first.tests, first.issue, first.reference, first.test_patch),
                (
                    whole().tests,
                    whole().issue,
                    whole().reference,
                    whole().test_patch
                )
            );
            assert!(first.task.x.is_empty(), "{:?}", first.task.x);
        }
        // A foreign row keeps its fields.
        let (mut row, _) = export(&whole(), Dialect::V5);
        row["version"] = json!("1.2");
        row["eval_script"] = json!("#!/bin/bash\ntox\n");
        let task = whole().task;
        let back =
            |row: &Value| import(row, &task.source, &task.test.command, task.test.format).unwrap();
        assert_eq!(back(&export(&back(&row), Dialect::V5).0), back(&row));
        assert_eq!(export(&back(&row), Dialect::V5).0, row);
    }

    #[test]
    fn rows_that_cannot_be_used_are_refused() {
        let (row, _) = export(&whole(), Dialect::V5);
        for (field, value, why) in [
            ("instance_id", json!("../x"), "not an id"),
            ("instance_id", Value::Null, "no `instance_id`"),
            ("FAIL_TO_PASS", json!("[1]"), "no text"),
            ("FAIL_TO_PASS", json!("x"), "a list of tests"),
            (
                "test_patch",
                json!("diff --git a/../x b/../x\nold mode 1\n"),
                "outside of the tree",
            ),
            ("image_assets", json!({"x": ["y"]}), "image_assets"),
        ] {
            let mut row = row.clone();
            row[field] = value;
            let error = import(&row, "s", "c", Format::Junit)
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{field}: {error}");
        }
    }

    #[test]
    fn predictions_come_in_three_forms() {
        let one = prediction("a", "m", b"p");
        for text in [
            one.to_string(),
            json!([one]).to_string(),
            json!({"a": one}).to_string(),
            format!("{one}\n"),
        ] {
            assert_eq!(
                predictions(&text),
                [("a".to_owned(), "p".to_owned())],
                "{text}"
            );
        }
    }

    #[test]
    fn reports_count_every_instance_once() {
        let member = whole();
        let mut solved = TrialRecord::not_run(&member, 1, Cause::Tests, String::new());
        (solved.outcome, solved.cause, solved.test_runs) = ("solved".to_owned(), None, 1);
        let empty = TrialRecord {
            task: "empty".to_owned(),
            ..TrialRecord::not_run(&member, 1, Cause::EmptyPatch, String::new())
        };
        let one = |record, diff| Submission { record, diff };
        let (solved, empty) = (one(&solved, b"x".as_slice()), one(&empty, b"".as_slice()));
        let tasks = ["a__b-1", "empty", "absent"].map(str::to_owned);
        let report = run_report(&tasks, &[solved, empty]);
        for (name, expected) in [
            ("resolved_ids", "a__b-1"),
            ("empty_patch_ids", "empty"),
            ("incomplete_ids", "absent"),
        ] {
            assert_eq!(report[name], json!([expected]), "{name}");
        }
        assert_eq!(report["failure_reasons"], json!({"empty": "empty_patch"}));
        assert_eq!(instance_report(&member, empty), None);
        let report = instance_report(&member, solved).unwrap();
        assert_eq!(
            report["tests_status"]["FAIL_TO_PASS"]["success"],
            json!(["a"])
        );
        assert_eq!(report["resolved"], json!(true));
    }
}
