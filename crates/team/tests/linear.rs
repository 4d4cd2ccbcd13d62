//! Histories of four programs on one database, checked for linearizability: each operation must appear to happen at one
//! moment between its call and its answer. Without the locks on rows the same check must fail.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use ::routing::shared::REGISTRY;
use ::routing::specialists::{Asked, Named, Operator, Paths, Promotion, Settings, Specialists};
use ::specialist::classifier::Embedding;
use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use serde_json::{Value, json};
use team::throwaway::{Durability, Server};
use team::{Address, Routing, Team};

/// Programs of a run, and operations of each; together at most 64.
const PROGRAMS: usize = 4;
const OPERATIONS: usize = 8;

/// Request of a caller, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Done {
    /// Promotion, with the version that was active before.
    Promote(usize, usize),
    /// Rollback, with the version that was active before; `None` if the wanted one was never active.
    Rollback(usize, Option<usize>),
    /// Halt; `true` if it was halted already.
    Halt(bool),
    /// Clearing; `true` if there was a halt to lift.
    Clear(bool),
    /// Dispatch, with the version that may answer; `None` if the role is halted.
    Dispatch(Option<usize>),
}

/// One operation with the moments of its call and its answer.
#[derive(Clone, Debug)]
struct Operation {
    called: Instant,
    answered: Instant,
    done: Done,
}

/// The state that a single program would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Model {
    active: usize,
    was_active: [bool; 2],
    halted: bool,
}

impl Model {
    /// Returns the model afterwards; `None` if the answer contradicts it.
    fn after(self, done: &Done) -> Option<Self> {
        let point = |to: usize| Self {
            active: to,
            was_active: self.was_active.map(|was| was || to != self.active),
            ..self
        };
        match done {
            Done::Promote(to, from) => (*from == self.active).then(|| point(*to)),
            Done::Rollback(to, Some(from)) => {
                (*from == self.active && self.was_active[*to]).then(|| point(*to))
            }
            Done::Rollback(to, None) => (!self.was_active[*to]).then_some(self),
            Done::Halt(was) => (*was == self.halted).then_some(Self {
                halted: true,
                ..self
            }),
            Done::Clear(was) => (*was == self.halted).then_some(Self {
                halted: false,
                ..self
            }),
            Done::Dispatch(None) => self.halted.then_some(self),
            Done::Dispatch(Some(version)) => {
                (!self.halted && *version == self.active).then_some(self)
            }
        }
    }
}

/// Returns `true` if the operations have an order that respects their times and explains every answer.
fn is_linearizable(history: &[Operation]) -> bool {
    fn search(
        history: &[Operation],
        taken: u64,
        model: Model,
        seen: &mut HashSet<(u64, Model)>,
    ) -> bool {
        if taken.count_ones() as usize == history.len() {
            return true;
        }
        if !seen.insert((taken, model)) {
            return false;
        }
        let open = || (0..history.len()).filter(|one| taken & (1 << one) == 0);
        let first_answer = open().map(|one| history[one].answered).min();
        open().any(|one| {
            // An operation that was called after another one was answered cannot precede it.
            Some(history[one].called) <= first_answer
                && model
                    .after(&history[one].done)
                    .is_some_and(|after| search(history, taken | (1 << one), after, seen))
        })
    }
    let model = Model {
        active: 0,
        was_active: [false; 2],
        halted: false,
    };
    search(history, 0, model, &mut HashSet::new())
}

const VERSIONS: [&str; 2] = ["v1", "v2"];

fn number(version: Option<&str>) -> usize {
    VERSIONS
        .iter()
        .position(|one| Some(*one) == version)
        .unwrap()
}

fn registry(roles: usize) -> String {
    let version = |id: &&str| {
        json!({
            "id": id, "adapter_id": format!("{id}-a"), "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
            "certified_level": "L3", "exam_hash": "e".repeat(64), "field_audit_window": 200,
            "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
        })
    };
    let role = |number: usize| {
        json!({
            "role": format!("R{number}"), "backend_url": "http://127.0.0.1:1", "fallback": "claude",
            "workload_quota": 1.0, "active_version": "v1", "versions": VERSIONS.iter().map(version).collect::<Vec<_>>(),
        })
    };
    let roles: Vec<Value> = (0..roles).map(role).collect();
    json!({ "schema": "roleos-specialist-registry/v1", "specialists": roles }).to_string()
}

/// Four programs with separate connections, each with another clock.
struct Programs {
    _folder: tempfile::TempDir,
    list: Vec<(Specialists, &'static str)>,
}

impl Programs {
    fn new(url: &str, runs: usize, locks: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let open = |(number, now)| {
            let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
            let settings = Settings::load(&Config::default(), &Environment::default()).unwrap();
            let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
            let queue = folder.path().join(format!("queue-{number}"));
            let shared = match locks {
                true => Routing::new(team, &queue),
                false => Routing::without_locks(team, &queue),
            };
            let specialists = Specialists::new(paths, settings);
            (specialists.with_shared(Arc::new(shared.unwrap())), now)
        };
        // Five minutes behind, correct, five minutes ahead.
        let clocks = [
            "2026-09-03T09:55:00Z",
            "2026-09-03T10:00:00Z",
            "2026-09-03T10:05:00Z",
            "2026-09-03T10:00:00Z",
        ];
        let list: Vec<_> = clocks.into_iter().enumerate().map(open).collect();
        let shared = list[0].0.shared().unwrap();
        let held = shared.hold_document(REGISTRY).unwrap();
        held.replace(&registry(runs), Vec::new()).unwrap();
        Self {
            _folder: folder,
            list,
        }
    }

    /// Executes one run: every program executes its operations, chosen by numbers from a seed.
    fn run(&self, role: &str, mut seed: u64) -> Vec<Operation> {
        let barrier = Barrier::new(PROGRAMS);
        thread::scope(|scope| {
            let workers: Vec<_> = self
                .list
                .iter()
                .map(|(specialists, now)| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (mut own, barrier) = (seed, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let step = |_| {
                            own = own.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            operate(specialists, role, now, own >> 33)
                        };
                        (0..OPERATIONS).map(step).collect::<Vec<_>>()
                    })
                })
                .collect();
            let all = workers.into_iter().map(|worker| worker.join().unwrap());
            all.flatten().collect()
        })
    }
}

fn operate(specialists: &Specialists, role: &str, now: &str, choice: u64) -> Operation {
    let operator = Operator {
        name: "ana",
        reason: "because",
        now,
    };
    let version = usize::from(choice & 1 == 1);
    let forced = Promotion {
        force: true,
        ..Promotion::default()
    };
    let called = Instant::now();
    let done = match (choice >> 1) % 10 {
        0 => {
            let moved = specialists.promote(role, VERSIONS[version], forced, operator);
            Done::Promote(version, number(moved.unwrap().from.as_deref()))
        }
        1 => {
            let moved = specialists.rollback(role, Some(VERSIONS[version]), operator);
            let from = moved.ok().map(|moved| number(moved.from.as_deref()));
            Done::Rollback(version, from)
        }
        2 | 3 => Done::Halt(specialists.halt(role, operator).unwrap().is_some()),
        4 => {
            let cleared = specialists.clear_halt(role, None, operator).unwrap();
            Done::Clear(!cleared.lifted.is_empty())
        }
        _ => {
            let input = json!({ "embedding": [1.0, 0.0] });
            let asked = Asked {
                role,
                input: &input,
                trace_id: "t",
                now,
            };
            let begun = specialists.begin(asked, &Embedding, &|_| Ok(()));
            Done::Dispatch(match begun.decision.reason.name() {
                "shadow_probe_halt" => None,
                "ok" => Some(number(begun.version.as_deref())),
                other => panic!("{other}: {}", begun.decision.detail),
            })
        }
    };
    Operation {
        called,
        answered: Instant::now(),
        done,
    }
}

/// Returns the number of runs without an order that explains them.
fn violations(server: &Server, runs: usize, locks: bool) -> usize {
    let programs = Programs::new(&server.database().unwrap(), runs, locks);
    let bad = (0..runs).filter(|run| {
        let history = programs.run(&format!("R{run}"), *run as u64 + 1);
        !is_linearizable(&history)
    });
    bad.count()
}

#[test]
fn four_programs_look_like_one_and_without_locks_they_do_not() {
    let server = Server::start(Durability::Quick).unwrap();
    assert_eq!(violations(&server, 120, true), 0);
    let found = violations(&server, 120, false);
    eprintln!("120 runs with locks: no violation; 120 runs without: {found}");
    assert!(found > 0);
}

#[test]
fn the_checker_knows_orders_that_cannot_be() {
    let start = Instant::now();
    let at = |from: u64, to: u64, done: Done| Operation {
        called: start + std::time::Duration::from_millis(from),
        answered: start + std::time::Duration::from_millis(to),
        done,
    };
    let check = |history: &[Operation], expected: bool| {
        assert_eq!(is_linearizable(history), expected, "{history:?}");
    };
    check(
        &[at(0, 1, Done::Halt(false)), at(2, 3, Done::Dispatch(None))],
        true,
    );
    check(
        &[
            at(0, 1, Done::Halt(false)),
            at(2, 3, Done::Dispatch(Some(0))),
        ],
        false,
    );
    check(
        &[
            at(0, 3, Done::Halt(false)),
            at(1, 2, Done::Dispatch(Some(0))),
        ],
        true,
    );
    check(
        &[
            at(0, 1, Done::Promote(1, 0)),
            at(2, 3, Done::Dispatch(Some(0))),
        ],
        false,
    );
    check(&[at(0, 1, Done::Rollback(1, Some(0)))], false);
}
