//! Drafts of audit sets: a skeleton for a role, and answers of the general model that a person may accept.
//!
//! An answer that was not reviewed is kept as `draft_output`, which grades nothing.

use serde_json::{Map, Value, json};

use super::MIN_CASES;

/// Returns a set for a role with these inputs, padded with empty ones to the number of cases that certify. `verifier`
/// is the declaration of the role's newest version.
#[must_use]
pub fn skeleton(role: &str, inputs: &[String], verifier: Option<&Value>) -> Value {
    let text = |key: &str| verifier.and_then(|declared| declared.get(key)?.as_str());
    let kind = text("type").unwrap_or("rule_check");
    let declared = verifier
        .and_then(|declared| declared.get("config"))
        .cloned();
    // Matches every output with a character in it; a set that grades has expected outputs.
    let anything = json!({ "rule": "regex", "pattern": "\\S" });
    let config = declared.unwrap_or(anything);
    let empty = usize::try_from(MIN_CASES).unwrap_or(usize::MAX);
    let empty = empty.saturating_sub(inputs.len());
    let inputs = inputs.iter().map(String::as_str);
    let cases = inputs
        .chain(std::iter::repeat_n("", empty))
        .map(|input| json!({ "input": input, "expected_format": kind, "verifier_config": config }));
    json!({
        "audit_id": role, "version": "v1", "floor": super::DEFAULT_FLOOR,
        "test_cases": cases.collect::<Vec<_>>(),
    })
}

/// Returns the cases, by index, that have an input and neither an expected output nor a draft of one.
#[must_use]
pub fn open_cases(set: &Value) -> Vec<(usize, String)> {
    let cases = set.get("test_cases").and_then(Value::as_array);
    let open = cases.into_iter().flatten().enumerate();
    open.filter_map(|(index, case)| {
        let input = case.get("input")?.as_str()?;
        let is_open = !input.is_empty()
            && case.get("expected_output").is_none()
            && case.get("draft_output").is_none();
        is_open.then(|| (index, input.to_owned()))
    })
    .collect()
}

/// Stores an answer as the draft of a case's expected output.
pub fn put(set: &mut Value, index: usize, answer: &str) {
    if let Some(case) = case_mut(set, index) {
        case.insert("draft_output".to_owned(), json!(answer));
    }
}

/// Returns the drafts, by index: input and answer.
#[must_use]
pub fn drafts(set: &Value) -> Vec<(usize, String, String)> {
    let cases = set.get("test_cases").and_then(Value::as_array);
    let drafts = cases.into_iter().flatten().enumerate();
    drafts
        .filter_map(|(index, case)| {
            let text = |key: &str| case.get(key)?.as_str().map(str::to_owned);
            Some((index, text("input")?, text("draft_output")?))
        })
        .collect()
}

/// Turns drafts into expected outputs, in the name of the person who reviewed them. Returns their number.
pub fn accept(set: &mut Value, wanted: impl Fn(usize) -> bool, by: &str) -> usize {
    let drafts = drafts(set).into_iter();
    let accepted: Vec<_> = drafts.filter(|(index, _, _)| wanted(*index)).collect();
    for (index, _, answer) in &accepted {
        if let Some(case) = case_mut(set, *index) {
            case.remove("draft_output");
            case.insert("expected_output".to_owned(), json!(answer));
            case.insert("accepted_by".to_owned(), json!(by));
        }
    }
    accepted.len()
}

fn case_mut(set: &mut Value, index: usize) -> Option<&mut Map<String, Value>> {
    set.get_mut("test_cases")?.get_mut(index)?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditSet;

    #[test]
    fn a_skeleton_becomes_a_set_that_grades() {
        let schema = json!({ "type": "json_schema", "config": { "schema": { "type": "object" } } });
        let inputs = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let mut set = skeleton("router", &inputs, Some(&schema));
        assert_eq!(AuditSet::parse(&set).unwrap().cases.len(), 30);
        assert_eq!(open_cases(&set).len(), 3, "empty inputs are not asked");
        put(&mut set, 0, "{\"team\":\"desk\"}");
        put(&mut set, 2, "{}");
        assert_eq!(open_cases(&set), [(1, "b".to_owned())]);
        let graded = |set: &Value| {
            let cases = AuditSet::parse(set).unwrap().cases;
            cases
                .iter()
                .filter(|case| case.expected_output.is_some())
                .count()
        };
        assert_eq!(graded(&set), 0, "a draft grades nothing");
        assert_eq!(accept(&mut set, |index| index == 0, "ana"), 1);
        assert_eq!((graded(&set), drafts(&set).len()), (1, 1));
        assert_eq!(set["test_cases"][0]["accepted_by"], "ana");
        assert_eq!(accept(&mut set, |_| true, "ana"), 1);
        assert_eq!(accept(&mut set, |_| true, "ana"), 0);
    }
}
