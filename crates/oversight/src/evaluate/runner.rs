//! Package runners and secret managers: `npx x`, `poetry run x`, `mise exec -- x`, `op run -- x`.

use super::launch::letter_value;
use super::wrapper::{option_value, skip_options};
use super::{Evaluator, Outcome};
use crate::guard::agents;

impl Evaluator<'_> {
    /// Without a script, `npm start` runs this file.
    pub(super) fn server_file(&mut self) {
        if let Some(language) = super::language::of("node")
            && self.known_file("server.js").is_some()
        {
            self.code_file(language, "node", "server.js");
        }
    }

    /// `deno run npm:gh-pages -d dist`.
    pub(super) fn package_of_deno(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let at = arguments.iter().position(|word| !word.starts_with('-'))?;
        let (first, rest) = arguments.get(at..)?.split_first()?;
        let package = first.strip_prefix("npm:").filter(|_| name == "deno")?;
        let mut words = vec![package.trim_start_matches('/').to_owned()];
        words.extend(rest.iter().cloned());
        words.insert(0, "npx".to_owned());
        Some(self.linked("deno", |this| this.run(&words)))
    }

    /// `npx x`, `poetry run x`, `mise exec -- x`: package runners and secret managers.
    pub(crate) fn runner(&mut self, name: &str, arguments: &[String]) -> Option<Outcome> {
        let valued = &[
            "package",
            "from",
            "with",
            "python",
            "workspace",
            "prefix",
            "filter",
            "dir",
            "directory",
            "env-file",
            "project",
            "name",
            "env",
            "cwd",
            "config",
            "call",
            "spec",
            "pip-args",
            "index",
            "log-level",
            "extra",
            "group",
        ];
        if matches!(name, "npx" | "npm" | "pnpx")
            && let Some(text) =
                letter_value(arguments, 'c').or_else(|| option_value(arguments, &["--call"]))
        {
            let executes = name != "npm"
                || arguments
                    .iter()
                    .any(|word| matches!(word.as_str(), "exec" | "x"));
            if executes {
                return Some(self.in_shell(name, &text));
            }
        }
        let inner = match name {
            "npx" | "bunx" | "uvx" | "pnpx" => skip_options(arguments, "pcwn", valued),
            _ => {
                // `pnpm -c exec 'text'`: a switch of pnpm.
                let letters = if name == "pnpm" { "CF" } else { "CcFwnpe" };
                let rest = skip_options(arguments, letters, valued);
                let (verb, after) = rest.split_first()?;
                let starts = match name {
                    "npm" => matches!(verb.as_str(), "exec" | "x" | "explore"),
                    "pnpm" | "yarn" => matches!(verb.as_str(), "exec" | "dlx"),
                    "bun" => matches!(verb.as_str(), "x" | "exec"),
                    "uv" | "uvx" => matches!(verb.as_str(), "run" | "tool" | "x"),
                    "bundle" | "mise" | "rtx" | "asdf" | "aws-vault" | "chamber" | "rbenv"
                    | "pyenv" | "lerna" => {
                        matches!(verb.as_str(), "exec" | "x")
                    }
                    "nix" => matches!(verb.as_str(), "shell" | "develop" | "run"),
                    "hatch" if verb == "env" => after.first().is_some_and(|word| word == "run"),
                    "nix-shell" => true,
                    "sops" => matches!(verb.as_str(), "exec-env" | "exec-file"),
                    _ => matches!(verb.as_str(), "run" | "exec" | "x"),
                };
                if verb == "shell" && self.state.input.is_some() {
                    return Some(self.session_input(name));
                }
                if !starts {
                    return None;
                }
                let after = if verb == "tool" || verb == "env" {
                    after.get(1..).unwrap_or_default()
                } else {
                    after
                };
                skip_runner_options(name, after, valued)
            }
        };
        let named = option_value(arguments, &["-c", "--command", "--run"]);
        if let Some(text) = named.filter(|_| name.starts_with("nix")) {
            // `nix develop -c program words` hands the rest on; `nix-shell --run text` is one word.
            let mut words = arguments.iter().skip_while(|word| **word != text).cloned();
            let first = words.next().unwrap_or_default();
            let whole = std::iter::once(first).chain(words.map(|word| super::run::quote(&word)));
            return Some(self.in_shell(name, &whole.collect::<Vec<_>>().join(" ")));
        }
        if inner.is_empty() {
            return None;
        }
        if matches!(
            name,
            "hatch" | "pdm" | "rye" | "turbo" | "nx" | "poetry" | "pipenv" | "uv"
        ) && let Some(outcome) = self.project_script(name, inner)
        {
            return Some(outcome);
        }
        let mut words = self.own_words(name, inner);
        words.splice(0..0, self.program_before(name, arguments));
        if let Some(first) = words.first_mut() {
            *first = without_version(first);
        }
        if let Some(text) = as_text(&words) {
            return Some(self.in_shell(name, &text));
        }
        let mut state = self.state.child();
        std::rc::Rc::make_mut(&mut state.functions).clear();
        Some(self.apart(state, |this| this.linked(name, |this| this.run(&words))))
    }

    /// Scripts that a runner of many packages starts; `hatch run environment:program`.
    fn own_words(&mut self, name: &str, inner: &[String]) -> Vec<String> {
        let mut words = inner.to_vec();
        match (name, words.first_mut()) {
            ("turbo" | "lerna" | "nx", _) => {
                for script in inner.iter().filter(|word| !word.starts_with('-')) {
                    self.script_of(script, &[], None);
                    self.script_of(script, &[], Some("*"));
                }
            }
            ("hatch", Some(first)) => {
                if let Some((_, program)) = first.split_once(':') {
                    *first = program.to_owned();
                }
            }
            ("uv" | "pdm" | "rye", Some(first)) if first == "-" || first.ends_with(".py") => {
                words.insert(0, "python".to_owned());
            }
            ("npx" | "pnpx" | "bunx" | "npm" | "pnpm" | "yarn" | "bun", Some(program)) => {
                // A script of the project under the name of a package.
                let program = program.clone();
                self.package_program(&program, inner.get(1..).unwrap_or_default());
            }
            _ => {}
        }
        words
    }

    /// A program that a package brings, where it is a script that names an action or loads what does.
    pub(super) fn package_program(&mut self, program: &str, arguments: &[String]) {
        let path = format!("node_modules/.bin/{program}");
        if let Some(text) = self.known_file(&path)
            && text.starts_with("#!")
            && (self.catalog.mentions_part(&text) || super::installed::loads_rest(&text))
        {
            self.perhaps(|this| this.script_file(&path, arguments, "run"));
        }
    }

    /// The program that stands before the dashes: `nix run nixpkgs#git -- push`, `npm exec gh-pages -- -d dist`.
    fn program_before(&self, name: &str, arguments: &[String]) -> Option<String> {
        if name == "nix" {
            let program = arguments.iter().find_map(|word| word.split_once('#'));
            return program
                .filter(|_| arguments.iter().any(|word| word == "run"))
                .map(|(_, program)| program.to_owned());
        }
        let at = arguments.iter().position(|word| word == "--")?;
        let (program, before) = arguments.get(..at)?.split_last()?;
        // `npx -p npm@10 -- npm publish`: a package, and no program.
        let named = before
            .last()
            .is_some_and(|option| option == "-p" || option == "--package");
        let program = without_version(program);
        let starts = matches!(name, "npm" | "npx" | "pnpm" | "yarn") && !named;
        let is_known = self.catalog.is_program(&program) || agents::is_agent(&program);
        (starts && is_known).then_some(program)
    }
}

/// Runners that take words of their own before the command, as `aws-vault exec ci --` does.
fn skip_runner_options<'w>(name: &str, words: &'w [String], valued: &[&str]) -> &'w [String] {
    if let Some(at) = words.iter().position(|word| word == "--") {
        return words.get(at.saturating_add(1)..).unwrap_or_default();
    }
    let rest = skip_options(words, "pcwnCe", valued);
    match name {
        "aws-vault" | "chamber" | "direnv" => rest.get(1..).unwrap_or_default(),
        "mise" | "rtx" | "asdf" => {
            let own = rest.iter().take_while(|word| word.contains('@')).count();
            rest.get(own..).unwrap_or_default()
        }
        _ => rest,
    }
}

/// `lerna exec 'text' --parallel`: one word with a whole command in it.
fn as_text(words: &[String]) -> Option<String> {
    let (text, rest) = words.split_first().filter(|(text, _)| text.contains(' '))?;
    let rest = rest.iter().map(|word| super::run::quote(word));
    let whole: Vec<String> = std::iter::once(text.clone()).chain(rest).collect();
    Some(whole.join(" "))
}

/// `corepack pnpm@9 publish`: the words without the version of the program.
pub(super) fn unversioned(name: &str, words: &[String]) -> Option<Vec<String>> {
    let (first, rest) = words.split_first().filter(|_| name == "corepack")?;
    let program = std::iter::once(without_version(first));
    Some(program.chain(rest.iter().cloned()).collect())
}

/// `gh-pages@6` and `@scope/tool@1` without the version.
fn without_version(word: &str) -> String {
    let scoped = word.starts_with('@');
    let bare = word.trim_start_matches('@');
    // `twine==6`, `twine[keyring]>=5` of Python.
    let end = bare.find(['@', '=', '<', '>', '~', '!', '[']);
    let name = end.and_then(|end| bare.get(..end)).unwrap_or(bare);
    if scoped {
        name.rsplit_once('/')
            .map_or(name, |(_, last)| last)
            .to_owned()
    } else {
        name.to_owned()
    }
}
