//! A person at a terminal: types the approve command of a refusal and confirms.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use crate::failure::{Failure, Result};
use crate::place::Place;

/// Returns the id in `roleos approve <id>` of a refusal.
pub(crate) fn id_in(refusal: &str) -> Option<String> {
    let (_, rest) = refusal.split_once("roleos approve ")?;
    let id: String = rest
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect();
    (!id.is_empty()).then_some(id)
}

/// Approves on a separate terminal (by `script` of util-linux) and returns the output that the person saw.
pub(crate) fn approves(place: &Arc<Place>, id: &str) -> Result<String> {
    let line = format!("{} approve {id}", place.roleos.display());
    let mut child = place
        .command("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::of("cannot start `script`", error))?;
    if let Some(keyboard) = &mut child.stdin {
        keyboard
            .write_all(b"y\n")
            .map_err(|error| Failure::of("cannot type into the terminal", error))?;
    }
    let output = child
        .wait_with_output()
        .map_err(|error| Failure::of("cannot wait for `script`", error))?;
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(shown)
    } else {
        Err(Failure::new(format!("`{line}` failed:\n{shown}")))
    }
}
