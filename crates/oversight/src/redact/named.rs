//! Secrets that a name gives away: `PASSWORD=…`, `"apiKey": "…"`, `--token …`, `Authorization: …`, "the key is …".

use super::shapes::{is_opaque, run, token_base64};
use super::{MARK, rest_of};

/// Names, without case and separators, that end like this hold a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "storepass",
    "keypass",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "authtoken",
    "credential",
    "credentials",
];

/// Those of them whose value a person may have chosen, so that it can be short.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "storepass",
    "keypass",
    "pwd",
];

/// Parameters of an address that stand for its signature: who has the address may do what it says.
const SIGNATURES: &[&str] = &["sig", "xamzsignature", "xgoogsignature"];

/// Headers whose value is a secret.
const HEADERS: &[&str] = &[
    "authorization",
    "proxyauthorization",
    "xapikey",
    "privatetoken",
    "cookie",
    "setcookie",
    "xauthtoken",
];

/// Words behind which only a random string is a secret.
const KEYWORDS: &[&str] = &["key", "bearer", "basic"];

/// Values of names written in lower case are taken out from this length on; `token=next` is code.
const MIN_VALUE: usize = 8;

/// The same, for passwords.
const MIN_PASSWORD: usize = 4;

/// Longest name that is looked at.
const MAX_NAME: usize = 64;

/// The part behind a name that is a secret, and its kind.
pub(super) fn find(whole: &str, from: usize, to: usize) -> Option<(usize, usize, &'static str)> {
    let name = whole.get(from..to)?;
    if name.len() > MAX_NAME {
        return None;
    }
    let plain = plain(name);
    if HEADERS.contains(&plain.as_str())
        && let Some((from, to)) = header(whole, to)
        // A cookie is a pair; without one it is the name of something in code.
        && (!plain.ends_with("cookie") || whole.get(from..to)?.contains('='))
    {
        return Some((from, to, "header"));
    }
    if !is_secret(name, &plain) && !KEYWORDS.iter().any(|word| plain.ends_with(word)) {
        return None;
    }
    let (from, to) = assigned(whole, from, to).or_else(|| mentioned(whole, to))?;
    Some((from, to, "value"))
}

/// Returns `true` if the value of a field with this name is a secret.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    let plain = plain(name);
    let named = is_secret(name, &plain) || plain.ends_with("key");
    named && is_worth(value, name, Form::Quoted)
}

fn is_secret(name: &str, plain: &str) -> bool {
    let shouted = name.ends_with("_KEY") || name.ends_with("_PASS");
    shouted || SIGNATURES.contains(&plain) || NAMES.iter().any(|ending| plain.ends_with(ending))
}

/// Lower case, without separators.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// The value of a header reaches to the end of its line or to the quote around it.
fn header(whole: &str, end: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, end);
    let colon = rest.trim_start_matches(['"', '\'', '\\', ' ']);
    let value = colon
        .strip_prefix(':')?
        .trim_start_matches([' ', '"', '\'', '\\']);
    let from = end + (rest.len() - value.len());
    let length = value
        .find(['\n', '\r', '"', '\'', '\\'])
        .unwrap_or(value.len());
    let shown = value.get(..length)?;
    let scheme = ["Bearer ", "Basic ", "token ", "bearer ", "basic "]
        .iter()
        .find(|scheme| shown.starts_with(**scheme))
        .map_or(0, |scheme| scheme.len());
    let secret = shown.get(scheme..)?;
    let is_variable = secret.starts_with('$');
    (!secret.is_empty() && !is_variable && !secret.starts_with(MARK))
        .then_some((from + scheme, from + length))
}

/// How a value is tied to its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `NAME=value`, `name: value`.
    Bare,
    /// `name = value`.
    Spaced,
    /// In quotes, or behind an option.
    Quoted,
    /// `name = "value"`.
    SpacedQuoted,
}

/// `NAME=value`, `NAME: value`, `name = "value"`, `"name": "value"`, `--name value`.
fn assigned(whole: &str, name_start: usize, end: usize) -> Option<(usize, usize)> {
    let name = whole.get(name_start..end)?;
    let rest = rest_of(whole, end);
    let is_option = is_option(whole.get(..name_start)?);
    let after_quote = rest.trim_start_matches('\\');
    let after_quote = after_quote.strip_prefix(['"', '\'']).unwrap_or(after_quote);
    let (value, spaced) = if let Some(value) = after_quote.strip_prefix('=') {
        (value, false)
    } else if let Some(value) = after_quote.strip_prefix(':') {
        (value.trim_start_matches(' '), false)
    } else if let Some(value) = after_quote.trim_start_matches(' ').strip_prefix("= ") {
        (value.trim_start_matches(' '), true)
    } else {
        (rest.strip_prefix(' ').filter(|_| is_option)?, false)
    };
    let escaped = value.trim_start_matches('\\');
    let quote = escaped.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = match quote {
        Some(_) => escaped.strip_prefix(['"', '\'']).unwrap_or(escaped),
        None => value,
    };
    let from = end + (rest.len() - value.len());
    let length = match quote {
        Some(quote) => value.find([quote, '\n']),
        None => value.find(|c: char| c.is_whitespace() || "\"'`,;&|()<>\\".contains(c)),
    };
    let length = length.unwrap_or(value.len());
    let secret = value.get(..length)?.trim_end_matches('\\');
    let form = match (quote.is_some() || is_option, spaced) {
        (true, false) => Form::Quoted,
        (true, true) => Form::SpacedQuoted,
        (false, false) => Form::Bare,
        (false, true) => Form::Spaced,
    };
    // `const TOKEN: Type = …` is code.
    let after = rest_of(whole, from + length).trim_start_matches(' ');
    let is_type = form == Form::Bare && after.starts_with("= ");
    (is_worth(secret, name, form) && !is_type).then_some((from, from + secret.len()))
}

/// Returns `true` if a name that follows this text is an option: dashes at the beginning of an argument.
fn is_option(before: &str) -> bool {
    let stripped = before.trim_end_matches('-');
    let begins = stripped
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\''));
    stripped.len() < before.len() && begins
}

/// A random string behind a keyword, with no more than `is`, a sign or quotes between: "my token is …".
fn mentioned(whole: &str, end: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, end);
    let gap = |text: &str| {
        run(text, |byte| {
            matches!(
                byte,
                b' ' | b'\t' | b'"' | b'\'' | b'`' | b'=' | b':' | b'>'
            )
        })
    };
    let mut at = gap(rest);
    if at == 0 {
        return None;
    }
    let certain = rest.get(..at)?.contains(['=', ':', '>']);
    let is = rest.get(at..)?.starts_with("is ");
    if is {
        at += 3 + gap(rest.get(at + 3..)?);
    }
    let value = rest.get(at..)?;
    let length = run(value, |byte| {
        token_base64(byte) || matches!(byte, b'.' | b'%' | b'~')
    });
    let secret = value.get(..length)?.trim_end_matches('.');
    // Behind a mere space stand ids and hashes as well, which have no capital letters.
    let is_mixed = secret.bytes().any(|byte| byte.is_ascii_uppercase())
        && secret.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_secret = is_opaque(secret) && !is_path(secret) && (certain || is || is_mixed);
    is_secret.then_some((end + at, end + at + secret.len()))
}

/// Returns `true` if a text reads as a path or as names with dots, not as base64.
fn is_path(text: &str) -> bool {
    text.split(['/', '.'])
        .all(|part| part.len() < 16 || !super::shapes::looks_random(part))
}

/// Returns `true` if a value can be a secret, and is not a variable, a placeholder, a type or a call in some code.
fn is_worth(secret: &str, name: &str, form: Form) -> bool {
    if secret.is_empty() || secret.starts_with(|c| "$<{([%*&),;:".contains(c)) {
        return false;
    }
    if secret.starts_with(['-', '/']) && (!is_opaque(secret) || is_path(secret)) {
        return false;
    }
    let plain = plain(name);
    let has_digit = secret.bytes().any(|byte| byte.is_ascii_digit());
    let is_password = PASSWORDS.iter().any(|ending| plain.ends_with(ending));
    if !NAMES.iter().any(|ending| plain.ends_with(ending)) && !name.ends_with("_PASS") {
        // A name that ends with `key` or `sig` alone says little.
        let shouted_key = name.ends_with("_KEY") && form != Form::Spaced && secret.len() >= 16;
        return shouted_key || (is_opaque(secret) && !plain.ends_with("publickey"));
    }
    let shouted = !name.chars().any(|c| c.is_ascii_lowercase());
    match form {
        Form::Spaced => is_opaque(secret),
        Form::SpacedQuoted => {
            let is_version = secret
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            let least = if is_password { MIN_PASSWORD } else { MIN_VALUE };
            secret.len() >= least && (is_password || has_digit) && !is_version
        }
        Form::Quoted => {
            shouted || secret.len() >= MIN_VALUE || (is_password && secret.len() >= MIN_PASSWORD)
        }
        Form::Bare => (shouted && secret.len() >= 4) || (secret.len() >= MIN_VALUE && has_digit),
    }
}
