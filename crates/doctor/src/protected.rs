//! Check for protected files that were changed and restored, and that they can be compared at all.

use super::Check;
use base::clock;
use base::environment::Environment;
use base::said;
use base::workspace::Workspace;
use guard::install::shown;
use guard::protected::Protected;

/// Returns `None` if nothing happened.
pub(super) fn check(workspace: &Workspace, environment: &Environment) -> Option<Check> {
    let name = "protected";
    let protected = Protected {
        workspace,
        environment,
        now_ns: clock::now_ns(),
    };
    let undone = match protected.undone() {
        Ok(undone) => undone,
        Err(error) => {
            let text = format!(
                "protected files cannot be compared with how they were, so calls are blocked: {}",
                said(&error)
            );
            let next = "look at the settings of your agents, then accept them with `roleos trust`";
            return Some(Check::wrong(name, text, next));
        }
    };
    let last = undone.last()?;
    let path = shown(workspace.root(), last.path.as_ref());
    let text = match undone.len() {
        1 => format!(
            "`{path}` was changed by a tool call or lost our hook, and was put back at {}",
            last.at
        ),
        many => format!(
            "{many} changes of protected files were undone, last of `{path}` at {}",
            last.at
        ),
    };
    let next = "`roleos trust` shows each change, and takes it or drops it";
    Some(Check::note(name, text, next))
}
