//! Detection of Claude-family base models (R1): an adapter that Claude checks must not be built on Claude.
//!
//! The test errs on the side of refusing. A name is percent-decoded and reduced to its letters, with digits and
//! symbols that look like letters read as such; containing the family's name anywhere refuses it. A name outside
//! ASCII is refused altogether, because look-alike and invisible characters cannot be told apart by eye. Everything
//! that the reference's list of substrings refuses is refused here too.

/// Names of the family.
const NAMES: [&str; 2] = ["claude", "anthropic"];

/// Whole words that contain a name of the family and are unrelated words.
const OTHER_WORDS: [&str; 3] = ["claudette", "claudel", "philanthropic"];

/// Model names that are the family's when a number follows (`opus-4-5`); `opus-mt-en-de` is another model.
const TIERS: [&str; 3] = ["opus", "sonnet", "haiku"];

/// Equivalent of the reference's list.
const REFERENCE: [&str; 3] = ["claude-", "anthropic/", "anthropic."];

/// Limit of rounds of percent-decoding; a name that is encoded more often is refused.
const MAX_ROUNDS: usize = 4;

/// Returns why a base model's name is refused, or `None` if it may be a base.
#[must_use]
pub fn refusal(model: &str) -> Option<&'static str> {
    let family = "is Claude-family; an adapter that Claude checks must not be built on Claude";
    let Some(name) = decode(&model.to_lowercase()) else {
        return Some("hides its characters by encoding them again and again; write the plain name");
    };
    // Lower case first: the Kelvin sign is `k` there.
    if !model.is_ascii() || !name.is_ascii() {
        return Some(
            "has characters outside ASCII, which can imitate a Claude-family name; write it in ASCII",
        );
    }
    is_family(&name).then_some(family)
}

fn is_family(name: &str) -> bool {
    if REFERENCE.iter().any(|part| name.contains(part)) || is_tier(name) {
        return true;
    }
    let others = without_other_words(name);
    let letters: String = others.chars().filter(|char| is_kept(*char)).collect();
    let read = |text: &str| -> String {
        let read = text.chars().map(look_alike);
        read.filter(|char| is_kept(*char)).collect()
    };
    let look_alikes = read(&others);
    NAMES
        .iter()
        .any(|name| letters.contains(name) || look_alikes.contains(&read(name)))
}

/// Returns `true` if the name has a tier's name as a word, with a number behind it.
fn is_tier(name: &str) -> bool {
    let words: Vec<&str> = name
        .split(|char: char| !char.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let numbered = |text: &str| text.starts_with(|char: char| char.is_ascii_digit());
    words.iter().enumerate().any(|(at, word)| {
        TIERS.iter().any(|tier| match word.strip_prefix(tier) {
            Some("") => words.get(at + 1).is_some_and(|next| numbered(next)),
            Some(after) => numbered(after),
            None => false,
        })
    })
}

/// Returns the name with each of [`OTHER_WORDS`] replaced by a separator.
fn without_other_words(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    for word in name.split_inclusive(|char: char| !char.is_ascii_alphabetic()) {
        let letters = word.trim_end_matches(|char: char| !char.is_ascii_alphabetic());
        if OTHER_WORDS.contains(&letters) {
            kept.push(SEPARATOR);
        } else {
            kept.push_str(word);
        }
    }
    kept
}

/// Character in place of a removed word, which joins nothing.
const SEPARATOR: char = '\u{fffd}';

fn is_kept(char: char) -> bool {
    char.is_ascii_alphabetic() || char == SEPARATOR
}

/// Returns the letter that a character resembles. `i` is `l` because a capital `I` is.
fn look_alike(char: char) -> char {
    match char {
        '1' | 'i' | '|' | '!' => 'l',
        '0' => 'o',
        '3' => 'e',
        '4' | '@' => 'a',
        '(' => 'c',
        other => other,
    }
}

/// Decodes percent-encoding until nothing is encoded; `None` after too many rounds.
fn decode(name: &str) -> Option<String> {
    let mut name = name.to_owned();
    for _ in 0..MAX_ROUNDS {
        let decoded = decode_once(&name);
        if decoded == name {
            return Some(name);
        }
        name = decoded;
    }
    None
}

fn decode_once(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.first_chunk::<2>().filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    // A byte that is not a character is outside ASCII either way.
    String::from_utf8_lossy(&bytes).to_lowercase()
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
            "philanthropic/base",
            "x-claude-distill",
            "Qwen3-14B-Claude-4.5-Opus-Distill",
        ] {
            assert!(refusal(model).is_some(), "{model:?}");
        }
    }

    #[test]
    fn no_spelling_gets_around_it() {
        for model in [
            "claude\u{2011}3",
            "claude\u{200b}-3",
            "clau\u{200b}de-3",
            "cla\u{ad}ude-3",
            "\u{441}laude-3",
            "cl\u{430}ude-opus-4",
            "\u{ff43}laude-3",
            "\u{217d}laude-3",
            "\u{1d588}laude-3",
            "claude\u{1f642}",
            "cIaude-3",
            "c1aude-3",
            "cl4ud3",
            "c|aude",
            "(laude",
            "c.l.a.u.d.e",
            "cla7ude",
            "clau\u{0}de",
            "anthr0pic-x",
            "4nthrop1c",
            "claude%2D3",
            "clau%64e-3",
            "clau%2564e",
            "clau%252525252564e",
            "%63%6c%61%75%64%65",
            "\"claude\"",
            "'claude-3'",
            "<claude-3>",
            "{claude-3}",
            "`claude`",
            "~claude",
            "claudemythos",
            "claudenext",
            "myclaude-3",
            "xclaude-3",
            "xclaude",
            "sonnet-4-5",
            "opus-4-5",
            "opus4",
            "my/haiku_4",
            "my-distil-anthropic-claude-opus-4",
            "gpt-distilled-by-claude-opus",
            "anthropicity-1b",
            "claudette-claude",
            "cl%80aude",
        ] {
            assert!(refusal(model).is_some(), "{model:?}");
        }
    }

    #[test]
    fn other_words_and_other_models() {
        for model in [
            "Qwen/Qwen3-8B",
            "google/gemma-3-9b",
            "mistralai/Mistral-7B-v0.3",
            "meta-llama/Llama-3.1-8B-Instruct",
            "Helsinki-NLP/opus-mt-en-de",
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
            "claudette-7b",
            "org/claudel",
            "philanthropic-1b",
            "100%-open",
            "",
            "...",
        ] {
            assert_eq!(refusal(model), None, "{model:?}");
        }
    }

    #[test]
    fn what_the_reference_refuses_is_never_let_pass() {
        let pieces = [
            "claude",
            "-",
            "anthropic",
            "/",
            ".",
            "claudette",
            "philanthropic",
            "x",
            "%2d",
            "7",
        ];
        let count = pieces.len();
        for number in 0..count.pow(4) {
            let name: String = (0..4)
                .filter_map(|digit| {
                    let place = u32::try_from(digit).ok()?;
                    pieces.get(number / count.pow(place) % count)
                })
                .copied()
                .collect();
            let refused = REFERENCE.iter().any(|part| name.contains(part));
            assert!(!refused || refusal(&name).is_some(), "{name:?}");
        }
    }
}
