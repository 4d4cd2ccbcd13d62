//! Texts for people: the help pages and typical errors, as snapshots, so that changes are reviewed.

use crate::workspace::Workspace;

#[test]
fn help_pages() {
    let workspace = Workspace::new();
    let pages: [(&str, &[&str]); 10] = [
        ("help", &["--help"]),
        ("help_witness", &["witness", "--help"]),
        ("help_witness_seal", &["witness", "seal", "-h"]),
        ("help_witness_verify", &["witness", "verify", "-h"]),
        ("help_witness_rerun", &["witness", "rerun", "-h"]),
        ("help_scorecard", &["scorecard", "-h"]),
        ("help_curve", &["curve", "-h"]),
        ("help_ledger", &["ledger", "--help"]),
        ("help_key", &["key", "--help"]),
        ("help_contracts_check", &["contracts", "check", "-h"]),
    ];
    for (name, words) in pages {
        insta::assert_snapshot!(name, workspace.roleos(words).succeeds());
    }
}

#[test]
fn errors() {
    let workspace = Workspace::new();
    workspace.write(
        "calls.jsonl",
        "{\"action\":\"Read\"}\n{\"action\":\"Bash\",\"tokens\":\"many\"}\n",
    );
    workspace.write("notes.txt", "x".repeat(100));
    workspace.write(".role-os/keys/team.key", "{}");
    let errors: [(&str, &[&str]); 10] = [
        (
            "error_missing_file",
            &["witness", "verify", "task.rvww", "--key-hex", ""],
        ),
        (
            "error_no_bundle",
            &["witness", "show", "notes.txt", "--key-hex", ""],
        ),
        (
            "error_trace",
            &[
                "witness",
                "seal",
                "--outcome",
                "solved",
                "--trace",
                "calls.jsonl",
            ],
        ),
        ("error_outcome", &["witness", "seal", "--outcome", "done"]),
        ("error_subcommand", &["witness", "verfy"]),
        (
            "error_contracts_missing",
            &["contracts", "check", "contracts.json"],
        ),
        (
            "error_contracts_corpus",
            &["contracts", "check", "--corpus", "calls.jsonl"],
        ),
        ("error_key_file", &["key", "list", "--root", "."]),
        (
            "error_key_hex",
            &["witness", "verify", "task.rvww", "--key-hex", "0x12"],
        ),
        (
            "error_unknown_task",
            &["witness", "replay", "abcd", "--key-hex", ""],
        ),
    ];
    let root = workspace.root().canonicalize().unwrap();
    for (name, words) in errors {
        let ran = workspace.roleos(words).exits(1);
        let error = ran.error().replace(root.to_str().unwrap(), "<root>");
        insta::assert_snapshot!(name, error);
    }
}
