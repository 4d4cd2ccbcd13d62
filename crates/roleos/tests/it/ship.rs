//! Evidence on its way from a machine to the archive of a team, through the real programs: proofs are returned,
//! forgeries are refused, and nothing acknowledged is lost or stored twice, regardless of kills.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use evidence::archive::LogName;
use evidence::archive::shipment::Packer;
use serde_json::{Value, json};
use witness::key::SigningKey;

use crate::operator::post;
use crate::up::Up;
use crate::workspace::{ROLEOS, Ran, Workspace, ran};

const ANY: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A server's workspace; `up` serves it.
struct Team {
    folder: tempfile::TempDir,
}

impl Team {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn up(&self) -> Up {
        Up::start(self.folder.path(), &ANY, &[])
    }

    fn roleos(&self, arguments: &[&str]) -> Ran {
        let root = self.folder.path();
        let mut command = Command::new(ROLEOS);
        command.arg("--root").arg(root).args(arguments);
        command.env("HOME", root).env_remove("XDG_STATE_HOME");
        for mark in crate::init::MARKS {
            command.env_remove(mark);
        }
        ran(command)
    }

    fn enroll(&self, machine: &Workspace) {
        let file = public_key_of(machine);
        let file = file.to_str().unwrap();
        self.roleos(&["key", "enroll", file, "--machine", "m", "--why", "test"])
            .exits(0);
    }

    /// Returns the task ids of its ledger, in order.
    fn tasks(&self) -> Vec<String> {
        let leaves = self.folder.path().join(".role-os/ledger/leaves.jsonl");
        let text = fs::read_to_string(leaves).unwrap_or_default();
        let task = |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["task_id"].as_str().unwrap().to_owned()
        };
        text.lines().map(task).collect()
    }
}

fn public_key_of(machine: &Workspace) -> std::path::PathBuf {
    let keys = fs::read_dir(machine.path(".role-os/keys")).unwrap();
    let mut keys = keys.map(|entry| entry.unwrap().path());
    keys.find(|path| path.extension().is_some_and(|end| end == "pub"))
        .unwrap()
}

/// Returns the private key of a machine, to sign data that its program would not.
fn key_of(machine: &Workspace) -> SigningKey {
    let file = public_key_of(machine).with_extension("key");
    let file: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let secret = hex::decode(file["secret"].as_str().unwrap()).unwrap();
    SigningKey::new(&secret.try_into().unwrap())
}

fn url(up: &Up) -> String {
    format!("http://127.0.0.1:{}", up.port())
}

fn ship(machine: &Workspace, up: &Up) -> Value {
    let url = url(up);
    machine
        .roleos(&["--json", "ship", "--to", &url])
        .exits(0)
        .json()
}

/// Posts bytes as a shipment and returns status line and body.
fn post_bytes(up: &Up, bytes: &[u8]) -> (String, Value) {
    use std::io::{Read as _, Write as _};
    let address = format!("127.0.0.1:{}", up.port());
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST /api/ship HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().to_owned();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn bundles_of_two_clones_meet_in_one_ledger_once_with_proofs() {
    let (team, one, two) = (Team::new(), Workspace::new(), Workspace::new());
    let up = team.up();
    one.seal_some(3);
    two.seal_some(2);
    let unknown = one.roleos(&["ship", "--to", &url(&up)]).exits(2);
    assert!(unknown.stderr.contains("is not enrolled"), "{unknown:#?}");
    team.enroll(&one);
    team.enroll(&two);
    let shipped = ship(&one, &up);
    assert_eq!(
        (&shipped["bundles"], &shipped["known"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(ship(&two, &up)["bundles"], 2);
    assert_eq!(ship(&one, &up)["bundles"], 0);
    // A missing cursor sends everything again, and nothing is stored twice.
    fs::remove_dir_all(one.path(".role-os/ship")).unwrap();
    let again = ship(&one, &up);
    assert_eq!((&again["bundles"], &again["known"]), (&json!(3), &json!(3)));
    assert_eq!(team.tasks().len(), 5);
    team.roleos(&["ledger", "verify"]).exits(0);
    // The verifier of bundles accepts the proofs in the receipts.
    let receipts = one.read(".role-os/ship/receipts.jsonl");
    assert_eq!(receipts.lines().count(), 3);
    let receipt: Value = serde_json::from_str(receipts.lines().next().unwrap()).unwrap();
    let proof = one.write("task.tlog-proof", receipt["proof"].as_str().unwrap());
    let task = receipt["task_id"].as_str().unwrap();
    let key = team.folder.path().join(".role-os/keys");
    let key = fs::read_dir(key)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    assert!(key.count() > 0 && proof.is_file() && team.tasks().contains(&task.to_owned()));
    let card = team.roleos(&["--json", "scorecard"]).exits(0).json();
    assert_eq!(card["total_tasks"], 5, "{card}");
}

#[test]
fn forgeries_and_other_bytes_stay_out_with_a_reason_each() {
    let (team, machine, stranger) = (Team::new(), Workspace::new(), Workspace::new());
    let up = team.up();
    let good = fs::read(&machine.seal_some(1)[0]).unwrap();
    let foreign = fs::read(&stranger.seal_some(1)[0]).unwrap();
    team.enroll(&machine);
    let key = key_of(&machine);
    let mut bent = good.clone();
    bent[80] ^= 1;
    // The same task with another HMAC at its end: valid, and other bytes.
    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    let mut packer = Packer::new(0);
    for bundle in [
        &good,
        &bent,
        &foreign,
        &other,
        &good,
        &b"no bundle".to_vec(),
    ] {
        assert!(packer.bundle(bundle));
    }
    let log = LogName::parse("runs").unwrap();
    for (number, text) in [
        (0, "{\"a\":1}"),
        (0, "{\"a\":1}"),
        (0, "{\"a\":2}"),
        (1, "no JSON"),
    ] {
        assert!(packer.line(&log, number, text.as_bytes()));
    }
    let bytes = packer.sign(&key);
    let (status, answer) = post_bytes(&up, &bytes);
    assert_eq!(status, "HTTP/1.1 200 OK", "{answer}");
    let items = answer["items"].as_array().unwrap();
    let told: Vec<(&str, &str)> = items
        .iter()
        .map(|item| {
            (
                item["status"].as_str().unwrap(),
                item["code"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(told[0], ("stored", ""));
    assert_eq!(told[1].0, "refused");
    assert_eq!(told[2], ("refused", "unknown_key"));
    assert_eq!(told[3], ("refused", "taken"));
    assert_eq!(told[4], ("known", ""));
    assert_eq!(told[5], ("refused", "malformed"));
    assert_eq!(
        told[6..],
        [
            ("stored", ""),
            ("known", ""),
            ("refused", "taken"),
            ("refused", "bad_line")
        ]
    );
    // The whole shipment again: everything is known.
    let (_, again) = post_bytes(&up, &bytes);
    assert_eq!(again["items"][0]["status"], "known");
    assert_eq!(again["items"][6]["status"], "known");
    // A shipment that was changed on the way, and one of an unknown machine.
    let mut changed = bytes;
    let last = changed.len() - 1;
    changed[last] ^= 1;
    assert_eq!(post_bytes(&up, &changed).0, "HTTP/1.1 400 Bad Request");
    let mut packer = Packer::new(0);
    assert!(packer.bundle(&good));
    let (status, answer) = post_bytes(&up, &packer.sign(&key_of(&stranger)));
    assert_eq!(status, "HTTP/1.1 403 Forbidden", "{answer}");
    assert_eq!(team.tasks().len(), 1);
}

#[test]
fn a_machine_enrols_itself_once_with_a_code() {
    let (team, one, two) = (Team::new(), Workspace::new(), Workspace::new());
    let up = team.up();
    one.seal_some(1);
    two.seal_some(1);
    let code = team.roleos(&["key", "enroll", "--code"]).succeeds();
    let code = code.trim();
    let url = url(&up);
    let words = [
        "--json",
        "ship",
        "--to",
        &url,
        "--enroll",
        code,
        "--machine",
        "laptop",
    ];
    assert_eq!(one.roleos(&words).exits(0).json()["bundles"], 1);
    let used = two.roleos(&words).exits(2);
    assert!(
        used.stderr.contains("unknown, used or too old"),
        "{used:#?}"
    );
    let machines = team.roleos(&["--json", "key", "enroll", "--list"]).json();
    assert_eq!(machines.as_array().unwrap().len(), 1);
    assert_eq!(machines[0]["machine"], "laptop");
    let log = team.roleos(&["--json", "token", "log"]).json();
    let acts: Vec<&str> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|act| act["what"].as_str().unwrap())
        .collect();
    assert_eq!(acts, ["key.code", "key.enroll"]);
    // Shipments of a dismissed machine are refused; its stored evidence stays.
    let id = machines[0]["id"].as_str().unwrap();
    team.roleos(&["key", "enroll", "--dismiss", id, "--why", "lost"])
        .exits(0);
    one.seal_some(1);
    one.roleos(&["ship", "--to", &url]).exits(2);
    assert_eq!(team.tasks().len(), 1);
}

#[test]
fn decisions_and_runs_go_along_and_what_a_log_grows_by() {
    let (team, machine) = (Team::new(), Workspace::new());
    let up = team.up();
    machine.seal_some(1);
    team.enroll(&machine);
    let line = |seq: u64, kind: &str| format!("{{\"seq\":{seq},\"kind\":\"{kind}\"}}\n");
    let journal = [line(0, "start"), line(1, "call"), line(2, "result")].concat();
    machine.write(".role-os/sessions/s-1.jsonl", &journal);
    machine.write(".role-os/run_log.jsonl", "{\"run\":1}\n{\"run\":2}\n{\"cut");
    assert_eq!(ship(&machine, &up)["lines"], 3);
    let longer = [journal.as_str(), &line(3, "call")].concat();
    machine.write(".role-os/sessions/s-1.jsonl", longer);
    assert_eq!(ship(&machine, &up)["lines"], 1);
    let logs = team.folder.path().join(".role-os/team/logs");
    let writer = fs::read_dir(logs).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(writer.join("decisions/s-1.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert!(
        kept.contains(r#"{"number":3,"text":"{\"seq\":3,\"kind\":\"call\"}"}"#),
        "{kept}"
    );
    assert_eq!(
        fs::read_to_string(writer.join("runs.jsonl"))
            .unwrap()
            .lines()
            .count(),
        2
    );
}

#[test]
fn tokens_open_as_far_as_their_role_goes_and_end_when_revoked() {
    let team = Team::new();
    let up = team.up();
    let token = |name: &str, role: &str| {
        let words = ["token", "create", name, "--role", role, "--why", "test"];
        team.roleos(&words).succeeds().trim().to_owned()
    };
    let (viewer, operator) = (token("v", "viewer"), token("o", "operator"));
    let header = |token: &str| format!("authorization: Bearer {token}\r\n");
    assert!(
        up.get("/api/witness", &header(&viewer))
            .starts_with("HTTP/1.1 200 ")
    );
    let address = format!("127.0.0.1:{}", up.port());
    let machine = json!({ "public_key": "00", "machine": "m", "why": "w" });
    let answer = post(&address, "/api/machines", &header(&viewer), &machine);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let answer = post(&address, "/api/machines", &header(&operator), &machine);
    assert!(answer.starts_with("HTTP/1.1 422 "), "{answer}");
    let new = json!({ "name": "x", "role": "admin", "why": "w" });
    let answer = post(&address, "/api/tokens", &header(&operator), &new);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let admin = token("a", "admin");
    std::thread::sleep(Duration::from_millis(2100));
    let answer = post(&address, "/api/tokens", &header(&admin), &new);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    team.roleos(&["token", "revoke", "o", "--why", "left"])
        .exits(0);
    std::thread::sleep(Duration::from_millis(2100));
    let answer = post(&address, "/api/machines", &header(&operator), &machine);
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    // No secret is stored.
    let kept = fs::read_to_string(team.folder.path().join(".role-os/team/tokens.json")).unwrap();
    assert!(
        !kept.contains(&viewer) && !kept.contains(&operator),
        "{kept}"
    );
    let log = team.roleos(&["token", "log"]).succeeds();
    assert!(
        log.contains("token.revoke") && log.contains("left"),
        "{log}"
    );
}

/// Kills the server and the client repeatedly while they communicate; in the end everything is stored once.
#[test]
fn whoever_is_killed_nothing_is_lost_and_nothing_kept_twice() {
    let (team, machine) = (Team::new(), Workspace::new());
    machine.seal_some(20);
    let mut up = team.up();
    team.enroll(&machine);
    let mut acknowledged = 0;
    // Each kill comes later than the one before, until one came after something was acknowledged.
    for round in 0.. {
        let mut client = machine
            .command(&["ship", "--to", &url(&up), "--trust-server"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(30 * round));
        if round % 2 == 0 {
            // The server is killed, and another one replaces it.
            drop(up);
            client.wait().unwrap();
            up = team.up();
        } else {
            client.kill().ok();
            client.wait().unwrap();
        }
        // Every bundle with a receipt is in the ledger.
        let receipts = fs::read_to_string(machine.path(".role-os/ship/receipts.jsonl"));
        let tasks = team.tasks();
        for line in receipts.unwrap_or_default().lines() {
            let Ok(receipt) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            acknowledged += 1;
            let task = receipt["task_id"].as_str().unwrap();
            assert!(tasks.iter().any(|known| known == task), "{task} is lost");
        }
        if round >= 7 && acknowledged > 0 {
            break;
        }
    }
    fs::remove_dir_all(machine.path(".role-os/ship")).ok();
    assert_eq!(ship(&machine, &up)["bundles"], 20);
    let mut tasks = team.tasks();
    tasks.sort();
    tasks.dedup();
    assert_eq!((tasks.len(), team.tasks().len()), (20, 20));
    team.roleos(&["ledger", "verify"]).exits(0);
}

#[test]
fn a_ledger_that_was_rolled_back_is_noticed_by_the_machine() {
    let (team, machine) = (Team::new(), Workspace::new());
    machine.seal_some(1);
    let up = team.up();
    team.enroll(&machine);
    ship(&machine, &up);
    let port = up.port().to_owned();
    drop(up);
    copy(
        &team.folder.path().join(".role-os"),
        &team.folder.path().join("backup"),
    );
    let listen = format!("127.0.0.1:{port}");
    let up = Up::start(team.folder.path(), &["--listen", &listen], &[]);
    machine.seal_some(1);
    ship(&machine, &up);
    drop(up);
    fs::remove_dir_all(team.folder.path().join(".role-os")).unwrap();
    copy(
        &team.folder.path().join("backup"),
        &team.folder.path().join(".role-os"),
    );
    let up = Up::start(team.folder.path(), &["--listen", &listen], &[]);
    machine.seal_some(1);
    let refused = machine.roleos(&["ship", "--to", &url(&up)]).exits(2);
    assert!(refused.stderr.contains("ledger"), "{refused:#?}");
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

#[test]
fn sealing_ships_in_the_background_and_an_archive_that_is_away_delays_nothing() {
    let team = Team::new();
    let up = team.up();
    let machine = Workspace::with_config(&format!("[ship]\nto = \"{}\"\n", url(&up)));
    machine.roleos(&["key", "new"]).exits(0);
    team.enroll(&machine);
    machine.seal_some(1);
    let arrived = |count| {
        (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            team.tasks().len() == count
        })
    };
    assert!(arrived(1));
    drop(up);
    // Sealing works, and the state shows the remaining items.
    machine.seal_some(1);
    let status = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let state = machine.roleos(&["--json", "ship", "--status"]).json();
        state["failures"].as_u64() > Some(0)
    });
    assert!(status);
}
