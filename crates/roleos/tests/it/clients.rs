//! The official Python clients of OpenAI and Anthropic, unmodified, through `roleos up`.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::workspace::ROLEOS;

#[test]
fn the_official_clients_notice_no_difference() {
    let python = env::var_os("ROLEOS_TEST_PYTHON").expect(
        "ROLEOS_TEST_PYTHON names no interpreter; `cargo xtask test` makes one with \
         xtask/python-requirements.txt and sets the variable",
    );
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients.py");
    let ran = Command::new(python)
        .arg(script)
        .arg(ROLEOS)
        .arg(folder.path())
        .env("HOME", folder.path())
        .env("NO_PROXY", "*")
        .output()
        .expect("the interpreter can be started");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
