//! `roleos` alone: the state of a workspace, and the next command.

use serde_json::json;

use crate::workspace::Workspace;

#[test]
fn an_empty_folder_is_told_to_begin() {
    let workspace = Workspace::new();
    let ran = workspace.roleos(&[]).exits(0);
    assert!(ran.stdout.contains("gate         off"), "{ran:#?}");
    assert!(ran.stdout.contains("\n  roleos init\n"), "{ran:#?}");
}

#[test]
fn what_is_there_is_counted_and_what_waits_comes_first() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    workspace.seal_some(2);
    let told = workspace.roleos(&["--json"]).exits(0).json();
    assert_eq!(told["guarded"], json!(["claude"]));
    assert_eq!(told["gate"], json!(true));
    assert_eq!(told["tasks"], json!(2));
    assert_eq!(told["next"], json!("roleos scorecard"));
    workspace.write(".role-os/specialists.json", "{");
    workspace.write(".role-os/specialist-state.json", "{");
    let told = workspace.roleos(&["--json"]).exits(0).json();
    assert_eq!(told["next"], json!("roleos doctor"), "{told:#}");
}
