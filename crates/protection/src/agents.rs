//! Other agents that a tool call starts. They lead to a question; with other settings or without hooks they are
//! refused.

use authority::verdict::Verdict;
use shell::value::for_people;
use shell::words::names;

use crate::Guarded;

/// Names of an agent's program and package, and its short options that load other settings or skip prompts.
const AGENTS: &[(&[&str], &str)] = &[
    (&["claude", "claude-code"], ""),
    (&["codex", "codex-cli"], "cp"),
    (&["gemini", "gemini-cli"], "ye"),
    (&["cursor-agent"], "f"),
    (&["copilot", "copilot-cli"], ""),
    // Agents that `init` cannot set up: they have no hook at all.
    (
        names!(
            "aider aider-chat auggie cline codebuff cn continue-cli crush droid jules kiro-cli \
            mini-swe-agent opencode opencode-ai openhands plandex qwen qwen-code rovodev swe-agent sweagent trae-cli"
        ),
        "y",
    ),
];

/// Programs that are an agent only with one of these words first; alone they are other programs.
const WITH_WORD: &[(&str, &[&str])] = &[
    ("acli", &["rovodev"]),
    ("amp", names!("-x --execute threads")),
    ("cursor", &["agent"]),
    ("goose", names!("run session")),
    ("q", &["chat"]),
];

/// Parts of the names of options that load other settings, or disable hooks or prompts.
const LOOSENS: &[&str] = names!(
    "bare settings setting dangerously bypass yolo hook hooks profile config plugin plugins agents simple safe"
);

/// Values that disable prompts.
const LOOSE_VALUES: &[&str] = names!("bypassPermissions yolo danger-full-access hooks codex_hooks");

/// Variables that move or change the settings of an agent, or of its hook.
const VARIABLES: &[&str] = names!("HOME XDG_STATE_HOME XDG_CONFIG_HOME NODE_OPTIONS NODE_PATH");

/// Prefixes of such variables, and suffixes that make one of them harmless.
const PREFIXES: &[&str] = names!("ROLEOS_ CLAUDE_ CODEX_ GEMINI_ COPILOT_ CURSOR_");
const HARMLESS_ENDS: &[&str] = names!("_KEY _TOKEN _MODEL _TOKENS _MS");

/// Interpreters that run an agent's package by its file.
const INTERPRETERS: &[&str] = names!("node bun deno tsx");

/// Returns `true` if a variable of this name changes the settings that an agent loads.
pub fn is_settings_variable(name: &str) -> bool {
    let by_prefix = PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !HARMLESS_ENDS.iter().any(|end| name.ends_with(end));
    by_prefix || VARIABLES.contains(&name)
}

/// Returns `true` if a program or package of this name is an agent.
pub fn is_agent(name: &str) -> bool {
    AGENTS.iter().any(|(names, _)| names.contains(&name))
}

/// Returns the short options of an agent, if the program is one, and its arguments.
fn agent<'w>(name: &str, arguments: &'w [String]) -> Option<(&'static str, &'w [String])> {
    let by_name = |name: &str| {
        let found = AGENTS.iter().find(|(names, _)| names.contains(&name));
        found.map(|(_, letters)| *letters)
    };
    if let Some(letters) = by_name(name) {
        return Some((letters, arguments));
    }
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    let mut with_word = WITH_WORD.iter();
    if with_word.any(|(program, words)| *program == name && words.contains(&first)) {
        return Some(("y", arguments.get(1..).unwrap_or_default()));
    }
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let at = arguments.iter().position(|word| !word.starts_with('-'))?;
    let letters = arguments.get(at)?.split('/').find_map(by_name)?;
    let is_package =
        arguments.get(at)?.contains("node_modules/") || arguments.get(at)?.contains("/cli");
    is_package.then(|| {
        (
            letters,
            arguments.get(at.saturating_add(1)..).unwrap_or_default(),
        )
    })
}

/// Returns the objection to a program, if it is an agent. `variables` are those that the command sets for it.
pub fn start(
    name: &str,
    arguments: &[String],
    variables: &dyn Fn() -> Vec<String>,
) -> Option<Guarded> {
    let (letters, arguments) = agent(name, arguments)?;
    if only_prints(arguments) {
        return None;
    }
    let option = arguments
        .iter()
        .find(|word| loosens(word, letters))
        .cloned();
    let loose = option.or_else(|| variables().first().map(|name| format!("{name}=")));
    let (verdict, reason) = match loose {
        Some(loose) => {
            let loose = for_people(&loose);
            let reason = format!(
                "it starts another agent (`{name}`) with `{loose}`, which loads other settings or leaves hooks out"
            );
            (Verdict::Deny, reason)
        }
        None => {
            let reason = format!("it starts another agent (`{name}`), which acts on its own");
            (Verdict::Ask, reason)
        }
    };
    Some(Guarded::new(name, verdict, reason))
}

/// Returns `true` if an argument loads other settings, or disables hooks or prompts.
fn loosens(word: &str, letters: &str) -> bool {
    let (option, value) = word.split_once('=').unwrap_or((word, word));
    if LOOSE_VALUES.contains(&value) {
        return true;
    }
    match option.strip_prefix("--") {
        Some(name) => {
            let everything = name.starts_with("allow-all") || name == "force";
            everything || name.split('-').any(|part| LOOSENS.contains(&part))
        }
        None => {
            let flags = option.strip_prefix('-').unwrap_or_default();
            flags.len() < 4 && flags.contains(|flag| letters.contains(flag))
        }
    }
}

/// Returns `true` if the agent only prints information about itself.
fn only_prints(arguments: &[String]) -> bool {
    const PRINTS: &[&str] =
        names!("--version -v -V --help -h help version doctor completion completions");
    const LISTS: &[&str] = names!("list ls get status show --help -h");
    let first = arguments.first().map(String::as_str);
    let second = arguments.get(1).map(String::as_str);
    let is_command = first.is_some_and(|word| !word.starts_with('-') && !word.contains(' '));
    first.is_some_and(|word| PRINTS.contains(&word))
        || (is_command && second.is_some_and(|word| LISTS.contains(&word)))
}
