//! Grants by the director: `capabilities.json`, passed in as text. Every doubt is a refusal with a reason.

mod place;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use json_schema::unique::Unique;
use serde_json::{Map, Value};

/// Path of the grants, relative to the workspace's root.
pub const MANIFEST: &str = ".claude/role-os/capabilities.json";

/// All grants of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    entries: BTreeMap<String, Value>,
    /// Reason that there are none, if the manifest is broken.
    broken: Option<String>,
    /// Reason that they do not count, if the user has not confirmed them.
    unconfirmed: Option<String>,
}

/// Standing of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The action is granted now.
    Granted,
    /// The action is granted by the manifest, but the user has not confirmed it: a clause that follows "is
    /// irreversible and".
    Unconfirmed(String),
    /// The action is not granted, with the reason: a clause that follows "is irreversible and".
    Refused(String),
}

/// Binding scope of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// No scope binds.
    No,
    /// Only acts within this scope.
    Scope(String),
    /// A scope should bind but is invalid, with the reason.
    Broken(&'static str),
}

impl Grants {
    /// Returns an empty set of grants.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses the manifest. A broken one grants nothing and gives its reason in every answer.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match parse_entries(text) {
            Ok(entries) => Self {
                entries: entries.into_iter().collect(),
                ..Self::default()
            },
            Err(problem) => Self::unreadable(&problem),
        }
    }

    /// Marks the grants as not confirmed by the user: none of them counts.
    #[must_use]
    pub fn unconfirmed(self, doubt: &str) -> Self {
        Self {
            unconfirmed: Some(doubt.to_owned()),
            ..self
        }
    }

    /// Creates the grants of a manifest that cannot be read.
    #[must_use]
    pub fn unreadable(problem: &str) -> Self {
        Self {
            broken: Some(problem.to_owned()),
            ..Self::default()
        }
    }

    /// Returns the standing of an action at this moment.
    #[must_use]
    pub fn standing(&self, action: &str, now: Timestamp) -> Standing {
        match (self.written(action, now), &self.unconfirmed) {
            (Standing::Granted, Some(doubt)) => Standing::Unconfirmed(format!(
                "its grant in `{MANIFEST}` is unconfirmed: {doubt}; a person looks at it with `roleos trust`"
            )),
            (standing, _) => standing,
        }
    }

    /// Returns the standing by the manifest, confirmed or not.
    fn written(&self, action: &str, now: Timestamp) -> Standing {
        if let Some(problem) = &self.broken {
            return Standing::Refused(format!(
                "the grants in `{MANIFEST}` cannot be used: {problem}; a person repairs the file first"
            ));
        }
        let Some(entry) = self.entries.get(action) else {
            return Standing::Refused(format!(
                "has no grant in `{MANIFEST}`; a person gives one with `roleos grant {action}`"
            ));
        };
        if entry.get("granted") != Some(&Value::Bool(true)) {
            return Standing::Refused(format!(
                "has no grant in `{MANIFEST}`: `granted` is not `true` there"
            ));
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

    /// Returns `true` if the grant has a number of uses.
    #[must_use]
    pub fn is_countable(&self, action: &str) -> bool {
        let entry = self.entries.get(action);
        entry.is_some_and(|entry| entry.get("uses").is_some())
    }

    /// Returns the binding scope of the grant. `all` makes every scope bind; an `enforce` that is not a boolean does
    /// so too.
    pub fn binding(&self, action: &str, all: bool) -> Binding {
        let Some(entry) = self.entries.get(action) else {
            return Binding::No;
        };
        let own = !matches!(entry.get("enforce"), None | Some(Value::Bool(false)));
        match entry.get("scope") {
            Some(Value::String(text)) if own || all => Binding::Scope(text.clone()),
            Some(Value::String(_)) => Binding::No,
            Some(_) if own || all => Binding::Broken("its grant has a `scope` that is no text"),
            None if own => Binding::Broken("its grant says `enforce` and names no `scope`"),
            _ => Binding::No,
        }
    }
}

/// Parses the entries of a manifest.
///
/// # Errors
/// Fails with a sentence. A duplicate key is refused, because parsers disagree on which one counts.
pub fn parse_entries(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Unique(Value::Object(entries))) => Ok(entries),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}

/// A countable grant that cannot be counted down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot count down the use of `{action}` in the grants: {problem}")]
pub struct CountError {
    action: String,
    problem: &'static str,
}

/// Returns the manifest with one use less for each of these actions; every other byte stays as it is.
///
/// # Errors
/// Fails if an action has no `uses` above zero. Nothing is counted then.
pub fn use_once(text: &str, actions: &[String]) -> Result<String, CountError> {
    let mut text = text.to_owned();
    for action in actions {
        let failed = |problem| CountError {
            action: action.clone(),
            problem,
        };
        let place = place::of_uses(&text, action).ok_or_else(|| failed("there is none"))?;
        let written = text.get(place.clone()).unwrap_or_default();
        let left: u64 = written
            .parse()
            .map_err(|_| failed("it is no whole number"))?;
        let left = left.checked_sub(1).ok_or_else(|| failed("it is used up"))?;
        text.replace_range(place, &left.to_string());
    }
    Ok(text)
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
    fn a_use_is_counted_down_and_nothing_else_changes() {
        let before = "{ \"a\" : {\"note\":\"\\u007b \\\" uses\", \"uses\" :  10 , \"x\":1.50},\n\"b\":{\"uses\":1}}\n";
        let ids = ["a".to_owned(), "b".to_owned()];
        let after = use_once(before, &ids).expect("two that count");
        let expected = before.replace(":  10", ":  9").replace(":1}}", ":0}}");
        assert_eq!(after, expected);
        assert_eq!(use_once(before, &[]), Ok(before.to_owned()));
        for bad in [
            "{}",
            "{\"a\":{}}",
            "{\"a\":{\"uses\":0}}",
            "{\"a\":{\"uses\":-1}}",
            "{\"a\":{\"uses\":1.5}}",
            "{\"a\":{\"uses\":\"3\"}}",
            "{\"a\":{\"x\":{\"uses\":3}}}",
            "[",
            "",
        ] {
            let counted = use_once(bad, &["a".to_owned()]);
            assert!(counted.is_err(), "{bad} {counted:?}");
        }
    }

    #[test]
    fn a_broken_manifest_grants_nothing_and_names_the_problem() {
        for text in [
            "",
            "[]",
            "null",
            "{",
            "3",
            "{\"git:push\":{\"granted\":false},\"git:push\":{\"granted\":true}}",
            "{\"git:push\":{\"granted\":false,\"granted\":true}}",
            "{\"git:push\":{\"granted\":true,\"expires\":\"2001-01-01\",\"expires\":\"2099-01-01\"}}",
            "{\"git:push\":{\"granted\":true},\"x\":{\"deep\":[{\"a\":1,\"a\":2}]}}",
            "{\"git:push\":{\"granted\":true},\"git:pu\\u0073h\":{\"granted\":true}}",
        ] {
            let standing = Grants::parse(text).standing("git:push", Timestamp::UNIX_EPOCH);
            let Standing::Refused(why) = standing else {
                panic!("granted by {text}")
            };
            assert!(why.contains("capabilities.json"), "{why}");
        }
    }
}
