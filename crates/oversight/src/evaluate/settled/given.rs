//! What the starts in Python code are given: texts, lists, names that are bound once, parameters of functions.

use crate::value::{HOLE, has_hole};

use super::names::{PYTHON_SETTINGS, has};
use super::python::{Parameter, Python};
use crate::evaluate::calls::Start;
use crate::evaluate::tokens::Token;

/// More names than this are not looked up in one code.
pub(super) const MAX_ASKED: usize = 128;

/// More calls of functions that start something are not followed.
const MAX_FOUND: usize = 128;

/// What a start is given.
#[derive(Clone)]
pub(super) enum Given {
    Text(String),
    Words(Vec<String>),
    /// A parameter of the function around it, alone or after other words.
    Own {
        parameter: String,
        before: Vec<String>,
        split: bool,
    },
}

impl Given {
    pub(super) fn is_list(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

impl Python {
    pub(super) fn started(&self, at: usize, found: &mut Vec<Start>) -> Option<()> {
        let Some(rounds) = self.rounds_of(at) else {
            return self.started_once(at, found);
        };
        for round in rounds {
            self.round.replace(round);
            let once = self.started_once(at, found);
            self.round.replace(Vec::new());
            once?;
        }
        Some(())
    }

    fn started_once(&self, at: usize, found: &mut Vec<Start>) -> Option<()> {
        let verb = self.walk.word(at)?;
        let parts = self.walk.parts(at.saturating_add(1))?;
        let mut given = None;
        let mut rest = None;
        let mut shell = matches!(verb, "system" | "popen" | "getoutput" | "getstatusoutput");
        for (index, part) in parts.iter().enumerate() {
            let places = self.walk.places(*part);
            match self.named(&places) {
                (None, _) if index == 0 => given = Some(self.given(&places, 0)?),
                (None, _) if index == 1 && verb.starts_with("execv") => {
                    rest = Some(self.given(&places, 0)?);
                }
                (Some("args"), value) => given = Some(self.given(value, 0)?),
                (Some("shell"), [value]) => match self.walk.word(*value)? {
                    "True" => shell = true,
                    "False" => {}
                    _ => return None,
                },
                (Some("stdin"), value) => {
                    let last = value.last().and_then(|at| self.walk.word(*at));
                    last.filter(|word| *word == "DEVNULL")?;
                }
                (Some(name), _) if has(PYTHON_SETTINGS, name) => {}
                _ => return None,
            }
        }
        match (given?, rest) {
            (Given::Text(program), Some(Given::Words(words))) => {
                let words = words.into_iter().skip(1);
                found.push(Start::Words(
                    std::iter::once(program).chain(words).collect(),
                ));
            }
            (_, Some(_)) => return None,
            (Given::Text(text), None) if !verb.starts_with("execv") => {
                found.push(Start::Shell(text));
            }
            (Given::Words(words), None) if !shell => found.push(Start::Words(words)),
            (
                Given::Own {
                    parameter,
                    before,
                    split,
                },
                None,
            ) => self.own(&parameter, &before, split, shell, found)?,
            _ => return None,
        }
        Some(())
    }

    /// What a call of the function around a start gives to it.
    fn own(
        &self,
        parameter: &str,
        before: &[String],
        split: bool,
        shell: bool,
        found: &mut Vec<Start>,
    ) -> Option<()> {
        let mut all = self.parameters.iter().filter(|one| one.name == parameter);
        let one = all.next()?;
        let bound = self.binds(parameter)
            || self
                .occurrences(&one.function)
                .any(|at| self.is_bound(at) && self.walk.word_before(at, 1) != Some("def"));
        if all.next().is_some() || bound {
            return None;
        }
        let mut uses = self.occurrences(parameter);
        let read = uses.all(|at| self.only_reads(at)) && !self.fills_with(parameter);
        // A call that fills a text is none of those below.
        let mut fillings = self.walk.fillings.iter();
        let called =
            fillings.any(|filling| crate::evaluate::glance::contains_word(filling, &one.function));
        if (one.stars == 0 && !read) || called {
            return None;
        }
        let mut defined = 0_usize;
        for at in self.occurrences(&one.function) {
            if self.walk.word_before(at, 1) == Some("def") {
                defined = defined.saturating_add(1);
                continue;
            }
            let open = at.saturating_add(1);
            if !self.walk.sign(open, '(') || found.len() > MAX_FOUND {
                return None;
            }
            let (words, given) = self.own_call(one, open)?;
            let all = |words: Vec<String>| before.iter().cloned().chain(words).collect();
            match (one.stars, given) {
                (1, None) if !shell && !split => found.push(Start::Words(all(words))),
                (0, Some(Given::Text(text))) if split && !shell && before.is_empty() => {
                    found.push(Start::Words(split_words(&text)?));
                }
                (0, Some(Given::Text(text))) if !split && before.is_empty() => {
                    found.push(Start::Shell(text));
                }
                (0, Some(Given::Words(words))) if !shell && !split => {
                    found.push(Start::Words(all(words)));
                }
                _ => return None,
            }
        }
        (defined == 1).then_some(())
    }

    /// What one call gives to a parameter: words for one that takes all that are left, or a value.
    fn own_call(&self, one: &Parameter, open: usize) -> Option<(Vec<String>, Option<Given>)> {
        let mut words = Vec::new();
        let mut given = None;
        for (index, part) in self.walk.parts(open)?.iter().enumerate() {
            let places = self.walk.places(*part);
            if self.walk.sign(*places.first()?, '*') {
                return None;
            }
            match self.named(&places) {
                (Some(name), value) if name == one.name => given = Some(self.given(value, 0)?),
                (Some(_), _) => {}
                (None, _) if one.stars == 1 && index >= one.place => {
                    words.push(self.element(&places));
                }
                (None, _) if index == one.place => given = Some(self.given(&places, 0)?),
                (None, _) => {}
            }
        }
        Some((words, given))
    }

    /// What the first argument of a start stands for.
    pub(super) fn given(&self, places: &[usize], depth: usize) -> Option<Given> {
        if depth > 4 {
            return None;
        }
        let first = *places.first()?;
        if let Some(text) = self.walk.text(places) {
            return Some(Given::Text(self.filled_in(places, text)));
        }
        let bracketed = self.walk.closing(first) == places.last().copied();
        if bracketed && matches!(self.walk.token(first), Some(Token::Sign('[' | '('))) {
            let parts = self.walk.parts(first)?;
            let tuple = places
                .iter()
                .any(|at| self.walk.sign(*at, ',') && self.walk.outer(*at) == Some(first));
            return match parts.as_slice() {
                [only] if self.walk.sign(first, '(') && !tuple => {
                    self.given(&self.walk.places(*only), depth.saturating_add(1))
                }
                _ => self.list(&parts),
            };
        }
        let deeper = depth.saturating_add(1);
        let word = |index: usize| places.get(index).and_then(|at| self.walk.word(*at));
        let sign = |index: usize, sign: char| {
            let place = places.get(index);
            place.is_some_and(|at| self.walk.sign(*at, sign))
        };
        // `list(x)` and `shlex.split(x)`: the bracket takes all that is left.
        let inner = |open: usize| {
            let open = *places.get(open)?;
            let whole = self.walk.closing(open) == places.last().copied();
            match self.walk.parts(open)?.as_slice() {
                [only] if whole => self.given(&self.walk.places(*only), deeper),
                _ => None,
            }
        };
        match (word(0), word(2)) {
            (Some(name), None) if places.len() == 1 => self.name(name, depth),
            (Some("list"), _) if sign(1, '(') => inner(1).filter(|given| given.is_list()),
            (Some("shlex"), Some("split")) if sign(1, '.') && sign(3, '(') => split(inner(3)?),
            (Some(name), Some("split")) if sign(1, '.') && sign(3, '(') && places.len() == 5 => {
                split(self.name(name, depth)?)
            }
            _ => None,
        }
    }

    fn list(&self, parts: &[(usize, usize)]) -> Option<Given> {
        let mut words = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let places = self.walk.places(*part);
            if !self.walk.sign(*places.first()?, '*') {
                words.push(self.element(&places));
                continue;
            }
            let [_, name] = places.as_slice() else {
                return None;
            };
            let parameter = self.walk.word(*name)?.to_owned();
            if let Some(Given::Words(given)) = self.in_round(&parameter) {
                words.extend(given);
                continue;
            }
            let own = self.parameters.iter().any(|one| one.name == parameter);
            if !own || index.saturating_add(1) != parts.len() {
                return None;
            }
            return Some(Given::Own {
                parameter,
                before: words,
                split: false,
            });
        }
        Some(Given::Words(words))
    }

    /// One word of a list: its text, or a word that nobody knows.
    fn element(&self, places: &[usize]) -> String {
        if let Some(text) = self.walk.text(places) {
            return self.filled_in(places, text);
        }
        let names: Vec<&str> = places.iter().filter_map(|at| self.walk.word(*at)).collect();
        match (names.as_slice(), places.len()) {
            (["sys", "executable"], 3) => "python3".to_owned(),
            ([name], 1) => match self.name(name, 0) {
                Some(Given::Text(text)) => text,
                _ => HOLE.to_string(),
            },
            _ => HOLE.to_string(),
        }
    }

    fn in_round(&self, name: &str) -> Option<Given> {
        let round = self.round.borrow();
        let held = round.iter().find(|(one, _)| one == name);
        held.map(|(_, given)| given.clone())
    }

    /// What a name holds that is bound once, or the parameter that it is.
    pub(super) fn name(&self, name: &str, depth: usize) -> Option<Given> {
        self.asked.set(self.asked.get().saturating_add(1));
        if self.asked.get() > MAX_ASKED {
            return None;
        }
        if let Some(given) = self.in_round(name) {
            return Some(given);
        }
        if self.parameters.iter().any(|one| one.name == name) {
            return Some(Given::Own {
                parameter: name.to_owned(),
                before: Vec::new(),
                split: false,
            });
        }
        let mut bindings = self.occurrences(name).filter(|at| self.is_bound(*at));
        let at = bindings.next()?;
        let begin = at.saturating_add(2);
        if bindings.next().is_some()
            || !self.walk.begins(at)
            || !self.walk.sign(at.saturating_add(1), '=')
        {
            return None;
        }
        let end = self.end_of_statement(begin);
        let given = self.given(&self.walk.places((begin, end)), depth.saturating_add(1))?;
        match given {
            Given::Words(_) => {
                let mut others = self.occurrences(name).filter(|other| *other != at);
                let read = others.all(|other| self.only_reads(other)) && !self.fills_with(name);
                read.then_some(given)
            }
            Given::Own { .. } => None,
            other @ Given::Text(_) => Some(other),
        }
    }

    /// Whether a text is filled with more of a list than its words.
    pub(super) fn fills_with(&self, name: &str) -> bool {
        let plain = [
            name.to_owned(),
            format!("' '.join({name})"),
            format!("\" \".join({name})"),
            format!("shlex.join({name})"),
        ];
        let fillings = self.walk.fillings.iter();
        fillings
            .filter(|filling| crate::evaluate::glance::contains_word(filling, name))
            .any(|filling| !plain.contains(filling))
    }

    pub(super) fn occurrences<'s>(&'s self, name: &'s str) -> impl Iterator<Item = usize> + 's {
        (0..self.walk.tokens.len())
            .filter(move |at| self.walk.word(*at) == Some(name) && !self.walk.dotted(*at))
    }

    fn binds(&self, name: &str) -> bool {
        let parameter = |at: usize| {
            let open = self.walk.outer(at);
            open.is_some_and(|open| self.walk.word_before(open, 2) == Some("def"))
        };
        self.occurrences(name)
            .any(|at| self.is_bound(at) && !parameter(at))
    }

    /// Whether a name may get another value here.
    pub(super) fn is_bound(&self, at: usize) -> bool {
        let sign = |by: usize, sign: char| self.walk.sign(at.saturating_add(by), sign);
        let argument = self
            .walk
            .outer(at)
            .is_some_and(|open| self.walk.sign(open, '('));
        let equals = sign(1, '=') && !sign(2, '=') && !argument;
        let walrus = sign(1, ':') && sign(2, '=');
        let annotated = self.walk.begins(at) && sign(1, ':');
        let changed = match self.walk.token(at.saturating_add(1)) {
            Some(Token::Sign(
                one @ ('+' | '-' | '*' | '/' | '%' | '|' | '&' | '^' | '@' | '<' | '>'),
            )) => {
                let twice = sign(2, *one) && sign(3, '=');
                twice || (sign(2, '=') && !matches!(one, '<' | '>'))
            }
            _ => false,
        };
        let introduced = matches!(
            self.walk.word_before(at, 1),
            Some(
                "for"
                    | "as"
                    | "def"
                    | "import"
                    | "global"
                    | "nonlocal"
                    | "del"
                    | "lambda"
                    | "class"
                    | "case"
            )
        );
        let listed =
            self.walk.outer(at).is_none() && (sign(1, ',') || self.walk.sign_before(at, 1, ','));
        let looped = (0..at)
            .rev()
            .take(24)
            .take_while(|at| self.walk.word(*at) != Some("in"))
            .any(|at| matches!(self.walk.word(at), Some("for" | "lambda" | "as")));
        equals || walrus || annotated || changed || introduced || listed || looped
    }

    /// Whether what a name holds is only looked at here, and not changed.
    pub(super) fn only_reads(&self, at: usize) -> bool {
        // `f(x=list)`, `(x := list)`: another name for it.
        if self.walk.sign_before(at, 1, '=') {
            return false;
        }
        if self.walk.sign(at.saturating_add(1), '.') {
            return self.walk.word(at.saturating_add(2)) == Some("split");
        }
        if self.walk.sign(at.saturating_add(1), '[') {
            return false;
        }
        let Some(open) = self.walk.outer(at) else {
            return false;
        };
        let called = self.walk.word_before(open, 1);
        let starts = open
            .checked_sub(1)
            .is_some_and(|at| self.starts.contains(&at));
        let defines = self.walk.word_before(open, 2) == Some("def");
        self.walk.sign(open, '(')
            && (starts
                || defines
                || matches!(
                    called,
                    Some(
                        "print" | "join" | "len" | "str" | "repr" | "list" | "split" | "isinstance"
                    )
                ))
    }
}

/// What is split at its blanks.
fn split(given: Given) -> Option<Given> {
    match given {
        Given::Text(text) => Some(Given::Words(split_words(&text)?)),
        Given::Own {
            parameter, before, ..
        } => Some(Given::Own {
            parameter,
            before,
            split: true,
        }),
        Given::Words(_) => None,
    }
}

/// Words as a shell would split them; none when quotes or unknown places decide.
fn split_words(text: &str) -> Option<Vec<String>> {
    let plain = !text.contains(['\'', '"', '\\', '#']) && !has_hole(text);
    plain.then(|| text.split_whitespace().map(str::to_owned).collect())
}
