//! Texts in code that may be commands and are most often none: messages, descriptions, other code.

use crate::evaluate::run::UNKNOWN_PROGRAM;
use crate::evaluate::{Evaluator, Opaque};
use crate::shell::lower::Refused;
use crate::words::names;

/// Ways to start something that its call does not show.
const HIDING: &[&str] = names!(
    "getattr( __import__ eval( import_module globals( b64decode atob fromCharCode chr( ctypes [::-1] \
    codecs Function( runpy vm. breakpoint( reverse( rot13 unhexlify compile( execv execl exec(open"
);

/// Words without one of which code starts nothing: `run(` and `call` alone mean many things.
const STARTING: &[&str] = names!(
    "subprocess os.system popen Popen os.exec os.spawn posix_spawn pty exec( eval( getoutput getstatusoutput \
    invoke fabric plumbum pexpect runpy __import__ import_module ctypes child_process exec spawn fork \
    Command Worker vm. Function( system shell sh. twine git $` qx ` %x open"
);

impl Evaluator<'_> {
    /// Forgets what the texts of code left unknown, from a number of notes on, where its calls decide: most texts are
    /// no commands.
    pub(super) fn settle_by_calls(&mut self, name: &str, code: &str, known: usize) {
        if self.exhausted {
            return;
        }
        let added = self.findings.opaque.split_off(known);
        if !self.shows_its_starts(name, code) {
            self.findings.opaque.extend(added);
        }
    }

    /// Whether code that was there before the command shows by its calls what it starts; then these decide. It may
    /// compute as much as it likes beside them.
    fn shows_its_starts(&mut self, name: &str, code: &str) -> bool {
        if !self.older || !matches!(name, "python" | "node" | "perl" | "ruby") {
            return false;
        }
        if !STARTING.iter().any(|word| code.contains(word)) {
            return true;
        }
        if HIDING.iter().any(|word| code.contains(word)) {
            return false;
        }
        let language = crate::evaluate::language::of(name);
        language.is_some_and(|language| self.calls_in(language, name, code))
    }

    /// Whether a text in code may be a command that matters. In code that was there before the command a sign of the
    /// shell alone does not make it one: large programs are full of them.
    pub(super) fn may_start(&mut self, text: &str) -> bool {
        const LAUNCHES: &[&str] = &[
            "bash", "| sh", "|sh", "sh -c", "eval ", "sudo ", "make ", "npx ", "source ", "./",
        ];
        let names = |this: &Self| {
            this.catalog.mentions_part(text)
                || crate::actions::mentions_guarded(text)
                || LAUNCHES.iter().any(|word| text.contains(word))
        };
        (!self.older || names(self)) && self.starts_in(text)
    }

    /// Follows a text in code as a command. What no shell can read, or begins with a place to be filled, is prose
    /// unless it names the words of an act.
    pub(super) fn text_in_code(&mut self, name: &str, text: &str) {
        let known = self.findings.opaque.len();
        self.in_shell(name, text);
        if self.findings.opaque.len() == known {
            return;
        }
        let added = self.findings.opaque.split_off(known);
        let kept = added.into_iter().filter(|note| !self.is_prose(note, text));
        let kept: Vec<Opaque> = kept.collect();
        self.findings.opaque.extend(kept);
    }

    fn is_prose(&self, note: &Opaque, text: &str) -> bool {
        let words = || text.split(|one: char| !one.is_alphanumeric() && !matches!(one, '-' | '_'));
        let names = |wanted: &str| words().any(|word| word == wanted);
        if note.reason == Refused::Syntax.to_string() {
            return !self
                .catalog
                .acts()
                .any(|(program, verb)| names(program) && names(verb));
        }
        // `{tool} push`, `{tool} release create`.
        let mut after = note.text.split_whitespace().skip(1).take(2);
        let is_verb = |word: &str| self.catalog.acts().any(|(_, verb)| word == verb);
        note.reason == UNKNOWN_PROGRAM && !after.any(is_verb)
    }
}
