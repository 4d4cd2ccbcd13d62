//! `parallel`: a command that is run for each item, with the item in the places that are marked.

use crate::value::{HOLE, Value};

use super::launch::{first_items, letter_value, lines};
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome};

/// More commands than this are not told apart.
const MAX_FILLED: usize = 64;

impl Evaluator<'_> {
    pub(crate) fn parallel(&mut self, arguments: &[String]) -> Outcome {
        let rest = skip_options(
            arguments,
            "jaNnLISPC",
            &[
                "jobs", "arg-file", "max-args", "colsep", "results", "joblog", "delay", "timeout",
                "retries",
            ],
        );
        let own = arguments.len().saturating_sub(rest.len());
        let mut options = arguments.iter().take(own);
        if options.any(|word| matches!(word.as_str(), "--dry-run" | "--dryrun")) {
            // The commands are printed and not run.
            return Outcome::unknown();
        }
        let split = rest
            .iter()
            .position(|word| matches!(word.as_str(), ":::" | "::::" | ":::+"));
        let dashes = rest
            .iter()
            .position(|word| word == "--")
            .filter(|_| split.is_none());
        let (command, items) = match split.or(dashes) {
            Some(at) => {
                let from_files = rest.get(at).is_some_and(|word| word == "::::");
                let words: Vec<String> = rest.iter().skip(at.saturating_add(1)).cloned().collect();
                let items = if from_files {
                    words
                        .iter()
                        .flat_map(|path| lines(self.content_value(path).first()))
                        .collect()
                } else {
                    words
                };
                (rest.get(..at).unwrap_or_default().to_vec(), items)
            }
            None => {
                let input = match option_value(arguments, &["-a", "--arg-file"]) {
                    Some(path) => self.content_value(&path),
                    None => self.state.input.clone().unwrap_or_else(Value::empty),
                };
                (rest.to_vec(), lines(input.first()))
            }
        };
        let text = command.join(" ");
        if arguments
            .iter()
            .any(|word| matches!(word.as_str(), "--pipe" | "--spreadstdin" | "--pipepart"))
        {
            // The items are the input of the command.
            return self.in_shell("parallel", &text);
        }
        if text.contains("{=") {
            self.opaque("parallel changes the words by code", &text);
        }
        let marks = ["{1}", "{2}", "{3}", "{4}"];
        if marks.iter().any(|mark| text.contains(mark)) || rest.iter().any(|word| word == ":::+") {
            return self.parallel_places(&text, &items);
        }
        let mark = letter_value(arguments, 'I').unwrap_or_else(|| "{}".to_owned());
        let text = text.replace(&mark, "{}");
        let mut outcome = Outcome::unknown();
        for item in first_items(&items) {
            // An item is one word of the command, or several where the version or an option does not quote it; only
            // where it is the command itself it may be anything.
            let quoted = super::run::quote(&item);
            let mut ways = if text.is_empty() {
                vec![item.clone()]
            } else if text.contains("{}") {
                vec![text.replace("{}", &quoted), text.replace("{}", &item)]
            } else {
                vec![format!("{text} {quoted}"), format!("{text} {item}")]
            };
            if command.len() > 1 {
                let words: Vec<String> =
                    command.iter().map(|word| super::run::quote(word)).collect();
                ways.push(words.join(" "));
            }
            ways.dedup();
            for whole in ways {
                let state = self.state.child();
                outcome = self.apart(state, |this| {
                    this.linked("parallel", |this| {
                        if text.is_empty() {
                            this.evaluated(&whole)
                        } else {
                            this.shell_text(&whole)
                        }
                    })
                });
            }
        }
        outcome
    }

    /// `{1} {2}`: lists after each `:::` fill the places, in order.
    fn parallel_places(&mut self, text: &str, items: &[String]) -> Outcome {
        let lists: Vec<&[String]> = items
            .split(|word| matches!(word.as_str(), ":::" | ":::+" | "::::"))
            .collect();
        let many = lists.len() > 1;
        let mut all = vec![text.to_owned()];
        for (index, mark) in ["{1}", "{2}", "{3}", "{4}"].iter().enumerate() {
            if text.contains(mark) {
                // Items of a single list take turns.
                let list = if many {
                    lists.get(index).copied()
                } else {
                    Some(items)
                };
                all = filled(&all, list.unwrap_or_default(), |text, item| {
                    text.replace(mark, item)
                });
            }
        }
        if many && !text.contains('{') {
            for list in &lists {
                all = filled(&all, list, |text, item| format!("{text} {item}"));
            }
        }
        let mut outcome = Outcome::unknown();
        for text in all {
            outcome = self.in_shell("parallel", &text);
        }
        outcome
    }
}

/// Every text with every item, or with an unknown one where that would be too many.
fn filled(texts: &[String], items: &[String], put: impl Fn(&str, &str) -> String) -> Vec<String> {
    let (none, unknown) = ([String::new()], [HOLE.to_string()]);
    let items = match items.len().saturating_mul(texts.len()) {
        0 => &none,
        1..=MAX_FILLED => items,
        _ => &unknown,
    };
    texts
        .iter()
        .flat_map(|text| items.iter().map(|item| put(text, item)))
        .collect()
}
