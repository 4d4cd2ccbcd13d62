//! Sessions, from their journals to bundles that verify: how each ends, and what must not happen on the way.

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
use crate::config::oversight::{Dollars, Price};
use crate::git::Git;
use crate::journal::capture;
use crate::journal::record::{
    Broke, Call, End, Limits, Outcome, Plan, Process, Prompt, Rollback, Start, Stop,
};

const PASSES: &str = "running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
const FAILS: &str = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

/// A workspace in a repository of its own.
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

    /// Without a repository.
    fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(directory.path()).unwrap();
        let config = Config::default();
        let store = Store::new(&workspace.role_os_dir(), config.witness.max_bundle_bytes());
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
        Git::at(self.directory.path()).line(arguments).unwrap()
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
        let commit = Git::at(self.directory.path()).line(["rev-parse", "HEAD"]);
        Record::Start(Box::new(Start {
            session: session.to_owned(),
            source: "startup".to_owned(),
            cwd: self.directory.path().display().to_string(),
            base_commit: commit.ok(),
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

    /// Seals everything that is over, and gives the bundles by session.
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

    /// Reads a bundle, verified.
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

/// What a bundle tells.
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
        sha256: hex::encode(crate::digest(output.as_bytes())),
        failed: exit != 0,
        exit: Some(exit),
        duration_ms: Some(1500),
        test,
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

#[test]
fn tests_that_pass_are_a_solved_task_with_everything_in_it() {
    let house = House::new();
    let mut records = vec![
        Record::Plan(Plan {
            tool: "TodoWrite".to_owned(),
            kept: capture::text("[pending] change a", 1000),
        }),
        call("1", "Edit", json!({ "file_path": "src.rs" })),
        result("1", false, "ok", 0),
    ];
    records.extend(tests("2", FAILS, 101));
    records.extend(tests("3", PASSES, 0));
    records.push(end());
    house.session("s-1", records);
    house.put("src.rs", "fn a() { b() }\n");
    house.put("new dir/neu ü.bin", [0_u8, 1, 2, 255]);
    let told = house.seal_one();
    assert_eq!(told.outcome, Ended::Solved);
    assert_eq!(told.agreement, Agreement::Agrees);
    assert_eq!(told.section(Tag::Spec), "make it better");
    assert_eq!(told.section(Tag::Plan), "[pending] change a");
    let diff = told.section(Tag::Diff);
    assert!(diff.contains("-fn a() {}\n+fn a() { b() }"), "{diff}");
    assert!(diff.contains("GIT binary patch"), "{diff}");
    assert!(!diff.contains(".role-os"), "{diff}");
    let log = told.section(Tag::TestLog);
    assert!(
        log.starts_with("# an earlier run of `cargo test`: failed\n$ cargo test\nrunning 2"),
        "{log}"
    );
    assert!(!log.contains("FAILED"), "{log}");
    assert_eq!(told.section(Tag::Postmortem), "(none)");
    assert_eq!(told.header.tool_call_count, 3);
    assert_eq!(told.header.retry_count, 1, "the tests were run again");
    assert_eq!(told.header.total_latency_ms, 4500);
    assert_eq!(told.header.mode, 2);
    assert_eq!(told.fact(field::SESSION), "s-1");
    assert_eq!(told.fact(field::AGENT), "claude");
    assert_eq!(told.fact(field::TEST_COMMAND), "cargo test");
    assert_eq!(
        told.fact(field::BASE_COMMIT),
        house.git(&["rev-parse", "HEAD"])
    );
    assert_eq!(
        told.fact("usage"),
        "unknown: the agent names no record of the session"
    );
    assert!(!witness::cost::is_known(&told.facts));
    // The diff applies to the base commit and gives what is there now.
    let scratch = House::new();
    let patch = scratch.path(".git/patch");
    files::write(&patch, diff.as_bytes(), Privacy::Shared).unwrap();
    scratch.git(&["apply", ".git/patch"]);
    assert_eq!(
        fs::read(scratch.path("new dir/neu ü.bin")).unwrap(),
        [0, 1, 2, 255]
    );
    // The user's index knows nothing of it, and no object was left behind.
    assert_eq!(house.git(&["diff", "--cached", "--name-only"]), "");
    assert!(house.git(&["count-objects"]).starts_with("3 objects"));
}

#[test]
fn each_way_to_end_has_its_outcome() {
    let check = |records: Vec<Record>, outcome, agreement, postmortem: &[&str]| {
        let house = House::new();
        house.session("s", records);
        let told = house.seal_one();
        assert_eq!(told.outcome, outcome);
        assert_eq!(told.agreement, agreement);
        let text = told.section(Tag::Postmortem);
        for part in postmortem {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    };
    let mut failed = Vec::from(tests("1", FAILS, 101));
    failed.push(end());
    check(
        failed,
        Ended::Failed,
        Agreement::Agrees,
        &["Tests fail.", "1 passed, 1 failed", "Failed: b"],
    );
    let words = Record::Stop(Stop {
        message: Some(capture::text("I looked around.", 100)),
        ..Stop::default()
    });
    let looked = call("1", "Read", json!({}));
    check(
        vec![looked.clone(), result("1", false, "x", 0), words, end()],
        Ended::Skipped,
        Agreement::Agrees,
        &["No test ran", "last words: I looked around."],
    );
    let missing = tests("1", "bash: cargo: command not found", 127);
    let mut missing = Vec::from(missing);
    missing.push(end());
    check(
        missing,
        Ended::Error,
        Agreement::CannotTell("the test log is of no runner that is known here"),
        &["could not be started", "exit code 127"],
    );
    let broke = Record::Broke(Broke {
        kept: capture::text("API Error: 529", 100),
    });
    check(
        vec![looked, broke, end()],
        Ended::Error,
        Agreement::CannotTell("there is no test log"),
        &["The agent broke", "API Error: 529"],
    );
}

#[test]
fn an_agent_that_is_gone_without_a_word_is_noticed() {
    let house = House::new();
    let Record::Start(mut start) = house.start("gone") else {
        panic!("a start");
    };
    // A process number that is taken by somebody else now.
    start.process = Some(Process {
        id: std::process::id(),
        started: 1,
    });
    house.add(
        "gone",
        vec![
            Record::Start(start.clone()),
            prompt("x"),
            call("1", "Bash", json!({ "command": "sleep 1" })),
        ],
    );
    start.process = liveness::agent_process();
    assert!(start.process.is_some());
    house.add("alive", vec![Record::Start(start), prompt("y")]);
    house.add("silent", vec![house.start("silent"), prompt("z")]);
    let told = house.seal();
    assert_eq!(told.len(), 1);
    let (session, told) = told.first().unwrap();
    assert_eq!(session, "gone");
    assert_eq!(told.outcome, Ended::Error);
    assert_eq!(told.fact("ended"), "never said");
    assert_eq!(
        told.fact("diff"),
        "taken when the session was found to be over"
    );
    // Whoever names it seals it all the same.
    let done = house.sealer().seal(&SessionId::new("alive")).unwrap();
    assert!(matches!(done, Done::Sealed { .. }));
}

#[test]
fn a_session_is_sealed_once_and_what_follows_goes_into_another_bundle() {
    let house = House::new();
    house.session("s", vec![end()]);
    assert_eq!(house.seal().len(), 1);
    assert_eq!(house.seal().len(), 0);
    let again = house.sealer().seal(&SessionId::new("s")).unwrap();
    assert_eq!(again, Done::Already);
    house.add("s", vec![house.start("s"), prompt("and now this"), end()]);
    let told = house.seal_one();
    assert_eq!(told.section(Tag::Spec), "and now this");
    assert_eq!(house.bundles(), 2);
    // Opened and closed again: nothing to tell.
    house.add("s", vec![house.start("s"), end()]);
    assert_eq!(house.seal().len(), 0);
    assert_eq!(house.bundles(), 2);
    assert!(matches!(
        house.lines("s").last().unwrap().record,
        Record::Sealed(_)
    ));
}

#[test]
fn a_seal_that_was_cut_off_is_finished_under_the_same_task_id() {
    let house = House::new();
    house.session("s", vec![end()]);
    // Before the bundle: only the mark is there.
    let task_id = crate::fresh_task_id();
    house.add(
        "s",
        vec![
            Record::Sealing(Sealing {
                task_id: task_id.to_string(),
                from: 0,
            }),
            prompt("came while it was sealed"),
        ],
    );
    let told = house.seal_one();
    assert_eq!(told.header.task_id, task_id);
    assert_eq!(told.section(Tag::Spec), "make it better");
    // After the bundle: the mark that it is done was never written.
    let path = SessionId::new("s").path_in(&house.workspace.sessions_dir());
    let text = fs::read_to_string(&path).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    let shorter = text.get(..cut).unwrap();
    files::write(&path, shorter.as_bytes(), Privacy::Secret).unwrap();
    let told = house.seal_one();
    assert_eq!(told.header.task_id, task_id);
    assert_eq!(house.bundles(), 1);
    // What came in between is in the next one.
    house.add("s", vec![end()]);
    let told = house.seal_one();
    assert_eq!(told.section(Tag::Spec), "came while it was sealed");
    assert_eq!(house.bundles(), 2);
}

#[test]
fn two_sessions_at_once_do_not_mix() {
    let house = House::new();
    house.add("one", vec![house.start("one"), prompt("first")]);
    house.add("two", vec![house.start("two"), prompt("second")]);
    house.add("one", Vec::from(tests("x", PASSES, 0)));
    house.add("two", Vec::from(tests("x", FAILS, 1)));
    house.add("two", vec![end()]);
    house.add("one", vec![end()]);
    let told = house.seal();
    let of = |name: &str| &told.iter().find(|(session, _)| session == name).unwrap().1;
    assert_eq!(of("one").outcome, Ended::Solved);
    assert_eq!(of("one").section(Tag::Spec), "first");
    assert_eq!(of("two").outcome, Ended::Failed);
    assert_eq!(of("two").header.tool_call_count, 1);
    assert_eq!(
        of("one").fact("beside"),
        "the diff may hold work of sessions two"
    );
}

#[test]
fn the_role_of_a_session_and_its_subagents_are_told() {
    let house = House::bare();
    let Record::Start(mut start) = house.start("s") else {
        panic!("a start");
    };
    start.role = Some("line-editor".to_owned());
    let Record::Call(mut by_another) = call("1", "Read", json!({ "file_path": "a" })) else {
        panic!("a call");
    };
    by_another.subagent = Some("fact-checker".to_owned());
    let records = vec![Record::Start(start), Record::Call(by_another), end()];
    house.add("s", records);
    let told = house.seal_one();
    assert_eq!(told.fact("role"), "line-editor");
    assert_eq!(told.fact("subagents"), "fact-checker");
}

#[test]
fn without_a_repository_there_is_no_diff_and_the_bundle_says_so() {
    let house = House::bare();
    let mut records = Vec::from(tests("1", PASSES, 0));
    records.push(end());
    house.session("s", records);
    let told = house.seal_one();
    assert_eq!(told.outcome, Ended::Solved);
    assert_eq!(told.section(Tag::Diff), "(none)");
    assert_eq!(
        told.fact("diff"),
        "none: the session was not in a git repository"
    );
}

#[test]
fn secrets_are_masked_everywhere_and_the_bundle_says_so() {
    let house = House::new();
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let mut records = vec![
        prompt(&format!("deploy with {secret}")),
        call("1", "Bash", json!({ "command": format!("echo {secret}") })),
    ];
    records.extend(tests("2", &format!("{PASSES}token {secret}\n"), 0));
    records.push(end());
    house.add("s", vec![house.start("s")]);
    house.add("s", records);
    house.put("env", format!("TOKEN={secret}\n"));
    house.sealer().seal(&SessionId::new("s")).unwrap();
    let ledger = house.store.ledger().unwrap().unwrap();
    let file = &ledger.entries().last().unwrap().file;
    let bytes = fs::read(house.store.witness_dir().join(file)).unwrap();
    let holds = |text: &str| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(holds("deploy with "));
    assert!(!holds(secret));
    let told = house.read(&house.store.witness_dir().join(file));
    assert_eq!(told.outcome, Ended::Solved);
    let said = told.fact(field::REDACTED);
    assert!(said.contains("1 secrets masked in the diff"), "{said}");
    assert!(said.contains("3 secrets masked"), "{said}");
}

#[test]
fn verdicts_violations_and_rollbacks_are_those_of_the_journal() {
    let house = House::new();
    let Record::Start(mut start) = house.start("s") else {
        panic!("a start");
    };
    start.mode = "autonomous".to_owned();
    start.limits = Some(Limits {
        max_cost_microdollars: 7,
        max_tool_calls: 3,
        ..Limits::default()
    });
    let with = |id: &str, verdict: &str, recorded: &str, violations: &[&str]| {
        let Record::Call(mut call) = call(id, "Bash", json!({ "command": id })) else {
            panic!("a call");
        };
        call.verdict = verdict.to_owned();
        call.recorded = recorded.to_owned();
        call.reasons = vec![format!("because of {id}")];
        call.violations = violations.iter().map(ToString::to_string).collect();
        Record::Call(call)
    };
    house.add(
        "s",
        vec![
            Record::Start(start),
            prompt("x"),
            with("push", "deny", "denied", &[]),
            with("asked and not answered", "ask", "confirmed", &[]),
            with("asked", "ask", "confirmed", &[]),
            result("asked", false, "ok", 0),
            with(
                "over",
                "deny",
                "denied",
                &["tool call budget exceeded: 4 > 3"],
            ),
            Record::Rollback(Rollback {
                restored: true,
                wanted: "aa".to_owned(),
                found: "aa".to_owned(),
                kept: "refs/roleos/undone/s/1".to_owned(),
                ..Rollback::default()
            }),
            end(),
        ],
    );
    let told = house.seal_one();
    let checks: Vec<Check> = told.checks.iter().map(|(_, check)| *check).collect();
    assert_eq!(
        checks,
        [
            Check::Denied,
            Check::Denied,
            Check::Confirmed,
            Check::Denied
        ]
    );
    assert_eq!(told.violations, ["3 tool call budget exceeded: 4 > 3"]);
    let [rollback] = told.rollbacks.as_slice() else {
        panic!("one rollback");
    };
    assert!(rollback.restored);
    assert_eq!(rollback.kept, "refs/roleos/undone/s/1");
    let text = told.section(Tag::Postmortem);
    assert!(text.contains("Refused: Bash because of push"), "{text}");
    assert_eq!(told.fact("mode"), "autonomous");
}

#[test]
fn tokens_and_cost_come_from_the_record_of_the_agent() {
    let mut house = House::new();
    let record = house.path("t.jsonl");
    let Record::Start(mut start) = house.start("s") else {
        panic!("a start");
    };
    start.transcript = Some(record.display().to_string());
    house.add(
        "s",
        vec![
            Record::Start(start),
            prompt("x"),
            call("toolu_1", "Read", json!({})),
            call("toolu_2", "Read", json!({ "file_path": "b" })),
        ],
    );
    let now = clock::text(clock::now_ns());
    house.add("s", vec![end()]);
    let line = |time: &str, id: &str, model: &str, content: &str, output: u64| {
        format!(
            r#"{{"type":"assistant","timestamp":"{time}","message":{{"id":"{id}","model":"{model}","content":[{content}],"usage":{{"input_tokens":1000,"output_tokens":{output}}}}}}}"#
        )
    };
    let calls = r#"{"type":"tool_use","id":"toolu_1"},{"type":"tool_use","id":"toolu_2"}"#;
    let lines = [
        line(
            "2020-01-01T00:00:00Z",
            "old",
            "claude-sonnet-4-5",
            "",
            1_000_000,
        ),
        line(&now, "a", "claude-sonnet-4-5", calls, 101),
        line(&now, "b", "claude-sonnet-4-5", "", 200),
        line(&now, "c", "house-model", "", 5),
    ];
    house.put("t.jsonl", lines.join("\n"));
    let price = Price {
        input: Dollars::of_microdollars(3_000_000),
        output: Dollars::of_microdollars(15_000_000),
        ..Price::default()
    };
    house.config.oversight.prices = BTreeMap::from([("claude-sonnet".to_owned(), price)]);
    let told = house.seal_one();
    // 3000 in at 3 dollars and 301 out at 15 dollars a million, without the model that has no price.
    assert_eq!(told.header.total_cost_microdollars, 2 * 3000 + 4515);
    assert_eq!(told.header.total_tokens, 3306);
    assert_eq!(told.fact(field::MODEL), "claude-sonnet-4-5");
    assert_eq!(
        told.fact("cost"),
        "at least 10515 millionths of a US dollar: `[oversight.prices]` has no price for `house-model`"
    );
    assert!(!witness::cost::is_known(&told.facts));
    assert_eq!(
        told.fact("usage"),
        "3000 tokens in, 306 out, 0 read from the cache, 0 written to it"
    );
}

#[test]
fn journals_are_kept_for_a_while_after_they_were_sealed() {
    let house = House::new();
    house.session("s", vec![end()]);
    house.seal();
    let session = SessionId::new("s");
    let snapshot = snapshot::Snapshot::take(house.directory.path(), &session).unwrap();
    let path = session.path_in(&house.workspace.sessions_dir());
    house.seal();
    assert!(path.exists());
    // A last line from long ago.
    let directory = house.workspace.sessions_dir();
    let mut journal = Journal::open(&directory, &session).unwrap();
    let mark = Record::Sealed(SealedLine {
        upto: journal.head().seq,
        ..SealedLine::default()
    });
    journal.push("claude", 1, mark);
    journal.commit(false).unwrap();
    drop(journal);
    house.seal();
    assert!(!path.exists());
    let left = snapshot::Snapshot::find(house.directory.path(), &session).unwrap();
    assert_eq!((left, snapshot.name.is_empty()), (None, false));
}

#[test]
fn a_changed_journal_is_sealed_with_a_warning() {
    let house = House::new();
    house.session("s", vec![end()]);
    let path = SessionId::new("s").path_in(&house.workspace.sessions_dir());
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("make it better", "make it faster");
    files::write(&path, text.as_bytes(), Privacy::Secret).unwrap();
    let told = house.seal_one();
    assert_eq!(
        told.fact("journal_problem"),
        "a line was changed, lost or cut off"
    );
}

#[test]
fn a_violation_returns_to_the_start_and_the_journal_tells() {
    let house = House::new();
    let session = SessionId::new("s");
    let sessions = house.workspace.sessions_dir();
    let place = rollback::Place {
        sessions: &sessions,
        session: &session,
        agent: "claude",
        directory: house.directory.path(),
    };
    house.session("s", vec![]);
    let words = rollback::undo(place, "0").unwrap().unwrap();
    assert!(words.contains("there is no snapshot"), "{words}");
    rollback::begin(place).unwrap();
    house.put("src.rs", "changed");
    house.add(
        "s",
        vec![call("1", "Edit", json!({})), result("1", false, "", 0)],
    );
    let words = rollback::undo(place, "2").unwrap().unwrap();
    assert!(words.contains("kept as refs/roleos/undone/s/1"), "{words}");
    assert_eq!(
        fs::read_to_string(house.path("src.rs")).unwrap(),
        "fn a() {}\n"
    );
    assert_eq!(
        rollback::undo(place, "3").unwrap(),
        None,
        "nothing ran since"
    );
    house.add("s", vec![end()]);
    let told = house.seal_one();
    let restored: Vec<bool> = told.rollbacks.iter().map(|one| one.restored).collect();
    assert_eq!(restored, [false, true]);
    assert!(
        told.rollbacks
            .iter()
            .all(|one| !one.restored || one.wanted == one.found)
    );
}
