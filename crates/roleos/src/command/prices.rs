//! `roleos prices`: prices of models, used models without a price, and updates from a list.

use std::path::PathBuf;

use base::files;
use base::prices;
use clap::{Args as Words, Subcommand};
use serde_json::json;

use super::config;
use crate::person::not_below_an_agent;
use crate::render::clean;
use crate::render::units::counted;
use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Longest price list that is read.
const MAX_LIST: u64 = 1024 * 1024;

/// Words of `prices`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List prices, and models that were seen without one.
    #[command(after_help = "Examples:\n  roleos prices list\n  roleos prices list --json")]
    List,
    /// Bring prices of a file into the settings.
    Update(Update),
}

/// Words of `prices update`.
#[derive(Debug, Words)]
#[command(after_help = "\
The file is TOML or JSON: by model or family, US dollars per million tokens.
  [\"claude-opus-*\"]
  input = 5
  output = 25
  cache_read = 0.5
  cache_write = 6.25

The longest beginning of a model's name counts. A price of the file takes the place of the same
model's or family's; all others stay. Bundles that are sealed keep the cost that they state.

Example:
  roleos prices update --file prices.toml")]
pub struct Update {
    /// The price list.
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::List => list(ui, context)?,
        Command::Update(args) => update(ui, context, args)?,
    }
    Ok(Exit::Done)
}

fn list(ui: &Ui, context: &Context) -> Result<(), Failure> {
    let set = &context.config.oversight.prices;
    let unpriced = doctor::prices::unpriced(&context.workspace, &context.config);
    if ui.json {
        ui.json(&json!({ "prices": set, "without_price": unpriced }))?;
        return Ok(());
    }
    for (model, price) in set {
        let dollars = |amount: base::config::oversight::Dollars| {
            json!(amount).to_string().trim_end_matches(".0").to_owned()
        };
        ui.line(format_args!(
            "{:<24} ${} in, ${} out {DIM}per million tokens{DIM:#}",
            clean::line(model, 60),
            dollars(price.input),
            dollars(price.output)
        ))?;
    }
    for model in &unpriced {
        let model = clean::line(model, 60);
        ui.line(format_args!("{model:<24} {WARN}no price{WARN:#}"))?;
    }
    if set.is_empty() && unpriced.is_empty() {
        ui.note("add a price with `roleos prices update --file FILE`: there is none yet");
    }
    Ok(())
}

fn update(ui: &Ui, context: &Context, args: &Update) -> Result<(), Failure> {
    not_below_an_agent("prices update")?;
    let bytes = files::read(&args.file, MAX_LIST)?;
    let list = prices::read_list(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        Failure::input("bad_prices", error.to_string())
            .hint("`roleos prices update --help` shows a list")
    })?;
    let changes = prices::changes(&context.config.oversight.prices, &list);
    if !changes.is_empty() {
        config::apply(ui, context, "prices update", &changes)?;
    }
    let changed = changes.iter().filter(|one| one.value.is_some()).count();
    if ui.json {
        ui.json(&json!({ "prices": list.len(), "changed": changed }))?;
    } else {
        ui.line(format_args!(
            "{GOOD}updated{GOOD:#} {} of {changed} changed",
            counted(list.len() as u64, "price")
        ))?;
        ui.note("they count from the next seal on; sealed bundles keep the cost that they state");
    }
    Ok(())
}
