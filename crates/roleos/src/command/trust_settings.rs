//! `roleos trust`: shows the parts of this workspace that `roleos` did not write for the user, and confirms them after
//! an explicit yes.

use std::path::Path;

use base::ownership;
use base::trust::review::{self, Candidate, Subject};
use base::trust::{self, Belief, Confirming, Doubt, Kind};
use serde_json::{Value, json};
use similar::TextDiff;
use witness::key::{PublicKey, SigningKey};

use super::undone_changes;
use crate::person::Person;
use crate::render::clean;
use crate::ui::{BOLD, DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Lines of context around a change.
const AROUND: usize = 3;

/// Confirms each file that needs it.
pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    // A reapplied change may need a confirmation itself.
    let taken = undone_changes::settle(ui, context)?;
    let candidates = review::candidates(&context.workspace, &context.environment)?;
    let open: Vec<(&Candidate, Doubt)> = candidates
        .iter()
        .filter_map(|one| Some((one, open_doubt(one)?)))
        .collect();
    let mut declined = 0_usize;
    if !open.is_empty() {
        if context.workspace.state().is_none() {
            let message = "there is no place for your trust store: you have no home directory";
            return Err(Failure::refused("no_trust_store", message)
                .hint("set `HOME` or `XDG_STATE_HOME`, or name a folder with `--trust-store`"));
        }
        let mut person = Person::at_terminal(ui, "trust")?;
        for (candidate, doubt) in &open {
            match ask(context, &mut person, candidate, *doubt) {
                Err(failure) if failure.code == "declined" => {
                    declined += 1;
                    continue;
                }
                asked => asked?,
            }
            confirm(context, &mut person, candidate)?;
            if !ui.json {
                let path = clean::name(candidate.path.as_os_str().as_encoded_bytes());
                ui.line(format_args!("{GOOD}trusted{GOOD:#} {path}"))?;
            }
        }
        ownership::hand_over(&context.workspace);
    }
    if declined > 0 {
        let message = format!(
            "{declined} of {} files stay unconfirmed: the answer was not `y`",
            open.len()
        );
        return Err(Failure::refused("declined", message));
    }
    show(ui, context, &candidates, open.len() + taken)?;
    Ok(Exit::Done)
}

/// Returns why a file should be confirmed. Settings that only make the gate stricter apply without that, but the user
/// is asked nevertheless: after a confirmation, later changes are compared with them.
fn open_doubt(candidate: &Candidate) -> Option<Doubt> {
    match (candidate.belief, candidate.subject) {
        (Belief::Unconfirmed(doubt), Subject::File(Kind::Settings)) => Some(doubt),
        _ => candidate.doubt(),
    }
}

fn show(
    ui: &Ui,
    context: &Context,
    candidates: &[Candidate],
    confirmed: usize,
) -> Result<(), Failure> {
    if ui.json {
        let files: Vec<Value> = candidates.iter().map(as_json).collect();
        ui.json(&json!({ "changed": confirmed > 0, "files": files }))?;
        return Ok(());
    }
    if confirmed == 0 {
        ui.line(format_args!(
            "nothing needs confirmation: {}",
            if candidates.is_empty() {
                "there are no settings, grants, registry or keys here yet"
            } else if trust::Trust::of(&context.workspace).is_initialised() {
                "everything here was written by `roleos`, confirmed before, or only makes the gate stricter"
            } else {
                "this workspace is not initialised, so what is written here counts, whoever wrote it; `roleos init` changes that"
            }
        ))?;
    } else if let Some(state) = context.workspace.state() {
        ui.note(format_args!(
            "{DIM}until its content changes; kept in {}{DIM:#}",
            state.display()
        ));
    }
    Ok(())
}

fn as_json(candidate: &Candidate) -> Value {
    let needs = candidate.needs.iter();
    let needs: Vec<Value> = needs
        .map(|need| json!({ "what": need.what, "why": need.why }))
        .collect();
    json!({
        "file": candidate.path,
        "trusted": true,
        "changed": open_doubt(candidate).is_some(),
        "needs": needs,
    })
}

/// Shows the file, or its difference from the confirmed content, and asks for confirmation.
fn ask(
    context: &Context,
    person: &mut Person,
    candidate: &Candidate,
    doubt: Doubt,
) -> Result<(), Failure> {
    let root = context.workspace.root();
    let path = candidate.path.strip_prefix(root).unwrap_or(&candidate.path);
    person.tell(format_args!(
        "{BOLD}{}{BOLD:#}: {doubt}\n",
        clean::name(path.as_os_str().as_encoded_bytes())
    ))?;
    for line in shown(candidate, path) {
        person.tell(format_args!("  {line}"))?;
    }
    person.tell("")?;
    for need in &candidate.needs {
        let what = clean::name(need.what.as_bytes());
        let why = clean::name(need.why.as_bytes());
        person.tell(format_args!("  `{what}` {why}"))?;
    }
    person.confirms("Trust exactly this content?")
}

fn shown(candidate: &Candidate, path: &Path) -> Vec<String> {
    let lines = |bytes: &[u8]| clean::lines(bytes).map(|line| line.to_string()).collect();
    match (&candidate.confirmed, candidate.subject) {
        (_, Subject::ApprovalKey | Subject::Key) => lines(&candidate.content),
        (Some(before), _) => {
            let now = String::from_utf8_lossy(&candidate.content);
            let diff = TextDiff::from_lines(before.as_str(), &now);
            let name = path.to_string_lossy();
            let text = diff
                .unified_diff()
                .context_radius(AROUND)
                .header(&format!("confirmed/{name}"), &name)
                .to_string();
            lines(text.as_bytes())
        }
        (None, _) => lines(&candidate.content),
    }
}

/// Writes the confirmation to the trust store.
fn confirm(context: &Context, person: &mut Person, candidate: &Candidate) -> Result<(), Failure> {
    let workspace = &context.workspace;
    match candidate.subject {
        Subject::ApprovalKey => {
            let bytes: Option<[u8; 32]> = hex::decode(&candidate.content)
                .ok()
                .and_then(|bytes| bytes.try_into().ok());
            if let Some(public) = bytes.and_then(|bytes| PublicKey::parse(&bytes)) {
                trust::adopt_approval_key(workspace, &public)?;
            }
        }
        Subject::Key => {
            let id = String::from_utf8_lossy(&candidate.content).into_owned();
            trust::record_keys(workspace, &[id])?;
        }
        Subject::File(kind) => {
            let key: Option<SigningKey> = match kind {
                Kind::Plain => None,
                Kind::Settings | Kind::Grants => Some(person.signing_key(context)?),
            };
            let by = Confirming {
                what: "trust",
                key: key.as_ref(),
            };
            trust::confirm(workspace, &candidate.path, &candidate.content, kind, &by)?;
        }
    }
    Ok(())
}
