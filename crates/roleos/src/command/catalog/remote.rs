//! The catalog on another machine, for the commands that take `--remote`.

use ::catalog::catalog::Draft;
use base::environment::{Confidential, cache_dir};
use server::blocking;
use server::catalog_remote::{Limits, Remote, Source};

use crate::ui::{DIM, Ui};
use crate::{Context, Failure};

/// Fetches all of it, and says how old the copies are that the server confirmed.
pub(super) fn fetch(ui: &Ui, context: &Context) -> Result<Draft, Failure> {
    let configured = context.environment.catalog_url.as_ref();
    let source = Source::configured(configured.map(Confidential::reveal))?;
    let cache = cache_dir().map(|directory| directory.join("catalog"));
    let remote = Remote::new(source, cache, Limits::default())?;
    let whole = blocking::run(remote.whole()).map_err(|error| {
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
