//! A person at a terminal. Actions that only a person may perform use this module: they are refused below an agent and
//! without a terminal, and the question is asked on the terminal itself, so that no program can answer through a pipe.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};

use anstream::AutoStream;
use base::agents_above::{self, AgentAbove};
use base::approval_key::{self, Place};
use witness::key::SigningKey;
use zeroize::Zeroizing;

use crate::render::clean;
use crate::ui::Ui;
use crate::{Context, Failure};

/// Longest answer that is read.
const MAX_ANSWER: u64 = 1024;
/// Shortest passphrase for a new key.
const MIN_PASSPHRASE: usize = 8;

/// Proof that a person is at the terminal.
#[derive(Debug)]
pub struct Person {
    keyboard: File,
    screen: AutoStream<File>,
}

impl Person {
    /// Opens the terminal; `command` is the requested command, for the refusal.
    pub fn at_terminal(ui: &Ui, command: &str) -> Result<Self, Failure> {
        not_below_an_agent(command)?;
        let none = |why: String| {
            let message = format!("`roleos {command}` asks a person, and {why}");
            Failure::refused("no_terminal", message)
                .hint("type it in a terminal; it cannot be scripted")
        };
        if !io::stdin().is_terminal() {
            return Err(none("standard input is no terminal".to_owned()));
        }
        let open = || {
            let file = OpenOptions::new().read(true).write(true).open("/dev/tty");
            file.map_err(|error| none(format!("there is no terminal: {error}")))
        };
        Ok(Self {
            keyboard: open()?,
            screen: ui.on(open()?),
        })
    }

    /// Shows text on the terminal, regardless of standard output.
    pub fn tell(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.screen, "{text}")?;
        Ok(())
    }

    /// Asks for confirmation, and fails without an explicit yes.
    pub fn confirms(&mut self, question: &str) -> Result<(), Failure> {
        write!(self.screen, "{question} [y/N] ")?;
        self.screen.flush()?;
        let mut answer = String::new();
        let reader = io::Read::take(&self.keyboard, MAX_ANSWER);
        BufReader::new(reader).read_line(&mut answer)?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::refused(
                "declined",
                "nothing was changed: the answer was not `y`",
            )),
        }
    }

    /// Returns the key that signs this person's decisions; asks for the passphrase if there is one, and creates the key
    /// of the workspace if there is none.
    pub fn signing_key(&mut self, context: &Context) -> Result<SigningKey, Failure> {
        let place = Place::of(&context.workspace);
        let passphrase = if place.is_sealed()? {
            Some(secret("Passphrase of the approval key: ")?)
        } else {
            None
        };
        let passphrase = passphrase.as_ref().map(|text| text.as_str());
        Ok(approval_key::ensure(&context.workspace, passphrase)?)
    }

    /// Asks for a new passphrase, typed twice.
    pub fn new_passphrase(&mut self) -> Result<Zeroizing<String>, Failure> {
        let first = secret("New passphrase: ")?;
        if first.chars().count() < MIN_PASSPHRASE {
            let message = format!("the passphrase has fewer than {MIN_PASSPHRASE} characters");
            return Err(Failure::input("bad_passphrase", message)
                .hint("several words are easy to remember"));
        }
        if *secret("The same again: ")? != *first {
            return Err(Failure::input(
                "bad_passphrase",
                "the two passphrases differ",
            ));
        }
        Ok(first)
    }
}

/// Refuses a command below an agent. Unlike [`Person::at_terminal`], it needs no terminal: scripts and CI use it too.
pub fn not_below_an_agent(command: &str) -> Result<(), Failure> {
    let Some(AgentAbove { agent, shown_by }) = agents_above::find() else {
        return Ok(());
    };
    let agent = clean::name(agent.as_bytes()).into_owned();
    let shown_by = clean::name(shown_by.as_bytes()).into_owned();
    let message =
        format!("`roleos {command}` is for a person, and this runs below {agent}: {shown_by}");
    Err(Failure::refused("inside_agent", message)
        .hint("open a terminal of your own and type it there"))
}

/// Reads from the terminal without echo.
fn secret(prompt: &str) -> Result<Zeroizing<String>, Failure> {
    Ok(rpassword::prompt_password(prompt).map(Zeroizing::new)?)
}
