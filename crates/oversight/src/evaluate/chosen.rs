//! The part of a tool's file that a call chooses: environments of `tox`, sessions of `nox`, tasks of `invoke`, stages of
//! `pre-commit`, processes of a `Procfile`. Where the choice is not understood for sure, it is the whole file.

use crate::value::has_hole;

use super::yaml::Node;

/// The text of the file without what this call does not choose.
pub(super) fn chosen(
    tool: &str,
    text: String,
    arguments: &[String],
    variable: Option<&str>,
) -> String {
    let own = arguments.iter().take_while(|word| *word != "--");
    let own: Vec<&str> = own.map(String::as_str).collect();
    let part = match tool {
        "tox" => return tox(&text, &own, arguments, variable),
        _ if own.iter().any(|word| has_hole(word)) => None,
        "nox" => nox(&text, &own),
        "invoke" | "inv" | "fab" => python_tasks(&text, &own, &["task"]),
        "pre-commit" => hooks(&text, &own),
        "foreman" | "honcho" | "overmind" | "goreman" | "forego" | "nf" => processes(&text, &own),
        "ansible-playbook" => checked(&text, &own),
        _ => None,
    };
    part.unwrap_or(text)
}

fn tox(text: &str, own: &[&str], arguments: &[String], variable: Option<&str>) -> String {
    let given = arguments.iter().skip_while(|word| *word != "--").skip(1);
    let given: Vec<String> = given.map(|word| super::run::quote(word)).collect();
    let part = environments(text, own, variable);
    let mut whole = filled(part.as_deref().unwrap_or(text), &given.join(" "));
    // `-x testenv.commands=…` takes the place of what the file says.
    for word in own.iter().filter(|word| word.contains("commands")) {
        whole.push('\n');
        whole.push_str(word.split_once('=').map_or("", |(_, value)| value));
    }
    whole
}

/// The file without the environments that are not run.
fn environments(text: &str, own: &[&str], variable: Option<&str>) -> Option<String> {
    let mut wanted = Vec::new();
    let mut words = own.iter();
    while let Some(word) = words.next() {
        let short = word.strip_prefix("-e").filter(|_| !word.starts_with("--"));
        let long = word.strip_prefix("--env=");
        match *word {
            "-e" | "--env" => wanted.extend(names(words.next()?)),
            "-m" | "-f" => return None,
            _ if word.starts_with("-m")
                || word.starts_with("-f")
                || word.starts_with("--label") =>
            {
                return None;
            }
            _ => wanted.extend(short.or(long).into_iter().flat_map(names)),
        }
    }
    if wanted.is_empty() {
        wanted = match variable {
            Some(variable) => names(variable),
            None => names(&listed(text)?),
        };
    }
    let unknown = |name: &String| has_hole(name) || name == "ALL" || name.contains('[');
    if wanted.is_empty() || wanted.iter().any(unknown) {
        return None;
    }
    let mut keeps = true;
    let mut part = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix('[') {
            let name = head.strip_prefix("testenv:");
            let name = name.and_then(|name| name.trim_end().strip_suffix(']'));
            keeps = name.is_none_or(|name| {
                let plain = |one: char| one.is_alphanumeric() || "-_.".contains(one);
                !name.chars().all(plain) || wanted.iter().any(|wanted| is_named(wanted, name))
            });
        }
        if keeps {
            part.push_str(line);
            part.push('\n');
        }
    }
    // One environment may be made of another.
    let refers =
        part.contains("{[testenv:") || part.lines().any(|line| key_of(line) == Some("base"));
    (!refers).then_some(part)
}

/// `py{310,311}-x` is named like any of them.
fn is_named(wanted: &str, name: &str) -> bool {
    let mut shape = String::new();
    let mut inside = false;
    for one in wanted.chars() {
        match one {
            '{' => {
                inside = true;
                shape.push('*');
            }
            '}' => inside = false,
            _ if !inside => shape.push(one),
            _ => {}
        }
    }
    super::pattern::matches(&shape, name)
}

fn key_of(line: &str) -> Option<&str> {
    line.split_once('=').map(|(key, _)| key.trim())
}

/// The environments that a call without any of its own runs.
fn listed(text: &str) -> Option<String> {
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim() != "[tox]")
        .skip(1);
    let mut lines = lines.by_ref().take_while(|line| !line.starts_with('['));
    let first = lines.find(|line| matches!(key_of(line), Some("envlist" | "env_list")))?;
    let mut list = first.split_once('=')?.1.to_owned();
    for line in lines.take_while(|line| line.starts_with([' ', '\t'])) {
        list.push('\n');
        list.push_str(line);
    }
    Some(list)
}

/// Names between commas, spaces and lines that are not inside braces.
fn names(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut all = vec![String::new()];
    for one in list.chars() {
        match one {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (one == ',' || one.is_whitespace()) {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(one);
        }
    }
    all.retain(|name| !name.is_empty());
    all
}

/// The text with its lines put together and the words of the call in the place of `{posargs}`.
fn filled(text: &str, given: &str) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        match line.trim_end().strip_suffix('\\') {
            Some(line) => {
                whole.push_str(line.trim_end());
                whole.push(' ');
            }
            None => {
                // What a line goes on with stands behind it.
                let goes_on = whole.ends_with(' ');
                whole.push_str(if goes_on { line.trim_start() } else { line });
                whole.push('\n');
            }
        }
    }
    for _ in 0..3 {
        whole = substituted(&whole, given);
    }
    whole
}

fn substituted(text: &str, given: &str) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        let mut depth = 1_usize;
        let end = after.char_indices().take(2000).find(|(_, one)| {
            match one {
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        let Some((inner, next)) =
            end.and_then(|(at, _)| Some((after.get(..at)?, after.get(at.saturating_add(1)..)?)))
        else {
            whole.push('{');
            rest = after;
            continue;
        };
        let (name, default) = inner.split_once(':').unwrap_or((inner, ""));
        match name {
            "posargs" => whole.push_str(if given.is_empty() { default } else { given }),
            "env" => whole.push_str(default.split_once(':').map_or("", |(_, value)| value)),
            "toxinidir" | "tox_root" => whole.push('.'),
            "envpython" => whole.push_str("python"),
            _ => {
                whole.push('{');
                whole.push_str(inner);
                whole.push('}');
            }
        }
        rest = next;
    }
    whole.push_str(rest);
    whole
}

fn nox(text: &str, own: &[&str]) -> Option<String> {
    let starts =
        |word: &&str, options: &[&str]| options.iter().any(|option| word.starts_with(option));
    let named = own
        .iter()
        .any(|word| starts(word, &["-s", "--session", "-e"]));
    let others = ["-k", "--keywords", "-t", "--tags", "-p"];
    if !named || own.iter().any(|word| starts(word, &others)) {
        return None;
    }
    python_tasks(text, own, &["nox.session", "session"])
}

/// One stretch of a file of Python at its left edge.
struct Stretch {
    text: String,
    /// The function, where it is one that is only run by its name.
    name: Option<String>,
}

/// The file without functions under one of these decorators that nobody names.
fn python_tasks(text: &str, own: &[&str], decorators: &[&str]) -> Option<String> {
    // Code that finds functions by words of its own may call any.
    const FINDS: &[&str] = &[
        "exec(", "eval(", "getattr(", "globals(", "locals(", "modules",
    ];
    if FINDS.iter().any(|word| text.contains(word)) || !notifies_by_name(text) {
        return None;
    }
    let mut open = [false, false];
    let mut all: Vec<Stretch> = Vec::new();
    let mut decorated = false;
    for line in text.lines() {
        let edge = !line.is_empty() && !line.starts_with([' ', '\t', ')', ']', '}', '#']);
        // What stands at the edge inside a long text is not told from code.
        if edge && open.contains(&true) {
            return None;
        }
        for (open, mark) in open.iter_mut().zip(["\"\"\"", "\'\'\'"]) {
            *open ^= line.matches(mark).count() % 2 == 1;
        }
        if edge && !decorated {
            all.push(Stretch {
                text: String::new(),
                name: None,
            });
        }
        if edge {
            decorated = line.starts_with('@');
        }
        let last = all.last_mut();
        let Some(last) = last else { continue };
        if edge && let Some(head) = line.strip_prefix("def ") {
            last.name = only_by_name(&last.text, decorators)
                .then(|| head.split('(').next().unwrap_or_default().trim().to_owned());
        }
        last.text.push_str(line);
        last.text.push('\n');
    }
    let is_chosen = |name: &str| {
        let dashed = name.replace('_', "-");
        own.iter()
            .any(|word| word.contains(name) || word.contains(&dashed))
    };
    let known = all.iter().filter_map(|one| one.name.as_deref());
    if !known.into_iter().any(is_chosen) {
        return None;
    }
    let (mut kept, mut left): (Vec<Stretch>, Vec<Stretch>) = all
        .into_iter()
        .partition(|one| one.name.as_deref().is_none_or(is_chosen));
    // What is kept may name the others.
    loop {
        let (more, rest): (Vec<Stretch>, Vec<Stretch>) = left.into_iter().partition(|one| {
            let name = one.name.as_deref().unwrap_or_default();
            let dashed = name.replace('_', "-");
            kept.iter()
                .any(|kept| kept.text.contains(name) || kept.text.contains(&dashed))
        });
        left = rest;
        if more.is_empty() {
            break;
        }
        kept.extend(more);
    }
    Some(kept.into_iter().map(|one| one.text).collect())
}

/// Whether each `session.notify(…)` has one written name.
fn notifies_by_name(text: &str) -> bool {
    text.split("notify(").skip(1).all(|rest| {
        let quote = rest.chars().next().filter(|one| matches!(one, '"' | '\''));
        let after = quote.and_then(|quote| rest.get(1..)?.split_once(quote));
        after.is_some_and(|(_, after)| after.trim_start().starts_with([')', ',']))
    })
}

/// Whether these lines are one decorator that gives the function no other name.
fn only_by_name(head: &str, decorators: &[&str]) -> bool {
    let Some(head) = head.trim().strip_prefix('@') else {
        return false;
    };
    let (name, rest) = head.split_at(head.find('(').unwrap_or(head.len()));
    let others = ["name", "alias", "default", "\n@"];
    decorators.contains(&name.trim()) && !others.iter().any(|other| rest.contains(other))
}

/// The commands of the hooks that run in the stage.
fn hooks(text: &str, own: &[&str]) -> Option<String> {
    let document = Node::parse(text)?;
    if document.get("default_stages").is_some() {
        return None;
    }
    let mut stage = "pre-commit";
    let mut words = own
        .iter()
        .skip_while(|word| **word != "run")
        .skip(1)
        .peekable();
    let wanted = words.next_if(|word| !word.starts_with('-'));
    while let Some(word) = words.next() {
        stage = match *word {
            "--hook-stage" => words.next()?,
            "-c" | "--config" => return None,
            other => other.strip_prefix("--hook-stage=").unwrap_or(stage),
        };
    }
    let stage = stage_name(stage);
    let mut part = String::new();
    let repositories = document.get("repos")?.items();
    for hook in repositories
        .iter()
        .filter_map(|one| one.get("hooks"))
        .flat_map(Node::items)
    {
        let text = |key: &str| hook.get(key).and_then(Node::text);
        let named =
            wanted.is_none_or(|wanted| text("id") == Some(wanted) || text("alias") == Some(wanted));
        let stages = hook.get("stages").map(Node::items);
        let runs = stages.is_none_or(|stages| {
            let mut names = stages.iter().map(|one| one.text().map(stage_name));
            names.any(|name| name.is_none() || name == Some(stage))
        });
        let Some(entry) = text("entry").filter(|_| named && runs) else {
            continue;
        };
        part.push_str(entry);
        for word in hook.get("args").map_or(&[][..], Node::items) {
            part.push(' ');
            part.push_str(&super::run::quote(word.text()?));
        }
        part.push('\n');
    }
    Some(part)
}

/// Stages have had shorter names.
fn stage_name(name: &str) -> &str {
    match name {
        "commit" => "pre-commit",
        "push" => "pre-push",
        "merge-commit" => "pre-merge-commit",
        other => other,
    }
}

/// The lines of the processes that are named.
fn processes(text: &str, own: &[&str]) -> Option<String> {
    let mut words = own.iter().filter(|word| !word.starts_with('-'));
    words.next().filter(|word| **word == "start")?;
    let wanted: Vec<&str> = words.copied().collect();
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| Some((line.split_once(':')?.0.trim(), line)))
        .collect();
    let known = |word: &&str| lines.iter().any(|(name, _)| name == word);
    let options = own.iter().any(|word| word.starts_with('-'));
    if wanted.is_empty() || options || !wanted.iter().all(known) {
        return None;
    }
    let kept = lines.iter().filter(|(name, _)| wanted.contains(name));
    Some(kept.map(|(_, line)| format!("{line}\n")).collect())
}

/// A playbook that is only checked runs no command, but for those that say so.
fn checked(text: &str, own: &[&str]) -> Option<String> {
    const LOOKS: &[&str] = &[
        "--check",
        "-C",
        "--syntax-check",
        "--list-tasks",
        "--list-hosts",
    ];
    const RUNS: &[&str] = &["check_mode", "always_run", "pipe"];
    let looks = own.iter().any(|word| LOOKS.contains(word));
    (looks && !RUNS.iter().any(|word| text.contains(word))).then(String::new)
}
