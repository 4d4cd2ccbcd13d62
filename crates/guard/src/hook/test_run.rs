//! Where a test command ran, and whether by the real programs: looked at right after it, while links and files are as
//! the command saw them.

use std::fs;
use std::path::Path;

use evidence::sealing::test_commands::changes::written;
use evidence::sealing::test_commands::{Credit, Selection, TestCommand};
use evidence::sealing::test_commands::{exports, scripts_behind};
use oversight::lookup::{Lookup as _, absolute};
use oversight::tools::shell_command;
use serde_json::Value;

use super::given_code;
use super::loaded_code::{self, Before};
use super::real_program::{self, Scene};
use crate::agents::Event;
use base::command_lookup::Disk;
use base::repository::Location;
use evidence::journal::read::Reader;
use evidence::journal::record::{Outcome, Record};

/// Stands for a part of a path that only a run would know.
const UNKNOWN: char = '\u{1}';

/// Adds to the outcome of a test command where it ran, and what may not be real. `journal` has the call, whose directory
/// may not be that of the event any more; `own_tests` are test commands of the user.
pub(super) fn observe(
    outcome: &mut Outcome,
    test: &TestCommand,
    event: &Event,
    (journal, own_tests): (&Path, &[String]),
) {
    let (call_cwd, before) = call(journal, &event.call_id);
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
    outcome.elsewhere = !is_inside(&test.selection, &folder, cwd);
    let doubt = |test: &TestCommand, folder: &Path, is_typed: bool| {
        let scene = Scene {
            cwd,
            folder,
            began_ns,
        };
        real_program::doubt(test, scene)
            .or_else(|| given_code::doubt(test, (folder, is_typed), &before))
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
        outcome.doubt = loaded_code::doubt(&variables, &folder, &before);
    }
    outcome.folder = Some(folder.to_string_lossy().into_owned());
}

/// The directory of the call, and what the session did before it. A journal that cannot be read tells neither.
fn call(journal: &Path, call_id: &str) -> (Option<String>, Before) {
    let (mut cwd, mut began_ns) = (None, None);
    let mut before = Before::default();
    let Ok(mut reader) = Reader::open(journal) else {
        return (None, before);
    };
    while let Ok(Some(line)) = reader.next_line() {
        let Ok(line) = line else {
            continue;
        };
        began_ns.get_or_insert(line.time_ns);
        let call = match line.record {
            Record::Call(call) => call,
            Record::Start(start) if before.base.is_none() => {
                before.base = start.base_commit;
                continue;
            }
            _ => continue,
        };
        if call.call_id == call_id {
            cwd = Some(call.cwd);
        } else if call.recorded != "denied" {
            match shell_command(&call.tool, &call.input) {
                Some(command) => {
                    before.exported.extend(exports(&command));
                    before.written.extend(written(&command));
                }
                None => before.written.extend(edited(&call.input)),
            }
        }
    }
    before.began_ns = began_ns.unwrap_or(0);
    (cwd, before)
}

/// The file that a tool for edits names.
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
