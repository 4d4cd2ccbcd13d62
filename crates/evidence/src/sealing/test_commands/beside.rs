//! Programs that may run beside the tests in a command without adding text of their own to the output.

use oversight::lookup::base_name;
use shell::ir::{
    Argument, Assigned, Assignment, Command, Item, Kind, Operation, Piece, Script, Subject, Word,
};
use shell::words::names;

use super::programs::{self, after_options, is_in, is_one_of, is_python, name_of};
use super::{Credit, NUMBER, UNKNOWN, is_unknown, plain_words};

/// Programs that print nothing, or only a few words of their own.
const QUIET: &[&str] = names!(
    "cd pushd popd export set unset mkdir rm rmdir cp mv touch ln chmod sleep ulimit umask wait test [ pwd date"
);

/// Programs that build, install and check, with their first words; their output is their own and the project's.
const BUILDERS: &[(&str, &str)] = &[
    ("cargo", "build|b|check|c|clippy|fmt|clean|fetch|update"),
    ("go", "build|vet|mod|fmt|generate|install"),
    ("npm", "ci|install|i|run|run-script"),
    ("pnpm", "install|i|run"),
    ("yarn", "install|run"),
    ("bun", "install|i|run"),
    ("pip", "install"),
    ("pip3", "install"),
    ("uv", "sync|pip|venv|lock"),
    ("poetry", "install|lock"),
    ("bundle", "install"),
    ("composer", "install"),
    ("dotnet", "build|restore"),
    (
        "git",
        "add|commit|stash|checkout|switch|restore|reset|fetch|pull|push|status|clean",
    ),
    ("coverage", "report|xml|html|json|lcov|combine|erase"),
];

/// Programs that only build or check, with any arguments.
const CHECKERS: &[&str] = names!(
    "make gmake cmake ninja tsc ruff black mypy flake8 isort eslint prettier gofmt rustfmt mvn mvnw gradle gradlew"
);

/// Programs that build by the project's files.
const MAKERS: &[&str] = names!(
    "venv virtualenv webpack rollup esbuild vite swc babel gulp grunt parcel turbo nx lerna next nuxt ng protoc buf meson \
    bazel bazelisk buck2 maturin cython sbt ant stack cabal dune mix zig flutter swift javac rustc gcc g++ cc clang clang++ \
    msbuild pre-commit"
);

/// Verbs of builders that print text of the command line or start programs of the project.
const MORE_VERBS: &[(&str, &str)] = &[
    (
        "cargo",
        "run|r|doc|bench|add|remove|rm|install|vendor|tree|metadata|nextest|test|t",
    ),
    ("go", "run|get|work|test|tool"),
    (
        "npm",
        "rebuild|prune|dedupe|uninstall|add|audit|ls|outdated",
    ),
    ("pnpm", "add|rebuild|prune|remove|build"),
    ("yarn", "add|remove|build|"),
    ("bun", "add|remove|build"),
    ("pip", "uninstall|list|show|freeze|check"),
    ("pip3", "uninstall|list|show|freeze|check"),
    ("uv", "add|remove|build"),
    ("poetry", "add|remove|build|update"),
    ("bundle", "update|add"),
    ("composer", "require|update|dump-autoload"),
    ("dotnet", "run|publish|add|clean|tool|ef"),
];

/// Files below the user's home that installers ask their users to source.
const ENVIRONMENTS: [&str; 3] = ["/.cargo/env", "/.nvm/nvm.sh", "/.asdf/asdf.sh"];

/// Programs whose output may be used as an argument.
const QUESTIONS: &[&str] = names!("nproc git pwd dirname basename find ls which getconf seq");

/// Folders in which tools are installed.
const TOOL_FOLDERS: &[&str] = names!("bin .bin sbin shims Scripts");
/// Returns `true` if a program is looked up by its name or is in a tool folder. A runner's name elsewhere is a file
/// that any program may have written.
pub(super) fn is_tool(program: &str) -> bool {
    program
        .rsplit_once('/')
        .is_none_or(|(folder, _)| is_tool_folder(folder))
}

/// Returns `true` if a program is a script of the project, by its name and place.
pub(super) fn is_of_project(program: &str) -> bool {
    let is_below = !program.starts_with(['/', '~', '\u{1}']) && !program.contains("..");
    let is_known = programs::is_test_script(program)
        || matches!(name_of(program), "gradlew" | "mvnw" | "manage.py");
    is_below && is_known
}

/// Returns `true` for a folder in which tools are installed.
pub(super) fn is_tool_folder(folder: &str) -> bool {
    is_in(TOOL_FOLDERS, base_name(folder))
}
/// Returns `true` if a command that is not a test cannot print text from the command line.
pub(super) fn is_harmless(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return true;
    };
    let name = name_of(program);
    let first = after_options(arguments).first().map_or("", String::as_str);
    match name {
        "echo" | "printf" => is_marker(arguments),
        "true" | ":" | "false" => true,
        "env" => false,
        _ => {
            is_in(QUIET, name)
                || is_in(CHECKERS, name)
                || BUILDERS
                    .iter()
                    .any(|(program, verbs)| *program == name && is_one_of(verbs, first))
        }
    }
}

/// Returns `true` if a program builds, installs, checks or tests the project: its output comes from there.
pub(super) fn is_builder(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = name_of(program);
    let has = |options: &str| arguments.iter().any(|word| is_one_of(options, word));
    match name {
        "git" => false,
        // These copy, remove, or run their arguments.
        "cmake" => !has("-E|-P*"),
        "make" | "gmake" => !has("--eval*|-E*"),
        _ if is_in(CHECKERS, name) || is_in(MAKERS, name) || programs::is_target(name) => true,
        _ if is_python(name) || matches!(name, "php" | "ruby") => {
            let script = arguments.first().map_or("", |word| base_name(word));
            matches!(script, "manage.py" | "setup.py" | "artisan" | "rails")
        }
        _ => {
            let verb = after_options(arguments).first().map_or("", String::as_str);
            let mut all = BUILDERS.iter().chain(MORE_VERBS);
            all.any(|(program, verbs)| *program == name && is_one_of(verbs, verb))
        }
    }
}

/// Returns `true` if a builder installs and runs no code of the project except the hooks that its settings name.
pub(super) fn is_installer(words: &[String]) -> bool {
    let (program, arguments) = words
        .split_first()
        .map_or(("", words), |(one, rest)| (one, rest));
    let verb = after_options(arguments).first().map_or("", String::as_str);
    let is_known = is_one_of(
        "install|i|ci|add|sync|fetch|update|lock|restore|mod|venv|pip|get",
        verb,
    );
    is_known && !is_in(CHECKERS, name_of(program))
        || is_in(&["venv", "virtualenv"], name_of(program))
}

/// Returns `Some(true)` if a sourced script was written by an installer: the `activate` of an environment, or a file
/// below the user's home. `None` if nothing is sourced. Any other script may define functions, aliases and `PATH`.
pub(super) fn sourced(words: &[Argument]) -> Option<bool> {
    let plain = plain_words(words);
    if !matches!(plain.first()?.as_str(), "source" | ".") {
        return None;
    }
    let path = plain.get(1).map_or("", String::as_str);
    let is_activate = path.rsplit_once('/').is_some_and(|(folder, name)| {
        name == "activate" && is_tool_folder(folder) && !is_unknown(path)
    });
    let is_home = match words.get(1) {
        Some(Argument::Word(word)) => begins_at_home(word),
        _ => false,
    };
    let is_of_tool = ENVIRONMENTS
        .iter()
        .any(|end| path.strip_prefix(UNKNOWN) == Some(end));
    Some(is_activate || is_home && is_of_tool)
}

/// Returns `true` for `~/…` and `$HOME/…`.
fn begins_at_home(word: &Word) -> bool {
    let first = match word.pieces.first() {
        Some(Piece::Double(inner)) => inner.first(),
        first => first,
    };
    match first {
        Some(Piece::Tilde(user)) => user.is_empty(),
        Some(Piece::Parameter(parameter)) => {
            matches!(&parameter.subject, Subject::Named(name) if name == "HOME")
        }
        _ => false,
    }
}

/// Returns `true` for a marker such as `echo "exit: $?"`: no digit and no bracket, and a number only at the end, so
/// that it cannot be a line of any test runner's result.
fn is_marker(arguments: &[String]) -> bool {
    let is_plain = |one: char| one.is_ascii_alphabetic() || " :=-_.,!?#*\\".contains(one);
    let line = arguments.join(" ");
    let text = line.strip_suffix(NUMBER).unwrap_or(&line);
    text.chars().all(is_plain)
}

/// Returns `true` if an item only prints markers.
pub(super) fn is_marker_item(item: &Item) -> bool {
    let is_echo = |command: &Command| match &command.kind {
        Kind::Simple { words, .. } => {
            let words = plain_words(words);
            words.split_first().is_some_and(|(program, arguments)| {
                matches!(program.as_str(), "echo" | "printf") && is_marker(arguments)
            })
        }
        _ => false,
    };
    let mut pipelines = item.pipelines.iter();
    pipelines.all(|(_, pipeline)| pipeline.commands.iter().all(is_echo))
}
/// Returns `true` if the expansions in an argument print no text from the command line.
pub(super) fn is_silent_argument(argument: &Argument) -> bool {
    match argument {
        Argument::Word(word) => is_silent(word),
        Argument::Assignment(assignment) => is_silent_assignment(assignment),
        Argument::Process { .. } => false,
    }
}

/// Returns `true` if the expansions in an assignment print no text from the command line.
pub(super) fn is_silent_assignment(assignment: &Assignment) -> bool {
    match &assignment.value {
        Assigned::Scalar(word) => is_silent(word),
        Assigned::Array(_) => false,
    }
}

/// Returns `true` if the expansions in a word print no text from the command line.
fn is_silent(word: &Word) -> bool {
    let mut pieces: Vec<&Piece> = word.pieces.iter().collect();
    while let Some(piece) = pieces.pop() {
        match piece {
            Piece::Text(_) | Piece::Quoted(_) | Piece::Tilde(_) => {}
            Piece::Double(inner) => pieces.extend(inner),
            Piece::Parameter(parameter) if matches!(parameter.operation, Operation::Value) => {}
            Piece::Command(script) if is_question(script) => {}
            Piece::Parameter(_) | Piece::Command(_) | Piece::Arithmetic(_) | Piece::Opaque => {
                return false;
            }
        }
    }
    true
}

/// Returns `true` for `$(nproc)` or `$(git rev-parse --show-toplevel)`: one program that is queried, without
/// redirections.
fn is_question(script: &Script) -> bool {
    let is_known = |command: &Command| match &command.kind {
        Kind::Simple { assignments, words } if command.redirects.is_empty() => {
            let words = plain_words(words);
            let program = words.first().map_or("", String::as_str);
            assignments.is_empty()
                && is_in(QUESTIONS, program)
                && !words.iter().any(|word| is_unknown(word))
        }
        _ => false,
    };
    let mut pipelines = script.items.iter().flat_map(|item| &item.pipelines);
    pipelines.all(|(_, pipeline)| pipeline.commands.iter().all(is_known))
}
/// Returns the credit that remains after a program behind a pipe: the share of its input that it passes on.
pub(super) fn filter_credit(command: &Command) -> Credit {
    let Kind::Simple { words, .. } = &command.kind else {
        return Credit::Nothing;
    };
    let words = plain_words(words);
    let Some((program, arguments)) = words.split_first() else {
        return Credit::Nothing;
    };
    if arguments.iter().any(|word| is_unknown(word)) {
        return Credit::Nothing;
    }
    let operands = arguments.iter().filter(|word| !is_option(word)).count();
    // Only whole lines may be passed on: a part of a line can look like another result.
    match name_of(program) {
        "tee" => Credit::Output,
        "cat" if arguments.is_empty() => Credit::Output,
        "tail" if operands == 0 && flags_are(arguments, "nfq") => Credit::Output,
        "head" if operands == 0 && flags_are(arguments, "nq") => Credit::SomeLines,
        // Only a pattern, not a file.
        "grep" | "egrep" | "fgrep"
            if operands <= patterns(arguments) && flags_are(arguments, "EFGPivwxenaABC") =>
        {
            Credit::SomeLines
        }
        _ => Credit::Nothing,
    }
}

/// Returns `true` if every option is short and made of these letters and digits.
fn flags_are(arguments: &[String], letters: &str) -> bool {
    let mut options = arguments
        .iter()
        .filter_map(|word| word.strip_prefix(['-', '+']));
    options.all(|flags| {
        flags
            .chars()
            .all(|flag| flag.is_ascii_digit() || letters.contains(flag))
    })
}

/// Returns `true` for an option or the number that belongs to one.
fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+']) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the number of `grep` arguments that are patterns.
fn patterns(arguments: &[String]) -> usize {
    let named = arguments.iter().filter(|word| *word == "-e").count();
    named.max(1)
}
