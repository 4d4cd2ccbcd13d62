//! `roleos approve`, `deny` and `dismiss`: a person's decision about one refused act. Shows the act and asks for
//! confirmation; without an id, `approve` lists waiting acts, approvals that the agent has not used yet, and denied
//! acts.

use std::fmt::Write as _;

use base::clock;
use base::ownership;
use clap::Args as Words;
use guard::approvals::{self, Act, Id, Refused};
use oversight::actions::Catalog;
use serde_json::{Value, json};

use crate::person::Person;
use crate::render::{clean, columns};
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Words of `approve`.
#[derive(Debug, Words)]
#[command(
    after_help = "A refused act waits 24 hours, as long as its repository stays as it was.\n\n\
Examples:\n  roleos approve\n  roleos approve 3f9c2a1b7d04"
)]
pub struct Args {
    /// The id that stands in the refusal, or its first digits [default: list what waits].
    #[arg(value_parser = parse_id)]
    id: Option<String>,
    /// List only approvals that were given and not used yet.
    #[arg(long, conflicts_with = "id")]
    given: bool,
    /// List only acts that were denied.
    #[arg(long, conflicts_with_all = ["id", "given"])]
    denied: bool,
}

/// Words of `deny`.
#[derive(Debug, Words)]
#[command(
    after_help = "The same act is refused again for 24 hours without another question; `roleos approve ID` takes that back.\n\n\
Example:\n  roleos deny 3f9c2a1b7d04"
)]
pub struct Deny {
    /// The id that stands in the refusal, or its first digits.
    #[arg(value_parser = parse_id)]
    id: String,
}

/// Words of `dismiss`.
#[derive(Debug, Words)]
#[command(
    after_help = "An approval that was not used yet is taken back. The agent may try again, which is another refusal.\n\n\
Example:\n  roleos dismiss 3f9c2a1b7d04"
)]
pub struct Dismiss {
    /// The id that stands in the refusal, or its first digits.
    #[arg(value_parser = parse_id)]
    id: String,
}

/// Fewest digits of an id in a command.
const FEWEST: usize = 4;

fn parse_id(text: &str) -> Result<String, String> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_hex && (FEWEST..=Id::LENGTH).contains(&text.len()) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(format!(
            "expected the {} hexadecimal digits of a refusal, or at least the first {FEWEST}",
            Id::LENGTH
        )),
    }
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.id {
        Some(id) => approve(ui, context, id)?,
        None if args.given => list_given(ui, context)?,
        None if args.denied => list_denied(ui, context)?,
        None => list(ui, context)?,
    }
    Ok(Exit::Done)
}

/// Runs `roleos deny`.
pub fn deny(ui: &Ui, context: &Context, args: &Deny) -> Result<Exit, Failure> {
    decline(ui, context, &args.id, "deny")
}

/// Runs `roleos dismiss`.
pub fn dismiss(ui: &Ui, context: &Context, args: &Dismiss) -> Result<Exit, Failure> {
    decline(ui, context, &args.id, "dismiss")
}

fn approve(ui: &Ui, context: &Context, digits: &str) -> Result<(), Failure> {
    let mut person = Person::at_terminal(ui, "approve")?;
    let id = &approvals::named(&context.workspace, digits)?;
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

fn decline(ui: &Ui, context: &Context, digits: &str, command: &str) -> Result<Exit, Failure> {
    let mut person = Person::at_terminal(ui, command)?;
    let id = &approvals::named(&context.workspace, digits)?;
    let refused = approvals::find(&context.workspace, id)?;
    let catalog = context.config.oversight.policy().catalog;
    person.tell(picture(id, &refused, &catalog))?;
    let (question, decided, note) = match command {
        "deny" => (
            "Deny it?",
            "denied",
            "the agent is told so when it tries the same again within 24 hours",
        ),
        _ => (
            "Dismiss it?",
            "dismissed",
            "the agent may try again, which is another refusal",
        ),
    };
    person.confirms(question)?;
    let now = clock::now_ns();
    let done = match command {
        "deny" => approvals::deny(&context.workspace, id, now),
        _ => approvals::dismiss(&context.workspace, id, now),
    };
    ownership::hand_over(&context.workspace);
    done?;
    if ui.json {
        ui.json(&json!({ "id": id.to_string(), decided: true }))?;
    } else {
        ui.line(format_args!("{decided} {id}"))?;
        ui.note(format_args!("{DIM}{note}{DIM:#}"));
    }
    Ok(Exit::Done)
}

/// Returns a time without its decimals.
pub(crate) fn short(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

/// Shows everything that an approval binds, and the way to undo it. All of it is untrusted text.
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
    list_given(ui, context)?;
    list_denied(ui, context)
}

fn list_denied(ui: &Ui, context: &Context) -> Result<(), Failure> {
    let denied = approvals::denied(&context.workspace, clock::now_ns());
    if ui.json {
        let list: Vec<Value> = denied
            .iter()
            .map(|(id, denied)| present::view::oversight::denied(id, denied))
            .collect();
        ui.json(&list)?;
        return Ok(());
    }
    for (id, denied) in &denied {
        let when = short(&clock::text(denied.at_ns));
        let command = clean::line(&denied.refused.act.command, columns::WIDTH - 40);
        ui.line(format_args!("{id}  {BAD}denied{BAD:#} {when}  {command}"))?;
    }
    Ok(())
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
