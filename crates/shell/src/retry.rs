//! Rewrites texts that bash accepts and the first parser does not.

/// Returns the same text in a form that the parser supports; `None` if there is no other.
pub(super) fn otherwise(text: &str) -> Option<String> {
    // The parser has no `select`; here that is a `for`, which has the same words in the same positions.
    if text.contains("select ") {
        return Some(select_as_for(text));
    }
    // It also has no infinite loop without expressions.
    if text.contains("for ((;;))") {
        return Some(text.replace("for ((;;))", "while true"));
    }
    ended(text)
}

/// Escapes a backslash at the end of a text, which is literal.
fn ended(text: &str) -> Option<String> {
    let before = text.strip_suffix('\\')?;
    // Other shells may drop it, which changes the word before.
    let alone = before.ends_with([' ', '\t', '\n']);
    alone.then(|| format!("{text}\\"))
}

fn select_as_for(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut begins = true;
    for line in text.split_inclusive([';', '\n', '&', '|', '(', '{', ' ']) {
        if begins && line == "select " {
            // The same length keeps every position.
            result.push_str("for    ");
        } else {
            result.push_str(line);
        }
        let rest = line.trim_end_matches([' ', '\t']);
        let keyword = ["do", "then", "else", "!", "{", "("].contains(&rest);
        begins = keyword
            || rest.ends_with([';', '\n', '&', '|', '(', '{'])
            || (begins && rest.is_empty());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::ended;

    #[test]
    fn the_end_of_a_text_is_read_as_bash_does() {
        assert_eq!(ended("ls \\").as_deref(), Some("ls \\\\"));
        assert_eq!(ended("ls\\"), None);
        assert_eq!(ended("ls \\\\"), None);
        assert_eq!(ended("echo 'a"), None);
    }
}
