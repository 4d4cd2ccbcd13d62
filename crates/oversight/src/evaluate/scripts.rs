//! Recipes: `make`, `just`, `task`, project scripts of Python tools, and directories of scripts.

use crate::lookup::absolute;
use crate::value::{HOLE, LISTED};

use super::wrapper::option_value;
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

    fn make(&mut self, arguments: &[String]) {
        let given = |options: &[&str]| {
            arguments
                .iter()
                .any(|word| options.contains(&word.as_str()))
        };
        if given(&["--version", "-v", "--help"]) {
            return;
        }
        // Even then `$(shell …)` and lines that begin with `+` run.
        let only_prints = given(&["-n", "--dry-run", "--just-print", "--recon"]);
        let mut state = self.state.child();
        if let Some(directory) = option_value(arguments, &["-C", "--directory"])
            .or_else(|| super::launch::letter_value(arguments, 'C'))
        {
            state.directory = absolute(&state.directory, &directory).into();
        }
        let (targets, variables) = make_words(arguments);
        if let Some(text) = option_value(arguments, &["--eval", "-E"]) {
            self.linked("make --eval", |this| {
                this.makefile(&text, &targets, &variables, only_prints);
            });
        }
        if let Some(flags) = self.state.get("MAKEFLAGS")
            && let Some((_, text)) = flags.first().split_once("--eval=")
        {
            let text = text.replace("${IFS}", " ");
            self.linked("MAKEFLAGS", |this| {
                this.makefile(&text, &targets, &variables, only_prints);
            });
        }
        if let Some(file) = self
            .state
            .get("MAKEFILES")
            .and_then(|value| value.known().map(str::to_owned))
            && let Some(text) = self.known_file(&file)
        {
            self.linked("MAKEFILES", |this| {
                this.makefile(&text, &targets, &variables, only_prints);
            });
        }
        // Rules that are built in run `$(CC)` and its kin.
        for (name, value) in &variables {
            if self.catalog.mentions(value) {
                self.perhaps(|this| this.in_shell(&format!("make {name}"), value));
            }
        }
        self.apart(state, |this| {
            for (_, shell) in variables.iter().filter(|(name, _)| name.ends_with("SHELL")) {
                this.in_shell("make SHELL", shell);
            }
            let named = option_value(arguments, &["-f", "--file", "--makefile"])
                .or_else(|| super::launch::letter_value(arguments, 'f'));
            let candidates = match named {
                Some(file) => vec![file],
                None => ["GNUmakefile", "makefile", "Makefile"]
                    .map(str::to_owned)
                    .to_vec(),
            };
            let there = candidates
                .iter()
                .find(|file| matches!(this.file(file), super::files::File::Text(_)))
                .cloned();
            let candidates = there.map_or(candidates, |file| vec![file]);
            for file in candidates {
                match this.file(&file) {
                    super::files::File::Text(value) => {
                        if value.first().contains([HOLE, LISTED]) {
                            this.opaque("a makefile that nobody can know is run", &file);
                        }
                        let text = value.first().to_owned();
                        this.linked("make", |this| {
                            this.makefile(&text, &targets, &variables, only_prints);
                        });
                        return;
                    }
                    super::files::File::Unreadable(why) if !this.is_only_switched() => {
                        this.opaque(format!("the makefile cannot be read: {why}"), &file);
                    }
                    _ => {}
                }
            }
        });
    }

    /// The text with what it includes.
    fn included_makefiles(&mut self, text: &str, depth: usize) -> String {
        let mut whole = String::new();
        for line in text.lines() {
            let names = ["include ", "-include ", "sinclude "]
                .iter()
                .find_map(|word| line.strip_prefix(word));
            match names {
                Some(names) if depth > 0 => {
                    for name in names.split_whitespace() {
                        let more = self.known_file(name).unwrap_or_default();
                        whole.push_str(&self.included_makefiles(&more, depth.saturating_sub(1)));
                    }
                }
                _ => {
                    whole.push_str(line);
                    whole.push('\n');
                }
            }
        }
        whole
    }

    fn makefile(
        &mut self,
        text: &str,
        targets: &[String],
        variables: &[(String, String)],
        only_prints: bool,
    ) {
        let text = self.included_makefiles(text, 4);
        let file = Makefile::parse(&text.replace("\\\n", " "), variables);
        if let Some((_, shell)) = file.variables.iter().find(|(name, _)| name == "SHELL") {
            let flags = file
                .variables
                .iter()
                .find(|(name, _)| name == ".SHELLFLAGS");
            let known = super::shells::is_shell(&super::run::program_name(shell));
            if !known {
                let flags = flags.map_or("-c", |(_, flags)| flags.as_str());
                let code: Vec<&str> = file
                    .rules
                    .iter()
                    .flat_map(|rule| rule.lines.iter().map(String::as_str))
                    .collect();
                let words = format!("{shell} {flags} {}", super::run::quote(&code.join("\n")));
                self.in_shell("make SHELL", &words);
            }
        }
        let mut waiting: Vec<String> = if targets.is_empty() {
            file.rules
                .iter()
                .find(|rule| !rule.target.starts_with('.'))
                .map(|rule| rule.target.clone())
                .into_iter()
                .collect()
        } else {
            targets.to_vec()
        };
        for text in &file.shell {
            self.in_shell("$(shell)", text);
        }
        let mut done: Vec<String> = Vec::new();
        while let Some(target) = waiting.pop() {
            if done.contains(&target) || done.len() > 200 {
                continue;
            }
            // A target that nobody can know may be any.
            let any = crate::value::has_hole(&target);
            if any {
                let others = file.rules.iter().map(|rule| rule.target.clone());
                let known = others.filter(|other| !crate::value::has_hole(other));
                let others: Vec<String> = known.take(200).collect();
                self.perhaps(|this| this.makefile(&text, &others, variables, only_prints));
            }
            for rule in file.rules.iter().filter(|rule| !any && rule.fits(&target)) {
                waiting.extend(rule.needs.iter().cloned());
                for line in &rule.lines {
                    let marks = line.trim_start();
                    let always = marks.starts_with(['+', '@', '-'])
                        && marks
                            .split(|mark| !matches!(mark, '+' | '@' | '-' | ' '))
                            .next()
                            .is_some_and(|marks| marks.contains('+'));
                    if only_prints
                        && !always
                        && !line.contains("$(MAKE)")
                        && !line.contains("${MAKE}")
                    {
                        continue;
                    }
                    let line = file.expand(line, &target);
                    let line = line.trim_start_matches(['@', '-', '+', ' ']).to_owned();
                    self.in_shell(&format!("make {target}"), &line);
                }
            }
            done.push(target);
        }
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
                inside = line.contains("scripts") && line.contains("tool");
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
                    if index % 2 == 1 {
                        self.in_shell(&format!("{tool} script"), command);
                    }
                }
                return Some(Outcome::unknown());
            }
        }
        None
    }
}

struct Rule {
    target: String,
    needs: Vec<String>,
    lines: Vec<String>,
}

impl Rule {
    fn fits(&self, target: &str) -> bool {
        self.target == target
            || (self.target.contains('%')
                && super::pattern::matches(&self.target.replace('%', "*"), target))
    }
}

struct Makefile {
    rules: Vec<Rule>,
    variables: Vec<(String, String)>,
    /// `X := $(shell …)` runs when the file is read.
    shell: Vec<String>,
}

impl Makefile {
    fn parse(text: &str, given: &[(String, String)]) -> Self {
        let mut file = Self {
            rules: Vec::new(),
            variables: given.to_vec(),
            shell: Vec::new(),
        };
        let mut open: Vec<usize> = Vec::new();
        for line in text.lines() {
            if let Some(recipe) = line.strip_prefix('\t') {
                for index in &open {
                    if let Some(rule) = file.rules.get_mut(*index) {
                        rule.lines.push(recipe.to_owned());
                    }
                }
                continue;
            }
            let line = line.split('#').next().unwrap_or_default();
            if let Some((_, rest)) = line.split_once("$(shell ") {
                file.shell
                    .extend(rest.rsplit_once(')').map(|(command, _)| command.to_owned()));
            }
            if let Some((_, command)) = line.split_once("!=") {
                file.shell.push(command.trim().to_owned());
                continue;
            }
            if let Some((name, value)) = assignment(line) {
                if !file.variables.iter().any(|(known, _)| *known == name) {
                    file.variables.push((name, value));
                }
                continue;
            }
            let Some((targets, rest)) = line.split_once(':') else {
                continue;
            };
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            open.clear();
            let needs = file.expand(needs.trim_start_matches(':'), "");
            for target in file.expand(targets, "").split_whitespace() {
                open.push(file.rules.len());
                file.rules.push(Rule {
                    target: target.to_owned(),
                    needs: needs
                        .split_whitespace()
                        .filter(|need| *need != "|")
                        .map(str::to_owned)
                        .collect(),
                    lines: if recipe.trim().is_empty() {
                        Vec::new()
                    } else {
                        vec![recipe.trim().to_owned()]
                    },
                });
            }
        }
        file
    }

    /// Variables of make; `$(shell x)` becomes a substitution of the shell.
    fn expand(&self, text: &str, target: &str) -> String {
        let mut whole = text
            .replace("$@", target)
            .replace("$(MAKE)", "make")
            .replace("${MAKE}", "make");
        for _ in 0..4 {
            for (name, value) in &self.variables {
                whole = whole
                    .replace(&format!("$({name})"), value)
                    .replace(&format!("${{{name}}}"), value);
            }
            if whole.len() > 16 * 1024 {
                break;
            }
        }
        without_functions(&whole.replace("$(shell ", "$(")).replace("$$", "$")
    }
}

/// Functions of make whose result is not computed become unknown text.
fn without_functions(text: &str) -> String {
    const FUNCTIONS: &[&str] = &[
        "$(subst ",
        "$(patsubst ",
        "$(foreach ",
        "$(call ",
        "$(if ",
        "$(or ",
        "$(and ",
        "$(strip ",
        "$(filter ",
        "$(word ",
        "$(firstword ",
        "$(lastword ",
        "$(addprefix ",
        "$(addsuffix ",
        "$(join ",
        "$(eval ",
        "$(value ",
        "$(file ",
    ];
    let mut whole = text.to_owned();
    for _ in 0..64 {
        let Some(at) = FUNCTIONS
            .iter()
            .filter_map(|function| whole.find(function))
            .min()
        else {
            break;
        };
        let mut depth = 0_usize;
        let end = whole.get(at..).and_then(|rest| {
            rest.char_indices().find_map(|(index, character)| {
                match character {
                    '(' => depth = depth.saturating_add(1),
                    ')' => depth = depth.saturating_sub(1),
                    _ => return None,
                }
                (depth == 0).then_some(at.saturating_add(index).saturating_add(1))
            })
        });
        let end = end.unwrap_or(whole.len());
        whole.replace_range(at..end, &HOLE.to_string());
    }
    whole
}

fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'));
    plain.then(|| (name.to_owned(), value.trim().to_owned()))
}

fn make_words(arguments: &[String]) -> (Vec<String>, Vec<(String, String)>) {
    let mut targets = Vec::new();
    let mut variables = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(
            word.as_str(),
            "-C" | "-f" | "--file" | "--directory" | "-I" | "-o" | "-W" | "--makefile"
        ) {
            words.next();
        } else if let Some((name, value)) = word.split_once('=').filter(|_| !word.starts_with('-'))
        {
            variables.push((name.to_owned(), value.to_owned()));
        } else if !word.starts_with('-') {
            targets.push(word.clone());
        }
    }
    (targets, variables)
}
