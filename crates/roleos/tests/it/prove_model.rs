//! The model of a trial through the real binary: a box without a network reaches a real local server through its
//! socket, the traffic is metered, and a budget ends the trial.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::prove::workspace;
use crate::workspace::Workspace;

/// Serves every request with a status and 600,000 input tokens; returns its address.
fn model(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut part = [0; 65536];
            let count = client.read(&mut part).unwrap();
            assert!(count > 0);
            let body = r#"{"usage":{"input_tokens":600000,"output_tokens":0}}"#;
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            client.write_all(head.as_bytes()).ok();
        }
    });
    format!("http://{address}")
}

fn ask(workspace: &Workspace, status: &'static str, agent: &str, code: i32) -> (Value, Value) {
    let server = model(status);
    let config = format!(
        "[[gateway.upstream]]\nname = \"m\"\nkind = \"anthropic\"\nbase_url = \"{server}\"\n[oversight.prices.priced]\ninput = 1\noutput = 1\n"
    );
    let agent = &agent.replace("SERVER", &server);
    workspace.write(".role-os/config.toml", config);
    let words = ["prove", "suite", "--agent", agent, "--limit", "1", "--json"];
    let report = workspace.roleos(&words).exits(code).json();
    let text = |pointer: &str| report.pointer(pointer).unwrap().as_str().unwrap();
    let words = [
        "prove",
        "show",
        text("/run/run"),
        text("/run/tasks/0"),
        "--json",
    ];
    let trial = workspace.roleos(&words).exits(0).json();
    (report, trial)
}

const ASK: &str = "curl -sf -m 5 {model_url}/v1/messages -H 'content-type: application/json' -d '{\"model\":\"priced\"}'";

#[test]
fn a_box_reaches_its_model_and_nothing_else() {
    let workspace = workspace();
    // The second request is to the server itself, which a box without a network cannot reach.
    let agent = format!("{ASK} && ! curl -sf -m 2 SERVER");
    let (_, trial) = ask(&workspace, "200 OK", &agent, 1);
    let agent = &trial["agent"];
    assert_eq!(agent["code"], 0, "{trial}");
    assert_eq!(agent["metered"]["requests"], 1, "{trial}");
    assert_eq!(
        (&agent["cost"], &agent["cost_source"], &agent["tokens"]),
        (&600_000.into(), &"priced".into(), &600_000.into()),
        "{trial}"
    );
}

#[test]
fn a_budget_that_is_used_up_ends_the_trial() {
    let workspace = workspace();
    let agent = format!("while true; do {ASK}; sleep 0.1; done");
    let (report, trial) = ask(&workspace, "200 OK", &agent, 1);
    assert_eq!(report["causes"]["agent_exhausted_budget"], 1, "{report}");
    // The limit is a dollar: the second request exceeds it, and the third is refused.
    assert_eq!(trial["agent"]["metered"]["requests"], 2, "{trial}");
    assert_eq!(trial["agent"]["cost"], 1_200_000, "{trial}");
}

#[test]
fn a_provider_that_fails_is_not_the_agents_fault() {
    let workspace = workspace();
    let (report, trial) = ask(&workspace, "529 Overloaded", ASK, 1);
    assert_eq!(report["causes"]["model_provider_failed"], 1, "{report}");
    assert_eq!(trial["outcome"], "error", "{trial}");
}
