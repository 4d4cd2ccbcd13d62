//! Launchers with their own grammar: `xargs`, `find`, `parallel`, `su` and `script`.

use shell::value::{ENVIRONMENT, has_hole, unknown};
use shell::words::names;

use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome, budget};

impl Evaluator<'_> {
    /// Evaluates `xargs`: the command with the items of the input behind it, or in the place of a marker.
    pub(crate) fn xargs(&mut self, arguments: &[String]) -> Outcome {
        let long = names!("arg-file max-args max-procs max-chars delimiter process-slot-var");
        let command = skip_options(arguments, "aEIJLnPsdR", long);
        let own = arguments.len().saturating_sub(command.len());
        let own = arguments.get(..own).unwrap_or_default();
        let file = letter_value(own, 'a').or_else(|| option_value(own, &["--arg-file"]));
        let input = match file {
            Some(path) => self.content(&path),
            None => self.state.input().cloned().unwrap_or_default(),
        };
        let replaces = |word: &&String| {
            word.starts_with("--replace") || *word == "-i" || word.starts_with("-i{")
        };
        let place = letter_value(own, 'I').or_else(|| letter_value(own, 'J'));
        let place = place.or_else(|| {
            own.iter().find(replaces).map(|word| {
                let named = word.split_once('=').map(|(_, place)| place);
                named.unwrap_or("{}").to_owned()
            })
        });
        let mut words = command.to_vec();
        if words.is_empty() {
            words.push("echo".to_owned());
        }
        let has = |flag: char, long: &str| {
            own.iter().any(|word| {
                word.starts_with(long)
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
            })
        };
        if has('r', "--no-run") && !has_hole(&input) && input.trim().is_empty() {
            return Outcome::quiet(None);
        }
        let delimiter = letter_value(own, 'd').or_else(|| option_value(own, &["--delimiter"]));
        let delimiter = delimiter.map(|text| shell::escape::backslashes(&text));
        let delimiter = if has('0', "--null") {
            Some("\0".to_owned())
        } else {
            delimiter
        };
        let items: Vec<String> = match (&delimiter, &place) {
            _ if has_hole(&input) => vec![unknown()],
            (Some(delimiter), _) => {
                let items = input.split(delimiter.as_str()).map(str::to_owned);
                items.filter(|item| !item.is_empty()).collect()
            }
            // The splitting of the input is only known for plain words.
            _ if input.contains(['\\', '"', '\'', '\0'])
                || has('E', "--eof")
                || has('L', "--max-l")
                || has('l', "--max-l") =>
            {
                vec![unknown()]
            }
            (None, Some(_)) => input.lines().map(str::to_owned).collect(),
            (None, None) => input.split_whitespace().map(str::to_owned).collect(),
        };
        let most = letter_value(own, 'n').or_else(|| option_value(own, &["--max-args"]));
        let most = most
            .and_then(|most| most.parse::<usize>().ok())
            .filter(|most| *most > 0);
        let mut state = self.state.child();
        state.descriptors.insert(0, String::new());
        self.apart(state, |this| {
            this.linked("xargs", |this| match (place, most) {
                (Some(place), _) => this.replaced(&words, &place, &items),
                (None, Some(most)) => {
                    let batches: Vec<Vec<String>> = items.chunks(most).map(<[_]>::to_vec).collect();
                    let (few, more) = budget::items(&batches);
                    let rest = more.then(|| vec![unknown()]);
                    for batch in few.iter().chain(&rest) {
                        this.run(&[words.as_slice(), batch].concat());
                    }
                    Outcome::unknown()
                }
                (None, None) => this.run(&[words, items].concat()),
            })
        })
    }

    /// Runs the command once for each item, with the item in the place of a marker.
    fn replaced(&mut self, words: &[String], place: &str, items: &[String]) -> Outcome {
        let (few, more) = budget::items(items);
        let rest = (more || items.is_empty()).then(unknown);
        let mut output = String::new();
        for item in few.iter().chain(&rest) {
            let put = |(at, word): (usize, &String)| match at {
                // `xargs -Iurl curl url` starts `curl`.
                0 if word != place => word.clone(),
                _ => word.replace(place, item),
            };
            let all: Vec<String> = words.iter().enumerate().map(put).collect();
            output = shell::value::joined(output, &self.run(&all).output);
        }
        Outcome::prints(output)
    }

    /// Evaluates `find -exec`, `fd -x`: the results are files, which are data.
    pub(crate) fn find(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let executes = |word: &String| match name {
            "find" => matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"),
            _ => matches!(word.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"),
        };
        let split = |word: &String| match word.split_once('=') {
            Some((option @ ("--exec" | "--exec-batch"), program)) => {
                vec![option.to_owned(), program.to_owned()]
            }
            _ => vec![word.clone()],
        };
        let arguments: Vec<String> = arguments.iter().flat_map(split).collect();
        for pair in arguments.windows(2) {
            if let [option, path] = pair
                && option.starts_with("-fprint") | (option == "-fls")
            {
                self.write(path, &unknown(), false);
            }
        }
        let mut words = arguments.as_slice();
        while let Some(at) = words.iter().position(executes) {
            words = words.get(at.saturating_add(1)..).unwrap_or_default();
            let end = words.iter().position(|word| word == ";" || word == "+");
            let (inner, rest) = words.split_at(end.unwrap_or(words.len()));
            // Programs can be found by their names as well.
            let is_program = inner.first().is_some_and(|program| program.contains("{}"));
            let item = if is_program {
                unknown()
            } else {
                ENVIRONMENT.to_string()
            };
            let put = |word: &String| word.replace("{}", &item);
            let inner: Vec<String> = inner.iter().map(put).collect();
            let mut state = self.state.child();
            state.descriptors.insert(0, String::new());
            self.apart(state, |this| {
                let runs_file = inner.first().is_some_and(|program| {
                    super::shells::is_shell(&super::run::program_name(program))
                });
                if runs_file
                    && inner.contains(&item)
                    && !inner
                        .iter()
                        .any(|word| word.starts_with("-") && word.ends_with('c'))
                {
                    this.opaque("the scripts that are found are run", &inner.join(" "));
                }
                this.linked(format!("{name} -exec"), |this| this.run(&inner))
            });
            words = rest;
        }
        Outcome::unknown()
    }

    /// Evaluates `parallel cmd ::: items`: a text for a shell, with the items inserted.
    pub(crate) fn parallel(&mut self, arguments: &[String]) -> Outcome {
        let long = names!(
            "jobs delay timeout joblog max-args colsep arg-file sshlogin results tmpdir max-replace-args fg id"
        );
        let rest = skip_options(arguments, "jaNnISPCL", long);
        let is_mark = |word: &&String| word.starts_with(":::");
        let command: Vec<String> = rest
            .iter()
            .take_while(|word| !is_mark(word))
            .cloned()
            .collect();
        let lists = rest.iter().filter(is_mark).count();
        let items = rest
            .iter()
            .skip_while(|word| !is_mark(word))
            .filter(|word| !is_mark(word));
        let mut items: Vec<String> = items.cloned().collect();
        let own = arguments.len().saturating_sub(rest.len());
        let is_odd = lists > 1 || own > 0 || rest.iter().any(|word| word.starts_with("::::"));
        if lists == 0 {
            let input = self.state.input().cloned().unwrap_or_default();
            items = input.lines().map(str::to_owned).collect();
        }
        let mut given = arguments
            .iter()
            .take_while(|word| rest.first() != Some(word));
        if given.any(|word| word == "--dry-run" || word == "--dryrun") {
            return Outcome::unknown();
        }
        let text = command.join(" ");
        let marks = text.contains('{') && text.contains('}') && !text.contains("{}");
        if is_odd || marks || items.is_empty() {
            // The position of each item is not followed; the literal parts count.
            items = vec![unknown()];
        }
        let (few, more) = budget::items(&items);
        let rest = more.then(unknown);
        for item in few.iter().chain(&rest) {
            let whole = match text.contains("{}") {
                true => text.replace("{}", item),
                false if text.is_empty() => item.clone(),
                false => format!("{text} {}", shell::escape::quote(item)),
            };
            self.in_shell("parallel", whole.trim());
        }
        Outcome::unknown()
    }

    /// Evaluates `su -c text`, `script -c text file`; without a text they start a shell, which reads its input.
    pub(crate) fn session(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let text = letter_value(arguments, 'c')
            .or_else(|| option_value(arguments, &["--command", "--session-command"]));
        let plain: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .cloned()
            .collect();
        if name == "script"
            && let Some(file) = plain.iter().find(|word| Some(*word) != text.as_ref())
        {
            self.write(file, &unknown(), false);
        }
        match text {
            Some(text) => self.in_shell(name, &text),
            None => {
                // `script file command` on some systems.
                if let Some(command) = plain
                    .get(1..)
                    .filter(|words| name == "script" && !words.is_empty())
                {
                    self.linked(name, |this| this.run(command));
                }
                let input = self.state.input().cloned();
                input.map_or_else(Outcome::unknown, |input| self.in_shell(name, &input))
            }
        }
    }
}

/// Returns the value of a letter option, in the same argument or the next.
pub(crate) fn letter_value(arguments: &[String], letter: char) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let flags = word
            .strip_prefix('-')
            .filter(|flags| !flags.starts_with('-'));
        let Some((_, rest)) = flags.and_then(|flags| flags.split_once(letter)) else {
            continue;
        };
        return match rest {
            "" => words.next().cloned(),
            glued => Some(glued.to_owned()),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_values() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (text, expected) in [
            ("-I {} git", Some("{}")),
            ("-rI% git", Some("%")),
            ("--x y", None),
        ] {
            assert_eq!(
                letter_value(&words(text), 'I').as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
