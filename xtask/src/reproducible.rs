//! `cargo xtask reproducible`: builds the programs twice, in directories of different names, and compares their
//! bytes.
//!
//! A release uses [`settle`] as well: no path of the building machine reaches the programs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist::PROGRAMS;
use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

/// How it is built.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile to build with; releases have `dist`.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Only this program's package, such as `roleos-hook`.
    #[arg(long, default_value = "roleos")]
    package: String,
}

/// Directories of the two builds, of different lengths.
const FOLDERS: [&str; 2] = ["one", "another/folder/with-a-longer-name"];

/// Builds the last commit twice; different bytes, or a path of this machine in them, are a failure.
#[expect(
    clippy::print_stdout,
    reason = "the digests are what the chore is started for"
)]
pub(crate) fn run(project: &Project, args: &Args) -> Result<()> {
    let home = project.target().join("reproducible");
    let mut built: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    for folder in FOLDERS {
        let folder = home.join(folder);
        headline(&format!("building in `{}`", folder.display()));
        built.push(build(project, &folder, args)?);
    }
    let [one, other] = built.as_slice() else {
        return Err(Failure::new("two builds make two sets of programs"));
    };
    let mut problems = Vec::new();
    for ((name, bytes), (_, others)) in one.iter().zip(other) {
        let (digest, second) = (base::digest(bytes), base::digest(others));
        println!("{}  {name}", hex::encode(digest));
        if digest != second {
            println!("{}  {name} (second build)", hex::encode(second));
            problems.push(format!("`{name}` differs"));
        }
        for path in secret_paths(&home) {
            if memchr::memmem::find(bytes, path.as_os_str().as_encoded_bytes()).is_some() {
                problems.push(format!("`{name}` has the path `{}` in it", path.display()));
            }
        }
    }
    if one.is_empty() {
        problems.push(format!("`{}` builds no program", args.package));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(problems.join("; "))),
    }
}

/// Clones the last commit into the directory, builds it, and reads its programs.
fn build(project: &Project, folder: &Path, args: &Args) -> Result<Vec<(String, Vec<u8>)>> {
    fs::remove_dir_all(folder).ok();
    let mut clone = project.command("git");
    clone.args(["clone", "--quiet", "--no-hardlinks"]);
    shell::run(clone.arg(project.root()).arg(folder))?;
    let target = folder.join("target");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--locked", "--package", &args.package])
        .args(["--profile", &args.profile])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &target);
    settle(&mut cargo, folder);
    shell::run(&mut cargo)?;
    let place = match args.profile.as_str() {
        "dev" => "debug",
        other => other,
    };
    let mut programs = Vec::new();
    for program in PROGRAMS {
        // One package builds one of them, the other both.
        if let Ok(bytes) = fs::read(target.join(place).join(program)) {
            programs.push((program.to_owned(), bytes));
        }
    }
    Ok(programs)
}

/// Makes a build independent of the location of its sources.
pub(crate) fn settle(cargo: &mut Command, root: &Path) {
    let places = [(root.to_owned(), "/roleos"), (cargo_home(), "/cargo")];
    let mut flags = OsString::new();
    let mut for_c = OsString::new();
    for (at, (from, to)) in places.into_iter().enumerate() {
        if at > 0 {
            // Cargo's own separator, so that a path may have blanks.
            flags.push("\x1f");
            for_c.push(" ");
        }
        for (text, option) in [
            (&mut flags, "--remap-path-prefix="),
            (&mut for_c, "-ffile-prefix-map="),
        ] {
            text.push(option);
            text.push(&from);
            text.push("=");
            text.push(to);
        }
    }
    cargo
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("CFLAGS", for_c)
        // The build must not depend on the time either.
        .env("SOURCE_DATE_EPOCH", "0");
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore asks where cargo keeps its files"
)]
fn cargo_home() -> PathBuf {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    named.or_else(own).unwrap_or_default()
}

/// Returns paths of this machine that no program may contain.
fn secret_paths(home: &Path) -> Vec<PathBuf> {
    let paths = [home.to_owned(), cargo_home()];
    paths
        .into_iter()
        .filter(|path| path.is_absolute())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_names_its_sources_by_no_path_of_the_machine() {
        let mut cargo = Command::new("cargo");
        settle(&mut cargo, Path::new("/a folder/here"));
        let flags = |name: &str| {
            let mut found = cargo.get_envs().filter(|(key, _)| *key == name);
            found
                .next()
                .and_then(|(_, value)| value.map(|value| value.to_string_lossy().into_owned()))
        };
        let rust = flags("CARGO_ENCODED_RUSTFLAGS").unwrap();
        assert!(
            rust.starts_with("--remap-path-prefix=/a folder/here=/roleos\x1f--remap-path-prefix=")
        );
        assert!(flags("CFLAGS").unwrap().contains("=/cargo"));
        assert_eq!(flags("RUSTFLAGS"), None);
    }
}
