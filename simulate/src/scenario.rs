//! The scenarios: the commands of an operator, then fresh requests at default settings.
//!
//! While twins learn from traffic, `learn_share` is set; before the measured requests it is reset.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Result;
use crate::models::{Bill, Form, Models, Skill};
use crate::place::{Place, ROLE, Up};
use crate::report::{Figure, Goal};
use crate::traffic::{Seen, Source, probes, send};
use crate::world::World;

/// Number of cases of an exam.
const EXAM: usize = 300;
/// Number of contests for training.
const LEARNED: usize = 400;
/// Number of texts of another language.
const FOREIGN: usize = 100;
/// Probability that a good adapter is right; an exam requires 0.95.
const GOOD: f64 = 0.98;
/// Probability that a version is right which must not pass its exam.
const WORSE: f64 = 0.90;
/// Number of such versions that try.
const ATTEMPTS: usize = 5;
/// Limit of requests until a bad adapter must be halted.
const PATIENCE: usize = 4_000;
/// Time limit for probes in the background.
const SETTLING: Duration = Duration::from_secs(20);

/// A scenario from its first command to its figures.
type Scenario = fn(&mut Stage<'_>) -> Result<Vec<Figure>>;

/// Runs every wanted scenario.
pub(crate) fn play(
    roleos: &Path,
    seed: u64,
    requests: u64,
    wanted: &dyn Fn(&str) -> bool,
    tell: &dyn Fn(&str),
) -> Result<Vec<Figure>> {
    let world = World::new(seed);
    let requests = usize::try_from(requests).unwrap_or(1000);
    let scenarios: [(&'static str, Scenario); 6] = [
        ("three topic specialists", topics),
        ("two equally good", twins),
        ("one good", one),
        ("always wrong, well-formed", wrong),
        ("drifting", drifting),
        ("free text", text),
    ];
    let mut figures = Vec::new();
    for (name, scenario) in scenarios {
        if !wanted(name) {
            continue;
        }
        let form = if name == "free text" {
            Form::Text
        } else {
            Form::Label
        };
        let models = Models::start(seed, form)?;
        let mut stage = Stage {
            name,
            place: Place::new(roleos, &models)?,
            source: Source::new(&world, &models, seed, name),
            models,
            requests,
            tell: &|text| tell(&format!("{name}: {text}")),
        };
        figures.extend(scenario(&mut stage)?);
    }
    Ok(figures)
}

/// A running scenario.
struct Stage<'a> {
    name: &'static str,
    place: Place,
    models: Models,
    source: Source<'a>,
    requests: usize,
    tell: &'a dyn Fn(&str),
}

impl Stage<'_> {
    fn figure(&self, name: &str, value: f64, shown: String, goal: Goal) -> Figure {
        Figure {
            scenario: self.name,
            name: name.to_owned(),
            value,
            shown,
            goal,
        }
    }

    /// Registers a good adapter, examines and certifies it; returns its version.
    fn certify(&self, model: &str, skill: Skill, exam: &Path) -> Result<String> {
        self.models.set(model, skill);
        let version = self.place.register(model)?;
        let ran = self.place.audit(&version, exam)?;
        (self.tell)(&format!("exam of {model} ended with {}", ran.code));
        self.place
            .roleos(&["specialist", "certify", ROLE, &version])?;
        Ok(version)
    }

    fn exam(&mut self, name: &str, topic: Option<usize>) -> Result<std::path::PathBuf> {
        let inputs = self.source.take(EXAM, topic);
        self.place.set(name, &inputs)
    }

    /// Holds learning contests and trains the selector.
    fn learn(&mut self) -> Result<()> {
        let inputs = self.source.take(LEARNED, None);
        let set = self.place.set("learn", &inputs)?;
        let set = set.to_string_lossy();
        self.place
            .roleos(&["dispatch", ROLE, "--learn", "--cases", &set])?;
        (self.tell)(&format!("{LEARNED} learning contests held"));
        self.train()
    }

    fn train(&self) -> Result<()> {
        let ran = self.place.roleos(&["selector", "train"])?;
        let contests = ran.value.get("contests").cloned().unwrap_or_default();
        (self.tell)(&format!("selector trained from {contests} contests"));
        Ok(())
    }

    /// Sends fresh requests and foreign texts; returns the figures of every scenario that serves.
    fn serve(&mut self, share: Goal, others: bool) -> Result<Vec<Figure>> {
        let up = self.place.up()?;
        let before = self.models.bills();
        let inputs = self.source.take(self.requests, None);
        let seen = send(&up, &self.models, &inputs)?;
        let made = self.settle(&seen)?;
        let spent = spent(&before, &self.models.bills());
        let foreign = self.source.foreign(FOREIGN);
        let strange = send(&up, &self.models, &foreign)?;
        drop(up);
        let cost = spent / seen.general_usd;
        // The cost of exams and learning so far, over the savings per request.
        let learning = self::spent(&Bills::new(), &before);
        let paid_back = learning * part(seen.n, 1) / (seen.general_usd - spent).max(1e-9);
        let (routed, right) = (part(seen.routed, seen.n), part(seen.right, seen.n));
        let general = part(seen.general_right, seen.n);
        let own = part(seen.routed_right, seen.routed);
        (self.tell)(&format!(
            "served {}: routed {routed:.3}, right {right:.3} (general {general:.3}), cost {cost:.3}; others {:?}",
            seen.n, seen.reasons
        ));
        let (goal_right, goal_cost) = match others {
            true => (Goal::AtLeast(0.0), Goal::AtMost(0.5)),
            false => (Goal::None, Goal::None),
        };
        let shown = format!("{right:.3} ({general:.3})");
        Ok(vec![
            self.figure("share routed", routed, format!("{routed:.3}"), share),
            self.figure(
                "accuracy (general model alone)",
                right - general,
                shown,
                goal_right,
            ),
            self.figure("accuracy of adapters", own, format!("{own:.3}"), Goal::None),
            self.figure(
                "cost against all-general",
                cost,
                format!("{cost:.3}"),
                goal_cost,
            ),
            self.figure(
                "requests until exams and learning are paid back",
                paid_back,
                format!("{paid_back:.0}"),
                Goal::None,
            ),
            self.figure(
                "false halts (agreeing probes)",
                f64::from(u8::from(seen.halted > 0)),
                format!("{} ({} of {})", u8::from(seen.halted > 0), made.1, made.0),
                Goal::AtMost(0.0),
            ),
            self.figure(
                "texts without a known word that were routed",
                part(strange.routed, 1),
                format!("{} of {}", strange.routed, strange.n),
                Goal::AtMost(0.0),
            ),
        ])
    }

    /// Waits until the due probes were made.
    fn settle(&self, seen: &Seen) -> Result<(u64, u64)> {
        let since = Instant::now();
        loop {
            let made = probes(&self.place)?;
            if made.0 >= seen.probes || since.elapsed() > SETTLING {
                return Ok(made);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Sends requests until the role is halted; returns their statistics. Stops after [`PATIENCE`].
    fn until_halted(&mut self, up: &Up) -> Result<Seen> {
        let mut seen = Seen::default();
        while seen.halted == 0 && seen.n < PATIENCE as u64 {
            let inputs = self.source.take(20, None);
            seen.add(&send(up, &self.models, &inputs)?);
        }
        Ok(seen)
    }
}

/// Runs three adapters that know one topic each, of five.
fn topics(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let mut versions = Vec::new();
    for (home, model) in ["adapter-one", "adapter-two", "adapter-three"]
        .into_iter()
        .enumerate()
    {
        let skill = Skill {
            home: Some(home),
            at_home: GOOD,
            away: 0.3,
        };
        let exam = stage.exam(model, Some(home))?;
        versions.push(stage.certify(model, skill, &exam)?);
    }
    stage.learn()?;
    let mut words = vec!["specialist", "beside", ROLE];
    if let Some((first, others)) = versions.split_first() {
        stage
            .place
            .roleos(&["specialist", "promote", ROLE, first])?;
        words.extend(others.iter().map(String::as_str));
    }
    stage.place.roleos(&words)?;
    stage.serve(Goal::AtLeast(0.5), true)
}

/// Runs two adapters that are equally good everywhere; the selector learns from traffic.
fn twins(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let exam = stage.exam("exam", None)?;
    let first = stage.certify("adapter-one", Skill::even(GOOD), &exam)?;
    let second = stage.certify("adapter-two", Skill::even(GOOD), &exam)?;
    stage
        .place
        .roleos(&["specialist", "promote", ROLE, &first])?;
    stage
        .place
        .roleos(&["specialist", "beside", ROLE, &second])?;
    stage.place.configure("[selection]\nlearn_share = 0.5\n")?;
    let up = stage.place.up()?;
    let inputs = stage.source.take(LEARNED, None);
    let seen = send(&up, &stage.models, &inputs)?;
    let trained = stage.trained()?;
    drop(up);
    (stage.tell)(&format!(
        "learned from {} requests of traffic: {trained}, routed meanwhile {}",
        seen.n, seen.routed
    ));
    stage.place.configure("")?;
    stage.serve(Goal::AtLeast(0.9), false)
}

impl Stage<'_> {
    /// Waits until learning from traffic has finished; returns its part of `status`.
    fn trained(&self) -> Result<String> {
        let since = Instant::now();
        let mut last = String::new();
        let mut still = 0;
        while since.elapsed() < SETTLING && still < 5 {
            thread::sleep(Duration::from_millis(400));
            let now = stage_learning(&self.place)?;
            still = if now == last { still + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }
}

fn stage_learning(place: &Place) -> Result<String> {
    let ran = place.roleos(&["specialist", "status"])?;
    Ok(ran
        .value
        .get("learning")
        .map(ToString::to_string)
        .unwrap_or_default())
}

/// Runs one good adapter; then worse versions take the same exam and try to replace it.
fn one(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let exam = stage.exam("exam", None)?;
    let version = stage.certify("adapter-one", Skill::even(GOOD), &exam)?;
    stage.learn()?;
    stage
        .place
        .roleos(&["specialist", "promote", ROLE, &version])?;
    let mut figures = stage.serve(Goal::AtLeast(0.9), false)?;
    let mut promoted = 0;
    for at in 0..ATTEMPTS {
        let model = format!("adapter-worse-{at}");
        stage.models.set(&model, Skill::even(WORSE));
        let worse = stage.place.register(&model)?;
        stage.place.audit(&worse, &exam)?;
        stage
            .place
            .try_roleos(&["specialist", "certify", ROLE, &worse])?;
        let ran = stage
            .place
            .try_roleos(&["specialist", "promote", ROLE, &worse])?;
        promoted += u32::from(ran.code == 0);
    }
    (stage.tell)(&format!(
        "{promoted} of {ATTEMPTS} worse versions were promoted"
    ));
    figures.push(stage.figure(
        "false promotions (right in 0.90, over 0.98)",
        f64::from(promoted),
        format!("{promoted} of {ATTEMPTS}"),
        Goal::AtMost(0.0),
    ));
    Ok(figures)
}

/// Runs an adapter whose every answer is well-formed and wrong: by the rules, then forced.
fn wrong(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let exam = stage.exam("exam", None)?;
    let model = "adapter-wrong";
    stage.models.set(model, Skill::even(0.0));
    let version = stage.place.register(model)?;
    let examined = stage.place.audit(&version, &exam)?;
    let certified = stage
        .place
        .try_roleos(&["specialist", "certify", ROLE, &version])?;
    let reason = ["--force", "--reason", "a test"];
    let promote = [&["specialist", "promote", ROLE, &version][..], &reason].concat();
    let promoted = stage.place.try_roleos(&promote)?;
    (stage.tell)(&format!(
        "exam {}, certify {}, promote --force {}",
        examined.code, certified.code, promoted.code
    ));
    let earned = u8::from(examined.code == 0 || certified.code == 0 || promoted.code == 0);
    let mut figures = vec![stage.figure(
        "certified",
        f64::from(earned),
        if earned == 0 { "never" } else { "yes" }.to_owned(),
        Goal::AtMost(0.0),
    )];
    force(stage, &exam)?;
    let up = stage.place.up()?;
    let inputs = stage.source.take(stage.requests.min(500), None);
    let seen = send(&up, &stage.models, &inputs)?;
    figures.push(stage.figure(
        "share routed, forced in at the default threshold",
        part(seen.routed, seen.n),
        format!("{:.3}", part(seen.routed, seen.n)),
        Goal::None,
    ));
    stage
        .place
        .roleos(&["specialist", "set", ROLE, "--threshold", "0"])?;
    let before = probes(&stage.place)?.0;
    let seen = stage.until_halted(&up)?;
    figures.extend(stage.halting(&seen, before, Goal::AtMost(30.0))?);
    Ok(figures)
}

/// Registers such an adapter with a level that a person claims for it, and promotes it against its exam.
fn force(stage: &mut Stage<'_>, exam: &Path) -> Result<()> {
    let model = "adapter-forced";
    stage.models.set(model, Skill::even(0.0));
    let file = stage.place.claimed(model)?;
    let file = file.to_string_lossy();
    stage.place.roleos(&[
        "specialist",
        "register",
        ROLE,
        &file,
        "--certified-by",
        "a person",
    ])?;
    stage.place.audit(model, exam)?;
    stage.learn()?;
    let promote = ["specialist", "promote", ROLE, model];
    let refused = stage.place.try_roleos(&promote)?;
    let forced = [&promote[..], &["--force", "--reason", "to see the halt"]].concat();
    stage.place.roleos(&forced)?;
    (stage.tell)(&format!(
        "promotion ended with {}, forced with 0",
        refused.code
    ));
    Ok(())
}

impl Stage<'_> {
    /// Returns the figures of an adapter that had to be halted.
    fn halting(&self, seen: &Seen, before: u64, goal: Goal) -> Result<Vec<Figure>> {
        let made = self.settle(seen)?.0 - before;
        let wrong = seen.routed - seen.routed_right;
        let (value, shown) = match seen.halted {
            0 => (f64::INFINITY, format!("not halted in {made}")),
            _ => (part(made, 1), made.to_string()),
        };
        (self.tell)(&format!(
            "{shown} probes to halt, {wrong} wrong answers served"
        ));
        Ok(vec![
            self.figure("probes to halt", value, shown, goal),
            self.figure(
                "wrong answers served until then",
                part(wrong, 1),
                wrong.to_string(),
                Goal::None,
            ),
        ])
    }
}

/// Runs a good adapter that loses its knowledge while it serves.
fn drifting(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let exam = stage.exam("exam", None)?;
    let model = "adapter-drifting";
    let version = stage.certify(model, Skill::even(GOOD), &exam)?;
    stage.learn()?;
    stage
        .place
        .roleos(&["specialist", "promote", ROLE, &version])?;
    let mut figures = stage.serve(Goal::AtLeast(0.9), false)?;
    let up = stage.place.up()?;
    let before = probes(&stage.place)?.0;
    stage.models.set(model, Skill::even(0.3));
    let seen = stage.until_halted(&up)?;
    figures.extend(stage.halting(&seen, before, Goal::AtMost(60.0))?);
    Ok(figures)
}

/// Runs an adapter that answers in sentences, each worded differently from the general model's.
fn text(stage: &mut Stage<'_>) -> Result<Vec<Figure>> {
    let exam = stage.exam("exam", None)?;
    let version = stage.certify("adapter-text", Skill::even(GOOD), &exam)?;
    stage.learn()?;
    stage
        .place
        .roleos(&["specialist", "promote", ROLE, &version])?;
    stage.serve(Goal::AtLeast(0.9), false)
}

/// Returns the cost of all models together between two bills.
fn spent(before: &Bills, after: &Bills) -> f64 {
    let sum = |bills: &Bills| bills.values().map(|bill| bill.usd).sum::<f64>();
    sum(after) - sum(before)
}

type Bills = std::collections::BTreeMap<String, Bill>;

#[expect(clippy::cast_precision_loss, reason = "counts of requests")]
fn part(count: u64, all: u64) -> f64 {
    count as f64 / all.max(1) as f64
}
