//! The page about a run: every row, the plots, the machine, and reading instructions.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use crate::measure::{Figure, is_quick};
use crate::plot::{self, Bar, Line, short};
use crate::row::{Goal, Row, spread};

/// Name of the page, and of the directory of its plots.
const PAGE: &str = "benchmarks.md";
const PLOTS: &str = "img";

/// Headings, and the prefixes of the names of their rows.
const PARTS: &[(&str, &[&str])] = &[
    ("Evidence", &["witness:"]),
    ("Catalog", &["catalog:"]),
    ("Oversight", &["shell", "hook", "supervised"]),
    (
        "Routing",
        &["gate decision", "dispatch", "probes", "wrong", "select"],
    ),
    ("Gateway", &["gateway"]),
    ("Pages", &["pages:"]),
    ("Growth", &["growth:"]),
];

/// Writes the page and the plots into a directory of documents.
pub(crate) fn write(docs: &Path, rows: &[Row]) -> io::Result<()> {
    let plots = docs.join(PLOTS);
    fs::create_dir_all(&plots)?;
    for (name, svg) in drawn(rows) {
        put(&plots.join(name), &svg)?;
    }
    put(&docs.join(PAGE), &page(rows, &machine()))
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    File::create(path)?.write_all(text.as_bytes())
}

/// Returns the plots by the names of their files.
fn drawn(rows: &[Row]) -> [(&'static str, String); 3] {
    let is_peer = |row: &&Row| matches!(row.goal, Goal::AtLeast(_)) && row.peer.samples > 1;
    let against: Vec<(String, &Row)> = rows
        .iter()
        .filter(is_peer)
        .map(|row| (format!("{} / {}", row.name, row.peer_name), row))
        .collect();
    let bars: Vec<Bar<'_>> = against
        .iter()
        .map(|(name, row)| Bar {
            name,
            figure: row.ours.times(1.0 / row.peer.median),
            goal: match row.goal {
                Goal::AtLeast(goal) => Some(goal),
                Goal::AtMost(_) => None,
            },
        })
        .collect();
    let mut peers = Vec::new();
    for row in rows.iter().filter(|row| row.unit == "req/s") {
        if peers.is_empty() {
            peers.push(("ours", row.ours));
        }
        peers.push((row.peer_name, row.peer));
    }
    let gateways: Vec<Bar<'_>> = peers
        .into_iter()
        .map(|(name, figure)| Bar {
            name,
            figure,
            goal: None,
        })
        .collect();
    let lines: Vec<Line<'_>> = rows
        .iter()
        .filter(|row| !row.sizes.is_empty())
        .map(|row| Line {
            name: row.name.trim_start_matches("growth: "),
            points: row.sizes.clone(),
        })
        .collect();
    [
        (
            "bench-peers.svg",
            plot::bars(
                "How many times the peer",
                "ours / peer; red: the goal",
                &bars,
            ),
        ),
        (
            "bench-gateways.svg",
            plot::bars(
                "Gateways over the same upstream",
                "requests a second",
                &gateways,
            ),
        ),
        (
            "bench-growth.svg",
            plot::lines(
                "Cost of one item as their number grows",
                "µs for each, over the number of items",
                &lines,
            ),
        ),
    ]
}

/// Returns the whole page.
fn page(rows: &[Row], machine: &str) -> String {
    let mut text = String::from(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench --docs`; do not edit.\n\
         One run measures every row; `cargo xtask bench` repeats it on your machine, and installs the peers first.\n\n",
    );
    if is_quick() {
        text.push_str("This was a quick run: fewer turns over smaller sizes.\n\n");
    }
    text.push_str("## How to read it\n\n");
    text.push_str(
        "Both sides of a row do the same work on the same bytes, take turns within the run, and check their results.\n\
         A figure is the median of its turns; *±* is half the distance between the quartiles, in hundredths of the median, and is missing where one value was measured.\n\
         The ratio is ours divided by the peer's, or by the limit; the goal says on which side of which ratio it must lie.\n\
         Absolute figures depend on the machine and its load, ratios much less so.\n\
         Clients and upstream of the gateway's rows share the processors with the gateway that is measured, in the same way for each.\n\n",
    );
    text.push_str("## The machine\n\n");
    text.push_str(machine);
    text.push('\n');
    let missed: Vec<&Row> = rows.iter().filter(|row| !row.holds()).collect();
    writeln!(
        text,
        "{} of {} rows reach their goal.\n",
        rows.len() - missed.len(),
        rows.len()
    )
    .ok();
    text.push_str("![Ratios to the peers](img/bench-peers.svg)\n\n");
    let mut left: Vec<&Row> = rows.iter().collect();
    for (title, words) in PARTS {
        let is_here = |row: &&Row| words.iter().any(|word| row.name.starts_with(word));
        let (here, others): (Vec<&Row>, Vec<&Row>) = left.into_iter().partition(is_here);
        left = others;
        part(&mut text, title, &here);
    }
    part(&mut text, "Others", &left);
    text
}

fn part(text: &mut String, title: &str, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    writeln!(text, "## {title}\n").ok();
    if rows.iter().any(|row| row.unit == "req/s") {
        text.push_str("![Requests a second](img/bench-gateways.svg)\n\n");
    }
    let is_growth = rows.iter().any(|row| !row.sizes.is_empty());
    if is_growth {
        text.push_str("![Cost of one item as their number grows](img/bench-growth.svg)\n\n");
    }
    text.push_str("| row | ours | peer | unit | ratio | goal | | against |\n|---|--:|--:|---|--:|---|---|---|\n");
    for row in rows {
        let verdict = if row.holds() { "ok" } else { "**missed**" };
        let side = |figure: Figure| format!("{} {}", short(figure.median), spread(figure));
        writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {} | {verdict} | {} |",
            row.name,
            side(row.ours).trim_end(),
            side(row.peer).trim_end(),
            row.unit,
            row.ratio(),
            row.goal.text(),
            row.peer_name
        )
        .ok();
    }
    text.push('\n');
    if is_growth {
        text.push_str("| row | number of items: time for each |\n|---|---|\n");
        for row in rows.iter().filter(|row| !row.sizes.is_empty()) {
            let points = row.sizes.iter().map(|(size, figure)| {
                format!("{size}: {} µs {}", short(figure.median), spread(*figure))
                    .trim_end()
                    .to_owned()
            });
            let points: Vec<String> = points.collect();
            writeln!(text, "| {} | {} |", row.name, points.join(", ")).ok();
        }
        text.push('\n');
    }
}

/// Returns a description of the machine, as a list.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map_or_else(
            || "unknown".to_owned(),
            |(_, value)| value.trim().to_owned(),
        )
    };
    let said = |program: &str, word: &str| {
        let output = Command::new(program).arg(word).output();
        output.map_or_else(
            |_| "unknown".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "- processor: {}, {processors} of them for this run\n- memory: {}\n- system: Linux {}\n- compiler: {}, profile `release`\n- load when it began: {}\n",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
        said("rustc", "--version"),
        read("/proc/loadavg").split(' ').next().unwrap_or("unknown"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_row_and_says_what_is_missed() {
        let ours = Figure::of(vec![4.0, 5.0, 6.0]);
        let mut growth = Row::new(
            "growth: one",
            (9.0, 3.0),
            "a hundredth of it",
            "µs each",
            Goal::AtMost(2.0),
        );
        growth.sizes = vec![(10, 3.0.into()), (1000, 9.0.into())];
        let rows = [
            Row::new(
                "witness: one",
                (ours, 1.0),
                "a crate",
                "bundles/s",
                Goal::AtLeast(5.0),
            ),
            Row::within("something else", 2.0, 1.0, "MB"),
            growth,
        ];
        let page = page(&rows, "- a machine\n");
        for part in [
            "1 of 3 rows reach their goal",
            "- a machine",
            "| witness: one | 5 ±20% | 1 | bundles/s | 5.00 | >= 5 | ok | a crate |",
            "## Others",
            "| something else | 2 | 1 | MB | 2.00 | <= 1 | **missed** | the limit |",
            "| growth: one | 10: 3 µs, 1000: 9 µs |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        let drawn = drawn(&rows);
        assert!(drawn.iter().all(|(_, svg)| svg.ends_with("</svg>\n")));
    }
}
