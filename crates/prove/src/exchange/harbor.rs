//! Harbor: a task as a folder that its containers run, and the result of a trial.

use serde_json::{Value, json};
use witness::wire::Outcome;

use crate::grading::quoted;
use crate::suite::Member;
use crate::task::Format;
use crate::trial::TrialRecord;

/// Grades the report of a test run in a container, with what a plain image has: Python.
const GRADER: &str = r##"import json, sys, xml.etree.ElementTree as tree
wanted = json.load(open("/tests/tests.json"))
passed, skipped = set(), set()
text = open(sys.argv[2], errors="replace").read() if len(sys.argv) > 2 else ""
if sys.argv[1] == "junit":
    for case in tree.fromstring(text).iter("testcase"):
        name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
        kinds = {child.tag for child in case}
        (skipped if "skipped" in kinds else passed).add(name) if not kinds & {"failure", "error"} else None
elif sys.argv[1] == "tap":
    title, failed = "", set()
    for line in text.splitlines():
        if line.startswith("# "):
            title = line[2:].strip()
        elif line.startswith(("ok ", "not ok ")):
            name = line.split(" ", 2 if line.startswith("ok") else 3)[-1].split(" # ")[0].strip()
            name = (title + " > " if title else "") + name.removeprefix("- ")
            (passed if line.startswith("ok ") else failed).add(name)
    passed -= failed
else:
    binary, failed = "", set()
    for line in text.splitlines():
        if line.strip().startswith("Running "):
            binary = line.strip()[8:].removeprefix("unittests ").split(" (")[0]
        elif line.startswith("test ") and " ... " in line:
            name, end = line[5:].rsplit(" ... ", 1)
            name = binary + "::" + name.removesuffix(" - should panic")
            (passed if end.startswith("ok") else failed).add(name)
    passed -= failed
good = set(wanted["FAIL_TO_PASS"]) <= passed and set(wanted["PASS_TO_PASS"]) <= passed | skipped
open("/logs/verifier/reward.txt", "w").write("1" if good else "0")
"##;

/// Writes the text files of a task folder. The trees `environment/repo.tar` and `tests/tree.tar` are the caller's.
#[must_use]
pub fn export(member: &Member) -> Vec<(&'static str, String)> {
    let task = &member.task;
    let organisation = task.repo.rsplit([':', '/']).nth(1).unwrap_or("roleos");
    let network = match task.network.agent.as_str() {
        "open" => "public",
        _ => "no-network",
    };
    let name = format!("{organisation}/{}", task.id).to_ascii_lowercase();
    let mut table = toml::Table::from_iter([("schema_version".to_owned(), "1.4".into())]);
    let mut put = |section: &str, pairs: Vec<(&str, toml::Value)>| {
        let section_table: toml::Table = pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        table.insert(section.to_owned(), section_table.into());
    };
    let seconds =
        |value: u64| toml::Value::Float(f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
    let number = |value: u64| toml::Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    put("task", vec![("name", name.into())]);
    put(
        "metadata",
        vec![("roleos_task_digest", member.digest.clone().into())],
    );
    put(
        "agent",
        vec![
            ("timeout_sec", seconds(task.limits.agent_seconds)),
            ("network_mode", network.into()),
        ],
    );
    put(
        "verifier",
        vec![
            ("timeout_sec", seconds(task.limits.test_seconds)),
            ("environment_mode", "separate".into()),
        ],
    );
    put(
        "environment",
        vec![
            ("memory_mb", number(task.limits.memory_mb)),
            ("build_timeout_sec", seconds(1800)),
        ],
    );
    let image = if task.environment.image.is_empty() {
        "debian:stable-slim"
    } else {
        &task.environment.image
    };
    let setup = if task.environment.setup.is_empty() {
        "true"
    } else {
        &task.environment.setup
    };
    let files: Vec<String> = task.test.files.iter().map(|file| quoted(file)).collect();
    let command = task
        .test
        .command
        .replace("{files}", &files.join(" "))
        .replace("{report}", "/tmp/report")
        .replace("{repo}", "/app");
    let format = match task.test.format {
        Format::Junit => "junit",
        Format::Tap => "tap",
        _ => "cargo",
    };
    let test = format!(
        "#!/bin/bash\ncd /app\ntar -xf /tests/tree.tar\nmkdir -p /logs/verifier\n{command}\npython3 /tests/grade.py {format} /tmp/report || echo 0 > /logs/verifier/reward.txt\n"
    );
    let mut files = vec![
        ("task.toml", toml::to_string(&table).unwrap_or_default()),
        ("instruction.md", member.issue.clone()),
        (
            "environment/Dockerfile",
            format!(
                "FROM {image}\nWORKDIR /w/env\nRUN {setup}\nCOPY repo.tar /tmp/repo.tar\nRUN mkdir -p /app && tar -xf /tmp/repo.tar -C /app && cd /app && git init -q && git add -A && git -c user.name=roleos -c user.email=roleos@localhost commit -qm base\nWORKDIR /app\n"
            ),
        ),
        ("tests/test.sh", test),
        ("tests/grade.py", GRADER.to_owned()),
        ("tests/tests.json", member.tests.to_text()),
    ];
    if let Some(reference) = &member.reference {
        files.push((
            "solution/solve.sh",
            "#!/bin/bash\ncd /app && git apply /solution/reference.patch\n".to_owned(),
        ));
        files.push((
            "solution/reference.patch",
            String::from_utf8_lossy(reference).into_owned(),
        ));
    }
    files
}

/// Writes a trial as a trajectory (ATIF-v1.7): what was asked, what the agent printed, and what was refused.
#[must_use]
pub fn trajectory(
    record: &TrialRecord,
    id: &str,
    agent: &str,
    issue: &str,
    printed: &str,
) -> Value {
    let at = base::clock::text(record.created_ns);
    let cost = record.agent.cost.map(|cost| f64::from(cost) / 1e6);
    json!({
        "schema_version": "ATIF-v1.7",
        "session_id": id,
        "trajectory_id": id,
        "agent": {"name": agent, "version": "unknown"},
        "steps": [
            {"step_id": 1, "timestamp": at, "source": "user", "message": issue},
            {
                "step_id": 2,
                "timestamp": at,
                "source": "agent",
                "message": printed,
                "metrics": {"completion_tokens": record.agent.tokens, "cost_usd": cost},
                "extra": {"roleos": {"refused": record.agent.refused}},
            },
        ],
        "final_metrics": {"total_completion_tokens": record.agent.tokens, "total_cost_usd": cost, "total_steps": 2},
        "extra": {"roleos": {"suite_task": record.task, "outcome": record.outcome, "task_digest": record.digest}},
    })
}

/// Writes the result of a trial.
#[must_use]
pub fn result(record: &TrialRecord, id: &str, agent: &str, source: &str) -> Value {
    let at = base::clock::text(record.created_ns);
    let reward = f64::from(u8::from(record.outcome() == Outcome::Solved));
    let exception = (record.outcome() == Outcome::Error).then(|| {
        json!({
            "exception_type": record.cause.map_or("", crate::grade::Cause::name),
            "exception_message": record.notes.join("; "),
            "exception_traceback": "",
            "occurred_at": at,
        })
    });
    let time = json!({"started_at": at, "finished_at": at});
    json!({
        "id": id,
        "task_name": record.task,
        "trial_name": format!("{}__{}", record.task, record.attempt),
        "trial_uri": format!("file:///{}", record.task),
        "task_id": {"path": record.task},
        "source": source,
        "task_checksum": record.digest,
        "config": {"task": {"path": record.task}},
        "agent_info": {"name": agent, "version": "unknown", "model_info": null},
        "agent_result": {
            "n_input_tokens": null,
            "n_cache_tokens": null,
            "n_output_tokens": record.agent.tokens,
            "cost_usd": record.agent.cost.map(|cost| f64::from(cost) / 1e6),
        },
        "verifier_result": {"rewards": {"reward": reward}},
        "exception_info": exception,
        "started_at": at,
        "finished_at": at,
        "environment_setup": time,
        "agent_setup": time,
        "agent_execution": time,
        "verifier": time,
    })
}
