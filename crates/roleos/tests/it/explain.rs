//! `roleos explain`: the contract of its answers, for programs and for people.

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

#[test]
fn people_see_the_deciding_part_underlined_and_the_chain() {
    let workspace = Workspace::new();
    let text = workspace
        .roleos(&["explain", "echo a; bash -c 'git push'"])
        .succeeds();
    assert!(text.contains("\n          ^^^^^^^^^^^^^^^^^^\n"), "{text}");
    assert!(text.contains("bash -c → git push"), "{text}");
}
