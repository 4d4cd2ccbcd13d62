//! Converts Markdown to plain text for a terminal: headings, tables and links in a readable form.

use crate::ui::{BOLD, DIM};

/// Renders a page. Code is indented unchanged; a link to another page becomes the command that shows it.
#[must_use]
pub fn render(markdown: &str) -> String {
    let mut text = String::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            text.push_str(&format!("    {line}\n"));
        } else if let Some(line) = prose(line) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    // Removed parts leave empty lines behind.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim_start_matches('\n').to_owned()
}

/// Renders a line outside of code; `None` for one that is only for browsers.
fn prose(line: &str) -> Option<String> {
    let trimmed = line.trim();
    if trimmed.starts_with("<!--") || trimmed.starts_with("![") {
        return None;
    }
    if let Some(heading) = trimmed.strip_prefix('#') {
        let heading = inline(heading.trim_start_matches('#').trim());
        return Some(format!("{BOLD}{heading}{BOLD:#}"));
    }
    let Some(row) = trimmed.strip_prefix('|') else {
        return Some(inline(line));
    };
    let row = row.strip_suffix('|').unwrap_or(row).replace("\\|", "\u{0}");
    let cells: Vec<String> = row
        .split('|')
        .map(|cell| inline(cell.trim()).replace('\u{0}', "|"))
        .collect();
    if cells
        .iter()
        .all(|cell| cell.bytes().all(|byte| b"-: ".contains(&byte)))
    {
        return None;
    }
    let (first, rest) = cells.split_first()?;
    let rest: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .filter(|cell| !cell.is_empty())
        .collect();
    Some(format!(
        "  {BOLD}{first}{BOLD:#}  {}",
        rest.join(&format!("{DIM} · {DIM:#}"))
    ))
}

/// Replaces links by their text, and removes the marks of emphasis.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(words, after)| {
            let (target, after) = after.split_once(')')?;
            (!words.contains('[')).then_some((words, target, after))
        });
        let Some((words, target, after)) = link else {
            out.push_str(before);
            out.push('[');
            rest = after;
            continue;
        };
        out.push_str(before);
        out.push_str(&linked(words, target));
        rest = after;
    }
    out.push_str(rest);
    out.replace("**", "")
}

/// Describes the target of a link for a terminal.
fn linked(words: &str, target: &str) -> String {
    let file = target.split('#').next().unwrap_or_default();
    let page = file
        .rsplit('/')
        .next()
        .and_then(|name| name.strip_suffix(".md"));
    match page.and_then(present::topics::find) {
        Some(topic) => format!("{words} (`roleos help {}`)", topic.name),
        None if target.starts_with("http") => format!("{words} ({target})"),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        let plain = anstream::adapter::strip_str(&render(markdown)).to_string();
        assert_eq!(plain, expected);
    }

    #[test]
    fn a_page_reads_without_a_browser() {
        check(
            "<!-- made -->\n\n# Title\n\n![i](img/a.png)\n\nOne **two**.\n",
            "Title\n\nOne two.\n",
        );
        check("```sh\nroleos up [x](y)\n```\n", "    roleos up [x](y)\n");
        check(
            "| a | b |\n|---|:-:|\n| `x\\|y` | [c](config.md#x) |\n",
            "  a  b\n  `x|y`  c (`roleos help config`)\n",
        );
        check(
            "see [it](https://example.org), [code](../src/a.rs) and [1] list[0]\n",
            "see it (https://example.org), code and [1] list[0]\n",
        );
    }
}
