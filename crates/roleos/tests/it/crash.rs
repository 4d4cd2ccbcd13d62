//! Kills, concurrency and lack of resources: everything acknowledged is there, and the rest is repaired or was never
//! begun.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::workspace::{ROLEOS, Workspace, ran};

const LEAVES: &str = ".role-os/ledger/leaves.jsonl";
const SEAL: [&str; 5] = ["witness", "seal", "--quiet", "--outcome", "solved"];

fn start(workspace: &Workspace) -> Child {
    workspace
        .command(&SEAL)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the file that a seal printed, if it got that far.
fn acknowledged(mut child: Child) -> Option<PathBuf> {
    let mut printed = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    child.wait().unwrap();
    let line = printed.strip_suffix('\n')?;
    Some(PathBuf::from(line.strip_prefix("sealed  ").unwrap()))
}

#[test]
fn a_kill_at_any_time_loses_nothing_that_was_acknowledged() {
    let workspace = Workspace::new();
    let mut sealed = BTreeSet::from([acknowledged(start(&workspace)).unwrap()]);
    let started = Instant::now();
    sealed.extend(acknowledged(start(&workspace)));
    let mut longest = started.elapsed();
    let mut hits = 0;
    for attempt in 0_u32.. {
        // The golden section spreads the moments evenly over the time, for any number of them.
        let moment = f64::from(attempt) * 0.618_034 % 1.0;
        let mut child = start(&workspace);
        thread::sleep(longest.mul_f64(moment));
        child.kill().unwrap();
        // The time follows that of a seal, so that the kills cover all of it and some come too late.
        if let Some(file) = acknowledged(child) {
            sealed.insert(file);
            longest = longest.mul_f64(0.96);
            continue;
        }
        longest = longest.mul_f64(1.02);
        hits += 1;
        let (_, problems) = workspace.audit(&[]);
        let repairable = |kind: &String| matches!(kind.as_str(), "unfinished" | "torn");
        assert!(
            problems.iter().all(repairable),
            "after {hits} kills: {problems:?}"
        );
        if hits == 80 {
            break;
        }
    }
    sealed.extend(acknowledged(start(&workspace)));
    assert_eq!(workspace.audit(&[]).1, [""; 0], "the next seal repairs all");
    let mut words = vec!["--json", "witness", "verify"];
    words.extend(sealed.iter().map(|path| path.to_str().unwrap()));
    let verdicts = workspace.roleos(&words).exits(0).json_lines();
    assert_eq!(verdicts.len(), sealed.len());
    assert!(sealed.len() > 2, "some seals came before their kill");
}

#[test]
fn a_kill_during_the_first_seal_leaves_a_workspace_that_works() {
    let started = Instant::now();
    acknowledged(start(&Workspace::new())).unwrap();
    let longest = started.elapsed();
    for attempt in 0..40 {
        let workspace = Workspace::new();
        let mut child = start(&workspace);
        thread::sleep(longest.mul_f64(f64::from(attempt) / 40.0));
        child.kill().unwrap();
        child.wait().unwrap();
        let (_, problems) = workspace.audit(&[]);
        let repairable = |kind: &String| matches!(kind.as_str(), "unfinished" | "torn");
        assert!(problems.iter().all(repairable), "{problems:?}");
        workspace.seal_some(1);
        assert_eq!(workspace.audit(&[]).1, [""; 0]);
    }
}

#[test]
fn sixteen_at_once_lose_nothing_and_make_one_pair_of_keys() {
    let workspace = Workspace::new();
    let children: Vec<_> = (0..16).map(|_| start(&workspace)).collect();
    let sealed: BTreeSet<_> = children.into_iter().filter_map(acknowledged).collect();
    assert_eq!(sealed.len(), 16);
    let (answer, problems) = workspace.audit(&[]);
    assert_eq!((answer["size"].as_u64(), problems), (Some(16), Vec::new()));
    let keys = workspace.roleos(&["--json", "key", "list"]).exits(0).json();
    assert_eq!(keys.as_array().unwrap().len(), 2);
}

#[test]
fn an_audit_between_seals_raises_no_false_alarm() {
    let workspace = Workspace::new();
    workspace.seal_some(1);
    thread::scope(|scope| {
        let sealer = scope.spawn(|| workspace.seal_some(25));
        while !sealer.is_finished() {
            assert_eq!(workspace.audit(&[]).1, [""; 0]);
        }
    });
}

#[test]
fn a_cut_off_line_is_reported_and_repaired() {
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let whole = workspace.read(LEAVES);
    workspace.write(LEAVES, format!("{whole}{{\"index\":2,\"task"));
    assert_eq!(workspace.audit(&[]).1, ["torn"]);
    let ran = workspace
        .roleos(&["witness", "seal", "--outcome", "solved"])
        .exits(0);
    assert!(
        ran.stderr
            .contains("repaired: the last line of the ledger was cut off after 16 bytes"),
        "{ran:#?}"
    );
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
    assert!(workspace.read(LEAVES).starts_with(&whole));

    // The same for programs, and through an import.
    let whole = workspace.read(LEAVES);
    workspace.write(LEAVES, format!("{whole}{{"));
    let sealed = workspace.seal(&["--outcome", "solved"]);
    assert_eq!(sealed["repaired"].as_array().unwrap().len(), 1);
    assert_eq!(
        workspace.seal(&["--outcome", "solved"])["repaired"],
        serde_json::json!([])
    );
}

#[test]
fn a_line_that_was_signed_and_is_cut_off_is_written_again() {
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let whole = workspace.read(LEAVES);
    for cut in ["}\n", "\"}\n", "ww\"}\n"] {
        workspace.write(LEAVES, whole.strip_suffix(cut).unwrap());
        let expected = ["torn", "unlogged", "truncated"];
        assert_eq!(workspace.audit(&[]).1, expected);
    }
    let sealed = workspace.seal(&["--outcome", "solved"]);
    let repaired = sealed["repaired"][0].as_str().unwrap();
    assert!(repaired.contains("was written again"), "{repaired}");
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
    assert!(workspace.read(LEAVES).starts_with(&whole));
}

#[test]
fn a_cut_off_line_whose_bundle_is_gone_or_another_is_no_accident() {
    let workspace = Workspace::new();
    let bundles = workspace.seal_some(2);
    let whole = workspace.read(LEAVES);
    workspace.write(LEAVES, whole.trim_end_matches("}\n"));
    let mut bytes = fs::read(&bundles[1]).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&bundles[1], bytes).unwrap();
    let error = workspace
        .roleos(&["--json", "witness", "seal", "--outcome", "solved"])
        .exits(2)
        .json_error();
    assert_eq!(error["code"], "ledger_tampered");
    fs::remove_file(&bundles[1]).unwrap();
    let error = workspace
        .roleos(&["--json", "witness", "seal", "--outcome", "solved"])
        .exits(2)
        .json_error();
    assert_eq!(error["code"], "ledger_tampered");
}

#[test]
fn a_bundle_that_was_logged_but_not_named_is_finished() {
    let workspace = Workspace::new();
    let bundles = workspace.seal_some(2);
    let pending = |path: &Path| path.with_extension("rvww.sealing");
    fs::rename(&bundles[1], pending(&bundles[1])).unwrap();
    assert_eq!(workspace.audit(&[]).1, ["unfinished"]);
    let sealed = workspace.seal(&["--outcome", "solved"]);
    assert!(
        sealed["repaired"][0]
            .as_str()
            .unwrap()
            .contains("logged but not finished")
    );
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
    // A bundle that was written and never logged was never acknowledged; it does no harm.
    fs::copy(&bundles[0], pending(&bundles[0].with_file_name("00.rvww"))).unwrap();
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
}

/// Runs a seal whose process may not write a file beyond so many blocks of 512 bytes, like on a full disk.
fn seal_with_room_for(workspace: &Workspace, blocks: usize) -> crate::workspace::Ran {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        // If ignored, the signal becomes the error of a full disk.
        .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""))
        .arg("sh")
        .arg(ROLEOS)
        .args([
            "--json",
            "witness",
            "seal",
            "--outcome",
            "solved",
            "--spec",
            "spec.md",
        ])
        .current_dir(workspace.root())
        .env("ROLEOS_ROOT", workspace.root());
    ran(command)
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing_half_written() {
    let workspace = Workspace::new();
    workspace.write("spec.md", "x".repeat(100));
    workspace.seal_some(3);
    workspace.write("spec.md", "x".repeat(10_000));
    let before = workspace.snapshot();
    // Too little for the bundle.
    let error = seal_with_room_for(&workspace, 4).exits(2).json_error();
    assert_eq!(
        (&error["code"], &error["retryable"]),
        (&"no_space".into(), &true.into())
    );
    assert!(workspace.snapshot() == before);
    // Enough for a bundle, too little for another leaf: the last block is left half full on purpose.
    workspace.write("spec.md", "x");
    while fs::metadata(workspace.path(LEAVES)).unwrap().len() < 1_400 {
        workspace.seal_some(1);
    }
    let before = workspace.snapshot();
    let error = seal_with_room_for(&workspace, 3).exits(2).json_error();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("cannot append to"),
        "{error}"
    );
    assert!(workspace.snapshot() == before);
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
    workspace.seal_some(1);
    assert_eq!(workspace.audit(&[]).1, [""; 0]);
}

/// Runs as a user who is subject to permissions: the current one, or `nobody` instead of root.
fn as_an_ordinary_user(workspace: &Workspace, words: &[&str]) -> crate::workspace::Ran {
    ran(workspace.unprivileged(workspace.command(words)))
}

#[test]
fn a_folder_that_may_not_be_written_is_said() {
    let workspace = Workspace::new();
    let closed = fs::Permissions::from_mode(0o555);
    fs::create_dir(workspace.path(".role-os")).unwrap();
    fs::set_permissions(workspace.path(".role-os"), closed).unwrap();
    let ran = as_an_ordinary_user(&workspace, &SEAL).exits(2);
    assert!(
        ran.error()
            .contains("permission denied\nhint: check who may write there"),
        "{ran:#?}"
    );
    assert_eq!(fs::read_dir(workspace.path(".role-os")).unwrap().count(), 0);
    fs::set_permissions(
        workspace.path(".role-os"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}

#[test]
fn a_file_that_may_not_be_read_is_wrong_input() {
    let workspace = Workspace::new();
    let file = workspace.write("closed.rvww", "x");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = as_an_ordinary_user(&workspace, &["witness", "verify", "closed.rvww"]).exits(1);
    assert!(
        ran.error()
            .contains("permission denied\nhint: check who may read it"),
        "{ran:#?}"
    );
}
