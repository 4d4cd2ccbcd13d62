//! One line of the result, for programs and for people.

use serde_json::{Value, json};

use crate::measure::Figure;

/// Comparison of our figure with a peer's.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) ours: Figure,
    pub(crate) peer: Figure,
    pub(crate) peer_name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    /// Our figure at every size, if the growth is measured.
    pub(crate) sizes: Vec<(usize, Figure)>,
}

impl Row {
    /// Creates a comparison with a peer.
    pub(crate) fn new(
        name: &'static str,
        (ours, peer): (impl Into<Figure>, impl Into<Figure>),
        peer_name: &'static str,
        unit: &'static str,
        goal: Goal,
    ) -> Self {
        Self {
            name,
            ours: ours.into(),
            peer: peer.into(),
            peer_name,
            unit,
            goal,
            sizes: Vec::new(),
        }
    }

    /// Creates a figure with an upper limit.
    pub(crate) fn within(
        name: &'static str,
        ours: impl Into<Figure>,
        limit: f64,
        unit: &'static str,
    ) -> Self {
        Self::new(name, (ours, limit), "the limit", unit, Goal::AtMost(1.0))
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.ours.median / self.peer.median
    }

    pub(crate) fn holds(&self) -> bool {
        match self.goal {
            Goal::AtLeast(goal) => self.ratio() >= goal,
            Goal::AtMost(goal) => self.ratio() <= goal,
        }
    }
}

/// Required ratio of our figure to the peer's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// Returns the goal as `>= 5`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::AtLeast(goal) => format!(">= {goal}"),
            Self::AtMost(goal) => format!("<= {goal}"),
        }
    }
}

/// Returns the rows for programs, with everything that is needed to print them again.
pub(crate) fn as_json(rows: &[Row]) -> Value {
    rows.iter()
        .map(|row| {
            let mut value = json!({
                "name": row.name,
                "ours": row.ours.median,
                "ours_quartiles": [row.ours.low, row.ours.high],
                "peer": row.peer.median,
                "peer_quartiles": [row.peer.low, row.peer.high],
                "samples": row.ours.samples,
                "peer_name": row.peer_name,
                "ratio": row.ratio(),
                "goal": row.goal.text(),
                "holds": row.holds(),
                "unit": row.unit,
            });
            if let (false, Some(object)) = (row.sizes.is_empty(), value.as_object_mut()) {
                let sizes = row.sizes.iter().map(|(size, figure)| {
                    json!({ "size": size, "ours": figure.median, "quartiles": [figure.low, figure.high] })
                });
                object.insert("sizes".to_owned(), sizes.collect());
            }
            value
        })
        .collect()
}

/// Returns half the distance of the quartiles, in hundredths of the median.
pub(crate) fn spread(figure: Figure) -> String {
    match figure.samples {
        0 | 1 => String::new(),
        _ => format!("±{:.0}%", (figure.high - figure.low) / figure.median * 50.0),
    }
}

/// Returns the rows for people.
pub(crate) fn as_table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<58} {:>11} {:>5} {:>11} {:>5} {:<10} {:>7}  {:<7} {:<6} against\n",
        "what", "ours", "", "peer", "", "unit", "ratio", "goal", ""
    );
    for row in rows {
        let verdict = if row.holds() { "ok" } else { "MISSED" };
        text.push_str(&format!(
            "{:<58} {:>11.1} {:>5} {:>11.1} {:>5} {:<10} {:>7.2}  {:<7} {verdict:<6} {}\n",
            row.name,
            row.ours.median,
            spread(row.ours),
            row.peer.median,
            spread(row.peer),
            row.unit,
            row.ratio(),
            row.goal.text(),
            row.peer_name
        ));
    }
    text.push_str("± is half the distance between the quartiles, in hundredths of the median\n");
    text
}
