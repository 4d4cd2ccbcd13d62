//! `roleos specialist status`: what the gate knows of every role, and what the field says.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use host::specialists::{OperateError, Specialists};
use serde_json::{Map, Value, json};
use server::backend;
use specialist::event::Log;
use specialist::field::{Audit, MIN_SAMPLES};
use specialist::quota::Scope;
use specialist::registry::{DEFAULT_AUDIT_WINDOW, Entry};
use specialist::shadow::{Judgement, Probes, Settings};
use specialist::state::{Halt, State};

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

/// What is shown of a role.
struct Shown<'a> {
    entry: &'a Entry,
    used: u64,
    window: u64,
    halt: Option<&'a Halt>,
    judgement: Judgement,
    audit: Audit,
}

/// Does it.
///
/// # Errors
/// The registry is not valid, or the state cannot be read.
pub fn run(ui: &Ui, specialists: &Specialists, args: &Args) -> Result<Exit, Failure> {
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
    let wanted = |entry: &&Entry| args.role.as_ref().is_none_or(|role| entry.role == *role);
    let shown: Vec<Shown<'_>> = seen
        .registry
        .entries()
        .iter()
        .filter(wanted)
        .map(|entry| look(entry, &state, specialists, args, (&log, &probes)))
        .collect();
    let missing = args.role.as_deref().filter(|_| shown.is_empty());
    let settings = &specialists.settings().shadow;
    if ui.json {
        ui.json(&as_json(specialists, seen.is_trusted, &shown, missing))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.out();
    for one in &shown {
        write!(out, "{}", text(one, settings))?;
    }
    if let Some(role) = missing {
        let role = clean::name(role.as_bytes());
        writeln!(out, "  {role}: {BAD}ERROR{BAD:#} no_registry_entry")?;
    } else if shown.is_empty() {
        let path = specialists.paths().registry.display();
        writeln!(out, "(no specialists registered at {path})")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn look<'a>(
    entry: &'a Entry,
    state: &'a State,
    specialists: &Specialists,
    args: &Args,
    (log, probe_logs): (&[u8], &[Log; 2]),
) -> Shown<'a> {
    let settings = specialists.settings();
    let window = args.window.map_or(settings.quota_window, |window| {
        usize::try_from(window).unwrap_or(usize::MAX)
    });
    let slot = state.slot(&entry.role);
    let used = match (settings.scope, slot) {
        (Scope::Fleet, _) => state.fleet.used(window),
        (Scope::Role, Some(slot)) => slot.window.used(window),
        (Scope::Role, None) => 0,
    };
    let probes = slot.map_or_else(Probes::default, |slot| slot.probes.clone());
    let audit_window = entry
        .active()
        .ok()
        .flatten()
        .map_or(DEFAULT_AUDIT_WINDOW, |version| version.field_audit_window);
    Shown {
        entry,
        used,
        window: window as u64,
        halt: state.halt(&entry.role),
        judgement: probes.judge(&settings.shadow),
        audit: Audit::of(log, &probe_logs.each_ref(), &entry.role, audit_window),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "windows have at most millions of dispatches"
)]
fn share(used: u64, window: u64) -> f64 {
    used as f64 / window.max(1) as f64
}

fn text(shown: &Shown<'_>, settings: &Settings) -> String {
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
            version.certified_level
        ),
        _ => "    active:  null".to_owned(),
    });
    line(format!(
        "    quota:   {}/{}  (share={:.1}%, cap={:.0}%)",
        shown.used,
        shown.window,
        share(shown.used, shown.window) * 100.0,
        entry.workload_quota * 100.0
    ));
    line(format!("    backend: {}", name(&entry.backend_url)));
    if let Some(warning) = backend::warning(&entry.backend_url) {
        line(format!("    {WARN}warning{WARN:#}: {}", name(&warning)));
    }
    line(match shown.halt {
        None => format!("    halt: {GOOD}ok{GOOD:#}"),
        Some(halt) => format!(
            "    halt: {BAD}HALTED{BAD:#} — {} (since {})",
            name(&halt.reason),
            name(&halt.since)
        ),
    });
    let judgement = &shown.judgement;
    line(format!(
        "    window rule: {} of the last {} probes agreed; looks at {}, needs {:.1}%",
        judgement.agreed,
        judgement.probes,
        settings.window,
        (1.0 - settings.tau) * 100.0
    ));
    line(match settings.early_stop {
        Some(error) => format!(
            "    early stop:  {} of {} probes agreed; evidence {:.2} of {:.2} (error rate {error})",
            judgement.total_agreed,
            judgement.total,
            judgement.log_evidence.max(0.0),
            -error.ln()
        ),
        None => "    early stop:  off".to_owned(),
    });
    audit_text(&shown.audit, &mut text);
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

/// The most frequent verdicts of one side.
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

fn as_json(
    specialists: &Specialists,
    is_trusted: bool,
    shown: &[Shown<'_>],
    missing: Option<&str>,
) -> Value {
    let settings = &specialists.settings().shadow;
    let mut roles: Vec<Value> = shown.iter().map(|one| role_json(one, settings)).collect();
    roles.extend(missing.map(|role| json!({ "role": role, "error": "no_registry_entry" })));
    let paths = specialists.paths();
    json!({
        "registry": paths.registry.display().to_string(),
        "state": paths.state.display().to_string(),
        "events": paths.events.display().to_string(),
        "trusted": is_trusted,
        "roles": roles,
    })
}

fn role_json(shown: &Shown<'_>, settings: &Settings) -> Value {
    let entry = shown.entry;
    let active = entry.active().ok().flatten();
    let halt = match shown.halt {
        None => json!({ "halted": false }),
        Some(halt) => json!({ "halted": true, "reason": halt.reason, "since": halt.since }),
    };
    let judgement = &shown.judgement;
    let mut object = Map::new();
    let mut add = |key: &str, value: Value| {
        object.insert(key.to_owned(), value);
    };
    add("role", json!(entry.role));
    add("backend_url", json!(entry.backend_url));
    add("active_version", json!(entry.active_version));
    add(
        "certified_level",
        json!(active.map(|version| version.certified_level.to_string())),
    );
    add(
        "quota",
        json!({
            "used": shown.used, "window": shown.window,
            "share": share(shown.used, shown.window), "cap": entry.workload_quota,
        }),
    );
    add("halt", halt);
    add(
        "window_rule",
        json!({
            "probes": judgement.probes, "agreed": judgement.agreed, "rate": judgement.rate,
            "window": settings.window, "required": 1.0 - settings.tau,
        }),
    );
    add(
        "early_stop",
        json!({
            "enabled": settings.early_stop.is_some(), "probes": judgement.total, "agreed": judgement.total_agreed,
            "log_evidence": judgement.log_evidence, "halts_at": settings.early_stop.map(|error| -error.ln()),
            "error_rate": settings.early_stop,
        }),
    );
    let audit = &shown.audit;
    add(
        "field_audit",
        json!({
            "state": audit.state(), "samples": audit.samples, "distinct_inputs": audit.distinct_inputs,
            "specialist_routed": audit.specialist_served, "min_samples": MIN_SAMPLES, "test_ready": audit.is_ready(),
            "verdicts": audit.verdicts, "general_verdicts": audit.general_verdicts, "mean_score": audit.mean_score,
            "agreement": {
                "probes": audit.probes, "agreed": audit.agreed,
                "rate": (audit.probes > 0).then(|| share(audit.agreed, audit.probes)),
            },
            "drift": audit.drift.map(|drift| json!({
                "verdicts": drift.verdicts, "score": drift.score, "large": drift.is_large(),
            })),
            "last_seen": audit.last_seen, "damaged_lines": audit.damaged,
        }),
    );
    add("warning", json!(backend::warning(&entry.backend_url)));
    Value::Object(object)
}
