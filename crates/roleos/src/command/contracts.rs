//! `roleos contracts check`: checks the catalogue of contracts, and that it does not flag calls known to be correct.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base::environment;
use guard::contracts::{Source, try_corpus};
use oversight::verdict::Place;
use present::view::contracts::{Check, Corpus};

use crate::render::clean;
use crate::render::units::counted;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Most problems and calls that are shown to a person. `--json` has them all.
const SHOWN: usize = 50;

/// Words of `contracts`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Find malformed constraints, and good calls that would be flagged.
    Check(Args),
}

/// Words of `contracts check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos contracts check
  roleos contracts check .claude/role-os/tool-contracts.json --corpus calls.jsonl
  roleos contracts check --json

A line of a corpus is a call that is known to be right: {\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}.
Contracts only advise; a malformed constraint switches off itself and nothing else.
Exit code 1 when something is wrong; warnings do not count.")]
pub struct Args {
    /// The contracts [default: `.claude/role-os/tool-contracts.json` of the workspace, else the shipped ones].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Calls that are known to be right, as JSON lines.
    #[arg(long, value_name = "FILE")]
    corpus: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    let Command::Check(args) = command;
    let source = match &args.file {
        Some(path) => Source::read(path)?,
        None => Source::of(&context.workspace)?,
    };
    let contracts = source.contracts();
    let root = context.workspace.root().to_string_lossy();
    let home = environment::home().unwrap_or_else(|| PathBuf::from("/"));
    let place = Place {
        directory: &root,
        home: &home.to_string_lossy(),
    };
    let corpus = args.corpus.as_deref();
    let trial = corpus
        .map(|path| try_corpus(&contracts, path, place))
        .transpose()?;
    let tools = contracts.tools().count();
    let check = Check::of(&source, tools, contracts.problems(), trial);
    if ui.json {
        ui.json(&check)?;
        return Ok(Exit::of_check(check.ok));
    }
    let mut out = ui.out();
    show(&mut out, &check, corpus)?;
    out.flush()?;
    ui.note(format_args!("{DIM}{}{DIM:#}", summary(&check)));
    Ok(Exit::of_check(check.ok))
}

fn show(out: &mut impl Write, check: &Check, corpus: Option<&Path>) -> io::Result<()> {
    for fault in check.problems.iter().take(SHOWN) {
        let style = if fault.weight == "error" { BAD } else { WARN };
        let (path, what) = (clean::line(&fault.path, 200), clean::line(&fault.what, 400));
        let weight = fault.weight;
        writeln!(
            out,
            "{style}{weight}{style:#}: {BOLD}{path}{BOLD:#}: {what}"
        )?;
    }
    more(out, check.problems.len())?;
    if let (Some(trial), Some(path)) = (&check.corpus, corpus) {
        show_flagged(out, trial, path)?;
    }
    if check.ok {
        writeln!(out, "{GOOD}OK{GOOD:#}")?;
    }
    Ok(())
}

fn show_flagged(out: &mut impl Write, trial: &Corpus, path: &Path) -> io::Result<()> {
    let path = clean::line(&path.to_string_lossy(), 200);
    for call in trial.flagged.iter().take(SHOWN) {
        let (line, tool) = (call.line, clean::line(&call.tool, 200));
        for note in &call.notes {
            let text = clean::line(&note.text, 400);
            writeln!(
                out,
                "{BAD}flagged{BAD:#}: {path}:{line}: {BOLD}{tool}{BOLD:#}: {text}"
            )?;
        }
    }
    more(out, trial.flagged.len())
}

fn more(out: &mut impl Write, count: usize) -> io::Result<()> {
    match count.checked_sub(SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(out, "{DIM}and {more} more; `--json` has them all{DIM:#}"),
    }
}

/// Returns one line about the checked file.
fn summary(check: &Check) -> String {
    let file = check.file.as_ref().map_or_else(
        || "the shipped contracts".to_owned(),
        |path| format!("`{}`", clean::line(&path.to_string_lossy(), 200)),
    );
    let tools = counted(check.tools as u64, "tool");
    let mut text = format!("checked {file}: {tools}");
    if let Some(corpus) = &check.corpus {
        let calls = counted(corpus.calls as u64, "call");
        let (flagged, unchecked) = (corpus.flagged.len(), corpus.unchecked);
        text = format!("{text}; {calls}, {flagged} flagged, {unchecked} without a contract");
    }
    text
}
