//! `roleos feedback`: a person's feedback on an answer, identified by its trace.

use std::path::PathBuf;

use base::environment;
use base::files;
use base::git;
use base::seals::Seals;
use routing::feedback::{self, Said};
use routing::specialists::Named;
use serde_json::json;
use specialist::contract::read_text;

use super::specialist::{now, open};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::clean;
use crate::ui::{BAD, GOOD, Ui};

/// Words of `feedback`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos feedback dispatch-0198 --score 0 --comment 'wrong team'
  roleos feedback 0198f1c2 --target right.json --json
  roleos feedback --verify

The trace is the `trace_id` of a receipt, or `x-roleos-trace-id` of an answer of `roleos up`. Feedback labels what the
selector learns; it never counts for certificates, promotions or halts.")]
pub struct Args {
    /// The answer, by its trace.
    #[arg(value_name = "TRACE", required_unless_present = "verify")]
    trace: Option<String>,
    /// From 0 (bad) to 1 (good).
    #[arg(long, value_name = "NUMBER")]
    score: Option<f64>,
    /// The right answer; JSON if it parses as JSON, text otherwise.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// In words.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Who says so [default: git's user, else the system's].
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Check that no line was changed or taken out.
    #[arg(long, conflicts_with_all = ["trace", "score", "target", "comment"])]
    verify: bool,
}

/// Runs the command.
///
/// # Errors
/// A value is out of range, the answer is unknown, or the log cannot be written.
pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let path = feedback::path(&context.workspace);
    let Some(trace) = args.trace.clone() else {
        return verify(ui, &Seals::of(&context.workspace), &path);
    };
    let said = Said {
        trace_id: trace,
        score: args.score,
        target: match &args.target {
            Some(path) => Some(target(path)?),
            None => None,
        },
        comment: args.comment.clone(),
    };
    said.check()
        .map_err(|why| Failure::input("bad_feedback", why))?;
    let specialists = open(context, &Named::default())?;
    let trace = said.trace_id.clone();
    let subject = feedback::find(&context.workspace, &specialists, &trace).ok_or_else(|| {
        Failure::input("unknown_trace", format!("there is no answer `{trace}`"))
            .hint("`trace_id` of a receipt, or `x-roleos-trace-id` of an answer, names it")
    })?;
    let given = args.operator.clone().filter(|name| !name.is_empty());
    let sender = given
        .or_else(|| git::user(context.workspace.root()))
        .or_else(environment::user)
        .unwrap_or_else(|| "(unknown)".to_owned());
    let log = (specialists.seals(), path.as_path());
    let acceptable = feedback::append(log, now(), said, subject.clone(), sender)?;
    if ui.json {
        ui.json(&json!({
            "stored": true, "trace_id": trace, "role": subject.role, "version": subject.version,
            "acceptable": acceptable,
        }))?;
        return Ok(Exit::Done);
    }
    let about = match (&subject.role, &subject.version) {
        (Some(role), Some(version)) => format!("{role}/{version}"),
        (Some(role), None) => format!("{role}, answered by the general model"),
        _ => "a model that passed through".to_owned(),
    };
    let about = clean::name(about.as_bytes()).into_owned();
    ui.line(format_args!("stored: {about}"))?;
    Ok(Exit::Done)
}

fn target(path: &std::path::Path) -> Result<serde_json::Value, Failure> {
    let bytes = files::read(path, feedback::MAX_TARGET as u64)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("the target `{}` is no UTF-8 text", path.display());
        Failure::input("bad_input", message)
    })?;
    Ok(read_text(&text))
}

fn verify(ui: &Ui, seals: &Seals, path: &std::path::Path) -> Result<Exit, Failure> {
    let (lines, bad) = feedback::verify(seals, path)?;
    let ok = bad.is_empty();
    if ui.json {
        ui.json(&json!({ "lines": lines, "ok": ok, "bad": bad }))?;
    } else if ok {
        ui.line(format_args!(
            "{GOOD}OK{GOOD:#} {lines} lines: every link holds"
        ))?;
    } else {
        for line in bad {
            ui.line(format_args!(
                "{BAD}line {line}{BAD:#}: it does not follow the line before, or is not the one that was added last"
            ))?;
        }
    }
    Ok(Exit::of_check(ok))
}
