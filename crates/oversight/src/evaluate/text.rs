//! Output of `echo`, `printf` and `cat`, if it is literal in the command.

use shell::escape;
use shell::value::{has_hole, joined, unknown};

use super::{Evaluator, Outcome};

pub(crate) fn echo(words: &[String]) -> Outcome {
    let is_flag = |word: &&String| {
        word.strip_prefix('-')
            .is_some_and(|flags| !flags.is_empty() && flags.chars().all(|one| "neE".contains(one)))
    };
    let flags: String = words
        .iter()
        .take_while(is_flag)
        .map(String::as_str)
        .collect();
    let rest: Vec<String> = words.iter().skip_while(is_flag).cloned().collect();
    let mut text = rest.join(" ");
    if flags.contains('e') {
        text = escape::backslashes(&text);
    } else if text.contains('\\') {
        // Most shells other than bash interpret escapes by default.
        text = match escape::backslashes(&text) == text {
            true => text,
            false => unknown(),
        };
    }
    if !flags.contains('n') {
        text.push('\n');
    }
    Outcome {
        status: Some(true),
        output: joined(String::new(), &text),
    }
}

/// Formats arguments with `%s`, `%b`, `%d`, `%q`, `%c` and `%%`; the effect of a width is unknown.
pub(crate) fn printf(arguments: &[String]) -> Outcome {
    let arguments = match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    };
    let Some((format, words)) = arguments.split_first() else {
        return Outcome::quiet(None);
    };
    let mut words = words.iter();
    let mut text = String::new();
    loop {
        let before = words.len();
        let mut pieces = format.split('%');
        text.push_str(&escape::backslashes(pieces.next().unwrap_or_default()));
        while let Some(piece) = pieces.next() {
            let mut letters = piece.chars();
            let Some(letter) = letters.next() else {
                text.push('%');
                text.push_str(&escape::backslashes(pieces.next().unwrap_or_default()));
                continue;
            };
            let word = words.next().cloned().unwrap_or_default();
            match letter {
                's' => text.push_str(&word),
                'b' => text.push_str(&escape::backslashes(&word)),
                'd' | 'i' if word.parse::<i64>().is_ok() || has_hole(&word) => text.push_str(&word),
                'c' => text.extend(word.chars().next()),
                'q' => text.push_str(&escape::quote(&word)),
                _ => return Outcome::unknown(),
            }
            text.push_str(&escape::backslashes(letters.as_str()));
        }
        if words.len() == 0 || words.len() == before || text.len() > shell::value::MAX_TEXT {
            break;
        }
    }
    Outcome {
        status: Some(true),
        output: joined(String::new(), &text),
    }
}

/// Evaluates `which git`, `command -v git`, `type -P git`: the path of a program.
pub(crate) fn path_of(words: &[String]) -> Outcome {
    let named: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    match named.as_slice() {
        [program] if !program.contains('/') => Outcome::prints(format!("/usr/bin/{program}\n")),
        _ => Outcome::unknown(),
    }
}

impl Evaluator<'_> {
    /// Evaluates `tee`: it prints its input and writes it to files.
    pub(crate) fn tee(&mut self, words: &[String]) -> Outcome {
        let input = self.state.input().cloned().unwrap_or_else(unknown);
        let appends = words.iter().any(|word| word == "-a" || word == "--append");
        for path in words.iter().filter(|word| !word.starts_with('-')) {
            self.write(path, &input, appends);
        }
        Outcome::prints(input)
    }

    pub(crate) fn cat(&mut self, words: &[String]) -> Outcome {
        let mut output = String::new();
        let files: Vec<&String> = words
            .iter()
            .filter(|word| !word.starts_with('-') || *word == "-")
            .collect();
        if files.is_empty() {
            output = self.state.input().cloned().unwrap_or_default();
        }
        for path in files {
            output = joined(output, &self.content(path));
        }
        let changes = words
            .iter()
            .any(|word| word.starts_with('-') && word.len() > 1);
        Outcome::prints(if changes { unknown() } else { output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_printed() {
        let words = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        for (texts, expected) in [
            (&["%s %s", "git", "push"][..], "git push"),
            (&["%s\\n", "a", "b"], "a\nb\n"),
            (&["100%%"], "100%"),
            (&["%d", "3"], "3"),
        ] {
            assert_eq!(printf(&words(texts)).output, expected, "{texts:?}");
        }
        assert!(has_hole(&printf(&words(&["%4s", "x"])).output));
        assert_eq!(echo(&words(&["-n", "a", "b"])).output, "a b");
        assert_eq!(echo(&words(&["-e", "a\\tb"])).output, "a\tb\n");
    }
}
