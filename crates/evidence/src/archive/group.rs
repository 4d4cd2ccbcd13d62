//! Group commit: requests that arrive during a commit share the next one.

use std::mem;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Archive, ArchiveError, Committed, Item};

/// Most bytes of items in one commit, unless one request alone has more.
const MAX_COMMIT: usize = 8 * 1024 * 1024;
/// Most bytes that may wait; later callers are asked to retry.
const MAX_WAITING: usize = 48 * 1024 * 1024;

type Outcome = Result<Committed, ArchiveError>;

#[derive(Debug)]
struct Waiting {
    items: Vec<Item>,
    bytes: usize,
    done: Sender<Outcome>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Waiting>,
    bytes: usize,
    /// Set if a caller is committing.
    is_led: bool,
}

/// Group commit over an archive.
#[derive(Debug)]
pub struct Group {
    archive: Arc<dyn Archive>,
    queue: Mutex<Queue>,
}

impl Group {
    /// Returns a group for an archive.
    #[must_use]
    pub fn of(archive: Arc<dyn Archive>) -> Self {
        Self {
            archive,
            queue: Mutex::default(),
        }
    }

    /// Commits the items, together with those of other waiting callers.
    ///
    /// # Errors
    /// Nothing is acknowledged: too many bytes wait, or the archive failed.
    pub fn commit(&self, items: Vec<Item>) -> Outcome {
        let bytes = items.iter().map(size_of).sum();
        let (done, outcome) = channel();
        let leads = {
            let mut queue = self.lock();
            if queue.bytes > 0 && queue.bytes.saturating_add(bytes) > MAX_WAITING {
                return Err(ArchiveError::Away("too much waits to be kept".to_owned()));
            }
            queue.bytes += bytes;
            queue.waiting.push(Waiting { items, bytes, done });
            !mem::replace(&mut queue.is_led, true)
        };
        if leads {
            self.lead();
        }
        let gone = || ArchiveError::Failed("the commit was broken off".to_owned());
        outcome.recv().unwrap_or_else(|_| Err(gone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits waiting items until none is left.
    fn lead(&self) {
        // A panic below must not leave the queue without a leader.
        let _led = Led(self);
        loop {
            let batch = {
                let mut queue = self.lock();
                let batch = next_batch(&mut queue);
                if batch.is_empty() {
                    queue.is_led = false;
                    return;
                }
                batch
            };
            self.serve(batch);
        }
    }

    fn serve(&self, batch: Vec<Waiting>) {
        let mut all = Vec::new();
        let mut callers = Vec::new();
        let mut bytes = 0;
        for one in batch {
            callers.push((one.items.len(), one.done));
            all.extend(one.items);
            bytes += one.bytes;
        }
        let outcome = self.archive.commit(&all);
        drop(all);
        self.lock().bytes -= bytes;
        let mut placed = outcome.as_ref().map_or(&[][..], |done| &done.placed);
        for (count, done) in callers {
            let (own, rest) = placed.split_at_checked(count).unwrap_or_default();
            placed = rest;
            let own = outcome.as_ref().map(|whole| Committed {
                placed: own.to_vec(),
                checkpoint: whole.checkpoint.clone(),
            });
            // A caller that went away needs no answer.
            done.send(own.map_err(Clone::clone)).ok();
        }
    }
}

struct Led<'a>(&'a Group);

impl Drop for Led<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut queue = self.0.lock();
            // Their senders are dropped with them, so that no caller waits for ever.
            queue.waiting.clear();
            queue.bytes = 0;
            queue.is_led = false;
        }
    }
}

fn next_batch(queue: &mut Queue) -> Vec<Waiting> {
    let mut bytes = 0;
    let fits = queue.waiting.iter().take_while(|one| {
        bytes += one.bytes;
        bytes <= MAX_COMMIT
    });
    let count = fits.count().max(1).min(queue.waiting.len());
    queue.waiting.drain(..count).collect()
}

fn size_of(item: &Item) -> usize {
    match item {
        Item::Bundle(bundle) => bundle.bytes.bytes().len(),
        Item::Line(line) => line.text.bytes().len(),
    }
}
