//! Changes one setting in `config.toml` and leaves everything else in it as it is, comments included.

use std::io;
use std::path::PathBuf;

use toml_edit::{DocumentMut, Item, Table, value};
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

/// Why a setting could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is in it, before or after the change.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It is no TOML, or has something else where the section belongs.
    #[error("cannot change `{}`: {why}", path.display())]
    NotSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Sets `key` in `section` to a text, leaves a receipt, and says in which file.
///
/// # Errors
/// The file cannot be read, changed or written, or would not be valid.
pub fn set_text(
    workspace: &Workspace,
    environment: &Environment,
    (section, key): (&str, &str),
    text: &str,
    signer: &SigningKey,
) -> Result<PathBuf, EditError> {
    let path = workspace.settings_path(environment);
    let changing = Changing::begin(workspace)?;
    let old = match files::read(&path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let old = String::from_utf8_lossy(&old).into_owned();
    let refuse = |why: String| EditError::NotSettings {
        path: path.clone(),
        why,
    };
    let mut document: DocumentMut = old
        .parse()
        .map_err(|error: toml_edit::TomlError| refuse(error.message().to_owned()))?;
    let table = document
        .entry(section)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or_else(|| refuse(format!("`{section}` is no section")))?;
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(present) => {
            // The comment behind the old value stays.
            let decor = present.decor().clone();
            *present = text.into();
            *present.decor_mut() = decor;
        }
        None => {
            table.insert(key, value(text));
        }
    }
    let before = Config::parse(&path, &old)?;
    let new = document.to_string();
    Config::parse(&path, &new)?;
    let receipt = Receipt {
        place: 0,
        at: clock::text(clock::now_ns()),
        what: format!("{section}.{key} = {text}"),
        subject: Subject::Config,
        before: pins::config_mark(&path),
        after: pins::content_mark(new.as_bytes()),
    };
    // One setting that a person changes does not confirm what else stands in the file.
    let trust = Trust::of(workspace);
    let was_own = trust.belief(&path, old.as_bytes(), Kind::Settings) == Belief::Own;
    let harmless = trust::weaker(&before, &trust::effective(&trust, workspace, &path)).is_empty();
    if !(old.is_empty() || was_own || harmless) {
        let why = "it holds settings that are not confirmed; `roleos trust` shows them and asks";
        return Err(refuse(why.to_owned()));
    }
    let confirm = Some(Kind::Settings);
    changing.replace(&receipt, &path, new.as_bytes(), signer, confirm)?;
    Ok(path)
}
