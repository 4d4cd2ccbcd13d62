//! Reads a file of git's settings.

/// Returns the keys and values of a text of settings, keys in lower case.
#[must_use]
pub fn settings_of(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut all = Vec::new();
    for line in text.replace("\\\n", "").lines() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            let (head, rest) = head.split_once(']').unwrap_or((head, ""));
            section = head
                .replacen(" \"", ".", 1)
                .trim_end_matches('"')
                .to_ascii_lowercase();
            if rest.trim().is_empty() {
                continue;
            }
        }
        let line = line
            .rsplit_once(']')
            .filter(|_| line.starts_with('['))
            .map_or(line, |(_, rest)| rest.trim());
        if line.starts_with(['#', ';']) || line.is_empty() {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = unquoted(value.trim());
        all.push((
            format!("{section}.{}", key.trim().to_ascii_lowercase()),
            value,
        ));
    }
    all
}

fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => text.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            }),
            '#' | ';' if !quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::settings_of;

    #[test]
    fn sections_comments_quotes_and_long_lines_are_read() {
        let text = "[Core] # no\n\tBare = false\n[remote \"Up.x\"]\n; no\nurl = \"a # b\" # c\n[alias] p = push \\\n -f\nflag\n";
        let found = settings_of(text);
        let expected = [
            ("core.bare", "false"),
            ("remote.up.x.url", "a # b"),
            ("alias.p", "push  -f"),
            ("alias.flag", "true"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }
}
