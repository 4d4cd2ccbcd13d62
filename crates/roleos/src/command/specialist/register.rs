//! `roleos specialist register`: enter a version from its file.

use std::path::{Path, PathBuf};

use host::specialists::Specialists;
use host::{digest, files};
use serde_json::{Value, json};
use server::backend;
use specialist::registry::DEFAULT_QUOTA;

use super::Who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::Ui;

/// Largest version file and recipe card.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// What a recipe card should tell.
const RECIPE_KEYS: [&str; 4] = ["base_model", "dataset", "seed", "hyperparameters"];

/// Words of `specialist register`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roleos specialist register \"Release Note Checker\" version.json --backend-url http://127.0.0.1:8011"
)]
pub struct Args {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version as JSON.
    #[arg(value_name = "VERSION.JSON")]
    version: PathBuf,
    /// Where the adapter is served; needed for a new role.
    #[arg(long, value_name = "URL")]
    backend_url: Option<String>,
    /// Largest share of dispatches, for a new role.
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_QUOTA)]
    workload_quota: f64,
    /// How the adapter was made.
    #[arg(long, value_name = "CARD.JSON")]
    recipe: Option<PathBuf>,
    #[command(flatten)]
    who: Who,
}

/// Does it.
///
/// # Errors
/// The version is wrong, or the registry is or would be.
pub fn run(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Args,
) -> Result<Exit, Failure> {
    let mut version = read(&args.version)?;
    let card = args.recipe.as_deref().map(recipe).transpose()?;
    if let (Some((card, _)), Some(version)) = (&card, version.as_object_mut()) {
        version.insert("recipe_card".to_owned(), card.clone());
    }
    let linked = version.get("recipe_card").cloned();
    let new_role = args
        .backend_url
        .as_deref()
        .map(|url| (url, args.workload_quota));
    let registered = args.who.act(context, |operator| {
        specialists.register(&args.role, version, new_role, operator)
    })?;
    if let Some(warning) = args.backend_url.as_deref().and_then(backend::warning) {
        ui.note(format_args!("warning: {}", clean::name(warning.as_bytes())));
    }
    if ui.json {
        ui.json(&json!({
            "role": args.role, "version": registered.id, "certified_level": registered.level,
            "active_version": registered.active, "recipe_card": linked,
        }))?;
        return Ok(Exit::Done);
    }
    let shown = |text: &str| clean::name(text.as_bytes()).into_owned();
    ui.line(format_args!(
        "registered {}/{} ({}) — active_version unchanged ({}).",
        shown(&args.role),
        shown(&registered.id),
        registered.level,
        registered
            .active
            .as_deref()
            .map_or_else(|| "null".to_owned(), shown),
    ))?;
    match linked {
        None => {
            ui.line("recipe: none recorded; `--recipe card.json` links how the adapter was made")?;
        }
        Some(card) => {
            let text = |key: &str| shown(card.get(key).and_then(Value::as_str).unwrap_or_default());
            ui.line(format_args!(
                "recipe: {} (sha256 {})",
                text("id"),
                text("sha256")
            ))?;
        }
    }
    for gap in card.iter().flat_map(|(_, gaps)| gaps) {
        ui.line(format_args!("recipe gap: {gap}"))?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Value, Failure> {
    let bytes = files::read(path, MAX_FILE)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::input(
            "bad_json",
            format!("cannot read `{}`: it is no JSON: {error}", path.display()),
        )
    })
}

/// The card as the version links it, and what it does not tell.
fn recipe(path: &Path) -> Result<(Value, Vec<&'static str>), Failure> {
    let bytes = files::read(path, MAX_FILE)?;
    let bad = |what: &str| {
        Failure::refused(
            "bad_recipe",
            format!("the recipe card `{}` {what}", path.display()),
        )
        .hint("a card is a JSON object with an `id`")
    };
    let card: Value = serde_json::from_slice(&bytes).map_err(|_| bad("is no JSON"))?;
    let id = card
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| bad("has no `id`"))?;
    let gaps = RECIPE_KEYS
        .into_iter()
        .filter(|key| card.get(key).is_none());
    let linked = json!({ "id": id, "sha256": hex::encode(digest(&bytes)), "path": path.display().to_string() });
    Ok((linked, gaps.collect()))
}
