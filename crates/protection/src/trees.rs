//! Programs that write a whole tree into a directory: targets and sources.
//!
//! One description, [`Tree`], serves all of them; `oversight` lists the source and compares each entry with the
//! protected things.

use actions::lookup::base_name;
use shell::pattern;
use shell::words::names;

use crate::git_trees;
use crate::programs::{has_flag, is_remote, operands, value};

/// A tree that a program writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Target directory. For git, the top of the working tree unless it is given here.
    pub target: Option<String>,
    /// Source of the tree.
    pub from: From,
    /// Set if a directory goes into the target under its own name, if the target is already a directory.
    pub named: bool,
    /// Number of leading parts that are removed from each entry.
    pub strip: usize,
    /// Entries that are written, with everything below them; empty for all.
    pub members: Vec<String>,
    /// Patterns of names that are omitted.
    pub excludes: Vec<String>,
    /// Set if each entry can go into the target by any end of its path, as with `find -exec cp`.
    pub scattered: bool,
}

/// Source of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum From {
    Directory(String),
    Archive(String),
    /// An archive on the standard input.
    Input,
    /// The tree of a revision.
    Revision(String),
    /// The same, with changes on the disk overwritten.
    Restored(String),
    /// Additions of a revision to `HEAD`.
    Merge(String),
    /// Changes of a commit.
    Commit(String),
    /// Inverse changes of a commit.
    Reverted(String),
    Index,
    /// A source that cannot be listed, such as another machine.
    #[default]
    Elsewhere,
}

impl From {
    /// Returns the revision of the files.
    pub fn revision(&self) -> Option<&str> {
        match self {
            Self::Revision(name)
            | Self::Restored(name)
            | Self::Merge(name)
            | Self::Commit(name)
            | Self::Reverted(name) => Some(name),
            _ => None,
        }
    }
}

impl Tree {
    pub fn new(from: From, target: Option<String>) -> Self {
        Self {
            target,
            from,
            ..Self::default()
        }
    }

    /// Returns the paths, relative to the target, at which an entry of the source can arrive.
    pub fn arrivals(&self, entry: &str) -> Vec<String> {
        let entry = entry.trim_start_matches("./").trim_end_matches('/');
        let is_left_out = |pattern: &String| {
            // An anchored pattern omits less than its name suggests.
            if pattern.starts_with('/') {
                return false;
            }
            let pattern = pattern.trim_end_matches('/').trim_start_matches("./");
            pattern::matches(pattern, entry)
                || entry.split('/').any(|part| pattern::matches(pattern, part))
        };
        if self.excludes.iter().any(is_left_out) || !self.takes(entry) {
            return Vec::new();
        }
        if self.scattered {
            let starts = entry.match_indices('/').map(|(at, _)| at.saturating_add(1));
            let ends = std::iter::once(0).chain(starts);
            return ends
                .filter_map(|at| entry.get(at..).map(str::to_owned))
                .collect();
        }
        let rest: Vec<&str> = entry.split('/').skip(self.strip).collect();
        if rest.is_empty() {
            return Vec::new();
        }
        vec![rest.join("/")]
    }

    /// Returns `true` if an entry is among the members. The caller compares those of git.
    fn takes(&self, entry: &str) -> bool {
        let is_git = !matches!(
            self.from,
            From::Directory(_) | From::Archive(_) | From::Input
        );
        let fits = |member: &String| {
            let member = member.trim_start_matches("./").trim_end_matches('/');
            let below = entry.strip_prefix(member);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                || pattern::matches(member, entry)
                || entry
                    .split_once('/')
                    .is_some_and(|(top, _)| pattern::matches(member, top))
        };
        is_git || self.members.is_empty() || self.members.iter().any(fits)
    }
}

/// Returns the trees that a program writes.
pub fn written(name: &str, arguments: &[String]) -> Vec<Tree> {
    match name {
        "cp" | "mv" | "ln" | "ditto" | "scp" | "rsync" => copied(name, arguments),
        "tar" | "bsdtar" | "gtar" | "jar" => TarCall::parse(arguments).extracted(name),
        "unzip" => unzipped(arguments),
        "7z" | "7za" | "7zr" | "7zz" | "unrar" | "cpio" | "bsdcpio" | "pax" => {
            unpacked(name, arguments)
        }
        "python" => by_module(arguments),
        "find" | "fd" | "fdfind" => found(arguments),
        "git" => git_trees::written(arguments),
        "patch" => vec![Tree::new(From::Input, None)],
        _ => Vec::new(),
    }
}

/// File of an archive, or `None` for the output of the program, and its sources with the part that is packed.
pub type Packed = (Option<String>, Vec<(From, String)>);

/// Returns the archive that a program writes.
pub fn packed(name: &str, arguments: &[String]) -> Option<Packed> {
    match name {
        "tar" | "bsdtar" | "gtar" | "jar" => TarCall::parse(arguments).created(),
        "git" => git_trees::archived(arguments),
        _ => None,
    }
}

/// Options of copying programs that take the next argument.
const VALUED: &[&str] = names!(
    "-t --target-directory -S --suffix -e --rsh --exclude --include --filter -f --exclude-from --include-from \
    --files-from --backup-dir --link-dest --compare-dest --copy-dest --partial-dir --temp-dir -T --log-file --chmod \
    --chown --bwlimit --port --rsync-path --max-size --min-size --timeout -i -P -o -F -J"
);

/// Returns the arguments without options and their values.
fn plain<'w>(arguments: &'w [String], valued: &[&str]) -> Vec<&'w String> {
    let mut words = arguments.iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            found.extend(words);
            break;
        }
        if valued.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') || word == "-" {
            found.push(word);
        }
    }
    found
}

fn copied(name: &str, arguments: &[String]) -> Vec<Tree> {
    let deep = matches!(name, "mv" | "ln" | "ditto")
        || has_flag(arguments, "rRa", &["--recursive", "--archive", "--dirs"]);
    if !deep {
        return Vec::new();
    }
    // `-T` of `cp` and similar programs is a switch, that of `rsync` takes a directory.
    let valued: Vec<&str> = match name {
        "rsync" => VALUED.to_vec(),
        "scp" => names!("-i -P -o -F -J -c -l -S").to_vec(),
        _ => names!("-t --target-directory -S --suffix").to_vec(),
    };
    let mut words = plain(arguments, &valued);
    let named = value(arguments, &["-t", "--target-directory"]);
    let target = match named.first().filter(|_| !matches!(name, "rsync" | "scp")) {
        Some(target) => Some((*target).to_owned()),
        None if words.len() > 1 => words.pop().cloned(),
        None if name == "ln" => Some(".".to_owned()),
        None => None,
    };
    let Some(target) = target.filter(|target| !is_remote(target)) else {
        return Vec::new();
    };
    let whole = name == "ditto"
        || (name != "rsync" && has_flag(arguments, "T", &["--no-target-directory"]))
        || (name == "ln" && has_flag(arguments, "n", &["--no-dereference"]));
    // Rules before an exclusion can override it.
    let has_rules = ["--include", "--filter", "--files-from", "-f", "-F"];
    let has_rules = |word: &String| has_rules.iter().any(|rule| word.starts_with(rule));
    let is_plain = name == "rsync" && !arguments.iter().any(has_rules);
    let excludes: Vec<String> = value(arguments, &["--exclude"])
        .into_iter()
        .filter(|_| is_plain)
        .map(str::to_owned)
        .collect();
    let tree = |word: &&String| {
        let contents =
            *word == "." || word.ends_with("/.") || (name == "rsync" && word.ends_with('/'));
        let from = if is_remote(word) {
            From::Elsewhere
        } else {
            From::Directory((*word).clone())
        };
        Tree {
            named: !contents && !whole,
            excludes: excludes.clone(),
            ..Tree::new(from, Some(target.clone()))
        }
    };
    words.iter().map(tree).collect()
}

/// The arguments of `tar`, parsed.
#[derive(Default)]
struct TarCall {
    letters: String,
    file: Option<String>,
    directory: Option<String>,
    strip: usize,
    excludes: Vec<String>,
    /// Set if exclusions match less than their names suggest.
    is_anchored: bool,
    renames: bool,
    names: Vec<String>,
}

impl TarCall {
    fn parse(arguments: &[String]) -> Self {
        let mut call = Self::default();
        let mut words = arguments.iter();
        let mut first = true;
        while let Some(word) = words.next() {
            let old = std::mem::take(&mut first) && !word.starts_with('-');
            if let Some(option) = word.strip_prefix("--").filter(|_| !old) {
                let (key, value) = option.split_once('=').unwrap_or((option, ""));
                let key = whole_option(key);
                let valued = matches!(
                    key,
                    "file" | "directory" | "strip-components" | "exclude" | "transform" | "xform"
                );
                let value = match value {
                    "" if valued => words.next().map_or("", String::as_str),
                    value => value,
                };
                call.long(key, value);
            } else if old {
                for letter in word.chars() {
                    call.letters.push(letter);
                    if takes_value(letter) {
                        call.short(letter, words.next().map_or("", String::as_str));
                    }
                }
            } else if let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                for (at, letter) in cluster.char_indices() {
                    call.letters.push(letter);
                    if takes_value(letter) {
                        let glued = cluster.get(at.saturating_add(letter.len_utf8())..);
                        let glued = glued.filter(|rest| !rest.is_empty());
                        let next = || words.next().map(String::as_str);
                        call.short(letter, glued.or_else(next).unwrap_or_default());
                        break;
                    }
                }
            } else {
                call.names.push(word.clone());
            }
        }
        call
    }

    fn long(&mut self, key: &str, value: &str) {
        match key {
            "extract" | "get" => self.letters.push('x'),
            "create" => self.letters.push('c'),
            "file" => self.file = Some(value.to_owned()),
            "directory" => self.directory = Some(value.to_owned()),
            "strip-components" => self.strip = value.parse().unwrap_or(0),
            "one-top-level" if !value.is_empty() => self.directory = Some(value.to_owned()),
            "exclude" => self.excludes.push(value.to_owned()),
            "anchored" | "no-wildcards" | "no-wildcards-match-slash" | "include" => {
                self.is_anchored = true;
            }
            "transform" | "xform" => self.renames = true,
            _ => {}
        }
    }

    fn short(&mut self, letter: char, value: &str) {
        match letter {
            'f' => self.file = Some(value.to_owned()),
            'C' => self.directory = Some(value.to_owned()),
            's' => self.renames = true,
            _ => {}
        }
    }

    fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    fn extracted(self, name: &str) -> Vec<Tree> {
        if !self.has('x') || self.has('c') || self.has('t') || self.has('O') {
            return Vec::new();
        }
        let from = match self.file {
            _ if self.renames => From::Elsewhere,
            Some(file) if file != "-" => From::Archive(file),
            _ => From::Input,
        };
        let target = self.directory.filter(|_| name != "jar");
        vec![Tree {
            strip: self.strip,
            members: self.names,
            excludes: if self.is_anchored {
                Vec::new()
            } else {
                self.excludes
            },
            ..Tree::new(from, Some(target.unwrap_or_else(|| ".".to_owned())))
        }]
    }

    fn created(self) -> Option<Packed> {
        if !self.has('c') {
            return None;
        }
        let directory = self.directory.unwrap_or_else(|| ".".to_owned());
        let source = |name: &String| match name.trim_start_matches("./") {
            _ if self.renames => (From::Elsewhere, String::new()),
            "" | "." => (From::Directory(directory.clone()), String::new()),
            member => (From::Directory(directory.clone()), member.to_owned()),
        };
        let sources = self.names.iter().map(source).collect();
        Some((self.file.filter(|file| file != "-"), sources))
    }
}

/// Returns the full name of a long option of `tar`: options can be abbreviated.
fn whole_option(key: &str) -> &str {
    const OPTIONS: &[&str] = names!(
        "extract get create file directory strip-components exclude transform xform one-top-level anchored \
        no-wildcards include"
    );
    let mut fitting = OPTIONS
        .iter()
        .filter(|option| key.len() > 2 && option.starts_with(key));
    fitting.next().copied().unwrap_or(key)
}

/// Returns `true` if a short option of `tar` takes a value.
fn takes_value(letter: char) -> bool {
    "fCbXTKNVgIHLs".contains(letter)
}

fn unzipped(arguments: &[String]) -> Vec<Tree> {
    if has_flag(arguments, "lptvZz", &[]) {
        return Vec::new();
    }
    let excluded = arguments.iter().skip_while(|word| *word != "-x").skip(1);
    let excludes: Vec<String> = excluded
        .take_while(|word| !word.starts_with('-'))
        .cloned()
        .collect();
    let mut words = plain(arguments, &["-d", "-P", "-x"]);
    words.retain(|word| !excludes.contains(word));
    let Some((archive, members)) = words.split_first() else {
        return Vec::new();
    };
    let target = value(arguments, &["-d"])
        .first()
        .map_or(".", |target| target)
        .to_owned();
    // `unzip` compares whole paths with its exclusions, so nothing counts as omitted.
    vec![Tree {
        members: members.iter().map(|member| (*member).clone()).collect(),
        scattered: has_flag(arguments, "j", &[]),
        ..Tree::new(From::Archive((*archive).clone()), Some(target))
    }]
}

/// Returns the trees of `7z x archive -otarget`, `unrar x archive target/`, `cpio -i`, `pax -r`.
fn unpacked(name: &str, arguments: &[String]) -> Vec<Tree> {
    let words = operands(arguments);
    let brings = match name {
        "cpio" | "bsdcpio" => has_flag(arguments, "ip", &["--extract", "--pass-through"]),
        "pax" => has_flag(arguments, "r", &[]),
        _ => words
            .first()
            .is_some_and(|verb| matches!(verb.as_str(), "x" | "e")),
    };
    let folder = words.iter().skip(1).rfind(|word| word.ends_with('/'));
    let passed = words
        .last()
        .filter(|_| name.ends_with("cpio") && has_flag(arguments, "p", &[]));
    let named = value(arguments, &["-o", "-D", "--directory"]);
    let named = named.first().map(|word| (*word).to_owned());
    let target = named.or_else(|| Some((*folder.or(passed)?).clone()));
    let target = target.unwrap_or_else(|| ".".to_owned());
    let files: &[&str] = if name == "pax" {
        &["-f"]
    } else {
        &["-F", "-I", "--file"]
    };
    let from = match (value(arguments, files).first(), words.get(1)) {
        _ if passed.is_some() => From::Elsewhere,
        (Some(file), _) => From::Archive((*file).to_owned()),
        (None, Some(file)) if !name.ends_with("cpio") && name != "pax" => {
            From::Archive((*file).clone())
        }
        _ => From::Input,
    };
    let tree = brings.then(|| Tree::new(from, Some(target)));
    tree.into_iter().collect()
}

/// Returns the trees of `python -m zipfile -e archive target`, `python -m tarfile -e archive`.
fn by_module(arguments: &[String]) -> Vec<Tree> {
    let module = value(arguments, &["-m"]);
    let Some(("zipfile" | "tarfile", extracts)) = module
        .first()
        .map(|module| (*module, has_flag(arguments, "e", &["--extract"])))
    else {
        return Vec::new();
    };
    let words: Vec<&String> = operands(arguments).into_iter().skip(1).collect();
    let Some((archive, rest)) = words.split_first().filter(|_| extracts) else {
        return Vec::new();
    };
    let target = rest.first().map_or(".", |word| word.as_str()).to_owned();
    vec![Tree::new(From::Archive((*archive).clone()), Some(target))]
}

/// Returns the trees of `find y -name .claude -exec cp -r {} . ;`: any directory below the root can be copied.
fn found(arguments: &[String]) -> Vec<Tree> {
    const RUNS: &[&str] = names!("-exec -execdir -ok -okdir -x -X --exec --exec-batch");
    let Some(at) = arguments
        .iter()
        .position(|word| RUNS.contains(&word.as_str()))
    else {
        return Vec::new();
    };
    let (search, rest) = arguments.split_at(at);
    let inner: Vec<String> = rest
        .iter()
        .skip(1)
        .take_while(|word| !matches!(word.as_str(), ";" | "+"))
        .cloned()
        .collect();
    let Some((program, words)) = inner.split_first() else {
        return Vec::new();
    };
    let copies = written(base_name(program), words);
    let roots: Vec<&String> = search
        .iter()
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .collect();
    let mut trees = Vec::new();
    for copy in copies
        .iter()
        .filter(|copy| matches!(&copy.from, From::Directory(from) if from.contains("{}")))
    {
        for root in &roots {
            trees.push(Tree {
                scattered: true,
                ..Tree::new(From::Directory((*root).clone()), copy.target.clone())
            });
        }
    }
    trees
}
