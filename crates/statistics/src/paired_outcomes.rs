//! Compares two runs of the same tasks, each solved or not: the exact test of McNemar, and one that may be evaluated
//! every night.

/// Tasks with different outcomes in two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discordant {
    /// Number of tasks solved before and not now.
    pub lost: u64,
    /// Number of tasks not solved before and solved now.
    pub won: u64,
}

impl Discordant {
    /// Returns the two-sided p-value that losing and winning are equally likely.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        let n = self.lost + self.won;
        let fewer = self.lost.min(self.won);
        let mut sum = 0.0;
        for i in 0..=fewer {
            sum += (ln_choose(n, i) - count(n) * std::f64::consts::LN_2).exp();
        }
        (2.0 * sum).min(1.0)
    }

    /// Returns the evidence against a fair coin: the capital of a bettor with a Beta(½, ½) mixture. At 20 the claim
    /// that nothing changed is rejected, at an error of 5 % over all checks.
    #[must_use]
    pub fn e_value(&self) -> f64 {
        let (lost, won) = (count(self.lost), count(self.won));
        let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
        (ln_beta(lost + 0.5, won + 0.5) - ln_beta(0.5, 0.5) + (lost + won) * std::f64::consts::LN_2)
            .exp()
    }
}

/// Evidence from which a change counts as shown.
pub const ALARM: f64 = 20.0;

/// Returns the upper bound at 95 % of a rate without a hit in `n` cases.
#[must_use]
pub fn upper_bound_of_none(n: u64) -> f64 {
    if n == 0 {
        1.0
    } else {
        1.0 - 0.05_f64.powf(1.0 / count(n))
    }
}

/// Returns the chance that at least one of `k` attempts solves, from `solved` of `n`.
#[must_use]
pub fn pass_at(k: u64, solved: u64, n: u64) -> f64 {
    if n.saturating_sub(solved) < k {
        1.0
    } else {
        1.0 - (ln_choose(n - solved, k) - ln_choose(n, k)).exp()
    }
}

/// Returns the chance that all of `k` attempts solve, from `solved` of `n`.
#[must_use]
pub fn pass_all(k: u64, solved: u64, n: u64) -> f64 {
    if solved < k || n < k {
        0.0
    } else {
        (ln_choose(solved, k) - ln_choose(n, k)).exp()
    }
}

fn ln_choose(n: u64, k: u64) -> f64 {
    ln_gamma(count(n) + 1.0) - ln_gamma(count(k) + 1.0) - ln_gamma(count(n.saturating_sub(k)) + 1.0)
}

/// Returns the logarithm of the gamma function, by Lanczos.
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const C: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut place = 1.0;
    for c in C {
        sum += c / (x + place);
        place += 1.0;
    }
    let t = x + G + 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Generator of the same numbers for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Creates a generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `n`, 0 for none.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let high = (u128::from(z) * n as u128) >> 64;
        usize::try_from(high).unwrap_or(0)
    }
}

/// Number of draws of a bootstrap.
const DRAWS: usize = 10_000;

/// Returns a 95 % interval of the rate of `true`, with whole clusters drawn first and then their members.
#[must_use]
pub fn cluster_interval(clusters: &[Vec<bool>], seed: u64) -> Option<(f64, f64)> {
    let clusters: Vec<&Vec<bool>> = clusters
        .iter()
        .filter(|cluster| !cluster.is_empty())
        .collect();
    if clusters.len() < 2 {
        return None;
    }
    let mut draws = Draws::new(seed);
    let mut rates: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (mut hits, mut n) = (0, 0);
            for _ in 0..clusters.len() {
                let Some(cluster) = clusters.get(draws.below(clusters.len())) else {
                    continue;
                };
                for _ in 0..cluster.len() {
                    hits += u64::from(cluster.get(draws.below(cluster.len())) == Some(&true));
                    n += 1;
                }
            }
            count(hits) / count(n)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    Some((*rates.get(DRAWS / 40)?, *rates.get(DRAWS - DRAWS / 40)?))
}

/// Returns a 95 % interval of the cost of all per solved one. The upper end is infinite if too many draws solve
/// nothing.
#[must_use]
pub fn cost_interval(tasks: &[(bool, u64)], seed: u64) -> Option<(f64, f64)> {
    if !tasks.iter().any(|(solved, _)| *solved) {
        return None;
    }
    let mut draws = Draws::new(seed);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (mut cost, mut solved) = (0, 0);
            for _ in 0..tasks.len() {
                if let Some((is_solved, one)) = tasks.get(draws.below(tasks.len())) {
                    cost += one;
                    solved += u64::from(*is_solved);
                }
            }
            if solved == 0 {
                f64::INFINITY
            } else {
                count(cost) / count(solved)
            }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some((*ratios.get(DRAWS / 40)?, *ratios.get(DRAWS - DRAWS / 40)?))
}

#[expect(clippy::cast_precision_loss, reason = "counts of tasks and their cost")]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_the_books() {
        for (lost, won, is_significant) in [
            (6, 0, true),
            (5, 0, false),
            (8, 1, true),
            (10, 2, true),
            (12, 3, true),
            (13, 4, true),
            (15, 5, true),
            (17, 6, true),
            (18, 7, true),
            (17, 7, false),
        ] {
            let p = Discordant { lost, won }.p_value();
            assert_eq!(p <= 0.05, is_significant, "{lost}:{won} {p}");
        }
        assert!((Discordant { lost: 5, won: 0 }.p_value() - 0.0625).abs() < 1e-9);
        assert!((Discordant { lost: 3, won: 5 }.p_value() - 0.7266).abs() < 1e-3);
        assert!((Discordant::default().p_value() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn evidence_alarms_where_the_mixture_does() {
        for (lost, won) in [(7, 0), (11, 1), (14, 2), (16, 3), (18, 4), (21, 5)] {
            assert!(Discordant { lost, won }.e_value() >= ALARM, "{lost}:{won}");
            assert!(
                Discordant {
                    lost: lost - 1,
                    won
                }
                .e_value()
                    < ALARM,
                "{}:{won}",
                lost - 1
            );
        }
        // A fair bet: over all results of ten fair coins the mean capital is one.
        let mean: f64 = (0..=10)
            .map(|lost| {
                Discordant {
                    lost,
                    won: 10 - lost,
                }
                .e_value()
                    * (ln_choose(10, lost) - 10.0 * std::f64::consts::LN_2).exp()
            })
            .sum();
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn attempts_and_absences_are_counted() {
        assert!((pass_at(1, 3, 5) - 0.6).abs() < 1e-9);
        assert!((pass_at(3, 3, 5) - 1.0).abs() < 1e-9);
        assert!((pass_all(3, 3, 5) - 0.1).abs() < 1e-9);
        assert!((upper_bound_of_none(100) - 0.0295).abs() < 1e-4);
    }

    #[test]
    fn intervals_hold_the_rate_and_repeat() {
        let clusters = vec![vec![true; 30], [vec![true; 10], vec![false; 30]].concat()];
        let (low, high) = cluster_interval(&clusters, 1).unwrap();
        assert!(
            low < 40.0 / 70.0 && 40.0 / 70.0 < high && high - low > 0.3,
            "{low} {high}"
        );
        assert_eq!(cluster_interval(&clusters, 1), Some((low, high)));
        assert_eq!(cluster_interval(&clusters[..1], 1), None);
        let tasks = [(true, 10), (false, 10), (true, 30)];
        let (low, high) = cost_interval(&tasks, 1).unwrap();
        assert!(low <= 25.0 && 25.0 <= high && high.is_infinite());
        assert_eq!(cost_interval(&[(false, 3)], 1), None);
    }
}
