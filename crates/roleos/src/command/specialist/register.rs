//! `roleos specialist register`: registers a version from its file.

use std::path::{Path, PathBuf};

use base::digest;
use base::files;
use base::keys::KeyStore;
use routing::events;
use routing::manifests::registering::{self, Entering, How};
use routing::specialists::Specialists;
use selection::event::Event;
use selection::manifest::Mode;
use serde_json::{Value, json};
use specialist::registry::DEFAULT_QUOTA;
use upstream::backend;

use super::super::audit;
use super::Who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::Ui;

/// Largest version file and recipe card.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Required keys of a recipe card.
const RECIPE_KEYS: [&str; 4] = ["base_model", "dataset", "seed", "hyperparameters"];

/// Words of `specialist register`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos specialist register \"Release Note Checker\" version.json --backend-url http://127.0.0.1:8011\n  \
    roleos specialist register summariser model.yaml --backend-url http://127.0.0.1:8011"
)]
pub struct Args {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// A manifest (`model.yaml`) or a version as JSON.
    #[arg(value_name = "FILE")]
    version: PathBuf,
    /// Where the adapter is served; needed for a new role, kept with the version when it differs from its role's.
    #[arg(long, value_name = "URL")]
    backend_url: Option<String>,
    /// Largest share of dispatches, for a new role.
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_QUOTA)]
    workload_quota: f64,
    /// The pin that the backend must echo [default: the manifest's `model_id`].
    #[arg(long, value_name = "ID")]
    adapter_id: Option<String>,
    /// Folder with a manifest's weights, whose hash is compared [default: beside the manifest].
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Also take dots in a manifest's `model_id`.
    #[arg(long)]
    lenient: bool,
    /// Run this audit set on it right away, as `roleos audit run` does.
    #[arg(long, value_name = "SET")]
    audit: Option<PathBuf>,
    /// Take the level that the version's file names, as certified elsewhere by this person or program. It is shown as
    /// claimed until `certify` finds the evidence here; without this the version enters as L0.
    #[arg(long, value_name = "NAME")]
    certified_by: Option<String>,
    /// How the adapter was made.
    #[arg(long, value_name = "CARD.JSON")]
    recipe: Option<PathBuf>,
    #[command(flatten)]
    who: Who,
}

/// Runs the command.
///
/// # Errors
/// The version is invalid, or the registry is or would be.
pub fn run(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Args,
) -> Result<Exit, Failure> {
    let signers = KeyStore::open(&context.workspace)?.public_keys();
    let how = How {
        adapter_id: args.adapter_id.as_deref(),
        artifacts: args.artifacts.as_deref(),
        mode: if args.lenient {
            Mode::Lenient
        } else {
            Mode::Strict
        },
        set: &context.config.selection,
        signers: &signers,
    };
    let Entering {
        mut version,
        warnings,
        ..
    } = registering::read(&args.version, how)?;
    let card = args.recipe.as_deref().map(recipe).transpose()?;
    if let (Some((card, _)), Some(version)) = (&card, version.as_object_mut()) {
        version.insert("recipe_card".to_owned(), card.clone());
    }
    let linked = version.get("recipe_card").cloned();
    let declared = declared(&version);
    let new_role = args
        .backend_url
        .as_deref()
        .map(|url| (url, args.workload_quota));
    // A version that cannot be examined is not registered: a second attempt would find it registered.
    if let Some(set) = &args.audit {
        audit::open_exam(context, specialists, set)?;
    }
    let registered = args.who.act(context, |operator| {
        let certified_by = args.certified_by.as_deref().filter(|name| !name.is_empty());
        specialists.register(&args.role, version, new_role, certified_by, operator)
    })?;
    if let Some(level) = &registered.refused_level {
        ui.note(format_args!(
            "warning: {level} in the version's file is not taken; `--certified-by NAME` says who certified it"
        ));
    }
    tell(ui, context, &args.role, &registered.id, &declared);
    for warning in warnings {
        ui.note(format_args!("warning: {}", clean::name(warning.as_bytes())));
    }
    if let Some(warning) = args.backend_url.as_deref().and_then(backend::warning) {
        ui.note(format_args!("warning: {}", clean::name(warning.as_bytes())));
    }
    let subject = (args.role.as_str(), registered.id.as_str());
    let examine = |set: &PathBuf| audit::newcomer(ui, context, specialists, subject, set);
    let taken = args.audit.as_ref().map(examine).transpose()?;
    let exit = Exit::of_check(taken.as_ref().is_none_or(|taken| taken.record.ok));
    if ui.json {
        let mut object =
            present::view::specialists::registered(&args.role, &registered, linked.as_ref());
        if let (Some(taken), Some(object)) = (&taken, object.as_object_mut()) {
            object.insert("audit".to_owned(), audit::as_json(taken));
        }
        ui.json(&object)?;
        return Ok(exit);
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
    if let Some(taken) = &taken {
        audit::show(ui, taken)?;
    }
    Ok(exit)
}

/// Returns the event data of a new version.
fn declared(version: &Value) -> Value {
    let keys = [
        "model_id",
        "model_version",
        "adapter_id",
        "base_model",
        "manifest_hash",
        "signed_by",
    ];
    let kept = keys
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), version.get(key)?.clone())));
    Value::Object(kept.collect())
}

/// Emits the event; the version stays registered regardless of errors.
fn tell(ui: &Ui, context: &Context, role: &str, id: &str, declared: &Value) {
    let event = Event::ModelAddRequest {
        reason: "registered".to_owned(),
        stats_snapshot: json!({ "role": role, "version": id, "declared": declared }),
    };
    if let Err(error) = events::emit(&events::path(&context.workspace), &[event]) {
        let why = &error.source;
        ui.note(format_args!(
            "warning: the event was not written: {error}: {why}"
        ));
    }
}

/// Returns the card in the version's format, and its missing keys.
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
