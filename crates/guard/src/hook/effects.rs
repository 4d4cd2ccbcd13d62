//! Checks the protected files around an agent's tool calls, reverts changes, and reports them.

use oversight::tools::shell_command;

use super::desk::Desk;
use crate::agents::{Answer, Event, Kind};
use crate::protected::{Call, Occasion, Protected, Undone};
use base::files::FileError;
use base::liveness;
use base::said;
use evidence::journal::record::{Record, Restored, RestoredFile};

/// Tools that only start other calls or wait for a person. Each call that they start is checked by itself.
const HOSTS: &[&str] = &["Task", "Agent", "AskUserQuestion", "ExitPlanMode"];

/// Compares the protected files with their earlier state, and returns the report, if any.
pub(super) fn look(desk: &Desk<'_>, event: &Event) -> Result<Option<String>, FileError> {
    // Settings that were just changed or are unreadable decide nothing here.
    if !desk.is_closed() && !protected(desk).was_guarded() {
        return Ok(None);
    }
    let session = desk.session(event).to_string();
    let command = shell_command(&event.tool, &event.input).unwrap_or_default();
    let call = call(&session, event, &command);
    let has_ended = matches!(event.kind, Kind::AfterTool | Kind::ToolFailed);
    let protected = protected(desk);
    let restored = protected.look(&Occasion {
        session: &session,
        ended: (has_ended && !is_host(event)).then_some(call),
        begins: event.kind == Kind::SessionStart,
        is_guarded: desk.is_closed(),
        creates: false,
    })?;
    match event.kind {
        Kind::AfterTool | Kind::ToolFailed => protected.end(&session, Some(&call))?,
        Kind::SessionStart | Kind::Prompt | Kind::Stop | Kind::SessionEnd => {
            protected.end(&session, None)?;
        }
        _ => {}
    }
    let mut told = Vec::new();
    if !restored.is_empty() {
        write_down(desk, event, &restored)?;
        told.extend(restored.iter().map(|file| sentence(desk, file)));
        told.push(REMEDY.to_owned());
    }
    if event.kind == Kind::SessionStart {
        let earlier = protected.tell_undone()?;
        let earlier = earlier.iter().filter(|one| one.session != session);
        told.extend(earlier.map(|one| earlier_sentence(desk, one)));
    }
    Ok((!told.is_empty()).then(|| format!("roleos: {}", told.join("; "))))
}

/// Records that a call may run now, unless the answer stops it. `approved` is the approved act.
pub(super) fn begin(
    desk: &Desk<'_>,
    event: &Event,
    answer: &Answer,
    approved: &str,
) -> Result<(), FileError> {
    let runs = !matches!(answer, Answer::Deny(_) | Answer::Block(_));
    if event.kind != Kind::BeforeTool || !desk.is_closed() || !runs || is_host(event) {
        return Ok(());
    }
    let session = desk.session(event).to_string();
    let command = shell_command(&event.tool, &event.input).unwrap_or_default();
    let command = redact::text(&command).text.into_owned();
    let question = match answer {
        Answer::Ask(question) => question.as_str(),
        _ => approved,
    };
    let process = liveness::agent_process();
    protected(desk).begin(&call(&session, event, &command), question, process)
}

/// Remedy for a person.
const REMEDY: &str = "tool calls must not change such files; a person who made the change takes it back in with \
                      `roleos trust`";

fn protected<'a>(desk: &'a Desk<'_>) -> Protected<'a> {
    Protected {
        workspace: &desk.workspace,
        environment: desk.environment,
        now_ns: desk.now_ns,
    }
}

fn call<'a>(session: &'a str, event: &'a Event, command: &'a str) -> Call<'a> {
    Call {
        session,
        id: &event.call_id,
        tool: &event.tool,
        command,
    }
}

fn is_host(event: &Event) -> bool {
    HOSTS.contains(&event.tool.as_str())
}

fn write_down(desk: &Desk<'_>, event: &Event, files: &[RestoredFile]) -> Result<(), FileError> {
    let mut journal = desk.journal(event)?;
    desk.begin(&mut journal, event);
    let restored = Restored {
        call_id: event.call_id.clone(),
        files: files.to_vec(),
    };
    journal.push(desk.agent.name(), desk.now_ns, Record::Restored(restored));
    journal.commit(true)
}

fn sentence(desk: &Desk<'_>, file: &RestoredFile) -> String {
    let path = shown(desk, &file.path);
    if let Some(problem) = &file.problem {
        return format!("`{path}` was changed and could not be put back: {problem}");
    }
    let what = match (file.mended, file.during_call) {
        (true, _) => "the hook of roleos was put back into",
        (false, true) => "a tool call changed a protected file, which was put back:",
        (false, false) => "a change that keeps the hook of roleos from running was undone in",
    };
    let kept = match &file.kept {
        Some(kept) => format!(" (the change is kept in `{kept}`)"),
        None => String::new(),
    };
    format!("{what} `{path}`{kept}")
}

fn earlier_sentence(desk: &Desk<'_>, undone: &Undone) -> String {
    let path = shown(desk, &undone.path);
    format!(
        "`{path}` was changed in an earlier session and put back at {}; `roleos trust` shows the change",
        undone.at
    )
}

fn shown<'a>(desk: &Desk<'_>, path: &'a str) -> &'a str {
    let root = desk.workspace.root().to_string_lossy();
    let below = path.strip_prefix(root.as_ref());
    below.map_or(path, |below| below.trim_start_matches('/'))
}

/// Adds a note to an answer that stops or asks; for others, see [`crate::agents::Dialect::reply_with`].
pub(super) fn add(answer: Answer, note: &str) -> Answer {
    match answer {
        Answer::Deny(text) => Answer::Deny(format!("{text}\n{note}")),
        Answer::Block(text) => Answer::Block(format!("{text}\n{note}")),
        Answer::Ask(text) => Answer::Ask(format!("{text} {note}")),
        answer => answer,
    }
}

/// Returns the answer if the files cannot be checked.
pub(super) fn failure(desk: &Desk<'_>, event: &Event, error: &FileError) -> Option<Answer> {
    let why = said(error);
    (event.kind == Kind::BeforeTool && desk.is_closed()).then(|| {
        Answer::Block(super::words::failure(&format!(
            "the protected files cannot be compared with how they were: {why}; after a look at them a person accepts \
             them with `roleos trust`"
        )))
    })
}
