//! `roleos up`: the gateway as a process, until a signal ends it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;

use host::environment::Environment;
use host::install::starter;
use host::running::Running;
use host::workspace::Workspace;
use serde_json::json;
use server::up::{App, UpError, serve};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::ui::{DIM, Ui};

/// Words of `up`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos up
  roleos up --listen 127.0.0.1:0
  ANTHROPIC_BASE_URL=http://127.0.0.1:7420 claude

`.role-os/up.json` holds the address while it runs. Ctrl-C or SIGTERM ends it.
On an address that others can reach, requests need the token from `.role-os/keys/gateway.token` in `x-roleos-token`.")]
pub struct Args {
    /// Where to listen.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: String,
}

/// Does it.
///
/// # Errors
/// It cannot start.
pub fn run(ui: &Ui, root: Option<&Path>, args: &Args) -> Result<Exit, Failure> {
    let listen = address(&args.listen)?;
    let workspace = Workspace::find(root, &Environment::read())?;
    let is_new = starter::for_up(&workspace)?;
    let context = Context::load(Some(workspace.root()))?;
    ui.warn_of_ignored(&context.config.ignored);
    let role_os = workspace.role_os_dir();
    if is_new {
        ui.note(format_args!(
            "{DIM}made `{}` with settings to begin with{DIM:#}",
            role_os.display()
        ));
    }
    if context.config.gateway.upstream.is_empty() {
        ui.note("warning: no `[[gateway.upstream]]` is set, so that only roles are answered");
    }
    let running = Running::begin(&role_os).map_err(UpError::from)?;
    let app = App::open(workspace, context.config, context.environment, listen)?;
    for warning in app.gateway.warnings() {
        ui.note(format_args!("warning: {warning}"));
    }
    if !listen.ip().is_loopback() && app.config.gateway.token_env.is_empty() {
        let path = App::token_path(&app.workspace);
        ui.note(format_args!(
            "token: `{}`, for the header `x-roleos-token`",
            path.display()
        ));
    }
    serve::run(app, listen, |address| {
        running.announce(&address.to_string())?;
        let said = if ui.json {
            ui.json(&json!({ "address": address.to_string(), "url": format!("http://{address}") }))
        } else {
            ui.line(format_args!("roleos is up at http://{address}"))
        };
        // Nobody has to read it.
        said.ok();
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let found = text
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next());
    found.ok_or_else(|| {
        Failure::input(
            "bad_address",
            format!("`{text}` is no address to listen at"),
        )
        .hint("give an address and a port, such as `127.0.0.1:7420`")
    })
}

impl From<UpError> for Failure {
    fn from(error: UpError) -> Self {
        let hint = error.hint();
        match error {
            UpError::File(error) => error.into(),
            UpError::Setting(message) => Self::input("bad_setting", message).hint(hint),
            UpError::Listen { .. } => Self::refused("cannot_listen", chain(&error)).hint(hint),
            UpError::Running(_) => Self::refused("already_up", error.to_string()).hint(hint),
            error => Self::refused("cannot_start", chain(&error)).hint(hint),
        }
    }
}
