//! What an analysis found: actions, what stayed unknown, and protected things that are touched.

use protection::Guarded;
use shell::ir::Span;
use shell::value::for_people;

/// Notes of one kind that are kept for people; the strongest is always among them.
const MAX_NOTES: usize = 64;

/// Characters of a command that a note shows.
const SHOWN: usize = 120;

/// How sure we are that an action happens when the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The words stand where an unknown program may start them.
    Possible,
    /// The program is started with these words.
    Certain,
}

/// A gated action that the command performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its id.
    pub action: String,
    /// The part of the command that shows it.
    pub span: Option<Span>,
    /// From the outermost program to the act: `bash -c`, `env`, `git push`.
    pub chain: Vec<String>,
    /// How sure we are.
    pub certainty: Certainty,
    /// Program and arguments, for scopes.
    pub words: Vec<String>,
    /// Where it would run.
    pub directory: String,
    /// Variables that the command gives to the program and that change what it does, as `NAME=value`.
    pub environment: Vec<String>,
}

impl Finding {
    /// Returns the act itself, without how it was found.
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
    /// Why.
    pub reason: String,
    /// What.
    pub text: String,
    /// Where.
    pub span: Option<Span>,
    /// It runs outside of the process tree of the command, where supervision does not see it.
    pub escapes: bool,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Actions, in the order in which they were met.
    pub actions: Vec<Finding>,
    /// What stayed unknown.
    pub opaque: Vec<Opaque>,
    /// Protected things that are touched.
    pub guarded: Vec<Guarded>,
    /// Words of programs that have a daemon or another machine start something, where all of them are known.
    pub launches: Vec<Vec<String>>,
}

impl Findings {
    /// Adds a program that leaves the process tree.
    pub(crate) fn launch(&mut self, words: Vec<String>) {
        if !self.launches.contains(&words) && self.launches.len() < MAX_NOTES {
            self.launches.push(words);
        }
    }

    /// Adds an action; the same act twice is one.
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

    /// Adds something that stayed unknown. Beyond what people read, only a note that weighs more is kept.
    pub(crate) fn doubt(&mut self, note: Opaque) {
        let is_new = !self.opaque.contains(&note);
        let weighs = note.escapes && !self.opaque.iter().any(|old| old.escapes);
        if is_new && (weighs || self.opaque.len() < MAX_NOTES) {
            self.opaque.push(note);
        }
    }

    /// Forgets those doubts beyond so many that are of a kind.
    pub(crate) fn forget(&mut self, known: usize, is_kind: impl Fn(&Opaque) -> bool) {
        let later = self.opaque.split_off(known.min(self.opaque.len()));
        let kept = later.into_iter().filter(|doubt| !is_kind(doubt));
        self.opaque.extend(kept);
    }

    /// Adds a protected thing. Beyond what people read, only a stronger answer is kept.
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
