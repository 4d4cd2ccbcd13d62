//! One commit of the archive: bytes first, then the ledger under its lock, then lines; everything or nothing.
//!
//! The ledger's lock is taken for lines as well, so that a number that two requests bring at once stands once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evidence::archive::{ArchiveError, Committed, Item, NewBundle, NewLine, Placed};
use postgres::Client;
use postgres::types::Type;
use uuid::Uuid;
use witness::key::SigningKey;
use witness::ledger::proof::InclusionProof;
use witness::wire::TaskId;

use super::tree::{Tree, number};
use super::{bytes, clean, facts};
use crate::pool::Connection;

/// The hash and the place of each task that is logged.
type Known = BTreeMap<TaskId, ([u8; 32], u64)>;

/// Keeps items and proves the bundles.
pub(super) fn commit(
    connection: &mut Connection,
    key: &SigningKey,
    items: &[Item],
) -> Result<Committed, ArchiveError> {
    let bundles: Vec<&NewBundle> = items.iter().filter_map(bundle).collect();
    let month = connection.run(begin)?;
    let known = known_of(connection, &bundles)?;
    let unknown = |bundle: &&NewBundle| !known.contains_key(&bundle.leaf.task_id);
    let unknown: Vec<&NewBundle> = bundles.iter().copied().filter(unknown).collect();
    // Before the lock: this is most of the work, and others need not wait for it.
    connection.run(|client| bytes::put(client, month, &unknown))?;
    let mut tree = Tree::read(connection, true)?;
    let bundles = append(connection, &mut tree, (month, key), &bundles)?;
    let lines: Vec<&NewLine> = items.iter().filter_map(line).collect();
    let lines = add_lines(connection, month, &lines)?;
    connection.run(|client| client.batch_execute("COMMIT"))?;
    let (mut bundles, mut lines) = (bundles.into_iter(), lines.into_iter());
    let lost = || ArchiveError::Failed("an item was lost on the way".to_owned());
    let placed = items.iter().map(|item| match item {
        Item::Bundle(_) => bundles.next().ok_or_else(lost),
        Item::Line(_) => Ok((lines.next().ok_or_else(lost)?, None)),
    });
    Ok(Committed {
        placed: placed.collect::<Result<_, _>>()?,
        checkpoint: tree.signed.map(Arc::new),
    })
}

fn bundle(item: &Item) -> Option<&NewBundle> {
    match item {
        Item::Bundle(bundle) => Some(bundle),
        Item::Line(_) => None,
    }
}

fn line(item: &Item) -> Option<&NewLine> {
    match item {
        Item::Line(line) => Some(line),
        Item::Bundle(_) => None,
    }
}

fn begin(client: &mut Client) -> Result<i32, postgres::Error> {
    client.batch_execute("BEGIN")?;
    let rows = client.query_typed("SELECT roleos_month_number(now())", &[])?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

fn known_of(connection: &mut Connection, bundles: &[&NewBundle]) -> Result<Known, ArchiveError> {
    if bundles.is_empty() {
        return Ok(Known::new());
    }
    let tasks: Vec<Uuid> = bundles.iter().map(|one| task_of(one)).collect();
    let sql = "SELECT task, sha256, place FROM leaves WHERE task = ANY($1)";
    let rows = connection.run(|client| client.query_typed(sql, &[(&tasks, Type::UUID_ARRAY)]))?;
    let known = rows.iter().map(|row| {
        let task = TaskId(row.get::<_, Uuid>(0).into_bytes());
        let hash = row.get::<_, &[u8]>(1).try_into().unwrap_or_default();
        (task, (hash, row.get::<_, i64>(2).unsigned_abs()))
    });
    Ok(known.collect())
}

fn task_of(bundle: &NewBundle) -> Uuid {
    Uuid::from_bytes(bundle.leaf.task_id.0)
}

/// Logs bundles that are new, and proves every one that is there.
fn append(
    connection: &mut Connection,
    tree: &mut Tree,
    (month, key): (i32, &SigningKey),
    bundles: &[&NewBundle],
) -> Result<Vec<(Placed, Option<InclusionProof>)>, ArchiveError> {
    if bundles.is_empty() {
        return Ok(Vec::new());
    }
    // Once more, for another program may have logged some before the lock was had.
    let mut known = known_of(connection, bundles)?;
    let places: BTreeSet<u64> = known.values().map(|(_, place)| *place).collect();
    tree.prepare(connection, &places)?;
    let first = tree.tiles.size();
    let (mut placed, mut new) = (Vec::new(), Vec::new());
    for bundle in bundles {
        let leaf = &bundle.leaf;
        placed.push(match known.get(&leaf.task_id) {
            Some((hash, place)) if *hash == leaf.bundle_sha256 => Placed::Known(Some(*place)),
            Some(_) => Placed::Taken,
            None => {
                let place = tree.tiles.size();
                let pushed = tree.tiles.push(leaf);
                pushed.map_err(|missing| ArchiveError::Damaged(missing.to_string()))?;
                known.insert(leaf.task_id, (leaf.bundle_sha256, place));
                new.push(*bundle);
                Placed::Stored(Some(place))
            }
        });
    }
    if !new.is_empty() {
        insert_leaves(connection, number(first)?, month, &new)?;
        tree.write(connection, key)?;
    }
    let mut prove = |place| tree.ask(connection, |tiles, signed| tiles.prove(place, signed));
    let proved = placed.into_iter().map(|one| {
        let proof = one.index().map(&mut prove).transpose()?;
        Ok((one, proof.flatten()))
    });
    proved.collect()
}

fn insert_leaves(
    connection: &mut Connection,
    first: i64,
    month: i32,
    new: &[&NewBundle],
) -> Result<(), ArchiveError> {
    let places: Vec<i64> = (first..).take(new.len()).collect();
    let tasks: Vec<Uuid> = new.iter().map(|one| task_of(one)).collect();
    let created: Result<Vec<i64>, _> = new.iter().map(|one| number(one.leaf.created_ns)).collect();
    let created = created?;
    let hashes: Vec<&[u8]> = new.iter().map(|one| &one.leaf.bundle_sha256[..]).collect();
    let signers: Vec<&[u8]> = new.iter().map(|one| &one.signer.0[..]).collect();
    let size = |one: &&NewBundle| i32::try_from(one.bytes.bytes().len()).unwrap_or(i32::MAX);
    let sizes: Vec<i32> = new.iter().map(size).collect();
    let packed: Vec<[u8; facts::LENGTH]> =
        new.iter().map(|one| facts::pack(&one.facts.row)).collect();
    let packed: Vec<&[u8]> = packed.iter().map(|one| &one[..]).collect();
    let texts = |of: fn(&NewBundle) -> &Option<String>| -> Vec<Option<String>> {
        let text = |one: &&NewBundle| of(one).as_deref().map(clean);
        new.iter().map(text).collect()
    };
    let sql = "INSERT INTO leaves (month, place, task, created_ns, sha256, signer, size, facts,
            mode, role, model, agent, specialist, suite)
        SELECT $1, * FROM unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::bytea[], $6::bytea[], $7::integer[],
            $8::bytea[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])";
    let inserted = connection.run(|client| {
        client.execute_typed(
            sql,
            &[
                (&month, Type::INT4),
                (&places, Type::INT8_ARRAY),
                (&tasks, Type::UUID_ARRAY),
                (&created, Type::INT8_ARRAY),
                (&hashes, Type::BYTEA_ARRAY),
                (&signers, Type::BYTEA_ARRAY),
                (&sizes, Type::INT4_ARRAY),
                (&packed, Type::BYTEA_ARRAY),
                (&texts(|one| &one.facts.mode), Type::TEXT_ARRAY),
                (&texts(|one| &one.facts.role), Type::TEXT_ARRAY),
                (&texts(|one| &one.facts.model), Type::TEXT_ARRAY),
                (&texts(|one| &one.facts.agent), Type::TEXT_ARRAY),
                (&texts(|one| &one.facts.specialist), Type::TEXT_ARRAY),
                (&texts(|one| &one.facts.suite), Type::TEXT_ARRAY),
            ],
        )
    });
    inserted.map(drop).map_err(ArchiveError::from)
}

/// Which line: writer, log and number.
type LineKey = (Vec<u8>, String, i64);

/// Adds lines that are not there, and says what became of each.
fn add_lines(
    connection: &mut Connection,
    month: i32,
    lines: &[&NewLine],
) -> Result<Vec<Placed>, ArchiveError> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let texts = lines.iter().map(|line| text_of(line));
    let keyed: Vec<(LineKey, String)> = lines.iter().map(|line| key_of(line)).zip(texts).collect();
    let writers: Vec<&[u8]> = keyed.iter().map(|((writer, ..), _)| &writer[..]).collect();
    let logs: Vec<&str> = keyed.iter().map(|((_, log, _), _)| log.as_str()).collect();
    let numbers: Vec<i64> = keyed.iter().map(|((.., number), _)| *number).collect();
    let read = "SELECT writer, log, number, line FROM unnest($1::bytea[], $2::text[], $3::bigint[])
        AS wanted (writer, log, number) JOIN machine_lines USING (writer, log, number)";
    let arguments = [
        (&writers as _, Type::BYTEA_ARRAY),
        (&logs as _, Type::TEXT_ARRAY),
        (&numbers as _, Type::INT8_ARRAY),
    ];
    let rows = connection.run(|client| client.query_typed(read, &arguments))?;
    let known = rows
        .iter()
        .map(|row| ((row.get(0), row.get(1), row.get(2)), row.get(3)));
    let mut known: BTreeMap<LineKey, String> = known.collect();
    let (mut placed, mut new) = (Vec::new(), Vec::new());
    for (key, text) in &keyed {
        placed.push(match known.get(key) {
            Some(there) if there == text => Placed::Known(None),
            Some(_) => Placed::Taken,
            None => {
                known.insert(key.clone(), text.clone());
                new.push((key, text));
                Placed::Stored(None)
            }
        });
    }
    insert_lines(connection, month, &new)?;
    Ok(placed)
}

fn insert_lines(
    connection: &mut Connection,
    month: i32,
    new: &[(&LineKey, &String)],
) -> Result<(), ArchiveError> {
    if new.is_empty() {
        return Ok(());
    }
    let writers: Vec<&[u8]> = new.iter().map(|((writer, ..), _)| &writer[..]).collect();
    let logs: Vec<&str> = new.iter().map(|((_, log, _), _)| log.as_str()).collect();
    let numbers: Vec<i64> = new.iter().map(|((.., number), _)| *number).collect();
    let texts: Vec<&String> = new.iter().map(|(_, text)| *text).collect();
    let sql = "INSERT INTO machine_lines (month, writer, log, number, line)
        SELECT $1, * FROM unnest($2::bytea[], $3::text[], $4::bigint[], $5::text[])";
    let inserted = connection.run(|client| {
        client.execute_typed(
            sql,
            &[
                (&month, Type::INT4),
                (&writers, Type::BYTEA_ARRAY),
                (&logs, Type::TEXT_ARRAY),
                (&numbers, Type::INT8_ARRAY),
                (&texts, Type::TEXT_ARRAY),
            ],
        )
    });
    inserted.map(drop).map_err(ArchiveError::from)
}

fn key_of(line: &NewLine) -> LineKey {
    let writer = line.writer.0.to_vec();
    // The upper half of the numbers stands below zero; no log is so long.
    (
        writer,
        line.log.as_str().to_owned(),
        line.number.cast_signed(),
    )
}

fn text_of(line: &NewLine) -> String {
    clean(&String::from_utf8_lossy(line.text.bytes()))
}
