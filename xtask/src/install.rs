//! `cargo xtask install`: dependencies of tests besides Rust. Installs missing ones, or prints exact instructions.
//!
//! System packages only through apt-get and only as root; everything else goes to the target directory.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline, write};

/// Tools for the tests after the installation.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Interpreter with the packages of `xtask/python-requirements.txt`.
    pub(crate) python: PathBuf,
    /// Interpreter with the packages of `xtask/exchange-requirements.txt`.
    pub(crate) exchange: PathBuf,
    /// Script of axe-core, which checks the accessibility of pages.
    pub(crate) axe: PathBuf,
    /// `cargo-deny`, which checks the dependencies.
    pub(crate) deny: PathBuf,
}

/// A program of the system, a command that detects it, and its Debian packages.
struct Program {
    what: &'static str,
    probe: &'static [&'static str],
    packages: &'static [&'static str],
}

const PROGRAMS: &[Program] = &[
    Program {
        what: "git",
        probe: &["git", "--version"],
        packages: &["git"],
    },
    Program {
        what: "a C compiler",
        probe: &["cc", "--version"],
        packages: &["gcc", "libc6-dev"],
    },
    Program {
        what: "Python 3.10 or newer",
        probe: &[
            "python3",
            "-c",
            "import sys; sys.exit(sys.version_info < (3, 10))",
        ],
        packages: &["python3"],
    },
    Program {
        what: "Python's venv with pip",
        probe: &["python3", "-c", "import venv, ensurepip"],
        packages: &["python3-venv"],
    },
    Program {
        what: "bubblewrap",
        probe: &["bwrap", "--version"],
        packages: &["bubblewrap"],
    },
    Program {
        what: "Chromium",
        probe: &["chromium", "--version"],
        packages: &["chromium"],
    },
    Program {
        what: "Chromium's WebDriver",
        probe: &["chromedriver", "--version"],
        packages: &["chromium-driver"],
    },
    Program {
        what: "strace",
        probe: &["strace", "--version"],
        packages: &["strace"],
    },
    Program {
        what: "PostgreSQL",
        probe: &[
            "sh",
            "-c",
            "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb",
        ],
        packages: &["postgresql"],
    },
    Program {
        what: "npm",
        probe: &["npm", "--version"],
        packages: &["npm"],
    },
];

/// Peers of the gateway, besides Python, in which one of them runs.
const PEERS: &[Program] = &[
    Program {
        what: "nginx",
        probe: &["nginx", "-v"],
        packages: &["nginx-light"],
    },
    Program {
        what: "Python's venv with pip",
        probe: &["python3", "-c", "import venv, ensurepip"],
        packages: &["python3-venv"],
    },
    Program {
        what: "Node with npm",
        probe: &["npm", "--version"],
        packages: &["nodejs", "npm"],
    },
];

/// Other gateways and guards, by their npm names.
const GUARDS: &[&str] = &["@portkey-ai/gateway@1.15.2", "cc-safety-net@2.4.5"];

/// A guard from PyPI.
const NAH: &str = "nah==0.11.0";

/// A guard from crates.io.
const DCG: (&str, &str) = ("destructive_command_guard", "0.16.0");

/// Measured version of LiteLLM. Two releases of March 2026 were malicious; this is a later one.
const LITELLM: &str = "litellm[proxy]==1.106.2";

/// Parts of a Rust installation that its minimal profile leaves out.
const COMPONENTS: &[(&str, &[&str])] = &[
    ("rustfmt", &["cargo", "fmt", "--version"]),
    ("clippy", &["cargo", "clippy", "--version"]),
];

/// Name and version in npm. A newer one is tested by changing its number here.
const AXE: &str = "axe-core@4.14.0";

/// Version of `cargo-deny`, for which `deny.toml` is written.
const DENY: &str = "0.20.2";

/// Version of `cargo-fuzz`.
const FUZZ: &str = "0.13.1";

const REQUIREMENTS: &str = "xtask/python-requirements.txt";
const EXCHANGE: &str = "xtask/exchange-requirements.txt";

/// Script that succeeds in a Python that is new enough for Harbor and can create environments.
const NEW_PYTHON: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))";

/// Installs missing dependencies; fast if there are none.
pub(crate) fn run(project: &Project) -> Result<Tools> {
    components()?;
    system("tests", PROGRAMS)?;
    Ok(Tools {
        python: python(project)?,
        exchange: exchange(project)?,
        axe: axe(project)?,
        deny: deny(project)?,
    })
}

/// Installs the peers of the gateway and the hook, each by the client of its registry.
pub(crate) fn peers(project: &Project) -> Result<()> {
    system("measurements", PEERS)?;
    let folder = project.target().join("tools");
    let _alone = lock(&folder)?;
    program_of_python(&folder.join("litellm"), "litellm", &[LITELLM])?;
    program_of_python(&folder.join("nah"), "nah", &[NAH])?;
    packages_of_npm(&folder.join("guards"), GUARDS)?;
    guard_of_crates(&folder)
}

/// Installs the guard of crates.io, optimised as for its users.
fn guard_of_crates(folder: &Path) -> Result<()> {
    let home = folder.join("dcg");
    if home.join("bin/dcg").exists() {
        return Ok(());
    }
    let (name, version) = DCG;
    headline(&format!(
        "compiling {name} {version}, once; it takes many minutes"
    ));
    let build = folder.join("dcg-build");
    shell::run(
        Command::new("cargo")
            .args(["install", name, "--version", version, "--locked", "--root"])
            .arg(&home)
            .arg("--target-dir")
            .arg(&build),
    )?;
    fs::remove_dir_all(&build).ok();
    Ok(())
}

/// Installs a program of PyPI into a separate environment, again if its version changes.
pub(crate) fn program_of_python(home: &Path, program: &str, requirements: &[&str]) -> Result<()> {
    let wanted = requirements.join(" ");
    // `--help` imports everything, like a start: an environment that was moved or broken is rebuilt.
    let starts = shell::succeeds(Command::new(home.join("bin").join(program)).arg("--help"));
    let stamp = home.join("requirements.txt");
    if starts && fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == wanted) {
        return Ok(());
    }
    headline(&format!("making the environment of {wanted}"));
    environment(home, requirements)?;
    write(&stamp, &wanted)
}

fn present(probe: &[&str]) -> bool {
    let Some((program, arguments)) = probe.split_first() else {
        return false;
    };
    shell::succeeds(Command::new(program).args(arguments))
}

fn components() -> Result<()> {
    for (component, probe) in COMPONENTS {
        if present(probe) {
            continue;
        }
        if !present(&["rustup", "--version"]) {
            return Err(Failure::new(format!(
                "`{component}` is missing; install it as you installed Rust"
            )));
        }
        headline(&format!("installing {component}"));
        shell::run(Command::new("rustup").args(["component", "add", component]))?;
    }
    Ok(())
}

fn missing(programs: &'static [Program]) -> Vec<&'static Program> {
    programs
        .iter()
        .filter(|program| !present(program.probe))
        .collect()
}

/// Installs the missing ones of the programs; `who` is the part that needs them.
fn system(who: &str, programs: &'static [Program]) -> Result<()> {
    let wanted = missing(programs);
    if wanted.is_empty() {
        return Ok(());
    }
    if !is_root() || !present(&["apt-get", "--version"]) {
        return Err(Failure::new(instructions(who, &wanted)));
    }
    headline(&format!("installing {}", packages(&wanted).join(" ")));
    shell::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    shell::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends"])
            .args(packages(&wanted))
            // A package that asks a question would wait for ever without a user.
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )?;
    let still = missing(programs);
    if still.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(instructions(who, &still)))
    }
}

fn packages(programs: &[&Program]) -> Vec<&'static str> {
    programs
        .iter()
        .flat_map(|program| program.packages)
        .copied()
        .collect()
}

fn instructions(who: &str, programs: &[&Program]) -> String {
    let what: Vec<_> = programs.iter().map(|program| program.what).collect();
    format!(
        "{who} need {}, which {} missing\n\
         hint: on Debian or Ubuntu run `sudo apt-get install {}`; elsewhere install the same and run this again",
        what.join(" and "),
        if what.len() == 1 { "is" } else { "are" },
        packages(programs).join(" ")
    )
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Returns the interpreter of a virtual environment with exactly the pinned packages, rebuilt if the pins change.
fn python(project: &Project) -> Result<PathBuf> {
    let folder = project.target().join("tools");
    let home = folder.join("python");
    let python = home.join("bin").join("python");
    let stamp = home.join("requirements.txt");
    let wanted = project.read(REQUIREMENTS)?;
    let _alone = lock(&folder)?;
    let fits = fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == wanted);
    if !fits || !imports(&python) {
        headline("making the Python environment of the tests");
        let requirements = project.root().join(REQUIREMENTS);
        environment(
            &home,
            [OsStr::new("--requirement"), requirements.as_os_str()],
        )?;
        write(&stamp, &wanted)?;
    }
    Ok(python)
}

/// Returns the interpreter of an environment with the packages for tests of exchange formats.
fn exchange(project: &Project) -> Result<PathBuf> {
    let folder = project.target().join("tools");
    let home = folder.join("exchange");
    let python = home.join("bin/python");
    let stamp = home.join("requirements.txt");
    let wanted = project.read(EXCHANGE)?;
    let _alone = lock(&folder)?;
    let fits = fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == wanted);
    let imports = "import harbor.models.trial.result, swebench.types";
    if !fits || !shell::succeeds(Command::new(&python).args(["-c", imports])) {
        headline("making the environment of the exchange formats");
        let requirements = project.root().join(EXCHANGE);
        let words = ["--no-deps", "--requirement"].map(OsStr::new);
        let words = words.into_iter().chain([requirements.as_os_str()]);
        environment_of(&new_python()?, &home, words)?;
        write(&stamp, &wanted)?;
    }
    Ok(python)
}

/// Finds a Python that is new enough: the default one, one with its version in its name, or one of pyenv.
fn new_python() -> Result<PathBuf> {
    let names = ["python3", "python3.14", "python3.13", "python3.12"].map(PathBuf::from);
    let root = shell::output(Command::new("pyenv").arg("root")).unwrap_or_default();
    let versions = fs::read_dir(Path::new(root.trim()).join("versions"));
    let of_pyenv = versions.into_iter().flatten().flatten();
    let mut all = names
        .into_iter()
        .chain(of_pyenv.map(|entry| entry.path().join("bin/python3")));
    let fits = |python: &PathBuf| shell::succeeds(Command::new(python).args(["-c", NEW_PYTHON]));
    all.find(fits).ok_or_else(|| {
        Failure::new(
            "tests need Python 3.12 or newer with venv, which is missing\n\
             hint: install one beside the other as `python3.12`, or by pyenv",
        )
    })
}

fn imports(python: &Path) -> bool {
    let modules = "import anthropic, cryptography, openai, schemathesis, securesystemslib";
    shell::succeeds(Command::new(python).args(["-c", modules]))
}

/// Creates a virtual environment with these arguments for pip.
fn environment<W: AsRef<OsStr>>(home: &Path, words: impl IntoIterator<Item = W>) -> Result<()> {
    environment_of(Path::new("python3"), home, words)
}

fn environment_of<W: AsRef<OsStr>>(
    python: &Path,
    home: &Path,
    words: impl IntoIterator<Item = W>,
) -> Result<()> {
    shell::run(
        Command::new(python)
            .args(["-m", "venv", "--clear"])
            .arg(home),
    )?;
    shell::run(
        Command::new(home.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .arg("--disable-pip-version-check")
            .args(words),
    )
}

fn axe(project: &Project) -> Result<PathBuf> {
    let folder = project.target().join("tools");
    let home = folder.join("browser");
    let _alone = lock(&folder)?;
    packages_of_npm(&home, &[AXE])?;
    Ok(home.join("node_modules/axe-core/axe.min.js"))
}

fn deny(project: &Project) -> Result<PathBuf> {
    crate_program(project, "cargo-deny", DENY)
}

/// Returns `cargo-fuzz` of the pinned version.
pub(crate) fn cargo_fuzz(project: &Project) -> Result<PathBuf> {
    crate_program(project, "cargo-fuzz", FUZZ)
}

/// Returns a program of crates.io in this version, compiled without optimisation, because it runs for seconds.
fn crate_program(project: &Project, name: &str, version: &str) -> Result<PathBuf> {
    let folder = project.target().join("tools");
    let _alone = lock(&folder)?;
    let home = folder.join(format!("{name}-{version}"));
    let program = home.join("bin").join(name);
    if shell::succeeds(Command::new(&program).arg("--version")) {
        return Ok(program);
    }
    headline(&format!(
        "compiling {name} {version}, once; it takes some minutes"
    ));
    let build = folder.join(format!("{name}-build"));
    shell::run(
        Command::new("cargo")
            .args(["install", name, "--version", version, "--locked", "--debug"])
            .arg("--root")
            .arg(&home)
            .arg("--target-dir")
            .arg(&build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0"),
    )?;
    // Only the program is needed; leftovers only cost space.
    fs::remove_dir_all(&build).ok();
    Ok(program)
}

/// Installs exactly these packages of npm in a directory, again if the list changes.
pub(crate) fn packages_of_npm(home: &Path, packages: &[&str]) -> Result<()> {
    let stamp = home.join("installed");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == wanted) {
        return Ok(());
    }
    headline(&format!("installing {}", packages.join(" ")));
    fs::create_dir_all(home)
        .map_err(|error| Failure::of(format!("cannot make `{}`", home.display()), error))?;
    shell::run(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(home)
            .args(packages),
    )?;
    write(&stamp, &wanted)
}

/// Locks the directory, so that two runs with the same target directory create the environment one after the other.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    fs::create_dir_all(folder)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| Failure::of(format!("cannot lock `{}`", path.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_what_is_missing_and_the_command() {
        let [git, compiler, ..] = PROGRAMS else {
            panic!("the table is shorter than two")
        };
        assert_eq!(
            instructions("tests", &[git, compiler]),
            "tests need git and a C compiler, which are missing\n\
             hint: on Debian or Ubuntu run `sudo apt-get install git gcc libc6-dev`; \
             elsewhere install the same and run this again"
        );
    }

    #[test]
    fn a_probe_tells_presence_from_absence() {
        assert!(present(&["cargo", "--version"]));
        assert!(!present(&["no-such-program-here"]));
        assert!(!present(&[]));
    }
}
