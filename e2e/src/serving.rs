//! Start of `roleos up`, and its address.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::failure::{Failure, Result};

/// Starts it with these arguments before `up`, on a free port.
pub(crate) fn start(command: &mut Command) -> Result<(Child, SocketAddr)> {
    let mut child = command
        .args(["--json", "up", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Failure::of("cannot start `roleos up`", error))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| Failure::of("cannot read what `roleos up` says", error))?;
    }
    let told: Value = serde_json::from_str(&line)
        .map_err(|error| Failure::of(format!("`roleos up` said `{line}`"), error))?;
    let address = told.get("address").and_then(Value::as_str);
    let address = address.and_then(|address| address.parse().ok());
    let address = address.ok_or_else(|| Failure::new("`roleos up` told no address"))?;
    Ok((child, address))
}
