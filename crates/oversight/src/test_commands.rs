//! Whether a command runs tests, so that what it prints is evidence.
//!
//! A look at the words of every simple command in it, through the usual wrappers. Nothing depends on the answer but what
//! is kept: a test that is not recognised counts as not run, so [`runs_tests`] takes the user's own commands as well.

use crate::lookup::base_name;
use crate::shell::ir::{Argument, Command, Kind, Piece, Script, Word};
use crate::shell::lower;
use crate::words::names;

/// Texts inside texts, as in `bash -c "sh -c …"`, that are followed.
const MAX_DEPTH: usize = 4;

/// Simple commands of one text that are looked at.
const MAX_COMMANDS: usize = 500;

/// Stands for a word that only a run would know.
const UNKNOWN: &str = "\u{1}";

/// Programs that only run tests.
const RUNNERS: &[&str] = names!(
    "pytest py.test tox nox nose2 nosetests jest vitest mocha ava tap jasmine karma wtr elm-test \
    gotestsum ginkgo ctest phpunit pest paratest rspec bats prove busted unittest cargo-nextest stestr trial"
);

/// Programs with the first words that make them run tests; `|` separates alternatives, `*` ends a beginning.
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
];

/// Programs that are given targets by name, any of which may be tests.
const TARGETS: &[&str] = names!(
    "make gmake just task rake ninja invoke inv mage mvn mvnw gradle gradlew sbt ant xcodebuild \
    earthly doit poe pants"
);

/// `name first-word`: what follows is the command that really runs.
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
    ("docker", "exec|run"),
    ("docker-compose", "exec|run"),
    ("podman", "exec|run"),
];

/// What follows their options is the command that really runs.
const WRAPPERS: &[&str] = names!(
    "env sudo nice time command exec nohup stdbuf xvfb-run ionice timeout gtimeout npx bunx uvx pnpx \
    xargs setsid unbuffer caffeinate builtin doas"
);

/// Shells that read a script or a text.
const SHELLS: &[&str] = names!("bash sh zsh dash ksh");

/// Options after which no test runs.
const IDLE: &[&str] =
    names!("--help --version --collect-only --co --no-run --list --listTests --dry-run");

/// Whether `command`, as a shell would read it, runs tests. `own` are commands of the user by their first words.
#[must_use]
pub fn runs_tests(command: &str, own: &[String]) -> bool {
    let own: Vec<Vec<&str>> = own
        .iter()
        .map(|one| one.split_whitespace().collect())
        .filter(|words: &Vec<&str>| !words.is_empty())
        .collect();
    text_runs_tests(command, &own, 0)
}

fn text_runs_tests(text: &str, own: &[Vec<&str>], depth: usize) -> bool {
    if depth >= MAX_DEPTH {
        return false;
    }
    let Ok(script) = lower::program(text) else {
        return false;
    };
    let mut commands = Vec::new();
    collect(&script, &mut commands);
    commands
        .iter()
        .any(|words| words_run_tests(words, own, depth))
}

/// The words of every simple command, but for those whose output is taken as a word.
fn collect(script: &Script, found: &mut Vec<Vec<String>>) {
    let mut scripts = vec![script];
    let mut commands: Vec<&Command> = Vec::new();
    while found.len() < MAX_COMMANDS {
        if let Some(command) = commands.pop() {
            match &command.kind {
                Kind::Simple { words, .. } => found.push(words.iter().map(plain).collect()),
                Kind::Group(inner) | Kind::Subshell(inner) => scripts.push(inner),
                Kind::If { arms, otherwise } => {
                    scripts.extend(arms.iter().flat_map(|(condition, body)| [condition, body]));
                    scripts.extend(otherwise);
                }
                Kind::Loop {
                    condition, body, ..
                } => scripts.extend([condition, body]),
                Kind::For { body, .. } | Kind::ArithmeticFor { body, .. } => scripts.push(body),
                Kind::Case { arms, .. } => scripts.extend(arms.iter().map(|arm| &arm.body)),
                Kind::Function { body, .. } => commands.push(body),
                Kind::Coprocess { body, .. } => commands.push(body),
                Kind::Test(_) | Kind::Arithmetic(_) => {}
            }
        } else if let Some(script) = scripts.pop() {
            let pipelines = script.items.iter().flat_map(|item| &item.pipelines);
            commands.extend(pipelines.flat_map(|(_, pipeline)| &pipeline.commands));
        } else {
            return;
        }
    }
}

fn plain(argument: &Argument) -> String {
    match argument {
        Argument::Word(word) => plain_word(word),
        Argument::Assignment(assignment) => format!("{}={UNKNOWN}", assignment.name),
        Argument::Process { .. } => UNKNOWN.to_owned(),
    }
}

fn plain_word(word: &Word) -> String {
    let mut text = String::new();
    let mut pieces: Vec<&Piece> = word.pieces.iter().rev().collect();
    while let Some(piece) = pieces.pop() {
        match piece {
            Piece::Text(part) | Piece::Quoted(part) => text.push_str(part),
            Piece::Double(inner) => pieces.extend(inner.iter().rev()),
            Piece::Tilde(_)
            | Piece::Parameter(_)
            | Piece::Command(_)
            | Piece::Arithmetic(_)
            | Piece::Opaque => text.push_str(UNKNOWN),
        }
    }
    text
}

fn words_run_tests(words: &[String], own: &[Vec<&str>], depth: usize) -> bool {
    let mut words = words;
    // Every round takes at least one word away.
    while let Some((program, arguments)) = words.split_first() {
        if own.iter().any(|own| begins_with(words, own)) {
            return true;
        }
        let name = name_of(program);
        if tests(program, name, arguments) {
            return !arguments.iter().any(|word| is_in(IDLE, word));
        }
        if is_in(SHELLS, name) {
            return shell_runs_tests(arguments, own, depth);
        }
        match inner(name, arguments) {
            Some(inner) => words = inner,
            None => return false,
        }
    }
    false
}

fn shell_runs_tests(arguments: &[String], own: &[Vec<&str>], depth: usize) -> bool {
    let takes_text =
        |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    if let Some(option) = arguments.iter().position(|word| takes_text(&word)) {
        let text = arguments.get(option + 1);
        return text.is_some_and(|text| text_runs_tests(text, own, depth + 1));
    }
    let script = arguments.iter().find(|word| !word.starts_with('-'));
    script.is_some_and(|script| is_test_script(script))
}

/// The command that a wrapper starts.
fn inner<'w>(name: &str, arguments: &'w [String]) -> Option<&'w [String]> {
    if is_in(WRAPPERS, name) {
        let rest = after_options(arguments);
        return match name {
            // The time comes first.
            "timeout" | "gtimeout" => rest.get(1..),
            _ => Some(rest),
        };
    }
    if matches!(name, "python" | "python3" | "py") {
        let module = arguments.iter().position(|word| word == "-m")?;
        return arguments.get(module + 1..);
    }
    if matches!(name, "docker" | "podman") && arguments.first()? == "compose" {
        return inner("docker-compose", arguments.get(1..)?);
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
        // The container, the service or the directory comes first.
        "docker" | "docker-compose" | "podman" | "direnv" => rest.get(1..),
        _ => Some(rest),
    }
}

/// What follows options, their plainest values and assignments.
fn after_options(words: &[String]) -> &[String] {
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
const VALUED: &[&str] = names!(
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
    let second = rest.get(1).map_or("", String::as_str);
    let by_verb = VERBS
        .iter()
        .any(|(program, verbs)| *program == name && is_one_of(verbs, first));
    if by_verb {
        return true;
    }
    match name {
        "npm" | "pnpm" | "yarn" | "bun" | "turbo" | "lerna" | "nx" | "deno" | "composer" => {
            matches!(
                first,
                "run" | "run-script" | "run-many" | "affected" | "task" | "workspaces"
            ) && rest.iter().skip(1).any(|word| is_test_target(word))
        }
        "cargo" => {
            (first == "xtask" || first == "miri" || first == "insta") && is_test_target(second)
        }
        "python" | "python3" | "py" => {
            base_name(first) == "manage.py" && second == "test" || is_test_script(first)
        }
        "manage.py" => first == "test",
        "php" => {
            base_name(first) == "artisan" && second == "test" || is_in(RUNNERS, base_name(first))
        }
        "node" => arguments.iter().any(|word| word == "--test"),
        "zig" => first == "build" && second == "test",
        _ => is_in(TARGETS, name) && arguments.iter().any(|word| is_test_target(word)),
    }
}

/// `test`, `tests`, `check`, `test:unit`, `test-all`, `unit-test`, `:app:test`, `integrationTest`.
fn is_test_target(word: &str) -> bool {
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

/// A script whose name says that it runs tests. The `test` of the shell is none.
fn is_test_script(program: &str) -> bool {
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

/// The name of a program without directory and ending.
fn name_of(program: &str) -> &str {
    let name = base_name(program);
    [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

fn begins_with(words: &[String], own: &[&str]) -> bool {
    words.len() >= own.len() && words.iter().zip(own).all(|(word, own)| word == own)
}

fn is_one_of(verbs: &str, word: &str) -> bool {
    verbs.split('|').any(|verb| match verb.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => verb == word,
    })
}

fn is_in(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: bool, commands: &[&str]) {
        let own = ["ci/everything --fast".to_owned()];
        for command in commands {
            assert_eq!(runs_tests(command, &own), expected, "{command}");
        }
    }

    #[test]
    fn runners_are_known_by_name() {
        check(
            true,
            &[
                "pytest",
                "pytest -x tests/test_a.py 2>&1 | tail -20",
                "cd app && npx vitest run",
                "jest --ci",
                "cargo test",
                "cargo +nightly test -p witness",
                "cargo nextest run -p host -E 'test(x)'",
                "cargo test 2>&1 | tee log; echo done",
                "go test ./...",
                "npm test",
                "npm run test:unit -- --watch=false",
                "npm --prefix web test",
                "pnpm --filter web test",
                "pnpm -r run test",
                "yarn test",
                "yarn run jest",
                "bun test",
                "make test",
                "make -j4 check",
                "just test-all",
                "mvn -q verify",
                "./gradlew :app:test",
                "./gradlew integrationTest",
                "dotnet test",
                "bundle exec rspec",
                "node --test",
                "python manage.py test",
                "zig build test",
            ],
        );
    }

    #[test]
    fn wrappers_are_looked_through() {
        check(
            true,
            &[
                "RUST_LOG=debug cargo test",
                "env A=1 B=2 pytest",
                "timeout 60 pytest",
                "timeout -k 5 60 cargo test",
                "python -m pytest -q",
                "python3 -m unittest discover",
                "uv run pytest",
                "uv run --with x pytest",
                "poetry run python -m pytest",
                "bash -lc 'cd x && cargo test'",
                "sudo -u me sh -c \"npm test\"",
                "docker compose exec web pytest",
                "time make test",
                "if pytest; then echo ok; fi",
                "(cd a; go test ./...)",
                "for d in a b; do cargo test -p $d; done",
            ],
        );
    }

    #[test]
    fn scripts_count_by_their_name() {
        check(
            true,
            &[
                "./test.sh",
                "bash scripts/run-tests.sh -v",
                "sh test.sh",
                "ci/everything --fast now",
            ],
        );
    }

    #[test]
    fn other_commands_are_no_tests() {
        check(
            false,
            &[
                "",
                "test -f Cargo.toml",
                "[ -f x ] && echo test",
                "echo cargo test",
                "echo 'pytest passed: 3 passed'",
                "git commit -m 'make test pass'",
                "cargo build",
                "cargo check",
                "cargo test --no-run",
                "pytest --collect-only",
                "pytest --version",
                "grep -rn pytest .",
                "cat tests/test_a.py",
                "ls test",
                "npm install jest",
                "npm run build",
                "pip install pytest",
                "make build",
                "mkdir test",
                "x=$(cargo test)",
                "ci/everything",
                "cat <<'E'\ncargo test\nE",
                "# cargo test",
                "unclosed ' quote cargo test",
            ],
        );
    }
}
