//! The tables: numbered SQL files in the program, each applied once, in order, while all other programs wait.

use postgres::Client;

use crate::error::TeamError;

/// The files of `migrations/`, in order; a file that was released is never edited.
const MIGRATIONS: &[(i32, &str)] = &[
    (1, include_str!("../migrations/0001_routing.sql")),
    (2, include_str!("../migrations/0002_evidence.sql")),
];

/// The lock number by which programs wait for each other.
const LOCK: i64 = 0x0072_6f6c_656f_7331;

const RECORD: &str = "CREATE TABLE IF NOT EXISTS roleos_migrations (
    number integer PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)";

/// Makes the partitions of this month and the next. A row of another time goes to the partition for the rest.
const PARTITIONS: &str =
    "SELECT roleos_partitions(now() + make_interval(months => n)) FROM generate_series(0, 1) AS n";

const WAIT: &str = "SELECT pg_advisory_xact_lock($1)";

/// Upgrades the tables to the newest schema; fails if they are newer or from another build.
pub(crate) fn apply(client: &mut Client, address: &str) -> Result<(), TeamError> {
    let failed = |error: postgres::Error| TeamError::of(address.to_owned(), &error);
    let mut transaction = client.transaction().map_err(failed)?;
    // It is freed when the transaction ends, however it ends.
    transaction.execute(WAIT, &[&LOCK]).map_err(failed)?;
    transaction.batch_execute(RECORD).map_err(failed)?;
    let rows = transaction
        .query("SELECT number, sha256 FROM roleos_migrations", &[])
        .map_err(failed)?;
    let applied: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let known = MIGRATIONS.iter().map(|(number, _)| *number).max();
    let (known, found) = (
        known.unwrap_or(0),
        applied.iter().map(|(number, _)| *number).max().unwrap_or(0),
    );
    if found > known {
        return Err(TeamError::NewerSchema {
            address: address.to_owned(),
            found,
            known,
        });
    }
    for (number, text) in MIGRATIONS {
        let sha256 = hex::encode(base::digest(text.as_bytes()));
        match applied.iter().find(|(one, _)| one == number) {
            Some((_, hash)) if *hash == sha256 => {}
            Some(_) => {
                return Err(TeamError::OtherSchema {
                    address: address.to_owned(),
                    number: *number,
                });
            }
            None => {
                transaction.batch_execute(text).map_err(failed)?;
                let record = "INSERT INTO roleos_migrations (number, sha256) VALUES ($1, $2)";
                transaction
                    .execute(record, &[number, &sha256])
                    .map_err(failed)?;
            }
        }
    }
    transaction.execute(PARTITIONS, &[]).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Makes the partitions of this month and the next where there are none, for a program that runs longer than that.
pub(crate) fn keep_partitions(client: &mut Client) -> Result<(), postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.execute(WAIT, &[&LOCK])?;
    transaction.execute(PARTITIONS, &[])?;
    transaction.commit()
}
