//! Two gateways on one database, through the real programs: machines, tokens, evidence and the way back to files.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use team::throwaway::{Durability, Server};

use crate::up::Up;
use crate::workspace::{ROLEOS, Ran, Workspace, ran};

/// A host of the team: a workspace with a key of its own.
struct Host {
    folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn up(&self, store: &str) -> Up {
        let words = ["--listen", "127.0.0.1:0", "--store", store];
        Up::start(self.folder.path(), &words, &[])
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

    fn keys(&self) -> PathBuf {
        self.folder.path().join(".role-os/keys")
    }
}

fn public_key_in(keys: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(keys)
        .ok()?
        .map(|file| file.unwrap().path());
    files.find(|path| path.extension().is_some_and(|end| end == "pub"))
}

fn ship(machine: &Workspace, up: &Up) -> Value {
    let url = format!("http://127.0.0.1:{}", up.port());
    let shipped = machine.roleos(&["--json", "ship", "--to", &url]);
    shipped.exits(0).json()
}

#[test]
fn two_gateways_share_machines_tokens_and_one_ledger_that_moves_to_files_and_back() {
    let server = Server::start(Durability::Quick).unwrap();
    let store = server.database().unwrap();
    let (one, two, machine) = (Host::new(), Host::new(), Workspace::new());
    let (first, second) = (one.up(&store), two.up(&store));
    // Both have joined the ledger before a machine pins its keys.
    let identity = |up: &Up| -> Value {
        let answer = up.get("/api/ship", "");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    };
    identity(&first);
    let known = identity(&second);
    assert_eq!(identity(&first), known);
    assert_eq!(known["keys"].as_array().unwrap().len(), 2);
    machine.seal_some(3);
    let key = public_key_in(&machine.path(".role-os/keys")).unwrap();
    let key = key.to_str().unwrap();
    let enroll = [
        "key",
        "enroll",
        key,
        "--machine",
        "m",
        "--why",
        "test",
        "--store",
        &store,
    ];
    Host::new().roleos(&enroll).exits(0);
    assert_eq!(ship(&machine, &first)["bundles"], 3);
    // The other gateway knows what the first one took.
    std::fs::remove_dir_all(machine.path(".role-os/ship")).unwrap();
    machine.seal_some(2);
    let again = ship(&machine, &second);
    assert_eq!((&again["bundles"], &again["known"]), (&5.into(), &3.into()));
    let create = [
        "token", "create", "ci", "--role", "viewer", "--why", "test", "--store", &store,
    ];
    one.roleos(&create).exits(0);
    let tokens = two.roleos(&["token", "list", "--json", "--store", &store]);
    assert_eq!(tokens.exits(0).json()[0]["name"], "ci");
    let card = one.roleos(&["--json", "scorecard", "--team", "--all", "--store", &store]);
    assert_eq!(card.exits(0).json()["total_tasks"], 5);
    drop((first, second));

    let home = Host::new();
    let moved = home.roleos(&["--json", "migrate", "--from", &store, "--to", "files"]);
    let there = moved.exits(0).json();
    assert_eq!(
        (&there["bundles"], &there["tokens"]),
        (&5.into(), &1.into())
    );
    assert!(public_key_in(&home.keys()).is_some());
    home.roleos(&["ledger", "verify"]).exits(0);
    let acts = home.roleos(&["--json", "token", "log"]).exits(0).json();
    let acts: Vec<&str> = acts
        .as_array()
        .unwrap()
        .iter()
        .map(|act| act["what"].as_str().unwrap())
        .collect();
    assert!(
        acts.starts_with(&["key.enroll", "token.create"]),
        "{acts:?}"
    );
    let other = server.database().unwrap();
    let back = home.roleos(&["--json", "migrate", "--from", "files", "--to", &other]);
    assert_eq!(back.exits(0).json()["root"], there["root"]);
}
