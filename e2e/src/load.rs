//! A minute of load on `roleos up` while its upstream is killed and restarted in the middle: every request ends,
//! every request has exactly one receipt that agrees, and nothing stays open.
//!
//! The upstream is this program as a separate process, so that `SIGKILL` has the same effect as for a user.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::{place, serving};

/// Number of simultaneous clients.
const CLIENTS: usize = 32;

/// Time limit of a client for the next byte.
const PATIENCE: Duration = Duration::from_secs(15);

/// A client's view of one request.
#[derive(Clone, Debug)]
struct Seen {
    id: String,
    status: u16,
    /// Set if the answer was complete.
    whole: bool,
}

/// A process that is killed when dropped.
struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Runs the load for this many seconds; returns a report.
pub(crate) fn run(roleos: &Path, seconds: u64) -> Result<String> {
    let folder = tempfile::tempdir().map_err(|error| Failure::of("cannot make a folder", error))?;
    let upstream = free()?;
    let first = start_upstream(upstream)?;
    place::make(&folder.path().join(".role-os"))?;
    let config = format!(
        "[[gateway.upstream]]\nname = \"mortal\"\nkind = \"openai\"\nbase_url = \"http://{upstream}\"\n"
    );
    place::put(&folder.path().join(".role-os/config.toml"), &config)?;
    let mut command = Command::new(roleos);
    command.arg("--root").arg(folder.path());
    let (child, gateway) = serving::start(&mut command)?;
    let mut gateway_process = Mortal(child);
    let over = AtomicBool::new(false);
    let waiting = AtomicUsize::new(0);
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (over, waiting) = (&over, &waiting);
                scope.spawn(move || client(gateway, number, over, waiting))
            })
            .collect();
        let third = Duration::from_secs(seconds) / 3;
        thread::sleep(third);
        drop(first);
        thread::sleep(third);
        let second = start_upstream(upstream);
        thread::sleep(third);
        over.store(true, Ordering::SeqCst);
        let seen: Vec<Result<Vec<Seen>>> = clients
            .into_iter()
            .map(|client| {
                client
                    .join()
                    .unwrap_or_else(|_| Err(Failure::new("a client broke")))
            })
            .collect();
        second.map(|_second| seen)
    })?;
    let seen = seen.into_iter().collect::<Result<Vec<_>>>()?.concat();
    closed(gateway)?;
    let ended = end(&mut gateway_process.0)?;
    let summary = compare(&seen, &folder.path().join(".role-os/gateway.jsonl"))?;
    Ok(format!(
        "{seconds} s, {CLIENTS} clients, the upstream killed and started again: {summary}; ended {ended} ms after SIGTERM"
    ))
}

fn free() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|error| Failure::of("no port is free", error))
}

fn start_upstream(address: SocketAddr) -> Result<Mortal> {
    let program = std::env::current_exe().map_err(|error| Failure::of("no program", error))?;
    let child = Command::new(program)
        .args(["--upstream", &address.to_string()])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| Failure::of("cannot start the upstream", error))?;
    let child = Mortal(child);
    let since = Instant::now();
    while TcpStream::connect(address).is_err() {
        if since.elapsed() > PATIENCE {
            return Err(Failure::new("the upstream does not listen"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(child)
}

/// Sends requests repeatedly, whole answers and streams in turns, and gives every request an id that its receipt will
/// have.
fn client(
    gateway: SocketAddr,
    number: usize,
    over: &AtomicBool,
    waiting: &AtomicUsize,
) -> Result<Vec<Seen>> {
    let mut seen = Vec::new();
    let mut connection: Option<BufReader<TcpStream>> = None;
    for turn in 0_usize.. {
        if over.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("{number}-{turn}");
        let streams = turn % 3 == 0;
        let lost = |error: io::Error| {
            let stuck = waiting.load(Ordering::SeqCst);
            Failure::of(
                format!("request {id} got no answer ({stuck} were waiting)"),
                error,
            )
        };
        let mut reader = match connection.take() {
            Some(reader) => reader,
            None => connect(gateway).map_err(lost)?,
        };
        waiting.fetch_add(1, Ordering::SeqCst);
        ask(&mut reader, gateway, &id, streams).map_err(lost)?;
        let (status, whole) = answer(&mut reader).map_err(lost)?;
        waiting.fetch_sub(1, Ordering::SeqCst);
        // A response that broke off has ended its connection; no other may.
        if whole {
            connection = Some(reader);
        } else if !streams {
            return Err(Failure::new(format!(
                "request {id} broke off in the middle"
            )));
        }
        if status != 200 {
            thread::sleep(Duration::from_millis(20));
        }
        seen.push(Seen { id, status, whole });
    }
    Ok(seen)
}

fn connect(gateway: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(gateway)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

fn ask(
    reader: &mut BufReader<TcpStream>,
    gateway: SocketAddr,
    id: &str,
    streams: bool,
) -> io::Result<()> {
    let body = format!(r#"{{"model":"m","stream":{streams},"messages":[]}}"#);
    let text = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {gateway}\r\ncontent-type: application/json\r\n\
         x-claude-code-session-id: {id}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    reader.get_mut().write_all(text.as_bytes())
}

/// Returns the status, and `true` if the body was complete. Silence is an error.
fn answer(reader: &mut BufReader<TcpStream>) -> io::Result<(u16, bool)> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(line.clone()))?;
    let (mut length, mut chunked) = (0_u64, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(told) = header.strip_prefix("content-length:") {
            length = told.trim().parse().map_err(io::Error::other)?;
        }
        chunked |= header.starts_with("transfer-encoding:");
    }
    let read = if chunked {
        chunks(reader)
    } else {
        let read = io::copy(&mut reader.by_ref().take(length), &mut io::sink());
        read.map(|read| read == length)
    };
    match read {
        Ok(whole) => Ok((status, whole)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok((status, false)),
        Err(error) => Err(error),
    }
}

/// Reads chunks to the last; `false` if the connection ends before it.
fn chunks(reader: &mut BufReader<TcpStream>) -> io::Result<bool> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Ok(size) = u64::from_str_radix(line.trim(), 16) else {
            return Ok(false);
        };
        let wanted = size + 2;
        if io::copy(&mut reader.by_ref().take(wanted), &mut io::sink())? < wanted {
            return Ok(false);
        }
        if size == 0 {
            return Ok(true);
        }
    }
}

/// Waits until the gateway has no open request except the one of this check.
fn closed(gateway: SocketAddr) -> Result<()> {
    let since = Instant::now();
    loop {
        let text = metrics(gateway).map_err(|error| Failure::of("cannot read metrics", error))?;
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<i64>().ok())
        };
        let open = value("roleos_gateway_open_answers ");
        let connections = value("roleos_gateway_connections ");
        if (open, connections) == (Some(0), Some(1)) {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            return Err(Failure::new(format!(
                "{open:?} answers and {connections:?} connections stay open"
            )));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn metrics(gateway: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(gateway)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let text = format!("GET /metrics HTTP/1.1\r\nhost: {gateway}\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Asks the gateway to end; returns the milliseconds until it has.
fn end(child: &mut Child) -> Result<u128> {
    let since = Instant::now();
    place::output(Command::new("kill").arg(child.id().to_string()))?;
    while since.elapsed() < Duration::from_secs(5) {
        let ended = child.try_wait();
        if ended
            .map_err(|error| Failure::of("cannot wait", error))?
            .is_some()
        {
            return Ok(since.elapsed().as_millis());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(Failure::new("it did not end within 5 s"))
}

/// Checks that every request has exactly one receipt, which agrees.
fn compare(seen: &[Seen], log: &Path) -> Result<String> {
    let text = fs::read_to_string(log).map_err(|error| Failure::of("no receipts", error))?;
    let mut receipts: HashMap<String, Value> = HashMap::new();
    for line in text.lines() {
        let receipt: Value = serde_json::from_str(line)
            .map_err(|error| Failure::of(format!("a receipt is `{line}`"), error))?;
        let id = receipt.get("session").and_then(Value::as_str);
        let id = id
            .ok_or_else(|| Failure::new(format!("a receipt of nobody: {line}")))?
            .to_owned();
        if receipts.insert(id, receipt).is_some() {
            return Err(Failure::new(format!("a second receipt: {line}")));
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in seen {
        let Some(receipt) = receipts.remove(&one.id) else {
            return Err(Failure::new(format!("no receipt for {one:?}")));
        };
        let status = receipt.get("status").and_then(Value::as_u64);
        let outcome = receipt.get("outcome").and_then(Value::as_str);
        let expected = if one.whole {
            "complete"
        } else {
            "upstream_broke"
        };
        if status != Some(u64::from(one.status)) || outcome != Some(expected) {
            return Err(Failure::new(format!("{one:?} has the receipt {receipt}")));
        }
        let kind = if one.whole {
            format!("whole answers with {}", one.status)
        } else {
            "streams that broke off".to_owned()
        };
        *counts.entry(kind).or_default() += 1;
    }
    if let Some(left) = receipts.values().next() {
        return Err(Failure::new(format!("a receipt without a request: {left}")));
    }
    for needed in ["whole answers with 200", "whole answers with 502"] {
        if !counts.contains_key(needed) {
            return Err(Failure::new(format!("there were no {needed}: {counts:?}")));
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    Ok(format!(
        "{} requests, as many receipts ({})",
        seen.len(),
        counts.join(", ")
    ))
}

/// Runs the upstream: answers whole or in three pieces, until it is killed.
pub(crate) fn be_upstream(address: SocketAddr) -> Result<()> {
    let failed = |error: io::Error| Failure::of("the upstream cannot listen", error);
    let listener = TcpListener::bind(address).map_err(failed)?;
    for stream in listener.incoming().flatten() {
        thread::spawn(move || converse(stream).ok());
    }
    Ok(())
}

fn converse(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let header = line.trim().to_ascii_lowercase();
            if let Some(told) = header.strip_prefix("content-length:") {
                length = told.trim().parse().map_err(io::Error::other)?;
            }
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let stream = reader.get_mut();
        if !body.windows(13).any(|part| part == b"\"stream\":true") {
            thread::sleep(Duration::from_millis(2));
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")?;
            continue;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        for _ in 0..3 {
            stream.write_all(b"a\r\ndata: {}\n\n\r\n")?;
            thread::sleep(Duration::from_millis(20));
        }
        stream.write_all(b"0\r\n\r\n")?;
    }
}
