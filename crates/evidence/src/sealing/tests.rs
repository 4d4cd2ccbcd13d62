//! Sessions, from their journals to bundles that verify: their outcomes, and mistakes that must not happen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use witness::bundle::{Bundle, Contents, Strictness};
use witness::extension::field;
use witness::policy::Check;
use witness::replay::{Agreement, OutcomeCheck};
use witness::wire::{Outcome as Ended, Tag};

use super::*;
use crate::journal::capture;
use crate::journal::record::{
    Broke, Call, End, Limits, Outcome, Plan, Prompt, Rollback, Start, Stop,
};
use base::config::oversight::{Dollars, Price};
use base::git::testing;
use base::liveness::Process;

const PASSES: &str = "running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
const FAILS: &str = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

/// A workspace in a new repository.
struct House {
    directory: tempfile::TempDir,
    workspace: Workspace,
    config: Config,
    store: Store,
}

impl House {
    fn new() -> Self {
        let house = Self::bare();
        house.git(&["init", "-q", "-b", "main"]);
        house.git(&["config", "user.name", "t"]);
        house.git(&["config", "user.email", "t@t"]);
        house.put("src.rs", "fn a() {}\n");
        house.git(&["add", "-A"]);
        house.git(&["commit", "-q", "-m", "x"]);
        house
    }

    /// Creates one without a repository.
    fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(directory.path()).unwrap();
        let config = Config::default();
        let store = Store::of(&workspace, config.witness.max_bundle_bytes());
        Self {
            directory,
            workspace,
            config,
            store,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        testing::git(self.directory.path(), arguments)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an agent writes its files as it likes"
    )]
    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sealer(&self) -> Sealer<'_> {
        Sealer {
            workspace: &self.workspace,
            config: &self.config,
            store: &self.store,
        }
    }

    fn add(&self, session: &str, records: Vec<Record>) {
        let directory = self.workspace.sessions_dir();
        let mut journal = Journal::open(&directory, &SessionId::new(session)).unwrap();
        for record in records {
            journal.push("claude", clock::now_ns(), record);
        }
        journal.commit(false).unwrap();
    }

    fn start(&self, session: &str) -> Record {
        let commit = testing::output(self.directory.path(), &["rev-parse", "HEAD"]);
        let id = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        Record::Start(Box::new(Start {
            session: session.to_owned(),
            source: "startup".to_owned(),
            cwd: self.directory.path().display().to_string(),
            base_commit: commit.status.success().then_some(id),
            mode: "off".to_owned(),
            roleos: "test".to_owned(),
            ..Start::default()
        }))
    }

    fn session(&self, session: &str, mut records: Vec<Record>) {
        let mut all = vec![self.start(session), prompt("make it better")];
        all.append(&mut records);
        self.add(session, all);
    }

    fn lines(&self, session: &str) -> Vec<Line> {
        let path = SessionId::new(session).path_in(&self.workspace.sessions_dir());
        let read = Session::read(&path).unwrap();
        assert!(read.is_whole(), "{:?}", read.problems);
        read.lines
    }

    /// Seals every session that is over; returns the bundles by session.
    fn seal(&self) -> Vec<(String, Told)> {
        let mut told = Vec::new();
        self.sealer()
            .seal_all(|session, done| {
                if let Done::Sealed { path, outcome, .. } = done.unwrap() {
                    let one = self.read(&path);
                    assert_eq!(one.outcome, outcome);
                    told.push((session.to_string(), one));
                }
            })
            .unwrap();
        told
    }

    fn seal_one(&self) -> Told {
        let mut told = self.seal();
        assert_eq!(told.len(), 1);
        told.remove(0).1
    }

    /// Parses and verifies a bundle.
    fn read(&self, path: &Path) -> Told {
        let bytes = fs::read(path).unwrap();
        let bundle = Bundle::parse(&bytes, Strictness::Strict).unwrap();
        let keys = self.store.keys().unwrap();
        let told = Told::of(bundle.claims());
        bundle.verify(&keys.keyring()).unwrap();
        assert!(told.header.created_ns > 0);
        told
    }

    fn bundles(&self) -> usize {
        self.store
            .ledger()
            .unwrap()
            .map_or(0, |ledger| ledger.entries().len())
    }
}

/// The content of a bundle.
struct Told {
    outcome: Ended,
    sections: Vec<Option<String>>,
    facts: std::collections::BTreeMap<String, String>,
    checks: Vec<(String, Check)>,
    header: witness::wire::Header,
    violations: Vec<String>,
    rollbacks: Vec<witness::extension::Rollback>,
    agreement: Agreement,
}

impl Told {
    fn of(contents: &Contents<'_>) -> Self {
        let section = |tag| {
            let bytes = contents.section(tag)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        let extensions = contents.extensions();
        Self {
            outcome: contents.outcome(),
            sections: Tag::ALL.into_iter().map(section).collect(),
            facts: extensions.provenance.clone(),
            checks: contents
                .calls()
                .map(|call| {
                    (
                        String::from_utf8_lossy(call.action).into_owned(),
                        call.check,
                    )
                })
                .collect(),
            header: *contents.header(),
            violations: extensions
                .violations
                .iter()
                .flat_map(|violations| &violations.listed)
                .map(|violation| format!("{} {}", violation.call, violation.text))
                .collect(),
            rollbacks: extensions.rollbacks.clone(),
            agreement: OutcomeCheck::of(contents).agreement,
        }
    }

    fn section(&self, tag: Tag) -> &str {
        self.sections
            .get(tag as usize - 1)
            .and_then(Option::as_deref)
            .unwrap_or("(none)")
    }

    fn fact(&self, name: &str) -> &str {
        self.facts.get(name).map_or("(none)", String::as_str)
    }
}

fn prompt(text: &str) -> Record {
    Record::Prompt(Prompt {
        kept: capture::text(text, capture::MAX_TEXT),
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal reads better without a reference"
)]
fn call(id: &str, tool: &str, input: serde_json::Value) -> Record {
    let input = capture::input(&input);
    Record::Call(Box::new(Call {
        call_id: id.to_owned(),
        tool: tool.to_owned(),
        input: input.value,
        input_sha256: input.sha256,
        redacted: input.redacted,
        capped: input.capped,
        verdict: "allow".to_owned(),
        recorded: "allowed".to_owned(),
        ..Call::default()
    }))
}

fn result(id: &str, test: bool, output: &str, exit: i64) -> Record {
    Record::Result(Outcome {
        call_id: id.to_owned(),
        sha256: hex::encode(base::digest(output.as_bytes())),
        failed: exit != 0,
        exit: Some(exit),
        duration_ms: Some(1500),
        test,
        folder: test.then(|| "/p".to_owned()),
        output: Some(capture::text(output, capture::MAX_OUTPUT)),
        ..Outcome::default()
    })
}

fn tests(id: &str, output: &str, exit: i64) -> [Record; 2] {
    [
        call(id, "Bash", json!({ "command": "cargo test" })),
        result(id, true, output, exit),
    ]
}

fn end() -> Record {
    Record::End(End {
        reason: "exit".to_owned(),
    })
}

mod facts;
mod once;
mod outcome;
mod undoing;
