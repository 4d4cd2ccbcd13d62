//! The source of a command's catalog: a directory, the program itself, or another machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use ::catalog::catalog::Draft;
use base::environment::{Confidential, cache_dir};
use roles::catalog::Directory;
use roles::shipped;
use upstream::blocking;
use upstream::catalog_remote::{Gaps, Limits, Remote, Source, Wants};

use crate::context::Context;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{DIM, Ui};

/// Name of the catalog in the program itself.
const BUILTIN: &str = "builtin";

/// The option that commands share.
#[derive(Debug, clap::Args)]
pub(super) struct From {
    /// The catalog: a directory, `builtin` or an http(s) address [default: `catalog` in the workspace, else the current
    /// directory, else AI_AGENT_ROLES_CATALOG_URL].
    #[arg(long, value_name = "CATALOG")]
    from: Option<OsString>,
    /// Take the catalog at AI_AGENT_ROLES_CATALOG_URL.
    #[arg(long, conflicts_with = "from")]
    remote: bool,
}

impl From {
    /// Finds the catalog.
    ///
    /// # Errors
    /// There is none, or its address is wrong.
    pub(super) fn find(&self, context: &Context) -> Result<Origin, Failure> {
        match &self.from {
            _ if self.remote => Origin::configured(context),
            Some(name) => Origin::named(name),
            None => Origin::default(context),
        }
    }
}

/// A catalog that was found and not read yet.
#[derive(Debug)]
pub(super) enum Origin {
    Directory(Directory),
    Builtin,
    Remote(Source),
}

impl Origin {
    /// Parses a name from the user.
    ///
    /// # Errors
    /// It is neither a directory nor an address.
    pub(super) fn named(name: &OsStr) -> Result<Self, Failure> {
        let text = name.to_string_lossy();
        let is_url = |scheme: &str| {
            let start = text.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if text == BUILTIN {
            Ok(Self::Builtin)
        } else if is_url("http://") || is_url("https://") {
            Ok(Self::Remote(Source::parse(&text)?))
        } else if text.contains("://") {
            let shown = clean::line(&text, 200);
            Err(Failure::input(
                "bad_source",
                format!("`{shown}` is not an http or https address"),
            )
            .hint("name a folder, `builtin`, or an address that begins with https://"))
        } else {
            Ok(Self::Directory(Directory::open(Path::new(name))?))
        }
    }

    /// Uses the address in the environment.
    ///
    /// # Errors
    /// It is not set, or not an address.
    pub(super) fn configured(context: &Context) -> Result<Self, Failure> {
        let value = context.environment.catalog_url.as_ref();
        let source = Source::configured(value.map(Confidential::reveal))?;
        Ok(Self::Remote(source))
    }

    fn default(context: &Context) -> Result<Self, Failure> {
        match super::directory(context, None) {
            Err(_) if context.environment.catalog_url.is_some() => Self::configured(context),
            found => found.map(Self::Directory),
        }
    }

    /// Reads the whole catalog.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(super) fn draft(&self, ui: &Ui, context: &Context) -> Result<Draft, Failure> {
        self.part(ui, context, &|_| true)
    }

    /// Reads the index and the wanted files; a catalog on this machine is always read as a whole.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(super) fn part(
        &self,
        ui: &Ui,
        context: &Context,
        wants: &Wants<'_>,
    ) -> Result<Draft, Failure> {
        match self {
            Self::Directory(directory) => Ok(directory.draft()),
            Self::Builtin => Ok(shipped::draft()),
            Self::Remote(source) => fetch(ui, context, source.clone(), wants, Gaps::Refuse),
        }
    }
}

/// Fetches a catalog, and reports the age of copies that the server confirmed.
///
/// # Errors
/// It cannot be fetched, or the settings require a signature that it does not have.
pub(super) fn fetch(
    ui: &Ui,
    context: &Context,
    source: Source,
    wants: &Wants<'_>,
    gaps: Gaps,
) -> Result<Draft, Failure> {
    let cache = cache_dir().map(|directory| directory.join("catalog"));
    let mut remote = Remote::new(source, cache, Limits::default())?;
    let set = &context.config.catalog;
    if set.require_signature {
        let keys = set.trusted_keys.iter().map(|one| one.key());
        remote = remote.requiring_signature(keys.collect());
    }
    let whole = blocking::run(remote.whole(wants, gaps)).map_err(|error| {
        Failure::refused("runtime", format!("cannot wait for the network: {error}"))
    })??;
    let oldest = whole
        .oldest_ns
        .map(|since| format!(", copies since {} confirmed", base::clock::text(since)))
        .unwrap_or_default();
    ui.note(format_args!(
        "{DIM}{}: {} files fetched, {} unchanged{oldest}{DIM:#}",
        remote.source(),
        whole.fresh,
        whole.revalidated
    ));
    Ok(whole.draft)
}
