//! `roleos consult`: calls the conformance specialist for the hook, which has no network.
//!
//! The question is on standard input; the version that objects, if any, is printed on standard output.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use guard::hook::MAX_EVENT;
use routing::specialists::{Asked, Named, Paths, Settings, Specialists};
use serde_json::Value;
use specialist::conformance::{ROLE, Verdict};
use upstream::backend::{Backends, Limits};
use upstream::blocking;
use upstream::consult::consult;

use crate::command::specialist::now;
use crate::{Context, Exit, Failure};

/// Options of `consult`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Longest time for the call.
    #[arg(long, value_name = "MS")]
    within_ms: u64,
}

/// Calls the specialist, and prints the version that objects.
pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut question = Vec::new();
    io::stdin().take(MAX_EVENT).read_to_end(&mut question)?;
    let question = serde_json::from_slice(&question)
        .map_err(|error| Failure::input("bad_question", format!("cannot read it: {error}")))?;
    let time = Duration::from_millis(args.within_ms);
    if let Some(version) = objection(context, &question, time) {
        io::stdout().write_all(version.as_bytes())?;
    }
    Ok(Exit::Done)
}

fn objection(context: &Context, question: &Value, time: Duration) -> Option<String> {
    let Context {
        workspace,
        config,
        environment,
        ..
    } = context;
    let settings = Settings::load(config, environment).ok()?;
    let paths = Paths::find(workspace, environment, &Named::default());
    let specialists = Specialists::new(paths, settings);
    let backends = Backends::new(Limits::from(&config.specialist));
    let now = now();
    let trace_id = format!("conformance-{now}");
    let asked = Asked {
        role: ROLE,
        input: question,
        trace_id: &trace_id,
        now: &now,
    };
    let consulted = blocking::run(consult(&specialists, &backends, asked, time)).ok()?;
    match consulted.verdict {
        Verdict::Nonconformant => consulted.version,
        Verdict::Conformant | Verdict::Abstain => None,
    }
}
