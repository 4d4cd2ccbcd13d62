//! Penalty for refusals: 1 for an empty output, for "unsure" and for the phrases of refusals; else the share of
//! required texts that say nothing. The rule is deterministic (`vacuous_v1`) and applies to every candidate, also to
//! failed ones.

use serde_json::Value;

/// Openings of refusals, in lower case; [`APOLOGIES`] may come before them.
const REFUSALS: &[&str] = &[
    "i cannot",
    "i can't",
    "i can not",
    "i won't be able",
    "i won't help",
    "i won't assist",
    "i won't do th",
    "i won't provide",
    "i will not be able",
    "i will not help",
    "i will not assist",
    "i will not provide",
    "i am not going to help",
    "i am unable to",
    "i'm unable to",
    "i am not able to",
    "i'm not able to",
    "i must decline",
    "i have to decline",
    "i refuse to",
    "as an ai",
    "unable to comply",
    "i'm sorry, but",
    "i am sorry, but",
    "sorry, but",
    "я не могу",
    "не могу помочь",
    "je ne peux pas",
    "je ne suis pas en mesure",
    "je suis désolé, mais",
    "désolé, mais",
    "ich kann nicht",
    "ich kann dabei nicht",
    "ich kann das nicht",
    "ich kann dir dabei nicht",
    "ich kann ihnen dabei nicht",
    "kann ich nicht",
    "es tut mir leid, aber",
    "no puedo",
    "no me es posible",
    "lo siento, pero",
    "não posso",
    "não consigo ajudar",
    "desculpe, mas",
    "non posso",
    "mi dispiace, ma",
    "我无法",
    "我不能",
    "申し訳ありませんが",
    "お手伝いできません",
];

/// Openings of polite refusals, in lower case; alone they are not refusals.
const APOLOGIES: &[&str] = &[
    "i'm sorry",
    "i am sorry",
    "sorry",
    "i apologize",
    "i apologise",
    "apologies",
    "my apologies",
    "unfortunately",
    "к сожалению",
    "извините",
    "простите",
    "désolé",
    "désolée",
    "je suis désolé",
    "je suis désolée",
    "malheureusement",
    "es tut mir leid",
    "leider",
    "lo siento",
    "lamentablemente",
    "desculpe",
    "infelizmente",
    "mi dispiace",
    "purtroppo",
    "抱歉",
    "对不起",
    "很抱歉",
    "申し訳ありません",
];

/// Texts that fill a field and say nothing, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "n/a",
    "na",
    "none",
    "null",
    "nil",
    "tbd",
    "todo",
    "unknown",
    "unsure",
    "placeholder",
    "string",
    "text",
    "...",
    "…",
    "-",
    "—",
    "?",
    "lorem ipsum",
];

/// Returns the penalty from 0 to 1. `required` are the keys that the contract requires to hold text.
#[must_use]
pub fn penalty(output: &str, required: &[String]) -> f64 {
    let trimmed = output.trim();
    if trimmed.is_empty() {
        return 1.0;
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(value) => of_value(&value, required),
        Err(_) => whole(is_refusal(trimmed)),
    }
}

fn of_value(value: &Value, required: &[String]) -> f64 {
    match value {
        Value::Null => 1.0,
        Value::String(text) => whole(says_nothing(text) || is_refusal(text)),
        Value::Array(items) => whole(items.is_empty()),
        Value::Object(fields) => {
            if fields.is_empty() || is_unsure(value) {
                return 1.0;
            }
            vacuous_share(value, required)
        }
        Value::Bool(_) | Value::Number(_) => 0.0,
    }
}

/// Returns `true` if an object is the declared "unsure" answer.
#[must_use]
pub fn is_unsure(value: &Value) -> bool {
    value
        .get("status")
        .and_then(Value::as_str)
        .is_some_and(|status| status.eq_ignore_ascii_case("unsure"))
}

/// Returns the answer for the case that no model knew.
#[must_use]
pub fn unsure(reason: &str) -> Value {
    serde_json::json!({ "status": "UNSURE", "reason": reason })
}

/// Returns the share of the required texts that are blank, placeholders or refusals; of all texts if none is
/// required.
#[expect(clippy::cast_precision_loss, reason = "counts of fields of one output")]
fn vacuous_share(value: &Value, required: &[String]) -> f64 {
    let Some(fields) = value.as_object() else {
        return 0.0;
    };
    let texts: Vec<&str> = fields
        .iter()
        .filter(|(key, _)| required.is_empty() || required.contains(key))
        .filter_map(|(_, field)| field.as_str())
        .collect();
    if texts.is_empty() {
        return 0.0;
    }
    let empty = texts
        .iter()
        .filter(|text| says_nothing(text) || is_refusal(text))
        .count();
    empty as f64 / texts.len() as f64
}

fn says_nothing(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    text.is_empty() || PLACEHOLDERS.contains(&text.as_str())
}

fn is_refusal(text: &str) -> bool {
    let text = text.trim().to_lowercase().replace('’', "'");
    let opens = |text: &str| REFUSALS.iter().any(|opening| text.starts_with(opening));
    let after_apology = |apology: &&str| {
        let rest = text.strip_prefix(*apology)?;
        Some(rest.trim_start_matches(|char: char| !char.is_alphanumeric()))
    };
    opens(&text) || APOLOGIES.iter().filter_map(after_apology).any(opens)
}

fn whole(refused: bool) -> f64 {
    if refused { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, required: &[&str], expected: f64) {
        let required: Vec<String> = required.iter().map(|key| (*key).to_owned()).collect();
        let found = penalty(output, &required);
        assert!((found - expected).abs() < 1e-12, "{output} → {found}");
    }

    #[test]
    fn nothing_and_refusals_cost_all() {
        for output in [
            "",
            "  \n",
            "{}",
            "[]",
            "null",
            "\"\"",
            "I cannot help with that.",
            "I’m sorry, but no.",
            "I won't help with that.",
            "Sorry, I am not able to assist.",
            "Unfortunately, I cannot do this.",
            "Je ne peux pas vous aider.",
            "Désolé, je ne peux pas répondre.",
            "Leider kann ich nicht helfen.",
            "Lo siento, no puedo ayudar.",
            "К сожалению, я не могу помочь.",
            "抱歉，我无法回答。",
            r#"{"status":"UNSURE","reason":"too hard"}"#,
            "\"N/A\"",
        ] {
            check(output, &[], 1.0);
        }
    }

    #[test]
    fn an_answer_costs_nothing() {
        for output in [
            "Paris",
            "0",
            "false",
            r#"{"title":"A b"}"#,
            "[1]",
            "I can do that: 4",
            "Sorry for the delay: the answer is 4.",
            "I will not go quietly, said the river.",
            "Unfortunately the bridge was closed.",
        ] {
            check(output, &[], 0.0);
        }
    }

    #[test]
    fn template_text_in_required_fields_costs_its_share() {
        let output = r#"{"title":"N/A","summary":"It rained.","tags":[]}"#;
        check(output, &["title", "summary"], 0.5);
        check(output, &["summary"], 0.0);
        check(output, &[], 0.5);
        check(r#"{"title":"I cannot answer that"}"#, &["title"], 1.0);
    }
}
