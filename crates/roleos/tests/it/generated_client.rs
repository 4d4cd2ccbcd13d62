//! A client that `openapi-python-client` makes from `/openapi.json`, against a running `roleos up`.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::service::Service;
use crate::workspace::Workspace;

#[test]
fn a_generated_client_lists_reads_and_understands_errors() {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let workspace = Workspace::new();
    workspace.seal_some(2);
    let config = "[gateway]\noperator_token_env = \"OPS\"\n";
    workspace.write(".role-os/config.toml", config);
    let up = Service::start(&workspace, &[], &[("OPS", "0123456789abcdef")]);
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/generated_client.py");
    let ran = Command::new(python)
        .arg(script)
        .arg(format!("http://{}", up.address()))
        .arg(folder.path())
        .env("NO_PROXY", "*")
        .output()
        .expect("the interpreter can be started");
    up.end();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
