//! The scripts of `package.json`: which of them a name stands for, here or in the packages of a workspace.

use crate::lookup::absolute;
use crate::value::Value;

use super::run::with_words;
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    pub(super) fn run_all(&mut self, arguments: &[String]) -> Outcome {
        let names = self.script_names();
        for wanted in arguments.iter().filter(|word| !word.starts_with('-')) {
            for name in names
                .iter()
                .filter(|name| super::pattern::matches(wanted, name))
            {
                self.script_of(name, &[], None);
            }
        }
        Outcome::unknown()
    }

    fn script_names(&mut self) -> Vec<String> {
        let text = self.known_file("package.json").unwrap_or_default();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let scripts = document
            .get("scripts")
            .and_then(serde_json::Value::as_object);
        scripts
            .map(|scripts| scripts.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// A script with what runs before and after it; false when there is none.
    pub(crate) fn script_of(&mut self, name: &str, extra: &[String], place: Option<&str>) -> bool {
        let mut found = false;
        for (script, extra) in [
            (format!("pre{name}"), &[][..]),
            (name.to_owned(), extra),
            (format!("post{name}"), &[][..]),
        ] {
            found |= self.single_script(&script, extra, place);
        }
        found
    }

    pub(super) fn single_script(
        &mut self,
        name: &str,
        extra: &[String],
        place: Option<&str>,
    ) -> bool {
        let mut found = false;
        for directory in self.packages(place) {
            let mut state = self.state.child();
            state.directory = directory.as_str().into();
            found |= self.apart(state, |this| {
                let Some(text) = this.known_file("package.json") else {
                    return false;
                };
                if text.contains(crate::value::HOLE) {
                    this.opaque("a package.json that nobody can know is used", name);
                }
                let Ok(document) = serde_json::from_str::<serde_json::Value>(&text) else {
                    return false;
                };
                let Some(script) = document
                    .get("scripts")
                    .and_then(|scripts| scripts.get(name))
                    .and_then(serde_json::Value::as_str)
                else {
                    return false;
                };
                for (key, value) in document
                    .get("config")
                    .and_then(serde_json::Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    if let Some(value) = value.as_str() {
                        this.state.set(
                            &format!("npm_package_config_{key}"),
                            Value::text(value),
                            true,
                        );
                    }
                }
                let whole = with_words(script, extra);
                let key = format!("{directory} {name}");
                if this.walking.insert(key.clone()) {
                    this.linked(format!("package script {name}"), |this| {
                        this.shell_text(&whole)
                    });
                    this.walking.remove(&key);
                }
                true
            });
        }
        found
    }

    /// Where the scripts are looked for: here, or in the packages of the workspace.
    fn packages(&mut self, place: Option<&str>) -> Vec<String> {
        let here = self.state.directory.to_string();
        let Some(place) = place else {
            return vec![here];
        };
        let text = self.known_file("package.json").unwrap_or_default();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let list = document
            .get("workspaces")
            .and_then(|list| list.as_array().or_else(|| list.get("packages")?.as_array()));
        let mut patterns: Vec<String> = list
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str)
            .map(str::to_owned)
            .collect();
        let other = self.known_file("pnpm-workspace.yaml").unwrap_or_default();
        patterns.extend(
            other
                .lines()
                .filter_map(|line| {
                    let line = line.trim();
                    line.strip_prefix("- ")
                        .or_else(|| line.strip_prefix("packages:"))
                })
                .flat_map(|line| line.trim_matches(['[', ']', ' ']).split(','))
                .map(|line| line.trim_matches(['"', '\'', ' ']).to_owned())
                .filter(|line| !line.is_empty()),
        );
        let mut all = Vec::new();
        for wanted in patterns.iter().map(String::as_str) {
            let found = if super::pattern::is_active(wanted) {
                self.matching_files(wanted)
            } else {
                vec![wanted.to_owned()]
            };
            all.extend(found.into_iter().map(|path| absolute(&here, &path)));
        }
        let bare = crate::lookup::base_name(place.trim_end_matches("...")).to_owned();
        let chosen: Vec<String> = all
            .iter()
            .filter(|path| crate::lookup::base_name(path) == bare)
            .cloned()
            .collect();
        if place == "*" || chosen.is_empty() {
            if all.is_empty() { vec![here] } else { all }
        } else {
            chosen
        }
    }
}
