//! Trees that a program writes over protected things: the source is listed if possible.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::verdict::Verdict;
use actions::git_command;
use actions::lookup::{
    Content, Listing, Lookup as _, Snapshot, Source, absolute, base_name, directory_of,
};
use protection::Touch;
use protection::trees::{self, From, Tree};
use shell::value::{HOLE, has_hole};

use super::Evaluator;
use shell::pattern;

impl Evaluator<'_> {
    /// Compares each tree that a program writes with the protected things.
    pub(super) fn guard_trees(&mut self, name: &str, arguments: &[String]) {
        let elsewhere = Some(name)
            .filter(|name| *name == "git")
            .and_then(|_| git_command(arguments).directory);
        let before = self.state.directory.clone();
        if let Some(directory) = elsewhere.filter(|directory| !has_hole(directory)) {
            self.state.directory = absolute(&before, &directory).into();
        }
        self.each_tree(name, arguments);
        self.state.directory = before;
    }

    fn each_tree(&mut self, name: &str, arguments: &[String]) {
        for tree in trees::written(name, arguments) {
            let path = match &tree.from {
                From::Input => None,
                From::Archive(path) => Some(absolute(&self.state.directory, path)),
                _ => {
                    self.brought(&tree);
                    continue;
                }
            };
            let made = self
                .world
                .archives
                .iter()
                .rev()
                .find(|(file, _)| *file == path);
            match made.cloned() {
                Some((_, sources)) => self.unpacked(&tree, sources),
                None if path.is_some() => self.brought(&tree),
                None => self.fills(&tree),
            }
        }
    }

    /// Records the content of an archive that the command itself makes.
    pub(super) fn packed_tree(&mut self, name: &str, arguments: &[String]) {
        if let Some((file, mut sources)) = trees::packed(name, arguments) {
            for (from, _) in &mut sources {
                if let From::Directory(path) = from {
                    *path = absolute(&self.state.directory, path);
                }
            }
            let file = file.map(|file| absolute(&self.state.directory, &file));
            self.world.archives.push((file, sources));
        }
    }

    fn unpacked(&mut self, tree: &Tree, sources: Vec<(From, String)>) {
        for (from, member) in sources {
            let mut tree = Tree {
                from,
                ..tree.clone()
            };
            if tree.members.is_empty() && !member.is_empty() {
                tree.members.push(member);
            }
            self.brought(&tree);
        }
    }

    /// Lists the source of one tree and judges the paths that would arrive.
    fn brought(&mut self, tree: &Tree) {
        for (source, target) in self.placements(tree) {
            let matters = self
                .guard
                .is_some_and(|guard| guard.may_arrive(&target, &self.start, &self.home));
            if !matters {
                continue;
            }
            match self.listed(tree, &source, &target) {
                Listing::Clean => {}
                Listing::Found(path) => self.arrived(tree, &path),
                Listing::Missing => self.fills(tree),
                Listing::Unknown => {
                    self.fills(tree);
                    self.unlisted(&target);
                }
            }
        }
    }

    /// Returns the placements of a source: the source, and the directory that its entries are relative to.
    fn placements(&mut self, tree: &Tree) -> Vec<(String, String)> {
        let written = tree.target.clone().unwrap_or_else(|| ".".to_owned());
        if has_hole(&written) || has_hole(&self.state.directory) {
            return Vec::new();
        }
        let here = self
            .world
            .lookup
            .real(&absolute(&self.state.directory, &written));
        let From::Directory(path) = &tree.from else {
            if is_git(&tree.from) && tree.target.is_none() {
                let repository = self.repository();
                let top = repository.strip_suffix("/.git").map(str::to_owned);
                let top = top.unwrap_or_else(|| self.state.directory.to_string());
                return vec![(String::new(), top)];
            }
            return vec![(String::new(), here)];
        };
        let source = absolute(&self.state.directory, path);
        let name = base_name(&source).to_owned();
        let is_there = written.ends_with('/')
            || matches!(base_name(&written), "." | "..")
            || !self.world.lookup.list(&here).is_empty();
        let inside = (
            source.clone(),
            format!("{}/{name}", here.trim_end_matches('/')),
        );
        match (tree.named, is_there) {
            (true, true) => vec![inside],
            (true, false) => vec![inside, (source, here)],
            (false, _) => vec![(source, here)],
        }
    }

    /// Searches for refused paths first, then for those that a person may approve, then for those that lead to a
    /// question.
    fn listed(&self, tree: &Tree, source: &str, target: &str) -> Listing {
        let order = [
            (Verdict::Deny, false),
            (Verdict::Deny, true),
            (Verdict::Ask, false),
        ];
        let mut listings = order
            .into_iter()
            .map(|wanted| self.listed_once(tree, source, target, wanted));
        let found = listings.find(|listing| *listing != Listing::Clean);
        found.unwrap_or(Listing::Clean)
    }

    fn listed_once(
        &self,
        tree: &Tree,
        source: &str,
        target: &str,
        wanted: (Verdict, bool),
    ) -> Listing {
        let Some(guard) = self.guard else {
            return Listing::Clean;
        };
        let here = &*self.state.directory;
        let found = RefCell::new(None);
        let is_wanted = |path: &String| {
            let verdict = guard.arriving(path, &self.start, &self.home);
            verdict == Some(wanted) && (!is_git(&tree.from) || is_member(tree, path, here))
        };
        let links = RefCell::new(BTreeMap::new());
        let arrives = |entry: &str| {
            let rests = tree.arrivals(entry).into_iter();
            let paths = rests.map(|rest| self.through_link(target, &rest, &links));
            let path = paths.into_iter().find(is_wanted);
            let arrives = path.is_some();
            found.replace(path);
            arrives
        };
        let git = |from| {
            let directory = here;
            self.world
                .lookup
                .search(Source::Git { directory, from }, &arrives)
        };
        let listing = match &tree.from {
            From::Directory(path) if path.contains(HOLE) => Listing::Unknown,
            From::Directory(path) if has_hole(path) && self.is_handed_on() => Listing::Unknown,
            From::Directory(path) if has_hole(path) => Listing::Clean,
            From::Directory(_) => self.listed_directory(source, &arrives),
            From::Archive(path) if has_hole(path) => Listing::Missing,
            From::Archive(path) => {
                let path = absolute(here, path);
                self.world.lookup.search(Source::Archive(&path), &arrives)
            }
            From::Revision(name) => git(Snapshot::Tree(name)),
            From::Restored(name) => git(Snapshot::Restored(name)),
            From::Merge(name) => git(Snapshot::Merge(name)),
            From::Commit(name) => git(Snapshot::Commit(name)),
            From::Reverted(name) => git(Snapshot::Reverted(name)),
            From::Index => git(Snapshot::Index),
            From::Input | From::Elsewhere => Listing::Unknown,
        };
        match (listing, found.take()) {
            (Listing::Found(_), Some(path)) => Listing::Found(path),
            (listing, _) => listing,
        }
    }

    /// Returns `true` if the arguments come from the output of another program.
    fn is_handed_on(&self) -> bool {
        let mut chain = self.notes.chain.iter();
        chain.any(|link| matches!(link.as_str(), "xargs" | "parallel"))
    }

    /// Returns the path at which an entry arrives, if its first part can be a link in the target.
    fn through_link(
        &self,
        target: &str,
        rest: &str,
        links: &RefCell<BTreeMap<String, String>>,
    ) -> String {
        let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
        let mut links = links.borrow_mut();
        let real = links.entry(first.to_owned()).or_insert_with(|| {
            let place = absolute(target, first);
            self.world.lookup.real(&place)
        });
        absolute(real, below)
    }

    /// Lists a directory on the disk, with the files that this command wrote there.
    fn listed_directory(&self, source: &str, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
        let (directory, first) = match base_name(source) {
            name if pattern::is_active(name) => (directory_of(source), Some(name.to_owned())),
            _ => (source, None),
        };
        let is_wanted = |entry: &str| match &first {
            Some(first) => {
                let (top, rest) = entry.split_once('/').unwrap_or((entry, ""));
                // The name that matched is part of the arriving path, the rest is below it.
                pattern::matches(first, top) && (is_wanted(entry) || is_wanted(rest))
            }
            None => is_wanted(entry),
        };
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let own = self.world.written.keys();
        for path in own {
            if let Some(entry) = path.strip_prefix(&prefix).filter(|entry| is_wanted(entry)) {
                return Listing::Found(entry.to_owned());
            }
        }
        let is_changed =
            |place: &String| prefix.starts_with(&format!("{place}/")) || place.starts_with(&prefix);
        let mut changed = self.world.changed.iter();
        if changed.any(|(place, why)| is_changed(place) && !why.starts_with("git")) {
            return Listing::Unknown;
        }
        self.world
            .lookup
            .search(Source::Directory(directory), &is_wanted)
    }

    /// Handles a protected path that arrives.
    fn arrived(&mut self, tree: &Tree, path: &str) {
        let touch = match tree.from.revision() {
            Some(name) if self.is_bound(name) => Touch::Bound,
            _ => Touch::Write,
        };
        self.touch(touch, path);
    }

    /// Returns `true` if a revision is a commit by its whole id, or a branch or tag: the state of the repository that
    /// an approval binds includes these, and neither remote branches nor reflogs.
    fn is_bound(&mut self, name: &str) -> bool {
        let is_id = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if matches!(name.len(), 40 | 64) && is_id(name) {
            return true;
        }
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        if name.starts_with(['-', '.', '/']) || name.contains("..") || !name.bytes().all(is_sign) {
            return false;
        }
        let repository = self.repository();
        let is_file = |path: &str| {
            let read = self.world.lookup.read(&format!("{repository}/{path}"));
            !matches!(read, Content::Missing)
        };
        // Git prefers a file of that name to all refs.
        if is_file(name) || is_file(&format!("refs/{name}")) {
            return false;
        }
        let packed = match self.world.lookup.read(&format!("{repository}/packed-refs")) {
            Content::Text(text) => text,
            _ => String::new(),
        };
        ["heads", "tags"].iter().any(|kind| {
            let path = format!("refs/{kind}/{name}");
            let is_packed = || {
                packed
                    .lines()
                    .any(|line| line.ends_with(&format!(" {path}")))
            };
            is_file(&path) || is_packed()
        })
    }

    /// Handles files that cannot be listed: they go into a directory, or are named.
    fn fills(&mut self, tree: &Tree) {
        let target = tree.target.clone().unwrap_or_else(|| ".".to_owned());
        self.touch(Touch::Fill, &target);
        for member in &tree.members {
            self.touch(Touch::Fill, &format!("{target}/{member}"));
        }
    }

    /// Handles an existing source that cannot be listed, and whose target contains protected things.
    fn unlisted(&mut self, target: &str) {
        let Some(guard) = self.guard else { return };
        if let Some(guarded) = guard.unlisted(target, &self.home) {
            self.guarded(guarded);
        }
    }
}

fn is_git(from: &From) -> bool {
    matches!(
        from,
        From::Revision(_)
            | From::Restored(_)
            | From::Merge(_)
            | From::Commit(_)
            | From::Reverted(_)
            | From::Index
    )
}

/// Returns `true` if the git command names this path.
fn is_member(tree: &Tree, path: &str, here: &str) -> bool {
    let names = |member: &String| {
        let place = absolute(here, member);
        let below = path.strip_prefix(&place);
        member.contains(['*', '?', '[', ':'])
            || has_hole(member)
            || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || place == "/")
    };
    tree.members.is_empty() || tree.members.iter().any(names)
}
