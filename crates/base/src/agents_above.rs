//! Detects a coding agent above this process: by the marks that agents set in the environment of their commands, and by
//! the parent processes. The caller decides about the consequences.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
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
    ("ROLEOS_WATCH", SUPERVISED),
];

/// Process name of a command's supervisor, for every command.
const SUPERVISOR: &str = "roleos-watch";
const SUPERVISED: &str = "a supervised command";

/// The mark that several agents share; its value names the agent.
pub(crate) const SHARED_MARK: &str = "AI_AGENT";

/// Programs that are agents, by name. Editors are not: people use terminals in them too.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("gemini", "Gemini CLI"),
    ("cursor-agent", "Cursor"),
    ("copilot", "GitHub Copilot"),
    ("opencode", "OpenCode"),
    ("qwen", "Qwen Code"),
];

/// Agents by the package that a script belongs to.
const PACKAGES: &[(&str, &str)] = &[
    ("@anthropic-ai/claude-code", "Claude Code"),
    ("@openai/codex", "Codex"),
    ("@google/gemini-cli", "Gemini CLI"),
    ("@github/copilot", "GitHub Copilot"),
    ("@qwen-code/qwen-code", "Qwen Code"),
];

/// Programs whose first argument is the actual program.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno"];

/// Largest depth of processes.
const MAX_DEPTH: usize = 128;
const MAX_COMMAND_LINE: u64 = 256 * 1024;

/// An agent with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAbove {
    /// Its name, for people.
    pub agent: String,
    /// Evidence for people: a variable or a process.
    pub shown_by: String,
}

/// Finds the agent above this process, if there is one.
#[must_use]
pub fn find() -> Option<AgentAbove> {
    // A person whose machine hides the parent processes is not locked out.
    by_marks(environment::agent_mark)
        .or_else(|| by_ancestors(Path::new("/proc"), std::process::id()).unwrap_or_default())
}

/// Finds the agent above another process of this user, by its variables and its parent processes.
///
/// # Errors
/// The process has ended, or hides its variables.
pub fn find_above(process: u32) -> io::Result<Option<AgentAbove>> {
    let proc = Path::new("/proc");
    let environ = read(&proc.join(process.to_string()).join("environ"))?;
    if environ.is_empty() {
        // An ended process that was not waited for looks the same.
        return Err(io::Error::other("the process shows no variables"));
    }
    match by_marks(|name| marked_in(&environ, name)) {
        Some(above) => Ok(Some(above)),
        None => by_ancestors(proc, process),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, MAX_COMMAND_LINE).map_err(|error| error.source)
}

/// Returns the value of a variable in the format of `/proc/<pid>/environ`.
fn marked_in(environ: &[u8], name: &str) -> Option<OsString> {
    environ.split(|&byte| byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsString::from_vec(value.to_vec()))
    })
}

fn by_marks(lookup: impl Fn(&str) -> Option<OsString>) -> Option<AgentAbove> {
    let set = |name: &str| lookup(name).filter(|value| !value.is_empty() && value != "0");
    if let Some((name, agent)) = MARKS.iter().find(|(name, _)| set(name).is_some()) {
        return Some(AgentAbove {
            agent: (*agent).to_owned(),
            shown_by: format!("the variable `{name}` is set"),
        });
    }
    // The agent's own program sets the variable for a hook too; commands of the agent have `…_agent`, or only its name.
    let value = set(SHARED_MARK)?.to_string_lossy().into_owned();
    (!value.ends_with("_harness")).then(|| AgentAbove {
        shown_by: format!("the variable `{SHARED_MARK}` is `{value}`"),
        agent: value,
    })
}

fn by_ancestors(proc: &Path, start: u32) -> io::Result<Option<AgentAbove>> {
    let (_, mut process) = name_and_parent(proc, start)?;
    for _ in 0..MAX_DEPTH {
        if process == 0 {
            break;
        }
        let line = read(&proc.join(process.to_string()).join("cmdline"))?;
        let (name, parent) = name_and_parent(proc, process)?;
        if name == SUPERVISOR {
            return Ok(Some(AgentAbove {
                agent: SUPERVISED.to_owned(),
                shown_by: format!("process {process} above this one is its supervisor"),
            }));
        }
        if let Some(agent) = agent_of(&line) {
            return Ok(Some(AgentAbove {
                agent: agent.to_owned(),
                shown_by: format!("process {process} above this one is {agent}"),
            }));
        }
        process = parent;
    }
    Ok(None)
}

/// Parses name and parent. The parent follows the program's name, which is in brackets and may itself contain brackets.
fn name_and_parent(proc: &Path, process: u32) -> io::Result<(String, u32)> {
    let stat = read(&proc.join(process.to_string()).join("stat"))?;
    let text = String::from_utf8_lossy(&stat);
    let parse = || {
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let parent = after.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some((name.to_owned(), parent))
    };
    parse().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
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

    /// Builds processes from the innermost out, each by its words.
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
            // The supervisor has no words.
            let (name, words) = match *line {
                SUPERVISOR => (SUPERVISOR, String::new()),
                line => ("a) b", line.replace(' ', "\0")),
            };
            put("cmdline", words);
            put("stat", format!("{number} ({name}) S {parent} 1 1"));
        }
        by_ancestors(proc.path(), 1)
            .unwrap()
            .map(|above| above.agent)
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
        assert_eq!(tree(&["roleos", "sh", SUPERVISOR]).unwrap(), SUPERVISED);
    }

    #[test]
    fn another_process_is_recognised_by_its_variables_and_its_ancestors() {
        let environ = b"A=B\0CLAUDECODE=1\0CLAUDECODES=2\0";
        assert_eq!(marked_in(environ, "CLAUDECODE").unwrap(), "1");
        assert_eq!(marked_in(environ, "CODE"), None);
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env("GEMINI_CLI", "1")
            .spawn()
            .unwrap();
        // Until the program is executed, the process has the variables of this one, or none.
        let since = std::time::Instant::now();
        let mut above = None;
        while above.is_none() && since.elapsed().as_secs() < 10 {
            above = find_above(child.id()).unwrap_or_default();
            above = above.filter(|above| above.agent == "Gemini CLI");
        }
        child.kill().unwrap();
        // It has ended and was not waited for; then it is gone.
        while find_above(child.id()).is_ok() && since.elapsed().as_secs() < 20 {}
        assert!(find_above(child.id()).is_err());
        child.wait().unwrap();
        assert!(find_above(child.id()).is_err());
        assert!(above.is_some());
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
        assert!(by_ancestors(Path::new("/nowhere"), 1).is_err());
    }
}
