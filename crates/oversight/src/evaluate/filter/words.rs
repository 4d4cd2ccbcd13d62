//! The words of a filter, read strictly: an option that is not known may change what it prints, so there is no reading then.

/// Options and operands.
#[derive(Debug, Default)]
pub(crate) struct Given<'w> {
    flags: String,
    values: Vec<(char, &'w str)>,
    /// What is no option.
    pub(crate) operands: Vec<&'w str>,
}

impl<'w> Given<'w> {
    /// Reads words by a list of letters, `:` behind those with a value, and of long names with their letters.
    pub(crate) fn read(
        arguments: &'w [String],
        letters: &str,
        long: &[(&str, char)],
    ) -> Option<Self> {
        let mut given = Self::default();
        let valued = |letter: char| letters.contains(&format!("{letter}:"));
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                given.operands.extend(words.map(String::as_str));
                break;
            }
            if let Some(option) = word.strip_prefix("--") {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (option, None),
                };
                let letter = long.iter().find(|(one, _)| *one == name)?.1;
                match value {
                    Some(value) => given.values.push((letter, value)),
                    None if valued(letter) => given.values.push((letter, words.next()?)),
                    None => given.flags.push(letter),
                }
                continue;
            }
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
                given.operands.push(word);
                continue;
            };
            let mut flags = flags.chars();
            while let Some(letter) = flags.next() {
                if valued(letter) {
                    let rest = flags.as_str();
                    let value = if rest.is_empty() { words.next()? } else { rest };
                    given.values.push((letter, value));
                    break;
                }
                if letter == ':' || !letters.contains(letter) {
                    return None;
                }
                given.flags.push(letter);
            }
        }
        Some(given)
    }

    /// Whether a letter was given.
    pub(crate) fn has(&self, letter: char) -> bool {
        self.flags.contains(letter)
    }

    /// The last value of a letter.
    pub(crate) fn value(&self, letter: char) -> Option<&'w str> {
        let mut found = self.values.iter().rev();
        found
            .find(|(one, _)| *one == letter)
            .map(|(_, value)| *value)
    }

    /// All values of a letter.
    pub(crate) fn all(&self, letter: char) -> impl Iterator<Item = &'w str> {
        let found = self.values.iter().filter(move |(one, _)| *one == letter);
        found.map(|(_, value)| *value)
    }
}
