//! Package managers and the code of a project that they run: scripts, programs of packages, aliases.

use protection::agents::is_agent;

use super::super::Evaluator;
use super::super::wrapper::{option_value, skip_options};
use actions::programs::{OF_CARGO, OF_MANAGERS, PACKAGE_OPTIONS, PACKAGES, RUNNING};

impl Evaluator<'_> {
    /// Evaluates `npx program words`: only the name of the program is known.
    pub(super) fn package_program(&mut self, name: &str, arguments: &[String]) -> bool {
        let Some((_, verbs)) = PACKAGES.iter().find(|(program, _)| *program == name) else {
            return false;
        };
        let mut words = skip_options(arguments, "", PACKAGE_OPTIONS);
        if !verbs.is_empty() {
            let Some((verb, rest)) = words.split_first() else {
                return false;
            };
            if !verbs.split(' ').any(|known| known == verb) {
                return false;
            }
            words = rest;
        }
        if let Some(text) = option_value(arguments, &["--call", "-c"]) {
            self.in_shell(name, &text);
        }
        let words = skip_options(words, "pw", PACKAGE_OPTIONS);
        if let Some(text) = words.first().filter(|word| word.contains(' ')) {
            // `yarn exec 'git push'`
            self.in_shell(name, text);
        } else if let Some((program, rest)) = words.split_first() {
            // `gh-pages@latest`, `@scope/name@1`.
            let plain = program.trim_start_matches('@');
            let plain = plain.split_once('@').map_or(plain, |(plain, _)| plain);
            // `npm exec claude -- --version`: npm consumes the marker.
            let rest = match rest.split_first() {
                Some((mark, after)) if mark == "--" && name == "npm" => after,
                _ => rest,
            };
            let words = [&[actions::lookup::base_name(plain).to_owned()], rest].concat();
            self.linked(name, |this| this.run(&words));
        }
        self.opaque(
            "it runs a program of a package, which is not read",
            &format!("{name} {}", arguments.join(" ")),
        );
        self.handed_on(name, arguments);
        true
    }

    /// Evaluates scripts that run on installing, packing and publishing: an act that is written in them counts.
    pub(super) fn lifecycle(&mut self, name: &str) {
        let manifest: Option<serde_json::Value> =
            serde_json::from_str(&self.content("package.json")).ok();
        let scripts = manifest
            .as_ref()
            .and_then(|manifest| manifest.get("scripts")?.as_object());
        let runs = |key: &str| {
            key.starts_with("pre")
                || key.starts_with("post")
                || matches!(key, "install" | "version")
        };
        for (key, text) in scripts.into_iter().flatten().filter(|(key, _)| runs(key)) {
            let text = text.as_str().unwrap_or_default();
            if self.acts_in(text) {
                self.opaque(
                    "a script of the package runs on the way",
                    &format!("{name}: {key}: {text}"),
                );
            }
        }
    }

    /// Evaluates commands of package managers and build tools that run code of the project.
    pub(super) fn project_commands(&mut self, name: &str, arguments: &[String]) {
        let plain: Vec<&String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .collect();
        let verb = plain.first().map_or("", |word| word.as_str());
        let runs = RUNNING.iter().any(|(names, verbs)| {
            names.contains(&name) && plain.iter().any(|word| verbs.contains(&word.as_str()))
        });
        let is_script = match name {
            "yarn" if matches!(verb, "deploy" | "pub") => true,
            "yarn" | "pnpm" | "bun" => !verb.is_empty() && !OF_MANAGERS.contains(verb),
            "cargo" => !verb.is_empty() && !OF_CARGO.contains(&verb) && !verb.starts_with('+'),
            _ => false,
        };
        if matches!(name, "npm" | "pnpm" | "yarn" | "bun") {
            self.lifecycle(name);
            if let Some(at) = arguments
                .iter()
                .position(|word| self.catalog.is_program(word) || is_agent(word))
                .filter(|_| is_script)
            {
                let words = arguments.get(at..).unwrap_or_default();
                self.linked(name, |this| this.run(words));
            }
        }
        if name == "cargo" && is_script && self.program_alias(name, arguments) {
            return;
        }
        if runs || is_script {
            self.opaque(
                "it runs scripts or programs of the project, which are not read",
                &format!("{name} {}", arguments.join(" ")),
            );
            self.handed_on(name, arguments);
        }
    }
}
