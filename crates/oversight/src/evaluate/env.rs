//! `env`: what it takes from the environment, and the words that it splits.

use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// `env -i`, `env -u NAME`: variables that the program does not get.
    pub(super) fn unset_by_env(&mut self, arguments: &[String], inner: usize) {
        let own = arguments.len().saturating_sub(inner);
        let own = arguments.get(..own).unwrap_or_default();
        let clears = |word: &String| {
            word == "-"
                || word == "--ignore-environment"
                || (word.starts_with("-i") && word.len() < 4)
        };
        let variables = std::rc::Rc::make_mut(&mut self.state.variables);
        if own.iter().any(clears) {
            variables.retain(|_, variable| !variable.exported);
        }
        let mut words = own.iter();
        while let Some(word) = words.next() {
            let name = match word.as_str() {
                "-u" | "--unset" => words.next().map(String::as_str),
                word => word
                    .strip_prefix("--unset=")
                    .or_else(|| word.strip_prefix("-u")),
            };
            if let Some(name) = name {
                variables.remove(name);
            }
        }
    }

    /// `env -S 'git push'`.
    pub(super) fn split_string(&mut self, arguments: &[String]) -> Option<Outcome> {
        let mut skip = false;
        for (index, word) in arguments.iter().enumerate() {
            let inline = word.strip_prefix("--split-string=").or_else(|| {
                let flags = word.strip_prefix('-')?;
                let rest = flags
                    .trim_start_matches(['i', 'v', '0'])
                    .strip_prefix('S')?;
                Some(rest).filter(|rest| !rest.is_empty())
            });
            if matches!(word.as_str(), "-u" | "--unset" | "-C" | "--chdir") {
                skip = true;
                continue;
            }
            if std::mem::take(&mut skip) {
                continue;
            }
            let (text, after) = match inline {
                Some(text) => (text.to_owned(), index.saturating_add(1)),
                None if matches!(
                    word.as_str(),
                    "-S" | "--split-string" | "-iS" | "-vS" | "-0S"
                ) =>
                {
                    (
                        arguments.get(index.saturating_add(1))?.clone(),
                        index.saturating_add(2),
                    )
                }
                None if word.starts_with('-') || word.contains('=') => continue,
                None => return None,
            };
            let rest = arguments.get(after..).unwrap_or_default();
            let whole = super::run::with_words(&text.replace("\\_", " "), rest);
            return Some(self.in_shell("env -S", &whole));
        }
        None
    }
}
