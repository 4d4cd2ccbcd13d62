//! A small web server on a separate port: it reads a whole request, returns a test's answer, and counts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
    pub(crate) connection: usize,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Status, further headers and body.
    Http(u16, &'static str, String),
    /// No answer for this time.
    Silence(Duration),
    /// A head that promises more than follows.
    Stall(Duration),
}

/// Returns JSON with status 200.
pub(crate) fn json(body: &Value) -> Reply {
    Reply::Http(200, "", body.to_string())
}

/// The server; its threads end with the test program.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Adapter {
    pub(crate) fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let adapter = Self {
            url,
            seen: Arc::clone(&seen),
        };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                thread::spawn(move || {
                    // A caller that goes away ends the connection.
                    converse(&stream, connection, &*answer, &seen);
                });
            }
        });
        adapter
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn converse(
    stream: &TcpStream,
    connection: usize,
    answer: &(impl Fn(&Request) -> Reply + ?Sized),
    seen: &Mutex<Vec<Request>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
            reader
                .read_line(&mut headers)
                .ok()
                .filter(|read| *read > 0)?;
        }
        let length = headers.to_lowercase().lines().find_map(|header| {
            header
                .strip_prefix("content-length:")
                .and_then(|length| length.trim().parse::<usize>().ok())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let request = Request {
            line: line.trim().to_owned(),
            headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
            connection,
        };
        seen.lock().unwrap().push(request.clone());
        let mut stream = stream;
        match answer(&request) {
            Reply::Http(status, headers, body) => {
                let length = body.len();
                // In one piece: a second one would wait until the first is acknowledged.
                let whole = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
                );
                stream.write_all(whole.as_bytes()).ok()?;
            }
            Reply::Silence(time) => thread::sleep(time),
            Reply::Stall(time) => {
                stream
                    .write_all(b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{")
                    .ok()?;
                thread::sleep(time);
            }
        }
    }
}
