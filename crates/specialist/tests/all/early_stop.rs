//! What the early stop promises, played out: rarely wrong however long one looks, and quick where it matters.

use specialist::early_stop::{halts, log_evidence};

const ERROR: f64 = 0.01;
const TAU: f64 = 0.15;

/// How many probes a run is looked at after each.
const LENGTH: usize = 1000;

/// A small generator of even numbers from 0 to 1 (SplitMix64), so that every run is the same.
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

/// The fewest disagreements that halt after so many probes, from the rule itself.
fn boundary(tau: f64) -> Vec<u64> {
    let mut least = 0;
    let boundary = (0..=LENGTH as u64).map(|probes| {
        while least <= probes && !halts(probes - least, least, tau, ERROR) {
            least += 1;
        }
        // More agreement never makes the evidence stronger, so the search goes on from the last place.
        least
    });
    boundary.collect()
}

/// After how many probes an adapter of this rate is halted.
fn halted_after(dice: &mut Dice, rate: f64, boundary: &[u64]) -> Option<usize> {
    let mut disagreed = 0;
    (1..=LENGTH).find(|probes| {
        disagreed += u64::from(dice.roll() >= rate);
        disagreed >= boundary[*probes]
    })
}

/// The share of runs in which an adapter that agrees just often enough is halted.
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
    // At any one look it is wrong in one of a hundred runs; after every probe, far more often.
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
            let evidence = log_evidence(agreed, disagreed, tau);
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
            chance * log_evidence(u64::from(agreed), u64::from(12 - agreed), TAU).exp()
        })
        .sum();
    assert!((mean - 1.0).abs() < 1e-9, "{mean}");
}
