//! `roleos init`: sets a repository up for coding agents, shows the changes, or removes them again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base::agents_above;
use base::ownership;
use base::programs;
use clap::Args as Words;
use guard::agents::Agent;
use guard::install::registration::{self, Program};
use guard::install::system::Machine;
use guard::install::{self, Plan, shown};
use serde_json::{Value, json};

use crate::command::hook::AgentName;
use crate::render::changes;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Words of `init`.
#[derive(Debug, Words)]
#[command(after_help = "\
Examples:
  roleos init
  roleos init --agent claude --agent codex --dry-run
  roleos init --uninstall
  sudo roleos init --system")]
pub struct Args {
    /// For which agent; may be repeated [default: those that are used here, else claude].
    #[arg(long, value_name = "AGENT")]
    agent: Vec<AgentName>,
    /// For every agent that is known.
    #[arg(long, conflicts_with_all = ["agent", "system"])]
    all: bool,
    /// Show what would change, as a diff, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take the hooks out again; keys, settings of Role OS, journals and evidence stay (see `uninstall --purge`).
    #[arg(long)]
    uninstall: bool,
    /// For the whole machine, as root: program, settings and approval key that your user cannot change.
    #[arg(long, conflicts_with = "agent")]
    system: bool,
    /// A directory that stands for the machine.
    #[arg(long, hide = true, requires = "system", value_name = "DIR")]
    prefix: Option<PathBuf>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let has_changed = carry_out(ui, context, args)?;
    if args.uninstall && has_changed {
        say_what_stays(ui);
    }
    Ok(Exit::Done)
}

/// Prints the files that `uninstall` leaves behind.
pub(crate) fn say_what_stays(ui: &Ui) {
    if ui.json {
        return;
    }
    ui.note("keys, settings of Role OS, journals and evidence were left as they are; `roleos uninstall --purge` deletes them");
}

/// Plans, executes and shows the changes; returns `true` if something was changed.
fn carry_out(ui: &Ui, context: &Context, args: &Args) -> Result<bool, Failure> {
    if args.uninstall || args.system {
        refuse_below_agent(args)?;
    }
    if args.system {
        return system(ui, context, args);
    }
    let (agents, mut notes) = agents(context, args);
    notes.extend(other_repository(context));
    let mut plan = if args.uninstall {
        install::plan_removal(&context.workspace, &agents)?
    } else {
        let program = Program {
            path: programs::hook(&running()?),
            root: context.workspace.root().to_owned(),
            state: context.workspace.state().map(Path::to_owned),
            forced: false,
        };
        let managed = Machine::below(Path::new("/")).map(|machine| machine.installed());
        let managed = managed.unwrap_or_default();
        install::plan(&context.workspace, &agents, &program, &managed)?
    };
    notes.append(&mut plan.notes);
    plan.notes = notes;
    if !args.dry_run {
        install::carry_out(&context.workspace, &plan)?;
        ownership::hand_over(&context.workspace);
    }
    show(ui, context, args, &agents, &plan)?;
    Ok(!args.dry_run && !plan.changes.is_empty())
}

fn system(ui: &Ui, context: &Context, args: &Args) -> Result<bool, Failure> {
    let machine = match &args.prefix {
        Some(prefix) => Machine::below(prefix)?,
        None => Machine::real()?,
    };
    let plan = if args.uninstall {
        machine.plan_removal()?
    } else {
        machine.plan(&context.workspace, &running()?)?
    };
    if !args.dry_run {
        machine.carry_out(&context.workspace, &plan)?;
        ownership::hand_over(&context.workspace);
    }
    let agents: Vec<Agent> = machine.settings().iter().map(|one| one.agent).collect();
    show(ui, context, args, &agents, &plan)?;
    Ok(!args.dry_run && !plan.changes.is_empty())
}

/// Removes the hooks from the settings of every agent that has them; returns `true` if there were any.
pub(crate) fn uninstall(ui: &Ui, context: &Context) -> Result<bool, Failure> {
    let args = Args {
        agent: Vec::new(),
        all: false,
        dry_run: false,
        uninstall: true,
        system: false,
        prefix: None,
    };
    carry_out(ui, context, &args)
}

/// Returns a note if the workspace is not the repository of the current directory.
fn other_repository(context: &Context) -> Option<String> {
    let root = context.workspace.root();
    let here = std::env::current_dir().ok()?;
    let top = base::git::top_level(&here).ok()?.canonicalize().ok()?;
    let is_below = top.starts_with(root) && top != root;
    is_below.then(|| {
        format!(
            "the workspace is `{}`, which holds `.role-os`; `roleos init --root {}` sets up the repository that you are in",
            root.display(),
            top.display()
        )
    })
}

/// Returns the real path of this program.
fn running() -> Result<PathBuf, Failure> {
    programs::running().map_err(|error| {
        let message = format!("cannot tell which program this is: {error}");
        Failure::refused("no_program", message)
    })
}

/// Refuses changes that an agent may not make to itself, from any source.
fn refuse_below_agent(args: &Args) -> Result<(), Failure> {
    let Some(above) = agents_above::find() else {
        return Ok(());
    };
    let what = if args.system {
        "--system"
    } else {
        "--uninstall"
    };
    let agent = clean::name(above.agent.as_bytes()).into_owned();
    let shown_by = clean::name(above.shown_by.as_bytes()).into_owned();
    let message =
        format!("`roleos init {what}` is for a person, and this runs below {agent}: {shown_by}");
    Err(Failure::refused("inside_agent", message)
        .hint("open a terminal of your own and type it there"))
}

/// Returns the selected agents, and the reason for the default selection.
fn agents(context: &Context, args: &Args) -> (Vec<Agent>, Vec<String>) {
    if args.all {
        return (Agent::ALL.to_vec(), Vec::new());
    }
    if !args.agent.is_empty() {
        let mut named: Vec<Agent> = args.agent.iter().map(|one| Agent::from(*one)).collect();
        named.sort();
        named.dedup();
        return (named, Vec::new());
    }
    if args.uninstall {
        return (install::installed(&context.workspace), Vec::new());
    }
    let used = registration::used_here(context.workspace.root());
    if used.is_empty() {
        let note =
            "no agent has left traces here, so this is for Claude Code; `--agent` names another";
        return (vec![Agent::Claude], vec![note.to_owned()]);
    }
    let labels: Vec<&str> = used.iter().map(|agent| agent.dialect().label).collect();
    let note = format!("found here: {}", labels.join(", "));
    (used, vec![note])
}

fn show(
    ui: &Ui,
    context: &Context,
    args: &Args,
    agents: &[Agent],
    plan: &Plan,
) -> Result<(), Failure> {
    let root = context.workspace.root();
    if ui.json {
        ui.json(&as_json(root, args, agents, plan))?;
        return Ok(());
    }
    let mut out = ui.out();
    if args.dry_run {
        for change in &plan.changes {
            write!(out, "{}", changes::diff(root, change))?;
        }
    } else {
        let width = plan
            .changes
            .iter()
            .map(|change| shown(root, &change.path).len());
        let width = width.max().unwrap_or(0);
        for change in &plan.changes {
            let verb = changes::verb(change);
            let path = shown(root, &change.path);
            writeln!(
                out,
                "{GOOD}{verb:<7}{GOOD:#} {path:<width$}  {DIM}{}{DIM:#}",
                change.what
            )?;
        }
    }
    out.flush()?;
    if plan.keys {
        let verb = if args.dry_run {
            "keys would be made"
        } else {
            "keys were made"
        };
        let place = if args.system {
            "the machine"
        } else {
            "`.role-os/keys`"
        };
        ui.note(format_args!("{verb} in {place}; they are never shown"));
    }
    for note in &plan.notes {
        let note = clean::name(note.as_bytes());
        ui.note(format_args!("{DIM}note{DIM:#}: {note}"));
    }
    if plan.changes.is_empty() && !plan.keys {
        ui.note("nothing to change");
    } else if !args.dry_run && !args.uninstall {
        ui.note(format_args!(
            "the capability gate is on: pushes, releases and packages need {BOLD}roleos grant{BOLD:#} or {BOLD}roleos approve{BOLD:#}; deleting work and reading secrets is asked about"
        ));
        ui.note(format_args!(
            "restart the agent; then {BOLD}roleos doctor{BOLD:#} shows that it is protected"
        ));
    }
    Ok(())
}

fn as_json(root: &Path, args: &Args, agents: &[Agent], plan: &Plan) -> Value {
    let agents: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
    let changes: Vec<Value> = plan
        .changes
        .iter()
        .map(|change| {
            json!({
                "path": change.path.to_string_lossy(),
                "change": changes::verb(change),
                "what": change.what,
                "diff": args.dry_run.then(|| changes::diff(root, change)),
            })
        })
        .collect();
    json!({
        "root": root.to_string_lossy(),
        "agents": agents,
        "dry_run": args.dry_run,
        "changes": changes,
        "keys": plan.keys,
        "notes": plan.notes,
    })
}
