//! A catalog on another machine, one file at a time.
//!
//! Reading order: [`Source`] and [`Segment`] (addresses), `exchange` (one request with all limits), `cache` (copies on
//! disk), [`RemoteError`] (the error and a remaining copy), [`Whole`] (all files of a catalog).
//!
//! Every fetch uses the network: a copy is returned as current only after the server has confirmed it, and as an old
//! copy only by [`Remote::cached`]. The bytes are untrusted; the crate `catalog` parses and checks them every time,
//! also those from the cache.

use std::path::PathBuf;
use std::time::Duration;

use base::clock;
use base::files::FileError;
use witness::key::PublicKey;

use self::cache::{Cache, Entry};
use self::exchange::Answer;
use self::source::Address;
use crate::exchange::Client;

pub use self::error::{Older, RemoteError, Situation};
pub use self::source::{Segment, Source, Wanted};
pub use self::whole::{Gaps, Wants, Whole};

mod source;

mod exchange;

mod cache;

pub(crate) mod error;

mod whole;

/// Limits of one file, and of all files of one fetch together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time of the whole exchange, from the lookup of the name to the last byte of the body.
    pub time: Duration,
    /// Largest file, in decoded bytes; one of exactly this size is accepted.
    pub bytes: usize,
    /// Most bytes of all copies on disk together.
    pub cache_bytes: u64,
    /// Most files of one fetch, the index not counted.
    pub files: usize,
    /// Most decoded bytes of one fetch.
    pub total_bytes: usize,
    /// Longest time of one fetch.
    pub total_time: Duration,
    /// Files that are fetched at once.
    pub parallel: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            bytes: 1_000_000,
            cache_bytes: 64_000_000,
            files: 2_000,
            total_bytes: 32_000_000,
            total_time: Duration::from_secs(60),
            parallel: 8,
        }
    }
}

/// A file in its current state on the server.
#[derive(Debug)]
pub struct Fetched {
    /// The content, unchecked.
    pub bytes: Vec<u8>,
    /// Its origin.
    pub age: Age,
    /// Error of storing a copy; the bytes are valid anyway.
    pub not_kept: Option<FileError>,
}

/// Origin of current bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// They were transferred just now.
    Fresh,
    /// They are our copy, and the server has just confirmed it.
    Revalidated {
        /// Time of the copy, in nanoseconds since 1970.
        cached_at_ns: u64,
    },
}

/// An unconfirmed copy.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The content, unchecked.
    pub bytes: Vec<u8>,
    pub older: Older,
}

/// A source with its connections and its copies.
#[derive(Debug)]
pub struct Remote {
    source: Source,
    client: Client,
    cache: Option<Cache>,
    limits: Limits,
    trusted: Option<Vec<PublicKey>>,
}

impl Remote {
    /// Prepares a source, without a request. Without `cache_dir`, no copies are stored. A clone or download must not be
    /// able to write the folder, because a copy in it counts as ours once the server confirms its ETag.
    pub fn new(
        source: Source,
        cache_dir: Option<PathBuf>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let client = exchange::client(&source)?;
        let cache = cache_dir.map(|directory| Cache::new(directory, limits.cache_bytes));
        Ok(Self {
            source,
            client,
            cache,
            limits,
            trusted: None,
        })
    }

    /// Refuses files without a signature of one of these keys.
    #[must_use]
    pub fn requiring_signature(mut self, keys: Vec<PublicKey>) -> Self {
        self.trusted = Some(keys);
        self
    }

    /// Returns the source, which prints without user info.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Fetches `index.yaml`.
    pub async fn index(&self) -> Result<Fetched, RemoteError> {
        self.fetch(Wanted::Index).await
    }

    pub async fn bundle(&self, id: &Segment, language: &Segment) -> Result<Fetched, RemoteError> {
        self.fetch(Wanted::Bundle { id, language }).await
    }

    /// Fetches one file, or the server's confirmation of our copy.
    ///
    /// # Errors
    /// There was no valid answer. The error contains the age of a remaining older copy; [`Remote::cached`] returns it.
    pub async fn fetch(&self, wanted: Wanted<'_>) -> Result<Fetched, RemoteError> {
        let address = self.source.address(wanted);
        let known = self.entry(&address);
        let validators = known.as_ref().map(|entry| &entry.validators);
        let Limits { time, bytes, .. } = self.limits;
        match exchange::ask(&self.client, &address, validators, time, bytes).await {
            Ok(answer) => self.settle(&address, answer, known),
            Err(situation) => {
                let older = known.as_ref().map(older);
                Err(RemoteError::with_older(situation, older))
            }
        }
    }

    /// Returns the copy of a file from an earlier fetch, with its age, without a request.
    #[must_use]
    pub fn cached(&self, wanted: Wanted<'_>) -> Option<Kept> {
        let entry = self.entry(&self.source.address(wanted))?;
        Some(Kept {
            older: older(&entry),
            bytes: entry.bytes,
        })
    }

    fn entry(&self, address: &Address) -> Option<Entry> {
        let cache = self.cache.as_ref()?;
        cache.find(address, self.limits.bytes, clock::now_ns())
    }

    /// Converts an answer into bytes and updates the copy. The file access is short and blocks.
    fn settle(
        &self,
        address: &Address,
        answer: Answer,
        known: Option<Entry>,
    ) -> Result<Fetched, RemoteError> {
        match (answer, known) {
            (Answer::NotModified, Some(entry)) => Ok(Fetched {
                bytes: entry.bytes,
                age: Age::Revalidated {
                    cached_at_ns: entry.cached_at_ns,
                },
                not_kept: None,
            }),
            // Cannot happen, because only requests with a copy are conditional; if it did, there would be no bytes to
            // return.
            (Answer::NotModified, None) => Err(RemoteError::from(Situation::Status {
                host: address.host.clone(),
                status: 304,
            })),
            (
                Answer::File {
                    bytes,
                    validators,
                    may_keep,
                },
                _,
            ) => {
                let entry = Entry {
                    bytes,
                    validators,
                    cached_at_ns: clock::now_ns(),
                };
                let not_kept = self.keep(address, &entry, may_keep);
                Ok(Fetched {
                    bytes: entry.bytes,
                    age: Age::Fresh,
                    not_kept,
                })
            }
        }
    }

    /// Stores the copy, or removes it if the file may not be kept: the old copy is outdated.
    fn keep(&self, address: &Address, entry: &Entry, may_keep: bool) -> Option<FileError> {
        let cache = self.cache.as_ref()?;
        if may_keep {
            return cache.keep(address, entry).err();
        }
        cache.forget(address);
        None
    }
}

fn older(entry: &Entry) -> Older {
    let age = clock::now_ns().saturating_sub(entry.cached_at_ns);
    Older {
        cached_at_ns: entry.cached_at_ns,
        age: Duration::from_nanos(age),
    }
}
