//! A whole remote catalog: the index, then the files that it declares, a few at a time and under one limit.
//!
//! The index is untrusted, so its names are parsed as [`Segment`]s before any request.

use catalog::catalog::Draft;
use catalog::source::{File, INDEX, NOTE, Sources};
use futures_util::{StreamExt as _, stream};
use roles::signature::{self, Digests};

use super::error::{Situation, shown};
use super::{Age, Fetched, Remote, RemoteError, Segment, Wanted};

/// Handling of a declared file that cannot be fetched. One that the server does not have is missing either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Fail.
    Refuse,
    /// Continue; the draft contains it as a broken file.
    Keep,
}

/// Returns `true` for the paths of files that are fetched.
pub type Wants<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// A catalog in its current state on the server, unchecked, with the origin of its files.
#[derive(Debug)]
pub struct Whole {
    /// The parsed content.
    pub draft: Draft,
    /// Number of transferred files.
    pub fresh: usize,
    /// Number of files for which the server confirmed our copy.
    pub revalidated: usize,
    /// Time of the oldest of those copies, in nanoseconds since 1970.
    pub oldest_ns: Option<u64>,
}

impl Remote {
    /// Fetches the index and those of the declared files that are wanted, all of them under one limit.
    ///
    /// # Errors
    /// The index cannot be fetched, a limit is exceeded, a required signature is invalid, or there is a gap.
    pub async fn whole(&self, wants: &Wants<'_>, gaps: Gaps) -> Result<Whole, RemoteError> {
        let limit = self.limits.total_time;
        let gathered = tokio::time::timeout(limit, self.gather(wants, gaps)).await;
        gathered.unwrap_or_else(|_| {
            let host = self.source.host();
            Err(Situation::Timeout { host, limit }.into())
        })
    }

    async fn gather(&self, wants: &Wants<'_>, gaps: Gaps) -> Result<Whole, RemoteError> {
        let signed = self.signed().await?;
        let is_signed = |path: &str, bytes: &[u8]| match &signed {
            Some(digests) if !digests.contains(path, bytes) => {
                Err(self.unsigned(format!("`{}` is not as signed", shown(path))))
            }
            _ => Ok(()),
        };
        let index = self.index().await?;
        is_signed(INDEX, &index.bytes)?;
        let mut ages = vec![index.age];
        let mut total = index.bytes.len();
        let mut sources = Sources::new(File::of(index.bytes));
        let mut wanted = sources.wanted();
        wanted.retain(|path| wants(path));
        if wanted.len() > self.limits.files {
            return Err(self.too_much(format!("it has more than {} files", self.limits.files)));
        }
        let mut files = stream::iter(&wanted)
            .map(|path| async move { (path, self.declared(path).await) })
            .buffer_unordered(self.limits.parallel);
        while let Some((path, fetched)) = files.next().await {
            let file = match fetched {
                Ok(fetched) => {
                    is_signed(path, &fetched.bytes)?;
                    total = total.saturating_add(fetched.bytes.len());
                    if total > self.limits.total_bytes {
                        let limit = self.limits.total_bytes;
                        return Err(self.too_much(format!("it has more than {limit} bytes")));
                    }
                    ages.push(fetched.age);
                    File::of(fetched.bytes)
                }
                Err(error) => match unavailable(&error) {
                    File::Missing => File::Missing,
                    file if gaps == Gaps::Keep => file,
                    _ => return Err(error),
                },
            };
            sources.add(path.clone(), file);
        }
        Ok(Whole::new(Draft::read(sources), &ages))
    }

    /// Fetches and verifies the note, if one is required.
    async fn signed(&self) -> Result<Option<Digests>, RemoteError> {
        let Some(keys) = &self.trusted else {
            return Ok(None);
        };
        let note = match self.fetch(Wanted::Note).await {
            Ok(note) => note.bytes,
            Err(error) if matches!(unavailable(&error), File::Missing) => {
                return Err(self.unsigned(format!("it has no `{NOTE}`")));
            }
            Err(error) => return Err(error),
        };
        let digests = signature::verify(&note, keys);
        digests
            .map(Some)
            .map_err(|why| self.unsigned(why.to_owned()))
    }

    fn unsigned(&self, what: String) -> RemoteError {
        let host = self.source.host();
        Situation::Unsigned { host, what }.into()
    }

    fn too_much(&self, what: String) -> RemoteError {
        let host = self.source.host();
        Situation::TooMuch { host, what }.into()
    }

    /// Fetches one file that the index declares, by its path in the catalog.
    async fn declared(&self, path: &str) -> Result<Fetched, RemoteError> {
        let parts: Vec<&str> = path.split('/').collect();
        let (id, language) = match parts.as_slice() {
            ["bundles", id, file] => (*id, file.strip_suffix(".yaml").unwrap_or(file)),
            // The id itself contained slashes.
            _ => (path, ""),
        };
        let (id, language) = (Segment::parse(id)?, Segment::parse(language)?);
        let wanted = Wanted::Bundle {
            id: &id,
            language: &language,
        };
        self.fetch(wanted).await
    }
}

impl Whole {
    fn new(draft: Draft, ages: &[Age]) -> Self {
        let cached = ages.iter().filter_map(|age| match age {
            Age::Fresh => None,
            Age::Revalidated { cached_at_ns } => Some(*cached_at_ns),
        });
        let revalidated = cached.clone().count();
        Self {
            draft,
            fresh: ages.len() - revalidated,
            revalidated,
            oldest_ns: cached.min(),
        }
    }
}

/// Converts an error: a status of 404 or 410 means a missing file, everything else an unreadable one.
fn unavailable(error: &RemoteError) -> File {
    match error.situation() {
        Situation::Status {
            status: 404 | 410, ..
        } => File::Missing,
        situation => File::unreadable(&situation.to_string()),
    }
}
