//! `roleos fits`: holds a value against a JSON Schema for the hook, which has no code for that.
//!
//! The question comes on standard input; the parts that the schema refuses go to standard output.

use std::io::{self, Read as _, Write as _};

use guard::contracts::beside;
use guard::hook::MAX_EVENT;

use crate::{Exit, Failure};

/// A schema comes on top of the event, and both are quoted.
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
