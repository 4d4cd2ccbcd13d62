//! The commands of every day: status, config, prices, deny and dismiss, key export, removing and disabling roles, logs,
//! prune, uninstall.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::workspace::{ROLEOS, Ran, Workspace};

#[test]
fn status_is_what_roleos_alone_says() {
    let workspace = Workspace::new();
    for json in [&["--json"][..], &[]] {
        let alone = workspace.roleos(json).exits(0);
        let status = workspace.roleos(&[json, &["status"]].concat()).exits(0);
        assert_eq!(alone.stdout, status.stdout);
    }
}

fn setting(workspace: &Workspace, key: &str) -> Value {
    workspace
        .roleos(&["--json", "config", "get", key])
        .exits(0)
        .json()
}

#[test]
fn a_setting_has_a_type_a_default_and_an_origin() {
    let workspace = Workspace::with_config("[witness]\nthreads = 2\n");
    let threads = setting(&workspace, "witness.threads");
    assert_eq!(threads["value"], json!(2));
    assert_eq!(threads["default"], json!(0));
    assert_eq!(threads["type"], "integer, 0 to 1024");
    assert_eq!(threads["origin"], "workspace file");
    let opaque = workspace
        .roleos(&["config", "get", "oversight.opaque"])
        .exits(0);
    assert_eq!(opaque.stdout, "watch\n");
    assert_eq!(setting(&workspace, "oversight.opaque")["origin"], "default");
    let mut command = workspace.command(&["config", "list", "oversight.capability_gate"]);
    command.env("ROLEOS_CAPABILITY_GATE", "1");
    let listed = crate::workspace::ran(command).exits(0).stdout;
    assert!(
        listed.contains(
            "oversight.capability_gate = true  (ROLEOS_CAPABILITY_GATE; default false; boolean)"
        ),
        "{listed}"
    );
    let changed = workspace
        .roleos(&["--json", "config", "list", "--changed"])
        .exits(0)
        .json();
    assert_eq!(changed.as_array().unwrap().len(), 1, "{changed}");
    let unknown = workspace
        .roleos(&["config", "get", "witness.thread"])
        .exits(1);
    assert!(
        unknown.error().contains("`roleos config list`"),
        "{unknown:#?}"
    );
    let schema = workspace.roleos(&["config", "schema"]).exits(0).json();
    assert!(schema["properties"]["oversight"]["properties"]["opaque"].is_object());
}

#[test]
fn a_stricter_setting_needs_no_question_and_a_weaker_one_does() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    let before = workspace.read(".role-os/config.toml");
    workspace
        .roleos(&["config", "set", "oversight.extended", "true"])
        .exits(0);
    let after = workspace.read(".role-os/config.toml");
    let placed = before.replacen(
        "\n\n# What models cost",
        "\nextended = true\n\n# What models cost",
        1,
    );
    assert_eq!(after, placed);
    let stands = setting(&workspace, "oversight.extended");
    assert_eq!(
        (&stands["value"], &stands["origin"]),
        (&json!(true), &json!("workspace file"))
    );
    let refused = workspace
        .roleos(&["config", "set", "oversight.extended", "false"])
        .exits(2);
    assert!(refused.error().contains("asks a person"), "{refused:#?}");
    assert_eq!(workspace.read(".role-os/config.toml"), after);
    let mut terminal = Terminal::roleos(&workspace, &["config", "unset", "oversight.extended"]);
    terminal
        .expects("oversight.extended  weakens the gate")
        .expects("[y/N]")
        .types("y");
    terminal.ends().exits(0);
    assert_eq!(workspace.read(".role-os/config.toml"), before);
    assert_eq!(
        setting(&workspace, "oversight.capability_gate")["value"],
        true
    );
}

#[test]
fn a_value_that_cannot_be_read_is_not_written_and_one_in_the_file_blocks() {
    let workspace = Workspace::with_config("[witness]\nthreads = 2\n");
    let bad = workspace
        .roleos(&["config", "set", "witness.threads", "many"])
        .exits(1);
    let said = "cannot set `witness.threads` to `many`";
    assert!(bad.error().contains(said), "{bad:#?}");
    assert!(
        bad.error().contains("a whole number from 0 to 1024"),
        "{bad:#?}"
    );
    assert_eq!(
        workspace.read(".role-os/config.toml"),
        "[witness]\nthreads = 2\n"
    );
    workspace.write(
        ".role-os/config.toml",
        "[oversight.prices]\nm = { input = 1 }\nextended = true\n",
    );
    let event = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/tmp","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    for command in [&["status"][..], &["config", "list"], &["hook", "claude"]] {
        let mut child = workspace
            .command(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        let ran = Ran {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        };
        let ran = ran.seen_by_agent();
        assert_ne!(ran.code, 0, "{ran:#?}");
        assert!(
            ran.stderr
                .contains("config.toml` line 3, key `oversight.prices.extended`"),
            "{ran:#?}"
        );
    }
}

#[test]
fn the_settings_of_init_name_a_schema_that_is_there() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    let text = workspace.read(".role-os/config.toml");
    let named = text
        .lines()
        .next()
        .unwrap()
        .strip_prefix("#:schema ./")
        .unwrap();
    let schema = workspace.read(&format!(".role-os/{named}"));
    assert_eq!(
        schema.trim_end(),
        workspace
            .roleos(&["config", "schema"])
            .exits(0)
            .stdout
            .trim_end()
    );
    // The schema of a newer program replaces it.
    workspace.write(".role-os/config.schema.json", "{}");
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    assert_eq!(workspace.read(".role-os/config.schema.json"), schema);
}

#[test]
fn a_price_list_is_taken_in_after_a_yes() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    let list = "[\"claude-opus-*\"]\ninput = 4\noutput = 20\n[\"new-model\"]\ninput = 1\n";
    workspace.write("prices.toml", list);
    let words = ["prices", "update", "--file", "prices.toml"];
    assert_eq!(workspace.roleos(&words).code, 2);
    let mut terminal = Terminal::roleos(&workspace, &words);
    terminal.expects("[y/N]").types("y");
    terminal.ends().exits(0);
    let prices = workspace
        .roleos(&["--json", "prices", "list"])
        .exits(0)
        .json();
    assert_eq!(prices["prices"]["claude-opus-*"]["input"], json!(4.0));
    assert_eq!(prices["prices"]["new-model"]["input"], json!(1.0));
    assert_eq!(prices["prices"]["gpt-5-mini"]["input"], json!(0.25));
    // The same list again changes nothing, so it needs no confirmation.
    workspace.roleos(&words).exits(0);
    workspace.write("prices.toml", "[m]\ninptu = 1\n");
    let bad = workspace.roleos(&words).exits(1);
    assert!(
        bad.error().contains("model `m`: unknown field `inptu`"),
        "{bad:#?}"
    );
}

/// Pipes text through a program and asserts success.
fn through(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    output.stdout
}

#[test]
fn a_public_key_is_what_other_programs_read() {
    let workspace = Workspace::new();
    let none = workspace.roleos(&["key", "export", "--pem"]).exits(1);
    assert!(none.error().contains("roleos key new"), "{none:#?}");
    workspace.seal_some(1);
    let keys = workspace.roleos(&["--json", "key", "list"]).exits(0).json();
    let key = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["algorithm"] == "ed25519")
        .unwrap();
    let bytes = hex::decode(key["public_key"].as_str().unwrap()).unwrap();

    let pem = workspace
        .roleos(&["key", "export", "--pem"])
        .exits(0)
        .stdout;
    let der = through(
        "openssl",
        &["pkey", "-pubin", "-outform", "DER"],
        pem.as_bytes(),
    );
    assert!(der.ends_with(&bytes), "{pem}");

    let short = key["id"].as_str().unwrap().get(..6).unwrap();
    let jwk = workspace
        .roleos(&["key", "export", short, "--jwk"])
        .exits(0)
        .json();
    assert_eq!(
        (&jwk["kty"], &jwk["crv"]),
        (&json!("OKP"), &json!("Ed25519"))
    );

    // The verifier key checks a checkpoint of the ledger: openssl verifies the bytes that C2SP's note format signs.
    let vkey = workspace
        .roleos(&["key", "export", "--vkey"])
        .exits(0)
        .stdout;
    let (name, rest) = vkey.trim().split_once('+').unwrap();
    let (hash, encoded) = rest.split_once('+').unwrap();
    let checkpoint = workspace.roleos(&["ledger", "checkpoint"]).exits(0).stdout;
    let (text, lines) = checkpoint.split_once("\n\n").unwrap();
    assert_eq!(text.lines().next(), Some(name));
    let decode = |text: &str| through("openssl", &["base64", "-d", "-A"], text.as_bytes());
    assert_eq!(decode(encoded), [&[1][..], &bytes].concat());
    let signature = decode(lines.trim().rsplit_once(' ').unwrap().1);
    assert_eq!(hex::encode(&signature[..4]), hash);
    workspace.write("text", format!("{text}\n"));
    workspace.write("signature", &signature[4..]);
    workspace.write("key.pem", pem);
    let path = |name: &str| workspace.path(name).to_str().unwrap().to_owned();
    let words = [
        "pkeyutl",
        "-verify",
        "-pubin",
        "-rawin",
        "-inkey",
        &path("key.pem"),
        "-in",
        &path("text"),
        "-sigfile",
        &path("signature"),
    ];
    through("openssl", &words, b"");
}

#[test]
fn an_installed_role_is_switched_and_removed() {
    let workspace = Workspace::new();
    let import = [
        "catalog",
        "import",
        "editorial",
        "--lang",
        "en",
        "--from",
        "builtin",
        "--conflict",
        "skip",
    ];
    workspace.roleos(&import).exits(0);
    let installed = || {
        workspace
            .roleos(&["--json", "catalog", "installed"])
            .exits(0)
            .json()
    };
    let roles = installed();
    let slug = roles[0]["source"]["slug"]
        .as_str()
        .unwrap_or_else(|| panic!("{roles:#}"))
        .to_owned();
    let state = |on: bool| {
        let roles = installed();
        let role = roles
            .as_array()
            .unwrap()
            .iter()
            .find(|role| role["source"]["slug"] == slug.as_str());
        assert_eq!(role.unwrap()["enabled"], on);
    };
    workspace.roleos(&["catalog", "enable", &slug]).exits(0);
    state(true);
    workspace
        .roleos(&["catalog", "disable", &slug, "--lang", "en"])
        .exits(0);
    state(false);
    let file = workspace.path(&format!(".role-os/roles/{slug}.en.yaml"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("name: ", "name: My ", 1)).unwrap();
    let kept = workspace.roleos(&["catalog", "uninstall", &slug]).exits(1);
    assert!(
        kept.stdout.contains("edited by hand") && file.exists(),
        "{kept:#?}"
    );
    workspace
        .roleos(&["catalog", "uninstall", &slug, "--edited-too"])
        .exits(0);
    assert!(!file.exists());
    let gone = workspace.roleos(&["catalog", "uninstall", &slug]).exits(1);
    assert!(gone.error().contains("is not installed"), "{gone:#?}");
}

#[test]
fn a_deleted_task_leaves_a_tombstone() {
    let workspace = Workspace::new();
    let files = workspace.seal_some(2);
    let failed = workspace.seal(&["--outcome", "failed"]);
    let task = failed["task_id"].as_str().unwrap();
    let solved = files[0].file_stem().unwrap().to_str().unwrap();
    let ambiguous = workspace
        .roleos(&["prune", "--task", solved.get(..6).unwrap()])
        .exits(1);
    assert!(
        ambiguous.error().contains("give more of the id"),
        "{ambiguous:#?}"
    );
    let shown = workspace.roleos(&["prune", "--task", solved]).exits(0);
    assert!(
        shown.stdout.contains("would remove") && files[0].exists(),
        "{shown:#?}"
    );
    workspace
        .roleos(&[
            "prune",
            "--task",
            solved,
            "--by",
            "Ada",
            "--reason",
            "asked for it",
            "--yes",
        ])
        .exits(0);
    assert!(!files[0].exists());
    let verified = workspace.roleos(&["ledger", "verify"]).exits(0).stdout;
    assert!(
        verified.contains("was deleted on 20") && verified.contains("by Ada: asked for it"),
        "{verified}"
    );
    assert!(!verified.contains("missing"), "{verified}");
    let verified = workspace
        .roleos(&["--json", "ledger", "verify"])
        .exits(0)
        .json();
    assert_eq!(verified["problems"][0]["kind"], "deleted");
    let ledger = |said: &Value| {
        said["acceptance"]
            .to_string()
            .contains("the ledger does not hold")
    };
    let card = || workspace.roleos(&["--json", "scorecard"]).exits(0).json();
    assert!(!ledger(&card()), "{}", card());

    // The scorecard misses an unsolved task.
    workspace
        .roleos(&["prune", "--task", task, "--yes"])
        .exits(0);
    assert!(
        card().to_string().contains("1 deleted unsolved"),
        "{}",
        card()
    );

    // Without our signature, a tombstone excuses nothing.
    let path = ".role-os/ledger/tombstones.jsonl";
    let text = workspace.read(path).replace("Ada", "Eve");
    workspace.write(path, text);
    let (_, problems) = workspace.audit(&[]);
    assert!(problems.contains(&"missing".to_owned()), "{problems:?}");
    let again = workspace
        .roleos(&["prune", "--task", solved, "--yes"])
        .exits(1);
    assert!(
        again.error().contains("`roleos ledger verify`"),
        "{again:#?}"
    );
}

#[test]
fn what_was_kept_long_enough_goes_with_a_yes_only() {
    let workspace = Workspace::new();
    let old = workspace.write(".role-os/gateway.jsonl.1", "{}\n");
    let present = workspace.write(".role-os/gateway.jsonl", "{}\n");
    let nothing = workspace.roleos(&["prune"]).exits(0);
    assert!(nothing.stderr.contains("nothing to remove"), "{nothing:#?}");
    let age = || {
        let file = fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    age();
    let shown = workspace.roleos(&["--json", "prune"]).exits(0).json();
    assert_eq!(shown["files"][0]["file"], ".role-os/gateway.jsonl.1");
    assert!(old.exists());
    workspace.roleos(&["key", "new"]).exits(0);
    let archive = ["prune", "--yes", "--archive", "archive"];
    workspace.roleos(&archive).exits(0);
    assert!(!old.exists() && present.exists());
    let copy = workspace.path("archive/.role-os/gateway.jsonl.1");
    assert_eq!(fs::read_to_string(copy).unwrap(), "{}\n");
    let note = fs::read_to_string(workspace.path("archive/SHA256SUMS.note")).unwrap();
    let sum = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356";
    assert!(
        note.starts_with(&format!(
            "{sum}  .role-os/gateway.jsonl.1\n\n— roleos-archive "
        )),
        "{note}"
    );
    // An existing folder is not used.
    fs::write(&old, "{}\n").unwrap();
    age();
    let refused = workspace.roleos(&archive).exits(1);
    assert!(
        refused.error().contains("name a new folder"),
        "{refused:#?}"
    );
    assert!(old.exists());
}

#[test]
fn logs_are_one_stream() {
    let workspace = Workspace::new();
    workspace.write(
        ".role-os/gateway.jsonl",
        "{\"ts\":\"2026-01-01T00:00:02Z\",\"model\":\"m\"}\n",
    );
    workspace.write(
        ".role-os/sessions/s.jsonl",
        "{\"time_ns\":1767225601000000000,\"agent\":\"claude\"}\n",
    );
    let lines = workspace.roleos(&["logs"]).exits(0).stdout;
    assert_eq!(
        lines,
        "2026-01-01T00:00:01Z session  agent=claude\n2026-01-01T00:00:02Z gateway  model=m\n"
    );
    let json = workspace
        .roleos(&["--json", "logs", "--log", "gateway"])
        .exits(0)
        .json();
    assert_eq!(json["record"]["model"], "m");
    let recent = workspace.roleos(&["logs", "--since", "2h"]).exits(0);
    assert_eq!(recent.stdout, "");
    let receipt = r#"{"receipt":{"place":0,"at":"2026-01-01T00:00:00Z","what":"grant git:push"},"signature":"00"}"#;
    workspace.write(".role-os/receipts.jsonl", format!("{receipt}\n"));
    let decisions = workspace.roleos(&["logs", "--log", "decision"]).exits(0);
    let line = "2026-01-01T00:00:00Z decision changed=grant git:push\n";
    assert_eq!(decisions.stdout, line);
    let bad = workspace.roleos(&["logs", "--since", "yesterday"]).exits(1);
    assert!(bad.error().contains("2h, 3d"), "{bad:#?}");

    let mut child = workspace
        .command(&[
            "--json",
            "logs",
            "--follow",
            "--since",
            "2026-01-01T00:00:02Z",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"model\":\"m\""));
    let mut log = fs::File::options()
        .append(true)
        .open(workspace.path(".role-os/gateway.jsonl"))
        .unwrap();
    log.write_all(b"{\"ts\":\"2026-01-01T00:00:03Z\",\"model\":\"later\"}\n")
        .unwrap();
    assert!(lines.next().unwrap().unwrap().contains("later"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_purge_takes_everything_out_after_a_yes() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    workspace.seal_some(1);
    assert_eq!(workspace.roleos(&["uninstall", "--purge"]).code, 2);
    assert!(workspace.path(".role-os/config.toml").exists());
    let words = [ROLEOS, "uninstall", "--purge"];
    let below = Terminal::run(&workspace, &words, &[("CLAUDECODE", "1")]).ends();
    assert_eq!(below.code, 2, "{below:#?}");
    let mut terminal = Terminal::roleos(&workspace, &words[1..]);
    terminal
        .expects("there is no way back")
        .expects("[y/N]")
        .types("y");
    let ended = terminal.ends().exits(0);
    assert!(!ended.seen.contains("left as they are"), "{ended:#?}");
    assert!(!workspace.path(".role-os").exists());
    assert!(!workspace.path(".claude").exists());
    let settings = fs::read_to_string(workspace.path(".claude/settings.json")).unwrap_or_default();
    assert!(!settings.contains("roleos"), "{settings}");
    // A fresh start misses nothing.
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    workspace.seal_some(1);
    workspace.roleos(&["ledger", "verify"]).exits(0);
}

#[test]
fn doctor_names_models_without_a_price() {
    let workspace = Workspace::new();
    workspace.roleos(&["init", "--agent", "claude"]).exits(0);
    let fact = "cost=unknown: `[oversight.prices]` has no price for `house-model`, `claude-opus-9`";
    workspace.seal(&["--outcome", "solved", "--fact", fact]);
    let prices = workspace
        .roleos(&["--json", "prices", "list"])
        .exits(0)
        .json();
    assert_eq!(prices["without_price"], json!(["house-model"]));
    let seen = workspace.roleos(&["--json", "doctor"]).json();
    let check = seen["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "prices");
    let check = check.unwrap_or_else(|| panic!("{seen:#}"));
    assert!(
        check["text"]
            .as_str()
            .unwrap()
            .ends_with("no price for `house-model`"),
        "{check}"
    );
    assert!(
        check["next"]
            .as_str()
            .unwrap()
            .contains("roleos prices update --file"),
        "{check}"
    );
}

/// Input in an empty workspace, the exit code, required output, and forbidden output.
const HINTS: &[(&[&str], i32, &str, &str)] = &[
    (
        &["runs", "stats"],
        1,
        "no run was logged here yet",
        "check the path",
    ),
    (
        &["runs", "list"],
        1,
        "no run was logged here yet",
        "check the path",
    ),
    (
        &["trust"],
        0,
        "nothing needs confirmation",
        "check the path",
    ),
    (
        &["scorecard", "--by", "foo"],
        1,
        "expected week, day",
        "(none)",
    ),
    (&["stat"], 1, "did you mean `roleos status`?", "trust"),
    (&["approev"], 1, "did you mean `roleos approve`?", "--help"),
    (&["settings"], 1, "did you mean `roleos config`?", "--help"),
    (
        &["push"],
        1,
        "`roleos --help` lists the commands",
        "did you mean",
    ),
    (
        &["catalog", "lst"],
        1,
        "did you mean `roleos catalog list`?",
        "--help",
    ),
    (
        &["catalog", "frobnicate"],
        1,
        "`roleos catalog --help` lists",
        "did you mean",
    ),
    (
        &["help", "nonsense"],
        1,
        "`roleos help topics` lists",
        "did you mean",
    ),
    (&["help", "topics"], 0, "first-guard", "did you mean"),
    (&["help", "config"], 0, "max_bundle_mib", "docs/"),
    (&["help", "selection"], 0, "\"test_cases\": [", "docs/"),
    (
        &["help", "specialist", "promote"],
        0,
        "Usage: roleos specialist promote",
        "did you mean",
    ),
    (
        &["config", "set", "oversight.opaque", "maybe"],
        1,
        "roleos config list",
        "docs/",
    ),
    (
        &["config", "set", "oversight.extendd", "true"],
        1,
        "did you mean `oversight.extended`?",
        "unknown field",
    ),
    (
        &["config", "get", "oversight.extendd"],
        1,
        "did you mean `oversight.extended`?",
        "docs/",
    ),
    (
        &["promote"],
        1,
        "did you mean `roleos specialist promote`?",
        "--help",
    ),
    (&["show"], 1, "`roleos witness show`", "--help"),
    (
        &["specialist", "unregister"],
        1,
        "did you mean `roleos specialist retire`?",
        "specialist register`",
    ),
    (
        &["up", "--port", "1"],
        1,
        "`roleos up --help` lists the options",
        "usage:",
    ),
    (
        &["help", "gatway"],
        1,
        "did you mean `roleos help gateway`?",
        "topics",
    ),
    (
        &["sessions", "show", "latest"],
        1,
        "no session was recorded here yet",
        "or `latest`",
    ),
    (&["key", "export"], 1, "--pem|--vkey|--jwk", "`--pem`"),
    (
        &["catalog", "list", "--from", "ftp://x/catalog"],
        1,
        "is not an http or https address",
        "path",
    ),
    (
        &[
            "catalog", "import", "research", "--lang", "xx", "--from", "builtin",
        ],
        1,
        "it has: ru, en",
        "--strict",
    ),
    (
        &["up", "--tls-cert", "no.pem", "--tls-key", "no.key"],
        1,
        "cannot read `no.pem`",
        "no.key",
    ),
];

#[test]
fn hints_are_true() {
    let workspace = Workspace::new();
    for &(words, code, said, unsaid) in HINTS {
        let ran = workspace.roleos(words);
        assert_eq!(ran.code, code, "{words:?}: {ran:#?}");
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains(said), "{words:?}: {text}");
        assert!(!text.contains(unsaid), "{words:?}: {text}");
    }
}

#[test]
fn a_broken_off_exam_names_the_backend_and_a_command_that_goes_on() {
    let workspace = Workspace::new();
    workspace.roleos(&["specialist", "example"]).exits(0);
    let words = [
        "specialist",
        "register",
        "t",
        "model.yaml",
        "--backend-url",
        "http://127.0.0.1:1",
        "--audit",
        "exam.json",
    ];
    // The version is registered, its exam is not finished.
    let broken = workspace.roleos(&words).exits(3);
    assert!(
        broken.error().contains("backend http://127.0.0.1:1"),
        "{broken:#?}"
    );
    let hint = broken
        .stderr
        .split('`')
        .find(|part| part.starts_with("roleos audit run"))
        .unwrap();
    let subject = hint.split('"').nth(1).unwrap();
    let again = workspace
        .roleos(&["audit", "run", subject, "--set", "exam.json"])
        .exits(2);
    assert!(
        again.error().contains("broken off after 0 of 120"),
        "{again:#?}"
    );
}

#[test]
fn what_catalog_new_names_is_there() {
    let workspace = Workspace::new();
    let words = [
        "catalog", "new", "bundle", "legal", "--role", "clerk", "--lang", "en", "--write",
    ];
    let made = workspace.roleos(&words).exits(0).stdout;
    let files: Vec<&str> = made
        .lines()
        .filter(|line| line.ends_with(".yaml"))
        .collect();
    assert_eq!(files.len(), 2, "{made}");
    for file in files {
        assert!(workspace.path(file).exists(), "{file}");
    }
}

#[test]
fn the_scorecard_has_as_many_figures_as_its_help_says() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    let shown = workspace.roleos(&["scorecard"]).exits(0).stdout;
    let figures = shown.split("\n\n").nth(1).unwrap().lines().count();
    assert_eq!(figures, 16, "{shown}");
    let help = workspace.roleos(&["--help"]).exits(0).stdout;
    assert!(help.contains("sixteen figures"), "{help}");
}

/// A user with the program need not have the repository.
#[test]
fn no_text_of_the_program_points_to_a_file_of_the_repository() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !["tests", "target", "snapshots"].contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && !["tests.rs", "topics.rs"].contains(&name.as_str()) {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                let lines = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                let named = lines.filter(|line| line.contains("docs/") && line.contains(".md"));
                found.extend(named.map(|line| format!("{}: {line}", path.display())));
            }
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn explain_answers_scripts_with_its_exit_code() {
    let workspace = Workspace::with_config("[oversight]\ncapability_gate = true\n");
    for (command, code) in [("ls", 0), ("cat .env", 1), ("git push", 2)] {
        workspace
            .roleos(&["explain", "--exit-code", command])
            .exits(code);
        workspace.roleos(&["explain", command]).exits(0);
    }
}

#[test]
fn every_agent_is_set_up_at_once() {
    let workspace = Workspace::new();
    let set_up = workspace
        .roleos(&["--json", "init", "--all"])
        .exits(0)
        .json();
    assert_eq!(set_up["agents"].as_array().unwrap().len(), 5, "{set_up}");
}
