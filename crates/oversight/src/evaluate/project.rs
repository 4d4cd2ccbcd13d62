//! Files of a project that a tool runs by itself: build files in other languages, task files and tool configuration.
//!
//! Only gated acts are looked for in them, as possible ones: which part of a build file runs is not known.

use crate::lookup::absolute;

use super::{Evaluator, Outcome};

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Code of this interpreter.
    Code(&'static str),
    /// Values of keys that are commands, everywhere in the file.
    Values,
    /// The same, in the part that is named like the task.
    Task,
    /// A script of the shell.
    Script,
}

/// Tool, its subcommand if only that one counts, and the files.
const FILES: &[(&str, &str, &[&str], Reading)] = &[
    (
        "rake",
        "",
        &["Rakefile", "rakefile", "Rakefile.rb"],
        Reading::Code("ruby"),
    ),
    ("invoke", "", &["tasks.py"], Reading::Code("python")),
    ("inv", "", &["tasks.py"], Reading::Code("python")),
    ("fab", "", &["fabfile.py"], Reading::Code("python")),
    ("nox", "", &["noxfile.py"], Reading::Code("python")),
    ("doit", "", &["dodo.py"], Reading::Code("python")),
    ("scons", "", &["SConstruct"], Reading::Code("python")),
    (
        "pytest",
        "",
        &["conftest.py", "tests/conftest.py"],
        Reading::Code("python"),
    ),
    ("py.test", "", &["conftest.py"], Reading::Code("python")),
    ("pip", "install", &["setup.py"], Reading::Code("python")),
    ("pip", "wheel", &["setup.py"], Reading::Code("python")),
    ("uv", "build", &["setup.py"], Reading::Code("python")),
    ("build", "", &["setup.py"], Reading::Code("python")),
    (
        "gulp",
        "",
        &["gulpfile.js", "gulpfile.mjs"],
        Reading::Code("node"),
    ),
    ("grunt", "", &["Gruntfile.js"], Reading::Code("node")),
    (
        "jest",
        "",
        &["jest.config.js", "jest.config.mjs"],
        Reading::Code("node"),
    ),
    (
        "vitest",
        "",
        &[
            "vitest.config.js",
            "vitest.config.ts",
            "vite.config.js",
            "vite.config.ts",
        ],
        Reading::Code("node"),
    ),
    (
        "eslint",
        "",
        &["eslint.config.js", "eslint.config.mjs", ".eslintrc.js"],
        Reading::Code("node"),
    ),
    (
        "vite",
        "",
        &["vite.config.js", "vite.config.ts", "vite.config.mjs"],
        Reading::Code("node"),
    ),
    ("webpack", "", &["webpack.config.js"], Reading::Code("node")),
    (
        "rollup",
        "",
        &["rollup.config.js", "rollup.config.mjs"],
        Reading::Code("node"),
    ),
    (
        "next",
        "",
        &["next.config.js", "next.config.mjs"],
        Reading::Code("node"),
    ),
    ("astro", "", &["astro.config.mjs"], Reading::Code("node")),
    (
        "prettier",
        "",
        &[".prettierrc.js", "prettier.config.js"],
        Reading::Code("node"),
    ),
    ("tox", "", &["tox.ini"], Reading::Values),
    (
        "pre-commit",
        "run",
        &[".pre-commit-config.yaml"],
        Reading::Values,
    ),
    (
        "lint-staged",
        "",
        &["package.json", ".lintstagedrc", ".lintstagedrc.json"],
        Reading::Values,
    ),
    ("lefthook", "run", &["lefthook.yml"], Reading::Values),
    (
        "docker",
        "compose",
        &[
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "docker-compose.yaml",
        ],
        Reading::Values,
    ),
    (
        "docker-compose",
        "up",
        &["compose.yaml", "docker-compose.yml", "docker-compose.yaml"],
        Reading::Values,
    ),
    ("direnv", "allow", &[".envrc"], Reading::Script),
    ("direnv", "exec", &[".envrc"], Reading::Script),
    ("cargo", "build", &["build.rs"], Reading::Code("rust")),
    ("cargo", "check", &["build.rs"], Reading::Code("rust")),
    ("cargo", "test", &["build.rs"], Reading::Code("rust")),
    (
        "cargo",
        "run",
        &["build.rs", "src/main.rs"],
        Reading::Code("rust"),
    ),
    (
        "cargo",
        "x",
        &["src/main.rs", "xtask/src/main.rs"],
        Reading::Code("rust"),
    ),
    (
        "cargo",
        "xtask",
        &["xtask/src/main.rs"],
        Reading::Code("rust"),
    ),
    ("mise", "run", &["mise.toml", ".mise.toml"], Reading::Task),
    ("mise", "r", &["mise.toml", ".mise.toml"], Reading::Task),
    (
        "pixi",
        "run",
        &["pixi.toml", "pyproject.toml"],
        Reading::Task,
    ),
    ("pipenv", "run", &["Pipfile"], Reading::Task),
    ("poe", "", &["pyproject.toml"], Reading::Task),
    (
        "task",
        "",
        &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"],
        Reading::Task,
    ),
    (
        "go-task",
        "",
        &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"],
        Reading::Task,
    ),
];

/// Tools that are given the file as a word or by an option.
const NAMED: &[(&str, &[&str], Reading)] = &[
    ("cmake", &["-P"], Reading::Values),
    ("ctest", &["-S"], Reading::Values),
    ("ninja", &["-f"], Reading::Values),
    ("samu", &["-f"], Reading::Values),
    ("rake", &["-f", "--rakefile"], Reading::Code("ruby")),
    ("invoke", &["-c"], Reading::Code("python")),
    ("nox", &["-f"], Reading::Code("python")),
    ("tox", &["-c"], Reading::Values),
    ("task", &["-t", "--taskfile"], Reading::Values),
    ("tmux", &["-f", "source-file", "source"], Reading::Values),
    ("nmap", &["--script"], Reading::Code("lua")),
    ("logrotate", &["-f", "-vf"], Reading::Values),
    ("ssh", &["-F"], Reading::Values),
    ("scp", &["-F"], Reading::Values),
];

impl Evaluator<'_> {
    /// Looks through the files that a tool of the project runs.
    pub(crate) fn project_tool(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let verb = arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .map_or("", String::as_str)
            .to_owned();
        for (program, wanted, files, reading) in FILES {
            if *program != name || (!wanted.is_empty() && *wanted != verb) {
                continue;
            }
            for file in *files {
                self.project_file(name, file, *reading, arguments, wanted);
            }
        }
        for (_, options, reading) in NAMED.iter().filter(|(program, ..)| *program == name) {
            if let Some(file) = super::wrapper::option_value(arguments, options) {
                self.project_file(name, &file, *reading, arguments, "");
            }
        }
        if name == "rake"
            && let Some(code) = super::wrapper::option_value(arguments, &["-e", "--execute"])
        {
            self.project_code("ruby", &code);
        }
        if matches!(
            name,
            "pytest" | "py.test" | "nodemon" | "uv" | "nvm" | "bun" | "zx" | "go"
        ) {
            self.named_code(name, arguments);
        }
        None
    }

    fn project_file(
        &mut self,
        tool: &str,
        file: &str,
        reading: Reading,
        arguments: &[String],
        verb: &str,
    ) {
        let Some(text) = self.known_file(file) else {
            return;
        };
        self.linked(format!("{tool} {file}"), |this| match reading {
            Reading::Code(language) => this.project_code(language, &text),
            Reading::Values => this.values_of(&text),
            Reading::Script => {
                this.perhaps(|this| this.shell_text(&text));
            }
            Reading::Task => {
                let words = arguments
                    .iter()
                    .filter(|word| !word.starts_with('-') && *word != verb);
                let mut names: Vec<String> = words.cloned().collect();
                if names.is_empty() {
                    names.push("default".to_owned());
                }
                let part = task_part(&text, &names);
                this.values_of(&part);
            }
        });
    }

    fn project_code(&mut self, name: &str, text: &str) {
        if name == "rust" || name == "go" {
            if text.contains("Command") {
                let words = super::glance::words_of(
                    super::literal::literals(text)
                        .iter()
                        .map(|literal| literal.text.as_str()),
                );
                self.names_an_act(name, text, &words);
            }
            return;
        }
        if let Some(language) = super::language::of(name) {
            self.perhaps(|this| this.code(language, name, text));
            let texts = super::literal::literals(text);
            let words = super::glance::words_of(texts.iter().map(|literal| literal.text.as_str()));
            self.names_an_act(name, text, &words);
        }
    }

    /// Files of code that are named as words.
    fn named_code(&mut self, tool: &str, arguments: &[String]) {
        for word in arguments {
            let language = match word.rsplit_once('.').map(|(_, ending)| ending) {
                Some("py") => "python",
                Some("js" | "mjs" | "cjs" | "ts") => "node",
                Some("go") if arguments.first().is_some_and(|verb| verb == "run") => "go",
                _ => continue,
            };
            if let Some(text) = self.known_file(word) {
                self.linked(format!("{tool} {word}"), |this| {
                    this.project_code(language, &text);
                });
            }
        }
        if tool == "go" && arguments.first().is_some_and(|verb| verb == "generate") {
            let directory = self.state.directory.clone();
            for file in self
                .names_in(&directory)
                .into_iter()
                .filter(|name| name.ends_with(".go"))
                .take(64)
            {
                let text = self
                    .known_file(&absolute(&directory, &file))
                    .unwrap_or_default();
                for command in text
                    .lines()
                    .filter_map(|line| line.strip_prefix("//go:generate "))
                {
                    self.in_shell("go generate", command);
                }
            }
        }
    }

    /// Commands that stand as values in a configuration: behind `:`, `=`, `- `, in quotes or brackets.
    fn values_of(&mut self, text: &str) {
        for line in text.lines().take(4000) {
            if !self.catalog.mentions_part(line) {
                continue;
            }
            let line = line.trim();
            let mut places: Vec<&str> = vec![line];
            places.extend(
                line.match_indices([':', '=', '-', '[', '"', '\'', '(', '|'])
                    .filter_map(|(at, _)| line.get(at.saturating_add(1)..)),
            );
            places.extend(
                line.match_indices("COMMAND ")
                    .filter_map(|(at, found)| line.get(at.saturating_add(found.len())..)),
            );
            places.extend(line.split_once(' ').map(|(_, rest)| rest));
            for place in places.into_iter().take(24) {
                let command = place
                    .trim()
                    .trim_matches(['"', '\'', '[', ']', ')', '}', ',', ' '])
                    .replace("\", \"", " ")
                    .replace("', '", " ");
                if self
                    .catalog
                    .programs()
                    .any(|program| command.starts_with(program))
                    || command.starts_with("sh ")
                {
                    self.perhaps(|this| this.shell_text(&command));
                }
            }
        }
    }
}

/// The parts of a task file that belong to these tasks and to those that they name.
fn task_part(text: &str, names: &[String]) -> String {
    let mut part = String::new();
    let mut wanted: Vec<String> = names.to_vec();
    let mut index = 0;
    while let Some(name) = wanted.get(index).cloned() {
        index += 1;
        if index > 32 {
            break;
        }
        let block = block_of(text, &name);
        for word in block
            .split(|character: char| !(character.is_alphanumeric() || "-_:.".contains(character)))
        {
            let word = word.trim_matches(':');
            if !word.is_empty()
                && !wanted.iter().any(|old| old == word)
                && !block_of(text, word).is_empty()
                && wanted.len() < 64
            {
                wanted.push(word.to_owned());
            }
        }
        part.push_str(&block);
    }
    for (name, value) in template_values(text) {
        part = part.replace(&format!("{{{{.{name}}}}}"), &value);
    }
    part
}

fn template_values(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(key, value)| {
            (
                key.trim().to_owned(),
                value.trim().trim_matches(['"', '\'']).to_owned(),
            )
        })
        .filter(|(key, value)| !key.is_empty() && !value.is_empty() && key.len() < 64)
        .take(200)
        .collect()
}

/// The lines of one task: a key with what is indented below it, a header of TOML with what follows, or one assignment.
fn block_of(text: &str, name: &str) -> String {
    let mut block = String::new();
    let mut inside: Option<usize> = None;
    let mut header = false;
    for line in text.lines() {
        let indent = line.len().saturating_sub(line.trim_start().len());
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let head = trimmed.trim_matches(['[', ']']);
            header = head
                .rsplit_once('.')
                .map_or(head, |(_, last)| last)
                .trim_matches('"')
                == name;
            inside = None;
            continue;
        }
        let key = trimmed
            .split_once([':', '='])
            .map(|(key, _)| key.trim().trim_matches(['"', '\'']));
        if let Some(depth) = inside {
            if indent > depth || trimmed.is_empty() || (indent == depth && trimmed.starts_with('-'))
            {
                block.push_str(line);
                block.push('\n');
                continue;
            }
            inside = None;
        }
        if header {
            block.push_str(line);
            block.push('\n');
        } else if key == Some(name) && indent <= 2 {
            inside = Some(indent);
            block.push_str(
                trimmed
                    .split_once([':', '='])
                    .map_or("", |(_, value)| value.trim()),
            );
            block.push('\n');
        }
    }
    block
}
