//! `roleos pre-push`: what git's hook calls. A person's push passes in silence; one below an agent is judged.

use std::io::{self, Read as _};

use host::agents_above;
use host::second_seam::{self, Push, Seen};

use crate::cli::VERSION;
use crate::context::{Context, Place};
use crate::exit::Exit;
use crate::failure::Failure;

/// Git tells a line a ref; more are not pushed at once.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

/// What git hands to the hook.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the remote.
    remote: String,
    /// Its address.
    url: String,
}

/// Does it.
///
/// # Errors
/// The push is refused, or git's lines cannot be read.
pub fn run(place: Place<'_>, args: &Args) -> Result<Exit, Failure> {
    // A person's push depends on nothing of ours, not even on settings that can be read.
    if agents_above::find().is_none() {
        return Ok(Exit::Done);
    }
    let context = Context::load(place)?;
    let mut lines = String::new();
    let read = io::stdin().take(MAX_INPUT).read_to_string(&mut lines);
    read.map_err(|error| {
        Failure::refused("pre_push", format!("cannot read what git pushes: {error}"))
    })?;
    let gate = context.config.oversight.capability_gate || context.environment.capability_gate;
    let push = Push::parse(&args.remote, &args.url, &lines);
    let seen = second_seam::judge(
        &context.workspace,
        &context.environment,
        gate,
        &push,
        VERSION,
    );
    match seen {
        Seen::NotOurs | Seen::LetThrough | Seen::Allowed => Ok(Exit::Done),
        Seen::Refused(why) => Err(Failure::refused(
            "push_refused",
            why.trim().replace('\n', " — "),
        )),
    }
}
