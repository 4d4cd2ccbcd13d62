//! The archive of evidence in the team's database: every program of a team appends to one ledger.
//!
//! Reading order: [`commit`] (what a request does), [`tree`] (the ledger under its lock), [`bytes`] (where bundles lie),
//! [`facts`] and [`report`] (a scorecard without the bundles), [`people`] (machines, tokens, audit log).
//!
//! Each program signs checkpoints with the Ed25519 key of its own workspace, whose public half it adds to the ledger's
//! keys. A tree that is not that of its newest signed checkpoint is not continued.

mod bytes;
mod commit;
mod facts;
mod people;
mod report;
mod tree;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base::keys::{self, KeyStore};
use base::workspace::Workspace;
use evidence::archive::facts::Facts;
use evidence::archive::people::{Act, CodeHash, Token};
use evidence::archive::shipment::Slice;
use evidence::archive::{
    Archive, ArchiveError, Committed, Enrolled, Identity, Item, Kept, LogName, NewLine,
};
use postgres::types::Type;
use uuid::Uuid;
use witness::bundle::{Bundle, Strictness};
use witness::key::{KeyId, PublicKey};
use witness::ledger::Leaf;
use witness::ledger::checkpoint::Origin;
use witness::ledger::proof::ConsistencyProof;
use witness::scorecard::{Report, Wanted};
use witness::wire::TaskId;

use self::tree::{Tree, number};
use crate::error::TeamError;
use crate::pool::Team;

/// Leaves, and lines, of one query.
const PAGE: i64 = 1000;

/// Most bytes of bundles that are read at once, unless one alone has more.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The archive in the team's database.
#[derive(Debug)]
pub struct DatabaseArchive {
    team: Team,
    workspace: Workspace,
    /// The key that this program last added to those of the ledger.
    introduced: Mutex<Option<PublicKey>>,
}

/// A row of `leaves`.
struct LeafRow {
    place: i64,
    leaf: Leaf,
    month: i32,
    size: u64,
}

impl DatabaseArchive {
    /// The archive in a database; the workspace's key signs what this program appends.
    #[must_use]
    pub fn new(team: Team, workspace: &Workspace) -> Self {
        Self {
            team,
            workspace: workspace.clone(),
            introduced: Mutex::default(),
        }
    }

    /// Reads the keys of the workspace, and makes the ledger and adds the key to its keys where that was not done.
    fn introduce(&self) -> Result<KeyStore, ArchiveError> {
        let (keys, _) = keys::create_missing(&self.workspace)
            .map_err(|error| ArchiveError::Failed(base::said(&error)))?;
        let public = signing(&keys)?.public();
        let introduced = || {
            self.introduced
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if *introduced() == Some(public) {
            return Ok(keys);
        }
        let name = format!("roleos/{}", base::fresh_uuid());
        let ledger = "INSERT INTO ledger (origin) VALUES ($1) ON CONFLICT DO NOTHING";
        let key = "INSERT INTO ledger_keys (key) VALUES ($1) ON CONFLICT DO NOTHING";
        self.team.with(|client| {
            client.execute_typed(ledger, &[(&name, Type::TEXT)])?;
            client.execute_typed(key, &[(&&public.to_bytes()[..], Type::BYTEA)])
        })?;
        *introduced() = Some(public);
        Ok(keys)
    }

    /// Computes the facts of leaves from their bytes again, and returns the places of those that differ from what is kept.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn differing(&self, places: &[u64]) -> Result<Vec<u64>, ArchiveError> {
        let mut differing = Vec::new();
        for place in places {
            let [row] = &self.leaves(*place, 1)?[..] else {
                return Err(ArchiveError::Unfit(format!("there is no leaf {place}")));
            };
            let wanted = [(row.month, row.leaf.bundle_sha256)];
            let bytes = self.team.with(|client| bytes::get(client, &wanted));
            let bytes = bytes?.into_values().next().unwrap_or_default();
            let facts =
                Bundle::parse(&bytes, Strictness::Strict).map(|bundle| Facts::of(bundle.claims()));
            if facts.ok().as_ref() != Some(&self.facts(row.place)?) {
                differing.push(*place);
            }
        }
        Ok(differing)
    }

    fn facts(&self, place: i64) -> Result<Facts, ArchiveError> {
        let sql = "SELECT facts, mode, role, model, agent, specialist, suite FROM leaves WHERE place = $1";
        let rows = self
            .team
            .with(|client| client.query_typed(sql, &[(&place, Type::INT8)]))?;
        let facts = rows.first().and_then(|row| {
            Some(Facts {
                row: facts::unpack(row.get(0))?,
                mode: row.get(1),
                role: row.get(2),
                model: row.get(3),
                agent: row.get(4),
                specialist: row.get(5),
                suite: row.get(6),
            })
        });
        facts.ok_or_else(|| ArchiveError::Damaged(format!("leaf {place} has no facts")))
    }

    fn leaves(&self, from: u64, most: i64) -> Result<Vec<LeafRow>, ArchiveError> {
        let sql = "SELECT place, task, created_ns, sha256, month, size FROM leaves
            WHERE place >= $1 ORDER BY place LIMIT $2";
        let from = number(from)?;
        let rows = self
            .team
            .with(|client| client.query_typed(sql, &[(&from, Type::INT8), (&most, Type::INT8)]))?;
        let leaf = |row: &postgres::Row| LeafRow {
            place: row.get(0),
            leaf: Leaf {
                task_id: TaskId(row.get::<_, Uuid>(1).into_bytes()),
                created_ns: row.get::<_, i64>(2).unsigned_abs(),
                bundle_sha256: row.get::<_, &[u8]>(3).try_into().unwrap_or_default(),
            },
            month: row.get(4),
            size: u64::from(row.get::<_, i32>(5).unsigned_abs()),
        };
        Ok(rows.iter().map(leaf).collect())
    }

    /// Shows bundles whose bytes fit the memory together.
    fn show(
        &self,
        rows: &[LeafRow],
        each: &mut dyn FnMut(Kept) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let wanted: Vec<(i32, [u8; 32])> = rows
            .iter()
            .map(|row| (row.month, row.leaf.bundle_sha256))
            .collect();
        let bytes = self.team.with(|client| bytes::get(client, &wanted));
        let mut bytes: BTreeMap<[u8; 32], Vec<u8>> = bytes?;
        for row in rows {
            each(Kept {
                index: row.place.unsigned_abs(),
                leaf: row.leaf,
                bytes: bytes.remove(&row.leaf.bundle_sha256),
                imported: true,
            })?;
        }
        Ok(())
    }
}

impl Archive for DatabaseArchive {
    fn identity(&self) -> Result<Identity, ArchiveError> {
        self.introduce()?;
        let rows = self.team.with(|client| {
            let row = client.query_typed("SELECT origin, size FROM ledger", &[])?;
            Ok((row, tree::keys(client)?))
        });
        let (rows, keys) = rows?;
        let row = rows.first();
        let origin = row.and_then(|row| Origin::parse(row.get(0)).ok());
        Ok(Identity {
            origin: origin
                .ok_or_else(|| ArchiveError::Damaged("the ledger has no name".to_owned()))?,
            keys,
            size: row.map_or(0, |row| row.get::<_, i64>(1).unsigned_abs()),
        })
    }

    fn enrolled(&self) -> Result<Vec<Enrolled>, ArchiveError> {
        people::enrolled(&self.team)
    }

    fn enroll(&self, key: &PublicKey, machine: &str, act: &Act) -> Result<bool, ArchiveError> {
        people::enroll(&self.team, key, machine, act)
    }

    fn dismiss_key(&self, key: KeyId, act: &Act) -> Result<bool, ArchiveError> {
        people::dismiss(&self.team, key, act)
    }

    fn offer_code(&self, code: &CodeHash, until_ns: u64, act: &Act) -> Result<(), ArchiveError> {
        people::offer_code(&self.team, code, until_ns, act)
    }

    fn use_code(&self, code: &CodeHash, now_ns: u64) -> Result<Option<String>, ArchiveError> {
        people::use_code(&self.team, code, now_ns)
    }

    fn commit(&self, items: &[Item]) -> Result<Committed, ArchiveError> {
        let keys = self.introduce()?;
        self.team.keep_partitions()?;
        // Dropped after an error, it takes back what was begun.
        let mut connection = self.team.connection()?;
        let committed = commit::commit(&mut connection, signing(&keys)?, items)?;
        connection.give_back();
        Ok(committed)
    }

    fn growth(&self, from: u64) -> Result<Option<ConsistencyProof>, ArchiveError> {
        let mut connection = self.team.connection()?;
        let mut tree = Tree::read(&mut connection, false)?;
        let size = tree.tiles.size();
        if from > size || size == 0 {
            let why = format!("the ledger has {size} leaves and never had {from}");
            return Err(ArchiveError::Unfit(why));
        }
        if from == size {
            connection.give_back();
            return Ok(None);
        }
        let proof = tree.ask(&mut connection, |tiles, signed| {
            tiles.prove_growth(from, signed)
        })?;
        connection.give_back();
        Ok(proof)
    }

    fn bundle(&self, task: TaskId) -> Result<Option<Vec<u8>>, ArchiveError> {
        let sql = "SELECT month, sha256 FROM leaves WHERE task = $1";
        let task = Uuid::from_bytes(task.0);
        let found = self.team.with(|client| {
            let rows = client.query_typed(sql, &[(&task, Type::UUID)])?;
            let wanted = rows.iter().map(|row| {
                let hash = row.get::<_, &[u8]>(1).try_into().unwrap_or_default();
                (row.get(0), hash)
            });
            bytes::get(client, &wanted.collect::<Vec<_>>())
        });
        Ok(found?.into_values().next())
    }

    fn scorecard(&self, wanted: &Wanted) -> Result<Report, ArchiveError> {
        let mut connection = self.team.connection()?;
        let size = connection.run(|client| client.query_typed("SELECT size FROM ledger", &[]))?;
        let size = size
            .first()
            .map_or(0, |row| row.get::<_, i64>(0).unsigned_abs());
        let report = report::report(&mut connection, size, wanted)?;
        connection.give_back();
        Ok(report)
    }

    fn each_bundle(
        &self,
        from: u64,
        each: &mut dyn FnMut(Kept) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut next = from;
        loop {
            let page = self.leaves(next, PAGE)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            next = last.place.unsigned_abs() + 1;
            let mut rest = &page[..];
            while !rest.is_empty() {
                let mut bytes = 0;
                let fits = rest.iter().take_while(|row| {
                    bytes += row.size;
                    bytes <= MOST_BYTES
                });
                let (now, later) = rest.split_at(fits.count().clamp(1, rest.len()));
                self.show(now, each)?;
                rest = later;
            }
        }
    }

    fn each_line(
        &self,
        each: &mut dyn FnMut(NewLine) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let sql = "SELECT writer, log, number, line FROM machine_lines
            WHERE (writer, log, number) > ($1, $2, $3) ORDER BY writer, log, number LIMIT $4";
        let mut last: (Vec<u8>, String, i64) = (Vec::new(), String::new(), i64::MIN);
        loop {
            let rows = self.team.with(|client| {
                client.query_typed(
                    sql,
                    &[
                        (&last.0, Type::BYTEA),
                        (&last.1, Type::TEXT),
                        (&last.2, Type::INT8),
                        (&PAGE, Type::INT8),
                    ],
                )
            });
            let rows = rows?;
            let Some(end) = rows.last() else {
                return Ok(());
            };
            last = (end.get(0), end.get(1), end.get(2));
            for row in &rows {
                let writer: &[u8] = row.get(0);
                let log = LogName::parse(row.get(1));
                let unknown = || ArchiveError::Damaged("a line belongs to no log".to_owned());
                each(NewLine {
                    writer: KeyId(writer.try_into().map_err(|_| unknown())?),
                    log: log.ok_or_else(unknown)?,
                    number: row.get::<_, i64>(2).cast_unsigned(),
                    text: Slice::whole(row.get::<_, &str>(3).as_bytes()),
                })?;
            }
        }
    }

    fn tokens(&self) -> Result<Vec<Token>, ArchiveError> {
        people::tokens(&self.team)
    }

    fn add_token(&self, token: &Token, act: &Act) -> Result<(), ArchiveError> {
        people::add_token(&self.team, token, act)
    }

    fn revoke_token(&self, name: &str, act: &Act) -> Result<bool, ArchiveError> {
        people::revoke_token(&self.team, name, act)
    }

    fn note(&self, act: &Act) -> Result<(), ArchiveError> {
        people::add_act(&self.team, act)
    }

    fn acts(&self, most: usize) -> Result<Vec<Act>, ArchiveError> {
        people::acts(&self.team, most)
    }
}

fn signing(keys: &KeyStore) -> Result<&witness::key::SigningKey, ArchiveError> {
    let none = || ArchiveError::Failed("the workspace has no Ed25519 key of its own".to_owned());
    keys.signing().ok_or_else(none)
}

impl From<TeamError> for ArchiveError {
    fn from(error: TeamError) -> Self {
        match &error {
            _ if error.is_away() => Self::Away(error.to_string()),
            TeamError::Damaged { .. } => Self::Damaged(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// A text as the database keeps it: with every character but the one that it cannot.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
