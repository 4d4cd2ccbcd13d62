//! A report as text.

use statistics::paired_outcomes::upper_bound_of_none;

use super::{Report, float};

impl Report {
    /// Returns the report as text.
    #[must_use]
    pub fn text(&self) -> String {
        let [value, low, high] = self.solve_rate.map(|share| share * 100.0);
        let planned = self.tasks * u64::from(self.run.attempts);
        let need = (float(planned) * 0.6).ceil();
        let mut lines = vec![format!(
            "{}   {} of {planned} solved ({value:.1} %, 95 % interval {low:.1}–{high:.1}); needs {need:.0}",
            self.verdict, self.solved
        )];
        lines.push(self.support());
        let bound = upper_bound_of_none(planned) * 100.0;
        let safety = match self.policy_violations {
            0 => format!(
                "policy_violations 0 (0 in {planned} tasks; rates up to {bound:.1} % are compatible)"
            ),
            count => format!("policy_violations {count}"),
        };
        lines.push(format!("  {safety}   refused attempts {}", self.refused));
        let [rollbacks, restored] = self.rollbacks;
        let restored = if rollbacks == restored {
            "all restored".to_owned()
        } else {
            format!("{restored} restored")
        };
        lines.push(format!(
            "  evidence {} of {}   rollbacks {rollbacks}, {restored}   errors {}, skipped {} (count as not solved)",
            self.with_evidence, self.solved, self.errors, self.skipped
        ));
        lines.push(self.cost_line());
        if self.disk_bytes > 0 {
            lines.push(format!(
                "  disk at most {} MiB per slot   overhead {} ms per trial beside agent and tests",
                self.disk_bytes.div_ceil(1 << 20),
                self.overhead_ms
            ));
        }
        if let Some((low, high)) = self.cluster_interval {
            lines.push(format!(
                "  with repositories drawn first the interval is {:.1}–{:.1}",
                low * 100.0,
                high * 100.0
            ));
        }
        for (k, at, all) in &self.attempts {
            lines.push(format!("  pass@{k} {at:.3}   pass^{k} {all:.3}"));
        }
        if self.run.attempts > 1 {
            lines.push(format!(
                "  {:.0} % of the tasks are solved by some attempts and not by others",
                self.flip_rate * 100.0
            ));
        }
        if self.touched_guarded > 0 {
            lines.push(format!(
                "  {} trials touched test files or settings of tests; none of that counted",
                self.touched_guarded
            ));
        }
        for part in &self.parts {
            lines.push(format!(
                "  {} {}: {} of {}",
                part.by, part.name, part.solved, part.of
            ));
        }
        let causes: Vec<String> = self
            .causes
            .iter()
            .map(|(cause, count)| format!("{cause} {count}"))
            .collect();
        if !causes.is_empty() {
            lines.push(format!("  not solved: {}", causes.join(", ")));
        }
        for reason in &self.reasons {
            lines.push(format!("  because {reason}"));
        }
        if let Some((before, found)) = &self.baseline {
            let text = found.text(before);
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        let run = &self.run;
        let short = |text: &str| text.chars().take(8).collect::<String>();
        lines.push(format!(
            "  suite {} {}… policy {} agent {} mode {} sandbox {}, supervised {}",
            run.suite_name,
            short(&run.suite_digest),
            run.policy,
            run.agent_name,
            run.mode,
            run.sandbox,
            run.governance
        ));
        lines.push(if run.harness_check {
            format!("  harness check: `{}` is built in and says nothing about an agent", run.agent_name)
        } else {
            let older = match &*run.cutoff {
                "" => "older fixes".to_owned(),
                cutoff => format!("fixes before {cutoff}"),
            };
            format!("  these numbers hold for tasks like those of this suite; {older} may be known to the model")
        });
        lines.join("\n") + "\n"
    }

    /// Describes the true rates that the number of solved tasks supports, and the error rate of the criterion.
    fn support(&self) -> String {
        let planned = self.tasks * u64::from(self.run.attempts);
        let [_, low, high] = self.solve_rate.map(|share| share * 100.0);
        let need = (0..=planned).find(|count| float(*count) >= float(planned) * 0.6);
        let passes = chance_of_at_least(need.unwrap_or(planned), planned, 0.5) * 100.0;
        let misses = (1.0 - chance_of_at_least(need.unwrap_or(planned), planned, 0.65)) * 100.0;
        format!(
            "  a true rate anywhere from {low:.0} to {high:.0} % fits this; the criterion lets an agent of 50 % pass in {passes:.0} % of runs and fails one of 65 % in {misses:.0} %"
        )
    }

    fn cost_line(&self) -> String {
        match (self.cost_per_solve, self.cost_interval, self.without_cost) {
            (Some(cost), Some((low, high)), _) => {
                let high = high.map_or("∞".to_owned(), |high| format!("{high:.2}"));
                format!("  cost ${cost:.2} per solve ({low:.2}–{high})")
            }
            (Some(cost), None, without) => {
                format!("  cost ≥ ${cost:.2} per solve, {without} tasks without known cost")
            }
            (None, _, 0) => "  cost $0.00".to_owned(),
            (None, _, without) => format!("  cost unknown, {without} tasks without known cost"),
        }
    }
}

/// Returns the probability of at least `least` successes in `of` trials that each succeed with `rate`.
fn chance_of_at_least(least: u64, of: u64, rate: f64) -> f64 {
    // With logarithms, because the single terms are too small for many trials.
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for count in 0..=of {
        if count > 0 {
            log_choose += (float(of - count + 1) / float(count)).ln();
        }
        if count >= least {
            sum += (log_choose + float(count) * rate.ln() + float(of - count) * (1.0 - rate).ln())
                .exp();
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::chance_of_at_least;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        for (rate, expected) in [
            (0.50, 0.028),
            (0.55, 0.18),
            (0.60, 0.54),
            (0.65, 0.88),
            (0.70, 0.99),
        ] {
            let found = chance_of_at_least(60, 100, rate);
            assert!((found - expected).abs() < 0.01, "{rate}: {found}");
        }
        assert!((chance_of_at_least(0, 10, 0.3) - 1.0).abs() < 1e-9);
        assert!((chance_of_at_least(2, 2, 0.5) - 0.25).abs() < 1e-9);
    }
}
