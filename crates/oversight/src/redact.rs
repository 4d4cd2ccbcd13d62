//! Takes secrets out of text that is kept: keys and tokens by their known shapes, and values of secret-looking names.
//!
//! One pass, no backtracking. It errs towards taking out too much where a shape is certain, and towards leaving code
//! readable where only a name gives it away. A secret without a shape and without a name stays: this lowers a risk and
//! promises nothing.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed when nothing was taken out.
    pub text: Cow<'a, str>,
    /// How many secrets were taken out.
    pub count: u64,
}

/// A shape: how it begins, the least length of the whole, and what stands in its place.
struct Shape(&'static str, usize, &'static str);

/// Longer beginnings first, where one contains another.
const SHAPES: &[Shape] = &[
    Shape("sk-ant-", 20, "anthropic-key"),
    Shape("sk-proj-", 20, "openai-key"),
    Shape("sk-or-", 20, "openrouter-key"),
    Shape("sk-", 24, "api-key"),
    Shape("sk_live_", 16, "stripe-key"),
    Shape("sk_test_", 16, "stripe-key"),
    Shape("rk_live_", 16, "stripe-key"),
    Shape("whsec_", 16, "stripe-key"),
    Shape("ghp_", 20, "github-token"),
    Shape("gho_", 20, "github-token"),
    Shape("ghu_", 20, "github-token"),
    Shape("ghs_", 20, "github-token"),
    Shape("ghr_", 20, "github-token"),
    Shape("github_pat_", 20, "github-token"),
    Shape("glpat-", 20, "gitlab-token"),
    Shape("gldt-", 20, "gitlab-token"),
    Shape("npm_", 30, "npm-token"),
    Shape("pypi-AgEI", 30, "pypi-token"),
    Shape("xoxb-", 16, "slack-token"),
    Shape("xoxp-", 16, "slack-token"),
    Shape("xoxa-", 16, "slack-token"),
    Shape("xoxr-", 16, "slack-token"),
    Shape("xoxs-", 16, "slack-token"),
    Shape("xapp-", 16, "slack-token"),
    Shape("AKIA", 20, "aws-key"),
    Shape("ASIA", 20, "aws-key"),
    Shape("AIza", 35, "google-key"),
    Shape("ya29.", 30, "google-token"),
    Shape("hf_", 30, "huggingface-token"),
    Shape("dop_v1_", 30, "digitalocean-token"),
    Shape("SG.", 40, "sendgrid-key"),
    Shape("dckr_pat_", 20, "docker-token"),
    Shape("gsk_", 30, "groq-key"),
    Shape("xai-", 40, "xai-key"),
    Shape("r8_", 30, "replicate-token"),
    Shape("AGE-SECRET-KEY-1", 30, "age-key"),
    Shape("lin_api_", 30, "linear-key"),
    Shape("ntn_", 30, "notion-token"),
    Shape("shpat_", 30, "shopify-token"),
];

/// Names, without case and separators, that end like this hold a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "credential",
    "credentials",
];

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

/// Values of names written in lower case are taken out from this length on; `token=next` is code.
const MIN_VALUE: usize = 8;

/// Longest name that is looked at.
const MAX_NAME: usize = 64;

/// Takes the secrets out of a text.
#[must_use]
pub fn text(whole: &str) -> Redacted<'_> {
    let mut scan = Scan {
        whole,
        out: String::new(),
        copied: 0,
        count: 0,
    };
    let bytes = whole.as_bytes();
    let mut at = 0;
    let mut name_start = 0;
    let mut word_end = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'-' && whole_from(whole, at).starts_with("-----BEGIN ") {
            at = scan.private_key(at);
        } else if *byte == b':' && whole_from(whole, at).starts_with("://") {
            at = scan.address(at + 3);
        } else if is_word(*byte) {
            // `api-key` and `api.key` are one name.
            let joins = matches!(bytes.get(word_end), Some(b'-' | b'.'));
            if at != word_end + 1 || !joins {
                name_start = at;
            }
            at = scan.word(name_start, at);
            word_end = at;
        } else {
            at += 1;
        }
    }
    scan.finish()
}

/// Takes the secrets out of every text of a JSON value, and the values of secret-looking names.
#[must_use]
pub fn value(whole: &Value) -> (Value, u64) {
    match whole {
        Value::String(string) => {
            let redacted = text(string);
            (Value::String(redacted.text.into_owned()), redacted.count)
        }
        Value::Array(items) => {
            let mut count = 0;
            let items = items.iter().map(|item| {
                let (item, found) = value(item);
                count += found;
                item
            });
            (Value::Array(items.collect()), count)
        }
        Value::Object(entries) => {
            let mut count = 0;
            let mut kept = Map::new();
            for (name, item) in entries {
                let (item, found) = match item {
                    Value::String(string)
                        if is_secret_name(name) && is_worth(string, name, true) =>
                    {
                        (Value::String(mark("value")), 1)
                    }
                    item => value(item),
                };
                count += found;
                kept.insert(name.clone(), item);
            }
            (Value::Object(kept), count)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (whole.clone(), 0),
    }
}

fn mark(what: &str) -> String {
    format!("[redacted:{what}]")
}

/// What was copied so far, and what of the text was not looked at yet.
struct Scan<'a> {
    whole: &'a str,
    out: String,
    copied: usize,
    count: u64,
}

impl<'a> Scan<'a> {
    fn finish(mut self) -> Redacted<'a> {
        if self.count == 0 {
            return Redacted {
                text: Cow::Borrowed(self.whole),
                count: 0,
            };
        }
        self.out.push_str(whole_from(self.whole, self.copied));
        Redacted {
            text: Cow::Owned(self.out),
            count: self.count,
        }
    }

    /// Replaces a part and says where to go on. Both ends lie beside ASCII characters, so they split no character.
    fn take_out(&mut self, from: usize, to: usize, what: &str) -> usize {
        let between = self.whole.get(self.copied..from);
        if let Some(between) = between.filter(|_| to > from) {
            self.out.push_str(between);
            self.out.push_str(&mark(what));
            self.copied = to;
            self.count += 1;
        }
        to
    }

    /// A private key goes up to the line that ends it, or to the end of the text.
    fn private_key(&mut self, at: usize) -> usize {
        let rest = whole_from(self.whole, at);
        let label = rest.get(..rest.len().min(80)).unwrap_or_default();
        if !label.contains("PRIVATE KEY") {
            return at + 5;
        }
        let after_label = label.find("KEY").map_or(0, |found| found + 8);
        let end = rest
            .get(after_label..)
            .and_then(|body| body.find("-----END "))
            .map(|found| found + after_label)
            .and_then(|found| {
                let line = rest.get(found + 9..)?;
                Some(found + 9 + line.find("-----")? + 5)
            });
        self.take_out(at, at + end.unwrap_or(rest.len()), "private-key")
    }

    /// A password in an address stands between the first colon and the last at-sign before the path.
    fn address(&mut self, at: usize) -> usize {
        let rest = whole_from(self.whole, at);
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`'))
            .unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        let Some((user, _)) = authority.rsplit_once('@') else {
            return at;
        };
        match user.split_once(':') {
            Some((name, password)) if !password.is_empty() && !password.starts_with('$') => {
                let from = at + name.len() + 1;
                self.take_out(from, from + password.len(), "password")
            }
            _ => at,
        }
    }

    /// A word: a secret by its shape, or the end of a name that is followed by one.
    fn word(&mut self, name_start: usize, at: usize) -> usize {
        let rest = whole_from(self.whole, at);
        if let Some((length, what)) = shape(rest) {
            return self.take_out(at, at + length, what);
        }
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let end = at + length;
        let name = self.whole.get(name_start..end).unwrap_or_default();
        if name.len() > MAX_NAME {
            return end;
        }
        if is_header(name)
            && let Some((from, to)) = header_value(self.whole, end)
        {
            return self.take_out(from, to, "header");
        }
        if is_secret_name(name)
            && let Some((from, to)) = assigned(self.whole, name_start, end)
        {
            return self.take_out(from, to, "value");
        }
        end
    }
}

fn whole_from(whole: &str, at: usize) -> &str {
    whole.get(at..).unwrap_or_default()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_token(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// How long the secret is that the text begins with.
fn shape(rest: &str) -> Option<(usize, &'static str)> {
    if rest.starts_with("eyJ") {
        return web_token(rest).map(|length| (length, "jwt"));
    }
    let Shape(start, least, what) = SHAPES
        .iter()
        .find(|Shape(start, ..)| rest.starts_with(start))?;
    let dotted = start.ends_with('.');
    let length = rest
        .bytes()
        .take_while(|byte| is_token(*byte) || (dotted && *byte == b'.'))
        .count();
    (length >= *least).then_some((length, *what))
}

/// Three parts between dots.
fn web_token(rest: &str) -> Option<usize> {
    let mut length = 0;
    for part in 0..3 {
        let found = whole_from(rest, length)
            .bytes()
            .take_while(|byte| is_token(*byte))
            .count();
        length += found;
        if found < 4 {
            return None;
        }
        if part < 2 {
            rest.as_bytes().get(length).filter(|byte| **byte == b'.')?;
            length += 1;
        }
    }
    Some(length)
}

/// Lower case, without separators.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn is_header(name: &str) -> bool {
    HEADERS.contains(&plain(name).as_str())
}

fn is_secret_name(name: &str) -> bool {
    let plain = plain(name);
    let shouted = name.ends_with("_KEY") || name.ends_with("_PASS");
    shouted || NAMES.iter().any(|ending| plain.ends_with(ending))
}

/// The value of a header reaches to the end of its line or to the quote around it.
fn header_value(whole: &str, end: usize) -> Option<(usize, usize)> {
    let rest = whole_from(whole, end);
    let colon = rest.trim_start_matches(['"', '\'', ' ']);
    let value = colon
        .strip_prefix(':')?
        .trim_start_matches([' ', '"', '\'']);
    let from = end + (rest.len() - value.len());
    let length = value.find(['\n', '\r', '"', '\'']).unwrap_or(value.len());
    let shown = value.get(..length)?;
    let scheme = ["Bearer ", "Basic ", "token ", "bearer ", "basic "]
        .iter()
        .find(|scheme| shown.starts_with(**scheme))
        .map_or(0, |scheme| scheme.len());
    let secret = shown.get(scheme..)?;
    let is_variable = secret.starts_with('$');
    (!secret.is_empty() && !is_variable && !secret.starts_with("[redacted:"))
        .then_some((from + scheme, from + length))
}

/// `NAME=value`, `NAME: value`, `"name": "value"`, `--name value`.
fn assigned(whole: &str, name_start: usize, end: usize) -> Option<(usize, usize)> {
    let name = whole.get(name_start..end)?;
    let rest = whole_from(whole, end);
    let is_option = whole.get(..name_start)?.ends_with("--");
    let after_quote = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let value = if let Some(value) = after_quote.strip_prefix('=') {
        value
    } else if let Some(value) = after_quote.strip_prefix(':') {
        value.trim_start_matches(' ')
    } else {
        rest.strip_prefix(' ').filter(|_| is_option)?
    };
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    let from = end + (rest.len() - value.len());
    let length = match quote {
        Some(quote) => value.find([quote, '\n']),
        None => value.find(|c: char| c.is_whitespace() || "\"'`,;&|()<>".contains(c)),
    };
    let length = length.unwrap_or(value.len());
    let secret = value.get(..length)?;
    is_worth(secret, name, quote.is_some() || is_option).then_some((from, from + length))
}

/// Whether a value can be a secret, and not a variable, a placeholder, a type or a call in some code.
fn is_worth(secret: &str, name: &str, certain: bool) -> bool {
    let is_other = secret.starts_with(['$', '<', '{', '(', '[', '%', '*', '-', '&', '/']);
    if secret.is_empty() || is_other {
        return false;
    }
    let shouted = !name.chars().any(|c| c.is_ascii_lowercase());
    if name.ends_with("_KEY") {
        return secret.len() >= 16;
    }
    let has_digit = secret.bytes().any(|byte| byte.is_ascii_digit());
    (shouted && (certain || secret.len() >= 4))
        || (secret.len() >= MIN_VALUE && (certain || has_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(whole: &str, expected: &str) {
        let redacted = text(whole);
        assert_eq!(redacted.text, expected);
        assert_eq!(redacted.count > 0, whole != expected);
    }

    #[test]
    fn known_shapes_go_wherever_they_stand() {
        let key = format!("sk-ant-{}", "a1B2-".repeat(8));
        check(
            &format!("curl -H 'x: {key}' https://a"),
            "curl -H 'x: [redacted:anthropic-key]' https://a",
        );
        check(
            &format!("echo ghp_{}.", "x".repeat(36)),
            "echo [redacted:github-token].",
        );
        check("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key]");
        check("a eyJhbGciOi.eyJzdWIiOi.SflKxwRJ b", "a [redacted:jwt] b");
        check("AKIA is short", "AKIA is short");
        check(
            "task-1234567890123456789012345",
            "task-1234567890123456789012345",
        );
    }

    #[test]
    fn a_private_key_goes_whole() {
        let begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
        let end = "-----END OPENSSH PRIVATE KEY-----";
        check(
            &format!("a\n{begin}\nb3Blb\nnNz\n{end}\nz"),
            "a\n[redacted:private-key]\nz",
        );
        check(&format!("{begin}\nb3Blb"), "[redacted:private-key]");
        let public = "-----BEGIN PUBLIC KEY-----\nAAA\n-----END PUBLIC KEY-----";
        check(public, public);
    }

    #[test]
    fn values_of_secret_names_go_and_code_stays() {
        check(
            "export DB_PASSWORD=hunter2",
            "export DB_PASSWORD=[redacted:value]",
        );
        check("API_TOKEN=\"a b c\" x", "API_TOKEN=\"[redacted:value]\" x");
        check(
            "tool --password s3cretly x",
            "tool --password [redacted:value] x",
        );
        check(
            "tool --api-key=abcd1234 x",
            "tool --api-key=[redacted:value] x",
        );
        check(
            r#"{"password": "correct horse"}"#,
            r#"{"password": "[redacted:value]"}"#,
        );
        for code in [
            "API_TOKEN=$TOKEN run",
            "API_TOKEN=$(cat token) run",
            "let token = lexer.next();",
            "f(token=token, max_tokens=1000)",
            "token: string",
            "PASSWORD_FILE=/run/secrets/db",
            "git push origin main",
        ] {
            check(code, code);
        }
    }

    #[test]
    fn headers_and_addresses_lose_their_secret_only() {
        check(
            "curl -H 'Authorization: Bearer abc.def' https://a.b",
            "curl -H 'Authorization: Bearer [redacted:header]' https://a.b",
        );
        check(
            "curl -H \"Authorization: Bearer $TOKEN\" u",
            "curl -H \"Authorization: Bearer $TOKEN\" u",
        );
        check(
            "git clone https://joe:pa55@example.org/a.git",
            "git clone https://joe:[redacted:password]@example.org/a.git",
        );
        check("ssh://git@example.org:22/a", "ssh://git@example.org:22/a");
    }

    #[test]
    fn json_loses_values_of_secret_names_at_any_depth() {
        let whole = serde_json::json!({"a": [{"apiKey": "0123456789abcdef"}], "n": 1});
        let (kept, count) = value(&whole);
        assert_eq!(count, 1);
        assert_eq!(
            kept.to_string(),
            r#"{"a":[{"apiKey":"[redacted:value]"}],"n":1}"#
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_and_twice_is_once(whole in "(?s).{0,200}") {
            let once = text(&whole).text.into_owned();
            let twice = text(&once);
            proptest::prop_assert_eq!(&*twice.text, &*once);
        }

        #[test]
        fn no_key_survives_in_any_surrounding(before in "[ -/:-@]{0,20}", after in "[ -,.-/:-@]{0,20}") {
            let key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
            let whole = format!("{before}{key}{after}");
            proptest::prop_assert!(!text(&whole).text.contains(key));
        }
    }
}
