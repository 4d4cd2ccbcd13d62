//! Check of our entries in an agent's settings: a refused canary does not show that the agent would call the hook for
//! every tool, or obey it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Check;
use base::programs;
use guard::agents::Agent;
use guard::install::registration::{self, Found, Program};
use guard::install::strength;

/// Checks the program of an entry, and that there is one entry.
pub(super) fn checks(agent: Agent, found: &Found, running: &Path, count: usize) -> Vec<Check> {
    let again = format!("`roleos init --agent {}` puts it right", agent.name());
    let mut checks = Vec::new();
    if !found.program.exists() {
        let text = format!("`{}` is not there", found.program.display());
        checks.push(Check::wrong("entry", text, again.clone()));
    } else if found.program != programs::hook(running) {
        let text = format!(
            "the hook starts `{}`, and `roleos init` would install `{}`",
            found.program.display(),
            programs::hook(running).display()
        );
        checks.push(Check::note("entry", text, again.clone()));
    }
    if programs::main(&found.program).is_none() {
        let text = format!(
            "there is no `roleos` beside `{}`, so sessions are not sealed when they end",
            found.program.display()
        );
        let next = "install `roleos` there; `roleos sessions seal --all` seals what is over";
        checks.push(Check::wrong("entry", text, next));
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

/// Returns every way by which calls could pass although the hook answers. `entries` are all of the settings, foreign
/// ones included.
pub(super) fn weaknesses(
    agent: Agent,
    entries: &[(String, Value)],
    root: &Path,
    is_managed: bool,
) -> Vec<Check> {
    let again = format!("`roleos init --agent {}` puts it right", agent.name());
    let mut found = Vec::new();
    let gate_event = registration::gate_event(agent);
    let ours = entries.iter().filter_map(|(event, group)| {
        let handler = strength::our_handler(agent, group)?;
        Some((event.as_str(), group, handler))
    });
    let ours: Vec<(&str, &Value, &Value)> = ours.collect();
    let gates: Vec<Vec<String>> = ours
        .iter()
        .filter(|(event, _, _)| *event == gate_event)
        .map(|(_, group, handler)| strength::weaknesses(agent, group, handler))
        .collect();
    // One complete entry is enough.
    if let Some(first) = gates
        .first()
        .filter(|_| gates.iter().all(|one| !one.is_empty()))
    {
        let weak = first.iter().map(|why| {
            let text = format!("the entry for `{gate_event}` was changed: {why}");
            Check::wrong("entry", text, again.clone())
        });
        found.extend(weak);
    }
    let missing: Vec<String> = events(agent)
        .into_iter()
        .filter(|event| !ours.iter().any(|(known, _, _)| known == event))
        .map(|event| format!("`{event}`"))
        .collect();
    if !missing.is_empty() && !is_managed {
        let text = format!(
            "there is no entry of ours for {}, so the journal misses what they tell",
            missing.join(", ")
        );
        found.push(Check::wrong("entry", text, again));
    }
    if agent == Agent::Claude && !is_managed {
        found.extend(strength::switched_off(root).map(|path| {
            let text = format!(
                "`{}` says `disableAllHooks`, so no hook runs",
                path.display()
            );
            Check::wrong("settings", text, "take that line out")
        }));
    }
    found
}

/// Returns the events that `init` registers.
fn events(agent: Agent) -> Vec<&'static str> {
    let any = Program {
        path: PathBuf::new(),
        root: PathBuf::new(),
        state: None,
        forced: false,
    };
    let wanted = registration::wanted(agent, &any, true);
    wanted.entries.iter().map(|entry| entry.event).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn installed(agent: Agent) -> Vec<(String, Value)> {
        let program = Program {
            path: "/bin/roleos".into(),
            root: "/w".into(),
            state: None,
            forced: false,
        };
        let wanted = registration::wanted(agent, &program, true);
        let entries = wanted.entries.into_iter();
        entries
            .map(|entry| (entry.event.to_owned(), entry.value))
            .collect()
    }

    fn said(agent: Agent, entries: &[(String, Value)]) -> String {
        let found = weaknesses(agent, entries, Path::new("/nowhere"), false);
        let texts: Vec<String> = found.into_iter().map(|check| check.text).collect();
        texts.join("\n")
    }

    #[test]
    fn what_init_writes_has_no_weakness() {
        for agent in Agent::ALL {
            assert_eq!(said(agent, &installed(agent)), "", "{agent:?}");
        }
    }

    #[test]
    fn an_entry_that_was_weakened_is_named() {
        let handler = "/0/1/hooks/0";
        for (agent, place, value, expected) in [
            (
                Agent::Claude,
                "/0/1/matcher".to_owned(),
                json!("Read"),
                "its matcher is `Read`",
            ),
            (
                Agent::Claude,
                format!("{handler}/onFailure"),
                json!("continue"),
                "`\"onFailure\": \"block\"`",
            ),
            (
                Agent::Cursor,
                "/0/1/failClosed".to_owned(),
                json!(false),
                "`\"failClosed\": true`",
            ),
            (
                Agent::Codex,
                "/0/1/matcher".to_owned(),
                json!("Bash"),
                "its matcher is `Bash`",
            ),
        ] {
            let mut all = json!(installed(agent));
            *all.pointer_mut(&place).unwrap() = value;
            let changed: Vec<(String, Value)> = serde_json::from_value(all).unwrap();
            let text = said(agent, &changed);
            assert!(text.contains(expected), "{text}");
        }
        for (name, value) in [("if", json!("Bash(git *)")), ("async", json!(true))] {
            let mut entries = installed(Agent::Claude);
            let handler = entries[0].1.pointer_mut("/hooks/0").unwrap();
            handler[name] = value;
            assert!(!said(Agent::Claude, &entries).is_empty(), "{name}");
        }
    }

    #[test]
    fn one_whole_entry_beside_a_weak_one_is_enough_and_missing_events_are_named() {
        let mut entries = installed(Agent::Claude);
        let mut narrow = entries[0].clone();
        narrow.1["matcher"] = json!("Read");
        entries.insert(0, narrow);
        assert_eq!(said(Agent::Claude, &entries), "");
        entries.retain(|(event, _)| event != "SessionEnd" && event != "Stop");
        let text = said(Agent::Claude, &entries);
        assert!(
            text.contains("no entry of ours for `Stop`, `SessionEnd`"),
            "{text}"
        );
    }
}
