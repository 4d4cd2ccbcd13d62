//! A workspace with a long history: bundles of a year, logged and signed, sessions, runs and dispatches.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to say"
)]

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use base::keys::KeyStore;
use base::workspace::Workspace;
use evidence::journal::SessionId;
use evidence::journal::append::Journal;
use evidence::journal::record::{Call, End, Record, Start};
use evidence::store::Store;
use serde_json::{Value, json};
use specialist::state::State;
use tempfile::TempDir;
use witness::builder::Builder;
use witness::curve::Period;
use witness::extension::field;
use witness::policy::{Check, Policy};
use witness::trace;
use witness::wire::{Mode, Outcome, TaskId};

use crate::selection_rows;

/// Number of attempts at the same task.
const ATTEMPTS: usize = 5;
const ROLES: usize = 12;
const MODELS: usize = 4;
const CALLS_OF_A_SESSION: usize = 50;
const WEEKS: u64 = 52;
const DAY_NS: u64 = 86_400_000_000_000;
const MODES: [Mode; 3] = [Mode::Autonomous, Mode::Approved, Mode::Restricted];

/// Workspace with a long history.
pub(crate) struct Filled {
    /// Number of bundles, and of tool calls, candidates of runs and dispatches.
    tasks: usize,
    folder: TempDir,
    store: Store,
    keys: KeyStore,
    now_ns: u64,
    sealed: Cell<usize>,
}

impl Filled {
    pub(crate) fn new(tasks: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let role_os = folder.path().join(".role-os");
        fs::create_dir(&role_os).expect("room");
        let store = Store::of(&Workspace::at(folder.path()).expect("a folder"), 1 << 20);
        let (keys, _) = store.keys_for_writing().expect("keys");
        let filled = Self {
            tasks,
            store,
            keys,
            now_ns: base::clock::now_ns(),
            sealed: Cell::new(0),
            folder,
        };
        filled.bundles(&role_os);
        filled.sessions(&role_os.join("sessions"));
        filled.runs(&role_os.join("run_log.jsonl"));
        filled.specialists(&role_os);
        let catalog = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog");
        copy(&catalog, &filled.folder.path().join("catalog"));
        filled
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns a URL of the list of pages, with the values of this workspace.
    pub(crate) fn address(&self, template: &str) -> String {
        let week = |weeks: u64| Period::Week.label(self.now_ns - weeks * 7 * DAY_NS);
        let oldest = self.created(20);
        template
            .replace("{week}", &week(2))
            .replace("{before}", &week(3))
            .replace("{deep}", &format!("{oldest}~{}", self.tasks))
            .replace("{task}", &TaskId(task_id(self.tasks / 2)).to_string())
            .replace("{run}", &format!("{:032x}", self.tasks / 8))
    }

    /// Seals one more bundle; returns the number of bundles.
    pub(crate) fn one_more(&self) -> usize {
        let number = self.tasks + self.sealed.get();
        let builder = self.builder(number, self.now_ns + number as u64);
        self.store.seal(builder, &self.keys).expect("a seal");
        self.sealed.set(self.sealed.get() + 1);
        number + 1
    }

    /// Returns the time of a bundle, spread over a year, oldest first.
    fn created(&self, number: usize) -> u64 {
        let year = WEEKS * 7 * DAY_NS;
        self.now_ns - year + year / self.tasks as u64 * number as u64
    }

    fn builder(&self, number: usize, created: u64) -> Builder {
        let mode = MODES.get(number % 3).copied().unwrap_or(Mode::Autonomous);
        let mut builder = Builder::new(TaskId(task_id(number)), Policy::of_mode(mode), created);
        let solved = number * 7 % 10 < 7;
        builder
            .spec(format!("# Task {}\n\nKeep the order of the rows.\n", number % (self.tasks / ATTEMPTS)))
            .plan("1. reproduce\n2. mend\n3. test\n")
            .diff("--- a/src/rows.rs\n+++ b/src/rows.rs\n@@ -1 +1 @@\n-rows.sort();\n+rows.sort_by_key(order);\n")
            .test_log("running 1 test\ntest keeps_order ... ok\n\ntest result: ok. 1 passed; 0 failed\n")
            .outcome(if solved { Outcome::Solved } else { Outcome::Failed })
            .provenance(field::ROLE, &format!("role-{}", number % ROLES))
            .provenance(field::MODEL, &format!("model-{}", number / 3 % MODELS))
            .provenance(field::AGENT, "claude");
        for tool in ["Read", "Edit", "Bash"] {
            let call = trace::Call {
                action: tool.as_bytes(),
                check: Check::Allowed,
                args_hash: [7; 8],
                result_hash: [9; 8],
                latency_ms: 400,
                cost_microdollars: 1100,
                tokens: 620,
            };
            builder.record(&call).expect("three calls fit");
        }
        builder
    }

    /// Writes bundles like `witness import`, without syncing each to the disk.
    fn bundles(&self, role_os: &Path) {
        let ledger = role_os.join("ledger");
        fs::create_dir_all(&ledger).expect("room");
        written(&ledger.join("origin"), |file| {
            writeln!(file, "roleos/bench")
        });
        written(&ledger.join("leaves.jsonl"), |leaves| {
            for number in 0..self.tasks {
                let created = self.created(number);
                let builder = self.builder(number, created);
                let bytes = builder.build(self.keys.hmac(), self.keys.signing());
                let bytes = bytes.expect("a bundle");
                let task = TaskId(task_id(number));
                let name = format!("2026/{:02}/{task}.rvww", 1 + number * 12 / self.tasks);
                let path = self.store.witness_dir().join(&name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("room");
                File::create(path)?.write_all(&bytes)?;
                let leaf = json!({
                    "index": number, "task_id": task.to_string(), "created_ns": created,
                    "sha256": hex(&base::digest(&bytes)), "file": name,
                });
                writeln!(leaves, "{leaf}")?;
            }
            Ok(())
        });
    }

    fn sessions(&self, folder: &Path) {
        for session in 0..self.tasks / CALLS_OF_A_SESSION {
            let id = SessionId::new(&format!("session-{session}"));
            let mut journal = Journal::open(folder, &id).expect("a journal");
            let time = self.created(session * CALLS_OF_A_SESSION);
            let start = Start {
                session: format!("session-{session}"),
                cwd: "/home/ann/shop".to_owned(),
                gate: true,
                ..Start::default()
            };
            journal.push("claude", time, Record::Start(Box::new(start)));
            for number in 0..CALLS_OF_A_SESSION {
                let call = call(number);
                journal.push("claude", time + number as u64, Record::Call(Box::new(call)));
            }
            journal.push("claude", time + DAY_NS / 24, Record::End(End::default()));
            journal.commit(false).expect("room");
        }
    }

    fn runs(&self, path: &Path) {
        let records = (0..self.tasks).map(|number| {
            let timestamp = base::clock::text(self.created(number));
            selection_rows::record(timestamp, number, (MODELS, ROLES))
        });
        routing::runs::append(&base::seals::Seals::default(), path, records.collect())
            .expect("room");
    }

    /// Writes specialists: every role has one with two versions; each twentieth dispatch was probed.
    fn specialists(&self, role_os: &Path) {
        let roles: Vec<Value> = (0..ROLES).map(registered).collect();
        let registry = json!({ "schema": "roleos-specialist-registry/v1", "specialists": roles });
        written(&role_os.join("specialists.json"), |file| {
            writeln!(file, "{registry}")
        });
        written(&role_os.join("specialist-state.json"), |file| {
            file.write_all(State::default().print().as_bytes())
        });
        written(&role_os.join("specialist-field-log.jsonl"), |file| {
            (0..self.tasks).try_for_each(|number| {
                let line = json!({
                    "role": format!("role-{}", number % ROLES), "ts": base::clock::text(self.created(number)),
                    "trace_id": format!("t{number}"), "number": number, "route": "specialist",
                    "source": "specialist", "version": "v1", "input_sha256": format!("{number:064x}"),
                    "input_len": 400, "verdict": "yes", "score": 0.9,
                });
                writeln!(file, "{line}")
            })
        });
        written(&role_os.join("specialist-shadow-probes.jsonl"), |file| {
            (0..self.tasks).step_by(20).try_for_each(|number| {
                let line = json!({
                    "kind": "shadow-probe", "role": format!("role-{}", number / 20 % ROLES),
                    "ts": base::clock::text(self.created(number)),
                    "data": { "trace_id": format!("t{number}"), "agreed": number % 7 != 0 },
                });
                writeln!(file, "{line}")
            })
        });
    }
}

/// Returns a call; every tenth is refused, in the gate's words.
fn call(number: usize) -> Call {
    let refused = number % 10 == 9;
    let command = if refused {
        "cargo test && git push --force origin main"
    } else {
        "cargo test --workspace"
    };
    Call {
        call_id: format!("c{number}"),
        tool: "Bash".to_owned(),
        input: json!({ "command": command }),
        cwd: "/home/ann/shop".to_owned(),
        gate: true,
        verdict: if refused { "deny" } else { "allow" }.to_owned(),
        recorded: if refused { "denied" } else { "allowed" }.to_owned(),
        actions: refused.then(|| "git-push".to_owned()).into_iter().collect(),
        reasons: refused
            .then(|| "pushing needs a person's yes".to_owned())
            .into_iter()
            .collect(),
        decided_us: 400,
        ..Call::default()
    }
}

fn registered(role: usize) -> Value {
    let version = |id: &str| {
        json!({
            "id": id, "adapter_id": id, "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75,
            "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
            "created_at": "2026-09-02T09:00:00Z",
        })
    };
    json!({
        "role": format!("role-{role}"), "backend_url": "http://127.0.0.1:9", "fallback": "claude",
        "workload_quota": 1, "active_version": "v1", "versions": [version("v1"), version("v2")],
    })
}

fn task_id(number: usize) -> [u8; 16] {
    // Spread, so that a prefix of an id identifies one task.
    let mixed = (number as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_0C4A_28F1_0D3B);
    mixed.to_be_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn written(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) {
    let mut file = BufWriter::new(File::create(path).expect("room"));
    write(&mut file).expect("room");
    file.flush().expect("room");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    for entry in fs::read_dir(from).expect("the catalog").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("room");
        }
    }
}
