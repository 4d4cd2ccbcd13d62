//! Outputs that can be computed: `echo`, `printf`, `cat`, decoders and simple filters over text that is known.

use crate::lookup::{base_name, directory_of};
use crate::shell::escape;
use crate::value::{ENVIRONMENT, HOLE, LISTED, Value, has_hole};

use super::filter::words::Given;
use super::filter::{apply, matched_group, substitute};
use super::wrapper::option_value;
use super::{Evaluator, Outcome};

/// A format is not used more often than this.
const MAX_PRINTED: usize = 4096;

impl Evaluator<'_> {
    /// The output of a program that only handles text.
    pub(crate) fn computed(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let output = match name {
            "echo" => self.echoed(arguments),
            "printf" => printf(arguments),
            "pwd" => Value::text(format!("{}\n", self.state.directory)),
            "which" | "whereis" => match arguments.iter().find(|word| !word.starts_with('-')) {
                Some(program) if name == "whereis" => {
                    Value::text(format!("{program}: /usr/bin/{program}\n"))
                }
                Some(program) => Value::text(format!("/usr/bin/{program}\n")),
                None => Value::empty(),
            },
            "basename" => {
                let given = Given::read(arguments, "s:", &[("suffix", 's')])?;
                let name = base_name(given.operands.first()?);
                let ending = given.value('s').or_else(|| given.operands.get(1).copied());
                let name = ending
                    .and_then(|ending| name.strip_suffix(ending))
                    .filter(|rest| !rest.is_empty())
                    .unwrap_or(name);
                Value::text(name.to_owned() + "\n")
            }
            "dirname" => match Given::read(arguments, "", &[])?.operands.as_slice() {
                [path] => Value::text(directory_of(path).to_owned() + "\n"),
                _ => return None,
            },
            "ls" if self.made_directory(arguments).is_some() => {
                let names = self.made_directory(arguments)?;
                Value::text(names.join("\n") + "\n")
            }
            // The same path as another system spells it.
            "cygpath" | "wslpath" => Value::text(arguments.last()?.clone() + "\n"),
            "ls" if !arguments.is_empty() => {
                let directory = self.state.directory.clone();
                let known = |path: &String| {
                    !path.starts_with('-')
                        && self.exists(&crate::lookup::absolute(&directory, path))
                };
                if !arguments.iter().all(known) {
                    return None;
                }
                for path in arguments {
                    // A directory would be listed.
                    self.known_file(path)?;
                }
                Value::text(arguments.join("\n") + "\n")
            }
            "yes" => {
                let line = if arguments.is_empty() {
                    "y".to_owned()
                } else {
                    arguments.join(" ")
                };
                Value::text(line + "\n").or(&Value::unknown())
            }
            "ssh-agent" | "dircolors" | "lesspipe" => Value::empty(),
            "tee" => {
                let input = self.state.input.clone().unwrap_or_else(Value::empty);
                let append = arguments
                    .iter()
                    .any(|word| matches!(word.as_str(), "-a" | "-ai" | "-ia" | "--append"));
                for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.write(path, &input, append);
                }
                input
            }
            "expr" => match arguments {
                [text, colon, wanted] if colon == ":" => matched_group(text, wanted)?,
                [verb, text, from, length] if verb == "substr" => {
                    let (from, length) = (from.parse::<usize>().ok()?, length.parse().ok()?);
                    let part = text.chars().skip(from.checked_sub(1)?).take(length);
                    Value::text(part.collect::<String>() + "\n")
                }
                _ => return None,
            },
            "date" | "stat" | "readlink" | "realpath" | "printenv" => self.told(name, arguments)?,
            "comm" | "join" => self.common_lines(name, arguments)?,
            "seq" => match option_value(arguments, &["-f", "--format"]) {
                Some(format) => printf(&[format.replace("%g", "%s") + "\\n", "1".to_owned()]),
                None => super::outputs::sequence(arguments)?,
            },
            "cat" | "tac" | "rev" | "tr" | "base64" | "base32" | "basenc" | "xxd" | "sed"
            | "head" | "tail" | "cut" | "gbase64" | "openssl" | "sort" | "uniq" | "grep"
            | "egrep" | "fgrep" | "iconv" | "column" | "fold" | "nl" | "strings" | "fmt"
            | "envsubst" | "jq" | "zcat" | "gzcat" | "gunzip" | "gzip" | "xz" | "unxz"
            | "bzip2" | "bunzip2" | "od" | "awk" | "gawk" | "pbpaste" | "uudecode" | "dos2unix"
            | "expand" | "paste" | "mawk" | "nawk" => return Some(self.filter(name, arguments)),
            _ if super::outputs::is_made_for_eval(name, arguments, self.catalog) => {
                // `flox activate -- npm publish`: with a command it does not only print.
                let starts = |word: &String| {
                    let mut words = word.split_whitespace();
                    words.any(|word| self.catalog.is_program(word))
                };
                if arguments.iter().any(starts) {
                    return None;
                }
                Value::empty()
            }
            _ => return None,
        };
        Some(Outcome::prints(output))
    }

    /// What small programs tell of names and variables.
    fn told(&self, name: &str, arguments: &[String]) -> Option<Value> {
        Some(match name {
            "printenv" => match arguments {
                [variable] => self.state.get(variable)?.then(&Value::text("\n")),
                _ => return None,
            },
            "date" => match arguments {
                [format] if !format.contains('%') => {
                    Value::text(format.strip_prefix('+')?.to_owned() + "\n")
                }
                _ => return None,
            },
            "stat" => match arguments {
                [option, format, path] if option == "-c" && format == "%n" => {
                    Value::text(path.clone() + "\n")
                }
                _ => return None,
            },
            "readlink" | "realpath" => match arguments {
                // A link mostly ends at a program of the same name.
                [.., path] if path.contains("bin/") && super::files::is_system(path) => {
                    Value::text(path.clone() + "\n").or(&Value::unknown())
                }
                [flags @ .., path]
                    if flags
                        .iter()
                        .all(|flag| matches!(flag.as_str(), "-f" | "-e" | "-m"))
                        && (name == "realpath" || !flags.is_empty())
                        && !has_hole(path)
                        && !has_hole(&self.state.directory) =>
                {
                    Value::text(crate::lookup::absolute(&self.state.directory, path) + "\n")
                }
                [path] => {
                    let path = crate::lookup::absolute(&self.state.directory, path);
                    let target = self.same_as.get(&path)?;
                    let inside = format!("{}/", self.state.directory);
                    Value::text(target.strip_prefix(&inside).unwrap_or(target).to_owned() + "\n")
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    pub(crate) fn filter(&mut self, name: &str, arguments: &[String]) -> Outcome {
        if name == "sed" && super::outputs::quotes_signs(arguments) {
            return Outcome::prints(super::outputs::lines());
        }
        let own: usize = match name {
            "tr" | "envsubst" => return Outcome::prints(self.over_input(name, arguments, &[])),
            "sed" | "grep" | "egrep" | "fgrep" | "jq" | "awk" | "gawk" | "mawk" | "nawk" => {
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
                    | ("awk" | "gawk" | "mawk" | "nawk", "-F" | "-v")
                    | ("paste", "-d" | "-sd" | "-ds")
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
        if name == "openssl" {
            files.extend(option_value(arguments, &["-in"]));
        }
        let output = if name == "paste" && files.len() > 1 {
            self.side_by_side(arguments, &files)
        } else {
            self.over_input(name, arguments, &files)
        };
        Outcome {
            status: None,
            output,
        }
    }

    /// Names in a directory that the command itself made.
    fn made_directory(&self, arguments: &[String]) -> Option<Vec<String>> {
        let [place] = arguments else { return None };
        let place = crate::lookup::absolute(&self.state.directory, place);
        let made = self.written.contains_key(&place) && self.lookup.list(&place).is_empty();
        Some(self.names_in(&place)).filter(|names| made && !names.is_empty())
    }

    /// `comm -12 a b` and `join a b`: of lines that both have.
    fn common_lines(&mut self, name: &str, arguments: &[String]) -> Option<Value> {
        let (options, files) = match arguments {
            [first, second] => (Vec::new(), [first, second]),
            [options @ .., first, second] => (options.to_vec(), [first, second]),
            _ => return None,
        };
        let [left, right] = files.map(|file| self.content_value(file));
        let (left, right) = (left.known()?, right.known()?);
        let mut whole = String::new();
        for line in left.lines() {
            if name == "comm" {
                let both = right.lines().any(|other| other == line);
                let wanted = match options.as_slice() {
                    [one] if one == "-12" => both,
                    [one] if one == "-23" => !both,
                    _ => return None,
                };
                whole.extend([line, "\n"].into_iter().filter(|_| wanted));
                continue;
            }
            let cut = |line: &str| {
                let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
                (key.to_owned(), rest.to_owned())
            };
            let (key, rest) = cut(line);
            let other = right.lines().map(cut);
            let other = other.filter(|(other, _)| *other == key);
            for (_, more) in other {
                whole.push_str(&match options.as_slice() {
                    [] => format!("{}\n", format!("{key} {rest} {more}").trim_end()),
                    [one, list] if one == "-o" && list == "1.2,2.2" => format!("{rest} {more}\n"),
                    _ => return None,
                });
            }
        }
        Some(Value::text(whole))
    }

    /// `paste a b`: lines of two files with a mark between.
    fn side_by_side(&mut self, arguments: &[String], files: &[String]) -> Value {
        let serial = |word: &String| {
            word == "--serial"
                || (word.starts_with("-s") || word.starts_with("-d") && word.ends_with('s'))
        };
        if arguments.iter().any(serial) {
            // One file behind the other.
            return files.iter().fold(Value::empty(), |all, file| {
                all.then(&self.over_input("paste", arguments, std::slice::from_ref(file)))
            });
        }
        let mark = option_value(arguments, &["-d"]);
        let mark = match mark.as_deref() {
            None => "\t",
            Some("\\0" | "") => "",
            Some(mark) if mark.chars().count() == 1 => mark,
            Some(_) => return Value::unknown(),
        };
        let [left, right] = files else {
            return Value::unknown();
        };
        let (left, right) = (self.content_value(left), self.content_value(right));
        let (Some(left), Some(right)) = (left.known(), right.known()) else {
            return Value::unknown();
        };
        if left.lines().count() != right.lines().count() {
            return Value::unknown();
        }
        let pairs = left.lines().zip(right.lines());
        Value::text(
            pairs
                .map(|(left, right)| format!("{left}{mark}{right}\n"))
                .collect::<String>(),
        )
    }

    /// `echo`; whether it reads escapes without being told depends on the shell.
    fn echoed(&self, arguments: &[String]) -> Value {
        let value = echo(arguments, false);
        if self.state.reads_escapes && value.first().contains('\\') {
            return value.or(&echo(arguments, true));
        }
        value
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
                let one_line = name == "tr" && *arguments == ["\\n", " "];
                return if listed && super::outputs::picks_lines(name) {
                    text.clone()
                } else if listed && one_line {
                    text.replace('\n', " ")
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

/// Whether `openssl` only decodes base64.
pub(super) fn is_base64(arguments: &[String]) -> bool {
    let file = option_value(arguments, &["-in"]);
    let known = |word: &String| {
        matches!(
            word.as_str(),
            "base64" | "enc" | "-base64" | "-a" | "-A" | "-d" | "-in"
        ) || Some(word) == file.as_ref()
    };
    let named = |word: &String| matches!(word.as_str(), "base64" | "-base64" | "-a");
    arguments.iter().all(known) && arguments.iter().any(named)
}

fn echo(arguments: &[String], escapes: bool) -> Value {
    let mut words = arguments;
    let (mut escapes, mut newline) = (escapes, true);
    while let Some((first, rest)) = words.split_first()
        && let Some(flags) = first.strip_prefix('-')
        && !flags.is_empty()
        && flags.chars().all(|flag| "neE".contains(flag))
    {
        escapes = match flags.rfind(['e', 'E']) {
            Some(at) => flags.get(at..).is_some_and(|last| last.starts_with('e')),
            None => escapes,
        };
        newline &= !flags.contains('n');
        words = rest;
    }
    let mut text = words.join(" ");
    if escapes {
        // `\c` ends it.
        if let Some((before, _)) = text.split_once("\\c") {
            text = before.to_owned();
            newline = false;
        }
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
    for round in 0..=MAX_PRINTED {
        if round == MAX_PRINTED {
            text.push(HOLE);
            break;
        }
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
            let mut flags = flags.to_owned();
            while flags.contains('*') {
                let width = words.next().map_or("0", String::as_str);
                flags = flags.replacen('*', width, 1);
            }
            let word = words.next().cloned().unwrap_or_default();
            match (formatted(rest.next(), &flags, &word), has_hole(&word)) {
                (Some(part), _) => text.push_str(&part),
                (None, true) => text.push_str(&word),
                (None, false) => text.push(HOLE),
            }
            text.push_str(&escape::backslashes(rest.as_str()));
        }
        if words.len() == 0 || words.len() == before {
            break;
        }
    }
    Value::text(text)
}

/// One word by its letter, the width and the precision before it; None for what is seldom met.
fn formatted(letter: Option<char>, flags: &str, word: &str) -> Option<String> {
    let (width, most) = match flags.split_once('.') {
        Some((width, "")) => (width, Some(0)),
        Some((width, most)) => (width, Some(most.parse::<usize>().ok()?)),
        None => (flags, None),
    };
    let letters = |text: String| text.chars().take(most.unwrap_or(usize::MAX)).collect();
    let number = || {
        if word.is_empty() {
            return Some(0);
        }
        word.parse::<i64>().ok()
    };
    let part: String = match letter? {
        's' => letters(word.to_owned()),
        'b' if !word.contains("\\c") => letters(escape::backslashes(word)),
        'c' => word.chars().take(1).collect(),
        'q' => super::run::quote(word),
        'd' | 'i' | 'u' if most.is_none() => number()?.to_string(),
        'x' if most.is_none() => format!("{:x}", number()?),
        'X' if most.is_none() => format!("{:X}", number()?),
        'o' if most.is_none() => format!("{:o}", number()?),
        _ => return None,
    };
    let (left, width) = match width.strip_prefix('-') {
        Some(width) => (true, width),
        None => (false, width),
    };
    if width.is_empty() {
        return Some(part);
    }
    let zeros = width.starts_with('0');
    let size: usize = width.parse().ok().filter(|size| *size < 512)?;
    Some(if left {
        format!("{part:<size$}")
    } else if zeros && !part.starts_with('-') {
        format!("{part:0>size$}")
    } else {
        format!("{part:>size$}")
    })
}
