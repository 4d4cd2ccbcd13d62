//! Files that an unknown tool probably runs: those that are named like it, and settings that its words name.
//!
//! `nodemon` reads `nodemon.json`, `composer` reads `composer.json`, and `supervisord -c x.conf` what it is told to. Only
//! gated acts are looked for, as possible ones.

use crate::value::has_hole;

use super::Evaluator;
use super::calls::Start;
use super::tools::{BY_WORDS, FILES, Reading};

/// Endings of files that hold settings.
const SETTINGS: &[&str] = &[
    "yml", "yaml", "json", "jsonc", "toml", "conf", "cfg", "ini", "hcl", "kdl", "robot",
];

/// Endings of code that tools take for their settings.
const CODE: &[&str] = &["js", "mjs", "cjs", "ts", "py", "rb"];

/// Parts of the names of tools that only look at files.
const LOOKS: &[&str] = &[
    "lint", "check", "valid", "fmt", "format", "schema", "diff", "view", "scan", "kubectl", "helm",
];

/// Larger files are not looked through.
const MAX_FILE: usize = 64 * 1024;

impl Evaluator<'_> {
    /// Looks through the files of a tool that nobody told us about.
    pub(crate) fn own_files(&mut self, name: &str, arguments: &[String]) {
        let known = FILES.iter().any(|(program, ..)| *program == name) || BY_WORDS.contains(&name);
        let looks = LOOKS.iter().any(|part| name.contains(part));
        if known || looks || name.len() < 3 || has_hole(&self.state.directory) {
            return;
        }
        let directory = self.state.directory.clone();
        let mut files: Vec<String> = self.names_in(&directory);
        files.retain(|file| is_of(file, name));
        let words = arguments.iter().filter(|word| !word.starts_with('-'));
        files.extend(words.filter(|word| is_settings(word)).take(8).cloned());
        for file in files.iter().take(8) {
            let text = self.known_file(file);
            let Some(text) = text.filter(|text| text.len() < MAX_FILE) else {
                continue;
            };
            if self.catalog.mentions_part(&text) {
                let reading = match file.rsplit_once('.').map(|(_, ending)| ending) {
                    Some("js" | "mjs" | "cjs" | "ts") => Reading::Code("node"),
                    Some("py") => Reading::Code("python"),
                    Some("rb") => Reading::Code("ruby"),
                    _ => Reading::Values,
                };
                self.project_file(name, file, reading, arguments, "");
            }
        }
    }
}

impl Evaluator<'_> {
    /// Test files that a runner finds by itself. Tests hold many texts: only starts that are written out count.
    pub(crate) fn found_tests(&mut self, name: &str, endings: &[&str]) {
        let Some(language) = super::language::of(name) else {
            return;
        };
        let here = self.state.directory.clone();
        for place in ["", "test", "tests", "__tests__"] {
            let directory = crate::lookup::absolute(&here, place);
            let mut files = self.names_in(&directory);
            files.retain(|file| {
                let fits = |ending: &&str| match ending.strip_suffix('*') {
                    Some(start) => file.starts_with(start) && file.ends_with(".py"),
                    None => file.ends_with(*ending),
                };
                endings.iter().any(|ending| fits(ending))
            });
            for file in files.iter().take(16) {
                let path = format!("{directory}/{file}");
                let text = self.known_file(&path).unwrap_or_default();
                let first = language.names.first().copied().unwrap_or_default();
                for start in super::calls::starts(first, &text, &[]).unwrap_or_default() {
                    self.linked(file, |this| match start {
                        Start::Words(words) if !words.iter().any(|word| has_hole(word)) => {
                            this.perhaps(|this| this.run(&words));
                        }
                        Start::Shell(text) if !has_hole(&text) => {
                            this.perhaps(|this| this.shell_text(&text));
                        }
                        _ => {}
                    });
                }
            }
        }
    }
}

fn is_settings(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| SETTINGS.contains(&ending)) && !word.contains("://")
}

/// Whether a file is named like a tool: `x.json`, `.xrc`, `Xfile`, `x.config.js`.
fn is_of(file: &str, name: &str) -> bool {
    let file = file.trim_start_matches('.').to_ascii_lowercase();
    let stem = name.trim_end_matches(['d', 'e']);
    let rest = file.strip_prefix(name).or_else(|| file.strip_prefix(stem));
    rest.is_some_and(|rest| {
        let ending = rest.rsplit_once('.').map(|(_, ending)| ending);
        let read =
            ending.is_some_and(|ending| SETTINGS.contains(&ending) || CODE.contains(&ending));
        (rest.starts_with('.') && read)
            || rest == "file"
            || rest.starts_with("file.")
            || rest.starts_with("rc")
    })
}
