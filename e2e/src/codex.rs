//! Codex from npm, in exec mode, against the scripted model.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::place::{self, Place};
use crate::story::{self, Hands, Scene, Story};

/// Returns the story with Codex's only tool.
fn scenes() -> Vec<Scene> {
    let shell = |command: &str| ("exec_command", json!({ "cmd": command }));
    story::scenes(Hands {
        shell: &shell,
        mend: shell("sed -i 's/a - b/a + b/' src/lib.rs"),
        unhook: shell("echo '{}' > .codex/hooks.json"),
    })
}

/// Returns Codex's own settings, with a scripted model.
fn settings(base_url: &str) -> String {
    format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{base_url}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n\n"
    )
}

/// Adds to Codex's settings.
fn append(home: &Path, text: &str) -> Result<()> {
    let file = home.join("config.toml");
    let opened = fs::create_dir_all(home).and_then(|()| {
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true).open(&file)
    });
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|error| Failure::of(format!("cannot write `{}`", file.display()), error))
}

/// Trusts the installed hooks as a person does under `/hooks`: Codex itself returns the hash that it would trust,
/// which is written to its settings. `roleos doctor` must detect the difference.
fn trust(place: &Place, program: &Path) -> Result<()> {
    let doctor = || place.command(&place.roleos).arg("doctor").output();
    let told = doctor().map_err(|error| Failure::of("cannot start `roleos doctor`", error))?;
    if told.status.success() {
        return Err(Failure::new(
            "`roleos doctor` is content with hooks that Codex does not trust",
        ));
    }
    let repository = place.repository();
    let mut text = format!(
        "[projects.{}]\ntrust_level = \"trusted\"\n",
        json!(repository)
    );
    append(&place.path("home/.codex"), &text)?;
    text.clear();
    for hook in hooks(place, program)? {
        let _ = write!(
            text,
            "\n[hooks.state.{}]\ntrusted_hash = {}\n",
            hook.get("key").unwrap_or(&Value::Null),
            hook.get("currentHash").unwrap_or(&Value::Null)
        );
    }
    append(&place.path("home/.codex"), &text)?;
    place.roleos(&["doctor"]).map(drop)
}

/// Returns Codex's list of the hooks in the repository.
fn hooks(place: &Place, program: &Path) -> Result<Vec<Value>> {
    let failed = |error: std::io::Error| Failure::of("cannot talk to `codex app-server`", error);
    let mut server = place
        .command(program)
        .arg("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let client = json!({ "name": "e2e", "version": "1" });
    let requests = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [place.repository()] } }),
    ];
    if let Some(input) = &mut server.stdin {
        for request in requests {
            writeln!(input, "{request}").map_err(failed)?;
        }
    }
    let answers = server.stdout.take().map(BufReader::new);
    let answer = answers
        .into_iter()
        .flat_map(|answers| answers.lines().map_while(std::io::Result::ok))
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .find(|answer| answer.get("id") == Some(&json!(2)));
    server.kill().map_err(failed)?;
    server.wait().map_err(failed)?;
    let listed = answer
        .as_ref()
        .and_then(|answer| answer.pointer("/result/data/0/hooks")?.as_array());
    listed
        .cloned()
        .ok_or_else(|| Failure::new(format!("Codex lists no hooks: {answer:?}")))
}

/// Runs the story; returns the output of Codex.
pub(crate) fn run(place: &Arc<Place>, program: &Path) -> Result<String> {
    let scenes = scenes();
    let (script, trouble) = Story::new(place, &scenes);
    let model = Model::start(script)?;
    let prompt = "The test fails. Mend it, commit and push.";
    let text = talk(place, program, &model, prompt)?;
    if let Some(trouble) = trouble.lock().ok().and_then(|mut trouble| trouble.take()) {
        return Err(Failure::new(trouble));
    }
    story::check(&scenes, &model.answers())?;
    Ok(text)
}

/// Runs one session in exec mode against the model, with the hooks trusted; returns its output.
pub(crate) fn talk(place: &Place, program: &Path, model: &Model, prompt: &str) -> Result<String> {
    append(&place.path("home/.codex"), &settings(&model.base_url()))?;
    trust(place, program)?;
    place::output(
        place
            .command(program)
            .args(["exec", "--dangerously-bypass-approvals-and-sandbox"])
            .arg(prompt)
            .env("SCRIPTED_KEY", "made-up"),
    )
}
