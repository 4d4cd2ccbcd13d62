//! `Taskfile.yml`: which tasks run, in which directory, and with which variables.

mod call;
mod template;

use std::rc::Rc;

use crate::lookup::{absolute, directory_of};
use crate::value::{HOLE, Value, has_hole};

use super::Evaluator;
use super::launch::letter_value;
use super::tools::Reading;
use super::wrapper::option_value;
use super::yaml::Node;
use call::{Call, loop_items};
use template::{filled, ways};

const NAMES: &[&str] = &[
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "taskfile.dist.yml",
    "Taskfile.dist.yaml",
    "taskfile.dist.yaml",
];

/// Options after which nothing is run.
const SHOWS: &[&str] = &[
    "-l",
    "--list",
    "-a",
    "--list-all",
    "-h",
    "--help",
    "--version",
    "--summary",
    "-i",
    "--init",
];

/// More runs of tasks than this are not followed.
const MAX_RUNS: usize = 200;

/// Deeper chains of tasks and files are not followed.
const MAX_DEPTH: usize = 12;

/// Names with what they stand for; the last one counts.
type Variables = Vec<(String, String)>;

/// One file of tasks, with those that it includes.
struct File {
    /// Where it lies.
    home: String,
    /// What its tasks are called by from outside: nothing, or `name:`.
    space: String,
    directory: String,
    given: Variables,
    /// Its variables and those of the files before it.
    variables: Variables,
    document: Node,
}

impl Evaluator<'_> {
    pub(super) fn task_file(&mut self, arguments: &[String]) {
        let own = arguments.iter().take_while(|word| *word != "--");
        let own: Vec<String> = own.cloned().collect();
        let taken_back = own.iter().any(|word| word.ends_with("=false"));
        if !taken_back && own.iter().any(|word| SHOWS.contains(&word.as_str())) {
            return;
        }
        let mut place = self.state.directory.to_string();
        let long = option_value(&own, &["-d", "--dir"]);
        if let Some(directory) = long.or_else(|| letter_value(&own, 'd')) {
            place = absolute(&place, &directory);
        }
        if own
            .iter()
            .any(|word| matches!(word.as_str(), "-g" | "--global"))
        {
            place.clone_from(&self.home);
        }
        let named = option_value(&own, &["-t", "--taskfile"]);
        let named = named.or_else(|| letter_value(&own, 't'));
        let Some(path) = self.task_path(&place, named.as_deref()) else {
            return;
        };
        let mut state = self.state.child();
        // A file of a pipe lies nowhere.
        if directory_of(&path) != "/dev/fd" {
            state.directory = directory_of(&path).into();
        }
        self.apart(state, |this| {
            let mut files = Vec::new();
            let root = this.state.directory.to_string();
            let read = this.task_files(&path, "", &root, Vec::new(), &mut files);
            let mut call = Call::of(arguments);
            call.dry &= !taken_back;
            if read.is_none() {
                let reading = if named.is_some() {
                    Reading::Values
                } else {
                    Reading::Task
                };
                this.project_file("task", &path, reading, &own, "");
                let text = this.known_file(&path).unwrap_or_default();
                if this.catalog.mentions_part(&text) {
                    this.opaque("the task file is not understood", &path);
                }
                return;
            }
            // A task that nobody can know may be any.
            let unknown = call.names.iter().any(|name| has_hole(name));
            let all = files.iter().flat_map(File::names).collect::<Vec<String>>();
            this.shared_variables(&mut files, &call, &place);
            call.files = files.into();
            this.linked(format!("task {path}"), |this| {
                for name in call.names.clone() {
                    this.task(&mut call, &name, "", &Vec::new(), 0);
                }
                for name in all.iter().filter(|_| unknown).take(MAX_RUNS) {
                    this.perhaps(|this| this.task(&mut call, name, "", &Vec::new(), 0));
                }
            });
        });
    }

    /// The file that is meant: the one that is named, or the nearest one above.
    fn task_path(&mut self, place: &str, named: Option<&str>) -> Option<String> {
        let Some(named) = named else {
            let mut state = self.state.clone();
            state.directory = place.into();
            let names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
            let found = self.apart(state, |this| this.file_above(&names));
            return found.map(|(path, _)| path);
        };
        let path = absolute(place, named);
        let inside = NAMES.iter().map(|name| absolute(&path, name));
        let mut paths = std::iter::once(path.clone()).chain(inside);
        paths.find(|path| self.known_file(path).is_some())
    }

    /// Reads a file and what it includes; nothing when one of them is not understood.
    fn task_files(
        &mut self,
        path: &str,
        space: &str,
        directory: &str,
        given: Variables,
        files: &mut Vec<File>,
    ) -> Option<()> {
        let document = Node::parse(&self.known_file(path)?)?;
        if files.len() > MAX_DEPTH {
            return None;
        }
        let home = directory_of(path).to_owned();
        let includes = document
            .get("includes")
            .map_or(&[][..], Node::pairs)
            .to_vec();
        files.push(File {
            home: home.clone(),
            space: space.to_owned(),
            directory: directory.to_owned(),
            given,
            variables: Vec::new(),
            document,
        });
        for (name, include) in includes {
            let path = include.text().or_else(|| include.get("taskfile")?.text())?;
            let path = absolute(&home, path);
            let inside = self.task_path(directory_of(&path), Some(&path));
            let Some(inside) = inside else {
                let optional = include.get("optional").and_then(Node::text) == Some("true");
                if optional {
                    continue;
                }
                return None;
            };
            let mut place = directory.to_owned();
            if let Some(own) = include.get("dir") {
                place = absolute(directory, own.text()?);
            }
            let given = self.task_variables(include.get("vars"), &Vec::new());
            let flat = include.get("flatten").and_then(Node::text) == Some("true");
            let inner = if flat {
                space.to_owned()
            } else {
                format!("{space}{name}:")
            };
            self.task_files(&inside, &inner, &place, given, files)?;
        }
        Some(())
    }

    /// The variables of each file: its own, those of the files that include it, and what the call sets, which wins.
    fn shared_variables(&mut self, files: &mut [File], call: &Call, place: &str) {
        let mut all: Variables = Vec::new();
        for file in files {
            let known: Variables = all.iter().chain(&call.variables).cloned().collect();
            let known: Variables = known
                .into_iter()
                .chain(file.given.iter().cloned())
                .collect();
            let mut own = match file.document.get("vars") {
                Some(Node::Map(pairs)) => {
                    let set = |name: &String| call.variables.iter().any(|(known, _)| known == name);
                    let pairs = pairs.iter().filter(|(name, _)| !set(name)).cloned();
                    let node = Node::Map(pairs.collect());
                    self.task_variables(Some(&node), &known)
                }
                _ => Vec::new(),
            };
            own.extend(file.given.iter().cloned());
            own.extend(call.variables.iter().cloned());
            all.extend(own);
            file.variables = all.clone();
            let places = [
                ("TASKFILE_DIR", file.home.as_str()),
                ("ROOT_DIR", &*self.state.directory),
                ("USER_WORKING_DIR", place),
            ];
            let places = places.map(|(name, value)| (name.to_owned(), value.to_owned()));
            file.variables.extend(places);
        }
    }

    /// Runs one task and those that it names; `from` is the name space of the one who names it.
    fn task(&mut self, call: &mut Call, name: &str, from: &str, given: &Variables, depth: usize) {
        call.runs = call.runs.saturating_add(1);
        if depth > MAX_DEPTH || call.runs > MAX_RUNS {
            self.opaque("more tasks are run than are followed", name);
            return;
        }
        let whole = match name.strip_prefix(':') {
            Some(top) => top.to_owned(),
            None => format!("{from}{name}"),
        };
        for file in Rc::clone(&call.files).iter() {
            let Some((own, task)) = file.task(&whole) else {
                continue;
            };
            let mut state = self.state.child();
            let label = format!("task {own}");
            state.directory = file.directory.as_str().into();
            let (own, task) = (own.to_owned(), task.clone());
            self.apart(state, |this| {
                this.linked(label, |this| {
                    let mut variables = file.variables.clone();
                    variables.extend(given.iter().cloned());
                    variables.push(("TASK".to_owned(), own.clone()));
                    if own.contains('*') {
                        variables.push(("MATCH".to_owned(), HOLE.to_string()));
                    }
                    let more = this.task_variables(task.get("vars"), &variables);
                    // What the caller gives may stand for its default.
                    let repeats = more.iter().any(|(name, _)| {
                        let mut known = call.variables.iter().chain(given.iter());
                        known.any(|(known, _)| known == name)
                    });
                    let before = variables.clone();
                    variables.extend(more.iter().cloned());
                    this.task_body(call, file, &task, &variables, depth);
                    if repeats {
                        let other = more.into_iter().chain(before).collect();
                        this.perhaps(|this| {
                            this.task_body(call, file, &task, &other, depth);
                        });
                    }
                });
            });
        }
    }

    fn task_body(
        &mut self,
        call: &mut Call,
        file: &File,
        task: &Node,
        variables: &Variables,
        depth: usize,
    ) {
        if let Some(own) = task.get("dir").and_then(Node::text) {
            let own = filled(own, variables);
            self.state.directory = absolute(&self.state.directory, &own).into();
        }
        for holder in [&file.document, task] {
            for path in holder.get("dotenv").map_or(&[][..], Node::items) {
                let path = filled(path.text().unwrap_or_default(), variables);
                let path = absolute(&file.directory, &path);
                self.environment_files(&[format!("--env-file={path}")]);
            }
            for (name, value) in self.task_variables(holder.get("env"), variables) {
                self.state.set(&name, Value::text(value), true);
            }
        }
        let empty = Node::List(Vec::new());
        let part = |key: &str| task.get(key).unwrap_or(&empty);
        for check in ["status", "preconditions", "if"] {
            for item in part(check).items() {
                if let Some(text) = item.text().or_else(|| item.get("sh")?.text()) {
                    self.task_command(text, variables);
                }
            }
        }
        for need in part("deps").items() {
            self.task_step(call, file, need, true, variables, depth);
        }
        let commands: Vec<&Node> = match task {
            Node::Map(_) => part("cmds").items().iter().chain(task.get("cmd")).collect(),
            other => other.items().iter().collect(),
        };
        for command in commands {
            self.task_step(call, file, command, false, variables, depth);
        }
    }

    /// One line of `cmds` or `deps`.
    fn task_step(
        &mut self,
        call: &mut Call,
        file: &File,
        step: &Node,
        need: bool,
        variables: &Variables,
        depth: usize,
    ) {
        for item in loop_items(step.get("for"), variables) {
            let mut variables = variables.clone();
            if let Some((name, value)) = item {
                variables.push((name, value));
            }
            let step = step.get("defer").unwrap_or(step);
            let other = if need { step.text() } else { None };
            let other = other.or_else(|| step.get("task")?.text());
            if let Some(name) = other {
                let given = self.task_variables(step.get("vars"), &variables);
                let name = filled(name, &variables);
                if has_hole(&name) {
                    self.opaque("the name of the task is not known", &name);
                    continue;
                }
                self.task(call, &name, &file.space, &given, depth.saturating_add(1));
            } else if let Some(text) = step.text().or_else(|| step.get("cmd")?.text())
                && !call.dry
            {
                self.task_command(text, &variables);
            }
        }
    }

    fn task_command(&mut self, text: &str, variables: &Variables) {
        let all = ways(text);
        let several = all.len() > 1;
        for text in all {
            let text = filled(&text, variables);
            if several {
                self.perhaps(|this| this.in_shell("task", &text));
            } else {
                self.in_shell("task", &text);
            }
        }
    }

    /// The values of `vars` or `env`, of which a later one may use an earlier one.
    fn task_variables(&mut self, node: Option<&Node>, known: &Variables) -> Variables {
        let mut all = known.clone();
        for (name, value) in node.map_or(&[][..], Node::pairs) {
            let value = match (value, value.get("sh").and_then(Node::text)) {
                (_, Some(command)) => {
                    let command = filled(command, &all);
                    let outcome = self.in_shell("task", &command);
                    let printed = outcome.output.first().trim_end_matches('\n');
                    if has_hole(printed) {
                        // As the shell would put it in.
                        format!("$({command})")
                    } else {
                        printed.to_owned()
                    }
                }
                (Node::Text(text), _) => {
                    let several = ways(text);
                    match several.as_slice() {
                        [one] => filled(one, &all),
                        _ => HOLE.to_string(),
                    }
                }
                (Node::List(items), _) => {
                    let words = items
                        .iter()
                        .map(|item| item.text().map(|text| filled(text, &all)));
                    let words: Option<Vec<String>> = words.collect();
                    words.map_or_else(|| HOLE.to_string(), |words| words.join(" "))
                }
                (Node::Map(_), _) => HOLE.to_string(),
            };
            all.push((name.clone(), value));
        }
        all.split_off(known.len())
    }
}

impl File {
    /// What its tasks are called from outside.
    fn names(&self) -> Vec<String> {
        let tasks = self.document.get("tasks").map_or(&[][..], Node::pairs);
        let names = tasks
            .iter()
            .map(|(name, _)| format!("{}{name}", self.space));
        names.collect()
    }

    /// The task that goes by this name from outside.
    fn task(&self, whole: &str) -> Option<(&str, &Node)> {
        let tasks = self.document.get("tasks").map_or(&[][..], Node::pairs);
        let name = match whole.strip_prefix(&self.space) {
            Some(name) => name,
            // `task docs` is `docs:default`.
            None if self.space.strip_suffix(':') == Some(whole) => "default",
            None => return None,
        };
        let known = |(own, node): &&(String, Node)| {
            let aliases = node.get("aliases").map_or(&[][..], Node::items);
            own == name || aliases.iter().any(|alias| alias.text() == Some(name))
        };
        let fits = |(own, _): &&(String, Node)| super::pattern::matches(own, name);
        let found = tasks.iter().find(known);
        let found = found.or_else(|| tasks.iter().filter(|(own, _)| own.contains('*')).find(fits));
        found.map(|(own, node)| (own.as_str(), node))
    }
}
