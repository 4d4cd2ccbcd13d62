//! Where the bytes of bundles are kept, by their SHA-256. Another place for them would replace these two functions.

use std::collections::BTreeMap;

use evidence::archive::NewBundle;
use postgres::Client;
use postgres::types::Type;

/// Keeps bytes, each once, in the partition of a month. What is kept here and not logged afterwards is never read.
pub(super) fn put(
    client: &mut Client,
    month: i32,
    bundles: &[&NewBundle],
) -> Result<(), postgres::Error> {
    if bundles.is_empty() {
        return Ok(());
    }
    // In one order, so that two programs with the same bundles wait for each other instead of locking each other out.
    let sorted: BTreeMap<&[u8], &[u8]> = bundles
        .iter()
        .map(|bundle| (&bundle.leaf.bundle_sha256[..], bundle.bytes.bytes()))
        .collect();
    let (hashes, bytes): (Vec<&[u8]>, Vec<&[u8]>) = sorted.into_iter().unzip();
    let sql = "INSERT INTO bundles (month, sha256, bytes)
        SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING";
    client.execute_typed(
        sql,
        &[
            (&month, Type::INT4),
            (&hashes, Type::BYTEA_ARRAY),
            (&bytes, Type::BYTEA_ARRAY),
        ],
    )?;
    Ok(())
}

/// Reads bytes by month and hash. What retention removed is missing.
pub(super) fn get(
    client: &mut Client,
    wanted: &[(i32, [u8; 32])],
) -> Result<BTreeMap<[u8; 32], Vec<u8>>, postgres::Error> {
    let mut by_month: BTreeMap<i32, Vec<&[u8]>> = BTreeMap::new();
    for (month, hash) in wanted {
        by_month.entry(*month).or_default().push(hash);
    }
    let sql = "SELECT sha256, bytes FROM bundles WHERE month = $1 AND sha256 = ANY($2)";
    let mut found = BTreeMap::new();
    for (month, hashes) in by_month {
        let rows =
            client.query_typed(sql, &[(&month, Type::INT4), (&hashes, Type::BYTEA_ARRAY)])?;
        found.extend(rows.iter().filter_map(|row| {
            let hash: &[u8] = row.get(0);
            Some((<[u8; 32]>::try_from(hash).ok()?, row.get(1)))
        }));
    }
    Ok(found)
}
