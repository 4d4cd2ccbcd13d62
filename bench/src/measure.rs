//! Times two things in turns, so that a disturbance of the machine hits both, and takes medians with their quartiles.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Turns of each side. Odd, so that the median is a measured value.
const TURNS: usize = 7;

/// Set once at the start; every row asks how often and how much it measures.
static QUICK: AtomicBool = AtomicBool::new(false);

/// Makes every row measure less: fewer turns, smaller sizes.
pub(crate) fn be_quick() {
    QUICK.store(true, Ordering::Relaxed);
}

/// Returns `true` if this run measures less.
pub(crate) fn is_quick() -> bool {
    QUICK.load(Ordering::Relaxed)
}

/// Returns how often to measure: as often as this, or a fifth of it, at least three times, in a quick run.
pub(crate) fn turns(full: usize) -> usize {
    match is_quick() {
        true => (full / 5).clamp(3, full.max(3)) | 1,
        false => full,
    }
}

/// Returns how much to measure with: this, or a tenth of it in a quick run.
pub(crate) fn size(full: usize) -> usize {
    match is_quick() {
        true => full / 10,
        false => full,
    }
}

/// The middle of what was measured, and the quartiles, between which half of all values lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) samples: usize,
}

impl Figure {
    /// Adds values up; none at all give no figure.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            median: quantile(&values, 0.5),
            low: quantile(&values, 0.25),
            high: quantile(&values, 0.75),
            samples: values.len(),
        }
    }

    /// Adds times up, as so many units a second.
    pub(crate) fn of_times(times: &[Duration], unit: f64) -> Self {
        Self::of(times.iter().map(|time| time.as_secs_f64() * unit).collect())
    }

    /// Adds times up as rates; `count` is what each of them did.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a benchmark are far below 2^52"
    )]
    pub(crate) fn of_rates(count: usize, times: &[Duration]) -> Self {
        let rate = |time: &Duration| count as f64 / time.as_secs_f64();
        Self::of(times.iter().map(rate).collect())
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            low: self.low * factor,
            high: self.high * factor,
            samples: self.samples,
        }
    }
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self::of(vec![value])
    }
}

/// How many per second each side does: `(ours, peer)`. `count` is what one call does.
pub(crate) fn per_second(count: usize, ours: impl FnMut(), peer: impl FnMut()) -> (Figure, Figure) {
    let times = in_turns(turns(TURNS), ours, peer);
    (
        Figure::of_rates(count, &times.0),
        Figure::of_rates(count, &times.1),
    )
}

pub(crate) fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// What each side takes, in turns, after one that warms caches.
pub(crate) fn in_turns(
    turns: usize,
    mut ours: impl FnMut(),
    mut peer: impl FnMut(),
) -> (Vec<Duration>, Vec<Duration>) {
    ours();
    peer();
    (0..turns)
        .map(|_| (time(&mut ours), time(&mut peer)))
        .unzip()
}

/// What `work` takes: so many times, after one that warms caches.
pub(crate) fn times(times: usize, mut work: impl FnMut()) -> Vec<Duration> {
    work();
    (0..times).map(|_| time(&mut work)).collect()
}

/// The figure below which this share of them lies.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list of thousands"
)]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    let found = sorted.get(place).or(sorted.last());
    found.copied().unwrap_or(f64::NAN)
}

/// `tools` in the target folder, in which this program lies.
#[expect(clippy::expect_used, reason = "a program lies somewhere")]
pub(crate) fn tools() -> PathBuf {
    let program = std::env::current_exe().expect("a program");
    let target = program.ancestors().nth(2).map(Path::to_owned);
    target.expect("a target folder").join("tools")
}

/// Largest resident size of this process so far, in megabytes.
#[expect(clippy::expect_used, reason = "the rows that ask need Linux")]
pub(crate) fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.expect("a peak") / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_its_median_and_quartiles() {
        let figure = Figure::of(vec![9.0, 1.0, 3.0, 2.0, 5.0, 4.0, 7.0]);
        assert_eq!((figure.low, figure.median, figure.high), (2.0, 4.0, 7.0));
        assert_eq!(figure.samples, 7);
        assert!(Figure::of(Vec::new()).median.is_nan());
        assert_eq!(Figure::from(3.0).times(2.0).high, 6.0);
    }
}
