//! Matching of a rule of the table with the arguments of a program; the table describes the syntax.

use super::paths::{self, Class};
use super::words::{self, GitCall, git_command};
use super::{Action, Around, OPTIONS};
use crate::lookup::{Content, absolute};
use shell::pattern;
use shell::value::{has_hole, without_holes};

/// Result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// A deciding argument is unknown.
    Unknown,
    Yes,
}

/// Arguments of a program, read once for all its rules.
pub(super) struct Call<'c> {
    program: &'c str,
    /// Arguments without the global options of git.
    arguments: &'c [String],
    valued: &'static [&'static str],
    /// Operands, in the possible readings.
    readings: Vec<Vec<&'c String>>,
    /// Set if the first of them is unknown.
    hides_first: bool,
    only_prints: bool,
    /// Directory of git.
    directory: String,
    around: &'c Around<'c>,
}

/// Returns the options of a program that take the next argument.
fn valued(program: &str) -> &'static [&'static str] {
    let family = match program {
        "pnpm" | "yarn" | "bun" => "npm",
        "podman" | "nerdctl" => "docker",
        "gradlew" => "gradle",
        "mvnw" | "mvnd" => "mvn",
        "oc" => "kubectl",
        other => other,
    };
    let found = OPTIONS.iter().find(|(name, _)| *name == family);
    found.map_or(&[], |(_, options)| options)
}

/// Returns the label for the chain.
pub(super) fn label(program: &str, rest: &str) -> String {
    let path = rest.split_whitespace().take_while(|token| is_word(token));
    let path = path.map(|part| part.split('|').next().unwrap_or(part));
    std::iter::once(program)
        .chain(path)
        .collect::<Vec<_>>()
        .join(" ")
}

fn is_word(token: &str) -> bool {
    !token.starts_with(['-', '!', '@', '^', '~', '?'])
}

/// Checks that a rule is valid.
///
/// # Errors
///
/// Fails with the part that is invalid.
pub fn check(text: &str) -> Result<(), String> {
    let mut tokens = text.split_whitespace();
    let program = tokens.next().unwrap_or_default();
    if program.is_empty() || !is_word(program) || program.contains('/') {
        return Err(format!(
            "`{text}` does not begin with the name of a program"
        ));
    }
    let mut options = false;
    for token in tokens {
        let bad = match token.split_at_checked(1) {
            Some(("@", rest)) if rest.starts_with('<') => Class::named(rest).is_none(),
            Some(("?", rest)) => !paths::FACTS.contains(&rest),
            Some(("@" | "~" | "!" | "^", rest)) => rest.is_empty(),
            _ => is_word(token) && options,
        };
        options |= !is_word(token);
        if bad {
            return Err(format!("`{token}` in the rule `{text}` is not understood"));
        }
    }
    Ok(())
}

fn one_of(alternatives: &str, word: &str) -> bool {
    let is_pattern = |wanted: &[u8]| {
        wanted.contains(&b'*')
            && std::str::from_utf8(wanted).is_ok_and(|wanted| pattern::matches(wanted, word))
    };
    alternatives
        .as_bytes()
        .split(|byte| *byte == b'|')
        .any(|wanted| wanted == word.as_bytes() || is_pattern(wanted))
}

/// Matches one option of a rule: `-x` never means a long one, and `--long=value` may be two arguments.
fn is_option(wanted: &str, word: &str, next: Option<&String>) -> bool {
    if wanted.starts_with("--") != word.starts_with("--") || !word.starts_with('-') {
        return false;
    }
    let together = |value: &String| one_of(wanted, &format!("{word}={value}"));
    one_of(wanted, word) || (wanted.contains('=') && next.is_some_and(together))
}

impl<'c> Call<'c> {
    pub(super) fn new(program: &'c str, arguments: &'c [String], around: &'c Around<'c>) -> Self {
        let git = match program {
            "git" => git_command(arguments),
            _ => GitCall {
                rest: arguments,
                ..GitCall::default()
            },
        };
        let mut rest = git.rest;
        if program == "cargo"
            && let [toolchain, behind @ ..] = rest
            && toolchain.starts_with('+')
        {
            rest = behind;
        }
        let valued = valued(program);
        let directory = match git.directory {
            Some(moved) => absolute(around.directory, &moved),
            None => around.directory.to_owned(),
        };
        let readings = words::readings(program, valued, rest);
        let first = |words: &Vec<&String>| words.first().is_some_and(|word| has_hole(word));
        Self {
            program,
            hides_first: readings.iter().any(first),
            readings,
            arguments: rest,
            valued,
            only_prints: git.only_prints,
            directory,
            around,
        }
    }

    /// Matches one rule, without its program.
    pub(super) fn fits(&self, rest: &str, action: &Action) -> Fit {
        if !self.may_begin(rest) {
            return Fit::No;
        }
        let path: Vec<&str> = rest
            .split_whitespace()
            .take_while(|token| is_word(token))
            .collect();
        let conditions = || rest.split_whitespace().skip(path.len());
        // Of equal ones the last is taken: that is the strict reading.
        let ways = self.readings.iter().rev().map(|words| begins(&path, words));
        let Some((mut fit, behind)) = ways
            .max_by_key(|(fit, _)| *fit)
            .filter(|(fit, _)| *fit > Fit::No)
        else {
            return Fit::No;
        };
        for token in conditions() {
            fit = fit.min(self.holds(token, behind));
            if fit == Fit::No {
                return Fit::No;
            }
        }
        let harmless: Vec<&str> = conditions()
            .filter_map(|token| token.strip_prefix('!'))
            .collect();
        if self.is_harmless(&harmless, &path, action, behind) {
            Fit::No
        } else {
            fit
        }
    }

    /// Returns `false` if the first argument cannot be the one that a rule begins with, as for most rules of a
    /// program.
    pub(super) fn may_begin(&self, rest: &str) -> bool {
        if self.only_prints {
            return false;
        }
        let first = rest.split_ascii_whitespace().next().unwrap_or_default();
        if self.hides_first || first.is_empty() || first == "*" || !is_word(first) {
            return true;
        }
        let fits = |word: &&String| one_of(first, word);
        let mut readings = self.readings.iter();
        readings.any(|words| words.first().is_some_and(fits))
    }

    fn holds(&self, token: &str, behind: &[&String]) -> Fit {
        let sure = |holds: bool| if holds { Fit::Yes } else { Fit::No };
        match token.split_at_checked(1) {
            Some(("!", _)) => Fit::Yes,
            Some(("@", class)) if class.starts_with('<') => {
                let words = self.readings.first().map_or([].as_slice(), Vec::as_slice);
                let is_among = |class: Class| class.is_among(words, self.arguments, self.around);
                sure(Class::named(class).is_some_and(is_among))
            }
            Some(("@", wanted)) => sure(behind.iter().any(|word| one_of(wanted, word))),
            Some(("^", wanted)) => sure(!behind.first().is_some_and(|word| one_of(wanted, word))),
            Some(("~", wanted)) => sure(self.says(wanted)),
            Some(("?", fact)) => sure(paths::fact(fact, &self.directory, behind, self.around)),
            _ => {
                let mut words = self.arguments.iter().enumerate();
                let next = |at: usize| self.arguments.get(at.saturating_add(1));
                let is_there = words
                    .any(|(at, word)| token.split('|').any(|one| is_option(one, word, next(at))));
                let may_be = || {
                    self.arguments
                        .iter()
                        .any(|word| has_hole(word) && without_holes(word).is_empty())
                };
                if !is_there && may_be() {
                    Fit::Unknown
                } else {
                    sure(is_there)
                }
            }
        }
    }

    /// Returns `true` if one of the words is in the arguments, in a file of SQL among them or in the input.
    fn says(&self, wanted: &str) -> bool {
        let has = |text: &str| {
            let mut words = text.split(|one: char| !one.is_alphanumeric() && one != '_');
            words.any(|word| wanted.split('|').any(|one| one.eq_ignore_ascii_case(word)))
        };
        let in_file = |word: &String| {
            let path = word.rsplit('=').next().unwrap_or(word);
            path.ends_with(".sql")
                && matches!(self.around.lookup.read(&absolute(self.around.directory, path)), Content::Text(text) if has(&text))
        };
        self.around.input.is_some_and(has)
            || self.arguments.iter().any(|word| has(word) || in_file(word))
    }

    /// Returns `true` if options or operands make the act harmless: help, or a dry run that is not cancelled. An
    /// option counts only if it cannot be the value of the option before it.
    fn is_harmless(
        &self,
        harmless: &[&str],
        path: &[&str],
        action: &Action,
        behind: &[&String],
    ) -> bool {
        if self.program == "git"
            && path
                .first()
                .is_some_and(|verb| verb.split('|').any(|one| one == "push"))
        {
            return words::git_push_is_dry(self.arguments.get(1..).unwrap_or_default());
        }
        let gated = action.set.needs_grant();
        let homepage = self.program == "gh" && self.arguments.iter().any(|word| word == "edit");
        let is_on = |name: &str| {
            (self.around.environment)(name).is_some_and(|value| value == "true" || value == "1")
        };
        let mut dry = harmless
            .iter()
            .filter_map(|one| one.strip_prefix('$'))
            .any(is_on)
            || behind.iter().any(|word| {
                harmless
                    .iter()
                    .any(|one| !one.starts_with(['-', '$']) && one_of(one, word))
            });
        let mut words = self.arguments.iter().peekable();
        if gated && !path.is_empty() && words.peek().is_some_and(|word| *word == "help") {
            return true;
        }
        while let Some(word) = words.next() {
            if words::ends_options(self.program, word) {
                break;
            }
            if self.valued.contains(&word.as_str()) {
                words.next();
                continue;
            }
            match word.as_str() {
                "--help" => return true,
                "-h" if gated && !homepage => return true,
                option if let Some(on) = switched(harmless, option) => dry = on,
                option
                    if harmless
                        .iter()
                        .any(|one| is_option(one, option, words.peek().copied())) =>
                {
                    // JavaScript parsers take the next argument as the value.
                    dry = !words.peek().is_some_and(|next| is_no(next));
                }
                _ => {}
            }
        }
        dry
    }
}

/// Returns how a long option with a value, or with the prefix `--no-`, sets one of the harmless ones.
fn switched(harmless: &[&str], option: &str) -> Option<bool> {
    let names = || harmless.iter().filter_map(|one| one.strip_prefix("--"));
    let name = option.strip_prefix("--")?;
    if let Some(name) = name.strip_prefix("no-") {
        return names().any(|one| one == name).then_some(false);
    }
    let (name, value) = name.split_once('=')?;
    let is_yes = matches!(value, "true" | "1" | "yes");
    let is_set = (is_yes || is_no(value)) && names().any(|one| one == name);
    is_set.then_some(is_yes)
}

fn is_no(value: &str) -> bool {
    matches!(value, "false" | "0" | "no")
}

/// Returns the fit of the first words to the path, and the words behind it. An unknown word may also be empty.
fn begins<'w, 's>(path: &[&str], words: &'w [&'s String]) -> (Fit, &'w [&'s String]) {
    let mut words = words.iter();
    let mut unknown = false;
    for part in path {
        loop {
            let short = if unknown { Fit::Unknown } else { Fit::No };
            let Some(word) = words.next() else {
                return (short, &[]);
            };
            if *part == "*" {
                break;
            }
            if has_hole(word) {
                let bare = without_holes(word);
                unknown = true;
                if one_of(part, &bare) {
                    break;
                }
                if bare.is_empty() {
                    continue;
                }
                return (Fit::Unknown, &[]);
            }
            if one_of(part, word) {
                break;
            }
            return (short, &[]);
        }
    }
    (Fit::Yes, words.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, lookup::Nothing};

    /// Returns the fit of arguments to one rule of an action that needs a grant.
    fn fits(rule: &str, words: &str) -> Fit {
        let (program, rest) = rule.split_once(' ').unwrap_or((rule, ""));
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let around = Around {
            directory: "/w",
            home: "/h",
            environment: &|name| (name == "DRY").then(|| "1".to_owned()),
            lookup: &Nothing,
            input: Some("select 1; drop table x"),
        };
        let catalog = Catalog::default();
        let action = catalog.action("npm:publish").unwrap();
        Call::new(program, &words, &around).fits(rest, action)
    }

    #[test]
    fn words_fit_a_rule_or_do_not() {
        for (rule, words, expected) in [
            ("x push", "push", Fit::Yes),
            ("x push", "push origin", Fit::Yes),
            ("x push", "pull", Fit::No),
            ("x push", "", Fit::No),
            ("x a|b c", "b c", Fit::Yes),
            ("x a|b c", "b d", Fit::No),
            ("x * c", "any c", Fit::Yes),
            ("x pu*", "publish", Fit::Yes),
            ("x push", "-v push", Fit::Yes),
            ("x push", "--level 3 push", Fit::Yes),
            ("x push", "push --help", Fit::No),
            ("x push", "help push", Fit::No),
            ("x push !--plan", "push --plan", Fit::No),
            ("x push !--plan", "push --other", Fit::Yes),
            ("x push !$DRY", "push", Fit::No),
            ("x push !$WET", "push", Fit::Yes),
            ("x ship --now", "ship --now", Fit::Yes),
            ("x ship --now", "ship", Fit::No),
            ("x ship --to=prod", "ship --to prod", Fit::Yes),
            ("x ship --to=prod", "ship --to=test", Fit::No),
            ("x @prod", "deploy prod", Fit::Yes),
            ("x @prod", "deploy test", Fit::No),
            ("x ^list", "list", Fit::No),
            ("x ^list", "other", Fit::Yes),
            ("x ~drop", "run", Fit::Yes),
            ("x ~truncate", "run", Fit::No),
            ("x push", "\u{FFFF}", Fit::Unknown),
            ("x push", "\u{FFFF} push", Fit::Yes),
            ("x push", "pu\u{FFFF}", Fit::Unknown),
            ("x ship --now", "ship \u{FFFF}", Fit::Unknown),
            ("git push", "-C d push", Fit::Yes),
            ("git push", "push --dry-run", Fit::No),
            ("git push", "--version push", Fit::No),
        ] {
            assert_eq!(fits(rule, words), expected, "{rule} | {words}");
        }
        assert_eq!(label("x", "a|b c --now"), "x a c");
    }
}
