//! Patterns over paths, and the class of a path by convention: test, source, or guarded.

/// Returns `true` if a path matches a pattern: `*` and `?` stay within a part, `**` crosses parts, and a pattern without
/// a slash matches the last part.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    if pattern.contains('/') {
        let pattern: Vec<&str> = pattern.split('/').collect();
        let path: Vec<&str> = path.split('/').collect();
        return parts(&pattern, &path);
    }
    path.rsplit('/')
        .next()
        .is_some_and(|name| part(pattern.as_bytes(), name.as_bytes()))
}

/// Returns `true` if one of the patterns matches.
#[must_use]
pub fn any(patterns: &[impl AsRef<str>], path: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| matches(pattern.as_ref(), path))
}

fn parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            parts(rest, path)
                || path
                    .split_first()
                    .is_some_and(|(_, below)| parts(pattern, below))
        }
        (Some((first, rest)), Some((name, below))) => {
            part(first.as_bytes(), name.as_bytes()) && parts(rest, below)
        }
        _ => false,
    }
}

/// Matches within a part, with one position to backtrack to.
fn part(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while let Some(byte) = name.get(n) {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(one) if *one == b'?' || one == byte => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}

/// Paths that belong to tests by convention.
pub const TESTS: &[&str] = &[
    "**/test/**",
    "**/tests/**",
    "**/spec/**",
    "**/specs/**",
    "**/__tests__/**",
    "**/testing/**",
    "**/testdata/**",
    "**/fixtures/**",
    "**/tap-snapshots/**",
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*_test.rs",
    "*.test.js",
    "*.test.ts",
    "*.test.jsx",
    "*.test.tsx",
    "*.test.mjs",
    "*.test.cjs",
    "*.spec.js",
    "*.spec.ts",
    "*.spec.jsx",
    "*.spec.tsx",
    "*.spec.mjs",
    "*.spec.cjs",
    "tests.rs",
    "conftest.py",
];

/// Paths that are neither source nor test.
const NEITHER: &[&str] = &[
    "docs/**",
    "doc/**",
    "examples/**",
    "bench*/**",
    "fuzz/**",
    "scripts/**",
    "ci/**",
    ".github/**",
    "dist/**",
    "Cargo.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "setup.py",
    "noxfile.py",
    "build.rs",
    "*.md",
    "*.rst",
    "*.txt",
    ".*",
];

/// Endings of source files.
const SOURCE: &[(&str, &str)] = &[
    ("py", "python"),
    ("pyi", "python"),
    ("js", "javascript"),
    ("mjs", "javascript"),
    ("cjs", "javascript"),
    ("jsx", "javascript"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("rs", "rust"),
    ("go", "go"),
    ("rb", "ruby"),
    ("java", "java"),
    ("kt", "kotlin"),
    ("c", "c"),
    ("h", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("hpp", "cpp"),
    ("cs", "csharp"),
    ("php", "php"),
    ("sh", "shell"),
];

/// Paths that affect the execution of tests; an agent's change of one is not graded.
const GUARDED: &[&str] = &[
    "conftest.py",
    "pytest.ini",
    "tox.ini",
    "**/.pytest_cache/**",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".coveragerc",
    ".mocharc*",
    "jest.config.*",
    "vitest.config.*",
    ".taprc",
    "ava.config.*",
    "karma.conf.*",
    "**/.cargo/config*",
    "rust-toolchain*",
    "build.rs",
    "clippy.toml",
    "go.work",
    "**/.github/**",
    ".gitlab-ci*",
    "**/.claude/**",
    "**/.codex/**",
    "**/.gemini/**",
    "**/.cursor/**",
    "AGENTS.md",
    "CLAUDE.md",
    "**/node_modules/**",
    ".gitattributes",
];

/// Returns `true` if a path belongs to tests by convention.
#[must_use]
pub fn is_test(path: &str) -> bool {
    any(TESTS, path)
}

/// Returns the language of a source file; `None` for tests and everything else.
#[must_use]
pub fn source_language(path: &str) -> Option<&'static str> {
    if is_test(path) || any(NEITHER, path) {
        return None;
    }
    language(path)
}

/// Returns the language of a file by its ending.
#[must_use]
pub fn language(path: &str) -> Option<&'static str> {
    let ending = path.rsplit('/').next()?.rsplit_once('.')?.1;
    SOURCE
        .iter()
        .find(|(known, _)| *known == ending)
        .map(|(_, language)| *language)
}

/// Returns `true` if a change of this path is left out of the grading.
#[must_use]
pub fn is_guarded(path: &str, command: &str) -> bool {
    let names_it = |name: &str| {
        path.rsplit('/').next() == Some(name)
            && command
                .split_whitespace()
                .any(|word| word == if name == "Makefile" { "make" } else { "just" })
    };
    any(GUARDED, path) || names_it("Makefile") || names_it("justfile")
}

/// Files that hold settings of test runners beside others.
const WITH_SETTINGS: [&str; 4] = ["pyproject.toml", "Cargo.toml", "setup.cfg", "package.json"];

/// Returns `true` if the part of a shared settings file that decides how tests run is not the same in both versions.
#[must_use]
pub fn changes_test_settings(
    path: &str,
    before: impl FnOnce() -> Vec<u8>,
    after: impl FnOnce() -> Vec<u8>,
) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if !WITH_SETTINGS.contains(&name) {
        return false;
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (before, after) = (text(before()), text(after()));
    let tables = |keys: &[&[&str]]| {
        let of = |text: &str| {
            let table: Option<toml::Table> = toml::from_str(text).ok();
            let find = |keys: &&[&str]| {
                let mut value = toml::Value::Table(table.clone()?);
                for key in *keys {
                    value = value.get(key)?.clone();
                }
                Some(value.to_string())
            };
            // An unreadable file counts as changed.
            (table.is_some(), keys.iter().map(find).collect::<Vec<_>>())
        };
        of(&before) != of(&after)
    };
    match name {
        "pyproject.toml" => tables(&[&["tool", "pytest"], &["tool", "coverage"]]),
        "Cargo.toml" => tables(&[
            &["test"],
            &["profile"],
            &["lib"],
            &["package", "autotests"],
            &["package", "build"],
        ]),
        "setup.cfg" => section(&before, "[tool:pytest]") != section(&after, "[tool:pytest]"),
        "package.json" => {
            let of = |text: &str| {
                let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
                ["scripts", "mocha", "jest", "tap", "ava"]
                    .map(|key| value.as_ref().and_then(|value| value.get(key).cloned()))
            };
            of(&before) != of(&after)
        }
        _ => false,
    }
}

/// Returns the lines of one section of an INI file.
fn section(text: &str, name: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| line.trim() != name).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_like_those_of_git() {
        for (pattern, path, expected) in [
            ("tests/**", "tests/a/b.py", true),
            ("tests/**", "src/tests/b.py", false),
            ("**/tests/**", "tests/b.py", true),
            ("**/tests/**", "a/b/tests/c/d", true),
            ("*.py", "a/b.py", true),
            ("test_*.py", "a/test_b.py", true),
            ("a*b?c", "axxbyc", true),
            ("a*b?c", "axxbc", false),
            ("src/*.rs", "src/a/b.rs", false),
            ("**", "x/y", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_path_is_a_test_or_source_or_neither() {
        for (path, test, language) in [
            ("tests/test_x.py", true, None),
            ("src/click/core.py", false, Some("python")),
            ("test/parse.js", true, None),
            ("lib/parse.js", false, Some("javascript")),
            ("dist/qs.js", false, None),
            ("docs/conf.py", false, None),
            ("src/bytes.rs", false, Some("rust")),
            ("benches/buf.rs", false, None),
            ("Cargo.lock", false, None),
        ] {
            assert_eq!(
                (is_test(path), source_language(path)),
                (test, language),
                "{path}"
            );
        }
    }

    #[test]
    fn settings_of_test_runners_are_guarded() {
        for (path, command, expected) in [
            ("conftest.py", "pytest", true),
            ("src/conftest.py", "pytest", true),
            (".cargo/config.toml", "cargo test", true),
            ("Makefile", "make test", true),
            ("Makefile", "pytest", false),
            ("src/a.py", "pytest", false),
        ] {
            assert_eq!(is_guarded(path, command), expected, "{path}");
        }
        for (path, before, after, expected) in [
            (
                "package.json",
                r#"{"version":"1"}"#,
                r#"{"version":"2"}"#,
                false,
            ),
            (
                "package.json",
                r#"{"scripts":{}}"#,
                r#"{"scripts":{"test":"true"}}"#,
                true,
            ),
            (
                "pyproject.toml",
                "a = 1",
                "[tool.pytest.ini_options]\naddopts = '-k nothing'",
                true,
            ),
            ("pyproject.toml", "a = 1", "a = 2", false),
            (
                "Cargo.toml",
                "[package]\nname='a'",
                "[package]\nname='a'\n[[test]]\nname='x'\nharness=false",
                true,
            ),
            ("setup.cfg", "[a]\nb=1", "[a]\nb=2", false),
            (
                "setup.cfg",
                "[tool:pytest]\nb=1",
                "[tool:pytest]\nb=2\n[c]",
                true,
            ),
            ("src/a.py", "1", "2", false),
        ] {
            let found = changes_test_settings(path, || before.into(), || after.into());
            assert_eq!(found, expected, "{path} {after}");
        }
    }
}
