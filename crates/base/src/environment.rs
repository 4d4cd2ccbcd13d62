//! Environment variables: the only place where they are read, and the table that documents them.
//!
//! All other settings are in the settings file, see [`crate::config`]. Variables are never written.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The workspace root.
const ROOT: &str = "ROLEOS_ROOT";

/// The settings file.
const CONFIG: &str = "ROLEOS_CONFIG";

/// The remote catalog.
const CATALOG_URL: &str = "AI_AGENT_ROLES_CATALOG_URL";

/// Switches the capability gate on.
const CAPABILITY_GATE: &str = "ROLEOS_CAPABILITY_GATE";

/// The workspace whose gate `roleos-watch` applies.
const WATCH_ROOT: &str = "ROLEOS_WATCH_ROOT";

/// Lets the hook ask the conformance specialist.
const CONFORMANCE_CONSULT: &str = "ROLEOS_CONFORMANCE_CONSULT";

/// The specialists' files.
const SPECIALISTS: &str = "ROLEOS_SPECIALISTS_PATH";
const SPECIALIST_STATE: &str = "ROLEOS_SPECIALIST_STATE_PATH";
const SPECIALIST_EVENTS: &str = "ROLEOS_SPECIALIST_EVENTS_PATH";
const SPECIALIST_FIELD_LOG: &str = "ROLEOS_SPECIALIST_FIELD_LOG_PATH";

/// Shadow probes.
const SHADOW_K: &str = "ROLEOS_SHADOW_K";
const SHADOW_N: &str = "ROLEOS_SHADOW_N";
const SHADOW_TAU: &str = "ROLEOS_SHADOW_TAU";

/// Variables that override a setting.
const SETTINGS: [(&str, &str); 4] = [
    (CAPABILITY_GATE, "oversight.capability_gate"),
    (SHADOW_K, "specialist.shadow_every"),
    (SHADOW_N, "specialist.shadow_window"),
    (SHADOW_TAU, "specialist.shadow_tau"),
];

/// One environment variable of Role OS, with its documentation.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    /// Its effect, in one sentence.
    pub what: &'static str,
    /// An example value.
    pub example: &'static str,
}

/// All variables.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: ROOT,
        what: "The workspace root; without it the nearest folder upwards that holds `.role-os/`, else the git root, else the current folder.",
        example: "/path/to/repository",
    },
    Variable {
        name: CONFIG,
        what: "The settings file, which must then exist; without it `.role-os/config.toml` under the workspace root.",
        example: "/path/to/config.toml",
    },
    Variable {
        name: CATALOG_URL,
        what: "The address of a remote catalog, http or https, below which `index.yaml` and `bundles/` lie; without it there is no remote catalog.",
        example: "https://catalog.example/roles",
    },
    Variable {
        name: CAPABILITY_GATE,
        what: "Switches the capability gate on when it is `1` or `true`; any other value leaves it to `capability_gate` under `[oversight]` in the settings file.",
        example: "1",
    },
    Variable {
        name: WATCH_ROOT,
        what: "The workspace whose gate `roleos-watch` applies to the commands of a coding agent; `roleos init` puts it into the agent's settings. Without it the workspace is found like everywhere.",
        example: "/path/to/repository",
    },
    Variable {
        name: CONFORMANCE_CONSULT,
        what: "Lets the hook ask the specialist of the role `Tool-Call Conformance` about calls whose contract holds as far as it can be computed, when it is `1` or `true`.",
        example: "1",
    },
    Variable {
        name: SPECIALISTS,
        what: "The registry of specialists; without it `.role-os/specialists.json`.",
        example: "/path/to/specialists.json",
    },
    Variable {
        name: SPECIALIST_STATE,
        what: "The state of the specialists; without it `.role-os/specialist-state.json`.",
        example: "/path/to/specialist-state.json",
    },
    Variable {
        name: SPECIALIST_EVENTS,
        what: "The specialists' events log, beside which the probe log lies; without it `.role-os/specialist-events.jsonl`.",
        example: "/path/to/specialist-events.jsonl",
    },
    Variable {
        name: SPECIALIST_FIELD_LOG,
        what: "The specialists' field log; without it `specialist-field-log.jsonl` beside the events log.",
        example: "/path/to/specialist-field-log.jsonl",
    },
    Variable {
        name: SHADOW_K,
        what: "One shadow probe in so many answers of a specialist, at least 1; wins over `shadow_every`.",
        example: "20",
    },
    Variable {
        name: SHADOW_N,
        what: "Probes that the window rule looks back, at least 1; wins over `shadow_window`.",
        example: "50",
    },
    Variable {
        name: SHADOW_TAU,
        what: "Share of disagreement that is tolerated, from 0 to 1; wins over `shadow_tau`.",
        example: "0.15",
    },
];

/// The variables at the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `ROLEOS_ROOT`.
    pub root: Option<PathBuf>,
    /// `ROLEOS_CONFIG`.
    pub config: Option<PathBuf>,
    /// `AI_AGENT_ROLES_CATALOG_URL`.
    pub catalog_url: Option<Confidential>,
    /// Set if `ROLEOS_CAPABILITY_GATE` is `1` or `true`.
    pub capability_gate: bool,
    /// `ROLEOS_WATCH_ROOT`.
    pub watch_root: Option<PathBuf>,
    /// Set if `ROLEOS_CONFORMANCE_CONSULT` is `1` or `true`.
    pub conformance_consult: bool,
    /// `ROLEOS_SPECIALISTS_PATH`.
    pub specialists: Option<PathBuf>,
    /// `ROLEOS_SPECIALIST_STATE_PATH`.
    pub specialist_state: Option<PathBuf>,
    /// `ROLEOS_SPECIALIST_EVENTS_PATH`.
    pub specialist_events: Option<PathBuf>,
    /// `ROLEOS_SPECIALIST_FIELD_LOG_PATH`.
    pub specialist_field_log: Option<PathBuf>,
    /// `ROLEOS_SHADOW_K`, `ROLEOS_SHADOW_N` and `ROLEOS_SHADOW_TAU`, unchecked.
    pub shadow: [Option<String>; 3],
    /// The folder of the user's trust store, see [`crate::trust_store`]. Without it, nothing is trusted.
    pub state: Option<PathBuf>,
}

/// Returns the folder for copies of remote files: in the user's own folder, because a clone can contain any other.
#[must_use]
pub fn cache_dir() -> Option<PathBuf> {
    Some(home()?.join(".cache").join("roleos"))
}

/// Returns a variable by which an agent marks its commands. It does not configure Role OS, so it is in no table.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place where variables are read"
)]
pub fn agent_mark(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// Returns every variable of this process, for a program that is started in its place.
#[must_use]
pub fn all() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// A value that may contain a password, so that the environment is shown without it.
#[derive(Clone, PartialEq, Eq)]
pub struct Confidential(OsString);

impl Confidential {
    /// Returns the value itself.
    #[must_use]
    pub fn reveal(&self) -> &OsStr {
        &self.0
    }
}

impl fmt::Debug for Confidential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Environment {
    /// Reads the variables of this process.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where variables are read"
    )]
    pub fn read() -> Self {
        Self {
            state: state_dir(env::var_os("XDG_STATE_HOME")),
            ..Self::from_lookup(|name| env::var_os(name))
        }
    }

    /// Returns the variable that overrides this setting, if it is set.
    #[must_use]
    pub fn wins_over(&self, key: &str) -> Option<&'static str> {
        let (name, _) = SETTINGS.into_iter().find(|(_, setting)| *setting == key)?;
        self.setting(name).map(|_| name)
    }

    /// Returns the value that a variable gives to its setting; a value that is not a number stays a string.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<serde_json::Value> {
        let [every, window, tau] = &self.shadow;
        let text = match name {
            CAPABILITY_GATE => return self.capability_gate.then(|| true.into()),
            SHADOW_K => every,
            SHADOW_N => window,
            SHADOW_TAU => tau,
            _ => &None,
        };
        let text = text.as_deref()?;
        Some(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }

    /// Uses the trust store of the command line, if given.
    #[must_use]
    pub fn with_state(self, named: Option<&Path>) -> Self {
        let state = named.map(Path::to_owned).or(self.state);
        Self { state, ..self }
    }

    /// Reads the variables through `lookup`. An empty value counts as unset, as shells and CI systems leave them.
    pub fn from_lookup(mut lookup: impl FnMut(&str) -> Option<OsString>) -> Self {
        let mut value = |name| lookup(name).filter(|value| !value.is_empty());
        let is_on = |value: Option<OsString>| value.is_some_and(|on| on == "1" || on == "true");
        Self {
            root: value(ROOT).map(PathBuf::from),
            config: value(CONFIG).map(PathBuf::from),
            catalog_url: value(CATALOG_URL).map(Confidential),
            capability_gate: is_on(value(CAPABILITY_GATE)),
            watch_root: value(WATCH_ROOT).map(PathBuf::from),
            conformance_consult: is_on(value(CONFORMANCE_CONSULT)),
            specialists: value(SPECIALISTS).map(PathBuf::from),
            specialist_state: value(SPECIALIST_STATE).map(PathBuf::from),
            specialist_events: value(SPECIALIST_EVENTS).map(PathBuf::from),
            specialist_field_log: value(SPECIALIST_FIELD_LOG).map(PathBuf::from),
            shadow: [SHADOW_K, SHADOW_N, SHADOW_TAU]
                .map(|name| value(name).map(|text| text.to_string_lossy().into_owned())),
            state: None,
        }
    }
}

/// Returns the folder of the trust store: `$XDG_STATE_HOME/roleos`, by default `~/.local/state/roleos`.
fn state_dir(xdg: Option<OsString>) -> Option<PathBuf> {
    let named = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named.or_else(|| Some(home()?.join(".local").join("state")))?;
    Some(base.join("roleos"))
}

/// Returns a secret whose variable the settings name, such as the key of a model. It is never printed.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the name of the variable is a setting, so it cannot be read in advance"
)]
pub fn secret(name: &str) -> Option<Confidential> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    is_name
        .then(|| env::var_os(name))
        .flatten()
        .filter(|value| !value.is_empty())
        .map(Confidential)
}

/// Returns the user of this program, as the name for receipts without another.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the name of the user is no setting of ours"
)]
pub fn user() -> Option<String> {
    let name = env::var_os("USER").or_else(|| env::var_os("LOGNAME"));
    name.map(|name| name.to_string_lossy().into_owned())
        .filter(|name| !name.is_empty())
        .or_else(listed_user)
}

/// Returns the name in the system's user list; services and containers often set no variable.
fn listed_user() -> Option<String> {
    let list = crate::files::read(Path::new("/etc/passwd"), 1024 * 1024).ok()?;
    let own = rustix::process::getuid().as_raw().to_string();
    String::from_utf8_lossy(&list).lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == own && !name.is_empty()).then(|| name.to_owned())
    })
}

/// Returns the user's home directory. It locates files of other programs and does not configure Role OS.
#[must_use]
pub fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute())
}

/// Returns the names of all variables that configure git.
pub(crate) fn git_variables() -> Vec<OsString> {
    let names = env::vars_os().map(|(name, _)| name);
    names
        .filter(|name| name.as_encoded_bytes().starts_with(b"GIT_"))
        .collect()
}

/// Returns `PATH` without the entries that depend on the current directory.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place where variables are read"
)]
pub fn absolute_search_path() -> Option<OsString> {
    let path = env::var_os("PATH")?;
    let absolute = env::split_paths(&path).filter(|entry| entry.is_absolute());
    env::join_paths(absolute).ok()
}

/// Returns the file in which git looks for the user's ignore patterns when no setting names one.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place where variables are read"
)]
pub(crate) fn git_ignore_file() -> Option<PathBuf> {
    let set = env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty());
    let base = set
        .map(PathBuf::from)
        .or_else(|| Some(home()?.join(".config")))?;
    Some(base.join("git/ignore"))
}

/// Returns the text of `.env.example`: every variable, explained and commented out.
#[must_use]
pub fn env_example() -> String {
    let mut text = String::from(
        "# Generated by `cargo xtask codegen`; do not edit.\n\
         # These variables set Role OS, and no others do.\n\
         # All are optional; everything else is set in `.role-os/config.toml`, see `roleos help config`.\n",
    );
    for Variable {
        name,
        what,
        example,
    } in VARIABLES
    {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n# {what}\n#{name}={example}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_exactly_what_is_read() {
        let mut asked = Vec::new();
        Environment::from_lookup(|name| {
            asked.push(name.to_owned());
            None
        });
        let listed: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
        assert_eq!(asked, listed);
    }

    #[test]
    fn an_empty_value_counts_as_unset() {
        assert_eq!(
            Environment::from_lookup(|_| Some(OsString::new())),
            Environment::default()
        );
    }

    #[test]
    fn values_arrive_under_their_names() {
        let environment = Environment::from_lookup(|name| Some(format!("/{name}").into()));
        assert_eq!(environment.root, Some(PathBuf::from("/ROLEOS_ROOT")));
        assert_eq!(environment.config, Some(PathBuf::from("/ROLEOS_CONFIG")));
        let catalog_url = environment.catalog_url.as_ref().map(Confidential::reveal);
        assert_eq!(catalog_url, Some(OsStr::new("/AI_AGENT_ROLES_CATALOG_URL")));
    }

    #[test]
    fn an_address_that_may_hold_a_password_is_not_shown() {
        let environment = Environment::from_lookup(|_| Some("https://me:secret@host".into()));
        let shown = format!("{:?}", environment.catalog_url);
        assert_eq!(shown, "Some(***)");
    }

    #[test]
    fn the_example_names_every_variable_and_sets_none() {
        let example = env_example();
        for variable in VARIABLES {
            assert!(example.contains(&format!("\n#{}=", variable.name)));
        }
        assert!(
            example
                .lines()
                .all(|line| line.is_empty() || line.starts_with('#'))
        );
    }
}
