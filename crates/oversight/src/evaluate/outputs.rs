//! What programs print that cannot be known and is of a known kind: names and numbers, dumps, text made to be evaluated.
//!
//! A list of numbers is data. Put into the words of a command it is an argument like any that the environment holds, and
//! only where it would be the program, the subcommand or the script itself it is as unknown as everything else. Names of
//! files are none of it: who wrote the repository chose them, and `$(…)` may stand in one.

use crate::actions::Catalog;
use crate::value::{ENVIRONMENT, HOLE, LISTED, Value, has_hole};

use super::{Evaluator, Outcome};

/// Commands whose output is made to be evaluated: completion scripts and environments of well-known tools.
const MADE_FOR_EVAL: &[&str] = &[
    "completion",
    "completions",
    "shellenv",
    "hook",
    "init",
    "env",
    "docker-env",
    "activate",
    "shell-init",
    "init-bash",
    "virtualenv-init",
    "generate-shell-completion",
    "gen-completion",
];

/// The same by the beginning of their words.
const BY_WORDS: &[&[&str]] = &[
    &["direnv", "export"],
    &["poetry", "env", "activate"],
    &["uv", "generate-shell-completion"],
    &["luarocks", "path"],
    &["register-python-argcomplete"],
    &["thefuck", "--alias"],
    &["rg", "--generate"],
    &["fzf", "--bash"],
    &["fzf", "--zsh"],
    &["keychain", "--eval"],
    &["op", "signin"],
    &["pkgx", "--shellcode"],
    &["aws", "configure", "export-credentials"],
];

/// The same where more words would be a command.
const WITHOUT_MORE: &[&[&str]] = &[&["gpg-agent", "--daemon"], &["resize"], &["tset", "-s"]];

/// Options that make a program print a completion script and end.
const COMPLETION: &[&str] = &[
    "--completion",
    "--completions",
    "--generate-shell-completion",
    "--show-completion",
];

/// Shells that such scripts are for.
const SHELLS: &[&str] = &["bash", "zsh", "fish", "elvish", "powershell", "nushell"];

/// Characters that may stand in the words of a program whose output is taken for a list.
fn is_plain(word: &str) -> bool {
    word.chars().all(|one| {
        one.is_ascii_alphanumeric()
            || "-_./*?[]{}%+:,=@~^".contains(one)
            || has_hole(one.encode_utf8(&mut [0; 4]))
    })
}

/// Whether a command prints text that its users evaluate.
pub(super) fn is_made_for_eval(name: &str, arguments: &[String], catalog: &Catalog) -> bool {
    if arguments.iter().any(|word| has_hole(word)) {
        return false;
    }
    let given = || std::iter::once(name).chain(arguments.iter().map(String::as_str));
    let starts = |words: &&[&str]| words.iter().copied().eq(given().take(words.len()));
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.as_str()));
    let of_cluster =
        name == "minikube" && has(&["docker-env", "podman-env"]) && !has(&["ssh", "kubectl", "--"]);
    let alone = WITHOUT_MORE
        .iter()
        .any(|words| words.iter().copied().eq(given()));
    if of_cluster || alone || BY_WORDS.iter().any(starts) {
        return true;
    }
    let first = arguments.first();
    let mut early = arguments.iter().take(2);
    early.any(|word| MADE_FOR_EVAL.contains(&word.as_str()))
        && !first.is_some_and(|word| word.starts_with('-'))
        && (!catalog.is_program(name) || first.is_some_and(|word| word.starts_with("completion")))
}

/// `just --completions bash`: nothing else is done.
pub(super) fn prints_completion(name: &str, arguments: &[String]) -> bool {
    let [option, shell] = arguments else {
        return false;
    };
    let asked =
        COMPLETION.contains(&option.as_str()) || (name == "deno" && option == "completions");
    asked && SHELLS.contains(&shell.as_str())
}

/// Whether a filter only leaves out, sorts or shortens lines.
pub(super) fn picks_lines(name: &str) -> bool {
    matches!(
        name,
        "sort" | "head" | "tail" | "uniq" | "grep" | "egrep" | "fgrep" | "tac" | "cut"
    )
}

/// `gunzip -c`, `gzip -dc`: no file is written.
pub(super) fn to_output(arguments: &[String]) -> bool {
    let short =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    arguments
        .iter()
        .any(|word| short(word) || word == "--stdout" || word == "--to-stdout")
}

/// Lines of words. Two: where lines are commands, the second one is a program that nobody knows.
pub(super) fn lines() -> Value {
    Value::text(format!("{LISTED}\n{LISTED}\n"))
}

/// `sed 's~[^-[:alnum:]+,./:=@_]~\\&~g'`: a backslash before every sign that means something to a shell.
pub(super) fn quotes_signs(arguments: &[String]) -> bool {
    let [script] = arguments else { return false };
    let script = script.trim().trim_end_matches(';').trim_end();
    let mut signs = script.chars();
    let (Some('s'), Some(mark)) = (signs.next(), signs.next()) else {
        return false;
    };
    let parts: Vec<&str> = signs.as_str().split(mark).collect();
    let [pattern, "\\\\&", "g"] = parts.as_slice() else {
        return false;
    };
    let kept = pattern
        .strip_prefix("[^")
        .and_then(|rest| rest.strip_suffix(']'));
    let kept = kept.map(|kept| kept.replace("[:alnum:]", ""));
    kept.is_some_and(|kept| kept.chars().all(|one| "-_+,./:=@%^".contains(one)))
}

/// The outcome, with an output that says of what kind it is.
pub(super) fn of_known_kind(name: &str, arguments: &[String], outcome: Outcome) -> Outcome {
    if outcome.output != Value::unknown() {
        return outcome;
    }
    let output = match kind(name, arguments) {
        Some(Kind::Installation) => Value::environment(),
        Some(Kind::Line) => Value::text(format!("{LISTED}\n")),
        Some(Kind::Lines) => lines(),
        Some(Kind::Statements) => Value::text(format!("-- dump\n{LISTED}\n")),
        None => return outcome,
    };
    Outcome { output, ..outcome }
}

/// What stands for the output of a command of which the kind is known.
pub(super) fn mark(name: &str, arguments: &[String]) -> Option<char> {
    match kind(name, arguments)? {
        Kind::Installation => Some(ENVIRONMENT),
        Kind::Line | Kind::Lines => Some(LISTED),
        Kind::Statements => None,
    }
}

/// Commands that print where something is installed, outside of the project.
const INSTALLATIONS: &[&[&str]] = &[
    &["poetry", "env", "info", "-p"],
    &["poetry", "env", "info", "--path"],
    &["conda", "info", "--base"],
    &["brew", "--prefix"],
    &["pyenv", "root"],
    &["rustc", "--print", "sysroot"],
    &["go", "env", "GOPATH"],
    &["go", "env", "GOROOT"],
    &["xcode-select", "-p"],
];

enum Kind {
    Installation,
    Line,
    Lines,
    Statements,
}

fn kind(name: &str, arguments: &[String]) -> Option<Kind> {
    let has = |options: &[&str]| {
        arguments
            .iter()
            .any(|word| options.contains(&word.as_str()))
    };
    let verb = arguments.first().map_or("", String::as_str);
    match name {
        "pg_dump" | "pg_dumpall" | "mysqldump" | "mariadb-dump" => return Some(Kind::Statements),
        "sqlite3" if arguments.last().is_some_and(|word| word == ".dump") => {
            return Some(Kind::Statements);
        }
        "docker" | "podman" if matches!(verb, "run" | "create") && prints_id(arguments) => {
            return Some(Kind::Line);
        }
        "gh" if picks_number(arguments) => return Some(Kind::Line),
        "kubectl" | "oc" if verb == "get" && prints_names(arguments) => return Some(Kind::Lines),
        _ => {}
    }
    if !arguments.iter().all(|word| is_plain(word)) {
        return None;
    }

    let given = || std::iter::once(name).chain(arguments.iter().map(String::as_str));
    let starts = |words: &&[&str]| words.iter().copied().eq(given().take(words.len()));
    if INSTALLATIONS.iter().any(starts) {
        return Some(Kind::Installation);
    }
    Some(match name {
        "go" if verb == "version" => Kind::Line,
        "nproc" | "hostname" | "uname" | "arch" | "whoami" | "id" | "date" | "pwd" => Kind::Line,
        "minikube" if verb == "ip" => Kind::Line,
        "pgrep" | "pidof" if !has(&["-a", "-l", "-la", "-al", "-fa", "-af", "-fl"]) => Kind::Lines,
        "lsof" if arguments.iter().any(|word| word.starts_with("-t")) => Kind::Lines,
        "git"
            if matches!(
                verb,
                "rev-parse" | "merge-base" | "hash-object" | "write-tree"
            ) =>
        {
            Kind::Line
        }
        "git" if verb == "rev-list" && !arguments.iter().any(|word| word.contains("format")) => {
            Kind::Lines
        }
        "seq" if arguments.iter().all(|word| is_number(word) || word == "-w") => Kind::Lines,
        // The name of the volume that was made; containers have been looked at.
        "docker" | "podman"
            if matches!(verb, "volume" | "network")
                && arguments.get(1).is_some_and(|word| word == "create") =>
        {
            Kind::Line
        }
        "docker" | "podman" if matches!(verb, "ps" | "images") && has(&["-q", "-aq", "-qa"]) => {
            Kind::Lines
        }
        _ => return None,
    })
}

/// `docker run -d`: the container's number alone, whatever runs in it. The option has to stand where it can be none of
/// the command's own.
fn prints_id(arguments: &[String]) -> bool {
    let [verb, rest @ ..] = arguments else {
        return false;
    };
    if verb == "create" {
        return true;
    }
    for word in rest {
        let plain = matches!(
            word.as_str(),
            "--rm" | "-i" | "-t" | "-it" | "-ti" | "--init" | "--privileged" | "-P"
        ) || (word.starts_with("--") && word.contains('=') && !has_hole(word));
        if matches!(
            word.as_str(),
            "-d" | "--detach" | "-dit" | "-itd" | "-td" | "-dt"
        ) {
            return true;
        }
        if !plain {
            return false;
        }
    }
    false
}

/// `gh pr view --json number -q .number`: one field, which GitHub fills with a number or a name of its own form.
fn picks_number(arguments: &[String]) -> bool {
    let Some(path) = super::wrapper::option_value(arguments, &["-q", "--jq"]) else {
        return false;
    };
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '[' | ']');
    let field = path.rsplit('.').next().unwrap_or_default();
    let known = [
        "number",
        "id",
        "databaseId",
        "nameWithOwner",
        "headRefOid",
        "sha",
    ];
    path.starts_with('.') && path.chars().all(plain) && known.contains(&field)
}

/// `kubectl get pods -o name`: names of a cluster's things hold letters, digits and dashes.
fn prints_names(arguments: &[String]) -> bool {
    let joined = |word: &String| matches!(word.as_str(), "-oname" | "--output=name" | "-o=name");
    let apart = |pair: &[String]| match pair {
        [option, value] => matches!(option.as_str(), "-o" | "--output") && value == "name",
        _ => false,
    };
    arguments.iter().any(joined) || arguments.windows(2).any(apart)
}

/// `seq 2 3`, where they are few.
pub(super) fn sequence(arguments: &[String]) -> Option<Value> {
    let numbers: Option<Vec<i64>> = arguments.iter().map(|word| word.parse().ok()).collect();
    let (from, to) = match numbers?.as_slice() {
        [to] => (1, *to),
        [from, to] => (*from, *to),
        _ => return None,
    };
    let few = (from..from.saturating_add(16)).contains(&to);
    few.then(|| {
        Value::text(
            (from..=to)
                .map(|one| format!("{one}\n"))
                .collect::<String>(),
        )
    })
}

fn is_number(word: &str) -> bool {
    word.chars().all(|one| {
        one.is_ascii_digit() || one == '.' || one == '-' || has_hole(one.encode_utf8(&mut [0; 4]))
    })
}

impl Evaluator<'_> {
    /// Whether a download may be kept under the name that its address ends in: `curl` prints it unless told otherwise,
    /// and so does `wget -qO-`. Settings in files may say something else.
    pub(super) fn saves_by_name(&mut self, name: &str, arguments: &[String]) -> bool {
        let home = self.state.get("HOME").unwrap_or_else(Value::empty);
        let home = home.first().to_owned();
        let settings = ["curlrc", "wgetrc"];
        let told = settings.iter().any(|file| {
            self.written.keys().any(|path| path.ends_with(file))
                || self.known_file(&format!("{home}/.{file}")).is_some()
        });
        if told
            || arguments
                .iter()
                .any(|word| word.starts_with(crate::value::HOLE))
        {
            return true;
        }
        let clusters = arguments.iter().filter(|word| word.starts_with('-'));
        match name {
            "curl" => clusters
                .into_iter()
                .any(|word| match word.strip_prefix("--") {
                    Some(long) => long.starts_with("remote") || long.starts_with("config"),
                    None => word.contains(['O', 'J', 'K']) || crate::value::has_hole(word),
                }),
            // An option that stands first is no other's value.
            "wget" => !matches!(arguments.first().map(String::as_str), Some("-O-" | "-qO-")),
            _ => true,
        }
    }

    /// Whether commands may hide in what is not known of a text that a shell reads.
    ///
    /// Names in a list are arguments, unless the command itself brought files whose names a shell may read as its own.
    pub(crate) fn hides_commands(&self, text: &str) -> bool {
        let odd = |path: &String| !is_plain(path);
        let brings_names =
            || !self.filled.is_empty() || self.written.keys().chain(self.links.keys()).any(odd);
        text.contains(HOLE) || (text.contains(LISTED) && brings_names())
    }

    /// Installed files go by their names, like installed programs.
    pub(crate) fn is_shared(&self, path: &str) -> bool {
        path.starts_with("/usr/share/") && !self.wrote(path)
    }
}

/// The ways to read a command's words. `${PYTHON:-python3} x`: what the environment may name instead is taken for the
/// same program.
pub(super) fn meant(ways: &[Vec<String>]) -> impl Iterator<Item = &Vec<String>> {
    let program = |way: &Vec<String>| way.first().is_some_and(|program| !has_hole(program));
    let named = ways.iter().any(program);
    let unset = |way: &&Vec<String>| {
        way.first()
            .is_some_and(|word| word.chars().eq([ENVIRONMENT]))
    };
    ways.iter()
        .filter(|way| !way.is_empty())
        .filter(move |way| !named || !unset(way))
}

/// What `--format` makes a command of git print: its own words, and places for what the repository holds.
pub(super) fn git_format(verb: &str, rest: &[String]) -> Option<Value> {
    if !matches!(
        verb,
        "for-each-ref" | "log" | "show" | "branch" | "tag" | "rev-list"
    ) {
        return None;
    }
    let format = super::wrapper::option_value(rest, &["--format", "--pretty"])?;
    let format = format
        .strip_prefix("format:")
        .or_else(|| format.strip_prefix("tformat:"))
        .unwrap_or(&format);
    let mut pieces = format.split('%');
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let code = piece.strip_prefix('x').and_then(|rest| rest.get(..2));
        let letter = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let after = match (letter, piece.strip_prefix('(')) {
            (Some(letter), _) => {
                text.push(char::from(letter));
                piece.get(3..)
            }
            (None, Some(inner)) => {
                text.push(HOLE);
                inner.split_once(')').map(|(_, after)| after)
            }
            (None, None) => {
                text.push(HOLE);
                piece.get(1..)
            }
        };
        text.push_str(after.unwrap_or_default());
    }
    let words = text.contains(|one: char| one.is_ascii_alphabetic());
    words.then(|| Value::text(text + "\n"))
}
