//! What a program does by itself: the action that its words perform, noted with where it was met and what steers it.

use crate::value::for_people;

use super::{Evaluator, Finding};

impl Evaluator<'_> {
    /// Notes the actions that this program performs by itself.
    pub(crate) fn classify(&mut self, name: &str, arguments: &[String]) {
        if !self.catalog.is_program(name) {
            return;
        }
        let variables = &self.state.variables;
        let environment = |variable: &str| {
            let found = variables.get(variable).filter(|found| found.exported)?;
            found.stored.scalar().known().map(str::to_owned)
        };
        let answer = self.catalog.classify(name, arguments, &environment);
        if let Some(reason) = answer.unknown {
            self.opaque(reason, &format!("{name} {}", arguments.join(" ")));
        }
        for (action, label) in answer.actions {
            self.found(&action, &label, name, arguments);
        }
    }

    pub(crate) fn found(&mut self, action: &str, label: &str, name: &str, arguments: &[String]) {
        let mut chain = self.chain.clone();
        chain.push(label.to_owned());
        let mut words = vec![name.to_owned()];
        words.extend(arguments.iter().map(|word| for_people(word)));
        let finding = Finding {
            action: action.to_owned(),
            span: self.span,
            chain,
            certainty: self.certainty,
            words,
            directory: for_people(&self.state.directory),
            environment: self.steering(),
        };
        let known = self.findings.actions.iter().any(|old| {
            old.action == finding.action
                && old.certainty >= finding.certainty
                && old.words == finding.words
                && old.directory == finding.directory
                && old.environment == finding.environment
        });
        if !known && self.findings.actions.len() < 256 {
            self.findings.actions.push(finding);
        }
    }

    /// Variables that the command itself exports and that steer the programs with gated actions.
    fn steering(&self) -> Vec<String> {
        const PREFIXES: &[&str] = &[
            "GIT_",
            "GH_",
            "GITHUB_",
            "NPM_",
            "npm_",
            "YARN_",
            "PNPM_",
            "TWINE_",
            "UV_",
            "POETRY_",
            "HATCH_",
            "FLIT_",
            "CLOUDFLARE_",
        ];
        let variables = self.state.variables.iter();
        let steering = variables.filter(|(name, variable)| {
            variable.exported && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        });
        steering
            .map(|(name, variable)| {
                let value = variable.stored.scalar();
                format!("{name}={}", for_people(value.first()))
            })
            .take(64)
            .collect()
    }
}
