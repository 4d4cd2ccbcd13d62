//! The table of commands that write, with the views by which a trial reads their records.

use std::fmt::Write as _;
use std::path::Path;

use crate::place::{Place, Ran, Result};

/// One command that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    /// Content of the settings file.
    config: &'static str,
    /// Further files.
    files: &'static [(&'static str, &'static str)],
    /// Commands that run once, without faults.
    before: &'static [Step],
    /// The command under test.
    pub(crate) step: Step,
    /// Views of its records.
    views: &'static [View],
    /// Set if the agent must not be allowed this call under any fault.
    pub(crate) is_gated: bool,
}

/// Arguments and standard input; `{root}` is the workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step(&'static [&'static str], &'static str);

/// A part of the state that a command writes.
#[derive(Debug)]
enum View {
    /// The number of whole lines of JSON in a log.
    Lines(&'static str),
    /// The number of calls in a journal.
    Calls(&'static str),
    /// The bytes of a file.
    Bytes(&'static str),
    /// A value in a command's JSON.
    Value(&'static [&'static str], &'static str),
    /// The number of values in a list.
    Count(&'static [&'static str], &'static str),
}

const GATE: &str = "[oversight]\ncapability_gate = true\n";
const SPECIALIST: &str = "[specialist]\nshadow_every = 1000000\nbackend_timeout_ms = 2000\n\
    [fallback.claude]\nkind = \"command\"\ncommand = [\"/bin/echo\", \"1\"]\n";
const REGISTRY: &str = r#"{"schema":"roleos-specialist-registry/v1","specialists":[{"role":"Checker","backend_url":"http://127.0.0.1:9","fallback":"claude","workload_quota":1,"active_version":"v1","versions":[{"id":"v1","adapter_id":"a1","base_model":"Qwen/Qwen3-8B","gate_threshold":0.75,"certified_level":"L1","exam_hash":"a11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0de","field_audit_window":200,"created_at":"2026-09-02T09:00:00Z","exam_centroid":[1.0,0.0]},{"id":"v2","adapter_id":"a2","base_model":"Qwen/Qwen3-8B","gate_threshold":0.75,"certified_level":"L2","exam_hash":"a11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0de","field_audit_window":200,"created_at":"2026-09-02T09:00:00Z","exam_centroid":[1.0,0.0]}]}]}"#;
const VERSION: &str = r#"{"id":"v3","adapter_id":"a3","base_model":"Qwen/Qwen3-8B","gate_threshold":0.75,"certified_level":"L0","exam_hash":"a11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0dea11ce0de","field_audit_window":200,"created_at":"2026-09-02T09:00:00Z","exam_centroid":[1.0,0.0]}"#;
const ROLE: &[(&str, &str)] = &[
    (".role-os/specialists.json", REGISTRY),
    ("in.json", "{\"embedding\":[1,0]}"),
    ("v3.json", VERSION),
];
const PUBLISH: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"{root}","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"npm publish"}}"#;
const LIST: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"{root}","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls -l"}}"#;
const JOURNAL: &[View] = &[View::Calls(".role-os/sessions/s1.jsonl")];
const HOOK: &[&str] = &["hook", "claude", "--root", "{root}"];
const SEAL: Step = Step(&["--json", "witness", "seal", "--outcome", "solved"], "");
const PROMOTE: Step = Step(
    &[
        "specialist",
        "promote",
        "Checker",
        "v2",
        "--force",
        "--reason",
        "a trial",
    ],
    "",
);
const HALT: Step = Step(
    &["specialist", "halt", "Checker", "--reason", "a trial"],
    "",
);
const LEDGER: &[View] = &[View::Value(&["--json", "ledger", "verify"], "/size")];
const ACTIVE: &[View] = &[View::Value(
    &["--json", "specialist", "list"],
    "/roles/0/active_version",
)];
const HALTED: &[View] = &[View::Value(
    &["--json", "specialist", "status"],
    "/roles/0/halt/halted",
)];

/// Every command that writes.
pub(crate) const WRITERS: &[Writer] = &[
    Writer {
        name: "hook: gated call",
        config: GATE,
        files: &[],
        before: &[],
        step: Step(HOOK, PUBLISH),
        views: JOURNAL,
        is_gated: true,
    },
    Writer {
        name: "hook: gated call, session under way",
        config: GATE,
        files: &[],
        before: &[Step(HOOK, LIST), Step(HOOK, LIST)],
        step: Step(HOOK, PUBLISH),
        views: JOURNAL,
        is_gated: true,
    },
    Writer {
        name: "hook: harmless call",
        config: GATE,
        files: &[],
        before: &[Step(HOOK, LIST)],
        step: Step(HOOK, LIST),
        views: JOURNAL,
        is_gated: false,
    },
    Writer {
        name: "hook: grant for one use",
        config: GATE,
        files: &[(
            ".claude/role-os/capabilities.json",
            "{\"npm:publish\":{\"granted\":true,\"uses\":1}}",
        )],
        before: &[],
        step: Step(HOOK, PUBLISH),
        views: &[View::Bytes(".claude/role-os/capabilities.json")],
        is_gated: false,
    },
    Writer {
        name: "witness seal, first",
        config: "",
        files: &[],
        before: &[],
        step: SEAL,
        views: LEDGER,
        is_gated: false,
    },
    Writer {
        name: "witness seal, third",
        config: "",
        files: &[],
        before: &[SEAL, SEAL],
        step: SEAL,
        views: LEDGER,
        is_gated: false,
    },
    Writer {
        name: "sessions seal",
        config: GATE,
        files: &[],
        before: &[Step(HOOK, LIST)],
        step: Step(&["--json", "sessions", "seal", "s1"], ""),
        views: LEDGER,
        is_gated: false,
    },
    Writer {
        name: "specialist register",
        config: SPECIALIST,
        files: ROLE,
        before: &[],
        step: Step(&["specialist", "register", "Checker", "v3.json"], ""),
        views: &[View::Count(
            &["--json", "specialist", "list"],
            "/roles/0/versions",
        )],
        is_gated: false,
    },
    Writer {
        name: "specialist promote",
        config: SPECIALIST,
        files: ROLE,
        before: &[],
        step: PROMOTE,
        views: ACTIVE,
        is_gated: false,
    },
    Writer {
        name: "specialist rollback",
        config: SPECIALIST,
        files: ROLE,
        before: &[PROMOTE],
        step: Step(&["specialist", "rollback", "Checker"], ""),
        views: ACTIVE,
        is_gated: false,
    },
    Writer {
        name: "specialist halt",
        config: SPECIALIST,
        files: ROLE,
        before: &[],
        step: HALT,
        views: HALTED,
        is_gated: false,
    },
    Writer {
        name: "specialist clear-halt",
        config: SPECIALIST,
        files: ROLE,
        before: &[HALT],
        step: Step(&["specialist", "clear-halt", "Checker"], ""),
        views: HALTED,
        is_gated: false,
    },
    Writer {
        name: "dispatch",
        config: SPECIALIST,
        files: ROLE,
        before: &[],
        step: Step(&["--json", "dispatch", "Checker", "--input", "in.json"], ""),
        views: &[View::Lines(".role-os/specialist-field-log.jsonl")],
        is_gated: false,
    },
    Writer {
        name: "dispatch --learn",
        config: SPECIALIST,
        files: ROLE,
        before: &[],
        step: Step(
            &["dispatch", "Checker", "--learn", "--input", "in.json"],
            "",
        ),
        views: &[View::Lines(".role-os/run_log.jsonl")],
        is_gated: false,
    },
    Writer {
        name: "key rotate",
        config: "",
        files: &[],
        before: &[SEAL],
        step: Step(&["key", "rotate"], ""),
        views: &[View::Count(&["--json", "key", "list"], "")],
        is_gated: false,
    },
    Writer {
        name: "catalog import",
        config: "",
        files: &[],
        before: &[],
        step: Step(
            &[
                "catalog",
                "import",
                "editorial",
                "--lang",
                "en",
                "--slug",
                "proofreader",
                "--from",
                "builtin",
            ],
            "",
        ),
        views: &[View::Count(&["--json", "catalog", "installed"], "")],
        is_gated: false,
    },
    Writer {
        name: "init",
        config: "",
        files: &[],
        before: &[],
        step: Step(&["init", "--agent", "claude"], ""),
        views: &[View::Bytes(".claude/settings.local.json")],
        is_gated: false,
    },
];

impl Writer {
    /// Creates and saves the workspace of this command.
    pub(crate) fn set_up(&self, place: &Place) -> Result<()> {
        if !self.config.is_empty() {
            place.write(".role-os/config.toml", self.config.as_bytes())?;
        }
        for (name, text) in self.files {
            place.write(name, text.as_bytes())?;
        }
        for step in self.before {
            step.run(place)?;
        }
        place.save()
    }

    /// Returns the state of its records by the views.
    pub(crate) fn state(&self, place: &Place) -> Result<String> {
        let mut state = String::new();
        for view in self.views {
            let seen = view.look(place)?;
            write!(state, "{seen};").ok();
        }
        Ok(state)
    }

    /// Returns the answer in the caller's interpretation.
    pub(crate) fn answer(&self, ran: &Ran) -> String {
        let is_hook = self.step.0.first() == Some(&"hook");
        match ran.code {
            Some(0 | 2) if is_hook => if ran.is_denied() { "deny" } else { "allow" }.to_owned(),
            Some(code) => format!("exit {code}"),
            None => "no answer".to_owned(),
        }
    }
}

impl Step {
    /// Returns the arguments and the input for this workspace.
    pub(crate) fn words(&self, root: &Path) -> (Vec<String>, String) {
        let root = root.to_string_lossy();
        let filled = |text: &&str| text.replace("{root}", &root);
        (self.0.iter().map(filled).collect(), filled(&self.1))
    }

    pub(crate) fn run(&self, place: &Place) -> Result<Ran> {
        let (words, input) = self.words(&place.root());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.roleos(&words, &input)
    }
}

impl View {
    fn look(&self, place: &Place) -> Result<String> {
        let answer = |words: &[&str]| place.roleos(words, "").map(|ran| ran.json());
        Ok(match self {
            Self::Lines(file) => {
                let is_whole =
                    |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_ok();
                let text = place.read(file);
                text.lines().filter(is_whole).count().to_string()
            }
            Self::Calls(file) => {
                let text = place.read(file);
                let calls = text
                    .lines()
                    .filter(|line| line.contains("\"kind\":\"call\""));
                calls.count().to_string()
            }
            Self::Bytes(file) => place
                .read(file)
                .replace(&*place.root().to_string_lossy(), ""),
            Self::Value(words, at) => answer(words)?
                .pointer(at)
                .map_or_else(|| "none".to_owned(), ToString::to_string),
            Self::Count(words, at) => match answer(words)?.pointer(at).and_then(|v| v.as_array()) {
                None => "unknown".to_owned(),
                Some(list) => list.len().to_string(),
            },
        })
    }
}
