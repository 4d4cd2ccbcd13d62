//! `roleos specialist certify` and `review`: certifies a version by its evidence, and reviews the log.

use present::view::specialists as view;
use routing::events;
use routing::manifests::supply;
use routing::metrics;
use routing::runs;
use routing::specialists::certify::{
    Certified, Dossier, Proposal, Sources, read_log_of, review as proposals,
};
use routing::specialists::{Operator, Specialists};
use selection::event::Event;
use selection::growth::{Field, Prune};
use serde_json::{Value, json};
use specialist::level::Level;
use specialist::registry::Withdrawn;

use super::Who;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};

/// Words of `specialist certify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos specialist certify fact-checker v2
  roleos specialist certify fact-checker v2 --level L2 --json

L1: an audit of at least 30 cases passed, not worse than the active version. L2: also 95 % of the last 100 runs passed,
20 % of the last 1000 learning contests won, both beyond chance at any number of looks, and the supply chain is sound.
L3: also the shadow probes agree beyond chance. The run log counts only as a whole: its chain and rewards must hold.")]
pub struct Certify {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version: its id, a beginning of it, or its model's id.
    #[arg(value_name = "VERSION")]
    version: String,
    /// Fail unless this level is earned.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<u8>,
    #[command(flatten)]
    who: Who,
}

fn level(text: &str) -> Result<u8, String> {
    match text {
        "L1" => Ok(1),
        "L2" => Ok(2),
        "L3" => Ok(3),
        _ => Err("expected `L1`, `L2` or `L3`".to_owned()),
    }
}

/// Words of `specialist review`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos specialist review
  roleos specialist review --role fact-checker --apply")]
pub struct Review {
    /// Only this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Do what is proposed: lower levels, deprecate what the log speaks against, ask for new models.
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    who: Who,
}

/// Runs `specialist certify`.
///
/// # Errors
/// The role or the version is unknown, or a file cannot be read or written.
pub fn certify(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Certify,
) -> Result<Exit, Failure> {
    let (dossier, certified, evidence) = args.who.act(context, |operator| {
        gathered(context, specialists, (&args.role, &args.version), operator)
    })?;
    let needed = args.level.unwrap_or(1);
    let exit = Exit::of_check(dossier.assessment.earned >= needed);
    if ui.json {
        let object = view::certified(&args.role, &certified, &dossier, &evidence);
        ui.json(&object)?;
        return Ok(exit);
    }
    show(ui, args, &dossier, &certified)?;
    Ok(exit)
}

/// Certifies in the name of an operator, only by the evidence.
///
/// # Errors
/// The role or the version is unknown, or a file cannot be read or written.
pub(crate) fn attempt(
    context: &Context,
    specialists: &Specialists,
    subject: (&str, &str),
    name: &str,
) -> Result<Certified, Failure> {
    let now = super::now();
    let operator = Operator {
        name,
        reason: "",
        now: &now,
    };
    let (_, certified, _) = gathered(context, specialists, subject, operator)?;
    Ok(certified)
}

fn gathered(
    context: &Context,
    specialists: &Specialists,
    (role, version): (&str, &str),
    operator: Operator<'_>,
) -> Result<(Dossier, Certified, Value), Failure> {
    let metric = metrics::current(&context.workspace)?.metric;
    let log = runs::path(&context.workspace);
    let known = runs::metrics(&context.workspace)?;
    let sources = Sources {
        log: &log,
        metric: &metric,
        known: &known,
        seals: specialists.seals(),
    };
    let set = &context.config.selection;
    let dossier = specialists.dossier(role, version, sources, |written| {
        supply::check(written, set)
    })?;
    let evidence = view::evidence(&dossier, &metric);
    let certified = specialists.certify(role, &dossier, &evidence, operator)?;
    Ok((dossier, certified, evidence))
}

fn show(ui: &Ui, args: &Certify, dossier: &Dossier, certified: &Certified) -> Result<(), Failure> {
    for check in &dossier.assessment.checks {
        let (style, mark) = if check.met {
            (GOOD, "✓")
        } else {
            (BAD, "✗")
        };
        ui.line(format_args!(
            "  {style}{mark}{style:#} L{} {}: {}",
            check.level,
            check.name,
            clean::name(check.said.as_bytes())
        ))?;
    }
    let named = format!(
        "{}/{}",
        clean::name(args.role.as_bytes()),
        clean::name(dossier.version.as_bytes())
    );
    let earned = Level::of(dossier.assessment.earned);
    if certified.now > certified.before {
        ui.line(format_args!(
            "{GOOD}certified{GOOD:#} {named}: {} → {}",
            certified.before, certified.now
        ))?;
    } else if earned < certified.before {
        ui.line(format_args!(
            "{WARN}{named} keeps {}, and the evidence here carries {earned}{WARN:#}: a level is lowered only by `review --apply`, when full windows of the run log fell",
            certified.before
        ))?;
    } else {
        ui.line(format_args!("{named} stays {}", certified.now))?;
    }
    Ok(())
}

/// Runs `specialist review`.
///
/// # Errors
/// The registry is not valid, or a file cannot be read or written.
pub fn review(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Review,
) -> Result<Exit, Failure> {
    let registry = super::valid(ui, specialists)?.registry;
    if let Some(role) = args
        .role
        .as_deref()
        .filter(|role| registry.entry(role).is_none())
    {
        return Err(routing::specialists::OperateError::UnknownRole(role.to_owned()).into());
    }
    let metric = metrics::current(&context.workspace)?.metric;
    let log = runs::path(&context.workspace);
    let known = runs::metrics(&context.workspace)?;
    let sources = Sources {
        log: &log,
        metric: &metric,
        known: &known,
        seals: specialists.seals(),
    };
    let mut read = read_log_of(&registry, sources)?;
    if let Some(broken) = read.broken {
        let message = format!("cannot review: the run log does not hold: {broken}");
        return Err(Failure::refused("run_log_broken", message)
            .hint("`roleos runs verify` shows every bad line; nothing was changed"));
    }
    let mut all = Vec::new();
    for entry in registry.entries() {
        if args.role.as_ref().is_some_and(|role| *role != entry.role) {
            continue;
        }
        for proposal in proposals(
            &registry,
            entry,
            read.roles.remove(&entry.role).unwrap_or_default(),
        ) {
            let applied = args.apply && apply(context, specialists, &entry.role, &proposal, args)?;
            all.push((entry.role.clone(), proposal, applied));
        }
    }
    if ui.json {
        let listed = all.iter().map(|(role, proposal, applied)| {
            let mut object = described(proposal);
            if let Some(object) = object.as_object_mut() {
                object.insert("role".to_owned(), json!(role));
                object.insert("applied".to_owned(), json!(applied));
            }
            object
        });
        ui.json(&json!({ "metric_version": metric.metric_version, "proposals": listed.collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    for (role, proposal, applied) in &all {
        let done = if *applied { " (done)" } else { "" };
        ui.line(format_args!(
            "{BOLD}{}{BOLD:#}: {}{DIM}{done}{DIM:#}",
            clean::name(role.as_bytes()),
            clean::name(said(proposal).as_bytes())
        ))?;
    }
    if all.is_empty() {
        ui.line("the log proposes nothing")?;
    }
    Ok(Exit::Done)
}

fn apply(
    context: &Context,
    specialists: &Specialists,
    role: &str,
    proposal: &Proposal,
    args: &Review,
) -> Result<bool, Failure> {
    let evidence = described(proposal);
    match proposal {
        Proposal::Demote { version, .. } => {
            let done = args.who.act(context, |operator| {
                specialists.demote(role, version, Level::of(1), &evidence, operator)
            })?;
            Ok(done.now < done.before)
        }
        Proposal::Prune { version, .. } => {
            args.who.act(context, |operator| {
                specialists.withdraw(role, version, Withdrawn::Deprecated, &evidence, operator)
            })?;
            Ok(true)
        }
        Proposal::Spawn(field) => {
            let event = Event::ModelAddRequest {
                reason: said(proposal),
                stats_snapshot: json!({ "role": role, "field": field_json(field) }),
            };
            events::emit(&events::path(&context.workspace), &[event])?;
            Ok(true)
        }
        Proposal::Dominance(_) => Ok(false),
    }
}

fn said(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Demote { version, from, why } => {
            format!("demote {version} from {from} to L1: {why}")
        }
        Proposal::Prune { version, why } => match why {
            Prune::Fails(rate) => format!(
                "prune {version}: it passed {} of {} learning runs, at most {:.1} % with 95 % confidence",
                rate.hits,
                rate.n,
                100.0 * rate.high
            ),
            Prune::NeverWins(runs) => format!("prune {version}: it won none of {runs} contests"),
        },
        Proposal::Spawn(field) => format!(
            "spawn: {} of {} contests are weak, {:.1} % ({:.1}–{:.1}); more than 8 % ask for a new specialist",
            field.weak.hits,
            field.weak.n,
            100.0 * field.weak.value,
            100.0 * field.weak.low,
            100.0 * field.weak.high
        ),
        Proposal::Dominance(field) => format!(
            "dominance: one model has {:.0} % of the wins, entropy {:.2} bits; explore more",
            100.0 * field.largest_share,
            field.entropy
        ),
    }
}

fn described(proposal: &Proposal) -> Value {
    let mut object = match proposal {
        Proposal::Demote { version, from, .. } => {
            json!({ "proposal": "demote", "version": version, "from": from.to_string(), "to": "L1" })
        }
        Proposal::Prune { version, why } => {
            let numbers = match why {
                Prune::Fails(rate) => json!({ "pass_rate": view::rate(*rate) }),
                Prune::NeverWins(runs) => json!({ "contests_without_win": runs }),
            };
            json!({ "proposal": "prune", "version": version, "evidence": numbers })
        }
        Proposal::Spawn(field) => json!({ "proposal": "spawn", "evidence": field_json(field) }),
        Proposal::Dominance(field) => {
            json!({ "proposal": "dominance", "evidence": field_json(field) })
        }
    };
    if let Some(object) = object.as_object_mut() {
        object.insert("said".to_owned(), json!(said(proposal)));
    }
    object
}

fn field_json(field: &Field) -> Value {
    json!({
        "weak": view::rate(field.weak), "wins": field.wins, "entropy_bits": field.entropy,
        "largest_share": field.largest_share,
    })
}
