//! A few connections that are created when needed and reused. Calls block; they must run on threads that may block.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use tokio::runtime::Handle;

use crate::address::Address;
use crate::error::TeamError;
use crate::migrations;
use crate::tls::Tls;

/// Most connections of one process, so that a hundred replicas fit on one server.
const MOST: usize = 6;

/// Time that a caller waits for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// Longest time to establish a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Longest time of a statement.
const STATEMENT: Duration = Duration::from_secs(30);

/// Idle time after which a connection is checked before use: the server may have gone, and nothing reads the connection
/// while it is idle.
const IDLE: Duration = Duration::from_secs(1);

/// Time of silence after which the system checks the other end.
const SILENT: Duration = Duration::from_secs(30);

/// How often a program looks whether the partitions of the next month are there.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// After a connection failed, the next callers hear the same for so long instead of waiting themselves.
const BACK_OFF: Duration = Duration::from_millis(500);

/// The database of a team. Clones share the connections.
#[derive(Clone)]
pub struct Team {
    inner: Arc<Inner>,
}

struct Inner {
    address: Address,
    tls: Option<Tls>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<(Client, Instant)>,
    open: usize,
    is_migrated: bool,
    partitioned: Option<Instant>,
    failed: Option<(Instant, String)>,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team({})", self.inner.address)
    }
}

impl Team {
    /// Prepares the store; the database may be away. Tables are created or checked on the first connection.
    ///
    /// # Errors
    /// TLS cannot be prepared.
    pub fn new(mut address: Address) -> Result<Self, TeamError> {
        let tls = Tls::of(address.mode())?;
        let config = &mut address.config;
        config
            .connect_timeout(CONNECT)
            .tcp_user_timeout(STATEMENT)
            .keepalives_idle(SILENT)
            .application_name("roleos");
        let timeouts = format!(
            "-c statement_timeout={0} -c lock_timeout={0} -c idle_in_transaction_session_timeout={1}",
            STATEMENT.as_millis(),
            2 * STATEMENT.as_millis()
        );
        let options = match config.get_options() {
            Some(own) => format!("{timeouts} {own}"),
            None => timeouts,
        };
        config.options(&options);
        Ok(Self {
            inner: Arc::new(Inner {
                address,
                tls,
                state: Mutex::default(),
                freed: Condvar::new(),
            }),
        })
    }

    /// Prepares the store and creates or checks its tables now.
    ///
    /// # Errors
    /// The database is away, or its tables cannot be used.
    pub fn open(address: Address) -> Result<Self, TeamError> {
        let team = Self::new(address)?;
        team.with(|_| Ok(()))?;
        Ok(team)
    }

    /// Returns the database, without a password.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.address.to_string()
    }

    /// Runs an operation on a connection. After an error, the connection is not used again, so a transaction that was
    /// left open ends with it.
    ///
    /// # Errors
    /// The database is away or refused.
    pub fn with<T: Send>(
        &self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, TeamError> {
        let mut connection = self.connection()?;
        let done = connection.run(act)?;
        connection.give_back();
        Ok(done)
    }

    /// Takes a connection. If it is dropped without [`Connection::give_back`], it is closed and its transaction is
    /// rolled back.
    ///
    /// # Errors
    /// The database is away.
    pub fn connection(&self) -> Result<Connection, TeamError> {
        let client = Some(aside(|| self.inner.take())?);
        let inner = Arc::clone(&self.inner);
        Ok(Connection { inner, client })
    }

    /// Makes the partitions of this month and the next, once a day.
    ///
    /// # Errors
    /// The database is away or refused.
    pub(crate) fn keep_partitions(&self) -> Result<(), TeamError> {
        let state = || {
            self.inner
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let is_old = |when: Instant| when.elapsed() > DAY;
        if state().partitioned.is_some_and(|when| !is_old(when)) {
            return Ok(());
        }
        self.with(migrations::keep_partitions)?;
        state().partitioned = Some(Instant::now());
        Ok(())
    }

    /// An error of the driver, as one of ours.
    #[must_use]
    pub fn error(&self, error: &postgres::Error) -> TeamError {
        TeamError::of(self.name(), error)
    }

    /// Returns an error about the content of a row.
    #[must_use]
    pub fn damaged(&self, detail: impl fmt::Display) -> TeamError {
        TeamError::Damaged {
            address: self.name(),
            detail: detail.to_string(),
        }
    }
}

impl Inner {
    fn take(&self) -> Result<Client, TeamError> {
        let began = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some((client, since)) = state.idle.pop() {
                drop(state);
                if let Some(client) = alive(client, since) {
                    return Ok(client);
                }
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.open = state.open.saturating_sub(1);
                continue;
            }
            if let Some((when, detail)) = &state.failed
                && when.elapsed() < BACK_OFF
            {
                return Err(TeamError::Away {
                    address: self.address.to_string(),
                    detail: detail.clone(),
                });
            }
            if state.open < MOST {
                state.open += 1;
                let is_migrated = state.is_migrated;
                drop(state);
                return self.connect(is_migrated);
            }
            let Some(left) = WAIT.checked_sub(began.elapsed()) else {
                return Err(TeamError::Busy {
                    address: self.address.to_string(),
                    waited: WAIT,
                });
            };
            let waited = self.freed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn connect(&self, is_migrated: bool) -> Result<Client, TeamError> {
        let name = || self.address.to_string();
        let connected = match &self.tls {
            Some(tls) => self.address.config.connect(tls.clone()),
            None => self.address.config.connect(postgres::NoTls),
        };
        let connected = connected
            .map_err(|error| TeamError::of(name(), &error))
            .and_then(|mut client| {
                if !is_migrated {
                    migrations::apply(&mut client, &name())?;
                }
                Ok(client)
            });
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &connected {
            Ok(_) => {
                state.is_migrated = true;
                state.failed = None;
            }
            Err(error) => {
                state.open = state.open.saturating_sub(1);
                if let TeamError::Away { detail, .. } = error {
                    state.failed = Some((Instant::now(), detail.clone()));
                    // The others are to the same server.
                    state.open = state.open.saturating_sub(state.idle.len());
                    state.idle.clear();
                }
                self.freed.notify_one();
            }
        }
        connected
    }
}

/// Runs a blocking operation. A thread of an async runtime may not block, so there another thread does.
fn aside<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    if Handle::try_current().is_err() {
        return act();
    }
    thread::scope(|scope| match scope.spawn(act).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Returns a working connection.
fn alive(mut client: Client, since: Instant) -> Option<Client> {
    if client.is_closed() {
        return None;
    }
    if since.elapsed() > IDLE {
        client.is_valid(Duration::from_secs(2)).ok()?;
    }
    Some(client)
}

/// A connection in use.
pub struct Connection {
    inner: Arc<Inner>,
    client: Option<Client>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.inner.address)
    }
}

impl Connection {
    /// Runs an operation on the connection.
    ///
    /// # Errors
    /// The database is away or refused.
    pub fn run<T: Send>(
        &mut self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, TeamError> {
        let address = || self.inner.address.to_string();
        let Some(client) = self.client.as_mut() else {
            return Err(TeamError::Damaged {
                address: address(),
                detail: "a connection is used that was given back".to_owned(),
            });
        };
        aside(|| act(client)).map_err(|error| TeamError::of(address(), &error))
    }

    /// Returns it to the pool. It must have no open transaction.
    pub fn give_back(mut self) {
        if let Some(client) = self.client.take_if(|client| !client.is_closed()) {
            let state = self.inner.state.lock();
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            state.idle.push((client, Instant::now()));
            drop(state);
            self.inner.freed.notify_one();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Closing waits for the server.
            aside(move || drop(client));
            let state = self.inner.state.lock();
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            state.open = state.open.saturating_sub(1);
            drop(state);
            self.inner.freed.notify_one();
        }
    }
}
