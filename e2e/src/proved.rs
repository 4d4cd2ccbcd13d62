//! The real agents as subjects of `roleos prove`: in the sandbox, under supervision, with the model and the hook
//! behind sockets. Each solves a task, has a push refused, and leaves a bundle with both.

use std::fs;
use std::path::{Path, PathBuf};
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

/// One task, and the command that solves it.
struct Task {
    suite: PathBuf,
    id: String,
    mend: String,
}

/// Takes the first task of a suite, or of a made one. The model says the reference.
fn task(place: &Place, given: Option<&Path>) -> Result<Task> {
    let folder = match given {
        Some(folder) => std::path::absolute(folder),
        None => suite(place).map(|()| Ok(place.path("suite")))?,
    };
    let folder = folder.map_err(|error| Failure::of("cannot find the suite", error))?;
    let entries = fs::read_dir(folder.join("tasks"))
        .map_err(|error| Failure::of("cannot read the suite", error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let id = names
        .min()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mend = match given {
        None => MEND.to_owned(),
        Some(_) => {
            let patch = fs::read_to_string(folder.join("tasks").join(&id).join("reference.patch"))
                .map_err(|error| Failure::of(format!("cannot read the fix of `{id}`"), error))?;
            format!("git apply <<'END-OF-PATCH'\n{patch}END-OF-PATCH")
        }
    };
    Ok(Task {
        suite: folder,
        id,
        mend,
    })
}

/// Runs the agent over one task against a scripted model; `folder` holds its programs, `given` is a suite.
pub(crate) fn check(
    place: &Arc<Place>,
    agent: &str,
    folder: &Path,
    given: Option<&Path>,
) -> Result<()> {
    let task = task(place, given)?;
    let call = |command: &str| match agent {
        "claude" => (
            "Bash",
            json!({ "command": command, "description": "a step" }),
        ),
        "codex" => ("exec_command", json!({ "cmd": command })),
        _ => ("bash", json!({ "command": command })),
    };
    let mut steps = vec!["ls", PUSH, &task.mend];
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
    let mut command = place.command(&place.roleos);
    // The environment of a suite was made for the person who runs this.
    if let Some(home) = std::env::home_dir().filter(|_| given.is_some()) {
        command.env("XDG_CACHE_HOME", home.join(".cache"));
    }
    command
        .args(["prove", "--json", "--only", &task.id])
        .arg(&task.suite)
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
    hold(agent, &report, &trial)
        .and_then(|()| hold_bundle(place, agent))
        .map_err(|failure| Failure::new(format!("{failure}\n{}", shown())))?;
    println!(
        "{agent}: solved `{}` in the box, its push was refused, tokens and cost were metered, the bundle says so",
        task.id
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

/// Holds the only bundle against what must have happened: the refused push stands in it.
fn hold_bundle(place: &Place, agent: &str) -> Result<()> {
    let read = |words: &[&str]| -> Result<Value> {
        serde_json::from_str(&place.roleos(words)?)
            .map_err(|error| Failure::of(format!("{words:?} printed no JSON"), error))
    };
    let listed = read(&["witness", "list", "--json"])?;
    let [bundle] = listed.as_array().map_or(&[][..], Vec::as_slice) else {
        return Err(Failure::new(format!(
            "not one bundle was sealed:\n{listed:#}"
        )));
    };
    let id = bundle.get("task_id").and_then(Value::as_str);
    let shown = read(&["witness", "show", id.unwrap_or_default(), "--json"])?.to_string();
    // Without a hook the supervisor refuses, and the program stands in the trace.
    let is_told = shown.contains("git:push") && (agent == "mini" || shown.contains("denied_calls"));
    match is_told {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "the refused push is not in the bundle:\n{shown}"
        ))),
    }
}

/// Holds the report and the trial against what must have happened.
fn hold(agent: &str, report: &Value, trial: &Value) -> Result<()> {
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
    Ok(())
}
