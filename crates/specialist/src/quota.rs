//! The workload quota: the share of the last dispatches that an adapter may have served.
//!
//! The window slides: the next dispatch pushes the oldest of a full window out, so `used` counts the last window − 1.
//! Thus no stretch of `window` dispatches ever holds more than quota × window served by the adapter.

use std::fmt;

/// Source of a dispatch's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The adapter.
    Specialist,
    /// The general model.
    Claude,
}

impl Source {
    /// Returns the name in receipts and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Specialist => "specialist",
            Self::Claude => "claude",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Dispatches that count against a role's quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The dispatches of the role.
    #[default]
    Role,
    /// The dispatches of all roles together.
    Fleet,
}

/// The last dispatches, oldest first, and the number of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    records: Vec<Source>,
    dispatched: u64,
}

impl Window {
    /// Creates a window from its stored form. There cannot be more records than dispatches.
    #[must_use]
    pub fn new(records: Vec<Source>, dispatched: u64) -> Self {
        let dispatched = dispatched.max(records.len() as u64);
        Self {
            records,
            dispatched,
        }
    }

    /// Returns the records, oldest first.
    #[must_use]
    pub fn records(&self) -> &[Source] {
        &self.records
    }

    /// Returns the number of all dispatches, which is also the number of the next one.
    #[must_use]
    pub fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// Adds a dispatch, drops records older than the window, and returns the number of the dispatch.
    pub fn push(&mut self, source: Source, window: usize) -> u64 {
        let number = self.dispatched;
        self.dispatched = self.dispatched.saturating_add(1);
        self.records.push(source);
        let surplus = self.records.len().saturating_sub(window.max(1));
        self.records.drain(..surplus);
        number
    }

    /// Corrects the source of an earlier dispatch; one that has left the window no longer matters.
    pub fn correct(&mut self, number: u64, source: Source) {
        let back = self.dispatched.saturating_sub(number);
        let place = usize::try_from(back)
            .ok()
            .filter(|back| *back > 0)
            .and_then(|back| self.records.len().checked_sub(back));
        if let Some(record) = place.and_then(|place| self.records.get_mut(place)) {
            *record = source;
        }
    }

    /// Returns how many of the last `length` dispatches the adapter served.
    #[must_use]
    pub fn used(&self, length: usize) -> u64 {
        let tail = self.records.iter().rev().take(length);
        tail.filter(|source| **source == Source::Specialist).count() as u64
    }

    /// Returns the view of the window for the gate, before the next dispatch.
    #[must_use]
    pub fn view(&self, window: usize) -> View {
        View {
            used: self.used(window.saturating_sub(1)),
            window: window as u64,
        }
    }
}

/// Used part of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Dispatches that the adapter served and that are still in the window when the next one is.
    pub used: u64,
    /// Length of the window.
    pub window: u64,
}

impl View {
    /// Returns the share after one more dispatch.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "windows have at most millions of dispatches"
    )]
    pub fn share_after_next(self) -> f64 {
        self.used.saturating_add(1) as f64 / self.window.max(1) as f64
    }
}
