//! Resolution of git revisions to objects, by refs and reflogs. Git is not run.

use super::changes::{MAX_COMMITS, Repository, read_text};
use super::objects::{Id, parse_id};

impl Repository {
    /// Returns the object that a revision names.
    pub(super) fn resolve(&self, name: &str) -> Option<Id> {
        if let Some((revision, path)) = name
            .split_once(':')
            .filter(|(revision, _)| !revision.is_empty())
        {
            return self.inside(&self.resolve(revision)?, path);
        }
        let end = name.find(['^', '~']).unwrap_or(name.len());
        let (base, mut steps) = name.split_at_checked(end)?;
        let mut id = self.named(base)?;
        while let Some(sign) = steps.chars().next() {
            steps = steps.get(1..)?;
            if let Some(rest) = steps.strip_prefix('{') {
                // `^{tree}`, `^{commit}`: the object is peeled by its user.
                steps = rest.split_once('}')?.1;
                continue;
            }
            let digits = steps
                .find(|digit: char| !digit.is_ascii_digit())
                .unwrap_or(steps.len());
            let (count, rest) = steps.split_at_checked(digits)?;
            steps = rest;
            let count: usize = if count.is_empty() {
                1
            } else {
                count.parse().ok()?
            };
            id = self.commit_of(&id)?;
            if sign == '^' {
                if let Some(parent) = count.checked_sub(1) {
                    id = *self.parents(&id)?.get(parent)?;
                }
            } else {
                for _ in 0..count.min(MAX_COMMITS) {
                    id = *self.parents(&id)?.first()?;
                }
            }
        }
        Some(id)
    }

    fn inside(&self, id: &Id, path: &str) -> Option<Id> {
        let mut id = self.tree_of(id)?;
        for part in path
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            id = self.tree(&id).ok()?.get(part)?.id;
        }
        Some(id)
    }

    fn named(&self, name: &str) -> Option<Id> {
        if let Some((base, number)) = name.split_once("@{") {
            let number = number.strip_suffix('}')?;
            return match number.strip_prefix('-') {
                Some(number) => self.left_before(number.parse().ok()?),
                None => self.logged(base, number.parse().ok()?),
            };
        }
        match name {
            "-" => return self.left_before(1),
            "" | "@" => return self.reference("HEAD", 5),
            _ => {}
        }
        let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let mut names = places.iter().map(|place| format!("{place}{name}"));
        names
            .find_map(|name| self.reference(&name, 5))
            .or_else(|| self.reference(&format!("refs/remotes/{name}/HEAD"), 5))
            .or_else(|| self.remote_branch(name))
            .or_else(|| self.objects.by_prefix(name))
    }

    /// Returns the remote branch from which `git checkout <name>` creates a new one.
    fn remote_branch(&self, name: &str) -> Option<Id> {
        let suffix = format!("/{name}");
        let common = &self.location.common_dir;
        let packed = read_text(&common.join("packed-refs")).unwrap_or_default();
        let packed = packed.lines().filter_map(|line| line.split_once(' '));
        let packed = packed
            .filter_map(|(_, name)| name.strip_prefix("refs/remotes/"))
            .filter_map(|name| name.strip_suffix(&suffix).map(str::to_owned));
        let loose = std::fs::read_dir(common.join("refs/remotes"));
        let loose = loose.into_iter().flatten().flatten();
        let loose = loose.filter_map(|remote| remote.file_name().into_string().ok());
        packed
            .chain(loose)
            .find_map(|remote| self.reference(&format!("refs/remotes/{remote}/{name}"), 5))
    }

    fn reference(&self, name: &str, depth: usize) -> Option<Id> {
        let depth = depth.checked_sub(1)?;
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return None;
        }
        let text = [&self.location.git_dir, &self.location.common_dir]
            .into_iter()
            .find_map(|place| read_text(&place.join(name)));
        if let Some(text) = text {
            return match text.strip_prefix("ref: ") {
                Some(name) => self.reference(name.trim(), depth),
                None => parse_id(text.split_whitespace().next()?),
            };
        }
        let packed = read_text(&self.location.common_dir.join("packed-refs"))?;
        let line = packed
            .lines()
            .find(|line| line.split_once(' ').is_some_and(|(_, is)| is == name))?;
        parse_id(line.split(' ').next()?)
    }

    /// Returns the entry of a reflog, counted from its end.
    fn logged(&self, name: &str, back: usize) -> Option<Id> {
        let name = if name.is_empty() { "HEAD" } else { name };
        let places = [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/heads/{name}"),
        ];
        let folders = [&self.location.git_dir, &self.location.common_dir];
        let mut logs = places.iter().flat_map(|place| {
            folders
                .iter()
                .map(move |folder| folder.join("logs").join(place))
        });
        let text = logs.find_map(|path| read_text(&path))?;
        let line = text.lines().rev().nth(back)?;
        parse_id(line.split(' ').nth(1)?)
    }

    /// Returns the branch that was left this many switches ago.
    fn left_before(&self, number: usize) -> Option<Id> {
        let text = read_text(&self.location.git_dir.join("logs/HEAD"))?;
        let mut moves = text
            .lines()
            .rev()
            .filter_map(|line| line.split_once("checkout: moving from "));
        let (_, names) = moves.nth(number.checked_sub(1)?)?;
        self.named(names.split(' ').next()?)
    }
}
