//! `roleos up`: the gateway as a process, until a signal ends it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::environment::Environment;
use base::running::{Running, RunningError};
use base::starter;
use base::workspace::Workspace;
use index::ViewError;
use serde_json::json;
use server::up::tls::Tls;
use server::up::{App, UpError, operator_token, serve, sign_in};
use web::api::{Desk, DeskError, Notice};
use web::login::Logins;

use crate::context::{Context, Place};
#[cfg(feature = "demo")]
use crate::demo;
use crate::exit::Exit;
use crate::failure::{Failure, chain};
use crate::ui::{DIM, Ui};

use self::way_in::{CodeFile, WayIn};

mod way_in;

/// Words of `up`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos up
  roleos up --demo
  roleos up --listen 127.0.0.1:0
  roleos up --operator-code-file /run/roleos/code        (as a service: the login code goes there)
  roleos up --listen 0.0.0.0:7420 --tls-cert chain.pem --tls-key key.pem
  roleos up --workspace ../api --workspace ../web
  ANTHROPIC_BASE_URL=http://127.0.0.1:7420 claude

`.role-os/up.json` holds the address while it runs. Ctrl-C or SIGTERM ends it.
On an address that others can reach, requests need the token from `.role-os/keys/gateway.token` in `x-roleos-token`.")]
pub struct Args {
    /// Where to listen.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: String,
    #[command(flatten)]
    how: How,
    /// Show another workspace as well, below `/w/NAME`; may be given several times. `/v1` is answered by the first one.
    #[arg(long, value_name = "DIR")]
    workspace: Vec<PathBuf>,
    #[cfg(feature = "demo")]
    /// Play the whole loop first, on scripted models, in `.role-os-demo/` below the root or here.
    #[arg(long)]
    demo: bool,
    #[cfg(feature = "demo")]
    /// Delete the demo's workspace and start over.
    #[arg(long, requires = "demo")]
    fresh: bool,
    #[cfg(feature = "demo")]
    /// How many dispatches the demo makes.
    #[arg(long, hide = true, requires = "demo", value_name = "N", default_value_t = demo::DISPATCHES, value_parser = clap::value_parser!(u16).range(80..=10_000))]
    demo_dispatches: u16,
}

/// How people and clients come in.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct How {
    /// Write the login code to this file as well (mode 0600, removed at the end).
    #[arg(long, value_name = "FILE")]
    operator_code_file: Option<PathBuf>,
    /// Speak TLS with this PEM certificate and its chain; read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl How {
    fn tls(&self) -> Result<Option<Tls>, UpError> {
        let files = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        files.map(|(cert, key)| Tls::load(cert, key)).transpose()
    }
}

pub fn run(ui: &Ui, place: Place<'_>, args: &Args) -> Result<Exit, Failure> {
    let listen = address(&args.listen)?;
    #[cfg(feature = "demo")]
    if args.demo {
        return demo::run(
            ui,
            place.root,
            args.fresh,
            args.demo_dispatches,
            (listen, &args.how),
        );
    }
    let environment = Environment::read().with_state(place.state);
    let workspace = Workspace::find(place.root, &environment)?;
    let is_new = starter::for_up(&workspace)?;
    let context = Context::of(workspace.clone(), environment)?.with_store(place.store);
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
    let mut others = Vec::new();
    for folder in &args.workspace {
        others.push(other(ui, place, folder, workspace.root())?);
    }
    serve_on(ui, context, &running, others, (listen, &args.how))
}

/// Locks a further workspace.
fn other(
    ui: &Ui,
    place: Place<'_>,
    folder: &Path,
    first: &Path,
) -> Result<(Context, Running), Failure> {
    let environment = Environment::read().with_state(place.state);
    let workspace = Workspace::find(Some(folder), &environment)?;
    if workspace.root() == first {
        let message = format!(
            "`{}` is the workspace of this process already",
            folder.display()
        );
        return Err(Failure::input("bad_workspace", message)
            .hint("leave it out: `--workspace` names further ones"));
    }
    starter::for_up(&workspace)?;
    let running = Running::begin(&workspace.role_os_dir()).map_err(UpError::from)?;
    let context = Context::of(workspace, environment)?;
    ui.warn_of_ignored(&context.config.ignored);
    Ok((context, running))
}

/// Serves a workspace that this process has locked.
pub(crate) fn serve_on(
    ui: &Ui,
    context: Context,
    running: &Running,
    others: Vec<(Context, Running)>,
    (listen, how): (SocketAddr, &How),
) -> Result<Exit, Failure> {
    let tls = how.tls()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let code_file = how.operator_code_file.as_deref();
    let code_file = code_file.map(CodeFile::take).transpose()?;
    let token = operator_token(&context.config)?;
    let way_in = WayIn::find(ui, &context.workspace, code_file.as_ref());
    let door = way_in.door(ui, &context.workspace);
    let logins = way_in.logins(ui, code_file.as_ref(), token);
    let logins = logins.with_sign_in(sign_in(&context.config)?);
    let logins = Arc::new(if tls.is_some() {
        logins.over_tls()
    } else {
        logins
    });
    let (mut desks, mut places) = (Vec::new(), Vec::new());
    for (context, running) in others {
        desks.push(open_desk(ui, &context, &logins)?);
        places.push(running);
    }
    let desk = open_desk(ui, &context, &logins)?;
    let Context {
        workspace,
        config,
        environment,
        ..
    } = context;
    let app = App::open(workspace, config, environment, listen)?
        .with_desk(desk)
        .with_others(desks)
        .with_tls(tls)
        .with_door(door);
    for warning in app.gateway.warnings() {
        ui.note(format_args!("warning: {warning}"));
    }
    if !listen.ip().is_loopback() && scheme == "http" {
        ui.note("warning: without `--tls-cert` and `--tls-key`, tokens and login codes cross the network in clear");
    }
    if !listen.ip().is_loopback() && app.config.gateway.token_env.is_empty() {
        let path = App::token_path(&app.workspace);
        ui.note(format_args!(
            "token: `{}`, for the header `x-roleos-token`",
            path.display()
        ));
    }
    let told = *ui;
    app.gateway
        .tell_trouble(move |text| told.note(format_args!("warning: {text}")));
    serve::run(app, listen, |address| {
        let url = format!("{scheme}://{address}");
        for running in std::iter::once(running).chain(&places) {
            running.announce(&url)?;
        }
        let said = if ui.json {
            ui.json(&json!({ "address": address.to_string(), "url": url }))
        } else {
            ui.line(format_args!("roleos is up at {url}"))
        };
        // A failed write is ignored: there may be no reader.
        said.ok();
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn open_desk(ui: &Ui, context: &Context, logins: &Arc<Logins>) -> Result<Desk, Failure> {
    let ui = *ui;
    Ok(Desk::open(
        context.workspace.clone(),
        context.config.clone(),
        context.environment.clone(),
        Arc::clone(logins),
        Notice::new(move |line| ui.note(line)),
    )?)
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
            UpError::Tls(message) => Self::input("bad_tls", message).hint(hint),
            UpError::Listen { .. } => Self::refused("cannot_listen", chain(&error)).hint(hint),
            UpError::Running(_) => Self::refused("already_up", error.to_string()).hint(hint),
            error => Self::refused("cannot_start", chain(&error)).hint(hint),
        }
    }
}
