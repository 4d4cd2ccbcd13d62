//! `gh` as a launcher: its aliases, settings and files that its arguments name.

use super::world::File;
use super::{Evaluator, Outcome};
use actions::aliases::{self, Called, Machine, Meant};
use shell::escape::with_words;
use shell::value::has_hole;
use shell::words::names;

/// Commands of `gh` itself; others are aliases or extensions.
const OF_GH: &[&str] = names!(
    "accessibility agent-task alias api attestation auth browse cache co codespace completion config copilot cs \
    extension ext extensions gist gpg-key help issue label licenses org pr preview project release repo rs ruleset run \
    search secret skill ssh-key status variable version workflow --version --help -h"
);

impl Evaluator<'_> {
    /// Evaluates `gh`: aliases in its configuration, and files that its arguments name.
    pub(crate) fn gh(&mut self, arguments: &[String]) -> Outcome {
        let Some((verb, rest)) = arguments.split_first() else {
            return Outcome::unknown();
        };
        match (verb.as_str(), rest) {
            ("alias", [set, ..]) if set == "set" || set == "import" => self.gh_alias(rest),
            ("config", [set, key, value, ..])
                if set == "set"
                    && matches!(key.as_str(), "editor" | "pager" | "browser")
                    && (self.acts_in(value) || value.contains('/')) =>
            {
                self.opaque("gh runs what this setting holds", value);
            }
            ("codespace" | "cs", [ssh, words @ ..]) if ssh == "ssh" => {
                let words = super::wrapper::skip_options(words, "cR", &["codespace", "repo"]);
                let text = words.join(" ");
                self.outside(|this| this.in_shell("gh codespace ssh", &text));
            }
            ("api", _) => self.gh_request(arguments),
            ("repo", [clone, address, words @ ..])
                if clone == "clone" && words.iter().any(|word| word == "--") =>
            {
                let words = words
                    .iter()
                    .skip_while(|word| *word != "--")
                    .skip(1)
                    .cloned();
                let words = ["git", "clone"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain(words)
                    .chain([address.clone()]);
                let words: Vec<String> = words.collect();
                self.linked("gh repo clone", |this| this.run(&words));
            }
            ("repo" | "release" | "run", [verb, ..])
                if matches!(verb.as_str(), "clone" | "download" | "fork") =>
            {
                self.changed(".", "the command itself brings it");
            }
            (verb, _) if !OF_GH.contains(&verb) && !has_hole(verb) => self.gh_other(verb, rest),
            _ => {}
        }
        Outcome::unknown()
    }

    /// Reads the body of a request, which can come from a file or from the input.
    fn gh_request(&mut self, arguments: &[String]) {
        let mut is_body = false;
        let inlined: Vec<String> = arguments
            .iter()
            .map(|word| match word.split_once("=@") {
                _ if std::mem::replace(&mut is_body, word == "--input") => self.content(word),
                Some((key, path)) => format!("{key}={}", self.content(path)),
                None => match word.strip_prefix("--input=") {
                    Some(path) => format!("--input={}", self.content(path)),
                    None => word.clone(),
                },
            })
            .collect();
        if inlined != arguments {
            self.classify("gh", &inlined);
        }
    }

    /// Records an alias that the command makes, because a later command can call it.
    fn gh_alias(&mut self, rest: &[String]) {
        let words: Vec<&String> = rest
            .iter()
            .skip(1)
            .filter(|word| !word.starts_with('-') || *word == "-")
            .collect();
        let is_shell = rest.iter().any(|word| word == "--shell" || word == "-s");
        let [name, text, ..] = words.as_slice() else {
            if rest.first().is_some_and(|verb| verb == "import") {
                self.opaque("gh takes aliases from a file", &rest.join(" "));
            }
            return;
        };
        let text = match text.as_str() {
            "-" => self
                .state
                .input()
                .cloned()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
            text if is_shell && !text.starts_with('!') => format!("!{text}"),
            text => text.to_owned(),
        };
        self.world.settings.insert(0, (format!("gh.{name}"), text));
    }

    /// Evaluates an alias that this command made, or of the settings, or an extension.
    fn gh_other(&mut self, verb: &str, rest: &[String]) {
        let key = format!("gh.{verb}");
        let made = self.world.settings.iter().find(|(name, _)| *name == key);
        let Some(text) = made.map(|(_, text)| text.clone()) else {
            let arguments = [&[verb.to_owned()], rest].concat();
            if !self.program_alias("gh", &arguments) {
                self.opaque("gh runs an extension that is not read", verb);
            }
            return;
        };
        if !self.world.walking.insert(key.clone()) {
            return;
        }
        let command = match text.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("gh {text}"),
        };
        let whole = with_words(&command, rest);
        self.linked(format!("gh alias {verb}"), |this| this.evaluated(&whole));
        self.world.walking.remove(&key);
    }

    /// Follows an alias in a program's settings; `false` if the arguments call none.
    pub(crate) fn program_alias(&mut self, program: &str, arguments: &[String]) -> bool {
        let machine = Machine {
            directory: &self.state.directory,
            home: &self.state.get("HOME").unwrap_or_else(|| self.home.clone()),
            variable: &|name| self.state.get(name).filter(|text| !has_hole(text)),
            read: &|path| match self.file(path) {
                File::Text(text) => Some(text),
                _ => None,
            },
        };
        let Some(Called { name, meant }) = aliases::called(program, arguments, machine) else {
            return false;
        };
        let key = format!("{program} {name}");
        if !self.world.walking.insert(key.clone()) {
            return true;
        }
        self.linked(format!("{program} alias {name}"), |this| match meant {
            Meant::Arguments(arguments) => {
                this.run(&[&[program.to_owned()], arguments.as_slice()].concat())
            }
            Meant::Shell(text, rest) => this.evaluated(&with_words(&text, &rest)),
        });
        self.world.walking.remove(&key);
        true
    }
}
