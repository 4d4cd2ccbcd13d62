//! PowerShell, split into statements and words without its semantics: enough to see a program and its words.
//!
//! What is a plain command is followed as such; what computes a command (`iex`, `&` on a variable, encoded text) is
//! opaque. Cmdlets that handle files are taken for the programs that do the same.

use base64::Engine as _;

use crate::evaluate::Evaluator;
use crate::evaluate::run::program_name;
use crate::guard::Touch;
use shell::value::{HOLE, has_hole};

/// Texts inside texts that are followed.
const MAX_DEPTH: usize = 6;

/// Longer texts are not followed.
const MAX_TEXT: usize = 256 * 1024;

/// Whether a tool gives its command to PowerShell.
pub(super) fn is_it(tool: &str) -> bool {
    matches!(
        tool,
        "PowerShell" | "powershell" | "pwsh" | "run_powershell" | "Powershell"
    )
}

/// Cmdlets and their aliases, as the program that does the same to files.
const CMDLETS: &[(&str, &[&str])] = &[
    (
        "tee",
        &[
            "set-content",
            "sc",
            "add-content",
            "ac",
            "out-file",
            "tee-object",
            "clear-content",
            "clc",
            "export-csv",
            "export-clixml",
            "set-item",
            "si",
            "set-acl",
            "set-itemproperty",
            "sp",
        ],
    ),
    ("touch", &["new-item", "ni", "md", "mkdir"]),
    (
        "rm -r",
        &["remove-item", "ri", "rm", "del", "erase", "rd", "rmdir"],
    ),
    (
        "mv",
        &["move-item", "mi", "mv", "move", "rename-item", "rni", "ren"],
    ),
    ("cp -r", &["copy-item", "ci", "cp", "copy", "cpi"]),
    (
        "cat",
        &[
            "get-content",
            "gc",
            "cat",
            "type",
            "import-csv",
            "select-string",
            "sls",
        ],
    ),
    (
        "cd",
        &["set-location", "sl", "cd", "chdir", "push-location"],
    ),
    // Words that are only shown, compared or listed.
    (
        "echo",
        &[
            "write-host",
            "write-output",
            "write",
            "write-verbose",
            "write-warning",
            "write-error",
            "write-information",
            "throw",
            "test-path",
            "get-childitem",
            "gci",
            "dir",
            "get-item",
            "gi",
            "get-command",
            "gcm",
            "get-help",
            "select-object",
            "where-object",
            "measure-object",
            "format-table",
            "format-list",
            "sort-object",
            "join-path",
            "split-path",
            "resolve-path",
        ],
    ),
    (
        "curl -O",
        &["invoke-webrequest", "iwr", "invoke-restmethod", "irm"],
    ),
];

/// Follows a text.
pub(super) fn walk(evaluator: &mut Evaluator<'_>, text: &str, depth: usize) {
    if depth > MAX_DEPTH || text.len() > MAX_TEXT {
        evaluator.opaque("PowerShell that is nested too deeply or too long", text);
        return;
    }
    for statement in statements(text) {
        for inner in &statement.inner {
            walk(evaluator, inner, depth.saturating_add(1));
        }
        run(evaluator, &statement, depth);
    }
}

#[derive(Default)]
struct Statement {
    words: Vec<String>,
    /// `&` or `.` stands in front: the first word is an expression.
    called: bool,
    /// Subexpressions in texts.
    inner: Vec<String>,
    /// Files that output goes to.
    outputs: Vec<String>,
}

/// Splits at everything that can end a statement, braces and parentheses included, so that blocks are seen as well.
fn statements(text: &str) -> Vec<Statement> {
    let text = text.replace("`\r\n", " ").replace("`\n", " ");
    let mut reader = Reader::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '`' => reader
                .word
                .get_or_insert_default()
                .extend(characters.next()),
            '\'' => {
                let word = reader.word.get_or_insert_default();
                word.extend(characters.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                let quoted: String = characters.by_ref().take_while(|c| *c != '"').collect();
                reader.quoted(&quoted);
            }
            '#' if reader.word.is_none() => {
                while characters.next_if(|c| *c != '\n').is_some() {}
                reader.end_statement();
            }
            '$' if reader.variable(&mut characters) => {}
            '>' => {
                // `2>` and `*>`: the number is no word.
                reader.word = reader
                    .word
                    .take()
                    .filter(|word| !matches!(word.as_str(), "1" | "2" | "*"));
                reader.end_word();
                while characters.peek() == Some(&'>') {
                    characters.next();
                }
                reader.redirects = true;
            }
            '&' if characters.peek() != Some(&'&') && reader.is_at_start() => {
                reader.now.called = true;
            }
            ';' | '\n' | '\r' | '|' | '&' | '{' | '}' | '(' | ')' => reader.end_statement(),
            '@' if reader.word.is_none() => {}
            ',' => reader.end_word(),
            blank if blank.is_whitespace() => reader.end_word(),
            other => reader.word.get_or_insert_default().push(other),
        }
    }
    reader.end_statement();
    reader.done
}

#[derive(Default)]
struct Reader {
    done: Vec<Statement>,
    now: Statement,
    word: Option<String>,
    redirects: bool,
}

impl Reader {
    fn is_at_start(&self) -> bool {
        self.now.words.is_empty() && self.word.is_none()
    }

    fn quoted(&mut self, text: &str) {
        let mut known = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            known.push_str(before);
            known.push(HOLE);
            if let Some(inner) = after.strip_prefix('(') {
                self.now.inner.push(inner.to_owned());
            }
            let skip = after
                .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':'))
                .unwrap_or(after.len());
            rest = after.get(skip..).unwrap_or_default();
        }
        known.push_str(rest);
        let word = self.word.get_or_insert_default();
        word.push_str(&known.replace('`', ""));
    }

    /// A variable; `$(…)` is a block of its own.
    fn variable(&mut self, characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
        if matches!(characters.peek(), Some('(')) {
            self.word.get_or_insert_default().push(HOLE);
            return true;
        }
        let mut any = false;
        while characters
            .peek()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '?'))
        {
            characters.next();
            any = true;
        }
        if any {
            self.word.get_or_insert_default().push(HOLE);
        }
        any
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        // `$x = git push`: what follows is the command.
        if self.now.words.len() == 1
            && word == "="
            && self.now.words.first().is_some_and(|first| has_hole(first))
        {
            self.now.words.clear();
            return;
        }
        if std::mem::take(&mut self.redirects) {
            self.now.outputs.push(word);
        } else {
            self.now.words.push(word);
        }
    }

    fn end_statement(&mut self) {
        self.end_word();
        self.redirects = false;
        let statement = std::mem::take(&mut self.now);
        let empty = statement.words.is_empty() && statement.outputs.is_empty();
        if !empty || !statement.inner.is_empty() {
            self.done.push(statement);
        }
    }
}

fn run(evaluator: &mut Evaluator<'_>, statement: &Statement, depth: usize) {
    for path in &statement.outputs {
        evaluator.touch(Touch::Write, &path.replace('\\', "/"));
    }
    let Some((first, rest)) = statement.words.split_first() else {
        return;
    };
    let shown = statement.words.join(" ");
    if has_hole(first) {
        // A variable alone is a value; called, or with words behind it, it is a program.
        if statement.called {
            evaluator.opaque("PowerShell runs a command that is computed", &shown);
        }
        return;
    }
    let name = program_name(&first.replace('\\', "/"));
    let texts = || {
        let plain = rest.iter().filter(|word| !word.starts_with('-'));
        plain.cloned().collect::<Vec<_>>().join(" ")
    };
    match name.as_str() {
        "iex" | "invoke-expression" => {
            let text = texts();
            if text.is_empty() || has_hole(&text) {
                evaluator.opaque("PowerShell runs a text that is computed", &shown);
            } else {
                walk(evaluator, &text, depth.saturating_add(1));
            }
        }
        "powershell" | "pwsh" => shell(evaluator, rest, &shown, depth),
        "cmd" => walk(
            evaluator,
            &rest.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
            depth.saturating_add(1),
        ),
        "wsl" => {
            evaluator.shell_text(&rest.join(" "));
        }
        "start-process" | "saps" | "start" => {
            let words: Vec<String> = rest
                .iter()
                .filter(|word| !word.starts_with('-') || word.len() == 2)
                .flat_map(|word| word.split_whitespace().map(str::to_owned))
                .collect();
            plain(evaluator, &words);
        }
        "invoke-command" | "icm" | "add-type" if rest.iter().any(|word| has_hole(word)) => {
            evaluator.opaque("PowerShell runs a block that is computed", &shown);
        }
        "if" | "else" | "elseif" | "foreach" | "for" | "while" | "try" | "catch" | "return" => {
            plain(evaluator, rest);
        }
        _ => match CMDLETS
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()))
        {
            Some((program, _)) => {
                let mut words: Vec<String> = program.split(' ').map(str::to_owned).collect();
                words.extend(
                    rest.iter()
                        .filter(|word| !word.starts_with('-'))
                        .map(|word| word.replace('\\', "/")),
                );
                plain(evaluator, &words);
            }
            None => {
                let mut words = vec![name];
                words.extend(rest.iter().map(|word| word.replace('\\', "/")));
                plain(evaluator, &words);
            }
        },
    }
}

fn plain(evaluator: &mut Evaluator<'_>, words: &[String]) {
    if !words.is_empty() {
        evaluator.run(words);
    }
}

/// `pwsh -Command text`, `powershell -EncodedCommand base64`.
fn shell(evaluator: &mut Evaluator<'_>, rest: &[String], shown: &str, depth: usize) {
    let option = |wanted: &str, least: usize| {
        rest.iter().position(|word| {
            let word = word.to_lowercase();
            word.len() > least && word.starts_with('-') && wanted.starts_with(word.as_str())
        })
    };
    if let Some(at) = option("-encodedcommand", 1) {
        let text = rest.get(at.saturating_add(1)).and_then(|text| {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text)
                .ok()?;
            let units: Vec<u16> = bytes
                .chunks_exact(2)
                .filter_map(|pair| Some(u16::from_le_bytes(pair.try_into().ok()?)))
                .collect();
            String::from_utf16(&units).ok()
        });
        evaluator.opaque("PowerShell runs an encoded command", shown);
        if let Some(text) = text {
            walk(evaluator, &text, depth.saturating_add(1));
        }
        return;
    }
    let start = option("-command", 1).map_or(0, |at| at.saturating_add(1));
    let text = rest.get(start..).unwrap_or_default();
    if start == 0
        && text
            .iter()
            .any(|word| word.to_lowercase().ends_with(".ps1"))
    {
        evaluator.opaque("PowerShell runs a script that is not followed", shown);
        return;
    }
    walk(evaluator, &text.join(" "), depth.saturating_add(1));
}
