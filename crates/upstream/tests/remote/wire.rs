//! A server that writes exactly the bytes of a test, at the test's time: for answers that no web server sends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// The server; its threads end with the test program.
#[derive(Debug)]
pub(crate) struct Wire {
    address: SocketAddr,
}

impl Wire {
    /// Runs `script` with every connection, after the request has been read.
    pub(crate) fn new(script: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        Self::at_once(move |mut stream| {
            read_question(&mut stream);
            script(stream);
        })
    }

    /// Does the same without waiting for the request: a script that answers before it is sent answers nothing.
    pub(crate) fn at_once(script: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = script.clone();
                thread::spawn(move || script(stream));
            }
        });
        Self { address }
    }

    /// Runs `script` when the request has arrived, and leaves it unread: such a connection is reset when it is closed.
    pub(crate) fn unread(script: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        Self::at_once(move |stream| {
            let _length = stream.peek(&mut [0; 16]);
            script(stream);
        })
    }

    /// Creates a server that writes this and closes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |mut stream| say(&mut stream, &answer))
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

fn read_question(stream: &mut TcpStream) {
    let mut question = Vec::new();
    let mut buffer = [0; 1024];
    while !question.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => question.extend_from_slice(&buffer[..count]),
        }
    }
}

/// Writes if the other side still reads.
pub(crate) fn say(stream: &mut TcpStream, bytes: &[u8]) {
    let _gone = stream.write_all(bytes);
}

/// Writes the same repeatedly until the other side closes, or for five seconds.
pub(crate) fn say_forever(stream: &mut TcpStream, bytes: &[u8], pause: Duration) {
    let since = std::time::Instant::now();
    while since.elapsed() < Duration::from_secs(5) && stream.write_all(bytes).is_ok() {
        thread::sleep(pause);
    }
}

/// Keeps the connection open until the other side closes it.
pub(crate) fn hold(mut stream: TcpStream) {
    let _closed = stream.read(&mut [0; 16]);
}

/// Formats one chunk of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
