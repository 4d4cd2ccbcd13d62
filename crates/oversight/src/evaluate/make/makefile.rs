//! Makefiles as text: rules, variables, and the expansion of `$(…)` with the functions of make.
//!
//! Conditionals are not decided: both sides count, so a variable may have several values.

use std::collections::BTreeMap;

use crate::value::{ENVIRONMENT, HOLE, has_hole};

use super::functions::{call, functions};
use super::line::{assignment, closing, outside_references, without_comment};
use super::scope::{Effects, Rule, Scope};

/// Stands in front of files that make makes before anything else.
pub(super) const REMADE: &str = ".roleos-remade";

/// More values of one variable are not told apart.
const MAX_VALUES: usize = 4;

/// Longer results of an expansion are cut off as unknown.
const MAX_RESULT: usize = 16 * 1024;

/// Deeper references are unknown.
const MAX_DEPTH: usize = 24;

pub(super) struct Makefile {
    pub(super) rules: Vec<Rule>,
    pub(super) one_shell: bool,
    variables: BTreeMap<String, Vec<String>>,
    /// From the command line: these win.
    given: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    exported: Vec<String>,
    exports_all: bool,
    /// `override`: what is set later does not count.
    overridden: Vec<String>,
    prefix: char,
    open: Vec<usize>,
    /// Variables of one target: its name, theirs, the sign and the value.
    own: Vec<[String; 4]>,
    /// How many conditionals are open, and whether the text comes from `$(eval …)`: what is set there may not be set.
    conditions: usize,
    evaluates: bool,
    /// `define`: its name and lines.
    defining: Option<(String, Vec<String>)>,
}

impl Makefile {
    pub(super) fn parse(
        text: &str,
        given: &[(String, String)],
        environment: Vec<(String, String)>,
        effects: &mut Effects,
    ) -> Self {
        let mut file = Self {
            rules: Vec::new(),
            one_shell: false,
            variables: BTreeMap::new(),
            given: given.to_vec(),
            environment,
            exported: Vec::new(),
            exports_all: false,
            overridden: Vec::new(),
            prefix: '\t',
            open: Vec::new(),
            own: Vec::new(),
            conditions: 0,
            evaluates: false,
            defining: None,
        };
        for line in text.lines() {
            file.line(line, effects);
            // What a line makes of text is there for those that follow.
            file.evaluates = true;
            for _ in 0..4 {
                let texts = std::mem::take(&mut effects.evaluated);
                for line in texts.iter().flat_map(|text| text.lines()) {
                    file.line(line, effects);
                }
            }
            file.evaluates = false;
        }
        file
    }

    /// Sets the variables of targets that may be made in this call.
    pub(super) fn take_own_variables(&mut self, targets: &[String]) {
        let reached = self.reached(targets);
        for [target, name, sign, value] in std::mem::take(&mut self.own) {
            let other = reached
                .as_ref()
                .is_some_and(|reached| !reached.contains(&target));
            if !other || target.contains('%') || has_hole(&target) {
                self.conditions = 1;
                self.set(&name, &sign, &value);
            }
        }
    }

    /// The targets that these lead to, where all of them are known.
    fn reached(&self, targets: &[String]) -> Option<Vec<String>> {
        let mut all = if targets.is_empty() {
            self.default_targets()
        } else {
            targets.to_vec()
        };
        all.extend(self.remade());
        let mut at = 0;
        while let Some(target) = all.get(at).cloned() {
            at = at.saturating_add(1);
            if has_hole(&target) || target.contains('$') || at > 200 {
                return None;
            }
            for rule in self.rules.iter().filter(|rule| rule.fits(&target)) {
                let needs = Scope::of(rule, &target).needs;
                all.extend(
                    needs
                        .into_iter()
                        .filter(|need| !all.contains(need))
                        .collect::<Vec<_>>(),
                );
            }
        }
        Some(all)
    }

    fn line(&mut self, line: &str, effects: &mut Effects) {
        if let Some((name, mut lines)) = self.defining.take() {
            if line.trim() == "endef" {
                self.set(&name, "=", &lines.join("\n"));
            } else {
                lines.push(line.to_owned());
                self.defining = Some((name, lines));
            }
            return;
        }
        if let Some(recipe) = line
            .strip_prefix(self.prefix)
            .filter(|_| !self.open.is_empty())
        {
            for index in &self.open {
                if let Some(rule) = self.rules.get_mut(*index) {
                    rule.lines.push(recipe.to_owned());
                }
            }
            return;
        }
        let line = line.trim_start();
        match line.split([' ', '(', '\t']).next() {
            Some("ifeq" | "ifneq" | "ifdef" | "ifndef") => {
                self.conditions = self.conditions.saturating_add(1);
            }
            Some("endif") => self.conditions = self.conditions.saturating_sub(1),
            _ => {}
        }
        let mut rest = without_comment(line);
        let mut exports = false;
        let mut overrides = false;
        while let Some((word, after)) = rest.split_once(' ') {
            match word {
                "export" => exports = true,
                "override" => overrides = true,
                "private" | "unexport" => {}
                "define" => {
                    let name = after.trim().trim_end_matches(['=', ':', '?', ' ']);
                    self.defining = Some((name.to_owned(), Vec::new()));
                    return;
                }
                _ => break,
            }
            rest = after.trim_start();
        }
        if rest == "export" {
            self.exports_all = true;
            return;
        }
        if let Some((name, sign, value)) = assignment(rest) {
            if sign == "!=" {
                effects.shell.push(value.to_owned());
                self.set(name, "=", &format!("$(shell {value})"));
            } else {
                self.set(name, sign, value);
                self.overridden.extend(overrides.then(|| name.to_owned()));
                // `$(shell …)` in it runs, now or when it is used.
                self.expand(value, &Scope::default(), effects);
            }
            if exports {
                self.exported.push(name.to_owned());
            }
            return;
        }
        if exports {
            self.exported
                .extend(rest.split_whitespace().map(str::to_owned));
            return;
        }
        self.rule(line, effects);
    }

    fn rule(&mut self, line: &str, effects: &mut Effects) {
        let outside = outside_references(line);
        let colon = outside.find(':');
        // A comment ends a rule, and belongs to the shell in its recipe.
        let comment = outside.find('#').unwrap_or(outside.len());
        let recipe = outside.find(';').filter(|at| *at < comment);
        let Some(colon) = colon.filter(|at| *at < recipe.unwrap_or(comment)) else {
            self.expand(without_comment(line), &Scope::default(), effects);
            return;
        };
        let head = line.get(..recipe.unwrap_or(comment)).unwrap_or(line);
        let targets = head.get(..colon).unwrap_or_default().trim_end_matches('&');
        let mut needs = head
            .get(colon..)
            .unwrap_or_default()
            .trim_start_matches(':');
        let mut own = needs.trim();
        let mut exports = false;
        for word in ["private ", "override ", "export "] {
            if let Some(rest) = own.strip_prefix(word) {
                own = rest.trim_start();
                exports |= word == "export ";
            }
        }
        if let Some((name, sign, _)) = assignment(own) {
            // A variable of this target: it holds for all that the target needs.
            let value = line.split_once('=').map_or("", |(_, value)| value);
            let (name, sign, value) = (name.to_owned(), sign.to_owned(), value.trim().to_owned());
            let targets = self.expand(targets, &Scope::default(), effects);
            self.expand(&value, &Scope::default(), effects);
            self.exported.extend(exports.then(|| name.clone()));
            for target in targets.split_whitespace() {
                let own = [target.to_owned(), name.clone(), sign.clone(), value.clone()];
                self.own.push(own);
            }
            return;
        }
        if let Some((_, after)) = needs.split_once(':') {
            // `a b: %: x`: a static pattern.
            needs = after;
        }
        let recipe = recipe.and_then(|at| line.get(at.saturating_add(1)..));
        let recipe = recipe.map(str::trim).filter(|text| !text.is_empty());
        let scope = Scope::default();
        let needs = self.expand(needs, &scope, effects);
        let targets = self.expand(targets, &scope, effects);
        self.open.clear();
        for target in targets.split_whitespace() {
            self.one_shell |= target == ".ONESHELL";
            self.open.push(self.rules.len());
            let needs = needs.split_whitespace().filter(|need| *need != "|");
            self.rules.push(Rule {
                target: target.to_owned(),
                needs: needs.map(str::to_owned).collect(),
                lines: recipe.map(str::to_owned).into_iter().collect(),
            });
        }
    }

    fn set(&mut self, name: &str, sign: &str, value: &str) {
        if name == ".RECIPEPREFIX" {
            self.prefix = value.chars().next().unwrap_or('\t');
        }
        // The last one counts, unless something has taken an earlier one along.
        let takes = |(other, values): (&String, &Vec<String>)| {
            let mut values = values.iter().filter(|value| value.contains('$'));
            other != name && values.any(|value| value.contains(name) || value.contains("$($"))
        };
        let last = sign == "=" && self.conditions == 0 && !self.evaluates;
        let last = last && !self.overridden.iter().any(|known| known == name);
        if last && !self.variables.iter().any(takes) {
            self.variables.remove(name);
        }
        let values = self.variables.entry(name.to_owned()).or_default();
        match (sign, values.last()) {
            ("?=", Some(_)) => {}
            ("+=", Some(before)) => {
                let whole = format!("{before} {value}");
                values.push(whole);
            }
            _ => values.push(value.to_owned()),
        }
        if values.len() > MAX_VALUES {
            values.remove(0);
        }
    }

    /// The value that was assigned last.
    pub(super) fn last(&self, name: &str) -> Option<String> {
        self.variables.get(name)?.last().cloned()
    }

    /// In how many ways the variables can be read.
    pub(super) fn ways(&self) -> usize {
        let most = self.variables.values().map(Vec::len).max();
        let overridden = self.environment.iter();
        let overridden = overridden.filter(|(name, _)| self.variables.contains_key(name));
        let more = usize::from(overridden.count() > 0);
        most.unwrap_or(1).max(1).saturating_add(more)
    }

    pub(super) fn exported(&self) -> Vec<(String, String)> {
        let given = self.given.iter().cloned();
        let names = self.variables.keys();
        let names = names.filter(|name| self.exports_all || self.exported.contains(name));
        let scope = Scope::default();
        let own = names.take(64).map(|name| {
            let value = self.value(name, &scope, 0, &mut Effects::default());
            (name.clone(), value)
        });
        own.chain(given).collect()
    }

    /// What make makes when it is told nothing.
    pub(super) fn default_targets(&self) -> Vec<String> {
        if let Some(goal) = self.last(".DEFAULT_GOAL") {
            return goal.split_whitespace().map(str::to_owned).collect();
        }
        let mut rules = self.rules.iter().map(|rule| &rule.target);
        let first = rules.find(|target| !target.starts_with('.') && !target.contains('%'));
        first.cloned().into_iter().collect()
    }

    /// Files of rules that have a rule of their own.
    pub(super) fn remade(&self) -> Vec<String> {
        let included = self.rules.iter().filter(|rule| rule.target == REMADE);
        let included = included.flat_map(|rule| rule.needs.iter().cloned());
        let own = ["Makefile", "makefile", "GNUmakefile"].map(str::to_owned);
        included
            .chain(own)
            .filter(|name| self.rules.iter().any(|rule| rule.target == *name))
            .collect()
    }

    /// Replaces all references; `$(shell x)` becomes a substitution of the shell.
    pub(super) fn expand(&self, text: &str, scope: &Scope, effects: &mut Effects) -> String {
        self.expanded(text, scope, 0, effects)
    }

    pub(super) fn expanded(
        &self,
        text: &str,
        scope: &Scope,
        depth: usize,
        effects: &mut Effects,
    ) -> String {
        effects.steps = effects.steps.saturating_add(1);
        if depth > MAX_DEPTH || effects.steps > 10_000 {
            return HOLE.to_string();
        }
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            whole.push_str(before);
            let mut characters = after.chars();
            match characters.next() {
                Some('$') => {
                    whole.push('$');
                    rest = characters.as_str();
                }
                Some(open @ ('(' | '{')) => {
                    let close = if open == '(' { ')' } else { '}' };
                    let inner = characters.as_str();
                    let end = closing(inner, open, close).unwrap_or(inner.len());
                    let reference = inner.get(..end).unwrap_or_default();
                    whole.push_str(&self.reference(reference, scope, depth, effects));
                    rest = inner.get(end.saturating_add(1)..).unwrap_or_default();
                }
                Some(letter) => {
                    let name = letter.to_string();
                    whole.push_str(&self.value(&name, scope, depth, effects));
                    rest = characters.as_str();
                }
                None => rest = "",
            }
            if whole.len() > MAX_RESULT {
                return HOLE.to_string();
            }
        }
        whole.push_str(rest);
        whole
    }

    fn reference(&self, text: &str, scope: &Scope, depth: usize, effects: &mut Effects) -> String {
        let depth = depth.saturating_add(1);
        if let Some((name, words)) = text.split_once([' ', '\t'])
            && functions().contains(&name)
        {
            return call(self, name, words.trim_start(), scope, depth, effects);
        }
        let name = self.expanded(text, scope, depth, effects);
        // `$(X:.c=.o)`.
        if let Some((name, (from, to))) = name
            .split_once(':')
            .and_then(|(name, change)| Some((name, change.split_once('=')?)))
        {
            let value = self.value(name, scope, depth, effects);
            let words = value
                .split_whitespace()
                .map(|word| super::functions::substituted(word, from, to));
            return words.collect::<Vec<_>>().join(" ");
        }
        self.value(&name, scope, depth, effects)
    }

    pub(super) fn value(
        &self,
        name: &str,
        scope: &Scope,
        depth: usize,
        effects: &mut Effects,
    ) -> String {
        let bound = scope.bound.iter().rev().find(|(known, _)| known == name);
        if let Some((_, value)) = bound {
            return value.clone();
        }
        if let Some(value) = scope.automatic(name) {
            return value;
        }
        let depth = depth.saturating_add(1);
        let given = self.given.iter().rev().find(|(known, _)| known == name);
        if let Some((_, value)) = given {
            return self.expanded(value, scope, depth, effects);
        }
        let environment = || {
            let found = self.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        if let Some(values) = self.variables.get(name) {
            // With `-e` the environment wins: it is one more way.
            let own = values.len();
            let at = scope.way.min(own.saturating_sub(1));
            return match (values.get(at), environment()) {
                (_, Some(value)) if scope.way >= own => value,
                (Some(value), _) => self.expanded(value, scope, depth, effects),
                (None, _) => String::new(),
            };
        }
        environment().unwrap_or_else(|| match name {
            "MAKE" | "MAKE_COMMAND" => "make".to_owned(),
            "CC" | "CXX" | "LD" | "AR" | "AS" => name.to_ascii_lowercase(),
            "RM" => "rm -f".to_owned(),
            "SHELL" => "/bin/sh".to_owned(),
            "comma" => ",".to_owned(),
            _ => ENVIRONMENT.to_string(),
        })
    }
}
