//! A repository whose configuration names a program under every possible key: our commands never start one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::catalog_roles::with_catalog;
use crate::hook::{hook, tell};
use crate::workspace::{Ran, Workspace};

/// Keys that make git start a program, each with its section.
const KEYS: [(&str, &str); 34] = [
    ("core", "fsmonitor"),
    ("core", "sshCommand"),
    ("core", "gitProxy"),
    ("core", "pager"),
    ("core", "editor"),
    ("core", "askPass"),
    ("core", "alternateRefsCommand"),
    ("sequence", "editor"),
    ("diff", "external"),
    ("diff \"x\"", "textconv"),
    ("diff \"x\"", "command"),
    ("filter \"x\"", "clean"),
    ("filter \"x\"", "smudge"),
    ("filter \"x\"", "process"),
    ("merge \"x\"", "driver"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("gpg \"ssh\"", "program"),
    ("gpg \"ssh\"", "defaultKeyCommand"),
    ("alias", "ls-files"),
    ("alias", "config"),
    ("pager", "config"),
    ("pager", "log"),
    ("interactive", "diffFilter"),
    ("difftool \"x\"", "cmd"),
    ("mergetool \"x\"", "cmd"),
    ("browser \"x\"", "cmd"),
    ("uploadpack", "packObjectsHook"),
    ("remote \"origin\"", "uploadpack"),
    ("remote \"origin\"", "receivepack"),
    ("submodule \"module\"", "update"),
    ("trailer \"x\"", "command"),
    ("tar \"x\"", "command"),
    ("fsmonitor", "hook"),
];

const HOOKS: [&str; 12] = [
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-commit",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "fsmonitor-watchman",
    "prepare-commit-msg",
    "commit-msg",
    "applypatch-msg",
];

/// A folder outside the repository, with the program and its marks.
struct Traps {
    folder: tempfile::TempDir,
}

impl Traps {
    fn new() -> Self {
        let traps = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(traps.path("marks")).unwrap();
        fs::create_dir(traps.path("hooks")).unwrap();
        for hook in HOOKS {
            traps.program(&format!("hooks/{hook}"), hook);
        }
        traps
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a program that leaves a mark and passes its input on.
    fn program(&self, file: &str, mark: &str) -> String {
        self.program_that(file, mark, "cat")
    }

    /// Writes a program that leaves a mark and ends with this command.
    fn program_that(&self, file: &str, mark: &str, last: &str) -> String {
        let path = self.path(file);
        let mark = self.path("marks").join(mark.replace(['"', ' ', '/'], "-"));
        let text = format!("#!/bin/sh\n: > '{}'\n{last}\n", mark.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn marks(&self) -> Vec<String> {
        let listed = fs::read_dir(self.path("marks")).unwrap();
        listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[track_caller]
    fn none_went_off(&self, after: &str) {
        assert_eq!(self.marks(), [""; 0], "after {after}");
    }

    /// Names the program under every key of the repository's configuration, and for every file.
    fn set(&self, root: &Path) {
        let mut config = fs::read_to_string(root.join(".git/config")).unwrap();
        for (number, (section, key)) in KEYS.into_iter().enumerate() {
            let program = self.program(&format!("key-{number}"), &format!("{section}.{key}"));
            let shell = if section == "alias" { "!" } else { "" };
            config.push_str(&format!("[{section}]\n\t{key} = \"{shell}{program}\"\n"));
        }
        let included = self.path("included");
        let program = self.program("included-filter", "included");
        let text = format!("[filter \"y\"]\n\tclean = {program}\n\tsmudge = {program}\n");
        fs::write(&included, text).unwrap();
        config.push_str(&format!(
            "[core]\n\thooksPath = {}\n[include]\n\tpath = {}\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n",
            self.path("hooks").display(),
            included.display()
        ));
        fs::write(root.join(".git/config"), config).unwrap();
    }
}

fn user_git(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(root);
    command.output().unwrap()
}

#[track_caller]
fn git(root: &Path, arguments: &[&str]) -> String {
    let output = user_git(root, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Sends an event of one session to the hook.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal reads better without a reference"
)]
fn say(workspace: &Workspace, name: &str, more: Value) -> Ran {
    let mut event = json!({
        "session_id": "s",
        "transcript_path": workspace.path("t.jsonl"),
        "cwd": workspace.root(),
        "hook_event_name": name,
    });
    let fields = event.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    tell(hook(workspace, "claude", &[]), &event.to_string())
}

fn bash(id: &str) -> Value {
    json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": id })
}

#[track_caller]
fn wait_for_bundle(workspace: &Workspace) {
    let begun = Instant::now();
    loop {
        let ran = workspace.roleos(&["--json", "witness", "list"]);
        if ran.code == 0 && !ran.json().as_array().unwrap().is_empty() {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{ran:#?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Returns a repository with a catalog, a test, attributes for every file and a missing part.
fn repository() -> Workspace {
    let workspace = with_catalog();
    let root = workspace.root();
    workspace.write(
        ".role-os/config.toml",
        "[oversight]\nmode = \"autonomous\"\nmax_tool_calls = 1\n",
    );
    workspace.write(".gitignore", ".role-os/\nhome/\nt.jsonl\n");
    workspace.write(
        ".gitattributes",
        "* filter=x diff=x merge=x\n*.inc filter=y\n",
    );
    workspace.write("src.rs", "fn a() {}\n");
    workspace.write("one.inc", "1\n");
    workspace.write("sum", "1-1\n");
    workspace.write(
        "test.sh",
        "test $(($(cat sum))) = 2 && printf '1..1\\nok 1 - sum\\n'\n",
    );
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "base"]);
    git(
        root,
        &["remote", "add", "origin", "ssh://nowhere.invalid/x"],
    );
    workspace
}

#[test]
fn no_command_starts_a_program_of_the_repository() {
    let workspace = repository();
    let traps = Traps::new();
    let root = workspace.root();
    let base = git(root, &["rev-parse", "HEAD"]);
    traps.set(root);

    say(&workspace, "SessionStart", json!({ "source": "startup" })).exits(0);
    traps.none_went_off("SessionStart with its snapshot");
    say(&workspace, "UserPromptSubmit", json!({ "prompt": "x" })).exits(0);
    say(&workspace, "PreToolUse", bash("1")).exits(0);
    workspace.write("src.rs", "fn b() {}\n");
    workspace.write("one.inc", "2\n");
    workspace.write("new.inc", "2\n");
    fs::set_permissions(workspace.path("sum"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut done = bash("1");
    done["tool_response"] = json!({ "stdout": "", "stderr": "" });
    say(&workspace, "PostToolUse", done).exits(0);
    let refused = say(&workspace, "PreToolUse", bash("2")).exits(2);
    assert!(
        refused.stderr.contains("refs/roleos/undone/s/1"),
        "{refused:#?}"
    );
    assert_eq!(workspace.read("src.rs"), "fn a() {}\n");
    traps.none_went_off("a violation and its rollback");

    workspace.write("src.rs", "fn c() {}\n");
    workspace.write("more.inc", "3\n");
    say(&workspace, "SessionEnd", json!({ "reason": "exit" })).exits(0);
    wait_for_bundle(&workspace);
    let story = workspace
        .roleos(&["witness", "replay", "latest"])
        .succeeds();
    assert!(story.contains("+fn c() {}"), "{story}");
    traps.none_went_off("the seal in the background");
    workspace.roleos(&["sessions", "seal"]).exits(0);
    workspace.roleos(&["sessions", "show", "s"]).exits(0);

    workspace.write(
        "change.patch",
        "diff --git a/sum b/sum\n--- a/sum\n+++ b/sum\n@@ -1 +1 @@\n-1-1\n+1+1\n",
    );
    let test = "test -z \"$GIT_DIR$GIT_CONFIG_PARAMETERS$GIT_CONFIG_GLOBAL$GIT_NO_LAZY_FETCH\" && sh test.sh";
    workspace.seal(&[
        "--outcome",
        "solved",
        "--diff",
        "change.patch",
        "--base-commit",
        &base,
        "--test-command",
        test,
    ]);
    traps.none_went_off("`witness seal`");
    let rerun = workspace.roleos(&["--json", "witness", "rerun", "latest"]);
    assert_eq!(rerun.json()["test_log"]["passed"], 1, "{rerun:#?}");
    traps.none_went_off("`witness rerun`");

    for words in [
        &["catalog", "diff", "researcher"][..],
        &["catalog", "check"],
        &["explain", "git push"],
        &["scorecard"],
        &["doctor"],
        &["init", "--agent", "claude"],
        &["init", "--agent", "claude"],
        &["doctor"],
        &["init", "--uninstall"],
    ] {
        workspace.roleos(words);
        traps.none_went_off(&words.join(" "));
    }
    let line = format!("refs/heads/main {base} refs/heads/main {base}\n");
    let pushed = [
        "pre-push",
        "--root",
        root.to_str().unwrap(),
        "--",
        "origin",
        "x",
    ];
    let mut command = workspace.command(&pushed);
    command.env("CLAUDECODE", "1");
    tell(command, &line);
    traps.none_went_off("pre-push");

    // The traps work: git as a user runs it starts them.
    user_git(root, &["add", "-A"]);
    user_git(root, &["diff", "HEAD"]);
    let marks = traps.marks();
    for expected in ["filter", "core.fsmonitor", "diff", "included"] {
        assert!(
            marks.iter().any(|mark| mark.starts_with(expected)),
            "{marks:?}"
        );
    }
}

#[test]
fn a_missing_object_is_not_fetched() {
    let workspace = repository();
    let traps = Traps::new();
    let root = workspace.root();
    let blob = git(root, &["rev-parse", "HEAD:src.rs"]);
    let (folder, file) = blob.split_at(2);
    fs::remove_file(root.join(".git/objects").join(folder).join(file)).unwrap();
    let program = traps.program_that("fetch", "fetch", "exit 1");
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("core.sshCommand", &program),
    ] {
        git(root, &["config", key, value]);
    }
    say(&workspace, "SessionStart", json!({ "source": "startup" })).exits(0);
    say(&workspace, "UserPromptSubmit", json!({ "prompt": "x" })).exits(0);
    workspace.write("src.rs", "fn c() {}\n");
    say(&workspace, "SessionEnd", json!({ "reason": "exit" })).exits(0);
    wait_for_bundle(&workspace);
    traps.none_went_off("a seal with a missing object");
    user_git(root, &["cat-file", "-p", &blob]);
    assert_eq!(traps.marks(), ["fetch"], "git as a user runs it fetches");
}

#[test]
fn a_filter_of_the_agent_pushes_nothing_when_the_session_is_sealed() {
    let workspace = Workspace::new();
    let root = workspace.root();
    let there = tempfile::tempdir().unwrap();
    git(there.path(), &["init", "-q", "--bare", "-b", "main"]);
    git(root, &["init", "-q", "-b", "main"]);
    workspace.write("a.txt", "1\n");
    workspace.write(".gitignore", ".role-os/\nhome/\nt.jsonl\n");
    workspace.write(".role-os/config.toml", "");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "base"]);
    git(
        root,
        &["remote", "add", "origin", there.path().to_str().unwrap()],
    );
    say(&workspace, "SessionStart", json!({ "source": "startup" })).exits(0);
    say(&workspace, "UserPromptSubmit", json!({ "prompt": "x" })).exits(0);
    workspace.write("x.sh", "#!/bin/sh\ngit push -q origin HEAD:main\ncat\n");
    git(root, &["config", "filter.fmt.clean", "sh ./x.sh"]);
    workspace.write(".gitattributes", "*.txt filter=fmt\n");
    workspace.write("a.txt", "2\n");
    say(&workspace, "SessionEnd", json!({ "reason": "exit" })).exits(0);
    wait_for_bundle(&workspace);
    assert_eq!(git(there.path(), &["for-each-ref"]), "");
    user_git(root, &["add", "a.txt"]);
    assert_ne!(git(there.path(), &["for-each-ref"]), "", "the filter works");
}

#[test]
fn the_user_hears_when_a_cost_budget_is_not_enforced() {
    let config = "[oversight]\nmode = \"restricted\"\n[oversight.prices.known]\ninput = 3\n";
    let workspace = Workspace::with_config(config);
    let start = json!({ "source": "startup", "model": "mystery-1" });
    let told = say(&workspace, "SessionStart", start).exits(0);
    let note =
        "the cost budget is not enforced: `[oversight.prices]` has no price for model `mystery-1`";
    assert!(told.stdout.contains(note), "{told:#?}");
    let read =
        json!({ "tool_name": "Read", "tool_input": { "file_path": "/x" }, "tool_use_id": "1" });
    // Ten times the budget, by a model without a price.
    let answer = r#"{"type":"assistant","message":{"id":"m","model":"mystery-2","usage":{"input_tokens":33340,"output_tokens":1}}}"#;
    workspace.write("t.jsonl", format!("{answer}\n"));
    let told = say(&workspace, "PreToolUse", read.clone()).exits(0);
    assert!(
        told.stdout.contains("no price for model `mystery-2`"),
        "{told:#?}"
    );
    let told = say(&workspace, "PreToolUse", read.clone()).exits(0);
    assert_eq!(told.stdout, "", "it is said once");
    let shown = workspace.roleos(&["sessions", "show", "s"]).succeeds();
    assert!(shown.contains("cost budget is not enforced"), "{shown}");
    // The call budget is enforced.
    for _ in 2..50 {
        say(&workspace, "PreToolUse", read.clone()).exits(0);
    }
    say(&workspace, "PreToolUse", read).exits(2);
    say(&workspace, "SessionEnd", json!({ "reason": "exit" })).exits(0);
    wait_for_bundle(&workspace);
    let facts = workspace.roleos(&["witness", "show", "latest"]).succeeds();
    assert!(
        facts.contains("not enforced: `[oversight.prices]`"),
        "{facts}"
    );
}

#[test]
fn a_missing_record_of_the_agent_is_said_once() {
    let workspace = Workspace::with_config("[oversight]\nmode = \"restricted\"\n");
    let read =
        json!({ "tool_name": "Read", "tool_input": { "file_path": "/x" }, "tool_use_id": "1" });
    let ask = || say(&workspace, "PreToolUse", read.clone()).exits(0).stdout;
    assert_eq!(ask(), "", "a record can appear after the first call");
    let told = ask();
    assert!(
        told.contains("the cost budget is not enforced") && told.contains("t.jsonl"),
        "{told}"
    );
    assert_eq!(ask(), "");
    let event = json!({ "session_id": "g", "cwd": workspace.root(), "hook_event_name": "SessionStart", "source": "startup" });
    let told = tell(hook(&workspace, "gemini", &[]), &event.to_string()).exits(0);
    assert!(
        told.stdout
            .contains("the record that gemini keeps is not read here"),
        "{told:#?}"
    );
}
