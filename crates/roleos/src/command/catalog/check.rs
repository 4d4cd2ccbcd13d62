//! `roleos catalog check`: one result for the whole catalog, every problem with its position.

use std::ffi::OsString;
use std::io::{self, Write};

use ::catalog::catalog::{Damaged, Draft, Rigour};
use ::catalog::problem::{Place, Problem};
use ::catalog::yaml::Excerpt;
use present::view;
use roles::catalog::{self, Locate, Outcome, Request};
use unicode_width::UnicodeWidthStr as _;
use upstream::catalog_remote::Gaps;

use super::origin::{self, Origin};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};

/// Most problems that are shown to a person. `--json` has them all.
const SHOWN: usize = 50;

/// Words of `catalog check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos catalog check
  roleos catalog check agents/catalog --strict --json
  roleos catalog check --strict https://roles.example/catalog
  roleos catalog check --update-hashes      after a change: raise the role's version first

The lock is scripts/content-hashes.json. It is refreshed as a whole or not at all, and never while a role changed
without a higher version. A lock that is not JSON is moved to content-hashes.json.damaged by --repair-lock and
written anew; every role then counts as new.")]
pub struct Args {
    /// The catalog: a directory, `builtin` or an http(s) address, which has no lock [default: `catalog` in the
    /// workspace, else the current directory].
    #[arg(value_name = "CATALOG")]
    catalog: Option<OsString>,
    /// Check the catalog at AI_AGENT_ROLES_CATALOG_URL instead, as an installer sees it; it has no lock.
    #[arg(long, conflicts_with_all = ["catalog", "update_hashes", "repair_lock"])]
    remote: bool,
    /// Record the catalog as it is in the lock.
    #[arg(long, visible_alias = "fix")]
    update_hashes: bool,
    /// Like --update-hashes, also when the lock is not JSON.
    #[arg(long)]
    repair_lock: bool,
    /// Also report what the published check lets through.
    #[arg(long)]
    strict: bool,
}

impl Args {
    fn request(&self) -> Request {
        Request {
            rigour: if self.strict {
                Rigour::Strict
            } else {
                Rigour::Published
            },
            refresh: match (self.repair_lock, self.update_hashes) {
                (true, _) => Some(Damaged::Replace),
                (false, true) => Some(Damaged::Refuse),
                (false, false) => None,
            },
        }
    }
}

/// Runs the command.
///
/// # Errors
/// There is no catalog, or the lock cannot be written.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let origin = match &args.catalog {
        _ if args.remote => Origin::configured(context)?,
        Some(name) => Origin::named(name)?,
        None => Origin::Directory(super::directory(context, None)?),
    };
    let directory = match origin {
        Origin::Directory(directory) => directory,
        _ if args.update_hashes || args.repair_lock => {
            let message = "only the lock of a directory can be written";
            return Err(Failure::input("bad_source", message)
                .hint("name the directory that has index.yaml"));
        }
        Origin::Builtin => return without_lock(ui, roles::shipped::draft(), args),
        Origin::Remote(source) => {
            let draft = origin::fetch(ui, context, source, &|_| true, Gaps::Keep)?;
            return without_lock(ui, draft, args);
        }
    };
    let outcome = catalog::check(&directory, args.request())?;
    let mut places = directory.places();
    answer(ui, &outcome, &mut |place| places.locate(place))?;
    if !ui.json {
        if let Some(path) = &outcome.set_aside {
            ui.note(format_args!("the damaged lock is now {}", path.display()));
        }
        if outcome.written.is_some() {
            ui.note(format_args!("wrote {}", directory.lock_path().display()));
        }
    }
    Ok(Exit::of_check(outcome.passed))
}

fn without_lock(ui: &Ui, draft: Draft, args: &Args) -> Result<Exit, Failure> {
    let report = draft.check_unlocked(args.request().rigour);
    let outcome = Outcome {
        draft,
        passed: report.passed,
        problems: report.problems,
        written: None,
        set_aside: None,
    };
    answer(ui, &outcome, &mut |place| {
        outcome.draft.claims().sources().locate(place)
    })?;
    for (file, refusal) in outcome.draft.served() {
        let file = clean::line(&file, 200);
        ui.note(format_args!(
            "{WARN}not usable{WARN:#}: {file} is {}",
            refusal.name()
        ));
    }
    Ok(Exit::of_check(outcome.passed))
}

fn answer(ui: &Ui, outcome: &Outcome, locate: &mut Locate<'_>) -> Result<(), Failure> {
    if ui.json {
        ui.json(&view::catalog::Check::of(outcome, locate))?;
        return Ok(());
    }
    let mut out = ui.out();
    show(&mut out, outcome, locate)?;
    out.flush()?;
    Ok(())
}

fn show(out: &mut impl Write, outcome: &Outcome, locate: &mut Locate<'_>) -> io::Result<()> {
    for warning in outcome.draft.warnings().iter().take(SHOWN) {
        let what = clean::line(&warning.what, 400);
        writeln!(out, "{WARN}warning{WARN:#}: {what}")?;
        place(out, locate, &warning.place)?;
    }
    for problem in outcome.problems.iter().take(SHOWN) {
        show_problem(out, locate, problem)?;
    }
    if let Some(more) = outcome
        .problems
        .len()
        .checked_sub(SHOWN)
        .filter(|more| *more > 0)
    {
        writeln!(out, "{DIM}and {more} more; `--json` has them all{DIM:#}")?;
    }
    if let Some(written) = &outcome.written {
        for (what, slugs) in [
            ("added", &written.added),
            ("updated", &written.updated),
            ("pruned", &written.pruned),
        ] {
            if !slugs.is_empty() {
                writeln!(
                    out,
                    "{BOLD}{what}{BOLD:#} {}",
                    clean::line(&slugs.join(", "), 4000)
                )?;
            }
        }
        if written.added.is_empty() && written.updated.is_empty() && written.pruned.is_empty() {
            writeln!(out, "{DIM}the lock was up to date{DIM:#}")?;
        }
    }
    match (outcome.passed, outcome.problems.len()) {
        (true, _) => writeln!(out, "{GOOD}OK{GOOD:#}"),
        (false, 0) => Ok(()),
        (false, 1) => writeln!(out, "{BAD}1 problem{BAD:#}"),
        (false, count) => writeln!(out, "{BAD}{count} problems{BAD:#}"),
    }
}

fn show_problem(
    out: &mut impl Write,
    locate: &mut Locate<'_>,
    problem: &Problem,
) -> io::Result<()> {
    let what = clean::line(&problem.explain(), 400);
    let class = problem.class.name();
    writeln!(out, "{BAD}{class}{BAD:#}: {what}")?;
    if let Some(at) = &problem.place {
        place(out, locate, at)?;
    }
    if let Some(hint) = problem.hint() {
        writeln!(out, "{DIM}  hint: {hint}{DIM:#}")?;
    }
    writeln!(out)
}

/// Writes `file:line:column`, and below it the line with a caret.
fn place(out: &mut impl Write, locate: &mut Locate<'_>, place: &Place) -> io::Result<()> {
    let file = clean::line(&place.file, 200);
    let Some((position, excerpt)) = locate(place) else {
        return writeln!(out, "  {DIM}-->{DIM:#} {file}");
    };
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let (line, caret) = pointed(&excerpt);
    writeln!(out, "  {DIM}-->{DIM:#} {file}:{number}:{}", position.column)?;
    writeln!(out, "  {DIM}{number} |{DIM:#} {line}")?;
    writeln!(out, "  {DIM}{margin} |{DIM:#} {caret}{BAD}^{BAD:#}")
}

/// Returns the line for display, and the blanks before the caret. Characters of two columns count twice.
fn pointed(excerpt: &Excerpt) -> (String, String) {
    let split = excerpt.text.char_indices().nth(excerpt.before);
    let split = split.map_or(excerpt.text.len(), |(offset, _)| offset);
    let (before, after) = excerpt.text.split_at_checked(split).unwrap_or_default();
    let (before, after) = (before.replace('\t', " "), after.replace('\t', " "));
    let before = clean::name(before.as_bytes());
    let blanks = " ".repeat(before.width());
    (format!("{before}{}", clean::name(after.as_bytes())), blanks)
}
