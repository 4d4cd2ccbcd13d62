//! Commands in the arguments of an unknown tool: in any string, at any depth, also in JSON within a string.
//!
//! A string may be typed into a terminal, so [`keys`] reads its control characters first. The arguments of a tool
//! that is named after a gated program are also read behind that program's name: `{"op": "push"}` of the server
//! `git`.
//!
//! A string in a field that is named for commands is followed as one. Any other string leads to a question if it
//! looks like the call of a gated program, unless its tool or its field is for people: text that is searched for,
//! asked, noted or posted is not run. A tool that runs, types or schedules things is never taken to be for people.

use serde_json::Value;

use super::keys;
use crate::act::sorted;
use crate::evaluate::remote;
use crate::evaluate::run::program_name;
use crate::evaluate::shells::is_shell;
use crate::evaluate::wrapper::is_wrapper;
use crate::evaluate::{Evaluator, is_interpreter};
use actions::programs::{ENVIRONMENTS, PACKAGES};
use protection::inputs::{self, parts_of};
use protection::programs::handles_files;
use shell::words::names;

/// Parts of the names of fields that contain a command.
pub(super) const COMMANDS: &[&str] =
    names!("command commands cmd cmds script scripts bash shell sh run exec commandline");

/// Parts of the names of fields that contain only a program or its arguments.
pub(super) const CALLS: &[&str] = names!("program executable exe binary bin args arguments argv");

/// Fields that contain code, whose strings can be commands.
const CODE: &[&str] = names!("script js javascript");

/// Calls of other languages that start a program.
const STARTS: &[&str] = names!(
    "system( popen( exec( execSync( execFile( execFileSync( spawn( spawnSync( subprocess child_process check_call( \
    check_output( execvp( execv( shell_exec( proc_open( ProcessBuilder( getRuntime() Command::new( exec.Command("
);

/// Fields that contain the content of a file.
const CONTENT: &[&str] = names!(
    "content contents file_text new_string old_string new_str old_str insert_text patch diff code source"
);

/// Words in the name of a tool or its server for running, typing or scheduling the input.
const RUNS: &[&str] = names!(
    "run runs runner exec execute eval evaluate shell bash sh zsh powershell terminal console tmux command commands \
    cmd script process spawn invoke launch start call cron schedule workflow job jobs pipeline docker ssh kubectl \
    repl python node stdin keys type trigger deploy make"
);

/// Words in the name of a tool or its server for text that people read.
const TELLS: &[&str] = names!(
    "comment comments message messages issue issues note notes page pages post reply email mail ticket tickets todo \
    todos think thinking thought remember memory memories observation observations doc docs document documents \
    summary summarize translate"
);

/// Fields with text that people read, or that is searched for.
pub(super) const FOR_PEOPLE: &[&str] = names!(
    "title subject summary description query q question search topic thought comment label labels tag tags reason \
    note notes"
);

/// Fields that name an object of a program, or contain a text that it stores: never an operation.
pub(super) const OBJECTS: &[&str] = names!(
    "message body text content branch ref refs base head name path paths file files filename remote repo repository \
    owner user author email sha commit id url uri format version directory dir cwd workdir workspace root target source"
);

/// Limit of the length of a string that may be a command.
const MAX_TEXT: usize = 16 * 1024;
/// Longest line that can be a command in a field of another kind, and its longest part in words.
const MAX_LINE: usize = 300;
const MAX_WORDS: usize = 5;
/// Limit of strings; the rest of the input counts as not understood.
pub(super) const MAX_STRINGS: usize = 256;

/// Follows the commands in the input of a tool.
pub(super) fn follow(evaluator: &mut Evaluator<'_>, tool: &str, input: &Value) {
    let words = parts_of(tool);
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    let purpose = if has(RUNS) {
        Purpose::Runs
    } else if has(TELLS) || inputs::only_reads(&words) {
        Purpose::People
    } else {
        Purpose::Unknown
    };
    let mut left = MAX_STRINGS;
    let is_program = |word: &&String| evaluator.catalog.is_program(word);
    let mut programs: Vec<String> = words.iter().filter(is_program).cloned().collect();
    programs.dedup();
    let mut walk = Walk {
        evaluator,
        tool,
        input,
        purpose,
        programs,
        // The content of a file is not run by the tool that writes it.
        writes_file: inputs::changes(&words) && has_path(input),
        left: &mut left,
    };
    walk.value("", input);
}

/// Use of text by a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It runs, types or schedules its input.
    Runs,
    /// It reads, searches, or shows text to people.
    People,
    Unknown,
}

/// A walk over the input of one call.
pub(super) struct Walk<'w, 'e> {
    pub(super) evaluator: &'w mut Evaluator<'e>,
    tool: &'w str,
    /// The whole input of the call.
    input: &'w Value,
    pub(super) purpose: Purpose,
    /// Gated programs in the name of the tool or its server.
    programs: Vec<String>,
    /// Set if the tool writes a file.
    writes_file: bool,
    /// Number of strings that may still be followed.
    left: &'w mut usize,
}

impl Walk<'_, '_> {
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => {
                self.behind_program(key, std::slice::from_ref(text));
                self.string(key, text);
            }
            Value::Array(items) => {
                self.words(key, items);
                self.container(key, value);
                for item in items {
                    self.value(key, item);
                }
            }
            Value::Object(entries) => {
                self.container(key, value);
                for (key, value) in entries {
                    self.string("", key);
                    if !matches!(value, Value::Null | Value::Bool(false)) {
                        self.behind_program("", std::slice::from_ref(key));
                    }
                    self.value(key, value);
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if text in this field may be run although the field is not named for commands.
    fn may_run(&self, parts: &[String]) -> bool {
        let is_for_people = || parts.iter().any(|part| FOR_PEOPLE.contains(&part.as_str()));
        match self.purpose {
            Purpose::Runs => true,
            Purpose::People => false,
            Purpose::Unknown => !is_for_people(),
        }
    }

    /// Evaluates `["git", "push"]`: a list that begins with a program.
    fn words(&mut self, key: &str, items: &[Value]) {
        let words: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect();
        let Some(words) = words.filter(|words| !words.is_empty() && words.len() < 1000) else {
            return;
        };
        self.behind_program(key, &words);
        if words.len() < 2 {
            return;
        }
        self.string(key, &keys::joined(&words));
    }

    /// Evaluates `{"op": "push"}` of a tool that is named after git: the arguments behind the name of the program.
    fn behind_program(&mut self, key: &str, words: &[String]) {
        let parts = parts_of(key);
        let may_act = self.may_run(&parts)
            && !is_named(&parts, OBJECTS)
            && !is_named(&parts, FOR_PEOPLE)
            && !holds_content(key);
        if !may_act && !is_named(&parts, COMMANDS) {
            return;
        }
        let text = words.join(" ");
        if text.len() > MAX_LINE {
            return;
        }
        if let [name] = words {
            self.named_act(name);
        }
        for at in 0..self.programs.len() {
            let Some(program) = self.programs.get(at) else {
                return;
            };
            let line = format!("{program} {}", keys::lines(&text));
            if reads_as_command(self.evaluator, &line) {
                self.evaluator
                    .perhaps(|this| this.muted(|this| this.shell_text(&line)));
            }
        }
    }

    /// Evaluates `{"method": "push_files"}`, or `{"method": "create"}` of a tool for releases: an act by the name of
    /// its tool.
    fn named_act(&mut self, name: &str) {
        let verb = super::bare_name(name);
        let noun = super::bare_name(self.tool);
        let of_noun = format!("{verb}_{}", noun.strip_suffix('s').unwrap_or(&noun));
        let names = [verb, of_noun];
        let acts = names.iter().filter(|name| name.contains('_'));
        let mut acts = acts.filter_map(|name| super::action_of(self.tool, name, self.input));
        let act = acts.find(|act| self.evaluator.catalog.action(act).is_some());
        if let Some(act) = act {
            let arguments = [sorted(self.input)];
            self.evaluator
                .perhaps(|this| this.found(act, self.tool, self.tool, &arguments));
        }
    }

    fn string(&mut self, key: &str, text: &str) {
        if text.len() > MAX_TEXT {
            return;
        }
        let typed = keys::lines(&keys::spelled(text));
        if !may_start(self.evaluator, &typed) {
            return;
        }
        let Some(rest) = self.left.checked_sub(1) else {
            return;
        };
        *self.left = rest;
        let parts = parts_of(key);
        if !holds_content(key)
            && let Some(inner) = inputs::json_in(text)
        {
            return self.value(key, &inner);
        }
        let may_run = self.may_run(&parts);
        let is_typed = typed != text;
        if is_named(&parts, COMMANDS) {
            self.evaluator.shell_text(text);
        } else if may_run && !holds_content(key) && reads_as_command(self.evaluator, text) {
            self.evaluator.perhaps(|this| this.shell_text(text));
        }
        if is_named(&parts, COMMANDS) || (may_run && !holds_content(key)) {
            // Several lines of plain text are a text; those of a tool that runs things, or that are typed, are
            // commands.
            let is_many = is_typed || (self.purpose == Purpose::Runs && text.trim().contains('\n'));
            for line in typed.lines().filter(|_| is_many).take(MAX_STRINGS) {
                if reads_as_command(self.evaluator, line) {
                    self.evaluator
                        .perhaps(|this| this.muted(|this| this.shell_text(line)));
                }
            }
        }
        let is_content = self.writes_file && holds_content(key);
        let starts = may_run && !is_content && STARTS.iter().any(|start| text.contains(start));
        if is_named(&parts, CODE) || starts {
            self.code(text);
        }
    }
}

impl Walk<'_, '_> {
    /// Follows the commands in the quoted strings of code, and those whose arguments are quoted one by one.
    fn code(&mut self, text: &str) {
        for literal in text.split(['"', '\'', '`']).take(MAX_STRINGS) {
            if reads_as_command(self.evaluator, literal) {
                self.evaluator.perhaps(|this| this.shell_text(literal));
            }
        }
        for words in quoted_lists(text) {
            let begins = words
                .first()
                .is_some_and(|word| is_program(self.evaluator, word));
            if begins && words.len() > 1 {
                self.evaluator.perhaps(|this| this.run(&words));
            }
        }
    }
}

/// Returns the lists of quoted strings in code: `["git", "push"]`, `new("git").args(["push"])`.
fn quoted_lists(text: &str) -> Vec<Vec<String>> {
    let mut lists = vec![Vec::new()];
    // Every second part is between quotes.
    for (at, part) in text.split(['"', '\'', '`']).take(MAX_STRINGS).enumerate() {
        if at % 2 == 1 {
            lists
                .last_mut()
                .into_iter()
                .for_each(|list| list.push(part.to_owned()));
            continue;
        }
        let letters: String = part.chars().filter(char::is_ascii_alphanumeric).collect();
        if !matches!(letters.as_str(), "" | "arg" | "args") || part.contains([';', '\n']) {
            lists.push(Vec::new());
        }
    }
    lists
}

/// Returns `true` if a field of the input names a file.
fn has_path(input: &Value) -> bool {
    let is_path = |key: &String| {
        parts_of(key)
            .iter()
            .any(|part| matches!(part.as_str(), "path" | "file" | "filename" | "uri"))
    };
    input
        .as_object()
        .is_some_and(|fields| fields.keys().any(is_path))
}

/// Returns `true` if a string is the name of a program that is gated, starts others or handles files.
pub(super) fn can_begin(evaluator: &Evaluator<'_>, word: &str) -> bool {
    let name = program_name(word);
    !word.contains(char::is_whitespace)
        && (is_program(evaluator, word)
            || is_wrapper(&name)
            || is_shell(&name)
            || is_interpreter(&name)
            || remote::HANDLED.contains(&name.as_str())
            || PACKAGES.iter().any(|(program, _)| *program == name)
            || ENVIRONMENTS
                .iter()
                .any(|(programs, _)| programs.contains(&name.as_str()))
            || handles_files(&name))
}

/// Returns `true` if a field contains the content of a file, or its replacement: `newText`.
pub(super) fn holds_content(key: &str) -> bool {
    let is_text = |parts: &[String]| matches!(parts, [age, text] if matches!(age.as_str(), "old" | "new") && text == "text");
    CONTENT.contains(&key) || is_text(&parts_of(key))
}

pub(super) fn is_named(parts: &[String], names: &[&str]) -> bool {
    parts.iter().any(|part| names.contains(&part.as_str()))
}

/// Returns `true` if a text contains the name of a program that is gated, ours or an agent.
pub(super) fn may_start(evaluator: &Evaluator<'_>, text: &str) -> bool {
    let mut programs = evaluator
        .catalog
        .programs()
        .chain(["roleos", "claude", "codex", "gemini"]);
    programs.any(|program| text.contains(program)) || actions::mentions_guarded(text)
}

pub(super) fn is_program(evaluator: &Evaluator<'_>, word: &str) -> bool {
    let name = program_name(word);
    evaluator.catalog.is_program(&name) || name == "roleos"
}

/// Returns `true` if a text is one line whose parts are short, and one of them begins with a gated program.
fn reads_as_command(evaluator: &Evaluator<'_>, text: &str) -> bool {
    let line = text.trim();
    if line.len() > MAX_LINE || line.contains('\n') {
        return false;
    }
    let parts = line
        .split(['&', ';', '|'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.into_iter().any(|part| {
        // `g=git; $g push`.
        if part.starts_with('$') && line.contains('=') {
            return true;
        }
        let bare = |word: &'_ str| word.trim_matches(['"', '\'', '(', '{']).to_owned();
        let mut words = part
            .split_whitespace()
            .map(bare)
            .skip_while(|word| word.contains('='))
            .peekable();
        let starts_others = |word: &String| {
            let name = program_name(word);
            is_wrapper(&name) || is_shell(&name)
        };
        // `timeout 5 git push`, `sh -c "git push"`: the program comes later.
        let begins = if words.peek().is_some_and(starts_others) {
            words.any(|word| is_program(evaluator, &word) || actions::mentions_guarded(&word))
        } else if actions::mentions_guarded(part) {
            words
                .next()
                .is_some_and(|first| can_begin(evaluator, &first))
        } else {
            words
                .next()
                .is_some_and(|first| is_program(evaluator, &first))
        };
        let operands = words.filter(|word| !word.starts_with('-')).count();
        begins && operands < MAX_WORDS - 1
    })
}
