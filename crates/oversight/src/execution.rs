//! Gated actions of a program that is about to be executed, with certain arguments.
//!
//! The same table, arguments and facts as for a command before it runs, so one approval fits both checkpoints.
//! Nothing is predicted here: a program that is started later is seen when it starts. Only the behaviour of one
//! process is followed: the script of an interpreter, the program behind a loader, an alias that a program resolves
//! by itself, a mistake that git corrects.

mod carried;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use carried::{carried, is_interpreter, is_loader};

use crate::act::Act;
use crate::decide::{Call, Rules, approve};
use crate::evaluate::mistyped::is_unknown;
use crate::evaluate::remote::HANDLED;
use crate::evaluate::run::program_name;
use crate::evaluate::{Evaluator, Findings, Shell};
use crate::verdict::{Decision, Place, Policy, conclude, recorded};
use actions::aliases::{self, Machine, Meant};
use actions::lookup::{Content, Lookup, base_name};
use actions::{Catalog, git_command};
use protection::own;
use shell::escape::quote;
use shell::value::has_hole;

/// Tool by which an execution is the same act as the same command in a shell.
pub const TOOL: &str = "Bash";

/// Programs that combine many: the called name selects one.
const MULTIPLE: &[&str] = &["busybox", "toybox", "coreutils"];

/// Name of a dynamic loader, whatever its file name.
pub const LOADER: &str = "ld.so";

/// Programs that connect to another machine for git.
const SSH: &[&str] = &["ssh", "dbclient", "plink"];

/// Limit of programs inside programs: a loader, an interpreter, a script.
const MAX_CARRIED: usize = 4;

/// Limit of aliases of aliases.
const MAX_ALIASES: usize = 8;

/// Execution of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Possible names of the program: of its file, of a link's target, of its bytes.
    pub names: Vec<String>,
    /// Arguments, its own name first.
    pub words: Vec<String>,
    pub directory: String,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Variables that differ from those at the command's start.
    pub given: Vec<(String, String)>,
    /// Program by the bytes of the file that it loads, if it is a loader.
    pub loads: Option<String>,
    /// Set if a git above it was judged.
    pub is_below_git: bool,
    /// Local socket to which the running program connects; then only the connection is judged.
    pub socket: Option<String>,
}

/// One interpretation of an execution: the program that acts, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Started {
    program: String,
    arguments: Vec<String>,
}

/// A part of a push or a fetch that git starts by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Target, if the arguments tell it.
    pub to: Option<String>,
    /// Set for the far end, which only receives.
    pub receives: bool,
}

impl Execution {
    /// Returns the equivalent command line, as the shell analysis would see it.
    #[must_use]
    pub fn input(&self) -> Json {
        let name = self.words.first().or(self.names.first());
        let set = self.steering();
        let set = set
            .iter()
            .map(|(name, value)| format!("{name}={}", quote(value)));
        let words = name.into_iter().chain(self.words.iter().skip(1));
        let mut all: Vec<String> = set.chain(words.map(|word| quote(word))).collect();
        all.extend(self.socket.iter().map(|socket| format!("# unix:{socket}")));
        json!({ "command": all.join(" ") })
    }

    /// Returns the variables that control this program. A package manager's script sets many for the manager only.
    fn steering(&self) -> Vec<(&str, &str)> {
        let by_git = self.readings().iter().any(|one| one.program == "git");
        let steers = |(name, _): &&(String, String)| match by_git {
            true => name.starts_with("GIT_"),
            false => {
                Shell::steers(name)
                    && (!name.starts_with("npm_") || name.starts_with("npm_config_"))
            }
        };
        let set = self.given.iter().filter(steers);
        set.map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    /// Returns every program that this process is, from the outermost to the script that it runs.
    fn readings(&self) -> Vec<Started> {
        let arguments: Vec<String> = self.words.iter().skip(1).cloned().collect();
        let own = self.words.first().map_or("", |name| base_name(name));
        let named = self.words.first().into_iter().chain(&self.names);
        let mut readings: Vec<Started> = Vec::new();
        for name in named {
            // These depend on the name by which they are called.
            let is_called = base_name(name) == own;
            let by_name = match base_name(name) {
                "git" => own.starts_with("git-"),
                name => MULTIPLE.contains(&name),
            };
            if by_name && !is_called {
                continue;
            }
            let mut next = Some(of_git(Started {
                program: program_name(name),
                arguments: arguments.clone(),
            }));
            for _ in 0..MAX_CARRIED {
                let Some(one) = next.filter(|one| !readings.contains(one)) else {
                    break;
                };
                next = carried(&one).map(of_git);
                let loaded = self.loads.as_ref().filter(|_| is_loader(&one.program));
                let loaded = loaded.zip(next.as_ref()).map(|(name, inner)| Started {
                    program: program_name(name),
                    arguments: inner.arguments.clone(),
                });
                readings.push(one);
                readings.extend(loaded.map(of_git).filter(|one| !readings.contains(one)));
            }
        }
        readings
    }

    /// Returns `true` if it performs a gated action, granted or not.
    #[must_use]
    pub fn is_gated(&self, policy: &Policy, home: &str, lookup: &dyn Lookup) -> bool {
        let findings = self.findings(policy, home, lookup);
        !findings.actions.is_empty() || !findings.guarded.is_empty()
    }

    /// Returns the ids of the gated actions that it performs, sorted.
    #[must_use]
    pub fn actions(&self, policy: &Policy, home: &str, lookup: &dyn Lookup) -> Vec<String> {
        let found = self.findings(policy, home, lookup).actions;
        let mut ids: Vec<String> = found.into_iter().map(|one| one.action).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the act, as facts that are equal to those of the same command before it runs.
    #[must_use]
    pub fn act(&self, policy: &Policy, home: &str, lookup: &dyn Lookup) -> Act {
        let findings = self.findings(policy, home, lookup);
        Act::of(TOOL, &self.input(), &self.directory, &findings)
    }

    /// Decides the execution.
    #[must_use]
    pub fn decide(
        &self,
        rules: &Rules<'_>,
        home: &str,
        lookup: &dyn Lookup,
        now: Timestamp,
    ) -> Decision {
        let findings = self.findings(rules.policy, home, lookup);
        let input = self.input();
        let call = Call {
            tool: TOOL,
            input: &input,
            place: Place {
                directory: &self.directory,
                home,
            },
        };
        let mut decision = conclude(rules.policy, &call, findings, rules.grants, lookup, now);
        decision.recorded = recorded(decision.verdict);
        approve(&mut decision, rules.approved);
        decision
    }

    fn findings(&self, policy: &Policy, home: &str, lookup: &dyn Lookup) -> Findings {
        let catalog = &policy.catalog;
        let mut evaluator = Evaluator::new(lookup, catalog, &self.directory, home);
        for (name, value) in self.steering() {
            evaluator.export(name, value);
        }
        if let Some(socket) = &self.socket {
            let program = self.names.first().map_or("", String::as_str);
            let words = self.words.iter().skip(1).map(|word| certain(word));
            let words: Vec<String> = words.chain([format!("unix:{socket}")]).collect();
            if let Some(action) = catalog.of_socket(socket) {
                evaluator.found(action, "connect", program, &words);
            }
            return evaluator.into_findings();
        }
        let mut readings = self.readings();
        let home = self.variable("HOME").unwrap_or(home);
        for one in self.readings() {
            readings.extend(self.aliased(&one, home, lookup));
            readings.extend(self.corrected(&one, home, catalog, lookup));
        }
        for Started { program, arguments } in &readings {
            let clean: Vec<String> = arguments.iter().map(|word| certain(word)).collect();
            if let Some(guarded) = own::command(&clean).filter(|_| program == "roleos") {
                evaluator.guarded(guarded);
            }
            let before = evaluator.acts();
            evaluator.classify(program, &clean);
            if self.is_part_of_push(program, &clean) && evaluator.acts() == before {
                evaluator.found("git:push", "part of a push", program, &clean);
            }
        }
        let mut findings = evaluator.into_findings();
        // Arguments are certain here: acts that the table does not find in them do not happen.
        findings.opaque.clear();
        // Acts that need no grant lead to a question at the tool call. A program cannot be asked, and programs read
        // keys and reset their own repositories frequently.
        findings.actions.retain(|one| {
            let action = catalog.action(&one.action);
            action.is_some_and(|action| action.set.needs_grant())
        });
        // The same act by two names of one program.
        let mut seen = Vec::new();
        findings.actions.retain(|one| {
            let key = (
                one.action.clone(),
                one.words.get(1..).unwrap_or_default().to_vec(),
            );
            let is_new = !seen.contains(&key);
            seen.push(key);
            is_new
        });
        findings
    }

    /// Returns `true` if a program is a part of a push that git starts by itself, so that its parent pushes.
    fn is_part_of_push(&self, program: &str, arguments: &[String]) -> bool {
        let starts = |word: &String| {
            let word = word.trim_start();
            word.starts_with("git-receive-pack") || word.starts_with("git receive-pack")
        };
        let verb = arguments.first().map_or("", String::as_str);
        match program {
            "git" if verb == "receive-pack" => true,
            // A fetch needs it as well.
            "git" if verb.starts_with("remote-") => arguments.len() > 1 && !self.is_below_git,
            name if SSH.contains(&name) => arguments.iter().any(starts),
            _ => sends(arguments),
        }
    }

    /// Returns the commands behind an alias, one interpretation per alias. Programs passed to a shell are seen later.
    fn aliased(&self, one: &Started, home: &str, lookup: &dyn Lookup) -> Vec<Started> {
        let machine = Machine {
            directory: &self.directory,
            home,
            variable: &|name| self.variable(name).map(str::to_owned),
            read: &|path| match lookup.read(path) {
                Content::Text(text) => Some(text),
                _ => None,
            },
        };
        let mut found: Vec<Started> = Vec::new();
        let mut next = one.clone();
        for _ in 0..MAX_ALIASES {
            let called = aliases::called(&next.program, &next.arguments, machine);
            let Some(Meant::Arguments(arguments)) = called.map(|called| called.meant) else {
                break;
            };
            next.arguments = arguments;
            if found.contains(&next) {
                break;
            }
            found.push(next.clone());
        }
        found
    }

    /// Returns the commands that git runs in its own process in place of an unknown one.
    fn corrected(
        &self,
        one: &Started,
        home: &str,
        catalog: &Catalog,
        lookup: &dyn Lookup,
    ) -> Vec<Started> {
        if !is_corrected(one) {
            return Vec::new();
        }
        let mut evaluator = Evaluator::new(lookup, catalog, &self.directory, home);
        for (name, value) in &self.environment {
            evaluator.export(name, value);
        }
        let corrected = evaluator.git_corrected(&one.arguments).into_iter();
        corrected
            .map(|arguments| Started {
                program: one.program.clone(),
                arguments,
            })
            .collect()
    }

    fn variable(&self, wanted: &str) -> Option<&str> {
        let mut set = self
            .environment
            .iter()
            .filter(|(_, value)| !value.is_empty());
        set.find_map(|(name, value)| (name == wanted).then_some(value.as_str()))
    }

    /// Returns `true` if the program resolves names by itself, so that its variables decide where they lead.
    #[must_use]
    pub fn has_aliases(&self) -> bool {
        let resolves = |one: &Started| aliases::has(&one.program) || is_corrected(one);
        self.readings().iter().any(resolves)
    }

    /// Returns `true` for a push that sends nothing. Git starts the far end for it nevertheless.
    #[must_use]
    pub fn is_dry_push(&self, policy: &Policy, home: &str, lookup: &dyn Lookup) -> bool {
        let pushes = |one: &Started| {
            one.program == "git"
                && git_command(&one.arguments)
                    .rest
                    .first()
                    .is_some_and(|verb| verb == "push")
        };
        self.readings().iter().any(pushes) && !self.is_gated(policy, home, lookup)
    }

    /// Returns the helper if git would start this itself for a push, with the target.
    #[must_use]
    pub fn helper(&self) -> Option<Helper> {
        let operand = |words: &[String]| words.iter().find(|word| !word.starts_with('-')).cloned();
        self.readings()
            .iter()
            .find_map(|Started { program, arguments }| {
                let verb = arguments.first().map_or("", String::as_str);
                let rest = arguments.get(1..).unwrap_or_default();
                match (program.as_str(), verb) {
                    ("git", "pack-objects") => Some(Helper {
                        to: None,
                        receives: false,
                    }),
                    ("git", "send-pack") => Some(Helper {
                        to: operand(rest),
                        receives: false,
                    }),
                    ("git", "receive-pack") => Some(Helper {
                        to: operand(rest),
                        receives: true,
                    }),
                    ("git", verb) if verb.starts_with("remote-") => {
                        let to = arguments.get(2).cloned();
                        Some(Helper {
                            to,
                            receives: false,
                        })
                    }
                    _ => {
                        let to = arguments.iter().find_map(|word| received(word))?;
                        Some(Helper {
                            to: Some(to),
                            receives: true,
                        })
                    }
                }
            })
    }
}

/// Returns the program that an interpreter runs within itself, by the name of its script, and its arguments.
pub(crate) fn within(program: &str, arguments: &[String]) -> Option<(String, Vec<String>)> {
    let one = Started {
        program: program.to_owned(),
        arguments: arguments.to_vec(),
    };
    carried(&one).map(|script| (script.program, script.arguments))
}

/// Returns `true` if a program of this name can perform a gated action, by itself or by a program within it. Fast,
/// because it is called for every execution.
#[must_use]
pub fn is_of_interest(catalog: &Catalog, name: &str) -> bool {
    let name = program_name(name);
    catalog.is_program(&name)
        || is_interpreter(&name)
        || name.starts_with("git-")
        || is_loader(&name)
        || MULTIPLE.contains(&name.as_str())
        || SSH.contains(&name.as_str())
        || matches!(name.as_str(), "roleos" | "corepack")
}

/// Returns `true` if git may run another command than the given one.
fn is_corrected(one: &Started) -> bool {
    let verb = || git_command(&one.arguments).rest.iter().next();
    one.program == "git" && verb().is_some_and(|verb| is_unknown(verb))
}

/// Returns the repository of a far end's command, which must be `git-receive-pack '/path'` and nothing else.
fn received(text: &str) -> Option<String> {
    let path = text
        .strip_prefix("git-receive-pack ")
        .or_else(|| text.strip_prefix("git receive-pack "))?
        .trim();
    let is_more = |one: char| ";&|`$()<>\n".contains(one);
    (!path.contains(is_more)).then(|| path.trim_matches(['\'', '"']).to_owned())
}

/// Returns `true` for arguments that only a push has, whatever the name of the program: the far end's command behind
/// a host, the objects for it, the sending behind a helper for HTTP.
#[must_use]
pub fn sends(arguments: &[String]) -> bool {
    let has = |flags: &[&str]| {
        let mut flags = flags.iter();
        flags.all(|flag| arguments.iter().any(|word| word == flag))
    };
    match arguments {
        [verb, ..] if verb == "pack-objects" => {
            has(&["--all-progress-implied", "--revs", "--stdout"])
        }
        [verb, ..] if verb == "send-pack" => has(&["--stateless-rpc"]),
        // Git quotes the path.
        [_, .., last] => last.ends_with('\'') && received(last).is_some(),
        _ => false,
    }
}

/// Returns `true` for a program that makes a daemon or another machine start something.
#[must_use]
pub fn launches(name: &str) -> bool {
    HANDLED.contains(&program_name(name).as_str())
}

/// Returns the file that a loader loads as a program.
#[must_use]
pub fn loaded(words: &[String]) -> Option<&str> {
    let rest = carried::behind_loader(words.get(1..)?)?;
    rest.first().map(String::as_str)
}

/// Returns `true` for a program that loads others into its own process.
#[must_use]
pub fn loads(name: &str) -> bool {
    is_loader(&program_name(name))
}

/// Converts `git-send-pack x` to `git send-pack x`.
fn of_git(one: Started) -> Started {
    match one.program.strip_prefix("git-") {
        Some(verb) if !verb.is_empty() => {
            let mut arguments = vec![verb.to_owned()];
            arguments.extend(one.arguments);
            Started {
                program: "git".to_owned(),
                arguments,
            }
        }
        _ => one,
    }
}

/// Returns an argument without the markers that the shell analysis uses for unknown parts.
fn certain(word: &str) -> String {
    match has_hole(word) {
        true => word
            .chars()
            .map(|one| {
                if has_hole(&one.to_string()) {
                    '\u{FFFD}'
                } else {
                    one
                }
            })
            .collect(),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests;
