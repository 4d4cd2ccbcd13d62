//! `roleos trust`: settings and a registry that came with a clone and could do harm are ignored until a person trusts
//! them, once for exactly this content.

use std::path::PathBuf;

use host::config::{Config, trust};
use host::files;
use host::specialists::{Named, Paths};
use serde_json::{Value, json};
use specialist::registry::{Entry, Registry};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui};

const MAX_SETTINGS: u64 = 1024 * 1024;
const MAX_REGISTRY: u64 = 64 * 1024 * 1024;

/// A file that may need trust, and for what.
struct Candidate {
    path: PathBuf,
    content: Vec<u8>,
    needs: Vec<Need>,
}

/// One thing in it that a clone must not decide.
struct Need {
    what: String,
    why: String,
}

/// Where a file stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is this machine's own, or can do no harm.
    Needless,
    /// A person trusted it.
    Trusted,
    /// Nobody did.
    Untrusted,
}

impl Candidate {
    fn standing(&self) -> Standing {
        if !self.needs.is_empty() && trust::needs_trust(&self.path, &self.content) {
            Standing::Untrusted
        } else if trust::is_trusted(&self.path, &self.content) {
            Standing::Trusted
        } else {
            Standing::Needless
        }
    }

    fn to_json(&self, changed: bool) -> Value {
        let needs = self.needs.iter();
        let needs: Vec<Value> = needs
            .map(|need| json!({ "what": need.what, "why": need.why }))
            .collect();
        json!({ "file": self.path, "trusted": true, "changed": changed, "needs": needs })
    }
}

/// Does it.
///
/// # Errors
/// There is no such file, no person, or the person says no.
pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    let candidates = candidates(context)?;
    let mut person = None;
    let mut shown = Vec::new();
    for candidate in &candidates {
        let standing = candidate.standing();
        if standing == Standing::Untrusted {
            let person = match &mut person {
                Some(person) => person,
                none => none.insert(Person::at_terminal(ui, "trust")?),
            };
            ask(ui, person, candidate)?;
        } else if !ui.json {
            let state = match standing {
                Standing::Trusted => "it is trusted already",
                _ => "nothing in it needs trust",
            };
            ui.line(format_args!("{}: {state}", candidate.path.display()))?;
        }
        shown.push(candidate.to_json(standing == Standing::Untrusted));
    }
    if ui.json {
        ui.json(&json!({ "changed": person.is_some(), "files": shown }))?;
    }
    Ok(Exit::Done)
}

/// The settings and the registry, as far as they are there.
fn candidates(context: &Context) -> Result<Vec<Candidate>, Failure> {
    let registry = registry(context)?;
    match settings(context) {
        Ok(settings) => Ok(std::iter::once(settings).chain(registry).collect()),
        // Only one of the two need be there.
        Err(failure) => match registry {
            Some(registry) if failure.code == "file_not_found" => Ok(vec![registry]),
            _ => Err(failure),
        },
    }
}

fn settings(context: &Context) -> Result<Candidate, Failure> {
    let path = context.workspace.settings_path(&context.environment);
    let content = files::read(&path, MAX_SETTINGS)?;
    let config = Config::parse(&path, &String::from_utf8_lossy(&content))?;
    let needs = trust::guarded(&config).into_iter().map(|one| Need {
        what: one.key.to_owned(),
        why: one.why.to_string(),
    });
    Ok(Candidate {
        needs: needs.collect(),
        path,
        content,
    })
}

fn registry(context: &Context) -> Result<Option<Candidate>, Failure> {
    let named = Named::default();
    let path = Paths::find(&context.workspace, &context.environment, &named).registry;
    if !path.exists() {
        return Ok(None);
    }
    let content = files::read(&path, MAX_REGISTRY)?;
    let registry = Registry::parse(&content);
    let needs = registry.entries().iter().map(need).collect();
    Ok(Some(Candidate {
        path,
        content,
        needs,
    }))
}

fn need(entry: &Entry) -> Need {
    let token = match &entry.auth_env {
        Some(variable) => format!(", with the token in `{variable}`"),
        None => String::new(),
    };
    Need {
        what: entry.role.clone(),
        why: format!("sends its inputs to {}{token}", entry.backend_url),
    }
}

fn ask(ui: &Ui, person: &mut Person, candidate: &Candidate) -> Result<(), Failure> {
    let path = candidate.path.display();
    person.tell(format_args!(
        "{BOLD}{path}{BOLD:#} came with the repository:\n"
    ))?;
    for line in clean::lines(&candidate.content) {
        person.tell(format_args!("  {line}"))?;
    }
    person.tell("")?;
    for Need { what, why } in &candidate.needs {
        let (what, why) = (clean::name(what.as_bytes()), clean::name(why.as_bytes()));
        person.tell(format_args!("  `{what}` {why}"))?;
    }
    person.confirms("Trust exactly this content?")?;
    let store = trust::trust(&candidate.path, &candidate.content)?;
    if !ui.json {
        ui.line(format_args!("{GOOD}trusted{GOOD:#} {path}"))?;
        ui.note(format_args!(
            "{DIM}until its content changes; kept in {}{DIM:#}",
            store.display()
        ));
    }
    Ok(())
}
