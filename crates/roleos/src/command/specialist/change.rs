//! `roleos specialist promote`, `rollback`, `halt`, `clear-halt` and `repair`: what an operator changes.

use clap::Args;
use host::specialists::pending::Recovered;
use host::specialists::{Moved, Specialists};
use serde_json::json;
use specialist::pointer::Move;

use super::Who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{GOOD, Ui};

/// Words of `promote` and `rollback`.
#[derive(Debug, Args)]
pub struct Point {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version's id.
    #[arg(value_name = "VERSION")]
    version: String,
    #[command(flatten)]
    who: Who,
}

/// Words of `halt`.
#[derive(Debug, Args)]
pub struct Halt {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// Who does this [default: git's user, else the system's].
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Why; it is shown with every dispatch that is not served.
    #[arg(long, value_name = "TEXT", required = true)]
    reason: String,
}

/// Words of `clear-halt`.
#[derive(Debug, Args)]
pub struct Clear {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    #[command(flatten)]
    who: Who,
}

fn shown(text: &str) -> String {
    clean::name(text.as_bytes()).into_owned()
}

fn moved(
    context: &Context,
    specialists: &Specialists,
    args: &Point,
    direction: Move,
) -> Result<Moved, Failure> {
    let moved = args.who.act(context, |operator| {
        specialists.repoint(&args.role, &args.version, direction, operator)
    });
    Ok(moved?)
}

fn moved_json(ui: &Ui, args: &Point, moved: &Moved) -> Result<Exit, Failure> {
    ui.json(&host::view::specialists::moved(&args.role, moved))?;
    Ok(Exit::Done)
}

/// Promotes.
///
/// # Errors
/// The version may not become active.
pub fn promote(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Point,
) -> Result<Exit, Failure> {
    let moved = moved(context, specialists, args, Move::Promote)?;
    if ui.json {
        return moved_json(ui, args, &moved);
    }
    let (role, to) = (shown(&args.role), shown(&moved.to));
    let from = moved
        .from
        .as_deref()
        .map_or_else(|| "(none)".to_owned(), shown);
    let exam: String = moved.exam_hash.chars().take(12).collect();
    ui.line(format_args!(
        "promote {role}: {from} → {to} ({})\n",
        moved.level
    ))?;
    ui.line(format_args!(
        "  {GOOD}◆{GOOD:#}  {role} — {} certified · {to} · exam {}",
        moved.level,
        shown(&exam)
    ))?;
    Ok(Exit::Done)
}

/// Rolls back.
///
/// # Errors
/// The version may not become active.
pub fn rollback(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Point,
) -> Result<Exit, Failure> {
    let moved = moved(context, specialists, args, Move::Rollback)?;
    if ui.json {
        return moved_json(ui, args, &moved);
    }
    let from = moved
        .from
        .as_deref()
        .map_or_else(|| "(none)".to_owned(), shown);
    let (role, to) = (shown(&args.role), shown(&moved.to));
    ui.line(format_args!(
        "rollback {role}: {from} ← {to} ({})",
        moved.level
    ))?;
    Ok(Exit::Done)
}

/// Halts.
///
/// # Errors
/// The role is unknown, or the state cannot be used.
pub fn halt(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Halt,
) -> Result<Exit, Failure> {
    let who = Who {
        operator: args.operator.clone(),
        reason: args.reason.clone(),
    };
    let before = who.act(context, |operator| specialists.halt(&args.role, operator))?;
    let role = shown(&args.role);
    match before {
        _ if ui.json => ui.json(&json!({
            "role": args.role, "halted": true, "was_halted": before.is_some(),
        }))?,
        Some(halt) => ui.line(format_args!(
            "role \"{role}\" was halted already; that halt stands: {}",
            shown(&halt.reason)
        ))?,
        None => ui.line(format_args!(
            "halted \"{role}\". Undo with: roleos specialist clear-halt \"{role}\""
        ))?,
    }
    Ok(Exit::Done)
}

/// Lifts a halt.
///
/// # Errors
/// The state cannot be used.
pub fn clear(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Clear,
) -> Result<Exit, Failure> {
    let cleared = args.who.act(context, |operator| {
        specialists.clear_halt(&args.role, operator)
    })?;
    let role = shown(&args.role);
    match cleared {
        _ if ui.json => ui.json(&json!({
            "role": args.role, "cleared": cleared.is_some(), "previous_reason": cleared.map(|halt| halt.reason),
        }))?,
        Some(halt) => ui.line(format_args!(
            "cleared halt for \"{role}\". previous reason: {}",
            shown(&halt.reason)
        ))?,
        None => ui.line(format_args!("role \"{role}\" was not halted; no action taken."))?,
    }
    Ok(Exit::Done)
}

/// Repairs.
///
/// # Errors
/// A file cannot be read or written.
pub fn repair(ui: &Ui, specialists: &Specialists) -> Result<Exit, Failure> {
    let repaired = specialists.repair(&super::now())?;
    let pointer = match repaired.pointer {
        Recovered::Nothing => "nothing",
        Recovered::Finished => "finished",
        Recovered::Undone => "undone",
        Recovered::Overtaken => "overtaken",
    };
    if ui.json {
        ui.json(&json!({
            "state_set_aside": repaired.set_aside, "halted": repaired.halted, "pointer": pointer,
            "damaged_event_lines": repaired.damaged_events,
        }))?;
        return Ok(Exit::Done);
    }
    match &repaired.set_aside {
        None => ui.line("state: readable, left as it is")?,
        Some(aside) => ui.line(format_args!(
            "state: was damaged and is kept as {}; rebuilt from the logs, quota windows begin anew",
            aside.display()
        ))?,
    }
    if pointer != "nothing" {
        ui.line(format_args!(
            "an interrupted promotion or rollback: {pointer}"
        ))?;
    }
    for line in &repaired.damaged_events {
        ui.line(format_args!(
            "events log: line {line} is no event and is not counted"
        ))?;
    }
    for role in &repaired.halted {
        ui.line(format_args!("halted: {}", shown(role)))?;
    }
    Ok(Exit::Done)
}
