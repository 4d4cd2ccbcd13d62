//! `roleos pre-push`: equals `roleos-hook pre-push`, for installations that name `roleos`.

use std::path::Path;

use roleos_hook::pre_push::{self, PushError, Pushed};

use crate::cli::VERSION;
use crate::context::Place;
use crate::exit::Exit;
use crate::failure::{Failure, chain};

/// What git hands to the hook.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the remote.
    remote: String,
    /// Its address.
    url: String,
}

/// Checks a push.
pub fn run(place: Place<'_>, args: &Args) -> Result<Exit, Failure> {
    let pushed = Pushed {
        remote: args.remote.clone(),
        url: args.url.clone(),
        root: place.root.map(Path::to_owned),
        state: place.state.map(Path::to_owned),
    };
    match pre_push::run(&pushed, VERSION) {
        Ok(()) => Ok(Exit::Done),
        Err(PushError::Workspace(error)) => Err(error.into()),
        Err(PushError::Settings(error)) => Err(error.into()),
        Err(error @ PushError::Input(_)) => Err(Failure::refused("pre_push", chain(&error))),
        Err(PushError::Refused(why)) => Err(Failure::refused("push_refused", why)),
    }
}
