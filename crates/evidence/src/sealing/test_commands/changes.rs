//! Decides if a command may change files of the project.

use shell::ir::{Command, Kind, Script, Target};
use shell::lower;
use shell::words::names;

use super::programs::{Tested, after_options, is_in, is_one_of, name_of, tested};
use super::{is_unknown, own_words, plain_word, plain_words};

/// Programs that change no file, with any arguments.
const READERS: &[&str] = names!(
    "ls cat head tail grep egrep fgrep rg wc echo printf pwd cd pushd popd which type whereis stat file du df env printenv \
    date true false : test [ cut tr diff cmp jq ps sleep export set unset id whoami uname nproc basename dirname realpath \
    readlink seq"
);

/// First words of `git` that leave the working tree as it was.
const GIT_READS: &str = "status|diff|log|show|branch|rev-parse|blame|ls-files|ls-tree|grep|describe|remote|add|commit|push|fetch|tag|config|cat-file|shortlog|reflog";

/// Options with which a reader writes or starts a program.
const WRITES: &str =
    "-delete|-exec*|-ok*|-fprint*|-fls*|--output*|--ext-diff|--open*|-O*|--pre*|--textconv";

/// Returns `true` unless the command is known to change no file of the project. A test run is assumed to change none.
#[must_use]
pub fn may_change_files(command: &str, own_tests: &[String]) -> bool {
    text_writes(command, &own_words(own_tests))
}

fn text_writes(text: &str, own: &[Vec<&str>]) -> bool {
    lower::program(text).map_or(true, |script| has_writer(&script, own))
}

fn has_writer(script: &Script, own: &[Vec<&str>]) -> bool {
    let pipelines = script.items.iter().flat_map(|item| &item.pipelines);
    let mut commands = pipelines.flat_map(|(_, pipeline)| &pipeline.commands);
    commands.any(|command| writes(command, own))
}

/// Returns `true` unless a command is known to change no file of the project.
pub(super) fn writes(command: &Command, own: &[Vec<&str>]) -> bool {
    let to_file = command
        .redirects
        .iter()
        .any(|redirect| match &redirect.target {
            Target::Write(word) | Target::Append(word) => !is_device(&plain_word(word)),
            Target::WriteProcess(_) | Target::ReadProcess(_) => true,
            _ => false,
        });
    if to_file {
        return true;
    }
    match &command.kind {
        Kind::Simple { words, .. } => !reads(&plain_words(words), own),
        Kind::Group(inner) | Kind::Subshell(inner) => has_writer(inner, own),
        Kind::Test(_) | Kind::Arithmetic(_) => false,
        _ => true,
    }
}

pub(super) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with("/tmp/")
}

/// Returns `true` if a command of these words is known to change no file of the project.
pub(super) fn reads(words: &[String], own: &[Vec<&str>]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return true;
    };
    let name = name_of(program);
    let writes = arguments.iter().any(|word| is_one_of(WRITES, word));
    let options = |letters: &str| {
        let mut options = arguments.iter().filter_map(|word| word.strip_prefix('-'));
        options.all(|flags| {
            flags
                .chars()
                .all(|one| one.is_ascii_digit() || letters.contains(one))
        })
    };
    match name {
        "git" => {
            let verb = after_options(arguments).first().map_or("", String::as_str);
            let mut before = arguments.iter().take_while(|word| *word != verb);
            let is_new_branch = matches!(arguments, [verb, flag, _] if matches!((verb.as_str(), flag.as_str()), ("checkout", "-b") | ("switch", "-c")));
            (is_new_branch || is_one_of(GIT_READS, verb))
                && !writes
                && before.all(|word| word != "-c" && !word.contains('='))
        }
        // Its data is not a file of the project.
        "coverage" => true,
        "find" | "rg" => !writes,
        // Lines are printed by their numbers.
        "sed" => {
            let is_plain = |word: &String| {
                word.bytes()
                    .all(|byte| b"0123456789,$p;q= ".contains(&byte))
            };
            options("nEru")
                && arguments
                    .iter()
                    .find(|word| !word.starts_with('-'))
                    .is_some_and(is_plain)
        }
        "awk" => !arguments.iter().any(|word| {
            word.starts_with('-') && !word.starts_with("-F")
                || word.contains(['>', '|', '@'])
                || word.contains("system")
        }),
        "sort" => options("nrukfbhVst,."),
        "uniq" => {
            options("cdui")
                && arguments
                    .iter()
                    .filter(|word| !word.starts_with('-'))
                    .count()
                    < 2
        }
        "tree" => options("aLdIP"),
        "tee" => arguments
            .iter()
            .all(|word| is_device(word) || word.starts_with('-')),
        _ if is_in(READERS, name) => true,
        _ => match tested(words, own) {
            Some(Tested::Text(_, text)) => !is_unknown(text) && !text_writes(text, own),
            Some(Tested::Program(..) | Tested::Elsewhere) => true,
            None => false,
        },
    }
}
