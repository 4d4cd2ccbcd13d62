//! Side-by-side measurements: ours against a peer or a limit, in one run, as ratios.
//!
//! One module a room; each gives rows. Absolute figures depend on the machine and its mood, ratios much less so.

mod catalog_rows;
mod gateway_rows;
mod hook_rows;
mod measure;
mod oversight_rows;
mod page_rows;
mod row;
mod selection_rows;
mod selector_rows;
mod specialist_rows;
mod supervised_rows;
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
}

#[expect(
    clippy::print_stdout,
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
    let wanted = |name: &str| {
        args.only.is_empty() || args.only.iter().any(|word| name.contains(word.as_str()))
    };
    let mut rows: Vec<Row> = witness_rows::rows(&wanted);
    rows.extend(catalog_rows::rows(&wanted));
    rows.extend(oversight_rows::rows(&wanted));
    rows.extend(hook_rows::rows(&wanted));
    rows.extend(supervised_rows::rows(&wanted));
    rows.extend(specialist_rows::rows(&wanted));
    rows.extend(selector_rows::rows(&wanted));
    rows.extend(selection_rows::rows(&wanted));
    rows.extend(gateway_rows::rows(&wanted));
    rows.extend(page_rows::rows(&wanted));
    if args.json {
        println!("{}", row::as_json(&rows));
    } else {
        print!("{}", row::as_table(&rows));
    }
    ExitCode::SUCCESS
}
