//! Secrets in the standard input of a command: behind a pipe, `<<<` and `<<`.

use super::named::is_secret_name;
use super::programs::{Part, arguments, behind, head, is_secret};

/// Words of a command that reads a secret from its input, or parts of its options that mean so.
const READING_WORDS: &[&str] = &[
    "login",
    "secret",
    "secrets",
    "passwd",
    "smbpasswd",
    "cryptsetup",
    "su",
    "kinit",
    "signin",
    "unlock",
    "ssh-add",
];

/// Programs that search for names in a text.
const SEARCHES: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "sed", "awk", "jq", "tr", "cut", "xargs",
];

const READING_OPTIONS: &[&str] = &["password", "passphrase", "token", "secret"];

/// Limit of programs behind pipes that are examined.
const MAX_STAGES: usize = 8;

/// Returns the secrets in the lines of the text below a command: `name:secret` in each, or the secret alone.
fn lines_below(whole: &str, at: usize, has_name: bool) -> Vec<Part> {
    let text = head(whole, at);
    let mark = text.split_once("<<").map_or("", |(_, rest)| rest);
    let mark = mark.trim_start_matches(['-', '"', '\'', '\\']);
    let mark: String = mark
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let mut start = at;
    let lines = text.split_inclusive('\n').map(|line| {
        let from = start;
        start += line.len();
        (from, line.trim_end())
    });
    let inside = lines.skip(1).take_while(|(_, line)| line.trim() != mark);
    let of_lines = inside.map_while(|(from, line)| {
        let secret = if has_name {
            line.split_once(':')?.1
        } else {
            line
        };
        let end = from + line.len();
        is_secret(secret).then_some((end - secret.len(), end))
    });
    of_lines.collect()
}

/// Meaning of a command's input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// A secret.
    Secret,
    /// Names with their secrets, as `name:secret`.
    Accounts,
    /// Any text, which is only encoded.
    Encoded,
}

/// Returns the meaning of a command's input, if it may be a secret.
fn reads(words: &[&str]) -> Option<Reads> {
    let words = match words.split_first() {
        Some((&"sudo", rest)) if rest.first().is_some_and(|word| !word.starts_with('-')) => rest,
        _ => words,
    };
    match words.first() {
        Some(&"chpasswd") => return Some(Reads::Accounts),
        // Decoded, it has the meaning that the next program gives it.
        Some(&"base64") => {
            return words
                .get(1..)?
                .iter()
                .all(|word| matches!(*word, "-w" | "-w0" | "0"))
                .then_some(Reads::Encoded);
        }
        _ => {}
    }
    let is_reader = |word: &&str| {
        let is_option = word.starts_with('-') && !word.contains('=');
        // `vercel env add API_KEY`.
        let is_name = word.len() > 3
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        READING_WORDS.contains(word)
            || word.ends_with("=-")
            || is_name && is_secret_name(word)
            || is_option && READING_OPTIONS.iter().any(|part| word.contains(part))
    };
    let is_search = words
        .first()
        .is_some_and(|program| SEARCHES.contains(program));
    let is_secret = words.starts_with(&["sudo", "-S"]) || !is_search && words.iter().any(is_reader);
    is_secret.then_some(Reads::Secret)
}

/// Returns the secrets in the text that the `<<<` or `<<` at `at` passes to a command that reads them.
pub(super) fn here(whole: &str, at: usize) -> Vec<Part> {
    let line = behind(whole, at).rsplit(['\n', ';', '|', '&', '(']).next();
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    // `cat <<E | chpasswd`: a program behind the pipe reads it.
    let line = head(whole, at).lines().next().unwrap_or_default();
    let stages = line.split([';', '&']).next().unwrap_or_default().split('|');
    let stages = stages.skip(1).take(MAX_STAGES);
    let mut piped = stages.map(|stage| reads(&stage.split_whitespace().collect::<Vec<_>>()));
    let taken = reads(&words).or_else(|| piped.find_map(|taken| taken));
    let Some(taken) = taken.filter(|taken| *taken != Reads::Encoded) else {
        return Vec::new();
    };
    let has_name = taken == Reads::Accounts;
    if !whole.get(at..).unwrap_or_default().starts_with("<<<") {
        return lines_below(whole, at, has_name);
    }
    let secret = |(from, to): Part| {
        let text = whole.get(from..to)?;
        let start = if has_name { text.find(':')? + 1 } else { 0 };
        is_secret(text.get(start..)?).then_some((from + start, to))
    };
    let word = arguments(whole, at + 3).first().copied();
    word.and_then(secret).into_iter().collect()
}

/// Returns the meaning of the input for the programs behind the pipe at `at`.
pub(super) fn piped_into(whole: &str, at: usize) -> Option<Reads> {
    let rest = head(whole, at).trim_start_matches(['"', '\'', ' ']);
    let next = rest.strip_prefix('|')?;
    let end = next.find([';', '&', '\n']).unwrap_or(next.len());
    let stages = next.get(..end)?.split('|');
    stages
        .take(MAX_STAGES)
        .filter_map(|stage| reads(&stage.split_whitespace().collect::<Vec<_>>()))
        .min_by_key(|reads| *reads == Reads::Encoded)
}

/// Returns the secrets that `echo`, `printf` or `cat <<<` passes to such a program.
pub(super) fn fed(whole: &str, program: &str, arguments: &[Part], taken: Reads) -> Vec<Part> {
    let arguments = match program {
        "echo" | "printf" => arguments,
        "cat"
            if whole.get(arguments.first().map_or(0..0, |(from, to)| *from..*to))
                == Some("<<<") =>
        {
            arguments
        }
        _ => return Vec::new(),
    };
    let secret = |(from, to): &Part| {
        let text = whole.get(*from..*to)?;
        let is_format = text.starts_with(['-', '%']);
        let text = text.strip_suffix("\\n").unwrap_or(text);
        let start = match taken {
            Reads::Accounts => text.find(':')? + 1,
            Reads::Secret | Reads::Encoded => 0,
        };
        let is_worth = |secret: &&str| {
            let is_word = secret
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
            is_secret(secret) && (taken != Reads::Encoded || !is_word && !secret.contains(' '))
        };
        let secret = text
            .get(start..)
            .filter(|secret| is_worth(secret) && !is_format)?;
        Some((from + start, from + start + secret.len()))
    };
    arguments.iter().filter_map(secret).collect()
}
