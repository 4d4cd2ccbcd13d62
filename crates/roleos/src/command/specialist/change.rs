//! `roleos specialist halt`, `clear-halt` and `repair`: stops and repairs by an operator.

use clap::Args;
use routing::specialists::Specialists;
use routing::specialists::pending::Recovered;
use serde_json::json;

use super::Who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::Ui;

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
    /// The version: its id, a beginning of it, or its model's id [default: every halt of the role].
    #[arg(value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    who: Who,
}

fn shown(text: &str) -> String {
    clean::name(text.as_bytes()).into_owned()
}

/// Runs `specialist halt`.
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

/// Runs `specialist clear-halt`.
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
        specialists.clear_halt(&args.role, args.version.as_deref(), operator)
    })?;
    let versions = |halts: &[(Option<String>, specialist::state::Halt)]| -> Vec<Option<String>> {
        halts.iter().map(|(version, _)| version.clone()).collect()
    };
    if ui.json {
        ui.json(&json!({
            "role": args.role, "cleared": !cleared.lifted.is_empty(), "previous_reason": cleared.reason(),
            "versions": versions(&cleared.lifted), "still_halted": versions(&cleared.stays),
        }))?;
        return Ok(Exit::Done);
    }
    let role = shown(&args.role);
    let named = |version: &Option<String>| {
        let version = version.as_deref();
        version.map_or_else(
            || format!("\"{role}\""),
            |id| format!("\"{role}/{}\"", shown(id)),
        )
    };
    for (version, halt) in &cleared.lifted {
        ui.line(format_args!(
            "cleared halt for {}. previous reason: {}",
            named(version),
            shown(&halt.reason)
        ))?;
    }
    if cleared.lifted.is_empty() {
        let what = match &args.version {
            Some(_) => "has no halt of its own",
            None => "was not halted",
        };
        let version = args.version.clone();
        let kind = if version.is_some() { "version" } else { "role" };
        ui.line(format_args!(
            "{kind} {} {what}; no action taken.",
            named(&version)
        ))?;
    }
    for (version, halt) in &cleared.stays {
        ui.line(format_args!(
            "{} stays halted: {}",
            named(version),
            shown(&halt.reason)
        ))?;
    }
    Ok(Exit::Done)
}

/// Runs `specialist repair`.
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
