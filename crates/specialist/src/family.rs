//! Is this base model of the Claude family? An adapter that is checked by Claude must not be built on Claude.
//!
//! A name is cut into segments as registries and clouds write them (`us.anthropic.claude-3`, `publishers/anthropic/…`,
//! `claude:latest`), a segment into words. A word counts only as a whole: `claudette` is another word.

/// What may follow `claude` within the same word.
const TIERS: [&str; 5] = ["opus", "sonnet", "haiku", "instant", "v"];

/// Whether a base model's name resolves to the Claude family.
#[must_use]
pub fn is_claude(model: &str) -> bool {
    let name = model.to_lowercase();
    segments(&name).any(is_claude_segment)
}

/// A dot separates only before a letter: `anthropic.claude` has one, `claude-4.5` has none.
fn segments(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(name);
    std::iter::from_fn(move || {
        let whole = rest?;
        let cut = whole.char_indices().find(|&(at, char)| match char {
            '.' => whole
                .get(at + 1..)
                .and_then(|after| after.chars().next())
                .is_some_and(char::is_alphabetic),
            '/' | ':' | '@' | ',' | ';' | '|' | '\\' | '(' | ')' | '[' | ']' | '=' | '+' | '#' => {
                true
            }
            other => other.is_whitespace() || other.is_control(),
        });
        match cut
            .and_then(|(at, char)| Some((whole.get(..at)?, whole.get(at + char.len_utf8()..)?)))
        {
            Some((segment, after)) => {
                rest = Some(after);
                Some(segment)
            }
            None => rest.take(),
        }
    })
}

/// `claude…` or `anthropic…` at the front is the family. Further back it is too (`bedrock-claude-3`), unless the name says
/// that another model was distilled from it.
fn is_claude_segment(segment: &str) -> bool {
    let mut words = segment
        .split(['-', '_', '.'])
        .filter(|word| !word.is_empty());
    match words.next() {
        None => false,
        Some(first) if is_claude_word(first) || first == "anthropic" => true,
        Some(_) => {
            let rest: Vec<&str> = words.collect();
            let distilled = rest.iter().any(|word| word.starts_with("distil"));
            !distilled
                && rest
                    .iter()
                    .any(|word| is_claude_word(word) || *word == "anthropic")
        }
    }
}

fn is_claude_word(word: &str) -> bool {
    let Some(after) = word.strip_prefix("claude") else {
        return false;
    };
    after.is_empty()
        || after.starts_with(|char: char| char.is_ascii_digit())
        || TIERS.iter().any(|tier| {
            after.strip_prefix(tier).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|char: char| char.is_ascii_digit())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_in_all_its_spellings() {
        for model in [
            "claude-haiku-4-5",
            "Claude-Opus-4-7",
            "anthropic/claude-opus",
            "anthropic.claude-v2:1",
            "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku",
            "projects/p/locations/l/publishers/anthropic/models/claude-3-5-sonnet@20240620",
            "vertex_ai/claude-3-opus",
            "openrouter/anthropic/anything",
            "claude3",
            "claude_opus",
            "claude:latest",
            "claude",
            "claude-4.5",
            "claudeopus4",
            "claudev2",
            "my/claude-instant",
            "bedrock-claude-3",
            "anthropic.other",
            "a b claude",
            "CLAUDE\u{0}x",
        ] {
            assert!(is_claude(model), "{model:?}");
        }
    }

    #[test]
    fn other_words_and_other_models() {
        for model in [
            "Qwen/Qwen3-8B",
            "google/gemma-3-9b",
            "mistralai/Mistral-7B-v0.3",
            "claudette-7b",
            "org/claudel",
            "xclaude",
            "philanthropic/base",
            "anthropicity-1b",
            "x-claude-distill",
            "Qwen3-14B-Claude-4.5-Opus-Distill",
            "",
            "...",
        ] {
            assert!(!is_claude(model), "{model:?}");
        }
    }
}
