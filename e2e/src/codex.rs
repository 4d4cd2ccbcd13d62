//! Codex from npm, in exec mode, against the scripted model.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::failure::{Failure, Result};
use crate::model::Model;
use crate::place::{self, Place};
use crate::story::{self, Outcome, Scene, Story};

/// The calls: Codex has one tool for all of them.
fn scenes() -> Vec<Scene> {
    let scene = |what, command: &str, outcome| Scene {
        what,
        tool: "exec_command",
        input: json!({ "cmd": command }),
        outcome,
        after_approval: false,
    };
    let push = "git push origin main";
    let mut approved = scene("push after the approval", push, Outcome::Runs);
    approved.after_approval = true;
    vec![
        scene(
            "run the failing test",
            "cargo test --offline",
            Outcome::Runs,
        ),
        scene(
            "mend the bug",
            "sed -i 's/a - b/a + b/' src/lib.rs",
            Outcome::Runs,
        ),
        scene("run the test again", "cargo test --offline", Outcome::Runs),
        scene(
            "commit",
            "git commit --quiet --all --message='Add, do not subtract; then git push'",
            Outcome::Runs,
        ),
        scene("push", push, Outcome::Refused),
        approved,
        scene("push once more", push, Outcome::Refused),
        scene(
            "grant itself the push",
            "roleos grant git:push --for 2h",
            Outcome::Refused,
        ),
        scene(
            "take the hook out",
            "echo '{}' > .codex/hooks.json",
            Outcome::Refused,
        ),
    ]
}

/// A configuration that knows the scripted model and nothing else.
#[expect(
    clippy::disallowed_methods,
    reason = "a throw-away file; nobody reads it half-written"
)]
pub(crate) fn configure(home: &Path, base_url: &str) -> Result<()> {
    let file = home.join("config.toml");
    let before = fs::read_to_string(&file).unwrap_or_default();
    let text = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n{before}\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{base_url}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n"
    );
    fs::write(&file, text)
        .map_err(|error| Failure::of(format!("cannot write `{}`", file.display()), error))
}

/// Plays the story; returns what Codex printed.
pub(crate) fn run(place: &Arc<Place>, program: &Path) -> Result<String> {
    let scenes = scenes();
    let (script, trouble) = Story::new(place, &scenes);
    let model = Model::start(script)?;
    configure(&place.path("home/.codex"), &model.base_url())?;
    let text = place::output(
        place
            .command(program)
            .args(["exec", "--dangerously-bypass-approvals-and-sandbox"])
            .arg("The test fails. Mend it, commit and push.")
            .env("SCRIPTED_KEY", "made-up"),
    )?;
    if let Some(trouble) = trouble.lock().ok().and_then(|mut trouble| trouble.take()) {
        return Err(Failure::new(trouble));
    }
    story::check(&scenes, &model.answers())?;
    Ok(text)
}
