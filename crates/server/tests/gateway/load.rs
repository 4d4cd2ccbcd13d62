//! Many clients at once while the upstream is killed and restarted: every client gets an answer, and every answer has
//! its receipt.

use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::stage::{Stage, read_message, upstream, write};

/// An upstream that can be killed with all its connections.
struct Mortal {
    address: SocketAddr,
    dead: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Mortal {
    fn born(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let mortal = Self {
            address: listener.local_addr().unwrap(),
            dead: Arc::default(),
            open: Arc::default(),
        };
        let (dead, open) = (Arc::clone(&mortal.dead), Arc::clone(&mortal.open));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if dead.load(Ordering::SeqCst) {
                    return;
                }
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let dead = Arc::clone(&dead);
                thread::spawn(move || {
                    while let Some(_request) = read_message(&mut stream, false) {
                        thread::sleep(Duration::from_millis(1));
                        if dead.load(Ordering::SeqCst) {
                            return;
                        }
                        write(&mut stream, 200, &[], "{}");
                    }
                });
            }
        });
        mortal
    }

    fn dies(&self) {
        self.dead.store(true, Ordering::SeqCst);
        // Wakes the listener.
        TcpStream::connect(self.address).ok();
        for stream in self.open.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

#[test]
fn no_receipt_is_lost_and_nobody_hangs_while_the_upstream_dies_and_comes_back() {
    let first = Mortal::born("127.0.0.1:0");
    let stage = Stage::new(&upstream(
        "mortal",
        "openai",
        &format!("http://{}", first.address),
        "[\"*\"]",
    ));
    let (good, bad, over) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    let since = |counter: &AtomicUsize, before: usize| {
        for _ in 0..2000 {
            if counter.load(Ordering::SeqCst) >= before + 50 {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("nothing goes on");
    };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let body = r#"{"model":"m"}"#;
                let request = stage.head("POST /v1/chat/completions", &[], body.len()) + body;
                let mut stream = stage.connect();
                while !over.load(Ordering::SeqCst) {
                    stream.write_all(request.as_bytes()).unwrap();
                    // A client's connection never breaks, regardless of the upstream.
                    let answer = read_message(&mut stream, false).expect("an answer");
                    let counter = match answer.status() {
                        200 => &good,
                        502 => &bad,
                        other => panic!("{other}"),
                    };
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        since(&good, 0);
        first.dies();
        since(&bad, 0);
        let before = count(&good);
        let _second = Mortal::born(&first.address.to_string());
        since(&good, before);
        over.store(true, Ordering::SeqCst);
    });
    let receipts = stage.receipts(count(&good) + count(&bad));
    let of_status = |status: u16| {
        receipts
            .iter()
            .filter(|receipt| receipt["status"] == status)
            .count()
    };
    assert_eq!(
        (of_status(200), of_status(502)),
        (count(&good), count(&bad))
    );
}
