//! `roleos up` under kills and on a full disk: an answer that a client received completely has exactly one receipt.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::Options;
use crate::disk::Mounted;
use crate::place::{Place, Result, Started, failed};
use crate::report::{Finding, Row};
use crate::upstreams::{address, ask};

/// Number of simultaneous clients.
const CLIENTS: usize = 4;
/// Path of the log of receipts.
const RECEIPTS: &str = ".role-os/gateway.jsonl";
/// Path of the file with the address of a running process.
const RUNNING: &str = ".role-os/up.json";

/// Starts an upstream that answers correctly; it ends with this process.
fn upstream() -> Result<SocketAddr> {
    let listener = failed("cannot listen", TcpListener::bind("127.0.0.1:0"))?;
    let address = failed("cannot listen", listener.local_addr())?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut part = [0; 8192];
                let body = "{\"choices\":[]}";
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                // Requests are small and come in one part.
                while stream.read(&mut part).is_ok_and(|length| length > 0) {
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(address)
}

fn configure(place: &Place, upstream: SocketAddr) -> Result<()> {
    let config = format!(
        "[[gateway.upstream]]\nname = \"good\"\nkind = \"openai\"\nbase_url = \"http://{upstream}\"\n"
    );
    place.write(".role-os/config.toml", config.as_bytes())
}

fn start(place: &Place) -> Result<(Started, SocketAddr)> {
    // The file of a killed process names a port that is gone.
    std::fs::remove_file(place.path(RUNNING)).ok();
    let words = ["up", "--listen", "127.0.0.1:0"];
    let mut command = place.command(Path::new(&place.program(&words)));
    command.args(words);
    let running = Started::new(command, "")?;
    Ok((running, address(place)?))
}

fn request(address: SocketAddr) -> String {
    let body = "{\"model\":\"m\",\"messages\":[]}";
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the receipt that a complete answer names.
fn receipt_of(answer: &str) -> Option<String> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_whole = head.starts_with("HTTP/1.1 200") && body.contains("{\"choices\":[]}");
    let mut lines = head.lines().filter(|_| is_whole);
    lines.find_map(|line| Some(line.strip_prefix("x-roleos-trace-id: ")?.trim().to_owned()))
}

/// Counts each receipt in the log. A line that a kill cut off does not count.
fn receipts(place: &Place) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for line in place.read(RECEIPTS).lines() {
        let line: Option<serde_json::Value> = serde_json::from_str(line).ok();
        let trace = line.and_then(|line| Some(line.get("trace")?.as_str()?.to_owned()));
        if let Some(trace) = trace {
            *found.entry(trace).or_default() += 1;
        }
    }
    found
}

/// Compares every complete answer with the log.
fn compare(place: &Place, answered: &[String], row: &mut Row) {
    let found = receipts(place);
    for trace in answered {
        match found.get(trace) {
            Some(1) => {}
            other => row.finds(
                Finding::Lost,
                &format!("receipt {trace} is there {other:?} times"),
            ),
        }
    }
}

/// Kills the process under load, repeatedly in the same workspace.
pub(crate) fn kills(options: &Options, times: u32) -> Result<Row> {
    let place = Place::new(&options.programs)?;
    configure(&place, upstream()?)?;
    let mut row = Row::new("kill", "up, under load");
    let mut answered = Vec::new();
    for attempt in 0..times {
        let (mut running, address) = match start(&place) {
            Ok(started) => started,
            Err(why) => {
                row.finds(
                    Finding::NeededRepair,
                    &format!("after {attempt} kills: {why}"),
                );
                return Ok(row);
            }
        };
        let until = Instant::now() + Duration::from_millis(u64::from(attempt * 37 % 200) + 20);
        let whole = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let request = request(address);
                    while TcpStream::connect(address).is_ok() {
                        let answer = ask(address, &request, 64 * 1024);
                        let Some(trace) = receipt_of(&answer) else {
                            continue;
                        };
                        if let Ok(mut whole) = whole.lock() {
                            whole.push(trace);
                        }
                    }
                });
            }
            thread::sleep(until.saturating_duration_since(Instant::now()));
            running.child.kill().ok();
            running.child.wait().ok();
        });
        answered.extend(whole.into_inner().unwrap_or_default());
        row.tried += 1;
    }
    if answered.is_empty() {
        return Err("no answer came as a whole".to_owned());
    }
    row.subject = format!("{}: {} answers", row.subject, answered.len());
    compare(&place, &answered, &mut row);
    Ok(row)
}

/// Fills the disk of a running process, and frees it again: it reports that meanwhile, and no receipt is lost.
pub(crate) fn full_disk(options: &Options) -> Result<Row> {
    let name = ("full disk", "up, under load");
    let (mounted, folder) = match Mounted::new("size=8m,nr_inodes=600") {
        Ok(made) => made,
        Err(why) => return Ok(Row::skipped(name.0, name.1, &why)),
    };
    let place = Place::at(&options.programs, folder)?;
    configure(&place, upstream()?)?;
    let (mut running, address) = start(&place)?;
    let mut row = Row::new(name.0, name.1);
    let mut answered = Vec::new();
    let ready = || {
        let request =
            format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        ask(address, &request, 4096)
    };
    let some = |answered: &mut Vec<String>| {
        for _ in 0..20 {
            answered.extend(receipt_of(&ask(address, &request(address), 64 * 1024)));
        }
    };
    some(&mut answered);
    mounted.fill(0)?;
    some(&mut answered);
    row.tried += 1;
    if !ready().starts_with("HTTP/1.1 503") {
        row.finds(Finding::Lost, "`/readyz` does not say that receipts wait");
    }
    mounted.make_room();
    some(&mut answered);
    if !ready().starts_with("HTTP/1.1 200") {
        row.finds(Finding::NeededRepair, "`/readyz` does not recover");
    }
    running.child.kill().ok();
    running.wait(Duration::from_secs(5))?;
    compare(&place, &answered, &mut row);
    if answered.len() != 60 {
        let words = format!("{} answers of 60", answered.len());
        row.finds(Finding::NeededRepair, &words);
    }
    drop(mounted);
    Ok(row)
}
