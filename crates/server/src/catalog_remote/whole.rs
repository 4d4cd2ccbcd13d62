//! A whole remote catalog: the index, then every file that it declares, each a few at a time.
//!
//! The index is hostile, so the places that it names are parsed as [`Segment`]s before anything is asked for.

use catalog::catalog::Draft;
use catalog::source::{File, Sources};
use futures_util::{StreamExt as _, stream};

use super::error::Situation;
use super::{Age, Fetched, Remote, RemoteError, Segment, Wanted};

/// Files that are on their way at once.
const AT_ONCE: usize = 8;

/// A catalog as the server has it now, unchecked, and how its files came.
#[derive(Debug)]
pub struct Whole {
    /// What was read.
    pub draft: Draft,
    /// Files that travelled just now.
    pub fresh: usize,
    /// Files of which the server said that our copy is still right.
    pub revalidated: usize,
    /// When the oldest of those copies came in, in nanoseconds since 1970.
    pub oldest_ns: Option<u64>,
}

impl Remote {
    /// Fetches the index and every file that it declares. A file that is not there, or cannot be had, is one in the draft.
    pub async fn whole(&self) -> Result<Whole, RemoteError> {
        let index = self.index().await?;
        let mut ages = vec![index.age];
        let mut sources = Sources::new(File::of(index.bytes));
        let wanted = sources.wanted();
        let mut files = stream::iter(&wanted)
            .map(|path| async move { (path, self.declared(path).await) })
            .buffer_unordered(AT_ONCE);
        while let Some((path, fetched)) = files.next().await {
            let file = match fetched {
                Ok(fetched) => {
                    ages.push(fetched.age);
                    File::of(fetched.bytes)
                }
                Err(error) => unavailable(&error),
            };
            sources.add(path.clone(), file);
        }
        Ok(Whole::new(Draft::read(sources), &ages))
    }

    /// One file that the index declares, by its path in the catalog.
    async fn declared(&self, path: &str) -> Result<Fetched, RemoteError> {
        let parts: Vec<&str> = path.split('/').collect();
        let (id, language) = match parts.as_slice() {
            ["bundles", id, file] => (*id, file.strip_suffix(".yaml").unwrap_or(file)),
            // The id itself had slashes.
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

/// A server that has no such file says so; everything else is a file that cannot be read.
fn unavailable(error: &RemoteError) -> File {
    match error.situation() {
        Situation::Status {
            status: 404 | 410, ..
        } => File::Missing,
        situation => File::unreadable(&situation.to_string()),
    }
}
