//! JSON of the gate's decisions and of people's approvals.

use oversight::Decision;
use oversight::grants::Standing;
use serde_json::{Value, json};

use base::clock;
use base::grants::Entry;
use guard::approvals::{Denied, Given, Id, Refused};

/// Returns a decision in the form of `explain`.
#[must_use]
pub fn decision(decision: &Decision) -> Value {
    let opaque = decision.opaque.iter();
    let protected = decision.guarded.iter();
    json!({
        "verdict": decision.verdict.as_str(),
        "actions": decision.actions,
        "opaque": opaque.map(|note| json!({ "reason": note.reason, "text": note.text })).collect::<Vec<_>>(),
        "reasons": decision.reasons,
        "spans": decision.spans,
        "protected": protected.map(|guarded| guarded.what.as_str()).collect::<Vec<_>>(),
        "notes": decision.notes,
        "uses": decision.uses,
    })
}

/// Returns a refused act that may be approved.
#[must_use]
pub fn refused(id: &Id, refused: &Refused) -> Value {
    json!({
        "id": id.to_string(),
        "refused": clock::text(refused.at_ns),
        "tool": refused.act.tool,
        "command": refused.act.command,
        "directory": refused.act.directory,
        "actions": refused.act.actions,
        "reasons": refused.reasons,
    })
}

/// Returns an approval that is not used yet.
#[must_use]
pub fn given(given: &Given, now_ns: u64) -> Value {
    let mut value = refused(&given.id, &given.refused);
    if let Value::Object(fields) = &mut value {
        fields.insert("expires".to_owned(), clock::text(given.expires_ns).into());
        let left = given.seconds_left(now_ns);
        fields.insert("seconds_left".to_owned(), left.into());
    }
    value
}

/// Returns an act that a person denied.
#[must_use]
pub fn denied(id: &Id, denied: &Denied) -> Value {
    let mut value = refused(id, &denied.refused);
    if let Value::Object(fields) = &mut value {
        fields.insert("denied".to_owned(), clock::text(denied.at_ns).into());
    }
    value
}

/// Returns a grant with its standing.
#[must_use]
pub fn grant(entry: &Entry) -> Value {
    let why = match &entry.standing {
        Standing::Granted => None,
        Standing::Unconfirmed(why) | Standing::Refused(why) => Some(why),
    };
    json!({
        "action": entry.action,
        "granted": why.is_none(),
        "unconfirmed": matches!(entry.standing, Standing::Unconfirmed(_)),
        "why_not": why,
        "expires": entry.expires,
        "uses": entry.uses,
        "scope": entry.scope,
        "enforce": entry.enforce,
    })
}
