//! Outcomes of sessions, by their tests and their end.

use super::*;

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
        log.starts_with("# another run of `cargo test`: failed\n$ cargo test\nrunning 2"),
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
    // The user's index is unchanged, and no object was left behind.
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
    // A process number that another process has now.
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
    // Sealing by name works all the same.
    let done = house.sealer().seal(&SessionId::new("alive")).unwrap();
    assert!(matches!(done, Done::Sealed { .. }));
}
