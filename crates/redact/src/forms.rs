//! Forms that bind a value to the name of a secret, besides an assignment: commands that set it, markup, pairs of a
//! name and a value, SQL statements, accounts in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::named::{MIN_PASSWORD, is_option, is_password, plain, separated};
use super::shapes::{is_opaque, run, token_base64};
use super::{MARK, rest_of};

/// Limit of the start tag of an element, in bytes.
const MAX_TAG: usize = 200;

/// Limit of words before a name that is set.
const MAX_SETTER: usize = 6;

/// Words of commands that set the name behind them: `aws configure set aws_secret_access_key …`.
const SETTERS: &[&str] = &["set", "setx", "config", "read", "connect", "put"];

/// Returns the number behind the name of a code: `--otp 123456`, `otp=123456`, `"otp": "123456"`.
pub(super) fn code(whole: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, to);
    let is_option = is_option(whole.get(..from)?);
    let (value, _) =
        separated(rest).or_else(|| Some((rest.strip_prefix(' ').filter(|_| is_option)?, false)))?;
    let value = value.trim_start_matches(['\\', '"', '\'']);
    let length = run(value, |byte| byte.is_ascii_digit());
    let start = to + (rest.len() - value.len());
    let is_end = !value
        .get(length..)?
        .starts_with(|c: char| c.is_alphanumeric() || c == '.');
    ((6..=8).contains(&length) && is_end).then_some((start, start + length))
}

/// Returns a name and its password in base64, as in registries and headers: `"auth": "YWRhOmI="`.
pub(super) fn account(whole: &str, to: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, to);
    let value = rest.trim_start_matches(|c| "\"'\\=: ".contains(c));
    let start = to + (rest.len() - value.len());
    let length = run(value, token_base64);
    let bytes = STANDARD.decode(value.get(..length)?).ok()?;
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic());
    (start > to && length >= 8 && is_text && bytes.contains(&b':'))
        .then_some((start, start + length))
}

/// Returns the value that a command gives to a name: `set NAME value`, `setx NAME value`, `read NAME <<< value`.
pub(super) fn set(whole: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let line = super::programs::behind(whole, from)
        .rsplit(['\n', ';', '|', '&'])
        .next()?;
    let mut words = line.split_whitespace();
    // After more words, the name is part of a sentence.
    let is_set = words.any(|word| SETTERS.contains(&&*word.to_ascii_lowercase()))
        && line.split_whitespace().count() <= MAX_SETTER;
    let rest = rest_of(whole, to);
    // A line of a settings file: `requirepass …`.
    let is_line =
        line.trim().is_empty() && is_password(whole.get(from..to)?, &plain(whole.get(from..to)?));
    let value = rest.strip_prefix(' ')?.trim_start();
    let value = value.strip_prefix("<<<").map_or(value, str::trim_start);
    let value = value.trim_start_matches(['"', '\'']);
    let start = to + (rest.len() - value.len());
    let length = value.find(|c: char| c.is_whitespace() || "\"'`,;&|()<>".contains(c));
    let secret = value.get(..length.unwrap_or(value.len()))?;
    let has = |is: fn(&u8) -> bool| secret.bytes().any(|byte| is(&byte));
    let is_literal = !secret.starts_with(['$', '-', '/', '.', '[', '~', '%', '{']);
    // A path contains `/` and an assignment `=`, but keys in base64 do as well.
    let is_key = secret.bytes().all(token_base64) && is_opaque(secret);
    let is_worth = secret.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (is_key || !secret.contains(['=', '/']));
    let is_worth = is_literal && (is_worth || is_told(line) && is_chosen(secret));
    let ends = value
        .get(secret.len()..)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
    ((is_set || is_line && ends) && is_worth).then_some((start, start + secret.len()))
}

/// Returns `true` if a line ends in a command whose next words are a name and its value: `… configure set`, `… config
/// set`.
fn is_told(line: &str) -> bool {
    // The name may have a prefix: `default.`, `//registry/:_`.
    let line = match line.ends_with(char::is_whitespace) {
        true => line,
        false => line
            .rsplit_once(char::is_whitespace)
            .map_or("", |(line, _)| line),
    };
    let mut words = line.split_whitespace().rev();
    let last = words.by_ref().find(|word| !word.starts_with('-'));
    let before = words.find(|word| !word.starts_with('-'));
    last == Some("set") && matches!(before, Some("config" | "configure"))
}

/// Returns the text of an element, `<db:password type="x">…</…>`, or the value of an attribute beside the one with
/// the name, `name="password" value="…"`.
pub(super) fn marked_up(whole: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let before = whole.get(..from)?;
    let rest = rest_of(whole, to);
    let head = rest.get(..rest.floor_char_boundary(MAX_TAG))?;
    let prefix = before
        .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_'));
    let outside = prefix.strip_suffix('<');
    // `Vec<Token>` is a type.
    let is_tag = outside.is_some_and(|text| {
        text.is_empty() || text.ends_with(|c: char| c.is_whitespace() || c == '>')
    });
    let start = if is_tag {
        let tag = head.find(['>', '<', '\n'])?;
        let is_open = head.get(tag..)?.starts_with('>') && !head.get(..tag)?.ends_with('/');
        to + is_open.then_some(tag + 1)?
    } else {
        to + (head.len() - paired(head)?.len())
    };
    let start = start
        + rest_of(whole, start)
            .strip_prefix("<![CDATA[")
            .map_or(0, |_| 9);
    let text = rest_of(whole, start);
    let length = text
        .find(['<', ']', '"', '\'', '\\', '\n'])
        .unwrap_or(text.len());
    let ends = ["</", "]]>", "\"", "'", "\\\"", "\n"].iter().any(|end| {
        text.get(length..)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(end))
    });
    (ends && is_chosen(text.get(..length)?)).then_some((start, start + length))
}

/// Returns the value for a name that is itself a value: `name="password" value="…"`, `"name": "password", "value":
/// "…"`, `name: password` with `value: …` in the next line, `name="password">…`.
fn paired(head: &str) -> Option<&str> {
    let quoted = head.trim_start_matches('\\').strip_prefix(['"', '\'']);
    if let Some(text) = quoted.and_then(|after| after.strip_prefix('>')) {
        // The text of a label is not a secret.
        let shown = text.split('<').next()?;
        return shown
            .bytes()
            .any(|byte| byte.is_ascii_digit())
            .then_some(text);
    }
    let after = quoted.or_else(|| head.starts_with('\n').then_some(head))?;
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || ",\"'\\".contains(c));
    let named = after
        .strip_prefix("value")
        .or_else(|| after.strip_prefix("Value"))?;
    let value = named
        .trim_start_matches(['"', '\'', '\\', ' '])
        .strip_prefix(['=', ':'])?;
    Some(value.trim_start_matches(['"', '\'', '\\', ' ']))
}

/// Returns the secret of `PASSWORD '…'`, as in SQL.
pub(super) fn quoted(whole: &str, to: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, to);
    // `PASSWORD('…')` is a function of SQL.
    let is_function = whole.get(..to)?.ends_with("PASSWORD") && rest.starts_with('(');
    // `SET PASSWORD FOR ada = '…'`.
    let of_user = rest
        .strip_prefix(" FOR ")
        .and_then(|rest| Some(rest.split_once('=')?.1));
    let value = match of_user {
        Some(value) => value.trim_start_matches(' '),
        None => rest
            .get(usize::from(is_function)..)?
            .trim_start_matches(' '),
    };
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = value.get(1..)?;
    let from = to + (rest.len() - value.len());
    let length = value.find([quote, '\n', ' '])?;
    let is_whole = from > to + 1 && value.get(length..)?.starts_with(quote);
    (is_whole && is_chosen(value.get(..length)?)).then_some((from, from + length))
}

/// Returns the secret of `IDENTIFIED BY '…'`.
pub(super) fn identified(whole: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let before = whole.get(..from)?.trim_end();
    let start = before.floor_char_boundary(before.len().saturating_sub(60));
    let words = before.get(start..)?.to_ascii_lowercase();
    words.contains("identified").then(|| quoted(whole, to))?
}

/// Returns `true` if a person may have chosen this as a password, and it is not a variable or a placeholder.
fn is_chosen(text: &str) -> bool {
    text.len() >= MIN_PASSWORD
        && !text.starts_with(|c| "$<{([%*&),;:.".contains(c))
        && !text.starts_with(MARK)
        && !text.contains(MARK)
}
