//! What a program without the feature `oidc` has: no provider, and an error for the setting that names one.

use base::config::oidc::Oidc;

/// There is none.
#[derive(Debug)]
pub enum SignIn {}

impl SignIn {
    /// Refuses the setting.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Oidc, _: Option<String>) -> Result<Self, String> {
        Err(
            "`oidc.issuer` needs a program that was built with `--features oidc`; this one was not"
                .to_owned(),
        )
    }

    /// Returns the name of the provider for people.
    #[must_use]
    pub fn host(&self) -> &str {
        match *self {}
    }

    pub(super) fn is_over_tls(&self) -> bool {
        match *self {}
    }
}
