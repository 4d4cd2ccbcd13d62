//! Recognises programs that run tests, by the words of one simple command, through the usual wrappers.

use oversight::lookup::base_name;
use shell::words::names;

/// Programs that only run tests.
pub(super) const RUNNERS: &[&str] = names!(
    "pytest py.test tox nox nose2 nosetests jest vitest mocha ava tap jasmine karma wtr elm-test \
    gotestsum ginkgo ctest phpunit pest paratest rspec bats prove busted unittest cargo-nextest stestr trial"
);

/// Programs with the first words that make them run tests; `|` separates alternatives, `*` ends a prefix.
const VERBS: &[(&str, &str)] = &[
    ("cargo", "test|t|nextest|llvm-cov|tarpaulin|hack"),
    ("go", "test"),
    ("npm", "test|t|tst"),
    ("pnpm", "test|t|test:*"),
    ("yarn", "test|test:*"),
    ("bun", "test"),
    ("deno", "test"),
    ("ng", "test"),
    ("nx", "test"),
    ("turbo", "test"),
    ("playwright", "test"),
    ("cypress", "run"),
    ("react-scripts", "test"),
    ("hardhat", "test"),
    ("forge", "test"),
    ("anchor", "test"),
    ("dotnet", "test"),
    ("swift", "test"),
    ("flutter", "test"),
    ("dart", "test"),
    ("mix", "test"),
    ("stack", "test"),
    ("cabal", "test"),
    ("zig", "test"),
    ("dune", "test|runtest"),
    ("crystal", "spec"),
    ("lein", "test"),
    ("rebar3", "eunit|ct"),
    ("rails", "test|spec"),
    ("composer", "test"),
    ("meson", "test"),
    ("bazel", "test"),
    ("bazelisk", "test"),
    ("buck2", "test"),
    ("conda", "test"),
    ("hatch", "test"),
    ("rye", "test"),
];

/// Programs with named targets, any of which may be tests.
pub(super) const TARGETS: &[&str] = names!(
    "make gmake just task rake ninja invoke inv mage mvn mvnw gradle gradlew sbt ant xcodebuild \
    earthly doit poe pants"
);

/// Pairs of program and first word after which another command is executed.
const RUN_BY: &[(&str, &str)] = &[
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("rye", "run"),
    ("hatch", "run"),
    ("conda", "run"),
    ("bundle", "exec"),
    ("npm", "exec|x"),
    ("pnpm", "exec|dlx"),
    ("yarn", "exec|dlx|run"),
    ("bun", "x"),
    ("mise", "exec|x"),
    ("rtx", "exec|x"),
    ("asdf", "exec"),
    ("direnv", "exec"),
    ("cargo", "xtask"),
    ("pixi", "run"),
    ("pipx", "run"),
];

/// Programs with the first words by which they run a command on another machine or in another file system; `*` for any.
const ELSEWHERE: &[(&str, &str)] = &[
    ("docker", "exec|run|compose|container"),
    ("docker-compose", "exec|run"),
    ("podman", "exec|run|compose|container"),
    ("nerdctl", "exec|run|compose"),
    ("kubectl", "exec|run|debug"),
    ("oc", "exec|run|rsh"),
    ("lxc", "exec"),
    ("incus", "exec"),
    ("singularity", "exec|run"),
    ("apptainer", "exec|run"),
    ("devcontainer", "exec"),
    ("flatpak", "run"),
    ("toolbox", "run"),
    ("distrobox", "enter"),
    ("vagrant", "ssh"),
    ("heroku", "run"),
    ("fly", "ssh"),
    ("flyctl", "ssh"),
    ("gh", "codespace|cs"),
    ("gcloud", "compute"),
    ("ssh", "*"),
    ("wsl", "*"),
    ("chroot", "*"),
    ("nsenter", "*"),
];

/// Arguments of such a program that are checked.
const MAX_REMOTE: usize = 64;

/// Wrappers: after their options comes the command that is executed.
const WRAPPERS: &[&str] = names!(
    "env sudo nice time command exec nohup stdbuf xvfb-run ionice timeout gtimeout npx bunx uvx pnpx \
    xargs setsid unbuffer caffeinate builtin doas c8 nyc cross-env"
);

/// Shells that execute a script or a string.
pub(super) const SHELLS: &[&str] = names!("bash sh zsh dash ksh");

/// Options after which no test runs; `*` ends a prefix.
const IDLE: &str =
    "--help|--version|--co|--collect*|--no-run|--list*|-list*|--dry*|--setup-*|--show-only*";

/// A simple command that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tested<'w> {
    /// The program that runs them, by its path and its arguments.
    Program(&'w str, &'w [String]),
    /// Options of a shell and its command string.
    Text(&'w [String], &'w str),
    /// They run on another tree: on another machine or in a container.
    Elsewhere,
}

/// Returns the part of the words that runs tests, without wrappers. The command string of a shell is not parsed.
pub(super) fn tested<'w>(words: &'w [String], own: &[Vec<&str>]) -> Option<Tested<'w>> {
    let mut words = words;
    // Every round takes at least one word away.
    while let Some((program, arguments)) = words.split_first() {
        if is_own(words, own) {
            return Some(Tested::Program(program, arguments));
        }
        let name = name_of(program);
        if tests(program, name, arguments) {
            let is_idle = arguments.iter().any(|word| is_one_of(IDLE, word));
            return (!is_idle).then_some(Tested::Program(program, arguments));
        }
        if is_in(SHELLS, name) {
            return shell(program, arguments);
        }
        if is_elsewhere(name, arguments) {
            return runs_tests_within(arguments, own).then_some(Tested::Elsewhere);
        }
        words = inner(name, arguments)?;
    }
    None
}

/// Returns the command behind all wrappers, and `true` if one of them lets it outlive its shell.
pub(super) fn behind(words: &[String]) -> (&[String], bool) {
    let (mut words, mut stays) = (words, false);
    while let Some((program, arguments)) = words.split_first() {
        let name = name_of(program);
        stays |= matches!(name, "nohup" | "setsid");
        match inner(name, arguments) {
            Some(rest) if !rest.is_empty() => words = rest,
            _ => break,
        }
    }
    (words, stays)
}

/// Returns `true` if a program takes targets of the project, or only runs tests.
pub(super) fn is_target(name: &str) -> bool {
    is_in(TARGETS, name) || is_in(RUNNERS, name)
}

/// Returns `true` if a program runs its arguments on another machine or in another file system.
fn is_elsewhere(name: &str, arguments: &[String]) -> bool {
    let first = after_options(arguments).first().map_or("", String::as_str);
    ELSEWHERE
        .iter()
        .any(|(program, verbs)| *program == name && is_one_of(verbs, first))
}

/// Returns `true` if the words from any place on, or a string among them, run tests. The options of the program in
/// front are unknown.
fn runs_tests_within(words: &[String], own: &[Vec<&str>]) -> bool {
    let words = words.get(..MAX_REMOTE).unwrap_or(words);
    let is_command = |from: usize| {
        let mut rest = words.get(from..).unwrap_or_default();
        while let Some((program, arguments)) = rest.split_first() {
            let name = name_of(program);
            if is_own(rest, own) || tests(program, name, arguments) {
                return true;
            }
            rest = inner(name, arguments).unwrap_or_default();
        }
        false
    };
    let is_text = |word: &String| word.contains(' ') && super::credit::read(word, own).is_some();
    words.iter().any(is_text) || (0..words.len()).any(is_command)
}

fn shell<'w>(program: &'w str, arguments: &'w [String]) -> Option<Tested<'w>> {
    let takes_text =
        |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    if let Some(option) = arguments.iter().position(|word| takes_text(&word)) {
        let options = arguments.get(..=option)?;
        let text = arguments.get(option + 1)?;
        return Some(Tested::Text(options, text));
    }
    let script = arguments.iter().find(|word| !word.starts_with('-'))?;
    is_test_script(script).then_some(Tested::Program(program, arguments))
}

/// Returns `true` for a program that executes its arguments.
pub(super) fn is_wrapper(name: &str) -> bool {
    is_in(WRAPPERS, name) || is_python(name) || RUN_BY.iter().any(|(program, _)| *program == name)
}

/// Returns the command that a wrapper starts.
fn inner<'w>(name: &str, arguments: &'w [String]) -> Option<&'w [String]> {
    if is_in(WRAPPERS, name) {
        let rest = after_options(arguments);
        return match name {
            // The duration is the first argument.
            "timeout" | "gtimeout" => rest.get(1..),
            _ => Some(rest),
        };
    }
    if is_python(name) {
        return module(arguments);
    }
    if name == "coverage" {
        return module(arguments.strip_prefix(&["run".to_owned()])?);
    }
    let rest = after_options(arguments);
    let (verb, rest) = rest.split_first()?;
    let runs = RUN_BY
        .iter()
        .any(|(program, verbs)| *program == name && is_one_of(verbs, verb));
    if !runs {
        return None;
    }
    let rest = after_options(rest);
    match name {
        // The directory is the first argument.
        "direnv" => rest.get(1..),
        _ => Some(rest),
    }
}

/// Returns the words from the module on that `-m` names. A script in front of it would run instead.
fn module(arguments: &[String]) -> Option<&[String]> {
    options(arguments).find(|option| *option == "-m")?;
    let place = arguments.iter().position(|word| word == "-m")?;
    arguments.get(place + 1..)
}

/// Returns the options in front of the first operand.
fn options(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut words = arguments.iter().map(String::as_str);
    std::iter::from_fn(move || {
        let word = words.next().filter(|word| word.starts_with('-'))?;
        if is_in(OPTIONS_WITH_VALUE, word) {
            words.next();
        }
        Some(word)
    })
}

/// Options of interpreters that take the next word.
const OPTIONS_WITH_VALUE: &[&str] = names!(
    "-X -W -r --require --import --loader --experimental-loader --conditions -C --env-file --source --rcfile --omit \
    --include --data-file --context --concurrency"
);

/// Returns the words after options, their plainest values and assignments.
pub(super) fn after_options(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let is_option = word.starts_with('-') && word.len() > 1;
        let is_assignment = word.contains('=') && !word.starts_with(['/', '.']);
        if is_in(VALUED, word) {
            rest = after.get(1..).unwrap_or_default();
        } else if is_option || is_assignment || word.starts_with('+') {
            rest = after;
            if word == "--" {
                break;
            }
        } else {
            break;
        }
    }
    rest
}

/// Options that take the next word.
pub(super) const VALUED: &[&str] = names!(
    "--prefix --workspace -w --filter -F -C --dir --cwd --directory --manifest-path --package -p \
    --with --from --extra --group --python --env -e -u --user --chdir -n --name -s --signal -k -f --file --color \
    --workdir --max-args -I --project"
);

fn tests(program: &str, name: &str, arguments: &[String]) -> bool {
    if is_in(RUNNERS, name) || is_test_script(program) {
        return true;
    }
    let rest = after_options(arguments);
    let first = rest.first().map_or("", String::as_str);
    let second = after_options(rest.get(1..).unwrap_or_default());
    let second = second.first().map_or("", String::as_str);
    let by_verb = VERBS
        .iter()
        .any(|(program, verbs)| *program == name && is_one_of(verbs, first));
    if by_verb {
        return true;
    }
    match name {
        "npm" | "pnpm" | "yarn" | "bun" | "turbo" | "lerna" | "nx" | "deno" | "composer" => {
            match first {
                "run" | "run-script" | "task" => is_test_target(second),
                "run-many" | "affected" | "workspaces" => {
                    rest.iter().skip(1).any(|word| is_test_target(word))
                }
                _ => false,
            }
        }
        "cargo" => {
            (first == "xtask" || first == "miri" || first == "insta") && is_test_target(second)
        }
        _ if is_python(name) => {
            base_name(first) == "manage.py" && second == "test"
                || is_test_script(first)
                || is_test_file(first)
        }
        "ruby" => rest.iter().any(|word| is_test_file(word)),
        "manage.py" => first == "test",
        // A script of the project.
        "hatch" | "pdm" | "rye" | "pixi" => {
            first == "run" && is_test_target(second) && !is_in(RUNNERS, second)
        }
        "php" => {
            base_name(first) == "artisan" && second == "test" || is_in(RUNNERS, base_name(first))
        }
        "node" => options(arguments).any(|option| option == "--test"),
        "zig" => first == "build" && second == "test",
        _ => is_in(TARGETS, name) && arguments.iter().any(|word| is_test_target(word)),
    }
}

/// Returns `true` for `test`, `tests`, `check`, `test:unit`, `test-all`, `unit-test`, `:app:test`, `integrationTest`.
pub(super) fn is_test_target(word: &str) -> bool {
    if word.starts_with('-') {
        return false;
    }
    let target = word.rsplit(':').next().unwrap_or(word);
    let names = [
        "test", "tests", "check", "spec", "verify", "unittest", "testonly", "pytest",
    ];
    let is_name = |text: &str| {
        let text = text.to_ascii_lowercase();
        names.contains(&text.as_str())
    };
    is_name(target)
        || word.starts_with("test:")
        || target
            .split(['-', '_', '.', ' '])
            .any(|part| part == "test" || part == "tests")
        || target.ends_with("Test")
        || target.ends_with("Tests")
}

/// Returns `true` for a script that runs tests by its name. The `test` of the shell is not one.
pub(super) fn is_test_script(program: &str) -> bool {
    let name = base_name(program);
    let stem = name
        .strip_suffix(".sh")
        .or_else(|| name.strip_suffix(".py"))
        .or_else(|| name.strip_suffix(".bash"))
        .unwrap_or(name);
    let has_place = program.contains('/') || stem != name;
    let names = [
        "test",
        "tests",
        "run-tests",
        "run_tests",
        "runtests",
        "run-test",
        "run_test",
        "test-all",
        "test_all",
    ];
    has_place && names.contains(&stem)
}

/// Returns `true` for a file that runs its own tests when executed: `test_a.py`, `a_test.rb`.
fn is_test_file(path: &str) -> bool {
    let stem = base_name(path).rsplit_once('.');
    stem.is_some_and(|(stem, ending)| {
        matches!(ending, "py" | "rb") && (stem.starts_with("test_") || stem.ends_with("_test"))
    })
}

/// Returns `true` for a Python interpreter, with a version or without.
pub(super) fn is_python(name: &str) -> bool {
    let version = name
        .strip_prefix("python")
        .unwrap_or(if name == "py" { "" } else { "-" });
    version
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns the name of a program without directory and extension.
pub(super) fn name_of(program: &str) -> &str {
    let name = base_name(program);
    [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

/// Returns `true` if the words begin like a command of the user.
pub(super) fn is_own(words: &[String], own: &[Vec<&str>]) -> bool {
    let begins = |own: &Vec<&str>| {
        words.len() >= own.len() && words.iter().zip(own).all(|(word, own)| word == own)
    };
    own.iter().any(begins)
}

pub(super) fn is_one_of(verbs: &str, word: &str) -> bool {
    verbs.split('|').any(|verb| match verb.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => verb == word,
    })
}

pub(super) fn is_in(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}
