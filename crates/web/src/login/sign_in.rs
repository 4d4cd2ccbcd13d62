//! Login by an OpenID Connect provider: which logins began here, and which person with which role each one ends in.
//!
//! A login is bound to the browser that began it: the browser holds the `state` in a cookie, and the provider's answer
//! counts only with both, once, and for ten minutes. [`upstream::oidc`] asks the provider and believes only what it
//! checked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use base::clock;
use base::config::oidc::{Oidc, PersonRole};
use evidence::archive::people::Role;
use present::show::clean;
use serde_json::{Map, Value};
use upstream::oidc::{OidcError, Provider, Secrets};
use upstream::web_address::WebAddress;

use super::{MAX_NAME, Person};
use crate::problem::Problem;

/// Where the provider sends the browser back to.
pub(crate) const CALLBACK: &str = "/login/callback";
/// How long a person may take at the provider.
pub(crate) const PATIENCE_SECONDS: u64 = 600;
/// Logins that are remembered; the oldest makes room.
const MAX_WAITING: usize = 4096;
/// Longest name of a person, in columns; the provider's name follows it.
const MAX_CLAIM: usize = 60;
/// Values of the claim that are looked at, and that are shown to a person without a role.
const MAX_GROUPS: usize = 1000;
const SHOWN_GROUPS: usize = 20;

/// The provider, and the logins that began.
#[derive(Debug)]
pub struct SignIn {
    provider: Provider,
    set: Oidc,
    waiting: Mutex<BTreeMap<String, Waiting>>,
}

/// A login that began.
#[derive(Debug)]
struct Waiting {
    secrets: Secrets,
    next: String,
    until_ns: u64,
}

/// What the provider's answer brings.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) state: String,
    pub(crate) code: String,
    /// Who says so, where the provider names itself.
    pub(crate) issuer: Option<String>,
    /// Why there is no code.
    pub(crate) error: Option<String>,
}

/// A person whom the provider knows.
#[derive(Debug)]
pub(crate) struct Found {
    /// For the logs.
    pub(crate) name: String,
    /// The provider's own name for the person, which never changes.
    pub(crate) subject: String,
    /// The values of the claim.
    pub(crate) groups: Vec<String>,
    /// The role that they give; none for a person who may not come in.
    pub(crate) person: Option<Person>,
    /// Where the person wanted to go.
    pub(crate) next: String,
}

impl SignIn {
    /// Prepares the login of the settings.
    ///
    /// # Errors
    /// A setting is missing or cannot be used.
    pub fn open(set: &Oidc, secret: Option<String>) -> Result<Self, String> {
        if set.client_id.is_empty() {
            return Err("`oidc.issuer` needs `oidc.client_id`".to_owned());
        }
        if set.roles.is_empty() {
            return Err(
                "`oidc.issuer` needs at least one role in `[oidc.roles]`; else nobody gets in"
                    .to_owned(),
            );
        }
        let address = &set.address;
        if !address.is_empty() {
            let parsed = WebAddress::parse(address);
            let parsed = parsed.map_err(|why| format!("`oidc.address` `{address}`: {why}"))?;
            if !parsed.is_https() && !parsed.is_loopback() {
                return Err(format!(
                    "`oidc.address` `{address}` must begin with https://"
                ));
            }
        }
        let provider = Provider::new(&set.issuer, &set.client_id, secret, &set.scopes);
        Ok(Self {
            provider: provider.map_err(|why| format!("`oidc.issuer` `{}`: {why}", set.issuer))?,
            set: set.clone(),
            waiting: Mutex::default(),
        })
    }

    /// Returns the name of the provider for people.
    #[must_use]
    pub fn host(&self) -> &str {
        self.provider.host()
    }

    pub(crate) fn issuer(&self) -> &str {
        self.provider.issuer()
    }

    pub(super) fn is_over_tls(&self) -> bool {
        self.set
            .address
            .get(..8)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }

    /// Begins a login; returns where the browser goes, and the state that it must keep. `own` is the address that the
    /// browser asked, which counts where the settings name none.
    pub(crate) async fn begin(&self, own: &str, next: String) -> Result<(String, String), Problem> {
        let address = match self.set.address.trim_end_matches('/') {
            "" => own,
            address => address,
        };
        let begun = self.provider.begin(&format!("{address}{CALLBACK}")).await;
        let begun = begun.map_err(|error| self.problem(&error))?;
        let now = clock::now_ns();
        let mut waiting = self.waiting();
        waiting.retain(|_, one| one.until_ns > now);
        if waiting.len() >= MAX_WAITING {
            let oldest = waiting.iter().min_by_key(|(_, one)| one.until_ns);
            if let Some(oldest) = oldest.map(|(state, _)| state.clone()) {
                waiting.remove(&oldest);
            }
        }
        let one = Waiting {
            secrets: begun.secrets,
            next,
            until_ns: now.saturating_add(PATIENCE_SECONDS * 1_000_000_000),
        };
        waiting.insert(begun.state.clone(), one);
        Ok((begun.to, begun.state))
    }

    /// Ends a login with the provider's answer; `kept` are the states that the browser holds.
    pub(crate) async fn finish(
        &self,
        answer: Answer,
        mut kept: impl Iterator<Item = &str>,
    ) -> Result<Found, Problem> {
        if !kept.any(|kept| kept == answer.state) {
            return Err(refused(
                "other_browser",
                "this login did not begin in this browser, or took longer than ten minutes",
            ));
        }
        let waiting = self.waiting().remove(&answer.state);
        let waiting = waiting.filter(|one| one.until_ns > clock::now_ns());
        let Some(Waiting { secrets, next, .. }) = waiting else {
            return Err(refused(
                "unknown_login",
                "this login is over: it was used before, or took longer than ten minutes",
            ));
        };
        if answer.issuer.is_some_and(|issuer| issuer != self.issuer()) {
            return Err(refused(
                "other_issuer",
                "the answer comes from another provider than the one that was asked",
            ));
        }
        if let Some(error) = answer.error {
            let message = format!("{} did not log you in: {error}", self.host());
            return Err(refused("provider_refused", clean::line(&message, 400)));
        }
        let claims = self.provider.finish(answer.code, secrets).await;
        let claims = claims.map_err(|error| self.problem(&error))?;
        self.found(&claims, next)
    }

    fn found(&self, claims: &Map<String, Value>, next: String) -> Result<Found, Problem> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let subject = text("sub").filter(|subject| !subject.is_empty());
        let subject = subject.ok_or_else(|| refused("bad_token", "the ID token has no `sub`"))?;
        let is_unverified = self.set.name_claim == "email"
            && claims.get("email_verified").and_then(Value::as_bool) != Some(true);
        let named = text(&self.set.name_claim).filter(|name| !is_unverified && !name.is_empty());
        // Cut before the provider is named, so that no name can push it off.
        let named = clean::line(named.unwrap_or(subject), MAX_CLAIM);
        let named: String = named.chars().take(MAX_CLAIM).collect();
        let name = format!("{} ({})", named.trim(), self.host());
        let name: String = clean::line(&name, MAX_NAME)
            .chars()
            .take(MAX_NAME)
            .collect();
        let groups = groups(claims, &self.set.roles_claim);
        let role = groups.iter().filter_map(|group| self.set.roles.get(group));
        let person = role.max().map(|role| Person {
            name: name.clone(),
            role: match role {
                PersonRole::Viewer => Role::Viewer,
                PersonRole::Operator => Role::Operator,
                PersonRole::Admin => Role::Admin,
            },
            is_known: true,
        });
        Ok(Found {
            name,
            subject: clean::line(subject, MAX_NAME),
            groups,
            person,
            next,
        })
    }

    /// What a person without a role reads.
    pub(crate) fn no_role(&self, found: &Found) -> Problem {
        let message = format!("{} is logged in, but has no role here", found.name);
        let claim = &self.set.roles_claim;
        let groups = match found.groups.as_slice() {
            [] => format!("the ID token has no claim `{claim}`"),
            groups => {
                let shown = groups.iter().take(SHOWN_GROUPS);
                let shown = shown.map(|group| clean::line(group, 60));
                format!("your `{claim}`: {}", shown.collect::<Vec<_>>().join(", "))
            }
        };
        Problem::new(StatusCode::FORBIDDEN, "no_role", message).hint(format!(
            "ask who runs this server to give one of your groups a role under `[oidc.roles]`; {groups}"
        ))
    }

    fn problem(&self, error: &OidcError) -> Problem {
        let message = clean::line(&format!("{}: {error}", self.host()), 600);
        match error {
            OidcError::Away(_) => Problem::new(StatusCode::BAD_GATEWAY, "provider_away", message)
                .hint("try again soon; the code of `roleos up` logs in without the provider"),
            _ => refused("bad_token", message),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, code, message).hint("begin again at `/login`")
}

/// The values of a claim; a dot leads into an object where no claim has the whole name.
fn groups(claims: &Map<String, Value>, name: &str) -> Vec<String> {
    let nested = || {
        let mut parts = name.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    };
    let found = claims.get(name).or_else(nested);
    let texts: Vec<&str> = match found {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let texts = texts.into_iter().take(MAX_GROUPS);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sign_in(set: &str) -> Result<SignIn, String> {
        let set = format!("[oidc]\nclient_id = \"us\"\n{set}");
        let config = base::config::Config::parse("x".as_ref(), &set).unwrap();
        SignIn::open(&config.oidc, None)
    }

    #[test]
    fn only_a_provider_behind_tls_is_believed_elsewhere() {
        let roles = "roles.staff = \"viewer\"\n";
        for issuer in [
            "http://127.0.0.1:9",
            "http://localhost:9",
            "https://a.example",
        ] {
            assert!(sign_in(&format!("{roles}issuer = \"{issuer}\"")).is_ok());
        }
        for (set, why) in [
            ("issuer = \"https://a.example\"", "at least one role"),
            (
                "roles.a = \"viewer\"\nissuer = \"http://a.example\"",
                "https",
            ),
            ("roles.a = \"viewer\"\nissuer = \"a\"", "http"),
            (
                "roles.a = \"viewer\"\nissuer = \"https://a.example\"\naddress = \"http://b.example\"",
                "oidc.address",
            ),
        ] {
            let refused = sign_in(set).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn the_highest_mapped_role_counts_and_names_say_who_vouches() {
        let set = "issuer = \"https://id.example\"\nroles_claim = \"realm_access.roles\"\n\
            roles = { staff = \"viewer\", oncall = \"operator\", owners = \"admin\" }\n";
        let found = |claims: Value| {
            let found = sign_in(set)
                .unwrap()
                .found(claims.as_object().unwrap(), String::new());
            let found = found.unwrap();
            (found.name, found.person.map(|person| person.role))
        };
        let roles = |roles: Value| json!({ "sub": "1", "realm_access": { "roles": roles } });
        for (groups, role) in [
            (json!(["staff", "oncall", "other"]), Some(Role::Operator)),
            (json!(["owners", "staff"]), Some(Role::Admin)),
            (json!("staff"), Some(Role::Viewer)),
            (json!(["Staff", "admin"]), None),
            (json!([["owners"], 1, null]), None),
            (json!(null), None),
        ] {
            assert_eq!(found(roles(groups.clone())).1, role, "{groups}");
        }
        assert_eq!(found(json!({ "sub": "1", "groups": ["owners"] })).1, None);
        for (claims, name) in [
            (
                json!({ "sub": "7", "email": "ada@x.example" }),
                "ada@x.example",
            ),
            (
                json!({ "sub": "7", "email": "ada@x.example", "email_verified": true }),
                "ada@x.example",
            ),
            (
                json!({ "sub": "7", "email": "ada@x.example", "email_verified": false }),
                "7",
            ),
            (
                json!({ "sub": "7", "email": "ada@x.example", "email_verified": "no" }),
                "7",
            ),
            (json!({ "sub": "7" }), "7"),
        ] {
            assert_eq!(found(claims).0, format!("{name} (id.example)"));
        }
    }
}
