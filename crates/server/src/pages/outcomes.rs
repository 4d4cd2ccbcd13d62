//! What each model makes of each role, as a picture with a table behind it: how much a solved task costs, and how often one
//! is solved, with the interval in which that lies.

use std::fmt::Write as _;

use selection::statistics::rate;

use super::frame::{Rate, encoded, share_lines};
use crate::show::clean;
use crate::show::units::{dollars, grouped};
use crate::view::add_up;

/// So many are shown; the rarest are left out.
const MOST: usize = 30;
/// So many have their name beside them.
const NAMED: usize = 12;

/// The picture and the table.
pub(super) struct Outcomes {
    pub(super) chart: String,
    pub(super) rows: Vec<Row>,
    /// Pairs that are not shown.
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

fn named(text: &str) -> String {
    match text {
        "" => "(none)".to_owned(),
        text => clean::line(text, 40),
    }
}

fn row(one: &add_up::Outcomes) -> Row {
    let mut href = String::from("/tasks?verdict=valid&role=");
    href.extend(encoded(&one.role));
    href.push_str("&model=");
    href.extend(encoded(&one.model));
    let cost = one.cost.per_solve();
    Row {
        role: named(&one.role),
        model: named(&one.model),
        href,
        tasks: grouped(one.tasks),
        solved: rate(one.solved, one.tasks).into(),
        cost_per_solve: cost.map_or_else(|| "–".to_owned(), dollars),
    }
}

/// Cheap is left, often solved is up; the bar is the interval, the dot grows with the number of tasks.
#[expect(
    clippy::cast_precision_loss,
    reason = "places in a picture; counts and costs are far below 2^52"
)]
fn chart(all: &[add_up::Outcomes]) -> String {
    let (left, right, top, bottom) = (56.0, 770.0, 16.0, 250.0);
    let cost = |one: &add_up::Outcomes| one.cost.per_solve();
    let dearest = all.iter().filter_map(cost).max().unwrap_or(0).max(1);
    let most = all.iter().map(|one| one.tasks).max().unwrap_or(1).max(1);
    let x = |cost: u64| left + (right - left) * cost as f64 / (dearest as f64 * 1.15);
    let y = |share: f64| bottom - (bottom - top) * share;
    let mut svg = String::from(
        r#"<svg class="chart" viewBox="0 0 800 290" role="img" aria-label="Cost per solve and solve rate by role and model">"#,
    );
    share_lines(&mut svg, (left, right), y);
    // Writing to a string cannot fail.
    for quarter in 0..=4 {
        let cost = dearest * quarter / 4;
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            x(cost),
            bottom + 18.0,
            dollars(cost)
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{right}" y="{:.1}" text-anchor="end">cost per solve →</text>"#,
        bottom + 36.0
    );
    for (place, one) in all.iter().enumerate() {
        let Some(cost) = cost(one) else { continue };
        let solved = rate(one.solved, one.tasks);
        let (name, at) = (
            format!("{} · {}", named(&one.role), named(&one.model)),
            x(cost),
        );
        let name = escaped(&name);
        let _ = write!(
            svg,
            r#"<line class="reach" x1="{at:.1}" x2="{at:.1}" y1="{:.1}" y2="{:.1}"/><circle cx="{at:.1}" cy="{:.1}" r="{:.1}"><title>{name}: {:.1} % solved ({} of {}, 95 %: {:.1} to {:.1}), {} per solve</title></circle>"#,
            y(solved.low),
            y(solved.high),
            y(solved.value),
            4.0 + 4.0 * (one.tasks as f64 / most as f64).sqrt(),
            solved.value * 100.0,
            one.solved,
            one.tasks,
            solved.low * 100.0,
            solved.high * 100.0,
            dollars(cost)
        );
        if all.len() <= NAMED {
            // Every second name stands a little lower, so that neighbours stay readable.
            let lower = if place % 2 == 0 { -8.0 } else { 16.0 };
            let _ = write!(
                svg,
                r#"<text class="name" x="{:.1}" y="{:.1}" text-anchor="{}">{name}</text>"#,
                if at > 560.0 { at - 11.0 } else { at + 11.0 },
                (y(solved.value) + lower).clamp(top + 8.0, bottom - 4.0),
                if at > 560.0 { "end" } else { "start" },
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// The picture is put together as text, and names are other people's.
fn escaped(text: &str) -> String {
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
