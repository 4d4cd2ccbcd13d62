//! Scans a body without changing it: finds the positions of its top-level members, and the model that it names.
//!
//! One pass over the bytes with a counter for depth, no tree, no recursion; the content of values is for the upstream.
//! Edits are splices, so that every other byte stays unchanged.

use std::ops::Range;

use memchr::memchr2;

/// A member of the top-level object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Range of its key and its value.
    whole: Range<usize>,
    pub(crate) value: Range<usize>,
    comma_before: Option<usize>,
    comma_after: Option<usize>,
}

/// The relevant members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Position after the opening brace.
    inside: usize,
    members: usize,
    pub(crate) model: Option<Member>,
    pub(crate) models: Option<Member>,
    pub(crate) system: Option<Member>,
    pub(crate) messages: Option<Member>,
    pub(crate) instructions: Option<Member>,
}

/// The body is not a JSON object; with the position of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoObject(pub(crate) usize);

/// Scans a body once.
pub(crate) fn scan(body: &[u8]) -> Result<Scanned, NoObject> {
    let mut reader = Reader { body, at: 0 };
    reader.space();
    reader.expect(b'{')?;
    let mut found = Scanned {
        inside: reader.at,
        ..Scanned::default()
    };
    let mut comma_before = None;
    loop {
        reader.space();
        if reader.peek() == Some(b'}') && comma_before.is_none() {
            return Ok(found);
        }
        found.members += 1;
        let start = reader.at;
        let key = reader.string()?;
        reader.space();
        reader.expect(b':')?;
        reader.space();
        let value = reader.value()?;
        let whole = start..value.end;
        reader.space();
        let comma_after = (reader.peek() == Some(b',')).then_some(reader.at);
        let member = Member {
            whole,
            value,
            comma_before,
            comma_after,
        };
        found.note(body, &key, member);
        match reader.peek() {
            Some(b',') => {
                comma_before = comma_after;
                reader.at += 1;
            }
            Some(b'}') => return Ok(found),
            _ => return Err(NoObject(reader.at)),
        }
    }
}

impl Scanned {
    /// Records a member. The last of several with one name counts, as for most parsers.
    fn note(&mut self, body: &[u8], key: &Range<usize>, member: Member) {
        let Some(text) = body.get(key.clone()) else {
            return;
        };
        let unescaped;
        let name = if text.contains(&b'\\') {
            unescaped = serde_json::from_slice::<String>(text).unwrap_or_default();
            unescaped.as_bytes()
        } else {
            text.get(1..text.len().saturating_sub(1))
                .unwrap_or_default()
        };
        let slot = match name {
            b"model" => &mut self.model,
            b"models" => &mut self.models,
            b"system" => &mut self.system,
            b"messages" => &mut self.messages,
            b"instructions" => &mut self.instructions,
            _ => return,
        };
        *slot = Some(member);
    }

    /// Returns the model's name.
    pub(crate) fn model(&self, body: &[u8]) -> Option<String> {
        let value = self.model.as_ref()?.value.clone();
        serde_json::from_slice(body.get(value)?).ok()
    }

    /// Returns the models in order, if the body has such a list.
    pub(crate) fn models(&self, body: &[u8]) -> Option<Vec<String>> {
        let value = self.models.as_ref()?.value.clone();
        serde_json::from_slice(body.get(value)?).ok()
    }
}

/// Changes to a body, at different positions.
#[derive(Debug)]
pub(crate) struct Edits<'a> {
    body: &'a [u8],
    scanned: &'a Scanned,
    splices: Vec<(Range<usize>, String)>,
    first: Vec<String>,
    dropped: usize,
}

impl<'a> Edits<'a> {
    pub(crate) fn new(body: &'a [u8], scanned: &'a Scanned) -> Self {
        Self {
            body,
            scanned,
            splices: Vec::new(),
            first: Vec::new(),
            dropped: 0,
        }
    }

    /// Replaces the model.
    pub(crate) fn model(&mut self, name: &str) {
        match &self.scanned.model {
            Some(member) => self.splices.push((member.value.clone(), quoted(name))),
            None => self.first.push(format!("\"model\":{}", quoted(name))),
        }
    }

    /// Removes the list of models, which is for the gateway and unknown to upstreams.
    pub(crate) fn drop_models(&mut self) {
        let Some(member) = &self.scanned.models else {
            return;
        };
        let gone = match (member.comma_before, member.comma_after) {
            (_, Some(after)) => member.whole.start..after + 1,
            (Some(before), None) => before..member.whole.end,
            (None, None) => member.whole.clone(),
        };
        self.dropped = 1;
        self.splices.push((gone, String::new()));
    }

    /// Adds a role's instructions beside the client's; the client's blocks keep their positions.
    pub(crate) fn system_block(&mut self, instructions: &str) {
        let block = format!(r#"{{"type":"text","text":{}}}"#, quoted(instructions));
        let Some(member) = &self.scanned.system else {
            self.first
                .push(format!("\"system\":{}", quoted(instructions)));
            return;
        };
        let value = self.body.get(member.value.clone()).unwrap_or_default();
        match value {
            [b'[', inner @ .., b']'] => {
                let end = member.value.end - 1;
                let comma = if inner.trim_ascii().is_empty() {
                    ""
                } else {
                    ","
                };
                self.splices.push((end..end, format!("{comma}{block}")));
            }
            [b'"', ..] => {
                let own = String::from_utf8_lossy(value);
                let both = format!(r#"[{{"type":"text","text":{own}}},{block}]"#);
                self.splices.push((member.value.clone(), both));
            }
            // `null` means none, and any other value is for the upstream to refuse.
            b"null" => self
                .splices
                .push((member.value.clone(), quoted(instructions))),
            _ => {}
        }
    }

    /// Adds a role's instructions before the client's own, in the responses API.
    pub(crate) fn instructions(&mut self, instructions: &str) {
        let Some(member) = &self.scanned.instructions else {
            let text = format!("\"instructions\":{}", quoted(instructions));
            self.first.push(text);
            return;
        };
        let value = self.body.get(member.value.clone()).unwrap_or_default();
        let own: Option<String> = serde_json::from_slice(value).unwrap_or_default();
        let both = match own.filter(|own| !own.is_empty()) {
            Some(own) => format!("{instructions}\n\n{own}"),
            None => instructions.to_owned(),
        };
        // A value that is neither a string nor `null` is for the upstream to refuse.
        if matches!(value, [b'"', ..] | b"null") {
            self.splices.push((member.value.clone(), quoted(&both)));
        }
    }

    /// Adds a role's instructions before the client's own messages.
    pub(crate) fn system_message(&mut self, instructions: &str) {
        let Some(member) = &self.scanned.messages else {
            return;
        };
        let value = self.body.get(member.value.clone()).unwrap_or_default();
        if let [b'[', inner @ .., b']'] = value {
            let comma = if inner.trim_ascii().is_empty() {
                ""
            } else {
                ","
            };
            let start = member.value.start + 1;
            let message = format!(
                r#"{{"role":"system","content":{}}}{comma}"#,
                quoted(instructions)
            );
            self.splices.push((start..start, message));
        }
    }

    /// Returns the body with all changes.
    pub(crate) fn done(mut self) -> Vec<u8> {
        if !self.first.is_empty() {
            let mut text = self.first.join(",");
            if self.scanned.members > self.dropped {
                text.push(',');
            }
            let start = self.scanned.inside;
            self.splices.push((start..start, text));
        }
        self.splices.sort_by_key(|(place, _)| place.start);
        let mut done = Vec::with_capacity(self.body.len() + 256);
        let mut at = 0;
        for (place, text) in &self.splices {
            done.extend_from_slice(self.body.get(at..place.start).unwrap_or_default());
            done.extend_from_slice(text.as_bytes());
            at = place.end.max(at);
        }
        done.extend_from_slice(self.body.get(at..).unwrap_or_default());
        done
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), NoObject> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(NoObject(self.at))
        }
    }

    /// Skips a string with its quotes.
    fn string(&mut self) -> Result<Range<usize>, NoObject> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let rest = self.body.get(self.at..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else {
                return Err(NoObject(self.body.len()));
            };
            self.at += found + 1;
            if rest.get(found) == Some(&b'"') {
                return Ok(start..self.at);
            }
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Range<usize>, NoObject> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{' | b'[') => self.nested()?,
            _ => {
                while !matches!(
                    self.peek(),
                    None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n')
                ) {
                    self.at += 1;
                }
                if self.at == start {
                    return Err(NoObject(start));
                }
            }
        }
        Ok(start..self.at)
    }

    fn nested(&mut self) -> Result<(), NoObject> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(NoObject(self.at)),
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
