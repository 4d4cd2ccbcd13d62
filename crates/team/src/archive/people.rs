//! Machines, codes, tokens and the audit log as rows. An act is written in the transaction that does what it tells of.

use evidence::archive::people::{Act, CodeHash, Role, Token};
use evidence::archive::{ArchiveError, Enrolled};
use postgres::Client;
use postgres::types::{ToSql, Type};
use witness::key::{KeyId, PublicKey};

use super::clean;
use crate::pool::Team;

type Arguments<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

const NOTE: &str = "INSERT INTO acts (at_ns, who, what, subject, why) VALUES ($1, $2, $3, $4, $5)";

/// Times in nanoseconds as the database counts; none is later than the year 2262.
fn time(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn note(client: &mut Client, act: &Act) -> Result<(), postgres::Error> {
    let texts = [&act.who, &act.what, &act.subject, &act.why].map(|text| clean(text));
    let [who, what, subject, why] = &texts;
    let arguments: Arguments<'_> = &[
        (&time(act.at_ns), Type::INT8),
        (who, Type::TEXT),
        (what, Type::TEXT),
        (subject, Type::TEXT),
        (why, Type::TEXT),
    ];
    client.execute_typed(NOTE, arguments).map(drop)
}

/// Runs a statement, and notes the act if it changed a row. Returns whether it did.
fn change(
    team: &Team,
    act: &Act,
    sql: &str,
    arguments: Arguments<'_>,
) -> Result<bool, ArchiveError> {
    let mut connection = team.connection()?;
    let changed = connection.run(|client| {
        client.batch_execute("BEGIN")?;
        let is_changed = client.execute_typed(sql, arguments)? > 0;
        if is_changed {
            note(client, act)?;
        }
        client.batch_execute("COMMIT")?;
        Ok(is_changed)
    });
    let changed = changed?;
    connection.give_back();
    Ok(changed)
}

pub(super) fn enrolled(team: &Team) -> Result<Vec<Enrolled>, ArchiveError> {
    let sql = "SELECT key, machine, at_ns, by_whom FROM machines ORDER BY at_ns, key";
    let rows = team.with(|client| client.query_typed(sql, &[]))?;
    let enrolled = |row: &postgres::Row| {
        Some(Enrolled {
            key: PublicKey::parse(row.get::<_, &[u8]>(0).as_array()?)?,
            machine: row.get(1),
            at_ns: row.get::<_, i64>(2).unsigned_abs(),
            by: row.get(3),
        })
    };
    Ok(rows.iter().filter_map(enrolled).collect())
}

pub(super) fn enroll(
    team: &Team,
    key: &PublicKey,
    machine: &str,
    act: &Act,
) -> Result<bool, ArchiveError> {
    let sql = "INSERT INTO machines (key, machine, at_ns, by_whom) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let arguments: Arguments<'_> = &[
        (&&key.to_bytes()[..], Type::BYTEA),
        (&clean(machine), Type::TEXT),
        (&time(act.at_ns), Type::INT8),
        (&clean(&act.who), Type::TEXT),
    ];
    change(team, act, sql, arguments)
}

pub(super) fn dismiss(team: &Team, key: KeyId, act: &Act) -> Result<bool, ArchiveError> {
    let known = enrolled(team)?.into_iter();
    let digits: Vec<[u8; 32]> = known
        .filter(|one| one.key.id() == key)
        .map(|one| one.key.to_bytes())
        .collect();
    let digits: Vec<&[u8]> = digits.iter().map(|one| &one[..]).collect();
    let sql = "DELETE FROM machines WHERE key = ANY($1)";
    change(team, act, sql, &[(&digits, Type::BYTEA_ARRAY)])
}

pub(super) fn offer_code(
    team: &Team,
    code: &CodeHash,
    until_ns: u64,
    act: &Act,
) -> Result<(), ArchiveError> {
    team.with(|client| {
        let old = "DELETE FROM codes WHERE until_ns <= $1";
        client.execute_typed(old, &[(&time(act.at_ns), Type::INT8)])
    })?;
    let sql = "INSERT INTO codes (hash, until_ns, by_whom) VALUES ($1, $2, $3)";
    let arguments: Arguments<'_> = &[
        (&code.0, Type::TEXT),
        (&time(until_ns), Type::INT8),
        (&clean(&act.who), Type::TEXT),
    ];
    change(team, act, sql, arguments).map(drop)
}

pub(super) fn use_code(
    team: &Team,
    code: &CodeHash,
    now_ns: u64,
) -> Result<Option<String>, ArchiveError> {
    let sql = "DELETE FROM codes WHERE hash = $1 AND until_ns > $2 RETURNING by_whom";
    let arguments: Arguments<'_> = &[(&code.0, Type::TEXT), (&time(now_ns), Type::INT8)];
    let rows = team.with(|client| client.query_typed(sql, arguments))?;
    Ok(rows.first().map(|row| row.get(0)))
}

pub(super) fn tokens(team: &Team) -> Result<Vec<Token>, ArchiveError> {
    let sql = "SELECT name, role, hash, at_ns, by_whom, revoked_ns FROM tokens ORDER BY number";
    let rows = team.with(|client| client.query_typed(sql, &[]))?;
    let token = |row: &postgres::Row| {
        let role: &str = row.get(1);
        let unknown = || ArchiveError::Damaged(format!("a token has the role `{role}`"));
        Ok(Token {
            name: row.get(0),
            role: Role::parse(role).ok_or_else(unknown)?,
            hash: row.get(2),
            at_ns: row.get::<_, i64>(3).unsigned_abs(),
            by: row.get(4),
            revoked_ns: row.get::<_, Option<i64>>(5).map(i64::unsigned_abs),
        })
    };
    rows.iter().map(token).collect()
}

pub(super) fn add_token(team: &Team, token: &Token, act: &Act) -> Result<(), ArchiveError> {
    let sql = "INSERT INTO tokens (name, role, hash, at_ns, by_whom, revoked_ns)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let arguments: Arguments<'_> = &[
        (&clean(&token.name), Type::TEXT),
        (&token.role.name(), Type::TEXT),
        (&token.hash, Type::TEXT),
        (&time(token.at_ns), Type::INT8),
        (&clean(&token.by), Type::TEXT),
        (&token.revoked_ns.map(time), Type::INT8),
    ];
    match change(team, act, sql, arguments)? {
        true => Ok(()),
        false => Err(ArchiveError::Unfit(format!(
            "there is a token `{}` already",
            token.name
        ))),
    }
}

pub(super) fn revoke_token(team: &Team, name: &str, act: &Act) -> Result<bool, ArchiveError> {
    let sql = "UPDATE tokens SET revoked_ns = $2 WHERE name = $1 AND revoked_ns IS NULL";
    let arguments: Arguments<'_> = &[(&clean(name), Type::TEXT), (&time(act.at_ns), Type::INT8)];
    change(team, act, sql, arguments)
}

pub(super) fn add_act(team: &Team, act: &Act) -> Result<(), ArchiveError> {
    team.with(|client| note(client, act))
        .map_err(ArchiveError::from)
}

pub(super) fn acts(team: &Team, most: usize) -> Result<Vec<Act>, ArchiveError> {
    let sql = "SELECT at_ns, who, what, subject, why FROM acts ORDER BY number DESC LIMIT $1";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = team.with(|client| client.query_typed(sql, &[(&most, Type::INT8)]))?;
    let act = |row: &postgres::Row| Act {
        at_ns: row.get::<_, i64>(0).unsigned_abs(),
        who: row.get(1),
        what: row.get(2),
        subject: row.get(3),
        why: row.get(4),
    };
    Ok(rows.iter().rev().map(act).collect())
}
