//! Times two things in turns, so that a disturbance of the machine hits both, and takes medians with their quartiles.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of turns of each side. Odd, so that the median is a measured value.
const TURNS: usize = 7;

/// Flag of a quick run, set once at the start; every row reads it.
static QUICK: AtomicBool = AtomicBool::new(false);

/// Makes every row measure less: fewer turns, smaller sizes.
pub(crate) fn be_quick() {
    QUICK.store(true, Ordering::Relaxed);
}

/// Returns `true` if this run measures less.
pub(crate) fn is_quick() -> bool {
    QUICK.load(Ordering::Relaxed)
}

/// Returns the number of measurements: this one, or in a quick run a fifth of it, at least three.
pub(crate) fn turns(full: usize) -> usize {
    match is_quick() {
        true => (full / 5).clamp(3, full.max(3)) | 1,
        false => full,
    }
}

/// Returns the size of a measurement: this one, or a tenth of it in a quick run.
pub(crate) fn size(full: usize) -> usize {
    match is_quick() {
        true => full / 10,
        false => full,
    }
}

/// Median of the measurements, and the quartiles, between which half of all values lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) samples: usize,
}

impl Figure {
    /// Summarises values; without values there is no figure.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            median: quantile(&values, 0.5),
            low: quantile(&values, 0.25),
            high: quantile(&values, 0.75),
            samples: values.len(),
        }
    }

    /// Summarises times, in a unit of this many per second.
    pub(crate) fn of_times(times: &[Duration], unit: f64) -> Self {
        Self::of(times.iter().map(|time| time.as_secs_f64() * unit).collect())
    }

    /// Summarises times as rates; `count` is the work of each of them.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a benchmark are far below 2^52"
    )]
    pub(crate) fn of_rates(count: usize, times: &[Duration]) -> Self {
        let rate = |time: &Duration| count as f64 / time.as_secs_f64();
        Self::of(times.iter().map(rate).collect())
    }

    /// Converts the figure to another unit.
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

/// Returns the rate per second of each side: `(ours, peer)`. `count` is the work of one call.
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

/// Returns the times of each side, in turns, after one that warms caches.
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

/// Returns the times of `work`: this many, after one that warms caches.
pub(crate) fn times(times: usize, mut work: impl FnMut()) -> Vec<Duration> {
    work();
    (0..times).map(|_| time(&mut work)).collect()
}

/// Returns the value below which this share of the figures lies.
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

/// Returns `tools` in the target directory of this program.
#[expect(clippy::expect_used, reason = "a program lies somewhere")]
pub(crate) fn tools() -> PathBuf {
    let program = std::env::current_exe().expect("a program");
    let target = program.ancestors().nth(2).map(Path::to_owned);
    target.expect("a target folder").join("tools")
}

/// Returns the largest resident size of this process so far, in megabytes.
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
