//! The ledger in the database: its one row is locked while leaves are appended, so that all programs of a team write one
//! tree, and every checkpoint continues the one before it.

use std::collections::BTreeSet;

use evidence::archive::ArchiveError;
use postgres::Client;
use postgres::types::Type;
use witness::key::{PublicKey, SigningKey};
use witness::ledger::checkpoint::Origin;
use witness::ledger::note::SignedCheckpoint;
use witness::ledger::tiles::{Missing, Tile, TileId, TiledTree};

use crate::pool::Connection;

/// Hashes of a full tile, as a power of two.
const HEIGHT: u32 = 8;

/// The name, the length and the newest checkpoint of the ledger, with the tiles that were needed so far.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) origin: Origin,
    pub(super) signed: Option<SignedCheckpoint>,
    pub(super) tiles: TiledTree,
}

/// The ledger's row, and the keys of its programs.
const READ: &str = "SELECT origin, size, checkpoint FROM ledger";

impl Tree {
    /// Reads the ledger's row; with `locks`, every other program waits until the transaction ends.
    pub(super) fn read(connection: &mut Connection, locks: bool) -> Result<Self, ArchiveError> {
        let sql = match locks {
            true => format!("{READ} FOR UPDATE"),
            false => READ.to_owned(),
        };
        let row = connection.run(|client| client.query_typed(&sql, &[]))?;
        let row = row.first().ok_or_else(|| damaged("it has no name"))?;
        let origin = Origin::parse(row.get(0)).map_err(|error| damaged(&error.to_string()))?;
        let size =
            u64::try_from(row.get::<_, i64>(1)).map_err(|_| damaged("its size is negative"))?;
        let signed = row.get::<_, Option<&str>>(2).map(SignedCheckpoint::parse);
        let signed = signed.transpose();
        let tree = Self {
            origin,
            signed: signed.map_err(|error| damaged(&error.to_string()))?,
            tiles: TiledTree::of_size(size),
        };
        match (&tree.signed, size) {
            (None, 1..) => Err(damaged("it has leaves and no checkpoint")),
            _ => Ok(tree),
        }
    }

    /// Puts the right edge at hand, and the tiles above the leaves that will be proved; compares the tree with its checkpoint.
    pub(super) fn prepare(
        &mut self,
        connection: &mut Connection,
        proved: &BTreeSet<u64>,
    ) -> Result<(), ArchiveError> {
        let size = self.tiles.size();
        let mut wanted: BTreeSet<TileId> = TiledTree::edge(size).into_iter().collect();
        for place in proved {
            wanted.extend(above(*place, size));
        }
        self.load(connection, &wanted.into_iter().collect::<Vec<_>>())?;
        let Some(signed) = &self.signed else {
            return Ok(());
        };
        let keys = connection.run(keys)?;
        let attested = signed.verify(&keys);
        let attested = attested.map_err(|error| damaged(&error.to_string()))?;
        let found = self.tiles.checkpoint(&self.origin);
        match found {
            Ok(found) if found == *attested.checkpoint() => Ok(()),
            Ok(_) => Err(damaged("its tree is not that of its checkpoint")),
            Err(missing) => Err(damaged(&missing.to_string())),
        }
    }

    /// Signs the tree as it is now, and writes what changed.
    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        key: &SigningKey,
    ) -> Result<(), ArchiveError> {
        let checkpoint = self.tiles.checkpoint(&self.origin);
        let checkpoint = checkpoint.map_err(|missing| damaged(&missing.to_string()))?;
        let signed = SignedCheckpoint::sign(&checkpoint, key);
        let (text, size) = (signed.to_text(), number(self.tiles.size())?);
        self.signed = Some(signed);
        let changed = self.tiles.take_changed();
        let levels: Vec<i16> = changed.iter().map(|(id, _)| i16::from(id.level)).collect();
        let places: Result<Vec<i64>, _> = changed.iter().map(|(id, _)| number(id.index)).collect();
        let places = places?;
        let hashes: Vec<Vec<u8>> = changed.iter().map(|(_, tile)| tile.concat()).collect();
        let tiles = "INSERT INTO ledger_tiles (level, place, hashes)
            SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[])
            ON CONFLICT (level, place) DO UPDATE SET hashes = excluded.hashes";
        let written = connection.run(|client| {
            client.execute_typed(
                tiles,
                &[
                    (&levels, Type::INT2_ARRAY),
                    (&places, Type::INT8_ARRAY),
                    (&hashes, Type::BYTEA_ARRAY),
                ],
            )?;
            client.execute_typed(
                "UPDATE ledger SET size = $1, checkpoint = $2",
                &[(&size, Type::INT8), (&text, Type::TEXT)],
            )
        });
        written.map(drop).map_err(ArchiveError::from)
    }

    /// Asks the tree, and reads the tiles that turn out to be missing.
    pub(super) fn ask<T>(
        &mut self,
        connection: &mut Connection,
        question: impl Fn(&TiledTree, &SignedCheckpoint) -> Result<T, Missing>,
    ) -> Result<Option<T>, ArchiveError> {
        let Some(signed) = self.signed.clone() else {
            return Ok(None);
        };
        let mut last = None;
        loop {
            match question(&self.tiles, &signed) {
                Ok(answer) => return Ok(Some(answer)),
                Err(missing) if last == Some(missing) => {
                    return Err(damaged(&missing.to_string()));
                }
                Err(missing) => {
                    last = Some(missing);
                    self.load(connection, &[missing.0])?;
                }
            }
        }
    }

    fn load(&mut self, connection: &mut Connection, wanted: &[TileId]) -> Result<(), ArchiveError> {
        let levels: Vec<i16> = wanted.iter().map(|id| i16::from(id.level)).collect();
        let places: Result<Vec<i64>, _> = wanted.iter().map(|id| number(id.index)).collect();
        let places = places?;
        let sql = "SELECT level, place, hashes FROM ledger_tiles
            JOIN unnest($1::smallint[], $2::bigint[]) AS wanted (level, place) USING (level, place)";
        let rows = connection.run(|client| {
            client.query_typed(
                sql,
                &[(&levels, Type::INT2_ARRAY), (&places, Type::INT8_ARRAY)],
            )
        });
        for row in rows? {
            let id = TileId {
                level: u8::try_from(row.get::<_, i16>(0)).unwrap_or(u8::MAX),
                index: u64::try_from(row.get::<_, i64>(1)).unwrap_or(u64::MAX),
            };
            let (hashes, []) = row.get::<_, &[u8]>(2).as_chunks::<32>() else {
                return Err(damaged("a tile is cut off"));
            };
            self.tiles.insert(id, Tile::from(hashes));
        }
        Ok(())
    }
}

/// The tiles that hold the hashes above a leaf.
fn above(place: u64, size: u64) -> impl Iterator<Item = TileId> {
    let levels = (0_u8..7).take_while(move |level| size >> (HEIGHT * u32::from(*level)) > 0);
    levels.map(move |level| TileId {
        level,
        index: place >> (HEIGHT * (u32::from(level) + 1)),
    })
}

/// Reads the keys that sign the ledger, the newest first.
pub(super) fn keys(client: &mut Client) -> Result<Vec<PublicKey>, postgres::Error> {
    let sql = "SELECT key FROM ledger_keys ORDER BY number DESC";
    let rows = client.query_typed(sql, &[])?;
    let key = |row: &postgres::Row| PublicKey::parse(row.get::<_, &[u8]>(0).as_array()?);
    Ok(rows.iter().filter_map(key).collect())
}

/// A number as the database counts.
pub(super) fn number(number: u64) -> Result<i64, ArchiveError> {
    i64::try_from(number).map_err(|_| ArchiveError::Unfit(format!("{number} is too large")))
}

fn damaged(why: &str) -> ArchiveError {
    ArchiveError::Damaged(format!("the ledger of the team's store: {why}"))
}
