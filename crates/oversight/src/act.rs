//! Exact acts of a call, as facts that a person's approval binds: the same act again, or no approval.

use serde_json::Value;

use crate::evaluate::run::program_name;
use crate::evaluate::{Finding, Findings};
use crate::tools;
use shell::value::for_people;

/// One act of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// Id of the gated action, or the reason that the call is questionable.
    pub action: String,
    /// Name of the program or tool.
    pub program: String,
    /// Arguments after all expansion, or the whole input if they are unknown.
    pub words: Vec<String>,
    /// Working directory.
    pub directory: String,
    /// Variables that the command sets and that change the program's behaviour.
    pub environment: Vec<String>,
}

/// All facts of one call, sorted. The caller adds repository, remote and refs, if it can read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Act {
    pub facts: Vec<Fact>,
}

impl Act {
    /// Returns one line per fact, equal for equal acts: a JSON array, so that no argument can imitate another.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |fact: &Fact| {
            let Fact {
                action,
                program,
                words,
                directory,
                environment,
            } = fact;
            serde_json::json!([action, program, words, directory, environment]).to_string()
        };
        self.facts.iter().map(line).collect()
    }

    /// Returns the act of a call with these findings.
    ///
    /// Arguments that are known exactly represent the act; if a part is unknown, the whole text does.
    pub(crate) fn of(tool: &str, input: &Value, directory: &str, findings: &Findings) -> Self {
        let is_known = |one: &Finding| {
            let unknown = for_people("\u{FFFF}");
            let mut texts = one.words.iter().chain(&one.environment);
            !texts.any(|text| text.contains(&unknown)) && !one.directory.contains(&unknown)
        };
        let exact = findings.opaque.is_empty()
            && !findings.actions.is_empty()
            && findings.actions.iter().all(is_known);
        let mut facts: Vec<Fact> = findings
            .actions
            .iter()
            .map(|finding| Fact {
                action: finding.action.clone(),
                program: finding.words.first().cloned().unwrap_or_default(),
                words: finding.words.iter().skip(1).cloned().collect(),
                directory: finding.directory.clone(),
                environment: finding.environment.clone(),
            })
            .collect();
        if !exact {
            facts.push(Fact {
                action: "call".to_owned(),
                program: tool.to_owned(),
                words: vec![tools::shell_command(tool, input).unwrap_or_else(|| sorted(input))],
                directory: directory.to_owned(),
                environment: Vec::new(),
            });
        }
        facts.sort();
        facts.dedup();
        Self { facts }
    }
}

/// Returns the line that marks a program that connects to a daemon as allowed before it began: by a person, or
/// because its arguments were read and nothing is against them.
#[must_use]
pub fn launch_line(words: &[String], by_person: bool) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let kind = if by_person { "launch" } else { "read launch" };
    Some(serde_json::json!([kind, program_name(program), arguments]).to_string())
}

/// Returns JSON with the keys of objects in order, so that equal inputs give equal text.
pub(crate) fn sorted(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), sorted(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(sorted).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// One-time approvals by a person, looked up by the act.
pub trait Approvals {
    /// Returns `true` if this exact act was approved.
    fn covers(&self, act: &Act) -> bool;
}

/// Approvals that contain nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApprovals;

impl Approvals for NoApprovals {
    fn covers(&self, _: &Act) -> bool {
        false
    }
}

impl<F: Fn(&Act) -> bool> Approvals for F {
    fn covers(&self, act: &Act) -> bool {
        self(act)
    }
}
