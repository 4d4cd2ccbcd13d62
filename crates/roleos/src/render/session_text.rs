//! Formats one line of a session for people: time, text, the tool and its arguments.

use std::fmt::Write as _;

use anstyle::Style;
use base::clock;
use evidence::journal::record::{Call, Line, Outcome, Record, RestoredFile, Start};
use oversight::tools::shell_command;

use super::clean;
use super::columns::{Side, fit};
use crate::ui::{BAD, BOLD, DIM, GOOD, WARN};

/// Most columns of a call's arguments.
const INPUT: usize = 70;

/// Most columns of a sentence.
const SENTENCE: usize = 110;

/// Formats a line; `None` for one that is only relevant in the file.
#[must_use]
pub fn line(line: &Line) -> Option<String> {
    let time = clock::text(line.time_ns);
    let time = time.get(11..19).unwrap_or_default();
    let (style, word, text) = told(&line.record)?;
    let word = fit(word, 8, Side::Left);
    Some(format!(
        "{DIM}{time}{DIM:#}  {style}{word}{style:#}  {text}"
    ))
}

fn told(record: &Record) -> Option<(Style, &'static str, String)> {
    let kept = |text: &str| clean::line(text, SENTENCE);
    Some(match record {
        Record::Start(begun) => (BOLD, "start", start(begun)),
        Record::Prompt(prompt) => (BOLD, "prompt", kept(&prompt.kept.text)),
        Record::Plan(plan) => (DIM, "plan", kept(&plan.kept.text)),
        Record::Call(made) => call(made),
        Record::Result(ended) => return outcome(ended),
        Record::Failure(ended) => {
            let (_, _, text) = outcome(ended)?;
            (WARN, "failed", text)
        }
        Record::Stop(stop) => (DIM, "stop", message(stop.message.as_ref())),
        Record::SubagentStop(stop) => (DIM, "substop", message(stop.message.as_ref())),
        Record::ConfigChange(change) => {
            let style = if change.refused { BAD } else { WARN };
            (style, "settings", kept(&change.source))
        }
        Record::ModelSwitch(switch) => {
            let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "?".to_owned());
            let text = format!("{} → {}", name(&switch.from), name(&switch.to));
            (DIM, "model", kept(&text))
        }
        Record::Rollback(back) => {
            let style = if back.restored { WARN } else { BAD };
            let mut text = match &*back.kept {
                "" => "nothing was undone".to_owned(),
                kept => format!("the working tree was returned; undone work: {kept}"),
            };
            if let Some(problem) = &back.problem {
                text = format!("not restored: {problem}; {text}");
            }
            (style, "rollback", kept(&text))
        }
        Record::Restored(restored) => {
            let failed = restored.files.iter().any(|file| file.problem.is_some());
            let style = if failed { BAD } else { WARN };
            let paths: Vec<String> = restored.files.iter().map(restored_file).collect();
            (style, "restored", kept(&paths.join(", ")))
        }
        Record::Unwatched(unwatched) => (WARN, "unwatched", kept(&unwatched.why)),
        Record::End(end) => (BOLD, "end", kept(&end.reason)),
        Record::Sealed(sealed) if sealed.sha256.is_empty() => {
            (DIM, "empty", "nothing to seal".to_owned())
        }
        Record::Sealed(sealed) => (GOOD, "sealed", kept(&sealed.task_id)),
        Record::Repaired(torn) => {
            let text = format!("a line of {} bytes was cut off by a crash", torn.bytes);
            (WARN, "repaired", text)
        }
        Record::Lost(lost) => {
            let text = format!(
                "the journal had {} lines and {} were found",
                lost.written, lost.found
            );
            (BAD, "lost", text)
        }
        _ => return None,
    })
}

fn restored_file(file: &RestoredFile) -> String {
    match (&file.problem, &file.kept) {
        (Some(problem), _) => format!("{} could not be put back: {problem}", file.path),
        (None, Some(kept)) => format!("{} (the change: {kept})", file.path),
        (None, None) => file.path.clone(),
    }
}

fn start(begun: &Start) -> String {
    let gate = if begun.gate { "gate on" } else { "gate off" };
    let mut text = format!(
        "{} in {}, {gate}, mode {}",
        begun.source, begun.cwd, begun.mode
    );
    if let Some(commit) = &begun.base_commit {
        let branch = begun.branch.as_deref().unwrap_or_default();
        let short = commit.get(..8).unwrap_or(commit);
        // Writing to a string cannot fail.
        let _ = write!(text, ", {branch} at {short}");
    }
    if begun.unattended {
        text.push_str(", unattended");
    }
    for note in &begun.notes {
        let _ = write!(text, ", {note}");
    }
    clean::line(&text, SENTENCE)
}

fn call(made: &Call) -> (Style, &'static str, String) {
    let (style, word) = match made.verdict.as_str() {
        "allow" => (GOOD, "allow"),
        "advise" => (GOOD, "advise"),
        "ask" => (WARN, "ask"),
        _ => (BAD, "deny"),
    };
    let input = shell_command(&made.tool, &made.input).unwrap_or_else(|| shown(made));
    let mut text = format!(
        "{}  {}",
        clean::line(&made.tool, 24),
        clean::line(&input, INPUT)
    );
    for action in &made.actions {
        let _ = write!(text, "  {BOLD}{}{BOLD:#}", clean::line(action, 24));
    }
    if let Some(id) = &made.approval {
        let _ = write!(text, "  approved by {}", clean::line(id, 16));
    }
    if let Some(id) = &made.refusal {
        let _ = write!(text, "  {DIM}roleos approve {}{DIM:#}", clean::line(id, 16));
    }
    if let Some(note) = made.notes.first() {
        let _ = write!(text, "  {DIM}{}{DIM:#}", clean::line(note, INPUT));
    }
    (style, word, text)
}

/// Formats arguments: a file name is more informative than all of them.
fn shown(made: &Call) -> String {
    let path = [
        "file_path",
        "path",
        "notebook_path",
        "pattern",
        "url",
        "query",
    ];
    let first = path.iter().find_map(|name| made.input.get(*name)?.as_str());
    first.map_or_else(|| made.input.to_string(), str::to_owned)
}

/// Formats failures and results of tests; other successful calls need no line.
fn outcome(ended: &Outcome) -> Option<(Style, &'static str, String)> {
    if !ended.failed && !ended.test {
        return None;
    }
    let printed = ended.output.as_ref().map_or("", |kept| kept.text.as_str());
    let last = printed.trim_end().lines().last().unwrap_or_default();
    let exit = ended.exit.map(|exit| format!("exit {exit}  "));
    let tool = clean::line(&ended.tool, 24);
    let text = format!(
        "{tool}  {}{}",
        exit.unwrap_or_default(),
        clean::line(last, INPUT)
    );
    let (style, word) = match (ended.test, ended.failed) {
        (true, false) => (GOOD, "tests"),
        (true, true) => (WARN, "tests"),
        (false, _) => (WARN, "failed"),
    };
    Some((style, word, text))
}

fn message(kept: Option<&evidence::journal::record::Kept>) -> String {
    kept.map_or_else(String::new, |kept| clean::line(&kept.text, SENTENCE))
}
