//! The specialist crate against its own limits: one decision of the gate, and the overhead of a dispatch over its
//! backend's time.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use base::config::Config;
use base::environment::Environment;
use base::files::{self, Privacy};
use base::workspace::Workspace;
use routing::specialists::{Asked, Named, Paths, Settings, Specialists};
use selection::selector::{Example, Features, Outcome, Selector};
use serde_json::{Value, json};
use specialist::classifier::{Classifier, Embedding, Fit, Verdict};
use specialist::gate::{Declared, Gate, Question};
use specialist::quota::{Source, View};
use specialist::registry::{Registry, Version};
use specialist::role_block::RoleBlock;
use specialist::shadow;
use specialist::state::Halts;
use upstream::backend::{Backends, Limits};
use upstream::blocking;
use upstream::dispatch::Dispatcher;

use crate::measure::{Figure, times, turns};
use crate::row::Row;

const ROLE: &str = "Checker";

/// Number of adapters of a role, of contests that a selector was trained on, and of words that those were written in.
const MODELS: usize = 16;
const CONTESTS: usize = 500;
const WORDS: usize = 5000;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let decision = "gate decision on a 2 KB input";
    if wanted(decision) {
        rows.push(Row::within(decision, decide(), 20.0, "µs"));
    }
    let added = "dispatch over its backend's time, with logs";
    if wanted(added) {
        rows.extend(dispatch().map(|took| Row::within(added, took, 300.0, "µs")));
    }
    let halt = "probes that halt a coin, median";
    if wanted(halt) {
        rows.push(Row::within(
            halt,
            f64::from(probes_of_a_coin()),
            30.0,
            "probes",
        ));
    }
    let wrong = "wrong halts of 20,000 at the boundary";
    if wanted(wrong) {
        rows.push(Row::within(wrong, f64::from(wrong_halts()), 200.0, "halts"));
    }
    rows
}

/// Returns the number of probes until the sequential test halts an adapter of this rate; at most a thousand.
fn halted_after(dice: &mut u64, rate: f64, settings: &shadow::Settings) -> Option<u32> {
    let mut probes = shadow::Probes::default();
    (1..=1000).find(|_| {
        let agreed = roll(dice) < rate;
        probes.push(agreed, settings);
        // Agreement never halts.
        !agreed && probes.judge(settings).halts
    })
}

/// Returns the next SplitMix64 value as a number from 0 to 1.
fn roll(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let high = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or_default();
    f64::from(high) / 4_294_967_296.0
}

fn probes_of_a_coin() -> u32 {
    let (settings, mut dice) = (shadow::Settings::default(), 11);
    let mut all: Vec<u32> = (0..10_001)
        .map(|_| halted_after(&mut dice, 0.5, &settings).unwrap_or(u32::MAX))
        .collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn wrong_halts() -> u32 {
    let (settings, mut dice) = (shadow::Settings::default(), 7);
    let rate = 1.0 - settings.tau;
    let runs = (0..20_000).map(|_| halted_after(&mut dice, rate, &settings));
    runs.map(|halted| u32::from(halted.is_some())).sum()
}

fn registry(url: &str) -> String {
    let document = json!({
        "schema": "roleos-specialist-registry/v1",
        "specialists": [{
            "role": ROLE, "backend_url": url, "fallback": "claude", "workload_quota": 1,
            "active_version": "model-3",
            "versions": [{
                "id": "model-3", "adapter_id": "a", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0,
                "certified_level": "L2", "exam_hash": "e".repeat(64), "field_audit_window": 200,
                "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
            }],
        }],
    });
    document.to_string()
}

/// Classifier by a trained selector, from the text alone.
struct Trained(Selector);

impl Classifier for Trained {
    fn is_ood(&self, _: &str, _: &Value, _: &Version) -> Result<bool, String> {
        Err("ask for both at once".to_owned())
    }

    fn score(&self, _: &str, _: &Value, _: &Version) -> Result<f64, String> {
        Err("ask for both at once".to_owned())
    }

    fn judge(&self, _: &str, input: &Value, versions: &[&Version]) -> Vec<Verdict> {
        let features = Features::of_input(input);
        let judged = self.0.judge(&features);
        let one = |version: &&Version| match judged.score(&version.id) {
            Some(score) if judged.is_familiar() => Verdict::Scored(Fit {
                score: score.probability,
                reward: score.reward,
                familiarity: None,
            }),
            _ => Verdict::Unfamiliar(None),
        };
        versions.iter().map(one).collect()
    }
}

/// Returns words by a small generator: the same every time, frequent ones more often.
fn text(seed: usize, bytes: usize) -> String {
    let mut state = seed as u64 ^ 0x9E37_79B9_7F4A_7C15;
    let mut text = String::new();
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let one = usize::try_from(state >> 40).unwrap_or_default() % WORDS;
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let other = usize::try_from(state >> 40).unwrap_or_default() % WORDS;
        let word = one * other / WORDS;
        text.push_str(&format!("w{word}x "));
    }
    text.truncate(bytes);
    text
}

fn trained() -> Trained {
    let contest = |number: usize| {
        let outcome = |model: usize| Outcome {
            acceptable: Some(model == 0 || model == number % MODELS),
            reward: if model == number % MODELS { 0.9 } else { 0.4 },
            cost: 0.1,
            price_usd: None,
        };
        Example {
            features: Features::of(&text(number, 2048), &[]),
            outcomes: (0..MODELS)
                .map(|model| (format!("model-{model}"), outcome(model)))
                .collect(),
            general: None,
        }
    };
    let contests: Vec<Example> = (0..CONTESTS).map(contest).collect();
    Trained(Selector::train(&contests))
}

fn decide() -> Figure {
    let registry = Registry::parse(registry("http://127.0.0.1:1").as_bytes());
    let classifier = trained();
    let inputs: Vec<Value> = (0..97)
        .map(|number| Value::String(text(CONTESTS + number, 2048)))
        .collect();
    let question = |input| Question {
        role: ROLE,
        input,
        entry: registry.entry(ROLE),
        block: &RoleBlock::NoFile,
        quota: View {
            used: 0,
            window: 200,
        },
        halts: Halts::default(),
        classifier: &classifier,
        declared: &Declared::nothing,
    };
    // A decision that ends early would measure nothing.
    let ends = inputs
        .iter()
        .map(|input| Gate::decide(question(input)).route);
    assert!(
        ends.into_iter().all(|route| route == Source::Specialist),
        "every input reaches the last check"
    );
    let mut turn = inputs.iter().cycle();
    let took = times(turns(501), || {
        if let Some(input) = turn.next() {
            black_box(Gate::decide(black_box(question(input))));
        }
    });
    Figure::of_times(&took, 1e6)
}

/// Measures a whole dispatch, gate, quota, HTTP and logs, minus one exchange with the same backend over a plain
/// socket. Returns `None` if there is no writable directory or no free port.
fn dispatch() -> Option<Figure> {
    let folder = tempfile::tempdir().ok()?;
    let workspace = Workspace::at(folder.path()).ok()?;
    let environment = Environment::default();
    let paths = Paths::find(&workspace, &environment, &Named::default());
    let address = backend()?;
    files::make_directory(&workspace.role_os_dir(), Privacy::Shared).ok()?;
    let text = registry(&format!("http://{address}"));
    files::write(&paths.registry, text.as_bytes(), Privacy::Shared).ok()?;
    let config = Config::default();
    let settings = Settings::load(&config, &environment).ok()?;
    let specialists = Specialists::new(paths, settings);
    let backends = Backends::new(Limits::from(&config.specialist));
    let dispatcher = Dispatcher::new(&specialists, &backends, None, &Embedding);
    let input = json!({ "embedding": [1.0, 0.0], "text": self::text(1, 2048) });
    // A registry that was not written just now is the usual case.
    thread::sleep(Duration::from_millis(1100));
    let mut plain = Plain::to(&address, &input)?;
    let ours = async {
        let mut times = (Vec::new(), Vec::new());
        for number in 0..200 + turns(1001) {
            let start = Instant::now();
            let asked = Asked {
                role: ROLE,
                input: &input,
                trace_id: "t",
                now: "2026-09-03T10:00:00Z",
            };
            let answer = dispatcher.dispatch(asked, None).await;
            let whole = start.elapsed();
            assert_eq!(answer.receipt.source, Source::Specialist);
            let start = Instant::now();
            plain.exchange()?;
            // The window fills first, as in use.
            if number >= 200 {
                times.0.push(whole);
                times.1.push(start.elapsed());
            }
        }
        Some(times)
    };
    let (whole, alone) = blocking::run(ours).ok()??;
    // Per turn, because a disturbance hits both sides.
    let added = whole.iter().zip(&alone);
    let added: Vec<Duration> = added
        .map(|(whole, alone)| whole.saturating_sub(*alone))
        .collect();
    Some(Figure::of_times(&added, 1e6))
}

/// Starts a backend that answers at once, on a free port.
fn backend() -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let address = listener.local_addr().ok()?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream));
        }
    });
    Some(address)
}

fn serve(stream: &TcpStream) -> Option<()> {
    let body =
        r#"{"verdict":"supported","score":0.9,"adapter_id":"a","base_model":"Qwen/Qwen3-8B"}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.set_nodelay(true).ok()?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        read_message(&mut reader)?;
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

/// Reads a head and the body of its length.
fn read_message(reader: &mut BufReader<&TcpStream>) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()
}

/// The same exchange without any overhead.
struct Plain {
    stream: TcpStream,
    request: Vec<u8>,
}

impl Plain {
    fn to(address: &str, input: &Value) -> Option<Self> {
        let body = json!({ "adapter_id": "a", "role": ROLE, "input": input, "trace_id": "t" });
        let body = body.to_string();
        let head = format!(
            "POST /verify HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self {
            stream,
            request: (head + &body).into_bytes(),
        })
    }

    fn exchange(&mut self) -> Option<()> {
        self.stream.write_all(&self.request).ok()?;
        read_message(&mut BufReader::new(&self.stream))
    }
}
