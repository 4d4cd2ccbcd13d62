//! Formats a decision for people: the command with the deciding part underlined, and the chain of reasoning.
//!
//! A command is untrusted, so it passes through [`clean`] before it is shown.

use std::fmt::Write as _;

use anstyle::Style;
use oversight::verdict::{Decision, Verdict};
use unicode_width::UnicodeWidthStr as _;

use super::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, WARN};

/// Most lines of a command that are shown.
const MAX_LINES: usize = 40;

/// Returns the whole answer.
#[must_use]
pub fn text(command: &str, decision: &Decision) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = headline(&mut text, decision);
    let _ = underlined(&mut text, command, decision);
    let _ = reasoning(&mut text, decision);
    text
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Allow => GOOD,
        Verdict::Advise | Verdict::Watch | Verdict::Ask => WARN,
        Verdict::Deny => BAD,
    }
}

fn headline(text: &mut String, decision: &Decision) -> std::fmt::Result {
    let style = style(decision.verdict);
    let word = decision.verdict.as_str();
    let what = if decision.actions.is_empty() && !decision.guarded.is_empty() {
        "protected".to_owned()
    } else if decision.actions.is_empty() && decision.verdict >= Verdict::Ask {
        "cannot be told".to_owned()
    } else if decision.actions.is_empty() {
        "no gated action".to_owned()
    } else {
        decision.actions.join(", ")
    };
    writeln!(text, "{style}{word}{style:#}  {BOLD}{what}{BOLD:#}")
}

fn underlined(text: &mut String, command: &str, decision: &Decision) -> std::fmt::Result {
    let style = style(decision.verdict);
    let mut start = 0;
    for line in command.split('\n').take(MAX_LINES) {
        writeln!(text, "  {}", clean::name(line.as_bytes()))?;
        let marks = marks(line, start, decision);
        if !marks.trim_end().is_empty() {
            writeln!(text, "  {style}{}{style:#}", marks.trim_end())?;
        }
        start += line.len() + 1;
    }
    Ok(())
}

/// Returns carets below the deciding parts of the line, as wide as they are displayed.
fn marks(line: &str, start: usize, decision: &Decision) -> String {
    let mut marks = String::new();
    for (offset, character) in line.char_indices() {
        let at = start + offset;
        let marked = decision
            .spans
            .iter()
            .any(|(from, to)| (*from..*to).contains(&at));
        let shown = character.to_string();
        let columns = clean::name(shown.as_bytes()).width();
        let mark = if marked { "^" } else { " " };
        marks.push_str(&mark.repeat(columns));
    }
    marks
}

fn reasoning(text: &mut String, decision: &Decision) -> std::fmt::Result {
    for finding in &decision.findings {
        let chain = finding.chain.join(" → ");
        let chain = clean::line(&chain, 200);
        writeln!(text, "  {DIM}{}:{DIM:#} {chain}", finding.action)?;
    }
    for reason in &decision.reasons {
        writeln!(text, "  {}", clean::line(reason, 400))?;
    }
    for note in &decision.notes {
        writeln!(text, "  {WARN}{}{WARN:#}", clean::line(note, 400))?;
    }
    Ok(())
}
