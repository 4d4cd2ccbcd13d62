//! Our commands that are for people, never for an agent: they change the agent's permissions, or the evidence.

use authority::verdict::Verdict;
use shell::value::has_hole;
use shell::words::names;

use crate::Guarded;

/// Commands that are for people, with any arguments.
const FOR_PEOPLE: &[&str] =
    names!("grant approve revoke deny dismiss key trust login-code prune uninstall migrate");

/// Commands of a group that are for people.
const IN_GROUPS: &[(&str, &[&str])] = &[
    (
        "specialist",
        names!("promote rollback clear-halt register certify repair"),
    ),
    ("metric", names!("change abort")),
    ("witness", names!("seal")),
    ("ledger", names!("adopt")),
    ("config", names!("set unset")),
    ("prices", names!("update")),
    ("catalog", names!("enable disable uninstall sign")),
    ("token", names!("create revoke")),
];

/// Global options that take the next argument.
const VALUED: &[&str] = names!("--root --color --trust-store --state --store");

/// Returns the objection to running `roleos` with these arguments.
pub fn command(arguments: &[String]) -> Option<Guarded> {
    let mut operands = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            operands.push(word.as_str());
        }
    }
    let asks_help = arguments
        .iter()
        .any(|word| word == "--help" || word == "-h");
    if asks_help || operands.first() == Some(&"help") {
        return None;
    }
    let in_group = |group: &str, command: &str| {
        IN_GROUPS
            .iter()
            .any(|(name, commands)| *name == group && commands.contains(&command))
    };
    let stopped = match operands.as_slice() {
        // These only show.
        ["approve"] | ["key", "list"] => None,
        [first, ..] if FOR_PEOPLE.contains(first) => Some((*first).to_owned()),
        // Without a mode it only shows the current one.
        ["mode", _, ..] => Some("mode".to_owned()),
        [group, command, ..] if in_group(group, command) => Some(format!("{group} {command}")),
        ["init", ..] if arguments.iter().any(|word| is_uninstall(word)) => {
            Some("init --uninstall".to_owned())
        }
        _ => None,
    };
    if let Some(what) = stopped {
        let reason = format!(
            "it runs `roleos {what}`, which changes what the agent may do or what counts as evidence; a person runs it \
             in a terminal"
        );
        return Some(Guarded::new(
            format!("roleos {what}"),
            Verdict::Deny,
            reason,
        ));
    }
    let unknown = operands.iter().take(2).any(|word| has_hole(word));
    let reason = "it runs `roleos` with a command that is not known before it runs";
    unknown.then(|| Guarded::new("roleos", Verdict::Ask, reason.to_owned()))
}

/// Returns `true` for `--uninstall`, which may be abbreviated or have a value.
fn is_uninstall(word: &str) -> bool {
    word.starts_with("--uninstall") || (word.len() > 4 && "--uninstall".starts_with(word))
}
