//! Routing's state, registry and logs in the team's database.
//!
//! A process has one transaction for decisions at a time. While it commits, callers queue; the next one of them leads
//! all waiting ones through one transaction ([`group`]): the rows of their roles are locked, each caller decides in
//! turn on its own thread, everything is written once, and all are answered after the commit. So many decisions share a
//! commit, and every decision still sees everything that any machine acknowledged before.
//!
//! The registry is read by a separate statement after the rows are locked, so that it is at least as new as they are.

mod group;
mod presence;
mod queue;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::routing::shared::{Document, HeldDocument, Line, Log, REGISTRY, Shared, SharedError, Turn};
use ::specialist::state::State;
use ::specialist::state::rows::FLEET;
use postgres::types::Type;
use uuid::Uuid;

use self::group::Group;
use self::presence::Presence;
use self::queue::Queue;
use crate::error::TeamError;
use crate::pool::{Connection, Team};

/// Interval at which a program renews its row and checks for waiting lines on its disk.
const BEAT: Duration = Duration::from_secs(5);

/// Routing in the team's database.
#[derive(Debug)]
pub struct Routing {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    team: Team,
    presence: Presence,
    queue: Queue,
    group: Group,
    /// The newest registry that was read.
    registry: Mutex<Option<Document>>,
    /// Set if rows are locked; only a test of the tests clears it.
    locks: bool,
}

/// A line with its unique id.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    id: Uuid,
    line: Line,
}

impl Numbered {
    fn all(lines: Vec<Line>) -> Vec<Self> {
        let numbered = |line| Self {
            id: Uuid::now_v7(),
            line,
        };
        lines.into_iter().map(numbered).collect()
    }
}

impl From<TeamError> for SharedError {
    fn from(error: TeamError) -> Self {
        Self {
            detail: error.to_string(),
            is_away: error.is_away(),
        }
    }
}

impl Routing {
    /// Starts routing; the database may be away. Undeliverable lines wait in `queue`.
    ///
    /// # Errors
    /// No name can be generated for this process.
    pub fn new(team: Team, queue: &Path) -> Result<Self, SharedError> {
        Self::build(team, queue, true)
    }

    /// Does the same without locks on rows, for a test that must detect their absence.
    ///
    /// # Errors
    /// No name can be generated for this process.
    #[cfg(feature = "throwaway")]
    pub fn without_locks(team: Team, queue: &Path) -> Result<Self, SharedError> {
        Self::build(team, queue, false)
    }

    fn build(team: Team, queue: &Path, locks: bool) -> Result<Self, SharedError> {
        let inner = Arc::new(Inner {
            presence: Presence::new()?,
            queue: Queue::at(queue),
            group: Group::default(),
            registry: Mutex::default(),
            team,
            locks,
        });
        let weak = Arc::downgrade(&inner);
        let beat = move || {
            while let Some(inner) = weak.upgrade() {
                // Users of the store get the error; here it is tried again.
                inner.presence.beat(&inner.team).ok();
                inner.deliver().ok();
                inner.team.keep_partitions().ok();
                drop(inner);
                std::thread::park_timeout(BEAT);
            }
        };
        let spawned = std::thread::Builder::new()
            .name("team-store".to_owned())
            .spawn(beat);
        spawned.map_err(|error| SharedError {
            detail: format!("cannot start a thread: {error}"),
            is_away: false,
        })?;
        Ok(Self { inner })
    }

    /// Delivers the waiting lines of this machine. Returns their number.
    ///
    /// # Errors
    /// The database is away; they keep waiting.
    pub fn deliver(&self) -> Result<usize, SharedError> {
        self.inner.deliver()
    }

    /// Returns the bytes of the waiting lines on this machine.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.inner.queue.bytes()
    }
}

impl Inner {
    fn deliver(&self) -> Result<usize, SharedError> {
        self.queue.deliver(|lines| {
            self.team
                .with(|client| insert_lines(client, lines))
                .map_err(SharedError::from)
        })
    }

    /// Returns the registry; reads it only if its version is new.
    fn registry(&self, client: &mut postgres::Client) -> Result<Option<Document>, postgres::Error> {
        let known = || self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let version = known().as_ref().map_or(0, |document| document.version);
        let sql =
            "SELECT version, CASE WHEN version <> $2 THEN body END FROM documents WHERE name = $1";
        let rows = client.query_typed(sql, &[(&REGISTRY, Type::TEXT), (&version, Type::INT8)])?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let newer = row.get::<_, Option<String>>(1).map(|body| Document {
            version: row.get(0),
            body: body.into(),
        });
        let mut known = known();
        if let Some(newer) = newer {
            *known = Some(newer);
        }
        Ok(known.clone().filter(|document| document.version > 0))
    }
}

impl Shared for Routing {
    fn holder(&self) -> &str {
        self.inner.presence.holder()
    }

    fn is_gone(&self, holder: &str) -> bool {
        self.inner.presence.is_gone(&self.inner.team, holder)
    }

    fn document(&self, name: &str) -> Result<Option<Document>, SharedError> {
        let inner = &self.inner;
        if name == REGISTRY {
            return Ok(inner.team.with(|client| inner.registry(client))?);
        }
        let sql = "SELECT version, body FROM documents WHERE name = $1";
        let rows = inner
            .team
            .with(|client| client.query_typed(sql, &[(&name, Type::TEXT)]))?;
        Ok(rows.first().and_then(document))
    }

    fn hold_document(&self, name: &str) -> Result<Box<dyn HeldDocument>, SharedError> {
        let mut connection = self.inner.team.connection()?;
        let make =
            "INSERT INTO documents (name, version, body) VALUES ($1, 0, '') ON CONFLICT DO NOTHING";
        let read = "SELECT version, body FROM documents WHERE name = $1 FOR UPDATE";
        let held = connection.run(|client| {
            client.batch_execute("BEGIN")?;
            client.execute_typed(make, &[(&name, Type::TEXT)])?;
            client.query_typed(read, &[(&name, Type::TEXT)])
        })?;
        Ok(Box::new(Kept {
            now: held.first().and_then(document),
            name: name.to_owned(),
            connection,
        }))
    }

    fn state(&self) -> Result<State, SharedError> {
        let team = &self.inner.team;
        let sql = "SELECT role, body FROM specialist_state WHERE body <> ''";
        let rows = team.with(|client| client.query_typed(sql, &[]))?;
        let state = State::from_rows(rows.iter().map(|row| (row.get(0), row.get(1))));
        Ok(state.map_err(|error| team.damaged(error))?)
    }

    fn hold_state<'a>(
        &'a self,
        role: &str,
        fleet: bool,
    ) -> Result<Box<dyn Turn + 'a>, SharedError> {
        let mut roles = vec![role.to_owned()];
        roles.extend(fleet.then(|| FLEET.to_owned()));
        let turn = group::take_turn(&self.inner, roles)?;
        Ok(Box::new(turn))
    }

    fn append(&self, lines: Vec<Line>) -> Result<(), SharedError> {
        let lines = Numbered::all(lines);
        match group::add_lines(&self.inner, lines.clone()) {
            // They may have been written: their ids prevent duplicates.
            Err(error) if error.is_away => self.inner.queue.add(&lines),
            done => done,
        }
    }

    fn lines(
        &self,
        log: Log,
        role: Option<&str>,
        take: &mut dyn FnMut(&str),
    ) -> Result<(), SharedError> {
        let sql = "SELECT number, line FROM log_lines
            WHERE log = $1 AND number > $2 AND ($3::text IS NULL OR role = $3) ORDER BY number LIMIT 5000";
        let mut after = 0i64;
        loop {
            let rows = self.inner.team.with(|client| {
                client.query_typed(
                    sql,
                    &[
                        (&log.name(), Type::TEXT),
                        (&after, Type::INT8),
                        (&role, Type::TEXT),
                    ],
                )
            })?;
            for row in &rows {
                after = row.get(0);
                take(row.get(1));
            }
            if rows.len() < 5000 {
                return Ok(());
            }
        }
    }
}

/// Converts a row. A document that was never written has version 0.
fn document(row: &postgres::Row) -> Option<Document> {
    let version: i64 = row.get(0);
    (version > 0).then(|| Document {
        version,
        body: row.get::<_, String>(1).into(),
    })
}

/// A document under its row's lock.
struct Kept {
    now: Option<Document>,
    name: String,
    connection: Connection,
}

impl HeldDocument for Kept {
    fn now(&self) -> Option<&Document> {
        self.now.as_ref()
    }

    fn replace(mut self: Box<Self>, body: &str, lines: Vec<Line>) -> Result<(), SharedError> {
        let sql = "UPDATE documents SET version = version + 1, body = $2, changed_at = now() WHERE name = $1";
        let lines = Numbered::all(lines);
        let name = self.name.clone();
        self.connection.run(|client| {
            client.execute_typed(sql, &[(&name, Type::TEXT), (&body, Type::TEXT)])?;
            insert_lines(client, &lines)?;
            client.batch_execute("COMMIT")
        })?;
        self.connection.give_back();
        Ok(())
    }
}

/// Inserts lines that are not stored yet.
fn insert_lines(client: &mut postgres::Client, lines: &[Numbered]) -> Result<(), postgres::Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = lines.iter().map(|line| line.id).collect();
    let logs: Vec<&str> = lines.iter().map(|line| line.line.log.name()).collect();
    let roles: Vec<&str> = lines.iter().map(|line| line.line.role.as_str()).collect();
    let texts: Vec<String> = lines.iter().map(|line| clean(&line.line.text)).collect();
    let sql = "INSERT INTO log_lines (id, log, role, line)
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING";
    client.execute_typed(
        sql,
        &[
            (&ids, Type::UUID_ARRAY),
            (&logs, Type::TEXT_ARRAY),
            (&roles, Type::TEXT_ARRAY),
            (&texts, Type::TEXT_ARRAY),
        ],
    )?;
    Ok(())
}

/// Removes the one character that PostgreSQL does not store, which JSON writes in another way.
fn clean(text: &str) -> String {
    text.replace('\0', "\\u0000")
}
