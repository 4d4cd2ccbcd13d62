//! The part of `roleos trust` about reverted changes of protected files: a person reapplies or drops each.

use std::path::Path;

use base::clock;
use base::files;
use guard::protected::{Protected, Undone};
use similar::TextDiff;

use crate::person::Person;
use crate::render::clean;
use crate::ui::{BOLD, GOOD, Ui};
use crate::{Context, Failure};

/// Lines of context around a change.
const AROUND: usize = 3;
/// Longest file that is shown.
const MAX_SHOWN: u64 = 1024 * 1024;

/// Asks about each reverted change, and returns the number of reapplied ones.
pub(super) fn settle(ui: &Ui, context: &Context) -> Result<usize, Failure> {
    let protected = Protected {
        workspace: &context.workspace,
        environment: &context.environment,
        now_ns: clock::now_ns(),
    };
    let undone = match protected.undone() {
        Ok(undone) if undone.is_empty() => return Ok(0),
        Ok(undone) => undone,
        Err(error) => {
            let mut person = Person::at_terminal(ui, "trust")?;
            person.tell(format_args!("{}", base::said(&error)))?;
            person.tell("Look at the settings of your agents, the grants and the keys of this workspace first.")?;
            person.confirms("Accept all protected files as they are now?")?;
            protected.accept()?;
            return Ok(1);
        }
    };
    let mut person = Person::at_terminal(ui, "trust")?;
    let mut taken = 0;
    for one in &undone {
        show(&mut person, context, one)?;
        let answer = person.confirms("Take this change back in? Any other answer drops it.");
        let take = match answer {
            Err(failure) if failure.code == "declined" => false,
            asked => asked.map(|()| true)?,
        };
        protected.settle(one, take)?;
        taken += usize::from(take);
        if take && !ui.json {
            let path = clean::name(one.path.as_bytes());
            ui.line(format_args!("{GOOD}taken{GOOD:#} {path}"))?;
        }
    }
    Ok(taken)
}

fn show(person: &mut Person, context: &Context, undone: &Undone) -> Result<(), Failure> {
    let root = context.workspace.root();
    let path = Path::new(&undone.path);
    let path = path.strip_prefix(root).unwrap_or(path);
    let name = clean::name(path.as_os_str().as_encoded_bytes()).into_owned();
    person.tell(format_args!(
        "{BOLD}{name}{BOLD:#}: changed in session {} and put back at {}\n",
        clean::name(undone.session.as_bytes()),
        undone.at
    ))?;
    let read = |path: &Path| files::read(path, MAX_SHOWN).unwrap_or_default();
    let now = read(Path::new(&undone.path));
    let change = undone.kept.as_ref().map(|kept| read(Path::new(kept)));
    let now = String::from_utf8_lossy(&now);
    let change = change.unwrap_or_default();
    let change = String::from_utf8_lossy(&change);
    let diff = TextDiff::from_lines(now.as_ref(), change.as_ref());
    let text = diff
        .unified_diff()
        .context_radius(AROUND)
        .header(&name, &format!("undone/{name}"))
        .to_string();
    for line in clean::lines(text.as_bytes()) {
        person.tell(format_args!("  {line}"))?;
    }
    person.tell("")
}
