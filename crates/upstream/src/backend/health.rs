//! Recent health of a backend, and its pauses, by kind of error.
//!
//! - Too busy (429, or 503 with `Retry-After`): immediately, for the requested time.
//! - Not for us (401, 403, 404): immediately, for the set time, because the next call would be refused as well.
//! - Broken (408, other 5xx, another adapter, no answer): after a number of failures in a row, for the set time.
//! - Any other answer: it is alive.

use std::time::{Duration, Instant};

use specialist::contract::Wire;

/// Pause for a backend that is too busy and does not name a time.
const BUSY: Duration = Duration::from_secs(1);

/// Longest pause that a backend may request.
const LONGEST: Duration = Duration::from_secs(600);

/// Limits of a backend that fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) failures: u64,
    pub(super) rest: Duration,
}

/// Conclusion from an answer about the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It answers.
    Alive,
    /// It requests a pause.
    Busy(Duration),
    /// It refuses all our requests.
    Refuses,
    /// It does not work.
    Broken,
}

impl Finding {
    /// Classifies a result. `is_other` is set if another adapter answered.
    pub(super) fn of(wire: &Wire, retry_after: Option<Duration>, is_other: bool) -> Self {
        let status = match wire {
            Wire::Answer { status, .. } | Wire::Broken { status, .. } => *status,
            Wire::Timeout | Wire::Failed(_) => return Self::Broken,
        };
        match (status, retry_after) {
            (429, asked) => Self::Busy(asked.unwrap_or(BUSY).min(LONGEST)),
            (503, Some(asked)) => Self::Busy(asked.min(LONGEST)),
            (401 | 403 | 404, _) => Self::Refuses,
            (408 | 500..=599, _) => Self::Broken,
            _ if is_other => Self::Broken,
            _ => Self::Alive,
        }
    }

    /// Returns `true` if another address may succeed.
    pub(super) fn is_worth_another(self) -> bool {
        self != Self::Alive
    }
}

/// Recent results.
#[derive(Debug, Default)]
pub(super) struct Health {
    failures: u64,
    rests_until: Option<Instant>,
    /// Set if one call is trying it.
    is_tried: bool,
    why: &'static str,
}

impl Health {
    /// Records the result of a call.
    pub(super) fn note(&mut self, finding: Finding, patience: Patience, now: Instant) {
        let (rest, why) = match finding {
            Finding::Alive => {
                *self = Self::default();
                return;
            }
            Finding::Busy(asked) => (Some(asked), "is too busy"),
            Finding::Refuses => (Some(patience.rest), "refuses every call"),
            Finding::Broken => {
                self.failures = self.failures.saturating_add(1);
                let enough = self.failures >= patience.failures;
                (enough.then_some(patience.rest), "failed too often in a row")
            }
        };
        if let Some(rest) = rest {
            self.rests_until = Some(now + rest);
            self.why = why;
        } else if self.is_tried {
            // Its pause was over, and one failure is not a reason for another.
            self.rests_until = None;
        }
        self.is_tried = false;
    }

    /// Returns `true` if it is paused now.
    pub(super) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| until > now)
    }

    /// Returns `true` if its pause is over and the next call tries it.
    pub(super) fn is_on_trial(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| until <= now)
    }

    /// Lets one call try it; the others wait as long as after a failure.
    pub(super) fn try_again(&mut self, patience: Patience, now: Instant) {
        self.rests_until = Some(now + patience.rest);
        self.is_tried = true;
    }

    /// Returns the reason and the remaining time of the pause.
    pub(super) fn reason(&self, now: Instant) -> String {
        let left = self.rests_until.map(|until| until.duration_since(now));
        let seconds = left.unwrap_or_default().as_secs_f64().ceil();
        format!(
            "the backend {} and is left alone for {seconds} seconds more",
            self.why
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16) -> Wire {
        Wire::Answer {
            status,
            body: Vec::new(),
        }
    }

    #[test]
    fn each_kind_of_error_has_its_own_pause() {
        let patience = Patience {
            failures: 2,
            rest: Duration::from_secs(30),
        };
        let asked = Some(Duration::from_secs(7));
        let (one, thirty) = (Duration::from_secs(1), patience.rest);
        // The result, the requested pause, and the pause of the backend after one and after two of them.
        for (wire, retry_after, is_other, first, second) in [
            (answer(200), None, false, None, None),
            (answer(200), None, true, None, Some(thirty)),
            (answer(400), None, false, None, None),
            (answer(422), asked, false, None, None),
            (answer(429), None, false, Some(one), Some(one)),
            (answer(429), asked, false, asked, asked),
            (answer(503), asked, false, asked, asked),
            (answer(503), None, false, None, Some(thirty)),
            (answer(500), asked, false, None, Some(thirty)),
            (answer(404), None, false, Some(thirty), Some(thirty)),
            (answer(401), None, false, Some(thirty), Some(thirty)),
            (Wire::Timeout, None, false, None, Some(thirty)),
            (Wire::Failed("x".into()), None, false, None, Some(thirty)),
        ] {
            let now = Instant::now();
            let mut health = Health::default();
            let finding = Finding::of(&wire, retry_after, is_other);
            for expected in [first, second] {
                health.note(finding, patience, now);
                let rests = health.rests_until.map(|until| until - now);
                assert_eq!(rests, expected, "{wire:?} {retry_after:?} {is_other}");
            }
            health.note(Finding::Alive, patience, now);
            assert!(!health.rests(now) && !health.is_on_trial(now));
        }
        // One failure after an ended pause opens nothing; a second one does.
        let mut health = Health::default();
        health.note(Finding::Busy(one), patience, Instant::now());
        let later = Instant::now() + one;
        health.try_again(patience, later);
        for rests in [false, true] {
            health.note(Finding::Broken, patience, later);
            assert_eq!(health.rests(later), rests);
        }
    }
}
