//! Files that a tool other than a shell reads or writes: by its name, and by arguments that are paths.

use serde_json::Value;

use authority::governance::canonical;
use shell::words::names;

use crate::Touch;
use crate::programs::Touches;
use crate::search;
use crate::things::is_settings_folder;
use actions::lookup::base_name;

/// Arguments that contain a path, or a list of them.
const PATHS: &[&str] = names!(
    "file_path filepath filename file files path paths notebook_path target_notebook include absolute_path \
    relative_path target_file target_path dir_path source source_path destination destination_path dest from to \
    directory dir folder uri old_path new_path oldpath newpath"
);

/// Arguments that contain a patch.
const PATCHES: &[&str] = names!("input patch diff command content");

/// Words of a tool's name for a change.
const CHANGES: &[&str] = names!(
    "write edit create move delete remove rename append update put patch copy mkdir save insert replace upload set \
    modify download touch link chmod truncate apply"
);

/// Words of a tool's name for the removal of a whole directory.
const REMOVES: &[&str] = names!("delete remove move rename rm mv unlink rmdir trash erase purge");

/// Words of a tool's name for work in a directory, or the change of one file.
const WORKS: &[&str] = names!(
    "write put edit create mkdir save append insert copy touch upload download add stage commit run test tests build     compile index open activate scan watch format init clone checkout pull push merge branch start use"
);

/// Parts of the names of fields that give the directory of an operation, not its object.
const PLACES: &[&str] = names!(
    "cwd pwd repo repository root roots workspace workdir worktree directory dir project base"
);

/// Words of a tool's name for giving a file another name.
const LINKS: &[&str] = names!("link symlink hardlink junction ln mount");

/// Words of a tool's name for reading only.
const READS: &[&str] = names!(
    "read get list search find fetch view query describe show stat info grep glob tree cat head tail lookup browse \
    inspect count log status check validate analyze lint preview diff think ls exists outline diagnostics"
);

/// Fields that contain prose: a single path in them leads to a question.
const PROSE: &[&str] = names!(
    "content contents text body message description prompt query pattern title new_string old_string comment summary \
    subject reason notes note question answer label name thought plan"
);

/// Parts of the names of fields that contain a file that is written, for any tool.
const OUTPUTS: &[&str] = names!(
    "output out outfile outdir outpath outputfile outputpath dest destination save saved write sink dump export download"
);

/// Tools with known arguments: only those that contain paths count.
const KNOWN: &[&str] = names!(
    "Read Glob Grep WebFetch WebSearch TodoWrite AskUserQuestion ExitPlanMode Task Write Edit Bash"
);

/// Limit of the depth of an input. A JSON parser does not go deeper either.
const MAX_DEPTH: usize = 128;

/// Limit of directories that are prepended to other names.
const MAX_FOLDERS: usize = 8;

/// Returns `true` if the arguments of a tool are known.
pub fn is_known(tool: &str) -> bool {
    KNOWN.contains(&canonical(tool))
}

/// Returns `true` if the words of a tool's name mean that it only reads.
pub fn only_reads(words: &[String]) -> bool {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    has(READS) && !has(CHANGES)
}

/// Returns `true` if the words of a tool's name mean that it changes something.
pub fn changes(words: &[String]) -> bool {
    words.iter().any(|word| CHANGES.contains(&word.as_str()))
}

/// Returns the object or list that a string contains as JSON.
pub fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[', '"']) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Value::String(inner) => json_in(&inner),
        value @ (Value::Object(_) | Value::Array(_)) => Some(value),
        _ => None,
    }
}

/// Returns the files that a call touches. `name` is the tool's, in lower case and without its server.
///
/// `keys_below` lists the keys below a directory.
pub fn touches(
    tool: &str,
    name: &str,
    input: &Value,
    keys_below: &dyn Fn(&str) -> Vec<String>,
) -> Touches {
    let mut found = Touches::new();
    let has = |words: &[&str]| name.split('_').any(|word| words.contains(&word));
    let touch = match canonical(tool) {
        // Other names of files are not secret.
        "Glob" => return search::touches(input, "pattern", keys_below),
        "Grep" => {
            found.extend(search::touches(input, "glob", keys_below));
            Touch::Read
        }
        "Read" => Touch::Read,
        "Write" | "Edit" => Touch::Write,
        _ if has(REMOVES) => Touch::Tree,
        _ if has(LINKS) => Touch::Link,
        _ if has(CHANGES) => Touch::Write,
        _ if has(READS) || is_known(tool) => Touch::Read,
        _ => Touch::Write,
    };
    walk(input, touch, MAX_DEPTH, &mut found);
    if !is_known(tool) {
        let is_tree = touch == Touch::Write && !has(WORKS);
        let touch = if is_tree { Touch::Tree } else { touch };
        every(input, "", touch, &[], MAX_DEPTH, &mut found);
    }
    if name.contains("patch") || name.contains("diff") {
        for key in PATCHES {
            match input.get(key) {
                Some(Value::String(text)) => found.extend(patched(text)),
                Some(Value::Array(words)) => {
                    let words = words.iter().filter_map(Value::as_str);
                    found.extend(words.flat_map(patched));
                }
                _ => {}
            }
        }
        found.extend(input.as_str().map(patched).unwrap_or_default());
    }
    found
}

/// Collects every string and every key that can be a path, and paths whose parts are in a list, in adjacent or nested
/// fields, in JSON within a string, or in a patch. `above` are the directories that were named so far.
fn every(
    input: &Value,
    key: &str,
    touch: Touch,
    above: &[String],
    depth: usize,
    found: &mut Touches,
) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    let is_prose = PROSE.contains(&key.to_lowercase().as_str());
    let (plain, touch_here) = softer(key, touch, is_prose);
    match input {
        Value::String(text) => {
            let is_folder = touch_here == Touch::Tree && text.starts_with(['/', '~', '.']);
            let path = as_path(text).or_else(|| is_folder.then(|| decoded(text)));
            found.extend(path.map(|path| (touch_here, path)));
            let joined = above.iter().filter_map(|folder| below(folder, text));
            found.extend(joined.map(|path| (plain, path)));
            if is_prose && key != "name" {
                return;
            }
            if let Some(inner) = json_in(text) {
                every(&inner, key, touch, above, deeper, found);
            } else if text.contains('\n') && touch != Touch::Read {
                found.extend(patched(text));
            }
        }
        Value::Array(items) => {
            let parts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let joined = as_path(&parts.join("/")).filter(|_| parts.len() > 1);
            let joined = joined.into_iter().chain(in_parts(&parts));
            found.extend(joined.map(|path| (touch_here, path)));
            // The arguments of a command are parsed as such.
            let is_command = parts
                .first()
                .is_some_and(|first| !first.contains(['/', '.', '~']));
            for item in items {
                let touch = if is_command { plain } else { touch };
                every(item, key, touch, above, deeper, found);
            }
        }
        Value::Object(entries) => {
            let mut texts = Vec::new();
            collect_texts(input, &mut texts);
            found.extend(in_parts(&texts).into_iter().map(|path| (plain, path)));
            let texts = entries.values().filter_map(Value::as_str);
            let beside: Vec<String> = texts.filter_map(folder).collect();
            for (key, value) in entries {
                found.extend(as_path(key).map(|path| (plain, path)));
                let joined = above.iter().filter_map(|folder| below(folder, key));
                found.extend(joined.map(|path| (plain, path)));
                let mut folders: Vec<String> = above.iter().chain(&beside).cloned().collect();
                folders.extend(folder(key));
                folders.truncate(MAX_FOLDERS);
                let inside = touch_in(key, touch);
                if inside != touch {
                    // The directory of an output can get files of any name.
                    let place = value.as_str().and_then(folder);
                    found.extend(place.map(|place| (Touch::Fill, place)));
                }
                every(value, key, inside, &folders, deeper, found);
            }
        }
        _ => {}
    }
}

/// Returns the touch of a path that is assembled, which may have another meaning, and of one in a field of this name.
fn softer(key: &str, touch: Touch, is_prose: bool) -> (Touch, Touch) {
    let plain = match touch {
        Touch::Tree => Touch::Write,
        touch => touch,
    };
    let is_place = |part: &String| PLACES.contains(&part.as_str());
    let here = match touch {
        Touch::Write | Touch::Link | Touch::Tree if is_prose => Touch::Named,
        Touch::Tree if parts_of(key).iter().any(is_place) => plain,
        touch => touch,
    };
    (plain, here)
}

/// Returns the protected paths whose parts these strings are: two or three of them, in any order.
fn in_parts(texts: &[&str]) -> Vec<String> {
    const MAX_PARTS: usize = 6;
    let is_part = |text: &&&str| !text.is_empty() && text.len() < 256 && !text.contains(' ');
    let parts: Vec<&str> = texts
        .iter()
        .filter(is_part)
        .take(MAX_PARTS)
        .copied()
        .collect();
    if !actions::mentions_guarded(&parts.concat()) {
        return Vec::new();
    }
    let joined = |fronts: &[String]| -> Vec<String> {
        let pairs = fronts
            .iter()
            .flat_map(|front| parts.iter().map(move |part| (front, part)));
        let pairs = pairs.filter(|(front, part)| !front.contains(**part));
        let joined = pairs
            .flat_map(|(front, part)| ["", ".", "/"].map(|sign| format!("{front}{sign}{part}")));
        joined.collect()
    };
    let pairs = joined(&parts.iter().map(ToString::to_string).collect::<Vec<_>>());
    let triples = joined(&pairs);
    let all = pairs.into_iter().chain(triples);
    let is_named = |path: &String| crate::things::named(&path.to_lowercase(), "").is_some();
    all.filter(is_named)
        .filter_map(|path| as_path(&path))
        .take(MAX_PARTS)
        .collect()
}

/// Returns the touch of a path in a field of this name.
fn touch_in(key: &str, touch: Touch) -> Touch {
    let is_output = || {
        parts_of(key)
            .iter()
            .any(|part| OUTPUTS.contains(&part.as_str()))
    };
    match touch {
        Touch::Read if is_output() => Touch::Write,
        touch => touch,
    }
}

/// Returns the parts of a field's name, in lower case: `shellCommand`, `shell_command`.
pub fn parts_of(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in key.chars() {
        let begins = letter.is_ascii_uppercase() || !letter.is_alphanumeric();
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(part) = parts.last_mut()
        {
            part.push(letter.to_ascii_lowercase());
        }
    }
    parts
}

/// Returns the path of our directory or of one in which an agent looks for its settings, if a text is one.
fn folder(text: &str) -> Option<String> {
    as_path(text).filter(|path| {
        let lower = path.to_lowercase();
        is_settings_folder(&lower) || base_name(lower.trim_end_matches('/')) == ".role-os"
    })
}

/// Returns the path of a name in a directory, if the name can be one.
fn below(folder: &str, name: &str) -> Option<String> {
    let is_name = name.len() < 256 && !name.is_empty() && !name.contains(char::is_whitespace);
    (is_name && !name.starts_with('/')).then(|| format!("{folder}/{name}"))
}

/// Returns the path that a string represents, if it can name a protected thing and is not prose.
fn as_path(text: &str) -> Option<String> {
    if text.len() > 4096 || text.contains('\n') || !actions::mentions_guarded(&decoded(text)) {
        return None;
    }
    let path = decoded(text);
    let plain = actions::lookup::absolute("/", &path);
    (!plain.contains(char::is_whitespace)).then_some(path)
}

/// Returns a path without `file://`, with `%63` and similar escapes in such a URL decoded.
fn decoded(text: &str) -> String {
    let text = text.replace('\\', "/");
    let Some(rest) = text.strip_prefix("file:") else {
        return text;
    };
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((first, after)) = left.split_first() {
        let code = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let code = code.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                left = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                left = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn walk(input: &Value, touch: Touch, depth: usize, found: &mut Touches) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    match input {
        Value::Object(entries) => {
            for (key, value) in entries {
                let touch = touch_in(key, touch);
                let key = key.to_lowercase();
                if is_path(&key) {
                    path(value, touch, deeper, found);
                } else {
                    walk(value, touch, deeper, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, touch, deeper, found);
            }
        }
        _ => {}
    }
}

/// Returns `true` if an argument of this name contains a path.
fn is_path(key: &str) -> bool {
    let text = ["text", "content", "body", "data", "pattern", "type"];
    PATHS.contains(&key)
        || (key.contains("path") || key.contains("file"))
            && !text.iter().any(|word| key.contains(word))
}

fn path(value: &Value, touch: Touch, depth: usize, found: &mut Touches) {
    match value {
        // Longer than any path, or several lines: it is not a path.
        Value::String(text) if text.len() > 4096 || text.contains('\n') => {}
        Value::String(text) => found.push((touch, decoded(text))),
        Value::Array(items) => {
            for item in items {
                path(item, touch, depth, found);
            }
        }
        other => walk(other, touch, depth, found),
    }
}

/// Returns the files that a patch changes, in the formats of agents and `diff`.
pub fn patched(text: &str) -> Touches {
    let marks = [
        "*** Update File:",
        "*** Add File:",
        "*** Delete File:",
        "*** Move to:",
        "+++ ",
        "--- ",
        "rename to ",
        "rename from ",
    ];
    let mut found = Touches::new();
    for line in text.lines() {
        let rest = marks
            .iter()
            .find_map(|mark| line.trim_start().strip_prefix(mark));
        let Some(name) = rest.and_then(|rest| rest.split('\t').next()) else {
            continue;
        };
        let name = name.trim().trim_matches('"');
        if name == "/dev/null" || name.is_empty() {
            continue;
        }
        found.push((Touch::Write, name.to_owned()));
        // `diff` and git prepend their own directory.
        if let Some((_, bare)) = name.split_once('/').filter(|_| !name.starts_with('/')) {
            found.push((Touch::Write, bare.to_owned()));
        }
    }
    found
}

/// Collects the strings of a value, in order.
pub fn collect_texts<'v>(input: &'v Value, texts: &mut Vec<&'v str>) {
    match input {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(entries) => entries
            .values()
            .for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}
