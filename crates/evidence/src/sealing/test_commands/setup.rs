//! Files beside the command that select the tests of a runner: its settings, and code that it loads before the tests.
//!
//! Of files with other uses, only the part that can select tests counts, so that a new dependency changes nothing.

use serde_json::Value;

use shell::words::names;

use super::programs::is_in;

/// Names of such files.
const FILES: &[&str] = names!(
    "conftest.py pytest.ini .pytest.ini tox.ini noxfile.py setup.cfg .rspec spec_helper.rb rails_helper.rb test_helper.rb \
    Rakefile Makefile makefile GNUmakefile justfile Justfile .justfile phpunit.xml phpunit.xml.dist nextest.toml .taprc \
    mocha.opts CTestTestfile.cmake build.gradle build.gradle.kts pom.xml composer.json package.json pyproject.toml"
);

/// Names of files with commands of a build.
const RECIPES: &[&str] = names!(
    "CMakeLists.txt setup.py meson.build Taskfile.yml gulpfile.js Gruntfile.js BUILD BUILD.bazel .npmrc .yarnrc.yml"
);

/// Prefixes of further names.
const BEGINNINGS: &[&str] = names!(
    "jest.config. jest.setup. vitest.config. vitest.workspace. vite.config. .mocharc karma.conf. playwright.config. \
    cypress.config. ava.config. jasmine."
);

/// Parts of `package.json` and `composer.json` that select no tests.
const OTHER_KEYS: &[&str] = names!(
    "name version description keywords author authors contributors license homepage bugs repository funding dependencies \
    devDependencies peerDependencies optionalDependencies bundledDependencies peerDependenciesMeta resolutions overrides \
    require require-dev packageManager engines files"
);

/// Words in the names of tables of `pyproject.toml` and `setup.cfg` that may select tests.
const TABLES: &[&str] = names!("pytest tox nox hatch pdm rye poe pixi scripts tasks unittest test");

/// Returns `true` if a file of this name may select tests.
#[must_use]
pub fn is_setup(name: &str) -> bool {
    is_in(FILES, name)
        || BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

/// Returns `true` if a file of this name may contain commands of a build, or select tests.
#[must_use]
pub fn is_recipe(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_build = name.starts_with("build.") || name.contains(".config.");
    is_setup(name)
        || is_build
        || is_in(RECIPES, name)
        || is_in(names!("mk cmake gradle gyp"), ending)
}

/// Returns the part of such a file that may select tests.
#[must_use]
pub fn choosing_part(name: &str, text: &str) -> String {
    match name {
        "package.json" | "composer.json" => of_manifest(text),
        "pyproject.toml" | "setup.cfg" => of_tables(text),
        _ => text.to_owned(),
    }
}

fn of_manifest(text: &str) -> String {
    let Ok(Value::Object(mut manifest)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    manifest.retain(|key, _| !is_in(OTHER_KEYS, key));
    format!("{:#}", Value::Object(manifest))
}

fn of_tables(text: &str) -> String {
    let mut part = String::new();
    let mut is_part = false;
    for line in text.lines() {
        if line.starts_with('[') {
            is_part = TABLES.iter().any(|word| line.contains(word));
        }
        if is_part {
            part.push_str(line);
            part.push('\n');
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_chooses_tests_counts() {
        for (name, expected) in [
            ("conftest.py", true),
            ("jest.config.mjs", true),
            (".mocharc.yml", true),
            ("package.json", true),
            ("test_a.py", false),
            ("package-lock.json", false),
            ("README.md", false),
        ] {
            assert_eq!(is_setup(name), expected, "{name}");
        }
        let one = r#"{"version": "1", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#;
        let two = r#"{"version": "2", "scripts": {"test": "jest"}, "dependencies": {"b": "1"}}"#;
        let three = r#"{"version": "1", "scripts": {"test": "true"}}"#;
        let part = |text| choosing_part("package.json", text);
        assert_eq!(part(one), part(two));
        assert_ne!(part(one), part(three));
        let part = |text| choosing_part("pyproject.toml", text);
        let plain = "[project]\nversion = \"1\"\n";
        assert_eq!(part(plain), part("[project]\nversion = \"2\"\n"));
        let narrowed = format!("{plain}[tool.pytest.ini_options]\naddopts = \"--deselect a\"\n");
        assert_ne!(part(plain), part(&narrowed));
    }
}
