//! One commit of a history: its patches, its tests before and after it, and the resulting task.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base::git::GitError;

use super::issue;
use super::screen::{self, Candidate};
use super::{Plan, Reason, reason};
use crate::cases::Cases;
use crate::envs::Environments;
use crate::glob;
use crate::grading::{self, Bench};
use crate::patch;
use crate::repo::Repo;
use crate::suite::Member;
use crate::task::{self, Canary, Environment, IssueSource, Limits, Network, Task, Test};
use crate::tree::Trees;

/// Most test files that are run if no touched file can be.
const MAX_TEST_FILES: usize = 200;

/// Tries the commits of a repository.
pub(super) struct Miner<'a> {
    pub(super) repo: &'a Repo,
    pub(super) plan: &'a Plan,
    pub(super) envs: &'a Environments,
    pub(super) trees: &'a Trees,
    pub(super) work: &'a Path,
    /// Tasks that are not valid, although their tests ran.
    pub(super) invalid: Mutex<Vec<Member>>,
}

/// A commit as patches.
struct Parts {
    base_tree: String,
    fix_tree: String,
    reference: Vec<u8>,
    test_patch: Vec<u8>,
    test_paths: Vec<String>,
}

impl Miner<'_> {
    /// Returns the commits that touch source and tests, or all named ones.
    pub(super) fn candidates(&self) -> Result<Vec<Candidate>, GitError> {
        let since = self
            .plan
            .since
            .as_ref()
            .map(|date| format!("--since={date}"));
        let mut arguments = vec![
            "log",
            "--first-parent",
            "-m",
            "--numstat",
            "--no-renames",
            "--format=%x01%H%x02%P%x02%cI%x02%s",
        ];
        arguments.extend(since.as_deref());
        let log = self.repo.run(&arguments)?;
        let mut candidates = screen::parse_log(&String::from_utf8_lossy(&log));
        let wanted = &self.plan.commits;
        candidates.retain(|one| match wanted.is_empty() {
            // Others are far from a task, and their number has no meaning.
            true => !matches!(
                screen::screen(one, self.plan.sizes),
                Err("no_source" | "no_tests")
            ),
            false => wanted.iter().any(|start| one.commit.starts_with(start)),
        });
        let paths = &self.plan.paths;
        candidates.retain(|one| {
            let mut source = one.files.iter().map(|(_, path)| path);
            paths.is_empty() || source.any(|path| !glob::is_test(path) && glob::any(paths, path))
        });
        Ok(candidates)
    }

    pub(super) fn try_commit(&self, candidate: &Candidate) -> Result<Member, Reason> {
        screen::screen(candidate, self.plan.sizes).map_err(|name| reason(name, ""))?;
        let parts = self.parts(candidate)?;
        let mut member = self.draft(candidate, &parts)?;
        let env = self
            .envs
            .ready(&member.task, self.repo)
            .map_err(|why| reason("setup_failed", why))?;
        let bench = Bench {
            repo: self.repo,
            trees: self.trees,
            tools: self.envs.tools(),
            env: env.as_deref(),
            work: self.work,
        };
        let log = self
            .validate(&bench, &mut member, &parts)
            .inspect_err(|_| {
                let mut invalid = self.invalid.lock().unwrap_or_else(PoisonError::into_inner);
                invalid.push(member.clone().with_digest());
            })?;
        let fix_lines = |patch: &[u8]| {
            patch::added(patch)
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect::<Vec<_>>()
        };
        let source_patch = patch::divide(&member.reference.clone().unwrap_or_default(), |path| {
            glob::source_language(path).is_some()
        });
        let source = fix_lines(&source_patch.map(|(source, _)| source).unwrap_or_default());
        let tests = fix_lines(&member.test_patch);
        let fix = issue::Fix {
            source: source.iter().map(String::as_str).collect(),
            tests: tests.iter().map(String::as_str).collect(),
        };
        let (message, from) = self.message(candidate);
        let is_known = |word: &str| self.repo.has_word(&parts.base_tree, word);
        (member.issue, member.task.issue) =
            issue::write(&message, from, &fix, &member.tests, &log, is_known);
        Ok(member.with_digest())
    }

    fn parts(&self, candidate: &Candidate) -> Result<Parts, Reason> {
        let git = |error: GitError| reason("needs_commit", error.to_string());
        let (base_tree, fix_tree) = (
            self.repo.tree_of(&candidate.parent).map_err(git)?,
            self.repo.tree_of(&candidate.commit).map_err(git)?,
        );
        let patch = self.repo.patch(&base_tree, &fix_tree).map_err(git)?;
        let bad = |error: patch::BadPatch| reason("binary", error.to_string());
        let (reference, test_paths) =
            patch::divide(&patch, |path| !glob::is_test(path)).map_err(bad)?;
        let (test_patch, _) = patch::divide(&patch, glob::is_test).map_err(bad)?;
        let mut quiet = vec![
            "diff-tree",
            "-r",
            "--quiet",
            "-w",
            "--ignore-blank-lines",
            base_tree.as_str(),
            &fix_tree,
            "--",
        ];
        quiet.extend(
            candidate
                .files
                .iter()
                .map(|(_, path)| path.as_str())
                .filter(|path| glob::source_language(path).is_some()),
        );
        if self.repo.line(&quiet).is_ok() {
            return Err(reason("format_only", ""));
        }
        Ok(Parts {
            base_tree,
            fix_tree,
            reference,
            test_patch,
            test_paths,
        })
    }

    /// Returns the test files that show the fix: those that it touches, else those that name touched files, else all.
    fn test_files(&self, parts: &Parts) -> Result<Vec<String>, Reason> {
        let after = self
            .repo
            .entries(&parts.fix_tree)
            .map_err(|error| reason("needs_commit", error.to_string()))?;
        let all: Vec<&str> = after
            .iter()
            .map(|entry| entry.path.as_str())
            .filter(|path| screen::is_runnable(path))
            .collect();
        let touched: Vec<String> = parts
            .test_paths
            .iter()
            .filter(|path| all.contains(&path.as_str()))
            .cloned()
            .collect();
        if !touched.is_empty() {
            return Ok(touched);
        }
        let stem = |path: &String| {
            path.rsplit('/')
                .next()
                .and_then(|name| name.split('.').next())
                .unwrap_or_default()
                .to_owned()
        };
        let names: Vec<String> = parts
            .test_paths
            .iter()
            .map(stem)
            .filter(|stem| stem.len() > 2)
            .collect();
        let mentions = |path: &&&str| {
            let text = self.repo.file(&parts.fix_tree, path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            names.iter().any(|name| text.contains(name))
        };
        let mut found: Vec<String> = all
            .iter()
            .filter(mentions)
            .map(|path| (*path).to_owned())
            .collect();
        if found.is_empty() {
            found = all.iter().map(|path| (*path).to_owned()).collect();
        }
        found.truncate(MAX_TEST_FILES);
        if found.is_empty() {
            Err(reason("no_runnable_test", ""))
        } else {
            Ok(found)
        }
    }

    fn draft(&self, candidate: &Candidate, parts: &Parts) -> Result<Member, Reason> {
        let plan = self.plan;
        let short: String = candidate.commit.chars().take(8).collect();
        let name = plan
            .name
            .rsplit(':')
            .next()
            .unwrap_or(&plan.name)
            .replace('/', "__");
        let id = format!("{name}-{short}");
        task::check_id(&id).map_err(|error| reason("no_source", error.to_string()))?;
        let languages = candidate
            .files
            .iter()
            .filter_map(|(_, path)| glob::source_language(path));
        let reference =
            patch::files(&parts.reference).map_err(|error| reason("binary", error.to_string()))?;
        let is_guarded = |path: &str| {
            let file = |tree: &str| self.repo.file(tree, path).unwrap_or_default();
            glob::is_guarded(path, &plan.test)
                || glob::changes_test_settings(
                    path,
                    || file(&parts.base_tree),
                    || file(&parts.fix_tree),
                )
        };
        let task = Task {
            schema: task::SCHEMA,
            id,
            repo: plan.name.clone(),
            source: plan.source.clone(),
            base_commit: candidate.parent.clone(),
            base_tree: parts.base_tree.clone(),
            fix_commit: candidate.commit.clone(),
            created_at: candidate.created.clone(),
            language: most_common(languages),
            test_paths: screen::test_patterns(parts.test_paths.iter().map(String::as_str)),
            guarded: Vec::new(),
            allow_guarded: reference
                .iter()
                .map(|file| file.path.clone())
                .filter(|path| is_guarded(path))
                .collect(),
            issue: task::Issue::default(),
            environment: Environment {
                setup: plan.setup.clone(),
                key: plan.key.clone(),
                ..Environment::default()
            },
            test: Test {
                command: plan.test.clone(),
                files: self.test_files(parts)?,
                format: plan.format,
                canary: Canary::Auto,
            },
            limits: Limits {
                test_seconds: plan.test_seconds,
                ..Limits::default()
            },
            network: Network::default(),
            x: toml::Table::new(),
        };
        Ok(Member {
            task,
            tests: task::Tests::default(),
            issue: String::new(),
            reference: Some(parts.reference.clone()),
            test_patch: parts.test_patch.clone(),
            digest: String::new(),
        })
    }

    /// Runs the tests of the three states and classifies them. Returns the output of the failing run.
    fn validate(
        &self,
        bench: &Bench<'_>,
        member: &mut Member,
        parts: &Parts,
    ) -> Result<String, Reason> {
        let run = |patches: &[&[u8]], tests: &[u8]| {
            let run = grading::run_tests(bench, &member.task, patches, tests, None)
                .map_err(|cause| reason("setup_failed", cause.name()))?;
            match &run.broken {
                Some(why) => Err(reason("setup_failed", why.clone())),
                None => Ok(run),
            }
        };
        let fix = || run(&[&parts.reference], &parts.test_patch);
        let before = || run(&[], &parts.test_patch);
        let first = fix()?;
        if first.timed_out {
            let limit = format!("{} s", member.task.limits.test_seconds);
            return Err(reason("after_timeout", limit));
        }
        let mut after = vec![grading::plain_cases(&first)];
        let fails = before()?;
        let mut befores = vec![grading::plain_cases(&fails)];
        let base_entries = self.repo.entries(&parts.base_tree).unwrap_or_default();
        let has_new_file = member
            .task
            .test
            .files
            .iter()
            .any(|file| !base_entries.iter().any(|entry| entry.path == *file));
        // Most commits that are not tasks show it by now.
        screen::classify(&Cases::new(), &befores, &after, true)
            .map_err(|name| reason(name, end_of(&first.log)))?;
        let own = grading::plain_cases(&run(&[], &[])?);
        for _ in 1..self.plan.runs {
            after.push(grading::plain_cases(&fix()?));
        }
        if self.plan.runs > 1 {
            befores.push(grading::plain_cases(&before()?));
        }
        member.tests = screen::classify(&own, &befores, &after, has_new_file)
            .map_err(|name| reason(name, ""))?;
        if fails.timed_out {
            member
                .task
                .x
                .insert("before_timeout".to_owned(), true.into());
            member.task.limits.test_seconds = (first.took.as_secs() * 10).max(30);
        }
        Ok(String::from_utf8_lossy(&fails.log).into_owned())
    }

    /// Returns the text for the issue: that of the tracker, or all messages of the commit.
    fn message(&self, candidate: &Candidate) -> (String, IssueSource) {
        let range = format!("{}..{}", candidate.parent, candidate.commit);
        let log = self
            .repo
            .line(&["log", "--format=%B", "--reverse", "--max-count=20", &range])
            .unwrap_or_else(|_| candidate.subject.clone());
        let numbers = log.split('#').skip(1).filter_map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().ok()
        });
        for number in numbers {
            if let Some(text) = self.plan.issues.get(&number) {
                return (text.clone(), IssueSource::Issue);
            }
        }
        (log, IssueSource::Commit)
    }
}

fn most_common<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map_or_else(String::new, |(word, _)| word.to_owned())
}

fn end_of(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let skip = text.chars().count().saturating_sub(300);
    text.chars().skip(skip).collect()
}
