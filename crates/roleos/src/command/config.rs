//! `roleos config`: shows settings with their origin, and changes one without affecting the rest of the file.

use base::config::ConfigError;
use base::config::listing::{self, Origin, SCHEMA, Setting};
use base::ownership;
use base::settings_edit::{self, Change, EditError};
use clap::{Args as Words, Subcommand};
use serde_json::{Value, json};

use crate::person::{Person, not_below_an_agent};
use crate::render::clean;
use crate::suggestion;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Longest value on a line of `config list`.
const VALUE_WIDTH: usize = 60;

/// Words of `config`.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  roleos config list --changed\n  roleos config get oversight.extended\n  \
roleos config set oversight.extended true"
)]
pub enum Command {
    /// List settings: value, default, type and origin.
    List(List),
    /// Print the value of one setting.
    Get(Get),
    /// Change one setting in the settings file.
    Set(Set),
    /// Remove one setting from the file, which means the default.
    Unset(Get),
    /// Print the JSON Schema of the settings file, for editors.
    Schema,
}

/// Words of `config list`.
#[derive(Debug, Words)]
#[command(after_help = "Examples:\n  roleos config list\n  roleos config list gateway --json")]
pub struct List {
    /// Only settings whose key begins with this.
    section: Option<String>,
    /// Only settings that a file or a variable sets.
    #[arg(long)]
    changed: bool,
}

/// Words of `config get` and `config unset`.
#[derive(Debug, Words)]
pub struct Get {
    /// Section and key, as `config list` shows them.
    key: String,
}

/// Words of `config set`.
#[derive(Debug, Words)]
#[command(after_help = "\
The value is TOML or a plain string. A value that weakens the gate, runs a program or redirects traffic
is asked about at the terminal; comments and order of the file stay as they are.

Examples:
  roleos config set oversight.extended true
  roleos config set oversight.opaque deny
  roleos config set 'oversight.prices.\"gpt-5.1\"' '{ input = 1.25, output = 10 }'")]
pub struct Set {
    /// Section and key, as `config list` shows them.
    key: String,
    /// The new value.
    value: String,
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::List(args) => list(ui, context, args)?,
        Command::Get(args) => get(ui, context, &args.key)?,
        Command::Set(Set { key, value }) => change(ui, context, &Change::set(key, value))?,
        Command::Unset(Get { key }) => {
            let change_to = Change {
                key: key.clone(),
                value: None,
            };
            change(ui, context, &change_to)?;
        }
        Command::Schema => ui.line(SCHEMA.trim_end())?,
    }
    Ok(Exit::Done)
}

fn settings(context: &Context) -> Result<Vec<Setting>, Failure> {
    let (workspace, environment) = (&context.workspace, &context.environment);
    Ok(listing::list(workspace, environment, &context.config)?)
}

fn list(ui: &Ui, context: &Context, args: &List) -> Result<(), Failure> {
    let mut settings = settings(context)?;
    if let Some(section) = &args.section {
        if !settings.iter().any(|one| one.key.starts_with(section)) {
            return Err(unknown_key(&settings, section));
        }
        settings.retain(|setting| setting.key.starts_with(section));
    }
    if args.changed {
        settings.retain(|setting| setting.origin != Origin::Default);
    }
    if ui.json {
        let list: Vec<Value> = settings.iter().map(as_json).collect();
        ui.json(&list)?;
        return Ok(());
    }
    for setting in &settings {
        let value = clean::line(&shown(&setting.value), VALUE_WIDTH);
        ui.line(format_args!(
            "{BOLD}{}{BOLD:#} = {value}  {DIM}({}; {}){DIM:#}",
            setting.key,
            origin(setting),
            setting.kind
        ))?;
    }
    let path = context.workspace.settings_path(&context.environment);
    ui.note(format_args!("{DIM}settings file {}{DIM:#}", path.display()));
    Ok(())
}

/// Formats a value so that `config set` accepts it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

fn origin(setting: &Setting) -> String {
    match setting.origin {
        Origin::Default => "default".to_owned(),
        Origin::Confirmed => {
            "last confirmed value; the file's is ignored until `roleos trust`".to_owned()
        }
        Origin::Installed => "the file is gone; on since `roleos init`".to_owned(),
        origin => format!("{}; default {}", origin.as_str(), shown(&setting.default)),
    }
}

fn as_json(setting: &Setting) -> Value {
    json!({
        "key": setting.key,
        "value": setting.value,
        "default": setting.default,
        "type": setting.kind,
        "origin": setting.origin.as_str(),
        "description": setting.description,
    })
}

fn get(ui: &Ui, context: &Context, key: &str) -> Result<(), Failure> {
    let settings = settings(context)?;
    if let (true, Some(setting)) = (ui.json, settings.iter().find(|one| one.key == key)) {
        ui.json(&as_json(setting))?;
        return Ok(());
    }
    let value = listing::find(&settings, key).ok_or_else(|| unknown_key(&settings, key))?;
    match value {
        Value::String(text) if !ui.json => ui.line(clean::name(text.as_bytes()))?,
        Value::Null if !ui.json => ui.note("not set"),
        value => ui.json(&value)?,
    }
    Ok(())
}

fn change(ui: &Ui, context: &Context, change: &Change) -> Result<(), Failure> {
    not_below_an_agent("config set")?;
    let (workspace, environment) = (&context.workspace, &context.environment);
    let changes = std::slice::from_ref(change);
    let edit = settings_edit::preview(workspace, environment, changes);
    let edit = edit.map_err(|error| refusal(context, change, error))?;
    if !edit.is_empty() {
        apply(ui, context, "config set", changes)?;
    }
    if ui.json {
        let answer = json!({
            "key": change.key,
            "file": edit.path,
            "changed": !edit.is_empty(),
        });
        ui.json(&answer)?;
        return Ok(());
    }
    let what = match (edit.is_empty(), &change.value) {
        (true, _) => "unchanged",
        (false, Some(_)) => "set",
        (false, None) => "removed",
    };
    ui.line(format_args!("{GOOD}{what}{GOOD:#} {}", change.key))?;
    ui.note(format_args!("{DIM}in {}{DIM:#}", edit.path.display()));
    Ok(())
}

/// Changes settings; asks the person first if a value becomes weaker.
pub(crate) fn apply(
    ui: &Ui,
    context: &Context,
    command: &str,
    changes: &[Change],
) -> Result<(), Failure> {
    let (workspace, environment) = (&context.workspace, &context.environment);
    let edit = settings_edit::preview(workspace, environment, changes)?;
    let weaker = edit.weaker();
    let place = base::approval_key::Place::of(workspace);
    let key = if weaker.is_empty() && !place.is_sealed()? {
        base::approval_key::ensure(workspace, None)?
    } else {
        let mut person = Person::at_terminal(ui, command)?;
        for (key, why) in &weaker {
            person.tell(format_args!("{WARN}{key}{WARN:#}  {why}"))?;
        }
        person.confirms("Change the settings?")?;
        person.signing_key(context)?
    };
    let applied = settings_edit::apply(workspace, environment, changes, &key);
    ownership::hand_over(workspace);
    applied?;
    Ok(())
}

/// Describes the error of a change: its key, its value, or the file.
fn refusal(context: &Context, change: &Change, error: EditError) -> Failure {
    if let Some(failure) = unknown_to(context, &change.key) {
        return failure;
    }
    match (error, &change.value) {
        (EditError::Config(ConfigError::Setting { place, message }), Some(value))
            if place.key.as_ref() == Some(&change.key) =>
        {
            let section = change.key.split('.').next().unwrap_or_default();
            let value = clean::line(value, VALUE_WIDTH);
            let message = format!("cannot set `{}` to `{value}`: {message}", change.key);
            Failure::input("bad_value", message).hint(format!(
                "`roleos config list {section}` shows types and defaults"
            ))
        }
        (error, _) => error.into(),
    }
}

/// Returns the failure for an unknown key, with the most similar setting.
fn unknown_to(context: &Context, key: &str) -> Option<Failure> {
    let settings = settings(context).ok()?;
    let is_known = settings.iter().any(|one| {
        let (name, rest) = (one.key.as_str(), key.strip_prefix(&one.key));
        key == name || rest.is_some_and(|rest| rest.starts_with('.'))
    });
    (!is_known).then(|| unknown_key(&settings, key))
}

fn unknown_key(settings: &[Setting], key: &str) -> Failure {
    let keys = settings.iter().map(|one| one.key.as_str());
    let hint = match suggestion::of(key, keys) {
        Some(meant) => format!("did you mean `{meant}`? `roleos config list` shows every key"),
        None => "`roleos config list` shows every key".to_owned(),
    };
    Failure::input("unknown_setting", format!("there is no setting `{key}`")).hint(hint)
}
