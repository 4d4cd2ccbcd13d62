//! Shared resources of a suite's tasks: repositories, their trees, environments, toolchains and folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::boxes::Toolchains;
use crate::envs::Environments;
use crate::grade::Cause;
use crate::grading::Bench;
use crate::repo::Repo;
use crate::suite::{Member, Suite};
use crate::tree::Trees;

/// Repositories and environments of a suite.
#[derive(Debug)]
pub struct Lab {
    sources: BTreeMap<PathBuf, (Repo, Trees)>,
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
        let mut sources = BTreeMap::new();
        for member in &suite.members {
            let folder = suite.source(&member.task, repositories);
            if sources.contains_key(&folder) {
                continue;
            }
            let opened = Repo::open(&folder).and_then(|repo| {
                let trees = Trees::open(&repo, cache, work)?;
                Ok((repo, trees))
            });
            if let Ok(opened) = opened {
                sources.insert(folder, opened);
            }
        }
        Self {
            sources,
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
        let Some((repo, trees)) = self.sources.get(&source) else {
            return Err(missing(format!(
                "there is no repository at `{}`",
                source.display()
            )));
        };
        if !repo.has(&format!("{}^{{tree}}", task.base_tree)) {
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
