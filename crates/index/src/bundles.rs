//! Indexing of bundles: one row per file, read if the file is new or has changed, verified with the keys of the
//! workspace. When the keys change, all bundles are judged again.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use base::files;
use evidence::judged::Judged;
use evidence::scan;
use evidence::store::audit::BundleFacts;
use rusqlite::{Connection, params};
use witness::bundle::{Contents, Strictness};
use witness::curve::{Identity, Period};
use witness::extension::field;
use witness::key::{KeyId, Keyring};
use witness::policy::Check;
use witness::scorecard::{Age, Row, suite_of};
use witness::wire::Tag;

use super::log::changed_ns;
use present::show::clean;

use super::{Progress, Seen, Sources, ViewError, meta, set_meta};

/// Number of files that are read before their rows are stored.
const CHUNK: usize = 2000;
/// Limit of the searchable part of a spec, in bytes.
const MAX_SPEC: usize = 1024;
/// Limit of a title, in columns.
const MAX_TITLE: usize = 100;
/// Age below which a directory may change again without a visible difference.
const RACY_NS: i128 = 2_000_000_000;

/// A bundle file on the disk.
struct Found {
    path: PathBuf,
    /// Path relative to the directory of the bundles.
    name: String,
    /// Text that identifies the unchanged file.
    stamp: String,
}

/// Reads the new bundles. Returns how many rows were written or removed.
pub(super) fn refresh(
    connection: &mut Connection,
    seen: &mut Seen,
    sources: &Sources,
    progress: &(impl Fn(Progress) + Sync),
) -> Result<u64, ViewError> {
    let mut changed = judge_again_with_other_keys(connection, seen, &sources.keys)?;
    let keys = sources.store.keys()?;
    let keyring = keys.keyring();
    let others = keys.signatories().others;
    let root = sources.store.witness_dir();
    let mut new = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Some(facts) = files::metadata(&folder).ok().filter(fs::Metadata::is_dir) else {
            continue;
        };
        let stamp = changed_ns(&facts);
        if let Some((_, below)) = seen.folders.get(&folder).filter(|known| known.0 == stamp) {
            folders.extend(below.iter().cloned());
            continue;
        }
        let (found, below) = contents_of(root, &folder);
        changed += forget_missing(connection, root, &folder, &found)?;
        new.extend(unread(connection, root, &folder, found)?);
        folders.extend(below.iter().cloned());
        if i128::from(base::clock::now_ns()) - stamp > RACY_NS {
            seen.folders.insert(folder, (stamp, below));
        }
    }
    changed += forget_folders(connection, seen, root)?;
    let total = new.len() as u64;
    for (number, chunk) in new.chunks(CHUNK).enumerate() {
        let done = (number * CHUNK) as u64;
        let rows = read(chunk, sources, (&keyring, &others), |count| {
            progress(Progress {
                done: done + count as u64,
                total,
            });
        });
        let change = connection.transaction()?;
        for (found, row) in chunk.iter().zip(&rows) {
            store(&change, found, row)?;
        }
        change.commit()?;
        changed += chunk.len() as u64;
    }
    Ok(changed)
}

fn judge_again_with_other_keys(
    connection: &mut Connection,
    seen: &mut Seen,
    keys: &Path,
) -> Result<u64, ViewError> {
    let mut names: Vec<String> = files::read_dir(keys)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let facts = entry.metadata().ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Some(format!("{name} {} {}", facts.ino(), changed_ns(&facts)))
        })
        .collect();
    names.sort();
    let mark = hex::encode(base::digest(names.join("\n").as_bytes()));
    if meta(connection, "keys")?.as_ref() == Some(&mark) {
        return Ok(0);
    }
    let change = connection.transaction()?;
    let gone = change.execute("DELETE FROM task", [])?;
    set_meta(&change, "keys", &mark)?;
    change.commit()?;
    seen.folders.clear();
    Ok(gone as u64)
}

/// Returns the bundles directly in a directory, by name, and its subdirectories.
fn contents_of(root: &Path, folder: &Path) -> (Vec<Found>, Vec<PathBuf>) {
    let mut found = Vec::new();
    let mut below = Vec::new();
    for entry in files::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(facts) if facts.is_dir() => below.push(path),
            Ok(facts) if facts.is_file() => found.extend(bundle(root, path, &facts)),
            _ => {}
        }
    }
    found.sort_by(|one: &Found, other| one.name.cmp(&other.name));
    (found, below)
}

fn bundle(root: &Path, path: PathBuf, facts: &fs::Metadata) -> Option<Found> {
    path.extension().filter(|end| *end == scan::EXTENSION)?;
    let name = path.strip_prefix(root).ok()?.to_str()?.to_owned();
    // Includes the time of the last metadata change: that of the content can be set back.
    let stamp = format!(
        "{} {} {} {}.{}",
        facts.ino(),
        facts.len(),
        changed_ns(facts),
        facts.ctime(),
        facts.ctime_nsec()
    );
    Some(Found { path, name, stamp })
}

/// Returns the directory's path relative to the root, with a trailing slash; empty for the root itself.
fn prefix(root: &Path, folder: &Path) -> String {
    let name = folder.strip_prefix(root).unwrap_or(folder);
    let name = name.to_string_lossy();
    if name.is_empty() {
        String::new()
    } else {
        format!("{name}/")
    }
}

/// Returns the view's rows directly in a directory, by name.
fn known(
    connection: &Connection,
    root: &Path,
    folder: &Path,
) -> Result<HashMap<String, String>, rusqlite::Error> {
    let prefix = prefix(root, folder);
    let mut query = connection.prepare_cached(
        "SELECT file, stamp FROM task WHERE file >= ?1 AND file < ?1 || char(1114111)",
    )?;
    let rows = query.query_map([&prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let of_folder = |file: &String| {
        let rest = file.strip_prefix(&prefix).unwrap_or(file);
        !rest.contains('/')
    };
    rows.filter(|row: &Result<(String, String), _>| {
        row.as_ref().map_or(true, |row| of_folder(&row.0))
    })
    .collect()
}

fn forget_missing(
    connection: &mut Connection,
    root: &Path,
    folder: &Path,
    found: &[Found],
) -> Result<u64, rusqlite::Error> {
    let known: BTreeMap<String, String> = known(connection, root, folder)?.into_iter().collect();
    let mut gone = 0;
    let change = connection.transaction()?;
    for file in known.keys() {
        if found.binary_search_by(|one| one.name.cmp(file)).is_err() {
            gone += change.execute("DELETE FROM task WHERE file = ?1", [file])?;
        }
    }
    change.commit()?;
    Ok(gone as u64)
}

/// Removes the rows of directories that no longer exist.
fn forget_folders(
    connection: &mut Connection,
    seen: &mut Seen,
    root: &Path,
) -> Result<u64, rusqlite::Error> {
    let mut gone = 0;
    let mut missing: Vec<PathBuf> = seen.folders.keys().cloned().collect();
    missing.retain(|folder| !folder.is_dir());
    if seen.folders.is_empty() {
        let mut query =
            connection.prepare("SELECT DISTINCT rtrim(file, replace(file, '/', '')) FROM task")?;
        let rows = query.query_map([], |row| row.get::<_, String>(0))?;
        for folder in rows {
            let folder = root.join(folder?.trim_end_matches('/'));
            if !folder.is_dir() {
                missing.push(folder);
            }
        }
    }
    for folder in missing {
        let prefix = prefix(root, &folder);
        gone += connection.execute(
            "DELETE FROM task WHERE file >= ?1 AND file < ?1 || char(1114111)",
            [&prefix],
        )?;
        seen.folders.remove(&folder);
    }
    Ok(gone as u64)
}

fn unread(
    connection: &Connection,
    root: &Path,
    folder: &Path,
    found: Vec<Found>,
) -> Result<Vec<Found>, rusqlite::Error> {
    let known = known(connection, root, folder)?;
    let is_new = |one: &Found| known.get(&one.name) != Some(&one.stamp);
    Ok(found.into_iter().filter(is_new).collect())
}

/// Stored values of a bundle.
struct Kept {
    verdict: &'static str,
    task_id: String,
    created_ns: u64,
    outcome: &'static str,
    mode: &'static str,
    facts: [String; 4],
    identity: [u8; 16],
    calls: u64,
    denied: u64,
    row: Option<Row>,
    suite: String,
    signature: u64,
    of_file: Option<BundleFacts>,
    title: String,
    spec: String,
}

/// Reads and judges files on all cores; the rows are in the order of the files.
fn read(
    chunk: &[Found],
    sources: &Sources,
    (keyring, others): (&Keyring, &[KeyId]),
    progress: impl Fn(usize) + Sync,
) -> Vec<Kept> {
    let paths: Vec<PathBuf> = chunk.iter().map(|found| found.path.clone()).collect();
    let parts = scan::scan(
        &paths,
        sources.options,
        Vec::new,
        |rows: &mut Vec<(usize, Kept)>, visit| {
            let kept = match visit.bytes {
                Ok(bytes) => {
                    let judged = Judged::of(bytes, Strictness::Strict, keyring);
                    Kept {
                        signature: Age::signature_of(bytes),
                        of_file: Some(BundleFacts::of(bytes, &judged, others)),
                        ..kept(&judged)
                    }
                }
                Err(_) => of_nothing("unreadable"),
            };
            rows.push((visit.index, kept));
        },
        progress,
    );
    let mut rows: Vec<_> = parts.into_iter().flatten().collect();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, kept)| kept).collect()
}

fn kept(judged: &Judged<'_>) -> Kept {
    let verdict = judged.verdict().name();
    match judged.contents() {
        Some(contents) => of_contents(verdict, contents),
        None => of_nothing(verdict),
    }
}

fn of_nothing(verdict: &'static str) -> Kept {
    Kept {
        verdict,
        task_id: String::new(),
        created_ns: 0,
        outcome: "",
        mode: "",
        facts: Default::default(),
        identity: [0; 16],
        calls: 0,
        denied: 0,
        row: None,
        suite: String::new(),
        signature: 0,
        of_file: None,
        title: String::new(),
        spec: String::new(),
    }
}

/// Returns the first line of a text with content, without heading markers.
pub fn title_of(text: &[u8]) -> String {
    let start = text.get(..MAX_SPEC).unwrap_or(text);
    let start = String::from_utf8_lossy(start);
    let mut lines = start
        .lines()
        .map(|line| line.trim_start_matches('#').trim());
    let line = lines.find(|line| !line.is_empty());
    clean::line(line.unwrap_or_default(), MAX_TITLE)
}

fn of_contents(verdict: &'static str, contents: &Contents<'_>) -> Kept {
    let header = contents.header();
    let fact = |name| {
        let provenance = &contents.extensions().provenance;
        provenance.get(name).cloned().unwrap_or_default()
    };
    let denied = contents.calls().filter(|call| call.check == Check::Denied);
    let row = Row::of(contents);
    let spec = contents.section(Tag::Spec).unwrap_or_default();
    Kept {
        title: title_of(spec),
        spec: String::from_utf8_lossy(spec.get(..MAX_SPEC).unwrap_or(spec)).into_owned(),
        verdict,
        task_id: header.task_id.to_string(),
        created_ns: header.created_ns,
        outcome: row.outcome.name(),
        mode: contents.mode().map_or("", witness::wire::Mode::name),
        facts: [field::ROLE, field::MODEL, field::AGENT, field::SESSION].map(fact),
        identity: Identity::of(contents).0,
        calls: contents.totals().calls as u64,
        denied: denied.count() as u64,
        row: Some(row),
        suite: suite_of(contents).unwrap_or_default().to_owned(),
        signature: 0,
        of_file: None,
    }
}

fn store(change: &Connection, found: &Found, kept: &Kept) -> Result<(), rusqlite::Error> {
    let row = kept.row.as_ref();
    let number = |of: fn(&Row) -> u32| row.map_or(0, |row| i64::from(of(row)));
    let [role, model, agent, session] = &kept.facts;
    let chain = kept.of_file.as_ref().and_then(|seen| seen.chain);
    let label = |period: Period| match row {
        Some(_) => period.label(kept.created_ns),
        None => String::new(),
    };
    change
        .prepare_cached(
            "INSERT OR REPLACE INTO task (file, stamp, verdict, task_id, created_ns, week, day, outcome, mode, role, model,
                 agent, session, identity, calls, denied, latency_ms, cost, tokens, retries, complete, violations,
                 rollbacks, restored, cost_known, suite, corrected, policy, policy_known, is_task, by_agent, signature,
                 sha256, own, sequence, previous, title, spec, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                 ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39)",
        )?
        .execute(params![
            found.name,
            found.stamp,
            kept.verdict,
            kept.task_id,
            i64::try_from(kept.created_ns).unwrap_or(i64::MAX),
            label(Period::Week),
            label(Period::Day),
            kept.outcome,
            kept.mode,
            role,
            model,
            agent,
            session,
            kept.identity,
            i64::try_from(kept.calls).unwrap_or(i64::MAX),
            i64::try_from(kept.denied).unwrap_or(i64::MAX),
            number(|row| row.latency_ms),
            number(|row| row.cost_microdollars),
            number(|row| row.tokens),
            number(|row| u32::from(row.retries)),
            number(|row| u32::from(row.evidence_complete)),
            number(|row| row.violations),
            number(|row| row.rollbacks),
            number(|row| row.restored),
            number(|row| u32::from(row.cost_known)),
            kept.suite,
            number(|row| u32::from(row.is_corrected)),
            row.map_or([0; 8], |row| row.policy_hash),
            number(|row| u32::from(row.policy_known)),
            number(|row| u32::from(row.is_task)),
            number(|row| u32::from(row.by_agent)),
            kept.signature.cast_signed(),
            kept.of_file.as_ref().map(|seen| seen.sha256),
            kept.of_file.as_ref().is_some_and(|seen| seen.is_own),
            chain.map(|chain| chain.sequence.cast_signed()),
            chain.map(|chain| chain.previous),
            kept.title,
            kept.spec,
            kept.of_file
                .as_ref()
                .map(|seen| hex::encode(seen.sha256))
                .unwrap_or_default(),
        ])
        .map(drop)
}
