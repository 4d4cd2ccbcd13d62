//! What single filters make of text that is known. None when that is beyond us: the caller takes it as unknown.
//!
//! A filter that is given an option that we do not know prints something else than we would think.

mod columns;
pub(crate) mod decode;
mod edited;
mod query;
mod regular;
mod translate;
pub(crate) mod words;

use crate::value::Value;

use self::decode::{decode_base32, decode_base64, decode_hex};
use self::regular::{compile, has_ways};
use self::words::Given;

/// What a whole extended expression and its groups have found in a text; None where that is beyond us.
pub(super) fn parts(wanted: &str, text: &str) -> Option<Vec<String>> {
    if has_ways(wanted) {
        return None;
    }
    let found = compile(wanted, true, false)?.captures(text)?;
    let part = |one: Option<regex::Match<'_>>| one.map_or("", |one| one.as_str()).to_owned();
    Some(found.iter().map(part).collect())
}

/// What one filter makes of one text; None when that is beyond us.
pub(super) fn apply(name: &str, arguments: &[String], text: &str) -> Option<String> {
    if text.is_empty() && matches!(name, "grep" | "egrep" | "fgrep" | "cut" | "tr") {
        return Some(String::new());
    }
    let plain = |letters: &str| Given::read(arguments, letters, &[]);
    Some(match name {
        "cat" => plain("u").map(|_| text.to_owned())?,
        "sort" => sorted(arguments, text)?,
        "uniq" => unique(arguments, text)?,
        "iconv" => recoded(arguments, text)?,
        "strings" if text.lines().all(|line| line.len() > 3) => {
            plain("a").map(|_| text.to_owned())?
        }
        "dos2unix" => text.replace("\r\n", "\n"),
        "expand" if !text.contains('\t') => text.to_owned(),
        // How many blanks there are does not matter where the text is cut into words.
        "expand" => text.replace('\t', "    "),
        "nl" => {
            Given::read(arguments, "b:", &[])?;
            let lines = text.lines().enumerate();
            joined(lines.map(|(at, line)| format!("{:>6}\t{line}", at.saturating_add(1))))
        }
        // Packing and unpacking in one pipe gives the text back; anything else stays unreadable and unknown.
        "gzip" | "gunzip" | "zcat" | "gzcat" | "xz" | "unxz" | "bzip2" | "bunzip2"
            if text.is_ascii() =>
        {
            text.to_owned()
        }
        "column" => {
            plain("t")?;
            let lines = text
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join("  "));
            joined(lines)
        }
        // It may join lines, and long ones are broken.
        "fmt" if text.len() < 70 && !text.contains("\n\n") => {
            plain("")?;
            text.lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join(" ")
                + "\n"
        }
        "tac" => plain("").map(|_| joined(text.lines().rev().map(str::to_owned)))?,
        "rev" => joined(text.lines().map(|line| line.chars().rev().collect())),
        "head" => first_part(arguments, text)?,
        "tail" => last_part(arguments, text)?,
        "fold" => folded(arguments, text)?,
        "paste" => pasted(arguments, text)?,
        "cut" => cut(arguments, text)?,
        "tr" => translate::translate(arguments, text)?,
        "sed" | "gsed" => edited::edited(arguments, text)?,
        "grep" | "egrep" | "fgrep" => grep(name, arguments, text)?,
        "jq" => query::query(arguments, text)?,
        "awk" | "gawk" | "mawk" | "nawk" => columns::printed(arguments, text)?,
        _ => decoded(name, arguments, text)?,
    })
}

/// Programs that turn digits and letters into text.
fn decoded(name: &str, arguments: &[String], text: &str) -> Option<String> {
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
    Some(match name {
        "base64" | "gbase64" if has(&["-d", "-D", "--decode", "-di", "-id"]) => {
            decode_base64(text)?
        }
        "basenc" if has(&["--base64"]) && has(&["-d"]) => decode_base64(text)?,
        "basenc" if has(&["--base64url"]) && has(&["-d"]) => {
            decode_base64(&text.replace('-', "+").replace('_', "/"))?
        }
        "basenc" if has(&["--base16"]) && has(&["-d"]) => decode_hex(text)?,
        "base32" if has(&["-d", "--decode"]) => decode_base32(text)?,
        "openssl" if has(&["-d"]) && super::text::is_base64(arguments) => decode_base64(text)?,
        "xxd" if arguments.iter().any(|word| word.starts_with("-r")) => decode_hex(text)?,
        "od" if arguments.iter().any(|word| word.contains("x1")) && text.len() <= 16 => {
            let digits: String = text.bytes().map(|byte| format!(" {byte:02x}")).collect();
            digits + "\n"
        }
        _ => return None,
    })
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}

/// Places differ in how they sort capitals and small letters.
fn sorted(arguments: &[String], text: &str) -> Option<String> {
    if text.lines().count() < 2 {
        return Some(text.to_owned());
    }
    let given = Given::read(arguments, "ru", &[("reverse", 'r'), ("unique", 'u')])?;
    let mixed = text.contains(|one: char| one.is_uppercase())
        && text.contains(|one: char| one.is_lowercase());
    if mixed {
        return None;
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    if given.has('u') {
        lines.dedup();
    }
    if given.has('r') {
        lines.reverse();
    }
    Some(joined(lines.into_iter().map(str::to_owned)))
}

fn unique(arguments: &[String], text: &str) -> Option<String> {
    Given::read(arguments, "", &[])?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.dedup();
    Some(joined(lines.into_iter().map(str::to_owned)))
}

/// Between encodings that write plain letters in the same way.
fn recoded(arguments: &[String], text: &str) -> Option<String> {
    let long = [("from-code", 'f'), ("to-code", 't')];
    let given = Given::read(arguments, "cf:t:", &long)?;
    let same = |letter: char| {
        given.value(letter).is_none_or(|code| {
            let code = code.to_ascii_lowercase();
            [
                "utf-8",
                "utf8",
                "ascii",
                "us-ascii",
                "iso-8859",
                "latin",
                "cp125",
                "windows-125",
            ]
            .iter()
            .any(|known| code.starts_with(known))
        })
    };
    (text.is_ascii() && same('f') && same('t')).then(|| text.to_owned())
}

/// `head`: lines or bytes, from the start or all but the last.
fn first_part(arguments: &[String], text: &str) -> Option<String> {
    let arguments = counted(arguments);
    let given = Given::read(&arguments, "qn:c:", &[("lines", 'n'), ("bytes", 'c')])?;
    if let Some(count) = given.value('c') {
        return text
            .get(..count.parse::<usize>().ok()?.min(text.len()))
            .map(str::to_owned);
    }
    let lines: Vec<&str> = text.lines().collect();
    let count = match given.value('n') {
        Some(count) => match count.strip_prefix('-') {
            Some(less) => lines.len().saturating_sub(less.parse().ok()?),
            None => count.parse().ok()?,
        },
        None => 10,
    };
    Some(joined(lines.into_iter().take(count).map(str::to_owned)))
}

/// `tail`: the last lines or bytes, or all from one on.
fn last_part(arguments: &[String], text: &str) -> Option<String> {
    let arguments = counted(arguments);
    let given = Given::read(&arguments, "qn:c:", &[("lines", 'n'), ("bytes", 'c')])?;
    let skipped = |count: &str, whole: usize| match count.strip_prefix('+') {
        Some(from) => from
            .parse::<usize>()
            .ok()
            .map(|from| from.saturating_sub(1)),
        None => {
            let kept: usize = count.trim_start_matches('-').parse().ok()?;
            Some(whole.saturating_sub(kept))
        }
    };
    if let Some(count) = given.value('c') {
        let from = skipped(count, text.len())?;
        return Some(text.get(from..).unwrap_or_default().to_owned());
    }
    let lines: Vec<&str> = text.lines().collect();
    let from = skipped(given.value('n').unwrap_or("10"), lines.len())?;
    Some(joined(lines.into_iter().skip(from).map(str::to_owned)))
}

/// `-5` as `-n5`.
fn counted(arguments: &[String]) -> Vec<String> {
    let mut before = "";
    let mut all = Vec::with_capacity(arguments.len());
    for word in arguments {
        let number = word
            .strip_prefix('-')
            .filter(|rest| !rest.is_empty() && rest.chars().all(|one| one.is_ascii_digit()));
        all.push(match number {
            Some(count) if !matches!(before, "-n" | "-c") => format!("-n{count}"),
            _ => word.clone(),
        });
        before = word;
    }
    all
}

fn folded(arguments: &[String], text: &str) -> Option<String> {
    let given = Given::read(arguments, "w:", &[("width", 'w')])?;
    let width: usize = given.value('w')?.parse().ok().filter(|width| *width > 0)?;
    let mut whole = String::new();
    for line in text.lines() {
        let letters: Vec<char> = line.chars().collect();
        for part in letters.chunks(width) {
            whole.extend(part);
            whole.push('\n');
        }
    }
    Some(whole)
}

/// `paste -s`: all lines as one.
fn pasted(arguments: &[String], text: &str) -> Option<String> {
    let given = Given::read(arguments, "sd:", &[("serial", 's'), ("delimiters", 'd')])?;
    let mark = given.value('d').unwrap_or("\t");
    let mark = match mark {
        "\\0" => "",
        "\\n" => "\n",
        "\\t" => "\t",
        mark => mark,
    };
    let simple = mark.chars().count() < 2 && mark != "\\";
    (given.has('s') && simple).then(|| text.lines().collect::<Vec<_>>().join(mark) + "\n")
}

fn cut(arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("characters", 'c'),
        ("bytes", 'b'),
        ("fields", 'f'),
        ("delimiter", 'd'),
        ("only-delimited", 's'),
        ("complement", 'C'),
    ];
    let given = Given::read(arguments, "c:b:f:d:s", &long)?;
    let by_character = given.value('c').or_else(|| given.value('b'));
    let delimiter = given.value('d').unwrap_or("\t").chars().next()?;
    let list = by_character.or_else(|| given.value('f'))?;
    let ranges: Vec<(usize, usize)> = list.split(',').map(range).collect::<Option<_>>()?;
    let chosen = |index: usize| {
        let named = ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&index));
        named != given.has('C')
    };
    let lines = text.lines().filter_map(|line| {
        if by_character.is_some() {
            let kept = line
                .chars()
                .enumerate()
                .filter(|(index, _)| chosen(index.saturating_add(1)));
            return Some(kept.map(|(_, character)| character).collect::<String>() + "\n");
        }
        if !line.contains(delimiter) {
            return (!given.has('s')).then(|| line.to_owned() + "\n");
        }
        let fields = line.split(delimiter).enumerate();
        let kept: Vec<&str> = fields
            .filter(|(index, _)| chosen(index.saturating_add(1)))
            .map(|(_, field)| field)
            .collect();
        Some(kept.join(&delimiter.to_string()) + "\n")
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

fn grep(name: &str, arguments: &[String], text: &str) -> Option<String> {
    let long = [
        ("invert-match", 'v'),
        ("ignore-case", 'i'),
        ("only-matching", 'o'),
        ("fixed-strings", 'F'),
        ("extended-regexp", 'E'),
        ("line-regexp", 'x'),
        ("regexp", 'e'),
    ];
    let given = Given::read(arguments, "FEGvioxahe:m:", &long)?;
    let wanted = match given.value('e') {
        Some(wanted) if given.all('e').count() == 1 => wanted,
        Some(_) => return None,
        None => given.operands.first()?,
    };
    let fixed = given.has('F') || name == "fgrep";
    let extended = given.has('E') || name == "egrep";
    let source = if fixed {
        regex::escape(wanted)
    } else {
        wanted.to_owned()
    };
    let regex = compile(&source, extended || fixed, given.has('i'))?;
    let whole = |line: &str| {
        let mut found = regex.find_iter(line);
        found.any(|one| one.len() == line.len())
    };
    let fits = |line: &&str| {
        let found = if given.has('x') {
            whole(line)
        } else {
            regex.is_match(line)
        };
        found != given.has('v')
    };
    let most = match given.value('m') {
        Some(most) => most.parse().ok()?,
        None => usize::MAX,
    };
    let lines = text.lines().filter(fits).take(most);
    if !given.has('o') {
        return Some(joined(lines.map(str::to_owned)));
    }
    if has_ways(wanted) || given.has('v') {
        return None;
    }
    let parts = lines.flat_map(|line| regex.find_iter(line));
    Some(joined(parts.map(|part| part.as_str().to_owned())))
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
