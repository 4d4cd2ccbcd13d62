//! The promises of `SECURITY.md`: each row of a table with a column `test` names tests, and each of them must exist.

use super::Problem;
use crate::project::Project;
use crate::shell::Result;

const FILE: &str = "SECURITY.md";

/// Path and text of a source with tests.
type Source = (String, String);

pub(super) fn check(project: &Project, files: &[String]) -> Result<Vec<Problem>> {
    let mut sources = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let text = project.read(file)?;
        if text.contains("#[test]") || text.contains("#[tokio::test") {
            sources.push((file.clone(), text));
        }
    }
    Ok(missing(&project.read(FILE)?, &sources))
}

/// Returns the names of tests in the table that no source has, and rows without any.
fn missing(text: &str, sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names_tests = false;
    for (index, line) in text.lines().enumerate() {
        let Some(row) = line.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            names_tests = false;
            continue;
        };
        let cell = row.rsplit('|').next().unwrap_or_default().trim();
        names_tests |= cell == "test";
        if !names_tests || cell == "test" || cell.starts_with("--") {
            continue;
        }
        // Before each name in backticks stands nothing or the crate that has the test.
        let parts: Vec<&str> = cell.split('`').collect();
        let names = parts.chunks_exact(2).filter_map(|pair| match pair {
            [before, name] => Some((before.trim_matches([' ', ',']), *name)),
            _ => None,
        });
        if names.clone().count() == 0 {
            let what = "promise without a test; name the test that shows it";
            problems.push(Problem::new(FILE, index + 1, what));
        }
        for (owner, name) in names {
            if !sources
                .iter()
                .any(|source| is_of(source, owner) && has(source, name))
            {
                let what =
                    format!("test `{owner} {name}`, which does not exist; name one that shows it");
                problems.push(Problem::new(FILE, index + 1, what));
            }
        }
    }
    problems
}

/// Returns `true` if a source belongs to this crate, or no crate is named.
fn is_of((path, _): &Source, owner: &str) -> bool {
    let folder = |owner: &str| path.starts_with(&format!("{owner}/"));
    owner.is_empty() || folder(owner) || folder(&format!("crates/{owner}"))
}

/// Returns `true` if a source has this test, or, for `module::*`, is this module.
fn has((path, text): &Source, name: &str) -> bool {
    let (modules, test) = name.rsplit_once("::").unwrap_or(("", name));
    let path = path.trim_end_matches(".rs");
    let is_in = |module: &str| {
        let written = format!("mod {module} {{");
        path.split('/').any(|part| part == module) || text.contains(&written)
    };
    let mut modules = modules.split("::").filter(|module| !module.is_empty());
    modules.all(is_in) && (test == "*" || text.contains(&format!("fn {test}(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: &str, expected: usize) {
        let sources = [
            (
                "crates/a/tests/it/links.rs".to_owned(),
                "fn one(".to_owned(),
            ),
            (
                "crates/b/src/trust.rs".to_owned(),
                "mod tests { fn two(".to_owned(),
            ),
        ];
        let text = format!("| promise | level | test |\n|---|---|---|\n| a | b | {cell} |\n");
        assert_eq!(missing(&text, &sources).len(), expected, "{cell}");
    }

    #[test]
    fn a_test_is_found_by_its_module_and_name() {
        check("`links::one`", 0);
        check("`links::*`, b `trust::tests::two`, `two`", 0);
        check("`links::two`", 1);
        check("`other::*`, `three`", 2);
        check("a `two`", 1);
    }

    #[test]
    fn a_promise_without_a_test_is_found() {
        check("see below", 1);
    }
}
