//! The picture: share, accuracy and cost of each scenario, and the time until adapters are halted.

use std::fmt::Write as _;

use super::{Figure, Halting, Run};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
/// Edges of both panels.
const TOP: f64 = 84.0;
const BOTTOM: f64 = 370.0;
const LEFT: (f64, f64) = (190.0, 460.0);
const RIGHT: (f64, f64) = (560.0, 860.0);

/// Figures with a mark, the colour of each, and its label.
const MARKS: [(&str, &str, &str); 3] = [
    ("share routed", "#2563eb", "share routed to adapters"),
    ("accuracy of adapters", "#15803d", "their accuracy"),
    ("cost against all-general", "#c2410c", "cost"),
];

const COLOURS: [&str; 7] = [
    "#7f1d1d", "#b91c1c", "#ea580c", "#ca8a04", "#2563eb", "#0d9488", "#15803d",
];

/// Draws the picture.
pub(super) fn svg(runs: &[Run]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1f2937\">\n\
         <title>What the learning loop brings, and how soon it stops a bad adapter</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    served(&mut out, runs);
    halted(
        &mut out,
        runs.first().map_or(&[], |run| run.halting.as_slice()),
    );
    out.push_str("</svg>\n");
    out
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#d1d5db\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn dot(out: &mut String, (x, y): (f64, f64), colour: &str, hint: &str) {
    _ = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{hint}</title></circle>"
    );
}

/// Draws a row per scenario that serves, with a dot per figure and seed.
fn served(out: &mut String, runs: &[Run]) {
    let (from, to) = LEFT;
    let across = |share: f64| from + share.clamp(0.0, 1.0) * (to - from);
    text(
        out,
        (24.0, 28.0),
        "start",
        "Fresh requests at default settings, a dot per seed",
    );
    for ((_, colour, name), x) in MARKS.into_iter().zip([24.0, 210.0, 330.0]) {
        dot(out, (x + 4.0, 48.0), colour, name);
        text(out, (x + 14.0, 52.0), "start", name);
    }
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        line(out, (across(share), TOP), (across(share), BOTTOM));
        text(
            out,
            (across(share), BOTTOM + 18.0),
            "middle",
            &share.to_string(),
        );
    }
    let mut rows: Vec<&str> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures) {
        if figure.name == "share routed" && !rows.contains(&figure.scenario) {
            rows.push(figure.scenario);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let step = (BOTTOM - TOP) / rows.len().max(1) as f64;
    let mut y = TOP + step / 2.0;
    for row in rows {
        text(out, (from - 12.0, y + 4.0), "end", row);
        line(out, (from, y), (to, y));
        for (name, colour, _) in MARKS {
            let fits = |figure: &&Figure| figure.scenario == row && figure.name == name;
            for figure in runs.iter().flat_map(|run| &run.figures).filter(fits) {
                let hint = format!("{row}: {name} {}", figure.shown);
                dot(out, (across(figure.value), y), colour, &hint);
            }
        }
        y += step;
    }
}

/// Draws the share of adapters that are halted, by probes, with a curve per agreement.
fn halted(out: &mut String, all: &[Halting]) {
    let (from, to) = RIGHT;
    let across = |probes: f64| from + probes.max(1.0).log10() / 3.0 * (to - from);
    let up = |share: f64| BOTTOM - share * (BOTTOM - TOP);
    text(
        out,
        (from - 40.0, 28.0),
        "start",
        "Share of adapters that are halted, by probes",
    );
    text(
        out,
        (from - 40.0, 52.0),
        "start",
        "a curve per true agreement; 0.85 is required",
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        line(out, (from, up(share)), (to, up(share)));
        text(
            out,
            (from - 8.0, up(share) + 4.0),
            "end",
            &share.to_string(),
        );
    }
    for probes in [1.0, 10.0, 100.0, 1000.0] {
        line(out, (across(probes), TOP), (across(probes), BOTTOM));
        text(
            out,
            (across(probes), BOTTOM + 18.0),
            "middle",
            &probes.to_string(),
        );
    }
    let mut key = TOP + 8.0;
    for (halting, colour) in all.iter().zip(COLOURS) {
        let mut path = format!("M{:.1} {:.1}", across(1.0), up(0.0));
        #[expect(clippy::cast_precision_loss, reason = "probes and repetitions")]
        let of = halting.of.max(1) as f64;
        let mut count = 0.0;
        for probes in &halting.halted {
            count += 1.0;
            #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
            let x = across(*probes as f64);
            _ = write!(path, "H{x:.1}V{:.1}", up(count / of));
        }
        _ = writeln!(
            out,
            "<path d=\"{path}H{to:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>"
        );
        _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{key:.1}\" fill=\"{colour}\">agrees in {}</text>",
            to + 10.0,
            halting.agreement
        );
        key += 18.0;
    }
}
