//! Check of the ledger against the known checkpoint, without reading the bundles.

use super::Check;
use base::config::Config;
use base::said;
use base::workspace::Workspace;
use evidence::store::Store;

/// Returns `None` if there is no problem.
pub(super) fn check(workspace: &Workspace, config: &Config) -> Option<Check> {
    let name = "ledger";
    let next = "`roleos ledger verify` compares every bundle with the ledger";
    let store = Store::of(workspace, config.witness.max_bundle_bytes());
    let keys = store.keys().ok()?;
    let problems = match store.comparison(&keys, None) {
        Ok(comparison) => comparison.ledger_problems(),
        Err(error) => return Some(Check::wrong(name, said(&error), next)),
    };
    let first = problems.first()?;
    Some(Check::wrong(name, first.detail.clone(), next))
}
