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
fn rate(count: usize, mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    count as f64 / median.as_secs_f64()
}

/// Largest resident size of this process so far, in megabytes.
#[expect(clippy::expect_used, reason = "the rows that ask need Linux")]
pub(crate) fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.expect("a peak") / 1e3
}
