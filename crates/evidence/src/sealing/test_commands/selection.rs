//! Parses the arguments of a test program for the tests that it selects.
//!
//! An argument that is not known to leave the selection alone is assumed to narrow it: then a run counts for fewer
//! tests than it had, never for more.

use shell::words::names;

use super::is_unknown;
use super::programs::{RUNNERS, TARGETS, is_in, is_one_of, is_test_target, name_of};

/// The selected tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The program, with its verb: `pytest`, `cargo test`, `make`.
    pub program: String,
    /// Set if the program finds the tests itself, so that without narrowing it runs them all.
    pub is_direct: bool,
    /// Set if it runs the tests of all packages below its folder: `./...`, `--workspace`.
    pub is_recursive: bool,
    /// Set if it ends at the first failure.
    pub stops_early: bool,
    /// Set if names are compared as a whole.
    pub is_exact: bool,
    /// Files, folders and names to run; empty for all.
    pub places: Vec<String>,
    /// Options that narrow the selection, all of which apply.
    pub filters: Vec<Filter>,
    /// Options that widen it.
    pub widened: Vec<String>,
    /// Set if a part of it is only known at run time.
    pub is_unclear: bool,
}

/// An option that narrows the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The option, such as `-k`.
    pub option: String,
    /// Its value; empty if it has none.
    pub value: String,
}

/// Programs that find tests themselves with a verb, like those of [`RUNNERS`].
const DIRECT: &[&str] = names!("cargo go node dotnet playwright deno bun swift");

/// Programs of [`RUNNERS`] that start the commands of their settings.
const INDIRECT: &[&str] = names!("tox nox");

/// Options that end a run at its first failure; `*` stands for the rest.
const STOPS: &str = "-x|--exitfirst|--maxfail*|--fail-fast|--failfast|-failfast|--bail*|--stop-on-*|--max-failures*|--max-fail*|--sw|--stepwise";

/// Options that leave the selection alone; `*` stands for the rest.
const NEUTRAL: &str = "-v|-vv|-vvv|-q|-qq|-s|-i|-w|-B|-ra|-rA|-rf|-j*|--tb*|--color*|--colour*|--colors*|--no-color|--no-colour|--no-header|--no-summary\
    |--cov*|--coverage*|-cover*|-covermode*|--durations*|--nocapture|--no-capture|--show-output|--quiet|--verbose*|--release|--no-fail-fast\
    |--locked|--offline|--frozen|--silent|--ci|--runInBand|--watch=false|--watchAll=false|--watch-all=false|--no-watch|--passWithNoTests\
    |--json*|--outputFile*|--output-on-failure|--output-junit*|--testdox|--no-coverage|--junitxml*|--junit-xml*|--log-junit*|-count=*\
    |-json|-timeout=*|-parallel=*|--no-build|--no-restore|--nologo|--batch-mode|--console=*|--stacktrace|--info|--no-daemon|--capture=*\
    |--disable-warnings|--disable-pytest-warnings|--reporter=*|--reporters=*|--test-reporter=*|--format=*|--maxWorkers=*|--workers=*\
    |--timeout=*|--retries=*|--jobs=*|--test-threads=*|--strict*|--forceExit|--detectOpenHandles|--force-color|--run|--buffer|-b|-V\
    |--message-format=*|-ntp|--no-transfer-progress|--parallel=*|--no-progress*|--verbosity=*";

/// Options that leave the selection alone and take the next word.
const NEUTRAL_VALUED: &str = "-j|--jobs|--test-threads|--reporter|--reporters|--test-reporter|--format|--maxWorkers|--workers|--timeout|-timeout\
    |--retries|--logger|-l|--verbosity|--durations|-o|--output|-W|--cov|-parallel|--parallel|-count|--target-dir|--junitxml";

/// Options that widen the selection.
const WIDENING: &str = "--workspace|--all|--all-features|--all-targets|--include-ignored|--run-ignored*|--features*|-tags*|-race|--runslow|--runxfail";

/// Options that narrow the selection and take the next word.
const NARROWING_VALUED: &str = "-k|-t|-g|-R|-L|-LE|-E|-run|--run|-skip|--skip|--filter|--grep|--grep-invert|--testNamePattern|--test-name-pattern\
    |--testPathPattern|--testPathPatterns|--bin|--example|--bench|--package|--exclude|--deselect|--ignore|--ignore-glob|--tests|--testsuite\
    |--group|--exclude-group|--project|--filterset|--manifest-path|--partition|-F|--features|--test-dir|-C|--prefix|--workspace-root|--tag|-m";

impl Selection {
    /// Parses the arguments of a test program.
    pub(super) fn of(program: &str, arguments: &[String]) -> Self {
        let name = name_of(program);
        let is_direct = is_in(DIRECT, name) || is_in(RUNNERS, name) && !is_in(INDIRECT, name);
        let mut selection = Self {
            program: name.to_owned(),
            is_direct,
            ..Self::default()
        };
        let mut words = arguments.iter().map(String::as_str);
        let mut verb_is_due = !is_in(RUNNERS, name) && !matches!(name, "node" | "ruby");
        while let Some(word) = words.next() {
            if is_unknown(word) {
                selection.is_unclear = true;
            } else if word.starts_with(['-', '+']) && word.len() > 1 {
                selection.option(name, word, &mut words);
            } else if std::mem::take(&mut verb_is_due) {
                selection.verb(name, word);
            } else {
                selection.place(name, word);
            }
        }
        selection
    }

    /// Adds variables that hold arguments, as filters.
    pub(super) fn add_variables(&mut self, variables: &[String]) {
        for variable in variables {
            self.narrow(variable, "");
        }
    }

    /// Evaluates the first word of a program that has verbs or targets.
    fn verb(&mut self, name: &str, word: &str) {
        match (name, word) {
            ("cargo", "t") => self.program.push_str(" test"),
            ("cargo" | "go", _) => {
                self.program.push(' ');
                self.program.push_str(word);
            }
            ("make" | "npm" | "yarn" | "pnpm", _) => self.target(word),
            _ if is_in(TARGETS, name) => self.target(word),
            _ => {}
        }
    }

    fn place(&mut self, name: &str, word: &str) {
        let takes_targets = is_in(TARGETS, name) || matches!(name, "npm" | "pnpm" | "yarn" | "bun");
        match word {
            "." | "./" => {}
            "./..." => self.is_recursive = true,
            "run" | "nextest" | "test" if matches!(name, "cargo" | "dotnet") => {}
            _ if takes_targets && (is_test_target(word) || is_in(TARGETS, name)) => {
                self.target(word);
            }
            _ => self.places.push(word.trim_start_matches("./").to_owned()),
        }
    }

    /// Evaluates a target: one that does not mean all tests by its name narrows the selection.
    fn target(&mut self, word: &str) {
        let all =
            "test|tests|check|verify|spec|t|tst|run|run-script|clean|build|all|install|package";
        if !is_one_of(all, word.trim_start_matches(':')) {
            self.narrow("target", word);
        }
    }

    fn option<'w>(&mut self, name: &str, word: &'w str, words: &mut impl Iterator<Item = &'w str>) {
        let is_neutral = word == "--"
            || (name, word) == ("node", "--test")
            || is_one_of(NEUTRAL, word)
            || name == "pytest" && word.starts_with("-n") && word.len() > 2;
        if is_one_of(STOPS, word) || (name, word) == ("unittest", "-f") {
            self.stops_early = true;
            if matches!(word, "--maxfail" | "--max-failures") {
                words.next();
            }
        } else if word == "--exact" {
            self.is_exact = true;
        } else if !takes_name(name, word)
            && (is_plugin_option(name, word) || is_one_of(NEUTRAL_VALUED, word))
        {
            words.next();
        } else if is_one_of(WIDENING, word) {
            self.widened.push(word.to_owned());
            self.is_recursive |= matches!(word, "--workspace" | "--all");
        } else if is_one_of(NARROWING_VALUED, word) && !is_neutral || takes_name(name, word) {
            let value = words.next().unwrap_or_default();
            self.is_unclear |= is_unknown(value);
            // A disabled plugin selects no tests.
            if !(word == "-p" && value.starts_with("no:")) {
                self.narrow(word, value);
            }
        } else if !is_neutral {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            self.narrow(option, value);
        }
    }

    fn narrow(&mut self, option: &str, value: &str) {
        let filter = Filter {
            option: option.to_owned(),
            value: value.to_owned(),
        };
        if !self.filters.contains(&filter) {
            self.filters.push(filter);
        }
    }
}

/// Returns `true` if an option is known to select tests, or to leave the selection alone.
pub(super) fn is_known(option: &str) -> bool {
    let with_value = format!("{option}=");
    let lists = [STOPS, NEUTRAL, NEUTRAL_VALUED, WIDENING, NARROWING_VALUED];
    let mut lists = lists.into_iter();
    lists.any(|list| is_one_of(list, option) || is_one_of(list, &with_value))
}

/// Returns `true` for `pytest -n 4`, `rspec -f d`: the same letters narrow elsewhere.
fn is_plugin_option(name: &str, word: &str) -> bool {
    match name {
        "pytest" | "py.test" => matches!(word, "-n" | "-r" | "--dist"),
        "rspec" => matches!(word, "-f" | "--seed" | "--order"),
        "mocha" => word == "-R",
        "ruby" => matches!(word, "-I" | "--seed"),
        _ => false,
    }
}

/// Returns `true` for `cargo test -p name`, `cargo test --test name`, `rspec -e name`, `ruby … -n name`.
fn takes_name(name: &str, word: &str) -> bool {
    match name {
        "cargo" => matches!(word, "-p" | "--test"),
        // A plugin, a setting or another root can select the tests.
        "pytest" | "py.test" => matches!(word, "-p" | "-o" | "-c" | "--rootdir"),
        "mocha" => matches!(word, "-r" | "--require"),
        "rspec" => matches!(word, "-e" | "--example" | "-r" | "--require"),
        "ruby" | "rails" | "rake" => matches!(word, "-n" | "--name"),
        _ => false,
    }
}
