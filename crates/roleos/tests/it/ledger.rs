//! Attacks on bundles and ledger, all detected: by the ledger alone, or with a checkpoint kept elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::workspace::Workspace;

const LEAVES: &str = ".role-os/ledger/leaves.jsonl";
const CHECKPOINT: &str = ".role-os/ledger/checkpoint";
const ORIGIN: &str = ".role-os/ledger/origin";

/// A workspace with four bundles to attack.
struct Attacked {
    workspace: Workspace,
    bundles: Vec<PathBuf>,
}

impl Attacked {
    fn new() -> Self {
        let workspace = Workspace::new();
        let bundles = workspace.seal_some(4);
        assert_eq!(workspace.audit(&[]).1, [""; 0]);
        Self { workspace, bundles }
    }

    fn lines(&self) -> Vec<String> {
        self.workspace
            .read(LEAVES)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Writes the leaves again with new numbers, like an attacker who knows the format.
    fn write_lines(&self, lines: &[String]) {
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["index"] = index.into();
            text.push_str(&line.to_string());
            text.push('\n');
        }
        self.workspace.write(LEAVES, text);
    }

    /// Asserts exactly these kinds of problem.
    #[track_caller]
    fn finds(&self, kinds: &[&str]) {
        assert_eq!(self.workspace.audit(&[]).1, kinds);
        let ran = self.workspace.roleos(&["ledger", "verify"]).exits(1);
        assert!(
            kinds.iter().all(|kind| ran.stdout.contains(kind)),
            "{ran:#?}"
        );
    }

    /// Asserts that the leaves cannot be read, with the number of the line.
    #[track_caller]
    fn is_damaged_at(&self, line: usize) {
        let error = self
            .workspace
            .roleos(&["--json", "ledger", "verify"])
            .exits(1)
            .json_error();
        assert_eq!(error["code"], "ledger_damaged");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains(&format!("line {line}")),
            "{error}"
        );
    }

    /// Asserts that nothing more is sealed, so that the attack stays visible.
    #[track_caller]
    fn seals_no_more(&self) {
        let before = self.workspace.snapshot();
        let words = ["--json", "witness", "seal", "--outcome", "solved"];
        let error = self.workspace.roleos(&words).exits(2).json_error();
        assert_eq!(error["code"], "ledger_tampered");
        assert!(self.workspace.snapshot() == before);
    }
}

#[test]
fn a_deleted_bundle_is_missing() {
    let attacked = Attacked::new();
    fs::remove_file(&attacked.bundles[1]).unwrap();
    attacked.finds(&["missing"]);
}

#[test]
fn an_edited_bundle_is_found() {
    let attacked = Attacked::new();
    let mut bytes = fs::read(&attacked.bundles[2]).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&attacked.bundles[2], bytes).unwrap();
    attacked.finds(&["edited"]);
}

#[test]
fn swapped_bundles_are_found() {
    let attacked = Attacked::new();
    let [first, second, ..] = attacked.bundles.as_slice() else {
        panic!("four were sealed")
    };
    let aside = attacked.workspace.path("aside");
    fs::rename(first, &aside).unwrap();
    fs::rename(second, first).unwrap();
    fs::rename(&aside, second).unwrap();
    attacked.finds(&["edited", "edited"]);
}

#[test]
fn an_added_bundle_is_found() {
    let attacked = Attacked::new();
    let copy = attacked.bundles[0].with_file_name("ffffffffffffffffffffffffffffffff.rvww");
    fs::copy(&attacked.bundles[0], copy).unwrap();
    attacked.finds(&["unlogged"]);
}

#[test]
fn a_deleted_leaf_is_found_even_when_its_bundle_is_gone_too() {
    let attacked = Attacked::new();
    let mut lines = attacked.lines();
    lines.remove(1);
    attacked
        .workspace
        .write(LEAVES, format!("{}\n", lines.join("\n")));
    attacked.is_damaged_at(2);
    attacked.write_lines(&lines);
    attacked.finds(&["unlogged", "truncated"]);
    fs::remove_file(&attacked.bundles[1]).unwrap();
    attacked.finds(&["truncated"]);
    attacked.seals_no_more();
}

#[test]
fn an_edited_leaf_is_found() {
    let attacked = Attacked::new();
    let mut lines = attacked.lines();
    lines[1] = lines[1].replacen("\"created_ns\":1", "\"created_ns\":2", 1);
    assert_ne!(lines, attacked.lines());
    attacked.write_lines(&lines);
    attacked.finds(&["forked"]);
    attacked.seals_no_more();
    lines[1] = "nonsense".to_owned();
    attacked
        .workspace
        .write(LEAVES, format!("{}\n", lines.join("\n")));
    attacked.is_damaged_at(2);
}

#[test]
fn moved_leaves_are_found() {
    let attacked = Attacked::new();
    let mut lines = attacked.lines();
    lines.swap(1, 2);
    attacked
        .workspace
        .write(LEAVES, format!("{}\n", lines.join("\n")));
    attacked.is_damaged_at(2);
    attacked.write_lines(&lines);
    attacked.finds(&["forked"]);
}

#[test]
fn an_inserted_leaf_is_found() {
    let attacked = Attacked::new();
    let mut lines = attacked.lines();
    lines.insert(1, lines[3].clone());
    attacked.write_lines(&lines);
    attacked.finds(&["forked"]);
    attacked.seals_no_more();
}

#[test]
fn a_leaf_that_points_elsewhere_is_refused() {
    let attacked = Attacked::new();
    for file in ["../keys/x.key", "/etc/passwd", "", "a/../../b"] {
        let mut lines = attacked.lines();
        let mut line: Value = serde_json::from_str(&lines[3]).unwrap();
        line["file"] = file.into();
        lines[3] = line.to_string();
        let workspace = &attacked.workspace;
        let before = workspace.read(LEAVES);
        workspace.write(LEAVES, format!("{}\n", lines.join("\n")));
        attacked.is_damaged_at(4);
        workspace.write(LEAVES, before);
    }
}

/// Removes the last bundle without a trace in the workspace: leaf, bundle, and the older checkpoint restored.
fn cut_off(attacked: &Attacked, older_checkpoint: &str) {
    let mut lines = attacked.lines();
    let cut: Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    attacked.write_lines(&lines);
    let file = Path::new(".role-os/witness").join(cut["file"].as_str().unwrap());
    fs::remove_file(attacked.workspace.path(file.to_str().unwrap())).unwrap();
    attacked.workspace.write(CHECKPOINT, older_checkpoint);
}

#[test]
fn a_cut_end_is_found_by_the_checkpoint() {
    let attacked = Attacked::new();
    let newest = attacked.workspace.read(CHECKPOINT);
    cut_off(&attacked, &newest);
    attacked.finds(&["truncated"]);
    attacked.seals_no_more();
}

#[test]
fn a_cut_end_with_an_older_checkpoint_is_found_by_one_that_was_kept_elsewhere() {
    let workspace = Workspace::new();
    let mut bundles = workspace.seal_some(3);
    let older = workspace.read(CHECKPOINT);
    bundles.extend(workspace.seal_some(1));
    let kept = workspace.roleos(&["ledger", "checkpoint"]).succeeds();
    let elsewhere = Workspace::new();
    let kept = elsewhere.write("checkpoint", kept).display().to_string();
    assert_eq!(workspace.audit(&["--against", &kept]).1, [""; 0]);

    let attacked = Attacked { workspace, bundles };
    cut_off(&attacked, &older);
    let elsewhere = |workspace: &Workspace, words: &[&str]| {
        // Another user's trust store has no record of this ledger, so only the workspace can show it.
        let home = tempfile::tempdir().unwrap();
        let words = [&["--json", "ledger", "verify"], words].concat();
        let mut command = workspace.command(&words);
        command.env("HOME", home.path());
        let answer = crate::workspace::ran(command).json();
        let problems = answer["problems"].as_array().unwrap().clone();
        let kind = |one: &Value| one["kind"].as_str().unwrap().to_owned();
        problems.iter().map(kind).collect::<Vec<_>>()
    };
    let workspace = &attacked.workspace;
    assert_eq!(
        elsewhere(workspace, &[]),
        [""; 0],
        "the workspace alone cannot tell"
    );
    assert_eq!(elsewhere(workspace, &["--against", &kept]), ["truncated"]);
    assert_eq!(
        workspace.audit(&[]).1,
        ["rolled_back"],
        "the trust store can"
    );

    // It is still detected when the writer, who has the key, continues as if nothing had happened.
    let sealed = workspace.seal(&["--outcome", "solved"]);
    let told = sealed["repaired"][0].as_str().unwrap();
    assert!(
        told.contains("does not continue the one that is known"),
        "{told}"
    );
    assert_eq!(workspace.audit(&[]).1, ["rolled_back"]);
    assert_eq!(elsewhere(workspace, &["--against", &kept]), ["forked"]);
    workspace.seal_some(3);
    assert_eq!(
        workspace.audit(&[]).1,
        ["rolled_back"],
        "also when it is larger"
    );
}

#[test]
fn an_older_checkpoint_that_was_kept_elsewhere_still_holds() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    let answer = workspace
        .roleos(&["--json", "ledger", "checkpoint"])
        .exits(0)
        .json();
    let kept = workspace.write("kept", answer["checkpoint"].as_str().unwrap());
    workspace.seal_some(3);
    assert_eq!(
        workspace.audit(&["--against", kept.to_str().unwrap()]).1,
        [""; 0]
    );
}

#[test]
fn a_checkpoint_of_another_ledger_or_of_a_stranger_is_found() {
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let stranger = Workspace::new();
    stranger.seal_some(2);
    let theirs = stranger.path(CHECKPOINT).display().to_string();
    assert_eq!(
        workspace.audit(&["--against", &theirs]).1,
        ["checkpoint_signature"]
    );
    // The same key, another ledger.
    let sibling = Workspace::new();
    fs::create_dir_all(sibling.path(".role-os/keys")).unwrap();
    for entry in fs::read_dir(workspace.path(".role-os/keys")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(
            &path,
            sibling
                .path(".role-os/keys")
                .join(path.file_name().unwrap()),
        )
        .unwrap();
    }
    sibling.seal_some(2);
    let theirs = sibling.path(CHECKPOINT).display().to_string();
    assert_eq!(workspace.audit(&["--against", &theirs]).1, ["other_log"]);
}

#[test]
fn a_checkpoint_that_is_gone_or_changed_is_found() {
    let attacked = Attacked::new();
    let text = attacked.workspace.read(CHECKPOINT);
    attacked
        .workspace
        .write(CHECKPOINT, text.replacen("\n4\n", "\n3\n", 1));
    attacked.finds(&["checkpoint_signature"]);
    attacked.workspace.write(CHECKPOINT, "");
    let error = attacked
        .workspace
        .roleos(&["--json", "ledger", "verify"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "ledger_damaged");
    fs::remove_file(attacked.workspace.path(CHECKPOINT)).unwrap();
    attacked.finds(&["checkpoint_missing"]);
}

#[test]
fn a_ledger_that_is_gone_is_found() {
    let attacked = Attacked::new();
    let kept = attacked
        .workspace
        .write("kept", attacked.workspace.read(CHECKPOINT));
    let kept = kept.to_str().unwrap();
    fs::remove_file(attacked.workspace.path(ORIGIN)).unwrap();
    attacked.finds(&[
        "ledger_missing",
        "unlogged",
        "unlogged",
        "unlogged",
        "unlogged",
        "rolled_back",
    ]);
    fs::remove_dir_all(attacked.workspace.path(".role-os/ledger")).unwrap();
    attacked.finds(&[
        "unlogged",
        "unlogged",
        "unlogged",
        "unlogged",
        "rolled_back",
    ]);
    fs::remove_dir_all(attacked.workspace.path(".role-os/witness")).unwrap();
    attacked.finds(&["rolled_back"]);
    assert_eq!(
        attacked.workspace.audit(&["--against", kept]).1,
        ["ledger_missing", "rolled_back"]
    );
    // A fresh ledger in the same place is another one.
    attacked.workspace.seal_some(5);
    attacked.finds(&["rolled_back"]);
}

#[test]
fn a_lost_name_is_taken_from_the_checkpoint() {
    let attacked = Attacked::new();
    let name = attacked.workspace.read(ORIGIN);
    fs::remove_file(attacked.workspace.path(ORIGIN)).unwrap();
    attacked.workspace.seal_some(1);
    assert_eq!(attacked.workspace.read(ORIGIN), name);
    assert_eq!(attacked.workspace.audit(&[]).1, [""; 0]);
}

#[test]
fn a_name_that_nothing_bears_is_not_made_up() {
    let attacked = Attacked::new();
    for gone in [ORIGIN, CHECKPOINT] {
        fs::remove_file(attacked.workspace.path(gone)).unwrap();
    }
    let before = attacked.workspace.snapshot();
    let words = ["--json", "witness", "seal", "--outcome", "solved"];
    let error = attacked.workspace.roleos(&words).exits(1).json_error();
    assert_eq!(error["code"], "ledger_damaged");
    assert!(attacked.workspace.snapshot() == before);
}

/// The system returns an error about the file instead of its absence.
#[test]
fn an_error_is_not_taken_for_absence() {
    for name in [ORIGIN, CHECKPOINT, LEAVES] {
        let attacked = Attacked::new();
        let path = attacked.workspace.path(name);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let ran = attacked
            .workspace
            .roleos(&["--json", "witness", "seal", "--outcome", "solved"]);
        assert_ne!(ran.code, 0, "{name}: {ran:#?}");
        assert_ne!(attacked.workspace.roleos(&["ledger", "verify"]).code, 0);
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        attacked.workspace.seal_some(1);
        assert_eq!(attacked.workspace.audit(&[]).1, [""; 0], "{name}");
    }
}

/// A failed sync after the first leaf must not lose the bundle.
#[test]
fn a_bundle_whose_leaf_is_logged_is_never_removed() {
    for seals_before in [0, 2] {
        let workspace = Workspace::new();
        workspace.seal_some(seals_before);
        // "roleos-test-sync" in hexadecimal: a debug build fails after the append of this task.
        let task = "726f6c656f732d746573742d73796e63";
        let words = [
            "--json",
            "witness",
            "seal",
            "--outcome",
            "solved",
            "--task-id",
            task,
        ];
        let error = workspace.roleos(&words).exits(3).json_error();
        assert_eq!(error["code"], "seal_unfinished");
        assert!(error["message"].as_str().unwrap().contains("is logged"));
        let found = workspace.audit(&[]).1;
        assert!(found.iter().all(|kind| kind == "unfinished"), "{found:?}");
        assert!(!found.is_empty());
        let sealed = workspace.seal(&["--outcome", "solved"]);
        assert_eq!(sealed["index"], seals_before + 1);
        assert_eq!(workspace.audit(&[]).1, [""; 0]);
        workspace.roleos(&["witness", "verify", task]).exits(0);
    }
}

/// Adds a leaf and its bundle, like a process without a key.
fn slip_in(workspace: &Workspace, bytes: &[u8]) {
    let lines = workspace.read(LEAVES);
    let index = lines.lines().count();
    let task = "ab".repeat(16);
    let digest = hex::encode(base::digest(bytes));
    workspace.write(&format!(".role-os/witness/2026/11/{task}.rvww"), bytes);
    let line = format!(
        r#"{{"index":{index},"task_id":"{task}","created_ns":1767225600000000001,"sha256":"{digest}","file":"2026/11/{task}.rvww"}}"#
    );
    workspace.write(LEAVES, format!("{lines}{line}\n"));
}

#[test]
fn a_leaf_that_was_not_signed_is_found_and_never_signed() {
    let foreign = crate::sample::Sample::new(1);
    for bytes in [foreign.unsigned(), foreign.signed()] {
        let attacked = Attacked::new();
        slip_in(&attacked.workspace, &bytes);
        attacked.finds(&["signature", "unsigned_leaves"]);
        attacked.seals_no_more();
    }
}

#[test]
fn a_copy_of_a_real_bundle_is_not_a_leaf_of_its_own() {
    let attacked = Attacked::new();
    let bytes = fs::read(&attacked.bundles[1]).unwrap();
    slip_in(&attacked.workspace, &bytes);
    attacked.finds(&["chain", "unsigned_leaves"]);
    attacked.seals_no_more();
}

#[test]
fn an_import_is_no_way_in_for_a_leaf_without_signature() {
    let attacked = Attacked::new();
    slip_in(
        &attacked.workspace,
        &crate::sample::Sample::new(1).unsigned(),
    );
    let marked = attacked.workspace.read(LEAVES);
    let last = marked.trim_end().strip_suffix('}').unwrap();
    attacked
        .workspace
        .write(LEAVES, format!("{last},\"imported\":true}}\n"));
    attacked.finds(&["unsigned_leaves"]);
    attacked.seals_no_more();
}

#[test]
fn an_old_checkpoint_in_place_is_found_and_what_we_sealed_is_signed_again() {
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let older = workspace.read(CHECKPOINT);
    workspace.seal_some(1);
    workspace.write(CHECKPOINT, older);
    assert_eq!(workspace.audit(&[]).1, ["unsigned_leaves"]);
    workspace.seal_some(1);
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
}

#[test]
fn without_a_checkpoint_only_what_we_sealed_is_signed() {
    let attacked = Attacked::new();
    slip_in(&attacked.workspace, &crate::sample::Sample::new(1).signed());
    fs::remove_file(attacked.workspace.path(CHECKPOINT)).unwrap();
    attacked.finds(&["signature", "checkpoint_missing"]);
    attacked.seals_no_more();
}

#[test]
fn bundles_and_ledger_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path(".role-os/witness")).unwrap();
    let bundle = workspace.seal_some(1).remove(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&bundle), 0o600);
    for folder in bundle.ancestors().skip(1).take(3) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(mode(&workspace.path(".role-os/ledger")), 0o700);
    for name in [LEAVES, CHECKPOINT, ORIGIN] {
        assert_eq!(mode(&workspace.path(name)), 0o600, "{name}");
    }
}

/// Returns the bundle, its proof and the public key, alone in another folder.
fn proved() -> (Workspace, Attacked) {
    let attacked = Attacked::new();
    let elsewhere = Workspace::new();
    let stem = attacked.bundles[1].file_stem().unwrap().to_str().unwrap();
    let out = elsewhere.path("task.tlog-proof").display().to_string();
    attacked
        .workspace
        .roleos(&["ledger", "prove", stem, "--out", &out])
        .exits(0);
    fs::copy(&attacked.bundles[1], elsewhere.path("task.rvww")).unwrap();
    fs::copy(&attacked.bundles[2], elsewhere.path("other.rvww")).unwrap();
    for entry in fs::read_dir(attacked.workspace.path(".role-os/keys")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "pub") {
            fs::copy(&path, elsewhere.path("team.pub")).unwrap();
        }
    }
    (elsewhere, attacked)
}

fn verify<'a>(bundle: &'a str, proof: &'a str) -> [&'a str; 7] {
    [
        "witness",
        "verify",
        bundle,
        "--key-file",
        "team.pub",
        "--proof",
        proof,
    ]
}

#[test]
fn a_proof_is_checked_offline_with_the_public_key_alone() {
    let (elsewhere, attacked) = proved();
    let ran = elsewhere
        .roleos(&verify("task.rvww", "task.tlog-proof"))
        .exits(0);
    assert!(ran.stderr.contains("bundle 1 of 4"), "{ran:#?}");
    // The same text on standard output, and in JSON.
    let stem = attacked.bundles[1].file_stem().unwrap().to_str().unwrap();
    let printed = attacked
        .workspace
        .roleos(&["ledger", "prove", &stem.to_uppercase()])
        .succeeds();
    assert_eq!(
        printed.trim_end(),
        elsewhere.read("task.tlog-proof").trim_end()
    );
    let answer = attacked
        .workspace
        .roleos(&["--json", "ledger", "prove", stem])
        .exits(0)
        .json();
    assert_eq!(answer["index"], 1);
    assert_eq!(answer["proof"], elsewhere.read("task.tlog-proof"));
}

#[test]
fn a_wrong_proof_fails() {
    let (elsewhere, _) = proved();
    let fails = |words: &[&str], code: &str| {
        let words = [&["--json"], words].concat();
        let ran = elsewhere.roleos(&words).exits(1);
        assert!(
            ran.stderr.contains(&format!("\"code\":\"{code}\"")),
            "{ran:#?}"
        );
    };
    fails(&verify("other.rvww", "task.tlog-proof"), "not_proven");
    fails(&verify("task.rvww", "team.pub"), "bad_proof");
    fails(&verify("task.rvww", "missing"), "file_not_found");
    // Every line of the proof matters.
    let text = elsewhere.read("task.tlog-proof");
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let last = lines[number].pop();
        lines[number].push(if last == Some('1') { '2' } else { '1' });
        elsewhere.write("changed", format!("{}\n", lines.join("\n")));
        elsewhere.roleos(&verify("task.rvww", "changed")).exits(1);
    }
    // Signed with a key that the reader does not know.
    let stranger = Workspace::new();
    stranger.seal_some(1);
    let words = [
        "--json",
        "witness",
        "verify",
        "task.rvww",
        "--proof",
        "task.tlog-proof",
    ];
    let mut command = stranger.command(&words);
    command.current_dir(elsewhere.root());
    crate::workspace::ran(command).exits(1);
}

#[test]
fn what_cannot_be_proved_is_said() {
    let workspace = Workspace::new();
    let error = workspace
        .roleos(&["--json", "ledger", "prove", "abcd"])
        .exits(1)
        .json_error();
    assert_eq!(error["code"], "no_ledger");
    workspace.seal_some(2);
    for task in ["ffff", "zz", ""] {
        let error = workspace
            .roleos(&["--json", "ledger", "prove", task])
            .exits(1)
            .json_error();
        assert_eq!(error["code"], "bundle_not_found", "{task:?}");
    }
}
