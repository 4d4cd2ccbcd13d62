//! `roleos key`: creates, lists, rotates and exports the keys of the workspace. Secrets are never printed.

use base::approval_key::{self, Level, Place};
use base::keys::{self, Algorithm, KeyInfo, public_line};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use witness::key::PublicKey;
use witness::ledger::checkpoint::Origin;
use witness::ledger::note;

use crate::person::{Person, not_below_an_agent};
use crate::ui::{DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

mod enroll;

/// Words of `key`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the keys that are missing, or the key with which a person says yes.
    #[command(
        after_help = "Examples:\n  roleos key new --algorithm ed25519\n  roleos key new --approval --passphrase"
    )]
    New(New),
    /// Show ids, never secrets.
    List,
    /// Make new keys; the old ones keep verifying what they signed.
    Rotate(Which),
    /// Print a public key for other programs.
    Export(Export),
    /// Take the evidence of another machine.
    Enroll(enroll::Args),
}

/// Words of `key export`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("form").required(true).args(["pem", "vkey", "jwk"]))]
#[command(after_help = "\
Examples:
  roleos key export --pem > roleos.pem      (for openssl, cosign)
  roleos key export --vkey                  (for verifiers of C2SP signed notes: checkpoints of the ledger)
  roleos key export --jwk 3f9c")]
pub struct Export {
    /// The key: its id, or the beginning of one [default: the one that signs].
    id: Option<String>,
    /// As PEM.
    #[arg(long)]
    pem: bool,
    /// As the verifier key of a signed note.
    #[arg(long)]
    vkey: bool,
    /// As a JSON Web Key.
    #[arg(long)]
    jwk: bool,
    /// Name in the verifier key [default: the ledger's].
    #[arg(long, requires = "vkey", value_parser = parse_origin)]
    name: Option<Origin>,
}

fn parse_origin(text: &str) -> Result<Origin, String> {
    Origin::parse(text).map_err(|error| error.to_string())
}

/// Words of `key new`.
#[derive(Debug, Args)]
pub struct New {
    #[command(flatten)]
    which: Which,
    /// A new key for approvals, grants and the mode instead; a person has to confirm it.
    #[arg(long, conflicts_with = "algorithm")]
    approval: bool,
    /// Encrypt that key with a passphrase, so that nothing but a person can use it.
    #[arg(long, requires = "approval")]
    passphrase: bool,
    /// The old one cannot be opened any more; grants are then void in sessions that are running.
    #[arg(long, requires = "approval")]
    lost: bool,
}

/// Which kind of key.
#[derive(Debug, Args)]
pub struct Which {
    /// One kind only [default: both].
    #[arg(long, value_name = "KIND")]
    algorithm: Option<Kind>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Shared secret, what the original format signs with.
    Hmac,
    /// Public signature that others can check.
    Ed25519,
}

impl Which {
    fn algorithms(&self) -> Vec<Algorithm> {
        match self.algorithm {
            None => Algorithm::ALL.to_vec(),
            Some(Kind::Hmac) => vec![Algorithm::Hmac],
            Some(Kind::Ed25519) => vec![Algorithm::Ed25519],
        }
    }
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Enroll(args) => return enroll::run(ui, context, args),
        Command::List | Command::Export(_) => {}
        Command::New(_) => not_below_an_agent("key new")?,
        Command::Rotate(_) => not_below_an_agent("key rotate")?,
    }
    let existing = context.store.keys()?.list();
    match command {
        Command::List => show(ui, &existing)?,
        Command::New(new) if new.approval => approval(ui, context, new)?,
        Command::New(New { which, .. }) => {
            let signs = |algorithm: &Algorithm| {
                existing
                    .iter()
                    .any(|key| key.signs && key.algorithm == *algorithm)
            };
            let missing: Vec<_> = which
                .algorithms()
                .into_iter()
                .filter(|one| !signs(one))
                .collect();
            if missing.is_empty() {
                return Err(
                    Failure::input("key_exists", "there is a key of that kind already")
                        .hint("use `roleos key rotate` to replace it; the old one keeps verifying"),
                );
            }
            make(ui, context, &missing)?;
        }
        Command::Export(args) => export(ui, context, &existing, args)?,
        Command::Enroll(_) => {}
        Command::Rotate(which) => {
            let made = keys::rotate(&context.workspace, &which.algorithms())?;
            show_made(ui, context, &made)?;
        }
    }
    Ok(Exit::Done)
}

fn export(ui: &Ui, context: &Context, keys: &[KeyInfo], args: &Export) -> Result<(), Failure> {
    let key = public_key(keys, args.id.as_deref())?;
    let text = if args.pem {
        key.to_pem()
    } else if args.jwk {
        key.to_jwk()
    } else {
        let ledger = context.store.ledger()?;
        let known = ledger.map(|ledger| ledger.tree().origin().clone());
        let name = args.name.clone().or(known).ok_or_else(|| {
            Failure::input("no_ledger", "name the verifier key: there is no ledger yet")
                .hint("`roleos key export --vkey --name NAME`, or seal a task first")
        })?;
        note::verifier_key(&name, &key)
    };
    if ui.json && !args.jwk {
        ui.json(&json!({ "id": key.id().to_string(), "key": text }))?;
    } else {
        ui.line(text.trim_end())?;
    }
    Ok(())
}

/// Finds the public key by a prefix of its id, else the one that signs.
fn public_key(keys: &[KeyInfo], id: Option<&str>) -> Result<PublicKey, Failure> {
    let is_meant = |key: &&KeyInfo| match id {
        Some(id) => key.id.to_string().starts_with(id),
        None => key.signs,
    };
    let meant = keys.iter().filter(is_meant);
    let found: Vec<PublicKey> = meant.filter_map(|key| key.public).collect();
    match (found.as_slice(), id) {
        ([one], _) => Ok(*one),
        ([], None) => Err(
            Failure::input("no_key", "make a key first: no Ed25519 key signs here")
                .hint("`roleos key new --algorithm ed25519` makes one"),
        ),
        ([], Some(id)) => {
            let message = format!("no public key has an id that begins with `{id}`");
            Err(Failure::input("unknown_key", message).hint("`roleos key list` shows the ids"))
        }
        (many, _) => {
            let ids: Vec<String> = many.iter().map(|key| key.id().to_string()).collect();
            let message = format!("give more of the id: {} begin so", ids.join(", "));
            Err(Failure::input("ambiguous_key", message))
        }
    }
}

/// Replaces the approval key. The old one signs the receipt, if it can still be opened.
fn approval(ui: &Ui, context: &Context, new: &New) -> Result<(), Failure> {
    let mut person = Person::at_terminal(ui, "key new --approval")?;
    let place = Place::of(&context.workspace);
    if place.level()? == Level::System {
        return Err(Failure::refused(
            "key_of_the_machine",
            "the approval key of this machine belongs to root",
        )
        .hint("`sudo roleos init --system` replaces it"));
    }
    let old = match place.verifying_key()? {
        Some(_) => {
            person.confirms(
                "Replace the approval key? Approvals that were not used yet become void.",
            )?;
            (!new.lost)
                .then(|| person.signing_key(context))
                .transpose()?
        }
        None => {
            person.confirms("Make a key with which you approve and grant?")?;
            None
        }
    };
    let passphrase = new
        .passphrase
        .then(|| person.new_passphrase())
        .transpose()?;
    let passphrase = passphrase.as_ref().map(|text| text.as_str());
    let key = approval_key::replace(&context.workspace, old.as_ref(), passphrase)?.public();
    let level = place.level()?.as_str();
    if ui.json {
        ui.json(&json!({
            "id": key.id().to_string(),
            "public_key": hex::encode(key.to_bytes()),
            "level": level,
        }))?;
    } else {
        ui.line(format_args!("{}  approval key  {level}", key.id()))?;
        ui.note(format_args!(
            "{DIM}kept in {}{DIM:#}",
            place.secret_path().display()
        ));
    }
    Ok(())
}

fn make(ui: &Ui, context: &Context, algorithms: &[Algorithm]) -> Result<(), Failure> {
    let mut made = Vec::new();
    for algorithm in algorithms {
        made.push(keys::create(&context.workspace, *algorithm)?);
    }
    show_made(ui, context, &made)
}

fn show_made(ui: &Ui, context: &Context, made: &[KeyInfo]) -> Result<(), Failure> {
    show(ui, made)?;
    ui.note(format_args!(
        "{DIM}kept in {}, which belongs in no repository{DIM:#}",
        context.workspace.keys_dir().display()
    ));
    Ok(())
}

fn show(ui: &Ui, keys: &[KeyInfo]) -> Result<(), Failure> {
    if ui.json {
        let list: Vec<Value> = keys.iter().map(as_json).collect();
        ui.json(&list)?;
        return Ok(());
    }
    if keys.is_empty() {
        ui.note("no keys yet; `roleos key new` makes them, and so does the first seal");
    }
    for key in keys {
        let state = match (key.signs, key.created.is_empty()) {
            (true, _) => format!("{GOOD}signs{GOOD:#}   "),
            (false, false) => "verifies".to_owned(),
            (false, true) => "trusted ".to_owned(),
        };
        let algorithm = key.algorithm.to_string();
        ui.line(format_args!(
            "{}  {algorithm:<11}  {state}  {}",
            key.id, key.created
        ))?;
        if let Some(public) = &key.public {
            ui.line(format_args!(
                "{DIM}    {}{DIM:#}",
                public_line(public).trim_end()
            ))?;
        }
    }
    Ok(())
}

fn as_json(key: &KeyInfo) -> Value {
    json!({
        "id": key.id.to_string(),
        "algorithm": key.algorithm,
        "created": (!key.created.is_empty()).then_some(&key.created),
        "signs": key.signs,
        "public_key": key.public.map(|public| hex::encode(public.to_bytes())),
    })
}
