//! What code gets from outside: its arguments, the environment and its input. Code that starts programs may start these.

use crate::evaluate::{Evaluator, glance, shells};
use crate::value::has_hole;

impl Evaluator<'_> {
    /// Files that code reads and may run: those that hold a command.
    pub(super) fn texts_of_files(
        &mut self,
        name: &str,
        literals: &[crate::evaluate::literal::Literal],
    ) {
        let paths = literals.iter().map(|literal| literal.text.as_str());
        let is_path = |path: &&str| {
            !path.is_empty() && path.len() < 200 && !path.contains(char::is_whitespace)
        };
        let given: Vec<String> = self.code_words.iter().skip(1).cloned().collect();
        let paths = paths.chain(given.iter().map(String::as_str));
        for path in paths.filter(is_path).take(24) {
            let text = self.known_file(path).filter(|text| text.len() < 4096);
            if let Some(text) = text.filter(|text| self.starts_in(text)) {
                self.perhaps(|this| this.in_shell(name, &text));
                self.linked(path, |this| this.values_of(&text));
            }
        }
    }

    /// Code that starts programs and reads its arguments may start them.
    pub(super) fn arguments_of_code(&mut self, name: &str, code: &str) {
        for text in self.given(code) {
            let follows = if text.contains(char::is_whitespace) {
                self.starts_in(&text)
            } else {
                text.contains('/') && self.starts(&text)
            };
            if follows {
                self.perhaps(|this| this.linked(name, |this| this.shell_text(&text)));
            }
        }
        let reads = ["argv", "ARGV", "$1", "@_", "shift", "arg["];
        if !reads.iter().any(|word| code.contains(word)) {
            return;
        }
        let words: Vec<String> = self.code_words.iter().skip(1).cloned().collect();
        for (index, word) in words.iter().enumerate().take(16) {
            if word.contains(|one: char| one.is_whitespace() || matches!(one, '{' | '$' | '`')) {
                let before = self.findings.actions.len();
                self.perhaps(|this| this.linked(name, |this| this.shell_text(word)));
                // A shell that is spelt out runs; what it hides is as unknown as anywhere.
                let first = word.split_whitespace().next().unwrap_or_default();
                if self.findings.actions.len() == before
                    && !has_hole(word)
                    && (shells::is_shell(first) || glance::hands_to_shell(code))
                {
                    self.in_shell(name, word);
                }
            } else if self.starts(word) {
                let rest: Vec<String> = words.iter().skip(index).cloned().collect();
                self.perhaps(|this| this.linked(name, |this| this.run(&rest)));
            }
        }
    }

    /// What code gets from outside: its arguments, the environment and its input, where it asks for them.
    pub(super) fn given(&self, code: &str) -> Vec<String> {
        let mut all = Vec::new();
        if ["argv", "ARGV", "$1", "args"]
            .iter()
            .any(|word| code.contains(word))
        {
            all.extend(self.code_words.iter().skip(1).cloned());
        }
        if ["environ", "ENV", "getenv", "process.env"]
            .iter()
            .any(|word| code.contains(word))
        {
            let exported = self
                .state
                .variables
                .values()
                .filter(|variable| variable.exported);
            all.extend(exported.map(|variable| variable.stored.scalar().first().to_owned()));
        }
        let reads = [
            "stdin", "input(", "STDIN", "$_", "$0", "<>", "gets", "readline",
        ];
        if reads.iter().any(|word| code.contains(word))
            && let Some(input) = &self.state.input
        {
            all.push(input.first().to_owned());
        }
        if self.chain.last().is_some_and(|link| link == "python code") && code.contains(".push(") {
            all.push("push".to_owned());
        }
        // `awk -v c='git push'`.
        all.extend(
            self.code_words
                .iter()
                .filter_map(|word| word.split_once('='))
                .map(|(_, value)| value.to_owned()),
        );
        all
    }
}
