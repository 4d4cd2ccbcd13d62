//! The options by which a command is told which bundles to add up.

use std::path::PathBuf;

use host::score::Source;
use witness::key::Keyring;

use crate::command::trust::Trust;
use crate::context::Context;
use crate::failure::Failure;

/// Which bundles, whom to believe about them, and what to do with the rest.
#[derive(Debug, clap::Args)]
pub struct ManyBundles {
    /// Bundle files or directories [default: all of the workspace].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    trust: Trust,
    /// Count unsigned and unchecked bundles as well; their number is shown apart.
    #[arg(long)]
    unverified: bool,
}

impl ManyBundles {
    /// Finds the files and the keys.
    ///
    /// # Errors
    /// A path or key cannot be read.
    pub fn find(&self, context: &Context) -> Result<FoundBundles, Failure> {
        Ok(FoundBundles {
            keyring: self.trust.keyring(context)?,
            paths: context.bundles(&self.paths)?,
            unverified: self.unverified,
        })
    }
}

/// Files that wait to be read.
#[derive(Debug)]
pub struct FoundBundles {
    keyring: Keyring,
    paths: Vec<PathBuf>,
    unverified: bool,
}

impl FoundBundles {
    /// How many files.
    #[must_use]
    pub fn count(&self) -> usize {
        self.paths.len()
    }

    /// What the host reads.
    #[must_use]
    pub fn source(&self, context: &Context) -> Source<'_> {
        Source {
            paths: &self.paths,
            keyring: &self.keyring,
            unverified: self.unverified,
            options: context.scan_options(),
        }
    }
}
