//! `roleos up` between an agent and its model, with a tap on each side: the requests that the agent sent and that the
//! model received must be equal, the body byte for byte, the headers except for the host and those that end at a hop.

use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::place::Place;
use crate::serving;

/// Headers that end at a hop.
const HOP: [&str; 4] = ["host", "connection", "keep-alive", "transfer-encoding"];

/// The gateway and its taps, which end when dropped.
#[derive(Debug)]
pub(crate) struct Between {
    child: Child,
    agent: Tap,
    model: Tap,
    log: std::path::PathBuf,
}

impl Drop for Between {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Between {
    /// Starts a gateway whose only upstream is the model.
    pub(crate) fn start(place: &Place, model: SocketAddr) -> Result<Self> {
        let model = Tap::on(model)?;
        let root = place.path("gateway");
        let role_os = root.join(".role-os");
        crate::place::make(&role_os)?;
        let config = format!(
            "[[gateway.upstream]]\nname = \"model\"\nkind = \"anthropic\"\nbase_url = \"http://{}\"\n",
            model.address
        );
        crate::place::put(&role_os.join("config.toml"), &config)?;
        let mut command = place.command(&place.roleos);
        let (child, address) = serving::start(command.arg("--root").arg(&root))?;
        Ok(Self {
            child,
            agent: Tap::on(address)?,
            model,
            log: role_os.join("gateway.jsonl"),
        })
    }

    /// Returns the URL that the agent uses for its model.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.agent.address)
    }

    /// Compares the two sides and searches for the session in the receipts. Returns the number of requests.
    pub(crate) fn check(&self) -> Result<String> {
        let (sent, received) = (self.agent.requests()?, self.model.requests()?);
        if sent.is_empty() {
            return Err(Failure::new("the agent sent nothing through the gateway"));
        }
        for one in &sent {
            if !received.contains(one) {
                let line = one.first.clone();
                let near = received.iter().find(|other| other.body == one.body);
                return Err(Failure::new(format!(
                    "`{line}` did not arrive as it was sent\nsent {:?}\ngot  {:?}",
                    one.headers,
                    near.map(|near| &near.headers)
                )));
            }
        }
        if received.len() != sent.len() {
            let (sent, received) = (sent.len(), received.len());
            return Err(Failure::new(format!(
                "{sent} requests were sent, {received} arrived"
            )));
        }
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let sessions = text
            .lines()
            .filter(|line| line.contains("\"session\":"))
            .count();
        if sessions == 0 {
            return Err(Failure::new(format!(
                "no receipt names the session: {text}"
            )));
        }
        let count = sent.len();
        Ok(format!(
            "gateway: {count} requests arrived byte for byte, {sessions} receipts name the session"
        ))
    }
}

/// One request from the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    first: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Bytes of one connection.
type Heard = Arc<Mutex<Vec<u8>>>;

/// A proxy that keeps the bytes of its clients.
#[derive(Debug)]
struct Tap {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Tap {
    fn on(target: SocketAddr) -> Result<Self> {
        let failed = |error: io::Error| Failure::of("cannot listen on loopback", error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bytes = Arc::new(Mutex::new(Vec::new()));
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(Arc::clone(&bytes));
                thread::spawn(move || {
                    // A side that is gone shows as an agent that cannot reach its model.
                    relay(stream, target, &bytes).ok();
                });
            }
        });
        Ok(Self { address, heard })
    }

    fn requests(&self) -> Result<Vec<Request>> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut requests = Vec::new();
        for bytes in heard.iter() {
            let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (request, behind) =
                    request(rest).ok_or_else(|| Failure::new("a request broke off"))?;
                requests.push(request);
                rest = behind;
            }
        }
        requests.sort();
        Ok(requests)
    }
}

fn relay(client: TcpStream, target: SocketAddr, heard: &Mutex<Vec<u8>>) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&target, Duration::from_secs(10))?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        io::copy(&mut from_server, &mut to_client).ok();
        to_client.shutdown(Shutdown::Both).ok();
    });
    let (mut client, mut server) = (client, server);
    let mut part = [0; 16 * 1024];
    loop {
        let read = client.read(&mut part)?;
        let part = part.get(..read).unwrap_or_default();
        if part.is_empty() {
            return server.shutdown(Shutdown::Write);
        }
        heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(part);
        server.write_all(part)?;
    }
}

/// Parses the first request in these bytes, and returns the rest.
fn request(bytes: &[u8]) -> Option<(Request, &[u8])> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let mut lines = head.split("\r\n");
    let first = lines.next()?.to_owned();
    let all: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let value = |wanted: &str| {
        all.iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str())
    };
    let rest = bytes.get(end + 4..)?;
    let (body, rest) = if value("transfer-encoding").is_some() {
        chunks(rest)?
    } else {
        let length = value("content-length").map_or(Some(0), |length| length.parse().ok())?;
        let (body, rest) = rest.split_at_checked(length)?;
        (body.to_vec(), rest)
    };
    let mut headers: Vec<_> = all
        .iter()
        // A chunked body is passed on with its length.
        .filter(|(name, _)| !HOP.contains(&name.as_str()) && name != "content-length")
        .cloned()
        .collect();
    headers.sort();
    Some((
        Request {
            first,
            headers,
            body,
        },
        rest,
    ))
}

fn chunks(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|part| part == b"\r\n")?;
        let size = std::str::from_utf8(bytes.get(..end)?).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let (chunk, rest) = bytes.get(end + 2..)?.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        bytes = rest.strip_prefix(b"\r\n")?;
        if size == 0 {
            return Some((body, bytes));
        }
    }
}
