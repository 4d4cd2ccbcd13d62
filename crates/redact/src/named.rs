//! Secrets that are identified by a name: `PASSWORD=…`, `"apiKey": "…"`, `'secret' => '…'`, `--token …`,
//! `<password>…</…>`, `name="password" value="…"`, `PASSWORD '…'`, `Authorization: …`, "the key is …".

use super::forms::{account, code, identified, marked_up, quoted, set};
use super::shapes::{is_opaque, looks_random, run, token_base64};
use super::{MARK, rest_of};

/// Suffixes of names of a secret, without case and separators.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "storepass",
    "keypass",
    "requirepass",
    "masterauth",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "secretkey",
    "secretkeybase",
    "masterkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "authtoken",
    "credential",
    "credentials",
];

/// Those whose value a person may have chosen, so that it can be short.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "storepass",
    "keypass",
    "requirepass",
    "masterauth",
    "pwd",
];

/// Names of one-time codes, which are short numbers.
const CODES: &[&str] = &["otp", "totp", "mfacode", "tokencode", "passcode"];

/// Words that make a `key` behind them a secret.
const OF_KEYS: &[&str] = &["api", "access", "secret", "private", "auth", "signing"];

/// URL parameters with a signature: the holder of the URL has its permissions.
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

/// Words after which only a random string is a secret.
const KEYWORDS: &[&str] = &["key", "bearer", "basic"];

/// Names of cookies that may represent a login.
const SESSIONS: &[&str] = &["session", "sessionid", "sid", "phpsessid", "jsessionid"];

/// Prefixes of values that name a format or an algorithm.
const FORMATS: &[&str] = &[
    "sha", "md5", "base", "utf", "aes", "bcrypt", "argon", "int", "uint", "float",
];

/// Least length of a random string behind "the api key".
const MIN_KEY: usize = 12;

/// Least length of the value of a lower-case name; `token=next` is code.
const MIN_VALUE: usize = 8;

/// Least length of a password.
pub(super) const MIN_PASSWORD: usize = 4;

/// Limit of the length of a name.
const MAX_NAME: usize = 64;

/// Returns the part behind a name that is a secret, and its kind.
pub(super) fn find(whole: &str, from: usize, to: usize) -> Option<(usize, usize, &'static str)> {
    let name = whole.get(from..to)?;
    if name.len() > MAX_NAME {
        return None;
    }
    let plain = plain(name);
    if HEADERS.contains(&plain.as_str())
        && let Some((from, to)) = header(whole, to)
        // A cookie is a pair; otherwise it is a name in code.
        && (!plain.ends_with("cookie") || whole.get(from..to)?.contains('='))
    {
        return Some((from, to, "header"));
    }
    if SESSIONS.iter().any(|word| plain.ends_with(word)) {
        let (from, to) = assigned(whole, from, to)?;
        return is_login(whole.get(from..to)?).then_some((from, to, "cookie"));
    }
    if CODES.iter().any(|word| plain.ends_with(word)) {
        let (from, to) = code(whole, from, to)?;
        return Some((from, to, "code"));
    }
    if matches!(plain.as_str(), "auth" | "basic")
        && let Some((from, to)) = account(whole, to)
    {
        return Some((from, to, "value"));
    }
    let is_key = plain == "key"
        && whole
            .get(..from)
            .is_some_and(|before| OF_KEYS.contains(&&*last_word(before)));
    // `plink -pw …`.
    let is_short = plain == "pw" && is_option(whole.get(..from)?);
    let is_named = is_key || is_short || is_secret(name, &plain);
    if !is_named && !KEYWORDS.iter().any(|word| plain.ends_with(word)) {
        let (from, to) = identified(whole, from, to).filter(|_| plain == "by")?;
        return Some((from, to, "value"));
    }
    let in_markup = || is_named.then(|| marked_up(whole, from, to)).flatten();
    let is_password = is_password(name, &plain);
    let is_shown = |text: &str| is_named && text.len() >= MIN_KEY && looks_random(text);
    let (from, to) = assigned(whole, from, to)
        .or_else(in_markup)
        .or_else(|| is_named.then(|| set(whole, from, to)).flatten())
        .or_else(|| is_password.then(|| quoted(whole, to)).flatten())
        .or_else(|| {
            mentioned(whole, to, |secret| {
                is_shown(secret) || is_password && is_password_setting(secret, name)
            })
        })?;
    Some((from, to, "value"))
}

/// Returns `true` if the value of a field with this name is a secret.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    let plain = plain(name);
    let is_session = SESSIONS.iter().any(|word| plain.ends_with(word));
    let named = is_secret(name, &plain) || plain.ends_with("key");
    is_session && is_login(value) || named && is_worth(value, name, Form::Quoted)
}

/// Returns `true` if the value of a cookie represents a login. Ids of sessions are hexadecimal.
fn is_login(text: &str) -> bool {
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    is_opaque(text) && !text.bytes().all(is_id)
}

/// Returns `true` if a name means a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    is_secret(name, &plain(name))
}

fn is_secret(name: &str, plain: &str) -> bool {
    name.ends_with("_KEY")
        || is_pass(name)
        || SIGNATURES.contains(&plain)
        || NAMES.iter().any(|ending| plain.ends_with(ending))
}

/// Returns `true` if a person may have chosen the value of a name.
pub(super) fn is_password(name: &str, plain: &str) -> bool {
    is_pass(name) || PASSWORDS.iter().any(|ending| plain.ends_with(ending))
}

/// Returns `true` for `db_pass`, `DBPASS`: short for a password. The result of a test is `pass` alone.
fn is_pass(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or(name);
    let is_other = ["BYPASS", "COMPASS", "ASKPASS"]
        .iter()
        .any(|other| last.ends_with(other));
    let is_short = last.eq_ignore_ascii_case("pass") || last.ends_with("PASS") && !is_other;
    is_short && name.len() > "pass".len()
}

/// Returns the last word of a text, in lower case.
fn last_word(text: &str) -> String {
    let text = text.trim_end_matches(' ');
    let word = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
    word.unwrap_or_default().to_ascii_lowercase()
}

/// Returns a name in lower case, without separators.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Returns the value of a header, which extends to the end of its line or to the quote around it.
fn header(whole: &str, end: usize) -> Option<(usize, usize)> {
    let rest = rest_of(whole, end);
    let colon = rest.trim_start_matches(['"', '\'', '\\', ' ']);
    let value = colon
        .strip_prefix(':')?
        .trim_start_matches([' ', '"', '\'', '\\']);
    let from = end + (rest.len() - value.len());
    // Only the parts of this kind have their own quotes.
    let ends: &[char] = match value.starts_with("Digest ") {
        true => &['\n', '\r', '\''],
        false => &['\n', '\r', '"', '\'', '\\'],
    };
    let length = value.find(ends).unwrap_or(value.len());
    let shown = value.get(..length)?;
    let scheme = ["Bearer ", "Basic ", "token ", "bearer ", "basic "]
        .iter()
        .find(|scheme| shown.starts_with(**scheme))
        .map_or(0, |scheme| scheme.len());
    let secret = shown.get(scheme..)?;
    // `authorization: required` is not a value.
    let is_word = scheme == 0
        && secret.len() < MIN_KEY
        && secret.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_variable = secret.starts_with('$') || is_word;
    (!secret.is_empty() && !is_variable && !secret.starts_with(MARK))
        .then_some((from + scheme, from + length))
}

/// Form of the binding between a value and its name.
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

/// Quotation marks, also as addresses encode them.
const QUOTES: [&str; 3] = ["\"", "'", "%22"];

/// Returns the text behind a name and its separator, and `true` if they are separated by blanks: `=`, `:`, ` = `,
/// `:=`, `=>`, `%3D`.
pub(super) fn separated(rest: &str) -> Option<(&str, bool)> {
    let rest = rest.trim_start_matches('\\');
    let quoted = QUOTES.iter().find_map(|quote| rest.strip_prefix(quote));
    let rest = quoted.map_or(rest, |rest| rest.strip_prefix(']').unwrap_or(rest));
    let apart = rest.trim_start_matches(' ');
    for separator in ["=> ", ":= ", "= "] {
        if let Some(value) = apart.strip_prefix(separator) {
            return Some((value.trim_start_matches(' '), true));
        }
    }
    if let Some(value) = rest.strip_prefix("=>").or_else(|| rest.strip_prefix(":=")) {
        return Some((value, true));
    }
    let tight = ["=", "%3D", "%3d"]
        .iter()
        .find_map(|separator| rest.strip_prefix(separator));
    let colon = || {
        [":", "%3A", "%3a"]
            .iter()
            .find_map(|separator| rest.strip_prefix(separator))
    };
    tight
        .or_else(|| colon().map(|value| value.trim_start_matches(' ')))
        .map(|value| (value, false))
}

/// Returns the value of `NAME=value`, `NAME: value`, `name = "value"`, `"name": "value"`, `--name value`.
fn assigned(whole: &str, name_start: usize, end: usize) -> Option<(usize, usize)> {
    let name = whole.get(name_start..end)?;
    let rest = rest_of(whole, end);
    let is_option = is_option(whole.get(..name_start)?);
    // `'name' => 'value'` and `:name => 'value'`, but not the arm of a match.
    let is_key = rest.starts_with(['"', '\''])
        || whole.get(..name_start)?.trim_end_matches(':').len() + 1 == name_start;
    let is_arrow = rest.trim_start_matches(['"', '\'', ' ']).starts_with("=>");
    // `define('NAME', 'value')`.
    let before = whole.get(..name_start)?;
    let is_call = before.ends_with("('") || before.ends_with("(\"");
    let given = rest
        .strip_prefix("', '")
        .or_else(|| rest.strip_prefix("\", \""))
        .filter(|_| is_call);
    if let Some(value) = given {
        let secret = value.get(..value.find(['"', '\'', '\n'])?)?;
        let start = end + (rest.len() - value.len());
        let is_name = secret
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || b" _-:./".contains(&byte));
        return (!is_name && is_worth(secret, name, Form::SpacedQuoted))
            .then_some((start, start + secret.len()));
    }
    let (value, spaced) = match separated(rest) {
        Some(found) => found,
        None => (rest.strip_prefix(' ').filter(|_| is_option)?, false),
    };
    // `NAME=$'…'` is a text, not a variable.
    let escaped = value
        .strip_prefix('$')
        .filter(|text| text.starts_with(['\'', '"']));
    let escaped = escaped.unwrap_or(value).trim_start_matches('\\');
    let quote = QUOTES.iter().find(|quote| escaped.starts_with(**quote));
    let value = quote
        .and_then(|quote| escaped.strip_prefix(quote))
        .unwrap_or(value);
    let from = end + (rest.len() - value.len());
    let length = match quote {
        Some(quote) => {
            let line = value.find('\n').unwrap_or(value.len());
            value.get(..line)?.find(quote).or(Some(line))
        }
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
    let is_type = form == Form::Bare && after.starts_with("= ")
        || is_arrow && !secret.bytes().any(|byte| byte.is_ascii_digit())
        || is_arrow && !is_key && (quote.is_none() || secret.contains(' '));
    if form == Form::Bare && rest.starts_with(':') {
        let found = typed(whole, from, name);
        if found.is_some() {
            return found;
        }
    }
    // In a settings file, the value of a password ends its line.
    let is_setting = form != Form::SpacedQuoted
        && (after.is_empty() || after.starts_with(['\n', '\r']))
        && (is_password_setting(secret, name) || is_token_setting(secret, name));
    ((is_worth(secret, name, form) || is_setting) && !is_type)
        .then_some((from, from + secret.len()))
}

/// Returns `true` for `aws_secret_access_key = …`: a random string for a name of a secret.
fn is_token_setting(secret: &str, name: &str) -> bool {
    let is_plain = secret.bytes().all(token_base64);
    secret.len() >= MIN_KEY
        && is_plain
        && looks_random(secret)
        && is_secret(name, &plain(name))
        && !secret.contains('/')
}

/// Returns the value of `const apiToken: string = '…'`, behind the type, which begins at `at`.
fn typed(whole: &str, at: usize, name: &str) -> Option<(usize, usize)> {
    let rest = rest_of(whole, at);
    let of_type = run(rest, |byte| {
        byte.is_ascii_alphanumeric() || b"_&<>'[]:. ".contains(&byte)
    });
    let value = rest
        .get(of_type..)?
        .strip_prefix("= ")
        .filter(|_| of_type < MAX_NAME)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = value.get(1..)?;
    let start = at + (rest.len() - value.len());
    let secret = value.get(..value.find([quote, '\n'])?)?;
    is_worth(secret, name, Form::SpacedQuoted).then_some((start, start + secret.len()))
}

/// Returns `true` for `password: hunter2`, `passwd = hunter2`: letters and digits that do not name a format.
fn is_password_setting(secret: &str, name: &str) -> bool {
    let plain = plain(name);
    let has = |is: fn(&u8) -> bool| secret.bytes().any(|byte| is(&byte));
    let is_format = FORMATS
        .iter()
        .any(|format| secret.to_ascii_lowercase().starts_with(format));
    is_password(name, &plain)
        && secret.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && secret
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%*+-=?@^_~".contains(&byte))
        && !secret.starts_with(['$', '%', '-', '*'])
        && !is_format
}

/// Returns `true` if a name that follows this text is an option: dashes at the beginning of an argument.
pub(super) fn is_option(before: &str) -> bool {
    let stripped = before.trim_end_matches('-');
    let begins = stripped
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\''));
    stripped.len() < before.len() && begins
}

/// Returns a random string behind a keyword, with no more than `is`, an operator or quotes between: "my token is …".
/// `may_be_short` decides which short strings are secrets, if an operator or `is` binds them to the name.
fn mentioned(
    whole: &str,
    end: usize,
    may_be_short: impl Fn(&str) -> bool,
) -> Option<(usize, usize)> {
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
    let is = rest.get(at..)?.starts_with("is ") || rest.get(at..)?.starts_with("is:");
    if is {
        at += 2 + gap(rest.get(at + 2..)?);
    }
    let value = rest.get(at..)?;
    let length = run(value, |byte| {
        token_base64(byte) || matches!(byte, b'.' | b'%' | b'~')
    });
    let secret = value.get(..length)?.trim_end_matches('.');
    // Behind a blank there may also be ids and hashes, which have no capital letters.
    let is_mixed = secret.bytes().any(|byte| byte.is_ascii_uppercase())
        && secret.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_secret = is_opaque(secret) && !is_path(secret) && (certain || is || is_mixed);
    // Behind an equals sign there may also be code.
    let is_told = is || certain && !rest.get(..at)?.contains(['=', '>']);
    let is_secret = is_secret || is_told && may_be_short(secret);
    is_secret.then_some((end + at, end + at + secret.len()))
}

/// Returns `true` if a text looks like a path or names with dots, not like base64.
fn is_path(text: &str) -> bool {
    text.split(['/', '.'])
        .all(|part| part.len() < 16 || !super::shapes::looks_random(part))
}

/// Returns `true` if a value can be a secret, and is not a variable, a placeholder, a type or a call in some code.
fn is_worth(secret: &str, name: &str, form: Form) -> bool {
    // `openssl -pass env:NAME` names the source of the password.
    let names_source = ["pass:", "env:", "file:", "fd:"]
        .iter()
        .any(|source| secret.starts_with(source));
    if secret.is_empty() || names_source || secret.starts_with(|c| "$<{([%*&),;:".contains(c)) {
        return false;
    }
    if secret.starts_with(['-', '/']) && (!is_opaque(secret) || is_path(secret)) {
        return false;
    }
    let plain = plain(name);
    let has_digit = secret.bytes().any(|byte| byte.is_ascii_digit());
    let is_password = is_password(name, &plain);
    if !NAMES.iter().any(|ending| plain.ends_with(ending)) && !is_pass(name) {
        // A name that only ends with `key` or `sig` is not enough.
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
