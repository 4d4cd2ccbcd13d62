//! Whether this process runs below a coding agent: by the marks that agents leave in the environment of the commands
//! they run, and by the processes above it. It recognises; what follows from it is the caller's business.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::environment;
use crate::files;

/// Marks in the environment of a tool call, with the agent that sets them.
pub(crate) const MARKS: &[(&str, &str)] = &[
    ("CLAUDECODE", "Claude Code"),
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    ("CODEX_THREAD_ID", "Codex"),
    ("GEMINI_CLI", "Gemini CLI"),
    ("CURSOR_AGENT", "Cursor"),
    ("COPILOT_AGENT", "GitHub Copilot"),
    ("COPILOT_CLI", "GitHub Copilot"),
    ("OPENCODE", "OpenCode"),
    ("QWEN_CODE", "Qwen Code"),
    ("AUGMENT_AGENT", "Augment"),
    ("ANTIGRAVITY_AGENT", "Antigravity"),
    ("AMP_CURRENT_THREAD_ID", "Amp"),
    ("GOOSE_TERMINAL", "Goose"),
];

/// The mark that several agents share; its value names the agent.
pub(crate) const SHARED_MARK: &str = "AI_AGENT";

/// Programs that are agents, by name. Editors are none: people have terminals in them too.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("gemini", "Gemini CLI"),
    ("cursor-agent", "Cursor"),
    ("copilot", "GitHub Copilot"),
    ("opencode", "OpenCode"),
    ("qwen", "Qwen Code"),
];

/// The same by the package that a script belongs to.
const PACKAGES: &[(&str, &str)] = &[
    ("@anthropic-ai/claude-code", "Claude Code"),
    ("@openai/codex", "Codex"),
    ("@google/gemini-cli", "Gemini CLI"),
    ("@github/copilot", "GitHub Copilot"),
    ("@qwen-code/qwen-code", "Qwen Code"),
];

/// Programs whose first argument is the program that is meant.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno"];

/// No process is this deep.
const MAX_DEPTH: usize = 128;
const MAX_COMMAND_LINE: u64 = 256 * 1024;

/// An agent, and how it was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAbove {
    /// Its name, for people.
    pub agent: String,
    /// What showed it, for people: a variable or a process.
    pub shown_by: String,
}

/// The agent below which this process runs, if there is one.
#[must_use]
pub fn find() -> Option<AgentAbove> {
    by_marks(environment::agent_mark)
        .or_else(|| by_ancestors(Path::new("/proc"), std::process::id()))
}

fn by_marks(lookup: impl Fn(&str) -> Option<OsString>) -> Option<AgentAbove> {
    let set = |name: &str| lookup(name).filter(|value| !value.is_empty() && value != "0");
    if let Some((name, agent)) = MARKS.iter().find(|(name, _)| set(name).is_some()) {
        return Some(AgentAbove {
            agent: (*agent).to_owned(),
            shown_by: format!("the variable `{name}` is set"),
        });
    }
    // A hook is started by the agent's own program and says so; what the agent runs says `…_agent`, or just its name.
    let value = set(SHARED_MARK)?.to_string_lossy().into_owned();
    (!value.ends_with("_harness")).then(|| AgentAbove {
        shown_by: format!("the variable `{SHARED_MARK}` is `{value}`"),
        agent: value,
    })
}

fn by_ancestors(proc: &Path, start: u32) -> Option<AgentAbove> {
    let mut process = parent_of(proc, start)?;
    for _ in 0..MAX_DEPTH {
        if process == 0 {
            break;
        }
        let folder = proc.join(process.to_string());
        let line = files::read(&folder.join("cmdline"), MAX_COMMAND_LINE).unwrap_or_default();
        if let Some(agent) = agent_of(&line) {
            return Some(AgentAbove {
                agent: agent.to_owned(),
                shown_by: format!("process {process} above this one is {agent}"),
            });
        }
        process = parent_of(proc, process)?;
    }
    None
}

/// The parent stands behind the program's name, which is in brackets and may itself hold any.
fn parent_of(proc: &Path, process: u32) -> Option<u32> {
    let stat = files::read(&proc.join(process.to_string()).join("stat"), 4096).ok()?;
    let text = String::from_utf8_lossy(&stat);
    let (_, after) = text.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn agent_of(command_line: &[u8]) -> Option<&'static str> {
    let mut words = command_line
        .split(|&byte| byte == 0)
        .map(String::from_utf8_lossy);
    let program = words.next()?;
    let name = base_name(&program);
    let script = INTERPRETERS
        .contains(&name)
        .then(|| words.find(|word| !word.starts_with('-')))
        .flatten();
    let candidates = [Some(program.as_ref()), script.as_deref()];
    candidates.into_iter().flatten().find_map(|path| {
        let named = PROGRAMS
            .iter()
            .find(|(program, _)| base_name(path) == *program);
        let packed = PACKAGES.iter().find(|(package, _)| path.contains(package));
        named.or(packed).map(|(_, agent)| *agent)
    })
}

fn base_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn mark(set: &[(&str, &str)]) -> Option<String> {
        let found = by_marks(|name| {
            let value = set.iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| OsString::from(value))
        });
        found.map(|above| above.agent)
    }

    #[test]
    fn a_tool_call_is_recognised_by_its_variables() {
        assert_eq!(mark(&[("CLAUDECODE", "1")]).unwrap(), "Claude Code");
        assert_eq!(mark(&[("CODEX_THREAD_ID", "x")]).unwrap(), "Codex");
        assert_eq!(mark(&[("GEMINI_CLI", "1")]).unwrap(), "Gemini CLI");
        assert_eq!(mark(&[("CURSOR_AGENT", "1")]).unwrap(), "Cursor");
        assert_eq!(mark(&[("COPILOT_CLI", "1")]).unwrap(), "GitHub Copilot");
        let shared = "claude-code_2-1-325_agent";
        assert_eq!(mark(&[("AI_AGENT", shared)]).unwrap(), shared);
        assert_eq!(mark(&[("AI_AGENT", "codex")]).unwrap(), "codex");
    }

    #[test]
    fn a_person_is_not_taken_for_an_agent() {
        assert_eq!(mark(&[]), None);
        assert_eq!(mark(&[("CLAUDECODE", "")]), None);
        assert_eq!(mark(&[("CLAUDECODE", "0")]), None);
        assert_eq!(mark(&[("AI_AGENT", "claude-code_harness")]), None);
        assert_eq!(mark(&[("CURSOR_TRACE_ID", "an editor's terminal")]), None);
    }

    /// Processes from the innermost out, each by its words.
    fn tree(lines: &[&str]) -> Option<String> {
        let proc = tempfile::tempdir().unwrap();
        for (index, line) in lines.iter().enumerate() {
            let (number, parent) = (index + 1, index + 2);
            let parent = if parent > lines.len() { 0 } else { parent };
            let folder = proc.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            let put = |name: &str, text: String| {
                files::write(&folder.join(name), text.as_bytes(), files::Privacy::Shared).unwrap();
            };
            put("cmdline", line.replace(' ', "\0"));
            put("stat", format!("{number} (a) b) S {parent} 1 1"));
        }
        by_ancestors(proc.path(), 1).map(|above| above.agent)
    }

    #[test]
    fn an_agent_above_is_recognised_by_its_program() {
        assert_eq!(
            tree(&["roleos", "bash", "/usr/bin/claude -p x"]).unwrap(),
            "Claude Code"
        );
        assert_eq!(
            tree(&[
                "roleos",
                "node /lib/node_modules/@anthropic-ai/claude-code/cli.js"
            ])
            .unwrap(),
            "Claude Code"
        );
        assert_eq!(
            tree(&[
                "roleos",
                "sh",
                "node --max-old-space-size=1 /usr/bin/gemini"
            ])
            .unwrap(),
            "Gemini CLI"
        );
        assert_eq!(
            tree(&["roleos", "sh", "script", "codex exec"]).unwrap(),
            "Codex"
        );
    }

    #[test]
    fn other_programs_above_are_none() {
        assert_eq!(tree(&["roleos", "bash", "tmux", "init"]), None);
        assert_eq!(tree(&["roleos", "vim claude", "bash"]), None);
        assert_eq!(
            tree(&["claude", "bash"]),
            None,
            "the process itself is not above itself"
        );
        assert_eq!(
            tree(&["roleos", "/opt/cursor/cursor --type=renderer"]),
            None
        );
        assert_eq!(by_ancestors(Path::new("/nowhere"), 1), None);
    }
}
