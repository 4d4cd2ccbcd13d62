//! One line of the result, for programs and for people.

use serde_json::{Value, json};

/// Ours against a peer.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) ours: f64,
    pub(crate) peer: f64,
    pub(crate) peer_name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
}

impl Row {
    /// A figure that may not be above a limit.
    pub(crate) fn within(name: &'static str, ours: f64, limit: f64, unit: &'static str) -> Self {
        Self {
            name,
            ours,
            peer: limit,
            peer_name: "the limit",
            unit,
            goal: Goal::AtMost(1.0),
        }
    }
}

/// What the ratio of ours to the peer's must reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Row {
    fn ratio(&self) -> f64 {
        self.ours / self.peer
    }

    fn holds(&self) -> bool {
        match self.goal {
            Goal::AtLeast(goal) => self.ratio() >= goal,
            Goal::AtMost(goal) => self.ratio() <= goal,
        }
    }
}

pub(crate) fn as_json(rows: &[Row]) -> Value {
    rows.iter()
        .map(|row| {
            json!({
                "name": row.name,
                "ours": row.ours,
                "peer": row.peer,
                "peer_name": row.peer_name,
                "ratio": row.ratio(),
                "unit": row.unit,
            })
        })
        .collect()
}

pub(crate) fn as_table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<44} {:>12} {:>12} {:<10} {:>7}  {:<7} {:<6} against\n",
        "what", "ours", "peer", "unit", "ratio", "goal", ""
    );
    for row in rows {
        let goal = match row.goal {
            Goal::AtLeast(goal) => format!(">= {goal}"),
            Goal::AtMost(goal) => format!("<= {goal}"),
        };
        let verdict = if row.holds() { "ok" } else { "MISSED" };
        text.push_str(&format!(
            "{:<44} {:>12.1} {:>12.1} {:<10} {:>7.2}  {goal:<7} {verdict:<6} {}\n",
            row.name,
            row.ours,
            row.peer,
            row.unit,
            row.ratio(),
            row.peer_name
        ));
    }
    text
}
