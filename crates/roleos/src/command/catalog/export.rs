//! `roleos catalog export`: writes roles as the files that coding agents read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::catalog::browse::{self, Wanted};
use ::catalog::catalog::Draft;
use ::catalog::export::{self, Exported, Role, TARGETS, Target};
use ::catalog::hints::Hints;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use roles::exports::{self, Written};
use serde_json::{Value, json};

use super::origin::From;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN};

/// Words of `catalog export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog export --to claude-agents
  roleos catalog export --to agent-skills --lang ru --out .claude proofreader

  roleos catalog export --to codex --from builtin code-reviewer

Parts of a role that the target has no field for are reported. A file that is not ours, or that was edited since, is
left alone unless --overwrite says otherwise.")]
pub struct Args {
    /// Roles [default: all].
    #[arg(value_name = "SLUG")]
    slugs: Vec<String>,
    /// For which agent.
    #[arg(long, value_name = "TARGET", value_parser = targets())]
    to: &'static Target,
    /// Language of the texts [default: en, else the first].
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
    /// Folder to write into [default: the workspace].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are not ours, and edits.
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    from: From,
}

/// Parses the name of a target; the table of targets is the list.
fn targets() -> impl TypedValueParser<Value = &'static Target> {
    let names = TARGETS
        .iter()
        .map(|one| PossibleValue::new(one.name).help(one.about));
    PossibleValuesParser::new(names).try_map(|name| {
        let found = TARGETS.iter().find(|one| one.name == name);
        found.ok_or("there is no such target")
    })
}

/// Runs the command.
///
/// # Errors
/// The catalog cannot be read, or a role is unknown.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = args.from.find(context)?;
    let draft = super::readable(origin.draft(ui, context)?)?;
    let folder = args
        .out
        .as_deref()
        .unwrap_or_else(|| context.workspace.root());
    let mut slugs = args.slugs.clone();
    if slugs.is_empty() {
        slugs = draft.roles().iter().map(|role| role.slug.clone()).collect();
    }
    let mut done = Vec::new();
    for slug in &slugs {
        done.extend(role(args, folder, &draft, slug)?);
    }
    for file in export::companions(args.to) {
        done.push(Done::of(args, folder, file, None)?);
    }
    if ui.json {
        ui.json(&done.iter().map(Done::json).collect::<Vec<_>>())?;
    } else {
        show(ui, &done)?;
    }
    Ok(Exit::of_check(done.iter().all(Done::is_fine)))
}

/// Result for one file.
struct Done {
    /// The role and its language; `None` for a file that belongs to all.
    role: Option<(String, String)>,
    path: String,
    outcome: Result<Written, String>,
    lost: Vec<&'static str>,
}

impl Done {
    fn of(
        args: &Args,
        folder: &Path,
        file: Exported,
        role: Option<(String, String)>,
    ) -> Result<Self, Failure> {
        let outcome = Ok(exports::write(folder, &file, args.overwrite)?);
        Ok(Self {
            role,
            path: file.path,
            outcome,
            lost: file.lost,
        })
    }

    fn slug(&self) -> Option<&str> {
        self.role.as_ref().map(|(slug, _)| slug.as_str())
    }

    fn is_fine(&self) -> bool {
        matches!(self.outcome, Ok(Written::Written | Written::Same))
    }

    fn json(&self) -> Value {
        let state = match self.outcome {
            Ok(Written::Written) => "written",
            Ok(Written::Same) => "unchanged",
            Ok(Written::Kept) => "kept",
            Err(_) => "error",
        };
        json!({
            "slug": self.slug(),
            "language": self.role.as_ref().map(|(_, language)| language),
            "file": self.path,
            "state": state,
            "error": self.outcome.as_ref().err(),
            "lost": self.lost,
        })
    }
}

fn role(args: &Args, folder: &Path, draft: &Draft, slug: &str) -> Result<Vec<Done>, Failure> {
    let wanted = Wanted::Rather(args.lang.as_deref());
    let card = browse::card(draft.claims(), slug, wanted)
        .map_err(|reason| super::show::no_card(slug, &reason))?;
    let role = Role {
        slug,
        language: card.language,
        version: card.version,
        fields: &card.fields,
        hints: Hints::of(draft.claims(), &card),
        has_model: card.role.model_config().is_some(),
    };
    let of = || Some((slug.to_owned(), card.language.to_owned()));
    match export::export(args.to, &role) {
        Err(what) => Ok(vec![Done {
            role: of(),
            path: String::new(),
            outcome: Err(what),
            lost: Vec::new(),
        }]),
        Ok(files) => {
            let files = files.into_iter();
            files
                .map(|file| Done::of(args, folder, file, of()))
                .collect()
        }
    }
}

fn show(ui: &Ui, done: &[Done]) -> Result<(), Failure> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in done {
        let slug = one.slug().unwrap_or_default();
        let line = match &one.outcome {
            Ok(Written::Written) => format!("{GOOD}wrote{GOOD:#}      {}", one.path),
            Ok(Written::Same) => format!("{DIM}unchanged{DIM:#}  {}", one.path),
            Ok(Written::Kept) => format!(
                "{WARN}kept{WARN:#}       {}  not ours, or edited; see --overwrite",
                one.path
            ),
            Err(what) => format!(
                "{BAD}error{BAD:#}      {}  {}",
                clean::line(slug, 60),
                clean::line(what, 200)
            ),
        };
        ui.line(line)?;
        for note in &one.lost {
            notes.entry(note).or_default().push(slug);
        }
    }
    for (note, slugs) in notes {
        let slugs = clean::line(&slugs.join(", "), 200);
        ui.note(format_args!("{DIM}{note}: {slugs}{DIM:#}"));
    }
    Ok(())
}
