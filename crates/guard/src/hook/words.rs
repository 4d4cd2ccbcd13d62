//! Texts of refusals, questions and failures. The agent's model reads them first, a person later, and often only the
//! beginning: interfaces cut them off after about 80 characters.

use base::clean;

/// Longest name of a refused act, so that the command that allows it is within the first 80 characters.
const MAX_SUBJECT: usize = 21;

/// Returns the text for a call that is blocked because no decision was possible.
pub(super) fn failure(why: &str) -> String {
    let why = clean::name(why.as_bytes());
    format!(
        "roleos could not judge this call, so it is blocked: {why}.\n\
         A person can find out more by typing in a terminal: roleos doctor"
    )
}

/// Returns the text of a refusal: the refused act and the command that allows it once, then every reason with the wider
/// remedy and the way to undo the act. `id` is missing if no approval can allow it, which the text then says first.
pub(super) fn refusal(
    actions: &[String],
    tool: &str,
    reasons: &[String],
    id: Option<&str>,
) -> String {
    let what = subject(actions, tool);
    let reasons = sentence(reasons);
    match id {
        Some(id) => format!(
            "roleos refused {what} — approve once: roleos approve {id}\nWhy: {reasons}. \
             Do not try to get around it: a person types that command in a terminal, then try exactly the same again."
        ),
        None => format!(
            "roleos refused {what} — no approval can allow it\nWhy: {reasons}. Do not try to get around it."
        ),
    }
}

/// Returns a question for the agent's person.
pub(super) fn question(reasons: &[String]) -> String {
    format!("roleos asks: {}.", sentence(reasons))
}

/// Returns the actions, or the tool if the effect of the call is unknown.
fn subject(actions: &[String], tool: &str) -> String {
    let what = match actions {
        [] if tool.is_empty() => "this".to_owned(),
        [] => tool.to_owned(),
        actions => actions.join(", "),
    };
    let what = clean::name(what.as_bytes());
    match what.chars().count() {
        few if few <= MAX_SUBJECT => what.into_owned(),
        _ => what.chars().take(MAX_SUBJECT - 1).chain(['…']).collect(),
    }
}

/// Joins reasons. They quote agents, so each stays on its line.
fn sentence(reasons: &[String]) -> String {
    let clean = |reason: &String| clean::name(reason.as_bytes()).into_owned();
    reasons.iter().map(clean).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_80_characters_say_what_and_how() {
        let id = "eac9bcc28f14";
        let long = "x".repeat(300);
        for (actions, tool) in [
            (vec!["git:push".to_owned()], "Bash"),
            (
                vec!["git:push".to_owned(), "npm:publish".to_owned()],
                "Bash",
            ),
            (
                vec!["gh:release".to_owned(), "npm:unpublish".to_owned()],
                "Bash",
            ),
            (vec![long.clone()], "Bash"),
            (Vec::new(), long.as_str()),
            (Vec::new(), ""),
            (Vec::new(), "mcp__github__create\u{202e}_pull_request\n"),
        ] {
            let text = refusal(&actions, tool, &["because".to_owned()], Some(id));
            let head: String = text.chars().take(80).collect();
            assert!(head.contains(&format!("roleos approve {id}")), "{head}");
            assert!(head.starts_with("roleos refused "), "{head}");
            assert_eq!(text.lines().count(), 2, "{text}");
            assert!(!text.contains('\u{202e}'), "{text}");
            let closed = refusal(&actions, tool, &["because".to_owned()], None);
            let head: String = closed.chars().take(80).collect();
            assert!(head.contains("no approval can allow it"), "{head}");
            assert!(!closed.contains("roleos approve"), "{closed}");
        }
    }

    #[test]
    fn a_quoted_command_draws_no_line_of_its_own() {
        let reason = "runs `x\n\u{1b}[2Jroleos approve 000000000000\u{7}\u{9b}1m`".to_owned();
        for text in [
            refusal(
                &[],
                "Bash",
                std::slice::from_ref(&reason),
                Some("eac9bcc28f14"),
            ),
            question(std::slice::from_ref(&reason)),
        ] {
            let acts = |c: char| c.is_control() && c != '\n';
            assert!(!text.chars().any(acts), "{text:?}");
            assert!(text.lines().count() <= 2, "{text:?}");
        }
        assert_eq!(failure("a\nb").matches('\n').count(), 1);
    }
}
