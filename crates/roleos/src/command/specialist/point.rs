//! `roleos specialist promote`, `rollback`, `beside`, `retire`, `deactivate` and `set`: changes the serving versions of
//! a role, and their settings.

use clap::Args;
use routing::selector::Judge;
use routing::specialists::{Moved, Promotion, Specialists};
use serde_json::{Value, json};

use super::Who;
use super::next::steps;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{GOOD, Ui, WARN};

/// Words of `promote`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos specialist promote fact-checker v2
  roleos specialist promote fact-checker v2 --share 10%
  roleos specialist promote fact-checker v2 --force --reason 'the exam has a wrong case'

Over an active version it needs one audit that both took, and a quality that is not worse by more than
`[selection] exam_margin`. A canary becomes active or is withdrawn by its own probes.")]
pub struct Promote {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version: its id, a beginning of it, or its model's id.
    #[arg(value_name = "VERSION")]
    version: String,
    /// Try it on this share of the inputs first, as `10%` or `0.1`.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    share: Option<f64>,
    /// Promote it although the exams do not speak for it; needs `--reason`.
    #[arg(long, requires = "reason")]
    force: bool,
    #[command(flatten)]
    who: Who,
}

/// Words of `rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version: its id, a beginning of it, or its model's id [default: the one that was active before; a running canary ends instead].
    #[arg(value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    who: Who,
}

/// Words of `beside`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos specialist beside support rivers music
  roleos specialist beside support music --remove

Each input then goes to the best of them that is acceptable. Every version needs its certificate.")]
pub struct Beside {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The versions: ids, beginnings of them, or models' ids.
    #[arg(value_name = "VERSION", required = true)]
    versions: Vec<String>,
    /// Take them away.
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    who: Who,
}

/// Words of `retire`.
#[derive(Debug, Args)]
pub struct Retire {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version: its id, a beginning of it, or its model's id [default: all versions of the role].
    #[arg(value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    who: Who,
}

/// Words of `deactivate`.
#[derive(Debug, Args)]
pub struct Deactivate {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    #[command(flatten)]
    who: Who,
}

/// Words of `set`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  roleos specialist set fact-checker --threshold 0.6
  roleos specialist set fact-checker --contract openai --auth-env VLLM_TOKEN --timeout 30000
  roleos specialist set fact-checker --block")]
pub struct Set {
    /// The role.
    #[arg(value_name = "ROLE")]
    role: String,
    /// The version whose threshold is set [default: the active one].
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Lowest score that routes to the version, from 0 to 1.
    #[arg(long, value_name = "SCORE", value_parser = score)]
    threshold: Option<f64>,
    /// Largest share of the role's dispatches, above 0 and at most 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    quota: Option<f64>,
    /// What the backend speaks.
    #[arg(long, value_name = "CONTRACT", value_parser = ["verify", "openai"])]
    contract: Option<String>,
    /// Environment variable that holds the backend's token; empty for none.
    #[arg(long, value_name = "NAME")]
    auth_env: Option<String>,
    /// Milliseconds after which the backend is given up.
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// Where the role's adapters are served.
    #[arg(long, value_name = "URL")]
    backend_url: Option<String>,
    /// Write the `specialist:` block of the role's own file, and nothing else.
    #[arg(long)]
    block: bool,
    #[command(flatten)]
    who: Who,
}

/// Parses `10%` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let (digits, whole) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let share = digits.trim().parse::<f64>().ok().map(|share| share / whole);
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "expected a share above 0 and at most 1, as `10%` or `0.1`".to_owned())
}

/// Parses a number from 0 to 1.
fn score(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|score| (0.0..=1.0).contains(score))
        .ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn shown(text: &str) -> String {
    clean::name(text.as_bytes()).into_owned()
}

/// Prints a warning if the role's own file contradicts the registry; the pointer has moved nevertheless.
fn warn(ui: &Ui, why: Option<&String>) {
    if let Some(why) = why {
        ui.note(format_args!("{WARN}warning{WARN:#}: {}", shown(why)));
    }
}

/// Runs `specialist promote`.
///
/// # Errors
/// The version may not become active.
pub fn promote(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Promote,
) -> Result<Exit, Failure> {
    let how = Promotion {
        force: args.force,
        share: args.share,
    };
    let moved = args.who.act(context, |operator| {
        specialists.promote(&args.role, &args.version, how, operator)
    })?;
    let next = next(context, specialists, &args.role).unwrap_or_default();
    if ui.json {
        let mut object = present::view::specialists::moved(&args.role, &moved);
        if let (Some(object), false) = (object.as_object_mut(), next.is_empty()) {
            object.insert("next".to_owned(), json!(next.join("; ")));
        }
        ui.json(&object)?;
        return Ok(Exit::Done);
    }
    let (role, to) = (shown(&args.role), shown(&moved.to));
    let from = from(&moved);
    if let Some(share) = moved.share {
        ui.line(format_args!(
            "canary {role}: {to} ({}) answers {:.1} % of the inputs beside {from}; its probes decide",
            moved.level,
            share * 100.0
        ))?;
    } else if moved.from.as_ref() == Some(&moved.to) {
        ui.line(format_args!(
            "{role}: {to} ({}) is active already",
            moved.level
        ))?;
    } else {
        let exam: String = moved.exam_hash.chars().take(12).collect();
        ui.line(format_args!(
            "promote {role}: {from} → {to} ({})\n",
            moved.level
        ))?;
        ui.line(format_args!(
            "  {GOOD}◆{GOOD:#}  {role} — {} {} · {to} · exam {}",
            moved.level,
            if moved.claimed {
                "claimed"
            } else {
                "certified"
            },
            shown(&exam)
        ))?;
    }
    if let Some(canary) = &moved.ended_canary {
        ui.line(format_args!(
            "  the canary {} ends with it, undecided",
            shown(canary)
        ))?;
    }
    if let Some(compared) = &moved.compared {
        ui.line(format_args!("  {}", shown(compared)))?;
    }
    for step in next {
        ui.line(format_args!("  {WARN}next{WARN:#}: {}", shown(&step)))?;
    }
    warn(ui, moved.block_error.as_ref());
    Ok(Exit::Done)
}

/// Returns the obstacles of the role's versions.
fn next(context: &Context, specialists: &Specialists, role: &str) -> Option<Vec<String>> {
    let (registry, state) = (specialists.registry().ok()?, specialists.state().ok()?);
    let judge = Judge::of(&context.workspace);
    Some(steps(
        &context.config,
        &judge,
        &state,
        registry.entry(role)?,
        specialists.version_before(role).is_ok(),
    ))
}

fn from(moved: &Moved) -> String {
    let from = moved.from.as_deref();
    from.map_or_else(|| "(none)".to_owned(), shown)
}

/// Prints halts that remain although the pointer moved: only `clear-halt` lifts a halt.
fn say_halted(ui: &Ui, role: &str, moved: &Moved) -> Result<(), Failure> {
    for halted in &moved.halted {
        let (what, argument) = match halted {
            None => ("the role".to_owned(), String::new()),
            Some(id) => (format!("`{}`", shown(id)), format!(" {}", shown(id))),
        };
        ui.line(format_args!(
            "  {WARN}halted{WARN:#}: {what} stays halted; `roleos specialist clear-halt {:?}{argument}` lifts it",
            shown(role)
        ))?;
    }
    Ok(())
}

fn as_json(ui: &Ui, role: &str, moved: &Moved) -> Result<Exit, Failure> {
    ui.json(&present::view::specialists::moved(role, moved))?;
    Ok(Exit::Done)
}

/// Runs `specialist rollback`.
///
/// # Errors
/// The version was never active, or may not serve.
pub fn rollback(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Rollback,
) -> Result<Exit, Failure> {
    let moved = args.who.act(context, |operator| {
        specialists.rollback(&args.role, args.version.as_deref(), operator)
    })?;
    if ui.json {
        return as_json(ui, &args.role, &moved);
    }
    let (role, to) = (shown(&args.role), shown(&moved.to));
    let is_active = moved.from.as_ref() == Some(&moved.to);
    if let Some(canary) = moved.ended_canary.as_ref().filter(|_| is_active) {
        let (canary, level) = (shown(canary), &moved.level);
        ui.line(format_args!(
            "rollback {role}: the canary {canary} ends, undecided; {to} ({level}) stays active"
        ))?;
    } else if is_active {
        ui.line(format_args!(
            "{role}: {to} ({}) is active already",
            moved.level
        ))?;
    } else {
        ui.line(format_args!(
            "rollback {role}: {} ← {to} ({})",
            from(&moved),
            moved.level
        ))?;
    }
    say_halted(ui, &args.role, &moved)?;
    warn(ui, moved.block_error.as_ref());
    Ok(Exit::Done)
}

/// Runs `specialist beside`.
///
/// # Errors
/// A version is unknown or may not serve.
pub fn beside(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Beside,
) -> Result<Exit, Failure> {
    let now = args.who.act(context, |operator| {
        specialists.beside(&args.role, &args.versions, args.remove, operator)
    })?;
    if ui.json {
        ui.json(&json!({ "role": args.role, "beside": now }))?;
        return Ok(Exit::Done);
    }
    let listed: Vec<String> = now.iter().map(|id| shown(id)).collect();
    let listed = if listed.is_empty() {
        "(none)".to_owned()
    } else {
        listed.join(", ")
    };
    let role = shown(&args.role);
    ui.line(format_args!("{role}: beside the active version: {listed}"))?;
    Ok(Exit::Done)
}

/// Runs `specialist retire`.
///
/// # Errors
/// The role or the version is unknown.
pub fn retire(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Retire,
) -> Result<Exit, Failure> {
    let registry = specialists.registry()?;
    let active = registry
        .entry(&args.role)
        .and_then(|entry| entry.active_version.clone());
    let gone = args.who.act(context, |operator| {
        specialists.retire(&args.role, args.version.as_deref(), operator)
    })?;
    if ui.json {
        let was_active = active.filter(|active| gone.contains(active));
        ui.json(&json!({ "role": args.role, "retired": gone, "was_active": was_active }))?;
        return Ok(Exit::Done);
    }
    let role = shown(&args.role);
    if gone.is_empty() {
        ui.line(format_args!("{role}: retired already; no action taken"))?;
    }
    for id in &gone {
        let was_active = match active.as_ref() == Some(id) {
            true => {
                "; it was active, so the general model answers until another version is promoted"
            }
            false => "",
        };
        ui.line(format_args!("retired {role}/{}{was_active}", shown(id)))?;
    }
    Ok(Exit::Done)
}

/// Runs `specialist deactivate`.
///
/// # Errors
/// The role is unknown.
pub fn deactivate(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Deactivate,
) -> Result<Exit, Failure> {
    let was = args.who.act(context, |operator| {
        specialists.deactivate(&args.role, operator)
    })?;
    if ui.json {
        let object = json!({ "role": args.role, "from_version": was, "to_version": null });
        ui.json(&object)?;
        return Ok(Exit::Done);
    }
    let role = shown(&args.role);
    match was {
        Some(was) => ui.line(format_args!(
            "deactivate {role}: {} → (none); the general model answers",
            shown(&was)
        ))?,
        None => ui.line(format_args!(
            "{role}: no version is active; no action taken"
        ))?,
    }
    Ok(Exit::Done)
}

/// Runs `specialist set`.
///
/// # Errors
/// The role or the version is unknown, or a value is out of range.
pub fn set(
    ui: &Ui,
    context: &Context,
    specialists: &Specialists,
    args: &Set,
) -> Result<Exit, Failure> {
    let auth_env = args.auth_env.as_deref().map(|name| match name {
        "" => Value::Null,
        name => json!(name),
    });
    let role_keys: Vec<(&str, Value)> = [
        ("workload_quota", args.quota.map(|quota| json!(quota))),
        ("contract", args.contract.as_ref().map(|name| json!(name))),
        ("auth_env", auth_env),
        ("timeout_ms", args.timeout.map(|time| json!(time))),
        (
            "backend_url",
            args.backend_url.as_ref().map(|url| json!(url)),
        ),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect();
    let threshold = args.threshold.map(|score| ("gate_threshold", json!(score)));
    let version_keys: Vec<(&str, Value)> = threshold.into_iter().collect();
    if role_keys.is_empty() && version_keys.is_empty() && !args.block {
        return Err(Failure::input("nothing_to_set", "name a setting")
            .hint("`roleos specialist set --help` lists them"));
    }
    let count = role_keys.len() + version_keys.len();
    let error = args.who.act(context, |operator| {
        let version = args.version.as_deref();
        specialists.set(&args.role, version, &role_keys, &version_keys, operator)
    })?;
    let lapsed = lapsed(specialists, &args.role)?;
    if ui.json {
        ui.json(&json!({
            "role": args.role, "settings": count, "block_error": error, "lapsed": lapsed,
        }))?;
        return Ok(Exit::of_check(!args.block || error.is_none()));
    }
    let role = shown(&args.role);
    ui.line(format_args!("{role}: {count} settings changed"))?;
    for id in &lapsed {
        let id = shown(id);
        ui.line(format_args!(
            "  {WARN}lapsed{WARN:#}: `{id}` was certified with another backend and does not serve; \
             `roleos audit run \"{role}/{id}\" --set SET`, then `roleos specialist certify {role:?} {id}`"
        ))?;
    }
    warn(ui, error.as_ref());
    Ok(Exit::of_check(!args.block || error.is_none()))
}

/// Returns the versions with a certificate for another backend than the present one.
fn lapsed(specialists: &Specialists, role: &str) -> Result<Vec<String>, Failure> {
    let registry = specialists.registry()?;
    let Some(entry) = registry.entry(role) else {
        return Ok(Vec::new());
    };
    let lapsed = entry.versions.iter().filter(|one| {
        one.certified_level.is_certified() && one.withdrawn.is_none() && entry.has_lapsed(one)
    });
    Ok(lapsed.map(|version| version.id.clone()).collect())
}
