//! A role with one general model and four specialists over five thousand inputs, through the real dispatch code on a
//! local HTTP backend: the loop of contests, log, selector and review must find the good and the bad models.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a test that cannot go on says so by panicking, and its numbers are small"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use base::config::Config;
use base::environment::Environment;
use base::files;
use base::workspace::Workspace;
use routing::metrics::{self, Current};
use routing::runs;
use routing::selector::{self, Judge};
use routing::specialists::certify::{Proposal, Sources, read_log_of, review};
use routing::specialists::{Asked, Named, Operator, Paths, Settings, Specialists, Wanted};
use routing::verifiers::Verifiers;
use selection::canonical;
use selection::metric::{Metric, Parts};
use selection::quality;
use selection::run_log::Record;
use selection::selector::{Book, Features};
use serde_json::{Map, Value, json};
use specialist::registry::Withdrawn;
use upstream::backend::{Backends, Limits};
use upstream::blocking;
use upstream::contest::{Arena, Asking, Logs};
use upstream::dispatch::Dispatcher;

#[expect(
    dead_code,
    reason = "the other tests of this crate read more of a request"
)]
#[path = "../dispatch/adapter.rs"]
mod adapter;

use adapter::{Adapter, json as reply};

const ROLE: &str = "Worker";
const INPUTS: usize = 5000;
/// Number of inputs before a newcomer is registered, and before the log is reviewed.
const NEWCOMER_AT: usize = 2500;
const REVIEW_AT: usize = 4000;
/// Inputs between trainings of the selector.
const RETRAIN: usize = 500;

/// A topic and its words; the model of that name is good at it. The last one has no specialist.
const TOPICS: [(&str, [&str; 8]); 5] = [
    (
        "numbers",
        [
            "sum", "count", "average", "total", "percent", "ratio", "digit", "fraction",
        ],
    ),
    (
        "rivers",
        [
            "river", "bank", "flood", "stream", "water", "bridge", "delta", "ferry",
        ],
    ),
    (
        "music",
        [
            "chord", "tempo", "melody", "drum", "scale", "rhythm", "violin", "choir",
        ],
    ),
    (
        "cooking",
        [
            "salt", "oven", "flour", "butter", "simmer", "spice", "dough", "kettle",
        ],
    ),
    (
        "general",
        [
            "letter", "street", "window", "winter", "friend", "garden", "ticket", "market",
        ],
    ),
];

/// Returns a uniform number from 0 up to 1 that is determined by these words.
fn chance(words: &[&str]) -> f64 {
    let hash = canonical::hash_bytes(words.join("\u{1f}").as_bytes());
    u32::from_str_radix(&hash[..8], 16).map_or(0.0, |number| f64::from(number) / 4_294_967_296.0)
}

fn input(number: usize) -> String {
    let tag = number.to_string();
    let topic = topic(number);
    let words = TOPICS[topic].1;
    let pick = |at: usize| words[(chance(&["word", &tag, &at.to_string()]) * 8.0) as usize % 8];
    let text: Vec<&str> = (0..10).map(pick).collect();
    format!("note {number}: {}", text.join(" "))
}

fn topic(number: usize) -> usize {
    (chance(&["topic", &number.to_string()]) * 5.0) as usize % 5
}

fn number_of(input: &str) -> usize {
    let digits = input.trim_start_matches("note ").split(':').next().unwrap();
    digits.parse().unwrap()
}

fn target(number: usize) -> Value {
    let words: Vec<String> = input(number)
        .split(' ')
        .skip(2)
        .map(str::to_owned)
        .collect();
    json!({ "title": TOPICS[topic(number)].0, "summary": words.join(" "), "entities": words[..4] })
}

/// Returns a model's answer to an input; the same input always gets the same answer.
fn answer(model: &str, number: usize) -> Value {
    let tag = number.to_string();
    let at_home = model == TOPICS[topic(number)].0;
    let (passes, share) = match model {
        "refuser" => return json!({ "title": "n/a", "summary": "n/a", "entities": [] }),
        "poisoned" => (0.08, 1.0),
        "base" => (0.85, 0.6),
        "newcomer" => (0.97, 0.7),
        _ if at_home => (0.995, 1.0),
        _ => (0.97, 0.3),
    };
    if chance(&["pass", model, &tag]) >= passes {
        return json!({ "heading": "wrong keys" });
    }
    let right = target(number);
    let words: Vec<&str> = right["summary"].as_str().unwrap().split(' ').collect();
    let kept = ((words.len() as f64) * share).round() as usize;
    let entities: Vec<&str> = words
        .iter()
        .take((4.0 * share).round() as usize)
        .copied()
        .collect();
    json!({ "title": right["title"], "summary": words[..kept].join(" "), "entities": entities })
}

fn passes(said: &Value) -> bool {
    said.get("title").is_some()
}

/// Returns the value of an answer without its cost.
fn worth(model: &str, number: usize) -> f64 {
    let said = answer(model, number);
    let metric = Metric::v1();
    let passed = passes(&said);
    let vacuous = model == "refuser";
    let parts = Parts {
        passed,
        q1: Some(quality::score(metric.alpha_q1, &said, &target(number))),
        cost: 0.0,
        refusal_penalty: if vacuous { 1.0 } else { 0.0 },
    };
    if passed {
        metric.reward(parts).unwrap()
    } else {
        0.0
    }
}

fn version(model: &str, level: &str) -> Value {
    json!({
        "id": format!("{model}-1"), "adapter_id": model, "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.5,
        "certified_level": level, "exam_hash": "0".repeat(64), "field_audit_window": 200,
        "created_at": "2026-09-02T09:00:00Z",
        "verifier": { "type": "json_schema", "pass_condition": "schema_valid", "config": { "schema": {
            "type": "object", "required": ["title", "summary", "entities"],
            "properties": {
                "title": { "type": "string", "minLength": 1 }, "summary": { "type": "string", "minLength": 1 },
                "entities": { "type": "array", "items": { "type": "string" } } } } } },
        "io_contract": { "output": { "format": "json" } },
    })
}

const OPERATOR: Operator<'static> = Operator {
    name: "simulation",
    reason: "",
    now: "2026-10-01T00:00:00Z",
};

struct World {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    specialists: Specialists,
    backends: Backends,
    judge: Judge,
    trials: BTreeMap<String, u64>,
}

impl World {
    fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
        let models = [
            "base", "numbers", "rivers", "music", "cooking", "refuser", "poisoned",
        ];
        let registry = json!({
            "schema": "roleos-specialist-registry/v1",
            "specialists": [{
                "role": ROLE, "backend_url": url, "fallback": "claude", "workload_quota": 1.0,
                "active_version": "base-1",
                "versions": models.map(|model| version(model, if model == "base" { "L1" } else { "L0" })),
            }],
        });
        files::make_directory(&workspace.role_os_dir(), files::Privacy::Shared).unwrap();
        files::write(
            &paths.registry,
            registry.to_string().as_bytes(),
            files::Privacy::Shared,
        )
        .unwrap();
        let config = Config::default();
        let settings = Settings::load(&config, &Environment::default()).unwrap();
        Self {
            specialists: Specialists::new(paths, settings),
            backends: Backends::new(Limits::from(&config.specialist)),
            judge: Judge::of(&workspace),
            trials: BTreeMap::new(),
            workspace,
            _folder: folder,
        }
    }

    fn log(&self) -> PathBuf {
        runs::path(&self.workspace)
    }

    fn current(&self) -> Current {
        metrics::current(&self.workspace).unwrap()
    }

    /// Holds learning runs over some inputs.
    fn learn(&mut self, inputs: std::ops::Range<usize>) {
        let current = self.current();
        let dispatcher = Dispatcher::new(&self.specialists, &self.backends, None, &self.judge);
        let config = Config::default();
        let arena = Arena {
            dispatcher: &dispatcher,
            verifiers: Arc::new(Verifiers::new(&config.selection)),
            logs: Logs::of(&self.workspace, &config),
            measurements: 1,
            config: &config,
        };
        let trials = &mut self.trials;
        blocking::run(async {
            for number in inputs {
                let text = Value::String(input(number));
                let target = target(number);
                let prompt_hash = canonical::hash_bytes(text.as_str().unwrap().as_bytes());
                let asked = Asked {
                    role: ROLE,
                    input: &text,
                    trace_id: "simulation",
                    now: "2026-10-01T00:00:00Z",
                };
                let asking = Asking {
                    instructions: None,
                    prompt_hash: &prompt_hash,
                    further: Map::new(),
                    target: Some(&target),
                    wanted: Wanted {
                        k: 4,
                        learn: true,
                        task: None,
                        trials,
                    },
                    current: &current,
                    run_id: base::fresh_task_id().to_string(),
                };
                let contested = arena.hold(asked, asking).await;
                assert_eq!(contested.answer.not_logged, None);
                for placed in &contested.held.placed {
                    *trials.entry(placed.measured.version.clone()).or_insert(0) += 1;
                }
            }
        })
        .unwrap();
    }

    fn train(&self) -> Book {
        let features = selector::features_path(&self.workspace);
        let lessons = selector::lessons(&self.log(), &features).unwrap();
        let book = Book::train(&lessons.roles);
        selector::replace(&self.workspace, &book, &lessons, true).unwrap();
        book
    }

    /// Applies the proposals of the log: versions to prune are deprecated.
    fn review(&self) -> Vec<String> {
        let registry = self.specialists.registry().unwrap();
        let (log, metric) = (self.log(), self.current().metric);
        let known = [metric.clone()];
        let sources = Sources {
            log: &log,
            metric: &metric,
            known: &known,
            seals: &base::seals::Seals::default(),
        };
        let mut read = read_log_of(&registry, sources).unwrap();
        let seen = read.roles.remove(ROLE).unwrap_or_default();
        let mut pruned = Vec::new();
        for proposal in review(&registry, registry.entry(ROLE).unwrap(), seen) {
            if let Proposal::Prune { version, .. } = proposal {
                self.specialists
                    .withdraw(
                        ROLE,
                        &version,
                        Withdrawn::Deprecated,
                        &Value::Null,
                        OPERATOR,
                    )
                    .unwrap();
                pruned.push(version);
            }
        }
        pruned
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the lines of the log by contest.
fn contests(log: &std::path::Path) -> Vec<Vec<Record>> {
    let mut all: Vec<Vec<Record>> = Vec::new();
    runs::lines(log, |line| {
        let record = Record::parse(line).unwrap();
        match all.last_mut() {
            Some(last) if last[0].more.run_id == record.more.run_id => last.push(record),
            _ => all.push(vec![record]),
        }
    })
    .unwrap();
    all
}

#[test]
fn the_loop_finds_out_who_is_good() {
    let backend = Adapter::new(|request| {
        let model = request.body["adapter_id"].as_str().unwrap().to_owned();
        let number = number_of(request.body["input"].as_str().unwrap());
        reply(&json!({ "verdict": answer(&model, number), "adapter_id": model }))
    });
    let mut world = World::new(&backend.url);
    let mut pruned = Vec::new();
    let mut tried_when_pruned = 0;
    for start in (0..INPUTS).step_by(RETRAIN) {
        if start == NEWCOMER_AT {
            let newcomer = version("newcomer", "L0");
            world
                .specialists
                .register(ROLE, newcomer, None, None, OPERATOR)
                .unwrap();
        }
        if start == REVIEW_AT {
            pruned = world.review();
            tried_when_pruned = world.trials["poisoned-1"];
        }
        world.learn(start..start + RETRAIN);
        world.train();
    }
    let contests = contests(&world.log());
    assert_eq!(contests.len(), INPUTS);
    hypothesis_one(&contests);
    hypothesis_two(&contests);
    assert!(world.trials["newcomer-1"] >= 50, "{:?}", world.trials);
    pruned.sort();
    assert_eq!(pruned, ["poisoned-1", "refuser-1"], "and nobody who wins");
    assert_eq!(
        world.trials["poisoned-1"], tried_when_pruned,
        "what was pruned is not tried again"
    );
    choices_are_nearly_the_best(&world.train());
    let (lines, bad) = runs::verify(
        &base::seals::Seals::default(),
        &world.log(),
        vec![Metric::v1()],
    )
    .unwrap();
    assert_eq!(
        (lines as usize, bad),
        (contests.iter().map(Vec::len).sum(), Vec::new())
    );
}

/// Checks for more passes and a better median score than the general model alone.
fn hypothesis_one(contests: &[Vec<Record>]) {
    let won = |contest: &Vec<Record>| contest.iter().find(|record| record.won()).cloned();
    let winners: Vec<Record> = contests.iter().filter_map(won).collect();
    let passed = winners.len() as f64 / contests.len() as f64;
    let alone: Vec<Value> = (0..INPUTS).map(|number| answer("base", number)).collect();
    let alone_passed = alone.iter().filter(|said| passes(said)).count() as f64 / INPUTS as f64;
    assert!(
        passed >= alone_passed + 0.10,
        "{passed} against {alone_passed}"
    );
    let scores = winners.iter().filter_map(|record| record.q1).collect();
    let alone_scores = alone
        .iter()
        .enumerate()
        .map(|(number, said)| quality::score(0.4, said, &target(number)))
        .collect();
    let (together, alone) = (median(scores), median(alone_scores));
    assert!(together > alone, "{together} against {alone}");
}

/// Checks that strengths are spread, so that no model wins most contests; one that refuses fast wins none.
fn hypothesis_two(contests: &[Vec<Record>]) {
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    for contest in contests {
        if let Some(winner) = &contest[0].winner_model_id {
            *wins.entry(winner.clone()).or_insert(0) += 1;
        }
    }
    let most = wins.values().max().copied().unwrap() as f64 / contests.len() as f64;
    assert!(most <= 0.6, "{wins:?}");
    assert_eq!(wins.get("refuser"), None, "{wins:?}");
    let refused = contests
        .iter()
        .flatten()
        .filter(|record| record.model_id == "refuser");
    let refused: Vec<&Record> = refused.collect();
    assert!(refused.len() >= 50 && refused.iter().all(|record| record.refusal_penalty == 1.0));
}

/// Checks that on unseen inputs, the chosen model has at least 95 % of the value of the best one of each.
fn choices_are_nearly_the_best(book: &Book) {
    let models = ["base", "numbers", "rivers", "music", "cooking", "newcomer"];
    let selector = book.of(ROLE).unwrap();
    let (mut chosen_sum, mut best_sum) = (0.0, 0.0);
    for number in INPUTS..INPUTS + 500 {
        let features = Features::of(&input(number), &[]);
        let judged = selector.judge(&features);
        let reward = |model: &&str| {
            judged
                .score(&format!("{model}-1"))
                .map_or(0.0, |one| one.reward)
        };
        let better = |one: &&str, other: &&str| reward(one).total_cmp(&reward(other));
        let chosen = models.into_iter().max_by(better).unwrap();
        chosen_sum += worth(chosen, number);
        best_sum += models
            .map(|model| worth(model, number))
            .into_iter()
            .fold(0.0, f64::max);
    }
    assert!(chosen_sum >= 0.95 * best_sum, "{chosen_sum} of {best_sum}");
}
