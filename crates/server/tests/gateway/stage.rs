//! A separate gateway, upstreams that report exactly the received bytes, and a client that sends exactly the given
//! bytes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use serde_json::Value;
use server::up::{App, serve};
use tokio::sync::oneshot;

/// Longer than any step of a test.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A message as it was on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Lines after a chunked body.
    pub(crate) trailers: Vec<String>,
    /// Number of the upstream's connection that carried it.
    pub(crate) connection: usize,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    /// Returns headers without hop-by-hop ones, and without the one that every answer of the gateway has.
    pub(crate) fn lasting(&self) -> Vec<(String, String)> {
        let hop = [
            "host",
            "connection",
            "transfer-encoding",
            "keep-alive",
            "x-roleos-trace-id",
        ];
        let mut lasting = self.headers.clone();
        lasting.retain(|(name, _)| !hop.contains(&name.to_lowercase().as_str()));
        lasting.sort();
        lasting
    }
}

/// Reads one message; `None` at the end of the connection.
pub(crate) fn read_message(stream: &mut TcpStream, is_head: bool) -> Option<Message> {
    let mut message = Message::default();
    let head = read_head(stream)?;
    let mut lines = head.lines();
    message.first = lines.next()?.to_owned();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        message.headers.push((name.to_owned(), value.to_owned()));
    }
    let length = message
        .header("content-length")
        .map(|length| length.parse::<usize>().unwrap());
    let chunked = message.header("transfer-encoding").is_some();
    let is_answer = message.first.starts_with("HTTP/");
    if is_head {
        return Some(message);
    }
    match length {
        Some(length) => {
            message.body = vec![0; length];
            stream.read_exact(&mut message.body).ok()?;
        }
        None if chunked => {
            while let Some(size) = read_size(stream).filter(|size| *size > 0) {
                read_sized(stream, size, &mut message.body)?;
            }
            message.trailers = read_trailers(stream)?;
        }
        None if is_answer && !matches!(message.status(), 204 | 304) => {
            stream.read_to_end(&mut message.body).ok()?;
        }
        None => {}
    }
    Some(message)
}

/// Reads the head, without the empty line after it.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    head.truncate(head.len() - 4);
    Some(String::from_utf8(head).unwrap())
}

/// Adds a chunk; returns `false` after the last.
pub(crate) fn read_chunk(stream: &mut TcpStream, body: &mut Vec<u8>) -> Option<bool> {
    let size = read_size(stream)?;
    read_sized(stream, size, body)?;
    Some(size > 0)
}

fn read_line(stream: &mut TcpStream) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    Some(String::from_utf8(line).unwrap().trim_end().to_owned())
}

fn read_size(stream: &mut TcpStream) -> Option<usize> {
    Some(usize::from_str_radix(&read_line(stream)?, 16).unwrap())
}

fn read_sized(stream: &mut TcpStream, size: usize, body: &mut Vec<u8>) -> Option<()> {
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).ok()?;
    body.extend_from_slice(&chunk[..size]);
    Some(())
}

/// Reads the trailers after the last chunk, one per line.
fn read_trailers(stream: &mut TcpStream) -> Option<Vec<String>> {
    let mut trailers = Vec::new();
    loop {
        match read_line(stream)? {
            end if end.is_empty() => return Some(trailers),
            trailer => trailers.push(trailer),
        }
    }
}

/// An upstream; its threads end with the test program.
#[derive(Clone, Debug)]
pub(crate) struct Stub {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Message>>>,
}

impl Stub {
    /// Starts an upstream; `answer` writes the answer to every request.
    pub(crate) fn new(answer: impl Fn(&Message, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, all) = (Arc::new(answer), Arc::clone(&seen));
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || {
                    let mut stream = stream;
                    while let Some(mut message) = read_message(&mut stream, false) {
                        message.connection = connection;
                        seen.lock().unwrap().push(message.clone());
                        answer(&message, &mut stream);
                    }
                });
            }
        });
        Self { url, seen }
    }

    /// Starts an upstream that always answers this JSON with status 200.
    pub(crate) fn json(body: &Value) -> Self {
        let body = body.to_string();
        Self::new(move |_, stream| {
            write(stream, 200, &[("content-type", "application/json")], &body);
        })
    }

    pub(crate) fn seen(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Message {
        self.seen().pop().unwrap()
    }
}

/// Writes a whole answer.
pub(crate) fn write(stream: &mut TcpStream, status: u16, headers: &[(&str, &str)], body: &str) {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
}

/// Returns an address where nothing listens.
pub(crate) fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Returns a `[[gateway.upstream]]` section.
pub(crate) fn upstream(name: &str, kind: &str, url: &str, models: &str) -> String {
    format!(
        "[[gateway.upstream]]\nname = \"{name}\"\nkind = \"{kind}\"\nbase_url = \"{url}\"\nmodels = {models}\n"
    )
}

/// A gateway in this process, in a separate workspace.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stage {
    pub(crate) fn new(config: &str) -> Self {
        Self::with(config, |_| {})
    }

    /// Starts a gateway; `prepare` writes files into the workspace first.
    pub(crate) fn with(config: &str, prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".role-os")).unwrap();
        prepare(folder.path());
        let config = Config::parse(Path::new("config.toml"), config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let app = App::open(workspace, config, Environment::default(), address).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let stopped = async { drop(stopped.await) };
                serve::serve(&Arc::new(app), listener, stopped).await;
            });
            runtime.shutdown_timeout(Duration::from_millis(200));
        });
        Self {
            folder,
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Sends these bytes and reads one answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Message {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let is_head = request.starts_with(b"HEAD ");
        read_message(&mut stream, is_head).expect("an answer")
    }

    /// Returns the head of a request to this gateway.
    pub(crate) fn head(&self, line: &str, headers: &[(&str, &str)], length: usize) -> String {
        let mut head = format!("{line} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if length > 0 {
            head += &format!("content-length: {length}\r\n");
        }
        head + "\r\n"
    }

    pub(crate) fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Message {
        let head = self.head(line, headers, body.len());
        self.raw(&[head.as_bytes(), body.as_bytes()].concat())
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Message {
        self.send(
            &format!("POST {path}"),
            &[("content-type", "application/json")],
            body,
        )
    }

    pub(crate) fn get(&self, path: &str) -> Message {
        self.send(&format!("GET {path}"), &[], "")
    }

    /// Returns the receipts so far, once there are that many.
    pub(crate) fn receipts(&self, wanted: usize) -> Vec<Value> {
        let path = self.folder.path().join(".role-os/gateway.jsonl");
        let since = Instant::now();
        loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            if lines.len() >= wanted || since.elapsed() > LONG {
                assert_eq!(lines.len(), wanted, "{text}");
                return lines;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn receipt(&self) -> Value {
        self.receipts(1).remove(0)
    }

    /// Requests its end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Returns `true` if the other side has closed, after the remaining data.
pub(crate) fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    stream.shutdown(Shutdown::Both).ok();
    !matches!(&read, Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
}
