//! Shared resources of a suite's tasks: repositories, their trees, environments, toolchains and folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::boxes::Toolchains;
use crate::envs::Environments;
use crate::grade::Cause;
use crate::grading::Bench;
use crate::repo::Repo;
use crate::suite::{Member, Suite};
use crate::tree::Trees;

/// A repository, and the base trees of the suite that it has.
#[derive(Debug)]
struct Source {
    repo: Repo,
    trees: Trees,
    bases: BTreeSet<String>,
}

/// Repositories and environments of a suite.
#[derive(Debug)]
pub struct Lab {
    sources: BTreeMap<PathBuf, Source>,
    envs: Environments,
    repositories: Option<PathBuf>,
}

impl Lab {
    /// Opens the available repositories, with the toolchains of this machine; tasks of other repositories cannot run.
    #[must_use]
    pub fn open(suite: &Suite, repositories: Option<&Path>, cache: &Path, work: &Path) -> Self {
        Self::open_with(suite, repositories, cache, work, Toolchains::find())
    }

    /// Does the same with other toolchains.
    #[must_use]
    pub fn open_with(
        suite: &Suite,
        repositories: Option<&Path>,
        cache: &Path,
        work: &Path,
        tools: Toolchains,
    ) -> Self {
        let mut wanted: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for member in &suite.members {
            let folder = suite.source(&member.task, repositories);
            let bases = wanted.entry(folder).or_default();
            bases.insert(member.task.base_tree.clone());
        }
        let open = |(folder, bases): (PathBuf, BTreeSet<String>)| {
            let repo = Repo::open(&folder).ok()?;
            let source = Source {
                trees: Trees::open(&repo, cache, work).ok()?,
                bases: repo.present(&bases),
                repo,
            };
            Some((folder, source))
        };
        Self {
            sources: wanted.into_iter().filter_map(open).collect(),
            envs: Environments::at(&cache.join("env"), tools),
            repositories: repositories.map(Path::to_owned),
        }
    }

    /// Runs `work` with the resources of a task.
    ///
    /// # Errors
    /// The repository, its commit or the environment is missing.
    pub fn with<R>(
        &self,
        suite: &Suite,
        member: &Member,
        folder: &Path,
        work: impl FnOnce(&Bench<'_>) -> R,
    ) -> Result<R, (Cause, String)> {
        let task = &member.task;
        let source = suite.source(task, self.repositories.as_deref());
        let missing = |why: String| (Cause::NeedsCommit, why);
        let Some(Source { repo, trees, bases }) = self.sources.get(&source) else {
            return Err(missing(format!(
                "there is no repository at `{}`",
                source.display()
            )));
        };
        if !bases.contains(&task.base_tree) {
            return Err(missing(format!(
                "the repository has no tree {}",
                task.base_tree
            )));
        }
        let env = self
            .envs
            .ready(task, repo)
            .map_err(|why| (Cause::NeedsEnvironment, why))?;
        Ok(work(&Bench {
            repo,
            trees,
            tools: self.envs.tools(),
            env: env.as_deref(),
            work: folder,
        }))
    }
}
