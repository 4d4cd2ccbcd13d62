//! Times two things in turns, so that a disturbance of the machine hits both, and takes medians.

use std::time::{Duration, Instant};

/// Turns of each side. Odd, so that the median is a measured value.
const TURNS: usize = 7;

/// How many per second each side does: `(ours, peer)`. `count` is what one call does.
pub(crate) fn per_second(
    count: usize,
    mut ours: impl FnMut(),
    mut peer: impl FnMut(),
) -> (f64, f64) {
    // The first turn warms caches and is not counted.
    ours();
    peer();
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        times.0.push(time(&mut ours));
        times.1.push(time(&mut peer));
    }
    (rate(count, times.0), rate(count, times.1))
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are far below 2^52"
)]
fn rate(count: usize, times: Vec<Duration>) -> f64 {
    count as f64 / middle(times).as_secs_f64()
}

/// What `work` takes: the median of so many times, after one that warms caches.
pub(crate) fn median_time(times: usize, mut work: impl FnMut()) -> Duration {
    work();
    middle((0..times).map(|_| time(&mut work)).collect())
}

/// The median of times.
pub(crate) fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The median of figures.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
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

/// Largest resident size of this process so far, in megabytes.
#[expect(clippy::expect_used, reason = "the rows that ask need Linux")]
pub(crate) fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.expect("a peak") / 1e3
}
