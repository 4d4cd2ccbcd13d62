//! `roleos migrate`: moves evidence and what routing knows from the files to the database of a team, and back.

use std::sync::Arc;

use base::config::store::Store;
use evidence::archive::people::Act;
use evidence::archive::{Archive, migrate};
use routing::shared::SharedError;
use routing::specialists::moving::MoveError;
use routing::specialists::{Named, Paths, Settings, Specialists};
use serde_json::json;

use crate::person::not_below_an_agent;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `migrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Evidence goes first: bundles, lines of machines, enrolled keys, tokens and the audit log. It is copied, compared by the
root of both ledgers, and can be begun again. Then routing moves into a destination that must be empty of it.
Nothing is overwritten or removed. Stop every `roleos up` that uses either side first.

Examples:
  roleos migrate --from files --to postgres://roleos@db.example/team
  roleos migrate --from postgres://roleos@db.example/team --to files")]
pub struct Args {
    /// `files`, or the URL of a database.
    #[arg(long, value_name = "STORE")]
    from: String,
    /// `files`, or the URL of a database.
    #[arg(long, value_name = "STORE")]
    to: String,
}

/// Moves everything, or nothing that is used.
///
/// # Errors
/// A side cannot be read or written, the destination is in use, or the copy differs.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    not_below_an_agent("migrate")?;
    if (args.from == "files") == (args.to == "files") {
        let message = "one of `--from` and `--to` is `files`, the other a `postgres://` URL";
        return Err(Failure::input("bad_migration", message));
    }
    let who = base::environment::user().unwrap_or_else(|| "(unknown)".to_owned());
    let act = Act::now(
        &who,
        "migrate",
        &format!("to {}", kind(&args.to)),
        "by hand",
    );
    let (source, target) = (archive(context, &args.from)?, archive(context, &args.to)?);
    let copied = migrate::copy(source.as_ref(), target.as_ref(), &act)?;
    let (from, to) = (side(context, &args.from)?, side(context, &args.to)?);
    let moving = from.pack().map_err(failed)?;
    to.unpack(&moving).map_err(failed)?;
    let (lines, roles) = (moving.lines(), moving.state.roles().count());
    if ui.json {
        ui.json(&json!({
            "moved": true,
            "roles": roles,
            "lines": lines,
            "bundles": copied.bundles,
            "machine_lines": copied.lines,
            "machines": copied.machines,
            "tokens": copied.tokens,
            "root": hex::encode(copied.root),
        }))?;
    } else {
        ui.line(format_args!(
            "copied {} bundles, {} lines, {} machines and {} tokens; both ledgers have the root {}",
            copied.bundles,
            copied.lines,
            copied.machines,
            copied.tokens,
            hex::encode(copied.root)
        ))?;
        ui.line(format_args!(
            "moved the registry, the state of {roles} roles and {lines} lines; the copy is the same"
        ))?;
    }
    Ok(Exit::Done)
}

/// Returns the name of a side for the audit log, without the URL's password.
fn kind(name: &str) -> &'static str {
    match name {
        "files" => "files",
        _ => "a database",
    }
}

fn store(context: &Context, name: &str) -> Store {
    let url = match name {
        "files" => String::new(),
        url => url.to_owned(),
    };
    Store {
        url,
        password_env: context.config.store.password_env.clone(),
    }
}

fn bad_store(error: &SharedError) -> Failure {
    Failure::refused("bad_store", error.to_string())
}

fn archive(context: &Context, name: &str) -> Result<Arc<dyn Archive>, Failure> {
    let max_bytes = context.config.witness.max_bundle_bytes();
    let set = store(context, name);
    team::archive(&context.workspace, &set, max_bytes).map_err(|error| bad_store(&error))
}

fn side(context: &Context, name: &str) -> Result<Specialists, Failure> {
    let settings = Settings::load(&context.config, &context.environment)
        .map_err(|error| Failure::input("bad_variable", error.to_string()))?;
    let paths = Paths::find(&context.workspace, &context.environment, &Named::default());
    let set = store(context, name);
    team::attach(Specialists::new(paths, settings), &context.workspace, &set)
        .map_err(|error| bad_store(&error))
}

fn failed(error: MoveError) -> Failure {
    match error {
        MoveError::File(error) => error.into(),
        error => Failure::refused("not_moved", error.to_string()),
    }
}
