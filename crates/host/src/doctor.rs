//! Is everything installed, reachable and current? Looks, tries the installed hook, and changes nothing that stays.

pub mod canary;
pub mod codex_trust;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agents::Agent;
use crate::approval_key::{self, Place};
use crate::clock;
use crate::config::Config;
use crate::contracts;
use crate::environment::Environment;
use crate::grants;
use crate::install::git_hook;
use crate::install::record::read_text;
use crate::install::registration::{self, Found, Program};
use crate::install::settings::Settings;
use crate::install::system::Machine;
use crate::journal::read::{Session, journals};
use crate::keys::KeyStore;
use crate::workspace::Workspace;

use self::canary::Answered;
use self::codex_trust::Trust;

/// The newest journals are looked into; older ones were looked into before.
const JOURNALS: usize = 20;

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something is wrong.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// In a sentence.
    pub text: String,
    /// What to do about it.
    pub next: Option<String>,
}

impl Check {
    fn good(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            standing: Standing::Good,
            text: text.into(),
            next: None,
        }
    }

    fn note(name: &'static str, text: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            standing: Standing::Note,
            next: Some(next.into()),
            ..Self::good(name, text)
        }
    }

    fn wrong(name: &'static str, text: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            standing: Standing::Wrong,
            ..Self::note(name, text, next)
        }
    }
}

/// How one agent stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReport {
    /// Which.
    pub agent: Agent,
    /// The file with the entries; `None` when there are none.
    pub settings: Option<PathBuf>,
    /// Whether a call that must be refused was refused by the installed command, just now, and a harmless one was not.
    pub protected: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// About the workspace.
    pub checks: Vec<Check>,
    /// About each agent.
    pub agents: Vec<AgentReport>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let agents = self.agents.iter().flat_map(|agent| &agent.checks);
        let mut all = self.checks.iter().chain(agents);
        all.all(|check| check.standing != Standing::Wrong)
    }
}

/// Looks at everything. `running` is the program that asks.
#[must_use]
pub fn examine(
    workspace: &Workspace,
    config: &Config,
    environment: &Environment,
    running: &Path,
) -> Report {
    let gate = config.oversight.capability_gate || environment.capability_gate;
    let mut agents: Vec<AgentReport> = Agent::ALL
        .into_iter()
        .filter_map(|agent| agent_report(workspace, agent, gate, running))
        .collect();
    agents.sort_by_key(|report| report.agent);
    let mut checks = vec![
        gate_check(config, environment),
        contracts_check(workspace),
        grants_check(workspace),
        journal_check(workspace),
        keys_check(workspace),
        approval_check(workspace),
        git_check(workspace, running),
    ];
    if agents.is_empty() {
        checks.push(Check::wrong(
            "hooks",
            "no agent has our hook in its settings",
            "`roleos init --agent <agent>` puts it there",
        ));
    }
    Report { checks, agents }
}

fn gate_check(config: &Config, environment: &Environment) -> Check {
    let by = match (
        config.oversight.capability_gate,
        environment.capability_gate,
    ) {
        (true, true) => "on, by the settings and by `ROLEOS_CAPABILITY_GATE`",
        (true, false) => "on, by the settings",
        (false, true) => "on, by `ROLEOS_CAPABILITY_GATE`",
        (false, false) => {
            return Check::wrong(
                "gate",
                "the capability gate is off: nothing is refused",
                "`roleos init` switches it on, or write `capability_gate = true` under `[oversight]` into `.role-os/config.toml`",
            );
        }
    };
    let ignored: Vec<&str> = config.ignored.iter().map(|one| one.key).collect();
    if ignored.is_empty() {
        return Check::good("gate", by);
    }
    Check::note(
        "gate",
        format!(
            "{by}; ignored, for git tracks the settings file: {}",
            ignored.join(", ")
        ),
        "`roleos trust` shows these settings and asks",
    )
}

fn contracts_check(workspace: &Workspace) -> Check {
    let next = "`roleos contracts check` names every place";
    let source = match contracts::Source::of(workspace) {
        Ok(source) => source,
        Err(error) => return Check::wrong("contracts", said(&error), next),
    };
    let parsed = source.contracts();
    let problems = parsed.problems().len();
    let from = match &source.path {
        Some(path) => path.display().to_string(),
        None => "those that are shipped".to_owned(),
    };
    if problems > 0 {
        return Check::wrong("contracts", format!("{problems} problems in {from}"), next);
    }
    let tools = parsed.tools().count();
    Check::good("contracts", format!("{tools} tools, {from}"))
}

fn grants_check(workspace: &Workspace) -> Check {
    let now = i128::from(clock::now_ns());
    let now = Timestamp::from_nanosecond(now).unwrap_or(Timestamp::MAX);
    match grants::list(workspace, now) {
        Ok(entries) => Check::good("grants", format!("{} in force or listed", entries.len())),
        Err(error) => Check::wrong(
            "grants",
            said(&error),
            "correct the file or remove it; while it is damaged nothing is granted",
        ),
    }
}

fn journal_check(workspace: &Workspace) -> Check {
    let directory = workspace.sessions_dir();
    let all = match journals(&directory) {
        Ok(all) => all,
        Err(error) => {
            return Check::wrong("journal", said(&error), "check who may read it");
        }
    };
    let writable = nearest(&directory)
        .is_some_and(|folder| rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK).is_ok());
    if !writable {
        return Check::wrong(
            "journal",
            format!("`{}` cannot be written", directory.display()),
            "let your user write there; until then every call is blocked",
        );
    }
    let newest = all.iter().rev().take(JOURNALS);
    let broken: Vec<String> = newest
        .filter(|(_, path)| Session::read(path).map_or(true, |session| !session.is_whole()))
        .map(|(session, _)| session.as_str().to_owned())
        .collect();
    if broken.is_empty() {
        return Check::good("journal", format!("{} sessions, all whole", all.len()));
    }
    Check::wrong(
        "journal",
        format!("lines are missing or changed in {}", broken.join(", ")),
        "`roleos sessions show <session>` names the places; a torn last line is repaired by the next event",
    )
}

/// The nearest folder above that exists.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|folder| folder.exists())
        .map(Path::to_owned)
}

fn keys_check(workspace: &Workspace) -> Check {
    let next = "`roleos key new` makes the missing ones, and so does `roleos init`";
    match KeyStore::open(&workspace.keys_dir()) {
        Err(error) => Check::wrong("keys", said(&error), "restore the file from a backup"),
        Ok(store) => match (store.hmac(), store.signing()) {
            (Some(_), Some(_)) => Check::good("keys", "bundles and checkpoints can be signed"),
            _ => Check::wrong("keys", "a key that signs bundles is missing", next),
        },
    }
}

fn approval_check(workspace: &Workspace) -> Check {
    let place = Place::of(workspace);
    let key = approval_key::verifying_key(workspace);
    match (key, place.level()) {
        (Err(error), _) | (_, Err(error)) => Check::wrong(
            "approvals",
            said(&error),
            "`roleos key new --approval` makes a new approval key",
        ),
        (Ok(None), _) => Check::note(
            "approvals",
            "there is no approval key yet",
            "the first `roleos approve` makes it, and so does `roleos init`",
        ),
        (Ok(Some(key)), Ok(level)) => Check::good(
            "approvals",
            format!("level {}, key {}", level.as_str(), key.id()),
        ),
    }
}

fn git_check(workspace: &Workspace, running: &Path) -> Check {
    let program = program(workspace, running);
    let name = "git hook";
    match git_hook::place(workspace.root()) {
        git_hook::Place::NoRepository => Check::note(
            name,
            "this is no git repository, so there is no second seam",
            "`git init`, then `roleos init`",
        ),
        git_hook::Place::Shared(hooks) => Check::note(
            name,
            format!(
                "git takes its hooks from `{}`, which is not this repository's",
                hooks.display()
            ),
            "`git config core.hooksPath .git/hooks`, then `roleos init`",
        ),
        git_hook::Place::Here(hooks) => match git_hook::state(&hooks, &program) {
            Some(true) => Check::good(name, "pre-push asks the gate about pushes below an agent"),
            Some(false) => Check::wrong(
                name,
                "the pre-push hook is ours but starts another program or root",
                "`roleos init` brings it up to date",
            ),
            None => Check::wrong(
                name,
                "there is no pre-push hook of ours, so a push from inside a script is not seen",
                "`roleos init` puts it there",
            ),
        },
    }
}

fn program(workspace: &Workspace, running: &Path) -> Program {
    Program {
        path: running.to_owned(),
        root: workspace.root().to_owned(),
        forced: false,
    }
}

/// `None` when the agent has no entry of ours.
fn agent_report(
    workspace: &Workspace,
    agent: Agent,
    gate: bool,
    running: &Path,
) -> Option<AgentReport> {
    let machine = Machine::below(Path::new("/")).ok();
    let managed = machine.into_iter().flat_map(|machine| machine.settings());
    let mut places: Vec<Settings> = managed.filter(|one| one.agent == agent).collect();
    let managed = places.len();
    let mut checks = Vec::new();
    match Settings::of(agent, workspace.root()) {
        Ok(settings) => places.push(settings),
        Err(error) => checks.push(unreadable(&error)),
    }
    let mut entries: Vec<(Settings, bool, Found)> = Vec::new();
    for (index, settings) in places.into_iter().enumerate() {
        let text = read_text(&settings.path).ok().flatten().unwrap_or_default();
        match settings.entries(&text) {
            Ok(found) => {
                let found = registration::found(agent, &found);
                let is_managed = index < managed;
                entries.extend(
                    found
                        .into_iter()
                        .map(|one| (settings.clone(), is_managed, one)),
                );
            }
            Err(error) => checks.push(unreadable(&error)),
        }
    }
    let gate_event = registration::gate_event(agent);
    let before: Vec<_> = entries
        .iter()
        .filter(|(_, _, one)| one.event == gate_event)
        .collect();
    let Some((settings, is_managed, found)) = before.first() else {
        if entries.is_empty() && checks.is_empty() {
            return None;
        }
        checks.push(Check::wrong(
            "entry",
            format!("there is no entry of ours for `{gate_event}`"),
            format!("`roleos init --agent {}` puts it there", agent.name()),
        ));
        return Some(AgentReport {
            agent,
            settings: entries
                .first()
                .map(|(settings, _, _)| settings.path.clone()),
            protected: false,
            checks,
        });
    };
    checks.extend(entry_checks(agent, found, running, before.len()));
    let (canary, refused) = canary_check(workspace, agent, found, gate);
    checks.push(canary);
    let mut runs = agent.dialect().tried;
    if agent == Agent::Codex && !is_managed {
        let trust = codex_trust::examine(&settings.path, workspace.root());
        runs &= trust.as_ref().is_ok_and(Trust::is_given);
        checks.push(trust_check(trust));
    }
    if !agent.dialect().tried {
        checks.push(Check::note(
            "program",
            "written after its documentation, not tried against the program",
            "see for yourself with a harmless refusal: ask it to read `.role-os/keys`",
        ));
    }
    Some(AgentReport {
        agent,
        settings: Some(settings.path.clone()),
        protected: refused && runs && gate,
        checks,
    })
}

fn unreadable(error: &crate::install::InstallError) -> Check {
    Check::wrong(
        "settings",
        said(error),
        "correct that place; the agent cannot read the file either",
    )
}

fn entry_checks(agent: Agent, found: &Found, running: &Path, count: usize) -> Vec<Check> {
    let again = format!("`roleos init --agent {}` puts it right", agent.name());
    let mut checks = Vec::new();
    if !found.program.exists() {
        let text = format!("`{}` is not there", found.program.display());
        checks.push(Check::wrong("entry", text, again.clone()));
    } else if found.program != running {
        let text = format!(
            "the hook starts `{}`, and this is `{}`",
            found.program.display(),
            running.display()
        );
        checks.push(Check::note("entry", text, again.clone()));
    }
    if count > 1 {
        checks.push(Check::wrong(
            "entry",
            "the hook is entered more than once, so every call is judged and counted more than once",
            again,
        ));
    }
    checks
}

fn canary_check(workspace: &Workspace, agent: Agent, found: &Found, gate: bool) -> (Check, bool) {
    let name = "canary";
    let next = "the refusal above says why; `roleos init` and a new start of the agent often help";
    let refused = canary::send(workspace, agent, &found.start, canary::FORBIDDEN);
    let allowed = canary::send(workspace, agent, &found.start, canary::HARMLESS);
    match (refused, allowed) {
        (Answered::Refused(_), Answered::Allowed) => {
            let text = "the installed hook refused a forbidden call and let a harmless one pass";
            (Check::good(name, text), true)
        }
        (Answered::Broken(why), _) | (_, Answered::Broken(why)) => {
            let next = format!("`roleos init --agent {}` installs it anew", agent.name());
            (
                Check::wrong(
                    name,
                    format!("the installed hook does not answer: {why}"),
                    next,
                ),
                false,
            )
        }
        (_, Answered::Refused(why)) => {
            let text = format!(
                "the installed hook refuses even a harmless call: {}",
                first_line(&why)
            );
            (Check::wrong(name, text, next), false)
        }
        (Answered::Allowed, _) if !gate => (
            Check::note(
                name,
                "the installed hook answers, and refuses nothing because the gate is off",
                "`roleos init` switches the gate on",
            ),
            false,
        ),
        (Answered::Allowed, _) => (
            Check::wrong(
                name,
                "the installed hook let a forbidden call pass",
                format!("`roleos init --agent {}` installs it anew", agent.name()),
            ),
            false,
        ),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn trust_check(trust: Result<Trust, String>) -> Check {
    let name = "trust";
    let how = "start `codex` here, open `/hooks`, review the entries of Role OS and trust them";
    match trust {
        Ok(Trust::Given) => Check::good(name, "Codex was told to trust the hook as it is"),
        Ok(Trust::Missing) => Check::wrong(
            name,
            "Codex was never told to trust the hook, so it skips it without a word",
            how,
        ),
        Ok(Trust::Changed) => Check::wrong(
            name,
            "the hook was changed since Codex was told to trust it, so it is skipped without a word",
            how,
        ),
        Ok(Trust::Disabled) => Check::wrong(name, "the hook is switched off in Codex", how),
        Ok(Trust::ProjectUntrusted) => Check::wrong(
            name,
            "Codex does not trust this folder, so it reads nothing under `.codex/`",
            "start `codex` here and answer that you trust the folder; then trust the hook in `/hooks`",
        ),
        Err(why) => Check::wrong(
            name,
            why,
            "correct Codex's `config.toml`, then trust the hook",
        ),
    }
}

/// An error and its causes on one line.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
