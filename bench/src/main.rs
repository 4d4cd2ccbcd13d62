//! Side-by-side measurements: ours against a peer or a limit, in one run, as ratios.
//!
//! One module per crate; each returns rows. Absolute figures depend on the machine and its load, ratios much less so.

mod archive_rows;
mod catalog_rows;
mod fill;
mod gateway_rows;
mod growth_rows;
mod hook_peer_rows;
mod hook_rows;
mod measure;
mod oversight_rows;
mod page_rows;
mod plot;
mod report;
mod row;
mod selection_rows;
mod selector_rows;
mod specialist_rows;
mod supervised_rows;
mod team_rows;
mod witness_rows;

use std::process::ExitCode;

use clap::Parser;

use row::Row;

/// Measures what the project promises.
#[derive(Parser)]
struct Args {
    /// Print a JSON array instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure less of everything: smaller sizes, fewer turns.
    #[arg(long)]
    quick: bool,
    /// Write the page about the run and its plots into this folder as well.
    #[arg(long, value_name = "DIR")]
    docs: Option<std::path::PathBuf>,
    /// Only rows whose name contains one of these words.
    #[arg(value_name = "WORD")]
    only: Vec<String>,
    /// Print how much memory a scorecard over this directory needs, and end. Used by the memory row.
    #[arg(long, hide = true, value_name = "DIR")]
    memory_of: Option<std::path::PathBuf>,
    /// Check the catalog in this directory, print how much memory that needed, and end. Used by the catalog rows.
    #[arg(long, hide = true, value_name = "DIR")]
    check_catalog: Option<std::path::PathBuf>,
    /// Add this run log up, print how much memory that needed, and end. Used by the row of `runs stats`.
    #[arg(long, hide = true, value_name = "FILE")]
    stats_of: Option<std::path::PathBuf>,
    /// Dispatch through the store at this URL until the process is killed. Used by the rows of the team's store.
    #[arg(long, hide = true, value_name = "URL")]
    replica_of: Option<String>,
    /// Take the shipments of `--shipments` into the store at this URL, print the seconds and the memory, and end. Used by the
    /// rows of the team's store.
    #[arg(long, hide = true, value_name = "URL", requires = "shipments")]
    ingest_into: Option<String>,
    /// Files that are numbered from 0.
    #[arg(long, hide = true, value_name = "DIR")]
    shipments: Option<std::path::PathBuf>,
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are this program's only product"
)]
fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(directory) = args.memory_of {
        println!("{}", witness_rows::memory_of_scorecard(&directory));
        return ExitCode::SUCCESS;
    }
    if let Some(log) = args.stats_of {
        println!("{}", selection_rows::memory_of_stats(&log));
        return ExitCode::SUCCESS;
    }
    if let Some(directory) = args.check_catalog {
        println!("{}", catalog_rows::memory_of_check(&directory));
        return ExitCode::SUCCESS;
    }
    if let Some(url) = args.replica_of {
        team_rows::replica(&url);
    }
    if let (Some(url), Some(shipments)) = (&args.ingest_into, &args.shipments) {
        println!("{}", archive_rows::intake(url, shipments));
        return ExitCode::SUCCESS;
    }
    if args.quick {
        measure::be_quick();
    }
    let wanted = |name: &str| {
        args.only.is_empty() || args.only.iter().any(|word| name.contains(word.as_str()))
    };
    let mut rows: Vec<Row> = witness_rows::rows(&wanted);
    rows.extend(catalog_rows::rows(&wanted));
    rows.extend(oversight_rows::rows(&wanted));
    rows.extend(hook_rows::rows(&wanted));
    rows.extend(hook_peer_rows::rows(&wanted));
    rows.extend(supervised_rows::rows(&wanted));
    rows.extend(specialist_rows::rows(&wanted));
    rows.extend(selector_rows::rows(&wanted));
    rows.extend(selection_rows::rows(&wanted));
    rows.extend(gateway_rows::rows(&wanted));
    rows.extend(page_rows::rows(&wanted));
    rows.extend(team_rows::rows(&wanted));
    rows.extend(archive_rows::rows(&wanted));
    rows.extend(growth_rows::rows(&wanted));
    if let Some(Err(error)) = args.docs.map(|docs| report::write(&docs, &rows)) {
        eprintln!("the page cannot be written: {error}");
        return ExitCode::FAILURE;
    }
    if args.json {
        println!("{}", row::as_json(&rows));
    } else {
        print!("{}", row::as_table(&rows));
    }
    ExitCode::SUCCESS
}
