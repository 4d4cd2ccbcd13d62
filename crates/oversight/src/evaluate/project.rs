//! Files of a project that a tool runs by itself: build files in other languages, task files and tool configuration.
//!
//! Only gated acts are looked for in them, as possible ones: which part of a build file runs is not known.

use super::tools::{BY_WORDS, FILES, KEYS, NAMED, Reading};
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// Looks through the files that a tool of the project runs.
    pub(crate) fn project_tool(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let verb = arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .map_or("", String::as_str)
            .to_owned();
        for (program, wanted, files, reading) in FILES {
            let idle: &[&str] = match name {
                "cmake" => &["-E"],
                "act" => &["-n", "--dryrun", "-l", "--list", "-g", "--graph"],
                _ => &[],
            };
            let not_built = arguments.iter().any(|word| idle.contains(&word.as_str()));
            if *program != name || (!wanted.is_empty() && *wanted != verb) || not_built {
                continue;
            }
            for file in *files {
                let named = if super::pattern::is_active(file) {
                    self.matching_files(file)
                } else {
                    vec![(*file).to_owned()]
                };
                for file in named.iter().take(32) {
                    self.project_file(name, file, *reading, arguments, wanted);
                }
            }
        }
        for (_, options, reading) in NAMED.iter().filter(|(program, ..)| *program == name) {
            if let Some(file) = super::wrapper::option_value(arguments, options) {
                self.project_file(name, &file, *reading, arguments, "");
            }
        }
        if name == "cargo" {
            for setting in super::options::values(arguments, "--config") {
                self.values_of(&setting);
            }
        }
        if matches!(name, "jest" | "vitest" | "mocha" | "ava" | "tap") {
            self.found_tests("node", super::modules::SCRIPT_TESTS);
        }
        if name == "cargo" {
            self.cargo_alias(&verb, arguments);
        }
        if matches!(name, "pytest" | "py.test") {
            self.found_tests("python", super::modules::PYTHON_TESTS);
        }
        if name == "mise" {
            self.task_scripts(arguments);
        }
        self.compiles(name, arguments);
        // Tools whose words are the files.
        if BY_WORDS.contains(&name) {
            let reading = if name == "logrotate" {
                Reading::Values
            } else {
                Reading::Keys
            };
            for file in arguments.iter().filter(|word| !word.starts_with('-')) {
                self.project_file(name, file, reading, arguments, "");
            }
        }
        if name == "aws" && verb == "ssm" {
            for text in super::options::values(arguments, "--parameters") {
                self.values_of(&text);
            }
        }
        if name == "rake"
            && let Some(code) = super::wrapper::option_value(arguments, &["-e", "--execute"])
        {
            self.project_code("ruby", &code);
        }
        if matches!(
            name,
            "pytest"
                | "py.test"
                | "nodemon"
                | "nvm"
                | "bun"
                | "zx"
                | "go"
                | "coverage"
                | "kernprof"
                | "scalene"
                | "viztracer"
                | "memray"
                | "mprof"
                | "pyinstrument"
                | "debugpy"
                | "ipython"
                | "locust"
                | "streamlit"
        ) {
            self.named_code(name, arguments);
        }
        None
    }

    pub(super) fn project_file(
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
        let variable = self.state.get("TOXENV").filter(|_| tool == "tox");
        let variable = variable.map(|value| value.first().to_owned());
        let text = super::chosen::chosen(tool, text, arguments, variable.as_deref());
        let link = format!("{tool} {file}");
        // A file that is read as a whole names no more when it names itself.
        if !matches!(reading, Reading::Task) && self.chain.contains(&link) {
            return;
        }
        self.linked(link, |this| match reading {
            Reading::Code(language) => this.project_code(language, &text),
            Reading::Values => this.values_of(&text),
            Reading::Keys => {
                let lines = text.lines().filter(|line| {
                    KEYS.iter()
                        .any(|key| super::glance::contains_word(line, key))
                });
                let kept: Vec<&str> = lines.collect();
                let kept = kept.join("\n");
                this.values_of(&kept);
                let texts = super::literal::literals(&kept);
                let words =
                    super::glance::words_of(texts.iter().map(|literal| literal.text.as_str()));
                this.names_an_act(tool, &kept, &words);
                for command in xml_commands(&text) {
                    this.perhaps(|this| this.shell_text(&command));
                }
            }
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
                let bare = names.iter().filter_map(|name| name.rsplit_once(':'));
                let bare: Vec<String> = bare.map(|(_, name)| name.to_owned()).collect();
                names.extend(bare);
                let whole = this.with_included_tasks(&text);
                let part = super::task_part::task_part(&whole, &names);
                this.values_of(&part);
                let given = arguments
                    .iter()
                    .skip_while(|word| word.starts_with('-') || *word == verb);
                let given: Vec<String> =
                    given.skip(1).map(|word| super::run::quote(word)).collect();
                if !given.is_empty() {
                    this.values_of(&super::task_part::with_words(&part, &given.join(" ")));
                }
            }
        });
    }

    /// A task file with those that it includes by their path.
    fn with_included_tasks(&mut self, text: &str) -> String {
        let mut whole = text.to_owned();
        let values = text.lines().filter_map(|line| line.split_once(':'));
        let values = values.map(|(_, value)| value.trim().trim_matches(['"', '\'']));
        for path in values
            .filter(|path| path.starts_with('.') || path.contains('/'))
            .take(16)
        {
            let files = [path.to_owned(), format!("{path}/Taskfile.yml")];
            let more = files.iter().find_map(|file| self.known_file(file));
            whole.push('\n');
            whole.push_str(&more.unwrap_or_default());
        }
        whole
    }

    /// `cargo x` where the project says what `x` stands for.
    fn cargo_alias(&mut self, verb: &str, arguments: &[String]) {
        let files = [".cargo/config.toml", ".cargo/config"];
        let text = files.iter().find_map(|file| self.known_file(file));
        let text = text.unwrap_or_default();
        let aliases = text.lines().skip_while(|line| line.trim() != "[alias]");
        let aliases = aliases.skip(1).take_while(|line| !line.starts_with('['));
        for (name, value) in aliases.filter_map(|line| line.split_once('=')) {
            if name.trim() == verb && self.walking.insert(format!("cargo {verb}")) {
                let value = value.replace(['"', '[', ']', ','], " ");
                let own = value.split_whitespace().map(str::to_owned);
                let rest = arguments.iter().filter(|word| *word != verb).cloned();
                let words: Vec<String> = std::iter::once("cargo".to_owned())
                    .chain(own)
                    .chain(rest)
                    .collect();
                self.linked(format!("cargo {verb}"), |this| this.run(&words));
                self.walking.remove(&format!("cargo {verb}"));
            }
        }
    }

    /// `mise run x`: tasks that are files of their own.
    fn task_scripts(&mut self, arguments: &[String]) {
        const PLACES: &[&str] = &[
            "mise-tasks",
            ".mise-tasks",
            "mise/tasks",
            ".mise/tasks",
            ".config/mise/tasks",
        ];
        for word in arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .take(8)
        {
            for place in PLACES {
                let path = format!("{place}/{}", word.replace(':', "/"));
                if self.known_file(&path).is_some() {
                    self.script_file(&path, &[], "run");
                }
            }
        }
    }

    fn project_code(&mut self, name: &str, text: &str) {
        if name == "rust" || name == "go" {
            if text.contains("Command") {
                self.perhaps(|this| this.started(name, text, text));
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
            self.project_file(tool, word, Reading::Code(language), arguments, "");
        }
        if tool == "go" && arguments.first().is_some_and(|verb| verb == "run") {
            // `go run ./cmd/x`: the files of a directory.
            for word in arguments
                .iter()
                .skip(1)
                .filter(|word| !word.starts_with('-'))
            {
                for file in self.matching_files(&format!("{}/*.go", word.trim_end_matches('/'))) {
                    let text = self.known_file(&file).unwrap_or_default();
                    self.linked(format!("go run {word}"), |this| {
                        this.project_code("go", &text);
                    });
                }
            }
        }
        if tool == "go" && arguments.first().is_some_and(|verb| verb == "generate") {
            let files = ["*.go", "*/*.go", "*/*/*.go"].map(|wanted| self.matching_files(wanted));
            for file in files.concat().iter().take(64) {
                let text = self.known_file(file).unwrap_or_default();
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
    pub(super) fn values_of(&mut self, text: &str) {
        for line in text.lines().take(4000) {
            let line = line.trim();
            if line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            if !self.catalog.mentions_part(line) && !self.starts_in(line) {
                continue;
            }
            let mut places: Vec<&str> = vec![line];
            places.extend(
                line.match_indices([':', '=', '-', '[', '"', '\'', '(', '|', '`'])
                    .filter_map(|(at, _)| line.get(at.saturating_add(1)..)),
            );
            // What stands in one pair of quotes, whatever follows it.
            let quoted = line.split('"').skip(1).step_by(2);
            places.extend(quoted.clone());
            places.extend(quoted.filter_map(|text| text.strip_prefix("cmd ")));
            places.extend(
                line.match_indices("COMMAND ")
                    .filter_map(|(at, found)| line.get(at.saturating_add(found.len())..)),
            );
            places.extend(line.split_once(' ').map(|(_, rest)| rest));
            for place in places.into_iter().take(32) {
                let command = place
                    .trim()
                    .trim_matches(['"', '\'', '[', ']', ')', '}', ',', ' ', '`', '^'])
                    .replace("\", \"", " ")
                    .replace("\",\"", " ")
                    .replace("','", " ")
                    .replace("', '", " ")
                    .replace("&quot;", "\"");
                let first = command.split_whitespace().next().unwrap_or_default();
                if self.starts(first) {
                    self.perhaps(|this| this.shell_text(&command));
                }
            }
        }
    }
}

/// Commands in the XML of `ant` and `mvn`: a program in one place, its words in others.
fn xml_commands(text: &str) -> Vec<String> {
    const WORDS: &[&str] = &["executable=", "value=", "line=", "command="];
    const PARTS: &[&str] = &["<executable>", "<argument>", "<arg>"];
    let mut commands = Vec::new();
    for block in text.split("<executable>").skip(1).take(64) {
        let block = block
            .split_once("</configuration>")
            .map_or(block, |(inside, _)| inside);
        let mut words = vec![super::run::quote(tag_text(block))];
        for name in ["<argument>", "<arg>"] {
            let parts = block.split(name).skip(1);
            words.extend(parts.map(|part| super::run::quote(tag_text(part))));
        }
        words.extend(
            block
                .split("<commandlineArgs>")
                .skip(1)
                .map(|part| tag_text(part).to_owned()),
        );
        commands.push(words.join(" "));
    }
    for block in text.split("<exec").skip(1).take(64) {
        let block = block
            .split_once("</exec")
            .map_or(block, |(inside, _)| inside);
        let mut words: Vec<String> = Vec::new();
        for (at, _) in block.match_indices(['=', '>']) {
            let (before, after) = block.split_at(at.saturating_add(1));
            let quote = after.chars().next().filter(|one| matches!(one, '"' | '\''));
            if let Some(quote) = quote
                && let Some(name) = WORDS.iter().find(|name| before.ends_with(*name))
            {
                let value = after.split(quote).nth(1).unwrap_or_default();
                words.push(if matches!(*name, "value=" | "executable=") {
                    super::run::quote(value)
                } else {
                    value.to_owned()
                });
            } else if PARTS.iter().any(|name| before.ends_with(name)) {
                words.push(super::run::quote(
                    after.split('<').next().unwrap_or_default(),
                ));
            }
        }
        commands.push(words.join(" "));
    }
    commands
}

/// What stands before the next tag.
fn tag_text(part: &str) -> &str {
    part.split('<').next().unwrap_or_default().trim()
}
