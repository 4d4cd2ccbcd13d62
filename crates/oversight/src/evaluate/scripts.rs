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

    /// Scripts in `pyproject.toml` that `hatch run x` and its kin know by name.
    pub(crate) fn project_script(&mut self, tool: &str, words: &[String]) -> Option<Outcome> {
        let (name, rest) = words.split_first()?;
        let name = name
            .rsplit_once(':')
            .map_or(name.as_str(), |(_, last)| last);
        let files: &[&str] = if tool == "hatch" {
            &["pyproject.toml", "hatch.toml"]
        } else {
            &["pyproject.toml"]
        };
        let texts = files.iter().filter_map(|file| self.known_file(file));
        let texts: Vec<String> = texts.collect();
        let value = texts.iter().find_map(|text| script_value(text, name))?;
        let key = format!("{tool} script {name}");
        if !self.walking.insert(key.clone()) {
            return Some(Outcome::unknown());
        }
        let hands_on = tool != "hatch";
        let given: Vec<String> = rest.iter().map(|word| super::run::quote(word)).collect();
        for command in strings(&value) {
            // `module:function`.
            if let Some((module, _)) = command.split_once(':')
                && !command.contains(char::is_whitespace)
                && !command.contains('{')
            {
                self.entry_point(module);
                continue;
            }
            let command =
                with_arguments(command.trim_start_matches("- "), &given.join(" "), hands_on);
            self.in_shell(&format!("{tool} script"), &command);
            // `all = ["test", "ship"]`: other scripts.
            let parts: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            self.project_script(tool, &parts);
        }
        self.walking.remove(&key);
        Some(Outcome::unknown())
    }

    /// The file that holds `module:function`.
    fn entry_point(&mut self, module: &str) {
        let Some(language) = super::modules::python() else {
            return;
        };
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
    }
}

/// What a script of this name is set to, on one line or more.
fn script_value(text: &str, name: &str) -> Option<String> {
    let mut inside = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            let kinds = ["tool", "project", "envs"];
            inside = line.contains("scripts") && kinds.iter().any(|kind| line.contains(kind));
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else {
            continue;
        };
        // `ship.cmd = …` is a part of `ship`.
        let key = key.trim();
        let whole = key.trim_matches(['"', '\'']);
        if whole != name && key.split('.').next() != Some(name) {
            continue;
        }
        let mut value = value.to_owned();
        let opens = |text: &str, sign: char| text.matches(sign).count();
        while opens(&value, '[') > opens(&value, ']') || opens(&value, '{') > opens(&value, '}') {
            let Some(more) = lines.next() else { break };
            value.push('\n');
            value.push_str(more);
        }
        return Some(value);
    }
    None
}

/// The texts in quotes of a value.
fn strings(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find(['"', '\'']) {
        let (_, after) = rest.split_at(at);
        let quote = after.chars().next().unwrap_or('"');
        let Some((text, after)) = after.get(1..).and_then(|text| text.split_once(quote)) else {
            break;
        };
        all.push(text.to_owned());
        rest = after;
    }
    all
}

/// `{args:push}`: the words of the call, or those that stand there when none are given.
fn with_arguments(command: &str, given: &str, hands_on: bool) -> String {
    let Some((before, after)) = command.split_once("{args") else {
        if !hands_on {
            return command.to_owned();
        }
        return format!("{command} {given}").trim_end().to_owned();
    };
    let (default, rest) = after.split_once('}').unwrap_or((after, ""));
    let default = default.strip_prefix(':').unwrap_or_default();
    let words = if given.is_empty() { default } else { given };
    format!("{before}{words}{rest}")
}
