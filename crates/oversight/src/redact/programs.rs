//! Secrets that only the program before them gives away: `mysql -p…`, `curl -u name:…`, `sshpass -p …`, and the lines
//! of a netrc file.

use super::MARK;

/// How an option carries its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    /// In the same argument: `-psecret`. Alone, the program asks for it.
    Attached,
    /// In the next argument, or in the same.
    Value,
    /// As a value, behind a user's name and this character.
    After(char),
}

/// A program, its option, and how that carries a secret. `login` is a subcommand of several programs.
const OPTIONS: &[(&str, &[&str], Carries)] = &[
    ("mysql", &["-p"], Carries::Attached),
    ("mysqldump", &["-p"], Carries::Attached),
    ("mysqladmin", &["-p"], Carries::Attached),
    ("mysqlimport", &["-p"], Carries::Attached),
    ("mysqlsh", &["-p"], Carries::Attached),
    ("mariadb", &["-p"], Carries::Attached),
    ("mariadb-dump", &["-p"], Carries::Attached),
    ("7z", &["-p"], Carries::Attached),
    ("7za", &["-p"], Carries::Attached),
    (
        "curl",
        &["-u", "--user", "-U", "--proxy-user"],
        Carries::After(':'),
    ),
    ("http", &["-a", "--auth"], Carries::After(':')),
    ("https", &["-a", "--auth"], Carries::After(':')),
    ("xh", &["-a", "--auth"], Carries::After(':')),
    ("smbclient", &["-U"], Carries::After('%')),
    ("lftp", &["-u"], Carries::After(',')),
    ("sshpass", &["-p"], Carries::Value),
    ("login", &["-p"], Carries::Value),
    ("mongo", &["-p"], Carries::Value),
    ("mongosh", &["-p"], Carries::Value),
    ("mongodump", &["-p"], Carries::Value),
    ("mongorestore", &["-p"], Carries::Value),
    ("redis-cli", &["-a", "--pass"], Carries::Value),
    ("ldapsearch", &["-w"], Carries::Value),
    ("ldapmodify", &["-w"], Carries::Value),
    ("ldapadd", &["-w"], Carries::Value),
    ("sqlcmd", &["-P"], Carries::Value),
    ("zip", &["-P"], Carries::Value),
    ("unzip", &["-P"], Carries::Value),
];

/// Longest rest of a command that is looked at.
const MAX_COMMAND: usize = 4096;

/// A part of a text, in bytes.
pub(super) type Part = (usize, usize);

/// Returns `true` if secrets of this program's options are known.
pub(super) fn is_known(program: &str) -> bool {
    OPTIONS.iter().any(|(name, ..)| *name == program)
}

/// The secrets among the arguments of a program, which begin at `at`.
pub(super) fn find(whole: &str, program: &str, at: usize) -> Vec<Part> {
    let arguments = arguments(whole, at);
    let texts: Vec<&str> = arguments
        .iter()
        .map(|(from, to)| whole.get(*from..*to).unwrap_or_default())
        .collect();
    let found = among(program, &texts).into_iter();
    found
        .filter_map(|(index, offset)| {
            let (from, to) = arguments.get(index)?;
            Some((from + offset, *to))
        })
        .collect()
}

/// The secrets among arguments: which argument, and from where on in it.
pub(super) fn among(program: &str, arguments: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (_, options, carries) in OPTIONS.iter().filter(|(name, ..)| *name == program) {
        for option in *options {
            for (index, argument) in arguments.iter().enumerate() {
                let Some(attached) = argument.strip_prefix(option) else {
                    continue;
                };
                let (place, value) = if !attached.is_empty() {
                    (index, attached)
                } else if *carries == Carries::Attached {
                    continue;
                } else {
                    (
                        index + 1,
                        arguments.get(index + 1).copied().unwrap_or_default(),
                    )
                };
                let (value, is_long) = match value.strip_prefix('=') {
                    Some(value) if option.starts_with("--") => (value, true),
                    _ => (value, false),
                };
                // `--user-agent` is another option than `--user`.
                if place == index && option.starts_with("--") && !is_long {
                    continue;
                }
                let secret = match carries {
                    Carries::After(separator) => value.split_once(*separator).map(|(_, it)| it),
                    Carries::Attached | Carries::Value => Some(value),
                };
                let secret = secret.filter(|secret| is_secret(secret));
                let length = arguments.get(place).map_or(0, |text| text.len());
                found.extend(secret.map(|secret| (place, length - secret.len())));
            }
        }
    }
    found
}

/// A variable is known by its name, and an option is not a value.
fn is_secret(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['$', '-', '<', '…', '*']) && !text.starts_with(MARK)
}

/// The arguments up to the end of the command, without the quotes around them.
fn arguments(whole: &str, at: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = None;
    // The open quote, and whether it encloses the whole argument.
    let mut quote: Option<(char, bool)> = None;
    for (offset, letter) in head(whole, at).char_indices() {
        let place = at + offset;
        match (quote, letter) {
            (Some((open, encloses)), _) => {
                if letter == open {
                    quote = None;
                    parts.extend(start.take_if(|_| encloses).map(|start| (start, place)));
                }
            }
            (None, '"' | '\'') => {
                quote = Some((letter, start.is_none()));
                start.get_or_insert(place + 1);
            }
            (None, '\n' | ';' | '|' | '&' | '`' | ')') => {
                parts.extend(start.take().map(|start| (start, place)));
                return parts;
            }
            (None, letter) if letter.is_whitespace() => {
                parts.extend(start.take().map(|start| (start, place)));
            }
            (None, _) => {
                start.get_or_insert(place);
            }
        }
    }
    parts.extend(start.map(|start| (start, at + head(whole, at).len())));
    parts
}

fn head(whole: &str, at: usize) -> &str {
    let rest = whole.get(at..).unwrap_or_default();
    let end = rest.floor_char_boundary(MAX_COMMAND);
    rest.get(..end).unwrap_or_default()
}

/// The password of an entry of a netrc file: `machine host login name password …`, over any number of lines. `at` is
/// behind the first word.
pub(super) fn netrc(whole: &str, at: usize, first: &str) -> Option<Part> {
    let mut words = words(whole, at);
    if first == "machine" {
        words.next()?;
    }
    for _ in 0..3 {
        let (from, to) = words.next()?;
        let value = words.next()?;
        match whole.get(from..to)? {
            "password" => {
                let text = whole.get(value.0..value.1)?;
                let text = text.trim_end_matches(['"', '\'', '\\']);
                return is_secret(text).then_some((value.0, value.0 + text.len()));
            }
            "login" | "account" => {}
            _ => return None,
        }
    }
    None
}

/// The words of the text from `at` on.
fn words(whole: &str, mut at: usize) -> impl Iterator<Item = Part> {
    let end = at + head(whole, at).len();
    std::iter::from_fn(move || {
        let rest = whole.get(at..end)?;
        let from = at + (rest.len() - rest.trim_start().len());
        let rest = whole.get(from..end).filter(|rest| !rest.is_empty())?;
        at = from + rest.find(char::is_whitespace).unwrap_or(rest.len());
        Some((from, at))
    })
}
