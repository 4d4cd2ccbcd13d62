//! Harbor: a task as a folder that its containers run, and the result of a trial.

use serde_json::{Value, json};
use witness::wire::Outcome;

use crate::boxes::{self, ENV, REPO};
use crate::grade::Cause;
use crate::grading;
use crate::patch;
use crate::suite::Member;
use crate::task::{BadTask, Format, Task, Tests};
use crate::trial::TrialRecord;

/// Grades the report of a test run in a container, with Python, which a plain image has.
const GRADER: &str = r##"import json, sys, xml.etree.ElementTree as tree
wanted = json.load(open("/tests/tests.json"))
passed, skipped = set(), set()
text = "" if sys.argv[1] == "exit" else open(sys.argv[2], errors="replace").read()
if sys.argv[1] == "junit":
    for case in tree.fromstring(text).iter("testcase"):
        name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
        kinds = {child.tag for child in case}
        (skipped if "skipped" in kinds else passed).add(name) if not kinds & {"failure", "error"} else None
elif sys.argv[1] == "exit":
    passed = {"exit"} if sys.argv[3] == "0" else set()
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

/// Files of an exported folder that an import reads.
const ISSUE: &str = "instruction.md";
const TESTS: &str = "tests/tests.json";
const TEST_PATCH: &str = "tests/test.patch";
const REFERENCE: &str = "solution/reference.patch";
/// The key below `[metadata]` with the task in the format of a suite.
const OURS: &str = "roleos_task";

/// A file of a task folder, by its path.
pub type Written = (&'static str, Vec<u8>);

/// Writes the files of a task folder. The trees `environment/repo.tar` and `tests/tree.tar` are the caller's.
///
/// # Errors
/// The grader of the folder does not support the format of the report.
pub fn export(member: &Member) -> Result<Vec<Written>, BadTask> {
    let task = &member.task;
    let format = match task.test.format {
        Format::Junit => "junit",
        Format::Tap => "tap",
        Format::Cargo => "cargo",
        Format::Exit => "exit",
        other => {
            return Err(BadTask::new(format!(
                "the grader of a folder does not read {other:?}"
            )));
        }
    };
    let mut files = vec![
        ("task.toml", configuration(member)?.into_bytes()),
        (ISSUE, member.issue.clone().into_bytes()),
        ("environment/Dockerfile", dockerfile(task).into_bytes()),
        ("tests/test.sh", test_script(member, format)?.into_bytes()),
        ("tests/grade.py", GRADER.as_bytes().to_vec()),
        (TESTS, member.tests.to_text().into_bytes()),
        (TEST_PATCH, member.test_patch.clone()),
    ];
    if let Some(reference) = &member.reference {
        let script = format!("#!/bin/bash\ncd {REPO} && git apply /{REFERENCE}\n");
        files.push(("solution/solve.sh", script.into_bytes()));
        files.push((REFERENCE, reference.clone()));
    }
    Ok(files)
}

fn configuration(member: &Member) -> Result<String, BadTask> {
    let task = &member.task;
    let organisation = task.repo.rsplit([':', '/']).nth(1).unwrap_or("roleos");
    let network = match task.network.agent.as_str() {
        "open" => "public",
        _ => "no-network",
    };
    let seconds = |value: u64| f64::from(u32::try_from(value).unwrap_or(u32::MAX));
    let ours = toml::Table::try_from(task).map_err(|error| BadTask::new(error.to_string()))?;
    let mut table = toml::toml! {
        schema_version = "1.4"
        [task]
        [metadata]
        [agent]
        [verifier]
        environment_mode = "separate"
        [environment]
        build_timeout_sec = 1800.0
    };
    let mut put = |section: &str, name: &str, value: toml::Value| {
        if let Some(section) = table.get_mut(section).and_then(toml::Value::as_table_mut) {
            section.insert(name.to_owned(), value);
        }
    };
    let name = format!("{organisation}/{}", task.id).to_ascii_lowercase();
    put("task", "name", name.into());
    put(
        "metadata",
        "roleos_task_digest",
        member.digest.clone().into(),
    );
    put("metadata", OURS, ours.into());
    put(
        "agent",
        "timeout_sec",
        seconds(task.limits.agent_seconds).into(),
    );
    put("agent", "network_mode", network.into());
    put(
        "verifier",
        "timeout_sec",
        seconds(task.limits.test_seconds).into(),
    );
    let memory = i64::try_from(task.limits.memory_mb).unwrap_or(i64::MAX);
    put("environment", "memory_mb", memory.into());
    put("environment", "workdir", REPO.into());
    toml::to_string(&table).map_err(|error| BadTask::new(error.to_string()))
}

/// Returns the image of a task: its tree at the path of our boxes, with the same variables.
fn dockerfile(task: &Task) -> String {
    let image = match &*task.environment.image {
        "" => "debian:stable",
        image => image,
    };
    let setup = match &*task.environment.setup {
        "" => "true",
        setup => setup,
    };
    let variables: String = boxes::CONSTANT
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!(
        "FROM {image}\n\
         RUN mkdir -p {REPO} {ENV} /w/home /w/cache\n\
         WORKDIR {ENV}\n\
         RUN {setup}\n\
         COPY repo.tar /tmp/repo.tar\n\
         RUN tar -xf /tmp/repo.tar -C {REPO} && rm /tmp/repo.tar && cd {REPO} && git init -q && git add -A \
         && git -c user.name=roleos -c user.email=roleos@localhost commit -qm base\n\
         ENV{variables} CARGO_HOME={ENV}/cargo CARGO_TARGET_DIR=/w/cache \
         PATH={ENV}/venv/bin:{ENV}/node_modules/.bin:{ENV}/bin:$PATH\n\
         WORKDIR {REPO}\n"
    )
}

/// Returns the script that installs the tests, runs and grades them. Without a report there is no reward.
fn test_script(member: &Member, format: &str) -> Result<String, BadTask> {
    let test = &member.task.test;
    let command = grading::expand(&test.command, test.format, &test.files, "/tmp/report");
    let patched =
        patch::files(&member.test_patch).map_err(|error| BadTask::new(error.to_string()))?;
    let touched: String = patched
        .iter()
        .map(|file| format!(" {}", grading::quoted(&file.path)))
        .collect();
    Ok(format!(
        "#!/bin/bash\n\
         mkdir -p /logs/verifier\n\
         echo 0 > /logs/verifier/reward.txt\n\
         cd {REPO} || exit 1\n\
         [ ! -d {ENV}/node_modules ] || ln -sfn {ENV}/node_modules node_modules\n\
         rm -rf --{touched}\n\
         tar -xf /tests/tree.tar\n\
         rm -f /tmp/report\n\
         ({command})\n\
         python3 /tests/grade.py {format} /tmp/report $?\n"
    ))
}

/// Reads a task from an exported folder. `read` returns a file of it.
///
/// # Errors
/// The folder is not an export, or a part of it is malformed.
pub fn import(read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Member, BadTask> {
    let text = |name: &str| -> Result<String, BadTask> {
        let bytes = read(name).ok_or_else(|| BadTask::new(format!("there is no `{name}`")))?;
        String::from_utf8(bytes).map_err(|_| BadTask::new(format!("`{name}` is not UTF-8")))
    };
    let table: toml::Table = toml::from_str(&text("task.toml")?)
        .map_err(|error| BadTask::new(format!("task.toml: {}", error.message())))?;
    if table.contains_key("steps") {
        return Err(BadTask::new("a task of several steps is not supported"));
    }
    let ours = table.get("metadata").and_then(|data| data.get(OURS));
    let ours = ours.ok_or_else(|| {
        BadTask::new("needs a container: only folders that `suite export` wrote run without one")
    })?;
    let task = toml::to_string(ours).map_err(|error| BadTask::new(error.to_string()))?;
    let member = Member {
        task: Task::parse(&task)?,
        tests: Tests::parse(&text(TESTS)?)?,
        issue: text(ISSUE)?,
        reference: read(REFERENCE),
        test_patch: read(TEST_PATCH).unwrap_or_default(),
        digest: String::new(),
    };
    member.check()?;
    Ok(member.with_digest())
}

/// A trial for an export: the record, its name in all formats, and the agent.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Its result.
    pub record: &'a TrialRecord,
    /// Id of its bundle.
    pub id: &'a str,
    pub agent: &'a str,
    /// The model; empty if unknown.
    pub model: &'a str,
}

/// Writes a trial as a trajectory (ATIF-v1.7): the issue, the tool calls with their verdicts, the agent's output.
#[must_use]
pub fn trajectory(trial: Trial<'_>, issue: &str, printed: &str) -> Value {
    let (record, agent) = (trial.record, &trial.record.agent);
    let at = base::clock::text(record.created_ns);
    let cost = agent.cost.map(|cost| f64::from(cost) / 1e6);
    let usage = agent.metered.as_ref().map(|metered| metered.usage);
    let cached = usage.map(|usage| usage.cache_read);
    let prompt = usage
        .map(|usage| usage.input + usage.cache_read + usage.cache_write + usage.cache_write_hour);
    let completion = usage.map_or(agent.tokens.map(u64::from), |usage| Some(usage.output));
    let mut steps = vec![json!({"timestamp": at, "source": "user", "message": issue})];
    for (number, call) in agent.calls.iter().enumerate() {
        // Journals store redacted and cut arguments, which may be invalid JSON.
        let arguments = match serde_json::from_str::<Value>(&call.input) {
            Ok(Value::Object(map)) => Value::Object(map),
            _ => json!({"text": call.input}),
        };
        let id = if call.id.is_empty() {
            format!("call-{number}")
        } else {
            call.id.clone()
        };
        steps.push(json!({
            "timestamp": at,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": id, "function_name": call.tool, "arguments": arguments}],
            "extra": {"roleos": {
                "verdict": call.recorded,
                "actions": call.actions,
                "args_sha256": call.input_sha256,
                "result_sha256": call.result_sha256,
                "violations": call.violations,
            }},
        }));
    }
    steps.push(json!({
        "timestamp": at,
        "source": "agent",
        "message": printed,
        "extra": {"roleos": {"refused": agent.refused}},
    }));
    for (number, step) in steps.iter_mut().enumerate() {
        if let Some(step) = step.as_object_mut() {
            step.insert("step_id".to_owned(), json!(number + 1));
        }
    }
    json!({
        "schema_version": "ATIF-v1.7",
        "session_id": trial.id,
        "trajectory_id": trial.id,
        "agent": {"name": trial.agent, "version": "unknown", "model_name": model(trial)},
        "final_metrics": {
            "total_prompt_tokens": prompt,
            "total_completion_tokens": completion,
            "total_cached_tokens": cached,
            "total_cost_usd": cost,
            "total_steps": steps.len(),
        },
        "steps": steps,
        "extra": {"roleos": {
            "suite_task": record.task,
            "task_digest": record.digest,
            "attempt": record.attempt,
            "outcome": record.outcome,
            "cause": record.cause.map(Cause::name),
        }},
    })
}

fn model(trial: Trial<'_>) -> Option<&str> {
    Some(trial.model).filter(|model| !model.is_empty())
}

/// Writes the result of a trial.
#[must_use]
pub fn result(trial: Trial<'_>, source: &str) -> Value {
    let (record, agent) = (trial.record, &trial.record.agent);
    let at = base::clock::text(record.created_ns);
    let spent = agent.took_ms + record.test_ms + record.overhead_ms;
    let began = base::clock::text(
        record
            .created_ns
            .saturating_sub(spent.saturating_mul(1_000_000)),
    );
    let reward = f64::from(u8::from(record.outcome() == Outcome::Solved));
    let exception = (record.outcome() == Outcome::Error).then(|| {
        json!({
            "exception_type": record.cause.map_or("", Cause::name),
            "exception_message": record.notes.join("; "),
            "exception_traceback": "",
            "occurred_at": at,
        })
    });
    let usage = agent.metered.as_ref().map(|metered| metered.usage);
    let input = usage
        .map(|usage| usage.input + usage.cache_read + usage.cache_write + usage.cache_write_hour);
    json!({
        "id": trial.id,
        "task_name": record.task,
        "trial_name": format!("{}__{}", record.task, record.attempt),
        "trial_uri": format!("file:///{}", record.task),
        "task_id": {"path": record.task},
        "source": source,
        "task_checksum": record.digest,
        "config": {"task": {"path": record.task}},
        "agent_info": {
            "name": trial.agent,
            "version": "unknown",
            "model_info": model(trial).map(|name| json!({"name": name})),
        },
        "agent_result": {
            "n_input_tokens": input,
            "n_cache_tokens": usage.map(|usage| usage.cache_read),
            "n_output_tokens": usage.map_or(agent.tokens.map(u64::from), |usage| Some(usage.output)),
            "cost_usd": agent.cost.map(|cost| f64::from(cost) / 1e6),
        },
        "verifier_result": {"rewards": {"reward": reward}},
        "exception_info": exception,
        "started_at": began,
        "finished_at": at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::tests::member;

    #[test]
    fn a_folder_survives_the_way_out_and_in() {
        let mut whole = member("a__b-1", "github:a/b", 1);
        let path = whole.task.test_paths.first().unwrap().replace("**", "t.sh");
        let patch = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\r\n"
        );
        whole.test_patch = patch.into_bytes();
        whole.reference = Some(b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n".to_vec());
        let whole = whole.with_digest();
        let files = export(&whole).unwrap();
        let read = |name: &str| {
            let found = files.iter().find(|(path, _)| *path == name);
            found.map(|(_, bytes)| bytes.clone())
        };
        assert_eq!(import(&read).unwrap(), whole);
        let foreign = |name: &str| match name {
            "task.toml" => Some(b"schema_version = \"1.4\"\n".to_vec()),
            name => read(name),
        };
        let error = import(&foreign).unwrap_err().to_string();
        assert!(error.contains("needs a container"), "{error}");
    }
}
