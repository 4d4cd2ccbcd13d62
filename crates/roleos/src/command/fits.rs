//! `roleos fits`: checks a value against a JSON Schema for the hook, which has no code for that.
//!
//! The question is on standard input; the parts that the schema refuses are printed on standard output.

use std::io::{self, Read as _, Write as _};

use guard::contracts::beside;
use guard::hook::MAX_EVENT;

use crate::{Exit, Failure};

/// Longest question: a schema in addition to the event, both quoted.
const MAX_QUESTION: u64 = 4 * MAX_EVENT;

/// Answers one question.
pub fn run() -> Result<Exit, Failure> {
    let mut question = Vec::new();
    io::stdin().take(MAX_QUESTION).read_to_end(&mut question)?;
    let answer = beside::answer(&question)
        .ok_or_else(|| Failure::input("bad_question", "it is no schema and value".to_owned()))?;
    io::stdout().write_all(answer.to_string().as_bytes())?;
    Ok(Exit::Done)
}
