//! Computes how far a command reflects its test programs: one walk over the parsed command.
//!
//! The output counts for the runner if the command line itself cannot add text to it: beside the tests there are only
//! programs that print nothing, build and check the project, or pass lines on. The exit code counts if nothing after
//! the tests replaces it.

use shell::ir::{Assignment, Command, Connector, Item, Kind, Pipeline, Redirect, Script, Target};
use shell::lower;

use super::beside::{
    filter_credit, is_harmless, is_marker_item, is_of_project, is_silent_argument,
    is_silent_assignment, is_tool, is_tool_folder, sourced,
};
use super::changes;
use super::given;
use super::loaders;
use super::programs::{self, Tested, name_of};
use super::project::ProjectScript;
use super::selection::Selection;
use super::{Credit, TestCommand, UNKNOWN, assigned, join_folder, plain_words};

/// Nesting that is followed: scripts in strings, as in `bash -c "sh -c …"`, and groups in groups.
const MAX_DEPTH: usize = 16;

/// Most simple commands of one string that are checked.
const MAX_COMMANDS: usize = 500;
/// Parses a command.
pub(super) fn read(command: &str, own: &[Vec<&str>]) -> Option<TestCommand> {
    let mut walk = Walk::new(own);
    walk.text(command, Credit::All, 0);
    let foreign = walk.foreign;
    walk.found.map(|mut found| {
        if foreign {
            found.credit = found.credit.min(Credit::Nothing);
        }
        found
    })
}

/// Returns the variables that a command leaves in the shell for the programs of later commands.
pub(super) fn exports(command: &str) -> Vec<(String, String)> {
    let mut walk = Walk::new(&[]);
    walk.text(command, Credit::All, 0);
    walk.exported
}

struct Walk<'o> {
    own: &'o [Vec<&'o str>],
    found: Option<TestCommand>,
    /// Set if another program may print anything, or stand in for the runner.
    foreign: bool,
    commands: usize,
    folder: String,
    /// Set if `set -e` and `set -o pipefail` are in force.
    errexit: bool,
    pipefail: bool,
    /// Variables that hold arguments of a test program.
    options: Vec<String>,
    /// Directories that were put in front of `PATH`.
    path: Vec<String>,
    /// Sourced scripts.
    sourced: Vec<String>,
    /// Variables that may make a program load code.
    variables: Vec<(String, String)>,
    /// Exported variables.
    exported: Vec<(String, String)>,
}

impl<'o> Walk<'o> {
    fn new(own: &'o [Vec<&'o str>]) -> Self {
        Self {
            own,
            found: None,
            foreign: false,
            commands: 0,
            folder: String::new(),
            errexit: false,
            pipefail: false,
            options: Vec::new(),
            path: Vec::new(),
            sourced: Vec::new(),
            variables: Vec::new(),
            exported: Vec::new(),
        }
    }
}

impl Walk<'_> {
    fn text(&mut self, text: &str, credit: Credit, depth: usize) {
        if depth >= MAX_DEPTH {
            self.foreign = true;
            return;
        }
        match lower::program(text) {
            Ok(script) => self.script(&script, credit, depth),
            Err(_) => self.foreign = true,
        }
    }

    /// Walks a script; `credit` is the highest credit of a test in it.
    fn script(&mut self, script: &Script, credit: Credit, depth: usize) {
        if depth >= MAX_DEPTH {
            self.foreign = true;
            return;
        }
        for (place, item) in script.items.iter().enumerate() {
            let behind = script.items.get(place + 1..).unwrap_or_default();
            let left = if behind.is_empty() || self.errexit && is_plain_item(item) {
                credit
            } else if behind.iter().all(is_marker_item) {
                credit.min(Credit::Output)
            } else {
                Credit::Nothing
            };
            self.item(item, left, depth);
        }
    }

    fn item(&mut self, item: &Item, credit: Credit, depth: usize) {
        let is_chosen = item
            .pipelines
            .iter()
            .any(|(connector, _)| *connector == Connector::Or);
        let credit = if item.beside || is_chosen {
            Credit::Nothing
        } else {
            credit
        };
        for (_, pipeline) in &item.pipelines {
            self.pipeline(pipeline, credit, depth);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, credit: Credit, depth: usize) {
        let Some((first, filters)) = pipeline.commands.split_first() else {
            return;
        };
        let mut credit = credit;
        if pipeline.negated {
            credit = Credit::Nothing;
        }
        if !filters.is_empty() && !self.pipefail {
            let least = filters.iter().map(filter_credit).min();
            credit = credit.min(least.unwrap_or(Credit::Nothing));
        }
        let had_test = self.found.is_some();
        self.command(first, credit, depth);
        let is_filtered = self.found.is_some() && !had_test;
        for filter in filters {
            if is_filtered && filter_credit(filter) > Credit::Nothing {
                continue;
            }
            self.command(filter, Credit::Nothing, depth);
        }
    }

    fn command(&mut self, command: &Command, credit: Credit, depth: usize) {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            self.foreign = true;
            return;
        }
        let is_process = |redirect: &Redirect| {
            matches!(
                redirect.target,
                Target::ReadProcess(_) | Target::WriteProcess(_)
            )
        };
        self.foreign |= command.redirects.iter().any(is_process);
        // A change of files after the tests was not tested.
        self.foreign |= self.found.is_some() && changes::writes(command, self.own);
        match &command.kind {
            Kind::Simple { assignments, words } => {
                self.foreign |= !words.iter().all(is_silent_argument)
                    || !assignments.iter().all(is_silent_assignment);
                if let Some(is_known) = sourced(words) {
                    // A script may define a function with a program's name.
                    self.foreign |= !is_known;
                    self.sourced.extend(plain_words(words).into_iter().nth(1));
                    return;
                }
                assignments.iter().for_each(|one| self.assignment(one));
                self.simple(&plain_words(words), credit, depth);
            }
            Kind::Group(inner) => self.script(inner, credit, depth + 1),
            Kind::Subshell(inner) => {
                self.apart(|walk| walk.script(inner, credit, depth + 1));
            }
            Kind::Function { body, .. } | Kind::Coprocess { body, .. } => {
                self.foreign = true;
                self.command(body, Credit::Nothing, depth + 1);
            }
            kind => {
                self.foreign = true;
                for script in branches(kind) {
                    self.script(script, Credit::Nothing, depth + 1);
                }
            }
        }
    }

    /// Runs `walk` in a subshell, whose settings end with it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = (self.folder.clone(), self.errexit, self.pipefail);
        walk(self);
        (self.folder, self.errexit, self.pipefail) = before;
    }

    fn simple(&mut self, words: &[String], credit: Credit, depth: usize) {
        let Some(first) = words.first() else {
            return;
        };
        match programs::tested(words, self.own) {
            Some(Tested::Text(options, text)) => {
                // `--rcfile` names a script that may define a function.
                self.foreign |= !is_tool(first) || words.iter().any(|word| is_startup(word));
                self.apart(|walk| {
                    walk.set(options);
                    walk.text(text, credit, depth + 1);
                });
            }
            Some(Tested::Program(program, arguments)) => {
                // `env NAME=value program`, in front of other wrappers as well.
                let wrapping = words.len().saturating_sub(arguments.len() + 1);
                for word in words.iter().take(wrapping) {
                    if let Some((name, value)) = word.split_once('=') {
                        self.variable(name, value);
                    }
                }
                let wrappers = words.get(..wrapping).unwrap_or_default();
                // Another folder is another project, and `xargs` adds arguments that are only known at run time.
                self.foreign |= wrappers.iter().any(|word| {
                    word == "-C" || word.starts_with("--chdir") || name_of(word) == "xargs"
                });
                let is_own = programs::is_own(words.get(wrapping..).unwrap_or_default(), self.own);
                let is_ours = program == first && (is_of_project(program) || is_own);
                let is_known = is_tool(first) && is_tool(program);
                self.foreign |= !is_ours && !is_known;
                let mut selection = Selection::of(program, arguments);
                selection.add_variables(&self.options);
                let mut test = run_by(wrappers, Some(program).filter(|_| !is_ours));
                if is_own {
                    // The user vouches for the command, not for later content of its files.
                    let files = words.iter().filter(|word| is_file(word));
                    test.programs.extend(files.map(|word| format!("./{word}")));
                } else {
                    test.given = given::of(wrappers, program, arguments);
                    let script = ProjectScript::of(wrappers, (program, arguments), &self.folder);
                    test.scripts.extend(script);
                }
                self.test(TestCommand {
                    credit,
                    folder: self.folder.clone(),
                    selection,
                    ..test
                });
            }
            Some(Tested::Elsewhere) => self.test(TestCommand {
                credit: Credit::Elsewhere,
                ..TestCommand::default()
            }),
            None => {
                self.foreign |= !is_harmless(words);
                self.remember(first, words.get(1..).unwrap_or_default());
            }
        }
    }

    /// Records a test, with the setup before it.
    fn test(&mut self, mut test: TestCommand) {
        test.programs.append(&mut self.sourced.clone());
        test.path.clone_from(&self.path);
        test.variables.clone_from(&self.variables);
        if let Some(before) = self.found.take() {
            test.credit = test.credit.min(before.credit);
            test.programs.extend(before.programs);
            test.modules.extend(before.modules);
            test.given.extend(before.given);
            test.scripts.extend(before.scripts);
        }
        self.found = Some(test);
    }

    /// Records the effects of a quiet command on later ones.
    fn remember(&mut self, program: &str, arguments: &[String]) {
        match program {
            "cd" | "pushd" => {
                let target = arguments.iter().find(|word| !word.starts_with('-'));
                let target = target.map_or(UNKNOWN, String::as_str);
                self.folder = join_folder(&self.folder, target);
            }
            "popd" => self.folder = UNKNOWN.to_owned(),
            "set" => self.set(arguments),
            "export" | "declare" | "typeset" => {
                for word in arguments {
                    if let Some((name, value)) = word.split_once('=') {
                        self.variable(name, value);
                        self.exported.push((name.to_owned(), value.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    /// Applies `-euo pipefail` and its parts.
    fn set(&mut self, options: &[String]) {
        let is_short = |word: &&String| {
            word.strip_prefix('-')
                .is_some_and(|flags| flags.chars().all(|flag| flag.is_ascii_alphabetic()))
        };
        self.errexit |= options
            .iter()
            .filter(is_short)
            .any(|word| word.contains('e'))
            || options.iter().any(|word| word == "errexit");
        self.pipefail |= options.iter().any(|word| word == "pipefail");
        if options.iter().any(|word| word.starts_with('+')) {
            (self.errexit, self.pipefail) = (false, false);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.variable(&assignment.name, &assigned(&assignment.value));
    }

    fn variable(&mut self, name: &str, value: &str) {
        match name {
            "PATH" => {
                let is_tools = |folder: &str| folder == UNKNOWN || is_tool_folder(folder);
                self.foreign |= !value.split(':').all(is_tools);
                let folders = value.split(':').filter(|folder| *folder != UNKNOWN);
                self.path.splice(..0, folders.map(str::to_owned));
            }
            // `cd` and `source` would use another directory.
            "HOME" | "CDPATH" | "PWD" => self.foreign = true,
            // Modules from elsewhere can stand in for those of the project.
            "PYTHONPATH" => {
                self.foreign |= value.split(':').any(|folder| folder.starts_with('/'));
                self.variables.push((name.to_owned(), value.to_owned()));
            }
            _ if loaders::loads_code(name, value) => self.foreign = true,
            _ if loaders::is_harmless(name) => {}
            // Any other variable may select the tests, or name code to load.
            _ => {
                self.options.push(format!("{name}={value}"));
                self.variables.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

/// Returns the programs of a test command behind wrappers, and the module if Python runs one. A script of the project
/// is not a program: its changes are in the diff.
fn run_by(wrappers: &[String], program: Option<&str>) -> TestCommand {
    let of_module = wrappers.last().is_some_and(|word| word == "-m");
    let is_program = |word: &&String| {
        let is_option = word.starts_with(['-', '+']) || word.contains('=');
        !is_option && programs::is_wrapper(name_of(word))
    };
    let mut programs: Vec<String> = wrappers.iter().filter(is_program).cloned().collect();
    let mut modules = Vec::new();
    let names = if of_module {
        &mut modules
    } else {
        &mut programs
    };
    names.extend(program.map(str::to_owned));
    TestCommand {
        programs,
        modules,
        ..TestCommand::default()
    }
}

/// Returns `true` if a word names a file of the project.
fn is_file(word: &str) -> bool {
    let is_path = word.contains('/') || programs::is_test_script(word);
    is_path && !word.starts_with(['-', '/', '~', '\u{1}'])
}

/// Returns `true` for options by which a shell reads a script before its own.
fn is_startup(word: &str) -> bool {
    word.starts_with("--rcfile") || word.starts_with("--init-file")
}

/// Returns the scripts of a condition, a loop or a choice.
pub(super) fn branches(kind: &Kind) -> Vec<&Script> {
    match kind {
        Kind::If { arms, otherwise } => {
            let arms = arms.iter().flat_map(|(condition, body)| [condition, body]);
            arms.chain(otherwise).collect()
        }
        Kind::Loop {
            condition, body, ..
        } => vec![condition, body],
        Kind::For { body, .. } | Kind::ArithmeticFor { body, .. } => vec![body],
        Kind::Case { arms, .. } => arms.iter().map(|arm| &arm.body).collect(),
        _ => Vec::new(),
    }
}
/// Returns `true` if `set -e` ends the shell when the item fails.
fn is_plain_item(item: &Item) -> bool {
    let [(_, pipeline)] = item.pipelines.as_slice() else {
        return false;
    };
    let is_simple = |command: &Command| matches!(command.kind, Kind::Simple { .. });
    pipeline.commands.iter().all(is_simple)
}
