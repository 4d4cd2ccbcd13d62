//! `roleos witness list`: the bundles of this workspace, newest first.

use std::io::Write as _;
use std::path::PathBuf;

use evidence::judged::Judged;
use evidence::scan;
use serde::Serialize;
use witness::bundle::Strictness;
use witness::extension::field;

use crate::command::trust::Trust;
use crate::render::clean;
use crate::render::units::{cost, grouped};
use crate::ui::{BOLD, DIM, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `witness list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roleos witness list --limit 20")]
pub struct Args {
    /// Bundle files or directories [default: all of the workspace].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    /// Show no more than this.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Data of a bundle that is kept while the others are read.
#[derive(Serialize)]
struct Row {
    task_id: String,
    /// Unknown if the file cannot be read.
    created: Option<String>,
    #[serde(skip)]
    created_ns: Option<u64>,
    verdict: &'static str,
    outcome: &'static str,
    trace_entries: usize,
    cost_microdollars: u32,
    cost_known: bool,
    role: String,
    model: String,
    file: String,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let keyring = args.trust.keyring(context)?;
    let paths = context.bundles(&args.paths)?;
    let progress = ui.progress(paths.len(), "bundles");
    let parts = scan::scan(
        &paths,
        context.scan_options(),
        Vec::new,
        |rows, visit| {
            let bytes = visit.bytes.unwrap_or_default();
            let judged = Judged::of(bytes, Strictness::Strict, &keyring);
            rows.push(row(&visit.path.display().to_string(), &judged));
        },
        |done| progress.set(done),
    );
    drop(progress);
    let mut rows: Vec<Row> = parts.into_iter().flatten().collect();
    rows.sort_by(|a, b| (b.created_ns, &b.file).cmp(&(a.created_ns, &a.file)));
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    if ui.json {
        ui.json(&rows)?;
    } else {
        show(ui, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(file: &str, judged: &Judged<'_>) -> Row {
    let contents = judged.contents();
    let fact = |name| {
        let value = contents.and_then(|contents| contents.extensions().provenance.get(name));
        value.cloned().unwrap_or_default()
    };
    let created_ns = contents.map(|contents| contents.header().created_ns);
    Row {
        created: created_ns.map(base::clock::text),
        created_ns,
        task_id: contents.map_or_else(String::new, |contents| {
            contents.header().task_id.to_string()
        }),
        verdict: judged.verdict().name(),
        outcome: contents.map_or("", |contents| contents.outcome().name()),
        trace_entries: contents.map_or(0, |contents| contents.totals().calls),
        cost_microdollars: contents.map_or(0, |contents| contents.header().total_cost_microdollars),
        cost_known: contents
            .is_none_or(|contents| witness::cost::is_known(&contents.extensions().provenance)),
        role: fact(field::ROLE),
        model: fact(field::MODEL),
        file: file.to_owned(),
    }
}

fn show(ui: &Ui, rows: &[Row]) -> Result<(), Failure> {
    if rows.is_empty() {
        ui.note("no bundles yet; `roleos witness seal --help` shows how one is made");
        return Ok(());
    }
    let mut out = ui.out();
    writeln!(
        out,
        "{BOLD}{:<32}  {:<20}  {:<13}  {:<8}{:>7}{:>12}  role / model{BOLD:#}",
        "task", "created", "verdict", "outcome", "calls", "cost"
    )?;
    for row in rows {
        let Some(created) = &row.created else {
            writeln!(
                out,
                "{WARN}{}{WARN:#}  {}",
                row.verdict,
                clean::line(&row.file, 200)
            )?;
            continue;
        };
        writeln!(
            out,
            "{:<32}  {DIM}{created:<20.19}{DIM:#}  {:<13}  {:<8}{:>7}{:>12}  {} {}",
            row.task_id,
            row.verdict,
            row.outcome,
            grouped(row.trace_entries as u64),
            cost(row.cost_microdollars, row.cost_known),
            clean::line(&row.role, 24),
            clean::line(&row.model, 32),
        )?;
    }
    out.flush()?;
    Ok(())
}
