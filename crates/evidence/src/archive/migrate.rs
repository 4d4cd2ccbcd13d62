//! Copies one archive into another, either way, and checks that everything arrived: the same leaves in the same order, so
//! that both trees have the same root, every line, every machine and token, and the audit log.

use std::collections::HashSet;
use std::sync::Arc;

use witness::bundle::{Bundle, Strictness};
use witness::key::Keyring;
use witness::ledger::Leaf;
use witness::ledger::tiles::TiledTree;

use super::facts::Facts;
use super::people::Act;
use super::shipment::Slice;
use super::{Archive, ArchiveError, Item, Kept, NewBundle, NewLine, Placed};

/// Most items per commit.
const MOST: usize = 256;
/// Most bytes per commit.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Counts of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Bundles that both archives have now.
    pub bundles: u64,
    /// Lines that both archives have now.
    pub lines: u64,
    /// Machines that are enrolled in both.
    pub machines: u64,
    /// Tokens that both archives know.
    pub tokens: u64,
    /// Root of both ledgers.
    pub root: [u8; 32],
}

/// Copies everything from one archive to another. Existing data is compared; an interrupted copy can be started again.
/// The name and the key of the ledger are not copied: machines pin the new one.
///
/// # Errors
/// Something cannot be copied or differs. Nothing is removed from either.
pub fn copy(from: &dyn Archive, to: &dyn Archive, act: &Act) -> Result<Copied, ArchiveError> {
    let mut copied = Copied::default();
    copy_people(from, to, act, &mut copied)?;
    let identity = from.identity()?;
    let mut keys: Vec<_> = from.enrolled()?.into_iter().map(|one| one.key).collect();
    keys.extend(identity.keys);
    let keyring = Keyring::known(Vec::new(), keys);
    let mut batch = Batch::new(to);
    from.each_bundle(0, &mut |kept| {
        copied.bundles += 1;
        let place = kept.index;
        batch.add(Item::Bundle(Box::new(bundle(kept, &keyring)?)), Some(place))
    })?;
    from.each_line(&mut |line: NewLine| {
        copied.lines += 1;
        batch.add(Item::Line(line), None)
    })?;
    batch.flush()?;
    let (ours, theirs) = (root(from)?, root(to)?);
    if ours != theirs {
        let why = "the two ledgers do not have the same leaves in the same order";
        return Err(ArchiveError::Damaged(why.to_owned()));
    }
    copied.root = ours;
    Ok(copied)
}

/// Copies the audit log first, so that what is done here stands behind it.
fn copy_people(
    from: &dyn Archive,
    to: &dyn Archive,
    act: &Act,
    copied: &mut Copied,
) -> Result<(), ArchiveError> {
    let known: HashSet<Act> = to.acts(usize::MAX)?.into_iter().collect();
    for old in from.acts(usize::MAX)? {
        if !known.contains(&old) {
            to.note(&old)?;
        }
    }
    let machines = from.enrolled()?;
    for one in &machines {
        let act = Act {
            at_ns: one.at_ns,
            who: one.by.clone(),
            what: "key.enroll".to_owned(),
            subject: one.key.id().to_string(),
            why: format!("moved by {}: {}", act.who, act.why),
        };
        to.enroll(&one.key, &one.machine, &act)?;
        copied.machines += 1;
    }
    let known = to.tokens()?;
    let tokens = from.tokens()?;
    for token in &tokens {
        if !known.iter().any(|one| one.hash == token.hash) {
            to.add_token(token, act)?;
        }
        copied.tokens += 1;
    }
    let (there, known) = (to.enrolled()?, to.tokens()?);
    match machines.iter().all(|one| there.contains(one))
        && tokens.iter().all(|one| known.contains(one))
    {
        true => Ok(()),
        false => Err(ArchiveError::Unfit(
            "the target has other machines or tokens under the same keys".to_owned(),
        )),
    }
}

/// Reads a kept bundle again and checks it as if it came new.
fn bundle(kept: Kept, keyring: &Keyring) -> Result<NewBundle, ArchiveError> {
    let task = kept.leaf.task_id;
    let unfit = |why: &str| ArchiveError::Unfit(format!("task {task} cannot be copied: {why}"));
    let bytes = kept.bytes.ok_or_else(|| unfit("its bytes were deleted"))?;
    if base::digest(&bytes) != kept.leaf.bundle_sha256 {
        return Err(unfit("its bytes are not those of the ledger"));
    }
    let parsed = Bundle::parse(&bytes, Strictness::Strict);
    let parsed = parsed.map_err(|malformed| unfit(&malformed.detail))?;
    let evidence = parsed
        .verify(keyring)
        .map_err(|unproven| unfit(&unproven.verdict.explain()))?;
    let signer = evidence.signers().ed25519;
    let signer = signer.ok_or_else(|| unfit("it has no Ed25519 signature by a known key"))?;
    Ok(NewBundle {
        leaf: Leaf::of(&evidence),
        signer,
        facts: Facts::of(evidence.contents()),
        bytes: Slice::whole(Arc::<[u8]>::from(bytes.as_slice())),
    })
}

struct Batch<'a> {
    to: &'a dyn Archive,
    items: Vec<Item>,
    places: Vec<Option<u64>>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(to: &'a dyn Archive) -> Self {
        Self {
            to,
            items: Vec::new(),
            places: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, item: Item, place: Option<u64>) -> Result<(), ArchiveError> {
        self.bytes += match &item {
            Item::Bundle(bundle) => bundle.bytes.bytes().len(),
            Item::Line(line) => line.text.bytes().len(),
        };
        self.items.push(item);
        self.places.push(place);
        if self.items.len() >= MOST || self.bytes >= MOST_BYTES {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.items.is_empty() {
            return Ok(());
        }
        let committed = self.to.commit(&self.items)?;
        for ((placed, _), place) in committed.placed.iter().zip(&self.places) {
            match placed {
                Placed::Taken => {
                    let why = "the target has other bytes under a task id or line number";
                    return Err(ArchiveError::Unfit(why.to_owned()));
                }
                placed if placed.index() != *place => {
                    let why =
                        "the target has bundles that the source does not have, or in another order";
                    return Err(ArchiveError::Unfit(why.to_owned()));
                }
                _ => {}
            }
        }
        self.items.clear();
        self.places.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Recomputes the root over all leaves of an archive.
fn root(archive: &dyn Archive) -> Result<[u8; 32], ArchiveError> {
    let mut tree = TiledTree::of_size(0);
    let damaged = |error: witness::ledger::tiles::Missing| ArchiveError::Damaged(error.to_string());
    archive.each_bundle(0, &mut |kept| tree.push(&kept.leaf).map_err(damaged))?;
    tree.root().map_err(damaged)
}
