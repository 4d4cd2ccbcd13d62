//! `roleos status`, and `roleos` alone: the state of this workspace, and the next sensible command.

use std::io::{self, Write};

use doctor::overview::Overview;
use guard::agents::Agent;
use serde_json::json;

use crate::cli::VERSION;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let overview = Overview::of(&context.workspace, &context.config, &context.environment);
    if ui.json {
        ui.json(&as_json(&overview))?;
    } else {
        let mut out = ui.out();
        show(&mut out, &overview)?;
        out.flush()?;
        ui.tell_not_initialised(context);
    }
    Ok(Exit::Done)
}

fn as_json(overview: &Overview) -> serde_json::Value {
    let names = |agents: &[Agent]| agents.iter().map(|agent| agent.name()).collect::<Vec<_>>();
    json!({
        "version": VERSION,
        "root": overview.root,
        "set_up": overview.is_set_up,
        "gate": overview.gate,
        "guarded": names(&overview.guarded),
        "unguarded": names(&overview.unguarded),
        "sessions": { "total": overview.sessions, "unsealed": overview.unsealed },
        "waiting": overview.waiting,
        "approved": overview.approved,
        "tasks": overview.tasks,
        "specialists": { "roles": overview.specialists, "halted": overview.halted },
        "problems": overview.problems,
        "next": overview.next().command,
    })
}

fn show(out: &mut impl Write, overview: &Overview) -> io::Result<()> {
    writeln!(out, "{BOLD}roleos {VERSION}{BOLD:#}")?;
    writeln!(out, "{DIM}workspace {}{DIM:#}\n", overview.root.display())?;
    guard(out, overview)?;
    let mut line = |name: &str, text: String| writeln!(out, "{name:<11}  {text}");
    line(
        "sessions",
        counted(overview.sessions, overview.unsealed, "not sealed"),
    )?;
    line("tasks", format!("{} sealed", overview.tasks))?;
    let mut approvals = format!("{} waiting", overview.waiting);
    if overview.approved > 0 {
        approvals = format!("{approvals}, {} given and not used yet", overview.approved);
    }
    line("approvals", approvals)?;
    let halted = overview.halted.iter();
    let halted: Vec<_> = halted.map(|role| clean::line(role, 40)).collect();
    let mut roles = counted(overview.specialists, halted.len(), "halted");
    if !halted.is_empty() {
        roles = format!("{roles}: {}", halted.join(", "));
    }
    line("specialists", roles)?;
    for problem in &overview.problems {
        writeln!(
            out,
            "{BAD}problem{BAD:#}      {}",
            clean::name(problem.as_bytes())
        )?;
    }
    let next = overview.next();
    writeln!(out, "\n{}:\n  {BOLD}{}{BOLD:#}", next.why, next.command)?;
    if !overview.is_set_up {
        writeln!(
            out,
            "\nOr see the whole loop work first, with scripted models, in a folder of its own:\n  {BOLD}roleos up --demo{BOLD:#}"
        )?;
    }
    writeln!(out, "\n{DIM}`roleos --help` lists every command.{DIM:#}")
}

fn guard(out: &mut impl Write, overview: &Overview) -> io::Result<()> {
    let labels = |agents: &[Agent]| {
        let labels: Vec<_> = agents.iter().map(|agent| agent.dialect().label).collect();
        labels.join(", ")
    };
    let (style, word) = match (overview.gate, overview.guarded.is_empty()) {
        (true, false) => (GOOD, "on"),
        (true, true) => (WARN, "on, but no agent has the hook"),
        (false, _) => (WARN, "off"),
    };
    write!(out, "{:<11}  {style}{word}{style:#}", "gate")?;
    if !overview.guarded.is_empty() {
        write!(out, ", hook in {}", labels(&overview.guarded))?;
    }
    if !overview.unguarded.is_empty() {
        write!(
            out,
            "; used here without it: {}",
            labels(&overview.unguarded)
        )?;
    }
    writeln!(out)
}

fn counted(all: usize, some: usize, what: &str) -> String {
    if some == 0 {
        all.to_string()
    } else {
        format!("{all}, {some} {what}")
    }
}
