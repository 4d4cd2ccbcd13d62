//! The one settings file, `.role-os/config.toml`: every setting, its default, its range, and its reference page.
//!
//! A [`Config`] holds only values that are in range, so its users need no further checks. Read here, never written.

use std::io;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::environment::Environment;
use crate::files;
use crate::installed::Installed;
use crate::workspace::Workspace;

use self::acceptance::Acceptance;
use self::gateway::Gateway;
use self::notify::{Notify, Telemetry};
use self::oidc::Oidc;
use self::oversight::Oversight;
use self::retention::Retention;
use self::selection::Selection;
use self::ship::Ship;
use self::specialist::{Fallback, Privacy, Specialist};
use self::store::Store;
use self::trusted_key::TrustedKey;
use self::within::Within;

pub mod acceptance;
pub mod fraction;
pub mod gateway;
pub mod listing;
pub mod notify;
pub mod oidc;
pub mod oversight;
mod own_action;
pub mod prices;
#[cfg(any(test, feature = "reference"))]
mod reference;
pub mod retention;
pub mod selection;
pub mod ship;
pub mod specialist;
pub mod store;
pub mod trust;
pub mod trusted_key;
pub mod within;

#[cfg(any(test, feature = "reference"))]
pub use reference::{reference_markdown, schema_text};

/// Largest settings file that is read; a clone may contain one, so its size is not trusted.
const MAX_FILE: u64 = 1024 * 1024;

const MIB: u64 = 1024 * 1024;

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Reading of witness bundles.
    pub witness: Witness,
    /// What a scorecard must reach before a capability counts as proved.
    pub acceptance: Acceptance,
    /// Limits of the process in which `roleos witness rerun` runs a task's tests again.
    pub rerun: Rerun,
    /// Decisions about tool calls: the capability gate, governance, and what is kept of a session.
    pub oversight: Oversight,
    /// Trained adapters that may play a role.
    pub specialist: Specialist,
    /// Contests between candidates and their verifiers.
    pub selection: Selection,
    /// What is written down.
    pub privacy: Privacy,
    /// Who answers when no adapter does.
    pub fallback: Fallback,
    /// The gateway of `roleos up`: where models lie, and who may ask.
    pub gateway: Gateway,
    /// Catalogs on other machines.
    pub catalog: Catalog,
    /// The archive of a team to which evidence is sent.
    pub ship: Ship,
    /// How long `roleos prune` keeps each kind of log.
    pub retention: Retention,
    /// Spans of what happens here, for a collector.
    pub telemetry: Telemetry,
    /// Webhooks that are told when something needs a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<Notify>,
    /// The database that a team shares.
    pub store: Store,
    /// Login by an OpenID Connect provider.
    pub oidc: Oidc,
    /// Settings of an unconfirmed file that do not hold.
    #[serde(skip)]
    #[cfg_attr(any(test, feature = "reference"), schemars(skip))]
    pub ignored: Vec<trust::Ignored>,
}

/// Section `[witness]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Witness {
    /// Largest bundle file that is read, in MiB.
    pub max_bundle_mib: Within<1, 4095>,
    /// Threads that check bundles; 0 means as many as the machine has.
    pub threads: Within<0, 1024>,
}

impl Default for Witness {
    fn default() -> Self {
        Self {
            max_bundle_mib: Within::of::<256>(),
            threads: Within::of::<0>(),
        }
    }
}

impl Witness {
    /// Returns largest bundle file that is read, in bytes.
    #[must_use]
    pub fn max_bundle_bytes(&self) -> u64 {
        self.max_bundle_mib.get().saturating_mul(MIB)
    }

    /// Returns the number of threads that check bundles.
    #[must_use]
    pub fn thread_count(&self) -> NonZeroUsize {
        usize::try_from(self.threads.get())
            .ok()
            .and_then(NonZeroUsize::new)
            .or_else(|| thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN)
    }
}

/// Section `[catalog]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Catalog {
    /// Refuse a catalog on another machine that none of `trusted_keys` signed (`roleos catalog sign`).
    pub require_signature: bool,
    /// Public Ed25519 keys in hexadecimal, as `roleos catalog sign` prints them.
    pub trusted_keys: Vec<TrustedKey>,
}

/// Section `[rerun]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Rerun {
    /// Seconds after which the test command is stopped.
    pub timeout_seconds: Within<1, 86_400>,
    /// Memory that the test command may use, in MiB.
    pub max_memory_mib: Within<64, 1_048_576>,
    /// Output of the test command that is kept, in MiB.
    pub max_output_mib: Within<1, 1024>,
}

impl Default for Rerun {
    fn default() -> Self {
        Self {
            timeout_seconds: Within::of::<900>(),
            max_memory_mib: Within::of::<4096>(),
            max_output_mib: Within::of::<16>(),
        }
    }
}

impl Rerun {
    /// Returns time after which the test command is stopped.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.get())
    }

    /// Returns memory that the test command may use, in bytes.
    #[must_use]
    pub fn max_memory_bytes(&self) -> u64 {
        self.max_memory_mib.get().saturating_mul(MIB)
    }

    /// Returns output of the test command that is kept, in bytes.
    #[must_use]
    pub fn max_output_bytes(&self) -> u64 {
        self.max_output_mib.get().saturating_mul(MIB)
    }
}

impl Config {
    /// Loads the file that `ROLEOS_CONFIG` names, which must exist; else the workspace's, whose absence means the
    /// defaults. In an unconfirmed file, weaker values are ignored, see [`trust`].
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or contains an unknown key or a value out of range.
    pub fn load(workspace: &Workspace, environment: &Environment) -> Result<Self, ConfigError> {
        let path = workspace.settings_path(environment);
        let (text, mut config) = match read_text(&path) {
            Ok(text) => {
                let config = Self::parse(&path, &text)?;
                (text, config)
            }
            Err(source)
                if environment.config.is_none() && source.kind() == io::ErrorKind::NotFound =>
            {
                (String::new(), Self::without_file(workspace))
            }
            Err(source) => return Err(ConfigError::Read { path, source }),
        };
        config.ignored = trust::ignore_unconfirmed(&mut config, workspace, &path, &text);
        Ok(config)
    }

    /// Returns the settings that apply while the file cannot be read.
    #[must_use]
    pub fn strict() -> Self {
        let mut config = Self::default();
        config.oversight.capability_gate = true;
        config
    }

    /// Returns the settings without a file: removing it, perhaps by `git clean`, does not switch off an installed gate.
    fn without_file(workspace: &Workspace) -> Self {
        let mut config = Self::default();
        config.oversight.capability_gate = Installed::exists(workspace);
        config
    }

    /// Reads one file, confirmed or not.
    ///
    /// # Errors
    /// As [`Config::load`], and if there is no such file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a settings file; `path` is only for the error.
    ///
    /// # Errors
    /// The text is not TOML, or contains an unknown key or a value out of range.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Setting {
            place: Place {
                path: path.to_owned(),
                line: line_of(text, &error),
                key: key_of(text, &error),
            },
            message: error.message().replace('\n', ", "),
        })
    }
}

/// Error of loading the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read settings file `{path}`")]
    Read {
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The file was read, but its content is invalid.
    #[error("cannot use settings file {place}: {message}")]
    Setting {
        /// Position of the error.
        place: Place,
        /// Description, with the value as written.
        message: String,
    },
}

impl ConfigError {
    /// Returns the remedy for the user.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => {
                "`ROLEOS_CONFIG` must name a readable text file; without it `.role-os/config.toml` is read if it exists"
            }
            Self::Setting { place, .. } if place.key.is_some() => {
                "correct or remove that line; `roleos help config` shows every setting with its section and range"
            }
            Self::Setting { .. } => {
                "correct the line: the file must be TOML, as `roleos help config` shows it"
            }
        }
    }
}

/// A position in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
    /// The key with its section, if the text is TOML.
    pub key: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        self.key
            .iter()
            .try_for_each(|key| write!(f, ", key `{key}`"))
    }
}

fn line_of(text: &str, error: &toml::de::Error) -> Option<usize> {
    let before = text.get(..error.span()?.start)?;
    Some(before.matches('\n').count() + 1)
}

/// Returns the key at which an error lies, with its sections; `None` when the text is not TOML.
fn key_of(text: &str, error: &toml::de::Error) -> Option<String> {
    let at = error.span()?.start;
    let document = DeTable::parse(text).ok()?;
    key_in(document.get_ref(), at, "")
}

fn key_in(table: &DeTable<'_>, at: usize, above: &str) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let key = format!("{above}{}", name.get_ref());
        let is_name = name.span().contains(&at);
        key_at(value, at, &key).or_else(|| is_name.then_some(key))
    })
}

fn key_at(value: &Spanned<DeValue<'_>>, at: usize, key: &str) -> Option<String> {
    let below = match value.get_ref() {
        DeValue::Table(table) => key_in(table, at, &format!("{key}.")),
        DeValue::Array(values) => {
            let mut values = values.iter().enumerate();
            values.find_map(|(index, value)| key_at(value, at, &format!("{key}[{index}]")))
        }
        _ => None,
    };
    below.or_else(|| value.span().contains(&at).then(|| key.to_owned()))
}

/// A pipe or a device would block or never end, so only a regular file is opened.
fn read_text(path: &Path) -> io::Result<String> {
    let file = files::open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    // One byte more than the length, so that one read reaches the end.
    let length = facts.len().min(MAX_FILE).saturating_add(1);
    let mut text = String::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("longer than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
