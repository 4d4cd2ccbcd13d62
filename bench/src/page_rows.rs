//! The pages over a workspace with a long history, requested from `roleos up` like by a browser: the time of each
//! answer, and the size of a page with everything that it loads.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fill;
use crate::measure::{Figure, size, turns};
use crate::row::Row;

/// Number of bundles of the workspace, and of tool calls, candidates of runs and dispatches.
const TASKS: usize = 100_000;
/// Number of answers of each page, of which the median counts.
const TURNS: usize = 15;
/// Limit of the time of a page, in milliseconds.
const LIMIT: f64 = 50.0;
/// Limit of the size of a page, in thousands of bytes.
const WEIGHT: f64 = 200.0;

const HEAVIEST: &str = "pages: weight of the heaviest, all parts";
const FRESH: &str = "pages: overview, just after a new bundle";
const FRESH_TASKS: &str = "pages: tasks, just after a new bundle";

/// Name of the row, and the URL; `{}` is replaced by values of the workspace.
const PAGES: [(&str, &str); 27] = [
    ("pages: overview", "/"),
    (
        "pages: overview of a role and a model",
        "/?role=role-3&model=model-1",
    ),
    ("pages: curve as a picture", "/curve.svg?role=&model="),
    ("pages: tasks", "/tasks"),
    ("pages: tasks by outcome", "/tasks?outcome=failed"),
    ("pages: tasks by role", "/tasks?role=role-3"),
    ("pages: tasks by model", "/tasks?model=model-1"),
    ("pages: tasks by mode", "/tasks?mode=autonomous"),
    ("pages: tasks by week", "/tasks?week={week}"),
    ("pages: tasks by verdict", "/tasks?verdict=valid"),
    (
        "pages: tasks by four columns",
        "/tasks?outcome=solved&role=role-3&model=model-1&mode=autonomous",
    ),
    ("pages: tasks of nobody", "/tasks?role=role-3&model=nobody"),
    ("pages: tasks, the last page", "/tasks?after={deep}"),
    (
        "pages: tasks by outcome, the last page",
        "/tasks?outcome=failed&after={deep}",
    ),
    (
        "pages: comparison of weeks",
        "/tasks/compare?by=week&baseline={before}&with={week}",
    ),
    (
        "pages: comparison of models",
        "/tasks/compare?by=model&baseline=model-0&with=model-1",
    ),
    ("pages: replay", "/tasks/{task}"),
    ("pages: specialists", "/specialists"),
    ("pages: one specialist", "/specialists/role-0"),
    ("pages: runs", "/runs"),
    (
        "pages: runs of a role and a model",
        "/runs?role=role-1&model=model-1",
    ),
    ("pages: one run", "/runs/{run}"),
    ("pages: oversight", "/oversight"),
    ("pages: oversight, refusals", "/oversight?verdict=deny"),
    (
        "pages: oversight, a command tried",
        "/oversight?command=git+push+origin+main",
    ),
    ("pages: catalog", "/catalog"),
    (
        "pages: a role of the catalog",
        "/catalog/roles/proofreader?lang=en",
    ),
];

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut names = PAGES.iter().map(|(name, _)| *name);
    if !names.any(wanted) && ![HEAVIEST, FRESH, FRESH_TASKS].into_iter().any(wanted) {
        return Vec::new();
    }
    let filled = fill::Filled::new(size(TASKS));
    let served = Served::start(filled.root());
    let mut rows = Vec::new();
    let mut heaviest = 0.0_f64;
    for (name, address) in PAGES {
        let address = filled.address(address);
        let times = (0..=turns(TURNS)).map(|_| served.timed(&address));
        // The first answer fills the caches.
        let times: Vec<f64> = times.skip(1).collect();
        if wanted(HEAVIEST) {
            heaviest = heaviest.max(served.weight(&address));
        }
        rows.push(Row::within(name, Figure::of(times), LIMIT, "ms"));
    }
    rows.push(Row::within(HEAVIEST, heaviest, WEIGHT, "kB"));
    for (name, address) in [(FRESH, "/"), (FRESH_TASKS, "/tasks")] {
        if wanted(name) {
            let times = (0..5).map(|_| served.after_a_bundle(&filled, address));
            rows.push(Row::within(name, Figure::of(times.collect()), LIMIT, "ms"));
        }
    }
    rows.retain(|row| wanted(row.name));
    rows
}

/// `roleos up` over the workspace, which ends when dropped.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to say"
)]
impl Served {
    fn start(root: &Path) -> Self {
        let program = std::env::current_exe().expect("a program");
        let program = program.with_file_name("roleos");
        assert!(
            program.exists(),
            "build it first: cargo build --release -p roleos"
        );
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let child = Command::new(program)
            .arg("--root")
            .arg(root)
            .args(["up", "--listen", &address.to_string()])
            .current_dir(root)
            .env("HOME", root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let served = Self { child, address };
        served.wait_until(|answer| {
            answer.contains(&format!("\"total\":{}", size(TASKS)))
                && answer.contains("\"complete\":true")
        });
        served
    }

    /// Waits until a condition holds for the lists.
    fn wait_until(&self, is_so: impl Fn(&str) -> bool) {
        let since = Instant::now();
        loop {
            let answer = self.get("/api/witness?limit=1").unwrap_or_default();
            if is_so(&answer) {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(600), "{answer}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the whole answer as text.
    fn get(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Returns the body of a successful answer.
    fn body(&self, path: &str) -> String {
        let answer = self.get(path).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        body.to_owned()
    }

    /// Returns the milliseconds from the connection to the last byte.
    fn timed(&self, path: &str) -> f64 {
        let since = Instant::now();
        self.body(path);
        since.elapsed().as_secs_f64() * 1e3
    }

    /// Returns the thousands of bytes of a page and everything that it loads, uncompressed.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a page has less than 2^52 bytes"
    )]
    fn weight(&self, path: &str) -> f64 {
        let page = self.body(path);
        let mut parts: Vec<&str> = ["src=\"/", "data=\"/", "rel=\"stylesheet\" href=\"/"]
            .iter()
            .flat_map(|mark| page.split(mark).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .collect();
        parts.sort_unstable();
        parts.dedup();
        let bytes = parts.iter().map(|part| {
            let address = format!("/{}", part.replace("&amp;", "&").replace("&#38;", "&"));
            self.body(&address).len()
        });
        (page.len() + bytes.sum::<usize>()) as f64 / 1e3
    }

    /// Returns the milliseconds of a page that is requested as soon as a newly sealed bundle is in the lists.
    fn after_a_bundle(&self, filled: &fill::Filled, path: &str) -> f64 {
        let total = filled.one_more();
        self.wait_until(|answer| answer.contains(&format!("\"total\":{total}")));
        self.timed(path)
    }
}
