//! Simulations of the tests' promises: rarely wrong at any number of checks, and fast to detect.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use statistics::paired::Comparison;
use statistics::sequence::{evidence_below, evidence_of_fall, is_above, is_below};

use statistics::ERROR;

const TAU: f64 = 0.15;

/// Number of probes of a run, which is checked after each.
const LENGTH: usize = 1000;

/// Generator of evenly distributed numbers from 0 to 1 (SplitMix64), so that every run is the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Applies the rule for halts: the rate of agreement is below `1 − tau`.
fn halts(agreed: u64, disagreed: u64, tau: f64, error: f64) -> bool {
    is_below(agreed, agreed + disagreed, 1.0 - tau, error)
}

/// Returns the fewest disagreements that halt after each number of probes, by the rule itself.
fn boundary(tau: f64) -> Vec<u64> {
    let mut least = 0;
    let boundary = (0..=LENGTH as u64).map(|probes| {
        while least <= probes && !halts(probes - least, least, tau, ERROR) {
            least += 1;
        }
        // More agreement never makes the evidence stronger, so the search continues from the last value.
        least
    });
    boundary.collect()
}

/// Returns the number of probes after which an adapter of this rate is halted.
fn halted_after(dice: &mut Dice, rate: f64, boundary: &[u64]) -> Option<usize> {
    let mut disagreed = 0;
    (1..=LENGTH).find(|probes| {
        disagreed += u64::from(dice.roll() >= rate);
        disagreed >= boundary[*probes]
    })
}

/// Returns the share of runs in which an adapter that agrees just often enough is halted.
fn wrong_halts(runs: u32, boundary: &[u64]) -> f64 {
    let mut dice = Dice(7);
    let mut wrong = 0;
    for _ in 0..runs {
        wrong += u32::from(halted_after(&mut dice, 1.0 - TAU, boundary).is_some());
    }
    f64::from(wrong) / f64::from(runs)
}

#[test]
fn a_rule_that_is_made_for_one_look_fails_this_trial() {
    // At any one check it is wrong in one of a hundred runs; after every probe, far more often.
    let one_look = |probes: usize| {
        let expected = probes as f64 * TAU;
        let spread = (expected * (1.0 - TAU)).sqrt();
        let most = expected + 2.326 * spread;
        (3..=1000_u32)
            .find(|count| f64::from(*count) >= most)
            .map_or(1000, u64::from)
    };
    let boundary: Vec<u64> = (0..=LENGTH).map(one_look).collect();
    assert!(wrong_halts(2000, &boundary) > 5.0 * ERROR);
}

#[test]
fn an_adapter_at_the_boundary_is_halted_wrongly_in_at_most_one_run_of_a_hundred() {
    let share = wrong_halts(100_000, &boundary(TAU));
    assert!(share <= ERROR, "{share}");
    assert!(
        share > ERROR / 20.0,
        "a test that never halts shows nothing: {share}"
    );
}

#[test]
fn an_adapter_that_agrees_half_the_time_is_halted_within_thirty_probes() {
    let boundary = boundary(TAU);
    let mut dice = Dice(11);
    let mut lengths: Vec<usize> = (0..10_001)
        .map(|_| halted_after(&mut dice, 0.5, &boundary).unwrap_or(usize::MAX))
        .collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= 30, "{median}");
    assert!(lengths[lengths.len() * 99 / 100] <= 100);
}

#[test]
fn a_good_adapter_is_left_alone_and_a_bad_one_goes_at_once() {
    assert!(!halts(1000, 0, TAU, ERROR));
    assert!(!halts(95, 5, TAU, ERROR));
    assert!(halts(0, 4, TAU, ERROR));
    assert!(!halts(0, 3, TAU, ERROR));
    assert!(halts(25, 25, TAU, ERROR));
}

#[test]
fn the_ends_of_the_range_mean_what_they_say() {
    assert!(
        halts(1000, 1, 0.0, ERROR),
        "with no tolerance once is enough"
    );
    assert!(!halts(1000, 0, 0.0, ERROR));
    assert!(
        !halts(0, 1000, 1.0, ERROR),
        "with every tolerance nothing is too much"
    );
    for (agreed, disagreed) in [(0, 0), (7, 3), (1_000_000, 1_000_000), (u64::MAX, u64::MAX)] {
        for tau in [0.0, 1e-9, 0.15, 0.5, 0.999, 1.0] {
            let evidence = evidence_below(agreed, disagreed, 1.0 - tau);
            assert!(!evidence.is_nan(), "{agreed} {disagreed} {tau}");
        }
    }
}

#[test]
fn the_evidence_is_fair_at_the_boundary() {
    // Summed over all outcomes of twelve probes with their chances, the average capital is exactly one.
    let mean: f64 = (0..=12_u32)
        .map(|agreed| {
            let ways: f64 = (0..agreed)
                .map(|i| f64::from(12 - i) / f64::from(i + 1))
                .product();
            let chance = ways * (1.0 - TAU).powi(agreed as i32) * TAU.powi(12 - agreed as i32);
            chance * evidence_below(u64::from(agreed), u64::from(12 - agreed), 1.0 - TAU).exp()
        })
        .sum();
    assert!((mean - 1.0).abs() < 1e-9, "{mean}");
}

#[test]
fn a_fall_is_found_after_any_history_and_a_steady_rate_is_left_alone() {
    let window = 50;
    let halted_after = |dice: &mut Dice, rate: &dyn Fn(usize) -> f64, length: usize| {
        let (mut recent, mut hits) = (Vec::new(), 0);
        (1..=length).find(|n| {
            let is_hit = dice.roll() < rate(*n);
            hits += u64::from(is_hit);
            recent.push(is_hit);
            let from = recent.len().saturating_sub(window);
            // A hit never adds to the evidence.
            !is_hit && evidence_of_fall(&recent[from..], hits, *n as u64, 1.0 - TAU) >= -ERROR.ln()
        })
    };
    let (mut dice, runs) = (Dice(17), 2_000);
    let wrong = (0..runs)
        .filter(|_| halted_after(&mut dice, &|_| 1.0 - TAU, LENGTH).is_some())
        .count();
    let share = wrong as f64 / f64::from(runs);
    assert!(share <= ERROR && share > ERROR / 20.0, "{share}");
    for (history, most) in [(0, 12), (60, 30), (600, 40)] {
        let falls = |n: usize| if n > history { 0.3 } else { 0.93 };
        let mut lengths: Vec<usize> = (0..301)
            .filter_map(|_| halted_after(&mut dice, &falls, history + 400))
            .filter_map(|n| n.checked_sub(history))
            .collect();
        lengths.sort_unstable();
        assert!(lengths.len() > 290, "{history}: {}", lengths.len());
        assert!(lengths[lengths.len() / 2] <= most, "{history}: {lengths:?}");
    }
}

/// Returns the first run at which a rate is known to be above `floor`.
fn above_after(dice: &mut Dice, rate: f64, least: &[u64]) -> Option<usize> {
    let mut hits = 0;
    (1..least.len()).find(|n| {
        hits += u64::from(dice.roll() < rate);
        hits >= least[*n]
    })
}

#[test]
fn a_rate_at_the_floor_is_called_above_it_in_at_most_one_run_of_a_hundred() {
    // The floors of the pass rate and of the win rate, and histories of very different lengths behind them.
    for (floor, better, soon) in [(0.90, 0.97, 400), (0.18, 0.30, 600)] {
        let mut least: Vec<u64> = Vec::new();
        for n in 0..=LENGTH as u64 {
            let from = least.last().copied().unwrap_or(0);
            let found = (from..=n).find(|hits| is_above(*hits, n, floor, ERROR));
            least.push(found.unwrap_or(n + 1).max(from));
        }
        let (mut dice, runs) = (Dice(5), 20_000);
        let wrong = (0..runs)
            .filter(|_| above_after(&mut dice, floor, &least).is_some())
            .count();
        let share = wrong as f64 / f64::from(runs);
        assert!(share <= ERROR && share > ERROR / 20.0, "{floor}: {share}");
        let mut lengths: Vec<usize> = (0..1001)
            .map(|_| above_after(&mut dice, better, &least).unwrap_or(usize::MAX))
            .collect();
        lengths.sort_unstable();
        assert!(lengths[500] <= soon, "{floor}: {}", lengths[500]);
    }
}

#[test]
fn the_bounds_of_a_paired_comparison_hold_at_every_look() {
    let (mut dice, runs, mut wrong) = (Dice(3), 300, 0);
    for _ in 0..runs {
        // Better in 30 % and worse in 30 % of the cases: no difference on average.
        let differences: Vec<f64> = (0..200)
            .map(|_| match dice.roll() {
                low if low < 0.3 => -1.0,
                high if high > 0.7 => 1.0,
                _ => 0.0,
            })
            .collect();
        let excludes = |n: usize| {
            let found = Comparison::of(&differences[..n], ERROR);
            found.low > 0.0 || found.high < 0.0
        };
        wrong += u32::from((1..=20).any(|look| excludes(look * 10)));
    }
    // Two bounds; 6 runs of 300 are expected at most, and chance allows for some more.
    assert!(wrong <= 13, "{wrong} of {runs}");
}
