//! Outputs that can be computed: `echo`, `printf`, `cat`, decoders and simple filters over text that is known.

use crate::lookup::{base_name, directory_of};
use crate::shell::escape;
use crate::value::{ENVIRONMENT, HOLE, LISTED, Value, has_hole};

use super::filter::{apply, matched_group, substitute};
use super::wrapper::option_value;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// The output of a program that only handles text.
    pub(crate) fn computed(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let output = match name {
            "echo" => echo(arguments),
            "printf" => printf(arguments),
            "pwd" => Value::text(format!("{}\n", self.state.directory)),
            "which" | "whereis" => match arguments.iter().find(|word| !word.starts_with('-')) {
                Some(program) => Value::text(format!("/usr/bin/{program}\n")),
                None => Value::empty(),
            },
            "basename" => {
                let words: Vec<&String> = arguments
                    .iter()
                    .filter(|word| !word.starts_with('-'))
                    .collect();
                let name = base_name(words.first()?);
                let name = words
                    .get(1)
                    .and_then(|ending| name.strip_suffix(ending.as_str()))
                    .unwrap_or(name);
                Value::text(name.to_owned() + "\n")
            }
            "dirname" => Value::text(directory_of(arguments.first()?).to_owned() + "\n"),
            "ssh-agent" | "dircolors" | "lesspipe" => Value::empty(),
            "tee" => {
                let input = self.state.input.clone().unwrap_or_else(Value::empty);
                let append = arguments.iter().any(|word| word == "-a");
                for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.write(path, &input, append);
                }
                input
            }
            "expr" => match arguments {
                [text, colon, wanted] if colon == ":" => matched_group(text, wanted)?,
                _ => return None,
            },
            "seq" => {
                let format = option_value(arguments, &["-f", "--format"])?;
                printf(&[format.replace("%g", "%s") + "\\n", "1".to_owned()])
            }
            "cat" | "tac" | "rev" | "tr" | "base64" | "base32" | "basenc" | "xxd" | "sed"
            | "head" | "tail" | "cut" | "gbase64" | "openssl" | "sort" | "uniq" | "grep"
            | "egrep" | "fgrep" | "iconv" | "column" | "fold" | "nl" | "strings" | "fmt"
            | "envsubst" | "jq" | "zcat" | "gzcat" | "gunzip" | "gzip" | "xz" | "unxz"
            | "bzip2" | "bunzip2" | "od" | "awk" | "gawk" | "pbpaste" | "uudecode" | "dos2unix"
            | "expand" => return Some(self.filter(name, arguments)),
            _ if super::outputs::is_made_for_eval(name, arguments, self.catalog) => Value::empty(),
            _ => return None,
        };
        Some(Outcome::prints(output))
    }

    fn filter(&mut self, name: &str, arguments: &[String]) -> Outcome {
        let own: usize = match name {
            "tr" | "envsubst" => return Outcome::prints(self.over_input(name, arguments, &[])),
            "sed" | "grep" | "egrep" | "fgrep" | "jq" | "awk" | "gawk" => {
                usize::from(option_value(arguments, &["-e", "-f"]).is_none())
            }
            _ => 0,
        };
        let mut files = Vec::new();
        let mut words = arguments.iter();
        let mut seen = 0;
        while let Some(word) = words.next() {
            let valued = matches!(
                (name, word.as_str()),
                ("head" | "tail", "-n" | "-c")
                    | ("cut", "-d" | "-f" | "-c" | "-b")
                    | ("sed", "-e" | "-f" | "-m" | "-A" | "-B" | "-C")
                    | ("iconv", "-f" | "-t")
                    | ("fold", "-w")
                    | ("sort", "-k" | "-t")
                    | ("base64", "-w")
                    | ("column", "-s" | "-N")
                    | ("jq", "--arg")
                    | ("awk" | "gawk", "-F" | "-v")
                    | ("fmt", "-w" | "-p" | "-g")
                    | ("uniq", "-f" | "-s" | "-w")
                    | ("expand", "-t")
                    | ("strings", "-n" | "-t")
                    | ("nl", "-w" | "-s" | "-b" | "-v" | "-i" | "-n")
                    | (
                        "grep" | "egrep" | "fgrep",
                        "-e" | "-f" | "-m" | "-A" | "-B" | "-C"
                    )
                    | ("sort", "-S" | "-T" | "-o")
            );
            if valued {
                words.next();
            } else if word == "-" || !word.starts_with('-') {
                if seen >= own && name != "openssl" {
                    files.push(word.clone());
                }
                seen += 1;
            }
        }
        Outcome {
            status: None,
            output: self.over_input(name, arguments, &files),
        }
    }

    fn over_input(&mut self, name: &str, arguments: &[String], files: &[String]) -> Value {
        let input = if files.is_empty()
            || (name == "jq"
                && arguments.iter().any(|word| {
                    word.contains('n') && word.starts_with('-') && !word.starts_with("--")
                })) {
            self.state.input.clone().unwrap_or_else(Value::empty)
        } else {
            let mut whole = Value::empty();
            for file in files {
                whole = whole.then(&self.content_value(file));
            }
            whole
        };
        let variables = |variable: &str| {
            self.state
                .get(variable)
                .and_then(|value| value.known().map(str::to_owned))
        };
        input.map(|text| {
            if has_hole(text) && !matches!(name, "cat" | "gzip" | "gunzip" | "zcat") {
                let listed = text.contains(LISTED) && !text.contains([HOLE, ENVIRONMENT]);
                return if listed && super::outputs::picks_lines(name) {
                    text.clone()
                } else {
                    HOLE.to_string()
                };
            }
            if name == "envsubst" {
                return substitute(text, &variables).unwrap_or_else(|| HOLE.to_string());
            }
            apply(name, arguments, text).unwrap_or_else(|| HOLE.to_string())
        })
    }
}

fn echo(arguments: &[String]) -> Value {
    let mut words = arguments;
    let (mut escapes, mut newline) = (false, true);
    while let Some((first, rest)) = words.split_first()
        && let Some(flags) = first.strip_prefix('-')
        && !flags.is_empty()
        && flags.chars().all(|flag| "neE".contains(flag))
    {
        escapes |= flags.contains('e');
        newline &= !flags.contains('n');
        words = rest;
    }
    let mut text = words.join(" ");
    if escapes {
        text = escape::backslashes(&text);
    }
    if newline {
        text.push('\n');
    }
    Value::text(text)
}

/// `printf format words…`: the format is used again while there are words.
pub(crate) fn printf(arguments: &[String]) -> Value {
    let arguments = match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    };
    let Some((format, words)) = arguments.split_first() else {
        return Value::empty();
    };
    let mut words = words.iter();
    let mut text = String::new();
    for _ in 0..64 {
        let before = words.len();
        let mut pieces = format.split('%');
        text.push_str(&escape::backslashes(pieces.next().unwrap_or_default()));
        let mut literal = false;
        for piece in pieces {
            if literal {
                text.push_str(&escape::backslashes(piece));
                literal = false;
                continue;
            }
            if piece.is_empty() {
                text.push('%');
                literal = true;
                continue;
            }
            let kind = piece
                .find(|character: char| character.is_ascii_alphabetic() || character == '(')
                .unwrap_or(0);
            let (flags, rest) = piece.split_at_checked(kind).unwrap_or(("", piece));
            let mut rest = rest.chars();
            let word = words.next().cloned().unwrap_or_default();
            match rest.next() {
                Some('s' | 'd' | 'i' | 'u') => {
                    let most = flags
                        .split_once('.')
                        .and_then(|(_, most)| most.parse::<usize>().ok());
                    text.extend(word.chars().take(most.unwrap_or(usize::MAX)));
                }
                Some('b') => text.push_str(&escape::backslashes(&word)),
                Some('c') => text.extend(word.chars().next()),
                Some('q') => text.push_str(&super::run::quote(&word)),
                _ => text.push(HOLE),
            }
            text.push_str(&escape::backslashes(rest.as_str()));
        }
        if words.len() == 0 || words.len() == before {
            break;
        }
    }
    Value::text(text)
}
