//! `roleos up`: the gateway as a process, until a signal ends it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Mutex, PoisonError};

use base::agents_above::{self, AgentAbove};
use base::environment::Environment;
use base::running::{Running, RunningError};
use base::starter;
use base::workspace::Workspace;
use serde_json::json;
use server::api::{Desk, DeskError, Notice};
use server::login::Logins;
use server::up::{App, UpError, serve};
use server::view::ViewError;

use crate::context::{Context, Place};
#[cfg(feature = "demo")]
use crate::demo;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::render::clean;
use crate::ui::{BOLD, DIM, Ui};

/// Words of `up`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos up
  roleos up --demo
  roleos up --listen 127.0.0.1:0
  ANTHROPIC_BASE_URL=http://127.0.0.1:7420 claude

`.role-os/up.json` holds the address while it runs. Ctrl-C or SIGTERM ends it.
On an address that others can reach, requests need the token from `.role-os/keys/gateway.token` in `x-roleos-token`.")]
pub struct Args {
    /// Where to listen.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: String,
    #[cfg(feature = "demo")]
    /// Play the whole loop first, on scripted models, in `.role-os-demo/` below the root or here.
    #[arg(long)]
    demo: bool,
    #[cfg(feature = "demo")]
    /// Forget the demo that is there and begin anew.
    #[arg(long, requires = "demo")]
    fresh: bool,
    #[cfg(feature = "demo")]
    /// How many dispatches the demo makes.
    #[arg(long, hide = true, requires = "demo", value_name = "N", default_value_t = demo::DISPATCHES, value_parser = clap::value_parser!(u16).range(80..=10_000))]
    demo_dispatches: u16,
}

pub fn run(ui: &Ui, place: Place<'_>, args: &Args) -> Result<Exit, Failure> {
    let listen = address(&args.listen)?;
    #[cfg(feature = "demo")]
    if args.demo {
        return demo::run(ui, place.root, args.fresh, args.demo_dispatches, listen);
    }
    let environment = Environment::read().with_state(place.state);
    let workspace = Workspace::find(place.root, &environment)?;
    let is_new = starter::for_up(&workspace)?;
    let context = Context::of(workspace.clone(), environment)?;
    ui.warn_of_ignored(&context.config.ignored);
    ui.tell_not_initialised(&context);
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
    serve_on(ui, context, &running, listen)
}

/// Serves a workspace whose place was taken.
pub(crate) fn serve_on(
    ui: &Ui,
    context: Context,
    running: &Running,
    listen: SocketAddr,
) -> Result<Exit, Failure> {
    let Context {
        workspace,
        config,
        environment,
        ..
    } = context;
    let logins = logins(ui);
    let desk = Desk::open(
        workspace.clone(),
        config.clone(),
        environment.clone(),
        logins,
        Notice::new({
            let ui = *ui;
            move |line| ui.note(line)
        }),
    )?;
    let app = App::open(workspace, config, environment, listen)?.with_desk(desk);
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

/// Codes go to the terminal itself and nowhere else: what is written to a file, an agent could read.
fn logins(ui: &Ui) -> Logins {
    let closed = |why: &str| {
        ui.note(format_args!(
            "warning: nobody can log in to change things: {why}"
        ));
        Logins::closed()
    };
    if let Some(AgentAbove { agent, .. }) = agents_above::find() {
        let agent = clean::name(agent.as_bytes()).into_owned();
        return closed(&format!("this runs below {agent}"));
    }
    let Ok(terminal) = OpenOptions::new().write(true).open("/dev/tty") else {
        return closed("there is no terminal to show the code on");
    };
    let screen = Mutex::new(ui.on(terminal));
    Logins::new(move |code| {
        let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
        // A terminal that is gone has no reader.
        writeln!(screen, "login code: {BOLD}{code}{BOLD:#} (works once)").ok();
    })
}

impl From<DeskError> for Failure {
    fn from(error: DeskError) -> Self {
        match error {
            DeskError::View(error) => error.into(),
            error => Self::input("bad_variable", error.to_string())
                .hint("correct the variable, or unset it"),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::File(error) => error.into(),
            ViewError::Key(error) => error.into(),
            error => Self::refused("view", chain(&error))
                .hint("it can be deleted: `.role-os/view.db` is built again from the logs"),
        }
    }
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
            UpError::File(error) | UpError::Running(RunningError::File(error)) => error.into(),
            UpError::Setting(message) => Self::input("bad_setting", message).hint(hint),
            UpError::Listen { .. } => Self::refused("cannot_listen", chain(&error)).hint(hint),
            UpError::Running(_) => Self::refused("already_up", error.to_string()).hint(hint),
            error => Self::refused("cannot_start", chain(&error)).hint(hint),
        }
    }
}
