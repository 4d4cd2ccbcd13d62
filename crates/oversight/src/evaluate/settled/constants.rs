//! Names in JavaScript that hold texts and nothing else: `const c = "ls"`, `for (const c of ["ls", "date"])`.

use super::Walk;
use crate::evaluate::tokens::Token;
use crate::value::{HOLE, has_hole};

/// More values than this are not followed.
const MAX_VALUES: usize = 64;

/// More names than this are not looked up for one text.
const MAX_NAMES: usize = 8;

/// The texts that an argument may be: one that stands there, or one for each value of a name in it.
pub(super) fn values(walk: &Walk, part: (usize, usize)) -> Option<Vec<String>> {
    let places = walk.places(part);
    let [at] = places.as_slice() else {
        return walk.text(&places).map(|text| vec![text]);
    };
    if let Some(name) = walk.word(*at) {
        return held(walk, name);
    }
    let text = walk.text(&places)?;
    let Some(fillings) = walk.fillings_at(*at).filter(|all| all.len() <= MAX_NAMES) else {
        return Some(vec![text]);
    };
    let mut pieces = text.split(HOLE);
    let mut all = vec![pieces.next()?.to_owned()];
    for (piece, filling) in pieces.zip(fillings) {
        let fills = held(walk, filling)?;
        if fills.len().saturating_mul(all.len()) > MAX_VALUES {
            return None;
        }
        let filled = all.iter().flat_map(|before| {
            let whole = |value: &String| format!("{before}{value}{piece}");
            fills.iter().map(whole).collect::<Vec<_>>()
        });
        all = filled.collect();
    }
    Some(all)
}

/// What a name holds that is declared once and for good.
fn held(walk: &Walk, name: &str) -> Option<Vec<String>> {
    let all = || {
        let places = 0..walk.tokens.len();
        places.filter(|at| walk.word(*at) == Some(name) && !walk.dotted(*at))
    };
    let mut declared = all().filter(|at| walk.word_before(*at, 1) == Some("const"));
    let at = declared.next()?;
    let others = all().filter(|other| *other != at);
    if declared.next().is_some() || others.into_iter().any(|other| may_bind(walk, other)) {
        return None;
    }
    let next = at.saturating_add(1);
    let begin = at.saturating_add(2);
    if walk.sign(next, '=') {
        let after = begin.saturating_add(1);
        let ends = matches!(walk.token(after), None | Some(Token::Sign(';' | '\n')));
        let text = walk.text(&[begin]).filter(|text| ends && !has_hole(text));
        return text.map(|text| vec![text]);
    }
    let listed = walk.word(next) == Some("of") && walk.sign(begin, '[');
    let end = walk.closing(begin).filter(|_| listed)?;
    let parts = walk
        .parts(begin)
        .filter(|parts| parts.len() <= MAX_VALUES)?;
    let texts = parts.iter().map(|part| {
        let text = walk.text(&walk.places(*part))?;
        (!has_hole(&text)).then_some(text)
    });
    walk.sign(end.saturating_add(1), ')')
        .then(|| texts.collect())
        .flatten()
}

/// Whether a name may be another one here: a parameter, a declaration, what is caught or taken apart.
fn may_bind(walk: &Walk, at: usize) -> bool {
    let next = at.saturating_add(1);
    let before = walk.word_before(at, 1);
    let declares = matches!(
        before,
        Some("let" | "var" | "function" | "class" | "import" | "as")
    );
    let parameter = walk.outer(at).is_some_and(|open| {
        let end = walk.closing(open).unwrap_or(open);
        let after = end.saturating_add(1);
        // What stands in other brackets may be taken apart there.
        let apart = !walk.sign(open, '(')
            && matches!(
                at.checked_sub(1).and_then(|before| walk.token(before)),
                Some(Token::Sign('{' | '[' | ',' | ':' | '.'))
            );
        apart || walk.sign(after, '=') || walk.sign(after, '{')
    });
    let changed = walk.sign(next, '=') || walk.sign(next, ':');
    declares || parameter || changed
}
