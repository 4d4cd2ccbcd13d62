//! Facts in a bundle: roles, secrets, verdicts, tokens and cost.

use super::*;

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
    assert_eq!(
        told.outcome,
        Ended::Skipped,
        "without a diff nothing is solved"
    );
    assert_eq!(told.fact(field::UNPROVED), "there is no diff");
    assert_eq!(told.agreement, Agreement::Agrees);
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
        line(&now, "d", "other-model", "", 0).replacen('{', r#"{"costUSD":0.25,"#, 1),
    ];
    house.put("t.jsonl", lines.join("\n"));
    let price = Price {
        input: Dollars::of_microdollars(3_000_000),
        output: Dollars::of_microdollars(15_000_000),
        ..Price::default()
    };
    house.config.oversight.prices = BTreeMap::from([("claude-sonnet".to_owned(), price)]);
    let told = house.seal_one();
    // 3000 in at 3 dollars and 301 out at 15 dollars a million, the cost that the agent states, and
    // nothing for the model without a price.
    assert_eq!(
        told.header.total_cost_microdollars,
        2 * 3000 + 4515 + 250_000
    );
    assert_eq!(told.header.total_tokens, 4306);
    assert_eq!(told.fact(field::MODEL), "claude-sonnet-4-5");
    assert_eq!(
        told.fact("cost"),
        "at least 260515 millionths of a US dollar: `[oversight.prices]` has no price for `house-model`"
    );
    let unpriced: Vec<&str> = super::super::unpriced_models(told.fact("cost")).collect();
    assert_eq!(unpriced, ["house-model"]);
    assert!(!witness::cost::is_known(&told.facts));
    assert_eq!(
        told.fact("usage"),
        "4000 tokens in, 306 out, 0 read from the cache, 0 written to it"
    );
}
