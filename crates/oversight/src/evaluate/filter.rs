//! What single filters make of text that is known. None when that is beyond us: the caller takes it as unknown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::shell::escape;
use crate::value::Value;

use super::launch::letter_value;
use super::wrapper::option_value;

/// What one filter makes of one text; None when that is beyond us.
pub(super) fn apply(name: &str, arguments: &[String], text: &str) -> Option<String> {
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
    let lines = || text.lines().map(str::to_owned).collect::<Vec<_>>();
    let joined = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    if text.is_empty() && matches!(name, "grep" | "egrep" | "fgrep" | "cut" | "tr") {
        return Some(String::new());
    }
    Some(match name {
        "cat" | "iconv" | "sort" | "strings" | "dos2unix" | "expand" | "uniq" => text.to_owned(),
        // Packing and unpacking in one pipe gives the text back; anything else stays unreadable and unknown.
        "gzip" | "gunzip" | "zcat" | "gzcat" | "xz" | "unxz" | "bzip2" | "bunzip2"
            if text.is_ascii() =>
        {
            text.to_owned()
        }
        "column" | "fmt" => joined(
            text.lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join("  "))
                .collect(),
        ),
        "tac" => joined(lines().into_iter().rev().collect()),
        "rev" => joined(
            text.lines()
                .map(|line| line.chars().rev().collect())
                .collect(),
        ),
        "head" => joined(lines().into_iter().take(line_count(arguments)?).collect()),
        "tail" => {
            let all = lines();
            let count = line_count(arguments)?;
            let skip = all.len().saturating_sub(count);
            joined(all.into_iter().skip(skip).collect())
        }
        "fold" => {
            let width: usize = option_value(arguments, &["-w"])
                .or_else(|| letter_value(arguments, 'w'))?
                .parse()
                .ok()
                .filter(|width| *width > 0)?;
            let all: Vec<char> = text.trim_end_matches('\n').chars().collect();
            joined(
                all.chunks(width)
                    .map(|chunk| chunk.iter().collect())
                    .collect(),
            )
        }
        "cut" => cut(arguments, text)?,
        "tr" => translate(arguments, text)?,
        "sed" | "gsed" => sed(arguments, text)?,
        "grep" | "egrep" | "fgrep" => grep(arguments, text)?,
        "jq" => jq(arguments, text)?,
        "base64" | "gbase64" if has(&["-d", "-D", "--decode", "-di", "-id"]) => {
            decode_base64(text)?
        }
        "basenc" if has(&["--base64"]) && has(&["-d"]) => decode_base64(text)?,
        "basenc" if has(&["--base16"]) && has(&["-d"]) => decode_hex(text)?,
        "base32" if has(&["-d", "--decode"]) => decode_base32(text)?,
        "openssl" if has(&["-d"]) && (has(&["base64", "-base64", "-a"])) => decode_base64(text)?,
        "xxd" if arguments.iter().any(|word| word.starts_with("-r")) => decode_hex(text)?,
        "od" if arguments.iter().any(|word| word.contains("x1")) => {
            text.bytes()
                .map(|byte| format!(" {byte:02x}"))
                .collect::<String>()
                + "\n"
        }
        _ => return None,
    })
}

fn line_count(arguments: &[String]) -> Option<usize> {
    for word in arguments {
        if let Some(number) = word.strip_prefix('-') {
            let number = number.trim_start_matches('n');
            if let Ok(count) = number.parse() {
                return Some(count);
            }
        }
    }
    match option_value(arguments, &["-n", "--lines"]) {
        Some(text) => text.parse().ok(),
        None if arguments.iter().any(|word| word.starts_with("-c")) => None,
        None => Some(10),
    }
}

pub(super) fn decode_base64(text: &str) -> Option<String> {
    let clean: String = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .collect();
    let unpadded = clean.trim_end_matches('=');
    let engine = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let bytes = STANDARD
        .decode(&clean)
        .or_else(|_| engine.decode(unpadded))
        .ok()?;
    String::from_utf8(bytes).ok()
}

fn decode_base32(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for character in text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '=')
    {
        let value = match character {
            'A'..='Z' => u32::from(character) - u32::from('A'),
            '2'..='7' => u32::from(character) - u32::from('2') + 26,
            _ => return None,
        };
        buffer = (buffer << 5 | value) & 0xFFFF;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

fn cut(arguments: &[String], text: &str) -> Option<String> {
    let by_character = letter_value(arguments, 'c').or_else(|| letter_value(arguments, 'b'));
    let delimiter = option_value(arguments, &["-d", "--delimiter"])
        .or_else(|| letter_value(arguments, 'd'))
        .unwrap_or_else(|| "\t".to_owned());
    let delimiter = delimiter.chars().next()?;
    let list = by_character
        .clone()
        .or_else(|| option_value(arguments, &["-f", "--fields"]))
        .or_else(|| letter_value(arguments, 'f'))?;
    let ranges: Vec<(usize, usize)> = list.split(',').map(range).collect::<Option<_>>()?;
    let chosen = |index: usize| {
        ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&index))
    };
    let lines = text.lines().map(|line| {
        if by_character.is_some() {
            let kept = line
                .chars()
                .enumerate()
                .filter(|(index, _)| chosen(index.saturating_add(1)));
            return kept.map(|(_, character)| character).collect::<String>() + "\n";
        }
        if !line.contains(delimiter) {
            return line.to_owned() + "\n";
        }
        let fields = line.split(delimiter).enumerate();
        let kept: Vec<&str> = fields
            .filter(|(index, _)| chosen(index.saturating_add(1)))
            .map(|(_, field)| field)
            .collect();
        kept.join(&delimiter.to_string()) + "\n"
    });
    Some(lines.collect())
}

/// `2`, `2-`, `-3` and `2-3`, counted from one.
fn range(text: &str) -> Option<(usize, usize)> {
    let Some((from, to)) = text.split_once('-') else {
        let only = text.parse().ok()?;
        return Some((only, only));
    };
    let from = if from.is_empty() {
        1
    } else {
        from.parse().ok()?
    };
    let to = if to.is_empty() {
        usize::MAX
    } else {
        to.parse().ok()?
    };
    Some((from, to))
}

fn translate(arguments: &[String], text: &str) -> Option<String> {
    let deletes = arguments
        .iter()
        .any(|word| word.starts_with('-') && word.contains('d'));
    if arguments
        .iter()
        .any(|word| word.starts_with('-') && word.contains('c'))
    {
        return None;
    }
    let sets: Vec<Vec<char>> = arguments
        .iter()
        .filter(|word| !word.starts_with('-') || *word == "-")
        .map(|word| characters(word))
        .collect();
    match (sets.as_slice(), deletes) {
        ([from], true) => Some(
            text.chars()
                .filter(|character| !from.contains(character))
                .collect(),
        ),
        ([from, to], false) => {
            let last = *to.last()?;
            let change = |character: char| match from.iter().position(|one| *one == character) {
                Some(index) => to.get(index).copied().unwrap_or(last),
                None => character,
            };
            Some(text.chars().map(change).collect())
        }
        _ => Some(text.to_owned()),
    }
}

fn characters(set: &str) -> Vec<char> {
    let set = set
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:space:]", " \t\n")
        .replace("[:digit:]", "0-9");
    let set: Vec<char> = escape::backslashes(&set).chars().collect();
    let mut all = Vec::new();
    let mut index = 0;
    while let Some(first) = set.get(index) {
        match (
            set.get(index.saturating_add(1)),
            set.get(index.saturating_add(2)),
        ) {
            (Some('-'), Some(last)) => {
                all.extend(*first..=*last);
                index = index.saturating_add(3);
            }
            _ => {
                all.push(*first);
                index = index.saturating_add(1);
            }
        }
    }
    all
}

/// `s/a/b/` on plain text, and `Np`.
fn sed(arguments: &[String], text: &str) -> Option<String> {
    let script = option_value(arguments, &["-e", "--expression"]).or_else(|| {
        arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .cloned()
    })?;
    if let Some(number) = script
        .strip_suffix('p')
        .and_then(|number| number.parse::<usize>().ok())
    {
        return Some(text.lines().nth(number.checked_sub(1)?)?.to_owned() + "\n");
    }
    let rest = script.strip_prefix('s')?;
    let mark = rest.chars().next()?;
    let parts: Vec<&str> = rest.split(mark).collect();
    let [_, wanted, replacement, flags] = parts.as_slice() else {
        return None;
    };
    let special = |text: &str| text.contains(['\\', '*', '[', '^', '$', '.', '+', '?', '(', '&']);
    if special(wanted)
        || replacement.contains(['\\', '&'])
        || !flags.chars().all(|flag| "gI".contains(flag))
    {
        return None;
    }
    let lines = text.lines().map(|line| {
        let changed = if flags.contains('g') {
            line.replace(wanted, replacement)
        } else {
            line.replacen(wanted, replacement, 1)
        };
        changed + "\n"
    });
    Some(lines.collect())
}

fn grep(arguments: &[String], text: &str) -> Option<String> {
    let wanted = option_value(arguments, &["-e"]).or_else(|| {
        arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .cloned()
    })?;
    let flags = || arguments.iter().filter_map(|word| word.strip_prefix('-'));
    let inverted = flags().any(|word| word.contains('v'));
    let start = wanted.strip_prefix('^');
    let plain = start.unwrap_or(&wanted);
    if plain.contains(['\\', '*', '[', '$', '.', '+', '?', '(', '|'])
        || flags().any(|word| !word.chars().all(|flag| "FEv".contains(flag)))
    {
        return None;
    }
    let fits = |line: &&str| {
        let found = if start.is_some() {
            line.starts_with(plain)
        } else {
            line.contains(plain)
        };
        found != inverted
    };
    Some(
        text.lines()
            .filter(fits)
            .map(|line| format!("{line}\n"))
            .collect(),
    )
}

/// `.a.b` on a document, and a literal text.
/// `.scripts.x = "text"`, one or several with pipes between: the document with new texts in it.
fn jq_assigned(program: &str, text: &str) -> Option<String> {
    let mut document: serde_json::Value = serde_json::from_str(text).ok()?;
    for part in program.split('|') {
        let (path, value) = part.trim().split_once('=')?;
        let value: serde_json::Value = serde_json::from_str(value.trim()).ok()?;
        let mut at = &mut document;
        for key in path.trim().strip_prefix('.')?.split('.') {
            let key = key.trim_matches(['"', '[', ']']);
            at = at
                .as_object_mut()?
                .entry(key)
                .or_insert(serde_json::Value::Null);
            if at.is_null() {
                *at = serde_json::Value::Object(serde_json::Map::new());
            }
        }
        *at = value;
    }
    Some(document.to_string() + "\n")
}

fn jq(arguments: &[String], text: &str) -> Option<String> {
    let program = arguments.iter().find(|word| !word.starts_with('-'))?;
    if let Some(document) = jq_assigned(program, text) {
        return Some(document);
    }
    if !arguments
        .iter()
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('r'))
    {
        return None;
    }
    if let Ok(serde_json::Value::String(literal)) = serde_json::from_str(program) {
        return Some(literal + "\n");
    }
    let path = program.strip_prefix('.')?;
    let document: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut at = &document;
    for key in path.split('.') {
        at = at.get(key.trim_matches(['"', '[', ']']))?;
    }
    Some(at.as_str()?.to_owned() + "\n")
}

pub(super) fn matched_group(text: &str, wanted: &str) -> Option<Value> {
    let (before, group) = wanted.split_once("\\(")?;
    let rest = text.strip_prefix(before)?;
    (group == ".*\\)").then(|| Value::text(rest.to_owned() + "\n"))
}

pub(super) fn substitute(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut result = String::new();
    let mut parts = text.split('$');
    result.push_str(parts.next()?);
    for part in parts {
        let braced = part.starts_with('{');
        let bare = part.trim_start_matches('{');
        let length = bare
            .find(|character: char| !(character.is_alphanumeric() || character == '_'))
            .unwrap_or(bare.len());
        let (name, rest) = bare.split_at_checked(length)?;
        result.push_str(&variables(name)?);
        result.push_str(if braced {
            rest.strip_prefix('}').unwrap_or(rest)
        } else {
            rest
        });
    }
    Some(result)
}
