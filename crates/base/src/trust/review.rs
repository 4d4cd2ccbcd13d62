//! Lists the files of a workspace that need a person's confirmation, and the reasons.

use std::io;
use std::path::{Path, PathBuf};

use specialist::registry::{Entry, Registry};

use super::{Belief, Doubt, Kind, Trust, suites};
use crate::approval_key::Place;
use crate::config::{Config, trust as settings};
use crate::environment::Environment;
use crate::files::{self, FileError};
use crate::grants;
use crate::keys;
use crate::specialist_paths::{Named, Paths};
use crate::workspace::Workspace;

const MAX_SETTINGS: u64 = 1024 * 1024;
const MAX_REGISTRY: u64 = 64 * 1024 * 1024;

/// A file that can weaken the gate, run a program or redirect traffic.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// Kind of its confirmation.
    pub subject: Subject,
    pub content: Vec<u8>,
    /// The parts that need confirmation.
    pub needs: Vec<Need>,
    /// Its present status.
    pub belief: Belief,
    /// The last confirmed content.
    pub confirmed: Option<String>,
}

/// Kind of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A file that is confirmed by its content.
    File(Kind),
    /// The public half of the approval key.
    ApprovalKey,
    /// A key of evidence.
    Key,
}

/// Something that an unconfirmed file must not determine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// A setting, a role, an action or a key.
    pub what: String,
    /// Its effect.
    pub why: String,
}

impl Candidate {
    /// Returns why the file does not count, if that makes a difference.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        match self.belief {
            Belief::Unconfirmed(doubt) if !self.needs.is_empty() => Some(doubt),
            _ => None,
        }
    }

    /// Returns one sentence about the ignored parts and the reason.
    #[must_use]
    pub fn sentence(&self, root: &Path) -> Option<String> {
        let doubt = self.doubt()?;
        let what: Vec<&str> = self.needs.iter().map(|need| need.what.as_str()).collect();
        let path = self.path.strip_prefix(root).unwrap_or(&self.path);
        Some(format!(
            "`{}` does not count: {doubt}; ignored: {}",
            path.display(),
            what.join(", ")
        ))
    }
}

/// Returns every such file that exists.
///
/// # Errors
/// A file cannot be read.
pub fn candidates(
    workspace: &Workspace,
    environment: &Environment,
) -> Result<Vec<Candidate>, FileError> {
    let trust = Trust::of(workspace);
    let settings_path = workspace.settings_path(environment);
    let registry = Paths::find(workspace, environment, &Named::default()).registry;
    let files = [
        (settings_path, Kind::Settings, MAX_SETTINGS),
        (workspace.grants_path(), Kind::Grants, grants::MAX_FILE),
        (registry, Kind::Plain, MAX_REGISTRY),
    ];
    // The key comes first: it signs the confirmation of the others.
    let mut found: Vec<Candidate> = approval_candidate(workspace, &trust).into_iter().collect();
    for (path, kind, limit) in files {
        let Some(content) = read(&path, limit)? else {
            continue;
        };
        let needs = match kind {
            Kind::Settings => settings_needs(&trust, workspace, &path, &content),
            Kind::Grants => grants_needs(&content),
            Kind::Plain => registry_needs(&content),
        };
        found.push(Candidate {
            belief: trust.belief(&path, &content, kind),
            confirmed: trust.confirmed_text(&path, kind),
            subject: Subject::File(kind),
            path,
            content,
            needs,
        });
    }
    for path in suites::find(workspace) {
        let Some(content) = read(&path, MAX_SETTINGS)? else {
            continue;
        };
        let name = files::parent(&path).file_name().unwrap_or_default();
        found.push(Candidate {
            belief: suites::belief(&trust, &path, &content),
            confirmed: trust.confirmed_text(&path, Kind::Plain),
            subject: Subject::File(Kind::Plain),
            needs: vec![Need {
                what: format!("suite {}", name.to_string_lossy()),
                why: "runs setup and test commands".to_owned(),
            }],
            path,
            content,
        });
    }
    found.extend(key_candidates(workspace, &trust));
    Ok(found)
}

/// Returns a sentence, once per workspace, if files count that an initialised workspace would require to be confirmed.
#[must_use]
pub fn not_initialised(workspace: &Workspace, environment: &Environment) -> Option<String> {
    if Trust::of(workspace).is_initialised() {
        return None;
    }
    let found = candidates(workspace, environment).ok()?;
    let counts = |one: &&Candidate| {
        matches!(one.subject, Subject::File(_))
            && !one.needs.is_empty()
            && one.belief == Belief::Own
    };
    let first = found.iter().find(counts)?;
    super::tell_once(workspace).then(|| {
        format!(
            "this workspace is not initialised, so `{}` counts as it is written, wherever it came from; `roleos init` \
             changes that",
            first
                .path
                .strip_prefix(workspace.root())
                .unwrap_or(&first.path)
                .display()
        )
    })
}

fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    match files::read(path, limit) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn settings_needs(
    trust: &Trust<'_>,
    workspace: &Workspace,
    path: &Path,
    content: &[u8],
) -> Vec<Need> {
    let Ok(config) = Config::parse(path, &String::from_utf8_lossy(content)) else {
        return Vec::new();
    };
    let base = settings::effective(trust, workspace, path);
    let weaker = settings::weaker(&config, &base).into_iter();
    weaker
        .map(|(key, why)| Need {
            what: key.to_owned(),
            why: why.to_string(),
        })
        .collect()
}

fn grants_needs(content: &[u8]) -> Vec<Need> {
    let entries = oversight::grants::parse_entries(&String::from_utf8_lossy(content));
    let entries = entries.unwrap_or_default().into_iter();
    entries
        .filter(|(_, entry)| entry.get("granted").is_some_and(|value| value == true))
        .map(|(action, entry)| Need {
            what: action,
            why: format!("lets agents do it: {entry}"),
        })
        .collect()
}

fn registry_needs(content: &[u8]) -> Vec<Need> {
    let need = |entry: &Entry| {
        let token = match &entry.auth_env {
            Some(variable) => format!(", with the token in `{variable}`"),
            None => String::new(),
        };
        Need {
            what: entry.role.clone(),
            why: format!("sends its inputs to {}{token}", entry.backend_url),
        }
    };
    Registry::parse(content)
        .entries()
        .iter()
        .map(need)
        .collect()
}

/// Returns the workspace's approval key, unless the machine has one.
fn approval_candidate(workspace: &Workspace, trust: &Trust<'_>) -> Option<Candidate> {
    let place = Place::of(workspace);
    let path = place.public_path();
    if Place::of_machine().is_some() {
        return None;
    }
    let public = place.verifying_key().ok()??;
    let belief = match trust.check_approval_key(&public, &path) {
        Ok(()) => Belief::Own,
        Err(doubt) => Belief::Unconfirmed(doubt),
    };
    Some(Candidate {
        needs: vec![Need {
            what: public.id().to_string(),
            why: "signs approvals, grants and settings: trust it only if you made it".to_owned(),
        }],
        content: hex::encode(public.to_bytes()).into_bytes(),
        confirmed: None,
        subject: Subject::ApprovalKey,
        belief,
        path,
    })
}

fn key_candidates(workspace: &Workspace, trust: &Trust<'_>) -> Vec<Candidate> {
    let found = keys::files_in(&workspace.keys_dir());
    found
        .into_iter()
        .map(|(path, id)| Candidate {
            belief: match trust.check_key(&id, &path) {
                Ok(()) => Belief::Own,
                Err(doubt) => Belief::Unconfirmed(doubt),
            },
            needs: vec![Need {
                what: id.clone(),
                why: "signs or verifies evidence: trust it only if you know where it comes from"
                    .to_owned(),
            }],
            content: id.into_bytes(),
            confirmed: None,
            subject: Subject::Key,
            path,
        })
        .collect()
}
