//! Comparison of the program that begins to execute with the judged one.
//!
//! A judged thread is traced before its call continues, so it stops when the new image is loaded and has run nothing.
//! If the kernel refuses to trace it, the process is checked shortly afterwards.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::memory;
use super::seen::Judged;
use super::sys::{self, Change};

/// Time after which an execution that has not succeeded has failed, and its thread is released.
const OVERDUE: Duration = Duration::from_millis(200);
/// Interval and time limit of the checks of an untraced process.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOK_FOR: Duration = Duration::from_millis(200);

/// A thread that may be about to execute the judged program.
struct Traced {
    judged: Judged,
    since: Instant,
    interrupted: bool,
}

/// A process that executes the judged program, or will, or has failed to.
struct Untraced {
    process: u32,
    judged: Judged,
    before: Vec<u8>,
    since: Instant,
}

/// All allowed executions that are not compared yet.
#[derive(Default)]
pub(super) struct Verifier {
    traced: BTreeMap<u32, Traced>,
    untraced: Vec<Untraced>,
}

/// Meaning of a stop of a traced thread.
pub(super) enum Stop {
    /// The stop was handled.
    Done,
    /// The process executes another program than the judged one; it is stopped before its first instruction.
    Differs(u32),
}

impl Verifier {
    /// Prepares the comparison; `false` if the thread cannot be traced. Must precede the answer to its call.
    pub(super) fn expect(
        &mut self,
        thread: u32,
        process: impl FnOnce() -> u32,
        judged: Judged,
    ) -> bool {
        let since = Instant::now();
        let is_traced = self.traced.contains_key(&thread)
            || i32::try_from(thread).is_ok_and(|thread| sys::trace_exec(thread).is_ok());
        if is_traced {
            self.traced.insert(
                thread,
                Traced {
                    judged,
                    since,
                    interrupted: false,
                },
            );
        } else {
            let process = process();
            let before = memory::strings_of(process, "cmdline").unwrap_or_default();
            self.untraced.push(Untraced {
                process,
                judged,
                before,
                since,
            });
        }
        is_traced
    }

    /// Removes a thread that is gone.
    pub(super) fn gone(&mut self, thread: i32) {
        if let Ok(thread) = u32::try_from(thread) {
            self.traced.remove(&thread);
        }
    }

    /// Handles a stop of a traced thread.
    pub(super) fn stopped(&mut self, thread: i32, change: Change) -> Stop {
        let Change::Stopped(signal, event) = change else {
            return Stop::Done;
        };
        let Ok(id) = u32::try_from(thread) else {
            return Stop::Done;
        };
        match event {
            libc::PTRACE_EVENT_EXEC => {
                let alone = self.traced.len() == 1 && self.traced.contains_key(&id);
                let former = match alone {
                    true => id,
                    false => sys::former_thread(thread).unwrap_or(id),
                };
                let traced = self.traced.remove(&former);
                // The first thread of the process is gone; its own execution never happened.
                self.traced.remove(&id);
                let stack = || sys::stack_of(thread);
                if traced.is_some_and(|traced| traced.judged.is_executed_by(id, stack)) {
                    sys::detach(thread);
                    return Stop::Done;
                }
                return Stop::Differs(id);
            }
            libc::PTRACE_EVENT_STOP => {
                let of_group = matches!(
                    signal,
                    libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU
                );
                if of_group {
                    sys::listen(thread);
                } else if self
                    .traced
                    .get(&id)
                    .is_some_and(|traced| traced.interrupted)
                {
                    // It did not reach the stop of an execution, so that has failed.
                    self.traced.remove(&id);
                    sys::detach(thread);
                } else {
                    sys::go_on(thread, 0);
                }
            }
            _ => sys::go_on(thread, signal),
        }
        Stop::Done
    }

    /// Runs the checks that are due; returns processes that execute another program than the judged one.
    pub(super) fn look(&mut self) -> Vec<u32> {
        let now = Instant::now();
        for (thread, traced) in &mut self.traced {
            if !traced.interrupted && now.duration_since(traced.since) > OVERDUE {
                traced.interrupted = true;
                if let Ok(thread) = i32::try_from(*thread) {
                    sys::interrupt(thread);
                }
            }
        }
        let mut differ = Vec::new();
        self.untraced.retain(|one| {
            let Ok(words) = memory::strings_of(one.process, "cmdline") else {
                return false;
            };
            let waits = now.duration_since(one.since) < LOOK_FOR;
            if one.judged.is_executed_by(one.process, || None) || words.is_empty() {
                return words.is_empty() && waits;
            }
            if words == one.before {
                return waits;
            }
            differ.push(one.process);
            false
        });
        differ
    }

    /// Returns the time until the next check; `None` if nothing is due.
    pub(super) fn next_look(&self) -> Option<Duration> {
        if !self.untraced.is_empty() {
            return Some(LOOK_EVERY);
        }
        let waiting = |traced: &&Traced| !traced.interrupted;
        let first = self
            .traced
            .values()
            .filter(waiting)
            .map(|traced| traced.since)
            .min()?;
        Some(OVERDUE.saturating_sub(first.elapsed()) + LOOK_EVERY)
    }
}
