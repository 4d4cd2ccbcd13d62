//! Compares an adapter's answer with the general model's, as set in `[specialist.agreement."<role>"]`.
//!
//! Without a setting: the required fields of the declared output schema where both are JSON objects; for text the
//! version's verifier; with neither, the whole answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::config::specialist::{Agreement, AgreementKind};
use routing::specialists::command;
use routing::verifiers::{Subject, Verifiers};
use selection::quality;
use selection::verifier::{Declared, Outcome};
use serde_json::{Value, json};
use specialist::{agreement, conformance};

/// Quality against a known target from which an answer counts as right.
const FLOOR: f64 = 0.8;

/// Weight of the structure when quality is measured, as the published metric has it.
const ALPHA: f64 = 0.4;

/// Time limit of a comparison program.
const TIME: Duration = Duration::from_secs(60);
const LIMIT: usize = 64 * 1024;

/// Rules of agreement; the default follows the declarations of versions and verifies nothing.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// Settings by role.
    pub set: BTreeMap<String, Agreement>,
    /// The verifiers of this process.
    pub verifiers: Option<Arc<Verifiers>>,
}

/// Two answers to one input.
#[derive(Clone, Debug)]
pub struct Answers {
    pub role: String,
    pub input: Value,
    /// The adapter's answer.
    pub specialist: Value,
    /// The general model's.
    pub general: Value,
    /// The right answer, if known.
    pub target: Option<Value>,
    /// The version, from the registry.
    pub written: Option<Value>,
}

impl Judging {
    /// Compares two answers; `None` if they cannot be compared. Executes programs and waits for them.
    #[must_use]
    pub fn agrees(&self, answers: &Answers) -> Option<bool> {
        let (specialist, general) = (&answers.specialist, &answers.general);
        if answers.role == conformance::ROLE {
            return conformance::agree(specialist, general);
        }
        let set = self.set.get(&answers.role).cloned().unwrap_or_default();
        let tolerance = set.tolerance.get();
        let declared = answers.written.as_ref();
        let declared = declared.and_then(|written| Declared::of_version(written).ok().flatten());
        match set.kind {
            Some(AgreementKind::Json) => Some(agreement::whole(specialist, general, tolerance)),
            Some(AgreementKind::Fields) => Some(agreement::fields(
                specialist,
                general,
                &set.fields,
                tolerance,
            )),
            Some(AgreementKind::Verifier) => self.verified(&declared?, answers),
            Some(AgreementKind::Command) => ask(&set.command, answers),
            None => {
                let required = declared.as_ref().map(|one| self.required(one));
                let required = required.unwrap_or_default();
                let are_objects = specialist.is_object() && general.is_object();
                if are_objects && !required.is_empty() {
                    return Some(agreement::fields(specialist, general, &required, tolerance));
                }
                match declared.filter(|_| specialist.is_string()) {
                    Some(declared) => self.verified(&declared, answers),
                    None => Some(agreement::whole(specialist, general, tolerance)),
                }
            }
        }
    }

    /// Returns the degree of agreement, from 0 to 1: 1 or 0 if a rule decides, else the quality of one against the
    /// other.
    #[must_use]
    pub fn graded(&self, answers: &Answers) -> Option<f64> {
        let is_set = self
            .set
            .get(&answers.role)
            .is_some_and(|set| set.kind.is_some());
        let declares = answers.written.as_ref().is_some_and(|written| {
            Declared::of_version(written).is_ok_and(|declared| declared.is_some())
        });
        if is_set || declares || answers.role == conformance::ROLE {
            return self
                .agrees(answers)
                .map(|agrees| f64::from(u8::from(agrees)));
        }
        Some(quality::score(ALPHA, &answers.specialist, &answers.general))
    }

    fn required(&self, declared: &Declared) -> Vec<String> {
        let ready = self
            .verifiers
            .as_ref()
            .and_then(|all| all.ready(declared).ok());
        ready.map_or_else(
            || declared.required(None),
            |ready| ready.required().to_vec(),
        )
    }

    /// Returns `true` if the verifier passes the adapter's answer, and it is right if that is known. If both answers
    /// fail, that is not evidence against either.
    fn verified(&self, declared: &Declared, answers: &Answers) -> Option<bool> {
        let verifiers = self.verifiers.as_ref()?;
        let passes = |output: &Value| {
            let subject = Subject {
                output,
                input: &answers.input,
            };
            verifiers.verify(declared, subject) == Outcome::Pass
        };
        if let Some(target) = &answers.target {
            let is_right = quality::score(ALPHA, &answers.specialist, target) >= FLOOR;
            return Some(is_right && passes(&answers.specialist));
        }
        match passes(&answers.specialist) {
            true => Some(true),
            false => passes(&answers.general).then_some(false),
        }
    }
}

/// Queries a program; one that fails or prints something else has not compared the answers.
fn ask(words: &[String], answers: &Answers) -> Option<bool> {
    let question = json!({
        "role": answers.role,
        "input": answers.input,
        "specialist": answers.specialist,
        "general": answers.general,
        "target": answers.target,
    });
    let printed = command::run(words, question.to_string().as_bytes(), TIME, LIMIT).ok()?;
    serde_json::from_slice::<Value>(&printed).ok()?.as_bool()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use base::config::Config;

    use super::*;

    fn judging(config: &str) -> Judging {
        let config = Config::parse(Path::new("config.toml"), config).unwrap();
        Judging {
            set: config.specialist.agreement,
            verifiers: Some(Arc::new(Verifiers::new(&config.selection))),
        }
    }

    fn answers(specialist: Value, general: Value, written: Option<Value>) -> Answers {
        Answers {
            role: "r".to_owned(),
            input: json!("in"),
            specialist,
            general,
            target: None,
            written,
        }
    }

    /// Returns answers with the same label and another explanation: the free text that any two models word differently.
    fn explained() -> (Value, Value) {
        let one = json!({ "label": "spam", "why": "one", "score": 0.50 });
        let other = json!({ "label": "spam", "why": "two", "score": 0.54 });
        (one, other)
    }

    #[test]
    fn each_kind_judges_by_its_own_rule() {
        let set = |rest: &str| format!("[specialist.agreement.r]\n{rest}");
        let (one, other) = explained();
        for (config, expected) in [
            (set("kind = \"json\""), Some(false)),
            (set("kind = \"fields\"\nfields = [\"label\"]"), Some(true)),
            (set("kind = \"fields\"\nfields = [\"lable\"]"), Some(false)),
            (
                set("kind = \"fields\"\nfields = [\"label\", \"score\"]"),
                Some(false),
            ),
            (
                set("kind = \"fields\"\nfields = [\"label\", \"score\"]\ntolerance = 0.05"),
                Some(true),
            ),
            (
                set("kind = \"command\"\ncommand = [\"echo\", \"true\"]"),
                Some(true),
            ),
            (
                set("kind = \"command\"\ncommand = [\"echo\", \"false\"]"),
                Some(false),
            ),
            (
                set("kind = \"command\"\ncommand = [\"echo\", \"null\"]"),
                None,
            ),
            (set("kind = \"command\"\ncommand = [\"false\"]"), None),
            // The version declares no verifier.
            (set("kind = \"verifier\""), None),
        ] {
            let both = answers(one.clone(), other.clone(), None);
            assert_eq!(judging(&config).agrees(&both), expected, "{config}");
        }
        // The program receives both answers.
        let grep = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"grep -q '\\\"why\\\":\\\"two\\\"' && echo true\"]";
        let both = answers(one, other, None);
        assert_eq!(judging(&set(grep)).agrees(&both), Some(true));
    }

    #[test]
    fn a_comparison_that_has_nothing_to_compare_by_is_refused() {
        for rest in [
            "kind = \"fields\"",
            "kind = \"fields\"\nfields = []",
            "kind = \"fields\"\nfields = [\"\"]",
            "kind = \"command\"",
        ] {
            let text = format!("[specialist.agreement.r]\n{rest}");
            let refused = Config::parse(Path::new("config.toml"), &text).unwrap_err();
            assert!(
                refused.to_string().contains("of \"r\" is empty"),
                "{refused}"
            );
        }
    }

    #[test]
    fn without_a_setting_what_the_version_declares_decides() {
        let schema = json!({ "verifier": { "type": "json_schema", "config": { "schema": {
            "type": "object", "required": ["label"], "properties": { "label": { "type": "string" } },
        } } } });
        let rule = json!({ "verifier": { "type": "rule_check", "config": { "rule": "contains", "text": "ok" } } });
        let (one, other) = explained();
        for (specialist, general, written, expected) in [
            (one.clone(), other.clone(), Some(&schema), Some(true)),
            (one.clone(), other, None, Some(false)),
            (one, json!({ "label": "ham" }), Some(&schema), Some(false)),
            (
                json!("it is ok"),
                json!("all ok here"),
                Some(&rule),
                Some(true),
            ),
            (
                json!("it is bad"),
                json!("all ok here"),
                Some(&rule),
                Some(false),
            ),
            (json!("it is bad"), json!("this too"), Some(&rule), None),
            (json!("yes"), json!("yes\n"), None, Some(true)),
            (json!("yes"), json!("no"), None, Some(false)),
        ] {
            let both = answers(specialist, general, written.cloned());
            assert_eq!(judging("").agrees(&both), expected, "{both:?}");
        }
    }

    #[test]
    fn a_known_target_decides_beside_the_verifier() {
        let rule = json!({ "verifier": { "type": "rule_check", "config": { "rule": "contains", "text": "a" } } });
        let config = "[specialist.agreement.r]\nkind = \"verifier\"\n";
        for (specialist, target, expected) in [
            (json!("a b c d e"), json!("a b c d e"), Some(true)),
            (json!("a b c d e"), json!("v w x y z"), Some(false)),
            (json!("b c"), json!("b c"), Some(false)),
        ] {
            let mut both = answers(specialist, json!("a"), Some(rule.clone()));
            both.target = Some(target);
            assert_eq!(judging(config).agrees(&both), expected, "{both:?}");
        }
    }
}
