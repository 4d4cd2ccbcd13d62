//! Reads the tokens of an answer on its way to the client, whole or streamed: its beginning and its end are kept and
//! searched at the end. The bytes are not changed.

use memchr::memmem;
use serde_json::Value;
use specialist::contract::MAX_TOKENS;

/// Length of the beginning, where a stream of messages reports its input tokens.
const HEAD: usize = 4 * 1024;

/// Length of the end, where everything else is reported.
const TAIL: usize = 16 * 1024;

const KEY: &[u8] = b"\"usage\"";

/// The beginning and the end of a body.
#[derive(Debug, Default)]
pub(super) struct Watch {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Watch {
    /// Adds the next bytes.
    pub(super) fn feed(&mut self, data: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len()).min(data.len());
        self.head
            .extend_from_slice(data.get(..room).unwrap_or_default());
        let end = data
            .get(data.len().saturating_sub(TAIL)..)
            .unwrap_or_default();
        // Twice the length, so that not every small piece moves the rest.
        if self.tail.len() + end.len() > 2 * TAIL {
            let surplus = self
                .tail
                .len()
                .saturating_sub(TAIL.saturating_sub(end.len()));
            self.tail.drain(..surplus);
        }
        self.tail.extend_from_slice(end);
    }

    /// Returns the input and output tokens, if reported.
    pub(super) fn found(&self) -> (Option<u64>, Option<u64>) {
        let last = memmem::rfind_iter(&self.tail, KEY).find_map(|at| object(&self.tail, at));
        let first = memmem::find_iter(&self.head, KEY).find_map(|at| object(&self.head, at));
        let all = [last, first];
        let number = |names: [&str; 2]| {
            let told = all.iter().flatten();
            let mut found = told.flat_map(|usage| names.map(|name| usage.get(name)?.as_u64()));
            found.find_map(|number| number.filter(|told| *told <= MAX_TOKENS))
        };
        (
            number(["prompt_tokens", "input_tokens"]),
            number(["completion_tokens", "output_tokens"]),
        )
    }
}

/// Returns the object after a key, if it is complete.
fn object(bytes: &[u8], at: usize) -> Option<Value> {
    let rest = bytes.get(at + KEY.len()..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
    values.next()?.ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_every_clients_format() {
        let chat = r#"{"choices":[{"message":{"content":"say \"usage\": {\"prompt_tokens\": 1}"}}], "usage" : {"prompt_tokens":9,"completion_tokens":5}}"#;
        let chunks = "data: {\"choices\":[],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";
        let messages = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":5}}\n\n";
        let response = r#"{"output":[],"usage":{"input_tokens":9,"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0}}}"#;
        for text in [chat, chunks, messages, response] {
            let long = text.replace(
                "data: {\"choices\":[],\"usage\":null}\n\n",
                &"data: {\"choices\":[],\"usage\":null}\n\n".repeat(2000),
            );
            for (size, text) in [(1, text), (7, text), (1 << 20, text), (333, &long)] {
                let mut watch = Watch::default();
                text.as_bytes()
                    .chunks(size)
                    .for_each(|part| watch.feed(part));
                assert_eq!(watch.found(), (Some(9), Some(5)), "{size} {text:.200}");
                assert!(watch.tail.len() <= 2 * TAIL && watch.head.len() <= HEAD);
            }
        }
        for text in [
            "",
            "{}",
            "{\"usage\"",
            "{\"usage\":",
            "{\"usage\":{",
            "\"usage\":null",
            "\u{0}",
        ] {
            let mut watch = Watch::default();
            watch.feed(text.as_bytes());
            assert_eq!(watch.found(), (None, None), "{text}");
        }
    }
}
