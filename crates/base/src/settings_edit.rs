//! Changes settings in `config.toml` and preserves everything else in it, comments included.
//!
//! The new text is parsed like every settings file before it is written, so no edit leaves an invalid file.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};
use witness::key::SigningKey;

use crate::clock;
use crate::config::{Config, ConfigError, trust};
use crate::environment::Environment;
use crate::files::{self, FileError};
use crate::pins;
use crate::receipts::{Changing, Receipt, Subject};
use crate::trust::{Belief, Kind, Trust};
use crate::workspace::Workspace;

const MAX_FILE: u64 = 1024 * 1024;

/// Error of changing a setting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its content is invalid, before or after the change.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key is not a path of settings.
    #[error("cannot read the key `{0}`: name a section and a key, as in `oversight.extended`")]
    BadKey(String),
    /// It is not TOML, or has another value in the place of the section.
    #[error("cannot change `{}`: {why}", path.display())]
    NotSettings {
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
}

/// One setting to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Section and key with dots between them; a part with other characters than letters, digits, `-` and `_` in quotes.
    pub key: String,
    /// The value as TOML, or a bare string; `None` removes the key, which restores the default.
    pub value: Option<String>,
}

impl Change {
    /// Creates a change that sets a key.
    #[must_use]
    pub fn set(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: Some(value.into()),
        }
    }
}

/// Settings before and after a change.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The settings file.
    pub path: PathBuf,
    /// The settings before the change.
    pub before: Config,
    /// The settings after the change.
    pub after: Config,
    old: String,
    new: String,
}

impl Edit {
    /// Returns the settings that the change weakens, which a person has to confirm.
    #[must_use]
    pub fn weaker(&self) -> Vec<(&'static str, trust::Why)> {
        trust::weaker(&self.after, &self.before)
    }

    /// Returns `true` if the file has the wanted values already.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.old == self.new
    }
}

/// Computes the result of the changes, without writing it.
///
/// # Errors
/// The file cannot be read, or would not be valid.
pub fn preview(
    workspace: &Workspace,
    environment: &Environment,
    changes: &[Change],
) -> Result<Edit, EditError> {
    let path = workspace.settings_path(environment);
    let old = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let old = String::from_utf8_lossy(&old).into_owned();
    let before = Config::parse(&path, &old)?;
    let mut new = old.clone();
    let mut after = before.clone();
    for change in changes {
        (new, after) = edited(&path, &new, change)?;
    }
    Ok(Edit {
        path,
        before,
        after,
        old,
        new,
    })
}

/// Changes settings, writes a receipt, and returns the file.
///
/// # Errors
/// The file cannot be read, changed or written, or would not be valid.
pub fn apply(
    workspace: &Workspace,
    environment: &Environment,
    changes: &[Change],
    signer: &SigningKey,
) -> Result<PathBuf, EditError> {
    let changing = Changing::begin(workspace)?;
    let edit = preview(workspace, environment, changes)?;
    let path = edit.path.clone();
    let shown = |change: &Change| match &change.value {
        Some(value) => format!("{} = {value}", change.key),
        None => format!("{} removed", change.key),
    };
    let receipt = Receipt {
        place: 0,
        at: clock::text(clock::now_ns()),
        what: changes.iter().map(shown).collect::<Vec<_>>().join(", "),
        subject: Subject::Config,
        before: pins::config_mark(&path),
        after: pins::content_mark(edit.new.as_bytes()),
    };
    // A person's change of one setting does not confirm the rest of the file.
    let trust = Trust::of(workspace);
    let was_own = trust.belief(&path, edit.old.as_bytes(), Kind::Settings) == Belief::Own;
    let confirmed = trust::effective(&trust, workspace, &path);
    let harmless = trust::weaker(&edit.before, &confirmed).is_empty();
    if !(edit.old.is_empty() || was_own || harmless) {
        let why = "it holds settings that are not confirmed; `roleos trust` shows them and asks";
        return Err(EditError::NotSettings {
            path,
            why: why.to_owned(),
        });
    }
    let confirm = Some(Kind::Settings);
    changing.replace(&receipt, &path, edit.new.as_bytes(), signer, confirm)?;
    Ok(path)
}

/// Returns the text after one change, and the settings in it. A value that is not valid as TOML is tried as a string.
fn edited(path: &Path, old: &str, change: &Change) -> Result<(String, Config), EditError> {
    let keys = Key::parse(&change.key).map_err(|_| EditError::BadKey(change.key.clone()))?;
    let text = change.value.as_deref();
    let literal = text.and_then(|text| text.parse::<Value>().ok());
    let string = text.map(Value::from);
    let mut first_error = None;
    let candidates = match text {
        None => vec![None],
        Some(_) => vec![literal, string]
            .into_iter()
            .flatten()
            .map(Some)
            .collect(),
    };
    for candidate in candidates {
        let new = placed(path, old, (&change.key, &keys), candidate)?;
        match Config::parse(path, &new) {
            Ok(config) => return Ok((new, config)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.map_or_else(|| EditError::BadKey(change.key.clone()), EditError::from))
}

/// Returns the text with the value in its section, in the section's existing table if there is one.
fn placed(
    path: &Path,
    old: &str,
    (name, keys): (&str, &[Key]),
    value: Option<Value>,
) -> Result<String, EditError> {
    let refuse = |why: String| EditError::NotSettings {
        path: path.to_owned(),
        why,
    };
    let mut document: DocumentMut = old
        .parse()
        .map_err(|error: toml_edit::TomlError| refuse(error.message().to_owned()))?;
    let (Some((last, sections)), true) = (keys.split_last(), keys.len() > 1) else {
        return Err(EditError::BadKey(name.to_owned()));
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections {
        if value.is_none() && !table.contains_key(section.get()) {
            return Ok(old.to_owned());
        }
        table = table
            .entry(section.get())
            .or_insert_with(|| {
                let mut new = Table::new();
                new.set_implicit(true);
                Item::Table(new)
            })
            .as_table_like_mut()
            .ok_or_else(|| refuse(format!("`{}` is not a section", section.get())))?;
    }
    match (
        value,
        table.get_mut(last.get()).and_then(Item::as_value_mut),
    ) {
        (None, _) => {
            table.remove(last.get());
        }
        (Some(mut value), Some(present)) => {
            // The comment after the old value stays.
            *value.decor_mut() = present.decor().clone();
            *present = value;
        }
        (Some(mut value), None) => {
            value.decor_mut().clear();
            table.insert(last.get(), Item::Value(value));
        }
    }
    let new = document.to_string();
    // The writer ends the lines that it adds with a line feed.
    Ok(match old.contains("\r\n") {
        true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => new,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, key: &str, value: Option<&str>, expected: Result<&str, &str>) {
        let change = Change {
            key: key.to_owned(),
            value: value.map(str::to_owned),
        };
        let edited = edited(Path::new("config.toml"), old, &change);
        let edited = edited
            .map(|(text, _)| text)
            .map_err(|error| error.to_string());
        match (&edited, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{key} in {old:?}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            _ => panic!("{key} in {old:?}: {edited:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_value_is_placed_into_its_section_and_nothing_else_changes() {
        let starter = crate::starter::CONFIG;
        let (before, after) = starter.split_once("\n\n# What models cost").unwrap();
        let placed = format!("{before}\nextended = true\n\n# What models cost{after}");
        check(starter, "oversight.extended", Some("true"), Ok(&placed));
        check(
            "# mine\n[oversight]\nopaque  =  'ask'  # why\n[rerun]\n",
            "oversight.opaque",
            Some("deny"),
            Ok("# mine\n[oversight]\nopaque  =  \"deny\"  # why\n[rerun]\n"),
        );
        check(
            "",
            "witness.threads",
            Some("2"),
            Ok("[witness]\nthreads = 2\n"),
        );
        check(
            "",
            "fallback.claude.model",
            Some("big"),
            Ok("[fallback.claude]\nmodel = \"big\"\n"),
        );
        check(
            "oversight = { opaque = \"ask\" }\n",
            "oversight.extended",
            Some("[\"docker:push\"]"),
            Ok("oversight = { opaque = \"ask\" , extended = [\"docker:push\"] }\n"),
        );
        check(
            "[rerun]\r\n",
            "rerun.timeout_seconds",
            Some("5"),
            Ok("[rerun]\r\ntimeout_seconds = 5\r\n"),
        );
        check(
            "[gateway]\n",
            "gateway.token_env",
            Some("12"),
            Ok("[gateway]\ntoken_env = \"12\"\n"),
        );
        check(
            "[oversight.prices]\n",
            "oversight.prices.\"gpt-5.1\"",
            Some("{ input = 1 }"),
            Ok("[oversight.prices]\n\"gpt-5.1\" = { input = 1 }\n"),
        );
    }

    #[test]
    fn a_removed_key_means_the_default() {
        check(
            "[rerun]\ntimeout_seconds = 5\n# kept\nmax_memory_mib = 64\n",
            "rerun.timeout_seconds",
            None,
            Ok("[rerun]\n# kept\nmax_memory_mib = 64\n"),
        );
        check("[rerun]\n", "witness.threads", None, Ok("[rerun]\n"));
    }

    #[test]
    fn no_edit_leaves_an_unreadable_file() {
        for (key, value, part) in [
            (
                "witness.threads",
                "2000",
                "key `witness.threads`: invalid value: integer `2000`, expected a whole number from 0 to 1024",
            ),
            (
                "witness.threads",
                "many",
                "expected a whole number from 0 to 1024",
            ),
            ("oversight.opaque", "maybe", "unknown variant `maybe`"),
            ("oversight.prices.m", "true", "key `oversight.prices.m`"),
            ("oversight.nothing", "1", "unknown field `nothing`"),
            ("threads", "1", "name a section and a key"),
            ("a..b", "1", "cannot read the key `a..b`"),
        ] {
            check("", key, Some(value), Err(part));
        }
        check(
            "oversight = 3\n",
            "oversight.extended",
            Some("true"),
            Err("`oversight` is not a section"),
        );
    }
}
