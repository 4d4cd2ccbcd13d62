//! The project on disk: its root, its target directory, its tracked files. Independent of chores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::shell::{self, Failure, Result};

/// Paths of the project. Cargo supplies them, so `CARGO_TARGET_DIR` and settings of Cargo apply.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
    target: PathBuf,
}

#[derive(Deserialize)]
struct Located {
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

impl Project {
    /// Finds the project around the working directory.
    pub(crate) fn find() -> Result<Self> {
        let text = shell::output(Command::new("cargo").args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--locked",
        ]))?;
        let located: Located = serde_json::from_str(&text)
            .map_err(|error| Failure::of("cannot read the output of `cargo metadata`", error))?;
        Ok(Self {
            root: located.workspace_root,
            target: located.target_directory,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns a command of `program`, started in the root.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.command_at(Path::new(program))
    }

    /// Returns a command of the program at this path, started in the root.
    pub(crate) fn command_at(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Returns a command of `cargo` with `arguments`, started in the root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments);
        command
    }

    /// Returns the existing files that git tracks, relative to the root, with `/` as the separator.
    pub(crate) fn tracked(&self) -> Result<Vec<String>> {
        let listed = shell::output(self.command("git").args(["ls-files", "-z"]))?;
        let files = listed.split_terminator('\0').map(str::to_owned);
        Ok(files
            .filter(|file| self.root.join(file).is_file())
            .collect())
    }

    /// Returns the text of one file, by its path from the root.
    pub(crate) fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.root.join(file))
            .map_err(|error| Failure::of(format!("cannot read `{file}`"), error))
    }
}
