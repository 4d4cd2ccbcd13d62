//! `roleos doctor`: checks that everything is installed, reachable and current. Tries the installed hooks; exit 1 if
//! something is wrong.

use std::io::{self, Write};
use std::path::Path;

use doctor::{self, AgentReport, Check, Report, Standing};
use guard::agents::{Agent, Then};
use guard::install::shown;
use serde_json::{Value, json};

use crate::cli::VERSION;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let running = base::programs::running()?;
    let report = doctor::examine(
        &context.workspace,
        &context.config,
        &context.environment,
        &running,
    );
    if ui.json {
        ui.json(&as_json(context.workspace.root(), &running, &report))?;
    } else {
        let mut out = ui.out();
        show(&mut out, context.workspace.root(), &running, &report)?;
        out.flush()?;
    }
    Ok(Exit::of_check(report.is_good()))
}

fn show(out: &mut impl Write, root: &Path, running: &Path, report: &Report) -> io::Result<()> {
    writeln!(out, "{BOLD}roleos {VERSION}{BOLD:#}")?;
    writeln!(out, "{DIM}{}{DIM:#}", running.display())?;
    writeln!(out, "{DIM}workspace {}{DIM:#}\n", root.display())?;
    for check in &report.checks {
        line(out, check)?;
    }
    for agent in &report.agents {
        show_agent(out, root, agent)?;
    }
    let others: Vec<&str> = Agent::ALL
        .into_iter()
        .filter(|agent| !report.agents.iter().any(|one| one.agent == *agent))
        .map(|agent| agent.dialect().label)
        .collect();
    if !others.is_empty() {
        writeln!(
            out,
            "\n{DIM}Not set up here, so not protected: {}.{DIM:#}",
            others.join(", ")
        )?;
    }
    Ok(())
}

fn line(out: &mut impl Write, check: &Check) -> io::Result<()> {
    let (style, mark) = match check.standing {
        Standing::Good => (GOOD, "ok   "),
        Standing::Note => (WARN, "note "),
        Standing::Wrong => (BAD, "wrong"),
    };
    let text = clean::name(check.text.as_bytes());
    writeln!(out, "{style}{mark}{style:#}  {:<9}  {text}", check.name)?;
    if let Some(next) = &check.next {
        writeln!(out, "{:>18}{DIM}→ {next}{DIM:#}", "")?;
    }
    Ok(())
}

fn show_agent(out: &mut impl Write, root: &Path, report: &AgentReport) -> io::Result<()> {
    let dialect = report.agent.dialect();
    let (style, word) = verdict(report);
    writeln!(
        out,
        "\n{BOLD}{}{BOLD:#}: {style}{word}{style:#}",
        dialect.label
    )?;
    if let Some(settings) = &report.settings {
        writeln!(out, "{DIM}{}{DIM:#}", shown(root, settings))?;
    }
    for check in &report.checks {
        line(out, check)?;
    }
    let when = dialect.when_hook;
    let cases = [
        ("says nothing", when.is_silent),
        ("is slow", when.is_slow),
        ("crashes", when.crashes),
        ("is missing", when.is_missing),
    ];
    for (case, then) in cases {
        let (style, word) = match then {
            Then::Blocks(_) => (GOOD, "the call is blocked"),
            Then::Proceeds(_) => (WARN, "the call goes on"),
        };
        let note = then.note();
        writeln!(
            out,
            "       if the hook {case:<13} {style}{word}{style:#}{DIM}{}{note}{DIM:#}",
            if note.is_empty() { "" } else { ", " }
        )?;
    }
    for hole in dialect.holes {
        writeln!(out, "       {DIM}not protected: {hole}{DIM:#}")?;
    }
    Ok(())
}

fn verdict(report: &AgentReport) -> (anstyle::Style, &'static str) {
    let canary = report.checks.iter().find(|check| check.name == "canary");
    let answers = canary.is_some_and(|check| check.standing == Standing::Good);
    match (report.protected, answers, report.agent.dialect().tried) {
        (true, _, _) => (GOOD, "protected"),
        (false, true, false) => (WARN, "the hook answers; not tried against the program"),
        _ => (BAD, "not protected"),
    }
}

fn as_json(root: &Path, running: &Path, report: &Report) -> Value {
    let check = |check: &Check| {
        json!({
            "name": check.name,
            "standing": match check.standing {
                Standing::Good => "good",
                Standing::Note => "note",
                Standing::Wrong => "wrong",
            },
            "text": check.text,
            "next": check.next,
        })
    };
    let then = |then: Then| json!({ "blocks": then.blocks(), "note": then.note() });
    let agents: Vec<Value> = report
        .agents
        .iter()
        .map(|one| {
            let dialect = one.agent.dialect();
            let when = dialect.when_hook;
            json!({
                "agent": dialect.name,
                "settings": one.settings.as_ref().map(|path| path.to_string_lossy()),
                "protected": one.protected,
                "tried": dialect.tried,
                "checks": one.checks.iter().map(check).collect::<Vec<_>>(),
                "when_hook": {
                    "is_silent": then(when.is_silent),
                    "is_slow": then(when.is_slow),
                    "crashes": then(when.crashes),
                    "is_missing": then(when.is_missing),
                },
                "holes": dialect.holes,
            })
        })
        .collect();
    json!({
        "version": VERSION,
        "program": running.to_string_lossy(),
        "root": root.to_string_lossy(),
        "good": report.is_good(),
        "checks": report.checks.iter().map(check).collect::<Vec<_>>(),
        "agents": agents,
    })
}
