//! `roleos grant`, `revoke` and `grants`: actions that agents may perform here without a question, with time and use
//! limits.

use std::io::Write as _;

use base::clock;
use base::grants::{self, Entry, NewGrant};
use base::ownership;
use clap::Args as Words;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use oversight::actions::Catalog;
use oversight::grants::Standing;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::person::Person;
use crate::render::clean;
use crate::ui::{BAD, BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  roleos grant git:push --for 2h
  roleos grant npm:publish --uses 1 --scope my-package --enforce
  roleos grant git:push --scope 'origin main' --until 2026-12-01T00:00Z";

/// Similarity from which a word is suggested for another.
const ALIKE: f32 = 0.6;

/// Words of `grant`.
#[derive(Debug, Words)]
#[command(after_help = EXAMPLES)]
pub struct Grant {
    /// Id of the action, such as `git:push`.
    action: String,
    /// What it is meant for: a package, a remote and branch, a repository.
    #[arg(long, value_name = "TEXT")]
    scope: Option<String>,
    /// Refuse outside of the scope; without this the scope is a note.
    #[arg(long, requires = "scope")]
    enforce: bool,
    /// How long it holds, such as `30m`, `2h` or `3d`.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, conflicts_with = "until")]
    duration: Option<SignedDuration>,
    /// Until when it holds, such as `2026-12-01T00:00Z`; a bare date ends where its day begins, in UTC.
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    until: Option<Timestamp>,
    /// How often it may be used.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    uses: Option<u64>,
}

/// Words of `revoke`.
#[derive(Debug, Words)]
#[command(after_help = "Example:\n  roleos revoke git:push")]
pub struct Revoke {
    /// Id of the action.
    action: String,
}

pub(crate) fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let span: Option<Span> = text.parse().ok();
    span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok())
        .filter(|duration| duration.is_positive())
        .ok_or_else(|| "expected a time such as 30m, 2h or 3d".to_owned())
}

fn parse_moment(text: &str) -> Result<Timestamp, String> {
    let bare: Option<Date> = text.parse().ok().filter(|_| text.len() == 10);
    let midnight = bare.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    midnight
        .map(|start| start.timestamp())
        .or_else(|| text.parse().ok())
        .ok_or_else(|| "expected a moment such as 2026-12-01T00:00Z".to_owned())
}

fn now() -> Timestamp {
    Timestamp::from_nanosecond(i128::from(clock::now_ns())).unwrap_or(Timestamp::MAX)
}

pub fn grant(ui: &Ui, context: &Context, args: &Grant) -> Result<Exit, Failure> {
    let catalog = context.config.oversight.policy().catalog;
    let action = catalog
        .action(&args.action)
        .ok_or_else(|| unknown(&catalog, &args.action))?;
    let new = NewGrant {
        action: args.action.clone(),
        expires: expiry(args)?,
        uses: args.uses,
        scope: args.scope.clone(),
        enforce: args.enforce,
    };
    let mut person = Person::at_terminal(ui, "grant")?;
    person.tell(format_args!(
        "{BOLD}{}{BOLD:#}  {}\n  to undo: {}\n  agents may do this here {}",
        action.id,
        action.label,
        action.compensator,
        terms(&new)
    ))?;
    person.confirms("Grant it?")?;
    let key = person.signing_key(context)?;
    let replaced = grants::grant(&context.workspace, &new, &key);
    ownership::hand_over(&context.workspace);
    let replaced = replaced?;
    let path = context.workspace.grants_path();
    if ui.json {
        let answer = json!({
            "action": new.action,
            "granted": true,
            "expires": new.expires.map(|end| end.to_string()),
            "uses": new.uses,
            "scope": new.scope,
            "enforce": new.enforce,
            "replaced": replaced,
            "file": path,
        });
        ui.json(&answer)?;
    } else {
        let terms = terms(&new);
        ui.line(format_args!("{GOOD}granted{GOOD:#} {} {terms}", new.action))?;
        let how = if replaced {
            "replaced the grant"
        } else {
            "wrote a grant"
        };
        ui.note(format_args!("{DIM}{how} in {}{DIM:#}", path.display()));
    }
    Ok(Exit::Done)
}

fn expiry(args: &Grant) -> Result<Option<Timestamp>, Failure> {
    let past = |end: Timestamp| {
        Failure::input("bad_time", format!("`{end}` is past")).hint("a grant ends in the future")
    };
    match (args.duration, args.until) {
        (Some(duration), _) => now().checked_add(duration).map(Some).map_err(|_| {
            Failure::input("bad_time", "`--for` reaches beyond the calendar").hint("choose less")
        }),
        (None, Some(end)) if end <= now() => Err(past(end)),
        (None, until) => Ok(until),
    }
}

/// Describes the limits of a grant.
fn terms(new: &NewGrant) -> String {
    let mut parts = Vec::new();
    match new.expires {
        Some(end) => parts.push(format!("until {}", super::approve::short(&end.to_string()))),
        None => parts.push("without end".to_owned()),
    }
    match new.uses {
        Some(1) => parts.push("once".to_owned()),
        Some(uses) => parts.push(format!("{uses} times")),
        None => parts.push("as often as they like".to_owned()),
    }
    if let Some(scope) = &new.scope {
        let scope = clean::name(scope.as_bytes());
        let binds = if new.enforce {
            "only for"
        } else {
            "meant for (not enforced)"
        };
        parts.push(format!("{binds} {scope}"));
    }
    parts.join(", ")
}

fn unknown(catalog: &Catalog, action: &str) -> Failure {
    let failure = Failure::input(
        "unknown_action",
        format!("there is no gated action `{action}`"),
    );
    if Catalog::known().any(|known| known.id == action && known.set.needs_grant()) {
        return failure.hint(format!(
            "it is known and not gated here; `extended = [\"{action}\"]` under `[oversight]` in `.role-os/config.toml` gates it"
        ));
    }
    let ids = || catalog.actions().iter().map(|known| &*known.id);
    let alike = |id: &str| TextDiff::from_chars(id, action).ratio();
    let best = ids().max_by(|one, other| alike(one).total_cmp(&alike(other)));
    match best.filter(|id| alike(id) >= ALIKE) {
        Some(id) => failure.hint(format!("did you mean `{id}`?")),
        None => failure.hint(format!(
            "known are {}",
            ids().collect::<Vec<_>>().join(", ")
        )),
    }
}

pub fn revoke(ui: &Ui, context: &Context, args: &Revoke) -> Result<Exit, Failure> {
    let entries = grants::list(&context.workspace, now())?;
    if !entries.iter().any(|entry| entry.action == args.action) {
        return Err(grants::GrantError::NotGranted {
            action: args.action.clone(),
        }
        .into());
    }
    let mut person = Person::at_terminal(ui, "revoke")?;
    let shown = clean::name(args.action.as_bytes()).into_owned();
    person.confirms(&format!("Revoke the grant of {shown}?"))?;
    let key = person.signing_key(context)?;
    let done = grants::revoke(&context.workspace, &args.action, &key);
    ownership::hand_over(&context.workspace);
    done?;
    let path = context.workspace.grants_path();
    if ui.json {
        ui.json(&json!({ "action": args.action, "granted": false, "file": path }))?;
    } else {
        ui.line(format_args!("{WARN}revoked{WARN:#} {shown}"))?;
        ui.note(format_args!(
            "{DIM}took the grant out of {}{DIM:#}",
            path.display()
        ));
    }
    Ok(Exit::Done)
}

pub fn list(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let entries = grants::list(&context.workspace, now())?;
    if ui.json {
        let list: Vec<Value> = entries
            .iter()
            .map(present::view::oversight::grant)
            .collect();
        ui.json(&list)?;
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        ui.note("nothing is granted here; `roleos grant <action>` does");
    }
    let mut out = ui.out();
    for entry in &entries {
        let action = clean::line(&entry.action, 24);
        match &entry.standing {
            Standing::Granted => {
                writeln!(
                    out,
                    "{action:<24}  {GOOD}granted{GOOD:#}  {}",
                    limits(entry)
                )?;
            }
            Standing::Refused(why) => {
                let why = clean::name(why.as_bytes());
                writeln!(out, "{action:<24}  {WARN}refused{WARN:#}  {why}")?;
            }
            Standing::Unconfirmed(why) => {
                let why = clean::name(why.as_bytes());
                writeln!(out, "{action:<24}  {BAD}unconfirmed{BAD:#}  {why}")?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn limits(entry: &Entry) -> String {
    let mut parts = Vec::new();
    if let Some(end) = &entry.expires {
        parts.push(format!("until {}", clean::line(end, 40)));
    }
    if let Some(uses) = entry.uses {
        let noun = if uses == 1 { "use" } else { "uses" };
        parts.push(format!("{uses} {noun} left"));
    }
    if let Some(scope) = &entry.scope {
        let binds = if entry.enforce { "only" } else { "meant for" };
        parts.push(format!("{binds} {}", clean::line(scope, 60)));
    }
    if parts.is_empty() {
        parts.push("without end".to_owned());
    }
    parts.join(", ")
}
