//! What a refusal, a question and a failure say. The agent's model reads it first, a person later.

/// We could not decide, so the call is blocked.
pub(super) fn failure(why: &str) -> String {
    format!(
        "roleos could not judge this call, so it is blocked: {why}.\n\
         A person can find out more by typing in a terminal: roleos doctor"
    )
}

/// A refusal: every reason, and the line that a person can type.
pub(super) fn refusal(reasons: &[String], id: Option<&str>) -> String {
    let mut text = format!("roleos refused this call: {}.", reasons.join("; "));
    if let Some(id) = id {
        text.push_str(&format!(
            "\nDo not try to get around it. A person can allow exactly this, once, by typing in a terminal: \
             roleos approve {id}"
        ));
    }
    text
}

/// A question for the agent's person.
pub(super) fn question(reasons: &[String]) -> String {
    format!("roleos asks: {}.", reasons.join("; "))
}
