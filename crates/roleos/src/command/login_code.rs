//! `roleos login-code`: the login code of a `roleos up` that has no terminal, for the user who runs it.

use std::io;

use base::running::running_at;
use serde_json::json;
use web::login::local;

use crate::person::not_below_an_agent;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

pub fn run(ui: &Ui, context: &Context) -> Result<Exit, Failure> {
    not_below_an_agent("login-code")?;
    let running = running_at(&context.workspace.role_os_dir());
    let Some(url) = running.map_err(|error| unreachable(&error))? else {
        let message = "there is no login code: `roleos up` does not run for this workspace";
        return Err(Failure::refused("not_up", message)
            .hint("start `roleos up`, or name its workspace with `--root`"));
    };
    let told = local::ask(&context.workspace).map_err(|error| unreachable(&error))?;
    let code = told.map_err(|why| {
        Failure::refused("no_code", format!("`roleos up` told no code: {why}"))
            .hint("run this as the user who started it, in a terminal of your own")
    })?;
    if ui.json {
        ui.json(&json!({ "code": code, "url": format!("{url}/login") }))?;
    } else {
        ui.line(&code)?;
        ui.note(format_args!("type it at {url}/login; it works once"));
    }
    Ok(Exit::Done)
}

fn unreachable(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Failure::refused(
            "no_code",
            "read the login code on the terminal of `roleos up`: it is shown there only",
        )
        .hint("a process without a terminal tells it here"),
        io::ErrorKind::PermissionDenied => Failure::refused(
            "no_code",
            "the login code is told to the user who runs `roleos up` only",
        )
        .hint("run this as that user: `sudo -u USER roleos login-code`"),
        _ => Failure::refused("no_code", format!("cannot ask `roleos up`: {error}")),
    }
}
