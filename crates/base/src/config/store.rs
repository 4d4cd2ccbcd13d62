//! Section `[store]`: the database that a team shares.

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `[store]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// PostgreSQL database that machines share, `postgres://USER@HOST/DATABASE`; empty means the files of the workspace. TLS with a verified certificate is used except on this machine; `?sslmode=disable` switches it off, `?sslrootcert=FILE` names the roots.
    pub url: String,
    /// Environment variable that holds the password of the database's user; empty means the one in the URL, or none.
    pub password_env: String,
}
