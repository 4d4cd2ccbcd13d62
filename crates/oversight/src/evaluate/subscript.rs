//! Names that are evaluated: subscripts inside the names that builtins take, completion commands, aliases, `BASH_FUNC_x%%`.

use crate::shell::lower;
use crate::value::Value;

use super::run::with_words;
use super::wrapper::option_value;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// `a[$(cmd)]` as a name: its subscript is arithmetic, and arithmetic expands again.
    pub(crate) fn subscripted(&mut self, name: &str) {
        if let Some((_, inner)) = name.split_once('[') {
            self.value(&lower::single_word(inner));
            let inner = inner.trim_end_matches(']').to_owned();
            self.number(&inner, 8);
        }
    }

    /// Sets a variable or an element of an array by its name.
    pub(crate) fn set_by_name(&mut self, name: &str, value: Value) {
        self.subscripted(name);
        let integer = self
            .state
            .variables
            .get(name)
            .is_some_and(|old| old.integer);
        if let Some(text) = value.known().filter(|_| integer).map(str::to_owned) {
            self.number(&text, 8);
        }
        match name.split_once('[') {
            Some((array, key)) => {
                let key = self.key_of(array, key.trim_end_matches(']'));
                self.set_element(array, key, value);
            }
            None => self.state.set(name, value, false),
        }
    }

    /// `alias x=text`, and what it prints of those that are there.
    pub(crate) fn alias(&mut self, arguments: &[String]) -> Outcome {
        for word in arguments {
            if let Some((name, text)) = word.split_once('=') {
                self.state.aliases.insert(name.to_owned(), text.to_owned());
            }
        }
        // In fish the text is a word of its own.
        if let [name, text] = super::builtin::without_dashes(arguments)
            && !name.contains('=')
        {
            self.state.aliases.insert(name.clone(), text.clone());
        }
        let shown = |name: &String| {
            let text = self.state.aliases.get(name)?;
            Some(format!("alias {name}='{text}'\n"))
        };
        let lists = arguments.iter().all(|word| word == "-p");
        let shown: String = if lists {
            self.state.aliases.keys().filter_map(shown).collect()
        } else {
            arguments.iter().filter_map(shown).collect()
        };
        Outcome {
            status: Some(true),
            output: Value::text(shown),
        }
    }

    /// The text of an alias, with the words after it.
    pub(crate) fn expand_alias(&mut self, name: &str, text: &str, arguments: &[String]) -> Outcome {
        let mut whole = with_words(text, arguments);
        // After an alias that ends in a blank the next word is looked up as well.
        if text.ends_with(' ')
            && let Some((next, rest)) = arguments.split_first()
            && let Some(second) = self.state.aliases.get(next).cloned()
        {
            whole = with_words(&format!("{text}{second}"), rest);
        }
        let removed = self.state.aliases.remove(name);
        let outcome = self.linked(format!("alias {name}"), |this| this.shell_text(&whole));
        if let Some(text) = removed {
            self.state.aliases.insert(name.to_owned(), text);
        }
        outcome
    }

    /// `compgen -C cmd`, `-F function`, `-W words`: all of them run or expand.
    pub(crate) fn completion(&mut self, arguments: &[String]) -> Outcome {
        if let Some(text) = option_value(arguments, &["-C"]) {
            self.in_shell("compgen -C", &text);
        }
        if let Some(function) = option_value(arguments, &["-F"]) {
            self.run(&[function]);
        }
        if let Some(words) = option_value(arguments, &["-W"]) {
            self.value(&lower::single_word(&words));
        }
        Outcome::unknown()
    }

    /// A function that comes through the environment: `BASH_FUNC_x%%=() { …; }`.
    pub(crate) fn function_variable(&mut self, variable: &str, value: &str) {
        let name = variable
            .strip_prefix("BASH_FUNC_")
            .and_then(|rest| rest.strip_suffix("%%").or_else(|| rest.strip_suffix("()")));
        if let Some(name) = name
            && value.trim_start().starts_with("()")
        {
            self.passed_functions.push(format!("{name} {value}"));
        }
    }
}
