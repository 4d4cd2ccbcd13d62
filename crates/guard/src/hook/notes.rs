//! Records the events that need no answer. Only a change of the agent's settings can be refused.

use std::path::Path;

use serde_json::Value;

use super::desk::Desk;
use super::{Progress, around, outcome, unknown_cost, words};
use crate::agents::{Agent, Answer, Event, Kind};
use crate::install::strength;
use crate::supervision::proof;
use base::files::FileError;
use base::said;
use evidence::journal::append::Journal;
use evidence::journal::capture::{self, MAX_TEXT};
use evidence::journal::record::{
    ConfigChange, End, ModelSwitch, Plan, Prompt, Record, Stop, Unwatched,
};

/// Tools by which agents announce their plans.
const PLANS: &[&str] = &[
    "ExitPlanMode",
    "TodoWrite",
    "update_plan",
    "write_todos",
    "exit_plan_mode",
];

/// Records an event.
pub(super) fn write(desk: &Desk<'_>, event: &Event, progress: &Progress) -> Answer {
    match try_write(desk, event, progress) {
        Ok(answer) => answer,
        Err(error) if desk.is_closed() => {
            let why = said(&error);
            Answer::Tell(format!(
                "roleos cannot write its journal, so tool calls will be blocked: {why}"
            ))
        }
        Err(_) => Answer::Proceed,
    }
}

fn try_write(desk: &Desk<'_>, event: &Event, progress: &Progress) -> Result<Answer, FileError> {
    let mut journal = desk.journal(event)?;
    let repaired = journal.torn().map(|torn| {
        format!(
            "roleos found a line of {} bytes that a crash had cut off in the session's journal, and took it out",
            torn.bytes
        )
    });
    let mut refused = None;
    let mut unknown_cost = None;
    let record = match event.kind {
        Kind::SessionStart => {
            unknown_cost = unknown_cost::tell_at_start(desk, event);
            desk.start(event, event.source.as_deref().unwrap_or("startup"))
        }
        Kind::ConfigChange => {
            refused = unwired(desk, &journal)?;
            Record::ConfigChange(ConfigChange {
                source: event.source.clone().unwrap_or_default(),
                file: event.file.clone(),
                refused: refused.is_some(),
            })
        }
        _ => record_of(event, &desk.config.oversight.test_commands, journal.path()),
    };
    if event.kind != Kind::SessionStart {
        desk.begin(&mut journal, event);
    }
    journal.push(desk.agent.name(), desk.now_ns, record);
    let unwatched = unwatched(desk, event);
    if let Some(why) = &unwatched {
        let unwatched = Record::Unwatched(Unwatched {
            call_id: event.call_id.clone(),
            why: why.clone(),
        });
        journal.push(desk.agent.name(), desk.now_ns, unwatched);
    }
    if !progress.claim() {
        return Ok(Answer::Proceed);
    }
    journal.commit(matches!(event.kind, Kind::Stop | Kind::SessionEnd) || refused.is_some())?;
    drop(journal);
    let mut told: Vec<String> = repaired.into_iter().chain(unknown_cost).collect();
    told.extend(unwatched);
    if event.kind == Kind::SessionStart {
        around::start(desk, event)?;
        told.extend(desk.ignored());
    }
    Ok(match refused {
        Some(why) => {
            let what = "a change of settings";
            Answer::Deny(words::refusal(&[], what, &[why], None))
        }
        None if told.is_empty() => Answer::Proceed,
        None => Answer::Tell(told.join("\n")),
    })
}

/// Returns a note if a command was to be supervised and was not. The next unanalysable command needs a confirmation.
fn unwatched(desk: &Desk<'_>, event: &Event) -> Option<String> {
    if !matches!(event.kind, Kind::AfterTool | Kind::ToolFailed) {
        return None;
    }
    let missed = proof::settle(&desk.workspace, &desk.session(event), &event.call_id);
    missed.unwrap_or(false).then(|| {
        "roleos: a command that was to be supervised ran without supervision; until the next one is supervised, \
         commands that cannot be followed are asked about"
            .to_owned()
    })
}

fn record_of(event: &Event, own_tests: &[String], journal: &Path) -> Record {
    let kept = |text: &Option<String>| text.as_ref().map(|text| capture::text(text, MAX_TEXT));
    let stop = || Stop {
        subagent: event.subagent.clone(),
        message: kept(&event.text),
    };
    match event.kind {
        Kind::Prompt => Record::Prompt(Prompt {
            kept: kept(&event.text).unwrap_or_default(),
        }),
        Kind::AfterTool => Record::Result(outcome::of(event, own_tests, journal)),
        Kind::ToolFailed => Record::Failure(outcome::of(event, own_tests, journal)),
        Kind::Stop => Record::Stop(stop()),
        Kind::SubagentStop => Record::SubagentStop(stop()),
        Kind::ModelSwitch => Record::ModelSwitch(ModelSwitch {
            from: event.from_model.clone(),
            to: event.model.clone(),
        }),
        Kind::SessionEnd => Record::End(End {
            reason: event.source.clone().unwrap_or_default(),
        }),
        Kind::SessionStart | Kind::BeforeTool | Kind::ConfigChange | Kind::Other => Record::Unknown,
    }
}

/// Returns the plan of a call, if its tool is for plans.
pub(super) fn plan(event: &Event) -> Option<Plan> {
    if !PLANS.contains(&event.tool.as_str()) {
        return None;
    }
    let text = match event.input.get("plan") {
        Some(Value::String(plan)) => plan.clone(),
        Some(Value::Array(steps)) => steps_text(steps),
        _ => steps_text(event.input.get("todos").and_then(Value::as_array)?),
    };
    Some(Plan {
        tool: event.tool.clone(),
        kept: capture::text(&text, MAX_TEXT),
    })
}

/// Returns one line per step, with its state in front.
fn steps_text(steps: &[Value]) -> String {
    let line = |step: &Value| {
        let field = |names: &[&str]| {
            let found = names.iter().find_map(|name| step.get(*name)?.as_str());
            found.map(str::to_owned)
        };
        let what = field(&["step", "content", "description", "title"])?;
        let state = field(&["status"]).unwrap_or_else(|| "pending".to_owned());
        Some(format!("[{state}] {what}"))
    };
    let lines: Vec<String> = steps.iter().filter_map(line).collect();
    lines.join("\n")
}

/// Returns why a change of settings is refused: it would remove the hook that existed when the session began.
fn unwired(desk: &Desk<'_>, journal: &Journal) -> Result<Option<String>, FileError> {
    if desk.agent != Agent::Claude || !desk.is_closed() {
        return Ok(None);
    }
    let was_wired = journal.start()?.is_some_and(|start| start.wired);
    let lost = was_wired && !strength::is_wired(desk.workspace.root());
    Ok(lost.then(|| {
        "this change would take the hook of roleos out of the settings, or keep calls from it"
            .to_owned()
    }))
}
