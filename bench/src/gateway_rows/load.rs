//! A small upstream, and two kinds of load on it or a proxy before it: at a fixed rate, and as fast as it answers.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Returns a body of 1.1 kB, the size of a short conversation.
pub(super) fn body(stream: bool) -> String {
    let text = "Is this release note true to the change? ".repeat(24);
    format!(
        r#"{{"model":"gpt-bench","stream":{stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#
    )
}

/// Returns a whole request, with these further header lines.
pub(super) fn request(address: SocketAddr, stream: bool, more: &str) -> Vec<u8> {
    let body = body(stream);
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         authorization: Bearer bench\r\n{more}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Starts an upstream that answers at once; a stream stays open after its first event.
#[expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to say"
)]
pub(super) fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let small = thread::Builder::new().stack_size(128 * 1024);
            small
                .spawn(move || {
                    // A client that disconnects ends the conversation.
                    answer(stream).ok();
                })
                .expect("a thread");
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let text = "It is true to the change. ".repeat(30);
    let body = format!(
        r#"{{"id":"c1","object":"chat.completion","created":1,"model":"gpt-bench","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"{text}"}}}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
    );
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let event =
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It\"}}]}\n\n";
    let begun = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n",
        event.len()
    );
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let Some(message) = read_message(&mut stream, &mut buffer)? else {
            return Ok(());
        };
        let streams = message.windows(13).any(|part| part == b"\"stream\":true");
        stream.write_all(if streams {
            begun.as_bytes()
        } else {
            whole.as_bytes()
        })?;
    }
}

/// Reads one message with a length; `None` at the end.
fn read_message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    buffer.clear();
    let mut part = [0; 16 * 1024];
    loop {
        if let Some(length) = whole(buffer)
            && buffer.len() >= length
        {
            return Ok(Some(std::mem::take(buffer)));
        }
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(part.get(..read).unwrap_or_default());
    }
}

/// Returns the length of the message that begins here, once its head is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(bytes.get(..head)?).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    Some(
        head + length
            .and_then(|length| length.trim().parse().ok())
            .unwrap_or(0),
    )
}

/// A connection that sends requests and waits for answers.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn new(address: SocketAddr, more: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self {
            stream,
            request: request(address, false, more),
            buffer: Vec::new(),
        })
    }

    fn ask(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.request)?;
        let answer = read_message(&mut self.stream, &mut self.buffer)?;
        let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
        if answer.starts_with(b"HTTP/1.1 200") {
            Ok(())
        } else {
            Err(io::Error::other(
                String::from_utf8_lossy(&answer).into_owned(),
            ))
        }
    }
}

/// Returns the sorted times from the moment at which each request was due, in microseconds: a late answer delays the
/// next one as well, as for a user.
#[expect(
    clippy::expect_used,
    reason = "a peer that does not answer cannot be measured"
)]
pub(super) fn at_rate(address: SocketAddr, per_second: u32, seconds: u32) -> Vec<f64> {
    const THREADS: u32 = 16;
    let count = per_second * seconds;
    let start = Instant::now() + Duration::from_millis(200);
    let asking = |first: u32| {
        let mut client = Client::new(address, "").expect("a connection");
        client.ask().expect("an answer");
        let mut times = Vec::new();
        for number in (first..count).step_by(THREADS as usize) {
            let due = start + Duration::from_secs(1) * number / per_second;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let begun = Instant::now().max(due);
            // Oversleeping of the machine does not count for the server.
            let late = begun
                .saturating_duration_since(due)
                .min(Duration::from_micros(200));
            client.ask().expect("an answer");
            times.push((due.elapsed().saturating_sub(late)).as_secs_f64() * 1e6);
        }
        times
    };
    let mut times: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|first| scope.spawn(move || asking(first)))
            .collect();
        let times = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        times.flatten().collect()
    });
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the answers per second over this many connections, each of which sends the next request as soon as it has
/// its answer.
#[expect(
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a peer that does not answer cannot be measured; counts are small"
)]
pub(super) fn throughput(
    address: SocketAddr,
    more: &str,
    connections: usize,
    time: Duration,
) -> f64 {
    let (done, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let mut client = Client::new(address, more).expect("a connection");
                while !over.load(Ordering::Relaxed) {
                    client.ask().expect("an answer");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Opens this many streams, each of which has had its first event.
#[expect(
    clippy::expect_used,
    reason = "a stream that does not open is a failed bench"
)]
pub(super) fn streams(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let request = request(address, true, "");
    let open = |_| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream.write_all(&request).expect("a request");
        let mut seen = Vec::new();
        let mut part = [0; 1024];
        while !seen.windows(6).any(|part| part == b"data: ") {
            let read = stream.read(&mut part).expect("an event");
            assert!(read > 0, "the stream ended");
            seen.extend_from_slice(part.get(..read).unwrap_or_default());
        }
        stream
    };
    (0..count).map(open).collect()
}
