//! The box of an agent: its files, its supervisor, its sockets to the model and to the harness, and its traffic.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::files;
use base::programs;
use sandbox::{Mount, Stopped};
use witness::wire::Mode;

use super::Rules;
use super::disk::DiskWatch;
use super::hooks::{self, Answerer, Hooks, ToolCall};
use super::model::{self, Meter, Metered};
use super::record::{AgentRecord, MAX_RECORD};
use crate::agent::Places;
use crate::boxes::{self, Boxed};
use crate::grading::Bench;
use crate::suite::Member;

/// Tools that start nothing, or continue a call that was decided; agents do not report them to hooks.
const UNHOOKED: [&str; 5] = [
    "update_plan",
    "view_image",
    "request_user_input",
    "write_stdin",
    "web_search",
];

/// Result of an agent in its box.
#[derive(Debug)]
pub(super) struct Boxing {
    /// Its complete output.
    pub(super) printed: Vec<u8>,
    /// Its end.
    pub(super) ended: Result<sandbox::Done, Stopped>,
    /// The supervisor's report.
    pub(super) report: Option<Vec<u8>>,
    /// Its traffic with the model.
    pub(super) metered: Option<Metered>,
    /// Its tool calls.
    pub(super) calls: Vec<ToolCall>,
}

/// The slot of a trial and its workspace for the hook.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    /// Folder with the tree, the agent's home and its sockets.
    pub(super) folder: &'a Path,
    /// Settings and journal, hidden from the agent.
    pub(super) state: &'a Path,
    /// Bytes that its files may have.
    pub(super) room: u64,
}

/// The sockets of a box, served until this is dropped.
#[derive(Debug, Default)]
struct Sockets {
    meter: Option<Box<dyn Meter>>,
    hooks: Option<Hooks>,
}

/// Runs the agent's command.
///
/// # Errors
/// A file or a socket of the slot cannot be created, or the hook decides wrongly.
pub(super) fn run(
    bench: &Bench<'_>,
    rules: &Rules,
    member: &Member,
    slot: Slot<'_>,
) -> io::Result<Boxing> {
    let issue = slot.folder.join("issue.md");
    crate::tree::put(&issue, member.issue.as_bytes())?;
    let tree = slot.folder.join("wt");
    for name in ["home", "out", "cache", "sock", "events"] {
        fs::create_dir(slot.folder.join(name))?;
    }
    let limits = &member.task.limits;
    let places = places(rules, member);
    let mut boxed = Boxed::new(bench.tools, &tree);
    boxed.input = &issue;
    boxed.env = bench.env;
    furnish(&mut boxed, rules, member, slot.folder)?;
    let sockets = open_sockets(&mut boxed, rules, member, slot, &places)?;
    let report = slot.folder.join("report.json");
    supervise(&mut boxed, rules, &report);
    let mut disk = DiskWatch::new(slot.folder, slot.room);
    let (printed, ended) = boxed.run(
        &rules.agent.command(&places),
        &boxes::limits(limits, limits.agent_seconds),
        &mut || {
            let meter = sockets.meter.as_ref();
            meter.is_some_and(|meter| meter.metered().is_exhausted) || disk.is_over()
        },
    );
    let metered = sockets.meter.as_ref().map(|meter| meter.metered());
    // Events in progress reach the journal first.
    drop(sockets);
    Ok(Boxing {
        printed,
        ended,
        report: files::read(&report, MAX_RECORD).ok(),
        metered,
        calls: hooks::calls(slot.state),
    })
}

fn places(rules: &Rules, member: &Member) -> Places {
    let limits = &member.task.limits;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a budget in dollars, for people and agents"
    )]
    let budget = limits.cost_microdollars as f64 / 1e6;
    Places {
        model_url: rules.model_url(),
        model: rules.model.clone(),
        task: member.task.id.clone(),
        seconds: limits.agent_seconds,
        budget_usd: format!("{budget:.2}"),
    }
}

/// Adds the folders, files and variables of an agent.
fn furnish(boxed: &mut Boxed<'_>, rules: &Rules, member: &Member, slot: &Path) -> io::Result<()> {
    boxed.is_read_only = rules.mode == Mode::Restricted;
    let mut read = |outside: PathBuf, inside: &str| {
        boxed
            .mounts
            .push(Mount::Read(outside, PathBuf::from(inside)));
    };
    read(slot.join("issue.md"), "/w/issue.md");
    if let Some(reference) = member
        .reference
        .as_ref()
        .filter(|_| rules.agent.gets_reference())
    {
        crate::tree::put(&slot.join("reference.patch"), reference)?;
        read(slot.join("reference.patch"), "/w/reference.patch");
    }
    for name in ["home", "out", "cache"] {
        let inside = PathBuf::from(format!("/w/{name}"));
        boxed.mounts.push(Mount::Write(slot.join(name), inside));
    }
    for folder in &rules.folders {
        boxed
            .mounts
            .push(Mount::Read(folder.clone(), folder.clone()));
        for programs in ["node_modules/.bin", "bin"] {
            boxed.programs.push(folder.join(programs));
        }
        boxed.programs.push(folder.clone());
    }
    boxed.variables = [
        ("ROLEOS_TASK", member.task.id.as_str()),
        ("ROLEOS_ISSUE_FILE", "/w/issue.md"),
        ("ROLEOS_MODEL_URL", &rules.model_url()),
        ("CARGO_TARGET_DIR", "/w/cache"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    Ok(())
}

/// Opens the sockets of the agent, with the programs that connect to them.
fn open_sockets(
    boxed: &mut Boxed<'_>,
    rules: &Rules,
    member: &Member,
    slot: Slot<'_>,
    places: &Places,
) -> io::Result<Sockets> {
    let folder = slot.folder.join("sock");
    let mut sockets = Sockets::default();
    let mut read = |outside: PathBuf, inside: &str| {
        boxed
            .mounts
            .push(Mount::Read(outside, PathBuf::from(inside)));
    };
    read(folder.clone(), "/w/sock");
    if let Some(models) = &rules.models {
        let budget = member.task.limits.cost_microdollars;
        sockets.meter = Some(hooks::in_folder(&folder, "model.sock", |path| {
            models.listen(path, budget)
        })?);
        read(rules.program.clone(), "/w/bin/roleos");
        let words = ["/w/bin/roleos", "box-init", "--model"].map(OsString::from);
        let port = format!("{}=/w/sock/model.sock", model::PORT);
        boxed.front = words
            .into_iter()
            .chain([port.into(), "--".into()])
            .collect();
    }
    let Some(preset) = rules.agent.preset() else {
        return Ok(sockets);
    };
    for (at, (inside, text)) in preset.files(places).into_iter().enumerate() {
        let outside = slot.folder.join(format!("settings-{at}"));
        crate::tree::put(&outside, text.as_bytes())?;
        boxed.mounts.push(Mount::Read(outside, inside));
    }
    if let Some(agent) = preset.hook() {
        let program = programs::hook(&rules.program);
        boxed
            .mounts
            .push(Mount::Read(program.clone(), "/w/bin/roleos-hook".into()));
        let answerer = Answerer {
            tools: boxed.tools.clone(),
            tree: boxed.repo.to_owned(),
            home: slot.folder.join("home"),
            work: slot.folder.join("events"),
            state: slot.state.to_owned(),
            program,
            agent,
        };
        answerer.prepare(rules)?;
        answerer.check().map_err(io::Error::other)?;
        sockets.hooks = Some(Hooks::listen(&folder, answerer)?);
    }
    Ok(sockets)
}

/// Puts the whole box under the supervisor, out of the agent's reach.
fn supervise(boxed: &mut Boxed<'_>, rules: &Rules, report: &Path) {
    let Some(workspace) = &rules.supervised_in else {
        return;
    };
    // The supervisor and the box would outlive a killed run.
    let words: [OsString; 11] = [
        "setpriv".into(),
        "--pdeathsig".into(),
        "KILL".into(),
        rules.program.clone().into(),
        "--root".into(),
        workspace.into(),
        "run".into(),
        "--mode".into(),
        rules.mode.name().into(),
        "--report".into(),
        report.into(),
    ];
    boxed.launcher = words.into_iter().chain(["--".into()]).collect();
}

/// Records the agent's calls and costs.
pub(super) fn take_traffic(
    record: &mut AgentRecord,
    rules: &Rules,
    boxing: &mut Boxing,
    out: &Path,
) {
    let (cost, tokens) = if rules.agent.is_harness_check() {
        (Some(0), Some(0))
    } else {
        stated_cost(out)
    };
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let metered = boxing.metered.take();
    let priced = metered
        .as_ref()
        .and_then(|metered| metered.cost)
        .map(narrow);
    // An agent that does not know its model's price states 0, which means nothing.
    let has_traffic = metered.as_ref().is_some_and(|metered| metered.requests > 0);
    let cost = cost.filter(|cost| *cost > 0 || !has_traffic);
    record.cost_source = match (cost, priced) {
        (Some(_), _) => "agent",
        (None, Some(_)) => "priced",
        (None, None) => "unknown",
    }
    .to_owned();
    record.cost_agent = cost;
    record.cost = cost.or(priced);
    let passed = metered
        .as_ref()
        .map(|metered| narrow(metered.usage.tokens()));
    record.tokens = passed.filter(|tokens| *tokens > 0).or(tokens);
    record.calls = std::mem::take(&mut boxing.calls);
    let has_hook = rules
        .agent
        .preset()
        .is_some_and(|preset| preset.hook().is_some());
    if let Some(metered) = metered.as_ref().filter(|_| has_hook) {
        let seen: BTreeSet<&str> = record.calls.iter().map(|call| call.id.as_str()).collect();
        let missing = metered
            .calls
            .iter()
            .filter(|(id, tool)| !seen.contains(id.as_str()) && !UNHOOKED.contains(&tool.as_str()));
        let missing = missing.map(|(id, tool)| format!("unhooked_call: {tool} {id}"));
        record.violations.extend(missing);
    }
    let broken = record
        .calls
        .iter()
        .flat_map(|call| call.violations.iter().cloned());
    let ran = broken.collect::<Vec<_>>();
    record.violations.extend(ran);
    record.metered = metered;
}

/// Reads the cost and the tokens that an agent states in its own record: Claude Code's `result.json`, mini-swe-agent's
/// `run.traj.json`, or a `cost.json` with `cost_usd` and `tokens`.
fn stated_cost(out: &Path) -> (Option<u32>, Option<u32>) {
    let read = |name: &str| -> Option<serde_json::Value> {
        serde_json::from_slice(&files::read(&out.join(name), MAX_RECORD).ok()?).ok()
    };
    let places = [
        ("result.json", "/total_cost_usd", "/usage/output_tokens"),
        (
            "run.traj.json",
            "/info/model_stats/instance_cost",
            "/info/model_stats/tokens",
        ),
        ("cost.json", "/cost_usd", "/tokens"),
    ];
    for (file, cost, tokens) in places {
        let Some(value) = read(file) else { continue };
        let number = |pointer: &str| value.pointer(pointer).and_then(serde_json::Value::as_f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates"
        )]
        let whole = |number: f64| number.round() as u32;
        return (
            number(cost).map(|dollars| whole(dollars * 1e6)),
            number(tokens).map(whole),
        );
    }
    (None, None)
}

/// Reads the supervisor's report: programs that began, and acts that were refused.
pub(super) fn take_report(record: &mut AgentRecord, report: Option<Vec<u8>>) -> bool {
    let value: Option<serde_json::Value> =
        report.and_then(|report| serde_json::from_slice(&report).ok());
    let Some(value) = value else { return false };
    record.programs = value
        .get("execs")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(0);
    let words = |value: &serde_json::Value, key: &str, between: &str| -> String {
        let list = value
            .get(key)
            .and_then(serde_json::Value::as_array)
            .into_iter()
            .flatten();
        list.filter_map(serde_json::Value::as_str)
            .collect::<Vec<_>>()
            .join(between)
    };
    let refused = value
        .get("refused")
        .and_then(serde_json::Value::as_array)
        .into_iter()
        .flatten();
    record.refused = refused
        .map(|one| {
            format!(
                "{}: {}",
                words(one, "actions", ", "),
                words(one, "argv", " ")
            )
        })
        .collect();
    true
}
