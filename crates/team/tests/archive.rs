//! The same tests of the archive of evidence over both engines, the files of a workspace and the team's database: once, in
//! order, with proofs, and without loss on the way from one to the other.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking, and another program writes as it likes"
)]

use std::fs;
use std::sync::Arc;
use std::thread;

use base::environment::Environment;
use base::workspace::Workspace;
use evidence::archive::files::FilesArchive;
use evidence::archive::intake::{Answer, Intake, Refused};
use evidence::archive::people::{Act, CodeHash, Role, Token, hash_of};
use evidence::archive::shipment::Packer;
use evidence::archive::{Archive, LogName};
use team::throwaway::{Durability, Server};
use team::{Address, DatabaseArchive, Team};
use tempfile::TempDir;
use witness::builder::Builder;
use witness::key::SigningKey;
use witness::ledger::Leaf;
use witness::policy::Policy;
use witness::scorecard::{Filter, GroupBy, Wanted};
use witness::wire::{Mode, Outcome, TaskId};

fn key(number: u8) -> SigningKey {
    SigningKey::new(&[number; 32])
}

fn act(what: &str) -> Act {
    Act::now("anna", what, "subject", "a test")
}

/// Returns a bundle of a task, with facts that differ from task to task.
fn bundle(number: u64, signer: &SigningKey) -> Vec<u8> {
    let created = 1_767_225_600_000_000_000 + number * 86_400_000_000_000 / 4;
    let task = TaskId(u128::from(number).to_be_bytes());
    let mut builder = Builder::new(task, Policy::of_mode(Mode::Autonomous), created);
    builder.spec(format!("task {number}"));
    builder.provenance(
        "model",
        ["small", "large"][usize::from(number.is_multiple_of(3))],
    );
    if number % 4 != 1 {
        builder.provenance("role", "editor").diff("+1\n");
    }
    if number.is_multiple_of(5) {
        builder.test_log(
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        );
        builder.outcome(Outcome::Solved);
    } else if number % 5 == 1 {
        builder.outcome(Outcome::Failed);
    }
    builder.build(None, Some(signer)).unwrap()
}

fn shipment(numbers: std::ops::Range<u64>, signer: &SigningKey, seen: u64) -> Arc<[u8]> {
    let mut packer = Packer::new(seen);
    for number in numbers {
        assert!(packer.bundle(&bundle(number, signer)));
    }
    packer.sign(signer).into()
}

/// Runs a test over the files, and over a database of its own.
fn over_both(check: impl Fn(&Arc<dyn Archive>)) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(folder.path()).unwrap();
    let files: Arc<dyn Archive> = Arc::new(FilesArchive::of(&workspace, 1 << 28));
    check(&files);
    let server = Server::start(Durability::Quick).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let database: Arc<dyn Archive> = Arc::new(database(&server.database().unwrap(), &folder));
    check(&database);
}

#[test]
fn a_list_that_another_program_wrote_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    fs::create_dir(&root).unwrap();
    let environment = Environment {
        state: Some(folder.path().join("state")),
        ..Environment::default()
    };
    let workspace = Workspace::find(Some(&root), &environment).unwrap();
    let archive = FilesArchive::of(&workspace, 1 << 28);
    let act = Act::now("ann", "token.create", "ci", "nightly");
    let (token, _) = Token::create("ci", Role::Agent, &act).unwrap();
    archive.add_token(&token, &act).unwrap();
    assert_eq!(archive.tokens().unwrap(), std::slice::from_ref(&token));
    // The same token with another role, and a code that was never offered.
    let tokens = root.join(".role-os/team/tokens.json");
    let own = fs::read_to_string(&tokens).unwrap();
    fs::write(&tokens, own.replace("agent", "admin")).unwrap();
    let codes = root.join(".role-os/team/codes.json");
    let code = CodeHash::of("1");
    let hash = &code.0;
    let forged = format!(r#"[{{"hash":"{hash}","until_ns":9999999999999999999,"by":"ann"}}]"#);
    fs::write(&codes, forged).unwrap();
    archive.tokens().unwrap_err();
    archive.add_token(&token, &act).unwrap_err();
    archive.use_code(&code, 0).unwrap_err();
    fs::write(&tokens, own).unwrap();
    assert_eq!(archive.tokens().unwrap(), [token]);
}

/// A program of the team, with a workspace and a key of its own.
fn database(url: &str, folder: &TempDir) -> DatabaseArchive {
    let team = Team::new(Address::parse(url, None).unwrap()).unwrap();
    DatabaseArchive::new(team, &Workspace::at(folder.path()).unwrap())
}

fn is_stored(answer: &Answer) -> bool {
    matches!(
        answer,
        Answer::Kept {
            is_known: false,
            proof: Some(_)
        }
    )
}

fn is_known(answer: &Answer) -> bool {
    matches!(
        answer,
        Answer::Kept {
            is_known: true,
            proof: Some(_)
        }
    )
}

#[test]
fn bundles_are_kept_once_and_proved_by_one_growing_ledger() {
    over_both(|archive| {
        let intake = Intake::of(Arc::clone(archive));
        let signer = key(1);
        let refused = intake.take(&shipment(0..3, &signer, 0)).unwrap_err();
        assert!(matches!(refused, Refused::UnknownKey(_)), "{refused}");
        assert!(
            archive
                .enroll(&signer.public(), "one", &act("key.enroll"))
                .unwrap()
        );
        assert!(
            !archive
                .enroll(&signer.public(), "one", &act("key.enroll"))
                .unwrap()
        );
        let first = intake.take(&shipment(0..300, &signer, 0)).unwrap();
        assert!(first.answers.iter().all(is_stored));
        let earlier = first.checkpoint.unwrap();
        let second = intake.take(&shipment(298..310, &signer, 300)).unwrap();
        assert!(second.answers[..2].iter().all(is_known));
        assert!(second.answers[2..].iter().all(is_stored));
        let identity = archive.identity().unwrap();
        assert_eq!(identity.size, 310);
        for (place, answer) in second.answers.iter().enumerate() {
            let Answer::Kept {
                proof: Some(proof), ..
            } = answer
            else {
                panic!("{answer:?}");
            };
            let number = 298 + u64::try_from(place).unwrap();
            let leaf = leaf_of(&bundle(number, &signer));
            let included = proof.verify(&leaf, &identity.keys).unwrap();
            assert_eq!(included.index(), number);
            assert_eq!(included.attested().checkpoint().size(), 310);
        }
        let earlier = earlier.verify(&identity.keys).unwrap();
        let growth = second.growth.unwrap();
        let grown = growth.verify(earlier.checkpoint(), &identity.keys).unwrap();
        assert_eq!(grown.checkpoint().size(), 310);
        assert!(archive.growth(311).is_err());
        assert!(archive.growth(310).unwrap().is_none());
        // Other bytes under a stored task id.
        let other = {
            let mut packer = Packer::new(0);
            let task = TaskId(7_u128.to_be_bytes());
            let mut builder = Builder::new(task, Policy::of_mode(Mode::Autonomous), 1);
            builder.spec("another");
            assert!(packer.bundle(&builder.build(None, Some(&signer)).unwrap()));
            packer.sign(&signer)
        };
        let taken = intake.take(&other.into()).unwrap();
        assert!(matches!(
            taken.answers[..],
            [Answer::Refused { code: "taken", .. }]
        ));
        let task = TaskId(5_u128.to_be_bytes());
        assert_eq!(archive.bundle(task).unwrap().unwrap(), bundle(5, &signer));
        let mut seen = Vec::new();
        archive
            .each_bundle(290, &mut |kept| {
                assert_eq!(kept.bytes.unwrap(), bundle(kept.index, &signer));
                seen.push(kept.index);
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, (290..310).collect::<Vec<u64>>());
        assert!(
            archive
                .dismiss_key(signer.public().id(), &act("key.dismiss"))
                .unwrap()
        );
        assert!(intake.take(&shipment(0..1, &signer, 0)).is_err());
    });
}

fn leaf_of(bytes: &[u8]) -> Leaf {
    let bundle =
        witness::bundle::Bundle::parse(bytes, witness::bundle::Strictness::Strict).unwrap();
    let header = bundle.claims().header();
    Leaf {
        task_id: header.task_id,
        created_ns: header.created_ns,
        bundle_sha256: base::digest(bytes),
    }
}

#[test]
fn many_machines_at_once_make_one_ledger_without_a_gap() {
    over_both(|archive| {
        let intake = Intake::of(Arc::clone(archive));
        for number in 1..=4 {
            archive
                .enroll(&key(number).public(), "m", &act("key.enroll"))
                .unwrap();
        }
        thread::scope(|scope| {
            for number in 1..=4_u8 {
                let intake = &intake;
                scope.spawn(move || {
                    let start = u64::from(number) * 1000;
                    for batch in 0..5 {
                        let from = start + batch * 10;
                        // Each batch twice, like a client that missed the answer.
                        for _ in 0..2 {
                            let taken = intake
                                .take(&shipment(from..from + 10, &key(number), 0))
                                .unwrap();
                            assert!(
                                taken
                                    .answers
                                    .iter()
                                    .all(|one| is_stored(one) || is_known(one))
                            );
                        }
                    }
                });
            }
        });
        assert_eq!(archive.identity().unwrap().size, 200);
        let mut tasks = Vec::new();
        archive
            .each_bundle(0, &mut |kept| {
                assert_eq!(kept.index, tasks.len() as u64);
                tasks.push(kept.leaf.task_id);
                Ok(())
            })
            .unwrap();
        tasks.sort();
        tasks.dedup();
        assert_eq!(tasks.len(), 200);
    });
}

#[test]
fn groups_and_filters_add_up() {
    let wanted = [
        Wanted::default(),
        Wanted {
            all: true,
            ..Wanted::default()
        },
        Wanted {
            by: GroupBy::parse("model"),
            ..Wanted::default()
        },
        Wanted {
            by: GroupBy::parse("week"),
            all: true,
            ..Wanted::default()
        },
        Wanted {
            by: GroupBy::parse("role"),
            ..Wanted::default()
        },
        Wanted {
            by: GroupBy::parse("mode"),
            ..Wanted::default()
        },
        Wanted {
            filter: Filter {
                role: Some("editor".to_owned()),
                since_ns: Some(1_767_225_600_000_000_000 + 86_400_000_000_000),
                ..Filter::default()
            },
            ..Wanted::default()
        },
        Wanted {
            filter: Filter {
                model: Some("it's".to_owned()),
                ..Filter::default()
            },
            ..Wanted::default()
        },
    ];
    let reports = std::sync::Mutex::new(Vec::new());
    over_both(|archive| {
        let signer = key(1);
        archive
            .enroll(&signer.public(), "one", &act("key.enroll"))
            .unwrap();
        Intake::of(Arc::clone(archive))
            .take(&shipment(0..100, &signer, 0))
            .unwrap();
        let of = |wanted| archive.scorecard(wanted).unwrap();
        reports
            .lock()
            .unwrap()
            .push(wanted.iter().map(of).collect::<Vec<_>>());
    });
    let reports = reports.into_inner().unwrap();
    assert_eq!(reports[0], reports[1], "both engines add up to the same");
    let [first, all, models, ..] = &reports[0][..] else {
        panic!()
    };
    assert!(first.all.total_tasks > 50 && all.all.total_tasks == 100);
    assert_eq!(models.groups.len(), 2);
}

#[test]
fn lines_of_each_writer_are_kept_once() {
    over_both(|archive| {
        let intake = Intake::of(Arc::clone(archive));
        let send = |signer: &SigningKey, lines: &[(&str, u64, &str)]| {
            archive
                .enroll(&signer.public(), "m", &act("key.enroll"))
                .unwrap();
            let mut packer = Packer::new(0);
            for (log, number, text) in lines {
                assert!(packer.line(&LogName::parse(log).unwrap(), *number, text.as_bytes()));
            }
            let answers = intake.take(&packer.sign(signer).into()).unwrap().answers;
            let said = |answer: &Answer| match answer {
                Answer::Kept { is_known, .. } => {
                    if *is_known {
                        "known"
                    } else {
                        "stored"
                    }
                }
                Answer::Refused { code, .. } => *code,
            };
            answers.iter().map(said).collect::<Vec<_>>()
        };
        let lines = [
            ("runs", 0, "{\"a\":1}"),
            ("runs", 1, "{}"),
            ("decisions/s", 0, "{}"),
        ];
        assert_eq!(send(&key(1), &lines), ["stored"; 3]);
        assert_eq!(send(&key(1), &lines), ["known"; 3]);
        assert_eq!(send(&key(2), &lines), ["stored"; 3]);
        assert_eq!(send(&key(1), &[("runs", 1, "{\"b\":2}")]), ["taken"]);
        let mut seen = Vec::new();
        archive
            .each_line(&mut |line| {
                seen.push((
                    line.writer,
                    line.log.as_str().to_owned(),
                    line.number,
                    line.text.bytes().to_vec(),
                ));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen.len(), 6);
        seen.dedup();
        assert!(seen.is_sorted());
    });
}

#[test]
fn tokens_and_codes_work_once_and_every_act_is_noted() {
    over_both(|archive| {
        let (token, secret) = Token::create("ci", Role::Agent, &act("token.create")).unwrap();
        archive.add_token(&token, &act("token.create")).unwrap();
        assert!(archive.add_token(&token, &act("token.create")).is_err());
        let known = archive.tokens().unwrap();
        assert!(known[0].is_opened_by(&hash_of(&secret)));
        assert!(archive.revoke_token("ci", &act("token.revoke")).unwrap());
        assert!(!archive.revoke_token("ci", &act("token.revoke")).unwrap());
        assert!(!archive.tokens().unwrap()[0].is_opened_by(&hash_of(&secret)));
        let (code, _) = CodeHash::create().unwrap();
        let until = base::clock::now_ns() + 1_000_000_000_000;
        archive.offer_code(&code, until, &act("key.code")).unwrap();
        assert_eq!(archive.use_code(&code, until + 1).unwrap(), None);
        assert_eq!(
            archive.use_code(&code, until - 1).unwrap().as_deref(),
            Some("anna")
        );
        assert_eq!(archive.use_code(&code, until - 1).unwrap(), None);
        archive.note(&act("login")).unwrap();
        let acts = archive.acts(100).unwrap();
        let names: Vec<&str> = acts.iter().map(|act| act.what.as_str()).collect();
        assert_eq!(names, ["token.create", "token.revoke", "key.code", "login"]);
        assert_eq!(archive.acts(1).unwrap()[0].what, "login");
    });
}

/// Copies from one archive to another and back: the same bundles, lines, machines and tokens, and the same root.
#[test]
fn an_archive_moves_elsewhere_and_back_without_loss() {
    use evidence::archive::migrate::copy;
    let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let files = |number: usize| {
        let workspace = Workspace::at(folders[number].path()).unwrap();
        FilesArchive::of(&workspace, 1 << 28)
    };
    let source: Arc<dyn Archive> = Arc::new(files(0));
    let signer = key(1);
    source
        .enroll(&signer.public(), "one", &act("key.enroll"))
        .unwrap();
    let (token, _) = Token::create("ci", Role::Viewer, &act("token.create")).unwrap();
    source.add_token(&token, &act("token.create")).unwrap();
    let intake = Intake::of(Arc::clone(&source));
    intake.take(&shipment(0..300, &signer, 0)).unwrap();
    let mut packer = Packer::new(0);
    assert!(packer.line(&LogName::runs(), 3, b"{\"a\":1}"));
    intake.take(&packer.sign(&signer).into()).unwrap();
    let server = Server::start(Durability::Quick).unwrap();
    let third = tempfile::tempdir().unwrap();
    let database = database(&server.database().unwrap(), &third);
    let there = copy(source.as_ref(), &database, &act("migrate")).unwrap();
    assert_eq!(
        (there.bundles, there.lines, there.machines, there.tokens),
        (300, 1, 1, 1)
    );
    // A second copy changes nothing.
    assert_eq!(
        copy(source.as_ref(), &database, &act("migrate")).unwrap(),
        there
    );
    let target = files(1);
    assert_eq!(copy(&database, &target, &act("migrate")).unwrap(), there);
    let mut both = Vec::new();
    for archive in [source.as_ref(), &target] {
        let mut all = Vec::new();
        archive
            .each_bundle(0, &mut |kept| {
                all.push((kept.leaf, kept.bytes));
                Ok(())
            })
            .unwrap();
        both.push(all);
    }
    assert_eq!(both[0], both[1]);
    // A target that has something else is refused.
    let other = tempfile::tempdir().unwrap();
    let other = FilesArchive::of(&Workspace::at(other.path()).unwrap(), 1 << 28);
    let other: Arc<dyn Archive> = Arc::new(other);
    other
        .enroll(&signer.public(), "one", &act("key.enroll"))
        .unwrap();
    Intake::of(Arc::clone(&other))
        .take(&shipment(500..501, &signer, 0))
        .unwrap();
    assert!(copy(source.as_ref(), other.as_ref(), &act("migrate")).is_err());
}

/// A database with an enrolled machine, as one program sees it.
struct Place {
    server: Server,
    url: String,
    folders: Vec<TempDir>,
}

impl Place {
    fn new() -> Self {
        let server = Server::start(Durability::Quick).unwrap();
        Self {
            url: server.database().unwrap(),
            server,
            folders: Vec::new(),
        }
    }

    /// One more program of the team.
    fn program(&mut self) -> Arc<DatabaseArchive> {
        let folder = tempfile::tempdir().unwrap();
        let archive = database(&self.url, &folder);
        archive
            .enroll(&key(1).public(), "one", &act("key.enroll"))
            .unwrap();
        self.folders.push(folder);
        Arc::new(archive)
    }

    fn run(&self, sql: &str) {
        let config: team::postgres::Config = self.url.parse().unwrap();
        let mut client = config.connect(team::postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap();
    }
}

fn take(archive: &Arc<DatabaseArchive>, numbers: std::ops::Range<u64>) -> Result<usize, Refused> {
    let archive: Arc<dyn Archive> = Arc::<DatabaseArchive>::clone(archive);
    let taken = Intake::of(archive).take(&shipment(numbers, &key(1), 0))?;
    Ok(taken.answers.iter().filter(|one| is_stored(one)).count())
}

#[test]
fn two_programs_append_to_one_ledger_and_each_proves_what_the_other_took() {
    let mut place = Place::new();
    let (one, other) = (place.program(), place.program());
    thread::scope(|scope| {
        for archive in [&one, &other] {
            // Both are sent the same, in another order.
            scope.spawn(move || {
                for batch in 0..10 {
                    take(archive, batch * 10..batch * 10 + 15).unwrap();
                }
            });
        }
    });
    let identity = one.identity().unwrap();
    assert_eq!((identity.size, identity.keys.len()), (105, 2));
    assert_eq!(other.identity().unwrap(), identity);
    let earlier = one.commit(&[]).unwrap().checkpoint.unwrap();
    take(&other, 200..500).unwrap();
    let grown = one.growth(105).unwrap().unwrap();
    let earlier = earlier.verify(&identity.keys).unwrap();
    let grown = grown.verify(earlier.checkpoint(), &identity.keys).unwrap();
    assert_eq!(grown.checkpoint().size(), 405);
}

#[test]
fn a_ledger_that_was_changed_in_the_database_is_not_continued() {
    let tile = "UPDATE ledger_tiles SET hashes = overlay(hashes PLACING '\\x00'::bytea FROM 5) WHERE level = 0 AND place = 1";
    let key = "DELETE FROM ledger_keys";
    let mut place = Place::new();
    for change in [tile, "UPDATE ledger SET size = size - 1", key] {
        place.url = place.server.database().unwrap();
        let archive = place.program();
        assert_eq!(take(&archive, 0..300).unwrap(), 300);
        place.run(change);
        let refused = take(&archive, 300..310).unwrap_err();
        assert!(
            refused.to_string().contains("damaged"),
            "{change}: {refused}"
        );
        assert_eq!(
            archive.identity().unwrap().keys.len(),
            usize::from(change != key)
        );
    }
}

#[test]
fn a_month_that_is_dropped_leaves_its_leaves_and_figures() {
    let mut place = Place::new();
    let archive = place.program();
    take(&archive, 0..50).unwrap();
    let before = archive.scorecard(&Wanted::default()).unwrap();
    assert!(archive.differing(&[0, 7, 49]).unwrap().is_empty());
    place.run("UPDATE leaves SET facts = set_byte(facts, 1, 3) WHERE place = 7");
    assert_eq!(archive.differing(&[0, 7, 49]).unwrap(), [7]);
    assert_ne!(archive.scorecard(&Wanted::default()).unwrap(), before);
    place.run("UPDATE leaves SET facts = set_byte(facts, 0, 9) WHERE place = 7");
    assert!(archive.scorecard(&Wanted::default()).is_err());
    let mut place = Place::new();
    let archive = place.program();
    take(&archive, 0..50).unwrap();
    place.run(
        "DO $$ BEGIN EXECUTE format('DROP TABLE bundles_%s', roleos_month_number(now())); END $$",
    );
    assert_eq!(archive.scorecard(&Wanted::default()).unwrap(), before);
    let mut leaves = 0;
    archive
        .each_bundle(0, &mut |kept| {
            leaves += usize::from(kept.bytes.is_none());
            Ok(())
        })
        .unwrap();
    assert_eq!(leaves, 50);
    // Sent again, they are known by their leaves; others go to the partition for the rest.
    assert_eq!(take(&archive, 40..60).unwrap(), 10);
    assert_eq!(
        archive
            .bundle(TaskId(55_u128.to_be_bytes()))
            .unwrap()
            .unwrap(),
        bundle(55, &key(1))
    );
}

#[test]
fn a_store_that_is_away_acknowledges_nothing_and_takes_it_later() {
    let mut place = Place::new();
    let archive = place.program();
    assert_eq!(take(&archive, 0..5).unwrap(), 5);
    place.server.stop().unwrap();
    let Refused::Archive(error) = take(&archive, 5..10).unwrap_err() else {
        panic!("another refusal");
    };
    assert!(error.is_retryable(), "{error}");
    place.server.resume().unwrap();
    let later = (0..100).find_map(|_| {
        thread::sleep(std::time::Duration::from_millis(100));
        take(&archive, 0..10).ok()
    });
    assert_eq!(later, Some(5));
    let by_fact = Wanted {
        by: GroupBy::parse("fact:branch"),
        ..Wanted::default()
    };
    let error = archive.scorecard(&by_fact).unwrap_err();
    assert!(error.to_string().contains("`branch`"), "{error}");
}
