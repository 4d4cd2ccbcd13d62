//! What a shell knows while it runs: variables, functions, directory, descriptors. Values only; nothing runs here.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::shell::ir::Command;
use crate::value::{HOLE, Value, for_people, has_hole};

use super::stored::{Elements, Stored};

/// Ends the name under which a function keeps what it does on another way.
const OTHER_BODY: char = '\0';

/// Ends the name of a mark: on one of the ways the function was not defined.
const LACKING: char = '\u{1}';

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) stored: Stored,
    pub(crate) exported: bool,
    /// `declare -n`: the text is the name of another variable.
    pub(crate) reference: bool,
    /// `declare -i`: what is assigned is evaluated.
    pub(crate) integer: bool,
    /// `declare -A`: keys are texts.
    pub(crate) associative: bool,
    /// `declare -l`, `declare -u`: what is assigned is changed.
    pub(crate) letters: Option<Letters>,
    /// `readonly`: what is assigned is refused, on one of the ways at least.
    pub(crate) constant: bool,
    /// Only one of the ways that lead here has set it.
    pub(crate) perhaps: bool,
}

/// Which letters a variable keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    Lower,
    Upper,
}

/// One shell.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Shared between shells until one of them changes it: a script of many lines makes many shells.
    pub(crate) variables: Rc<BTreeMap<String, Variable>>,
    pub(crate) positional: Vec<String>,
    pub(crate) shell_name: Rc<str>,
    pub(crate) functions: Rc<BTreeMap<String, Rc<Command>>>,
    pub(crate) aliases: BTreeMap<String, String>,
    /// Has a hole when nobody knows where we are.
    pub(crate) directory: Rc<str>,
    pub(crate) descriptors: BTreeMap<i32, Value>,
    /// Files that were opened under a number, to be written.
    pub(crate) writers: BTreeMap<i32, String>,
    /// None is the caller's own, from which nothing comes.
    pub(crate) input: Option<Value>,
    /// `set -a`.
    pub(crate) exports_all: bool,
    /// How far `getopts` has come.
    pub(crate) option_index: usize,
    /// Within a function: its own variables, with what they were outside.
    pub(crate) locals: Option<Vec<(String, Option<Variable>)>>,
    /// `shopt -s lastpipe`: the last command of a pipeline runs in this shell.
    pub(crate) last_pipe: bool,
    /// `shopt -s nullglob`: a pattern that matches nothing falls away.
    pub(crate) null_glob: bool,
    /// `shopt -s nocasematch`.
    pub(crate) any_case: bool,
    /// `echo` may read escapes without being told, as in most shells but bash.
    pub(crate) reads_escapes: bool,
}

impl State {
    /// Whether a variable steers the programs with gated actions.
    pub(crate) fn steers(name: &str) -> bool {
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
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Variables that the command itself exports and that steer the programs with gated actions.
    pub(crate) fn steering(&self) -> Vec<String> {
        let variables = self.variables.iter();
        let steering = variables.filter(|(name, variable)| variable.exported && Self::steers(name));
        steering
            .map(|(name, variable)| {
                let value = variable.stored.scalar();
                format!("{name}={}", for_people(value.first()))
            })
            .take(64)
            .collect()
    }

    pub(crate) fn new(directory: &str, home: &str) -> Self {
        let mut state = Self {
            variables: Rc::default(),
            positional: Vec::new(),
            shell_name: "bash".into(),
            functions: Rc::default(),
            aliases: BTreeMap::new(),
            directory: directory.into(),
            descriptors: BTreeMap::new(),
            writers: BTreeMap::new(),
            input: None,
            exports_all: false,
            option_index: 0,
            locals: None,
            last_pipe: false,
            any_case: false,
            null_glob: false,
            reads_escapes: false,
        };
        state.set("HOME", Value::text(home), true);
        state.set("IFS", Value::text(" \t\n"), false);
        state.set("SHELL", Value::text("/bin/bash"), true);
        state.set("BASH", Value::text("/bin/bash"), false);
        state.set("OSTYPE", Value::text("linux-gnu"), false);
        state
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        if name == "PWD" {
            return Some(Value::text(&*self.directory));
        }
        let target = self.target(name);
        let variable = self.variables.get(target.as_deref().unwrap_or(name))?;
        Some(variable.stored.scalar())
    }

    /// `declare -n`: the variable that is meant by the name of this one.
    fn target(&self, name: &str) -> Option<String> {
        let mut target: Option<String> = None;
        // One may mean another, and bash follows eight of them.
        for _ in 0..8 {
            let now = target.as_deref().unwrap_or(name);
            let variable = self.variables.get(now).filter(|one| one.reference);
            let next = variable.map(|variable| variable.stored.scalar());
            let next = next.as_ref().and_then(|next| next.known());
            match next.filter(|next| *next != now) {
                Some(next) => target = Some(next.to_owned()),
                None => break,
            }
        }
        target
    }

    pub(crate) fn set(&mut self, name: &str, value: Value, exported: bool) {
        if let Some(target) = self.target(name) {
            self.set(&target, value, exported);
            return;
        }
        let before = self.variables.get(name);
        let value = match before.and_then(|old| old.letters) {
            Some(Letters::Lower) => value.map(|text| text.to_lowercase()),
            Some(Letters::Upper) => value.map(|text| text.to_uppercase()),
            None => value,
        };
        let value = match before {
            Some(old) if old.constant => old.stored.scalar().or(&value),
            _ => value,
        };
        let exported = exported || self.exports_all;
        self.store(name, Stored::Scalar(value), exported, false);
    }

    pub(crate) fn set_array(&mut self, name: &str, elements: Vec<(String, Value)>) {
        if let Some(target) = self.target(name) {
            self.set_array(&target, elements);
            return;
        }
        let before = self.variables.get(name);
        let stored = Stored::Array(elements);
        let kept = before.filter(|old| old.constant && old.stored.arrays().is_some());
        let stored = kept.map_or(stored.clone(), |old| old.stored.join(&stored));
        let associative = before.is_some_and(|old| old.associative);
        self.store(name, stored, false, associative);
    }

    /// Gives a variable what it holds; its other attributes stay.
    fn store(&mut self, name: &str, stored: Stored, exported: bool, associative: bool) {
        let before = self.variables.get(name);
        let variable = Variable {
            stored,
            exported: exported || before.is_some_and(|old| old.exported),
            reference: false,
            integer: before.is_some_and(|old| old.integer),
            associative,
            letters: before.and_then(|old| old.letters),
            constant: before.is_some_and(|old| old.constant),
            perhaps: false,
        };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), variable);
    }

    /// `declare -A`.
    pub(crate) fn declare_associative(&mut self, name: &str) {
        let elements = match self.variables.get(name).map(|old| &old.stored) {
            Some(Stored::Array(elements)) => elements.clone(),
            _ => Vec::new(),
        };
        self.set_array(name, elements);
        if let Some(variable) = Rc::make_mut(&mut self.variables).get_mut(name) {
            variable.associative = true;
        }
    }

    /// Whether the keys of an array are texts.
    pub(crate) fn is_associative(&self, name: &str) -> bool {
        let Some(variable) = self.variables.get(name) else {
            return false;
        };
        if let Some(target) = self.target(name) {
            let target = self.variables.get(&target);
            return target.is_some_and(|variable| variable.associative);
        }
        variable.associative
            || matches!(&variable.stored, Stored::Array(elements)
                if elements.iter().any(|(key, _)| key.parse::<i64>().is_err() && !has_hole(key)))
    }

    /// Defines a function anew.
    pub(crate) fn define(&mut self, name: &str, body: Rc<Command>) {
        self.undefine(name);
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), body);
    }

    /// Forgets a function.
    pub(crate) fn undefine(&mut self, name: &str) {
        if self.functions.contains_key(name) {
            let functions = Rc::make_mut(&mut self.functions);
            functions.remove(name);
            functions.remove(&format!("{name}{OTHER_BODY}"));
            functions.remove(&format!("{name}{LACKING}"));
        }
    }

    /// What runs when a function is called: one body, or two when it was defined in two ways.
    pub(crate) fn bodies(&self, name: &str) -> Option<(Rc<Command>, Option<Rc<Command>>)> {
        let body = self.functions.get(name)?.clone();
        let other = self.functions.get(&format!("{name}{OTHER_BODY}"));
        Some((body, other.cloned()))
    }

    /// A program that is started sees only those functions that were exported: none is sure.
    pub(crate) fn functions_perhaps(&mut self) {
        let names = self.functions.keys();
        let names = names.filter(|name| !name.ends_with([OTHER_BODY, LACKING]));
        let names: Vec<String> = names.filter(|name| !self.may_lack(name)).cloned().collect();
        if names.is_empty() {
            return;
        }
        let functions = Rc::make_mut(&mut self.functions);
        for name in names {
            if let Some(body) = functions.get(&name).cloned() {
                functions.insert(format!("{name}{LACKING}"), body);
            }
        }
    }

    /// `local x`: what it is outside comes back when the function ends.
    pub(crate) fn make_local(&mut self, name: &str) {
        let before = self.variables.get(name).cloned();
        if let Some(locals) = &mut self.locals
            && !locals.iter().any(|(known, _)| known == name)
        {
            locals.push((name.to_owned(), before));
        }
    }

    /// The end of a function.
    pub(crate) fn leave_function(&mut self, outer: Option<Vec<(String, Option<Variable>)>>) {
        for (name, before) in std::mem::replace(&mut self.locals, outer).unwrap_or_default() {
            let variables = Rc::make_mut(&mut self.variables);
            match before {
                Some(variable) => drop(variables.insert(name, variable)),
                None => drop(variables.remove(&name)),
            }
        }
    }

    /// Whether a function was defined on some ways only.
    pub(crate) fn may_lack(&self, name: &str) -> bool {
        self.functions.contains_key(&format!("{name}{LACKING}"))
    }

    /// After a loop that nobody can count: what still changed in the last round may be anything.
    pub(crate) fn widen(&mut self, before: &Self) {
        if self.positional != before.positional {
            self.positional = vec![HOLE.to_string(); self.positional.len().max(1)];
        }
        if self.input != before.input {
            self.input = Some(Value::unknown());
        }
        for (number, value) in &mut self.descriptors {
            if before.descriptors.get(number) != Some(value) {
                *value = Value::unknown();
            }
        }
        if Rc::ptr_eq(&self.variables, &before.variables) {
            return;
        }
        for (name, variable) in Rc::make_mut(&mut self.variables) {
            let same = before.variables.get(name);
            let Some(same) = same.filter(|same| same.stored != variable.stored) else {
                continue;
            };
            variable.stored = match (&same.stored, &variable.stored) {
                (Stored::Scalar(_), Stored::Scalar(now)) => {
                    Stored::Scalar(now.or(&Value::unknown()))
                }
                _ => Stored::Scalar(Value::unknown()),
            };
        }
    }

    /// The elements of an array; a scalar is its own first element.
    pub(crate) fn elements(&self, name: &str) -> Option<Vec<(String, Value)>> {
        let target = self.target(name);
        let variable = self.variables.get(target.as_deref().unwrap_or(name))?;
        Some(match &variable.stored {
            Stored::Array(elements) => {
                // A plain array is in the order of its numbers, however it was filled.
                let mut elements = elements.clone();
                if elements.iter().all(|(key, _)| key.parse::<i64>().is_ok()) {
                    elements.sort_by_key(|(key, _)| key.parse::<i64>().unwrap_or_default());
                }
                elements
            }
            Stored::Scalar(value) => vec![("0".to_owned(), value.clone())],
            Stored::Either(_) => vec![("0".to_owned(), Value::unknown())],
        })
    }

    /// The arrays that a variable may hold, where there are several.
    pub(crate) fn arrays(&self, name: &str) -> Option<Vec<Elements>> {
        let target = self.target(name);
        let variable = self.variables.get(target.as_deref().unwrap_or(name))?;
        match &variable.stored {
            Stored::Either(arrays) => Some(arrays.clone()),
            Stored::Scalar(_) | Stored::Array(_) => None,
        }
    }

    /// Gives a variable one of several arrays.
    pub(crate) fn set_arrays(&mut self, name: &str, arrays: Vec<Elements>) {
        if let [only] = arrays.as_slice() {
            self.set_array(name, only.clone());
            return;
        }
        let name = self.target(name).unwrap_or_else(|| name.to_owned());
        let associative = self.variables.get(&name).is_some_and(|old| old.associative);
        self.store(&name, Stored::either(arrays), false, associative);
    }

    /// What a program that is started sees of it.
    pub(crate) fn child(&self) -> Self {
        let mut child = self.clone();
        Rc::make_mut(&mut child.variables).retain(|_, variable| variable.exported);
        child.aliases.clear();
        child.last_pipe = false;
        child.locals = None;
        child.functions_perhaps();
        child.any_case = false;
        child.null_glob = false;
        child.reads_escapes = true;
        child.positional.clear();
        child.set("IFS", Value::text(" \t\n"), false);
        child
    }

    /// After two ways that may both have been taken.
    pub(crate) fn join(&mut self, other: Self) {
        self.join_variables(&other.variables);
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            let lacking = |one: &BTreeMap<String, Rc<Command>>, two: &BTreeMap<_, _>| {
                let names = one
                    .keys()
                    .filter(|name| !name.ends_with([OTHER_BODY, LACKING]));
                let names = names.filter(|name| !two.contains_key(*name));
                names.cloned().collect::<Vec<String>>()
            };
            let mut only = lacking(functions, &other.functions);
            only.extend(lacking(&other.functions, functions));
            for (name, body) in other.functions.iter() {
                let ours = functions
                    .entry(name.clone())
                    .or_insert_with(|| body.clone());
                if !Rc::ptr_eq(ours, body) && !name.ends_with([OTHER_BODY, LACKING]) {
                    functions.insert(format!("{name}{OTHER_BODY}"), body.clone());
                }
            }
            for name in only {
                if let Some(body) = functions.get(&name).cloned() {
                    functions.insert(format!("{name}{LACKING}"), body);
                }
            }
        }
        self.aliases.extend(other.aliases);
        self.descriptors.extend(other.descriptors);
        self.writers.extend(other.writers);
        if self.positional != other.positional {
            self.positional = vec![HOLE.to_string()];
        }
        if self.directory != other.directory {
            self.directory = HOLE.to_string().into();
        }
    }

    fn join_variables(&mut self, other: &Rc<BTreeMap<String, Variable>>) {
        if Rc::ptr_eq(&self.variables, other) {
            return;
        }
        let variables = Rc::make_mut(&mut self.variables);
        for (name, ours) in variables.iter_mut() {
            ours.perhaps |= !other.contains_key(name);
        }
        for (name, theirs) in other.iter() {
            match variables.get_mut(name) {
                None => {
                    let mut theirs = theirs.clone();
                    theirs.perhaps = true;
                    variables.insert(name.clone(), theirs);
                }
                Some(ours) if ours.stored == theirs.stored => {
                    ours.perhaps |= theirs.perhaps;
                    ours.constant |= theirs.constant;
                }
                Some(ours) => {
                    ours.perhaps |= theirs.perhaps;
                    ours.constant |= theirs.constant;
                    ours.stored = ours.stored.join(&theirs.stored);
                }
            }
        }
    }
}
