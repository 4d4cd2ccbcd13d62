//! `cargo xtask hook-order`: which code a hook call runs, as `crates/roleos/hook.ld`, so that the linker puts it side by
//! side and a call touches few pages. Needs valgrind; to be run again when the hook has changed much.
//!
//! The script names functions and objects without the hashes that every build gives them. What it names and is not
//! there is passed over, and what it does not name stays where it is: an old script costs time, nothing else.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

const SCRIPT: &str = "crates/roleos/hook.ld";

/// Width of the addresses, the size and the alignment in the linker's map.
const COLUMNS: usize = 49;

/// Digits of the hashes in names.
const HASH: usize = 16;

/// Which of these a function is made for depends on the processor.
const PROCESSORS: &[&str] = &["avx", "avx2", "sse2", "sse4", "ssse3"];

/// Writes the order.
pub(crate) fn run(project: &Project) -> Result<()> {
    headline("a release build with a map");
    let map = project.target().join("hook-order.map");
    let more = format!("-Clink-arg=-Wl,-Map={}", map.display());
    let words = [
        "rustc",
        "--release",
        "--locked",
        "-p",
        "roleos",
        "--bin",
        "roleos",
        "--",
        &more,
    ];
    shell::run(&mut project.cargo(&words))?;
    let map = fs::read_to_string(&map)
        .map_err(|error| Failure::of(format!("cannot read `{}`", map.display()), error))?;
    headline("hook calls under valgrind");
    let ran = functions_that_ran(project)?;
    let script = script(&ran, &sections(&map));
    let path = project.root().join(SCRIPT);
    host::files::write(&path, script.as_bytes(), host::files::Privacy::Shared)
        .map_err(|error| Failure::of("cannot write the order", error))
}

/// Calls as agents make them most.
fn events(root: &str) -> Vec<Value> {
    let call = |tool: &str, input: Value| {
        json!({
            "session_id": "s", "transcript_path": "/nowhere/t.jsonl", "cwd": root,
            "permission_mode": "default", "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01",
        })
    };
    let look = json!({ "command": "git status --short && git diff --stat", "description": "Look" });
    let long =
        "cd src; for f in *.rs; do grep -n x \"$f\" | head -3; done; cargo test 2>&1 | tail -5";
    let file = format!("{root}/a");
    let edit = json!({ "file_path": file, "old_string": "x", "new_string": "y" });
    let mut after = call("Bash", json!({ "command": "ls" }));
    if let Some(fields) = after.as_object_mut() {
        fields.insert("hook_event_name".to_owned(), json!("PostToolUse"));
        fields.insert(
            "tool_response".to_owned(),
            json!({ "stdout": "a", "stderr": "" }),
        );
    }
    vec![
        call("Bash", look.clone()),
        // The first call of a session does more than the second.
        call("Bash", look),
        call("Bash", json!({ "command": long })),
        call("Read", json!({ "file_path": file })),
        call("Edit", edit),
        after,
    ]
}

/// The functions that hook calls run, by the names in the symbol table, in the order in which they are first seen.
fn functions_that_ran(project: &Project) -> Result<Vec<String>> {
    let folder = project.target().join("hook-order");
    fs::remove_dir_all(&folder).ok();
    let config = folder.join(".role-os/config.toml");
    let failed = |error| Failure::of("cannot make a workspace for the hook", error);
    fs::create_dir_all(folder.join(".role-os")).map_err(failed)?;
    let gate = b"[oversight]\ncapability_gate = true\n";
    host::files::write(&config, gate, host::files::Privacy::Shared)
        .map_err(|error| Failure::of("cannot make a workspace for the hook", error))?;
    shell::run(Command::new("git").args(["init", "--quiet"]).arg(&folder))?;
    let mut ran = Vec::new();
    let mut known = HashSet::new();
    for event in events(&folder.to_string_lossy()) {
        let profile = one_call(project, &folder, &event)?;
        for name in profile.lines().filter_map(function) {
            if known.insert(name.to_owned()) {
                ran.push(name.to_owned());
            }
        }
    }
    Ok(ran)
}

fn one_call(project: &Project, folder: &Path, event: &Value) -> Result<String> {
    let profile = folder.join("profile");
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--demangle=no", "--quiet"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(project.target().join("release/roleos"))
        .args(["hook", "claude", "--root"])
        .arg(folder)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::of("cannot start `valgrind`", error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(event.to_string().as_bytes()).ok();
    }
    let status = child.wait();
    let status = status.map_err(|error| Failure::of("cannot wait for `valgrind`", error))?;
    if !status.success() {
        return Err(Failure::new(format!(
            "the hook failed ({status}) at {event}"
        )));
    }
    fs::read_to_string(&profile).map_err(|error| Failure::of("cannot read the profile", error))
}

/// The function that a line of a profile names for the first time.
fn function(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("fn=(")
        .or_else(|| line.strip_prefix("cfn=("))?;
    let (_, name) = rest.split_once(") ")?;
    // How deep a call of itself is.
    Some(name.split_once('\'').map_or(name, |(name, _)| name))
}

/// Where each symbol stands: object and section.
fn sections(map: &str) -> HashMap<&str, (&str, &str)> {
    let mut found = HashMap::new();
    let mut current = None;
    for line in map.lines().skip(1) {
        let Some(text) = line.get(COLUMNS..) else {
            continue;
        };
        let name = text.trim_start();
        match text.len() - name.len() {
            8 => {
                let section = name.rsplit_once(":(");
                current = section
                    .and_then(|(object, section)| Some((object, section.strip_suffix(')')?)))
                    .filter(|(_, section)| section.starts_with(".text"));
                // Functions that no other object sees are not listed by themselves.
                if let Some(place) = current
                    && let Some(own) = place.1.strip_prefix(".text.")
                {
                    found
                        .entry(own.trim_start_matches("unlikely."))
                        .or_insert(place);
                }
            }
            16 => {
                if let Some(place) = current {
                    found.entry(name).or_insert(place);
                }
            }
            _ => {}
        }
    }
    found
}

fn script(ran: &[String], sections: &HashMap<&str, (&str, &str)>) -> String {
    let mut script = String::from(
        "/* The code that a hook call runs, side by side, so that it is few pages.\n   \
         Written by `cargo xtask hook-order`. */\nSECTIONS\n{\n  .text.hook : {\n",
    );
    let mut known = HashSet::new();
    for name in ran {
        let Some((object, section)) = sections.get(name.as_str()) else {
            continue;
        };
        let (object, by_processor) = unhashed_object(object);
        let section = if by_processor {
            ".text*".to_owned()
        } else {
            unhashed(section)
        };
        let line = format!("    {object}({section})\n");
        if !known.contains(&line) {
            script.push_str(&line);
            known.insert(line);
        }
    }
    // Writing to a string cannot fail.
    let _ = write!(script, "  }}\n}}\nINSERT BEFORE .text;\n");
    script
}

/// A name without the hashes in it, as a pattern.
fn unhashed(section: &str) -> String {
    // Named by the older scheme: the hash comes last, and what the optimiser adds behind it is none of ours.
    if let Some((name, hash)) = section.rsplit_once("17h")
        && hash.len() > HASH
        && hash
            .bytes()
            .take(HASH)
            .all(|digit| digit.is_ascii_hexdigit())
    {
        return format!("{name}17h*");
    }
    let (name, optimised) = match section.split_once(".llvm.") {
        Some((name, _)) => (name, "*"),
        None => (section, ""),
    };
    // Named by the newer one: every crate has its hash.
    let mut parts = name.split("Cs");
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hash = part.bytes().take_while(u8::is_ascii_alphanumeric).count();
        pattern.push_str("Cs");
        match part.get(hash..) {
            Some(rest) if hash >= 8 && rest.starts_with('_') => {
                pattern.push('*');
                pattern.push_str(rest);
            }
            _ => pattern.push_str(part),
        }
    }
    pattern + optimised
}

/// An object as a pattern, and whether it is one of several for different processors.
fn unhashed_object(object: &str) -> (String, bool) {
    let file = object.rsplit('/').next().unwrap_or(object);
    let is_hash = |text: &str| text.len() == HASH && text.bytes().all(|b| b.is_ascii_hexdigit());
    let named = |text: &str| {
        let (name, hash) = text.rsplit_once('-')?;
        is_hash(hash).then(|| name.to_owned())
    };
    if let Some((archive, member)) = file.split_once('(') {
        let member = member.trim_end_matches(')');
        let stem = archive.rsplit_once('.').map_or(archive, |(stem, _)| stem);
        let archive = named(stem).map_or_else(|| archive.to_owned(), |name| format!("{name}-*"));
        let member = match member.split_once('-') {
            Some((hash, rest)) if is_hash(hash) => format!("*-{rest}"),
            _ => member.to_owned(),
        };
        let (stem, end) = member.rsplit_once('.').unwrap_or((&member, "o"));
        let parts: Vec<&str> = stem.split('-').collect();
        let by_processor = parts.iter().any(|part| PROCESSORS.contains(part));
        let parts = parts
            .iter()
            .map(|part| if PROCESSORS.contains(part) { "*" } else { part });
        let stem = parts.collect::<Vec<_>>().join("-");
        return (format!("*{archive}:{stem}.{end}"), by_processor);
    }
    // The unit of a crate: `roleos-<hash>.<crate>-<hash>.…`.
    let unit = file.split('.').nth(1).and_then(named);
    let pattern = unit.map_or_else(|| "*roleos-*".to_owned(), |name| format!("*.{name}-*"));
    (pattern, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_changes_from_build_to_build() {
        for (section, pattern) in [
            (".text", ".text"),
            (
                ".text._ZN4host4hook6answer17h0123456789abcdefE",
                ".text._ZN4host4hook6answer17h*",
            ),
            (
                ".text._ZN1a1b17h0123456789abcdefE.llvm.123",
                ".text._ZN1a1b17h*",
            ),
            (
                ".text._RNvNtCsjrHSEGnQ3l9_3std4path3abc",
                ".text._RNvNtCs*_3std4path3abc",
            ),
            (
                ".text._RNvCslNYArtu3iFV_5alloc1a.llvm.9",
                ".text._RNvCs*_5alloc1a*",
            ),
        ] {
            assert_eq!(unhashed(section), pattern);
        }
        for (object, pattern, by_processor) in [
            (
                "/d/roleos-3cf20f92588effb6.oversight-9f59e5ed2ddebfc3.oversight.68-cgu.0.rcgu.o",
                "*.oversight-*",
                false,
            ),
            (
                "/d/roleos-3cf20f92588effb6.a4ikpnbxev65fvc.rcgu.o",
                "*roleos-*",
                false,
            ),
            ("/lib/libc.a(malloc.o)", "*libc.a:malloc.o", false),
            (
                "/lib/libc.a(memmove-avx-unaligned-erms.o)",
                "*libc.a:memmove-*-unaligned-erms.o",
                true,
            ),
            (
                "/d/liba-9f59e5ed2ddebfc3.rlib(9f59e5ed2ddebfc3-x.o)",
                "*liba-*:*-x.o",
                false,
            ),
        ] {
            assert_eq!(unhashed_object(object), (pattern.to_owned(), by_processor));
        }
    }

    #[test]
    fn what_ran_is_found_in_the_map_and_comes_first() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol
          833080           833080   25484e    64 .text
          833080           833080       10    16         /d/roleos-3cf20f92588effb6.host-9f59e5ed2ddebfc3.host.1.rcgu.o:(.text._ZN4host1a17h0123456789abcdefE)
          833090           833090       10    16         /lib/libc.a(malloc.o):(.text)
          833090           833090        0     1                 malloc
          8330a0           8330a0       10    16         /lib/libc.a(malloc.o):(.data)
          8330a0           8330a0        0     1                 state
";
        let profile = [
            "fn=(1) malloc",
            "cfn=(2) _ZN4host1a17h0123456789abcdefE'2",
            "fn=(2)",
            "calls=1",
            "fn=(3) state",
        ];
        let ran: Vec<String> = profile
            .iter()
            .filter_map(|line| function(line))
            .map(str::to_owned)
            .collect();
        let script = script(&ran, &sections(map));
        let body: Vec<&str> = script
            .lines()
            .filter(|line| line.starts_with("    "))
            .collect();
        assert_eq!(
            body,
            [
                "    *libc.a:malloc.o(.text)",
                "    *.host-*(.text._ZN4host1a17h*)"
            ]
        );
    }
}
