//! What exactly would happen, as facts that a person's approval binds: the same act again, or no approval.

use serde_json::Value;

use crate::evaluate::run::program_name;
use crate::evaluate::{Finding, Findings};
use crate::tools;
use shell::value::for_people;

/// One thing that would happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The gated action, or what made the call questionable.
    pub action: String,
    /// The program or tool.
    pub program: String,
    /// Its words after all expansion, or the whole input where they are not known.
    pub words: Vec<String>,
    /// Where it would run.
    pub directory: String,
    /// Variables that the command sets and that change what the program does.
    pub environment: Vec<String>,
}

/// All facts of one call, sorted. Repository, remote and refs are added by whoever can see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Act {
    /// The facts.
    pub facts: Vec<Fact>,
}

impl Act {
    /// One line per fact, the same for the same act: a JSON array, so that no word can imitate another.
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

    /// The act of a call in which these things were found.
    ///
    /// Words that are known exactly stand for the act; as soon as a part is unknown, the whole text does.
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

/// Returns the line by which a program that connects to a daemon is known to be one that was let through before it began:
/// by a person, or else because its words were read and nothing speaks against them.
#[must_use]
pub fn launch_line(words: &[String], by_person: bool) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let kind = if by_person { "launch" } else { "read launch" };
    Some(serde_json::json!([kind, program_name(program), arguments]).to_string())
}

/// JSON with the keys of objects in order, so that the same input is the same text.
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

/// A person's one-time approvals, asked with the act at hand.
pub trait Approvals {
    /// Whether this exact act was approved.
    fn covers(&self, act: &Act) -> bool;
}

/// Nothing was approved.
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
