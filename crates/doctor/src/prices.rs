//! Models that were used here and have no price, so that the cost of their tasks is unknown.

use std::collections::BTreeSet;

use base::config::Config;
use base::prices::Prices;
use base::workspace::Workspace;
use evidence::judged::Judged;
use evidence::sealing::unpriced_models;
use evidence::store::Store;
use witness::bundle::Strictness;
use witness::extension::field;

use crate::report::Check;

/// Limit of bundles: only the newest are read, because a model that is no longer used needs no price.
const BUNDLES: usize = 50;

/// Returns the models that the newest bundles name as without a price, and that still have none.
#[must_use]
pub fn unpriced(workspace: &Workspace, config: &Config) -> Vec<String> {
    let max_bytes = config.witness.max_bundle_bytes();
    let store = Store::of(workspace, max_bytes);
    let (Ok(keys), Ok(mut paths)) = (store.keys(), store.bundle_paths()) else {
        return Vec::new();
    };
    // Their names begin with the time.
    paths.sort();
    let keyring = keys.keyring();
    let prices = Prices::new(&config.oversight.prices);
    let mut found = BTreeSet::new();
    for path in paths.iter().rev().take(BUNDLES) {
        let Ok(bytes) = base::files::read(path, max_bytes) else {
            continue;
        };
        let judged = Judged::of(&bytes, Strictness::Strict, &keyring);
        let contents = judged.contents();
        let cost = contents.and_then(|one| one.extensions().provenance.get(field::COST));
        let models = cost.into_iter().flat_map(|fact| unpriced_models(fact));
        found.extend(
            models
                .filter(|model| !prices.knows(model))
                .map(str::to_owned),
        );
    }
    found.into_iter().collect()
}

/// Returns `None` if every used model has a price.
pub(super) fn check(workspace: &Workspace, config: &Config) -> Option<Check> {
    let models = unpriced(workspace, config);
    let first = models.first()?;
    let text = format!(
        "the cost of tasks is unknown: no price for `{}`",
        models.join("`, `")
    );
    let next = format!(
        "`roleos prices update --file FILE`, or `roleos config set 'oversight.prices.{first:?}' '{{ input = 1, output = 5 }}'` with its list price"
    );
    Some(Check::note("prices", text, next))
}
