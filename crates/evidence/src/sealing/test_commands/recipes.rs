//! Converts recipes of a Makefile or a justfile into one shell script: the commands of `make test`.

/// Nesting of needed targets that is followed.
const MAX_DEPTH: usize = 8;

/// Longest script.
const MAX_TEXT: usize = 16 * 1024;

/// Variables by name, as written.
type Variables = Vec<(String, String)>;

/// Returns the recipes of the targets among the arguments, after those that they need. `None` if a target has no
/// recipe.
pub(super) fn read(text: &str, arguments: &[String]) -> Option<String> {
    let text = text.replace("\\\n", " ");
    let mut variables = variables(&text);
    let mut targets = Vec::new();
    for word in arguments.iter().filter(|word| !word.starts_with('-')) {
        match word.split_once('=') {
            // Variables of the command line come first.
            Some((name, value)) => variables.insert(0, (name.to_owned(), value.to_owned())),
            None => targets.push(word.as_str()),
        }
    }
    let mut commands = Vec::new();
    let mut seen = Vec::new();
    for target in targets {
        let has_recipe = collect(&text, target, &mut commands, &mut seen, 0);
        if !has_recipe {
            return None;
        }
    }
    let lines: Vec<String> = commands
        .iter()
        .map(|line| filled(line, &variables, 0))
        .collect();
    let whole = lines.join(" && ");
    (!lines.is_empty() && whole.len() <= MAX_TEXT).then_some(whole)
}

/// Adds the recipe of a target; returns `true` if it has one or needs a target that has one.
fn collect(
    text: &str,
    target: &str,
    commands: &mut Vec<String>,
    seen: &mut Vec<String>,
    depth: usize,
) -> bool {
    if depth > MAX_DEPTH || seen.iter().any(|one| one == target) {
        return depth <= MAX_DEPTH;
    }
    seen.push(target.to_owned());
    let mut is_found = false;
    let mut is_inside = false;
    for line in text.lines() {
        if line.starts_with(['\t', ' ']) {
            let command = line.trim();
            if is_inside && !command.is_empty() && !command.starts_with('#') {
                commands.push(command_of(command));
                is_found = true;
            }
        } else if !line.trim().is_empty() {
            let needed = header(line, target);
            is_inside = needed.is_some();
            for other in needed.unwrap_or_default().split_whitespace() {
                is_found |= collect(text, other, commands, seen, depth + 1);
            }
        }
    }
    is_found
}

/// Returns the targets that a target needs, if the line begins its rule: `test: build`, `test *args: build`.
fn header<'t>(line: &'t str, target: &str) -> Option<&'t str> {
    let (names, needed) = line.split_once(':')?;
    let is_assignment = needed.starts_with(['=', ':']) || names.contains('=');
    let mut names = names.split_whitespace();
    let is_meant = names.any(|name| name.trim_start_matches('@') == target);
    // A recipe may follow after a semicolon.
    (is_meant && !is_assignment).then(|| needed.split(';').next().unwrap_or_default())
}

/// Returns a line of a recipe without its prefix characters; a line that may fail hides its exit code.
fn command_of(line: &str) -> String {
    let command = line.trim_start_matches(['@', '-', '+', ' ']);
    let signs = line.get(..line.len() - command.len()).unwrap_or_default();
    match signs.contains('-') {
        true => format!("{command} || true"),
        false => command.to_owned(),
    }
}

fn variables(text: &str) -> Variables {
    let lines = text.lines().filter(|line| !line.starts_with(['\t', ' ']));
    let found = lines.filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim_end_matches([':', '?', '+', ' ']).trim();
        let name = name.strip_prefix("export ").unwrap_or(name);
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| (name.to_owned(), value.trim().to_owned()))
    });
    found.collect()
}

/// Substitutes variables. An unknown one stays a variable of the shell, which is only known at run time.
fn filled(line: &str, variables: &Variables, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let close = match after.chars().next() {
            Some('(') => ')',
            Some('{') => '}',
            // `$$` is a dollar sign for the shell.
            Some('$') => {
                out.push('$');
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            _ => {
                out.push_str("$UNKNOWN");
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
        };
        let (name, behind) = after
            .get(1..)
            .unwrap_or_default()
            .split_once(close)
            .unwrap_or_default();
        let value = variables.iter().find(|(known, _)| known == name);
        match value.filter(|_| depth < MAX_DEPTH && out.len() < MAX_TEXT) {
            Some((_, value)) => out.push_str(&filled(value, variables, depth + 1)),
            None if name == "MAKE" => out.push_str("make"),
            // Arguments that the command line does not set.
            None if matches!(name, "ARGS" | "TESTARGS" | "PYTEST_ARGS") => {}
            None => out.push_str("$UNKNOWN"),
        }
        rest = behind;
    }
    out.push_str(rest);
    // A justfile writes `{{args}}`.
    while let Some((before, after)) = out.split_once("{{") {
        let behind = after.split_once("}}").map_or("", |(_, behind)| behind);
        out = format!("{before}$UNKNOWN{behind}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_recipes_of_a_target_and_of_what_it_needs_are_one_text() {
        let text = "PY ?= python3\nTEST = $(PY) -m pytest\n.PHONY: test\nall: test\nbuild:\n\t@mkdir -p out\n\
                    test: build\n\t$(TEST) -q \\\n\t  tests\n\t-rm -r out\nempty:\nother:\n\techo '5 passing' $$HOME $@\n";
        let cases = [
            (
                "test",
                Some("mkdir -p out && python3 -m pytest -q  \t  tests && rm -r out || true"),
            ),
            (
                "test PY=true",
                Some("mkdir -p out && true -m pytest -q  \t  tests && rm -r out || true"),
            ),
            ("other", Some("echo '5 passing' $HOME $UNKNOWN")),
            (
                "-s all",
                Some("mkdir -p out && python3 -m pytest -q  \t  tests && rm -r out || true"),
            ),
            ("empty", None),
            ("missing", None),
            ("", None),
        ];
        for (arguments, expected) in cases {
            assert_eq!(
                read(text, &words(arguments)).as_deref(),
                expected,
                "{arguments}"
            );
        }
        let just = "set shell := [\"bash\", \"-c\"]\n\ntest *args: lint\n    @pytest {{args}}\n\nlint:\n    ruff check\n";
        assert_eq!(
            read(just, &words("test")).as_deref(),
            Some("ruff check && pytest $UNKNOWN")
        );
        assert_eq!(read("a: b\nb: a\n", &words("a")), None);
    }
}
