//! Runs git for tests like a user: with the repository's own configuration.

use std::path::Path;
use std::process::{Command, Output};

use super::LOCAL_VARIABLES;

/// Runs git in `directory` and returns its output.
pub fn output(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    for variable in LOCAL_VARIABLES {
        command.env_remove(variable);
    }
    let output = command.current_dir(directory).args(arguments).output();
    #[expect(clippy::unwrap_used, reason = "a test without git fails")]
    output.unwrap()
}

/// Runs git in `directory`, asserts success and returns the output, without the last line end.
#[track_caller]
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = output(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim_end_matches('\n').to_owned()
}
