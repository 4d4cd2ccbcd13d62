//! Arguments of a test command: paths, and options that load code or select the reporter.
//!
//! An option that is not known to be plain, with a value that may be a module, may load it.

use shell::words::names;

use super::beside::is_tool_folder;
use super::loaders::loads_code;
use super::programs::{TARGETS, is_in, is_one_of, is_wrapper, name_of};
use super::{UNKNOWN, selection};

/// A word of a test command that names something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The option or word in front of it.
    pub before: String,
    /// The named value.
    pub value: String,
    /// Set if it may be code that the program loads, or that writes its report.
    pub loads: bool,
    /// Set if it may be a path.
    pub is_path: bool,
    /// Set if a part of it is only known at run time.
    pub is_unclear: bool,
}

/// Options whose value is loaded, or executed in place of a program.
const LOADING: &str = "--require|--import|--loader|--experimental-loader|--env-file*|--preload|--node-options|--script-shell|--init-script\
    |--overlay|-overlay|--exec|-exec|-toolexec|-vettool|-javaagent*|--shell";

/// Options that select the reporter, and the reporters that are part of the runners.
const REPORTERS: &str =
    "--reporter|--reporters|--test-reporter|--format|--formatter|--logger|--runner|--testRunner";
const OWN_REPORTERS: &[&str] = names!(
    "spec tap dot dots junit lcov verbose default basic list min json json-stream nyan progress documentation doc html line \
    github github-actions xunit landing markdown console trx failures hanging-process pretty teamcity d p j h f summary \
    agent silent tree blob"
);

/// Options whose value is a file or folder that is written.
const WRITTEN: &str = "--junitxml|--junit-xml|--outputFile*|--output-file|--output-junit|--log-junit|--target-dir|--basetemp|--cov-report\
    |--coverageDirectory|--coverage-dir*|--test-reporter-destination|--report-log|--html|-coverprofile|--log-file|--json-report-file\
    |--cacheDirectory|--results-directory|--output";

/// Options whose value is compared with the names of tests.
const NAMED: &str = "-k|-g|-R|-L|-LE|-E|-e|-m|-run|--run|-skip|--skip|--filter|--grep|--grep-invert|--testNamePattern|--test-name-pattern\
    |--test-skip-pattern|--tests|--tag|--deselect|-p|--package|--bin|--example|--group|--exclude-group|-W|-n|-j|-X";

/// Options whose value is a number.
const COUNTS: &str = "--jobs|--workers|--maxWorkers|--test-threads|--parallel|--test-concurrency|--numprocesses|--timeout";

/// Options that name the folder of a project or of its tests.
const FOLDERS: &str = "-C|-f|--file|--directory|--prefix|--cwd|--dir|-s|--test-dir";

/// Plain options beside those that select tests.
const PLAIN: &str = "--no-*|--disable-*|--enable-*|--dist*|--log-*|--asyncio-mode|--import-mode|--hypothesis-*|--timeout*|--test*|--order|--seed\
    |--pool*|--max*|--experimental-*|--allow-*|--show*|--detect*|--update*|--watch*|--failed*|--last-*|--new-*|--random*|--top-level-directory\
    |--start-directory|--pattern|--locals|--durations|--root*|--config*|--dir|--project|--shard|--browser|--env|--full-trace|-W|-X|-e|-s|-t|-u\
    |-f|-c|-l|-m|-n|-I|-O|-P|-C|--profile|--lib|--bins|--doc|--ds|--only*|--changed*|--related*|--settings|--keepdb";

/// Programs that compile the tests: their options name no modules.
const COMPILED: &[&str] = names!(
    "cargo cargo-nextest go gotestsum ginkgo mvn mvnw gradle gradlew dotnet swift ctest zig stack cabal dune meson bazel bazelisk buck2 forge flutter dart"
);

/// Programs that run tests in a build folder.
const OF_BUILDS: &[&str] = names!("ctest meson ninja make gmake");

/// Returns `true` if a program runs tests in a build folder.
pub(super) fn tests_builds(program: &str) -> bool {
    is_in(OF_BUILDS, name_of(program))
}

/// Returns the arguments of a program that runs tests. `wrappers` stand in front of it.
pub(super) fn of(wrappers: &[String], program: &str, arguments: &[String]) -> Vec<Given> {
    let name = name_of(program);
    let mut all = Vec::new();
    let is_program = |word: &str| {
        let folder = word.rsplit_once('/').map(|(folder, _)| folder);
        is_wrapper(name_of(word)) && folder.is_none_or(is_tool_folder)
    };
    let of_wrappers = wrappers.iter().skip(1);
    // Variables are evaluated separately.
    let of_wrappers = of_wrappers
        .filter(|word| word.starts_with('-') || !word.contains('=') && !is_program(word));
    read("", of_wrappers, &mut all);
    read(name, arguments.iter(), &mut all);
    all
}

/// Parses arguments; `name` is the program, empty for wrappers.
fn read<'w>(name: &str, words: impl Iterator<Item = &'w String>, all: &mut Vec<Given>) {
    let mut before = name;
    for word in words {
        let is_option = word.starts_with('-') && word.len() > 1;
        let glued = glued(name, word);
        let (option, value) = match (is_option, glued) {
            (_, Some((option, value))) => (option, Some(value)),
            (true, None) => word
                .split_once('=')
                .map_or((word.as_str(), None), |(option, value)| {
                    (option, Some(value))
                }),
            (false, None) => (before, Some(word.as_str())),
        };
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let is_joined = is_option;
            all.push(Given {
                before: option.to_owned(),
                value: value.to_owned(),
                loads: loads(name, option, value),
                is_path: is_path(name, option, value, is_joined),
                is_unclear: value.contains(UNKNOWN) && !is_one_of(COUNTS, option),
            });
        }
        before = match word.as_str() {
            "--" => name,
            word => word,
        };
    }
}

/// Splits `-ppoison` and `-rpoison`.
fn glued<'w>(name: &str, word: &'w str) -> Option<(&'w str, &'w str)> {
    let (option, value) = word.split_at_checked(2)?;
    let loads = is_loading_letter(name, option) && !value.is_empty();
    loads.then_some((option, value))
}

/// Returns `true` for a short option that loads code in this program; elsewhere the letter means something else.
fn is_loading_letter(name: &str, option: &str) -> bool {
    match name {
        "pytest" | "py.test" => option == "-p",
        "node" | "mocha" | "rspec" | "ruby" | "bun" | "ava" | "tap" | "jasmine" => option == "-r",
        _ => false,
    }
}

fn loads(name: &str, option: &str, value: &str) -> bool {
    // A disabled plugin loads nothing.
    if value.starts_with("no:") || !option.starts_with('-') {
        return false;
    }
    let options = value.split_once('=').map_or(value, |(_, options)| options);
    let has_options = value.contains(' ') && options.trim_start().starts_with('-');
    if has_options && loads_code("NODE_OPTIONS", options) {
        return true;
    }
    if is_one_of(LOADING, option) || is_loading_letter(name, option) {
        return true;
    }
    if is_one_of(REPORTERS, option) {
        let mut names = value.split(',');
        return !names.all(|one| is_in(OWN_REPORTERS, one.split([':', ';']).next().unwrap_or(one)));
    }
    let is_plain = is_one_of(PLAIN, option)
        || is_one_of(WRITTEN, option)
        || is_one_of(NAMED, option)
        || selection::is_known(option);
    let may_load = !name.is_empty() && !is_in(COMPILED, name) && !is_in(TARGETS, name);
    may_load && !is_plain && is_module(value)
}

/// Returns `true` for a name that a runner may look up: not a number, a switch or a pattern.
fn is_module(value: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "@/._-".contains(one);
    let is_switch = matches!(
        value,
        "true" | "false" | "yes" | "no" | "auto" | "on" | "off" | "always" | "never"
    );
    let begins = value.starts_with(|one: char| one.is_ascii_alphabetic() || "@/._".contains(one));
    begins && !is_switch && value.chars().all(is_letter)
}

/// Returns `true` if the value may be a path: verbs, targets and names of tests are not paths, and written files are
/// not loaded.
fn is_path(name: &str, option: &str, value: &str, is_joined: bool) -> bool {
    if is_one_of(WRITTEN, option) {
        return false;
    }
    if is_one_of(FOLDERS, option) || value.contains('/') {
        return !is_one_of("-k|-g|-E|-run|--grep|--filter|-skip", option);
    }
    let takes_names =
        is_in(COMPILED, name) || is_in(TARGETS, name) || matches!(name, "npm" | "pnpm" | "yarn");
    (is_joined || !takes_names) && !is_one_of(NAMED, option)
}

#[cfg(test)]
mod tests {
    use crate::sealing::test_commands::TestCommand;

    fn loaded(command: &str) -> Vec<String> {
        let test = TestCommand::of(command, &[]).unwrap();
        let given = test.given.into_iter().filter(|given| given.loads);
        given.map(|given| given.value).collect()
    }

    #[test]
    fn options_that_load_code_or_choose_who_reports_are_told_from_others() {
        for (command, expected) in [
            ("node -r ./h.js --test", "./h.js"),
            ("node --test --require h", "h"),
            ("node --require=h --test", "h"),
            ("node --import tsx --test", "tsx"),
            ("node --env-file=e.log --test", "e.log"),
            ("node --test --test-reporter=./r.mjs", "./r.mjs"),
            ("node --test --test-reporter other", "other"),
            (
                "npm test --node-options='--require ./h.js'",
                "--require ./h.js",
            ),
            ("npm test -- --reporter fake", "fake"),
            ("pytest -p poison", "poison"),
            ("pytest -ppoison", "poison"),
            ("pytest -o addopts='-p poison'", "addopts=-p poison"),
            ("mocha -r ts-node/register", "ts-node/register"),
            ("rspec -rpoison", "poison"),
            ("npx jest --setupFiles h", "h"),
            ("go test -exec ./x ./...", "./x"),
            ("go test -toolexec=./x ./...", "./x"),
        ] {
            assert_eq!(loaded(command), [expected], "{command}");
        }
        for command in [
            "node --test --test-reporter=spec --test-concurrency=1 a.test.js",
            "pytest -q -x --tb=short -p no:cacheprovider -k a -n 4 --color=yes tests",
            "pytest -m 'not slow' -o log_cli=true --durations 5 -ra",
            "python3 -X dev -W error -m unittest discover -v -s tests -p 'test_*.py'",
            "cargo test --locked -p witness --lib name -- --test-threads=1 --nocapture",
            "cargo nextest run --profile ci -E 'test(x)'",
            "go test -run TestA -count=1 -timeout 30s ./...",
            "npm test -- --reporter spec --watch=false",
            "npx vitest run --pool=forks --reporter=verbose",
            "npx jest --runInBand -t adds --testTimeout=1000",
            "mvn -q -pl core test -Dtest=A",
            "./gradlew test --tests X",
            "rspec -f d --order rand",
            "uv run --with x pytest",
            "timeout -k 5 60 pytest",
        ] {
            assert_eq!(loaded(command), [""; 0], "{command}");
        }
    }
}
