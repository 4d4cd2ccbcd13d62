//! Things that an agent may not touch while the gate is on: our own rules and keys, the agents' settings, our binary.
//! Files that only start programs later (git hooks, shell start files) lead to a question.
//!
//! Paths are compared as written and with links resolved, and without regard to case. [`programs`] returns the files
//! that a program reads or writes by its arguments, [`inputs`] does the same for tools that are not shells, [`own`]
//! lists our commands that are for people.

pub mod agents;
mod excludes;
mod git_files;
pub mod git_settings;
mod git_trees;
pub mod inputs;
pub mod links;
pub mod own;
pub mod processes;
pub mod programs;
mod search;
mod searches;
pub mod snapshots;
mod things;
pub mod trees;

use actions::lookup::{Lookup, absolute, base_name};
use authority::verdict::Verdict;
use shell::ir::Span;
use shell::pattern;
use shell::value::{for_people, has_hole};

use things::{SETTINGS, START_FILES, Thing};

/// Locations of our things that their names do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Root of the workspace, a real path.
    pub root: Option<String>,
    /// Our programs, real paths.
    pub binaries: Vec<String>,
    /// Directories of the user's trust store and of its copy, real paths.
    pub trust: Vec<String>,
    /// Things of these names that are links: the target of each, and its name.
    pub linked: Vec<(String, String)>,
}

/// A protected thing that a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Path or command.
    pub what: String,
    /// Reason for the refusal or question, a whole sentence.
    pub reason: String,
    /// The verdict, [`Verdict::Ask`] or [`Verdict::Deny`].
    pub verdict: Verdict,
    /// Part of the command that shows it.
    pub span: Option<Span>,
    /// Set if a person's approval binds the exact content, so that it counts although this is refused.
    pub is_bound: bool,
}

impl Guarded {
    pub fn new(what: impl Into<String>, verdict: Verdict, reason: String) -> Self {
        Self {
            what: what.into(),
            reason,
            verdict,
            span: None,
            is_bound: false,
        }
    }
}

/// Use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Its content is read.
    Read,
    /// It and everything below is read.
    Take,
    /// It is created, changed or removed.
    Write,
    /// The same, by a commit that the state of the repository names: an approval binds both.
    Bound,
    /// It and everything below is moved or removed.
    Tree,
    /// It and everything below gets another name.
    Link,
    /// Files of any name may be created below it.
    Fill,
    /// It is an argument of a program that is not known to be read-only, which counts as a change.
    Given,
    /// It is named in a position with other possible meanings.
    Named,
}

/// Limit of the keys of one workspace that are compared with a pattern.
const MAX_KEYS: usize = 1024;

/// Returns `true` if a path is this directory or inside it.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || directory.ends_with('/'))
}

impl Guard {
    /// Returns the thing that a path names: by its parts, and by the names of links that lead to it.
    fn thing(&self, path: &str, home: &str) -> Option<Thing> {
        let mut names = self.names_by_link(path);
        self.named(path, home)
            .or_else(|| names.find_map(|name| self.named(&name, home)))
    }

    /// Returns the names that links give to a path.
    fn names_by_link(&self, path: &str) -> impl Iterator<Item = String> {
        self.linked.iter().filter_map(move |(real, name)| {
            let rest = path.strip_prefix(real.as_str())?;
            is_within(path, real).then(|| format!("{name}{rest}"))
        })
    }

    fn named(&self, path: &str, home: &str) -> Option<Thing> {
        if self.binaries.iter().any(|binary| binary == path) {
            return Some(Thing::Binary);
        }
        let in_trust = |folder: &str| things::can_be_within(path, folder);
        if self.trust.iter().any(|folder| in_trust(folder)) {
            return Some(Thing::Trust);
        }
        things::named(&path.to_lowercase(), home)
    }

    /// Returns `false` if no file below `target` can be a thing that is read.
    pub fn may_arrive(&self, target: &str, start: &str, home: &str) -> bool {
        let root = self.root.as_deref().unwrap_or(start);
        let own = self.linked.iter().map(|(real, _)| real.as_str());
        let mut own = own
            .chain(self.binaries.iter().map(String::as_str))
            .chain(self.trust.iter().map(String::as_str));
        own.any(|place| is_within(place, target) || is_within(target, place))
            || [root, start, home]
                .iter()
                .any(|place| is_within(place, target))
            || target.contains("/.")
    }

    /// Returns the question about a source that cannot be listed and is written over the workspace or the home
    /// directory.
    pub fn unlisted(&self, target: &str, home: &str) -> Option<Guarded> {
        let holds = |place: &str| place.len() > 1 && is_within(place, target);
        if !self.root.as_deref().is_some_and(holds) && !holds(home) {
            return None;
        }
        let shown = for_people(target);
        let reason = format!(
            "it brings files that cannot be listed into `{shown}`, where rules of Role OS or settings of agents lie; \
             copy or unpack into a new folder first"
        );
        Some(Guarded::new(shown, Verdict::Ask, reason))
    }

    /// Returns the answer to a file of a tree that arrives at `path`, where an agent or the gate would read it: in
    /// the workspace's root, in the directory where the command starts or one between them, or in the home directory.
    /// The second part is `true` if a person's approval may allow it.
    pub fn arriving(&self, path: &str, start: &str, home: &str) -> Option<(Verdict, bool)> {
        let is_ours = self.binaries.iter().any(|binary| binary == path);
        let in_trust = |folder: &str| is_within(path, folder);
        if is_ours || self.trust.iter().any(|folder| in_trust(folder)) {
            return Some((Verdict::Deny, false));
        }
        let root = self.root.as_deref().unwrap_or(start);
        let is_read = |folder: &str| {
            let is_between = is_within(start, folder) && is_within(folder, root);
            is_between || [home, root, start].contains(&folder)
        };
        let mut names = self.names_by_link(path).chain([path.to_owned()]);
        names.find_map(|path| {
            let (thing, folder) = things::located(&path, home)?;
            is_read(&folder).then(|| (thing.verdict(), thing == Thing::Settings))
        })
    }

    /// Returns the thing among the existing files that a pattern for all hidden files names.
    fn hidden_thing(&self, path: &Hidden, home: &str, lookup: &dyn Lookup) -> Option<Thing> {
        let names = lookup.list(path.directory);
        let mut matching = names
            .iter()
            .filter(|name| pattern::matches(path.pattern, name));
        matching.find_map(|name| {
            let whole = format!("{}/{name}{}", path.directory, path.rest);
            self.thing(&whole, home)
                .or_else(|| self.below(&whole, "", lookup))
        })
    }

    /// Returns our thing below a path.
    fn below(&self, path: &str, home: &str, lookup: &dyn Lookup) -> Option<Thing> {
        let has = |name: &str| !lookup.list(&format!("{path}/{name}")).is_empty();
        let name = base_name(path).to_lowercase();
        let holds = |directory: &str| !directory.is_empty() && things::can_hold(path, directory);
        if self.root.as_deref().is_some_and(holds) || has(".role-os") {
            return Some(Thing::Ours);
        }
        if self.binaries.iter().any(|binary| holds(binary)) {
            return Some(Thing::Binary);
        }
        if self.trust.iter().any(|folder| holds(folder)) {
            return Some(Thing::Trust);
        }
        if self.is_snapshot(path) {
            return Some(Thing::Snapshot);
        }
        if self.linked.iter().any(|(real, _)| holds(real)) {
            return Some(Thing::Settings);
        }
        let settings = |directory: &str| {
            let names = lookup.list(directory);
            names
                .iter()
                .any(|name| name == "role-os" || name.starts_with("settings"))
        };
        let of_agent = SETTINGS.iter().find(|(directory, _)| name == *directory);
        let holds_settings = of_agent.is_some_and(|(_, entries)| {
            let names = lookup.list(path);
            let mut pairs = names
                .iter()
                .flat_map(|name| entries.iter().map(move |entry| (entry, name)));
            pairs.any(|(entry, name)| pattern::matches(entry, &name.to_lowercase()))
        });
        if name == ".claude" || holds_settings || settings(&format!("{path}/.claude")) {
            return Some(Thing::Settings);
        }
        let starts = || START_FILES.iter().any(|name| is_there(lookup, home, name));
        (home.len() > 1 && holds(home) && starts()).then_some(Thing::StartFile)
    }

    /// Returns `true` if a path is the workspace's repository or a directory in it without which the snapshots are
    /// lost.
    fn is_snapshot(&self, path: &str) -> bool {
        let in_root = self.root.as_deref().and_then(|root| {
            let rest = path.strip_prefix(root)?;
            rest.strip_prefix("/.git")
        });
        in_root.is_some_and(|rest| matches!(rest, "" | "/refs" | "/objects"))
    }

    /// Returns `true` if there are keys below a path.
    fn has_keys_below(&self, path: &str, lookup: &dyn Lookup) -> bool {
        let has = |root: &str| !lookup.list(&format!("{root}/.role-os/keys")).is_empty();
        self.roots_below(path).any(has)
    }

    /// Returns the workspaces that a path is or contains.
    fn roots_below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let root = self.root.as_deref();
        root.filter(|root| *root != path && is_within(root, path))
            .into_iter()
            .chain([path])
    }

    /// Returns the keys below a path by their real names, relative to the workspace's root.
    pub fn keys_below(&self, path: &str, lookup: &dyn Lookup) -> Vec<String> {
        let mut keys = Vec::new();
        for root in self.roots_below(path) {
            let mut open = vec![".role-os/keys".to_owned()];
            while let Some(folder) = open.pop().filter(|_| keys.len() < MAX_KEYS) {
                for name in lookup.list(&format!("{root}/{folder}")) {
                    open.push(format!("{folder}/{name}"));
                }
                keys.push(folder);
            }
        }
        keys
    }

    /// Returns the objection to touching a path. `directory` is the base of a relative one.
    pub fn judge(
        &self,
        touch: Touch,
        written: &str,
        directory: &str,
        home: &str,
        lookup: &dyn Lookup,
    ) -> Option<Guarded> {
        let joined = joined(written, directory, home);
        let plain = absolute("/", &joined);
        let mut thing = match all_hidden(&plain) {
            // A program's own pattern, as in `--accept-hosts '.*'`.
            Some(_) if matches!(touch, Touch::Named | Touch::Given) => return None,
            Some(hidden) => self.hidden_thing(&hidden, home, lookup),
            None => self.thing(&plain, home),
        };
        let known = !has_hole(&joined) && !joined.contains(['*', '?', '[']);
        let mut real = plain;
        if thing.is_none() && known && touch != Touch::Named {
            let followed = lookup.real(&joined);
            if followed != real {
                thing = self.thing(&followed, home);
                real = followed;
            }
        }
        let (verdict, thing, does) = self.weigh(touch, thing, &real, home, lookup)?;
        let shown = for_people(written);
        let reason = format!("{does} `{shown}`: {}", thing.why());
        Some(Guarded {
            is_bound: touch == Touch::Bound && thing == Thing::Settings,
            ..Guarded::new(shown, verdict, reason)
        })
    }

    fn weigh(
        &self,
        touch: Touch,
        thing: Option<Thing>,
        path: &str,
        home: &str,
        lookup: &dyn Lookup,
    ) -> Option<(Verdict, Thing, &'static str)> {
        match (touch, thing) {
            (Touch::Read | Touch::Take | Touch::Given | Touch::Named, Some(Thing::Keys)) => {
                Some((Verdict::Deny, Thing::Keys, "it reads"))
            }
            (Touch::Take, Some(Thing::Ours)) if pattern::matches(base_name(path), ".role-os") => {
                Some((Verdict::Deny, Thing::Keys, "it copies the keys in"))
            }
            (Touch::Take, None) if self.has_keys_below(path, lookup) => {
                Some((Verdict::Ask, Thing::Keys, "it may copy the keys below"))
            }
            (Touch::Read | Touch::Take, _) => None,
            (Touch::Named, Some(thing)) if thing.is_denied() => {
                Some((Verdict::Ask, thing, "it may change"))
            }
            (Touch::Given, Some(thing)) if thing.is_denied() => {
                Some((Verdict::Deny, thing, "it may change"))
            }
            (Touch::Given, None) if things::is_settings_folder(&path.to_lowercase()) => {
                Some((Verdict::Deny, Thing::Settings, "it may change files in"))
            }
            (Touch::Given | Touch::Named, _) => None,
            (
                Touch::Write | Touch::Bound | Touch::Tree | Touch::Link | Touch::Fill,
                Some(thing),
            ) => Some((thing.verdict(), thing, "it changes")),
            (Touch::Tree, None) => {
                let thing = self.below(path, home, lookup)?;
                Some((thing.verdict(), thing, "it removes or moves all below"))
            }
            (Touch::Link, None) => {
                let thing = self.below(path, home, lookup)?;
                Some((thing.verdict(), thing, "it gives another name to all below"))
            }
            (Touch::Fill, None) if things::is_settings_folder(&path.to_lowercase()) => Some((
                Verdict::Deny,
                Thing::Settings,
                "it brings files that cannot be listed into",
            )),
            (Touch::Write | Touch::Bound | Touch::Fill, None) => None,
        }
    }
}

/// Returns `true` if a file or a directory with files exists, or may exist.
fn is_there(lookup: &dyn Lookup, directory: &str, name: &str) -> bool {
    let path = format!("{directory}/{name}");
    lookup.has(&path)
}

/// A path with a pattern for all hidden files: `.*`, `.[!.]*`, `.??*`.
struct Hidden<'p> {
    directory: &'p str,
    pattern: &'p str,
    rest: &'p str,
}

fn all_hidden(path: &str) -> Option<Hidden<'_>> {
    let (at, _) = path.match_indices("/.").find(|(at, _)| {
        path.get(at.saturating_add(2)..)
            .is_some_and(|rest| rest.starts_with(['*', '?', '[']))
    })?;
    let directory = path.get(..at)?;
    let name = path.get(at.saturating_add(1)..)?;
    let end = name.find('/').unwrap_or(name.len());
    let known = !has_hole(directory) && !directory.contains(['*', '?', '[']);
    known.then_some(Hidden {
        directory,
        pattern: name.get(..end)?,
        rest: name.get(end..)?,
    })
}

/// Returns the path with its directory in front, `..` included: only the machine knows the parent of a link's target.
fn joined(written: &str, directory: &str, home: &str) -> String {
    let written = written.strip_prefix("file://").unwrap_or(written);
    if written == "~" {
        return home.to_owned();
    }
    if let Some(rest) = written.strip_prefix("~/") {
        return format!("{home}/{rest}");
    }
    if written.starts_with('/') || directory.is_empty() {
        return written.to_owned();
    }
    format!("{directory}/{written}")
}
