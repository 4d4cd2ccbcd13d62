//! Programs that end other programs: those that guard a workspace must not be ended.

use actions::lookup::base_name;
use shell::value::has_hole;
use shell::words::names;

use crate::Guarded;
use crate::agents::is_agent;
use crate::programs::operands;
use authority::verdict::Verdict;

/// Our programs in the process list.
const OURS: &[&str] = names!("roleos roleos-hook roleos-watch");

/// Placeholder for the process that started the shell of the call: the agent, or the supervisor.
pub const PARENT: &str = "$PPID";

/// Programs that find processes by a name or a pattern.
const FINDERS: &[&str] = names!("pgrep pidof pkill killall killall5 skill snice ps");

/// Returns `true` if a program searches for our processes.
pub fn looks_for_ours(name: &str, arguments: &[String]) -> bool {
    // A filter without a file reads the output of another program.
    let filters = matches!(name, "grep" | "egrep" | "rg" | "awk" | "sed");
    let searches = FINDERS.contains(&name) || (filters && operands(arguments).len() == 1);
    searches && arguments.iter().any(|word| names_ours(word))
}

/// Returns the objection to ending processes. `found`: the command has searched for ours.
pub fn ends_ours(name: &str, arguments: &[String], found: bool) -> Option<Guarded> {
    if !matches!(name, "killall" | "pkill" | "skill" | "kill") {
        return None;
    }
    let words = operands(arguments);
    // `kill -9 -1`: every process of the user. As the first argument, `-1` is a signal.
    let ends_all = match name {
        "kill" => arguments.iter().skip(1).any(|word| word == "-1"),
        "pkill" | "skill" => words
            .iter()
            .any(|word| word.chars().all(|one| ".*^$".contains(one))),
        _ => false,
    };
    let is_number = |word: &&String| word.chars().all(|one| one.is_ascii_digit());
    let ends = match name {
        "killall" => words
            .iter()
            .any(|word| OURS.contains(&base_name(word)) || word.contains("role")),
        "pkill" | "skill" => words.iter().any(|word| names_ours(word)),
        // Its arguments come from the search.
        "kill" => {
            found
                && (words.is_empty() || words.iter().any(|word| has_hole(word) || !is_number(word)))
        }
        _ => false,
    };
    if ends || ends_all {
        let reason = "it ends programs of roleos: they guard this workspace".to_owned();
        return Some(Guarded::new(name, Verdict::Deny, reason));
    }
    let ends_agent = match name {
        "killall" | "pkill" | "skill" => words.iter().any(|word| is_agent(base_name(word))),
        "kill" => words.iter().any(|word| word.contains(PARENT)),
        _ => false,
    };
    ends_agent.then(|| {
        let reason = "it ends the agent or what supervises this command".to_owned();
        Guarded::new(name, Verdict::Ask, reason)
    })
}

/// Returns `true` if a pattern for names of processes can match ours.
fn names_ours(pattern: &str) -> bool {
    let pattern = base_name(pattern).to_ascii_lowercase();
    let plain = pattern.trim_matches(['^', '$', '*', '.', '[', ']', '(', ')', '/']);
    let is_part =
        |name: &&str| plain.len() > 2 && (name.contains(plain) || plain.contains("roleos"));
    OURS.iter().any(is_part) || plain.replace(['[', ']', '\\', '?'], "").contains("roleos")
}
