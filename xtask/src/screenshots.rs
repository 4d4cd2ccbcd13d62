//! `cargo xtask screenshots`: the pictures of the pages in `docs/img/`, taken by the browser's test over a filled
//! workspace, and the time until the browser showed content of each.

use std::fs;

use crate::install;
use crate::project::Project;
use crate::shell::{self, Failure, Result};

/// Test that takes them.
const TEST: &str = "browser::pictures_of_the_pages_are_small_enough_for_the_documents";
/// Variable with their target directory.
const FOLDER: &str = "ROLEOS_TEST_PICTURES";

/// Takes all pictures.
pub(crate) fn run(project: &Project) -> Result<()> {
    install::run(project)?;
    let folder = project.root().join("docs/img");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::of(format!("cannot make `{}`", folder.display()), error))?;
    let words = [
        "test",
        "-p",
        "roleos",
        "--test",
        "it",
        TEST,
        "--",
        "--exact",
        "--nocapture",
    ];
    shell::run(project.cargo(&words).env(FOLDER, folder))
}
