//! Small languages in the arguments of a program: decides if a script in them can start another program. None is run.

use shell::value::HOLE;
use shell::words::names;

use super::wrapper::option_value;

/// Returns the code of `awk`; code in a file or a library is a hole.
pub(super) fn awk_code(arguments: &[String]) -> String {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => return words.next().cloned().unwrap_or_default(),
            "-v" | "-F" | "--assign" | "--field-separator" => drop(words.next()),
            "-i" if words
                .as_slice()
                .first()
                .is_some_and(|next| next == "inplace") =>
            {
                words.next();
            }
            option
                if names!("-f -e -E -i -l --file --source --exec --include --load")
                    .iter()
                    .any(|known| option.starts_with(known)) =>
            {
                return HOLE.to_string();
            }
            option if option.starts_with('-') && option.len() > 1 => {}
            code => return code.to_owned(),
        }
    }
    String::new()
}

/// Returns `true` if code of `awk` uses a pipe, `system` or an indirect call.
pub(super) fn awk_starts(code: &str) -> bool {
    let mut letters = code.chars().peekable();
    let mut word = String::new();
    // A slash begins a pattern if no value is before it.
    let mut is_value = false;
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            is_value = true;
            continue;
        }
        if word == "system" {
            return true;
        }
        let before = std::mem::take(&mut word);
        match letter {
            '"' => {
                skip_to(&mut letters, '"');
                is_value = true;
            }
            '/' if !is_value || matches!(before.as_str(), "return" | "print" | "in" | "case") => {
                skip_to(&mut letters, '/');
                is_value = true;
            }
            '#' => drop(letters.by_ref().find(|letter| *letter == '\n')),
            '|' if letters.peek() == Some(&'|') => {
                letters.next();
                is_value = false;
            }
            '|' | '@' => return true,
            letter if letter.is_whitespace() => {}
            ')' | ']' | '$' => is_value = true,
            _ => is_value = false,
        }
    }
    word == "system"
}

/// Skips past the next unescaped `end`.
fn skip_to(letters: &mut impl Iterator<Item = char>, end: char) {
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == end {
            return;
        }
    }
}

/// Returns the scripts of `sed`, line by line; a file that cannot be read is a hole.
pub(super) fn sed_code(arguments: &[String], read: &dyn Fn(&String) -> String) -> String {
    let mut scripts: Vec<String> = Vec::new();
    let mut first = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let flags = word
            .strip_prefix('-')
            .filter(|flags| !flags.starts_with('-') && !flags.is_empty());
        if let Some(script) = word.strip_prefix("--expression=") {
            scripts.push(script.to_owned());
        } else if let Some(path) = word.strip_prefix("--file=") {
            scripts.push(read(&path.to_owned()));
        } else if matches!(word.as_str(), "--expression" | "--file") {
            let value = words.next().cloned().unwrap_or_default();
            scripts.push(if word == "--file" {
                read(&value)
            } else {
                value
            });
        } else if let Some((at, letter)) =
            flags.and_then(|flags| flags.char_indices().find(|(_, one)| "efi".contains(*one)))
        {
            let rest = flags
                .and_then(|flags| flags.get(at.saturating_add(1)..))
                .unwrap_or_default();
            if letter == 'i' {
                continue;
            }
            let value = if rest.is_empty() {
                words.next().cloned().unwrap_or_default()
            } else {
                rest.to_owned()
            };
            scripts.push(if letter == 'f' { read(&value) } else { value });
        } else if !word.starts_with('-') && first.is_none() {
            first = Some(word.clone());
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    scripts.join("\n")
}

/// Returns `true` if a script of `sed` starts programs, or is not understood.
pub(super) fn sed_starts(script: &str) -> bool {
    let letters: Vec<char> = script.chars().collect();
    let mut at = 0_usize;
    let get = |at: usize| letters.get(at).copied();
    let line_end = |at: usize| {
        let rest = letters.get(at..).unwrap_or_default();
        rest.iter()
            .position(|one| *one == '\n')
            .map_or(letters.len(), |end| at.saturating_add(end))
    };
    // Past the next unescaped character; brackets contain any character.
    let part_end = |from: usize, end: char| {
        let mut at = from;
        loop {
            match get(at) {
                None => return None,
                Some('\\') => at = at.saturating_add(2),
                Some(one) if one == end => return Some(at.saturating_add(1)),
                Some(_) => at = at.saturating_add(1),
            }
        }
    };
    while let Some(letter) = get(at) {
        at = at.saturating_add(1);
        match letter {
            ' '
            | '\t'
            | '\n'
            | ';'
            | '{'
            | '}'
            | '!'
            | ','
            | '$'
            | '+'
            | '~'
            | 'I'
            | 'M'
            | '0'..='9' => {}
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x'
            | 'z' | '=' | 'F' => {}
            '/' => match part_end(at, '/') {
                Some(end) => at = end,
                None => return true,
            },
            '\\' => match get(at).and_then(|sign| part_end(at.saturating_add(1), sign)) {
                Some(end) => at = end,
                None => return true,
            },
            's' | 'y' => {
                let end = get(at).and_then(|sign| {
                    let middle = part_end(at.saturating_add(1), sign)?;
                    part_end(middle, sign)
                });
                let Some(end) = end else {
                    return true;
                };
                at = end;
                while let Some(flag) = get(at).filter(|one| one.is_alphanumeric()) {
                    match flag {
                        'e' => return true,
                        'w' => at = line_end(at),
                        _ => at = at.saturating_add(1),
                    }
                }
            }
            'a' | 'i' | 'c' => loop {
                let end = line_end(at);
                let goes_on = end.checked_sub(1).and_then(get) == Some('\\');
                at = end.saturating_add(1);
                if !goes_on || end >= letters.len() {
                    break;
                }
            },
            'r' | 'R' | 'w' | 'W' | '#' => at = line_end(at),
            ':' | 'b' | 't' | 'T' => {
                while get(at).is_some_and(|one| one != ';' && one != '\n' && one != '}') {
                    at = at.saturating_add(1);
                }
            }
            _ => return true,
        }
    }
    false
}

/// Returns the commands for an editor: in its options, a script, or its input.
pub(super) fn editor_code(arguments: &[String], input: Option<&String>) -> String {
    let starts = names!("-c + -S -s -u -l -e -E --cmd --headless");
    let commands = arguments.iter().filter(|word| {
        starts.iter().any(|start| word.starts_with(start))
            && !word
                .trim_start_matches('+')
                .chars()
                .all(|one| one.is_ascii_digit())
    });
    let mut code: Vec<String> = commands.cloned().collect();
    let shows = arguments.iter().all(|word| word == "-");
    code.extend(input.filter(|_| !shows).cloned());
    code.join("\n")
}

/// Returns the statements of a database's client, with those of files and of the input.
pub(super) fn database_code(
    arguments: &[String],
    input: Option<&String>,
    read: &dyn Fn(&String) -> String,
) -> String {
    let file = option_value(arguments, &["-f", "--file", "-init", "--init-command"]);
    let file = file.map(|path| read(&path));
    let statements: Vec<String> = arguments
        .iter()
        .filter(|word| {
            word.contains(' ')
                || word.starts_with("--pager")
                || word.starts_with(['.', '\\'])
                || word.contains("pager")
        })
        .cloned()
        .collect();
    let all = statements.into_iter().chain(file).chain(input.cloned());
    all.collect::<Vec<_>>().join("\n")
}

/// Returns `true` if a statement is one of the client's own that starts programs.
pub(super) fn database_starts(code: &str) -> bool {
    let code = code.to_lowercase();
    let marks = [
        "\\!", "\\o", "\\g", "\\copy", "\\i", "\\e", "\\s", "!", ".sh", "--pager=", "program",
        "system", ".shell", ".once", ".output", ".read", ".import", ".load", "source ", "edit",
    ];
    marks.iter().any(|mark| code.contains(mark))
        || (code.contains("pager ")
            && !code.contains("pager less;")
            && !code.contains("pager less\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_awk_that_starts_programs() {
        for (code, expected) in [
            ("{print $1}", false),
            ("/a|b/ {print}", false),
            (
                "$1 == \"x|y\" || $2 ~ /a|b/ { n++ } END { print n/2 }",
                false,
            ),
            ("BEGIN{system(\"x\")}", true),
            ("{print | \"sort\"}", true),
            ("BEGIN{\"date\" | getline d}", true),
            ("{ print $1 } # system", false),
            ("@load \"x\"", true),
        ] {
            assert_eq!(awk_starts(code), expected, "{code}");
        }
    }

    #[test]
    fn scripts_of_sed_that_start_programs() {
        for (script, expected) in [
            ("s/a/b/g", false),
            ("s/e/e/;p", false),
            ("/x/,/y/d", false),
            ("1,3{s|a|b|;d}", false),
            ("$!N;s/\\n/ /", false),
            ("1i\\\ne git push", false),
            ("s/x/git push/e", true),
            ("1e git push", true),
            ("e", true),
            ("/demo/e git push", true),
            ("\\,a,d", false),
            (":a;N;$!ba;s/\\n/,/g", false),
            ("y/abc/xyz/", false),
        ] {
            assert_eq!(sed_starts(script), expected, "{script}");
        }
    }
}
