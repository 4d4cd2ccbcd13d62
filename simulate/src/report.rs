//! The table, the page `docs/learning-loop.md` and its picture.

use std::fmt::Write as _;
use std::path::Path;

use crate::failure::Result;
use crate::place::put;

mod picture;

/// One figure of one scenario.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Name of the scenario.
    pub(crate) scenario: &'static str,
    /// Measured quantity.
    pub(crate) name: String,
    /// Number that the goal refers to.
    pub(crate) value: f64,
    /// Shown text.
    pub(crate) shown: String,
    /// Goal of the figure.
    pub(crate) goal: Goal,
}

/// Required value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Figure {
    fn holds(&self) -> bool {
        match self.goal {
            Goal::AtLeast(goal) => self.value >= goal,
            Goal::AtMost(goal) => self.value <= goal,
            Goal::None => true,
        }
    }

    fn cell(&self) -> String {
        let mark = if self.holds() { "" } else { " **missed**" };
        format!("{}{mark}", self.shown)
    }

    fn goal(&self) -> String {
        match self.goal {
            Goal::AtLeast(0.0) => "not worse".to_owned(),
            Goal::AtLeast(goal) => format!("≥ {goal}"),
            Goal::AtMost(0.0) => "0".to_owned(),
            Goal::AtMost(goal) if goal < 0.02 => format!("≤ {} %", 100.0 * goal),
            Goal::AtMost(goal) => format!("≤ {goal}"),
            Goal::None => String::new(),
        }
    }
}

/// Halts of adapters of one agreement.
#[derive(Clone, Debug)]
pub(crate) struct Halting {
    /// Rate of their agreement.
    pub(crate) agreement: f64,
    /// Probes at which they were halted, in order.
    pub(crate) halted: Vec<u64>,
    /// Number of adapters.
    pub(crate) of: u64,
}

/// Results of one seed.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) figures: Vec<Figure>,
    pub(crate) halting: Vec<Halting>,
}

impl Run {
    /// Returns `true` if every goal was reached.
    pub(crate) fn holds(&self) -> bool {
        self.figures.iter().all(Figure::holds)
    }
}

/// Returns the table, with one column per seed.
pub(crate) fn table(runs: &[Run]) -> String {
    let mut text = String::from("| scenario | figure | goal |");
    for run in runs {
        _ = write!(text, " seed {} |", run.seed);
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(runs.len()));
    let mut scenario = "";
    for (at, figure) in runs
        .first()
        .iter()
        .flat_map(|run| run.figures.iter().enumerate())
    {
        let name = if figure.scenario == scenario {
            ""
        } else {
            figure.scenario
        };
        scenario = figure.scenario;
        _ = write!(text, "\n| {name} | {} | {} |", figure.name, figure.goal());
        for run in runs {
            let cell = run.figures.get(at).map(Figure::cell).unwrap_or_default();
            _ = write!(text, " {cell} |");
        }
    }
    text.push('\n');
    text
}

/// Writes the page and its picture below the directory of documents.
pub(crate) fn write(docs: &Path, runs: &[Run]) -> Result<()> {
    let seeds: Vec<String> = runs
        .iter()
        .map(|run| format!(" --seed {}", run.seed))
        .collect();
    let page = include_str!("report/learning-loop.page")
        .replace(
            "{command}",
            &format!("cargo xtask simulate{}", seeds.concat()),
        )
        .replace("{table}", &table(runs));
    put(&docs.join("learning-loop.md"), &page)?;
    put(&docs.join("img/learning-loop.svg"), &picture::svg(runs))
}
