//! Group commit: callers that arrive while a transaction runs share the next one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use ::routing::shared::{Document, Line, SharedError, Turn};
use ::specialist::state::State;
use postgres::types::Type;

use super::{Inner, Numbered, insert_lines};
use crate::pool::Connection;

/// Most callers per transaction.
const MOST: usize = 256;

/// The waiting callers, and the flag whether one of them leads.
#[derive(Debug, Default)]
pub(super) struct Group {
    state: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    members: VecDeque<Member>,
    is_led: bool,
}

/// A waiting caller.
#[derive(Debug)]
struct Member {
    want: Want,
    invite: SyncSender<Invitation>,
}

/// Request of a caller to a transaction.
#[derive(Clone, Debug)]
enum Want {
    /// A turn with the state of these roles.
    State(Vec<String>),
    /// Lines in the logs.
    Lines(Vec<Numbered>),
}

/// Message to a waiting caller.
#[derive(Debug)]
enum Invitation {
    /// It leads the next transaction.
    Lead,
    /// It decides now.
    Play(Baton),
    /// The transaction ended.
    Done(Result<(), SharedError>),
}

/// The state that is passed from caller to caller.
#[derive(Debug)]
struct Baton {
    state: State,
    registry: Option<Document>,
    lines: Vec<Numbered>,
    /// Return channel after the turn of a caller that does not lead.
    back: Option<SyncSender<Self>>,
}

/// One caller's turn.
pub(super) struct Held<'a> {
    baton: Option<Baton>,
    place: Place<'a>,
}

enum Place<'a> {
    /// It leads: the others follow.
    Leader(Box<Led<'a>>),
    /// It was invited and gets the transaction's result.
    Member(Receiver<Invitation>),
    /// Its turn is over.
    Over,
}

/// A transaction with the rows locked.
struct Led<'a> {
    inner: &'a Arc<Inner>,
    connection: Option<Connection>,
    rows: BTreeMap<String, String>,
    members: Vec<Member>,
}

/// Waits for a turn with the state of these roles.
pub(super) fn take_turn(inner: &Arc<Inner>, roles: Vec<String>) -> Result<Held<'_>, SharedError> {
    let want = Want::State(roles);
    let Some(invited) = enter(inner, want.clone()) else {
        return lead(inner, want);
    };
    match invited.recv() {
        Ok(Invitation::Play(baton)) => Ok(Held {
            baton: Some(baton),
            place: Place::Member(invited),
        }),
        Ok(Invitation::Lead) => lead(inner, want),
        Ok(Invitation::Done(done)) => Err(done.err().unwrap_or_else(lost)),
        Err(_) => Err(lost()),
    }
}

/// Adds lines, and returns when they are durable.
pub(super) fn add_lines(inner: &Arc<Inner>, lines: Vec<Numbered>) -> Result<(), SharedError> {
    let want = Want::Lines(lines);
    let run = |want| {
        let mut held = lead(inner, want)?;
        held.finish()
    };
    let Some(invited) = enter(inner, want.clone()) else {
        return run(want);
    };
    match invited.recv() {
        Ok(Invitation::Lead) => run(want),
        Ok(Invitation::Done(done)) => done,
        Ok(Invitation::Play(_)) | Err(_) => Err(lost()),
    }
}

fn lost() -> SharedError {
    SharedError {
        detail: "the transaction of the team's store ended without an answer".to_owned(),
        is_away: true,
    }
}

/// Joins the waiting callers; `None` for the leader.
fn enter(inner: &Inner, want: Want) -> Option<Receiver<Invitation>> {
    let state = &inner.group.state;
    let mut waiting = state.lock().unwrap_or_else(PoisonError::into_inner);
    if !waiting.is_led {
        waiting.is_led = true;
        return None;
    }
    // One message for the invitation, and one for the result.
    let (invite, invited) = sync_channel(2);
    waiting.members.push_back(Member { want, invite });
    Some(invited)
}

/// Makes the next waiting caller the leader.
fn hand_over(inner: &Inner) {
    let state = &inner.group.state;
    let mut waiting = state.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(next) = waiting.members.pop_front() {
        if next.invite.send(Invitation::Lead).is_ok() {
            return;
        }
    }
    waiting.is_led = false;
}

/// Begins a transaction for all waiting callers, and gives its leader the first turn.
fn lead(inner: &Arc<Inner>, want: Want) -> Result<Held<'_>, SharedError> {
    let members: Vec<Member> = {
        let state = &inner.group.state;
        let mut waiting = state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.members.len().min(MOST);
        waiting.members.drain(..count).collect()
    };
    let mut led = Led {
        inner,
        connection: None,
        rows: BTreeMap::new(),
        members,
    };
    let wants = led.members.iter().map(|member| &member.want);
    let roles: BTreeSet<String> = wants
        .chain([&want])
        .filter_map(|want| match want {
            Want::State(roles) => Some(roles.clone()),
            Want::Lines(_) => None,
        })
        .flatten()
        .collect();
    match led.begin(&roles.into_iter().collect::<Vec<_>>()) {
        Ok(mut baton) => {
            if let Want::Lines(lines) = want {
                baton.lines.extend(lines);
            }
            Ok(Held {
                baton: Some(baton),
                place: Place::Leader(Box::new(led)),
            })
        }
        Err(error) => {
            led.end(&Err(error.clone()));
            Err(error)
        }
    }
}

const LOCK: &str =
    "SELECT role, body FROM specialist_state WHERE role = ANY($1) ORDER BY role FOR UPDATE";
const LOOK: &str = "SELECT role, body FROM specialist_state WHERE role = ANY($1) ORDER BY role";
const MAKE: &str =
    "INSERT INTO specialist_state (role, body) SELECT role, '' FROM unnest($1::text[]) AS role
    ORDER BY role ON CONFLICT DO NOTHING";
const WRITE: &str = "UPDATE specialist_state SET body = new.body
    FROM unnest($1::text[], $2::text[]) AS new (role, body) WHERE specialist_state.role = new.role";

impl Led<'_> {
    fn begin(&mut self, roles: &[String]) -> Result<Baton, SharedError> {
        let inner = self.inner;
        let mut connection = inner.team.connection()?;
        let (rows, registry) = connection.run(|client| {
            client.batch_execute("BEGIN")?;
            if roles.is_empty() {
                return Ok((Vec::new(), None));
            }
            inner.presence.enter(client)?;
            let read = if inner.locks { LOCK } else { LOOK };
            let mut rows = client.query_typed(read, &[(&roles, Type::TEXT_ARRAY)])?;
            if rows.len() < roles.len() {
                client.execute_typed(MAKE, &[(&roles, Type::TEXT_ARRAY)])?;
                rows = client.query_typed(read, &[(&roles, Type::TEXT_ARRAY)])?;
            }
            // A separate statement after the locks: it sees everything that was committed before them.
            Ok((rows, inner.registry(client)?))
        })?;
        self.rows = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let written = self.rows.iter().filter(|(_, body)| !body.is_empty());
        let state = State::from_rows(written.map(|(role, body)| (role.as_str(), body.as_str())))
            .map_err(|error| inner.team.damaged(error))?;
        self.connection = Some(connection);
        Ok(Baton {
            state,
            registry,
            lines: Vec::new(),
            back: None,
        })
    }

    /// Lets the others decide, writes everything, commits, and informs all callers.
    fn run(&mut self, mut baton: Baton) -> Result<(), SharedError> {
        for member in &self.members {
            if let Want::Lines(lines) = &member.want {
                baton.lines.extend(lines.iter().cloned());
                continue;
            }
            let (back, returned) = sync_channel(1);
            baton.back = Some(back);
            // A caller that has gone returns the baton immediately, and one that panics by dropping it.
            baton = match member.invite.send(Invitation::Play(baton)) {
                Ok(()) => returned.recv().map_err(|_| lost())?,
                Err(_) => return Err(lost()),
            };
        }
        let Baton { state, lines, .. } = baton;
        let changed = state.to_rows();
        let changed = changed
            .iter()
            .filter(|(role, body)| self.rows.get(*role).is_some_and(|old| old != *body));
        let (roles, bodies): (Vec<&String>, Vec<&String>) = changed.unzip();
        let Some(connection) = &mut self.connection else {
            return Err(lost());
        };
        connection.run(|client| {
            if !roles.is_empty() {
                let written = [
                    (&roles as _, Type::TEXT_ARRAY),
                    (&bodies as _, Type::TEXT_ARRAY),
                ];
                client.execute_typed(WRITE, &written)?;
            }
            insert_lines(client, &lines)?;
            client.batch_execute("COMMIT")
        })?;
        Ok(())
    }

    fn end(&mut self, done: &Result<(), SharedError>) {
        if let Some(connection) = self.connection.take() {
            match done {
                Ok(()) => connection.give_back(),
                // Closing it rolls back.
                Err(_) => drop(connection),
            }
        }
        // The next transaction begins while these get the result.
        hand_over(self.inner);
        for member in self.members.drain(..) {
            // A missing receiver means that the caller has gone.
            member.invite.send(Invitation::Done(done.clone())).ok();
        }
    }
}

impl Held<'_> {
    fn finish(&mut self) -> Result<(), SharedError> {
        let Some(mut baton) = self.baton.take() else {
            return Err(lost());
        };
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::Over => Err(lost()),
            Place::Leader(mut led) => {
                let done = led.run(baton);
                led.end(&done);
                done
            }
            Place::Member(invited) => {
                let Some(back) = baton.back.take() else {
                    return Err(lost());
                };
                back.send(baton).map_err(|_| lost())?;
                match invited.recv() {
                    Ok(Invitation::Done(done)) => done,
                    _ => Err(lost()),
                }
            }
        }
    }
}

impl Turn for Held<'_> {
    fn state(&mut self) -> Result<State, SharedError> {
        let baton = self.baton.as_ref().ok_or_else(lost)?;
        Ok(baton.state.clone())
    }

    fn registry(&self) -> Option<&Document> {
        self.baton.as_ref()?.registry.as_ref()
    }

    fn commit(mut self: Box<Self>, state: State, lines: Vec<Line>) -> Result<(), SharedError> {
        if let Some(baton) = &mut self.baton {
            baton.state = state;
            baton.lines.extend(Numbered::all(lines));
        }
        self.finish()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let Some(mut baton) = self.baton.take() else {
            return;
        };
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::Over => {}
            // The others still have their turns.
            Place::Leader(mut led) => {
                let done = led.run(baton);
                led.end(&done);
            }
            Place::Member(_) => {
                if let Some(back) = baton.back.take() {
                    back.send(baton).ok();
                }
            }
        }
    }
}
