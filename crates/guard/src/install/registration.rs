//! The registration of our hook in each agent's settings: file, events, command.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::{Agent, Kind};
use base::programs::{MAIN, WATCH};

use super::merge::{Dialect, Entry, Wanted};
use super::words::{quoted, split};

/// Seconds after which an agent stops waiting for the hook, which answers within milliseconds.
const SECONDS: u64 = 5;

/// Longest time that Codex allows a hook at the end of a session.
const CODEX_END_SECONDS: u64 = 3;

/// The program of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute path of `roleos-hook`, or of `roleos` if that is missing.
    pub path: PathBuf,
    /// The workspace root that it receives.
    pub root: PathBuf,
    /// The user's trust store, so that variables in the agent's environment cannot move it.
    pub state: Option<PathBuf>,
    /// Set if the gate is on regardless of the workspace's settings.
    pub forced: bool,
}

/// Arguments that switch the gate on for one program.
const FORCE: [&str; 2] = ["/usr/bin/env", "ROLEOS_CAPABILITY_GATE=1"];

/// The way in which an agent starts an entry's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A program and its arguments, without a shell.
    Exec(String, Vec<String>),
    /// A line for a shell.
    Shell(String),
}

/// One of our entries, found in settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub event: String,
    /// Its command.
    pub start: Start,
    /// The `roleos` that it starts.
    pub program: PathBuf,
}

struct Shape {
    file: &'static str,
    dialect: Dialect,
    /// Events of which each is a tool call, then the others.
    events: &'static [(&'static str, Kind)],
}

/// Events of Claude Code. Copilot has all but the last one.
const CLAUDE: &[(&str, Kind)] = &[
    ("PreToolUse", Kind::BeforeTool),
    ("PostToolUse", Kind::AfterTool),
    ("PostToolUseFailure", Kind::ToolFailed),
    ("SessionStart", Kind::SessionStart),
    ("UserPromptSubmit", Kind::Prompt),
    ("Stop", Kind::Stop),
    ("SubagentStop", Kind::SubagentStop),
    ("SessionEnd", Kind::SessionEnd),
    ("ConfigChange", Kind::ConfigChange),
];

fn shape(agent: Agent) -> Shape {
    match agent {
        Agent::Claude => Shape {
            file: ".claude/settings.local.json",
            dialect: Dialect::Comments,
            events: CLAUDE,
        },
        Agent::Codex => Shape {
            file: ".codex/hooks.json",
            dialect: Dialect::Strict,
            events: &[
                ("PreToolUse", Kind::BeforeTool),
                ("PostToolUse", Kind::AfterTool),
                ("SessionStart", Kind::SessionStart),
                ("UserPromptSubmit", Kind::Prompt),
                ("Stop", Kind::Stop),
                ("SubagentStop", Kind::SubagentStop),
                ("SessionEnd", Kind::SessionEnd),
            ],
        },
        Agent::Gemini => Shape {
            file: ".gemini/settings.json",
            dialect: Dialect::Comments,
            events: &[
                ("BeforeTool", Kind::BeforeTool),
                ("AfterTool", Kind::AfterTool),
                ("SessionStart", Kind::SessionStart),
                ("BeforeAgent", Kind::Prompt),
                ("AfterAgent", Kind::Stop),
                ("SessionEnd", Kind::SessionEnd),
            ],
        },
        Agent::Cursor => Shape {
            file: ".cursor/hooks.json",
            dialect: Dialect::Comments,
            events: &[
                ("preToolUse", Kind::BeforeTool),
                ("postToolUse", Kind::AfterTool),
                ("postToolUseFailure", Kind::ToolFailed),
                ("sessionStart", Kind::SessionStart),
                ("beforeSubmitPrompt", Kind::Prompt),
                ("stop", Kind::Stop),
                ("subagentStop", Kind::SubagentStop),
                ("sessionEnd", Kind::SessionEnd),
            ],
        },
        // The capital letters select the spelling of events that carry their own name.
        Agent::Copilot => Shape {
            file: ".github/hooks/role-os.json",
            dialect: Dialect::Strict,
            events: CLAUDE.split_at(8).0,
        },
    }
}

/// Returns the path of the settings file, relative to the root.
#[must_use]
pub fn file(agent: Agent) -> &'static str {
    shape(agent).file
}

/// Returns the syntax that the agent's parser accepts.
#[must_use]
pub fn dialect(agent: Agent) -> Dialect {
    shape(agent).dialect
}

/// Returns the event before a tool is used.
#[must_use]
pub fn gate_event(agent: Agent) -> &'static str {
    let before = |(_, kind): &&(&str, Kind)| *kind == Kind::BeforeTool;
    let found = shape(agent).events.iter().find(before);
    found.map_or("", |(event, _)| event)
}

/// Returns the name of an event if `init` registers it.
pub(crate) fn event_name(agent: Agent, name: &str) -> Option<&'static str> {
    let known = shape(agent).events.iter().map(|(event, _)| *event);
    known.into_iter().find(|event| *event == name)
}

/// Returns everything of ours for the settings. If `gate` is set, a failing hook has to block.
#[must_use]
pub fn wanted(agent: Agent, program: &Program, gate: bool) -> Wanted {
    let beside = match agent {
        Agent::Cursor | Agent::Copilot => vec![("version", json!(1))],
        _ => Vec::new(),
    };
    let entries = shape(agent).events.iter().map(|(event, kind)| Entry {
        event,
        value: entry(agent, *kind, program, gate),
    });
    let mut entries: Vec<Entry> = entries.collect();
    let watch = watch(agent, program);
    if watch.is_some() {
        // A line for a shell, so that the agent executes it like other commands.
        let line = format!("{} --proof session", command_line(agent, program));
        let handler = json!({ "type": "command", "command": line, "timeout": SECONDS });
        entries.push(Entry {
            event: "SessionStart",
            value: group(Kind::SessionStart, &handler),
        });
    }
    let variable = |path: PathBuf| json!(path.to_string_lossy());
    let root = || {
        (
            ENVIRONMENT,
            WATCH_ROOT,
            json!(program.root.to_string_lossy()),
        )
    };
    Wanted {
        beside,
        entries,
        inside: watch
            .into_iter()
            .flat_map(|path| [(ENVIRONMENT, SHELL_PREFIX, variable(path)), root()])
            .collect(),
    }
}

/// The section of Claude Code's settings that holds variables.
pub(crate) const ENVIRONMENT: &str = "env";

/// The variable with the prefix of Claude Code's shell commands.
pub const SHELL_PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// The variable that tells `roleos-watch` its workspace.
const WATCH_ROOT: &str = "ROLEOS_WATCH_ROOT";

/// Returns the program that supervises the commands of an agent, if the agent has a setting for it. The agent does not
/// take text after a blank and a dash as part of the path.
#[must_use]
pub fn watch(agent: Agent, program: &Program) -> Option<PathBuf> {
    let can = agent == Agent::Claude && cfg!(target_os = "linux") && !program.forced;
    let path = program.path.with_file_name(WATCH);
    let fits = can && !path.to_string_lossy().contains(" -");
    let may_make = || {
        let folder = path.parent().unwrap_or(Path::new("/"));
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
    };
    let is_there = is_link_to(&path, &program.path) || is_older_link(&path);
    (fits && (is_there || may_make())).then_some(path)
}

/// Returns `true` if a link leads to `roleos`, as in versions before `roleos-hook`, which does the same.
pub(crate) fn is_older_link(link: &Path) -> bool {
    is_link_to(link, &link.with_file_name(MAIN))
}

/// Returns `true` if a link beside a program leads to it.
pub(crate) fn is_link_to(link: &Path, program: &Path) -> bool {
    let target = std::fs::read_link(link).ok();
    target.is_some_and(|target| Some(target.as_os_str()) == program.file_name())
}

/// Returns `true` if we set a variable in an agent's settings.
#[must_use]
pub(crate) fn is_our_variable(name: &str, value: &Value) -> bool {
    let path = value.as_str().map(Path::new);
    match name {
        SHELL_PREFIX => path
            .and_then(Path::file_name)
            .is_some_and(|name| name == WATCH),
        name => name == WATCH_ROOT,
    }
}

fn entry(agent: Agent, kind: Kind, program: &Program, gate: bool) -> Value {
    let line = || command_line(agent, program);
    match agent {
        Agent::Claude => {
            let mut words = words(agent, program);
            let mut handler = json!({
                "type": "command",
                "command": words.remove(0),
                "args": words,
                "timeout": SECONDS,
            });
            if gate && matches!(kind, Kind::BeforeTool | Kind::ConfigChange) {
                add(&mut handler, "onFailure", json!("block"));
            }
            group(kind, &handler)
        }
        Agent::Codex => {
            let seconds = match kind {
                Kind::SessionEnd => CODEX_END_SECONDS,
                _ => SECONDS,
            };
            let handler = json!({ "type": "command", "command": line(), "timeout": seconds });
            group(kind, &handler)
        }
        Agent::Gemini => group(
            kind,
            &json!({
                "name": "role-os",
                "type": "command",
                "command": line(),
                "timeout": SECONDS * 1000,
            }),
        ),
        // Sources disagree on the unit of a timeout, so none is set.
        Agent::Cursor => {
            let mut handler = json!({ "command": line() });
            if gate && kind == Kind::BeforeTool {
                add(&mut handler, "failClosed", json!(true));
            }
            handler
        }
        Agent::Copilot => json!({ "type": "command", "bash": line(), "timeoutSec": SECONDS }),
    }
}

fn add(handler: &mut Value, key: &str, value: Value) {
    if let Some(fields) = handler.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// Returns a group of handlers with a matcher, which is for tools only.
fn group(kind: Kind, handler: &Value) -> Value {
    match kind {
        Kind::BeforeTool | Kind::AfterTool | Kind::ToolFailed => {
            json!({ "matcher": "*", "hooks": [handler] })
        }
        _ => json!({ "hooks": [handler] }),
    }
}

/// Returns the command as words; the first one always exists.
fn words(agent: Agent, program: &Program) -> Vec<String> {
    let forced = if program.forced {
        FORCE.as_slice()
    } else {
        &[]
    };
    let mut words: Vec<String> = forced.iter().map(|word| (*word).to_owned()).collect();
    words.push(program.path.to_string_lossy().into_owned());
    words.extend(["hook", agent.name(), "--root"].map(str::to_owned));
    words.push(program.root.to_string_lossy().into_owned());
    if let Some(state) = &program.state {
        words.extend([
            "--trust-store".to_owned(),
            state.to_string_lossy().into_owned(),
        ]);
    }
    words
}

/// Returns the command as a line for a shell.
#[must_use]
pub fn command_line(agent: Agent, program: &Program) -> String {
    let words: Vec<String> = words(agent, program)
        .iter()
        .map(|word| quoted(word))
        .collect();
    words.join(" ")
}

/// Returns `true` if a handler starts our hook for this agent, from any path.
#[must_use]
pub fn is_ours(agent: Agent, handler: &Value) -> bool {
    started(agent, handler).is_some()
}

/// Returns the command of our handler, and its program.
#[must_use]
pub fn started(agent: Agent, handler: &Value) -> Option<(Start, PathBuf)> {
    let command = handler
        .get("command")
        .or_else(|| handler.get("bash"))?
        .as_str()?;
    let (start, words) = match handler.get("args").and_then(Value::as_array) {
        Some(list) => {
            let list: Vec<String> = list
                .iter()
                .map(|word| word.as_str().unwrap_or_default().to_owned())
                .collect();
            let words = std::iter::once(command.to_owned()).chain(list.iter().cloned());
            let words: Vec<String> = words.collect();
            (Start::Exec(command.to_owned(), list), words)
        }
        None => (Start::Shell(command.to_owned()), split(command)?),
    };
    let words = match words.as_slice() {
        [env, force, rest @ ..] if [env, force] == FORCE => rest,
        words => words,
    };
    let program = Path::new(words.first()?);
    let hook = words.get(1).is_some_and(|word| word == "hook");
    let named = words.get(2).is_some_and(|word| word == agent.name());
    // `roleos-0.2` and `roleos.exe` are ours as well: `init` writes the name by which it was started.
    let roleos = program
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("roleos"));
    (roleos && hook && named).then(|| (start, program.to_owned()))
}

/// Finds our entries among those of the settings.
#[must_use]
pub fn found(agent: Agent, entries: &[(String, Value)]) -> Vec<Found> {
    let mut all = Vec::new();
    for (event, entry) in entries {
        let inner = entry.get("hooks").and_then(Value::as_array);
        let handlers = inner.map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
        for handler in handlers {
            if let Some((start, program)) = started(agent, handler) {
                all.push(Found {
                    event: event.clone(),
                    start,
                    program,
                });
            }
        }
    }
    all
}

/// Returns the agents that have files in the repository.
#[must_use]
pub fn used_here(root: &Path) -> Vec<Agent> {
    let traces: [(Agent, &[&str]); 5] = [
        (
            Agent::Claude,
            &[
                ".claude/settings.json",
                ".claude/settings.local.json",
                "CLAUDE.md",
            ],
        ),
        (Agent::Codex, &[".codex"]),
        (Agent::Gemini, &[".gemini", "GEMINI.md"]),
        (Agent::Cursor, &[".cursor", ".cursorrules"]),
        (
            Agent::Copilot,
            &[".github/hooks", ".github/copilot-instructions.md"],
        ),
    ];
    let is_used = |names: &[&str]| names.iter().any(|name| root.join(name).exists());
    let used = traces.into_iter().filter(|(_, names)| is_used(names));
    used.map(|(agent, _)| agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            path: PathBuf::from("/opt/it's here/roleos"),
            root: PathBuf::from("/srv/a b"),
            state: Some(PathBuf::from("/home/me/.local/state/roleos")),
            forced: false,
        }
    }

    #[test]
    fn claude_code_gets_the_exec_form_with_a_timeout_that_blocks() {
        let wanted = wanted(Agent::Claude, &program(), true);
        let first = wanted.entries.first().unwrap();
        assert_eq!(first.event, "PreToolUse");
        assert_eq!(
            first.value,
            json!({ "matcher": "*", "hooks": [{
                "type": "command",
                "command": "/opt/it's here/roleos",
                "args": ["hook", "claude", "--root", "/srv/a b", "--trust-store", "/home/me/.local/state/roleos"],
                "timeout": 5,
                "onFailure": "block",
            }]})
        );
    }

    #[test]
    fn only_with_the_gate_on_does_a_failing_hook_block() {
        let count = |agent, gate| {
            let text = format!("{:?}", wanted(agent, &program(), gate));
            text.matches("onFailure").count() + text.matches("failClosed").count()
        };
        assert_eq!(count(Agent::Claude, true), 2);
        assert_eq!(count(Agent::Claude, false), 0);
        assert_eq!(count(Agent::Cursor, true), 1);
        assert_eq!(count(Agent::Cursor, false), 0);
    }

    #[test]
    fn every_event_is_one_that_the_agent_speaks_of_and_the_entry_is_recognised() {
        for agent in Agent::ALL {
            let wanted = wanted(agent, &program(), true);
            let entries: Vec<(String, Value)> = wanted
                .entries
                .iter()
                .map(|entry| (entry.event.to_owned(), entry.value.clone()))
                .collect();
            let found = found(agent, &entries);
            assert_eq!(found.len(), wanted.entries.len(), "{agent:?}");
            assert!(found.iter().all(|one| one.program == program().path));
            for (event, kind) in shape(agent).events {
                let sample = json!({
                    "hook_event_name": event, "session_id": "s", "cwd": "/",
                    "tool_name": "Bash", "tool_input": { "command": "ls" },
                });
                let read = agent.dialect().read(&sample, None).unwrap();
                assert_eq!(read.kind, *kind, "{agent:?} {event}");
            }
        }
    }

    #[test]
    fn the_machine_switches_the_gate_on_by_itself() {
        let forced = Program {
            forced: true,
            ..program()
        };
        for agent in [Agent::Claude, Agent::Codex] {
            let wanted = wanted(agent, &forced, true);
            let handler = &wanted.entries.first().unwrap().value["hooks"][0];
            let (start, program) = started(agent, handler).unwrap();
            assert_eq!(program, forced.path);
            let words = match start {
                Start::Exec(first, rest) => std::iter::once(first).chain(rest).collect(),
                Start::Shell(line) => split(&line).unwrap(),
            };
            assert_eq!(words[..2], FORCE);
        }
    }

    #[test]
    fn other_programs_are_not_taken_for_ours() {
        let ours = |handler: Value| is_ours(Agent::Codex, &handler);
        assert!(ours(
            json!({ "command": "/old/place/roleos hook codex --root /x" })
        ));
        assert!(ours(json!({ "command": "'/old place/roleos' hook codex" })));
        assert!(!ours(
            json!({ "command": "/old/place/roleos hook claude --root /x" })
        ));
        assert!(ours(json!({ "command": "/opt/roleos-0.2 hook codex" })));
        assert!(!ours(json!({ "command": "/bin/my-roleos hook codex" })));
        assert!(!ours(json!({ "command": "echo roleos hook codex" })));
        assert!(!ours(json!({ "command": "roleos doctor" })));
        assert!(!ours(json!({ "command": 3 })));
        assert!(!ours(json!(null)));
    }
}
