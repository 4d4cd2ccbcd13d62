//! `roleos catalog new`: creates a bundle, a role or a language with everything possible filled in.

use std::io::Write as _;
use std::path::PathBuf;

use ::catalog::catalog::Draft;
use ::catalog::skeleton::{self, Change};
use ::catalog::source::INDEX;
use clap::Subcommand;
use roles::authoring;
use roles::catalog::Directory;
use serde_json::{Value, json};

use crate::ui::{BOLD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `catalog new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog new bundle legal --lang en --lang de --role contract-reader --write
  roleos catalog new role editorial indexer
  roleos catalog new language research de --write

Without --write it prints what to put where. With it, files are edited in place, and comments stay.")]
pub struct Args {
    /// What to make.
    #[command(subcommand)]
    what: What,
    /// Write the files instead of printing them.
    #[arg(long, global = true)]
    write: bool,
    /// The catalog's directory [default: `catalog` in the workspace, else the current directory].
    #[arg(long, value_name = "DIR", global = true)]
    from: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A bundle; in a directory without a catalog also the index.
    Bundle {
        /// Its id: a-z, 0-9 and -.
        id: String,
        /// A language of it; may be repeated.
        #[arg(long, value_name = "LANGUAGE", default_value = "en")]
        lang: Vec<String>,
        /// A role of it; may be repeated.
        #[arg(long, value_name = "SLUG", required = true)]
        role: Vec<String>,
    },
    /// A role, in every language of its bundle.
    Role {
        /// The bundle.
        bundle: String,
        /// Its slug: a-z, 0-9 and -.
        slug: String,
    },
    /// A language of a bundle, with all its roles ready to be translated.
    Language {
        /// The bundle.
        bundle: String,
        /// Its code, such as `de` or `pt-br`.
        code: String,
    },
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let directory = directory(context, args)?;
    let changes = changes(&directory, &args.what)?;
    if args.write {
        write(&directory, &changes)?;
    }
    if ui.json {
        let list: Vec<Value> = changes.iter().map(as_json).collect();
        ui.json(&json!({ "written": args.write, "files": list }))?;
        return Ok(Exit::Done);
    }
    if args.write {
        let here = std::env::current_dir().unwrap_or_default();
        for change in &changes {
            let path = directory.root().join(&change.path);
            ui.line(path.strip_prefix(&here).unwrap_or(&path).display())?;
        }
        ui.note("fill in what says TODO, then `roleos catalog check --update-hashes`");
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    for change in &changes {
        writeln!(out, "{BOLD}# {}{BOLD:#}\n{}", change.path, change.part)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns the directory; the first bundle may be created without an existing catalog.
fn directory(context: &Context, args: &Args) -> Result<Directory, Failure> {
    let found = super::directory(context, args.from.as_deref());
    match (found, &args.what) {
        (Err(_), What::Bundle { .. }) if args.from.is_none() => {
            let path = context.workspace.root().join("catalog");
            Ok(match args.write {
                true => Directory::create(&path)?,
                false => Directory::open(context.workspace.root())?,
            })
        }
        (found, _) => found,
    }
}

fn changes(directory: &Directory, what: &What) -> Result<Vec<Change>, Failure> {
    let is_new = !authoring::exists(directory, INDEX);
    let draft = match (is_new, what) {
        (true, What::Bundle { .. }) => None,
        _ => Some(super::readable(directory.draft())?),
    };
    let contents = draft.as_ref().map(Draft::claims);
    let made = match (what, contents) {
        (What::Bundle { id, lang, role }, contents) => skeleton::bundle(contents, id, lang, role),
        (What::Role { bundle, slug }, Some(contents)) => skeleton::role(contents, bundle, slug),
        (What::Language { bundle, code }, Some(contents)) => {
            skeleton::language(contents, bundle, code)
        }
        (_, None) => Ok(Vec::new()),
    };
    made.map_err(super::refused)
}

/// Writes all changes or none, as far as that can be known before: a change without a safe place stops all.
fn write(directory: &Directory, changes: &[Change]) -> Result<(), Failure> {
    let mut whole = Vec::new();
    for change in changes {
        let Some(text) = &change.whole else {
            let what = format!(
                "`{}` is laid out so that nothing can be added safely",
                change.path
            );
            return Err(Failure::input("layout", what)
                .hint("run it without `--write` and put the text there yourself"));
        };
        whole.push((change.path.as_str(), text));
    }
    // The index comes last: until it names them, new files do no harm.
    whole.sort_by_key(|(path, _)| *path == INDEX);
    for (path, text) in whole {
        authoring::write(directory, path, text)?;
    }
    Ok(())
}

fn as_json(change: &Change) -> Value {
    json!({ "path": change.path, "part": change.part, "editable": change.whole.is_some() })
}
