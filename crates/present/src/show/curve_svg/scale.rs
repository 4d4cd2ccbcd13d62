//! Conversion of values to positions: round numbers on an axis, periods along the bottom.

use crate::show::units::{dollars, grouped};

/// Least amount at the end of an axis, so that tasks without cost do not give an empty axis.
pub const LEAST_COST: u64 = 10_000;

/// An axis from 0 to a round number.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    end: f64,
    start: f64,
    step: u128,
    steps: u128,
}

impl Axis {
    /// Creates the finest axis of round steps, at most `most_steps` of them, that includes `most`.
    pub fn new(end: f64, start: f64, most: u64, most_steps: u128) -> Self {
        let most = u128::from(most);
        let rounds = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u128.pow(power)));
        let step = rounds
            .take_while(|step| *step <= 100_000_000_000_000_000_000)
            .find(|step| most.div_ceil(*step) <= most_steps)
            .unwrap_or(u128::from(u64::MAX));
        Self {
            end,
            start,
            step,
            steps: most.div_ceil(step).max(1),
        }
    }

    pub(super) fn percent(end: f64, start: f64) -> Self {
        Self {
            end,
            start,
            step: 50,
            steps: 2,
        }
    }

    /// Returns the distance of two ticks.
    pub fn step(self) -> u64 {
        u64::try_from(self.step).unwrap_or(u64::MAX)
    }

    /// Returns the round numbers, 0 first.
    pub fn ticks(self) -> impl Iterator<Item = u64> {
        (0..=self.steps).filter_map(move |tick| u64::try_from(tick * self.step).ok())
    }

    pub fn place(self, value: u64) -> f64 {
        let share = value as f64 / (self.step * self.steps) as f64;
        self.start - share * (self.start - self.end)
    }
}

/// Horizontal axis with one band per point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Across {
    left: f64,
    band: f64,
    count: usize,
}

impl Across {
    /// Creates bands for `count` points, which is not 0.
    pub(super) fn new(left: f64, right: f64, count: usize) -> Self {
        Self {
            left,
            band: (right - left) / count.max(1) as f64,
            count,
        }
    }

    /// Returns the width of a band.
    pub(super) fn band(self) -> f64 {
        self.band
    }

    /// Returns the width of a bar; bars touch if there is no room for gaps.
    pub(super) fn bar(self, most: f64) -> f64 {
        let share = if self.band < 4.0 { 1.0 } else { 0.7 };
        (self.band * share).min(most)
    }

    /// Returns the middle of each band.
    pub(super) fn places(self) -> impl Iterator<Item = f64> {
        (0..self.count).map(move |index| self.place(index))
    }

    fn place(self, index: usize) -> f64 {
        self.left + self.band * (index as f64 + 0.5)
    }

    /// Returns the points with a height, in runs without a gap.
    pub(super) fn runs(self, heights: impl Iterator<Item = Option<f64>>) -> Vec<Vec<(f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (x, height) in self.places().zip(heights) {
            match (height, runs.last_mut()) {
                (Some(y), Some(run)) => run.push((x, y)),
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// Returns the points that get a label of this width: every one, every second, fifth, tenth and so on.
    pub(super) fn labelled(self, room: f64) -> impl Iterator<Item = (usize, f64)> {
        let every = (0..8)
            .flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)))
            .find(|every| *every as f64 * self.band >= room)
            .unwrap_or(usize::MAX);
        (0..self.count)
            .step_by(every)
            .map(move |index| (index, self.place(index)))
    }
}

/// Formats an amount on an axis: as many decimals as the step needs.
pub fn tick_dollars(tick: u64, step: u64) -> String {
    let needed = (0..6).find(|decimals| step.is_multiple_of(10_u64.pow(6 - decimals)));
    let decimals = match needed {
        _ if tick == 0 => return "$0".to_owned(),
        Some(0) => return format!("${}", grouped(tick / 1_000_000)),
        Some(decimals) => decimals.max(2),
        None => 6,
    };
    let cents = tick % 1_000_000 / 10_u64.pow(6 - decimals);
    let width = usize::try_from(decimals).unwrap_or(6);
    format!("${}.{cents:0width$}", grouped(tick / 1_000_000))
}

/// Formats an amount beside a dot: three significant digits, or cents.
pub(super) fn short_dollars(microdollars: u64) -> String {
    let grain = match microdollars {
        0..1_000 => 1,
        1_000..10_000 => 10,
        10_000..100_000 => 100,
        100_000..1_000_000 => 1_000,
        _ => 10_000,
    };
    dollars(microdollars.saturating_add(grain / 2) / grain * grain)
}

/// Formats a whole number with a letter for thousands if that is exact; a large one is rounded down for it.
pub(super) fn short_amount(number: u64) -> String {
    let mut number = number;
    let mut letter = "";
    for next in ["k", "M", "G", "T", "P"] {
        let is_round = number >= 1000 && number.is_multiple_of(1000);
        if !is_round && number < 10_000 {
            break;
        }
        number /= 1000;
        letter = next;
    }
    format!("{}{letter}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(most: u64, steps: u128, expected: &str) {
        let up = Axis::new(0.0, 100.0, most, steps);
        let ticks: Vec<String> = up
            .ticks()
            .map(|tick| tick_dollars(tick, up.step()))
            .collect();
        assert_eq!(ticks.join(" "), expected);
    }

    #[test]
    fn ticks_are_round() {
        check(15_000, 5, "$0 $0.005 $0.010 $0.015");
        check(10_000, 5, "$0 $0.002 $0.004 $0.006 $0.008 $0.010");
        check(1_900_000, 5, "$0 $0.50 $1.00 $1.50 $2.00");
        check(3, 5, "$0 $0.000001 $0.000002 $0.000003");
        check(412_000_000, 5, "$0 $100 $200 $300 $400 $500");
    }

    #[test]
    fn the_largest_value_stays_in_the_picture() {
        for most in [0, 1, 99, 100, 101, u64::MAX] {
            let up = Axis::new(10.0, 110.0, most, 4);
            assert!((10.0..=110.0).contains(&up.place(most)), "{most}");
        }
    }

    #[test]
    fn gaps_part_the_line() {
        let heights = [None, Some(1.0), Some(2.0), None, Some(3.0)];
        let runs = Across::new(0.0, 50.0, 5).runs(heights.into_iter());
        assert_eq!(runs, [vec![(15.0, 1.0), (25.0, 2.0)], vec![(45.0, 3.0)]]);
    }

    #[test]
    fn labels_keep_apart() {
        let labelled = |count| {
            let across = Across::new(0.0, 860.0, count);
            across
                .labelled(68.0)
                .map(|(index, _)| index)
                .collect::<Vec<_>>()
        };
        assert_eq!(labelled(1), [0]);
        assert_eq!(labelled(12).len(), 12);
        assert_eq!(labelled(13), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(labelled(400), [0, 50, 100, 150, 200, 250, 300, 350]);
    }

    #[test]
    fn short_forms_keep_what_matters() {
        assert_eq!(
            [0, 7, 1_237, 13_417, 123_456, 1_239_999, 12_345_678_901]
                .map(short_dollars)
                .join(" "),
            "$0.00 $0.000007 $0.00124 $0.0134 $0.123 $1.24 $12,345.68"
        );
        assert_eq!(
            [0, 1_250, 8_000, 10_000, 1_500_000, 20_000_000, u64::MAX]
                .map(short_amount)
                .join(" "),
            "0 1,250 8k 10k 1,500k 20M 18,446P"
        );
    }
}
