//! `roleos migrate`: moves the data of routing from the files to the database of a team, and back.

use base::config::store::Store;
use routing::specialists::moving::MoveError;
use routing::specialists::{Named, Paths, Settings, Specialists};
use serde_json::json;

use crate::person::not_below_an_agent;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Words of `migrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The destination must be empty: nothing is overwritten. What was written is read again and compared.
Stop every `roleos up` that uses either side first.

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
    let (from, to) = (side(context, &args.from)?, side(context, &args.to)?);
    let moving = from.pack().map_err(failed)?;
    to.unpack(&moving).map_err(failed)?;
    let (lines, roles) = (moving.lines(), moving.state.roles().count());
    if ui.json {
        ui.json(&json!({ "moved": true, "roles": roles, "lines": lines }))?;
    } else {
        ui.line(format_args!(
            "moved the registry, the state of {roles} roles and {lines} lines; the copy is the same"
        ))?;
    }
    Ok(Exit::Done)
}

fn side(context: &Context, name: &str) -> Result<Specialists, Failure> {
    let settings = Settings::load(&context.config, &context.environment)
        .map_err(|error| Failure::input("bad_variable", error.to_string()))?;
    let paths = Paths::find(&context.workspace, &context.environment, &Named::default());
    let url = match name {
        "files" => String::new(),
        url => url.to_owned(),
    };
    let set = Store {
        url,
        password_env: context.config.store.password_env.clone(),
    };
    team::attach(Specialists::new(paths, settings), &context.workspace, &set)
        .map_err(|error| Failure::refused("bad_store", error.to_string()))
}

fn failed(error: MoveError) -> Failure {
    match error {
        MoveError::File(error) => error.into(),
        error => Failure::refused("not_moved", error.to_string()),
    }
}
