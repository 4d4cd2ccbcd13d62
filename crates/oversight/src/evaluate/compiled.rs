//! Programs that the command itself builds: their code is looked through when they are run.

use crate::lookup::{absolute, base_name};

use super::Evaluator;
use super::wrapper::option_value;

/// Compilers, and the endings of what they read.
const COMPILERS: &[(&[&str], &[&str])] = &[
    (
        &["gcc", "cc", "g++", "c++", "clang", "clang++", "tcc"],
        &[".c", ".cc", ".cpp", ".cxx"],
    ),
    (&["rustc"], &[".rs"]),
    (&["go"], &[".go"]),
];

impl Evaluator<'_> {
    /// Remembers what a compiler makes of which code; code that is run at once is looked through.
    pub(crate) fn compiles(&mut self, name: &str, arguments: &[String]) {
        let Some((_, endings)) = COMPILERS.iter().find(|(names, _)| names.contains(&name)) else {
            return;
        };
        let verb = arguments.first().map_or("", String::as_str);
        if name == "go" && !matches!(verb, "run" | "build") {
            return;
        }
        let mut sources: Vec<String> = arguments
            .iter()
            .filter(|word| {
                endings.iter().any(|ending| word.ends_with(ending))
                    || word.starts_with("/dev/")
                    || *word == "-"
            })
            .cloned()
            .collect();
        if name == "go" && sources.is_empty() {
            let directory = self.state.directory.clone();
            sources = self.names_in(&directory);
            sources.retain(|file| file.ends_with(".go"));
        }
        let mut code = String::new();
        for source in sources.iter().take(32) {
            code.push_str(&self.known_file(source).unwrap_or_default());
            code.push('\n');
        }
        if verb == "run" || verb == "-run" {
            self.native_code(name, &code);
            return;
        }
        let stem = |path: &String| {
            base_name(path)
                .split('.')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let output = option_value(arguments, &["-o"]).unwrap_or_else(|| match name {
            "rustc" => sources.first().map(stem).unwrap_or_default(),
            "go" => base_name(&self.state.directory).to_owned(),
            _ => "a.out".to_owned(),
        });
        if !code.trim().is_empty() && self.compiled.len() < 32 {
            self.compiled
                .insert(absolute(&self.state.directory, &output), code);
        }
    }

    /// Looks through the code of a program that is run.
    pub(crate) fn native_code(&mut self, name: &str, code: &str) {
        const STARTS: &[&str] = &["system", "exec", "popen", "spawn", "Command"];
        if !STARTS.iter().any(|word| code.contains(word)) {
            return;
        }
        self.linked(name, |this| {
            this.perhaps(|this| this.started("native", code, code));
            let texts = super::literal::literals(code);
            let words = super::glance::words_of(texts.iter().map(|literal| literal.text.as_str()));
            this.names_an_act("native", code, &words);
        });
    }
}
