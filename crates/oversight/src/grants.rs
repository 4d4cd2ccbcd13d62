//! What the director has granted: `capabilities.json`, given as text. Every doubt is a refusal that names itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

/// All grants of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    entries: BTreeMap<String, Value>,
    /// Why there are none, when the manifest is broken.
    broken: Option<String>,
}

/// Whether an action is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Yes, now.
    Granted,
    /// No, and why: a clause that follows "is irreversible and".
    Refused(String),
}

/// Whose scope a grant names, and whether it binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// A package, a remote and branch, or a repository.
    pub text: String,
    /// `"enforce": true`.
    pub enforced: bool,
}

impl Grants {
    /// Nothing granted.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the manifest. A broken one grants nothing and says so in every answer.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(entries)) => Self {
                entries: entries.into_iter().collect(),
                broken: None,
            },
            Ok(_) => Self::unreadable("it is no JSON object"),
            Err(error) => Self::unreadable(&format!("it is no JSON: {error}")),
        }
    }

    /// A manifest that is there and cannot be read.
    #[must_use]
    pub fn unreadable(problem: &str) -> Self {
        Self {
            entries: BTreeMap::new(),
            broken: Some(problem.to_owned()),
        }
    }

    /// Whether an action is granted at this moment.
    #[must_use]
    pub fn standing(&self, action: &str, now: Timestamp) -> Standing {
        if let Some(problem) = &self.broken {
            return Standing::Refused(format!(
                "the grants in `capabilities.json` cannot be used: {problem}"
            ));
        }
        let Some(entry) = self.entries.get(action) else {
            return Standing::Refused("has no grant".to_owned());
        };
        if entry.get("granted") != Some(&Value::Bool(true)) {
            return Standing::Refused("has no grant (`granted` is not `true`)".to_owned());
        }
        if entry
            .get("uses")
            .is_some_and(|uses| uses.as_u64().is_none_or(|left| left == 0))
        {
            return Standing::Refused("its grant is used up".to_owned());
        }
        match entry.get("expires") {
            None => Standing::Granted,
            Some(Value::String(text)) => expiry(text, now),
            Some(_) => Standing::Refused("its grant has an `expires` that is no text".to_owned()),
        }
    }

    /// Whether the grant counts how often it is used.
    #[must_use]
    pub fn is_countable(&self, action: &str) -> bool {
        let entry = self.entries.get(action);
        entry.is_some_and(|entry| entry.get("uses").is_some())
    }

    /// What the grant is meant for.
    #[must_use]
    pub fn scope(&self, action: &str) -> Option<Scope> {
        let entry = self.entries.get(action)?;
        let text = entry.get("scope")?.as_str()?.to_owned();
        let enforced = entry.get("enforce") == Some(&Value::Bool(true));
        Some(Scope { text, enforced })
    }
}

fn expiry(text: &str, now: Timestamp) -> Standing {
    let bare: Option<Date> = text.parse().ok().filter(|_| text.len() == 10);
    let end = match bare {
        Some(day) => day
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|start| start.timestamp()),
        None => text.parse::<Timestamp>().ok().or_else(|| {
            let local: DateTime = text.parse().ok()?;
            local
                .to_zoned(TimeZone::UTC)
                .ok()
                .map(|moment| moment.timestamp())
        }),
    };
    match end {
        None => Standing::Refused(format!(
            "its grant has an `expires` that is no date: `{text}`"
        )),
        Some(end) if end >= now => Standing::Granted,
        Some(_) if bare.is_some() => Standing::Refused(format!(
            "its grant expired at the start of {text} (UTC); a bare date ends where its day begins"
        )),
        Some(_) => Standing::Refused(format!("its grant expired at {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, expected: bool) {
        let grants = Grants::parse(&format!("{{\"git:push\":{entry}}}"));
        let now: Timestamp = "2026-06-15T12:00:00Z".parse().expect("a moment");
        let granted = grants.standing("git:push", now) == Standing::Granted;
        assert_eq!(granted, expected, "{entry}");
    }

    #[test]
    fn only_a_clear_grant_that_has_not_expired_counts() {
        check("{\"granted\":true}", true);
        check("{\"granted\":false}", false);
        check("{\"granted\":\"true\"}", false);
        check("{\"granted\":1}", false);
        check("true", false);
        check("{\"granted\":true,\"expires\":\"2030-01-01\"}", true);
        check("{\"granted\":true,\"expires\":\"2020-01-01\"}", false);
        check("{\"granted\":true,\"expires\":\"2026-06-15\"}", false);
        check("{\"granted\":true,\"expires\":\"2026-06-16\"}", true);
        check(
            "{\"granted\":true,\"expires\":\"2026-06-15T12:00:00Z\"}",
            true,
        );
        check("{\"granted\":true,\"expires\":\"soon\"}", false);
        check("{\"granted\":true,\"expires\":1781611200}", false);
        check("{\"granted\":true,\"expires\":null}", false);
        check("{\"granted\":true,\"uses\":1}", true);
        check("{\"granted\":true,\"uses\":0}", false);
    }

    #[test]
    fn a_broken_manifest_grants_nothing_and_names_the_problem() {
        for text in ["", "[]", "null", "{", "3"] {
            let standing = Grants::parse(text).standing("git:push", Timestamp::UNIX_EPOCH);
            let Standing::Refused(why) = standing else {
                panic!("granted by {text}")
            };
            assert!(why.contains("capabilities.json"), "{why}");
        }
    }
}
