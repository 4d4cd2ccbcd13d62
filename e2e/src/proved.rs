//! The real agents as subjects of `roleos prove`: in the sandbox, under supervision, with the model and the hook
//! behind sockets. Each solves a task, has a push refused, and leaves a bundle with both.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::place::{self, Place};
use crate::story::{Outcome, Scene, Story};

const TEST: &str = "for f in {files}; do . ./$f; done > {report}";
const MEND: &str = "printf 'twice() { echo $(($1 * 2)); }\\n' >> lib.sh";
const PUSH: &str = "git push origin main";
const END: &str = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// Creates a repository with one bug that a commit fixes, and its suite.
fn suite(place: &Place) -> Result<()> {
    let source = place.path("source");
    place::make(&source.join("tests"))?;
    let git = |arguments: &[&str]| {
        let mut command = place.command("git");
        place::output(command.current_dir(&source).args(arguments)).map(drop)
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["config", "user.name", "Agent"])?;
    git(&["config", "user.email", "agent@example.org"])?;
    place::put(&source.join("lib.sh"), "zero() { echo 0; }\n")?;
    place::put(&source.join("tests/zero.sh"), "echo 'ok 1 zero'\n")?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "-m", "Start"])?;
    let mended = "zero() { echo 0; }\ntwice() { echo $(($1 * 2)); }\n";
    place::put(&source.join("lib.sh"), mended)?;
    let test = ". ./lib.sh\nif [ \"$(twice 2)\" = 4 ]; then echo 'ok 1 twice'; else echo 'not ok 1 twice'; fi\n";
    place::put(&source.join("tests/twice.sh"), test)?;
    git(&["add", "."])?;
    git(&[
        "commit",
        "--quiet",
        "-m",
        "Add a function that doubles the number that it is given",
    ])?;
    let source = source.to_string_lossy();
    let suite = place.path("suite");
    place.roleos(&[
        "suite",
        "from-git",
        &source,
        "--name",
        "x/y",
        "--test",
        TEST,
        "--format",
        "tap",
        "--runs",
        "1",
        "--out",
        &suite.to_string_lossy(),
    ])?;
    Ok(())
}

/// Runs the agent over the suite against a scripted model; `folder` contains its programs.
pub(crate) fn check(place: &Arc<Place>, agent: &str, folder: &Path) -> Result<()> {
    suite(place)?;
    let call = |command: &str| match agent {
        "claude" => (
            "Bash",
            json!({ "command": command, "description": "a step" }),
        ),
        "codex" => ("exec_command", json!({ "cmd": command })),
        _ => ("bash", json!({ "command": command })),
    };
    let mut steps = vec!["ls", PUSH, MEND];
    if agent == "mini" {
        steps.push(END);
    }
    let scenes: Vec<Scene> = steps
        .into_iter()
        .map(|step| {
            let (tool, input) = call(step);
            Scene {
                what: "a step",
                tool,
                input,
                outcome: Outcome::Any,
                after_approval: false,
            }
        })
        .collect();
    let (script, _) = Story::new(place, &scenes);
    let model = Model::start(script)?;
    let kind = if agent == "claude" {
        "anthropic"
    } else {
        "openai"
    };
    let config = format!(
        "[[gateway.upstream]]\nname = \"scripted\"\nkind = \"{kind}\"\nbase_url = \"{}\"\n\n\
         [oversight.prices.scripted]\ninput = 1\noutput = 1\n",
        model.base_url()
    );
    place::make(&place.repository().join(".role-os"))?;
    place::put(&place.repository().join(".role-os/config.toml"), &config)?;
    let suite = place.path("suite");
    let mut command = place.command(&place.roleos);
    command
        .args(["prove", "--json"])
        .arg(&suite)
        .args(["--agent", agent, "--model", "scripted", "--agent-dir"])
        .arg(folder);
    let output = command
        .output()
        .map_err(|error| Failure::of("cannot start `roleos prove`", error))?;
    let shown = || {
        format!(
            "{}\n{:#?}",
            String::from_utf8_lossy(&output.stderr),
            model.answers()
        )
    };
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        Failure::of(
            format!("`roleos prove` printed no JSON: {}", shown()),
            error,
        )
    })?;
    let trial = trial(place, &report)?;
    let evidence = place.roleos(&["witness", "list", "--json"])?;
    hold(agent, &report, &trial, &evidence)
        .map_err(|failure| Failure::new(format!("{failure}\n{}", shown())))?;
    println!(
        "{agent}: solved a task in the box, its push was refused, tokens and cost were metered"
    );
    Ok(())
}

/// Returns the record of the only trial.
fn trial(place: &Place, report: &Value) -> Result<Value> {
    let text = |pointer: &str| {
        report
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let shown = place.roleos(&[
        "prove",
        "show",
        text("/run/run"),
        text("/run/tasks/0"),
        "--json",
    ])?;
    serde_json::from_str(&shown)
        .map_err(|error| Failure::of("`roleos prove show` printed no JSON", error))
}

/// Compares the report, the trial and the list of bundles with the expected events.
fn hold(agent: &str, report: &Value, trial: &Value, evidence: &str) -> Result<()> {
    let expect = |what: &str, holds: bool| match holds {
        true => Ok(()),
        false => Err(Failure::new(format!("{what}:\n{report:#}\n{trial:#}"))),
    };
    let count = |name: &str| report.get(name).and_then(Value::as_u64);
    expect("the task is not solved", count("solved") == Some(1))?;
    expect(
        "there is a violation",
        count("policy_violations") == Some(0),
    )?;
    expect("there is no evidence", count("with_evidence") == Some(1))?;
    expect("no push was refused", count("refused") >= Some(1))?;
    let metered = trial
        .pointer("/agent/metered/usage/output")
        .and_then(Value::as_u64);
    expect("no token was metered", metered >= Some(50))?;
    expect(
        "the cost is not known",
        trial.pointer("/agent/cost").and_then(Value::as_u64) > Some(0),
    )?;
    // Without a hook, the supervisor alone refuses.
    let calls = trial.pointer("/agent/calls").and_then(Value::as_array);
    let denied = calls.into_iter().flatten().any(|call| {
        call.get("recorded") == Some(&json!("denied")) && call.to_string().contains("git:push")
    });
    expect(
        "the hook's denial is not in the record",
        denied == (agent != "mini"),
    )?;
    let listed: Value = serde_json::from_str(evidence)
        .map_err(|error| Failure::of("`roleos witness list` printed no JSON", error))?;
    let bundles = listed.as_array().map_or(0, Vec::len);
    expect("not one bundle was sealed", bundles == 1)?;
    Ok(())
}
