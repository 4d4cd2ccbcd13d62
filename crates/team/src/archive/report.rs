//! A scorecard from the facts that were computed when the bundles came: the database hands the packed figures out by the
//! thousand, in groups; no bundle is read.

use evidence::archive::ArchiveError;
use postgres::types::Type;
use witness::extension::field;
use witness::scorecard::{Adder, GroupBy, Report, Wanted};

use super::tree::number;
use super::{clean, facts};
use crate::pool::Connection;

/// Leaves of one query.
const PAGE: u64 = 32_768;

/// Nanoseconds of a day.
const DAY: u64 = 86_400_000_000_000;

/// What the database divides by. Periods are made from days, of which a period is never a part.
fn column(wanted: &Wanted) -> Result<&'static str, ArchiveError> {
    Ok(match &wanted.by {
        None => "NULL::text",
        Some(GroupBy::Period(_)) => "(created_ns / 86400000000000)::text",
        Some(GroupBy::Mode) => "mode",
        Some(GroupBy::Suite) => "suite",
        Some(GroupBy::Field(name)) => match name.as_str() {
            field::ROLE => "role",
            field::MODEL => "model",
            field::AGENT => "agent",
            field::SPECIALIST => "specialist",
            other => {
                return Err(ArchiveError::Unfit(format!(
                    "the team's store cannot divide by the fact `{other}`"
                )));
            }
        },
    })
}

/// Adds the first `size` bundles up.
pub(super) fn report(
    connection: &mut Connection,
    size: u64,
    wanted: &Wanted,
) -> Result<Report, ArchiveError> {
    let filter = &wanted.filter;
    let sql = format!(
        "SELECT {}, string_agg(facts, ''::bytea) FROM leaves WHERE place >= $1 AND place < $2
            AND ($3::bigint IS NULL OR created_ns >= $3) AND ($4::bigint IS NULL OR created_ns < $4)
            AND ($5::text IS NULL OR role = $5) AND ($6::text IS NULL OR model = $6)
            AND ($7::text IS NULL OR suite = $7) GROUP BY 1",
        column(wanted)?
    );
    // A time after every bundle is one that the database can count to.
    let time = |ns: Option<u64>| ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let (since, until) = (time(filter.since_ns), time(filter.until_ns));
    let text = |text: &Option<String>| text.as_deref().map(clean);
    let (role, model, suite) = (text(&filter.role), text(&filter.model), text(&filter.suite));
    let mut adder = Adder::new(wanted.all);
    let mut from = 0;
    while from < size {
        let to = size.min(from + PAGE);
        let (first, end) = (number(from)?, number(to)?);
        let rows = connection.run(|client| {
            client.query_typed(
                &sql,
                &[
                    (&first, Type::INT8),
                    (&end, Type::INT8),
                    (&since, Type::INT8),
                    (&until, Type::INT8),
                    (&role, Type::TEXT),
                    (&model, Type::TEXT),
                    (&suite, Type::TEXT),
                ],
            )
        });
        let mut met = 0;
        for row in rows? {
            met += add(&mut adder, wanted, row.get(0), row.get(1))?;
        }
        adder.filtered((to - from).saturating_sub(met));
        from = to;
    }
    Ok(adder.finish())
}

/// Adds the packed figures of one group. Returns how many bundles they are.
fn add(
    adder: &mut Adder,
    wanted: &Wanted,
    group: Option<&str>,
    packed: &[u8],
) -> Result<u64, ArchiveError> {
    let name = match &wanted.by {
        None => None,
        Some(GroupBy::Period(period)) => {
            let day: Option<u64> = group.and_then(|day| day.parse().ok());
            Some(period.label(day.unwrap_or_default().saturating_mul(DAY)))
        }
        Some(_) => Some(group.unwrap_or("(none)").to_owned()),
    };
    let (rows, rest) = packed.as_chunks::<{ facts::LENGTH }>();
    let damaged = || ArchiveError::Damaged("facts of a bundle cannot be read".to_owned());
    if !rest.is_empty() {
        return Err(damaged());
    }
    for row in rows {
        let row = facts::unpack(row).ok_or_else(damaged)?;
        adder.add(&row, name.as_deref());
    }
    Ok(rows.len() as u64)
}
