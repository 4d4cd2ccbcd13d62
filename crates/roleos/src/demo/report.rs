//! Reports the results of the demo, read from the workspace's own files, with pointers.

use demo_models::tasks::{DATES, ROUTER};
use evidence::journal::SessionId;
use evidence::journal::read::Session;
use evidence::journal::record::Record;
use evidence::score::{self, Source};
use routing::runs;
use routing::specialists::Named;
use selection::run_log::Record as Run;
use witness::scorecard::Wanted;

use super::{Stage, agent};
use crate::command::specialist::open;
use crate::failure::Failure;
use crate::render::units::{cost_per_solve, percent};
use crate::ui::{BAD, BOLD, DIM, GOOD};

pub(super) fn tell(stage: &Stage<'_>) -> Result<(), Failure> {
    let ui = stage.ui;
    ui.note(format_args!("\n{BOLD}What happened{BOLD:#}"));
    tell_routing(stage)?;
    tell_agent(stage)?;
    tell_evidence(stage)?;
    let root = stage.context.workspace.root().display().to_string();
    let session = agent::session(stage)?;
    ui.note(format_args!(
        "\n{BOLD}Where to look{BOLD:#} {DIM}(first `cd '{root}'`){DIM:#}\n  \
         roleos specialist status        who serves, who is halted and why\n  \
         roleos runs stats               every candidate of every contest\n  \
         roleos sessions show {session:<10} what the agent asked and was told\n  \
         roleos witness replay latest    its bundle: prompt, calls, diff, tests\n  \
         roleos scorecard --by week      what the evidence adds up to\n  \
         roleos curve                    what a solved task costs over time\n  \
         roleos ledger verify            nothing is missing, nothing was changed\n\
         {DIM}The adapters and the general model are scripted and the demo pressed `y` for you; gate, contests, hook, approval,\n\
         bundles and ledger are the real ones. The bundles of the six weeks carry injected times and say so.{DIM:#}\n"
    ));
    Ok(())
}

fn tell_routing(stage: &Stage<'_>) -> Result<(), Failure> {
    let ui = stage.ui;
    let specialists = open(stage.context, &Named::default())?;
    let registry = specialists.registry()?;
    let (mut contests, mut wins) = (0_u64, 0_u64);
    runs::lines(&runs::path(&stage.context.workspace), |line| {
        if let Ok(record) = Run::parse(line) {
            contests += u64::from(record.more.mode.as_deref() == Some("learn"));
            wins += u64::from(record.won() && record.model_id.ends_with("-refuser"));
        }
    })?;
    ui.note(format_args!(
        "  {} dispatches; in {contests} candidate runs of contests the fast refusers won {wins}",
        stage.place.dispatches()
    ));
    let state = specialists
        .state()
        .map_err(|error| Failure::refused("demo_state", error.to_string()))?;
    for role in [ROUTER, DATES] {
        let active = registry
            .entry(role)
            .and_then(|entry| entry.active().ok().flatten());
        let Some(active) = active else { continue };
        match state.halt(role) {
            None => ui.note(format_args!(
                "  {role}: {GOOD}{} serves{GOOD:#} at {}",
                active.id, active.certified_level
            )),
            Some(halt) => ui.note(format_args!(
                "  {role}: {BAD}{} is halted{BAD:#}: {}",
                active.id, halt.reason
            )),
        }
    }
    Ok(())
}

/// Reports the agent's part, from the journal of its session.
fn tell_agent(stage: &Stage<'_>) -> Result<(), Failure> {
    let sessions = stage.context.workspace.sessions_dir();
    let session = SessionId::new(&agent::session(stage)?);
    let session = Session::read(&session.path_in(&sessions))?;
    let pushes = session.lines.iter().filter_map(|line| match &line.record {
        Record::Call(call) if call.actions.iter().any(|action| action == "git:push") => {
            Some(match (&call.approval, call.verdict.as_str()) {
                (Some(_), _) => "approved once",
                (None, "deny") => "refused",
                (None, _) => "let through",
            })
        }
        _ => None,
    });
    let pushes: Vec<&str> = pushes.collect();
    stage.ui.note(format_args!(
        "  an agent behind the hook mended a failing test; its `git push` was {}",
        pushes.join(", then ")
    ));
    Ok(())
}

fn tell_evidence(stage: &Stage<'_>) -> Result<(), Failure> {
    let context = stage.context;
    let (keys, _) = context.store.keys_for_writing()?;
    let keyring = keys.keyring();
    let paths = context.bundles(&[])?;
    let source = Source {
        paths: &paths,
        keyring: &keyring,
        unverified: false,
        options: context.scan_options(),
        ledger: Some(&context.store.comparison(&keys, None)?),
    };
    let scored = score::scorecard(source, &Wanted::default(), |_| {})?;
    let (card, counts) = (&scored.result.all, &scored.counts);
    let thresholds = context.config.acceptance.thresholds();
    let acceptance = scored.result.acceptance(&thresholds, scored.reasons());
    let verdict = match acceptance.reasons.first() {
        None => "accepted".to_owned(),
        Some(reason) => format!("not accepted, {}", reason.text),
    };
    stage.ui.note(format_args!(
        "  {} bundles, {} verified; {} of {} tasks solved ({}), {} a solved task: {verdict}",
        counts.files,
        counts.verified,
        card.solved,
        card.total_tasks,
        percent(card.solve_rate),
        cost_per_solve(card.cost_per_solve),
    ));
    let audit = context.store.audit(&keys, None)?;
    let state = if audit.problems.is_empty() {
        "whole"
    } else {
        "damaged"
    };
    stage
        .ui
        .note(format_args!("  ledger of {} leaves: {state}", audit.size));
    Ok(())
}
