//! Programs that one process runs within itself: the script of an interpreter, the program behind a loader.

use crate::evaluate::run::program_name;
use actions::lookup::{base_name, directory_of};
use shell::words::names;

use super::{LOADER, Started};

/// Shells whose scripts may be a program of the table. They are frequent, and start many programs: only executions
/// that are judged for another reason are followed into them.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];

/// Options of an interpreter before its script.
struct Interpreter {
    /// Options that take the next argument.
    valued: &'static [&'static str],
    /// Options whose value is code, so there is no script.
    code: &'static [&'static str],
    /// The option whose value is a module.
    module: &'static str,
}

/// Returns `true` if a program runs scripts within itself.
pub(super) fn is_interpreter(program: &str) -> bool {
    interpreter(program).is_some()
}

fn interpreter(program: &str) -> Option<Interpreter> {
    let of = |valued, code, module| {
        Some(Interpreter {
            valued,
            code,
            module,
        })
    };
    match program {
        "node" | "nodejs" | "bun" | "tsx" | "ts-node" => of(
            names!(
                "-r --require --import --loader --experimental-loader -C --conditions --env-file --input-type \
                 --title --icu-data-dir --openssl-config --redirect-warnings --inspect-port --cwd -c --config"
            ),
            names!("-e --eval -p --print"),
            "",
        ),
        "deno" => of(
            names!("-c --config --import-map --lock --cert -L --log-level"),
            names!("eval"),
            "",
        ),
        "python" => of(names!("-W -X --check-hash-based-pycs"), names!("-c"), "-m"),
        "ruby" => of(names!("-I -r -C -E"), names!("-e"), "-S"),
        "perl" => of(names!("-I -M"), names!("-e -E"), ""),
        "php" => of(names!("-c -d -f"), names!("-r"), ""),
        _ => None,
    }
}

/// Returns `true` for programs that load another one into their own process, so no execution shows it.
pub(super) fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") || name.starts_with("qemu-") || matches!(name, LOADER | "valgrind")
}

/// Returns the program that a process runs within itself.
pub(super) fn carried(one: &Started) -> Option<Started> {
    let Started { program, arguments } = one;
    let from = |words: &[String]| {
        let (name, rest) = words.split_first()?;
        Some(Started {
            program: script_name(name),
            arguments: rest.to_vec(),
        })
    };
    if is_loader(program) {
        return from(behind_loader(arguments)?);
    }
    if SHELLS.contains(&program.as_str()) {
        let script = behind_options(arguments, &["-o", "-O", "--rcfile", "--init-file"])?;
        let options = arguments.len().saturating_sub(script.len());
        let is_code = |word: &String| !word.starts_with("--") && word.contains('c');
        let mut options = arguments.iter().take(options);
        return from(script).filter(|_| !options.any(is_code));
    }
    if matches!(program.as_str(), "busybox" | "toybox" | "corepack") {
        let (name, rest) = arguments.split_first()?;
        let name = name.split('@').next().unwrap_or(name);
        return Some(Started {
            program: program_name(name),
            arguments: rest.to_vec(),
        });
    }
    let Interpreter {
        valued,
        code,
        module,
    } = interpreter(program)?;
    let mut words = arguments.as_slice();
    while let Some((word, rest)) = words.split_first() {
        let is = |known: &[&str]| known.contains(&word.as_str());
        if is(code) {
            return None;
        }
        let clustered = module == "-m"
            && word.starts_with('-')
            && !word.starts_with("--")
            && word.ends_with('m');
        if !module.is_empty() && (word.starts_with(module) || clustered) {
            // `-mtwine`, `-m twine`, `-Im twine`.
            let glued = word.strip_prefix(module).filter(|glued| !glued.is_empty());
            let (name, rest) = match glued {
                Some(glued) => (glued, rest),
                None => rest
                    .split_first()
                    .map(|(name, rest)| (name.as_str(), rest))?,
            };
            let name = name.split('.').next().unwrap_or(name);
            return Some(Started {
                program: program_name(name),
                arguments: rest.to_vec(),
            });
        }
        if is(valued) {
            words = rest.get(1..).unwrap_or_default();
        } else if word.starts_with('-')
            || (is(&["run"]) && matches!(program.as_str(), "bun" | "deno"))
        {
            words = rest;
        } else {
            return from(words);
        }
    }
    None
}

/// Returns the arguments of the program behind a loader and its options.
pub(super) fn behind_loader(arguments: &[String]) -> Option<&[String]> {
    let valued = names!("--library-path --preload --argv0 --audit --inhibit-rpath -L -E -cpu");
    behind_options(arguments, valued)
}

/// Returns the arguments behind options, some of which take a value.
fn behind_options<'a>(mut words: &'a [String], valued: &[&str]) -> Option<&'a [String]> {
    while let Some((word, rest)) = words.split_first() {
        if valued.contains(&word.as_str()) {
            words = rest.get(1..)?;
        } else if word.starts_with('-') {
            words = rest;
        } else {
            return Some(words);
        }
    }
    None
}

/// Returns the name of a script's program: `twine/__main__.py` is `twine`.
fn script_name(path: &str) -> String {
    match base_name(path) {
        "__main__.py" | "cli.py" | "cli.js" | "index.js" => {
            program_name(base_name(directory_of(path)))
        }
        name => program_name(name.strip_suffix(".py").unwrap_or(name)),
    }
}
