//! Approvals under attack: changed, forged, late, used twice, used by many processes at once, and through crashes.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::*;
use base::repository::State;
use oversight::act::Approvals as _;
use oversight::verdict::Place;

const MINUTE: Duration = Duration::from_secs(60);
const NOW: u64 = 1_800_000_000_000_000_000;

struct Scene {
    _guard: tempfile::TempDir,
    workspace: Workspace,
    key: SigningKey,
    act: Act,
}

fn scene() -> Scene {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    let key = approval_key::ensure(&workspace, None).unwrap();
    let act = Act {
        tool: "Bash".to_owned(),
        command: "git push origin main".to_owned(),
        facts: vec!["[\"git:push\",\"git\",[\"push\",\"origin\",\"main\"],\"/w\"]".to_owned()],
        actions: vec!["git:push".to_owned()],
        directory: "/w".to_owned(),
        repositories: Vec::new(),
    };
    Scene {
        _guard: guard,
        workspace,
        key,
        act,
    }
}

fn refusal(act: &Act) -> Refused {
    Refused::new(act, &[], NOW)
}

impl Scene {
    fn approve(&self) -> Vec<u8> {
        approve(&self.workspace, &refusal(&self.act), &self.key, MINUTE, NOW).unwrap();
        fs::read(self.path()).unwrap()
    }

    fn path(&self) -> PathBuf {
        approval_path(&self.workspace.approvals_dir(), &self.act.id())
    }

    fn put(&self, bytes: &[u8]) {
        files::write(&self.path(), bytes, Privacy::Secret).unwrap();
    }

    fn take(&self) -> Taken {
        take(&self.workspace, &self.act, NOW + 1).unwrap()
    }
}

#[test]
fn an_approval_holds_once() {
    let scene = scene();
    assert_eq!(scene.take(), Taken::No);
    scene.approve();
    assert_eq!(scene.take(), Taken::Yes(scene.act.id()));
    assert_eq!(scene.take(), Taken::No);
}

#[test]
fn what_is_approved_no_longer_waits_until_the_approval_ends() {
    let scene = scene();
    let other = Act {
        command: "git push origin next".to_owned(),
        ..scene.act.clone()
    };
    let id = refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    let next = refuse(&scene.workspace, &other, &[], NOW).unwrap();
    let waiting = |now_ns| {
        let pending = pending(&scene.workspace, now_ns).unwrap();
        let mut ids: Vec<Id> = pending.into_iter().map(|(id, _)| id).collect();
        ids.sort();
        ids
    };
    let mut both = vec![id, next.clone()];
    both.sort();
    assert_eq!(waiting(NOW), both);
    let bytes = scene.approve();
    assert_eq!(waiting(NOW + 1), [next]);
    // It ended unused, so the act is pending again.
    let minute = u64::try_from(MINUTE.as_nanos()).unwrap();
    assert_eq!(waiting(NOW + minute), both);
    // An approval without a valid signature does not count.
    let mut forged = bytes;
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'0' { b'1' } else { b'0' };
    scene.put(&forged);
    assert_eq!(waiting(NOW + 1), both);
}

#[test]
fn a_refused_act_is_found_by_its_id_until_it_was_allowed() {
    let scene = scene();
    let reasons = ["it is irreversible".to_owned()];
    let id = refuse(&scene.workspace, &scene.act, &reasons, NOW).unwrap();
    assert_eq!(Id::parse(&id.to_string()), Some(id.clone()));
    let found = find(&scene.workspace, &id).unwrap();
    assert_eq!((&found.act, &found.reasons[..]), (&scene.act, &reasons[..]));
    assert_eq!(pending(&scene.workspace, NOW).unwrap().len(), 1);
    scene.approve();
    assert_eq!(scene.take(), Taken::Yes(id.clone()));
    assert!(matches!(
        find(&scene.workspace, &id),
        Err(ApprovalError::Unknown(_))
    ));
}

#[test]
fn a_refused_act_that_was_changed_is_not_shown() {
    let scene = scene();
    let id = refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    let path = refused_path(&scene.workspace.approvals_dir(), &id);
    let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    for (from, to) in [
        ("main", "evil"),
        ("\"Bash\"", "\"Read\""),
        ("/w", "/v"),
        ("{", ""),
    ] {
        files::write(&path, text.replace(from, to).as_bytes(), Privacy::Secret).unwrap();
        assert!(
            matches!(find(&scene.workspace, &id), Err(ApprovalError::Damaged(_))),
            "{from}"
        );
    }
    assert!(pending(&scene.workspace, NOW).unwrap().is_empty());
}

#[test]
fn every_changed_byte_is_refused_and_said_so() {
    let scene = scene();
    let bytes = scene.approve();
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << bit;
            scene.put(&changed);
            let Taken::Refused(flaw) = scene.take() else {
                panic!("byte {index}, bit {bit} was believed");
            };
            assert!(
                matches!(flaw, Flaw::Malformed | Flaw::BadSignature),
                "{flaw}"
            );
        }
    }
    for length in 0..bytes.len() {
        scene.put(&bytes[..length]);
        assert!(matches!(scene.take(), Taken::Refused(_)), "cut at {length}");
    }
    scene.put(&[&bytes[..], b"\n"].concat());
    assert!(matches!(scene.take(), Taken::Refused(_)), "longer");
    scene.put(&bytes);
    assert_eq!(scene.take(), Taken::Yes(scene.act.id()), "unchanged");
}

#[test]
fn a_forged_approval_is_refused() {
    let scene = scene();
    scene.approve();
    let forger = SigningKey::new(&[7; 32]);
    approve(&scene.workspace, &refusal(&scene.act), &forger, MINUTE, NOW).unwrap();
    assert_eq!(scene.take(), Taken::Refused(Flaw::BadSignature));
}

#[test]
fn an_approval_of_another_act_is_refused() {
    let scene = scene();
    let bytes = scene.approve();
    let changes: [fn(&mut Act); 6] = [
        |act| act.tool = "PowerShell".to_owned(),
        |act| act.command.push_str(" --force"),
        |act| act.facts.push(String::new()),
        |act| act.actions.clear(),
        |act| act.directory = "/elsewhere".to_owned(),
        |act| {
            act.repositories.push(State {
                top: "/w".to_owned(),
                head: "ref: refs/heads/main".to_owned(),
                commit: None,
                remotes: Vec::new(),
                refs: String::new(),
                settings: String::new(),
                user_settings: String::new(),
            });
        },
    ];
    for change in changes {
        let mut other = scene.act.clone();
        change(&mut other);
        assert_eq!(take(&scene.workspace, &other, NOW + 1).unwrap(), Taken::No);
        let path = approval_path(&scene.workspace.approvals_dir(), &other.id());
        files::write(&path, &bytes, Privacy::Secret).unwrap();
        let taken = take(&scene.workspace, &other, NOW + 1).unwrap();
        assert_eq!(taken, Taken::Refused(Flaw::OtherAct));
    }
}

#[test]
fn an_approval_ends_and_does_not_begin_before_it_was_given() {
    let scene = scene();
    scene.approve();
    let minute = u64::try_from(MINUTE.as_nanos()).unwrap();
    let at = |now| take(&scene.workspace, &scene.act, now).unwrap();
    assert_eq!(at(NOW + minute), Taken::Refused(Flaw::Expired));
    assert_eq!(at(NOW - 1), Taken::Refused(Flaw::NotYet));
    assert_eq!(at(NOW + minute - 1), Taken::Yes(scene.act.id()));
}

#[test]
fn a_used_approval_that_is_put_back_is_refused() {
    let scene = scene();
    let bytes = scene.approve();
    assert_eq!(scene.take(), Taken::Yes(scene.act.id()));
    scene.put(&bytes);
    assert_eq!(scene.take(), Taken::Refused(Flaw::Replayed));
    scene.approve();
    assert_eq!(
        scene.take(),
        Taken::Yes(scene.act.id()),
        "a new yes is another one"
    );
}

#[test]
fn without_knowing_what_was_used_nothing_is_allowed() {
    let scene = scene();
    scene.approve();
    let path = scene.workspace.approvals_dir().join("used.json");
    files::write(&path, b"{", Privacy::Secret).unwrap();
    let error = take(&scene.workspace, &scene.act, NOW + 1).unwrap_err();
    assert!(matches!(error, ApprovalError::UsedDamaged(_)), "{error}");
}

#[test]
fn without_a_key_nothing_is_believed() {
    let scene = scene();
    scene.approve();
    fs::remove_file(scene.workspace.keys_dir().join("approval/approval.pub")).unwrap();
    assert_eq!(scene.take(), Taken::Refused(Flaw::NoKey));
}

#[test]
fn many_refusals_do_not_fill_the_disk() {
    let scene = scene();
    for number in 0..(MAX_REFUSED + 20) {
        let mut act = scene.act.clone();
        act.command = format!("git push {number}");
        let path = refused_path(&home(&scene.workspace).unwrap(), &act.id());
        if number < MAX_REFUSED {
            // Written without syncing each one.
            fs::File::create(path).unwrap();
        } else {
            refuse(&scene.workspace, &act, &[], NOW).unwrap();
        }
    }
    assert!(refused_files(&scene.workspace.approvals_dir()).len() <= MAX_REFUSED);
}

#[test]
fn the_whole_text_binds_although_the_push_is_the_same() {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    let key = approval_key::ensure(&workspace, None).unwrap();
    let directory = guard.path().to_str().unwrap();
    let place = Place {
        directory,
        home: directory,
    };
    let found = |command: &str| {
        let nothing = oversight::lookup::Nothing;
        let policy = oversight::verdict::Policy::default();
        let (grants, now) = (
            oversight::grants::Grants::none(),
            jiff::Timestamp::UNIX_EPOCH,
        );
        oversight::verdict::decide_command(&policy, command, place, &nothing, &grants, now).act
    };
    let covers = |command: &str, now| {
        let input = json!({ "command": command });
        let call = Call {
            tool: "Bash",
            input: &input,
            place,
        };
        let at_hand = AtHand::new(&workspace, call, now);
        (at_hand.covers(&found(command)), at_hand.said())
    };
    let input = json!({ "command": "git push" });
    let call = Call {
        tool: "Bash",
        input: &input,
        place,
    };
    let act = Act::of(&call, &found("git push"));
    assert_eq!(act.actions, ["git:push"]);
    assert_eq!(covers("git push", NOW), (false, None));
    approve(&workspace, &refusal(&act), &key, MINUTE, NOW).unwrap();
    assert_eq!(
        covers("git commit -qam more && git push", NOW + 1),
        (false, None)
    );
    let (covered, said) = covers("git push", NOW + 3_600_000_000_000);
    assert!(!covered);
    assert_eq!(said.as_deref(), Some("the approval has expired"));
    assert_eq!(covers("git push", NOW + 1), (true, None));
    assert_eq!(covers("git push", NOW + 1), (false, None));
}

/// Runs in each of many processes; not a test by itself.
#[test]
#[ignore = "started by the tests below"]
fn a_process_that_takes() {
    #[expect(
        clippy::disallowed_methods,
        reason = "told by the test that started it"
    )]
    let Some(root) = std::env::var_os("ROLEOS_TEST_APPROVAL_ROOT") else {
        return;
    };
    let scene = scene();
    let workspace = Workspace::at(Path::new(&root)).unwrap();
    while !workspace.root().join("go").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let taken = take(&workspace, &scene.act, NOW + 1).unwrap();
    println!("taken={}", matches!(taken, Taken::Yes(_)));
}

fn start(scene: &Scene) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "approvals::tests::a_process_that_takes",
            "--ignored",
            "--nocapture",
        ])
        .env("ROLEOS_TEST_APPROVAL_ROOT", scene.workspace.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn said_yes(mut child: Child) -> bool {
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    child.wait().unwrap();
    text.contains("taken=true")
}

#[test]
fn of_64_processes_one_is_told_yes() {
    let scene = scene();
    scene.approve();
    let children: Vec<Child> = (0..64).map(|_| start(&scene)).collect();
    fs::File::create(scene.workspace.root().join("go")).unwrap();
    let yes = children
        .into_iter()
        .map(said_yes)
        .filter(|yes| *yes)
        .count();
    assert_eq!(yes, 1);
}

#[test]
fn a_crash_never_doubles_an_approval() {
    for round in 0..40_u64 {
        let scene = scene();
        scene.approve();
        fs::File::create(scene.workspace.root().join("go")).unwrap();
        let mut child = start(&scene);
        // From before the first file is opened until long after the last was written.
        std::thread::sleep(Duration::from_micros(200 * round));
        child.kill().unwrap();
        let first = said_yes(child);
        let second = matches!(scene.take(), Taken::Yes(_));
        assert!(!(first && second), "both were told yes in round {round}");
        assert!(
            !matches!(scene.take(), Taken::Yes(_)),
            "twice in round {round}"
        );
    }
}

fn with_token(scene: &Scene) -> (Act, String) {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let act = Act {
        command: format!("git push https://ada:{token}@example.org/x && curl -u ada:hunter2x u"),
        facts: vec![format!(
            "[\"git:push\",\"git\",[\"push\",\"https://ada:{token}@example.org/x\"]]"
        )],
        ..scene.act.clone()
    };
    (act, token)
}

#[test]
fn a_refused_act_is_kept_without_its_secrets_and_still_bound_exactly() {
    let scene = scene();
    let (act, token) = with_token(&scene);
    let reasons = [format!(
        "it pushes to `https://ada:{token}@example.org/x` by hunter2x"
    )];
    let id = refuse(&scene.workspace, &act, &reasons, NOW).unwrap();
    let kept = fs::read_to_string(refused_path(&scene.workspace.approvals_dir(), &id)).unwrap();
    assert!(
        !kept.contains(&token) && !kept.contains("hunter2x"),
        "{kept}"
    );
    let refused = find_open(&scene.workspace, &id, NOW).unwrap();
    approve(&scene.workspace, &refused, &scene.key, MINUTE, NOW).unwrap();
    // The same text with another secret is another act, although it is shown equally.
    let other = Act {
        command: act
            .command
            .replace(&token, &format!("ghp_{}", "c3D4".repeat(9))),
        ..act.clone()
    };
    assert_eq!(other.shown().command, act.shown().command);
    assert_eq!(take(&scene.workspace, &other, NOW + 1).unwrap(), Taken::No);
    let taken = take(&scene.workspace, &act, NOW + 1).unwrap();
    assert_eq!(taken, Taken::Yes(id));
}

#[test]
fn what_is_shown_cannot_be_exchanged_for_something_harmless() {
    let scene = scene();
    let (act, _) = with_token(&scene);
    let id = refuse(&scene.workspace, &act, &[], NOW).unwrap();
    let path = refused_path(&scene.workspace.approvals_dir(), &id);
    let honest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let harmless = serde_json::to_value(refusal(&scene.act)).unwrap();
    for field in ["act", "exact"] {
        let mut forged = honest.clone();
        forged[field] = harmless[field].clone();
        files::write(&path, forged.to_string().as_bytes(), Privacy::Secret).unwrap();
        let error = find(&scene.workspace, &id).unwrap_err();
        assert!(matches!(error, ApprovalError::Damaged(_)), "{field}");
        assert!(pending(&scene.workspace, NOW).unwrap().is_empty());
    }
}

#[test]
fn a_refused_act_waits_a_day_and_a_yes_as_long_as_it_holds() {
    let scene = scene();
    let day = u64::try_from(WAITS.as_nanos()).unwrap();
    let id = refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    let waits = |now| pending(&scene.workspace, now).unwrap().len();
    assert_eq!(
        (waits(NOW), waits(NOW + day - 1), waits(NOW + day)),
        (1, 1, 0)
    );
    let error = find_open(&scene.workspace, &id, NOW + day).unwrap_err();
    assert!(matches!(error, ApprovalError::Expired(_)), "{error}");
    assert!(given(&scene.workspace, NOW).unwrap().is_empty());
    scene.approve();
    let given = |now| given(&scene.workspace, now).unwrap();
    assert_eq!(waits(NOW), 0);
    assert_eq!(given(NOW)[0].minutes_left(NOW), 1);
    assert_eq!(given(NOW)[0].seconds_left(NOW + 1_000_000_000), 59);
    let end = NOW + u64::try_from(MINUTE.as_nanos()).unwrap();
    assert!(given(end).is_empty(), "it has ended");
    assert_eq!(waits(end), 1, "and can be given again");
}

#[test]
fn an_act_whose_repository_moved_on_no_longer_waits() {
    let scene = scene();
    let top = scene.workspace.root().join("r");
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@t"];
        let ran = Command::new("git")
            .arg("-C")
            .arg(&top)
            .args(identity)
            .args(words)
            .output();
        assert!(ran.unwrap().status.success(), "{words:?}");
    };
    fs::create_dir(&top).unwrap();
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    let act = Act {
        repositories: vec![State::read(&top).unwrap()],
        ..scene.act.clone()
    };
    let id = refuse(&scene.workspace, &act, &[], NOW).unwrap();
    assert_eq!(pending(&scene.workspace, NOW).unwrap().len(), 1);
    git(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
    assert!(pending(&scene.workspace, NOW).unwrap().is_empty());
    let error = find_open(&scene.workspace, &id, NOW).unwrap_err();
    assert!(matches!(error, ApprovalError::Outdated(_)), "{error}");
}

#[test]
fn what_is_dismissed_is_gone_and_its_approval_cannot_be_put_back() {
    let scene = scene();
    let id = refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    dismiss(&scene.workspace, &id, NOW).unwrap();
    assert!(pending(&scene.workspace, NOW).unwrap().is_empty());
    let error = dismiss(&scene.workspace, &id, NOW).unwrap_err();
    assert!(matches!(error, ApprovalError::Unknown(_)), "{error}");
    refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    let bytes = scene.approve();
    dismiss(&scene.workspace, &id, NOW).unwrap();
    assert!(given(&scene.workspace, NOW).unwrap().is_empty());
    scene.put(&bytes);
    assert_eq!(scene.take(), Taken::Refused(Flaw::Replayed));
}

#[test]
fn files_of_approvals_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene();
    refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    scene.approve();
    scene.take();
    refuse(&scene.workspace, &scene.act, &[], NOW).unwrap();
    let directory = scene.workspace.approvals_dir();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            assert_eq!(mode(&path), 0o600, "{name}");
        }
    }
}
