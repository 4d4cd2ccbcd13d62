//! Tests of the rules for changes of protected files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::content::Content;
use super::list::Kind;
use super::rules::{Change, Outcome, between_calls, during_calls};
use super::store::Running;
use crate::agents::Agent;
use crate::install::registration::{self, Program};

fn call(tool: &str, command: &str, question: &str) -> Running {
    Running {
        session: "s".to_owned(),
        tool: tool.to_owned(),
        command: command.to_owned(),
        question: question.to_owned(),
        at_ns: 0,
        process: None,
    }
}

fn with_change<T>(kind: Kind, before: &str, now: &str, act: impl FnOnce(&Change<'_>) -> T) -> T {
    let content = |text: &str| match text {
        "" => Content::Absent,
        text => Content::file(text.as_bytes(), 0o644),
    };
    act(&Change {
        kind,
        name: "f",
        before: &content(before),
        now: &content(now),
        text_before: before,
        text_now: now,
    })
}

/// Settings of an agent with our hook and another setting.
fn wired(agent: Agent) -> Value {
    let program = Program {
        path: PathBuf::from("/bin/roleos"),
        root: PathBuf::from("/w"),
        state: None,
        forced: false,
    };
    let mut settings = json!({ "model": "x", "hooks": {} });
    for entry in registration::wanted(agent, &program, true).entries {
        settings["hooks"][entry.event] = json!([entry.value]);
    }
    settings
}

#[test]
fn during_a_call_everything_is_put_back_but_for_named_exceptions() {
    let claude = Kind::Settings(Agent::Claude);
    let allow = |rules: &[&str]| json!({ "permissions": { "allow": rules } }).to_string();
    let test = [call("Bash", "npm test -- --watch", "")];
    let search = [call("WebSearch", "", "")];
    let asked = [call(
        "Bash",
        "x",
        "roleos asks: git's settings can name hooks, and it changes `f`.",
    )];
    let other = [call("Bash", "x", "roleos asks: it may change `ff` or `g`.")];
    let remote = "[core]\n\tbare = false\n[remote \"a\"]\n\turl = b\n";
    let moved = "[core]\n\tbare = false\n\tHooksPath = /x\n";
    let included = "[core]\n\tbare = false\n[Include]\n\tpath = /x\n";
    let config = "[core]\n\tbare = false\n";
    for (kind, before, now, calls, stays) in [
        (Kind::Plain, "a", "b", &test, false),
        (Kind::Plain, "a", "", &test, false),
        (Kind::GitHook, "a", "b", &test, false),
        (Kind::GitHook, "a", "b", &asked, true),
        (Kind::GitPointer, "", "b", &test, false),
        (Kind::GitPointer, "a", "b", &test, false),
        (Kind::GitPointer, "", "b", &asked, true),
        (Kind::GitConfig, config, remote, &test, true),
        (Kind::GitConfig, config, moved, &test, false),
        (Kind::GitConfig, config, included, &test, false),
        (Kind::GitConfig, config, moved, &asked, true),
        (Kind::Plain, "a", "b", &asked, true),
        (Kind::Plain, "a", "b", &other, false),
        (claude, "{}", "{\"model\":\"x\"}", &asked, true),
        (claude, "{}", "{\"model\":\"x\"}", &other, false),
        (claude, "{}", &allow(&["Bash(npm test:*)"]), &test, true),
        (claude, "", &allow(&["Bash(npm test *)"]), &test, true),
        (
            claude,
            &allow(&["A"]),
            &allow(&["A", "Bash(npm test)"]),
            &test,
            true,
        ),
        (
            claude,
            &allow(&["A"]),
            &allow(&["Bash(npm test)"]),
            &test,
            false,
        ),
        (
            claude,
            "{}",
            &allow(&["Bash(npm:*)", "Bash(git push:*)"]),
            &test,
            false,
        ),
        (claude, "{}", &allow(&["Bash"]), &test, false),
        (claude, "{}", &allow(&["Bash(*)"]), &test, false),
        (claude, "{}", &allow(&["Bash(:*)"]), &test, false),
        (claude, "{}", &allow(&["WebSearch"]), &search, true),
        (claude, "{}", &allow(&["WebSearch"]), &test, false),
        (
            claude,
            "{}",
            "{\"permissions\":{\"allow\":[\"Bash(npm test)\"]},\"hooks\":{}}",
            &test,
            false,
        ),
        (claude, "{}", "not json", &test, false),
        (
            Kind::Settings(Agent::Gemini),
            "{}",
            &allow(&["Bash(npm test:*)"]),
            &test,
            false,
        ),
    ] {
        let outcome = with_change(kind, before, now, |change| during_calls(change, calls));
        let expected = if stays {
            Outcome::Keep
        } else {
            Outcome::PutBack
        };
        assert_eq!(outcome, expected, "{kind:?}: {before} -> {now}");
    }
}

#[test]
fn between_calls_our_hook_comes_back_and_everything_else_stays() {
    for agent in Agent::ALL {
        let kind = Kind::Settings(agent);
        let before = wired(agent);
        let text = before.to_string();
        let decide = |now: &str| with_change(kind, &text, now, between_calls);
        let mut other = before.clone();
        other["model"] = json!("y");
        assert_eq!(decide(&other.to_string()), Outcome::Keep, "{agent:?}");
        let Outcome::Mend(mended) = decide("{\"model\":\"y\"}") else {
            panic!("{agent:?}");
        };
        assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), other);
        let mut weaker = other.clone();
        let event = registration::gate_event(agent);
        weaker["hooks"][event][0]["matcher"] = json!("Nothing");
        let Outcome::Mend(mended) = decide(&weaker.to_string()) else {
            panic!("{agent:?}");
        };
        let mended: Value = serde_json::from_str(&mended).unwrap();
        assert_eq!(mended["hooks"][event], before["hooks"][event], "{agent:?}");
        assert_eq!(decide("{"), Outcome::PutBack, "{agent:?}");
        assert_eq!(decide(""), Outcome::PutBack, "{agent:?}");
    }
}

#[test]
fn between_calls_hooks_that_were_switched_off_are_switched_on() {
    for (agent, now, mended) in [
        (
            Agent::Claude,
            "{ \"disableAllHooks\": true }",
            Some("{ \"disableAllHooks\": false }"),
        ),
        (
            Agent::Gemini,
            "{\"hooksConfig\":{\"enabled\":false}}",
            Some("{\"hooksConfig\":{\"enabled\":true}}"),
        ),
        (Agent::Claude, "{ \"disableAllHooks\": false }", None),
        (Agent::Cursor, "{ \"disableAllHooks\": true }", None),
    ] {
        let outcome = with_change(Kind::Settings(agent), "", now, between_calls);
        let expected = mended.map_or(Outcome::Keep, |text| Outcome::Mend(text.to_owned()));
        assert_eq!(outcome, expected, "{now}");
    }
    let toml = Kind::Settings(Agent::Codex);
    let off = "model = \"x\"\n[features]\nhooks = false\n";
    assert_eq!(
        with_change(toml, "model = \"x\"\n", off, between_calls),
        Outcome::PutBack
    );
    assert_eq!(with_change(toml, off, off, between_calls), Outcome::Keep);
}

#[test]
fn a_folder_that_becomes_a_link_is_put_back() {
    let link = Content::Link("evil".to_owned());
    for (before, now, expected) in [
        (&Content::Folder, &link, Outcome::PutBack),
        (&Content::Absent, &link, Outcome::PutBack),
        (&link, &Content::Folder, Outcome::PutBack),
        (&Content::Folder, &Content::Absent, Outcome::Keep),
        (&Content::Absent, &Content::Folder, Outcome::Keep),
    ] {
        let change = Change {
            kind: Kind::Folder,
            name: ".claude",
            before,
            now,
            text_before: "",
            text_now: "",
        };
        assert_eq!(
            during_calls(&change, &[]),
            expected,
            "{before:?} -> {now:?}"
        );
    }
}
