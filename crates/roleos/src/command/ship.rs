//! `roleos ship`: sends bundles, decisions and run-log lines to the archive of a team, and stores its proofs.

use std::time::Duration;

use base::process;
use clap::Args as Arguments;
use evidence::archive::people::is_name;
use evidence::shipping::cursor::Cursor;
use evidence::shipping::{IdentityAnswer, ShipAnswer, ShipError, Shipped, Shipping};
use serde_json::json;
use upstream::blocking;
use upstream::shipper::{SendError, Shipper};
use witness::key::SigningKey;

use crate::person::not_below_an_agent;
use crate::render::units::counted;
use crate::ui::{DIM, GOOD, Ui, WARN};
use crate::{Context, Exit, Failure};

/// Attempts per request in the foreground before the rest is left for later.
const TRIES: u32 = 4;
/// The first pause between attempts; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause between attempts in the foreground.
const LONGEST: Duration = Duration::from_secs(5);

/// Arguments of `ship`.
#[derive(Debug, Arguments)]
#[command(after_help = "\
With `to` under `[ship]`, everything that is sealed is sent in the background; this command sends what is left.
What was not acknowledged is sent again, and the archive keeps everything once. Its proofs are checked and kept in
`.role-os/ship/receipts.jsonl`. Its key is pinned at the first contact.

Examples:
  roleos ship --to http://127.0.0.1:7420
  roleos ship --to https://roleos.example --token-env ROLEOS_TOKEN
  roleos ship --to https://roleos.example --enroll 4f2a91-0c77de-18b2aa-93f01c
  roleos ship --status")]
pub struct Args {
    /// Address of the `roleos up` that takes it [default: `to` under `[ship]`].
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Environment variable that holds the token [default: `token_env` under `[ship]`].
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Enrol the key of this workspace first, with a code from `roleos key enroll --code`.
    #[arg(long, value_name = "CODE")]
    enroll: Option<String>,
    /// Name of this machine for the enrolment [default: the host's].
    #[arg(long, value_name = "NAME", requires = "enroll")]
    machine: Option<String>,
    /// Pin the archive's key again, after it changed, and send everything once more.
    #[arg(long)]
    trust_server: bool,
    /// Show what was sent and what was refused, and send nothing.
    #[arg(long, conflicts_with_all = ["enroll", "trust_server"])]
    status: bool,
    /// Send without a word, and leave what fails for later.
    #[arg(long, hide = true, conflicts_with_all = ["to", "enroll", "trust_server", "status"])]
    background: bool,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.to.is_some() || args.enroll.is_some() || args.trust_server {
        not_below_an_agent("ship")?;
    }
    let to = args.to.as_deref().unwrap_or(&context.config.ship.to);
    if to.is_empty() && args.background {
        return Ok(Exit::Done);
    }
    if to.is_empty() {
        return Err(
            Failure::input("no_archive", "cannot ship: no archive is set")
                .hint("give `--to URL`, or set `to` under `[ship]`"),
        );
    }
    let to = to.trim_end_matches('/');
    if args.status {
        return status(ui, &Shipping::look(&context.workspace, to)?);
    }
    let shipper = Shipper::to(to, token(context, args)?.as_deref())?;
    if args.background {
        process::stand_back();
        return background(context, &shipper, to);
    }
    let (keys, _) = context.store.keys_for_writing()?;
    let key = signing(keys.signing())?;
    let mut shipping = Shipping::open(&context.workspace, &context.store, to)?;
    let identity = match &args.enroll {
        None => with_patience(|| blocking::run(shipper.identity()))?,
        Some(code) => {
            let machine = args.machine.clone().unwrap_or_else(host);
            if !is_name(&machine) {
                let message = format!("`{machine}` is not a name of 1 to 100 characters");
                return Err(Failure::input("bad_name", message));
            }
            blocking::run(shipper.enroll(code.trim(), &machine, key))??
        }
    };
    shipping.meet(&identity, args.trust_server)?;
    shipping.retry_refused();
    let send = |shipment: Vec<u8>| with_patience(|| blocking::run(shipper.send(shipment.clone())));
    let result = send_all(&mut shipping, key, send);
    if let Err(Trouble::Send(SendError::Away { again, .. })) = &result {
        shipping.postpone(again.unwrap_or_default())?;
    }
    let shipped = result?;
    show(ui, &shipped, &identity, &shipping.cursor)?;
    Ok(Exit::of_check(shipped.refused == 0))
}

/// Makes one attempt; the pause before the next one grows with every failure.
fn background(context: &Context, shipper: &Shipper, to: &str) -> Result<Exit, Failure> {
    if Shipping::look(&context.workspace, to)?.waits(base::clock::now_ns()) {
        return Ok(Exit::Done);
    }
    let (keys, _) = context.store.keys_for_writing()?;
    let key = signing(keys.signing())?;
    let mut shipping = Shipping::open(&context.workspace, &context.store, to)?;
    let result = match blocking::run(shipper.identity())? {
        Ok(identity) => {
            shipping.meet(&identity, false)?;
            send_all(&mut shipping, key, |shipment| {
                Ok(blocking::run(shipper.send(shipment))??)
            })
        }
        Err(error) => Err(error.into()),
    };
    if let Err(trouble) = result {
        let again = match &trouble {
            Trouble::Send(SendError::Away { again, .. }) => again.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        shipping.postpone(again)?;
        return Err(trouble.into());
    }
    Ok(Exit::Done)
}

/// Reason why sending ended early.
enum Trouble {
    Ship(ShipError),
    Send(SendError),
    Machine(std::io::Error),
}

impl From<ShipError> for Trouble {
    fn from(error: ShipError) -> Self {
        Self::Ship(error)
    }
}

impl From<SendError> for Trouble {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Machine(error)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Ship(error) => error.into(),
            Trouble::Send(error) => error.into(),
            Trouble::Machine(error) => error.into(),
        }
    }
}

fn send_all(
    shipping: &mut Shipping,
    key: &SigningKey,
    mut send: impl FnMut(Vec<u8>) -> Result<ShipAnswer, Trouble>,
) -> Result<Shipped, Trouble> {
    let mut all = Shipped::default();
    while let Some((batch, bytes)) = shipping.next(key)? {
        let answer = send(bytes)?;
        let one = shipping.settle(batch, &answer)?;
        all.bundles += one.bundles;
        all.lines += one.lines;
        all.known += one.known;
        all.refused += one.refused;
    }
    Ok(all)
}

/// Retries while the archive is away or busy.
fn with_patience<T>(
    mut ask: impl FnMut() -> std::io::Result<Result<T, SendError>>,
) -> Result<T, Trouble> {
    let mut pause = PAUSE;
    let mut tries = 1;
    loop {
        match ask()? {
            Err(SendError::Away { again, .. }) if tries < TRIES => {
                std::thread::sleep(pause.max(again.unwrap_or_default()).min(LONGEST));
                pause *= 2;
                tries += 1;
            }
            done => return Ok(done?),
        }
    }
}

fn signing(key: Option<&SigningKey>) -> Result<&SigningKey, Failure> {
    key.ok_or_else(|| {
        Failure::input("no_key", "cannot ship: no Ed25519 key signs here")
            .hint("`roleos key new --algorithm ed25519` makes one")
    })
}

fn token(context: &Context, args: &Args) -> Result<Option<String>, Failure> {
    let name = args.token_env.as_deref();
    let name = name.unwrap_or(&context.config.ship.token_env);
    if name.is_empty() {
        return Ok(None);
    }
    let secret = base::environment::secret(name);
    let text = secret.and_then(|secret| secret.reveal().to_str().map(str::to_owned));
    let missing = || {
        Failure::input("no_token", format!("the variable `{name}` is not set"))
            .hint("it must hold the token for the archive")
    };
    text.map(Some).ok_or_else(missing)
}

fn host() -> String {
    let path = std::path::Path::new("/proc/sys/kernel/hostname");
    let name = base::files::read(path, 256).unwrap_or_default();
    match String::from_utf8_lossy(&name).trim() {
        "" => "(unnamed)".to_owned(),
        name => name.to_owned(),
    }
}

fn show(
    ui: &Ui,
    shipped: &Shipped,
    identity: &IdentityAnswer,
    cursor: &Cursor,
) -> Result<(), Failure> {
    if ui.json {
        return Ok(ui.json(&json!({
            "archive": identity.origin,
            "bundles": shipped.bundles,
            "lines": shipped.lines,
            "known": shipped.known,
            "refused": shipped.refused,
            "seen": cursor.seen,
            "refusals": cursor.refused,
        }))?);
    }
    let bundles = counted(shipped.bundles, "bundle");
    let lines = counted(shipped.lines, "line");
    ui.line(format_args!(
        "{GOOD}shipped{GOOD:#}  {bundles}, {lines}  {DIM}to {}, which has {}{DIM:#}",
        identity.origin,
        counted(cursor.seen, "bundle")
    ))?;
    refusals(ui, cursor)
}

fn refusals(ui: &Ui, cursor: &Cursor) -> Result<(), Failure> {
    for one in cursor.refused.iter().rev().take(20) {
        let name = match (&one.task_id, &one.log) {
            (Some(task), _) => format!("task {task}"),
            (None, log) => format!("{} line {}", log.as_deref().unwrap_or_default(), one.number),
        };
        ui.line(format_args!(
            "{WARN}refused{WARN:#}  {name}  {}: {}",
            one.code,
            crate::render::clean::name(one.why.as_bytes())
        ))?;
    }
    Ok(())
}

fn status(ui: &Ui, cursor: &Cursor) -> Result<Exit, Failure> {
    if ui.json {
        ui.json(cursor)?;
        return Ok(Exit::Done);
    }
    let lines: u64 = cursor.logs.values().map(|one| one.lines).sum();
    let archive = cursor
        .server
        .as_ref()
        .map_or("not met yet", |server| &server.origin);
    ui.line(format_args!("archive  {}  {archive}", cursor.url))?;
    ui.line(format_args!(
        "sent     {}, {lines} log lines looked at",
        counted(cursor.bundles, "bundle")
    ))?;
    if cursor.failures > 0 {
        let until = base::clock::text(cursor.next_try_ns);
        ui.line(format_args!(
            "{WARN}away{WARN:#}     {} failed; the next one in the background is not before {until}",
            counted(u64::from(cursor.failures), "try")
        ))?;
    }
    refusals(ui, cursor)?;
    Ok(Exit::Done)
}

/// Starts sending in the background, if the settings enable it; nothing waits for it, and its failure is ignored.
pub fn start(context: &Context) {
    if context.config.ship.to.is_empty() {
        return;
    }
    let Ok(program) = base::programs::running() else {
        return;
    };
    evidence::sealing::background::start_shipping(&program, &context.workspace).ok();
}

impl From<ShipError> for Failure {
    fn from(error: ShipError) -> Self {
        match error {
            ShipError::File(error) => error.into(),
            ShipError::Ledger(error) => error.into(),
            ShipError::OtherServer(_) => Self::refused("other_archive", error.to_string())
                .hint("ask its operator; `roleos ship --trust-server` pins the new one"),
            ShipError::NotBelieved(_) => Self::refused("not_believed", error.to_string())
                .hint("nothing was marked as sent; ask its operator what happened to the ledger"),
            error => Self::refused("ship", error.to_string())
                .hint("remove the file: everything is then offered again, and kept once"),
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match &error {
            SendError::Address { .. } => Self::input("bad_address", error.to_string())
                .hint("give an address such as `https://roleos.example`"),
            SendError::Away { .. } => Self::refused("archive_away", error.to_string())
                .hint("what is left is sent the next time"),
            SendError::Refused { hint, .. } => {
                let hint = hint.clone();
                let failure = Self::refused("archive_refused", error.to_string());
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            _ => Self::refused("ship", error.to_string()),
        }
    }
}
