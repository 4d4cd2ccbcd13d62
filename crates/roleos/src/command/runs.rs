//! `roleos runs`: results of every candidate: statistics, export, and verification.

use std::io::Write as _;
use std::path::PathBuf;

use base::files::{self, Privacy};
use clap::{Args, Subcommand, ValueEnum};
use routing::dataset;
use routing::feedback;
use routing::runs::{self, Stats};
use selection::growth::{DOMINANT, TOO_DOMINANT};
use selection::run_log::Record;
use serde_json::{Value, json};

use crate::render::clean;
use crate::render::columns::{Side, fit};
use crate::render::runs_svg;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Most bad lines that are shown to a person. `--json` has them all.
const SHOWN: usize = 20;

/// Words of `runs`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compute every reward, winner and link again.
    Verify(FileArgs),
    /// The last runs, one line a candidate.
    List(ListArgs),
    /// Pass rate, win rate, reward and cost of each model.
    Stats(StatsArgs),
    /// Write the log in another shape, one line each.
    Export(ExportArgs),
}

/// Which log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos runs verify
  roleos runs stats --json
  roleos runs verify shared/run_log.jsonl")]
pub struct FileArgs {
    /// The log [default: `.role-os/run_log.jsonl`].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Words of `runs list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  roleos runs list\n  roleos runs list --role summariser --limit 100 --json"
)]
pub struct ListArgs {
    #[command(flatten)]
    log: FileArgs,
    /// How many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Only this model.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

/// Words of `runs stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  roleos runs stats\n  roleos runs stats --svg runs.svg")]
pub struct StatsArgs {
    #[command(flatten)]
    log: FileArgs,
    /// Write a picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Words of `runs export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  roleos runs export --shape schema > run_log.jsonl\n  roleos runs export --dataset --role summariser > train.jsonl"
)]
pub struct ExportArgs {
    #[command(flatten)]
    log: FileArgs,
    /// In which shape.
    #[arg(long, value_name = "SHAPE", default_value = "schema")]
    shape: Shape,
    /// Inputs with the outputs that won, to train models on; needs `[privacy] keep_inputs`.
    #[arg(long, conflicts_with = "shape")]
    dataset: bool,
    /// Only this role, with `--dataset`.
    #[arg(long, value_name = "ROLE", requires = "dataset")]
    role: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// That of the published schema: `proxy_values`, metric `v1`.
    Schema,
    /// As it is kept here.
    Own,
}

impl FileArgs {
    fn path(&self, context: &Context) -> PathBuf {
        self.file
            .clone()
            .unwrap_or_else(|| runs::path(&context.workspace))
    }
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    let log = match command {
        Command::Verify(log) => Some(log),
        Command::List(args) => Some(&args.log),
        Command::Stats(args) => Some(&args.log),
        Command::Export(_) => None,
    };
    if log.is_some_and(|log| log.file.is_none() && !log.path(context).exists()) {
        return Err(Failure::input("no_runs", "no run was logged here yet")
            .hint("`roleos dispatch ROLE --learn --input FILE` logs the first contest"));
    }
    match command {
        Command::Verify(args) => verify(ui, context, args),
        Command::List(args) => list(ui, context, args),
        Command::Stats(args) => stats(ui, context, args),
        Command::Export(args) => export(ui, context, args),
    }
}

fn verify(ui: &Ui, context: &Context, args: &FileArgs) -> Result<Exit, Failure> {
    let metrics = runs::metrics(&context.workspace)?;
    let path = args.path(context);
    let seals = match path == runs::path(&context.workspace) {
        true => base::seals::Seals::of(&context.workspace),
        // A log from elsewhere is not sealed for this workspace.
        false => base::seals::Seals::default(),
    };
    let (lines, bad) = runs::verify(&seals, &path, metrics)?;
    let ok = bad.is_empty();
    if ui.json {
        let listed = bad
            .iter()
            .map(|bad| json!({ "line": bad.line, "reason": bad.reason }));
        ui.json(&json!({ "lines": lines, "ok": ok, "bad": listed.collect::<Vec<_>>() }))?;
        return Ok(Exit::of_check(ok));
    }
    for bad in bad.iter().take(SHOWN) {
        let reason = clean::name(bad.reason.as_bytes());
        ui.line(format_args!("{BAD}line {}{BAD:#}: {reason}", bad.line))?;
    }
    if bad.len() > SHOWN {
        ui.line(format_args!(
            "… and {} more; `--json` has them all",
            bad.len() - SHOWN
        ))?;
    }
    if ok {
        ui.line(format_args!(
            "{GOOD}OK{GOOD:#} {lines} lines: every reward, winner and link holds"
        ))?;
    } else {
        ui.note(format_args!(
            "{DIM}it counts for no certificate and teaches nothing; the newest copy of `{path}`, put back, counts again; without one, rename it (`roleos runs stats FILE` still reads it), and the next contest begins a new one{DIM:#}",
            path = path.display()
        ));
    }
    Ok(Exit::of_check(ok))
}

fn list(ui: &Ui, context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let wanted = |record: &Record| {
        let role = args.role.as_ref();
        let model = args.model.as_ref();
        role.is_none_or(|role| record.more.role.as_ref() == Some(role))
            && model.is_none_or(|model| record.model_id == *model)
    };
    let records = runs::last(&args.log.path(context), args.limit, wanted)?;
    if ui.json {
        ui.json(&json!({ "runs": records }))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{BOLD}{}{}{}{}{}{}{BOLD:#}",
        fit("time", 22, Side::Left),
        fit("role", 22, Side::Left),
        fit("model", 26, Side::Left),
        fit("verifier", 10, Side::Left),
        fit("reward", 10, Side::Right),
        fit("ms", 8, Side::Right),
    )?;
    for record in &records {
        let shown = |text: &str| clean::name(text.as_bytes()).into_owned();
        let style = if record.passed() { GOOD } else { BAD };
        let time = record.more.time_ms.map(|time| time.to_string());
        writeln!(
            out,
            "{}{}{}{style}{}{style:#}{}{}{}",
            fit(
                &shown(record.timestamp.get(..19).unwrap_or_default()),
                22,
                Side::Left
            ),
            fit(
                &shown(record.more.role.as_deref().unwrap_or("–")),
                22,
                Side::Left
            ),
            fit(&shown(&record.model_id), 26, Side::Left),
            fit(&shown(&record.verifier_result), 10, Side::Left),
            fit(&format!("{:.3}", record.reward), 10, Side::Right),
            fit(time.as_deref().unwrap_or("–"), 8, Side::Right),
            if record.won() { "  won" } else { "" },
        )?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn stats(ui: &Ui, context: &Context, args: &StatsArgs) -> Result<Exit, Failure> {
    let stats = runs::stats(&args.log.path(context))?;
    if let Some(path) = &args.svg {
        let picture = runs_svg::svg(&stats, dominance(stats.winners().1));
        files::write(path, picture.as_bytes(), Privacy::Shared)?;
        ui.note(format_args!("wrote {}", path.display()));
    }
    if ui.json {
        ui.json(&as_json(&stats))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    let head = [
        "runs",
        "pass",
        "95 % interval",
        "win",
        "reward",
        "cost",
        "refused",
    ];
    write!(
        out,
        "{BOLD}{}{}",
        fit("role", 22, Side::Left),
        fit("model", 26, Side::Left)
    )?;
    for name in head {
        write!(out, "{}", fit(name, 14, Side::Right))?;
    }
    writeln!(out, "{BOLD:#}")?;
    for ((role, model), tally) in &stats.models {
        let pass = tally.pass_rate();
        write!(
            out,
            "{}{}",
            fit(&clean::name(role.as_bytes()), 22, Side::Left),
            fit(&clean::name(model.as_bytes()), 26, Side::Left)
        )?;
        let cells = [
            tally.runs.to_string(),
            format!("{:.1} %", 100.0 * pass.value),
            format!("{:.1}–{:.1}", 100.0 * pass.low, 100.0 * pass.high),
            format!("{:.1} %", 100.0 * tally.win_rate().value),
            format!("{:.3}", tally.mean_reward()),
            format!("{:.3}", tally.mean_cost()),
            tally.refused.to_string(),
        ];
        for cell in cells {
            write!(out, "{}", fit(&cell, 14, Side::Right))?;
        }
        writeln!(out)?;
    }
    let (entropy, largest) = stats.winners();
    let verdict = dominance(largest);
    let style = if verdict == "spread" { GOOD } else { WARN };
    writeln!(
        out,
        "winners: entropy {entropy:.2} bits, largest share {:.0} %: {style}{verdict}{style:#}",
        100.0 * largest
    )?;
    if stats.unreadable > 0 {
        writeln!(
            out,
            "{DIM}{} lines could not be read; `roleos runs verify` names them{DIM:#}",
            stats.unreadable
        )?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn dominance(largest: f64) -> &'static str {
    if largest > TOO_DOMINANT {
        "one model wins nearly all"
    } else if largest >= DOMINANT {
        "one model dominates"
    } else {
        "spread"
    }
}

fn as_json(stats: &Stats) -> Value {
    let models = stats.models.iter().map(|((role, model), tally)| {
        let (pass, win) = (tally.pass_rate(), tally.win_rate());
        json!({
            "role": role, "model_id": model, "runs": tally.runs,
            "pass_rate": pass.value, "pass_low": pass.low, "pass_high": pass.high,
            "win_rate": win.value, "win_low": win.low, "win_high": win.high,
            "reward": tally.mean_reward(), "cost": tally.mean_cost(), "refused": tally.refused,
        })
    });
    let (entropy, largest) = stats.winners();
    json!({
        "models": models.collect::<Vec<_>>(),
        "winners": { "entropy_bits": entropy, "largest_share": largest, "verdict": dominance(largest) },
        "unreadable": stats.unreadable,
    })
}

/// Writes inputs with winning outputs.
fn dataset(ui: &Ui, context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    let texts = dataset::path(&context.workspace);
    if !context.config.privacy.keep_inputs && !texts.exists() {
        let message = "there are no inputs to write: they are not kept";
        return Err(Failure::refused("inputs_not_kept", message)
            .hint("set `keep_inputs = true` under `[privacy]`; later contests are then kept with their texts"));
    }
    let mut out = ui.out();
    let mut failed = None;
    let log = args.log.path(context);
    let said = feedback::path(&context.workspace);
    let done = dataset::export(&log, &texts, &said, args.role.as_deref(), |line| {
        if failed.is_none() {
            failed = writeln!(out, "{line}").err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush()?;
    let dataset::Exported { lines, left_out } = done;
    ui.note(format_args!(
        "{lines} contests; {left_out} left out, because the run log does not confirm their winner, or the general model or feedback contradicts it"
    ));
    Ok(Exit::Done)
}

fn export(ui: &Ui, context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    if args.dataset {
        return dataset(ui, context, args);
    }
    let mut out = ui.out();
    let mut failed = None;
    let mut skipped = 0_u64;
    runs::lines(&args.log.path(context), |line| {
        if failed.is_some() {
            return;
        }
        let Ok(record) = Record::parse(line) else {
            skipped += 1;
            return;
        };
        let text = match args.shape {
            Shape::Schema => record.to_schema_shape().to_string(),
            Shape::Own => record.to_line(),
        };
        failed = writeln!(out, "{text}").err();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush()?;
    if skipped > 0 {
        ui.note(format_args!(
            "{skipped} lines could not be read and were left out"
        ));
    }
    Ok(Exit::of_check(skipped == 0))
}
