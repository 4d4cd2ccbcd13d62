//! `roleos specialist status`: the gate's state of every role, and the field data.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use base::config::Config;
use present::view::specialists::{self as view, Status};
use routing::learning::Shown;
use routing::selector::Judge;
use routing::specialists::{OperateError, Specialists};
use serde_json::{Value, json};
use specialist::field::Audit;
use specialist::registry::Entry;
use specialist::shadow::{HaltRule, Settings};
use specialist::state::State;
use upstream::backend;

use super::next::steps;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui, WARN};

/// Words of `specialist status`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roleos specialist status\n  roleos specialist status --role \"Release Note Checker\" --json"
)]
pub struct Args {
    /// Only this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Dispatches to look back for the quota [default: `quota_window` of the settings].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

/// Runs the command.
///
/// # Errors
/// The registry is not valid, or the state cannot be read.
pub fn run(
    ui: &Ui,
    config: &Config,
    specialists: &Specialists,
    args: &Args,
) -> Result<Exit, Failure> {
    let seen = super::valid(ui, specialists)?;
    let state = specialists.state().map_err(|source| {
        let failure = Failure::from(OperateError::Unreadable {
            path: specialists.paths().state.clone(),
            source,
        });
        Failure::refused(failure.code, failure.message)
            .hint("nothing routes to a specialist; `roleos specialist repair` sets the file aside and rebuilds it from the logs")
    })?;
    let log = specialists.field_log()?;
    let probes = specialists.probes()?;
    let window = args
        .window
        .map(|window| usize::try_from(window).unwrap_or(usize::MAX));
    let wanted = |entry: &&Entry| args.role.as_ref().is_none_or(|role| entry.role == *role);
    let shown: Vec<Status<'_>> = seen
        .registry
        .entries()
        .iter()
        .filter(wanted)
        .map(|entry| {
            Status::of(
                entry,
                &state,
                specialists.settings(),
                window,
                (&log, &probes),
            )
        })
        .collect();
    let paths = specialists.paths();
    let learning = Shown::if_used(&paths.workspace, config);
    let missing = args.role.as_deref().filter(|_| shown.is_empty());
    let settings = &specialists.settings().shadow;
    let judge = Judge::of(&paths.workspace);
    let back = |entry: &Entry| specialists.version_before(&entry.role).is_ok();
    if ui.json {
        let warned = |one: &Status<'_>| backend::warning(&one.entry.backend_url);
        let mut roles: Vec<Value> = shown
            .iter()
            .map(|one| {
                let mut role = one.json(specialists.settings(), warned(one).as_deref());
                if let Some(role) = role.as_object_mut() {
                    let entry = one.entry;
                    let active = entry.active_version.as_deref().unwrap_or_default();
                    let exam = specialists.newest_exam(&entry.role, active);
                    let exam = exam.map(|(passed, said)| json!({ "passed": passed, "said": said }));
                    let without = specialists.files_without_block(&entry.role);
                    role.insert("exam".to_owned(), json!(exam));
                    let canary = entry.canary.as_ref();
                    let probes = canary.and_then(|one| state.probes(&entry.role, &one.version));
                    let probes = probes.map(|probes| {
                        json!({ "probes": probes.total, "agreed": probes.agreed,
                            "inputs": probes.inputs.total, "inputs_agreed": probes.inputs.agreed })
                    });
                    role.insert("canary_probes".to_owned(), json!(probes));
                    role.insert("files_without_block".to_owned(), json!(without));
                    let off = specialists.files_that_switch_off(&entry.role);
                    role.insert("files_that_switch_off".to_owned(), json!(off));
                    role.insert(
                        "next".to_owned(),
                        json!(steps(config, &judge, &state, entry, back(entry))),
                    );
                }
                role
            })
            .collect();
        roles.extend(missing.map(|role| json!({ "role": role, "error": "no_registry_entry" })));
        let mut status = view::status(specialists, seen.is_trusted, &roles);
        if let (Some(status), Some(learning)) = (status.as_object_mut(), &learning) {
            status.insert("learning".to_owned(), json!(learning));
        }
        ui.json(&status)?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    for one in &shown {
        write!(out, "{}", text(one, settings))?;
        write!(out, "{}", beside_text(specialists, &state, one.entry))?;
        for step in steps(config, &judge, &state, one.entry, back(one.entry)) {
            let step = clean::name(step.as_bytes());
            writeln!(out, "    {WARN}next{WARN:#}:    {step}")?;
        }
    }
    if let Some(role) = missing {
        let role = clean::name(role.as_bytes());
        writeln!(out, "  {role}: {BAD}ERROR{BAD:#} no_registry_entry")?;
    } else if shown.is_empty() {
        let path = specialists.paths().registry.display();
        writeln!(out, "(no specialists registered at {path})")?;
    }
    if let Some(learning) = learning {
        writeln!(out, "{}", learning.sentence())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "windows have at most millions of dispatches"
)]
fn share(used: u64, window: u64) -> f64 {
    used as f64 / window.max(1) as f64
}

fn text(shown: &Status<'_>, settings: &Settings) -> String {
    let entry = shown.entry;
    let name = |text: &str| clean::name(text.as_bytes()).into_owned();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |line: String| _ = writeln!(text, "{line}");
    line(format!("  {}", name(&entry.role)));
    line(match entry.active() {
        Ok(Some(version)) => format!(
            "    active:  {} ({})",
            name(&version.id),
            version.shown_level()
        ),
        _ => "    active:  null".to_owned(),
    });
    line(format!(
        "    quota:   {}/{}  (share={:.1}%, cap={:.0}%)",
        shown.used,
        shown.window,
        shown.share() * 100.0,
        entry.workload_quota * 100.0
    ));
    let active = entry.active().ok().flatten();
    let addresses = active.map_or_else(
        || vec![entry.backend_url.as_str()],
        |one| entry.addresses(one),
    );
    let first = addresses.first().copied().unwrap_or_default();
    line(format!("    backend: {}", name(&addresses.join(", "))));
    if let Some(warning) = backend::warning(first) {
        line(format!("    {WARN}warning{WARN:#}: {}", name(&warning)));
    }
    if shown.halts.is_empty() {
        line(format!("    halt: {GOOD}ok{GOOD:#}"));
    }
    for (version, halt) in &shown.halts {
        let version = version.map_or_else(String::new, |id| format!(" {}", name(id)));
        line(format!(
            "    halt: {BAD}HALTED{BAD:#}{version} — {} (since {})",
            name(&halt.reason),
            name(&halt.since)
        ));
    }
    let judgement = &shown.judgement;
    let required = (1.0 - settings.tau) * 100.0;
    line(match settings.rule {
        HaltRule::Sequential => format!(
            "    probes:  {} of {} agreed, {required:.1}% required; evidence against it {:.2} of {:.2} (error {})",
            judgement.total_agreed,
            judgement.total,
            judgement.log_evidence.max(0.0),
            -settings.error.ln(),
            settings.error
        ),
        HaltRule::Window => format!(
            "    probes:  {} of the last {} agreed, {required:.1}% of the last {} required (window rule)",
            judgement.agreed, judgement.probes, settings.window
        ),
    });
    audit_text(&shown.audit, &mut text);
    text
}

/// Describes further obstacles of the active version, and the versions beside it.
fn beside_text(specialists: &Specialists, state: &State, entry: &Entry) -> String {
    let name = |text: &str| clean::name(text.as_bytes()).into_owned();
    let mut text = String::new();
    let beside: Vec<String> = entry.beside.iter().map(|id| name(id)).collect();
    if !beside.is_empty() {
        let _ = writeln!(text, "    beside:  {}", beside.join(", "));
    }
    if let Some(canary) = &entry.canary {
        let share = canary.share * 100.0;
        let found = state.probes(&entry.role, &canary.version);
        let found = found.cloned().unwrap_or_default();
        let _ = writeln!(
            text,
            "    canary:  {} on {share:.1}% of the inputs; {} of {} probes agreed, {} of {} on different inputs",
            name(&canary.version),
            found.agreed,
            found.total,
            found.inputs.agreed,
            found.inputs.total
        );
    }
    let Some(active) = &entry.active_version else {
        return text;
    };
    let exam = specialists.newest_exam(&entry.role, active);
    if let Some((passed, said)) = exam {
        let (style, word) = match passed {
            true => (GOOD, "passed"),
            false => (BAD, "NOT PASSED"),
        };
        let said = name(&said);
        let _ = writeln!(text, "    exam:    {style}{word}{style:#}: {said}");
    }
    for path in specialists.files_without_block(&entry.role) {
        let _ = writeln!(
            text,
            "    {WARN}block{WARN:#}:   {} has no `specialist:` block, so the general model answers; `roleos specialist set {:?} --block` writes it",
            path.display(),
            entry.role
        );
    }
    for path in specialists.files_that_switch_off(&entry.role) {
        let _ = writeln!(
            text,
            "    {WARN}block{WARN:#}:   {} says `specialist: null`, or cannot be read, so the general model answers",
            path.display(),
        );
    }
    text
}

fn audit_text(audit: &Audit, text: &mut String) {
    if audit.samples == 0 {
        text.push_str("    field audit: unmonitored\n");
        return;
    }
    let _ = writeln!(
        text,
        "    field audit: {} dispatches, {} distinct inputs, {} served by the specialist",
        audit.samples, audit.distinct_inputs, audit.specialist_served
    );
    if audit.not_served > 0 {
        let _ = writeln!(
            text,
            "      {BAD}{} answers of the specialist were not served{BAD:#}: none came, or it failed its verifier; `roleos runs list` shows them",
            audit.not_served
        );
    }
    verdicts_text("specialist", &audit.verdicts, text);
    verdicts_text("general model", &audit.general_verdicts, text);
    if let Some(score) = audit.mean_score {
        let _ = writeln!(text, "      mean score {score:.3}");
    }
    if audit.probes > 0 {
        let percent = share(audit.agreed, audit.probes) * 100.0;
        let _ = writeln!(
            text,
            "      {} of {} probes agreed ({percent:.1}%)",
            audit.agreed, audit.probes
        );
    }
    if audit.incomparable > 0 {
        let _ = writeln!(
            text,
            "      {WARN}{} probes could not be compared{WARN:#} and neither halt it nor speak for it; `[specialist.agreement]` says how answers are compared",
            audit.incomparable
        );
    }
    let Some(drift) = audit.drift else {
        return;
    };
    let (style, word) = if drift.is_large() {
        (BAD, "large")
    } else {
        (GOOD, "small")
    };
    let score = drift
        .score
        .map_or_else(String::new, |score| format!(", mean score {score:+.3}"));
    let _ = writeln!(
        text,
        "      drift {style}{word}{style:#}: {:.1}% of the verdicts changed against the dispatches before{score}",
        drift.verdicts * 100.0
    );
}

/// Describes the most frequent verdicts of one side.
fn verdicts_text(who: &str, counts: &BTreeMap<String, u64>, text: &mut String) {
    let all = counts.values().sum();
    let mut verdicts: Vec<(&String, &u64)> = counts.iter().collect();
    verdicts.sort_by_key(|(verdict, count)| (Reverse(**count), (*verdict).clone()));
    for (verdict, count) in verdicts.iter().take(5) {
        let percent = share(**count, all) * 100.0;
        let verdict = clean::line(verdict, 40);
        let _ = writeln!(text, "      {percent:5.1}%  {verdict}  ({who})");
    }
}
