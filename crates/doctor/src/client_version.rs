//! Version of the agent's program, of which an old one would not follow the hook's entry.

use std::path::Path;
use std::time::Duration;

use base::process::{self, Ended, Limits};
use guard::agents::Agent;

use crate::report::Check;

/// First version of Claude Code that blocks a call when the hook fails.
const CLAUDE: [u32; 3] = [2, 1, 295];

/// Claude Code needs address space for its runtime, and a moment on a busy machine.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(10),
    memory: 4 << 30,
    output: 4096,
};

/// Returns `None` if the program is not on the path, prints no version, or is new enough.
pub(crate) fn check(agent: Agent, folder: &Path) -> Option<Check> {
    if agent != Agent::Claude {
        return None;
    }
    let ran = process::run("claude --version", folder, LIMITS).ok()?;
    if ran.ended != Ended::Exit(0) {
        return None;
    }
    judge(&String::from_utf8_lossy(&ran.output))
}

fn judge(output: &str) -> Option<Check> {
    let word = output.split_whitespace().next()?;
    let mut parts = word.split('.').map(str::parse::<u32>);
    let version = [
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    ];
    let [major, minor, patch] = version;
    (version < CLAUDE).then(|| {
        Check::wrong(
            "version",
            format!(
                "`claude` is {major}.{minor}.{patch}: it lets a call run when the hook fails or is slow"
            ),
            "update Claude Code to 2.1.295 or newer: `npm install --global @anthropic-ai/claude-code@latest`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_old_version_is_wrong() {
        for (output, is_wrong) in [
            ("2.1.197 (Claude Code)\n", true),
            ("1.9.999 (Claude Code)\n", true),
            ("2.1.295 (Claude Code)\n", false),
            ("2.2.0 (Claude Code)\n", false),
            ("10.0.0\n", false),
            ("2.1\n", false),
            ("command not found\n", false),
            ("", false),
        ] {
            assert_eq!(judge(output).is_some(), is_wrong, "{output:?}");
        }
    }
}
