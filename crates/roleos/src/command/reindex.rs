//! `roleos reindex`: rebuilds the view of logs and bundles.

use routing::specialists::{Named, Paths};
use serde_json::json;
use web::api;

use crate::render::units::counted;
use crate::ui::{GOOD, Ui};
use crate::{Context, Exit, Failure};

pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    if !context.workspace.role_os_dir().is_dir() {
        let message = "there is nothing to read: this is no workspace, it has no `.role-os/`";
        return Err(Failure::input("no_workspace", message)
            .hint("name the workspace with `--root`, or make one with `roleos init`"));
    }
    let paths = Paths::find(&context.workspace, &context.environment, &Named::default());
    let view = api::open_view(&context.workspace, &context.config, &context.store, &paths)?;
    let bar = ui.progress(0, "bundles");
    let changes = view.rebuild(|progress| bar.set_of(progress.done, progress.total))?;
    drop(bar);
    if ui.json {
        ui.json(&json!({ "bundles": changes.bundles, "lines": changes.lines }))?;
    } else {
        let bundles = counted(changes.bundles, "bundle");
        let lines = counted(changes.lines, "line");
        ui.line(format_args!(
            "{GOOD}OK{GOOD:#}  read {bundles} and {lines} of the logs"
        ))?;
    }
    Ok(Exit::Done)
}
