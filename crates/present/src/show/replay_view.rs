//! Content of a replay, for text or a page.

use std::collections::BTreeMap;
use std::path::Path;

use evidence::journal::SessionId;
use evidence::journal::read::Session;
use evidence::journal::record::Record;
use oversight::tools::shell_command;
use serde_json::Value;
use witness::bundle::{Contents, Reason};
use witness::evidence::{Signers, Verdict};
use witness::extension::field;
use witness::replay::OutcomeCheck;

/// One judged bundle, with the check of its outcome.
#[derive(Clone, Copy, Debug)]
pub struct ReplayView<'a> {
    /// Name of the file, as the user gave it.
    pub file: &'a str,
    /// Verdict on the bundle.
    pub verdict: &'a Verdict,
    /// Keys whose signatures fit.
    pub signers: Signers,
    /// Warnings of the reader.
    pub warnings: &'a [Reason],
    /// SHA-256 of the bundle.
    pub sha256: [u8; 32],
    /// Statements of the bundle.
    pub contents: &'a Contents<'a>,
    /// Comparison of the outcome with the test log.
    pub check: &'a OutcomeCheck,
    /// Redacted commands of its calls, as by [`commands`].
    pub commands: &'a Commands,
}

/// Commands by the digest of the arguments, as hexadecimal text.
pub type Commands = BTreeMap<String, String>;

/// Hexadecimal digits of a digest that a bundle keeps.
pub const DIGITS: usize = 16;

/// Reads the commands of a bundle's calls from the journal of its session. A bundle contains only the digests of the
/// arguments, and the same digest in the journal identifies the call; a missing journal gives none.
#[must_use]
pub fn commands(sessions: &Path, contents: &Contents<'_>) -> Commands {
    let session = contents.extensions().provenance.get(field::SESSION);
    let path = session.map(|session| SessionId::new(session).path_in(sessions));
    let journal = path.and_then(|path| Session::read(&path).ok());
    let lines = journal.into_iter().flat_map(|journal| journal.lines);
    let calls = lines.filter_map(|line| match line.record {
        Record::Call(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| {
            let digest = call.input_sha256.chars().take(DIGITS).collect();
            (digest, shown_call(&call.tool, &call.input))
        })
        .collect()
}

/// Most informative arguments of a call, in this order.
const TELLING: &[&str] = &[
    "file_path",
    "path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "prompt",
    "description",
];

/// Returns the command of a shell call, the most informative argument of another one, else all arguments.
#[must_use]
pub fn shown_call(tool: &str, input: &Value) -> String {
    if let Some(command) = shell_command(tool, input) {
        return command;
    }
    let mut telling = TELLING.iter().filter_map(|name| input.get(name)?.as_str());
    telling
        .next()
        .map_or_else(|| input.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_by_what_tells_most() {
        let cases = [
            ("Bash", json!({ "command": "cargo test" }), "cargo test"),
            (
                "Edit",
                json!({ "file_path": "src/lib.rs", "old_string": "a" }),
                "src/lib.rs",
            ),
            ("Odd", json!({ "n": 1 }), r#"{"n":1}"#),
        ];
        for (tool, input, wanted) in cases {
            assert_eq!(shown_call(tool, &input), wanted);
        }
    }
}
