//! A catalog on another machine: a real server on loopback, and the binary as its client.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::workspace::{Ran, Workspace, ran};

const URL: &str = "AI_AGENT_ROLES_CATALOG_URL";

/// Answer to a path.
#[derive(Clone)]
enum Answer {
    File(String),
    Redirect,
    Status(u16),
}

/// A server that lives as long as the test program, and records the requests.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answers: BTreeMap<String, Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/roles/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &answers, &log);
            }
        });
        Self { address, asked }
    }

    /// Runs a command of `catalog` with `--from` this server.
    fn from(&self, workspace: &Workspace, words: &[&str]) -> Ran {
        let words = [&["--json", "catalog"], words, &["--from", &self.address]].concat();
        let mut command = workspace.command(&words);
        command.env_remove(URL).env("HOME", workspace.home());
        ran(command)
    }

    /// Returns the requests since the last call, without the prefix, ordered by name.
    fn questions(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let mut asked: Vec<_> = asked
            .into_iter()
            .map(|path| path.trim_start_matches("/roles/").to_owned())
            .collect();
        asked.sort();
        asked
    }

    /// Runs the check against this server, with a separate cache in the workspace.
    fn check(&self, workspace: &Workspace, words: &[&str]) -> Ran {
        let words = [&["--json", "catalog", "check", "--remote"], words].concat();
        let mut command = workspace.command(&words);
        command
            .env(URL, &self.address)
            .env("HOME", workspace.root());
        ran(command)
    }
}

/// Answers one request per connection; the validator is the length of the file.
fn answer(mut stream: TcpStream, answers: &BTreeMap<String, Answer>, log: &Mutex<Vec<String>>) {
    let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else {
        return;
    };
    log.lock().unwrap().push(path.to_owned());
    let file = path.trim_start_matches("/roles/");
    let reply = match answers.get(file).cloned().unwrap_or(Answer::Status(404)) {
        Answer::Status(status) => format!("{status} Sorry\r\ncontent-length: 0\r\n\r\n"),
        Answer::Redirect => {
            "302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
        Answer::File(text) => {
            let etag = format!("\"{}\"", text.len());
            let known = format!("if-none-match: {etag}");
            if lines.iter().any(|line| line.eq_ignore_ascii_case(&known)) {
                format!("304 Not Modified\r\netag: {etag}\r\n\r\n")
            } else {
                format!(
                    "200 OK\r\netag: {etag}\r\ncontent-length: {}\r\n\r\n{text}",
                    text.len()
                )
            }
        }
    };
    // A client that has read enough may be gone.
    write!(
        stream,
        "HTTP/1.1 {}",
        reply.replacen("\r\n", "\r\nconnection: close\r\n", 1)
    )
    .ok();
}

/// Returns the published catalog, as a server has it.
fn published() -> BTreeMap<String, Answer> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/tests/vectors/catalog");
    let files = ["index.yaml"].map(str::to_owned).into_iter();
    let bundles = ["garden-desk", "night-harbour"]
        .into_iter()
        .flat_map(|bundle| {
            ["en", "ja"].map(|language| format!("bundles/{bundle}/{language}.yaml"))
        });
    files
        .chain(bundles)
        .map(|file| {
            let text = std::fs::read_to_string(root.join(&file)).unwrap();
            (file, Answer::File(text))
        })
        .collect()
}

#[test]
fn a_good_catalog_passes_and_is_confirmed_the_second_time() {
    let (workspace, server) = (Workspace::new(), Server::new(published()));
    for _ in 0..2 {
        let answer = server.check(&workspace, &[]).exits(0).json();
        assert_eq!(answer["ok"], true);
        assert_eq!(answer["failures"], serde_json::json!([]));
    }
    let mut words = workspace.command(&["catalog", "check", "--remote"]);
    words
        .env(URL, &server.address)
        .env("HOME", workspace.root());
    let said = ran(words);
    assert!(
        said.stderr.contains("0 files fetched, 5 unchanged"),
        "{said:#?}"
    );
    assert_eq!(
        server.asked.lock().unwrap().len(),
        15,
        "a copy is never used unasked"
    );
}

#[test]
fn a_catalog_elsewhere_is_checked_by_its_address() {
    let (workspace, server) = (Workspace::new(), Server::new(published()));
    let check = |words: &[&str]| {
        let mut command = workspace.command(&[&["catalog", "check"], words].concat());
        command.env_remove(URL).env("HOME", workspace.home());
        ran(command)
    };
    check(&[&server.address]).exits(0);
    assert_eq!(server.questions().len(), 5);
    check(&["builtin", "--strict"]).exits(0);
    let refused = check(&["--update-hashes", &server.address]).exits(1);
    assert!(
        refused.error().contains("only the lock of a directory"),
        "{refused:#?}"
    );
}

#[test]
fn what_it_offers_is_listed() {
    let (workspace, server) = (Workspace::new(), Server::new(published()));
    let mut command = workspace.command(&["--json", "catalog", "list", "--remote"]);
    command
        .env(URL, &server.address)
        .env("HOME", workspace.root());
    let answer = ran(command).exits(0).json();
    assert_eq!(answer["languages"], serde_json::json!(["en", "ja"]));
    let role = &answer["bundles"][0]["roles"][0];
    assert_eq!(
        *role,
        serde_json::json!({"slug": "seed-librarian", "version": 1, "state": "offered"})
    );
}

#[test]
fn what_is_missing_or_broken_is_named() {
    let workspace = Workspace::new();
    let mut answers = published();
    answers.remove("bundles/garden-desk/ja.yaml");
    answers.insert(
        "bundles/night-harbour/ja.yaml".to_owned(),
        Answer::Status(503),
    );
    answers.insert(
        "bundles/night-harbour/en.yaml".to_owned(),
        Answer::File("roles: [".to_owned()),
    );
    let answer = Server::new(answers).check(&workspace, &[]).exits(1).json();
    assert_eq!(answer["served"]["bundles/garden-desk/ja.yaml"], "missing");
    assert_eq!(
        answer["served"]["bundles/night-harbour/en.yaml"],
        "invalid_yaml"
    );
    let classes: Vec<_> = answer["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["class"])
        .collect();
    assert_eq!(
        classes,
        ["language_file_missing", "yaml_error", "yaml_error"]
    );
}

#[test]
fn hostile_names_in_the_index_reach_no_server() {
    let workspace = Workspace::new();
    let index = "schemaVersion: 1\nbundles:\n  - {id: ../../etc, name: {}, languages: [en], roles: []}\n  \
                 - {id: good, name: {}, languages: ['en?x=1', EN], roles: []}\n";
    let answers = BTreeMap::from([("index.yaml".to_owned(), Answer::File(index.to_owned()))]);
    let server = Server::new(answers);
    server.check(&workspace, &[]).exits(1);
    assert_eq!(*server.asked.lock().unwrap(), ["/roles/index.yaml"]);
}

#[test]
fn an_index_that_cannot_be_had_is_said_in_one_line() {
    let check = |answer: Answer, said: &str| {
        let answers = BTreeMap::from([("index.yaml".to_owned(), answer)]);
        let error = Server::new(answers)
            .check(&Workspace::new(), &[])
            .exits(2)
            .json_error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    };
    check(Answer::Redirect, "redirect");
    check(Answer::Status(503), "status 503");
    check(Answer::File("x".repeat(1_000_001)), "too large");
}

#[test]
fn without_an_address_there_is_no_remote_catalog() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&["--json", "catalog", "check", "--remote"]);
    command.env_remove(URL);
    let error = ran(command).exits(1).json_error();
    assert_eq!(error["code"], "remote_not_configured");
}

#[test]
fn every_command_takes_a_catalog_from_another_machine() {
    let (workspace, server) = (Workspace::new(), Server::new(published()));
    let from = |words: &[&str]| server.from(&workspace, words).exits(0).json();
    from(&["list"]);
    assert_eq!(server.questions(), ["index.yaml"], "a list needs no texts");
    assert_eq!(
        from(&["import", "garden-desk", "--lang", "en"])["created"],
        2
    );
    assert_eq!(
        server.questions(),
        ["bundles/garden-desk/en.yaml", "index.yaml"]
    );
    assert_eq!(
        from(&["show", "seed-librarian", "--lang", "ja"])["language"],
        "ja"
    );
    assert_eq!(from(&["update", "--all"])[0]["reason"], "up-to-date");
    let file = ".role-os/roles/seed-librarian.en.yaml";
    let text = workspace.read(file);
    let name = text
        .lines()
        .find(|line| line.starts_with("name: "))
        .unwrap();
    workspace.write(file, text.replace(name, "name: \"Mine\""));
    let diff = from(&["diff", "seed-librarian"]);
    assert_eq!(diff["languages"][0]["changed"], true, "{diff}");
    let exported = from(&["export", "--to", "cursor", "seed-librarian"]);
    assert_eq!(exported[0]["state"], "written");
    // Without a local catalog, the address of the environment is the default.
    let mut command = workspace.command(&["--json", "catalog", "show", "tide-clerk"]);
    command.env(URL, &server.address);
    assert_eq!(ran(command).exits(0).json()["slug"], "tide-clerk");
}

#[test]
fn a_file_that_cannot_be_fetched_stops_an_import() {
    let mut answers = published();
    answers.insert(
        "bundles/garden-desk/en.yaml".to_owned(),
        Answer::Status(503),
    );
    let (workspace, server) = (Workspace::new(), Server::new(answers));
    let words = ["import", "garden-desk", "--lang", "en"];
    let error = server.from(&workspace, &words).exits(2).json_error();
    assert!(error["message"].as_str().unwrap().contains("status 503"));
}

#[test]
fn a_required_signature_must_be_there_trusted_and_of_these_files() {
    let author = Workspace::new();
    let names: Vec<String> = published().into_keys().collect();
    for (name, answer) in published() {
        let Answer::File(text) = answer else { continue };
        author.write(&format!("catalog/{name}"), text);
    }
    let no_key = author.roleos(&["--json", "catalog", "sign"]).exits(1);
    assert_eq!(no_key.json_error()["code"], "no_key");
    author
        .roleos(&["key", "new", "--algorithm", "ed25519"])
        .exits(0);
    let signed = author
        .roleos(&["--json", "catalog", "sign"])
        .exits(0)
        .json();
    let key = signed["public_key"].as_str().unwrap();
    let note = author.read("catalog/index.yaml.note");
    let served = |note: Option<&str>| {
        let mut answers: BTreeMap<_, _> = names
            .iter()
            .map(|name| {
                (
                    name.clone(),
                    Answer::File(author.read(&format!("catalog/{name}"))),
                )
            })
            .collect();
        let note = note.map(|note| Answer::File(note.to_owned()));
        answers.extend(note.map(|note| ("index.yaml.note".to_owned(), note)));
        Server::new(answers)
    };
    let import = |server: &Server, key: &str| {
        let user = Workspace::new();
        let settings = format!("[catalog]\nrequire_signature = true\ntrusted_keys = [\"{key}\"]\n");
        user.write(".role-os/config.toml", settings);
        server.from(&user, &["import", "garden-desk", "--lang", "en"])
    };
    let refused = |ran: Ran, why: &str| {
        let error = ran.exits(2).json_error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    };
    import(&served(Some(&note)), key).exits(0);
    refused(import(&served(None), key), "it has no `index.yaml.note`");
    let other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    refused(import(&served(Some(&note)), other), "no trusted key signed");
    let forged = note.replacen("  index.yaml", " index.yaml", 1);
    refused(import(&served(Some(&forged)), key), "no trusted key signed");
    let text = author.read("catalog/bundles/garden-desk/en.yaml");
    author.write(
        "catalog/bundles/garden-desk/en.yaml",
        format!("{text}# more\n"),
    );
    refused(
        import(&served(Some(&note)), key),
        "en.yaml` is not as signed",
    );
}
