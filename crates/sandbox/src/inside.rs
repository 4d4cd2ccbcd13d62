//! Runs inside of a sandbox, before its command: opens a loopback port that leads to a socket outside of the sandbox.
//!
//! A sandbox without a network has its own loopback device, so only this port is reachable.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Listens on a loopback port and connects every client to `socket`; ends with the process.
///
/// # Errors
/// Fails if the port cannot be used.
pub fn forward(port: u16, socket: PathBuf) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let socket = socket.clone();
            thread::spawn(move || connect(&client, &socket));
        }
    });
    Ok(())
}

/// Runs a command and returns its exit code; 128 plus the number for a signal.
///
/// # Errors
/// Fails if it cannot be started.
pub fn run(words: &[OsString]) -> io::Result<i32> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::other("a command is needed"))?;
    let status = Command::new(program).args(arguments).status()?;
    let signal = || 128 + status.signal().unwrap_or(0);
    Ok(status.code().unwrap_or_else(signal))
}

/// Copies bytes in both directions until both sides are closed. A client whose server is missing is disconnected.
fn connect(client: &TcpStream, socket: &Path) -> Option<()> {
    let server = UnixStream::connect(socket).ok()?;
    client.set_nodelay(true).ok()?;
    let (mut from_client, mut to_server) = (client.try_clone().ok()?, server.try_clone().ok()?);
    let sending = thread::spawn(move || {
        io::copy(&mut from_client, &mut to_server).ok();
        to_server.shutdown(Shutdown::Write).ok();
    });
    io::copy(&mut &server, &mut &*client).ok();
    client.shutdown(Shutdown::Both).ok();
    sending.join().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_port_leads_to_the_socket_in_both_directions() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("model.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut asked = String::new();
            client.read_to_string(&mut asked).unwrap();
            client
                .write_all(format!("answer to {asked}").as_bytes())
                .unwrap();
        });
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        forward(port, socket).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer to question");
    }

    #[test]
    fn the_exit_code_is_the_commands_own() {
        let code = |text: &str| run(&["sh", "-c", text].map(OsString::from)).unwrap();
        assert_eq!((code("exit 7"), code("kill -9 $$")), (7, 137));
        assert!(run(&[]).is_err());
    }
}
