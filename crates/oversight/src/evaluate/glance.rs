//! Texts that are no shell command as a whole and may hold one: arguments of unknown programs, code of other languages.
//!
//! Nothing here is understood. A gated command behind a mark such as a quote or `!` is walked as possible, and code that
//! starts programs and names all words of an act without spelling it out is opaque.

use std::collections::BTreeSet;

use crate::value::has_hole;

use super::Evaluator;

/// What may stand directly before a command inside other text.
const MARKS: &[char] = &[
    '"', '\'', '`', '(', '|', '!', ':', '=', ',', ';', '<', '{', '[', '\n', '/',
];

/// Beginnings of commands that start others, beside the programs of the actions.
const STARTS: &[&str] = &[
    "sh ", "bash ", "make ", "./", "python", "node ", "npx ", "env ", "sudo ",
];

/// More places than this are not tried in one text.
const MAX_PLACES: usize = 64;

/// More words of one program than this are not tried.
const MAX_WORDS: usize = 4000;

impl Evaluator<'_> {
    /// A program that we do not know may start the words that it is given.
    pub(crate) fn unknown_launcher(&mut self, name: &str, arguments: &[String]) {
        if super::starter::takes_data(name, arguments) {
            return;
        }
        if arguments.len() > MAX_WORDS {
            self.opaque("a program is given more words than are followed", name);
        }
        for (index, word) in arguments.iter().enumerate().take(MAX_WORDS) {
            let text = match word.split_once('=') {
                Some((option, value)) if option.starts_with('-') => value,
                _ => word.as_str(),
            };
            if text.contains(char::is_whitespace) {
                let before = index
                    .checked_sub(1)
                    .and_then(|before| arguments.get(before));
                let option = word.split_once('=').map(|(option, _)| option);
                let option = option.filter(|option| option.starts_with('-'));
                let is_text = option
                    .or(before.map(String::as_str))
                    .is_some_and(|option| super::starter::carries_text(name, option));
                if !is_text && self.starts_in(text) {
                    self.unknown_text(name, text);
                    self.unknown_code(name, text);
                }
                continue;
            }
            // `npm@10`: the program in a version.
            let bare = text.split_once('@').map_or(text, |(bare, _)| bare);
            let text = if self.catalog.is_program(bare) {
                bare
            } else {
                text
            };
            if self.starts(text) {
                let after = arguments.iter().skip(index.saturating_add(1)).cloned();
                let rest: Vec<String> = std::iter::once(text.to_owned()).chain(after).collect();
                self.perhaps(|this| this.linked(name, |this| this.run(&rest)));
            } else if let Some((program, _)) = text.split_once(',')
                && self.catalog.is_program(program)
            {
                // `--args git,push`.
                let words: Vec<String> = text.split(',').map(str::to_owned).collect();
                self.perhaps(|this| this.linked(name, |this| this.run(&words)));
            } else if text.contains(['(', '`', '=', ':']) && self.starts_in(text) {
                self.glance_inside(name, text);
                self.unknown_code(name, text);
            }
        }
    }

    /// Code of a language that we do not know: `Command::new("npm").arg("publish")` names an act in its texts.
    fn unknown_code(&mut self, name: &str, text: &str) {
        if !text.contains(['(', '[', '{']) {
            return;
        }
        let texts = super::literal::literals(text);
        let words = words_of(texts.iter().map(|literal| literal.text.as_str()));
        if words.iter().any(|word| self.catalog.is_program(word)) {
            self.names_an_act(name, "", &words);
        }
    }

    /// A text that an unknown program may run, as it stands or behind a mark as in `EXEC:git push`.
    pub(crate) fn unknown_text(&mut self, name: &str, text: &str) {
        self.perhaps(|this| this.linked(name, |this| this.shell_text(text)));
        self.glance_inside(name, text);
    }

    /// Walks what follows a mark and begins with a program that matters.
    pub(crate) fn glance_inside(&mut self, name: &str, text: &str) {
        let places = self.places_in(text);
        if places.len() > MAX_PLACES {
            self.opaque("a text names more programs than are followed", text);
        }
        for (at, mark) in places.into_iter().take(MAX_PLACES) {
            let Some(rest) = text.get(at..) else { continue };
            let close = match mark {
                // `"/usr/bin/git push"`.
                '/' => '"',
                '(' => ')',
                '<' => '>',
                '{' => '}',
                '[' => ']',
                '`' => '\'',
                '"' | '\'' => mark,
                _ => '\n',
            };
            let ends = [close, '\n', if mark == '`' { '`' } else { close }];
            let inner = rest.split(ends).next().unwrap_or(rest).to_owned();
            self.perhaps(|this| this.linked(name, |this| this.shell_text(&inner)));
        }
    }

    /// Where a program that matters stands directly behind a mark, with the mark.
    fn places_in(&self, text: &str) -> Vec<(usize, char)> {
        let mut places = Vec::new();
        let mut before = None;
        let mut spaced = false;
        for (at, character) in text.char_indices() {
            let mark = before.filter(|mark| MARKS.contains(mark));
            let mark =
                mark.filter(|mark| !spaced || matches!(mark, '!' | '|' | ';' | '\n' | '(' | '`'));
            if let Some(mark) = mark
                && let Some(rest) = text.get(at..)
                && (self
                    .catalog
                    .programs()
                    .any(|program| rest.starts_with(program))
                    || STARTS.iter().any(|start| rest.starts_with(start)))
            {
                places.push((at, mark));
            }
            spaced = character == ' ';
            if !spaced {
                before = Some(character);
            }
        }
        places
    }

    /// Code that starts programs and names a program and the rest of an act, apart from each other.
    pub(crate) fn names_an_act(&mut self, name: &str, code: &str, words: &[String]) {
        let before = self.findings.actions.len();
        self.glance_inside(name, code);
        if self.findings.actions.len() > before {
            return;
        }
        let words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
        let act = self.catalog.acts().find(|(program, verb)| {
            words.contains(verb) && (words.contains(program) || contains_word(code, program))
        });
        if let Some((program, verb)) = act {
            let text = format!("{program} … {verb}");
            // Where the two words alone are the act it can be named.
            let (program, verb) = (program.to_owned(), [verb.to_owned()]);
            self.perhaps(|this| this.linked(name, |this| this.classify(&program, &verb)));
            self.opaque(
                "code starts programs and names the words of a gated act",
                &text,
            );
        }
    }
}

/// Words of all texts, without the signs around them.
pub(crate) fn words_of<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    texts
        .flat_map(|text| {
            text.split(|character: char| {
                character.is_whitespace()
                    || matches!(character, '"' | '\'' | ',' | ';' | '[' | ']' | '(' | ')')
            })
        })
        .filter(|word| !word.is_empty() && !has_hole(word))
        .take(MAX_WORDS)
        .map(str::to_owned)
        .collect()
}

pub(crate) fn contains_word(code: &str, wanted: &str) -> bool {
    code.match_indices(wanted).any(|(at, found)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after = code
            .get(at.saturating_add(found.len())..)
            .and_then(|text| text.chars().next());
        let joins = |character: Option<char>| {
            character.is_some_and(|one| one.is_alphanumeric() || one == '_' || one == '-')
        };
        !joins(before) && !joins(after)
    })
}

/// `print … | "sh"` of awk.
pub(super) fn prints_into_shell(code: &str) -> bool {
    let after = code.split('|').skip(1);
    let targets = after.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    targets
        .map(|command| command.split_whitespace().collect::<Vec<_>>())
        .any(|words| match words.as_slice() {
            [program, rest @ ..] => {
                super::shells::is_shell(&super::run::program_name(program)) && !rest.contains(&"-c")
            }
            [] => false,
        })
}

/// `exec "bash", "-c", …`.
pub(super) fn hands_to_shell(code: &str) -> bool {
    let found = super::literal::literals(code);
    let has = |wanted: &dyn Fn(&str) -> bool| found.iter().any(|one| wanted(&one.text));
    has(&|text| text == "-c") && has(&|text| super::shells::is_shell(text))
}
