//! `box-hook`: passes one event of an agent in a box to a socket, and its answer back. Decides and stores nothing.
//!
//! The harness outside of the box answers. Every failure here blocks the call.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use guard::hook::MAX_EVENT;

use crate::exit::Exit;
use crate::write_error;

/// The harness answers within milliseconds; agents wait five seconds.
const TIMEOUT: Duration = Duration::from_millis(4500);

/// Forwards an event if the arguments, the program's name first, are `box-hook SOCKET`.
pub fn direct(arguments: &[OsString]) -> Option<Exit> {
    let [_, command, socket] = arguments else {
        return None;
    };
    if command != "box-hook" {
        return None;
    }
    Some(forward(Path::new(socket)).unwrap_or_else(|error| {
        write_error(&format!(
            "roleos: this call cannot be judged, so it is refused: {error}\n"
        ));
        Exit::Refused
    }))
}

fn forward(socket: &Path) -> io::Result<Exit> {
    let mut event = Vec::new();
    io::stdin().lock().take(MAX_EVENT).read_to_end(&mut event)?;
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let length = u32::try_from(event.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&event)?;
    let mut code = [2];
    stream.read_exact(&mut code)?;
    let (out, err) = (frame(&mut stream)?, frame(&mut stream)?);
    io::stderr().write_all(&err)?;
    io::stdout().write_all(&out)?;
    Ok(if code == [0] {
        Exit::Done
    } else {
        Exit::Refused
    })
}

fn frame(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    let length = u64::from(u32::from_be_bytes(length)).min(MAX_EVENT);
    if stream.take(length).read_to_end(&mut bytes)? as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
