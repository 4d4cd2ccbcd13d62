//! `roleos key enroll`: enrols machines that may send evidence.

use std::path::PathBuf;

use base::keys::keyring_from_file;
use evidence::archive::Archive;
use evidence::archive::people::{Act, CodeHash, is_name};
use serde_json::{Value, json};

use crate::person::not_below_an_agent;
use crate::ui::{DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Lifetime of a code.
const CODE_NS: u64 = 3_600_000_000_000;

/// Arguments of `key enroll`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The machine's public key is the `.pub` file beside its keys, or what `roleos key list` shows there.

Examples:
  roleos key enroll build-7.pub --machine build-7 --why 'new build host'
  roleos key enroll --code                      (then on the machine: roleos ship --to URL --enroll CODE)
  roleos key enroll --list
  roleos key enroll --dismiss 3f9c2a1b7d04e5f6 --why 'laptop lost'")]
pub struct Args {
    /// The machine's public key.
    #[arg(required_unless_present_any = ["code", "list", "dismiss"], value_name = "FILE.pub")]
    file: Option<PathBuf>,
    /// Print a code with which one machine may enrol itself within an hour.
    #[arg(long, conflicts_with = "file")]
    code: bool,
    /// Show the machines whose evidence is taken.
    #[arg(long, conflicts_with_all = ["file", "code"])]
    list: bool,
    /// Take no evidence of the key with this id any more.
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "code", "list"])]
    dismiss: Option<String>,
    /// Name of the machine [default: the file's].
    #[arg(long, value_name = "NAME", requires = "file")]
    machine: Option<String>,
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT", default_value = "by hand")]
    why: String,
}

pub(super) fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let archive = context.archive()?;
    if args.list {
        return list(ui, archive.as_ref());
    }
    not_below_an_agent("key enroll")?;
    let who = base::environment::user().unwrap_or_else(|| "(unknown)".to_owned());
    if args.code {
        return offer(ui, archive.as_ref(), &who, &args.why);
    }
    if let Some(id) = &args.dismiss {
        let known = archive.enrolled()?;
        let found = known.iter().find(|one| one.key.id().to_string() == *id);
        let unknown = || {
            Failure::input("unknown_key", format!("no key `{id}` is enrolled"))
                .hint("`roleos key enroll --list` shows the ids")
        };
        let key = found.ok_or_else(unknown)?.key.id();
        archive.dismiss_key(key, &Act::now(&who, "key.dismiss", id, &args.why))?;
        return said(ui, "dismissed", id, "");
    }
    let path = args.file.clone().unwrap_or_default();
    let keys = keyring_from_file(&path)?;
    let [key] = keys.public_keys() else {
        let message = format!("`{}` holds no public key", path.display());
        return Err(Failure::input("bad_key", message)
            .hint("give the `.pub` file of the machine's Ed25519 key"));
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let machine = args.machine.clone().unwrap_or_else(|| stem.into_owned());
    if !is_name(&machine) {
        let message = format!("`{machine}` is not a name of 1 to 100 characters");
        return Err(Failure::input("bad_name", message).hint("give `--machine NAME`"));
    }
    let id = key.id().to_string();
    let act = Act::now(&who, "key.enroll", &id, &args.why);
    let word = match archive.enroll(key, &machine, &act)? {
        true => "enrolled",
        false => "enrolled before",
    };
    said(ui, word, &id, &machine)
}

fn said(ui: &Ui, word: &str, id: &str, machine: &str) -> Result<Exit, Failure> {
    match ui.json {
        true => ui.json(&json!({ "id": id, "machine": machine, "state": word }))?,
        false => ui.line(format_args!("{GOOD}{word}{GOOD:#}  {id}  {machine}"))?,
    }
    Ok(Exit::Done)
}

fn offer(ui: &Ui, archive: &dyn Archive, who: &str, why: &str) -> Result<Exit, Failure> {
    let (hash, code) = CodeHash::create()?;
    let act = Act::now(who, "key.code", "a one-time code", why);
    archive.offer_code(&hash, act.at_ns.saturating_add(CODE_NS), &act)?;
    match ui.json {
        true => ui.json(&json!({ "code": code }))?,
        false => ui.line(&code)?,
    }
    ui.note(format_args!(
        "{DIM}works once, for an hour: `roleos ship --to URL --enroll {code}`{DIM:#}"
    ));
    Ok(Exit::Done)
}

fn list(ui: &Ui, archive: &dyn Archive) -> Result<Exit, Failure> {
    let enrolled = archive.enrolled()?;
    if ui.json {
        let row = |one: &evidence::archive::Enrolled| {
            json!({
                "id": one.key.id().to_string(),
                "public_key": hex::encode(one.key.to_bytes()),
                "machine": one.machine,
                "enrolled": base::clock::text(one.at_ns),
                "by": one.by,
            })
        };
        ui.json(&enrolled.iter().map(row).collect::<Vec<Value>>())?;
        return Ok(Exit::Done);
    }
    for one in &enrolled {
        let (id, when) = (one.key.id(), base::clock::text(one.at_ns));
        let machine = crate::render::clean::name(one.machine.as_bytes());
        let by = &one.by;
        ui.line(format_args!("{id}  {machine}  {DIM}{when} by {by}{DIM:#}"))?;
    }
    if enrolled.is_empty() {
        ui.note("no machine is enrolled; `roleos key enroll FILE.pub` takes its evidence");
    }
    Ok(Exit::Done)
}
