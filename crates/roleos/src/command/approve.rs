//! `roleos approve`: this exact refused act, once. Shows what it is and asks; without an id it lists what waits, and which
//! approvals the agent has not used yet.

use std::fmt::Write as _;

use base::clock;
use base::ownership;
use clap::Args as Words;
use guard::approvals::{self, Act, Id, Refused};
use oversight::actions::Catalog;
use serde_json::{Value, json};

use crate::person::Person;
use crate::render::{clean, columns};
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `approve`.
#[derive(Debug, Words)]
#[command(
    after_help = "A refused act waits 24 hours, as long as its repository stays as it was.\n\n\
Examples:\n  roleos approve 3f9c2a1b7d04\n  roleos approve --dismiss 3f9c2a1b7d04"
)]
pub struct Args {
    /// The id that stands in the refusal [default: list what waits].
    #[arg(value_parser = parse_id)]
    id: Option<Id>,
    /// Dismiss a refused act, or take its unused approval back.
    #[arg(long, value_name = "ID", value_parser = parse_id, conflicts_with = "id")]
    dismiss: Option<Id>,
    /// List only approvals that were given and not used yet.
    #[arg(long, conflicts_with_all = ["id", "dismiss"])]
    given: bool,
}

fn parse_id(text: &str) -> Result<Id, String> {
    Id::parse(text).ok_or_else(|| "expected the 12 hexadecimal digits of a refusal".to_owned())
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    match (&args.id, &args.dismiss) {
        (Some(id), _) => approve(ui, context, id)?,
        (None, Some(id)) => dismiss(ui, context, id)?,
        (None, None) if args.given => list_given(ui, context)?,
        (None, None) => list(ui, context)?,
    }
    Ok(Exit::Done)
}

fn approve(ui: &Ui, context: &Context, id: &Id) -> Result<(), Failure> {
    let mut person = Person::at_terminal(ui, "approve")?;
    let refused = approvals::find_open(&context.workspace, id, clock::now_ns())?;
    let lifetime = context.config.oversight.approval_lifetime();
    let catalog = context.config.oversight.policy().catalog;
    person.tell(picture(id, &refused, &catalog))?;
    let minutes = context.config.oversight.approval_minutes.get();
    person.confirms(&format!("Allow exactly this, once, within {minutes} min?"))?;
    let key = person.signing_key(context)?;
    let ends = approvals::approve(
        &context.workspace,
        &refused,
        &key,
        lifetime,
        clock::now_ns(),
    );
    ownership::hand_over(&context.workspace);
    let ends = clock::text(ends?);
    if ui.json {
        ui.json(&json!({ "id": id.to_string(), "approved": true, "expires": ends }))?;
    } else {
        ui.line(format_args!(
            "{GOOD}approved{GOOD:#} {id} once, until {}",
            short(&ends)
        ))?;
        ui.note(format_args!(
            "{DIM}tell the agent to try exactly the same again{DIM:#}"
        ));
    }
    Ok(())
}

fn dismiss(ui: &Ui, context: &Context, id: &Id) -> Result<(), Failure> {
    let mut person = Person::at_terminal(ui, "approve")?;
    let refused = approvals::find(&context.workspace, id)?;
    let catalog = context.config.oversight.policy().catalog;
    person.tell(picture(id, &refused, &catalog))?;
    person.confirms("Dismiss it?")?;
    approvals::dismiss(&context.workspace, id, clock::now_ns())?;
    ownership::hand_over(&context.workspace);
    if ui.json {
        ui.json(&json!({ "id": id.to_string(), "dismissed": true }))?;
    } else {
        ui.line(format_args!("dismissed {id}"))?;
        ui.note(format_args!(
            "{DIM}the agent may try again, which is another refusal{DIM:#}"
        ));
    }
    Ok(())
}

/// A time without its decimals.
pub(crate) fn short(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

/// Everything that the yes will bind, and what undoes it. All of it was written by strangers.
fn picture(id: &Id, refused: &Refused, catalog: &Catalog) -> String {
    let act = &refused.act;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{BOLD}{id}{BOLD:#}  refused {}",
        short(&clock::text(refused.at_ns))
    );
    let _ = writeln!(text, "\n  {DIM}{}{DIM:#}", clean::name(act.tool.as_bytes()));
    for line in act.command.split('\n') {
        let _ = writeln!(text, "    {}", clean::name(line.as_bytes()));
    }
    let _ = writeln!(text, "  in {}", clean::name(act.directory.as_bytes()));
    for state in &act.repositories {
        let commit: String = state
            .commit
            .iter()
            .flat_map(|commit| commit.chars())
            .take(12)
            .collect();
        let branch = clean::name(state.branch().as_bytes());
        let _ = writeln!(
            text,
            "  repository {} on {branch} at {commit}",
            clean::name(state.top.as_bytes())
        );
        for (name, address) in &state.remotes {
            let (name, address) = (
                clean::name(name.as_bytes()),
                clean::name(address.as_bytes()),
            );
            let _ = writeln!(text, "    {name} → {address}");
        }
    }
    text.push('\n');
    effects(&mut text, act, catalog);
    for reason in &refused.reasons {
        let _ = writeln!(
            text,
            "  {DIM}the gate said: {}{DIM:#}",
            clean::name(reason.as_bytes())
        );
    }
    text
}

fn effects(text: &mut String, act: &Act, catalog: &Catalog) {
    for id in &act.actions {
        let action = catalog.action(id);
        let label = action.map_or("an action that is no longer gated", |action| &action.label);
        let undo = action.map_or("unknown", |action| &action.compensator);
        let (id, label) = (clean::name(id.as_bytes()), clean::name(label.as_bytes()));
        let _ = writeln!(text, "  {WARN}{id}{WARN:#}  {label}");
        let _ = writeln!(text, "    to undo: {}", clean::name(undo.as_bytes()));
    }
    if act.actions.is_empty() {
        let _ = writeln!(
            text,
            "  {WARN}what it does could not be followed to its end{WARN:#}"
        );
    }
}

fn list(ui: &Ui, context: &Context) -> Result<(), Failure> {
    let pending = approvals::pending(&context.workspace, clock::now_ns())?;
    if ui.json {
        let list: Vec<Value> = pending
            .iter()
            .map(|(id, refused)| present::view::oversight::refused(id, refused))
            .collect();
        ui.json(&list)?;
        return Ok(());
    }
    if pending.is_empty() {
        ui.note("nothing was refused here that could be approved");
    }
    for (id, refused) in &pending {
        let when = short(&clock::text(refused.at_ns));
        let command = clean::line(&refused.act.command, columns::WIDTH - 40);
        ui.line(format_args!("{id}  {DIM}{when}{DIM:#}  {command}"))?;
    }
    list_given(ui, context)
}

fn list_given(ui: &Ui, context: &Context) -> Result<(), Failure> {
    let now = clock::now_ns();
    let given = approvals::given(&context.workspace, now)?;
    if ui.json {
        let list: Vec<Value> = given
            .iter()
            .map(|one| present::view::oversight::given(one, now))
            .collect();
        ui.json(&list)?;
        return Ok(());
    }
    for one in &given {
        let left = one.minutes_left(now);
        let command = clean::line(&one.refused.act.command, columns::WIDTH - 40);
        ui.line(format_args!(
            "{}  {GOOD}approved{GOOD:#}, {left} min left  {command}",
            one.id
        ))?;
    }
    Ok(())
}
