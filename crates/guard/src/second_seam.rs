//! Git's `pre-push` hook as the second checkpoint: a push from inside a test or a script is seen here as well.
//!
//! A person's own push is never checked, and a dry run sends nothing. A push that the hook or the supervisor has just
//! allowed passes once, without a second use of its grant or approval; it was noted by [`note`] or [`note_again`].
//! Every other push goes through the same gate as a tool call: supervision of a parent process proves nothing about
//! this push.

use std::path::Path;

use oversight::Fact;
use oversight::execution::Execution;
use oversight::lookup::Nothing;
use oversight::verdict::Policy;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agents::Agent;
use crate::hook::{self, Progress, Request};
use crate::install::words::quoted;
use crate::supervision;
use crate::supervision::let_through::{self, Kept};
use base::agents_above::{self, AgentAbove};
use base::environment::{self, Environment};
use base::files::FileError;
use base::git;
use base::repository::State;
use base::workspace::Workspace;

/// The action of this checkpoint.
const PUSH: &str = "git:push";

/// An allowed push that has not happened yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// The words after `git`.
    words: Vec<String>,
    /// Set if the call was this push alone, so that the repository must be unchanged.
    alone: bool,
    repository: State,
}

/// Records the pushes of an allowed call.
///
/// # Errors
/// They cannot be recorded; each will be decided again.
pub fn note(workspace: &Workspace, command: &str, facts: &[Fact]) -> Result<(), FileError> {
    let alone = !command.contains([';', '&', '|', '\n', '(', '`']);
    let_through::keep(
        workspace,
        pushes(facts, alone).map(Kept::Push).collect(),
        &|_| false,
    )
}

/// Records the push of a program that begins now, in place of the hook's note.
pub(crate) fn note_again(workspace: &Workspace, facts: &[Fact]) {
    let pushes: Vec<Noted> = pushes(facts, true).collect();
    let words: Vec<Vec<String>> = pushes.iter().map(|push| push.words.clone()).collect();
    let is_old = |kept: &Kept| matches!(kept, Kept::Push(push) if words.contains(&push.words));
    // A push that cannot be recorded is decided again.
    let_through::keep(
        workspace,
        pushes.into_iter().map(Kept::Push).collect(),
        &is_old,
    )
    .ok();
}

fn pushes(facts: &[Fact], alone: bool) -> impl Iterator<Item = Noted> {
    // Other programs that send, such as `git send-pack`, start no hook.
    let is_push =
        |fact: &&Fact| fact.action == PUSH && fact.words.iter().any(|word| word == "push");
    let pushes = facts.iter().filter(is_push);
    pushes.filter_map(move |fact| {
        Some(Noted {
            words: fact.words.iter().map(|word| without_secret(word)).collect(),
            alone,
            repository: State::read(Path::new(&fact.directory))?,
        })
    })
}

/// Returns a word without secrets: the URL of a remote can hold a token.
fn without_secret(word: &str) -> String {
    redact::text(word).text.into_owned()
}

/// The push that git describes to its hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Name of the remote, or its URL if it has no name.
    pub remote: String,
    pub url: String,
    pub refs: Vec<PushedRef>,
}

/// One line of git's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedRef {
    /// The pushed ref; `(delete)` for a deletion.
    pub local: String,
    pub commit: String,
    /// The ref on the remote.
    pub remote: String,
}

impl Push {
    /// Parses git's arguments, and one line per ref.
    #[must_use]
    pub fn parse(remote: &str, url: &str, lines: &str) -> Self {
        let refs = lines.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (local, commit) = (words.next()?, words.next()?);
            Some(PushedRef {
                local: local.to_owned(),
                commit: commit.to_owned(),
                remote: words.next()?.to_owned(),
            })
        });
        Self {
            remote: remote.to_owned(),
            url: url.to_owned(),
            refs: refs.collect(),
        }
    }

    /// Returns the push as a command, for the gate and for the reader of a refusal.
    #[must_use]
    pub fn command(&self) -> String {
        let mut line = format!("git push {}", quoted(&self.remote));
        for one in &self.refs {
            let local = if one.local == "(delete)" {
                ""
            } else {
                &one.local
            };
            line.push(' ');
            line.push_str(&quoted(&format!("{local}:{}", one.remote)));
        }
        line
    }
}

/// Result of the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A person pushes, or the gate is off, or there is nothing to push.
    NotOurs,
    /// The tool-call checkpoint has just allowed it.
    LetThrough,
    /// The gate allows it.
    Allowed,
    /// It is refused, with the reason.
    Refused(String),
}

/// Decides about a push. Below an agent, with the gate on, every failure refuses it.
#[must_use]
pub fn judge(
    workspace: &Workspace,
    environment: &Environment,
    gate: bool,
    push: &Push,
    version: &str,
) -> Seen {
    let above = agents_above::find();
    if !gate || push.refs.is_empty() || is_persons(above.as_ref()) || is_dry() {
        return Seen::NotOurs;
    }
    judge_below(workspace, environment, above.as_ref(), push, version)
}

/// Returns `true` if neither an agent nor our supervisor is above this process.
#[must_use]
pub fn is_of_person() -> bool {
    is_persons(agents_above::find().as_ref())
}

fn is_persons(above: Option<&AgentAbove>) -> bool {
    above.is_none() && !supervision::is_supervised()
}

/// Returns `true` if the git that started this hook sends nothing: it calls the hook for a dry run as well.
fn is_dry() -> bool {
    let Some(words) = let_through::program_above("git") else {
        return false;
    };
    let git = Execution {
        names: vec!["git".to_owned()],
        words,
        directory: "/".to_owned(),
        ..Execution::default()
    };
    git.is_dry_push(&Policy::default(), "/", &Nothing)
}

fn judge_below(
    workspace: &Workspace,
    environment: &Environment,
    above: Option<&AgentAbove>,
    push: &Push,
    version: &str,
) -> Seen {
    let directory = std::env::current_dir().unwrap_or_else(|_| workspace.root().to_owned());
    let now = State::read(&directory);
    let is_noted = || {
        let Some(now) = &now else {
            return false;
        };
        let is_this = |kept: &Kept| match kept {
            Kept::Push(noted) => covers(noted, push, now, &directory),
            Kept::Act { .. } => false,
        };
        let_through::take_each(workspace, &[&is_this])
    };
    if is_noted() {
        return Seen::LetThrough;
    }
    let session = environment::agent_mark("CLAUDE_CODE_SESSION_ID")
        .or_else(|| environment::agent_mark("CODEX_THREAD_ID"))
        .and_then(|value| value.into_string().ok())
        .filter(|value| !value.is_empty());
    let event = json!({
        "hook_event_name": "PreToolUse",
        "session_id": session.unwrap_or_else(|| "git-pre-push".to_owned()),
        "cwd": directory.to_string_lossy(),
        "tool_name": "Bash",
        "tool_input": { "command": push.command() },
        "tool_use_id": "git-pre-push",
    })
    .to_string();
    let agent = match above.map_or("", |above| above.agent.as_str()) {
        name if name == Agent::Codex.dialect().label || name == "Codex" => Agent::Codex,
        _ => Agent::Claude,
    };
    let request = Request {
        agent,
        event: event.as_bytes(),
        named: None,
        root: Some(workspace.root()),
        environment,
        version,
    };
    let reply = hook::answer(&request, &Progress::default(), None);
    // No person can be asked here, so a question is a refusal.
    match (reply.code, reply.otherwise) {
        (_, Some(text)) => Seen::Refused(text),
        (0, None) => {
            // The gate recorded the push that happens now: no other push may use the note.
            is_noted();
            Seen::Allowed
        }
        (_, None) => Seen::Refused(reply.stderr),
    }
}

/// Returns `true` if a noted push is this one: same remote, same refs, and the repository unchanged.
fn covers(noted: &Noted, push: &Push, now: &State, directory: &Path) -> bool {
    let then = &noted.repository;
    let unchanged = then.top == now.top && then.settings == now.settings && then.head == now.head;
    let same_commit = then.commit == now.commit && then.refs == now.refs;
    let grown = || match (&then.commit, &now.commit) {
        (Some(old), Some(new)) => git::is_ancestor(directory, old, new),
        (None, Some(_)) => true,
        _ => false,
    };
    unchanged && (same_commit || (!noted.alone && grown())) && names(&noted.words, push, now)
}

/// Options of `git push` whose value is the next word.
const WITH_VALUE: &[&str] = &["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// Remote and refs in the words of `git push`.
#[derive(Debug, Default)]
struct Named<'a> {
    remote: Option<&'a str>,
    specs: Vec<&'a str>,
    /// Prefixes of refs that are pushed without being named.
    kinds: Vec<&'static str>,
    /// Set if only these kinds are pushed.
    only_kinds: bool,
}

impl<'a> Named<'a> {
    fn of(words: &'a [String]) -> Self {
        let mut named = Self::default();
        let mut operands = Vec::new();
        let mut words = words.iter().skip_while(|word| *word != "push").skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" | "--branches" => named.kind("refs/heads/", true),
                "--mirror" => named.kind("", true),
                "--tags" => named.kind("refs/tags/", true),
                "--follow-tags" => named.kind("refs/tags/", false),
                "--repo" => named.remote = words.next().map(String::as_str),
                word if WITH_VALUE.contains(&word) => drop(words.next()),
                word if word.starts_with("--repo=") => named.remote = word.get(7..),
                word if word.starts_with('-') => {}
                word => operands.push(word),
            }
        }
        let mut operands = operands.into_iter();
        named.remote = operands.next().or(named.remote);
        named.specs = operands.collect();
        named
    }

    fn kind(&mut self, kind: &'static str, only: bool) {
        self.kinds.push(kind);
        self.only_kinds |= only;
    }

    /// Returns `true` if it pushes this ref.
    fn holds(&self, one: &PushedRef, branch: &str) -> bool {
        if self.kinds.iter().any(|kind| one.remote.starts_with(kind)) {
            return true;
        }
        if self.specs.is_empty() {
            let own = one.local == format!("refs/heads/{branch}") || one.local == "HEAD";
            return own && !self.only_kinds;
        }
        let short = one
            .remote
            .split_once('/')
            .and_then(|(_, rest)| rest.split_once('/'));
        self.specs.iter().any(|spec| {
            let spec = spec.trim_start_matches('+');
            let target = spec.rsplit_once(':').map_or(spec, |(_, target)| target);
            let target = if target == "HEAD" { branch } else { target };
            one.remote == target || short.is_some_and(|(_, short)| short == target)
        })
    }
}

/// Returns `true` if words of `git push` name this remote and these refs.
fn names(words: &[String], push: &Push, now: &State) -> bool {
    let named = Named::of(words);
    let same_remote = named.remote.is_none_or(|remote| {
        [&push.remote, &push.url]
            .map(|told| without_secret(told))
            .contains(&remote.to_owned())
    });
    let branch = now.branch();
    same_remote && push.refs.iter().all(|one| named.holds(one, branch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(remote: &str, lines: &str) -> Push {
        Push::parse(remote, "https://example.org/x.git", lines)
    }

    fn state() -> State {
        State {
            top: "/r".to_owned(),
            head: "ref: refs/heads/main".to_owned(),
            commit: Some("a".repeat(40)),
            remotes: Vec::new(),
            refs: "r".to_owned(),
            settings: "s".to_owned(),
            user_settings: String::new(),
        }
    }

    const MAIN: &str = "refs/heads/main aaaa refs/heads/main bbbb\n";

    #[track_caller]
    fn check(words: &str, pushed: &Push, expected: bool) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(names(&words, pushed, &state()), expected, "{words:?}");
    }

    #[test]
    fn a_push_is_recognised_by_remote_and_refs() {
        let main = push("origin", MAIN);
        check("push", &main, true);
        check("push origin", &main, true);
        check("push origin main", &main, true);
        check("push -u origin HEAD", &main, true);
        check("push origin work:main", &main, true);
        check("push --force-with-lease origin +main", &main, true);
        check("push https://example.org/x.git main", &main, true);
        check("push -o ci.skip origin main", &main, true);
        check("push --push-option=x origin main", &main, true);
        check("push --receive-pack other origin main", &main, true);
        check("push --repo=origin", &main, true);
        check("push --repo other", &main, false);
        check("push --repo other origin main", &main, true);
        check("push -o origin other main", &main, false);
        check("push --all origin", &main, true);
        check("push --mirror", &main, true);
        check("push other main", &main, false);
        check("push origin work", &main, false);
        check("push origin main:work", &main, false);
        let tag = push("origin", "refs/tags/v1 aaaa refs/tags/v1 0000\n");
        check("push", &tag, false);
        check("push origin v1", &tag, true);
        check("push --tags", &tag, true);
        check("push --follow-tags", &tag, true);
        check("push --mirror", &tag, true);
        check("push --all", &tag, false);
        check("push --tags", &main, false);
        check("push --tags origin main", &main, true);
        let other = push("origin", "refs/heads/x aaaa refs/heads/x 0000\n");
        check("push --follow-tags origin main", &other, false);
        check("push --tags origin", &other, false);
        check("push --all", &other, true);
        check("push origin main", &tag, false);
        let both = push(
            "origin",
            &format!("{MAIN}refs/heads/x aaaa refs/heads/x 0000\n"),
        );
        check("push origin main", &both, false);
        check("push origin main x", &both, true);
    }

    fn noted(alone: bool) -> Noted {
        Noted {
            words: vec!["push".to_owned()],
            alone,
            repository: state(),
        }
    }

    #[test]
    fn another_state_of_the_repository_is_another_push() {
        let main = push("origin", MAIN);
        let holds = |now: &State| covers(&noted(true), &main, now, Path::new("/nowhere"));
        assert!(holds(&state()));
        let changes: [fn(&mut State); 5] = [
            |state| state.top = "/q".to_owned(),
            |state| state.head = "ref: refs/heads/x".to_owned(),
            |state| state.commit = Some("b".repeat(40)),
            |state| state.refs = "q".to_owned(),
            |state| state.settings = "q".to_owned(),
        ];
        for change in changes {
            let mut now = state();
            change(&mut now);
            assert!(!holds(&now), "{now:?}");
        }
    }

    #[test]
    fn the_command_says_what_git_said() {
        let both = push(
            "my remote",
            &format!("{MAIN}(delete) 0000 refs/heads/x aaaa\n"),
        );
        assert_eq!(
            both.command(),
            "git push 'my remote' refs/heads/main:refs/heads/main :refs/heads/x"
        );
    }
}
