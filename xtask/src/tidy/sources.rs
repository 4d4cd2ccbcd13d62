//! Rules for every Rust file: a module doc, a limited length, exceptions with a reason.

use super::Problem;
use crate::project::Project;
use crate::shell::Result;

/// Directories of our Rust files.
const FOLDERS: &[&str] = &[
    "crates/",
    "xtask/",
    "bench/",
    "faults/",
    "simulate/",
    "fuzz/",
];

/// Limit of product lines per file.
const MAX_PRODUCT_LINES: usize = 500;

pub(super) fn check(project: &Project, files: &[String]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_ours(file)) {
        problems.extend(problems_of(file, &project.read(file)?));
    }
    Ok(problems)
}

fn is_ours(file: &str) -> bool {
    file.ends_with(".rs") && FOLDERS.iter().any(|folder| file.starts_with(folder))
}

fn problems_of(file: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        let what =
            "no module doc; begin the file with `//!` and say what it owns and what it never does";
        problems.push(Problem::new(file, 1, what));
    }
    problems.extend(too_long(file, text));
    problems.extend(allows(file, text));
    problems
}

fn too_long(file: &str, text: &str) -> Option<Problem> {
    let lines = product_lines(file, text);
    let what = format!(
        "{lines} product lines, more than {MAX_PRODUCT_LINES}; split the file where its topics part"
    );
    (lines > MAX_PRODUCT_LINES).then(|| Problem::new(file, MAX_PRODUCT_LINES + 1, what))
}

/// Returns the number of lines before the first `#[cfg(test)]`; 0 for a file of tests.
fn product_lines(file: &str, text: &str) -> usize {
    if file.contains("/tests/") || file.ends_with("/tests.rs") {
        return 0;
    }
    text.lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .count()
}

/// Reports attributes that clippy denies too, but not in code that a feature or a platform excludes.
fn allows(file: &str, text: &str) -> impl Iterator<Item = Problem> {
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("#[allow(") || line.starts_with("#![allow(")
    });
    lines.map(move |(index, _)| {
        let what = "`allow` hides for ever; write `#[expect(lint, reason = \"…\")]`";
        Problem::new(file, index + 1, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects problems at exactly these lines.
    fn check(file: &str, text: &str, expected: &[usize]) {
        let found = problems_of(file, text);
        let lines: Vec<_> = found.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, expected, "{found:?}");
    }

    #[test]
    fn a_file_begins_with_its_doc() {
        check("crates/a/src/lib.rs", "//! Owns a.\n", &[]);
        check("crates/a/src/lib.rs", "// Owns a.\n", &[1]);
        check("crates/a/src/lib.rs", "\n//! Owns a.\n", &[1]);
        check("crates/a/src/lib.rs", "", &[1]);
    }

    #[test]
    fn only_product_lines_count() {
        let product = |lines: usize| format!("//! Long.\n{}", "\n".repeat(lines - 1));
        let tests = format!("#[cfg(test)]\n{}", "\n".repeat(1000));
        check("crates/a/src/b.rs", &product(500), &[]);
        check("crates/a/src/b.rs", &product(501), &[501]);
        check("crates/a/src/b.rs", &(product(500) + &tests), &[]);
        check("crates/a/tests/b.rs", &product(501), &[]);
        check("crates/a/src/b/tests.rs", &product(501), &[]);
    }

    #[test]
    fn allow_is_found_where_it_is_an_attribute() {
        check(
            "crates/a/src/b.rs",
            "//! B.\n    #[allow(dead_code)]\n#![allow(x)]\n",
            &[2, 3],
        );
        check("crates/a/src/b.rs", "//! B.\n// no #[allow(x)] here\n", &[]);
    }

    #[test]
    fn other_folders_are_not_ours() {
        assert!(is_ours("fuzz/fuzz_targets/bundle.rs"));
        assert!(!is_ours("docs/example.rs"));
        assert!(!is_ours("crates/a/Cargo.toml"));
    }
}
