//! What bash reads and the first parser does not, written otherwise.

/// The same text in a form that the parser knows; none when there is no other.
pub(super) fn otherwise(text: &str) -> Option<String> {
    // It has no `select`; for us that is a `for`, which has the same words in the same places.
    if text.contains("select ") {
        return Some(select_as_for(text));
    }
    // Nor a loop without an end that has no expressions.
    if text.contains("for ((;;))") {
        return Some(text.replace("for ((;;))", "while true"));
    }
    ended(text)
}

/// A backslash at the end of a text stands for itself.
fn ended(text: &str) -> Option<String> {
    let before = text.strip_suffix('\\')?;
    // Other shells may take it away, which makes another word of the one before.
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
