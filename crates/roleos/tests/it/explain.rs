//! `roleos explain`: the format of its answers, for programs and for people.

use crate::workspace::Workspace;

#[test]
fn a_verdict_is_an_answer_and_no_failure() {
    let workspace = Workspace::new();
    let answer = workspace
        .roleos(&["explain", "--json", "env git push && ls"])
        .exits(0)
        .json();
    assert_eq!(answer["verdict"], "deny");
    assert_eq!(answer["actions"], serde_json::json!(["git:push"]));
    assert_eq!(answer["spans"], serde_json::json!([[0, 12]]));
}

/// The parser panics on this; no trace is shown.
#[test]
fn what_the_parser_fails_on_is_asked_about_and_nothing_else_is_said() {
    let text = "a<<z(}${ ,~}${ {<<z(s(?\nz\n";
    let ran = Workspace::new()
        .roleos(&["explain", "--json", text])
        .exits(0);
    let answer = ran.json();
    assert!(
        matches!(answer["verdict"].as_str(), Some("watch" | "ask")),
        "{answer}"
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_batch_is_answered_in_order_in_the_directories_it_names() {
    let workspace = Workspace::new();
    let here = workspace.root().to_string_lossy().into_owned();
    workspace.write(".gitconfig", "[alias]\n\tyeet = push\n");
    workspace.write("x.sh", "npm publish\n");
    let lines = ["git yeet", "sh x.sh", "ls"].map(|command| {
        serde_json::json!({ "id": command, "command": command, "cwd": here, "home": here })
            .to_string()
    });
    workspace.write("batch.jsonl", lines.join("\n"));
    let all = workspace
        .roleos(&["explain", "--json", "--batch", "batch.jsonl"])
        .exits(0)
        .json_lines();
    let seen: Vec<_> = all
        .iter()
        .map(|answer| {
            (
                answer["id"].as_str().unwrap(),
                answer["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [("git yeet", "deny"), ("sh x.sh", "deny"), ("ls", "allow")]
    );
}

/// Both corpora through the binary, each case in a directory with its files.
#[test]
fn the_corpora_are_answered_by_the_binary_as_by_the_library() {
    let workspace = Workspace::new();
    let mut lines = Vec::new();
    let mut expected = std::collections::BTreeMap::new();
    let corpora = [
        include_str!("../../../oversight/tests/corpus/gated.jsonl"),
        include_str!("../../../oversight/tests/corpus/benign.jsonl"),
    ];
    for case in corpora.iter().flat_map(|text| text.lines()) {
        let case: serde_json::Value = serde_json::from_str(case).unwrap();
        let id = case["id"].as_str().unwrap().to_owned();
        let here = workspace.root().join("cases").join(&id);
        std::fs::create_dir_all(&here).unwrap();
        for (path, content) in case["files"].as_object().into_iter().flatten() {
            workspace.write(&format!("cases/{id}/{path}"), content.as_str().unwrap());
        }
        let here = here.to_string_lossy();
        lines.push(
            serde_json::json!({ "id": id, "command": case["command"], "cwd": here, "home": here })
                .to_string(),
        );
        expected.insert(id, case);
    }
    workspace.write("batch.jsonl", lines.join("\n"));
    let answers = workspace
        .roleos(&["explain", "--json", "--batch", "batch.jsonl"])
        .exits(0)
        .json_lines();
    assert_eq!(answers.len(), expected.len());
    let mut wrong = Vec::new();
    for answer in answers {
        let case = &expected[answer["id"].as_str().unwrap()];
        let verdict = answer["verdict"].as_str().unwrap();
        let gated = !case["expected"].as_array().unwrap().is_empty();
        let flagged = case["note"]
            .as_str()
            .unwrap_or_default()
            .contains("static may flag");
        let stops = matches!(verdict, "ask" | "deny");
        let right = if gated {
            stops || verdict == "watch"
        } else {
            // Code that is not analysed and escapes supervision, such as in a container, needs a confirmation.
            let is_empty = |part: &str| answer[part].as_array().unwrap().is_empty();
            let only_opaque = is_empty("actions") && is_empty("protected") && !is_empty("opaque");
            !stops || flagged || (verdict == "ask" && only_opaque)
        };
        if !right {
            wrong.push(format!("{verdict}: {}", case["command"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn people_see_the_deciding_part_underlined_and_the_chain() {
    let workspace = Workspace::new();
    let text = workspace
        .roleos(&["explain", "echo a; bash -c 'git push'"])
        .succeeds();
    assert!(text.contains("\n          ^^^^^^^^^^^^^^^^^^\n"), "{text}");
    assert!(text.contains("bash -c → git push"), "{text}");
}
