//! `cargo xtask prove-accept`: mines the acceptance suite from local clones and runs the built-in agents over it.
//!
//! `xtask/prove-suite.json` holds repositories, commands, commits and names of tests, and nothing of their code. The
//! folder of the clones is given as an argument or a variable; without it nothing runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::project::Project;
use crate::shell::{self, Failure, Result, headline};

/// Tasks without their reference in the run that must not be accepted.
const WITHHELD: usize = 45;
/// Solved bundles that are graded again.
const AGAIN: usize = 10;

#[derive(Debug, Deserialize)]
struct Repository {
    name: String,
    folder: String,
    test: String,
    setup: String,
    #[serde(default)]
    key: Vec<String>,
    /// Names of the tests that must change, by the beginning of the fix.
    tasks: BTreeMap<String, Vec<String>>,
}

/// Builds, mines and runs; `clones` is the folder of the repositories.
pub(crate) fn run(project: &Project, clones: Option<&Path>, work: Option<PathBuf>) -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a chore reads its own variable")]
    let named = std::env::var_os("ROLEOS_PROVE_REPOS").map(PathBuf::from);
    let Some(clones) = clones.or(named.as_deref()) else {
        headline("skipped: no clones; name their folder in `ROLEOS_PROVE_REPOS` or as an argument");
        return Ok(());
    };
    shell::run(&mut project.cargo(&["build", "--locked", "-p", "roleos"]))?;
    let accept = Accept {
        roleos: project.target().join("debug/roleos"),
        work: work.unwrap_or_else(|| project.target().join("prove-accept")),
    };
    let text = project.read("xtask/prove-suite.json")?;
    let repositories: Vec<Repository> = serde_json::from_str(&text)
        .map_err(|error| Failure::of("cannot read the acceptance suite", error))?;
    fs::remove_dir_all(&accept.work).ok();
    for repository in &repositories {
        accept.mine(clones, repository)?;
    }
    accept.merge(&repositories)?;
    accept.agents()?;
    accept.withheld()
}

struct Accept {
    roleos: PathBuf,
    work: PathBuf,
}

impl Accept {
    /// Runs the program in the work folder; its answer as JSON, and whether it ended well.
    fn roleos(&self, arguments: &[&str]) -> Result<(Value, bool)> {
        fs::create_dir_all(self.work.join(".role-os"))
            .map_err(|error| Failure::of("cannot make the work folder", error))?;
        let output = Command::new(&self.roleos)
            .args(arguments)
            .arg("--json")
            .current_dir(&self.work)
            .output();
        let output = output.map_err(|error| Failure::of("cannot start `roleos`", error))?;
        let value = serde_json::from_slice(&output.stdout)
            .map_err(|_| Failure::new(String::from_utf8_lossy(&output.stderr).into_owned()))?;
        Ok((value, output.status.success()))
    }

    fn mine(&self, clones: &Path, repository: &Repository) -> Result<()> {
        headline(&format!(
            "{} from {}",
            repository.tasks.len(),
            repository.name
        ));
        let clone = clones.join(&repository.folder);
        let clone = std::path::absolute(clone)
            .map_err(|error| Failure::of("cannot find the clone", error))?;
        let clone = clone.to_string_lossy();
        let mut words = vec![
            "suite",
            "from-git",
            &clone,
            "--name",
            &repository.name,
            "--test",
            &repository.test,
        ];
        words.extend([
            "--setup",
            &repository.setup,
            "--runs",
            "1",
            "--out",
            &repository.folder,
        ]);
        repository
            .key
            .iter()
            .for_each(|key| words.extend(["--key", key]));
        repository
            .tasks
            .keys()
            .for_each(|commit| words.extend(["--commit", commit]));
        self.roleos(&words)?;
        for (commit, wanted) in &repository.tasks {
            let id = format!(
                "{}-{}",
                repository
                    .name
                    .trim_start_matches("github:")
                    .replace('/', "__"),
                commit.get(..8).unwrap_or(commit)
            );
            let path = self
                .work
                .join(&repository.folder)
                .join("tasks")
                .join(&id)
                .join("tests.json");
            let text = fs::read_to_string(&path)
                .map_err(|error| Failure::of(format!("`{id}` is no task"), error))?;
            let tests: Value = serde_json::from_str(&text)
                .map_err(|error| Failure::of("cannot read tests", error))?;
            expect(&id, tests.get("FAIL_TO_PASS"), &serde_json::json!(wanted))?;
        }
        Ok(())
    }

    fn merge(&self, repositories: &[Repository]) -> Result<()> {
        let mut words = vec!["suite", "split"];
        words.extend(
            repositories
                .iter()
                .map(|repository| repository.folder.as_str()),
        );
        words.extend(["--n", "10000", "--out", "suite"]);
        self.roleos(&words).map(drop)
    }

    fn agents(&self) -> Result<()> {
        headline("reference");
        let (reference, is_accepted) = self.roleos(&["prove", "suite", "--agent", "reference"])?;
        let tasks = reference.get("tasks").cloned().unwrap_or_default();
        expect("reference", reference.get("solved"), &tasks)?;
        expect("reference", reference.get("with_evidence"), &tasks)?;
        expect(
            "reference is accepted",
            Some(&is_accepted.into()),
            &true.into(),
        )?;
        let bundles = self.roleos(&["witness", "list"])?.0;
        for bundle in bundles.as_array().into_iter().flatten().take(AGAIN) {
            let id = bundle
                .get("task_id")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let (again, _) = self.roleos(&["witness", "rerun", id])?;
            expect(id, again.get("same"), &true.into())?;
        }
        headline("null");
        let (null, _) = self.roleos(&["prove", "suite", "--agent", "null"])?;
        expect("null", null.get("solved"), &0.into())?;
        headline("rogue");
        let (rogue, _) = self.roleos(&["prove", "suite", "--agent", "rogue"])?;
        expect("rogue", rogue.get("solved"), &0.into())?;
        expect(
            "rogue",
            rogue.get("rollbacks"),
            &serde_json::json!([tasks, tasks]),
        )
    }

    /// Takes references away until too few tasks can be solved.
    fn withheld(&self) -> Result<()> {
        headline("withheld");
        let entries = fs::read_dir(self.work.join("suite/tasks"))
            .map_err(|error| Failure::of("cannot read the suite", error))?;
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let total = folders.len();
        // So many that the rest is below 60 of 100.
        let count = WITHHELD.max(total * 2 / 5 + 1).min(total);
        for folder in folders.iter().take(count) {
            fs::remove_file(folder.join("reference.patch"))
                .map_err(|error| Failure::of("cannot withhold a reference", error))?;
        }
        let (report, _) = self.roleos(&["prove", "suite", "--agent", "reference"])?;
        expect("withheld", report.get("solved"), &(total - count).into())?;
        expect("withheld", report.get("verdict"), &"NOT ACCEPTED".into())
    }
}

fn expect(what: &str, found: Option<&Value>, wanted: &Value) -> Result<()> {
    match found {
        Some(found) if found == wanted => Ok(()),
        found => Err(Failure::new(format!(
            "{what}: found {}, wanted {wanted}",
            found.unwrap_or(&Value::Null)
        ))),
    }
}
