//! Commands in the arguments of a tool that is not known: in any string, at any depth, also in JSON within a string.
//!
//! A string in a field that is named for commands is followed as one. Any other string counts, as a question, where it
//! reads as the call of a gated program, unless its tool or its field is for people: what is searched for, asked, noted
//! or posted is not run. A tool that runs, types or schedules things is never taken to be for people.

use serde_json::Value;

use crate::evaluate::Evaluator;
use crate::evaluate::run::program_name;
use crate::guard::inputs;
use shell::words::names;

/// Parts of the names of fields that hold a command.
const COMMANDS: &[&str] =
    names!("command commands cmd cmds script scripts bash shell sh run exec commandline");

/// Fields that hold the name of a program, and its arguments.
const PROGRAMS: &[&str] = names!("program executable exe binary bin command cmd tool");
const ARGUMENTS: &[&str] = names!("args arguments argv params parameters");

/// Fields that hold code, whose strings can be commands.
const CODE: &[&str] = names!("script js javascript");

/// Fields that hold the content of a file.
const CONTENT: &[&str] = names!(
    "content contents file_text new_string old_string new_str old_str insert_text patch diff code source"
);

/// Words of a tool's name or its server's that say that it runs, types or schedules what it is given.
const RUNS: &[&str] = names!(
    "run runs runner exec execute eval evaluate shell bash sh zsh powershell terminal console tmux command commands \
    cmd script process spawn invoke launch start call cron schedule workflow job jobs pipeline docker ssh kubectl \
    repl python node stdin keys type trigger deploy make"
);

/// Words of a tool's name or its server's that say that its text is for people to read.
const TELLS: &[&str] = names!(
    "comment comments message messages issue issues note notes page pages post reply email mail ticket tickets todo \
    todos think thinking thought remember memory memories observation observations doc docs document documents \
    summary summarize translate"
);

/// Fields whose text is for people to read, or is searched for.
const FOR_PEOPLE: &[&str] = names!(
    "title subject summary description query q question search topic thought comment label labels tag tags reason \
    note notes"
);

/// Longer strings are texts.
const MAX_TEXT: usize = 16 * 1024;
/// Longest line that can be a command in a field of another kind, and its longest part in words.
const MAX_LINE: usize = 300;
const MAX_WORDS: usize = 5;
/// More strings are not followed; the rest of the input counts as one that is not understood.
const MAX_STRINGS: usize = 256;

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
    let mut walk = Walk {
        evaluator,
        purpose,
        left: &mut left,
    };
    walk.value("", input);
}

/// What a tool does with the text that it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It runs, types or schedules things.
    Runs,
    /// It reads, searches or tells people something.
    People,
    Unknown,
}

/// A walk over the input of one call.
struct Walk<'w, 'e> {
    evaluator: &'w mut Evaluator<'e>,
    purpose: Purpose,
    /// Strings that are still followed.
    left: &'w mut usize,
}

impl Walk<'_, '_> {
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => self.string(key, text),
            Value::Array(items) => {
                self.words(key, items);
                for item in items {
                    self.value(key, item);
                }
            }
            Value::Object(entries) => {
                call(self.evaluator, value);
                for (key, value) in entries {
                    self.string("", key);
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

    /// `["git", "push"]`: a list of words that begins with a program.
    fn words(&mut self, key: &str, items: &[Value]) {
        let words: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect();
        let Some(words) = words.filter(|words| words.len() > 1 && words.len() < 1000) else {
            return;
        };
        let begins = words
            .first()
            .is_some_and(|first| is_program(self.evaluator, first));
        let parts = parts_of(key);
        if begins && (self.may_run(&parts) || is_named(&parts, COMMANDS)) {
            self.evaluator.perhaps(|this| this.run(&words));
        }
    }

    fn string(&mut self, key: &str, text: &str) {
        if text.len() > MAX_TEXT || !may_start(self.evaluator, text) {
            return;
        }
        let Some(rest) = self.left.checked_sub(1) else {
            return;
        };
        *self.left = rest;
        let parts = parts_of(key);
        if !CONTENT.contains(&key)
            && let Some(inner) = inputs::json_in(text)
        {
            return self.value(key, &inner);
        }
        let may_run = self.may_run(&parts);
        if is_named(&parts, COMMANDS) {
            self.evaluator.shell_text(text);
        } else if may_run && !CONTENT.contains(&key) && reads_as_command(self.evaluator, text) {
            self.evaluator.perhaps(|this| this.shell_text(text));
        }
        if is_named(&parts, CODE) {
            for literal in text.split(['"', '\'', '`']).take(MAX_STRINGS) {
                if reads_as_command(self.evaluator, literal) {
                    self.evaluator.perhaps(|this| this.shell_text(literal));
                }
            }
        }
    }
}

fn is_named(parts: &[String], names: &[&str]) -> bool {
    parts.iter().any(|part| names.contains(&part.as_str()))
}

/// `{"program": "git", "arguments": ["push"]}`.
fn call(evaluator: &mut Evaluator<'_>, object: &Value) {
    let field = |names: &[&str]| names.iter().find_map(|name| object.get(name));
    let program = field(PROGRAMS).and_then(Value::as_str);
    let Some((program, arguments)) = program.zip(field(ARGUMENTS)) else {
        return;
    };
    let mut all = vec![program.to_owned()];
    match arguments {
        Value::String(text) => all.extend(text.split_whitespace().map(str::to_owned)),
        Value::Array(items) => {
            all.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => return,
    }
    evaluator.run(&all);
}

/// Returns `true` if the name of a program that is gated, ours or an agent stands in a text.
fn may_start(evaluator: &Evaluator<'_>, text: &str) -> bool {
    let mut programs = evaluator
        .catalog
        .programs()
        .chain(["roleos", "claude", "codex", "gemini"]);
    programs.any(|program| text.contains(program)) || actions::mentions_guarded(text)
}

fn is_program(evaluator: &Evaluator<'_>, word: &str) -> bool {
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
        let mut words = part
            .split_whitespace()
            .skip_while(|word| word.contains('=') || *word == "sudo");
        let begins = words
            .next()
            .is_some_and(|first| is_program(evaluator, first));
        let operands = words.filter(|word| !word.starts_with('-')).count();
        begins && operands < MAX_WORDS - 1
    })
}

/// Returns the parts of a field's name, in lower case: `shellCommand`, `shell_command`.
fn parts_of(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in key.chars() {
        let begins = letter.is_ascii_uppercase() || !letter.is_alphanumeric();
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(part) = parts.last_mut()
        {
            part.push(letter.to_ascii_lowercase());
        }
    }
    parts
}
