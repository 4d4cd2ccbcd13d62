//! A program that dispatches through the team's store as fast as it can, for tests that kill it and for measurements.
//!
//! Arguments: URL, folder, role, threads, the time by its own clock, and `each` or `rate`. With `each` it prints every
//! dispatch that was written down, after it was acknowledged: trace id, route, and the machine's uptime when it was asked for
//! and when it was decided; with `rate` it prints how many dispatches it decided each second.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot be prepared has failed"
)]

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use routing::specialists::{Asked, Named, Paths, Settings, Specialists};
use serde_json::json;
use specialist::classifier::Embedding;
use team::{Address, Routing, Team};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, folder, role, threads, now, how] = arguments.as_slice() else {
        std::process::exit(2);
    };
    let workspace = Workspace::at(folder.as_ref()).unwrap();
    let paths = Paths::find(&workspace, &Environment::default(), &Named::default());
    let settings = Settings::load(&Config::default(), &Environment::default()).unwrap();
    let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
    let queue = workspace.root().join("team-queue.jsonl");
    let shared = Arc::new(Routing::new(team, &queue).unwrap());
    let specialists = Specialists::new(paths, settings).with_shared(shared);
    let decided = AtomicU64::new(0);
    let process = std::process::id();
    thread::scope(|scope| {
        for worker in 0..threads.parse::<u64>().unwrap() {
            let (specialists, decided) = (&specialists, &decided);
            scope.spawn(move || {
                let input = json!({ "embedding": [1.0, 0.0] });
                for number in 0u64.. {
                    let trace = format!("{process}-{worker}-{number}");
                    let asked = Asked {
                        role,
                        input: &input,
                        trace_id: &trace,
                        now,
                    };
                    let asked_at = uptime();
                    let begun = specialists.begin(asked, &Embedding, &|_| Ok(()));
                    let decided_at = uptime();
                    let source = begun.decision.route;
                    specialists.settle(asked, &begun, source, Err("no_fallback"));
                    decided.fetch_add(1, Ordering::Relaxed);
                    if how == "each"
                        && specialists
                            .log_field(asked, &begun, source, None, None)
                            .is_ok()
                    {
                        let mut out = std::io::stdout().lock();
                        let route = source.name();
                        writeln!(out, "{trace} {route} {asked_at} {decided_at}").unwrap();
                        out.flush().unwrap();
                    }
                }
            });
        }
        if how == "rate" {
            loop {
                thread::sleep(Duration::from_secs(1));
                println!("{}", decided.swap(0, Ordering::Relaxed));
            }
        }
    });
}

/// Seconds since the machine started, which every process reads alike.
fn uptime() -> String {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    text.split(' ').next().unwrap().to_owned()
}
