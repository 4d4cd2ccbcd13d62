//! Secrets for publishing in the environment: supervised commands get them only if the action is granted, because a
//! program can publish by itself without starting another.

use std::ffi::OsString;

use jiff::Timestamp;
use oversight::grants::Standing;

use crate::hook::Bench;
use base::clock;
use base::grants;

/// Variables, or prefixes of their names, and their action.
const SECRETS: &[(&str, &str)] = &[
    ("NPM_TOKEN", "npm:publish"),
    ("NODE_AUTH_TOKEN", "npm:publish"),
    ("YARN_NPM_AUTH_TOKEN", "npm:publish"),
    ("TWINE_*", "pypi:publish"),
    ("UV_PUBLISH_*", "pypi:publish"),
    ("POETRY_PYPI_TOKEN_*", "pypi:publish"),
    ("HATCH_INDEX_AUTH", "pypi:publish"),
    ("FLIT_PASSWORD", "pypi:publish"),
    ("PYPI_TOKEN", "pypi:publish"),
    ("CARGO_REGISTRY_TOKEN", "cargo:publish"),
    ("CARGO_REGISTRIES_*_TOKEN", "cargo:publish"),
    ("GEM_HOST_API_KEY", "gem:push"),
];

/// Returns the variables of a command, without withheld ones.
pub(super) fn without(
    bench: &Bench,
    variables: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let named = &bench.config.oversight.withheld_variables;
    let mut granted = None;
    variables
        .into_iter()
        .filter(|(name, _)| {
            let Some(name) = name.to_str() else {
                return true;
            };
            if named.iter().any(|pattern| fits(pattern, name)) {
                return false;
            }
            let mut secrets = SECRETS.iter();
            let found = secrets.find(|(pattern, _)| {
                pattern.as_bytes().first() == name.as_bytes().first() && fits(pattern, name)
            });
            let Some((_, action)) = found else {
                return true;
            };
            let grants = granted.get_or_insert_with(|| grants::load(&bench.workspace));
            let now = i128::from(clock::now_ns());
            let now = Timestamp::from_nanosecond(now).unwrap_or(Timestamp::MAX);
            grants.standing(action, now) == Standing::Granted
        })
        .collect()
}

/// Returns `true` if a name matches a pattern with at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_mean_names() {
        assert!(fits("TWINE_*", "TWINE_PASSWORD"));
        assert!(fits(
            "CARGO_REGISTRIES_*_TOKEN",
            "CARGO_REGISTRIES_MINE_TOKEN"
        ));
        assert!(!fits("CARGO_REGISTRIES_*_TOKEN", "CARGO_REGISTRIES_TOKEN"));
        assert!(!fits("NPM_TOKEN", "NPM_TOKENS"));
    }
}
