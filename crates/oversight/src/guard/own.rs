//! Commands of ours that a person gives, never an agent: they change what the agent may do.

use crate::value::has_hole;
use crate::verdict::Verdict;

use super::Guarded;

/// Commands that are for people, whatever follows.
const FOR_PEOPLE: &[&str] = &["grant", "approve", "revoke", "mode", "key", "keys", "trust"];

/// Commands of `specialist` that are for people.
const SPECIALIST: &[&str] = &["promote", "rollback", "clear-halt"];

/// Global options that take the next word.
const VALUED: &[&str] = &["--root", "--color", "--config"];

/// What stands against running `roleos` with these words.
pub(crate) fn command(arguments: &[String]) -> Option<Guarded> {
    if arguments
        .iter()
        .any(|word| word == "--help" || word == "-h" || word == "help")
    {
        return None;
    }
    let mut operands = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            operands.push(word.as_str());
        }
    }
    let stopped = match operands.as_slice() {
        [first, ..] if FOR_PEOPLE.contains(first) => Some((*first).to_owned()),
        ["specialist", second, ..] if SPECIALIST.contains(second) => {
            Some(format!("specialist {second}"))
        }
        ["init", ..] if arguments.iter().any(|word| is_uninstall(word)) => {
            Some("init --uninstall".to_owned())
        }
        _ => None,
    };
    if let Some(what) = stopped {
        return Some(Guarded {
            reason: format!(
                "it runs `roleos {what}`, which changes what the agent may do; a person runs it in a terminal"
            ),
            what: format!("roleos {what}"),
            verdict: Verdict::Deny,
            span: None,
        });
    }
    let unknown = operands.iter().take(2).any(|word| has_hole(word));
    unknown.then(|| Guarded {
        reason: "it runs `roleos` with a command that is not known before it runs".to_owned(),
        what: "roleos".to_owned(),
        verdict: Verdict::Ask,
        span: None,
    })
}

/// Options may be abbreviated or given a value.
fn is_uninstall(word: &str) -> bool {
    word.starts_with("--uninstall") || (word.len() > 4 && "--uninstall".starts_with(word))
}
