//! The cost-to-outcome curve as a picture: the cost of a solved task, the solved tasks, and the regressions.
//!
//! Four panels share one axis of periods: cost per solve, solve rate, tokens per solve, retries. Regressions are
//! flags on the first. Without a solved task there is no cost per solve, so the line has a gap and not a zero. The
//! picture is self-contained, follows light and dark mode, and is the same for the same points, byte for byte.

pub(super) mod canvas;

pub mod scale;

use witness::curve::Point;

use super::clean;
use super::units::{counted, dollars, grouped, whole_percent};
use canvas::{Anchor, Canvas};
use scale::{Across, Axis, LEAST_COST, short_amount, short_dollars, tick_dollars};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 740.0;
/// Left and right edges of the plots.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 936.0;

/// Stripe of the picture: its plot extends from `top` to `bottom`, with the name above.
#[derive(Clone, Copy)]
struct Panel {
    top: f64,
    bottom: f64,
}

const COST: Panel = Panel {
    top: 140.0,
    bottom: 330.0,
};
const RATE: Panel = Panel {
    top: 386.0,
    bottom: 486.0,
};
const TOKENS: Panel = Panel {
    top: 540.0,
    bottom: 594.0,
};
const RETRIES: Panel = Panel {
    top: 644.0,
    bottom: 690.0,
};

/// Flags are between the name of the first panel and its plot.
const FLAG_TOP: f64 = 114.0;
const FLAG_HEIGHT: f64 = 16.0;
/// Limit of points with labels for their values.
const MAX_LABELLED: usize = 12;

/// Draws the curve.
#[must_use]
pub fn svg(points: &[Point]) -> String {
    if points.is_empty() {
        return nothing_yet();
    }
    let mut canvas = Canvas::new(WIDTH, HEIGHT, "Cost to outcome", &summary(points));
    let across = Across::new(LEFT, RIGHT, points.len());
    header(&mut canvas, points);
    cost_panel(&mut canvas, across, points);
    rate_panel(&mut canvas, across, points);
    tokens_panel(&mut canvas, across, points);
    retries_panel(&mut canvas, across, points);
    flags(&mut canvas, across, points);
    periods(&mut canvas, across, points);
    dots(&mut canvas, across, points);
    canvas.finish()
}

fn nothing_yet() -> String {
    let words = "Nothing yet: the curve starts with the first task that leaves a bundle.";
    let mut canvas = Canvas::new(WIDTH, 240.0, "Cost to outcome", words);
    canvas.text(LEFT, 36.0, "title", Anchor::Start, "Cost to outcome");
    canvas.line("axis", (LEFT, 190.0), (RIGHT, 190.0));
    let middle = f64::midpoint(LEFT, RIGHT);
    canvas.text(middle, 122.0, "big", Anchor::Middle, "Nothing yet");
    let words = "The curve starts with the first task that leaves a bundle.";
    canvas.text(middle, 148.0, "muted", Anchor::Middle, words);
    canvas.finish()
}

/// Returns a summary of all points in a sentence, also as a text alternative.
fn summary(points: &[Point]) -> String {
    let sum = |value: fn(&Point) -> u64| points.iter().map(value).fold(0, u64::saturating_add);
    let (tasks, solved) = (sum(|point| point.tasks), sum(|point| point.solved));
    let rate = whole_percent(solved, tasks);
    let counts = format!(
        "{}, {} solved ({rate} %)",
        counted(tasks, "task"),
        grouped(solved)
    );
    let regressions = match sum(|point| point.regressions) {
        0 => "no regressions".to_owned(),
        number => counted(number, "regression"),
    };
    let first = points.first().map(period).unwrap_or_default();
    let last = points.last().map(period).unwrap_or_default();
    let span = match points.len() {
        1 => first,
        _ => format!("{first} to {last}"),
    };
    format!("{span} · {counts} · {regressions}")
}

/// Returns a label of the time axis, made safe and short.
fn period(point: &Point) -> String {
    let label = clean::name(point.period.as_bytes());
    super::columns::fit(&label, 12, super::columns::Side::Left)
        .trim_end()
        .to_owned()
}

/// Least number of solved tasks with a known cost for the comparison of a period.
const LEAST_SOLVED: u64 = 3;

/// Draws the title at the left; at the right the cost per solve over all periods, and its change.
fn header(canvas: &mut Canvas, points: &[Point]) {
    canvas.text(LEFT, 36.0, "title", Anchor::Start, "Cost to outcome");
    canvas.text(LEFT, 60.0, "muted", Anchor::Start, &summary(points));
    let sum = |value: fn(&Point) -> u64| points.iter().map(value).fold(0, u64::saturating_add);
    let known = sum(|point| point.cost.known);
    let Some(all) = known.checked_div(sum(|point| point.cost.known_solved)) else {
        canvas.text(RIGHT, 36.0, "big", Anchor::End, no_cost(points).0);
        return;
    };
    let headline = format!("{} per solve", short_dollars(all));
    canvas.text(RIGHT, 36.0, "big", Anchor::End, &headline);
    let (class, change) = change(points);
    canvas.text(RIGHT, 60.0, class, Anchor::End, &change);
}

/// Compares the first with the last period in which enough was solved; one task of a week that has just begun is not
/// enough.
fn change(points: &[Point]) -> (&'static str, String) {
    let enough = points
        .iter()
        .filter(|point| point.cost.known_solved >= LEAST_SOLVED);
    let mut costs = enough.filter_map(|point| Some((point, point.cost_per_solve()?)));
    let first = costs.next();
    let (Some((first, was)), Some((last, is))) = (first, costs.next_back()) else {
        return ("muted", "over all periods".to_owned());
    };
    let span = format!("{} to {}", period(first), period(last));
    match whole_percent(is, was) {
        _ if was == 0 => ("muted", format!("over all periods, {span}")),
        100 => ("muted", format!("unchanged, {span}")),
        share @ 0..100 => ("fell", format!("−{} %, {span}", 100 - share)),
        share => ("rose", format!("+{} %, {span}", grouped(share - 100))),
    }
}

/// Draws the name of a panel, its horizontal lines and their numbers.
fn frame(canvas: &mut Canvas, panel: Panel, name: &str, up: Axis, label: impl Fn(u64) -> String) {
    let name_y = if name.starts_with("Cost") {
        FLAG_TOP - 14.0
    } else {
        panel.top - 14.0
    };
    canvas.text(LEFT, name_y, "name", Anchor::Start, name);
    for tick in up.ticks() {
        let y = up.place(tick);
        let class = if tick == 0 { "axis" } else { "grid" };
        canvas.line(class, (LEFT, y), (RIGHT, y));
        canvas.text(LEFT - 10.0, y + 4.0, "tick", Anchor::End, &label(tick));
    }
}

fn cost_panel(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let up = cost_scale(points);
    frame(canvas, COST, "Cost per solve, US$", up, |tick| {
        tick_dollars(tick, up.step())
    });
    let heights = points
        .iter()
        .map(|point| point.cost_per_solve().map(|cost| up.place(cost)));
    let runs = across.runs(heights);
    if runs.is_empty() {
        let middle = (
            f64::midpoint(LEFT, RIGHT),
            f64::midpoint(COST.top, COST.bottom),
        );
        canvas.text(
            middle.0,
            middle.1,
            "muted",
            Anchor::Middle,
            no_cost(points).1,
        );
    }
    for run in &runs {
        canvas.area("cost-area", run, COST.bottom);
        canvas.curve("cost-line", run);
    }
}

/// Returns why there is no cost per solve, as a short text and as a sentence.
fn no_cost(points: &[Point]) -> (&'static str, &'static str) {
    if points.iter().any(|point| point.solved > 0) {
        return (
            "cost unknown",
            "of no solved task the cost is known, so there is no cost per solve",
        );
    }
    (
        "nothing solved",
        "nothing was solved, so there is no cost per solve",
    )
}

fn cost_scale(points: &[Point]) -> Axis {
    let most = points.iter().filter_map(Point::cost_per_solve).max();
    Axis::new(COST.top, COST.bottom, most.unwrap_or(0).max(LEAST_COST), 5)
}

fn rate_panel(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let up = Axis::percent(RATE.top, RATE.bottom);
    frame(canvas, RATE, "Solve rate, solved of n tasks", up, |tick| {
        format!("{tick} %")
    });
    let width = across.bar(44.0);
    for (x, point) in across.places().zip(points) {
        // Rounded for people, drawn to the pixel.
        let share = point.solved.min(point.tasks) as f64 / point.tasks.max(1) as f64;
        let y = RATE.bottom - share * (RATE.bottom - RATE.top);
        canvas.bar("rest", x, width, RATE.top, y);
        canvas.bar("solved", x, width, y, RATE.bottom);
        if points.len() <= MAX_LABELLED {
            let label = format!("{} %", whole_percent(point.solved, point.tasks));
            let (y, class) = if share < 0.25 {
                (y - 6.0, "beside-bar")
            } else {
                (RATE.bottom - 8.0, "on-bar")
            };
            canvas.text(x, y, class, Anchor::Middle, &label);
        }
    }
}

fn tokens_panel(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let most = points.iter().filter_map(Point::tokens_per_solve).max();
    let up = Axis::new(TOKENS.top, TOKENS.bottom, most.unwrap_or(0).max(1), 3);
    frame(canvas, TOKENS, "Tokens per solve", up, short_amount);
    let heights = points
        .iter()
        .map(|point| point.tokens_per_solve().map(|tokens| up.place(tokens)));
    for run in across.runs(heights) {
        canvas.curve("tokens-line", &run);
        // A single point has no visible line.
        if let [(x, y)] = *run {
            canvas.dot("tokens-dot", x, y, 2.0);
        }
    }
}

fn retries_panel(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let most = points.iter().map(|point| point.retries).max();
    let up = Axis::new(RETRIES.top, RETRIES.bottom, most.unwrap_or(0).max(1), 3);
    frame(canvas, RETRIES, "Retries", up, short_amount);
    let width = across.bar(14.0);
    for (x, point) in across.places().zip(points) {
        if point.retries > 0 {
            canvas.bar("retries", x, width, up.place(point.retries), RETRIES.bottom);
        }
    }
}

/// Regressions whose flags would overlap, under one flag.
struct Flag {
    x: f64,
    count: u64,
    first: String,
    last: String,
}

impl Flag {
    fn width(&self) -> f64 {
        grouped(self.count).len() as f64 * 7.0 + 12.0
    }
}

fn gather_flags(across: Across, points: &[Point]) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    for (x, point) in across.places().zip(points) {
        if point.regressions == 0 {
            continue;
        }
        match flags.last_mut() {
            Some(flag) if x < flag.x + flag.width() + 4.0 => {
                flag.count = flag.count.saturating_add(point.regressions);
                flag.last = period(point);
            }
            _ => flags.push(Flag {
                x,
                count: point.regressions,
                first: period(point),
                last: period(point),
            }),
        }
    }
    flags
}

fn flags(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let up = cost_scale(points);
    let flagged = across.places().zip(points);
    for (x, point) in flagged.filter(|(_, point)| point.regressions > 0) {
        let foot = point
            .cost_per_solve()
            .map_or(COST.bottom, |cost| up.place(cost));
        canvas.line("pole", (x, FLAG_TOP + FLAG_HEIGHT), (x, foot));
    }
    let flags = gather_flags(across, points);
    if !flags.is_empty() {
        let meaning = "flags: solved before, failed now";
        canvas.text(RIGHT, FLAG_TOP - 14.0, "rose", Anchor::End, meaning);
    }
    for flag in flags {
        let when = if flag.first == flag.last {
            flag.first.clone()
        } else {
            format!("{} to {}", flag.first, flag.last)
        };
        let hint = format!("{}, {when}", counted(flag.count, "regression"));
        canvas.flag(
            (flag.x, FLAG_TOP),
            (flag.width(), FLAG_HEIGHT),
            &grouped(flag.count),
            &hint,
        );
    }
}

/// Draws the axis of periods, thinned so that labels do not overlap, each with its number of tasks.
fn periods(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let longest = points
        .iter()
        .map(|point| period(point).chars().count())
        .max();
    let room = longest.unwrap_or(0) as f64 * 7.0 + 12.0;
    let bottom = RETRIES.bottom;
    for (x, point) in across
        .labelled(room)
        .filter_map(|(index, x)| Some((x, points.get(index)?)))
    {
        canvas.line("axis", (x, bottom), (x, bottom + 5.0));
        canvas.text(x, bottom + 20.0, "period", Anchor::Middle, &period(point));
        let tasks = format!("n = {}", short_amount(point.tasks));
        canvas.text(x, bottom + 36.0, "tick", Anchor::Middle, &tasks);
    }
}

/// Draws a column per point with its numbers as a tooltip, and the dot of its cost.
fn dots(canvas: &mut Canvas, across: Across, points: &[Point]) {
    let up = cost_scale(points);
    // A rim separates dots from their line; if they touch each other, it would cut the line to pieces.
    let (class, radius) = match points.len() {
        0..=24 => ("dot", 4.5),
        25..=80 => ("dot", 3.0),
        _ => ("dot small", 1.5),
    };
    for (x, point) in across.places().zip(points) {
        canvas.open_point(&exact(point));
        canvas.column(x, across.band(), COST.top, RETRIES.bottom);
        if let Some(cost) = point.cost_per_solve() {
            let y = up.place(cost);
            let bad = if point.regressions > 0 { " bad" } else { "" };
            canvas.dot(&format!("{class}{bad}"), x, y, radius);
            if points.len() <= MAX_LABELLED {
                canvas.text(x, y - 12.0, "value", Anchor::Middle, &short_dollars(cost));
            }
        }
        canvas.close_point();
    }
}

/// Returns all numbers of a point, unrounded.
fn exact(point: &Point) -> String {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let mut lines = vec![
        period(point),
        format!(
            "cost per solve {}",
            or_none(point.cost_per_solve().map(dollars))
        ),
        format!(
            "solved {} of {}",
            grouped(point.solved),
            grouped(point.tasks)
        ),
        format!(
            "tokens per solve {}",
            or_none(point.tokens_per_solve().map(grouped))
        ),
        format!("retries {}", grouped(point.retries)),
        format!("regressions {}", grouped(point.regressions)),
    ];
    if point.cost.unknown_tasks > 0 {
        let tasks = counted(point.cost.unknown_tasks, "task");
        lines.push(format!("{tasks} without a known cost"));
    }
    lines.join("\n")
}
