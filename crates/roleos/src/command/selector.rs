//! `roleos selector`: the probability of an acceptable answer, learned from the log, and its accuracy on held-out data.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::{Args, Subcommand};
use routing::runs;
use routing::selector::{self, SelectorError};
use selection::selector::book::{LEAST_CONTESTS, Trained};
use selection::selector::evaluation::THRESHOLD;
use selection::selector::{Book, Known};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};

mod calibrate;

/// Words of `selector`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn from the run log whose answers to what are acceptable.
    Train(TrainArgs),
    /// Show what was learned and how good it is.
    Show,
    /// Show what each threshold brings, propose one, and set it.
    Calibrate(calibrate::Args),
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

/// Runs the command.
///
/// # Errors
/// There is nothing to learn from, or the present one is better.
pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Train(args) => train(ui, context, args),
        Command::Show => show(ui, context),
        Command::Calibrate(args) => calibrate::run(ui, context, args),
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
            "no role has {LEAST_CONTESTS} contests that are not held out and tell which answers were acceptable; the log has {}, and {} that do not tell",
            lessons.contests, lessons.without_reference
        );
        return Err(nothing(why));
    }
    let path = selector::path(workspace);
    let size = selector::replace(workspace, &book, &lessons, args.force)?;
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
            let without = json!(lessons.without_reference);
            object.insert("without_reference".to_owned(), without);
            object.insert("feedback".to_owned(), json!(lessons.feedback));
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
    if lessons.without_reference > 0 {
        ui.note(format_args!(
            "{} contests have neither a target nor the general model's answer nor feedback, and teach nothing",
            lessons.without_reference
        ));
    }
    if lessons.feedback > 0 {
        ui.note(format_args!(
            "{} answers are labelled by what users said of them",
            lessons.feedback
        ));
    }
    if lessons.unreadable > 0 {
        ui.note(format_args!(
            "{} lines could not be read or do not follow the one before them; `roleos runs verify` and `roleos feedback --verify` show more",
            lessons.unreadable
        ));
    }
    Ok(Exit::Done)
}

fn nothing(message: String) -> Failure {
    Failure::input("nothing_to_learn", message).hint(
        "`roleos dispatch <role> --learn --target FILE` makes contests and keeps the features of their inputs",
    )
}

fn show(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let path = selector::path(&context.workspace);
    let Some(book) = selector::read(&context.workspace)? else {
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
        let (share, quality) = (found.share(), found.quality());
        let version = |known: &Known| {
            json!({ "version": known.version, "labels": known.labels, "acceptable": known.acceptable })
        };
        let versions: Vec<Value> = trained.selector.versions().iter().map(version).collect();
        json!({
            "role": role, "versions": versions, "trained_on": trained.selector.examples(),
            "familiar_from": trained.selector.familiar_from(), "held_out": found.contests,
            "share": share.value, "share_low": share.low, "share_high": share.high,
            "quality": quality.value, "quality_low": quality.low, "quality_high": quality.high,
            "brier": found.brier, "calibration_error": found.calibration_error,
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
        let (share, quality) = (evaluation.share(), evaluation.quality());
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}: {} versions, learned from {} contests",
            clean::name(role.as_bytes()),
            selector.versions().len(),
            selector.examples()
        )?;
        writeln!(
            out,
            "  held out {}: at threshold {THRESHOLD} specialists answer {:.1} % ({:.1}–{:.1}), acceptably in {:.1} % ({:.1}–{:.1}); calibration error {:.3}",
            evaluation.contests,
            100.0 * share.value,
            100.0 * share.low,
            100.0 * share.high,
            100.0 * quality.value,
            100.0 * quality.low,
            100.0 * quality.high,
            evaluation.calibration_error
        )?;
        for known in selector.versions() {
            writeln!(
                out,
                "  {}: {} of {} answers were acceptable",
                clean::name(known.version.as_bytes()),
                known.acceptable,
                known.labels
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
            SelectorError::Doubted { .. } => Self::refused("selector_doubted", chain(&error))
                .hint("`roleos selector train` makes a new one from the log"),
            SelectorError::BrokenLog(_) => Self::refused("run_log_broken", chain(&error))
                .hint("`roleos runs verify` shows every bad line and what to do; the present selector stays"),
            SelectorError::Worse(_) => Self::refused("worse_selector", chain(&error))
                .hint("the present one stays; `--force` replaces it all the same"),
            _ => Self::refused("selector", chain(&error)),
        }
    }
}
