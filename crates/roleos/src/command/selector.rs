//! `roleos selector`: who is likely to win, learned from the log, and how good that is on what was held out.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::{Args, Subcommand};
use host::runs;
use host::selector::{self, SelectorError};
use selection::selector::Book;
use selection::selector::book::{LEAST_CONTESTS, Trained};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};

/// Words of `selector`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn from the run log who is good at what.
    Train(TrainArgs),
    /// Show what was learned and how good it is.
    Show,
}

/// Words of `selector train`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos selector train
  roleos selector train --json
  roleos selector train --force        (also when the present one is better)

One contest in five is held out, by the hash of its input; the same log gives the same selector.")]
pub struct TrainArgs {
    /// Replace the present selector even if it is better or cannot be read.
    #[arg(long)]
    force: bool,
}

/// Does it.
///
/// # Errors
/// There is nothing to learn from, or the present one is better.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Train(args) => train(ui, context, args),
        Command::Show => show(ui, context),
    }
}

fn train(ui: &Ui, context: &Context, args: &TrainArgs) -> Result<Exit, Failure> {
    let workspace = &context.workspace;
    let (log, features) = (runs::path(workspace), selector::features_path(workspace));
    for path in [&log, &features] {
        if !path.exists() {
            return Err(nothing(format!(
                "there is no `{}` to learn from",
                path.display()
            )));
        }
    }
    let lessons = selector::lessons_of(workspace)?;
    let book = Book::train(&lessons.roles);
    if book.roles().is_empty() {
        let why = format!(
            "the log has {} contests with features, and no role has {LEAST_CONTESTS} that are not held out",
            lessons.contests
        );
        return Err(nothing(why));
    }
    let path = selector::path(workspace);
    let size = selector::replace(&path, &book, &lessons, args.force)?;
    let left_out: Vec<(&String, usize)> = lessons
        .roles
        .iter()
        .filter(|(role, _)| book.of(role).is_none())
        .map(|(role, split)| (role, split.training.len()))
        .collect();
    if ui.json {
        let left_out = left_out
            .iter()
            .map(|(role, contests)| json!({ "role": role, "contests": contests }));
        let mut object = described(&path, size as u64, &book);
        if let Some(object) = object.as_object_mut() {
            object.insert("lines".to_owned(), json!(lessons.lines));
            object.insert("contests".to_owned(), json!(lessons.contests));
            object.insert("unreadable".to_owned(), json!(lessons.unreadable));
            object.insert("left_out".to_owned(), left_out.collect());
        }
        ui.json(&object)?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!(
        "{GOOD}trained{GOOD:#} from {} contests ({} lines)",
        lessons.contests, lessons.lines
    ))?;
    table(ui, &path, size as u64, &book)?;
    for (role, contests) in left_out {
        ui.note(format_args!(
            "{WARN}left out{WARN:#}: `{}` has {contests} contests, {LEAST_CONTESTS} are needed",
            clean::name(role.as_bytes())
        ));
    }
    if lessons.unreadable > 0 {
        ui.note(format_args!(
            "{} lines could not be read",
            lessons.unreadable
        ));
    }
    Ok(Exit::Done)
}

fn nothing(message: String) -> Failure {
    Failure::input("nothing_to_learn", message).hint(
        "`roleos dispatch <role> --learn` makes contests and keeps the features of their inputs",
    )
}

fn show(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let path = selector::path(&context.workspace);
    let Some(book) = selector::read(&path)? else {
        let message = format!(
            "no selector was trained here: `{}` is not there",
            path.display()
        );
        return Err(
            Failure::input("no_selector", message).hint("`roleos selector train` makes one")
        );
    };
    let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
    if ui.json {
        ui.json(&described(&path, size, &book))?;
    } else {
        table(ui, &path, size, &book)?;
    }
    Ok(Exit::Done)
}

fn described(path: &Path, size: u64, book: &Book) -> Value {
    let roles = book.roles().iter().map(|(role, trained)| {
        let found = &trained.evaluation;
        let accuracy = found.accuracy();
        json!({
            "role": role, "models": trained.selector.models(), "trained_on": trained.selector.examples(),
            "held_out": found.contests, "accuracy": accuracy.value,
            "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
            "chosen_reward": found.chosen_reward, "best_reward": found.best_reward,
            "calibration_error": found.calibration_error, "confusion": found.confusion,
        })
    });
    json!({ "path": path, "size_bytes": size, "roles": roles.collect::<Vec<_>>() })
}

fn table(ui: &Ui, path: &Path, size: u64, book: &Book) -> Result<(), Failure> {
    let mut out = ui.out();
    for (role, trained) in book.roles() {
        let Trained {
            evaluation,
            selector,
        } = trained;
        let accuracy = evaluation.accuracy();
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}: {} models, learned from {} contests",
            clean::name(role.as_bytes()),
            selector.models().len(),
            selector.examples()
        )?;
        writeln!(
            out,
            "  held out {}: names a best model in {:.1} % ({:.1}–{:.1}), reward {:.3} of {:.3} possible, calibration error {:.3}",
            evaluation.contests,
            100.0 * accuracy.value,
            100.0 * accuracy.low,
            100.0 * accuracy.high,
            evaluation.chosen_reward,
            evaluation.best_reward,
            evaluation.calibration_error
        )?;
        for (best, chosen) in &evaluation.confusion {
            let chosen: Vec<String> = chosen
                .iter()
                .map(|(model, count)| format!("{} {count}", clean::name(model.as_bytes())))
                .collect();
            writeln!(
                out,
                "  where {} was best, it chose {}",
                clean::name(best.as_bytes()),
                chosen.join(", ")
            )?;
        }
    }
    writeln!(out, "{DIM}{} ({size} bytes){DIM:#}", path.display())?;
    out.flush()?;
    Ok(())
}

impl From<SelectorError> for Failure {
    fn from(error: SelectorError) -> Self {
        match error {
            SelectorError::File(error) => error.into(),
            SelectorError::Content { .. } => Self::input("bad_selector", chain(&error))
                .hint("`roleos selector train --force` makes a new one from the log"),
            SelectorError::Worse(_) => Self::refused("worse_selector", chain(&error))
                .hint("the present one stays; `--force` replaces it all the same"),
            _ => Self::refused("selector", chain(&error)),
        }
    }
}
