//! `just`: recipes, their parameters, imports, aliases and variables.

use crate::lookup::{absolute, directory_of};
use crate::value::Value;

use super::Evaluator;
use super::wrapper::option_value;

/// Higher directories are not looked into.
const MAX_ABOVE: usize = 12;

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
        let files: Vec<String> = files.collect();
        let Some((path, text)) = self.file_above(&files) else {
            return;
        };
        let mut state = self.state.child();
        let place = option_value(arguments, &["-d", "--working-directory"]);
        let place = place.map(|place| absolute(&state.directory, &place));
        // A file of a pipe lies nowhere.
        let own = directory_of(&path);
        if let Some(place) = place.as_deref().or((own != "/dev/fd").then_some(own)) {
            state.directory = place.into();
        }
        self.apart(state, |this| {
            this.recipes_of(&text, arguments, file_word.as_deref());
        });
    }

    fn recipes_of(&mut self, text: &str, arguments: &[String], file: Option<&str>) {
        let (given, words) = just_words(arguments, file);
        let text = self.just_text(text, &given);
        let values = text
            .lines()
            .filter_map(|line| line.split_once(":="))
            .map(|(_, value)| value.trim());
        for command in values.filter_map(|value| value.strip_prefix('`')?.strip_suffix('`')) {
            self.in_shell("just", command);
        }
        let exported = exported(&text, &given);
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
        let mut done: Vec<(String, Vec<String>)> = Vec::new();
        while let Some((name, values)) = waiting.pop() {
            if done.contains(&(name.clone(), values.clone())) || done.len() > 200 {
                continue;
            }
            for recipe in recipes.iter().filter(|recipe| recipe.name == name) {
                waiting.extend(recipe.needs.iter().map(|need| recipe.called(need, &values)));
                let body: Vec<String> = recipe
                    .lines
                    .iter()
                    .map(|line| recipe.filled(line, &values))
                    .collect();
                let whole = body.join("\n");
                let mut state = self.state.child();
                for (name, value) in &exported {
                    state.set(name, value.clone(), true);
                }
                for (name, value) in recipe.bound(&values) {
                    if recipe.exports(&name) {
                        state.set(&name, Value::text(value), true);
                    }
                }
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
                    self.apart(state, |this| this.script_file(&path, &[], "run"));
                    continue;
                }
                let label = format!("just {name}");
                self.apart(state, |this| this.in_shell(&label, &whole));
            }
            done.push((name, values));
        }
    }

    /// The first of these files that is here or in a directory above, with its path.
    pub(super) fn file_above(&mut self, names: &[String]) -> Option<(String, String)> {
        let mut place = self.state.directory.to_string();
        for _ in 0..MAX_ABOVE {
            for path in names.iter().map(|name| absolute(&place, name)) {
                if let Some(text) = self.known_file(&path) {
                    return Some((path, text));
                }
            }
            let above = directory_of(&place).to_owned();
            if above == place || above.is_empty() {
                break;
            }
            place = above;
        }
        None
    }

    /// A justfile with what it imports, its aliases as recipes and its variables filled in.
    fn just_text(&mut self, text: &str, given: &[(String, String)]) -> String {
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
        let own = whole.lines().filter_map(assigned);
        let own = own.map(|(name, value)| (name.to_owned(), literal(value)));
        // What the call sets wins.
        let values: Vec<(String, String)> = given.iter().cloned().chain(own).collect();
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
        for (name, value) in self.bound(values) {
            for form in [format!("{{{{{name}}}}}"), format!("{{{{ {name} }}}}")] {
                whole = whole.replace(&form, &value);
            }
        }
        whole
    }

    /// The parameters with what they are given or stand for without that.
    fn bound(&self, values: &[String]) -> Vec<(String, String)> {
        let each = self
            .parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| {
                let (name, default) = parameter.split_once('=').unwrap_or((parameter, ""));
                let rest = values.get(index..).unwrap_or_default();
                let value = match (name.starts_with(['*', '+']), rest.first()) {
                    (true, Some(_)) => rest.join(" "),
                    (false, Some(value)) => value.clone(),
                    (true, None) if name.starts_with('*') && default.is_empty() => String::new(),
                    (_, None) if is_literal(default) => literal(default),
                    _ => Value::environment().first().to_owned(),
                };
                (name.trim_start_matches(['*', '+', '$']).to_owned(), value)
            });
        each.collect()
    }

    fn exports(&self, name: &str) -> bool {
        let mut heads = self
            .parameters
            .iter()
            .filter_map(|one| one.split('=').next());
        heads.any(|head| head.contains('$') && head.trim_start_matches(['*', '+', '$']) == name)
    }

    /// A recipe that this one needs: `build`, or `(build "words" name)`.
    fn called(&self, need: &str, values: &[String]) -> (String, Vec<String>) {
        let inner = need
            .strip_prefix('(')
            .and_then(|need| need.strip_suffix(')'));
        let words = pieces(inner.unwrap_or(need));
        let bound = self.bound(values);
        let given = words.iter().skip(1).map(|word| {
            let known = bound.iter().find(|(name, _)| name == word);
            match known {
                Some((_, value)) => value.clone(),
                None if is_literal(word) => literal(word),
                None => Value::environment().first().to_owned(),
            }
        });
        let name = words.first().cloned().unwrap_or_default();
        (
            name.rsplit("::").next().unwrap_or(&name).to_owned(),
            given.collect(),
        )
    }
}

/// `V=push`, `--set V push`, and the words that are left.
fn just_words(arguments: &[String], file: Option<&str>) -> (Vec<(String, String)>, Vec<String>) {
    let mut given = Vec::new();
    let mut left: Vec<String> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(
            word.as_str(),
            "-d" | "--working-directory" | "--shell" | "--color"
        ) {
            words.next();
        } else if word == "--set" {
            let name = words.next().cloned().unwrap_or_default();
            given.push((name, words.next().cloned().unwrap_or_default()));
        } else if let Some((name, value)) = word
            .split_once('=')
            .filter(|_| left.is_empty() && !word.starts_with('-'))
        {
            given.push((name.to_owned(), value.to_owned()));
        } else if !word.starts_with('-') && Some(word.as_str()) != file {
            // `module::recipe`.
            left.push(word.rsplit("::").next().unwrap_or(word).to_owned());
        }
    }
    (given, left)
}

/// `name := value`, exported or not.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line
        .split_once(":=")
        .filter(|_| !line.starts_with([' ', '\t']))?;
    let name = name.trim();
    Some((
        name.strip_prefix("export ").unwrap_or(name).trim(),
        value.trim(),
    ))
}

/// Variables that recipes find in their environment.
fn exported(text: &str, given: &[(String, String)]) -> Vec<(String, Value)> {
    let all = text
        .lines()
        .any(|line| matches!(line.trim(), "set export" | "set export := true"));
    let lines = text
        .lines()
        .filter(|line| all || line.starts_with("export "));
    let each = lines.filter_map(assigned).map(|(name, value)| {
        let set = given.iter().find(|(known, _)| known == name);
        let value = match set {
            Some((_, value)) => Value::text(value.clone()),
            None if is_literal(value) => Value::text(literal(value)),
            None => Value::environment(),
        };
        (name.to_owned(), value)
    });
    each.filter(|(name, _)| !name.contains(' ')).collect()
}

/// Whether a value is one text in quotes without signs that stand for others.
fn is_literal(value: &str) -> bool {
    let quote = value.chars().next().filter(|one| matches!(one, '"' | '\''));
    let inner = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    inner.is_some_and(|inner| !inner.contains(['"', '\'', '\\']))
}

fn literal(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_owned()
}

/// Words of the head of a recipe: what is in quotes or parentheses stays together.
fn pieces(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quote = None;
    let mut depth = 0_usize;
    for one in text.chars() {
        match (quote, one) {
            (Some(open), _) if open == one => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(one),
            (None, '(') => depth = depth.saturating_add(1),
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if quote.is_none() && depth == 0 && one.is_whitespace() {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(one);
        }
    }
    all.retain(|piece| !piece.is_empty());
    all
}

/// Where the head of a recipe ends: a colon that is not in quotes.
fn split_head(line: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, one) in line.char_indices() {
        match (quote, one) {
            (Some(open), _) if open == one => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(one),
            (None, ':') => return Some((line.get(..at)?, line.get(at.saturating_add(1)..)?)),
            _ => {}
        }
    }
    None
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
        if let Some((head, needs)) = split_head(line) {
            let mut words = pieces(head.trim_start_matches('@')).into_iter();
            let Some(name) = words.next() else { continue };
            let needs = needs.split(" #").next().unwrap_or_default();
            all.push(Recipe {
                name,
                parameters: words.collect(),
                needs: pieces(needs)
                    .into_iter()
                    .filter(|need| need != "&&")
                    .collect(),
                lines: Vec::new(),
            });
        }
    }
    all
}
