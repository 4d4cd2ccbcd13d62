//! The lines of a file of tasks that belong to one of them, in YAML or TOML, found by their indent or header.

/// The parts of a task file that belong to these tasks and to those that they name.
pub(super) fn task_part(text: &str, names: &[String]) -> String {
    let mut part = String::new();
    let mut wanted: Vec<String> = names.to_vec();
    let mut index = 0;
    while let Some(name) = wanted.get(index).cloned() {
        index += 1;
        if index > 32 {
            break;
        }
        let block = block_of(text, &name);
        for word in block
            .split(|character: char| !(character.is_alphanumeric() || "-_:.".contains(character)))
        {
            let word = word.trim_matches(':');
            if !word.is_empty()
                && !wanted.iter().any(|old| old == word)
                && !block_of(text, word).is_empty()
                && wanted.len() < 64
            {
                wanted.push(word.to_owned());
            }
        }
        part.push_str(&block);
        part.push_str(&command_and_args(&block));
    }
    for (name, value) in template_values(text) {
        part = part.replace(&format!("{{{{.{name}}}}}"), &value);
    }
    part
}

/// `command = "git"` and `args = ["push"]` on lines of their own.
fn command_and_args(block: &str) -> String {
    let value = |key: &str| {
        let mut pairs = block.lines().filter_map(|line| line.split_once('='));
        pairs
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim())
    };
    let (Some(command), Some(words)) = (value("command"), value("args")) else {
        return String::new();
    };
    let plain = |text: &str| text.replace(['"', '[', ']', ','], " ");
    format!(
        "run: {} {}\n",
        plain(command).trim(),
        plain(words)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    )
}

fn template_values(text: &str) -> Vec<(String, String)> {
    // `{A: x, B: y}` on one line as well.
    let lines = text.lines().flat_map(|line| line.split(['{', ',', '}']));
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs
        .map(|(key, value)| {
            (
                key.trim().to_owned(),
                value.trim().trim_matches(['"', '\'']).to_owned(),
            )
        })
        .filter(|(key, value)| !key.is_empty() && !value.is_empty() && key.len() < 64)
        .take(200)
        .collect()
}

/// The lines of one task: a key with what is indented below it, a header of TOML with what follows, or one assignment.
fn block_of(text: &str, name: &str) -> String {
    let mut block = String::new();
    let mut inside: Option<usize> = None;
    let mut header = false;
    for line in text.lines() {
        let indent = line.len().saturating_sub(line.trim_start().len());
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let head = trimmed.trim_matches(['[', ']']);
            header = head
                .rsplit_once('.')
                .map_or(head, |(_, last)| last)
                .trim_matches('"')
                == name;
            inside = None;
            continue;
        }
        let key = trimmed
            .split_once([':', '='])
            .map(|(key, _)| key.trim().trim_matches(['"', '\'']));
        if let Some(depth) = inside {
            if indent > depth || trimmed.is_empty() || (indent == depth && trimmed.starts_with('-'))
            {
                block.push_str(line);
                block.push('\n');
                continue;
            }
            inside = None;
        }
        if header {
            block.push_str(line);
            block.push('\n');
        } else if key.is_some_and(|key| key == name || is_part_of(key, name)) && indent <= 2 {
            inside = Some(indent);
            block.push_str(
                trimmed
                    .split_once([':', '='])
                    .map_or("", |(_, value)| value.trim()),
            );
            block.push('\n');
        }
    }
    block
}

/// `ship.cmd = …` belongs to the task `ship`.
fn is_part_of(key: &str, name: &str) -> bool {
    let rest = key.strip_prefix(name);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// The lines with words of the call behind their commands.
pub(super) fn with_words(part: &str, words: &str) -> String {
    let mut whole = String::new();
    for line in part.lines().take(400) {
        whole.push_str(line.trim_end_matches(['"', '\'', ']', '}', ',', ' ']));
        whole.push(' ');
        whole.push_str(words);
        whole.push('\n');
    }
    whole
}
