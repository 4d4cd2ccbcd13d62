//! Variables and files by which a test runner loads code beside the project's: a session can use them to make tests
//! pass without a change in its diff.

use shell::words::names;

use super::programs::is_in;

/// Variables that change the look of a run, and neither its tests nor its code.
const HARMLESS: &[&str] = names!(
    "CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LANG LANGUAGE TZ DEBUG NODE_ENV RUST_BACKTRACE \
    RUST_LOG RUSTFLAGS PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONWARNINGS PYTHONHASHSEED PYTHONIOENCODING TMPDIR \
    CARGO_INCREMENTAL CARGO_TARGET_DIR CARGO_BUILD_JOBS CARGO_HOME GOCACHE GOPROXY"
);

/// Prefixes of further variables of this kind.
const HARMLESS_BEGINNINGS: &[&str] = names!("LC_ CARGO_TERM_ CARGO_NET_ CARGO_PROFILE_");

/// Variables whose value is code, a module or a program that every run loads first or in place of its own.
const LOADING: &[&str] = names!(
    "LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH BASH_ENV ENV PROMPT_COMMAND PYTEST_PLUGINS NODE_PATH PYTHONSTARTUP \
    PYTHONOPTIMIZE PYTHONHOME PYTHONUSERBASE PYTHONPYCACHEPREFIX PYTHONPLATLIBDIR PERL5LIB PERL5DB RUBYLIB CLASSPATH \
    DOTNET_STARTUP_HOOKS PHPRC PHP_INI_SCAN_DIR LUA_INIT RUSTC RUSTDOC SHELL npm_config_script_shell MAKEFLAGS"
);

/// Prefixes and suffixes of further variables of this kind.
const LOADING_BEGINNINGS: &[&str] = names!("DYLD_ COR_ CORECLR_ LUA_PATH LUA_CPATH");
const LOADING_ENDINGS: &[&str] = names!("_RUNNER _WRAPPER _LINKER RUNNER_PATH");

/// Options in a variable by which a runner loads code or starts another program.
const OPTIONS: &[&str] = names!(
    "-r --require --import --loader --experimental-loader --env-file -p -c --rootdir --confcutdir -M -m -javaagent \
    -agentlib -agentpath -Xbootclasspath -overlay --overlay -toolexec -exec -vettool linker --config --init-script -I"
);

/// Short options that take their value without a space.
const GLUED: &[&str] = names!("-r -M -m -p -I");

/// Extensions of files that programs load or read their settings from.
const CODE: &[&str] = names!(
    "py pyc pyo pth pyd so dylib dll js cjs mjs jsx ts cts mts tsx node wasm rb pl pm t php phar lua jar class groovy \
    kts gradle java kt scala clj ex exs go rs c h cc cpp hpp cs fs swift sh bash zsh toml cfg ini opts ps1"
);

/// Returns `true` for variables that change the look of a run and neither its tests nor its code.
pub(super) fn is_harmless(name: &str) -> bool {
    let begins = |start: &&str| name.starts_with(*start);
    is_in(HARMLESS, name) || HARMLESS_BEGINNINGS.iter().any(begins)
}

/// Returns `true` if a variable makes a runner load code, or start another program in its place, by its name or by the
/// options in its value.
#[must_use]
pub fn loads_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let by_name = is_in(LOADING, name)
        || LOADING_BEGINNINGS
            .iter()
            .any(|start| name.starts_with(start))
        || LOADING_ENDINGS.iter().any(|end| name.ends_with(end))
        || name.to_ascii_uppercase().contains("TOOLEXEC");
    let mut words = value.split_whitespace().peekable();
    let mut by_value = false;
    while let Some(word) = words.next() {
        let option = word.split(['=', ':']).next().unwrap_or(word);
        let glued = GLUED.iter().find_map(|short| word.strip_prefix(short));
        let glued = glued.filter(|_| !word.starts_with("--") && !word.contains('='));
        let given = match (is_in(OPTIONS, option), glued) {
            (true, _) if option == word => words.peek().copied().unwrap_or_default(),
            (true, _) => word,
            (false, Some(glued)) if is_of_loader(name) => glued,
            _ => continue,
        };
        // A disabled plugin loads nothing.
        by_value |= !given.starts_with("no:");
    }
    by_name || by_value
}

/// Returns `true` if a line of settings makes a runner load code, or start another shell: `node-options=--require x`,
/// `addopts = -p x`.
#[must_use]
pub fn setting_loads_code(line: &str) -> bool {
    let Some((key, value)) = line.split_once(['=', ':']) else {
        return false;
    };
    let marks = |one: char| one.is_whitespace() || "\"',[]".contains(one);
    let key = key.trim_matches(marks).to_ascii_uppercase();
    let value = value.replace(marks, " ");
    let name = key.replace(['-', '.'], "_");
    match name.rsplit("NPM_CONFIG_").next().unwrap_or(&name) {
        "NODE_OPTIONS" | "NODEOPTIONS" => loads_code("NODE_OPTIONS", &value),
        "ADDOPTS" | "PYTEST_ADDOPTS" => loads_code("PYTEST_ADDOPTS", &value),
        "SCRIPT_SHELL" | "SCRIPTSHELL" => true,
        _ => is_in(LOADING, &name),
    }
}

/// Returns `true` if a variable holds options of a program that takes a value without a space.
fn is_of_loader(name: &str) -> bool {
    matches!(
        name,
        "RUBYOPT" | "PERL5OPT" | "NODE_OPTIONS" | "PYTEST_ADDOPTS"
    )
}

/// Returns `true` if a program may load a file of this name or read its settings from it.
#[must_use]
pub fn is_code(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_settings = name.starts_with('.') && name.ends_with("rc");
    is_in(CODE, ending) || is_settings || name == "package.json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_load_code_are_told_from_others() {
        for (name, value, expected) in [
            ("FOO", "1", false),
            ("CI", "true", false),
            ("RUST_BACKTRACE", "1", false),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--experimental-vm-modules", false),
            ("NODE_OPTIONS", "--require ./x.js", true),
            ("NODE_OPTIONS", "--import=./x.mjs", true),
            ("NODE_OPTIONS", "-r ./x", true),
            ("PYTEST_ADDOPTS", "-q --tb=short", false),
            ("PYTEST_ADDOPTS", "-p no:cacheprovider", false),
            ("PYTEST_ADDOPTS", "-p poison", true),
            ("PYTEST_ADDOPTS", "-ppoison", true),
            ("PYTEST_PLUGINS", "poison", true),
            ("RUBYOPT", "-W0", false),
            ("RUBYOPT", "-rpoison", true),
            ("PERL5OPT", "-MPoison", true),
            ("GOFLAGS", "-mod=mod", false),
            ("GOFLAGS", "-count=1 -overlay=o.json", true),
            ("GOFLAGS", "-toolexec=./x", true),
            ("JAVA_TOOL_OPTIONS", "-Xmx1g", false),
            ("JAVA_TOOL_OPTIONS", "-javaagent:a.jar", true),
            ("RUSTC_WRAPPER", "./x", true),
            ("CARGO_BUILD_RUSTC_WRAPPER", "./x", true),
            (
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
                "echo ok",
                true,
            ),
            ("RUSTFLAGS", "-D warnings", false),
            ("RUSTFLAGS", "-C linker=./x", true),
            ("LD_PRELOAD", "./x.so", true),
            ("LD_PRELOAD", "", false),
            ("PYTHONPATH", "src", false),
            ("DATABASE_URL", "postgres://localhost/x", false),
        ] {
            assert_eq!(loads_code(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn settings_that_load_code_are_told_from_others() {
        for (line, expected) in [
            ("node-options=--require /x/h.js", true),
            ("node-options = \"--import=h\"", true),
            ("node-options=--max-old-space-size=4096", false),
            ("script-shell=./x", true),
            ("addopts = -p poison", true),
            ("addopts = [\"-p\", \"poison\"]", true),
            ("addopts = -q --strict-markers", false),
            ("NODE_OPTIONS=--require ./h.log", true),
            ("LD_PRELOAD=./x.so", true),
            ("registry=https://example.com/", false),
            ("testpaths = tests", false),
        ] {
            assert_eq!(setting_loads_code(line), expected, "{line}");
        }
    }

    #[test]
    fn files_that_are_loaded_are_told_from_others() {
        for (name, expected) in [
            ("sitecustomize.py", true),
            ("x.pyc", true),
            ("x.pth", true),
            (".npmrc", true),
            ("config.toml", true),
            ("notes.md", false),
            ("app.log", false),
            (".env", false),
            ("data.json", false),
            ("package.json", true),
        ] {
            assert_eq!(is_code(name), expected, "{name}");
        }
    }
}
