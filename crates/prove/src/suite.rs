//! A suite: a folder of tasks, as data. Nothing in it runs without an explicit command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use base::files;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use witness::extension::TestPatch;

use crate::patch;
use crate::task::{self, BadTask, Task, Tests};
use crate::vendor;

/// Most tasks of a suite.
const MAX_TASKS: usize = 100_000;
/// Largest text file of a suite.
const MAX_FILE: u64 = 16 << 20;
/// Files of a task, in the order in which they are hashed.
const FILES: [&str; 5] = [
    "issue.md",
    "reference.patch",
    "task.toml",
    "test.patch",
    "tests.json",
];

/// Error of reading a suite.
#[derive(Debug, thiserror::Error)]
#[error("the suite `{}` cannot be used: {why}", folder.display())]
pub struct SuiteError {
    folder: PathBuf,
    why: String,
}

/// Content of `suite.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Meta {
    /// Name for people.
    pub name: String,
    /// Time of the newest task.
    pub created: String,
    /// Version of the program that wrote it.
    pub tool: String,
    /// Digest of every task.
    pub digests: BTreeMap<String, String>,
}

/// A task with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub task: Task,
    pub tests: Tests,
    /// The issue text for the agent.
    pub issue: String,
    /// The change that solves it; `None` if it is withheld.
    pub reference: Option<Vec<u8>>,
    /// The change of the tests.
    pub test_patch: Vec<u8>,
    /// SHA-256 over the files.
    pub digest: String,
}

/// A parsed suite.
#[derive(Clone, Debug)]
pub struct Suite {
    pub folder: PathBuf,
    /// Content of `suite.toml`.
    pub meta: Meta,
    /// Tasks by id.
    pub members: Vec<Member>,
}

impl Suite {
    /// Reads a suite and checks everything possible without running it.
    ///
    /// # Errors
    /// A file is missing, malformed or exceeds its limits.
    pub fn read(folder: &Path) -> Result<Self, SuiteError> {
        let fail = |why: String| SuiteError {
            folder: folder.to_owned(),
            why,
        };
        let text =
            read_text(&folder.join("suite.toml")).map_err(|error| fail(error.to_string()))?;
        let meta: Meta = toml::from_str(&text)
            .map_err(|error| fail(format!("suite.toml: {}", error.message())))?;
        let mut names: Vec<String> = fs::read_dir(folder.join("tasks"))
            .map_err(|error| fail(format!("tasks: {error}")))?
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        if names.is_empty() || names.len() > MAX_TASKS {
            return Err(fail(format!("it has {} tasks", names.len())));
        }
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for name in names {
            let member = Member::read(&folder.join("tasks").join(&name))
                .map_err(|why| fail(format!("task `{name}`: {why}")))?;
            if member.task.id != name {
                return Err(fail(format!(
                    "task `{name}` says that its id is `{}`",
                    member.task.id
                )));
            }
            if !seen.insert(name.to_ascii_lowercase()) {
                return Err(fail(format!("two tasks are called `{name}`, but for case")));
            }
            members.push(member);
        }
        Ok(Self {
            folder: folder.to_owned(),
            meta,
            members,
        })
    }

    /// Returns the SHA-256 over the digests of all tasks.
    #[must_use]
    pub fn digest(&self) -> String {
        digest_of(
            self.members
                .iter()
                .map(|member| (member.task.id.as_str(), member.digest.as_bytes())),
        )
    }

    /// Returns the tasks whose files differ from the digests in `suite.toml`.
    #[must_use]
    pub fn changed(&self) -> Vec<&str> {
        let differs =
            |member: &&Member| self.meta.digests.get(&member.task.id) != Some(&member.digest);
        self.members
            .iter()
            .filter(differs)
            .map(|member| member.task.id.as_str())
            .collect()
    }

    /// Returns the folder of the repository of a task. A relative source is searched below `ROLEOS_PROVE_REPOS` by its
    /// last component if that is set, else resolved from the suite.
    #[must_use]
    pub fn source(&self, task: &Task, repositories: Option<&Path>) -> PathBuf {
        let plain = Path::new(&task.source);
        match (repositories, plain.file_name()) {
            (Some(folder), Some(name)) if !plain.starts_with(vendor::FOLDER) => folder.join(name),
            _ => self.folder.join(plain),
        }
    }

    /// Selects tasks: the same share of every repository, old and new alternating, in an order determined by the seed.
    #[must_use]
    pub fn split(&self, count: usize, seed: u64) -> Vec<&Member> {
        let mut by_repository: BTreeMap<&str, Vec<&Member>> = BTreeMap::new();
        for member in &self.members {
            by_repository
                .entry(&member.task.repo)
                .or_default()
                .push(member);
        }
        let rank =
            |member: &&Member| base::digest(format!("{seed}\0{}", member.task.id).as_bytes());
        for list in by_repository.values_mut() {
            list.sort_by(|a, b| {
                a.task
                    .created_at
                    .cmp(&b.task.created_at)
                    .then(a.task.id.cmp(&b.task.id))
            });
            // Within each quarter of the history the seed determines the order, and quarters alternate.
            let quarter = list.len().div_ceil(4).max(1);
            let mut parts: Vec<Vec<&Member>> = list.chunks(quarter).map(<[_]>::to_vec).collect();
            parts.iter_mut().for_each(|part| part.sort_by_key(rank));
            *list = interleave(&parts);
        }
        let lists: Vec<Vec<&Member>> = by_repository.into_values().collect();
        let mut chosen = interleave(&lists);
        chosen.truncate(count);
        chosen
    }
}

/// Takes one of each list in turn.
fn interleave<T: Copy>(lists: &[Vec<T>]) -> Vec<T> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .flat_map(|at| lists.iter().filter_map(move |list| list.get(at).copied()))
        .collect()
}

impl Member {
    fn read(folder: &Path) -> Result<Self, BadTask> {
        let text = |name: &str| read_text(&folder.join(name));
        let optional = |name: &str| -> Result<Option<Vec<u8>>, BadTask> {
            let path = folder.join(name);
            if !path.exists() {
                return Ok(None);
            }
            files::read(&path, MAX_FILE)
                .map(Some)
                .map_err(|error| BadTask::new(base::said(&error)))
        };
        let member = Self {
            task: Task::parse(&text("task.toml")?)?,
            tests: Tests::parse(&text("tests.json")?)?,
            issue: text("issue.md")?,
            reference: optional("reference.patch")?,
            test_patch: optional("test.patch")?.unwrap_or_default(),
            digest: String::new(),
        };
        member.check()?;
        Ok(member.with_digest())
    }

    /// Returns the parts of the task that are needed for grading, in the format of a bundle.
    #[must_use]
    pub fn graded_by(&self) -> TestPatch {
        TestPatch {
            task: self.task.to_text().unwrap_or_default().into_bytes(),
            tests: self.tests.to_text().into_bytes(),
            patch: self.test_patch.clone(),
        }
    }

    /// Reads a task from a bundle, without its issue and its reference.
    ///
    /// # Errors
    /// A part is malformed or exceeds its limits.
    pub fn of_bundle(parts: &TestPatch) -> Result<Self, BadTask> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let member = Self {
            task: Task::parse(&text(&parts.task))?,
            tests: Tests::parse(&text(&parts.tests))?,
            issue: String::new(),
            reference: None,
            test_patch: parts.patch.clone(),
            digest: String::new(),
        };
        member.check()?;
        Ok(member)
    }

    /// Completes a task with its digest.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        let files = self.files();
        let pairs = files
            .iter()
            .filter_map(|(name, bytes)| Some((*name, bytes.as_deref()?)));
        self.digest = digest_of(pairs);
        self
    }

    /// Returns the files of a task; missing ones are `None`.
    fn files(&self) -> [(&'static str, Option<Vec<u8>>); 5] {
        let task = self.task.to_text().unwrap_or_default();
        let [issue, reference, toml, patch, tests] = FILES;
        [
            (issue, Some(self.issue.clone().into_bytes())),
            (reference, self.reference.clone()),
            (toml, Some(task.into_bytes())),
            (
                patch,
                (!self.test_patch.is_empty()).then(|| self.test_patch.clone()),
            ),
            (tests, Some(self.tests.to_text().into_bytes())),
        ]
    }

    /// Checks that the patches stay inside the tree, and that the test patch touches test paths only.
    pub(crate) fn check(&self) -> Result<(), BadTask> {
        let bad = |error: patch::BadPatch| BadTask::new(error.to_string());
        if let Some(reference) = &self.reference {
            patch::files(reference).map_err(bad)?;
        }
        for file in patch::files(&self.test_patch).map_err(bad)? {
            if !crate::glob::any(&self.task.test_paths, &file.path) {
                return Err(BadTask::new(format!(
                    "the test patch touches `{}`, which is not one of `test_paths`",
                    file.path
                )));
            }
        }
        Ok(())
    }
}

/// Writes a suite into a folder that is empty or missing.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, name: &str, tool: &str, members: &[Member]) -> Result<(), SuiteError> {
    let fail = |why: String| SuiteError {
        folder: folder.to_owned(),
        why,
    };
    let put = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(files::parent(path)).map_err(|error| fail(error.to_string()))?;
        files::write_plainly(path, bytes).map_err(|error| fail(base::said(&error)))
    };
    for member in members {
        task::check_id(&member.task.id).map_err(|error| fail(error.to_string()))?;
        let home = folder.join("tasks").join(&member.task.id);
        for (name, bytes) in member.files() {
            if let Some(bytes) = bytes {
                put(&home.join(name), &bytes)?;
            }
        }
    }
    let meta = Meta {
        name: name.to_owned(),
        created: members
            .iter()
            .map(|member| member.task.created_at.clone())
            .max()
            .unwrap_or_default(),
        tool: tool.to_owned(),
        digests: members
            .iter()
            .map(|member| (member.task.id.clone(), member.digest.clone()))
            .collect(),
    };
    let text = toml::to_string(&meta).map_err(|error| fail(error.to_string()))?;
    put(&folder.join("suite.toml"), text.as_bytes())
}

/// Returns the SHA-256 over `path NUL length NUL bytes` of each pair, in hex.
fn digest_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in pairs {
        hash.update(path.as_bytes());
        hash.update(format!("\0{}\0", bytes.len()).as_bytes());
        hash.update(bytes);
    }
    hex::encode(hash.finalize())
}

fn read_text(path: &Path) -> Result<String, BadTask> {
    let bytes = files::read(path, MAX_FILE).map_err(|error| BadTask::new(base::said(&error)))?;
    String::from_utf8(bytes).map_err(|_| BadTask::new(format!("`{}` is not UTF-8", path.display())))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn member(id: &str, repo: &str, day: u32) -> Member {
        let mut task = Task::parse(crate::task::tests::GOOD).unwrap();
        task.id = id.to_owned();
        task.repo = repo.to_owned();
        task.created_at = format!("2026-01-{day:02}T00:00:00Z");
        Member {
            task,
            tests: Tests::parse(r#"{"FAIL_TO_PASS":["a"]}"#).unwrap(),
            issue: "It breaks.\n".to_owned(),
            reference: None,
            test_patch: Vec::new(),
            digest: String::new(),
        }
        .with_digest()
    }

    #[test]
    fn a_suite_survives_its_folder_and_notices_changes() {
        let folder = tempfile::tempdir().unwrap();
        let members = [member("a-1", "x", 1), member("b-2", "x", 2)];
        write(folder.path(), "s", "0", &members).unwrap();
        let suite = Suite::read(folder.path()).unwrap();
        assert_eq!(suite.members, members);
        assert!(suite.changed().is_empty());
        let issue = folder.path().join("tasks/a-1/issue.md");
        files::write_plainly(&issue, b"Other.\n").unwrap();
        let changed = Suite::read(folder.path()).unwrap();
        assert_eq!(changed.changed(), ["a-1"]);
        assert_ne!(changed.digest(), suite.digest());
    }

    #[test]
    fn suites_with_hostile_tasks_are_refused() {
        for (file, text, why) in [
            ("tasks/A-1/x", "", "task `A-1`"),
            (
                "tasks/a-1/test.patch",
                "diff --git a/src/x b/src/x\nold mode 100644\nnew mode 100755\n",
                "not one of `test_paths`",
            ),
            (
                "tasks/a-1/reference.patch",
                "diff --git a/../x b/../x\nold mode 100644\nnew mode 100755\n",
                "outside of the tree",
            ),
            ("suite.toml", "name = 1", "suite.toml"),
            ("tasks/a-1/tests.json", "{}", "tests.json"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), "s", "0", &[member("a-1", "x", 1)]).unwrap();
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            files::write_plainly(&path, text.as_bytes()).unwrap();
            let error = Suite::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(why), "{file}: {error}");
        }
    }

    #[test]
    fn a_split_is_even_and_the_same_for_the_same_seed() {
        let folder = tempfile::tempdir().unwrap();
        let members: Vec<Member> = (1..=20)
            .map(|day| member(&format!("t-{day}"), if day <= 12 { "x" } else { "y" }, day))
            .collect();
        write(folder.path(), "s", "0", &members).unwrap();
        let suite = Suite::read(folder.path()).unwrap();
        let ids = |seed| {
            suite
                .split(8, seed)
                .iter()
                .map(|one| one.task.id.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1), ids(2));
        let of_x = suite
            .split(8, 1)
            .iter()
            .filter(|one| one.task.repo == "x")
            .count();
        assert_eq!(of_x, 4);
    }
}
