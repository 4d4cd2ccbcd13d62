//! Sessions: the list, and single sessions as a tree of prompts, calls, decisions, outputs and tokens.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use evidence::journal::SessionId;
use evidence::journal::read::Session as Journal;
use evidence::journal::record::{Call, Line, Outcome, Record};

use super::calls::{self, Spent, SpentByCall};
use super::csv;
use super::frame::{Frame, Visit, encoded, show, tone};
use super::listing::{Asked, Column, Field, Shell};
use super::when::When;
use crate::api::{Desk, judged_bundle, not_found};
use crate::problem::Problem;
use index::list::{Filter, Page};
use index::rows::{Request, Session};
use present::show::clean;
use present::show::replay_view::{DIGITS, shown_call};
use present::show::units::{duration, grouped};

const COLUMNS: &[Column] = &[
    ("Session", "title", false),
    ("Last event", "last", false),
    ("Agent", "agent", false),
    ("Model", "model", false),
    ("Calls", "calls", true),
    ("Asked", "asked", true),
    ("Refused", "denied", true),
    ("Bundle", "", false),
];

/// Most columns of a reason.
const MAX_REASON: usize = 400;

#[derive(Template)]
#[template(path = "pages/sessions.html")]
struct List {
    frame: Frame,
    shell: Shell,
    rows: Vec<Row>,
}

/// A session in a list.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) title: String,
    pub(super) last: When,
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) calls: i64,
    pub(super) asked: i64,
    pub(super) denied: i64,
    pub(super) ended: bool,
    pub(super) sealed: Option<String>,
}

impl Row {
    pub(super) fn of(session: Session) -> Self {
        Self {
            href: address(&session.id),
            title: match session.title.as_str() {
                "" => "No prompt".to_owned(),
                title => clean::line(title, 100),
            },
            id: clean::line(&session.id, 40),
            last: When::of(&session.last),
            agent: clean::line(&session.agent, 40),
            model: clean::line(&session.model, 60),
            calls: session.calls,
            asked: session.asked,
            denied: session.denied,
            ended: session.ended,
            sealed: session.sealed,
        }
    }
}

/// Returns the address of a session's page.
pub(super) fn address(id: &str) -> String {
    format!("/sessions/{}", encoded(id))
}

fn filter(asked: &Asked) -> Result<Filter, Problem> {
    let filter = Filter::default()
        .any("agent", &asked.all("agent"))
        .any("model", &asked.all("model"))
        .any("mode", &asked.all("mode"))
        .found::<Session>(asked.one("q"));
    asked.within_ns(filter, "last_ns")
}

pub(super) async fn list(State(desk): State<Arc<Desk>>, visit: Visit, asked: Asked) -> Response {
    if asked.is_for_file() {
        return csv::file::<Session>(&desk, &visit, "Sessions", asked, filter).await;
    }
    show(&desk, visit, "Sessions", move |desk, visit| {
        let listed = desk
            .view
            .list::<Session>(&filter(&asked)?, &asked.page::<Session>()?)?;
        let field = |name, label| {
            let values = desk.view.values_of::<Session>(name)?;
            Ok::<_, Problem>(Field::of(&asked, name, label, &values))
        };
        let fields = vec![
            field("agent", "Agent")?,
            field("model", "Model")?,
            field("mode", "Mode")?,
        ];
        Ok(List {
            frame: visit.frame("Sessions", "Sessions"),
            shell: Shell::new(
                &asked,
                "/sessions",
                COLUMNS,
                fields,
                (listed.total, listed.next),
            ),
            rows: listed.items.into_iter().map(Row::of).collect(),
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "pages/session.html")]
struct One {
    frame: Frame,
    id: String,
    title: String,
    agent: String,
    model: String,
    /// Task ids of its bundles, complete and short.
    tasks: Vec<(String, String)>,
    requests: u64,
    facts: Vec<(&'static str, String)>,
    started: When,
    last: When,
    damage: Option<String>,
    turns: Vec<Turn>,
}

/// A prompt, and everything up to the next one.
struct Turn {
    name: String,
    time: When,
    prompt: Option<String>,
    nodes: Vec<Node>,
}

enum Node {
    Call(Box<CallNode>),
    Note(Note),
}

struct CallNode {
    number: u64,
    call_id: String,
    time: When,
    tool: String,
    command: String,
    verdict: String,
    tone: &'static str,
    actions: Vec<String>,
    why: Vec<String>,
    refusal: Option<String>,
    approval: Option<String>,
    /// Tokens and cost, from the bundle.
    spent: Option<String>,
    result: Option<Ended>,
}

struct Ended {
    word: &'static str,
    tone: &'static str,
    exit: Option<i64>,
    duration: Option<String>,
    output: Option<String>,
}

/// An event of the journal that is neither a prompt nor a call.
struct Note {
    name: String,
    time: When,
    text: String,
    task: Option<String>,
}

pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Response {
    show(&desk, visit, "Sessions", move |desk, visit| {
        page(desk, visit, &id)
    })
    .await
}

fn page(desk: &Desk, visit: &Visit, id: &str) -> Result<One, Problem> {
    let path = SessionId::new(id).path_in(&desk.workspace.sessions_dir());
    if !path.exists() {
        return Err(
            not_found("unknown_session", format!("there is no session `{id}`"))
                .hint("the list of sessions is at `/sessions`; journals are kept for 30 days"),
        );
    }
    let journal = Journal::read(&path)?;
    let of_id = Filter::default().equal("session.id", Some(id));
    let known = desk.view.list::<Session>(&of_id, &Page::first(1))?.items;
    let known = known.into_iter().next();
    let of_session = Filter::default().equal("session", Some(id));
    let requests = desk
        .view
        .list::<Request>(&of_session, &Page::first(1))?
        .total;
    let tasks = tasks(&journal.lines);
    let spent = spent(desk, &tasks);
    let tree = Tree::read(&journal.lines, spent);
    let row = known.map(Row::of);
    let title = row
        .as_ref()
        .map_or_else(|| "Session".to_owned(), |row| row.title.clone());
    let time = |line: Option<&Line>| When::of_ns(line.map_or(0, |line| line.time_ns));
    let agent = journal.lines.first().map(|line| line.agent.as_str());
    Ok(One {
        frame: visit.frame("Sessions", title.clone()),
        id: id.to_owned(),
        title,
        agent: clean::line(agent.unwrap_or_default(), 40),
        model: row.map(|row| row.model).unwrap_or_default(),
        tasks: tasks
            .iter()
            .map(|task| (task.clone(), task.chars().take(12).collect()))
            .collect(),
        requests,
        facts: tree.facts(),
        started: time(journal.lines.first()),
        last: time(journal.lines.last()),
        damage: (!journal.is_whole())
            .then(|| "The journal is damaged: lines are missing or were changed.".to_owned()),
        turns: tree.turns,
    })
}

/// Returns the task ids of the bundles that a session was sealed in.
fn tasks(lines: &[Line]) -> Vec<String> {
    let sealed = lines.iter().filter_map(|line| match &line.record {
        Record::Sealed(sealed) if !sealed.sha256.is_empty() => Some(sealed.task_id.clone()),
        _ => None,
    });
    sealed.collect()
}

/// Returns the usage of each call, from the session's bundles.
fn spent(desk: &Desk, tasks: &[String]) -> SpentByCall {
    let mut all = SpentByCall::new();
    for task in tasks {
        // Without its bundle, the tree has no costs.
        judged_bundle(desk, task, |_, judged, _| {
            if let Some(contents) = judged.contents() {
                calls::add_spent(&mut all, contents);
            }
            Ok(())
        })
        .ok();
    }
    all
}

/// The tree during the reading of the journal.
#[derive(Default)]
struct Tree {
    turns: Vec<Turn>,
    current: Option<Turn>,
    calls: u64,
    denied: u64,
    asked: u64,
    tokens: u64,
    prompts: u64,
}

impl Tree {
    fn read(lines: &[Line], mut spent: SpentByCall) -> Self {
        let mut tree = Self::default();
        for line in lines {
            tree.line(line, &mut spent);
        }
        tree.turns.extend(tree.current.take());
        tree
    }

    fn line(&mut self, line: &Line, spent: &mut SpentByCall) {
        match &line.record {
            Record::Prompt(prompt) => {
                self.prompts += 1;
                let turn = Turn {
                    name: format!("Prompt {}", self.prompts),
                    time: When::of_ns(line.time_ns),
                    prompt: Some(text(&prompt.kept.text)),
                    nodes: Vec::new(),
                };
                self.turns.extend(self.current.replace(turn));
            }
            Record::Call(call) => {
                let node = self.call(call, line, spent);
                self.add(line.time_ns, Node::Call(Box::new(node)));
            }
            Record::Result(outcome) | Record::Failure(outcome) => self.ended(outcome),
            other => {
                if let Some(note) = note(other, line.time_ns) {
                    self.add(line.time_ns, Node::Note(note));
                }
            }
        }
    }

    fn add(&mut self, time_ns: u64, node: Node) {
        let turn = self.current.get_or_insert_with(|| Turn {
            name: "Before the first prompt".to_owned(),
            time: When::of_ns(time_ns),
            prompt: None,
            nodes: Vec::new(),
        });
        turn.nodes.push(node);
    }

    fn call(&mut self, call: &Call, line: &Line, spent: &mut SpentByCall) -> CallNode {
        self.calls += 1;
        self.denied += u64::from(call.verdict == "deny");
        self.asked += u64::from(call.verdict == "ask");
        let key: String = call.input_sha256.chars().take(DIGITS).collect();
        let spent = spent.get_mut(&key).and_then(Vec::pop);
        self.tokens += spent.as_ref().map_or(0, |spent| spent.tokens);
        let words = |list: &[String]| -> Vec<String> {
            list.iter()
                .map(|one| clean::line(one, MAX_REASON))
                .collect()
        };
        let grants = call.grants.iter().map(|grant| format!("granted: {grant}"));
        let grants: Vec<String> = grants.collect();
        CallNode {
            number: self.calls,
            call_id: call.call_id.clone(),
            time: When::of_ns(line.time_ns),
            tool: clean::line(&call.tool, 60),
            command: text(&shown_call(&call.tool, &call.input)),
            verdict: clean::line(&call.verdict, 20),
            tone: tone(&call.verdict),
            actions: words(&call.actions),
            why: [
                words(&call.reasons),
                words(&call.notes),
                words(&call.violations),
                words(&grants),
            ]
            .concat(),
            refusal: call.refusal.clone(),
            approval: call.approval.clone(),
            spent: spent.as_ref().map(Spent::text),
            result: None,
        }
    }

    /// Adds a result to its call; one without an id belongs to the last call.
    fn ended(&mut self, outcome: &Outcome) {
        let turns = self.turns.iter_mut().chain(&mut self.current);
        let nodes = turns.flat_map(|turn| &mut turn.nodes);
        let mut calls: Vec<&mut CallNode> = nodes
            .filter_map(|node| match node {
                Node::Call(call) if call.result.is_none() => Some(&mut **call),
                _ => None,
            })
            .collect();
        let of_name = |call: &&mut &mut CallNode| {
            outcome.call_id.is_empty() || call.call_id == outcome.call_id
        };
        if let Some(call) = calls.iter_mut().rev().find(of_name) {
            call.result = Some(Ended::of(outcome));
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let tokens = match self.tokens {
            0 => "known when the session is sealed".to_owned(),
            tokens => grouped(tokens),
        };
        vec![
            ("Prompts", grouped(self.prompts)),
            ("Calls", grouped(self.calls)),
            ("Asked about", grouped(self.asked)),
            ("Refused", grouped(self.denied)),
            ("Tokens of the calls", tokens),
        ]
    }
}

impl Ended {
    fn of(outcome: &Outcome) -> Self {
        let (word, tone) = match outcome.failed {
            true => ("failed", "bad"),
            false => ("done", "good"),
        };
        Self {
            word,
            tone,
            exit: outcome.exit,
            duration: outcome.duration_ms.map(duration),
            output: outcome.output.as_ref().map(|kept| text(&kept.text)),
        }
    }
}

fn text(text: &str) -> String {
    clean::text(text.as_bytes()).into_owned()
}

fn note(record: &Record, time_ns: u64) -> Option<Note> {
    let (name, shown, task) = match record {
        Record::Plan(plan) => ("Plan", text(&plan.kept.text), None),
        Record::Stop(stop) | Record::SubagentStop(stop) => {
            let message = stop.message.as_ref().map(|kept| text(&kept.text));
            ("The agent answered", message.unwrap_or_default(), None)
        }
        Record::Broke(broke) => ("The agent broke", text(&broke.kept.text), None),
        Record::ModelSwitch(switch) => {
            let model = switch.to.as_deref().unwrap_or("unknown");
            ("Another model", clean::line(model, 100), None)
        }
        Record::Rollback(_) => ("The files were rolled back", String::new(), None),
        Record::Restored(_) => ("Protected files were put back", String::new(), None),
        Record::Lost(_) => ("Lines of the journal are gone", String::new(), None),
        Record::End(end) => ("The session ended", clean::line(&end.reason, 200), None),
        Record::Sealed(sealed) if !sealed.sha256.is_empty() => (
            "Sealed",
            format!("sha256 {}", sealed.sha256),
            Some(sealed.task_id.clone()),
        ),
        _ => return None,
    };
    Some(Note {
        name: name.to_owned(),
        time: When::of_ns(time_ns),
        text: shown,
        task,
    })
}
