//! Tools that are no shell: the same actions by the name of the tool and what it is given.

use serde_json::Value;

use crate::decide::Call;
use crate::evaluate::{Certainty, Finding, Findings};
use crate::guard::inputs;
use crate::lookup::Lookup;
use crate::verdict::Policy;

/// Endings of tool names and the action they perform; the server's name stands in front.
const TOOLS: &[(&str, &str)] = &[
    ("create_pull_request", "gh:pr-create"),
    ("create_pull_request_with_copilot", "gh:pr-create"),
    ("push_files", "git:push"),
    ("create_or_update_file", "git:push"),
    ("delete_file", "git:push"),
    ("create_branch", "git:push"),
    ("git_push", "git:push"),
    ("create_release", "gh:release"),
    ("update_release", "gh:release"),
    ("delete_release", "gh:release"),
    ("upload_release_asset", "gh:release"),
    ("update_repository", "gh:repo-edit"),
    ("delete_repository", "gh:repo-edit"),
    ("archive_repository", "gh:repo-edit"),
    ("npm_publish", "npm:publish"),
    ("publish_package", "npm:publish"),
    ("pages_deploy", "pages:deploy"),
    ("merge_pull_request", "gh:pr-merge"),
];

/// Tools of coding agents whose input is a shell command.
const SHELLS: &[&str] = &[
    "Bash",
    "bash",
    "shell",
    "local_shell",
    "run_shell_command",
    "run_terminal_cmd",
    "run_in_terminal",
    "Shell",
    "exec_command",
    "unified_exec",
];

/// The command of a tool that runs a shell.
#[must_use]
pub fn shell_command(tool: &str, input: &Value) -> Option<String> {
    if !SHELLS.contains(&tool) {
        return None;
    }
    let command = input.get("command").or_else(|| input.get("cmd"))?;
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> = words
                .iter()
                .map(|word| word.as_str().map(crate::evaluate::run::quote))
                .collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

/// What a tool of another kind does.
pub(crate) fn findings(call: &Call<'_>, policy: &Policy, lookup: &dyn Lookup) -> Findings {
    let mut findings = Findings::default();
    let Call { tool, input, place } = call;
    for (touch, path) in inputs::touches(tool, input) {
        let guard = &policy.guard;
        let found = guard.judge(touch, &path, place.directory, place.home, lookup);
        findings.guarded.extend(found);
    }
    if let Some(action) = action_of(tool).filter(|action| policy.catalog.action(action).is_some()) {
        findings.actions.push(Finding {
            action: action.to_owned(),
            span: None,
            chain: vec![(*tool).to_owned()],
            certainty: Certainty::Certain,
            words: vec![(*tool).to_owned(), input.to_string()],
            directory: place.directory.to_owned(),
        });
    }
    findings
}

/// The action of a tool of an MCP server.
fn action_of(tool: &str) -> Option<&'static str> {
    let (_, name) = tool.strip_prefix("mcp__")?.rsplit_once("__")?;
    let known = TOOLS.iter().find(|(ending, _)| name == *ending);
    known.map(|(_, action)| *action)
}
