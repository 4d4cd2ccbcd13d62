//! The actions that a program's arguments perform, by one table in `actions.toml`, each with its compensation.
//!
//! [`Catalog::classify`] serves the analysis of a command, in which arguments may be unknown, and a program that is
//! about to be started, with its real arguments, directory and environment. The evaluation of a rule is in [`rule`],
//! the requests of `curl` and `gh api` in [`request`], git's corrections of a mistyped command in
//! [`git_corrections`], programs by their use of arguments in [`programs`], aliases that programs resolve themselves
//! in [`aliases`], calls of other languages that change files in [`changing`], paths and facts about repositories in
//! [`paths`] and [`repository`], the scope of a grant in [`scope`], git's settings in [`git_config`]; [`lookup`] is
//! the interface to the machine. Nothing here evaluates a command: no file, no clock.

pub mod aliases;
pub mod changing;
mod correction;
pub mod git_config;
pub mod lookup;
mod paths;
pub mod programs;
pub mod repository;
mod request;
mod rule;
pub mod scope;
mod words;

use std::borrow::Cow;

pub use correction::git_corrections;
pub use rule::check as check_rule;
pub use words::{GitCall, git_command, is_git_builtin};

use lookup::Lookup;
use rule::{Call, Fit};
use shell::pattern;
use shell::value::has_hole;
use shell::words::Shapes;

include!(concat!(env!("OUT_DIR"), "/actions.rs"));

/// Kind of an action, which determines the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// It cannot be undone: denied without a grant.
    Gated,
    /// The same, but only enabled by a setting.
    Extended,
    /// Data is lost: leads to a question.
    Destructive,
    /// A secret is read: leads to a question.
    Secrets,
}

impl Set {
    /// Returns `true` if the act needs a grant.
    #[must_use]
    pub fn needs_grant(self) -> bool {
        matches!(self, Self::Gated | Self::Extended)
    }
}

/// An act that cannot simply be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Stable name, as in the grants.
    pub id: Cow<'static, str>,
    /// Name for people.
    pub label: Cow<'static, str>,
    /// Compensation, as far as it is possible.
    pub compensator: Cow<'static, str>,
    /// Kind of the action.
    pub set: Set,
}

/// One entry of the table.
pub(crate) struct Known {
    id: &'static str,
    set: Set,
    label: &'static str,
    compensator: &'static str,
    requests: &'static [&'static str],
    sockets: &'static [&'static str],
}

/// Location of the aliases of a program that resolves them by itself.
#[derive(Debug)]
pub struct AliasesOf {
    pub program: &'static str,
    /// Key of the table that contains them.
    pub key: &'static str,
    /// Prefix of variables that contain one.
    pub variables: &'static str,
    /// Files with the tables.
    pub files: &'static [&'static str],
    /// Options that set a value or name a file.
    pub settings: &'static [&'static str],
}

/// Another way to perform an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Id of the action.
    pub action: String,
    /// Program and arguments, in the syntax of the table.
    pub text: String,
}

/// Context of a program: its directories, and its access to the machine.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Working directory, absolute.
    pub directory: &'a str,
    /// Home directory, absolute.
    pub home: &'a str,
    /// Look-up of an exported variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Access to files and repositories.
    pub lookup: &'a dyn Lookup,
    /// Standard input, if it is known.
    pub input: Option<&'a str>,
}

impl std::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Around")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Returns `true` if the text may name a protected thing.
pub fn mentions_guarded(text: &str) -> bool {
    const MARKS: &[&str] = &[
        "role", ".claude", ".codex", ".gemini", ".cursor", ".copilot", "hooks", ".github", "rc",
        "profile", ".git", ".mcp", ".agents",
    ];
    let text = text.to_lowercase();
    MARKS.iter().any(|mark| text.contains(mark))
}

/// Actions of a program's arguments.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Ids with a label for the chain.
    pub actions: Vec<(String, String)>,
    /// Reason that the list may be incomplete.
    pub unknown: Option<&'static str>,
}

impl Answer {
    fn add(&mut self, id: &str, label: String) {
        if !self.actions.iter().any(|(known, _)| known == id) {
            self.actions.push((id.to_owned(), label));
        }
    }
}

/// Enabled actions of one workspace.
#[derive(Clone, Debug)]
pub struct Catalog {
    actions: Vec<Action>,
    own: Vec<(String, Rule)>,
    /// Programs that perform an act that needs a grant, sorted.
    programs: Vec<Cow<'static, str>>,
    shapes: Shapes,
}

/// Shapes of the programs that have rules.
const RULED: Shapes = {
    let mut shapes = Shapes::none();
    let mut rules: &[(&str, usize, &str)] = RULES;
    while let [(program, ..), rest @ ..] = rules {
        shapes = shapes.with(program);
        rules = rest;
    }
    shapes
};

impl Default for Catalog {
    fn default() -> Self {
        Self::new(&|known| known.set != Set::Extended, Vec::new(), Vec::new())
    }
}

impl Catalog {
    /// Creates the catalog of the wanted known actions, by id and set, and the user's own. The id of an enabled
    /// action only adds a way to perform it.
    #[must_use]
    pub fn new(is_wanted: &dyn Fn(&Action) -> bool, own: Vec<Action>, rules: Vec<Rule>) -> Self {
        let known = ACTIONS.iter().map(|known| Action {
            id: known.id.into(),
            label: known.label.into(),
            compensator: known.compensator.into(),
            set: known.set,
        });
        let mut actions: Vec<Action> = known.filter(|action| is_wanted(action)).collect();
        for own in own {
            if !actions.iter().any(|action| action.id == own.id) {
                actions.push(own);
            }
        }
        let split = |rule: Rule| {
            let (names, _) = rule.text.split_once(' ').unwrap_or((&rule.text, ""));
            let names: Vec<String> = names.split('|').map(str::to_lowercase).collect();
            names.into_iter().map(move |name| (name, rule.clone()))
        };
        let own: Vec<(String, Rule)> = rules.into_iter().flat_map(split).collect();
        let gates = |id: &str| {
            let mut gating = actions.iter().filter(|action| action.set.needs_grant());
            gating.any(|action| action.id == id)
        };
        let gating: Vec<bool> = ACTIONS.iter().map(|known| gates(known.id)).collect();
        let known = RULES
            .iter()
            .filter(|(_, number, _)| gating.get(*number) == Some(&true));
        let mut programs: Vec<Cow<'static, str>> =
            known.map(|(program, ..)| Cow::Borrowed(*program)).collect();
        // Already sorted by program.
        programs.dedup();
        let mine = own.iter().filter(|(_, rule)| gates(&rule.action));
        programs.extend(mine.map(|(program, _)| Cow::Owned(program.clone())));
        programs.sort_unstable();
        programs.dedup();
        let shapes = programs.iter();
        let shapes = shapes.fold(Shapes::none(), |shapes, program| shapes.with(program));
        Self {
            actions,
            own,
            programs,
            shapes,
        }
    }

    /// Returns all known actions, enabled or not.
    pub fn known() -> impl Iterator<Item = Action> {
        Self::new(&|_| true, Vec::new(), Vec::new())
            .actions
            .into_iter()
    }

    /// Returns all enabled actions.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns an enabled action.
    #[must_use]
    pub fn action(&self, id: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }

    /// Returns the programs that perform the actions.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(Cow::as_ref)
    }

    /// Returns `true` if a program of this name performs an act that needs a grant.
    #[must_use]
    pub fn is_program(&self, name: &str) -> bool {
        let is_it = |program: &Cow<'_, str>| program.as_ref().cmp(name);
        self.shapes.may_hold(name) && self.programs.binary_search_by(is_it).is_ok()
    }

    /// Returns `true` if the text may name one of the programs.
    pub fn mentions(&self, text: &str) -> bool {
        has_hole(text)
            || ["$", "`", "\\", "sh"]
                .iter()
                .any(|mark| text.contains(mark))
            || self.names_program(text)
            || mentions_guarded(text)
    }

    /// Returns `true` if the text names a part of an act, so that a computed word may complete it.
    pub fn mentions_part(&self, text: &str) -> bool {
        const PARTS: &[&str] = &[
            "push", "publish", "upload", "deploy", "release", "hsup", "hsilbup",
        ];
        PARTS.iter().any(|word| text.contains(word)) || self.names_program(text)
    }

    fn names_program(&self, text: &str) -> bool {
        let mut words =
            text.split(|one: char| !one.is_ascii_alphanumeric() && one != '-' && one != '_');
        words.any(|word| {
            word.split(['-', '_']).any(|part| self.is_program(part)) || self.is_program(word)
        })
    }

    /// Returns `true` if a program has rules; its name has no directory and is in lower case.
    #[must_use]
    pub fn has_rules(&self, program: &str) -> bool {
        let is_it = |(name, ..): &(&str, usize, &str)| (*name).cmp(program);
        RULED.may_hold(program) && RULES.binary_search_by(is_it).is_ok()
            || self.own.iter().any(|(name, _)| name == program)
            || request::is_sender(program)
    }

    /// Returns the actions of a program with these arguments; its name has no directory and is in lower case.
    #[must_use]
    pub fn classify(&self, program: &str, arguments: &[String], around: &Around<'_>) -> Answer {
        let mut answer = Answer::default();
        let from = RULES.partition_point(|(name, ..)| *name < program);
        let known = RULES
            .iter()
            .skip(from)
            .take_while(|(name, ..)| *name == program);
        let known = known.filter_map(|(_, number, rest)| Some((ACTIONS.get(*number)?.id, *rest)));
        let own = self.own.iter().filter(|(name, _)| name == program);
        let own = own.map(|(_, rule)| {
            (
                rule.action.as_str(),
                rule.text.split_once(' ').map_or("", |(_, rest)| rest),
            )
        });
        let mut call = None;
        for (id, rest) in known.chain(own) {
            let call = call.get_or_insert_with(|| Call::new(program, arguments, around));
            if !call.may_begin(rest) {
                continue;
            }
            let Some(action) = self.action(id) else {
                continue;
            };
            match call.fits(rest, action) {
                Fit::No => {}
                Fit::Unknown if action.set.needs_grant() => {
                    answer.unknown = Some("the subcommand is not known");
                }
                Fit::Unknown => {}
                Fit::Yes => answer.add(id, rule::label(program, rest)),
            }
        }
        if let Some(request) = request::of(program, arguments) {
            for known in ACTIONS
                .iter()
                .filter(|known| self.action(known.id).is_some())
            {
                match request.fits(known.requests) {
                    Fit::No => {}
                    Fit::Unknown => {
                        answer.unknown = Some("the address or the method of the call is not known");
                    }
                    Fit::Yes => answer.add(known.id, format!("{program} {}", request.method())),
                }
            }
        }
        answer
    }

    /// Returns the action of a connection to a local socket; the name of one without a file begins with `@`.
    #[must_use]
    pub fn of_socket(&self, socket: &str) -> Option<&str> {
        let leads = |known: &&Known| {
            let mut names = known.sockets.iter();
            names.any(|name| pattern::matches(name, socket)) && self.action(known.id).is_some()
        };
        ACTIONS.iter().find(leads).map(|known| known.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookup::Nothing;

    /// Classifies the examples that are one program with plain arguments; as whole commands, all of them are tested
    /// elsewhere.
    #[test]
    fn plain_examples_are_classified_by_their_words() {
        let catalog = Catalog::new(&|_| true, Vec::new(), Vec::new());
        let around = Around {
            directory: "/home/me/project",
            home: "/home/me",
            environment: &|_| None,
            lookup: &Nothing,
            input: None,
        };
        let is_plain = |command: &str| {
            let is_sign = |one: char| !one.is_alphanumeric() && !" -_./:@=,+".contains(one);
            let first = command.split(' ').next().unwrap_or_default();
            !command.contains(is_sign) && RULES.iter().any(|(program, ..)| *program == first)
        };
        let mut tried = 0;
        for (id, is_match, command) in EXAMPLES.iter().filter(|(.., command)| is_plain(command)) {
            let needs_repository = catalog.action(id).is_some_and(|one| !one.set.needs_grant());
            if needs_repository {
                continue;
            }
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let (program, arguments) = words.split_first().unwrap();
            let answer = catalog.classify(program, arguments, &around);
            let found = answer.actions.iter().any(|(found, _)| found == id);
            assert_eq!(found, *is_match, "{id} {command}");
            tried += 1;
        }
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn every_rule_can_be_read_and_a_wrong_one_is_named() {
        for (program, number, rest) in RULES {
            let id = ACTIONS[*number].id;
            assert_eq!(check_rule(&format!("{program} {rest}")), Ok(()), "{id}");
        }
        for (rule, part) in [
            ("", "program"),
            ("a/b push", "program"),
            ("x ?nothing", "?nothing"),
            ("x @<y>", "@<y>"),
            ("x -f push", "push"),
        ] {
            let message = check_rule(rule).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
