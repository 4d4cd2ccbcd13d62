//! The archive of a workspace: bundles in its store under its ledger, everything else in `.role-os/team/`.
//!
//! `machines.json`, `tokens.json` and `codes.json` are lists that are replaced as a whole; `audit.jsonl` and the logs
//! of the machines, `logs/<key id>/<log>.jsonl`, are appended. A key counts only while it is also one of the
//! workspace's keys that the user confirmed, so that a list written by another program enrols nothing.

use std::path::PathBuf;

use base::files::{self, FileError, Lock, Privacy};
use base::keys::{self, KeyError, KeyStore};
use base::seals::Seals;
use base::workspace::Workspace;
use base::{sealed_files, trust};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use witness::key::{KeyId, PublicKey};
use witness::ledger::proof::ConsistencyProof;
use witness::scorecard::{Report, Wanted};
use witness::wire::TaskId;

use super::people::{Act, CodeHash, Token};
use super::shipment::Slice;
use super::{
    Archive, ArchiveError, Committed, Enrolled, Identity, Item, Kept, LogName, NewBundle, NewLine,
    Placed,
};
use crate::scan;
use crate::score::{self, Source};
use crate::store::{Store, StoreError};

mod lines;

/// Largest list that is read.
const MAX_LIST: u64 = 16 * 1024 * 1024;

/// Most attempts to read a list that changes meanwhile.
const MAX_LOOKS: usize = 8;

/// Error of a list that another program wrote: it would give itself a role.
const UNSEALED: &str =
    "was not written by `roleos`, so nothing in it counts: remove it, and make its entries again";

/// Archive over the files of one workspace.
#[derive(Debug)]
pub struct FilesArchive {
    workspace: Workspace,
    store: Store,
    folder: PathBuf,
    max_bytes: u64,
    seals: Seals,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    key: String,
    machine: String,
    at_ns: u64,
    by: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    hash: String,
    until_ns: u64,
    by: String,
}

impl From<FileError> for ArchiveError {
    fn from(error: FileError) -> Self {
        match error.source.kind() {
            std::io::ErrorKind::TimedOut => Self::Away(base::said(&error)),
            _ => Self::failed(&error),
        }
    }
}

impl From<KeyError> for ArchiveError {
    fn from(error: KeyError) -> Self {
        Self::failed(&error)
    }
}

impl From<StoreError> for ArchiveError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Ledger(error) => error.into(),
            error => Self::failed(&error),
        }
    }
}

impl From<crate::ledger::LedgerError> for ArchiveError {
    fn from(error: crate::ledger::LedgerError) -> Self {
        match error {
            crate::ledger::LedgerError::File(error) => error.into(),
            error => Self::Damaged(base::said(&error)),
        }
    }
}

impl FilesArchive {
    /// Returns the archive of a workspace. No bundle larger than `max_bytes` is read.
    #[must_use]
    pub fn of(workspace: &Workspace, max_bytes: u64) -> Self {
        Self {
            store: Store::of(workspace, max_bytes),
            folder: workspace.role_os_dir().join("team"),
            workspace: workspace.clone(),
            max_bytes,
            seals: Seals::of(workspace),
        }
    }

    fn list<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, ArchiveError> {
        let path = self.folder.join(name);
        let damaged = |why: &str| ArchiveError::Damaged(format!("`{}` {why}", path.display()));
        // The list and its mark are two reads, and another program may write between them.
        for _ in 0..MAX_LOOKS {
            let bytes = match files::read(&path, MAX_LIST) {
                Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Vec::new());
                }
                read => read?,
            };
            let marks = self.seals.marks(name).map_err(|_| damaged(UNSEALED))?;
            let seal = self.seals.seal(name, &bytes);
            if seal.is_none_or(|seal| marks.contains(&seal)) {
                return serde_json::from_slice(&bytes)
                    .map_err(|error| damaged(&format!("cannot be read: {error}")));
            }
        }
        Err(damaged(UNSEALED))
    }

    /// Changes a list under the lock; `change` returns `true` if the list must be written, and the act is logged then.
    fn change<T: DeserializeOwned + Serialize, R>(
        &self,
        name: &str,
        act: Option<&Act>,
        change: impl FnOnce(&mut Vec<T>) -> Result<(bool, R), ArchiveError>,
    ) -> Result<R, ArchiveError> {
        let _lock = self.lock()?;
        let mut list = self.list(name)?;
        let (is_changed, result) = change(&mut list)?;
        if is_changed {
            let mut text = serde_json::to_vec_pretty(&list).unwrap_or_default();
            text.push(b'\n');
            // Logged first: an act that is logged and not done is visible; one that is done and not logged would not
            // be.
            if let Some(act) = act {
                self.append_act(act)?;
            }
            let path = self.folder.join(name);
            let seal = self.seals.seal(name, &text).unwrap_or_default();
            let write = || files::write(&path, &text, Privacy::Secret);
            self.seals.replace(name, &seal, write)?;
        }
        Ok(result)
    }

    fn lock(&self) -> Result<Lock, FileError> {
        files::make_directory(&self.folder, Privacy::Secret)?;
        Lock::take_patiently(&self.folder.join(".lock"))
    }

    fn append_act(&self, act: &Act) -> Result<(), FileError> {
        let line = serde_json::to_string(act).unwrap_or_default();
        files::append_line(&self.folder.join("audit.jsonl"), &line, true).map(drop)
    }

    fn keys(&self) -> Result<KeyStore, ArchiveError> {
        Ok(self.store.keys_for_writing()?.0)
    }
}

impl Archive for FilesArchive {
    fn identity(&self) -> Result<Identity, ArchiveError> {
        let keys = self.keys()?;
        let (origin, size) = self.store.named_ledger(&keys)?;
        let own = keys.list().into_iter().rev();
        let own = own.filter(|key| !key.created.is_empty());
        Ok(Identity {
            origin,
            size,
            keys: own.filter_map(|key| key.public).collect(),
        })
    }

    fn enrolled(&self) -> Result<Vec<Enrolled>, ArchiveError> {
        let believed = self.store.keys()?.public_keys();
        let machines: Vec<Machine> = self.list("machines.json")?;
        let known = machines.into_iter().filter_map(|one| {
            let bytes: [u8; 32] = hex::decode(&one.key).ok()?.try_into().ok()?;
            let key = PublicKey::parse(&bytes)?;
            believed.contains(&key).then_some(Enrolled {
                key,
                machine: one.machine,
                at_ns: one.at_ns,
                by: one.by,
            })
        });
        Ok(known.collect())
    }

    fn enroll(&self, key: &PublicKey, machine: &str, act: &Act) -> Result<bool, ArchiveError> {
        let digits = hex::encode(key.to_bytes());
        let is_new = self.change("machines.json", Some(act), |list: &mut Vec<Machine>| {
            if list.iter().any(|one| one.key == digits) {
                return Ok((false, false));
            }
            list.push(Machine {
                key: digits,
                machine: machine.to_owned(),
                at_ns: act.at_ns,
                by: act.who.clone(),
            });
            Ok((true, true))
        })?;
        // Trusted last: a listed key that is not trusted yet enrols nothing, and the next call trusts it.
        let id = key.id().to_string();
        trust::record_keys(&self.workspace, std::slice::from_ref(&id))?;
        let directory = self.workspace.keys_dir();
        let path = directory.join(format!("{id}.pub"));
        if !path.exists() {
            let line = keys::public_line(key);
            keys::make_home(&directory)?;
            sealed_files::announce(self.workspace.state(), &path, Some(line.as_bytes()))?;
            files::write(&path, line.as_bytes(), Privacy::Shared)?;
        }
        Ok(is_new)
    }

    fn dismiss_key(&self, key: KeyId, act: &Act) -> Result<bool, ArchiveError> {
        let id = |one: &Machine| {
            let bytes: Option<[u8; 32]> = hex::decode(&one.key).ok()?.try_into().ok();
            PublicKey::parse(&bytes?).map(|key| key.id())
        };
        // The `.pub` stays: what the key signed before is still evidence.
        self.change("machines.json", Some(act), |list: &mut Vec<Machine>| {
            let before = list.len();
            list.retain(|one| id(one) != Some(key));
            let is_changed = list.len() < before;
            Ok((is_changed, is_changed))
        })
    }

    fn offer_code(&self, code: &CodeHash, until_ns: u64, act: &Act) -> Result<(), ArchiveError> {
        self.change("codes.json", Some(act), |list: &mut Vec<Code>| {
            list.retain(|one| one.until_ns > act.at_ns);
            list.push(Code {
                hash: code.0.clone(),
                until_ns,
                by: act.who.clone(),
            });
            Ok((true, ()))
        })
    }

    fn use_code(&self, code: &CodeHash, now_ns: u64) -> Result<Option<String>, ArchiveError> {
        self.change("codes.json", None, |list: &mut Vec<Code>| {
            let is_it = |one: &Code| one.hash == code.0 && one.until_ns > now_ns;
            let Some(place) = list.iter().position(is_it) else {
                return Ok((false, None));
            };
            Ok((true, Some(list.remove(place).by)))
        })
    }

    fn commit(&self, items: &[Item]) -> Result<Committed, ArchiveError> {
        let bundles: Vec<&NewBundle> = items
            .iter()
            .filter_map(|item| match item {
                Item::Bundle(bundle) => Some(&**bundle),
                Item::Line(_) => None,
            })
            .collect();
        let (placed, checkpoint) = if bundles.is_empty() {
            let ledger = self.store.ledger()?;
            let signed = ledger.map(|ledger| ledger.checkpoint()).transpose()?;
            (Vec::new(), signed.flatten().map(std::sync::Arc::new))
        } else {
            self.store.join(&bundles, &self.keys()?)?
        };
        let lines: Vec<&NewLine> = items
            .iter()
            .filter_map(|item| match item {
                Item::Line(line) => Some(line),
                Item::Bundle(_) => None,
            })
            .collect();
        let _lock = self.lock()?;
        let mut lines = lines::append(&self.folder, &lines)?.into_iter();
        let mut placed = placed.into_iter();
        let lost = || ArchiveError::Failed("an item was lost on the way".to_owned());
        let all = items.iter().map(|item| match item {
            Item::Bundle(_) => placed.next().ok_or_else(lost),
            Item::Line(_) => Ok((lines.next().ok_or_else(lost)?, None)),
        });
        Ok(Committed {
            placed: all.collect::<Result<Vec<(Placed, _)>, ArchiveError>>()?,
            checkpoint,
        })
    }

    fn growth(&self, from: u64) -> Result<Option<ConsistencyProof>, ArchiveError> {
        let Some(ledger) = self.store.ledger()? else {
            return Err(ArchiveError::Unfit("there is no ledger yet".to_owned()));
        };
        let Some(signed) = ledger.checkpoint()? else {
            return Err(ArchiveError::Unfit("there is no checkpoint yet".to_owned()));
        };
        let proof = ledger.tree().prove_growth(from, signed);
        let proof = proof.map_err(|error| ArchiveError::Unfit(error.to_string()))?;
        Ok((ledger.tree().len() > from).then_some(proof))
    }

    fn bundle(&self, task: TaskId) -> Result<Option<Vec<u8>>, ArchiveError> {
        let ledger = self.store.ledger()?;
        let entries = ledger.as_ref().map_or(&[][..], |ledger| ledger.entries());
        let found = entries.iter().rev().find(|one| one.leaf.task_id == task);
        let read = found.map(|one| {
            let path = self.store.witness_dir().join(&one.file);
            files::read(&path, self.max_bytes)
        });
        Ok(read.transpose()?)
    }

    fn scorecard(&self, wanted: &Wanted) -> Result<Report, ArchiveError> {
        let paths = self.store.bundle_paths()?;
        let keyring = self.store.keys()?.keyring();
        let source = Source {
            paths: &paths,
            keyring: &keyring,
            unverified: false,
            options: scan::Options::all_cores(self.max_bytes),
            ledger: None,
        };
        Ok(score::scorecard(source, wanted, |_| {})?.result)
    }

    fn each_bundle(
        &self,
        from: u64,
        each: &mut dyn FnMut(Kept) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let ledger = self.store.ledger()?;
        let entries = ledger.as_ref().map_or(&[][..], |ledger| ledger.entries());
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        for (index, entry) in entries.iter().enumerate().skip(skip) {
            let path = self.store.witness_dir().join(&entry.file);
            let bytes = match files::read(&path, self.max_bytes) {
                // The bundle that a person deleted stays as a leaf.
                Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => None,
                read => Some(read?),
            };
            each(Kept {
                index: index as u64,
                leaf: entry.leaf,
                bytes,
                imported: entry.imported,
            })?;
        }
        Ok(())
    }

    fn each_line(
        &self,
        each: &mut dyn FnMut(NewLine) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        lines::each(&self.folder, &mut |writer, log: LogName, number, text| {
            each(NewLine {
                writer,
                log,
                number,
                text: Slice::whole(text),
            })
        })
    }

    fn tokens(&self) -> Result<Vec<Token>, ArchiveError> {
        self.list("tokens.json")
    }

    fn add_token(&self, token: &Token, act: &Act) -> Result<(), ArchiveError> {
        self.change("tokens.json", Some(act), |list: &mut Vec<Token>| {
            let is_taken = |one: &Token| one.name == token.name && one.revoked_ns.is_none();
            if list.iter().any(is_taken) {
                let message = format!("there is a token `{}` already", token.name);
                return Err(ArchiveError::Unfit(message));
            }
            list.push(token.clone());
            Ok((true, ()))
        })
    }

    fn revoke_token(&self, name: &str, act: &Act) -> Result<bool, ArchiveError> {
        self.change("tokens.json", Some(act), |list: &mut Vec<Token>| {
            let in_force = |one: &&mut Token| one.name == name && one.revoked_ns.is_none();
            let found = list.iter_mut().find(in_force);
            let is_found = found.is_some();
            if let Some(token) = found {
                token.revoked_ns = Some(act.at_ns);
            }
            Ok((is_found, is_found))
        })
    }

    fn note(&self, act: &Act) -> Result<(), ArchiveError> {
        let _lock = self.lock()?;
        Ok(self.append_act(act)?)
    }

    fn acts(&self, most: usize) -> Result<Vec<Act>, ArchiveError> {
        let path = self.folder.join("audit.jsonl");
        let bytes = match files::read_tail(&path, MAX_LIST) {
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        let acts = lines.filter_map(|line| serde_json::from_slice(line).ok());
        let mut acts: Vec<Act> = acts.collect();
        let skip = acts.len().saturating_sub(most);
        Ok(acts.split_off(skip))
    }
}
