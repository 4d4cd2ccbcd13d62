//! `roleos trust`: settings that came with a clone and could do harm are ignored until a person trusts them, once for
//! exactly this content.

use host::config::{Config, trust};
use host::files;
use host::repository::index;
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui};

const MAX_FILE: u64 = 1024 * 1024;

/// Does it.
///
/// # Errors
/// There is no settings file, no person, or the person says no.
pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let path = context.workspace.settings_path(&context.environment);
    let bytes = files::read(&path, MAX_FILE)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let config = Config::parse(&path, &text)?;
    let guarded = trust::guarded(&config);
    let keys: Vec<Value> = guarded
        .iter()
        .map(|one| json!({ "key": one.key, "why": one.why.to_string() }))
        .collect();
    let needless = guarded.is_empty() || !index::is_tracked(&path);
    if needless || trust::is_trusted(&path, &text) {
        let state = if needless {
            "nothing in it needs trust"
        } else {
            "it is trusted already"
        };
        if ui.json {
            ui.json(&json!({ "file": path, "trusted": true, "changed": false, "settings": keys }))?;
        } else {
            ui.line(format_args!("{}: {state}", path.display()))?;
        }
        return Ok(Exit::Done);
    }
    let mut person = Person::at_terminal(ui, "trust")?;
    person.tell(format_args!(
        "{BOLD}{}{BOLD:#} came with the repository:\n",
        path.display()
    ))?;
    for line in clean::lines(&bytes) {
        person.tell(format_args!("  {line}"))?;
    }
    person.tell("")?;
    for one in &guarded {
        person.tell(format_args!("  `{}` {}", one.key, one.why))?;
    }
    person.confirms("Trust exactly this content?")?;
    let store = trust::trust(&path, &text)?;
    if ui.json {
        ui.json(&json!({ "file": path, "trusted": true, "changed": true, "settings": keys }))?;
    } else {
        ui.line(format_args!("{GOOD}trusted{GOOD:#} {}", path.display()))?;
        ui.note(format_args!(
            "{DIM}until its content changes; kept in {}{DIM:#}",
            store.display()
        ));
    }
    Ok(Exit::Done)
}
