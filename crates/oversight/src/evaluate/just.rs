//! `just`: recipes, their parameters, imports, aliases and variables.

use crate::value::Value;

use super::Evaluator;
use super::wrapper::option_value;

impl Evaluator<'_> {
    /// `just`: recipes look like rules, with parameters after the name.
    pub(crate) fn recipes(&mut self, arguments: &[String], names: &[&str]) {
        const PRINTS: &[&str] = &[
            "--list",
            "-l",
            "--summary",
            "--dry-run",
            "-n",
            "--show",
            "--dump",
            "--evaluate",
        ];
        if arguments.iter().any(|word| PRINTS.contains(&word.as_str())) {
            return;
        }
        if let Some(at) = arguments
            .iter()
            .position(|word| matches!(word.as_str(), "-c" | "--command"))
        {
            let words = arguments
                .get(at.saturating_add(1)..)
                .unwrap_or_default()
                .to_vec();
            self.linked("just", |this| this.run(&words));
            return;
        }
        let named = option_value(arguments, &["-f", "--justfile"]);
        let file_word = named.clone();
        let files = named
            .into_iter()
            .chain(names.iter().map(|name| (*name).to_owned()));
        let Some(text) = files.into_iter().find_map(|file| self.known_file(&file)) else {
            return;
        };
        let words: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-') && Some(*word) != file_word.as_ref())
            // `module::recipe`.
            .map(|word| word.rsplit("::").next().unwrap_or(word).to_owned())
            .collect();
        let text = self.just_text(&text);
        let values = text
            .lines()
            .filter_map(|line| line.split_once(":="))
            .map(|(_, value)| value.trim());
        for command in values.filter_map(|value| value.strip_prefix('`')?.strip_suffix('`')) {
            self.in_shell("just", command);
        }
        let recipes = just_recipes(&text);
        let mut waiting: Vec<(String, Vec<String>)> = match words.split_first() {
            Some((first, rest)) => {
                // `just a b` runs both where `a` takes no words.
                let mut all = vec![(first.clone(), rest.to_vec())];
                all.extend(
                    rest.iter()
                        .filter(|word| recipes.iter().any(|recipe| recipe.name == **word))
                        .map(|word| (word.clone(), Vec::new())),
                );
                all
            }
            None => recipes
                .first()
                .map(|recipe| (recipe.name.clone(), Vec::new()))
                .into_iter()
                .collect(),
        };
        let mut done: Vec<String> = Vec::new();
        while let Some((name, values)) = waiting.pop() {
            if done.contains(&name) || done.len() > 200 {
                continue;
            }
            for recipe in recipes.iter().filter(|recipe| recipe.name == name) {
                waiting.extend(recipe.needs.iter().map(|need| (need.clone(), Vec::new())));
                let body: Vec<String> = recipe
                    .lines
                    .iter()
                    .map(|line| recipe.filled(line, &values))
                    .collect();
                let whole = body.join("\n");
                if let Some(program) = whole.trim_start().strip_prefix("#!")
                    && !["sh", "bash", "zsh", "dash"].iter().any(|shell| {
                        program
                            .lines()
                            .next()
                            .unwrap_or("")
                            .trim_end()
                            .ends_with(shell)
                    })
                {
                    let path = self.virtual_file(Value::text(whole.trim_start()));
                    self.script_file(&path, &[], "run");
                    continue;
                }
                self.in_shell(&format!("just {name}"), &whole);
            }
            done.push(name);
        }
    }

    /// A justfile with what it imports, its aliases as recipes and its variables filled in.
    fn just_text(&mut self, text: &str) -> String {
        let mut whole = String::new();
        for line in text.lines() {
            let path = line
                .strip_prefix("import ")
                .map(|path| path.trim().trim_matches(['"', '\'']).to_owned());
            let module = line.strip_prefix("mod ").map(str::trim);
            let files = module.into_iter().flat_map(|name| {
                [
                    format!("{name}.just"),
                    format!("{name}/mod.just"),
                    format!("{name}/justfile"),
                ]
            });
            let path = path.or_else(|| {
                files
                    .into_iter()
                    .find(|file| self.known_file(file).is_some())
            });
            if let Some(more) = path.and_then(|path| self.known_file(&path)) {
                whole.push_str(&more);
            } else if let Some((alias, target)) = line
                .strip_prefix("alias ")
                .and_then(|rest| rest.split_once(":="))
            {
                whole.push_str(&format!("{}: {}", alias.trim(), target.trim()));
            } else {
                whole.push_str(line);
            }
            whole.push('\n');
        }
        let values: Vec<(String, String)> = whole
            .lines()
            .filter_map(|line| line.split_once(":="))
            .map(|(name, value)| {
                (
                    name.trim().to_owned(),
                    value.trim().trim_matches(['"', '\'']).to_owned(),
                )
            })
            .collect();
        for (name, value) in values {
            whole = whole
                .replace(&format!("{{{{{name}}}}}"), &value)
                .replace(&format!("{{{{ {name} }}}}"), &value);
        }
        whole
    }
}

struct Recipe {
    name: String,
    parameters: Vec<String>,
    needs: Vec<String>,
    lines: Vec<String>,
}

impl Recipe {
    fn filled(&self, line: &str, values: &[String]) -> String {
        let mut whole = line.trim().trim_start_matches(['@', '-']).to_owned();
        for (index, parameter) in self.parameters.iter().enumerate() {
            let name = parameter
                .trim_start_matches(['*', '+', '$'])
                .split('=')
                .next()
                .unwrap_or_default();
            let value = values
                .get(index)
                .cloned()
                .unwrap_or_else(|| Value::environment().first().to_owned());
            for form in [format!("{{{{{name}}}}}"), format!("{{{{ {name} }}}}")] {
                whole = whole.replace(&form, &value);
            }
        }
        whole
    }
}

fn just_recipes(text: &str) -> Vec<Recipe> {
    let mut all: Vec<Recipe> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = all.last_mut() {
                recipe.lines.push(line.to_owned());
            }
            continue;
        }
        if line.starts_with('#') || line.contains(":=") {
            continue;
        }
        if let Some((head, needs)) = line.split_once(':') {
            let mut words = head.trim_start_matches('@').split_whitespace();
            let Some(name) = words.next() else { continue };
            all.push(Recipe {
                name: name.to_owned(),
                parameters: words.map(str::to_owned).collect(),
                needs: needs
                    .split_whitespace()
                    .filter(|need| *need != "&&")
                    .map(str::to_owned)
                    .collect(),
                lines: Vec::new(),
            });
        }
    }
    all
}
