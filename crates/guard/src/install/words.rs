//! Quotes and splits the words of shell command lines that we write ourselves.

/// Quotes a word so that a POSIX shell reads it as one literal word.
#[must_use]
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:@,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Splits a line at blanks, with single quotes and backslashes; `None` if it has other syntax, which our lines never
/// have.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ';' | '|' | '&' | '<' | '>' | '$' | '`' | '"' | '(' | ')' | '\n' => return None,
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_one_word() {
        for word in ["plain", "", "a b", "it's", "$HOME", "a;b", "ü", "--x='1'"] {
            let line = format!("{} end", quoted(word));
            assert_eq!(split(&line).unwrap(), [word, "end"], "{line}");
        }
        assert_eq!(quoted("/usr/bin/roleos"), "/usr/bin/roleos");
    }

    #[test]
    fn more_than_words_is_not_split() {
        for line in [
            "a; b", "a | b", "a && b", "$a", "`a`", "\"a\"", "(a)", "a\nb", "'a",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
