//! `roleos token`: API tokens of people and programs, and the audit log of the archive.

use evidence::archive::people::{Act, Role, Token, is_name};
use serde_json::{Value, json};

use crate::person::not_below_an_agent;
use crate::ui::{DIM, GOOD, Ui};
use crate::{Context, Exit, Failure};

/// Arguments of `token`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a token and print it, once.
    #[command(after_help = "\
Roles: agent (send evidence, nothing else), viewer (read), operator (read, send, act), admin (everything).

Example:
  roleos token create ci --role agent --why 'nightly runs'")]
    Create {
        /// Its name, which the audit log uses.
        name: String,
        /// What it allows: agent, viewer, operator or admin.
        #[arg(long, value_parser = parse_role)]
        role: Role,
        /// Why, for the audit log.
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Show the tokens, never their secrets.
    List,
    /// Revoke a token.
    #[command(after_help = "Example:\n  roleos token revoke ci --why 'project ended'")]
    Revoke {
        /// Its name.
        name: String,
        /// Why, for the audit log.
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Show who did what, when and why.
    Log,
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "expected agent, viewer, operator or admin".to_owned())
}

pub fn run(ui: &Ui, context: &Context, command: &Command) -> Result<Exit, Failure> {
    let archive = context.archive()?;
    let who = base::environment::user().unwrap_or_else(|| "(unknown)".to_owned());
    match command {
        Command::Create { name, role, why } => {
            not_below_an_agent("token create")?;
            for text in [name, why] {
                if !is_name(text) {
                    let message = format!("`{text}` is not a text of 1 to 100 characters");
                    return Err(Failure::input("bad_name", message).hint("write it on one line"));
                }
            }
            let act = Act::now(&who, "token.create", &format!("{name} ({role})"), why);
            let (token, secret) = Token::create(name, *role, &act)?;
            archive.add_token(&token, &act)?;
            match ui.json {
                true => ui.json(&json!({ "name": name, "role": role, "token": secret }))?,
                false => ui.line(&secret)?,
            }
            ui.note(format_args!(
                "{DIM}shown once; for the header `x-roleos-token` or `Authorization: Bearer`{DIM:#}"
            ));
        }
        Command::Revoke { name, why } => {
            not_below_an_agent("token revoke")?;
            let act = Act::now(&who, "token.revoke", name, why);
            if !archive.revoke_token(name, &act)? {
                let message = format!("no token `{name}` is in force");
                return Err(Failure::input("unknown_token", message)
                    .hint("`roleos token list` shows the names"));
            }
            ui.line(format_args!("{GOOD}revoked{GOOD:#}  {name}"))?;
        }
        Command::List => list(ui, &archive.tokens()?)?,
        Command::Log => log(ui, &archive.acts(1000)?)?,
    }
    Ok(Exit::Done)
}

fn list(ui: &Ui, tokens: &[Token]) -> Result<(), Failure> {
    if ui.json {
        let row = |one: &Token| {
            json!({
                "name": one.name,
                "role": one.role,
                "created": base::clock::text(one.at_ns),
                "by": one.by,
                "revoked": one.revoked_ns.map(base::clock::text),
            })
        };
        return Ok(ui.json(&tokens.iter().map(row).collect::<Vec<Value>>())?);
    }
    for one in tokens {
        let state = match one.revoked_ns {
            Some(when) => format!("revoked {}", base::clock::text(when)),
            None => "in force".to_owned(),
        };
        let (name, role, by) = (&one.name, one.role, &one.by);
        ui.line(format_args!("{name}  {role}  {state}  {DIM}by {by}{DIM:#}"))?;
    }
    if tokens.is_empty() {
        ui.note("no tokens yet; `roleos token create --help` shows how one is made");
    }
    Ok(())
}

fn log(ui: &Ui, acts: &[Act]) -> Result<(), Failure> {
    if ui.json {
        return Ok(ui.json(&acts)?);
    }
    for act in acts {
        let line = format!(
            "{}  {}  {}  {}: {}",
            base::clock::text(act.at_ns),
            act.who,
            act.what,
            act.subject,
            act.why
        );
        ui.line(crate::render::clean::name(line.as_bytes()))?;
    }
    Ok(())
}
