//! Section `[oidc]`: login for the pages of `roleos up` by an OpenID Connect provider.

use std::collections::BTreeMap;

#[cfg(any(test, feature = "reference"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `[oidc]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Oidc {
    /// Issuer of the OpenID Connect provider, exactly as it names itself, such as `https://login.example.org`; https except on this machine. Empty means that people log in with the code only. Needs a program that was built with the feature `oidc`, as the published ones are.
    pub issuer: String,
    /// Id under which the provider knows this server.
    pub client_id: String,
    /// Environment variable that holds the client's secret; empty means a public client, which proves itself by PKCE alone.
    pub client_secret_env: String,
    /// Address of these pages as browsers know it, such as `https://roleos.example`; the provider must allow `/login/callback` below it. Empty means the address that the browser asked.
    pub address: String,
    /// Scopes that are requested beside `openid`.
    pub scopes: Vec<String>,
    /// Claim of the ID token that names a person in the logs; without it, `sub` does. An address that the provider calls unverified is not used.
    pub name_claim: String,
    /// Claim of the ID token that holds a person's groups or roles, as a string or a list; a dot leads into an object, as in `realm_access.roles`.
    pub roles_claim: String,
    /// Values of that claim and the role that each gives: "viewer" reads, "operator" acts, "admin" also manages tokens. The highest one counts; without any there is no login.
    pub roles: BTreeMap<String, PersonRole>,
}

impl Default for Oidc {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            client_id: String::new(),
            client_secret_env: String::new(),
            address: String::new(),
            scopes: vec!["email".to_owned(), "profile".to_owned()],
            name_claim: "email".to_owned(),
            roles_claim: "groups".to_owned(),
            roles: BTreeMap::new(),
        }
    }
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(any(test, feature = "reference"), derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PersonRole {
    /// Read.
    Viewer,
    /// Read and act.
    Operator,
    /// Everything, tokens included.
    Admin,
}
