//! Tree of a ledger that is not in memory: hashes come from tiles, of which only those at the right edge ever change.
//!
//! A tile of level `L` and index `N` holds up to 256 hashes: those of the complete subtrees of `256^L` leaves that
//! begin at `256 * N`, as in C2SP tlog-tiles. Appending needs the last tile of each level, a proof a few tiles more.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::Leaf;
use super::checkpoint::{Checkpoint, Origin};
use super::empty_root;
use super::note::SignedCheckpoint;
use super::proof::{ConsistencyProof, InclusionProof};

/// Number of hashes of a full tile.
const WIDTH: u64 = 256;
/// Number of levels of the tree within a tile.
const HEIGHT: u32 = 8;
/// Highest level of a tile in any tree of a checkpoint.
const LEVELS: u8 = 7;

/// Identity of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    /// Level, from 0 at the leaves.
    pub level: u8,
    /// Index in the level, from 0.
    pub index: u64,
}

/// Hashes of a tile, from the left.
pub type Tile = Vec<[u8; 32]>;

/// A tile that was needed and not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tile {} of level {} is missing", .0.index, .0.level)]
pub struct Missing(pub TileId);

/// A tree of a given size, with its loaded tiles.
#[derive(Clone, Debug, Default)]
pub struct TiledTree {
    size: u64,
    tiles: BTreeMap<TileId, Tile>,
    changed: BTreeMap<TileId, ()>,
}

impl TiledTree {
    /// Creates a tree of this many leaves, without any tile.
    #[must_use]
    pub fn of_size(size: u64) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    /// Returns the tiles of a tree's right edge, which an append needs.
    #[must_use]
    pub fn edge(size: u64) -> Vec<TileId> {
        let mut edge = Vec::new();
        let mut hashes = size;
        for level in 0..LEVELS {
            if hashes == 0 {
                break;
            }
            if !hashes.is_multiple_of(WIDTH) {
                let index = hashes / WIDTH;
                edge.push(TileId { level, index });
            }
            hashes /= WIDTH;
        }
        edge
    }

    /// Adds a tile. More hashes than a tile of this tree has are cut off.
    pub fn insert(&mut self, id: TileId, mut tile: Tile) {
        let shift = HEIGHT.saturating_mul(u32::from(id.level));
        let hashes = self.size.checked_shr(shift).unwrap_or(0);
        let own = hashes
            .saturating_sub(id.index.saturating_mul(WIDTH))
            .min(WIDTH);
        tile.truncate(usize::try_from(own).unwrap_or(usize::MAX));
        self.tiles.insert(id, tile);
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf. The tiles of the edge must be loaded.
    ///
    /// # Errors
    /// Fails if one of them is missing; the tree must then not be used any more.
    pub fn push(&mut self, leaf: &Leaf) -> Result<(), Missing> {
        let mut hash: [u8; 32] = Sha256::new()
            .chain_update([0])
            .chain_update(leaf.to_bytes())
            .finalize()
            .into();
        let mut place = self.size;
        self.size += 1;
        for level in 0..LEVELS {
            let id = TileId {
                level,
                index: place / WIDTH,
            };
            let tile = self.tiles.entry(id).or_default();
            if tile.len() as u64 != place % WIDTH {
                return Err(Missing(id));
            }
            tile.push(hash);
            self.changed.insert(id, ());
            if !self.size.is_multiple_of(WIDTH.pow(u32::from(level) + 1)) {
                break;
            }
            hash = subtree(tile);
            place /= WIDTH;
        }
        Ok(())
    }

    /// Takes the tiles that changed since the last call.
    pub fn take_changed(&mut self) -> Vec<(TileId, Tile)> {
        let changed = std::mem::take(&mut self.changed);
        let tile = |id: TileId| (id, self.tiles.get(&id).cloned().unwrap_or_default());
        changed.into_keys().map(tile).collect()
    }

    /// Returns the root.
    ///
    /// # Errors
    /// Fails if a tile is missing.
    pub fn root(&self) -> Result<[u8; 32], Missing> {
        match self.size {
            0 => Ok(empty_root()),
            size => self.hash(0, size),
        }
    }

    /// Returns the checkpoint, for signing.
    ///
    /// # Errors
    /// Fails if a tile is missing.
    pub fn checkpoint(&self, origin: &Origin) -> Result<Checkpoint, Missing> {
        Ok(Checkpoint {
            origin: origin.clone(),
            size: self.size,
            root: self.root()?,
        })
    }

    /// Proves a leaf in the tree of a checkpoint that the caller signed over this tree.
    ///
    /// # Errors
    /// Fails if a tile is missing.
    pub fn prove(&self, index: u64, signed: &SignedCheckpoint) -> Result<InclusionProof, Missing> {
        let mut path = Vec::new();
        self.path(index, 0, self.size, &mut path)?;
        Ok(InclusionProof::of(index, path, signed.clone()))
    }

    /// Proves that this tree continues its first `old` leaves.
    ///
    /// # Errors
    /// Fails if a tile is missing.
    pub fn prove_growth(
        &self,
        old: u64,
        signed: &SignedCheckpoint,
    ) -> Result<ConsistencyProof, Missing> {
        let mut path = Vec::new();
        if old > 0 && old < self.size {
            self.growth(old, 0, self.size, true, &mut path)?;
        }
        Ok(ConsistencyProof::of(old, path, signed.clone()))
    }

    /// Appends the path of RFC 6962, part 2.1.1, from the leaf up, in the subtree of the leaves from `start` to
    /// `end`.
    fn path(&self, index: u64, start: u64, end: u64, path: &mut Tile) -> Result<(), Missing> {
        if end.saturating_sub(start) < 2 {
            return Ok(());
        }
        let middle = start + split(end - start);
        if index < middle {
            self.path(index, start, middle, path)?;
            path.push(self.hash(middle, end)?);
        } else {
            self.path(index, middle, end, path)?;
            path.push(self.hash(start, middle)?);
        }
        Ok(())
    }

    /// Appends the proof of RFC 6962, part 2.1.2.
    fn growth(
        &self,
        old: u64,
        start: u64,
        end: u64,
        is_known: bool,
        path: &mut Tile,
    ) -> Result<(), Missing> {
        if start + old == end {
            if !is_known {
                path.push(self.hash(start, end)?);
            }
            return Ok(());
        }
        let half = split(end - start);
        let middle = start + half;
        if old <= half {
            self.growth(old, start, middle, is_known, path)?;
            path.push(self.hash(middle, end)?);
        } else {
            self.growth(old - half, middle, end, false, path)?;
            path.push(self.hash(start, middle)?);
        }
        Ok(())
    }

    /// Returns the hash of the subtree over a range of leaves, which is not empty.
    fn hash(&self, start: u64, end: u64) -> Result<[u8; 32], Missing> {
        let count = end.saturating_sub(start);
        if count.is_power_of_two() && start.is_multiple_of(count) {
            return self.complete(start, count.trailing_zeros());
        }
        let middle = start + split(count);
        Ok(node(&self.hash(start, middle)?, &self.hash(middle, end)?))
    }

    /// Returns the hash of a complete subtree of `2^height` leaves.
    fn complete(&self, start: u64, height: u32) -> Result<[u8; 32], Missing> {
        let level = u8::try_from(height / HEIGHT).unwrap_or(u8::MAX);
        let first = start >> (HEIGHT * u32::from(level));
        let id = TileId {
            level,
            index: first / WIDTH,
        };
        let from = usize::try_from(first % WIDTH).unwrap_or(usize::MAX);
        let count = 1_usize << (height % HEIGHT);
        let tile = self.tiles.get(&id).ok_or(Missing(id))?;
        let part = tile.get(from..from.saturating_add(count));
        part.map(subtree).ok_or(Missing(id))
    }
}

/// Returns the largest power of two below a number above one.
fn split(count: u64) -> u64 {
    let half = count.next_power_of_two() / 2;
    half.max(1)
}

/// Returns the hash over a power of two of hashes.
fn subtree(hashes: &[[u8; 32]]) -> [u8; 32] {
    match hashes {
        [] => empty_root(),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            node(&subtree(left), &subtree(right))
        }
    }
}

fn node(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SigningKey;
    use crate::ledger::Ledger;
    use crate::wire::TaskId;

    fn leaf(number: u64) -> Leaf {
        Leaf {
            task_id: TaskId(u128::from(number).to_be_bytes()),
            created_ns: number,
            bundle_sha256: [u8::try_from(number % 251).unwrap(); 32],
        }
    }

    /// Grows a tree in steps, each from the stored edge only, and compares with the one in memory.
    #[test]
    fn roots_and_proofs_are_those_of_the_tree_in_memory() {
        let key = SigningKey::new(&[3; 32]);
        let origin = Origin::parse("tiles.test").unwrap();
        let mut ledger = Ledger::new(origin.clone());
        let mut stored: BTreeMap<TileId, Tile> = BTreeMap::new();
        let mut size = 0;
        for step in [1, 1, 1, 2, 7, 243, 1, 1, 255, 256, 300, 513, 70_000, 3] {
            let mut tree = TiledTree::of_size(size);
            for id in TiledTree::edge(size) {
                tree.insert(id, stored[&id].clone());
            }
            for number in size..size + step {
                ledger.push(leaf(number));
                tree.push(&leaf(number)).unwrap();
            }
            size += step;
            stored.extend(tree.take_changed());
            assert_eq!(tree.root().unwrap(), ledger.root(), "{size}");
            let signed = SignedCheckpoint::sign(&tree.checkpoint(&origin).unwrap(), &key);
            let whole = with(size, &stored);
            for index in [0, size / 3, size - step, size - 1] {
                let ours = whole.prove(index, &signed).unwrap();
                let theirs = ledger.prove(index, signed.clone()).unwrap();
                assert_eq!(ours, theirs, "{index} of {size}");
                ours.verify(&leaf(index), &[key.public()]).unwrap();
            }
            for old in [0, 1, size / 2, size - step, size] {
                let ours = whole.prove_growth(old, &signed).unwrap();
                let theirs = ledger.prove_growth(old, signed.clone()).unwrap();
                assert_eq!(ours, theirs, "{old} of {size}");
            }
        }
    }

    fn with(size: u64, stored: &BTreeMap<TileId, Tile>) -> TiledTree {
        let mut tree = TiledTree::of_size(size);
        for (id, tile) in stored {
            tree.insert(*id, tile.clone());
        }
        tree
    }

    #[test]
    fn a_tile_that_is_not_at_hand_is_named() {
        let mut tree = TiledTree::of_size(300);
        let id = TileId { level: 0, index: 1 };
        assert_eq!(tree.push(&leaf(300)), Err(Missing(id)));
        assert_eq!(TiledTree::edge(300), [id, TileId { level: 1, index: 0 }]);
    }
}
