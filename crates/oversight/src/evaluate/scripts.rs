//! Recipes: `just`, `task`, project scripts of Python tools, and directories of scripts.

use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// Follows the recipes that a build tool runs.
    pub(crate) fn build_tool(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        match name {
            "make" | "gmake" | "bmake" => self.make(arguments),
            "just" => self.recipes(arguments, &["justfile", "Justfile", ".justfile"]),
            "task" | "go-task" => self.task_file(arguments),
            "run-parts" => {
                let directory = arguments
                    .iter()
                    .rfind(|word| !word.starts_with('-'))?
                    .clone();
                for file in self.matching_files(&format!("{directory}/*")) {
                    self.script_file(&file, &[], "run");
                }
            }
            _ => return None,
        }
        Some(Outcome::unknown())
    }

    /// `Taskfile.yml`: only the plain shape, a task with `cmds`.
    fn task_file(&mut self, arguments: &[String]) {
        let Some(text) = ["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"]
            .iter()
            .find_map(|file| self.known_file(file))
        else {
            return;
        };
        let wanted: Vec<&String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .collect();
        let mut current = String::new();
        for line in text.lines() {
            let indent = line.len().saturating_sub(line.trim_start().len());
            if indent == 2 && line.trim_end().ends_with(':') {
                current = line.trim().trim_end_matches(':').to_owned();
            } else if let Some(command) = line.trim().strip_prefix("- ")
                && wanted.iter().any(|name| **name == current)
            {
                let command = command
                    .strip_prefix("cmd: ")
                    .unwrap_or(command)
                    .trim_matches(['"', '\''])
                    .to_owned();
                self.in_shell(&format!("task {current}"), &command);
            }
        }
    }

    /// Scripts in `pyproject.toml` that `hatch run x` and its kin know by name.
    pub(crate) fn project_script(&mut self, tool: &str, words: &[String]) -> Option<Outcome> {
        let name = words.first()?;
        let text = self.known_file("pyproject.toml")?;
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with('[') {
                inside =
                    line.contains("scripts") && (line.contains("tool") || line.contains("project"));
                continue;
            }
            if let Some((key, value)) = line.split_once('=')
                && inside
                && key.trim().trim_matches('"')
                    == name
                        .rsplit_once(':')
                        .map_or(name.as_str(), |(_, last)| last)
            {
                for (index, command) in value.split('"').enumerate() {
                    // `module:function`.
                    if let Some((module, _)) = command.split_once(':').filter(|_| index % 2 == 1)
                        && !command.contains(char::is_whitespace)
                        && !command.contains('{')
                        && let Some(language) = super::modules::python()
                    {
                        let path = module.replace('.', "/");
                        for file in [
                            format!("{path}.py"),
                            format!("{path}/__init__.py"),
                            format!("src/{path}.py"),
                            format!("src/{path}/__init__.py"),
                        ] {
                            if self.known_file(&file).is_some() {
                                self.code_file(language, "python", &file);
                            }
                        }
                    } else if index % 2 == 1 {
                        // `{args:push}`: words that stand there when none are given.
                        let command = command.replace("{args:", "").replace("{args}", "");
                        let command = command.trim_end_matches('}');
                        self.in_shell(&format!("{tool} script"), command);
                        // `composite = ["a", "b"]`: other scripts.
                        if value.contains("composite") && command != *name {
                            self.project_script(tool, &[command.to_owned()]);
                        }
                    }
                }
                return Some(Outcome::unknown());
            }
        }
        None
    }
}
