//! State of a shell while it runs: variables, functions, directory, descriptors. Values only; nothing runs here.

use std::collections::BTreeMap;
use std::rc::Rc;

use protection::processes;
use shell::ir::Command;
use shell::value::{ENVIRONMENT, HOLE, either, for_people, unknown};

/// The elements of an array: keys and texts.
pub(crate) type Elements = Vec<(String, String)>;

/// Value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    /// A string.
    Text(String),
    /// An array.
    Array(Elements),
}

impl Stored {
    fn join(&mut self, other: &Self) {
        if self == other {
            return;
        }
        *self = Self::Text(match (&*self, other) {
            (Self::Text(ours), Self::Text(theirs)) => either(ours, theirs),
            _ => unknown(),
        });
    }
}

/// Effect of an attribute on the value that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reads {
    /// The written value.
    Plain,
    /// `declare -i`: the computed number.
    Number,
    /// `declare -l`, `-u`: a similar text.
    Changed,
    /// `declare -n`: reads and writes go to another variable.
    Through,
}

impl Reads {
    fn unknown(self) -> String {
        match self {
            Self::Number => ENVIRONMENT.to_string(),
            _ => unknown(),
        }
    }
}

/// Variable with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) stored: Stored,
    pub(crate) exported: bool,
    pub(crate) reads: Reads,
    /// `readonly`: assignments are refused.
    pub(crate) is_fixed: bool,
}

/// Prefixes of variables that control the programs with gated actions.
const STEERING: &[&str] = shell::words::names!(
    "GIT_ GH_ GITHUB_ NPM_ npm_ YARN_ PNPM_ TWINE_ UV_ POETRY_ HATCH_ FLIT_ CLOUDFLARE_ CARGO_REGISTR"
);

/// Variables that the shell itself fills with words of the command.
const OWN: &[&str] = shell::words::names!(
    "_ BASH_ARGV BASH_ARGV0 BASH_COMMAND BASH_EXECUTION_STRING BASH_REMATCH DIRSTACK FUNCNAME OLDPWD"
);

/// Possible bodies of a name; `None` if it may be undefined.
pub(crate) type Bodies = Vec<Option<Rc<Command>>>;

/// State of one shell.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    /// Shared between shells until one of them changes it: a script of many lines makes many shells.
    pub(crate) variables: Rc<BTreeMap<String, Variable>>,
    pub(crate) functions: Rc<BTreeMap<String, Bodies>>,
    pub(crate) aliases: Rc<BTreeMap<String, String>>,
    pub(crate) positional: Vec<String>,
    pub(crate) name: Rc<str>,
    /// Working directory; has a hole if it is unknown.
    pub(crate) directory: Rc<str>,
    /// Readable content of each descriptor; the caller's own input is not included, and gives nothing.
    pub(crate) descriptors: BTreeMap<i32, String>,
    /// Local variables within a function, with their outer values.
    pub(crate) locals: Option<Vec<(String, Option<Variable>)>>,
    /// Set by `set -a`.
    pub(crate) exports_all: bool,
    /// Set if an unknown name was written through: any variable may have changed.
    pub(crate) all_odd: bool,
    /// Set by `shopt -s lastpipe`: the last command of a pipeline runs in this shell.
    pub(crate) last_pipe: bool,
}

impl Shell {
    pub(crate) fn new(directory: &str, home: &str) -> Self {
        let own = [
            ("BASH", "/bin/bash", false),
            ("HOME", home, true),
            ("IFS", " \t\n", false),
            ("PPID", processes::PARENT, false),
            ("SHELL", "/bin/bash", true),
        ];
        let variables = own.map(|(name, text, exported)| {
            let variable = Variable {
                stored: Stored::Text(text.to_owned()),
                exported,
                reads: Reads::Plain,
                is_fixed: false,
            };
            (name.to_owned(), variable)
        });
        Self {
            variables: Rc::new(BTreeMap::from(variables)),
            functions: Rc::default(),
            aliases: Rc::default(),
            positional: Vec::new(),
            name: "bash".into(),
            directory: directory.into(),
            descriptors: BTreeMap::new(),
            locals: None,
            exports_all: false,
            all_odd: false,
            last_pipe: false,
        }
    }

    /// Returns `true` if a variable controls the programs with gated actions.
    pub(crate) fn steers(name: &str) -> bool {
        STEERING.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Returns the variables that the command itself exports and that control the programs with gated actions.
    pub(crate) fn steering(&self) -> Vec<String> {
        let steering = self
            .variables
            .iter()
            .filter(|(name, variable)| variable.exported && Self::steers(name));
        let shown = |(name, variable): (&String, &Variable)| match &variable.stored {
            Stored::Text(text) => format!("{name}={}", for_people(text)),
            Stored::Array(_) => format!("{name}=…"),
        };
        steering.map(shown).collect()
    }

    /// Returns the content of the standard input, if it is not the caller's own.
    pub(crate) fn input(&self) -> Option<&String> {
        self.descriptors.get(&0)
    }

    /// Returns the text of a variable; an array gives its first element.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        if name == "PWD" {
            return Some(self.directory.to_string());
        }
        let Some(variable) = self.variables.get(name) else {
            return OWN.contains(&name).then(unknown);
        };
        Some(match &variable.stored {
            _ if self.all_odd => unknown(),
            _ if variable.reads != Reads::Plain => variable.reads.unknown(),
            Stored::Text(text) => text.clone(),
            Stored::Array(elements) => match elements.first() {
                Some((_, text)) if elements.iter().all(|(key, _)| key != &unknown()) => {
                    text.clone()
                }
                Some(_) => unknown(),
                None => String::new(),
            },
        })
    }

    pub(crate) fn set(&mut self, name: &str, text: String, exported: bool) {
        self.store(name, Stored::Text(text), exported);
    }

    /// Sets the value of a variable; its other attributes stay.
    pub(crate) fn store(&mut self, name: &str, stored: Stored, exported: bool) {
        let before = self.variables.get(name);
        let is_fixed = before.is_some_and(|old| old.is_fixed);
        let variable = Variable {
            stored: match stored {
                _ if is_fixed => Stored::Text(unknown()),
                stored => stored,
            },
            exported: exported || self.exports_all || before.is_some_and(|old| old.exported),
            reads: before.map_or(Reads::Plain, |old| old.reads),
            is_fixed,
        };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), variable);
    }

    /// Unsets a variable, or the function of that name.
    pub(crate) fn unset(&mut self, name: &str) {
        match self.variables.get(name) {
            Some(variable) if variable.is_fixed => {}
            Some(_) => drop(Rc::make_mut(&mut self.variables).remove(name)),
            None => drop(Rc::make_mut(&mut self.functions).remove(name)),
        }
    }

    /// Changes the attributes of a variable that exists.
    pub(crate) fn mark(&mut self, name: &str, change: impl FnOnce(&mut Variable)) {
        if let Some(variable) = Rc::make_mut(&mut self.variables).get_mut(name) {
            change(variable);
        }
    }

    /// Returns the elements of an array; a string is its own first element.
    pub(crate) fn elements(&self, name: &str) -> Option<Elements> {
        let Some(variable) = self.variables.get(name) else {
            return OWN.contains(&name).then(|| vec![(unknown(), unknown())]);
        };
        Some(match &variable.stored {
            _ if self.all_odd => vec![(unknown(), unknown())],
            _ if variable.reads != Reads::Plain => vec![(unknown(), variable.reads.unknown())],
            Stored::Array(elements) => elements.clone(),
            Stored::Text(text) => vec![("0".to_owned(), text.clone())],
        })
    }

    /// Makes a variable local: its outer value returns when the function ends.
    pub(crate) fn make_local(&mut self, name: &str) {
        let before = self.variables.get(name).cloned();
        if let Some(locals) = &mut self.locals
            && !locals.iter().any(|(known, _)| known == name)
        {
            locals.push((name.to_owned(), before));
        }
    }

    /// Returns `true` if a command would have the same meaning in both.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.variables, &other.variables)
            && Rc::ptr_eq(&self.functions, &other.functions)
            && self.positional == other.positional
            && self.directory == other.directory
    }

    /// Restores variables.
    pub(crate) fn restore(&mut self, before: Vec<(String, Option<Variable>)>) {
        if before.is_empty() {
            return;
        }
        let variables = Rc::make_mut(&mut self.variables);
        for (name, variable) in before {
            match variable {
                Some(variable) => drop(variables.insert(name, variable)),
                None => drop(variables.remove(&name)),
            }
        }
    }

    /// Returns the state that a started program sees. Functions may be exported.
    pub(crate) fn child(&self) -> Self {
        let mut child = self.clone();
        Rc::make_mut(&mut child.variables).retain(|_, variable| variable.exported);
        child.aliases = Rc::default();
        child.last_pipe = false;
        child.locals = None;
        if !child.functions.is_empty() {
            for bodies in Rc::make_mut(&mut child.functions).values_mut() {
                bodies.push(None);
            }
        }
        child.positional.clear();
        child.set("IFS", " \t\n".to_owned(), false);
        child
    }

    /// Joins the states of two branches that may both have been taken: differing values become unknown.
    pub(crate) fn join(&mut self, other: Self) {
        self.all_odd |= other.all_odd;
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            let variables = Rc::make_mut(&mut self.variables);
            for (name, ours) in variables.iter_mut() {
                if !other.variables.contains_key(name) {
                    ours.stored = Stored::Text(unknown());
                }
            }
            for (name, theirs) in other.variables.iter() {
                let ours = variables.entry(name.clone()).or_insert_with(|| Variable {
                    stored: Stored::Text(unknown()),
                    ..theirs.clone()
                });
                ours.stored.join(&theirs.stored);
                ours.exported |= theirs.exported;
                if ours.reads != theirs.reads {
                    ours.reads = ours.reads.max(theirs.reads).max(Reads::Changed);
                }
                ours.is_fixed |= theirs.is_fixed;
            }
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            for (name, ours) in functions.iter_mut() {
                if !other.functions.contains_key(name) {
                    ours.push(None);
                }
            }
            for (name, theirs) in other.functions.iter() {
                let ours = functions.entry(name.clone()).or_insert_with(|| vec![None]);
                for body in theirs {
                    let is_same = |old: &Option<Rc<Command>>| match (old, body) {
                        (Some(old), Some(body)) => Rc::ptr_eq(old, body),
                        (old, body) => old.is_none() && body.is_none(),
                    };
                    if !ours.iter().any(is_same) {
                        ours.push(body.clone());
                    }
                }
            }
        }
        if !Rc::ptr_eq(&self.aliases, &other.aliases) {
            let theirs = other
                .aliases
                .iter()
                .map(|(name, text)| (name.clone(), text.clone()));
            Rc::make_mut(&mut self.aliases).extend(theirs);
        }
        for (number, text) in other.descriptors {
            let ours = self.descriptors.entry(number).or_insert_with(unknown);
            *ours = either(ours, &text);
        }
        if self.positional != other.positional {
            self.positional = vec![unknown()];
        }
        if self.directory != other.directory {
            self.directory = HOLE.to_string().into();
        }
    }

    /// Widens the state after a loop whose rounds are not counted: changed values become unknown.
    pub(crate) fn widen(&mut self, before: &Self) {
        let now = self.clone();
        self.join(before.clone());
        if now.descriptors != before.descriptors {
            for text in self.descriptors.values_mut() {
                *text = unknown();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_ways_leave_is_known_where_they_agree() {
        let mut one = Shell::new("/w", "/h");
        one.set("same", "x".to_owned(), false);
        let mut two = one.clone();
        one.set("both", "a".to_owned(), false);
        two.set("both", "b".to_owned(), false);
        two.set("only", "c".to_owned(), false);
        one.join(two);
        assert_eq!(one.get("same").as_deref(), Some("x"));
        for name in ["both", "only"] {
            assert_eq!(one.get(name), Some(unknown()), "{name}");
        }
    }
}
