//! `roleos catalog export`: roles as the files that coding agents read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::catalog::browse::{self, Wanted};
use ::catalog::catalog::Draft;
use ::catalog::export::{self, Role, Target};
use clap::ValueEnum;
use roles::exports::{self, Written};
use serde_json::{Value, json};

use crate::render::clean;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `catalog export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog export --to claude-agents
  roleos catalog export --to agent-skills --lang ru --out .claude proofreader

claude-agents writes .claude/agents/<slug>.md, agent-skills writes skills/<slug>/SKILL.md. A file that is not ours,
or that was edited since, is left alone unless --overwrite says otherwise.")]
pub struct Args {
    /// Roles [default: all].
    #[arg(value_name = "SLUG")]
    slugs: Vec<String>,
    /// For whom.
    #[arg(long, value_name = "TARGET")]
    to: To,
    /// Language of the texts [default: en, else the first].
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
    /// Folder to write into [default: the workspace].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are not ours, and edits.
    #[arg(long)]
    overwrite: bool,
    /// The catalog's directory [default: `catalog` in the workspace, else the current directory].
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// Subagents of Claude Code.
    ClaudeAgents,
    /// The Agent Skills standard.
    AgentSkills,
}

impl To {
    fn target(self) -> Target {
        match self {
            Self::ClaudeAgents => Target::ClaudeAgents,
            Self::AgentSkills => Target::AgentSkills,
        }
    }
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let directory = super::directory(context, args.from.as_deref())?;
    let draft = super::readable(directory.draft())?;
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
        done.push(one(args, folder, &draft, slug)?);
    }
    if ui.json {
        ui.json(&done.iter().map(Done::json).collect::<Vec<_>>())?;
    } else {
        show(ui, &done)?;
    }
    Ok(Exit::of_check(done.iter().all(Done::is_fine)))
}

/// What became of one role.
struct Done {
    slug: String,
    language: String,
    path: String,
    outcome: Result<Written, String>,
    unused: Vec<&'static str>,
}

impl Done {
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
            "slug": self.slug,
            "language": self.language,
            "file": self.path,
            "state": state,
            "error": self.outcome.as_ref().err(),
            "unused": self.unused,
        })
    }
}

fn one(args: &Args, folder: &Path, draft: &Draft, slug: &str) -> Result<Done, Failure> {
    let wanted = Wanted::Rather(args.lang.as_deref());
    let card = browse::card(draft.claims(), slug, wanted)
        .map_err(|reason| super::show::no_card(slug, &reason))?;
    let role = Role {
        slug,
        language: card.language,
        version: card.version,
        fields: &card.fields,
        has_model: card.role.model_config().is_some(),
    };
    let target = args.to.target();
    let mut done = Done {
        language: card.language.to_owned(),
        path: String::new(),
        outcome: Ok(Written::Kept),
        unused: Vec::new(),
        slug: slug.to_owned(),
    };
    match export::export(target, role) {
        Err(what) => done.outcome = Err(what),
        Ok(exported) => {
            done.outcome = Ok(exports::write(folder, target, &exported, args.overwrite)?);
            done.path = exported.path;
            done.unused = exported.unused;
        }
    }
    Ok(done)
}

fn show(ui: &Ui, done: &[Done]) -> Result<(), Failure> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in done {
        let slug = clean::line(&one.slug, 60);
        let line = match &one.outcome {
            Ok(Written::Written) => format!("{GOOD}wrote{GOOD:#}      {}", one.path),
            Ok(Written::Same) => format!("{DIM}unchanged{DIM:#}  {}", one.path),
            Ok(Written::Kept) => format!(
                "{WARN}kept{WARN:#}       {}  not ours, or edited; see --overwrite",
                one.path
            ),
            Err(what) => format!("{BAD}error{BAD:#}      {slug}  {}", clean::line(what, 200)),
        };
        ui.line(line)?;
        for note in &one.unused {
            notes.entry(note).or_default().push(&one.slug);
        }
    }
    for (note, slugs) in notes {
        let slugs = clean::line(&slugs.join(", "), 200);
        ui.note(format_args!("{DIM}{note}: {slugs}{DIM:#}"));
    }
    Ok(())
}
