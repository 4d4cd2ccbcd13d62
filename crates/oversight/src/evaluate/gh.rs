//! `gh` as a launcher: its aliases and the settings whose value it runs.

use crate::value::Value;

use super::run::with_words;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// `gh repo clone` brings files, and `query=@file` reads one.
    fn gh_files(&mut self, arguments: &[String]) {
        if let [repo, clone, address, ..] = arguments
            && repo == "repo"
            && clone == "clone"
        {
            let place = crate::lookup::base_name(address).to_owned();
            self.filled(&place);
            if let Some(at) = arguments.iter().position(|word| word == "--") {
                // Options of git stand behind the dashes.
                let mut words = vec!["git".to_owned(), "clone".to_owned()];
                words.extend(arguments.iter().skip(at.saturating_add(1)).cloned());
                words.push(address.clone());
                self.linked("gh repo clone", |this| this.run(&words));
            }
        }
        let mut body = false;
        let inlined: Vec<String> = arguments
            .iter()
            .map(|word| match word.split_once("=@") {
                _ if std::mem::replace(&mut body, word == "--input") => self.gh_body(word),
                None if word.starts_with("--input=") => {
                    let path = word.trim_start_matches("--input=");
                    format!("--input={}", self.gh_body(path))
                }
                Some((key, path)) => match self.known_file(path) {
                    Some(text) => format!("{key}={text}"),
                    None => word.clone(),
                },
                None => word.clone(),
            })
            .collect();
        if inlined != arguments {
            self.classify("gh", &inlined);
        }
    }

    /// The body of a request: from a file, or from the input.
    fn gh_body(&mut self, path: &str) -> String {
        let value = if path == "-" {
            self.state.input.clone().unwrap_or_else(Value::empty)
        } else {
            self.content_value(path)
        };
        value.possibilities().join("\n")
    }

    /// `gh` has aliases as well: in its configuration, and made by the same command.
    /// `gh release download` and its kin bring files.
    pub(crate) fn gh_brings(&mut self, arguments: &[String]) {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if matches!(
            words.as_slice(),
            ["release" | "run", "download", ..] | ["repo", "clone", ..]
        ) {
            let place = super::wrapper::option_value(arguments, &["-D", "--dir"]);
            self.filled(place.as_deref().unwrap_or("."));
        }
    }

    pub(crate) fn gh_alias(&mut self, arguments: &[String]) -> Option<Outcome> {
        let first = arguments.first()?;
        if matches!(first.as_str(), "codespace" | "cs")
            && arguments.get(1).is_some_and(|verb| verb == "ssh")
        {
            let rest = arguments.get(2..).unwrap_or_default();
            let words = super::wrapper::skip_options(rest, "cR", &["codespace", "repo"]);
            self.in_shell("gh codespace ssh", &words.join(" "));
        }
        self.gh_files(arguments);
        if let [_, set, key, value, ..] = arguments
            && first == "config"
            && set == "set"
            && matches!(key.as_str(), "editor" | "pager" | "browser")
            && self.starts_in(value)
        {
            self.in_shell(&format!("gh {key}"), value);
        }
        if first == "alias" && arguments.get(1).is_some_and(|verb| verb == "import") {
            let path = arguments.get(2).map_or("-", String::as_str);
            for line in self.content_value(path).first().to_owned().lines() {
                if let Some((name, text)) = line.split_once(':') {
                    let text = text.trim().trim_matches(['"', '\'']).to_owned();
                    self.git_settings
                        .insert(format!("gh.{}", name.trim()), text);
                }
            }
            return Some(Outcome::quiet(None));
        }
        if first == "alias" {
            let words: Vec<&String> = arguments
                .iter()
                .skip(2)
                .filter(|word| !word.starts_with("--") && *word != "-s")
                .collect();
            let shell = arguments
                .iter()
                .any(|word| word == "--shell" || word == "-s");
            if let [name, text, ..] = words.as_slice() {
                let input = self.state.input.as_ref().filter(|_| *text == "-");
                let input = input.map(|input| input.first().trim_end().to_owned());
                let text = input.as_ref().unwrap_or(text);
                let text = if shell && !text.starts_with('!') {
                    format!("!{text}")
                } else {
                    (*text).clone()
                };
                self.git_settings.insert(format!("gh.{name}"), text);
            }
            return Some(Outcome::quiet(None));
        }
        let mut text = self.git_settings.get(&format!("gh.{first}")).cloned();
        if text.is_none() {
            let file = format!("{}/.config/gh/config.yml", self.home);
            text = self.known_file(&file).and_then(|config| {
                let mut lines = config
                    .lines()
                    .skip_while(|line| !line.starts_with("aliases:"))
                    .skip(1)
                    .take_while(|line| line.starts_with(' '));
                lines.find_map(|line| {
                    Some(
                        line.trim()
                            .strip_prefix(first.as_str())?
                            .strip_prefix(':')?
                            .trim()
                            .trim_matches(['"', '\''])
                            .to_owned(),
                    )
                })
            });
        }
        let text = text?;
        if !self.walking.insert(format!("gh {first}")) {
            return None;
        }
        let command = match text.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("gh {text}"),
        };
        let whole = with_words(&command, arguments.get(1..).unwrap_or_default());
        let outcome = self.linked(format!("gh alias {first}"), |this| this.shell_text(&whole));
        self.walking.remove(&format!("gh {first}"));
        Some(outcome)
    }
}
