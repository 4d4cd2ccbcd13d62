//! Passes and wins as a picture: two bars per model, best first, with the Wilson interval on the pass rate, and the
//! same numbers beside them as a table, so that nothing must be estimated from a bar.

use routing::runs::{Stats, Tally};

use super::clean;
use super::columns::{Side, fit};
use super::curve_svg::canvas::{Anchor, Canvas};
use super::units::grouped;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 24.0;
/// Start and end of the bars.
const BARS: f64 = 300.0;
const BARS_END: f64 = 640.0;
const TOP: f64 = 128.0;
const ROW: f64 = 44.0;
/// Limit of models; further ones are summed in a line.
const MAX_ROWS: usize = 40;

/// Columns of the table: name and right edge.
const COLUMNS: [(&str, f64); 5] = [
    ("runs", 710.0),
    ("pass", 770.0),
    ("win", 826.0),
    ("reward", 884.0),
    ("cost", 936.0),
];

/// Draws the statistics of a log. `verdict` describes the dominance of a model.
#[must_use]
pub fn svg(stats: &Stats, verdict: &str) -> String {
    let mut models: Vec<(&(String, String), &Tally)> = stats.models.iter().collect();
    models.sort_by(|(_, one), (_, other)| {
        let rate = |tally: &Tally| (tally.win_rate().value, tally.pass_rate().value);
        let (one, other) = (rate(one), rate(other));
        other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    let shown = models.len().min(MAX_ROWS);
    #[expect(clippy::cast_precision_loss, reason = "at most forty rows")]
    let height = TOP + ROW * shown.max(1) as f64 + 40.0;
    let summary = summary(stats, verdict);
    let mut canvas = Canvas::new(WIDTH, height, "Passing and winning", &summary);
    canvas.text(LEFT, 36.0, "title", Anchor::Start, "Passing and winning");
    canvas.text(LEFT, 60.0, "muted", Anchor::Start, &summary);
    head(&mut canvas, height);
    for (at, (key, tally)) in models.iter().take(MAX_ROWS).enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "at most forty rows")]
        let y = TOP + ROW * at as f64;
        row(&mut canvas, y, key, tally);
    }
    if models.is_empty() {
        let words = "Nothing yet: the picture starts with the first contest.";
        canvas.text(LEFT, TOP + 20.0, "muted", Anchor::Start, words);
    }
    if let Some(more) = models.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
        let words = format!("and {more} models more");
        canvas.text(LEFT, height - 14.0, "muted", Anchor::Start, &words);
    }
    canvas.finish()
}

fn summary(stats: &Stats, verdict: &str) -> String {
    let runs: u64 = stats.models.values().map(|tally| tally.runs).sum();
    let won: u64 = stats.models.values().map(|tally| tally.won).sum();
    let (entropy, largest) = stats.winners();
    format!(
        "{} runs, {} contests won · entropy of winners {entropy:.2} bits, largest share {:.0} %: {verdict}",
        grouped(runs),
        grouped(won),
        100.0 * largest
    )
}

fn head(canvas: &mut Canvas, height: f64) {
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let x = along(share);
        canvas.line("grid", (x, TOP - 18.0), (x, height - 34.0));
        let words = format!("{:.0} %", 100.0 * share);
        canvas.text(x, TOP - 24.0, "tick", Anchor::Middle, &words);
    }
    canvas.bar("solved", BARS + 6.0, 12.0, 78.0, 88.0);
    canvas.text(
        BARS + 18.0,
        88.0,
        "tick",
        Anchor::Start,
        "passed, with its 95 % interval",
    );
    canvas.bar("retries", BARS + 216.0, 12.0, 78.0, 88.0);
    canvas.text(BARS + 228.0, 88.0, "tick", Anchor::Start, "won");
    for (name, end) in COLUMNS {
        canvas.text(end, TOP - 24.0, "name", Anchor::End, name);
    }
}

fn row(canvas: &mut Canvas, y: f64, (role, model): &(String, String), tally: &Tally) {
    let short = |text: &str, columns: usize| {
        let text = clean::name(text.as_bytes()).into_owned();
        fit(&text, columns, Side::Left).trim_end().to_owned()
    };
    let (pass, win) = (tally.pass_rate(), tally.win_rate());
    canvas.open_point(&format!(
        "{model} in {role}: {} of {} passed ({:.1} to {:.1} %), {} won",
        tally.passed,
        tally.runs,
        100.0 * pass.low,
        100.0 * pass.high,
        tally.won
    ));
    canvas.text(LEFT, y + 10.0, "name", Anchor::Start, &short(model, 34));
    canvas.text(LEFT, y + 26.0, "tick", Anchor::Start, &short(role, 38));
    across(canvas, "solved", pass.value, y, y + 13.0);
    let middle = y + 6.5;
    canvas.line(
        "axis",
        (along(pass.low), middle),
        (along(pass.high), middle),
    );
    for end in [pass.low, pass.high] {
        let x = along(end);
        canvas.line("axis", (x, y + 3.0), (x, y + 10.0));
    }
    across(canvas, "retries", win.value, y + 16.0, y + 26.0);
    let cells = [
        grouped(tally.runs),
        format!("{:.1} %", 100.0 * pass.value),
        format!("{:.1} %", 100.0 * win.value),
        format!("{:.3}", tally.mean_reward()),
        format!("{:.3}", tally.mean_cost()),
    ];
    for ((_, end), cell) in COLUMNS.into_iter().zip(cells) {
        canvas.text(end, y + 18.0, "tick", Anchor::End, &cell);
    }
    canvas.close_point();
}

fn along(share: f64) -> f64 {
    BARS + share.clamp(0.0, 1.0) * (BARS_END - BARS)
}

fn across(canvas: &mut Canvas, class: &str, share: f64, top: f64, bottom: f64) {
    let width = along(share) - BARS;
    if width >= 0.5 {
        canvas.bar(class, BARS + width / 2.0, width, top, bottom);
    }
}
