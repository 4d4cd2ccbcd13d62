//! Claude Code from npm, in print mode, against the scripted model, with the gateway between them.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::between::Between;
use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::place::{self, Place};
use crate::story::{self, Hands, Scene, Story};

/// Returns the story in the shapes of its tools.
fn scenes(place: &Place) -> Vec<Scene> {
    let edit = |file: &str, old: &str, new: &str| {
        let file = place.repository().join(file);
        let input =
            json!({ "file_path": file, "old_string": old, "new_string": new, "replace_all": true });
        ("Edit", input)
    };
    story::scenes(Hands {
        shell: &|command| {
            (
                "Bash",
                json!({ "command": command, "description": "a step" }),
            )
        },
        mend: edit("src/lib.rs", "a - b", "a + b"),
        unhook: edit(".claude/settings.local.json", "onFailure", "onFailures"),
    })
}

/// Runs the story; returns Claude Code's report on the run.
pub(crate) fn run(place: &Arc<Place>, program: &Path) -> Result<Value> {
    let scenes = scenes(place);
    let (script, trouble) = Story::new(place, &scenes);
    let model = Model::start(script)?;
    let gateway = Between::start(place, model.address())?;
    let prompt = "The test fails. Mend it, commit and push.";
    let text = talk(place, program, &gateway.base_url(), prompt)?;
    if let Some(trouble) = trouble.lock().ok().and_then(|mut trouble| trouble.take()) {
        return Err(Failure::new(trouble));
    }
    story::check(&scenes, &model.answers())?;
    println!("{}", gateway.check()?);
    serde_json::from_str(&text).map_err(|error| Failure::of("Claude Code printed no JSON", error))
}

/// Runs one session in print mode against the model at `base_url`; returns its output.
pub(crate) fn talk(place: &Place, program: &Path, base_url: &str, prompt: &str) -> Result<String> {
    place::output(
        place
            .command(program)
            .args(["-p", prompt, "--output-format", "json"])
            .args(["--allowedTools", "Bash", "Edit", "Read", "Write"])
            .env("ANTHROPIC_BASE_URL", base_url)
            .env("ANTHROPIC_API_KEY", "sk-ant-made-up")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1"),
    )
}
