//! Starts the `git` program with an environment in which only our settings count.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment;

/// Variables for every call, so that git asks no questions and fetches nothing.
const FIXED: [(&str, &str); 5] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// Returns git in `directory`, without the variables that configure the caller's git.
pub(super) fn command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    for name in environment::git_variables() {
        command.env_remove(name);
    }
    if let Some(path) = environment::absolute_search_path() {
        command.env("PATH", path);
    }
    command
        .envs(FIXED)
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}
