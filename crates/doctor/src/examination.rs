//! Examines the workspace and every agent, in order.

use std::path::Path;

use base::config::Config;
use base::environment::Environment;
use base::installed::read_text;
use base::programs;
use base::said;
use base::workspace::Workspace;
use guard::agents::Agent;
use guard::install::registration::{self, Found, Program};
use guard::install::settings::Settings;
use guard::install::system::Machine;

use crate::canary::{self, Answered};
use crate::client_version;
use crate::codex_trust::{self, Trust};
use crate::report::{AgentReport, Check, Report};
use crate::{entry, supervised};

/// Runs all checks. `running` is the running program.
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
        crate::workspace::gate_check(workspace, config, environment),
        crate::workspace::contracts_check(workspace),
        crate::workspace::grants_check(workspace),
        crate::workspace::journal_check(workspace),
        crate::workspace::keys_check(workspace),
        crate::workspace::approval_check(workspace),
        crate::workspace::git_check(workspace, running),
    ];
    checks.extend(programs_check(running));
    checks.extend(crate::workspace::actions_check(config));
    checks.extend(crate::protected::check(workspace, environment));
    checks.extend(crate::ledger::check(workspace, config));
    checks.extend(crate::prices::check(workspace, config));
    checks.push(supervised::machine(environment));
    checks.extend(crate::workspace::registry_check(
        workspace,
        config,
        environment,
    ));
    if agents.is_empty() {
        checks.push(Check::wrong(
            "hooks",
            "no agent has our hook in its settings",
            "`roleos init --agent <agent>` puts it there",
        ));
    }
    Report { checks, agents }
}

/// Returns `None` if the small program of the hooks is beside this one.
fn programs_check(running: &Path) -> Option<Check> {
    let hook = running.with_file_name(programs::HOOK);
    (!hook.is_file()).then(|| {
        let text = format!(
            "`{}` is missing, so hooks start `{}`, which takes longer",
            hook.display(),
            running.display()
        );
        let next = "`cargo install --path crates/roleos` brings both; then `roleos init`";
        Check::note("programs", text, next)
    })
}

/// Returns the program that hooks start; `path` is one of our programs.
pub(crate) fn program(workspace: &Workspace, path: &Path) -> Program {
    Program {
        path: path.to_owned(),
        root: workspace.root().to_owned(),
        state: workspace.state().map(Path::to_owned),
        forced: false,
    }
}

/// Returns the report on an agent; `None` if it has no entry of our hook.
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
    let mut raw = Vec::new();
    for (index, settings) in places.into_iter().enumerate() {
        let text = read_text(&settings.path).ok().flatten().unwrap_or_default();
        match settings.entries(&text) {
            Ok(found) => {
                raw.extend(found.iter().cloned());
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
    checks.extend(entry::checks(agent, found, running, before.len()));
    let weak = entry::weaknesses(agent, &raw, workspace.root(), *is_managed);
    let whole = weak.is_empty();
    checks.extend(weak);
    let old = client_version::check(agent, workspace.root());
    let is_new = old.is_none();
    checks.extend(old);
    let (canary, refused) = canary_check(workspace, agent, found, gate);
    checks.push(canary);
    checks.extend(supervised::way(workspace, settings));
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
        protected: refused && runs && gate && whole && is_new,
        checks,
    })
}

fn unreadable(error: &guard::install::InstallError) -> Check {
    Check::wrong(
        "settings",
        said(error),
        "correct that place; the agent cannot read the file either",
    )
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
