//! Upstreams that stall, lie, break off and flood, behind a real `roleos up`: it continues, answers, and keeps its
//! receipts.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Options;
use crate::place::{Place, Result, Started, failed};
use crate::report::{Finding, Row};

/// Time limit of a client for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A faulty upstream, as a function that writes to a connection after its request.
type Kind = (&'static str, fn(TcpStream));

/// All faulty upstreams.
const KINDS: &[Kind] = &[
    ("stalls", |_stream| thread::sleep(PATIENCE * 2)),
    ("closes without an answer", drop),
    ("announces more than it sends", |stream| {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{}");
    }),
    ("sends no HTTP", |stream| send(stream, &[0xff; 4096])),
    ("sends two lengths", |stream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 4\r\n\r\n{}{}";
        send(stream, head);
    }),
    ("sends a broken chunk", |stream| {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n";
        send(stream, head);
    }),
    ("sends an endless head", |mut stream| {
        let until = Instant::now() + PATIENCE;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").ok();
        while Instant::now() < until && stream.write_all(b"x-more: and more\r\n").is_ok() {}
    }),
    ("floods", |mut stream| {
        let until = Instant::now() + PATIENCE;
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head).ok();
        let chunk = [b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat();
        while Instant::now() < until && stream.write_all(&chunk).is_ok() {}
    }),
];

fn send(mut stream: TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).ok();
}

/// Tries every kind with a few simultaneous requests.
pub(crate) fn upstreams(options: &Options) -> Vec<(&'static str, Result<Row>)> {
    KINDS
        .iter()
        .filter(|(name, _)| options.wants(&format!("upstream: {name}")))
        .map(|(name, act)| (*name, one(options, name, *act)))
        .collect()
}

fn one(options: &Options, name: &str, act: fn(TcpStream)) -> Result<Row> {
    let listener = failed("cannot listen", TcpListener::bind("127.0.0.1:0"))?;
    let upstream = failed("cannot listen", listener.local_addr())?;
    // Ends with the process; there is one per kind.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut head = [0; 4096];
                if stream.read(&mut head).is_ok_and(|length| length > 0) {
                    act(stream);
                }
            });
        }
    });
    let place = Place::new(&options.programs)?;
    let config = format!(
        "[[gateway.upstream]]\nname = \"bad\"\nkind = \"openai\"\nbase_url = \"http://{upstream}/v1\"\n"
    );
    place.write(".role-os/config.toml", config.as_bytes())?;
    let words = ["up", "--listen", "127.0.0.1:0"];
    let mut command = place.command(Path::new(&place.program(&words)));
    command.args(words);
    let running = Started::new(command, "")?;
    let mut row = Row::new("upstream", name);
    let tried = ask_all(&place, &mut row);
    let mut running = running;
    if let Some(status) = failed("cannot wait", running.child.try_wait())? {
        row.finds(Finding::Crashed, &format!("`roleos up` ended: {status}"));
    }
    running.child.kill().ok();
    running.wait(PATIENCE)?;
    tried.map(|()| row)
}

/// Sends requests, then checks that the process answers and that each request has its receipt.
fn ask_all(place: &Place, row: &mut Row) -> Result<()> {
    let address = address(place)?;
    let body = "{\"model\":\"m\",\"messages\":[]}";
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask(address, &request, 256 * 1024));
        }
    });
    row.tried += 4;
    let alive = ask(
        address,
        &format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
        4096,
    );
    if !alive.contains("200 OK") {
        row.finds(Finding::NeededRepair, &format!("/healthz: {alive}"));
    }
    let until = Instant::now() + PATIENCE * 3;
    let receipts = || place.read(".role-os/gateway.jsonl").lines().count();
    while receipts() < 4 && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    if receipts() != 4 {
        row.finds(Finding::Lost, &format!("{} receipts of 4", receipts()));
    }
    Ok(())
}

/// Waits until the process publishes its address.
pub(crate) fn address(place: &Place) -> Result<SocketAddr> {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        let told: Option<serde_json::Value> =
            serde_json::from_str(&place.read(".role-os/up.json")).ok();
        let address = told.and_then(|told| told.get("address")?.as_str()?.parse().ok());
        if let Some(address) = address {
            return Ok(address);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err("`roleos up` did not start".to_owned())
}

/// Sends a request and reads at most this many bytes of the answer, within the client's time limit.
pub(crate) fn ask(address: SocketAddr, request: &str, most: u64) -> String {
    let mut answer = Vec::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        stream.set_read_timeout(Some(PATIENCE)).ok();
        stream.write_all(request.as_bytes()).ok();
        stream.take(most).read_to_end(&mut answer).ok();
    }
    String::from_utf8_lossy(&answer).into_owned()
}
