//! `roleos box-init`: the first program in a box of `roleos prove`. Opens the port of the model and runs the command.

use std::ffi::OsString;
use std::path::PathBuf;

use roleos_hook::end;
use roleos_hook::watch::say;

use crate::Exit;

/// Runs at once if the arguments are `box-init --model PORT=SOCKET -- COMMAND…`.
pub fn direct(arguments: &[OsString]) -> Option<Exit> {
    let [_, name, option, model, dashes, command @ ..] = arguments else {
        return None;
    };
    if name != "box-init" || option != "--model" || dashes != "--" {
        return None;
    }
    let (port, socket) = model.to_str()?.split_once('=')?;
    let opened = sandbox::inside::forward(port.parse().ok()?, PathBuf::from(socket));
    match opened.and_then(|()| sandbox::inside::run(command)) {
        Ok(code) => end(code),
        Err(error) => {
            say(&format!("roleos: the box cannot be used: {error}"));
            Some(Exit::Refused)
        }
    }
}
