//! Tools that are not shells: the same actions by the name of the tool and its input.
//!
//! An MCP server may also run commands or programs for the agent; those are followed like any other. PowerShell is
//! not parsed.

mod containers;
mod keys;
mod strings;

use serde_json::Value;

use crate::act::sorted;
use crate::decide::Call;
use crate::evaluate::{Certainty, Evaluator, Finding, Findings};
use crate::verdict::Policy;
use actions::lookup::{Lookup, absolute};
use protection::{Touch, inputs, inputs::collect_texts};
use shell::escape::quote;
use shell::words::names;

/// Condition on a tool's arguments for the action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// No condition; the name is enough.
    Name,
    /// A repository of a forge is named; a local file is not one.
    Repository,
    /// `method` or `action` is a word that makes or changes something.
    Method,
    /// The name of the server determines the meaning.
    Server(&'static str),
}

/// An action, the condition on the arguments, and the suffixes of the names of tools that perform it; the server's
/// name comes first.
const TOOLS: &[(&str, Sign, &[&str])] = &[
    (
        "gh:pr-create",
        Sign::Name,
        names!(
            "create_pull_request create_pull_request_with_copilot open_pull_request create_pr create_merge_request"
        ),
    ),
    ("gh:pr-create", Sign::Method, names!("pull_request_write")),
    (
        "git:push",
        Sign::Name,
        names!("push_files push_to_remote git_push"),
    ),
    (
        "git:push",
        Sign::Repository,
        names!(
            "create_or_update_file delete_file create_branch update_ref create_ref delete_ref update_reference \
            create_reference delete_reference create_commit_on_branch"
        ),
    ),
    (
        "gh:release",
        Sign::Name,
        names!("create_release update_release edit_release delete_release upload_release_asset"),
    ),
    ("gh:release", Sign::Method, names!("release_write")),
    (
        "gh:repo-edit",
        Sign::Name,
        names!(
            "update_repository edit_repository delete_repository archive_repository rename_repository transfer_repository"
        ),
    ),
    ("gh:repo-edit", Sign::Method, names!("repository_write")),
    (
        "npm:publish",
        Sign::Name,
        names!("npm_publish publish_package"),
    ),
    (
        "pypi:publish",
        Sign::Name,
        names!("pypi_publish twine_upload"),
    ),
    (
        "pages:deploy",
        Sign::Name,
        names!("pages_deploy deploy_pages pages_deployment_create"),
    ),
    ("cargo:publish", Sign::Name, names!("cargo_publish")),
    ("docker:push", Sign::Name, names!("docker_push")),
    (
        "gh:pr-merge",
        Sign::Name,
        names!("merge_pull_request merge_merge_request"),
    ),
    ("git:push", Sign::Server("git"), names!("push")),
    ("npm:publish", Sign::Server("npm"), names!("publish")),
    (
        "pypi:publish",
        Sign::Server("pypi"),
        names!("publish upload"),
    ),
];

/// Tools of coding agents whose input is a shell command.
const SHELLS: &[&str] = names!(
    "Bash bash shell local_shell run_shell_command run_terminal_cmd run_in_terminal runInTerminal Shell shell_command \
    exec_command unified_exec Monitor"
);

/// Tools whose input is a command for PowerShell.
const POWERSHELL: &[&str] = names!("PowerShell powershell pwsh run_powershell Powershell");

/// Parts of the names of tools that type into a running program.
const TYPING: &[&str] = names!("write_stdin write_bash write_powershell send_keys");

/// Parts of the names of other tools that run their input.
const RUNNERS: &[&str] = names!(
    "exec run_command run_cmd shell terminal bash run_script process_start start_process command"
);

/// Parts of the names of tools that run code in another language.
const CODE: &[&str] = names!("exec run eval code python node script repl");

/// Names of tools that represent the program of their server: `run` of the server `git`.
const OF_SERVER: &[&str] = names!("run exec execute call command cli invoke raw");

/// Returns the command of a tool that runs a shell.
#[must_use]
pub fn shell_command(tool: &str, input: &Value) -> Option<String> {
    SHELLS.contains(&tool).then(|| command_of(input)).flatten()
}

/// Returns a command in the arguments of a tool: a string, or a list.
fn command_of(input: &Value) -> Option<String> {
    let keys = ["command", "cmd", "script", "commandLine", "command_line"];
    let command = keys.iter().find_map(|key| input.get(key))?;
    match command {
        Value::String(text) => {
            let mut whole = text.clone();
            let rest = input.get("args").and_then(Value::as_array);
            for word in rest.into_iter().flatten().filter_map(Value::as_str) {
                whole.push(' ');
                whole.push_str(&quote(word));
            }
            Some(whole)
        }
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(quote)).collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

/// Returns the text that is typed into a program that may be a shell.
fn typed(name: &str, input: &Value) -> Option<String> {
    TYPING.iter().find(|part| name.contains(**part))?;
    let keys = ["chars", "input", "keys", "text"];
    let text = keys.iter().find_map(|key| input.get(key)?.as_str())?;
    Some(text.to_owned())
}

/// Returns code in another language as the command that would run it: Python, unless the call names another language.
fn code_of(name: &str, input: &Value) -> Option<Vec<String>> {
    CODE.iter().find(|part| name.contains(**part))?;
    let keys = ["code", "source", "expression"];
    let code = keys.iter().find_map(|key| input.get(key)?.as_str())?;
    let language = input.get("language").and_then(Value::as_str);
    let language = language.unwrap_or(name).to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| language.contains(word));
    let runner = if is(&["node", "javascript", "typescript", "js", "deno"]) {
        ["node", "-e"]
    } else if is(&["bash", "shell", "sh"]) {
        ["bash", "-c"]
    } else {
        ["python3", "-c"]
    };
    let words = runner.into_iter().chain([code]);
    Some(words.map(str::to_owned).collect())
}

/// Returns the server of a tool, if its name has one: `mcp__git__run`.
fn server_of(tool: &str) -> Option<&str> {
    let (front, _) = tool.rsplit_once("__")?;
    front.rsplit("__").next()
}

/// Returns the directory of a call: some agents give a shell's directory with the command.
pub(crate) fn directory_of(call: &Call<'_>) -> String {
    let keys = names!("workdir cwd working_directory workingDirectory dir_path directory");
    let named = keys.iter().find_map(|key| call.input.get(key)?.as_str());
    match named {
        Some(named) if SHELLS.contains(&call.tool) || call.tool.contains("__") => {
            absolute(call.place.directory, named)
        }
        _ => call.place.directory.to_owned(),
    }
}

/// Returns the findings of a call of any tool.
pub(crate) fn findings(call: &Call<'_>, policy: &Policy, lookup: &dyn Lookup) -> Findings {
    let Call { tool, input, place } = call;
    let directory = directory_of(call);
    let mut evaluator = Evaluator::new(lookup, &policy.catalog, &directory, place.home);
    evaluator.guard = Some(&policy.guard);
    evaluator.know_trust();
    let is_other = POWERSHELL.contains(tool);
    if is_other || SHELLS.contains(tool) {
        match command_of(input) {
            Some(command) if is_other => {
                evaluator.unread("PowerShell is not read", &command.replace('\\', "/"));
            }
            Some(command) => evaluator.whole(&command),
            // A shell without a readable command may do anything.
            None => evaluator.opaque(
                "the command of this call cannot be read",
                &input.to_string(),
            ),
        }
        return evaluator.into_findings();
    }
    let name = bare_name(tool);
    by_program(&mut evaluator, &name, input);
    if let Some(server) = server_of(tool).filter(|_| OF_SERVER.contains(&name.as_str())) {
        by_program(&mut evaluator, server, input);
    }
    let runs = RUNNERS.iter().any(|part| name.contains(part));
    let known = evaluator.doubts();
    if let Some(text) = command_of(input).or_else(|| typed(&name, input)) {
        evaluator.whole(&text);
    }
    let code = code_of(&name, input);
    if let Some(words) = code
        .as_ref()
        .filter(|words| words.first().is_some_and(|shell| shell == "bash"))
    {
        evaluator.run(words);
    }
    if !inputs::is_known(tool) {
        strings::follow(&mut evaluator, tool, input);
    }
    if !runs {
        // It is possibly never run: gated and protected things count, unknown parts do not.
        evaluator.forget_doubts(known);
    }
    if let Some(words) = code {
        evaluator.code_outside(words.last().map_or("", String::as_str));
    }
    by_address(&mut evaluator, input);
    let keys_below = |place: &str| {
        let place = lookup.real(&absolute(&directory, place));
        policy.guard.keys_below(&place, lookup)
    };
    for (touch, path) in inputs::touches(tool, &name, input, &keys_below) {
        let mut parts = name.split('_');
        if touch == Touch::Read && parts.any(|part| matches!(part, "read" | "view" | "cat")) {
            evaluator.classify("cat", std::slice::from_ref(&path));
        }
        evaluator.touch(touch, &path);
    }
    written_attributes(&mut evaluator, input);
    let mut findings = evaluator.into_findings();
    let action = action_of(tool, &name, input);
    if let Some(action) = action.filter(|action| policy.catalog.action(action).is_some()) {
        findings.actions.push(Finding {
            action: action.to_owned(),
            span: None,
            chain: vec![(*tool).to_owned()],
            certainty: Certainty::Certain,
            words: vec![(*tool).to_owned(), sorted(input)],
            directory: place.directory.to_owned(),
            environment: Vec::new(),
        });
    }
    for finding in &mut findings.actions {
        // Positions are meaningful in a command only.
        finding.span = None;
    }
    findings
}

/// Checks git attributes that a tool writes.
fn written_attributes(evaluator: &mut Evaluator<'_>, input: &Value) {
    let keys = ["file_path", "path", "target_file", "filePath"];
    let Some(path) = keys.iter().find_map(|key| input.get(key)?.as_str()) else {
        return;
    };
    let mut texts = Vec::new();
    collect_texts(input, &mut texts);
    for text in texts {
        evaluator.guard_attributes(path, text);
    }
}

/// Returns the name without its server, in the spelling of most servers.
fn bare_name(tool: &str) -> String {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let name = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let mut bare = String::new();
    let mut lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && lower {
            bare.push('_');
        }
        lower = character.is_ascii_lowercase();
        bare.push(if character == '-' {
            '_'
        } else {
            character.to_ascii_lowercase()
        });
    }
    bare
}

/// Returns the action that a tool performs by itself.
fn action_of(tool: &str, name: &str, input: &Value) -> Option<&'static str> {
    let is_named = |ending: &str| {
        let front = name.strip_suffix(ending);
        front.is_some_and(|front| front.is_empty() || front.ends_with('_'))
    };
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let server = tool.to_lowercase();
    let shows = |sign: Sign| match sign {
        Sign::Name => true,
        Sign::Repository => server.contains("git") || input.get("repo").is_some(),
        Sign::Method => {
            let method = format!("{}{}", text("method"), text("action")).to_lowercase();
            let harmless = ["get", "list", "read", "search", "view"];
            !harmless.iter().any(|word| method.starts_with(word))
        }
        Sign::Server(word) => server.contains(word),
    };
    let is_it = |(_, sign, endings): &&(&str, Sign, &[&str])| {
        endings.iter().any(|ending| is_named(ending)) && shows(*sign)
    };
    TOOLS.iter().find(is_it).map(|(action, ..)| *action)
}

/// Evaluates a tool that is a program by its name: `git` with `args: ["push"]`.
fn by_program(evaluator: &mut Evaluator<'_>, name: &str, input: &Value) {
    let program = name.replace('_', "-");
    if !evaluator.catalog.is_program(&program) {
        return;
    }
    let keys = ["args", "arguments", "argv", "command", "subcommand"];
    let Some(given) = keys.iter().find_map(|key| input.get(key)) else {
        return;
    };
    match given {
        Value::String(text) => {
            evaluator.shell_text(&format!("{program} {text}"));
        }
        Value::Array(items) => {
            let mut words = vec![program];
            words.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            evaluator.run(&words);
        }
        _ => {}
    }
}

/// Evaluates requests: a tool that sends them can act like `curl`, and one of a forge like `gh api`.
fn by_address(evaluator: &mut Evaluator<'_>, input: &Value) {
    if let Value::Array(items) = input {
        for item in items {
            by_address(evaluator, item);
        }
    }
    let Value::Object(fields) = input else {
        return;
    };
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| input.get(key)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let address = text(&["url", "uri", "endpoint"]);
    let method = text(&["method", "httpMethod", "http_method", "verb"]);
    if !address.is_empty() && !method.is_empty() {
        let words = ["-X".to_owned(), method.clone(), address];
        evaluator.classify("curl", &words);
    }
    let route = text(&["url", "uri", "endpoint", "path", "route", "pathname"]);
    let is_route = !route.contains("://") && route.trim_start_matches('/').starts_with("repos/");
    let changes = ["post", "put", "patch", "delete"].contains(&method.to_lowercase().as_str());
    if is_route && changes {
        let words = ["api".to_owned(), "-X".to_owned(), method, route];
        evaluator.classify("gh", &words);
    }
    for value in fields.values() {
        by_address(evaluator, value);
    }
}

#[cfg(test)]
mod tests;
