//! Removes secrets from text that is stored or shown: keys and tokens by their shapes, passwords in addresses, values
//! of secret-looking names, and options of programs that take a password.
//!
//! [`shapes`] is the table of providers' keys and tokens, [`named`] goes by names with [`forms`], [`programs`] by
//! programs, [`fed`] by the input of a command, [`glued`] by words that quotes split. One pass, no backtracking, and
//! no preparation, because a hook runs it in a new process for every call. It errs towards removing too much if a
//! shape is certain, and towards keeping code readable if there is only a name. A secret without a shape and without
//! a name stays: this lowers a risk and promises nothing.

mod fed;
mod forms;
mod glued;
mod named;
mod programs;
mod shapes;

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::{Map, Value};

/// Prefix of every replacement.
const MARK: &str = "[redacted:";

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed if nothing was removed.
    pub text: Cow<'a, str>,
    /// Number of removed secrets.
    pub count: u64,
}

/// Removes the secrets from a text.
#[must_use]
pub fn text(whole: &str) -> Redacted<'_> {
    let found = glued::find(whole);
    if found.is_empty() {
        return Redacted {
            text: Cow::Borrowed(whole),
            count: 0,
        };
    }
    let mut out = String::with_capacity(whole.len());
    let mut copied = 0;
    for one in &found {
        out.push_str(whole.get(copied..one.from).unwrap_or_default());
        out.push_str(&mark(one.what));
        copied = one.to;
    }
    out.push_str(rest_of(whole, copied));
    Redacted {
        text: Cow::Owned(out),
        count: found.len() as u64,
    }
}

/// Removes the secrets from every string of a JSON value, and the values of secret-looking names.
#[must_use]
pub fn value(whole: &Value) -> (Value, u64) {
    match whole {
        Value::String(string) => {
            let redacted = text(string);
            (Value::String(redacted.text.into_owned()), redacted.count)
        }
        Value::Array(items) => array(items),
        Value::Object(entries) => {
            let mut count = 0;
            let mut kept = Map::new();
            for (name, item) in entries {
                let (item, found) = match item {
                    Value::String(string) if named::is_secret_field(name, string) => {
                        (Value::String(mark("value")), 1)
                    }
                    item => value(item),
                };
                count += found;
                kept.insert(text(name).text.into_owned(), item);
            }
            (Value::Object(kept), count)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (whole.clone(), 0),
    }
}

/// Handles the items by themselves, and as the arguments of a program that one of them names.
fn array(items: &[Value]) -> (Value, u64) {
    let mut count = 0;
    let mut kept: Vec<Value> = Vec::with_capacity(items.len());
    let texts: Vec<&str> = items
        .iter()
        .map(|item| item.as_str().unwrap_or_default())
        .collect();
    let mut secrets = VecDeque::new();
    secrets.extend(by_neighbours(&texts));
    for (index, text) in texts.iter().enumerate() {
        let program = text.rsplit('/').next().unwrap_or(text);
        if programs::is_known(program) {
            let behind = texts.get(index + 1..).unwrap_or_default();
            let found = programs::among(program, behind).into_iter();
            secrets.extend(found.map(|(place, from)| (index + 1 + place, from)));
        }
    }
    for (index, item) in items.iter().enumerate() {
        let secret = secrets.iter().find(|(place, _)| *place == index);
        let head = secret.and_then(|(_, from)| item.as_str()?.get(..*from));
        let (item, found) = match head {
            Some(head) => (Value::String(format!("{head}{}", mark("password"))), 1),
            None => value(item),
        };
        count += found;
        kept.push(item);
    }
    (Value::Array(kept), count)
}

/// Returns the items that are secrets by the items before them, as in a command line: a name, then its value.
fn by_neighbours(texts: &[&str]) -> Vec<(usize, usize)> {
    if texts.iter().any(|text| text.is_empty()) {
        return Vec::new();
    }
    let line = texts.join(" ");
    let found = Scan::new(&line).run();
    let mut start = 0;
    let mut places = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let end = start + text.len();
        if found.iter().any(|one| (one.from, one.to) == (start, end)) {
            places.push((index, 0));
        }
        start = end + 1;
    }
    places
}

/// Secrets of one text, to remove them from others that repeat it in parts: a password that is only recognised by its
/// position in a command is not recognised elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Known(Vec<String>);

impl Known {
    /// Least length of a secret that is removed elsewhere: shorter ones may be parts of ordinary words.
    const MIN_LENGTH: usize = 6;

    /// Finds the secrets of a text.
    #[must_use]
    pub fn of(whole: &str) -> Self {
        let found = glued::find(whole).into_iter();
        let texts = found.filter_map(|one| Some(whole.get(one.from..one.to)?.to_owned()));
        let mut secrets: Vec<String> = texts.chain(glued::as_words(whole)).collect();
        secrets.retain(|text| text.len() >= Self::MIN_LENGTH);
        // A part of another one must not be replaced first.
        secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// Removes these secrets, and those that the text itself shows.
    #[must_use]
    pub fn out_of(&self, whole: &str) -> String {
        let mut kept = Cow::Borrowed(whole);
        for secret in &self.0 {
            if kept.contains(secret.as_str()) {
                kept = Cow::Owned(kept.replace(secret.as_str(), &mark("value")));
            }
        }
        text(&kept).text.into_owned()
    }
}

fn mark(what: &str) -> String {
    format!("{MARK}{what}]")
}

/// A part to remove.
#[derive(Debug)]
struct Found {
    from: usize,
    to: usize,
    what: &'static str,
}

/// Findings so far. Ends of parts are beside ASCII characters, so they split no character.
struct Scan<'a> {
    whole: &'a str,
    found: Vec<Found>,
    /// Later parts that a program before them identifies, in order.
    ahead: VecDeque<programs::Part>,
}

impl<'a> Scan<'a> {
    fn new(whole: &'a str) -> Self {
        Self {
            whole,
            found: Vec::new(),
            ahead: VecDeque::new(),
        }
    }

    fn run(mut self) -> Vec<Found> {
        let bytes = self.whole.as_bytes();
        let mut at = 0;
        let mut name_start = 0;
        let mut word_end = 0;
        while let Some(byte) = bytes.get(at) {
            let rest = rest_of(self.whole, at);
            if *byte == b'[' && rest.starts_with(MARK) {
                at += rest.find(']').map_or(MARK.len(), |end| end + 1);
            } else if let Some(end) = self.expected(at) {
                at = end;
            } else if *byte == b'-' && rest.starts_with("-----BEGIN ") {
                at = self.private_key(at);
            } else if *byte == b':' && rest.starts_with("://") {
                at = self.address(at);
            } else if *byte == b'<' && rest.starts_with("<<") {
                self.ahead.extend(fed::here(self.whole, at));
                self.ahead.make_contiguous().sort_unstable();
                at += if rest.starts_with("<<<") { 3 } else { 2 };
            } else if let Some(length) =
                Some(rest).filter(|_| *byte == b'$').and_then(shapes::crypt)
            {
                at = self.take_out(at, at + length, "password-hash");
            } else if shapes::word(*byte) {
                if at == 0 || bytes.get(at - 1) == Some(&b'\n') {
                    let line = rest.lines().next().unwrap_or_default();
                    let secret = programs::pgpass(line);
                    self.ahead
                        .extend(secret.map(|from| (at + from, at + line.len())));
                }
                // `api-key` and `api.key` are one name.
                let joins = matches!(bytes.get(word_end), Some(b'-' | b'.'));
                if at != word_end + 1 || !joins {
                    name_start = at;
                }
                at = self.word(name_start, at);
                word_end = at;
            } else {
                at += 1;
            }
        }
        self.found
    }

    /// Records a part and returns the position to continue from.
    fn take_out(&mut self, from: usize, to: usize, what: &'static str) -> usize {
        let is_behind = self.found.last().is_none_or(|last| last.to <= from);
        if to > from && is_behind && self.whole.get(from..to).is_some() {
            self.found.push(Found { from, to, what });
        }
        to
    }

    /// Removes an expected part that begins here.
    fn expected(&mut self, at: usize) -> Option<usize> {
        if self.ahead.is_empty() {
            return None;
        }
        self.ahead.retain(|(from, _)| *from >= at);
        let (from, to) = self.ahead.pop_front_if(|(from, _)| *from == at)?;
        Some(self.take_out(from, to, "password"))
    }

    /// Removes a private key up to the line that ends it, or to the end of the text.
    fn private_key(&mut self, at: usize) -> usize {
        let rest = rest_of(self.whole, at);
        let label = rest.get(..rest.floor_char_boundary(80)).unwrap_or_default();
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

    /// Removes a password in a URL, which is between the first colon and the last at-sign before the path. Web URLs
    /// have no such characters in their password; those of databases may.
    fn address(&mut self, colon: usize) -> usize {
        let at = colon + 3;
        let rest = rest_of(self.whole, at);
        let before = self.whole.get(..colon).unwrap_or_default();
        let is_web = before.ends_with("http") || before.ends_with("https");
        let ends = |c: char| {
            c.is_whitespace()
                || matches!(c, '"' | '\'' | '`' | '<' | '>')
                || (is_web && matches!(c, '/' | '?' | '#'))
        };
        let authority = rest
            .get(..rest.find(ends).unwrap_or(rest.len()))
            .unwrap_or_default();
        let Some((user, _)) = authority.rsplit_once('@') else {
            return at;
        };
        let (from, what) = match user.split_once(':') {
            Some((name, _)) => (name.len() + 1, "password"),
            // A token may be in the position of the name.
            None if shapes::is_opaque(user) => (0, "token"),
            None => return at,
        };
        let secret = user.get(from..).unwrap_or_default();
        if secret.is_empty() || secret.starts_with(['$', '{', '<']) || secret.starts_with(MARK) {
            return at;
        }
        self.take_out(at + from, at + user.len(), what)
    }

    /// Handles a word: a secret by its shape, the end of a name that is followed by one, or a program that takes one.
    fn word(&mut self, name_start: usize, at: usize) -> usize {
        let rest = rest_of(self.whole, at);
        if let Some((length, what)) = shapes::find(rest) {
            let end = self.take_out(at, at + length, what);
            return if what == "aws-key" {
                self.aws_secret(end)
            } else {
                end
            };
        }
        let end = at + shapes::run(rest, shapes::word);
        if let Some((from, to)) = self
            .ahead
            .pop_front_if(|(from, _)| (at..end).contains(from))
        {
            return self.take_out(from, to, "password");
        }
        self.look_ahead(name_start, at, end);
        match named::find(self.whole, name_start, end) {
            Some((from, to, what)) => self.take_out(from, to, what),
            None => end,
        }
    }

    /// Removes the secret half of an AWS key, which has no own shape and is often behind the other half.
    fn aws_secret(&mut self, at: usize) -> usize {
        let rest = rest_of(self.whole, at);
        let gap = shapes::run(rest, |byte| b" \t\n,:;|\"'=".contains(&byte));
        let body = rest.get(gap..).unwrap_or_default();
        let length = shapes::run(body, shapes::token_base64);
        let secret = body.get(..length).unwrap_or_default();
        if gap > 0 && length == 40 && shapes::is_opaque(secret) {
            return self.take_out(at + gap, at + gap + length, "aws-secret");
        }
        at
    }

    fn look_ahead(&mut self, name_start: usize, at: usize, end: usize) {
        let name = |from: usize| self.whole.get(from..end).unwrap_or_default();
        let program = [name(name_start), name(at)]
            .into_iter()
            .find(|name| programs::is_known(name));
        let found = match program {
            Some(program) => programs::find(self.whole, program, end),
            None if matches!(name(at), "machine" | "default") => {
                programs::netrc(self.whole, end, name(at))
                    .into_iter()
                    .collect()
            }
            None => return,
        };
        if !found.is_empty() {
            self.ahead.extend(found);
            self.ahead.make_contiguous().sort_unstable();
        }
    }
}

fn rest_of(whole: &str, at: usize) -> &str {
    whole.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
