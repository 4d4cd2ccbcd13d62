//! The values of a repository's configuration that our git needs, read as data.
//!
//! `git config` prints configuration and starts nothing. A value is copied only if git documents it, so no other text
//! of the repository can reach the private configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::program;
use super::{GitError, trimmed};
use crate::{environment, process};

/// Keys that are read, in git's output spelling.
const KEYS: &str = "^(core\\.(repositoryformatversion|autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|excludesfile|hookspath)|extensions\\.(objectformat|refstorage)|user\\.name)$";

/// The data in a repository's configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    values: BTreeMap<String, String>,
    /// The user's own file of ignore patterns.
    pub(super) excludes_file: Option<PathBuf>,
}

impl Settings {
    /// Reads the configuration in force in `directory`.
    ///
    /// # Errors
    /// git cannot read it.
    pub(super) fn read(directory: &Path) -> Result<Self, GitError> {
        let arguments = [
            "--no-pager",
            "config",
            "-z",
            "--includes",
            "--get-regexp",
            KEYS,
        ];
        let mut settings = Self {
            values: Self::values(program::command(directory).args(arguments))?,
            excludes_file: None,
        };
        settings.excludes_file = settings
            .path("core.excludesfile", directory)
            .or_else(environment::git_ignore_file);
        Ok(settings)
    }

    /// Reads only the configuration of the repository at `git_dir`, which need not have any.
    ///
    /// # Errors
    /// git cannot read it.
    pub(super) fn of_repository(git_dir: &Path) -> Result<Self, GitError> {
        let file = git_dir.join("config");
        if !file.is_file() {
            return Ok(Self::default());
        }
        let mut command = program::command(git_dir);
        command.args(["--no-pager", "config", "-z", "--no-includes", "--file"]);
        command.arg(file).args(["--get-regexp", KEYS]);
        Ok(Self {
            values: Self::values(&mut command)?,
            excludes_file: None,
        })
    }

    fn values(command: &mut std::process::Command) -> Result<BTreeMap<String, String>, GitError> {
        let fail = |message: &str| GitError::new("config --get-regexp", message);
        let ran = process::output(command, &[], usize::MAX);
        let ran = ran.map_err(|error| fail(&error.to_string()))?;
        // 1 is the answer when no key matches.
        if !ran.status.success() && ran.status.code() != Some(1) {
            return Err(fail(&trimmed(&ran.stderr.bytes)));
        }
        let mut values = BTreeMap::new();
        for entry in ran.stdout.bytes.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            // A key without a value means `true`.
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            if !key.is_empty() {
                values.insert(key.to_owned(), value.to_owned());
            }
        }
        Ok(values)
    }

    /// Returns a value.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Returns a path, with `~/` resolved and relative to `directory`.
    pub(super) fn path(&self, key: &str, directory: &Path) -> Option<PathBuf> {
        let value = self.get(key).filter(|value| !value.is_empty())?;
        match value.strip_prefix("~/") {
            Some(below) => Some(environment::home()?.join(below)),
            None => Some(directory.join(value)),
        }
    }

    /// Returns the lines about the storage of objects and refs, and about name comparison in the file system.
    pub(super) fn format_lines(&self) -> String {
        let mut lines = String::from("[core]\n");
        let version = self.one_of("core.repositoryformatversion", &["0", "1"]);
        lines.push_str(&format!(
            "\trepositoryformatversion = {}\n",
            version.unwrap_or("0")
        ));
        for key in ["ignorecase", "precomposeunicode"] {
            if let Some(value) = self.boolean(key) {
                lines.push_str(&format!("\t{key} = {value}\n"));
            }
        }
        lines.push_str("[extensions]\n");
        for (key, values) in [
            ("objectformat", &["sha1", "sha256"]),
            ("refstorage", &["files", "reftable"]),
        ] {
            if let Some(value) = self.one_of(&format!("extensions.{key}"), values) {
                lines.push_str(&format!("\t{key} = {value}\n"));
            }
        }
        lines
    }

    /// Returns the lines that determine git's built-in conversions of a file.
    pub(super) fn content_lines(&self) -> String {
        let mut lines = String::from("[core]\n");
        for key in ["filemode", "symlinks"] {
            if let Some(value) = self.boolean(key) {
                lines.push_str(&format!("\t{key} = {value}\n"));
            }
        }
        let autocrlf = match self.get("core.autocrlf") {
            Some("input") => Some("input"),
            _ => self.boolean("autocrlf"),
        };
        let eol = self.one_of("core.eol", &["lf", "crlf", "native"]);
        for (key, value) in [("autocrlf", autocrlf), ("eol", eol)] {
            if let Some(value) = value {
                lines.push_str(&format!("\t{key} = {value}\n"));
            }
        }
        lines
    }

    fn boolean(&self, key: &str) -> Option<&'static str> {
        let value = self.get(&format!("core.{key}"))?.to_ascii_lowercase();
        match value.as_str() {
            "true" | "yes" | "on" | "1" => Some("true"),
            "false" | "no" | "off" | "0" | "" => Some("false"),
            _ => None,
        }
    }

    fn one_of<'a>(&self, key: &str, values: &[&'a str]) -> Option<&'a str> {
        let value = self.get(key)?.to_ascii_lowercase();
        values.iter().copied().find(|known| *known == value)
    }
}
