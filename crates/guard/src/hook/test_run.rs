//! Observes the directory and the programs of a test command right after it, while links and files are as the command
//! saw them.

use std::fs;
use std::path::Path;

use evidence::sealing::test_commands::effects::{Effects, effects};
use evidence::sealing::test_commands::{Credit, Selection, TestCommand};
use evidence::sealing::test_commands::{exports, scripts_behind};
use oversight::lookup::{Lookup as _, absolute};
use oversight::tools::shell_command;
use serde_json::Value;

use super::desk::Desk;
use super::given_code;
use super::own_code::{Before, OwnCode, PastCall};
use super::real_program::{self, Scene};
use crate::agents::Event;
use base::files::FileError;
use base::repository::Location;
use evidence::journal::read::Reader;
use evidence::journal::record::{Building, Outcome, Record};
use lookup::Disk;

/// Placeholder for a part of a path that is only known at run time.
const UNKNOWN: char = '\u{1}';

/// Largest lag of file times behind the journal's clock.
const SLACK_NS: u64 = 20_000_000;

/// Adds the directory of a test command, and doubts about its programs, to its outcome. `journal` has the call, whose
/// directory may differ from that of the event; `own_tests` are test commands of the user.
pub(super) fn observe(
    outcome: &mut Outcome,
    test: &TestCommand,
    event: &Event,
    (journal, own_tests): (&Path, &[String]),
) {
    let (call_cwd, before) = call(journal, &event.call_id, own_tests);
    let began_ns = before.began_ns;
    let Some(cwd) = call_cwd.or_else(|| event.cwd.clone()) else {
        return;
    };
    let path = absolute(&cwd, &test.folder);
    let folder = fs::canonicalize(&path)
        .ok()
        .filter(|_| !path.contains(UNKNOWN));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        return;
    };
    let cwd = Path::new(&cwd);
    let own = OwnCode::around(&folder, &before);
    outcome.elsewhere = !is_inside(&test.selection, &folder, cwd);
    let doubt = |test: &TestCommand, folder: &Path, is_typed: bool| {
        let scene = Scene {
            cwd,
            folder,
            began_ns,
        };
        real_program::doubt(test, scene)
            .or_else(|| given_code::doubt(test, (folder, is_typed), &own))
    };
    let behind = scripts_behind(test, cwd, own_tests);
    outcome.elsewhere |= behind
        .commands
        .iter()
        .any(|(inner, _)| inner.credit == Credit::Elsewhere);
    outcome.doubt = doubt(test, &folder, true).or(behind.doubt).or_else(|| {
        let mut inner = behind.commands.iter();
        inner.find_map(|(inner, place)| doubt(inner, Path::new(place), false))
    });
    if outcome.doubt.is_none() {
        let mut variables = test.variables.clone();
        let inner = behind.commands.into_iter();
        variables.extend(inner.flat_map(|(inner, _)| inner.variables));
        outcome.doubt = own.doubt(&variables, &folder);
    }
    outcome.folder = Some(folder.to_string_lossy().into_owned());
}

/// Prepares a call that builds or tests: removes caches of the project's code that the session may have changed, and
/// records the files that the call can read beside the commit.
pub(super) fn begin(desk: &Desk<'_>, event: &Event) -> Result<(), FileError> {
    let own_tests = &desk.config.oversight.test_commands;
    let command = shell_command(&event.tool, &event.input).unwrap_or_default();
    let effects = effects(&command, own_tests);
    let Some(cwd) = event.cwd.as_deref().filter(|_| effects.builds) else {
        return Ok(());
    };
    let mut journal = desk.journal(event)?;
    let (_, mut before) = call(journal.path(), &event.call_id, own_tests);
    before.calls.retain(|call| !call.is_this);
    let own = OwnCode::around(Path::new(cwd), &before);
    own.clear_caches();
    // An installer does not load code from there.
    let found = own.input_of(&effects, cwd);
    let found = found.or_else(|| own.found().filter(|_| effects.runs_project));
    let building = Building {
        call_id: event.call_id.clone(),
        own: found.map(|path| path.to_string_lossy().into_owned()),
        files: own.changed.run_by(&command, &effects),
    };
    journal.push(desk.agent.name(), desk.now_ns, Record::Building(building));
    journal.commit(false)
}

/// Returns the directory of the call, and the earlier actions of the session. An unreadable journal has neither.
fn call(journal: &Path, call_id: &str, own_tests: &[String]) -> (Option<String>, Before) {
    let (mut cwd, mut began_ns, mut last_ns) = (None, None, 0);
    let mut before = Before::default();
    let mut running: Vec<(String, PastCall)> = Vec::new();
    let Ok(mut reader) = Reader::open(journal) else {
        return (None, before);
    };
    while let Ok(Some(line)) = reader.next_line() {
        let Ok(line) = line else {
            continue;
        };
        began_ns.get_or_insert(line.time_ns);
        let last_ns = std::mem::replace(&mut last_ns, line.time_ns);
        let call = match line.record {
            Record::Call(call) => call,
            Record::Building(building) => {
                let mut calls = running.iter_mut().rev();
                if let Some((_, past)) = calls.find(|(id, _)| *id == building.call_id) {
                    past.building = Some(building);
                }
                continue;
            }
            Record::Result(outcome) | Record::Failure(outcome) => {
                let ended = running.iter_mut().rev();
                let mut ended = ended.filter(|(id, _)| *id == outcome.call_id);
                if let Some((_, past)) = ended.next() {
                    past.until_ns = line.time_ns;
                }
                continue;
            }
            Record::Start(start) if before.base.is_none() => {
                before.base = start.base_commit;
                continue;
            }
            // A call without a recorded end lasted as long as its turn.
            Record::Start(_) | Record::Prompt(_) | Record::Stop(_) | Record::End(_) => {
                let open = running.iter_mut().map(|(_, past)| &mut past.until_ns);
                open.filter(|until| **until == u64::MAX)
                    .for_each(|until| *until = line.time_ns);
                continue;
            }
            _ => continue,
        };
        let is_this = call.call_id == call_id;
        cwd = Some(&call.cwd).filter(|_| is_this).cloned().or(cwd);
        if call.recorded != "denied" {
            let command = shell_command(&call.tool, &call.input);
            before
                .exported
                .extend(command.iter().flat_map(|command| exports(command)));
            let past = PastCall {
                is_this,
                is_shell: command.is_some(),
                effects: effects_of(command.as_deref(), &call.tool, &call.input, own_tests),
                cwd: call.cwd,
                from_ns: line.time_ns.saturating_sub(SLACK_NS).max(last_ns),
                until_ns: u64::MAX,
                building: None,
            };
            running.push((call.call_id, past));
        }
    }
    before.calls = running.into_iter().map(|(_, past)| past).collect();
    before.began_ns = began_ns.unwrap_or(0);
    (cwd, before)
}

/// Returns the writes of a call: by its command, or by the file that an editing tool names. A tool of a server may
/// write anything.
fn effects_of(command: Option<&str>, tool: &str, input: &Value, own_tests: &[String]) -> Effects {
    let in_background = input.get("run_in_background").and_then(Value::as_bool);
    match command {
        Some(command) => {
            let found = effects(command, own_tests);
            Effects {
                stays: found.stays || in_background == Some(true),
                ..found
            }
        }
        None => Effects {
            written: edited(input).into_iter().collect(),
            has_other: tool.contains("__"),
            ..Effects::default()
        },
    }
}

/// Returns the file that an editing tool names.
fn edited(input: &Value) -> Option<String> {
    let has = |name: &str| input.get(name).is_some();
    let is_edit = ["content", "new_string", "edits", "new_source", "file_text"];
    let path = ["file_path", "path", "notebook_path"];
    let path = path.iter().find_map(|name| input.get(*name)?.as_str());
    path.filter(|_| is_edit.into_iter().any(has))
        .map(str::to_owned)
}

/// Returns `true` if the tests are those of the repository around `cwd`: neither the directory in which they run nor a
/// path among the arguments leads out of it, links followed.
fn is_inside(selection: &Selection, folder: &Path, cwd: &Path) -> bool {
    let Some(location) = Location::around(cwd) else {
        return true;
    };
    let top = &location.top;
    let is_below = |word: &String| {
        // `t.py::test_a` is a test of a file.
        let path = word.split("::").next().unwrap_or(word);
        let real = Disk.real(&folder.join(path).to_string_lossy());
        !path.starts_with('~') && Path::new(&real).starts_with(top)
    };
    let values = selection.filters.iter().map(|filter| &filter.value);
    folder.starts_with(top) && selection.places.iter().chain(values).all(is_below)
}
