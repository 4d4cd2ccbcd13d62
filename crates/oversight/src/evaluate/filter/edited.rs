//! What `sed` prints of text that is known, for scripts of lines that are chosen and of plain substitutions.

use std::cell::Cell;

use regex::Regex;

use super::regular::{compile, has_ways};
use super::words::Given;
use crate::evaluate::sed::until;

/// Which lines a command is for.
enum Address {
    All,
    Number(usize),
    Last,
    Matching(Regex),
    Numbers(usize, usize),
    /// From a line that matches to the next one that does, and whether we are between them.
    Between(Regex, Regex, Cell<bool>),
}

enum Deed {
    Print,
    Delete,
    Quit,
    /// `a text`, `i text`, `c text`.
    Line(char, String),
    /// `y/abc/xyz/`.
    Letters(Vec<char>, Vec<char>),
    Replace {
        wanted: Regex,
        with: String,
        all: bool,
        prints: bool,
    },
    /// `{…}`.
    Block(Vec<Step>),
}

struct Step {
    address: Address,
    /// `!`: for all other lines.
    others: bool,
    deed: Deed,
}

/// Deeper braces and longer scripts are not followed.
const MAX_DEPTH: usize = 4;
const MAX_STEPS: usize = 16;

/// The text after `sed`; None where the script does more.
pub(super) fn edited(arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("quiet", 'n'),
        ("silent", 'n'),
        ("regexp-extended", 'E'),
        ("expression", 'e'),
        ("in-place", 'i'),
    ];
    let given = Given::read(arguments, "nErsuie:", &long)?;
    let extended = given.has('E') || given.has('r');
    let mut script: Vec<&str> = given.all('e').collect();
    if script.is_empty() {
        script.push(given.operands.first()?);
    }
    let script = script.join("\n");
    let (steps, rest) = parse(&script, extended, 0)?;
    if !rest.is_empty() {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut output = String::new();
    for (index, line) in lines.iter().enumerate() {
        let number = index.saturating_add(1);
        let mut cycle = Cycle {
            line: (*line).to_owned(),
            number,
            last: number == lines.len(),
            output: &mut output,
            after: String::new(),
        };
        let end = cycle.follow(&steps);
        let Cycle { line, after, .. } = cycle;
        if end != Some(End::Deleted) && !given.has('n') {
            output.push_str(&line);
            output.push('\n');
        }
        output.push_str(&after);
        if end == Some(End::Quit) {
            break;
        }
    }
    Some(output)
}

/// How the work on a line ends early.
#[derive(PartialEq, Eq)]
enum End {
    Deleted,
    Quit,
}

/// The work on one line.
struct Cycle<'o> {
    line: String,
    number: usize,
    last: bool,
    output: &'o mut String,
    after: String,
}

impl Cycle<'_> {
    fn follow(&mut self, steps: &[Step]) -> Option<End> {
        for step in steps {
            let holds = step.address.holds(&self.line, self.number, self.last);
            if holds == step.others {
                continue;
            }
            match &step.deed {
                Deed::Print => self.print(),
                Deed::Delete => return Some(End::Deleted),
                Deed::Quit => return Some(End::Quit),
                Deed::Line('i', text) => self.output.push_str(&format!("{text}\n")),
                Deed::Line('c', text) => self.line.clone_from(text),
                Deed::Line(_, text) => self.after.push_str(&format!("{text}\n")),
                Deed::Letters(from, to) => {
                    let changed = self.line.chars().map(|one| {
                        let at = from.iter().position(|other| *other == one);
                        at.and_then(|at| to.get(at)).copied().unwrap_or(one)
                    });
                    self.line = changed.collect();
                }
                Deed::Replace {
                    wanted,
                    with,
                    all,
                    prints,
                } => {
                    let differs = wanted.is_match(&self.line);
                    let changed = if *all {
                        wanted.replace_all(&self.line, with.as_str())
                    } else {
                        wanted.replace(&self.line, with.as_str())
                    };
                    self.line = changed.into_owned();
                    if *prints && differs {
                        self.print();
                    }
                }
                Deed::Block(steps) => {
                    let end = self.follow(steps);
                    if end.is_some() {
                        return end;
                    }
                }
            }
        }
        None
    }

    fn print(&mut self) {
        self.output.push_str(&self.line);
        self.output.push('\n');
    }
}

impl Address {
    fn holds(&self, line: &str, number: usize, last: bool) -> bool {
        match self {
            Self::All => true,
            Self::Number(one) => *one == number,
            Self::Last => last,
            Self::Matching(regex) => regex.is_match(line),
            Self::Numbers(from, to) => (*from..=*to).contains(&number),
            Self::Between(from, to, inside) => {
                if inside.get() {
                    inside.set(!to.is_match(line));
                    return true;
                }
                inside.set(from.is_match(line));
                inside.get()
            }
        }
    }
}

/// The commands up to the end or to the brace that closes them, and what follows.
fn parse(script: &str, extended: bool, depth: usize) -> Option<(Vec<Step>, &str)> {
    let between = [';', '\n', ' ', '\t'];
    let mut steps = Vec::new();
    let mut rest = script.trim_start_matches(between);
    while !rest.is_empty() {
        if steps.len() > MAX_STEPS || depth > MAX_DEPTH {
            return None;
        }
        if let Some(after) = rest.strip_prefix('}') {
            return (depth > 0).then_some((steps, after));
        }
        let (address, after) = address(rest, extended)?;
        let after = after.trim_start();
        let others = after.strip_prefix('!');
        let mut characters = others.unwrap_or(after).trim_start().chars();
        let others = others.is_some();
        let letter = characters.next()?;
        rest = characters.as_str();
        let (deed, after) = match letter {
            '{' => {
                let (steps, after) = parse(rest, extended, depth.saturating_add(1))?;
                (Deed::Block(steps), after)
            }
            'p' => (Deed::Print, rest),
            'd' => (Deed::Delete, rest),
            'q' => (Deed::Quit, rest),
            's' => substitution(rest, extended)?,
            'a' | 'i' | 'c' => {
                let (text, after) = rest.split_once('\n').unwrap_or((rest, ""));
                let text = text.trim_start().trim_start_matches('\\');
                if text.is_empty() || text.contains('\\') || text.ends_with('}') {
                    return None;
                }
                let deed = Deed::Line(letter, text.trim_start().to_owned());
                steps.push(Step {
                    address,
                    others,
                    deed,
                });
                rest = after.trim_start_matches(between);
                continue;
            }
            'y' => letters(rest)?,
            _ => return None,
        };
        steps.push(Step {
            address,
            others,
            deed,
        });
        rest = after.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with([';', '\n', '}']) {
            return None;
        }
        rest = rest.trim_start_matches(between);
    }
    (depth == 0).then_some((steps, rest))
}

fn letters(text: &str) -> Option<(Deed, &str)> {
    let mut characters = text.chars();
    let mark = characters.next()?;
    let (from, after) = until(characters.as_str(), mark)?;
    let (to, after) = until(after, mark)?;
    if from.contains('\\') || to.contains('\\') {
        return None;
    }
    let deed = Deed::Letters(from.chars().collect(), to.chars().collect());
    Some((deed, after))
}

fn address(text: &str, extended: bool) -> Option<(Address, &str)> {
    if let Some(after) = text.strip_prefix('$') {
        return Some((Address::Last, after));
    }
    if let Some(after) = text.strip_prefix('/') {
        let (wanted, after) = until(after, '/')?;
        let from = compile(&wanted, extended, false)?;
        if let Some(after) = after.strip_prefix(",$") {
            let never = Regex::new("[^\\s\\S]").ok()?;
            return Some((Address::Between(from, never, Cell::new(false)), after));
        }
        if let Some(after) = after.strip_prefix(",/") {
            let (wanted, after) = until(after, '/')?;
            let to = compile(&wanted, extended, false)?;
            return Some((Address::Between(from, to, Cell::new(false)), after));
        }
        return Some((Address::Matching(from), after));
    }
    let (number, after) = number(text);
    let Some(from) = number else {
        return Some((Address::All, text));
    };
    let Some(after) = after.strip_prefix(',') else {
        return Some((Address::Number(from), after));
    };
    if let Some(after) = after.strip_prefix('$') {
        return Some((Address::Numbers(from, usize::MAX), after));
    }
    let (to, after) = self::number(after);
    Some((Address::Numbers(from, to?), after))
}

fn number(text: &str) -> (Option<usize>, &str) {
    let rest = text.trim_start_matches(|one: char| one.is_ascii_digit());
    let digits = text.get(..text.len().saturating_sub(rest.len()));
    (digits.and_then(|digits| digits.parse().ok()), rest)
}

fn substitution(text: &str, extended: bool) -> Option<(Deed, &str)> {
    let mut characters = text.chars();
    let mark = characters.next()?;
    let (wanted, after) = until(characters.as_str(), mark)?;
    let (with, after) = until(after, mark)?;
    let end = after.find([';', '\n', ' ', '}']).unwrap_or(after.len());
    let (flags, rest) = after.split_at_checked(end)?;
    if !flags.chars().all(|flag| "gpIi".contains(flag)) || has_ways(&wanted) || wanted.is_empty() {
        return None;
    }
    let deed = Deed::Replace {
        wanted: compile(&wanted, extended, flags.contains(['I', 'i']))?,
        with: replacement(&with)?,
        all: flags.contains('g'),
        prints: flags.contains('p'),
    };
    Some((deed, rest))
}

/// `&` and `\1` in the way of our expressions.
fn replacement(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '&' => whole.push_str("${0}"),
            '$' => whole.push_str("$$"),
            '\\' => match characters.next()? {
                digit if digit.is_ascii_digit() => whole.push_str(&format!("${{{digit}}}")),
                'n' => whole.push('\n'),
                't' => whole.push('\t'),
                other if other.is_alphabetic() => return None,
                '$' => whole.push_str("$$"),
                other => whole.push(other),
            },
            other => whole.push(other),
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_chosen_and_changed() {
        for (words, text, expected) in [
            (&["s/x/s/"][..], "puxh\n", "push\n"),
            (&["-n", "2p"], "a\npush\n", "push\n"),
            (&["1d"], "a\npush\n", "push\n"),
            (&["s/^run: //;/^#/d"], "#a\nrun: git push\n", "git push\n"),
            (&["-E", "s/(pu)x(sh)/\\1\\2/"], "puxsh\n", "push\n"),
            (
                &["-n", "/```/,/```/p"],
                "a\n```\nx\n```\nb\n",
                "```\nx\n```\n",
            ),
            (&["-e", "s/a/p/", "-e", "s/b/u/"], "absh\n", "push\n"),
            (&["s/.*/<&>/"], "x$1\n", "<x$1>\n"),
            (
                &["-n", "/^```sh/,/^```/{/```/!p}"],
                "a\n```sh\nx\n```\nb\n",
                "x\n",
            ),
            (
                &["-n", "/a/,/b/{1{s/a/x/;p};/b/p;d};p"],
                "a\nc\nb\nd\n",
                "x\nb\nd\n",
            ),
            (&["2!d;s/y/push/"], "x\ny\nz\n", "push\n"),
            (&["-n", "2s/.*/push/p"], "1\n2\n3\n", "push\n"),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(edited(&words, text).as_deref(), Some(expected), "{words:?}");
        }
        for script in ["s/a/b/2", "{p", "p}", "/a/{p", "$!N", "1~2p"] {
            assert!(edited(&[script.to_owned()], "x").is_none(), "{script}");
        }
    }
}
