//! Figures that need thousands of repetitions: the rules for halts and levels, called as by the program.

use std::thread;

use selection::promotion::{Rival, Windows};
use selection::run_log::{More, Record};
use specialist::shadow::{Probes, Settings};
use statistics::rate::rate;

use crate::chance::Chance;
use crate::report::{Figure, Goal, Halting};

/// Number of repetitions.
const TIMES: u64 = 4_000;
/// Number of probes and checks of one repetition.
const LENGTH: u64 = 1_000;
/// Number of repetitions for the picture.
const DRAWN: u64 = 400;

/// Computes the figures.
pub(crate) fn figures(
    seed: u64,
    wanted: &dyn Fn(&str) -> bool,
    tell: &dyn Fn(&str),
) -> (Vec<Figure>, Vec<Halting>) {
    let mut figures = Vec::new();
    let mut halting = Vec::new();
    let (halts, levels) = ("agreement as required", "true pass rate 0.90");
    if wanted(halts) {
        let settings = Settings::default();
        let required = 1.0 - settings.tau;
        let halted = count(seed, halts, |chance| {
            halted_after(chance, required, &settings).is_some()
        });
        figures.push(figure(
            halts,
            format!("false halts within {LENGTH} probes at {required:.2}"),
            halted,
        ));
        tell(&format!("{halts}: {halted} of {TIMES} halted"));
        for agreement in [0.0, 0.3, 0.5, 0.7, required, 0.9, 0.95] {
            halting.push(curve(seed, agreement, &settings));
        }
    }
    if wanted(levels) {
        let (passing, reached) = (0.90, 0.5);
        let early = count(seed, "pass rate", |chance| {
            let mut windows = Windows::default();
            (0..LENGTH).any(|run| {
                windows.add(
                    &record(run, chance.share() < passing, false),
                    Rival::Somebody,
                );
                let [passes, _] = windows.conditions();
                passes.met()
            })
        });
        figures.push(figure(
            levels,
            format!("L2's pass rate met at one of the first {LENGTH} looks"),
            early,
        ));
        let level = count(seed, levels, |chance| {
            let mut windows = Windows::default();
            (0..2 * LENGTH).any(|run| {
                let (passed, won) = (chance.share() < passing, chance.share() < reached);
                windows.add(&record(run, passed, won), Rival::Somebody);
                // Before that the window of contests is not full.
                run >= LENGTH && windows.conditions().iter().all(|one| one.met())
            })
        });
        figures.push(figure(
            levels,
            format!("L2 reached at one of {LENGTH} looks with full windows"),
            level,
        ));
        tell(&format!(
            "{levels}: {early} and {level} of {TIMES} reached L2"
        ));
    }
    (figures, halting)
}

fn figure(scenario: &'static str, name: String, hits: u64) -> Figure {
    let found = rate(hits, TIMES);
    Figure {
        scenario,
        name,
        value: found.value,
        shown: format!(
            "{:.2} % ({:.2}–{:.2})",
            100.0 * found.value,
            100.0 * found.low,
            100.0 * found.high
        ),
        goal: Goal::AtMost(0.01),
    }
}

/// Counts the repetitions in which an event happens, on two threads.
fn count(seed: u64, name: &str, happens: impl Fn(&mut Chance) -> bool + Sync) -> u64 {
    let half = |from: u64, to: u64| {
        let one = |at: &u64| happens(&mut Chance::new(seed, &format!("{name} {at}")));
        (from..to).filter(one).count() as u64
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| half(0, TIMES / 2));
        let second = half(TIMES / 2, TIMES);
        first.join().unwrap_or(TIMES) + second
    })
}

/// Returns the probe at which an adapter of this agreement is halted.
fn halted_after(chance: &mut Chance, agreement: f64, settings: &Settings) -> Option<u64> {
    let mut probes = Probes::default();
    (1..=LENGTH).find(|_| {
        let agreed = chance.share() < agreement;
        probes.push(agreed, settings);
        // Agreement never halts.
        !agreed && probes.judge(settings).halts
    })
}

fn curve(seed: u64, agreement: f64, settings: &Settings) -> Halting {
    let after = |at: u64| {
        let mut chance = Chance::new(seed, &format!("halting {agreement} {at}"));
        halted_after(&mut chance, agreement, settings)
    };
    let mut halted: Vec<u64> = (0..DRAWN).filter_map(after).collect();
    halted.sort_unstable();
    Halting {
        agreement,
        halted,
        of: DRAWN,
    }
}

/// Returns one run; each has a different input.
fn record(run: u64, passed: bool, won: bool) -> Record {
    Record {
        timestamp: String::new(),
        prompt_hash: format!("{run:x}"),
        model_id: "adapter".to_owned(),
        metric_version: String::new(),
        verifier_result: if passed { "PASS" } else { "FAIL" }.to_owned(),
        q0: u8::from(passed),
        q1: None,
        cost: 0.0,
        refusal_penalty: 0.0,
        reward: f64::from(u8::from(passed)),
        winner_model_id: Some(if won { "adapter" } else { "other" }.to_owned()),
        more: More {
            mode: Some("learn".to_owned()),
            ..More::default()
        },
    }
}
