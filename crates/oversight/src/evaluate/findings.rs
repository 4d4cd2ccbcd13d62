//! Findings of an analysis: actions, unknown parts, and protected things that are touched.

use protection::Guarded;
use shell::ir::Span;
use shell::value::for_people;

/// Limit of notes of one kind that are kept for people; the strongest is always among them.
const MAX_NOTES: usize = 64;

/// Limit of characters of a command that a note shows.
const SHOWN: usize = 120;

/// Certainty that an action happens when the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// An unknown program may execute these arguments.
    Possible,
    /// The program is executed with these arguments.
    Certain,
}

/// A gated action that the command performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the action.
    pub action: String,
    /// Part of the command that shows it.
    pub span: Option<Span>,
    /// Chain from the outermost program to the act: `bash -c`, `env`, `git push`.
    pub chain: Vec<String>,
    /// Certainty of the action.
    pub certainty: Certainty,
    /// Program and arguments, for scopes.
    pub words: Vec<String>,
    /// Working directory.
    pub directory: String,
    /// Variables that the command sets for the program and that change its behaviour, as `NAME=value`.
    pub environment: Vec<String>,
}

impl Finding {
    /// Returns the act itself, without the way to it.
    pub(crate) fn performed(&self) -> actions::scope::Performed<'_> {
        actions::scope::Performed {
            action: &self.action,
            words: &self.words,
            directory: &self.directory,
            environment: &self.environment,
        }
    }
}

/// A part of the command that could not be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Description of the reason.
    pub reason: String,
    /// Text of the part.
    pub text: String,
    /// Position of the part.
    pub span: Option<Span>,
    /// Set if it runs outside of the process tree of the command, where supervision does not see it.
    pub escapes: bool,
}

/// All findings of an analysis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Actions, in the order in which they were found.
    pub actions: Vec<Finding>,
    /// Parts that could not be followed.
    pub opaque: Vec<Opaque>,
    /// Protected things that are touched.
    pub guarded: Vec<Guarded>,
    /// Commands whose program makes a daemon or another machine start something, if all arguments are known.
    pub launches: Vec<Vec<String>>,
}

impl Findings {
    /// Adds a program that leaves the process tree.
    pub(crate) fn launch(&mut self, words: Vec<String>) {
        if !self.launches.contains(&words) && self.launches.len() < MAX_NOTES {
            self.launches.push(words);
        }
    }

    /// Adds an action; the same act twice counts once.
    pub(crate) fn act(&mut self, finding: Finding) {
        let is_known = self.actions.iter().any(|old| {
            old.certainty >= finding.certainty
                && old.action == finding.action
                && old.words == finding.words
                && old.directory == finding.directory
                && old.environment == finding.environment
        });
        if !is_known {
            self.actions.push(finding);
        }
    }

    /// Adds a part that could not be followed. Beyond the limit, only a stronger note is kept.
    pub(crate) fn doubt(&mut self, note: Opaque) {
        let is_new = !self.opaque.contains(&note);
        let weighs = note.escapes && !self.opaque.iter().any(|old| old.escapes);
        if is_new && (weighs || self.opaque.len() < MAX_NOTES) {
            self.opaque.push(note);
        }
    }

    /// Drops the doubts of a kind after the first `known` ones.
    pub(crate) fn forget(&mut self, known: usize, is_kind: impl Fn(&Opaque) -> bool) {
        let later = self.opaque.split_off(known.min(self.opaque.len()));
        let kept = later.into_iter().filter(|doubt| !is_kind(doubt));
        self.opaque.extend(kept);
    }

    /// Adds a protected thing. Beyond the limit, only a stronger verdict is kept.
    pub(crate) fn guard(&mut self, guarded: Guarded) {
        let is_new = !self.guarded.contains(&guarded);
        let strongest = self.guarded.iter().map(|old| old.verdict).max();
        let weighs = strongest.is_none_or(|verdict| verdict < guarded.verdict);
        if is_new && (weighs || self.guarded.len() < MAX_NOTES) {
            self.guarded.push(guarded);
        }
    }
}

/// Returns the part of a text that a note shows.
pub(crate) fn shown(text: &str) -> String {
    let text = for_people(text);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn the_strongest_is_kept_behind_many() {
        let guarded = |what: String, verdict| Guarded {
            reason: what.clone(),
            what,
            verdict,
            is_bound: false,
            span: None,
        };
        let doubt = |text: String, escapes| Opaque {
            reason: String::new(),
            text,
            span: None,
            escapes,
        };
        let mut findings = Findings::default();
        for number in 0..MAX_NOTES * 2 {
            findings.guard(guarded(number.to_string(), Verdict::Ask));
            findings.doubt(doubt(number.to_string(), false));
        }
        findings.guard(guarded("last".to_owned(), Verdict::Deny));
        findings.doubt(doubt("last".to_owned(), true));
        assert_eq!(
            findings.guarded.last().map(|one| one.verdict),
            Some(Verdict::Deny)
        );
        assert!(findings.opaque.iter().any(|note| note.escapes));
        assert_eq!(shown(&"a".repeat(SHOWN + 1)).chars().count(), SHOWN + 1);
    }
}
