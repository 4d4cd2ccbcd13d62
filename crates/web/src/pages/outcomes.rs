//! Results of each model in each role, as a picture with a table: the cost of a solved task, and the solve rate with
//! its interval.

use statistics::rate::rate;
use std::fmt::Write as _;

use super::frame::{Rate, encoded, share_lines};
use index::add_up;
use present::show::clean;
use present::show::curve_svg::scale::{Axis, LEAST_COST, tick_dollars};
use present::show::units::{dollars, grouped};

use self::names::Dot;

mod names;

/// Most pairs that are shown; the rarest are left out.
const MOST: usize = 30;
/// Most pairs with a name beside them.
const NAMED: usize = 12;

/// The picture and the table.
pub(super) struct Outcomes {
    pub(super) chart: String,
    pub(super) rows: Vec<Row>,
    /// Number of pairs that are not shown.
    pub(super) more: usize,
}

pub(super) struct Row {
    pub(super) role: String,
    pub(super) model: String,
    pub(super) href: String,
    pub(super) tasks: String,
    pub(super) solved: Rate,
    pub(super) cost_per_solve: String,
}

impl Outcomes {
    pub(super) fn of(all: &[add_up::Outcomes]) -> Self {
        let shown = all.get(..MOST.min(all.len())).unwrap_or(all);
        Self {
            chart: chart(shown),
            rows: shown.iter().map(row).collect(),
            more: all.len() - shown.len(),
        }
    }
}

fn named_or_none(text: &str) -> String {
    match text {
        "" => "(none)".to_owned(),
        text => clean::line(text, 40),
    }
}

fn row(one: &add_up::Outcomes) -> Row {
    let (role, model) = (encoded(&one.role), encoded(&one.model));
    let href = format!("/tasks?verdict=valid&role={role}&model={model}");
    let cost = one.cost.per_solve();
    Row {
        role: named_or_none(&one.role),
        model: named_or_none(&one.model),
        href,
        tasks: grouped(one.tasks),
        solved: rate(one.solved, one.tasks).into(),
        cost_per_solve: cost.map_or_else(|| "–".to_owned(), dollars),
    }
}

/// Draws the picture: cheap is left, often solved is up; the bar is the interval, the dot grows with the number of
/// tasks.
#[expect(
    clippy::cast_precision_loss,
    reason = "places in a picture; counts are far below 2^52"
)]
fn chart(all: &[add_up::Outcomes]) -> String {
    let (left, right, top, bottom) = (56.0, 770.0, 16.0, 250.0);
    let priced = || {
        all.iter()
            .filter_map(|one| Some((one, one.cost.per_solve()?)))
    };
    let dearest = priced().map(|(_, cost)| cost).max().unwrap_or(0);
    let most = all.iter().map(|one| one.tasks).max().unwrap_or(1).max(1);
    // Right of the most expensive pair there is room for its name.
    let furthest = dearest.saturating_add(dearest / 5).max(LEAST_COST);
    let costs = Axis::new(right, left, furthest, 6);
    let y = |share: f64| bottom - (bottom - top) * share;
    let mut svg = String::from(
        r#"<svg class="chart" viewBox="0 0 800 290" role="img" aria-label="Cost per solve and solve rate by role and model">"#,
    );
    share_lines(&mut svg, (left, right), y);
    // Writing to a string cannot fail.
    for tick in costs.ticks() {
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            costs.place(tick),
            bottom + 18.0,
            tick_dollars(tick, costs.step())
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{right}" y="{:.1}" text-anchor="end">cost per solve →</text>"#,
        bottom + 36.0
    );
    let mut named = Vec::new();
    for (one, cost) in priced() {
        let solved = rate(one.solved, one.tasks);
        let name = format!(
            "{} · {}",
            named_or_none(&one.role),
            named_or_none(&one.model)
        );
        let dot = Dot {
            x: costs.place(cost),
            y: y(solved.value),
            radius: 4.0 + 4.0 * (one.tasks as f64 / most as f64).sqrt(),
            reach: (y(solved.high), y(solved.low)),
        };
        let _ = write!(
            svg,
            r#"<line class="reach" x1="{0:.1}" x2="{0:.1}" y1="{1:.1}" y2="{2:.1}"/><circle cx="{0:.1}" cy="{3:.1}" r="{4:.1}"><title>{5}: {6:.1} % solved ({7} of {8}, 95 %: {9:.1} to {10:.1}), {11} per solve</title></circle>"#,
            dot.x,
            dot.reach.0,
            dot.reach.1,
            dot.y,
            dot.radius,
            escaped(&name),
            solved.value * 100.0,
            one.solved,
            one.tasks,
            solved.low * 100.0,
            solved.high * 100.0,
            dollars(cost)
        );
        named.push((dot, name));
    }
    if all.len() <= NAMED {
        write_names(&mut svg, &named, (left, right, top, bottom));
    }
    svg.push_str("</svg>");
    svg
}

/// Draws the names that have room.
fn write_names(svg: &mut String, named: &[(Dot, String)], picture: (f64, f64, f64, f64)) {
    let lengths: Vec<_> = named
        .iter()
        .map(|(dot, name)| (*dot, name.chars().count()))
        .collect();
    for (place, (_, name)) in names::places(&lengths, picture).iter().zip(named) {
        let Some(place) = place else { continue };
        let _ = write!(
            svg,
            r#"<text class="name" x="{:.1}" y="{:.1}" text-anchor="{}">{}</text>"#,
            place.x,
            place.baseline,
            place.anchor,
            escaped(name)
        );
    }
}

/// The picture is put together as text, and names are other people's.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use witness::cost::Cost;

    use super::*;

    #[test]
    fn names_cannot_leave_the_picture() {
        let outcomes = Outcomes::of(&[add_up::Outcomes {
            role: "<script>\"&".to_owned(),
            model: String::new(),
            tasks: 4,
            solved: 3,
            cost: Cost {
                stated: 9000,
                known: 9000,
                known_solved: 3,
                unknown_tasks: 0,
            },
        }]);
        assert!(
            outcomes
                .chart
                .contains("&lt;script&gt;&quot;&amp; · (none)")
        );
        assert!(!outcomes.chart.contains("<script"));
        assert!(outcomes.chart.contains("3 of 4"));
        assert_eq!(outcomes.rows[0].cost_per_solve, "$0.003");
    }

    #[test]
    fn what_was_never_solved_is_in_the_table_alone() {
        let never = add_up::Outcomes {
            role: "a".to_owned(),
            model: "b".to_owned(),
            tasks: 2,
            solved: 0,
            cost: Cost {
                stated: 5,
                known: 5,
                ..Cost::default()
            },
        };
        let outcomes = Outcomes::of(&vec![never; MOST + 2]);
        assert!(!outcomes.chart.contains("<circle"));
        assert_eq!((outcomes.rows.len(), outcomes.more), (MOST, 2));
    }
}
