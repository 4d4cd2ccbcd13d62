//! Seals in the background: in a separate process that outlives the hook that starts it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use base::workspace::Workspace;

/// Starts `roleos sessions seal --all` for a workspace and does not wait for it. The next process does what this one
/// cannot.
///
/// # Errors
/// The program cannot be started.
pub fn start(program: &Path, workspace: &Workspace) -> io::Result<()> {
    detach(
        program,
        workspace,
        &["sessions", "seal", "--all", "--quiet"],
    )
}

/// Starts `roleos ship` for a workspace and does not wait for it. The next process sends what this one cannot.
///
/// # Errors
/// The program cannot be started.
pub fn start_shipping(program: &Path, workspace: &Workspace) -> io::Result<()> {
    detach(program, workspace, &["ship", "--background", "--quiet"])
}

fn detach(program: &Path, workspace: &Workspace, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).arg("--root").arg(workspace.root());
    if let Some(state) = workspace.state() {
        command.arg("--trust-store").arg(state);
    }
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal to the agent's process group must not end it.
        .process_group(0)
        .spawn()
        .map(drop)
}
