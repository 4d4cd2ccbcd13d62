//! Repair of words that the tokenizer splits or joins differently from bash.
//!
//! Words behind `<<name` on its line: the tokenizer returns the inside of `${…}` and `$(…)` there as separate words,
//! and the word without its inside: `cat <<E; git ${verb}` becomes `git verb ${}`. The positions show which parts
//! belong together.

use std::sync::Arc;

use brush_parser::{SourcePosition, SourceSpan, Token};

/// Returns the tokens as bash would read them.
pub(super) fn mended(tokens: Vec<Token>, text: &str) -> Vec<Token> {
    let tokens = if text.contains("<<") {
        whole(tokens, text)
    } else {
        tokens
    };
    if text.contains(">&") || text.contains("<&") {
        closed(tokens)
    } else {
        tokens
    }
}

/// Splits tokens such as `>&-git push`: the operator that closes a descriptor is a separate token, and a word begins
/// behind it.
fn closed(tokens: Vec<Token>) -> Vec<Token> {
    let mut apart: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let behind = apart.last().is_some_and(
            |last| matches!(last, Token::Operator(sign, _) if sign == ">&" || sign == "<&"),
        );
        match token {
            Token::Word(word, place) if behind && word.len() > 1 && word.starts_with('-') => {
                let rest = word.get(1..).unwrap_or_default();
                let middle = Arc::new(before(&place.end, rest.chars().count()));
                let sign = SourceSpan {
                    start: place.start,
                    end: Arc::clone(&middle),
                };
                let behind = SourceSpan {
                    start: middle,
                    end: place.end,
                };
                apart.push(Token::Word("-".to_owned(), sign));
                apart.push(Token::Word(rest.to_owned(), behind));
            }
            token => apart.push(token),
        }
    }
    apart
}

/// Returns the position that many characters before another one of its line.
fn before(place: &SourcePosition, characters: usize) -> SourcePosition {
    SourcePosition {
        index: place.index.saturating_sub(characters),
        line: place.line,
        column: place.column.saturating_sub(characters),
    }
}

/// Returns the tokens with the words behind a here-document's name reassembled.
fn whole(tokens: Vec<Token>, text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let mut whole: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token::Word(value, place) = token else {
            whole.push(token);
            continue;
        };
        let (start, end) = (place.start.index, place.end.index);
        let known = whole.len();
        while whole.last().is_some_and(|inside| {
            let inside = inside.location();
            start <= inside.start.index && inside.end.index <= end && inside.length() > 0
        }) {
            whole.pop();
        }
        let written = characters.get(start..end).filter(|_| whole.len() < known);
        // The position may include the blank before the word.
        let value = written.map_or(value, |written| {
            let written: String = written.iter().collect();
            written.trim_start_matches([' ', '\t']).to_owned()
        });
        whole.push(Token::Word(value, place));
    }
    whole
}

#[cfg(test)]
mod tests {
    use brush_parser::{TokenizerOptions, uncached_tokenize_str};

    use super::mended;

    fn tokens_of(text: &str) -> String {
        let tokens = uncached_tokenize_str(text, &TokenizerOptions::default()).unwrap();
        let mended = mended(tokens, text);
        let found: Vec<&str> = mended.iter().map(|token| token.to_str()).collect();
        found.join(" ")
    }

    #[test]
    fn a_word_begins_behind_the_sign_that_closes() {
        for (text, words) in [
            (">&-git push", ">& - git push"),
            ("git 2>&- <&-push", "git 2 >& - <& - push"),
            ("<& -a&>-b >&-2>&1", "<& - a &> -b >& - 2 >& 1"),
        ] {
            assert_eq!(tokens_of(text), words, "{text}");
        }
    }

    #[test]
    fn a_word_behind_a_here_document_keeps_its_inside() {
        for (text, words) in [
            (
                "cat <<E; git ${v:-x} y\nb\nE\n",
                "cat << E b\n E ; git ${v:-x} y \n",
            ),
            (
                "cat <<E | a\"b$(echo p; q)c\" >${F} é$((1+2))\nb ${x}\nE\n",
                "cat << E b ${x}\n E | a\"b$(echo p; q)c\" > ${F} é$((1+2)) \n",
            ),
            (
                "cat <<A <<B ${x}\n1\nA\n2\nB\nls\n",
                "cat << A 1\n A << B 2\n B ${x} \n ls \n",
            ),
        ] {
            assert_eq!(tokens_of(text), words, "{text}");
        }
    }
}
