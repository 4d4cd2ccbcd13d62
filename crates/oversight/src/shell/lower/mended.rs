//! Words behind `<<name` on its line. The tokenizer gives the inside of `${…}` and `$(…)` there as words of their own,
//! and the word without its inside: `cat <<E; git ${verb}` becomes `git verb ${}`. The places tell what belongs together.

use brush_parser::Token;

/// The tokens with such words put together again.
pub(super) fn mended(tokens: Vec<Token>, text: &str) -> Vec<Token> {
    if !text.contains("<<") {
        return tokens;
    }
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
        // The place may begin with the blank before the word.
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
            let tokens = uncached_tokenize_str(text, &TokenizerOptions::default()).unwrap();
            let mended = mended(tokens, text);
            let found: Vec<&str> = mended.iter().map(|token| token.to_str()).collect();
            assert_eq!(found.join(" "), words, "{text}");
        }
    }
}
