//! One task of a suite, from its `task.toml` and `tests.json`. Parses text into checked values, without file access.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Version of the format.
pub const SCHEMA: u32 = 1;
/// Longest command, path or pattern.
const MAX_TEXT: usize = 4096;
/// Longest id.
const MAX_ID: usize = 120;
/// Longest list of paths, files or keys.
const MAX_LIST: usize = 10_000;
/// Most tests that a task names.
const MAX_TESTS: usize = 200_000;

/// Error of a task file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadTask(String);

impl BadTask {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Version of the format.
    pub schema: u32,
    /// Name in the suite.
    pub id: String,
    /// The repository, for people.
    pub repo: String,
    /// Folder of the repository, relative to the suite or absolute.
    pub source: String,
    /// Base commit of the work.
    pub base_commit: String,
    /// Its tree, which is materialised and checked.
    pub base_tree: String,
    /// Commit that solves the task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix_commit: String,
    /// Time of the fix, RFC 3339.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// Language of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// Patterns of the paths that belong to the tests and are restored before grading.
    #[serde(default)]
    pub test_paths: Vec<String>,
    /// Patterns of further paths whose changes by an agent are not graded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<String>,
    /// Guarded paths that the reference itself changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_guarded: Vec<String>,
    /// Source of the issue text.
    #[serde(default)]
    pub issue: Issue,
    /// Dependencies of the tests.
    #[serde(default)]
    pub environment: Environment,
    /// Execution of the tests.
    pub test: Test,
    /// Limits of the agent and the tests.
    #[serde(default)]
    pub limits: Limits,
    /// Network access.
    #[serde(default)]
    pub network: Network,
    /// Fields of other formats, kept for a round trip.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub x: toml::Table,
}

/// Source of an issue text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Issue {
    /// `commit`, `issue`, `tests` or `hand`.
    pub source: IssueSource,
    /// Words that were masked because only the fix contains them.
    pub masked: u32,
    /// Names that the tests use and the base does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<String>,
}

impl Default for Issue {
    fn default() -> Self {
        Self {
            source: IssueSource::Hand,
            masked: 0,
            interface: Vec::new(),
        }
    }
}

/// Source of an issue text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueSource {
    /// The message of the fix.
    Commit,
    /// An issue tracker.
    Issue,
    /// The failing tests.
    Tests,
    /// A person.
    Hand,
}

impl IssueSource {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Issue => "issue",
            Self::Tests => "tests",
            Self::Hand => "hand",
        }
    }
}

/// The dependencies of the tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    /// Command that creates the environment in `/w/env`, once per key, with a network.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub setup: String,
    /// Files whose content names the environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
    /// Required programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Container image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
}

/// Execution of the tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Command for `sh -c`, with `{files}`, `{report}` and `{repo}`.
    pub command: String,
    /// Test files that it runs.
    #[serde(default)]
    pub files: Vec<String>,
    /// Format of the report.
    pub format: Format,
    /// Use of a test that must fail.
    #[serde(default)]
    pub canary: Canary,
}

/// Format of a test report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// Test Anything Protocol.
    Tap,
    /// Output of `cargo test`.
    Cargo,
    /// Output of `go test -json`.
    GotestJson,
    /// mocha's JSON reporter.
    MochaJson,
    /// jest's `--json`.
    JestJson,
    /// Common Test Report Format.
    Ctrf,
    /// Only the exit code.
    Exit,
    /// A number in `/logs/verifier/reward.txt`.
    Reward,
}

/// Use of a test that must fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Canary {
    /// Added if the runner is known.
    #[default]
    Auto,
    /// Never added; the grading states that.
    Off,
}

/// Limits of the agent and the tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Wall-clock time of the agent.
    pub agent_seconds: u64,
    /// Wall-clock time of a test run.
    pub test_seconds: u64,
    /// Memory of all processes together.
    pub memory_mb: u64,
    /// Processes at a time.
    pub processes: u64,
    /// Size of the agent's tree.
    pub disk_mb: u64,
    /// Cost of the agent.
    pub cost_microdollars: u64,
    /// Tool calls of the agent.
    pub tool_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            agent_seconds: 1800,
            test_seconds: 300,
            memory_mb: 4096,
            processes: 512,
            disk_mb: 1024,
            cost_microdollars: 1_000_000,
            tool_calls: 500,
        }
    }
}

/// Network access of the boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// `none` or `model` for the agent; `open` is recorded and never accepted.
    pub agent: String,
    /// `none` for the tests.
    pub test: String,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            agent: "model".to_owned(),
            test: "none".to_owned(),
        }
    }
}

/// Tests by their class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields, default)]
pub struct Tests {
    /// Tests that must fail without the fix and pass with it.
    pub fail_to_pass: BTreeSet<String>,
    /// Tests that must pass with and without it.
    pub pass_to_pass: BTreeSet<String>,
    /// Tests that fail with the fix too, and are not graded.
    pub known_failing: BTreeSet<String>,
    /// Tests with varying results.
    pub unstable: BTreeSet<String>,
}

impl Task {
    /// Parses a `task.toml`.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value exceeds its limits.
    pub fn parse(text: &str) -> Result<Self, BadTask> {
        let task: Self =
            toml::from_str(text).map_err(|error| BadTask::new(error.message().to_owned()))?;
        task.check()?;
        Ok(task)
    }

    /// Writes a `task.toml`.
    ///
    /// # Errors
    /// A value cannot be represented in TOML.
    pub fn to_text(&self) -> Result<String, BadTask> {
        toml::to_string(self).map_err(|error| BadTask::new(error.to_string()))
    }

    fn check(&self) -> Result<(), BadTask> {
        if self.schema != SCHEMA {
            return Err(BadTask::new(format!(
                "`schema` is {}, this version reads {SCHEMA}",
                self.schema
            )));
        }
        check_id(&self.id)?;
        for (name, value) in [
            ("base_commit", &self.base_commit),
            ("base_tree", &self.base_tree),
        ] {
            is_hash(value)
                .then_some(())
                .ok_or_else(|| BadTask::new(format!("`{name}` is not 40 or 64 hex digits")))?;
        }
        if !self.fix_commit.is_empty() && !is_hash(&self.fix_commit) {
            return Err(BadTask::new("`fix_commit` is not 40 or 64 hex digits"));
        }
        if !self.created_at.is_empty() && self.created_at.parse::<jiff::Timestamp>().is_err() {
            return Err(BadTask::new(
                "`created_at` is not a time such as 2026-07-10T12:00:00Z",
            ));
        }
        self.check_texts()?;
        self.check_numbers()?;
        if !matches!(self.network.agent.as_str(), "none" | "model" | "open") {
            return Err(BadTask::new("`network.agent` is not none, model or open"));
        }
        if self.network.test != "none" {
            return Err(BadTask::new("`network.test` is not none"));
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<(), BadTask> {
        let one = [
            ("repo", &self.repo),
            ("source", &self.source),
            ("language", &self.language),
            ("environment.setup", &self.environment.setup),
            ("environment.image", &self.environment.image),
            ("test.command", &self.test.command),
        ];
        for (name, text) in one {
            check_text(name, text)?;
        }
        if self.source.is_empty() || self.test.command.trim().is_empty() {
            return Err(BadTask::new(
                "`source` and `test.command` must not be empty",
            ));
        }
        let lists = [
            ("test_paths", &self.test_paths, true),
            ("guarded", &self.guarded, true),
            ("allow_guarded", &self.allow_guarded, true),
            ("issue.interface", &self.issue.interface, false),
            ("environment.key", &self.environment.key, true),
            ("environment.needs", &self.environment.needs, false),
            ("test.files", &self.test.files, true),
        ];
        for (name, list, are_paths) in lists {
            if list.len() > MAX_LIST {
                return Err(BadTask::new(format!(
                    "`{name}` has more than {MAX_LIST} items"
                )));
            }
            for text in list {
                check_text(name, text)?;
                if are_paths && !is_inside(text) {
                    return Err(BadTask::new(format!(
                        "`{text}` in `{name}` leads out of the tree"
                    )));
                }
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), BadTask> {
        let limits = &self.limits;
        for (name, value, most) in [
            ("agent_seconds", limits.agent_seconds, 86_400),
            ("test_seconds", limits.test_seconds, 86_400),
            ("memory_mb", limits.memory_mb, 1 << 20),
            ("processes", limits.processes, 1 << 16),
            ("disk_mb", limits.disk_mb, 1 << 20),
            ("tool_calls", limits.tool_calls, 65_535),
            (
                "cost_microdollars",
                limits.cost_microdollars,
                u64::from(u32::MAX),
            ),
        ] {
            if value == 0 || value > most {
                return Err(BadTask::new(format!(
                    "`limits.{name}` is {value}, not 1 to {most}"
                )));
            }
        }
        Ok(())
    }
}

impl Tests {
    /// Parses a `tests.json`.
    ///
    /// # Errors
    /// It is malformed or too large.
    pub fn parse(text: &str) -> Result<Self, BadTask> {
        let tests: Self = serde_json::from_str(text)
            .map_err(|error| BadTask::new(format!("tests.json: {error}")))?;
        let count = tests.fail_to_pass.len() + tests.pass_to_pass.len();
        if tests.fail_to_pass.is_empty() || count > MAX_TESTS {
            return Err(BadTask::new(format!(
                "tests.json names {} tests that must change and {count} in all",
                tests.fail_to_pass.len()
            )));
        }
        Ok(tests)
    }

    /// Writes a `tests.json`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Checks the name of a task, which is also a folder name.
pub(crate) fn check_id(id: &str) -> Result<(), BadTask> {
    let is_good = id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.len() <= MAX_ID
        && !id.contains("..")
        && id
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-'));
    is_good.then_some(()).ok_or_else(|| {
        BadTask::new(format!(
            "`{id}` is not an id: letters, digits, `.`, `_`, `-`"
        ))
    })
}

/// Returns `true` if a path or pattern stays below its base folder, and outside of `.git`.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains('\0')
        && path
            .split('/')
            .all(|part| part != ".." && !part.eq_ignore_ascii_case(".git"))
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.chars().all(|one| matches!(one, '0'..='9' | 'a'..='f'))
}

fn check_text(name: &str, text: &str) -> Result<(), BadTask> {
    let is_good = text.len() <= MAX_TEXT && !text.chars().any(|one| one == '\0');
    is_good.then_some(()).ok_or_else(|| {
        BadTask::new(format!(
            "`{name}` is longer than {MAX_TEXT} bytes or has a NUL"
        ))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A valid task file.
    pub(crate) const GOOD: &str = r#"
schema = 1
id = "a__b-1"
repo = "github:a/b"
source = "../b"
base_commit = "0123456789012345678901234567890123456789"
base_tree = "0123456789012345678901234567890123456789"
test_paths = ["tests/**"]
[test]
command = "pytest {files} --junitxml {report}"
files = ["tests/test_a.py"]
format = "junit"
"#;

    #[test]
    fn a_task_survives_its_text() {
        let task = Task::parse(GOOD).unwrap();
        assert_eq!(Task::parse(&task.to_text().unwrap()).unwrap(), task);
        assert_eq!(task.limits.test_seconds, 300);
    }

    #[test]
    fn hostile_tasks_are_refused() {
        for (from, to, why) in [
            ("a__b-1", "../x", "not an id"),
            ("a__b-1", "a/b", "not an id"),
            ("a__b-1", "", "not an id"),
            ("schema = 1", "schema = 2", "this version reads"),
            ("schema = 1", "schema = 1\nextra = 1", "unknown field"),
            ("tests/**", "../**", "leads out"),
            ("tests/**", "/etc/**", "leads out"),
            ("tests/**", ".git/hooks/x", "leads out"),
            ("tests/test_a.py", "a/../../b", "leads out"),
            (
                "0123456789012345678901234567890123456789\"\nbase_tree",
                "--upload\"\nbase_tree",
                "hex",
            ),
            ("\"junit\"", "\"shell\"", "unknown variant"),
            (
                "[test]",
                "[network]\nagent = \"all\"\n[test]",
                "network.agent",
            ),
            (
                "[test]",
                "[limits]\nprocesses = 0\n[test]",
                "limits.processes",
            ),
            ("\"../b\"", "\"\"", "must not be empty"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let error = Task::parse(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{to}: {error}");
        }
        for text in [
            "[]",
            "{}",
            r#"{"FAIL_TO_PASS":["a"],"X":[]}"#,
            "{\"FAIL_TO_PASS\":1}",
        ] {
            assert!(Tests::parse(text).is_err(), "{text}");
        }
        assert!(Tests::parse(r#"{"FAIL_TO_PASS":["a"]}"#).is_ok());
    }
}
