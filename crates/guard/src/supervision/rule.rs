//! The rule of the supervision: a quick check for programs that cannot act, the whole gate for those that can.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use oversight::execution::{self, Execution};
use oversight::verdict::Policy;
use supervise::{Answer, Connect, Exec, Judge, Summary};

use super::Refusal;
use super::copies::{Copies, is_of_system};
use super::cover::Covers;
use super::known::Search;
use crate::hook::{Bench, Ruled};
use base::clean;
use base::liveness;

/// Most processes between a part of git and the git that has started it.
const MAX_ABOVE: usize = 16;

/// Longest part of an act that is shown.
const MAX_SHOWN: usize = 300;

/// State of the supervisor.
pub(super) struct Rule<'a> {
    bench: &'a Bench,
    policy: Policy,
    /// Variables at the start of the command.
    start: BTreeMap<String, String>,
    covers: Covers,
    copies: Copies,
    /// Set if a program was seen.
    reported: bool,
    /// The last refused process, and its program: a search through `PATH` tries the same again.
    last_refused: Option<(u32, Option<String>)>,
    names: Names,
}

/// Cache of names of programs that can act.
#[derive(Default)]
struct Names {
    known: BTreeMap<OsString, bool>,
}

impl Names {
    fn is_known(&mut self, policy: &Policy, path: &Path) -> bool {
        let Some(name) = path.file_name() else {
            return false;
        };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let interests = execution::is_of_interest(&policy.catalog, &name.to_string_lossy());
        self.known.insert(name.to_owned(), interests);
        interests
    }
}

impl<'a> Rule<'a> {
    pub(super) fn new(bench: &'a Bench, environment: &[(OsString, OsString)]) -> Self {
        // Protected paths do not matter when a program begins.
        let policy = bench.config.oversight.policy();
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let pairs = environment
            .iter()
            .map(|(name, value)| (text(name), text(value)));
        let start: BTreeMap<String, String> = pairs.collect();
        let path = environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_os_str()).unwrap_or_default();
        Self {
            copies: Copies::new(search(bench, &policy, path)),
            bench,
            names: Names::default(),
            policy,
            start,
            covers: Covers::default(),
            reported: false,
            last_refused: None,
        }
    }

    /// Returns `true` if a program can act, by its names. Another name does not change a program of the system:
    /// multi-call programs are known by their own names.
    fn interests(&mut self, exec: &Exec<'_>) -> bool {
        let real = exec.target().unwrap_or(exec.path());
        [Some(exec.path()), exec.target()]
            .into_iter()
            .flatten()
            .any(|path| self.names.is_known(&self.policy, path))
            || (!is_of_system(real) || exec.is_stopped())
                && exec
                    .name()
                    .is_some_and(|name| self.names.is_known(&self.policy, Path::new(name)))
    }

    /// Returns `true` if the words of an unknown program are those of a part of a push. The system's own programs are
    /// known.
    fn sends(exec: &Exec<'_>) -> bool {
        let real = exec.target().unwrap_or(exec.path());
        !is_of_system(real) && execution::sends(texts(exec).get(1..).unwrap_or_default())
    }

    /// Adds facts that the words do not contain: the program that a loader loads, and if git has started this.
    fn look_around(&mut self, exec: &Exec<'_>, execution: &mut Execution) {
        let own = execution.words.first().into_iter().chain(&execution.names);
        if own.into_iter().any(|name| execution::loads(name))
            && let Some(path) = execution::loaded(&execution.words)
        {
            let place = exec.place_of(Path::new(path));
            execution.loads = self
                .copies
                .name_at(&place, &mut |name| self.names.is_known(&self.policy, name));
        }
        execution.is_below_git = execution.helper().is_some() && self.is_below_git(exec.process());
    }

    /// Returns `true` if one of the processes above is a git. It was decided when it began.
    fn is_below_git(&mut self, process: u32) -> bool {
        let mut id = process;
        for _ in 0..MAX_ABOVE {
            let Some((_, parent)) = liveness::of_process(id).filter(|(_, parent)| *parent > 1)
            else {
                return false;
            };
            id = parent;
            let exe = PathBuf::from(format!("/proc/{id}/exe"));
            let path = fs::read_link(&exe).unwrap_or_default();
            let named = path.file_name().is_some_and(|name| name == "git");
            let is_git = named
                || !is_of_system(&path)
                    && self
                        .copies
                        .name_at(&exe, &mut |name| self.names.is_known(&self.policy, name))
                        .is_some_and(|name| name == "git");
            if is_git {
                return true;
            }
        }
        false
    }

    fn decided(&mut self, exec: &Exec<'_>) -> Answer {
        let interests = self.interests(exec);
        let copy = match interests {
            true => None,
            false => self
                .copies
                .name_of(exec, &mut |name| self.names.is_known(&self.policy, name)),
        };
        // A program that differs from the requested one is a script, whose interpreter can be any program.
        let is_plain = copy.is_none() && !interests && !exec.is_stopped();
        if is_plain && self.covers.is_empty() && !Self::sends(exec) {
            return Answer::Proceed;
        }
        let mut execution = seen(exec, copy);
        self.look_around(exec, &mut execution);
        if execution.has_aliases()
            && let Some(variables) = exec.environment()
        {
            self.take_variables(&mut execution, variables);
        }
        if !Bench::is_gated(&self.policy, &execution) {
            if Bench::is_dry_push(&self.policy, &execution) {
                self.covers.add_dry(exec.process(), &execution);
            } else if !self.covers.is_empty() {
                self.covers.holds(exec.process(), &execution, &[]);
            }
            return Answer::Proceed;
        }
        let Some(variables) = exec.environment() else {
            return Self::refuse(&execution, None, &[], "its variables cannot be read");
        };
        self.take_variables(&mut execution, variables);
        let actions = Bench::actions(&self.policy, &execution);
        if self.covers.holds(exec.process(), &execution, &actions) {
            self.bench.note_push(&execution);
            return Answer::Proceed;
        }
        let answer = self.judged(exec.process(), &execution);
        if answer == Answer::Proceed {
            self.covers.add(exec.process(), &execution, &actions);
        }
        answer
    }

    /// Decides through the gate.
    fn judged(&mut self, process: u32, execution: &Execution) -> Answer {
        match self.bench.judge(process, execution) {
            Ruled::Proceed => Answer::Proceed,
            Ruled::Refused {
                id,
                actions,
                reasons,
            } => {
                let this = Some((process, id.clone()));
                if self.last_refused == this {
                    return Answer::Refuse(Vec::new());
                }
                self.last_refused = this;
                Self::refuse(execution, id, &actions, &reasons.join("; "))
            }
        }
    }

    /// Keeps the variables of a program, and separately those that were not set at the start of the command.
    fn take_variables(&self, execution: &mut Execution, variables: &[OsString]) {
        execution.given.clear();
        execution.environment.clear();
        for variable in variables {
            let text = variable.to_string_lossy();
            let Some((name, value)) = text.split_once('=') else {
                continue;
            };
            let pair = (name.to_owned(), value.to_owned());
            if self.start.get(name).is_none_or(|known| known != value) {
                execution.given.push(pair.clone());
            }
            execution.environment.push(pair);
        }
        // The order of variables has no meaning.
        execution.given.sort();
    }

    fn refuse(execution: &Execution, id: Option<String>, actions: &[String], why: &str) -> Answer {
        let what = match actions {
            [] => "a program".to_owned(),
            actions => actions.join(", "),
        };
        let mut argv = execution.words.clone();
        let socket = execution.socket.iter();
        argv.extend(socket.map(|socket| format!("unix:{socket}")));
        let shown = shown(&argv);
        let told = match &id {
            Some(id) => format!(
                "roleos: refused {what} (act {id}): `{shown}`; a person may run: roleos approve {id}"
            ),
            None => format!(
                "roleos: refused {what}: `{shown}`: {}",
                clean::name(why.as_bytes())
            ),
        };
        answer(&Refusal {
            id,
            actions: actions.to_vec(),
            argv,
            told,
        })
    }
}

/// Returns the search for programs that are recognised by their names, which depend on the settings and the version.
fn search(bench: &Bench, policy: &Policy, path: &OsStr) -> Search {
    let names: Vec<&str> = policy.catalog.programs().collect();
    let names = format!("{} {}", bench.version, names.join(" "));
    Search::along(path, bench.environment.state.as_deref(), &names)
}

fn answer(refusal: &Refusal) -> Answer {
    let mut whole = serde_json::json!(refusal);
    if let Some(object) = whole.as_object_mut() {
        object.insert("told".to_owned(), refusal.told.clone().into());
    }
    Answer::Refuse(whole.to_string().into_bytes())
}

/// Converts an execution, without its variables.
fn seen(exec: &Exec<'_>, copy: Option<String>) -> Execution {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = copy.into_iter().collect();
    names.extend(
        [Some(exec.path()), exec.target()]
            .into_iter()
            .flatten()
            .filter_map(name),
    );
    names.dedup();
    let directory = exec.directory().unwrap_or_else(|| "/".into());
    Execution {
        names,
        words: texts(exec),
        directory: directory.to_string_lossy().into_owned(),
        ..Execution::default()
    }
}

fn texts(exec: &Exec<'_>) -> Vec<String> {
    let text = |word: &OsString| String::from_utf8_lossy(word.as_bytes()).into_owned();
    exec.words().iter().map(text).collect()
}

/// Converts a connection.
fn connecting(connect: &Connect<'_>, socket: String) -> Execution {
    let name = connect.program();
    let name = name.as_deref().and_then(Path::file_name);
    let words = connect.words();
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    Execution {
        names: name.map(text).into_iter().collect(),
        words: words.iter().map(|word| text(word)).collect(),
        directory: text(
            connect
                .directory()
                .unwrap_or_else(|| "/".into())
                .as_os_str(),
        ),
        socket: Some(socket),
        ..Execution::default()
    }
}

/// Returns the words of an act, safe to show and on one line.
fn shown(words: &[String]) -> String {
    let line = words.join(" ");
    let line = redact::text(&line).text;
    let clean = clean::name(line.as_bytes());
    match clean.char_indices().nth(MAX_SHOWN) {
        None => clean.into_owned(),
        Some((end, _)) => format!("{}…", clean.get(..end).unwrap_or_default()),
    }
}

impl Judge for Rule<'_> {
    fn begin(&mut self, program: &OsStr) {
        let program = Path::new(program);
        if program.is_absolute() && !is_of_system(program) {
            self.copies.prepare();
        }
    }

    fn exec(&mut self, exec: &Exec<'_>) -> Answer {
        if !self.reported {
            self.reported = true;
            self.bench.report();
        }
        self.decided(exec)
    }

    fn connect(&mut self, connect: &Connect<'_>) -> Answer {
        let socket = connect.socket().to_string_lossy();
        if self.policy.catalog.of_socket(&socket).is_none() {
            return Answer::Proceed;
        }
        let execution = connecting(connect, socket.into_owned());
        let process = connect.process();
        let answer = match self.covers.connects(process, &execution) {
            true => Answer::Proceed,
            false => self.judged(process, &execution),
        };
        if answer == Answer::Proceed {
            self.covers.add_connection(process, execution);
        }
        answer
    }

    fn unreadable(&mut self, process: u32) -> Vec<u8> {
        let told = format!(
            "roleos: refused a program that process {process} starts: what it is cannot be read"
        );
        let refusal = Refusal {
            id: None,
            actions: Vec::new(),
            argv: Vec::new(),
            told,
        };
        match answer(&refusal) {
            Answer::Refuse(bytes) => bytes,
            Answer::Proceed => Vec::new(),
        }
    }

    fn ended(&mut self, _: &Summary) {
        self.copies.keep();
    }
}
