//! `roleos explain`: the gate's verdict on a command or a tool call, with reasons. Changes nothing; exit 0 for any
//! verdict.

use std::io::{self, BufRead, Write as _};
use std::path::{Path, PathBuf};

use base::clock;
use base::config::oversight::Oversight;
use base::environment;
use base::files;
use guard::contracts::{OwnSchemas, Source};
use guard::supervision::probe;
use jiff::Timestamp;
use lookup::Disk;
use oversight::governance::{Governance, Spent};
use oversight::grants::Grants;
use oversight::verdict::{OnOpaque, Verdict};
use oversight::{Call, Decision, NoApprovals, Place, Policy, Rules, decide};
use present::view::oversight as view;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::render::decision_text;
use crate::ui::Ui;
use crate::{Context, Exit, Failure};

/// Largest manifest of grants.
const MAX_GRANTS: u64 = 1024 * 1024;

/// Words of `explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  roleos explain 'git commit -am wip && git push'
  roleos explain --json 'npm run release'
  roleos explain --tool mcp__github__create_pull_request --input '{}'
  roleos explain --batch commands.jsonl --json
  roleos explain --exit-code 'git push' || echo 'not without a person'

A line of a batch is an object with `id`, `command` and, if wanted, `cwd` and `home`.")]
pub struct Args {
    /// The command, as an agent would give it to its shell.
    #[arg(value_name = "COMMAND", required_unless_present_any = ["batch", "tool"], conflicts_with_all = ["batch", "tool"], allow_hyphen_values = true)]
    command: Option<String>,
    /// Commands as JSON lines from a file, `-` for standard input; answers in the same order.
    #[arg(long, value_name = "FILE", conflicts_with = "tool")]
    batch: Option<PathBuf>,
    /// The name of another tool.
    #[arg(long, value_name = "NAME", requires = "input")]
    tool: Option<String>,
    /// What the tool is given, as JSON.
    #[arg(long, value_name = "JSON", requires = "tool")]
    input: Option<String>,
    /// Grants to assume [default: those of the workspace; none in a batch].
    #[arg(long, value_name = "FILE")]
    grants: Option<PathBuf>,
    /// Exit with the answer: 0 it may run, 1 a person is asked, 2 it is refused.
    #[arg(long, conflicts_with = "batch")]
    exit_code: bool,
}

/// One line of a batch.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    command: String,
    cwd: Option<String>,
    home: Option<String>,
}

pub fn run(ui: &Ui, context: &Context, args: &Args) -> Result<Exit, Failure> {
    let desk = Desk::new(context, args)?;
    if let Some(path) = &args.batch {
        desk.batch(ui, path)?;
        return Ok(Exit::Done);
    }
    let (shown, decision) = match (&args.tool, &args.command) {
        (Some(tool), _) => desk.tool(tool, args.input.as_deref().unwrap_or("null"))?,
        (None, command) => {
            let command = command.as_deref().unwrap_or_default();
            (command.to_owned(), desk.command(command, None, None))
        }
    };
    if ui.json {
        ui.json(&view::decision(&decision))?;
    } else {
        let mut out = ui.out();
        write!(out, "{}", decision_text::text(&shown, &decision))?;
        out.flush()?;
    }
    Ok(match decision.verdict {
        Verdict::Deny if args.exit_code => Exit::Refused,
        Verdict::Ask if args.exit_code => Exit::Failed,
        _ => Exit::Done,
    })
}

/// State shared by all questions of one run.
struct Desk {
    policy: Policy,
    governance: Governance,
    contracts: Option<Source>,
    grants: Grants,
    now: Timestamp,
    directory: String,
    home: String,
}

impl Desk {
    fn new(context: &Context, args: &Args) -> Result<Self, Failure> {
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let home = environment::home().unwrap_or_else(|| PathBuf::from("/"));
        let now = i128::from(clock::now_ns());
        // A batch is decided with the shipped settings, wherever it runs.
        let (mut policy, governance, contracts) = if args.batch.is_some() {
            let shipped = Oversight::default();
            (shipped.policy(), shipped.governance(), None)
        } else {
            let set = &context.config.oversight;
            let contracts = Some(Source::of(&context.workspace)?);
            let policy = set.policy_in(&context.workspace, &context.environment);
            (policy, set.governance(), contracts)
        };
        if policy.opaque == OnOpaque::Watch && !probe::rung(&context.environment).is_there() {
            policy.opaque = OnOpaque::Ask;
        }
        Ok(Self {
            policy,
            governance,
            contracts,
            grants: grants(context, args)?,
            now: Timestamp::from_nanosecond(now).unwrap_or(Timestamp::MAX),
            directory: here.to_string_lossy().into_owned(),
            home: home.to_string_lossy().into_owned(),
        })
    }

    fn command(&self, command: &str, directory: Option<&str>, home: Option<&str>) -> Decision {
        let place = Place {
            directory: directory.unwrap_or(&self.directory),
            home: home.unwrap_or(&self.home),
        };
        self.decide("Bash", &json!({ "command": command }), place)
    }

    fn decide(&self, tool: &str, input: &Value, place: Place<'_>) -> Decision {
        let call = Call { tool, input, place };
        let contracts = self.contracts.as_ref();
        let advice = contracts.and_then(|source| source.advice(&call, &OwnSchemas));
        let rules = Rules {
            gate: true,
            policy: &self.policy,
            grants: &self.grants,
            advice: advice.as_deref(),
            governance: &self.governance,
            approved: &NoApprovals,
        };
        decide(&rules, &call, &Spent::default(), &Disk, self.now)
    }

    fn tool(&self, tool: &str, input: &str) -> Result<(String, Decision), Failure> {
        let value: Value = serde_json::from_str(input).map_err(|error| {
            Failure::input("bad_input", format!("`--input` is no JSON: {error}"))
                .hint(r#"for example --input '{"file_path":"src/main.rs"}'"#)
        })?;
        let place = Place {
            directory: &self.directory,
            home: &self.home,
        };
        let decision = self.decide(tool, &value, place);
        let shown = oversight::tools::shell_command(tool, &value);
        Ok((shown.unwrap_or_else(|| format!("{tool} {value}")), decision))
    }

    fn batch(&self, ui: &Ui, path: &Path) -> Result<(), Failure> {
        if path == Path::new("-") {
            return self.lines(ui, io::stdin().lock());
        }
        let text = files::read(path, u64::MAX)?;
        self.lines(ui, text.as_slice())
    }

    fn lines(&self, ui: &Ui, input: impl BufRead) -> Result<(), Failure> {
        let mut out = ui.out();
        for (index, line) in input.lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&line).map_err(|error| {
                let number = index + 1;
                Failure::input("bad_line", format!("line {number} of the batch: {error}"))
                    .hint(r#"each line is an object like {"id":"1","command":"git push"}"#)
            })?;
            let decision = self.command(&line.command, line.cwd.as_deref(), line.home.as_deref());
            let mut answer = json!({ "id": line.id });
            if let (Value::Object(whole), Value::Object(parts)) =
                (&mut answer, view::decision(&decision))
            {
                whole.extend(parts);
            }
            serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Returns the grants for this question. An unreadable manifest grants nothing and is named in the answer.
fn grants(context: &Context, args: &Args) -> Result<Grants, Failure> {
    if let Some(path) = &args.grants {
        let bytes = files::read(path, MAX_GRANTS)?;
        return Ok(Grants::parse(&String::from_utf8_lossy(&bytes)));
    }
    if args.batch.is_some() {
        return Ok(Grants::none());
    }
    Ok(base::grants::load(&context.workspace))
}
