//! The options that select bundles for statistics, and the ledger to compare them with.

use std::path::PathBuf;

use base::clock;
use base::keys::Signatories;
use base::trust_store::TrustStore;
use evidence::ledger::seals::Seals;
use evidence::score::{Scored, Source};
use evidence::store::audit::{Comparison, Place};
use witness::key::Keyring;
use witness::scorecard::Filter;

use crate::command::trust::Trust;
use crate::{Context, Failure};

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
    /// Ledger of the one directory PATH [default: the workspace's, when no PATH is given].
    #[arg(long, value_name = "DIR", requires = "paths")]
    ledger: Option<PathBuf>,
    /// Count sessions without a test and without a diff as tasks.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    only: Only,
}

/// Which of the bundles count.
#[derive(Debug, clap::Args)]
struct Only {
    /// Only bundles of this time or later, as 2026-02-15 or 2026-02-15T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<u64>,
    /// Only bundles from before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<u64>,
    /// Only bundles of this role.
    #[arg(long, value_name = "ROLE", value_parser = parse_name)]
    role: Option<String>,
    /// Only bundles of this model.
    #[arg(long, value_name = "MODEL", value_parser = parse_name)]
    model: Option<String>,
    /// Only bundles of this suite.
    #[arg(long, value_name = "SUITE", value_parser = parse_name)]
    suite: Option<String>,
}

fn parse_time(text: &str) -> Result<u64, String> {
    clock::parse_day_or_moment(text).ok_or_else(|| {
        "expected a day like 2026-02-15 or a time like 2026-02-15T12:00:00Z".to_owned()
    })
}

fn parse_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("expected a name".to_owned());
    }
    Ok(text.to_owned())
}

impl ManyBundles {
    /// Finds the files and the keys.
    pub fn find(&self, context: &Context) -> Result<FoundBundles, Failure> {
        Ok(FoundBundles {
            keyring: self.trust.keyring(context)?,
            paths: context.bundles(&self.paths)?,
            ledger: self.comparison(context)?,
            unverified: self.unverified,
        })
    }

    /// Returns the conditions on a bundle.
    pub fn filter(&self) -> Result<Filter, Failure> {
        let only = &self.only;
        if let (Some(since), Some(until)) = (only.since, only.until)
            && since >= until
        {
            return Err(Failure::input(
                "bad_time",
                "`--until` is not after `--since`",
            ));
        }
        Ok(Filter {
            since_ns: only.since,
            until_ns: only.until,
            role: only.role.clone(),
            model: only.model.clone(),
            suite: only.suite.clone(),
        })
    }

    /// Returns the comparison. A folder given by its path is compared only with the ledger given for it.
    fn comparison(&self, context: &Context) -> Result<Option<Comparison>, Failure> {
        if self.paths.is_empty() {
            let keys = context.store.keys()?;
            return Ok(Some(context.store.comparison(&keys, None)?));
        }
        let Some(ledger) = &self.ledger else {
            return Ok(None);
        };
        let [witness] = self.paths.as_slice() else {
            return Err(Failure::input(
                "bad_ledger",
                "`--ledger` needs exactly one PATH, the directory of its bundles",
            ));
        };
        let place = Place {
            ledger: ledger.clone(),
            witness: witness.clone(),
            trust: TrustStore::of(&context.environment),
            is_initialised: false,
            seals: Seals::None,
        };
        let signatories = Signatories {
            trusted: self.trust.keyring(context)?.public_keys().to_vec(),
            others: Vec::new(),
        };
        let comparison = Comparison::open(place, signatories, None)?;
        if comparison.ledger().is_none() {
            let message = format!("there is no ledger in `{}`", ledger.display());
            return Err(Failure::input("no_ledger", message)
                .hint("name the directory that holds `leaves.jsonl`, such as `.role-os/ledger`"));
        }
        Ok(Some(comparison))
    }

    /// Reads the bundles. A seal in progress looks like damage, so damage is checked again while no seal runs.
    pub fn read<T>(
        &self,
        context: &Context,
        read: impl Fn(&FoundBundles) -> Result<Scored<T>, Failure>,
    ) -> Result<Scored<T>, Failure> {
        let first = read(&self.find(context)?)?;
        if !self.paths.is_empty()
            || first
                .audit
                .as_ref()
                .is_none_or(|audit| audit.problems.is_empty())
        {
            return Ok(first);
        }
        let _pause = context.store.pause_seals();
        read(&self.find(context)?)
    }
}

/// Files to read.
#[derive(Debug)]
pub struct FoundBundles {
    keyring: Keyring,
    paths: Vec<PathBuf>,
    ledger: Option<Comparison>,
    unverified: bool,
}

impl FoundBundles {
    /// Returns the number of files.
    #[must_use]
    pub fn count(&self) -> usize {
        self.paths.len()
    }

    /// Returns the input for the crate `evidence`.
    #[must_use]
    pub fn source(&self, context: &Context) -> Source<'_> {
        Source {
            paths: &self.paths,
            keyring: &self.keyring,
            unverified: self.unverified,
            options: context.scan_options(),
            ledger: self.ledger.as_ref(),
        }
    }
}
