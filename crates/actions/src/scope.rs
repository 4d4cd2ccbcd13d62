//! Check that an act is within the scope of its grant, for grants whose scope binds.
//!
//! A scope is a list of patterns separated by commas; `*` matches anything. Packages go by name, pushes by remote,
//! branch or both, acts on GitHub by `owner/name`. An unknown target is not covered, and the answer says so.

use serde_json::Value;

use crate::git_config::settings_of;
use crate::lookup::{Content, Lookup, absolute, base_name, directory_of};
use crate::{GitCall, git_command, repository};
use shell::pattern;
use shell::words::names;

/// Targets of the act, or the reason that they are unknown.
type Target = Result<Vec<Aim>, &'static str>;

/// Names of one target; a pattern must match one of them. The second field is the branch of a push.
struct Aim {
    names: Vec<String>,
    branch: Option<String>,
}

impl Aim {
    fn named(name: impl Into<String>) -> Self {
        Self {
            names: vec![name.into()],
            branch: None,
        }
    }

    fn shown(&self) -> String {
        let name = self.names.first().map_or("", String::as_str);
        match &self.branch {
            Some(branch) => format!("{name} {branch}"),
            None => name.to_owned(),
        }
    }
}

/// Act that was found.
#[derive(Clone, Copy, Debug)]
pub struct Performed<'a> {
    /// Id of the action.
    pub action: &'a str,
    /// The program and its arguments; for a tool that is not a shell, its name and its input as JSON.
    pub words: &'a [String],
    /// Working directory.
    pub directory: &'a str,
    /// Variables of the command that control the program.
    pub environment: &'a [String],
}

/// Returns why an act is not covered by the scope of its grant; `None` if it is.
#[must_use]
pub fn refusal(scope: &str, act: Performed<'_>, lookup: &dyn Lookup) -> Option<String> {
    let aims = match aims(act, lookup) {
        Ok(aims) => aims,
        Err(why) => {
            return Some(format!(
                "its grant is for `{scope}` only, and {why}, so that cannot be checked"
            ));
        }
    };
    let outside = aims.iter().find(|aim| !fits(scope, aim))?;
    Some(format!(
        "its grant is for `{scope}` only, not for `{}`",
        outside.shown()
    ))
}

fn fits(scope: &str, aim: &Aim) -> bool {
    scope.split(',').any(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let names = |wanted: &str| {
            let wanted = wanted.to_lowercase();
            let mut names = aim.names.iter();
            names.any(|name| pattern::matches(&wanted, &name.to_lowercase()))
        };
        let branch = |wanted: &str| {
            let wanted = wanted.strip_prefix("refs/heads/").unwrap_or(wanted);
            let branch = aim.branch.as_deref();
            branch.is_some_and(|branch| pattern::matches(wanted, branch))
        };
        match words.as_slice() {
            [one] => names(one) || branch(one),
            [remote, rest] => names(remote) && branch(rest),
            _ => false,
        }
    })
}

fn aims(act: Performed<'_>, lookup: &dyn Lookup) -> Target {
    let unknown = shell::value::for_people("\u{FFFF}");
    if act.words.iter().any(|word| word.contains(&unknown)) || act.directory.contains(&unknown) {
        return Err("a part of the command is not known before it runs");
    }
    let Some((program, arguments)) = act.words.split_first() else {
        return Err("the command is not known");
    };
    if let Some(input) = by_tool(program, arguments) {
        return tool(act.action, &input);
    }
    if !act.environment.is_empty() {
        return Err("variables of the command change what it aims at");
    }
    match act.action {
        "npm:publish" if matches!(program.as_str(), "npm" | "pnpm" | "yarn" | "bun") => {
            npm(arguments, act.directory, lookup)
        }
        "pypi:publish" => pypi(program, arguments, act.directory, lookup),
        "git:push" => push(arguments, act.directory, lookup),
        id if id.starts_with("gh:") && program == "gh" => github(arguments, act.directory, lookup),
        _ => Err("the target of this action cannot be read from a command"),
    }
}

/// Returns the input of a tool that is not a shell.
fn by_tool(program: &str, arguments: &[String]) -> Option<Value> {
    let [input] = arguments else {
        return None;
    };
    let looks = program.contains("__") || input.starts_with('{');
    let input = serde_json::from_str(input).ok().filter(Value::is_object);
    input.filter(|_| looks)
}

fn tool(action: &str, input: &Value) -> Target {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let repository = match (text("owner"), text("repo")) {
        (Some(owner), Some(repo)) => format!("{owner}/{repo}"),
        _ => return Err("the call names no repository"),
    };
    let branch = (action == "git:push").then(|| text("branch").unwrap_or("HEAD").to_owned());
    Ok(vec![Aim {
        names: vec![repository],
        branch,
    }])
}

/// Returns the operands, without options and the values of `valued` ones.
fn operands<'w>(arguments: &'w [String], valued: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if valued.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            found.push(word.as_str());
        }
    }
    found
}

fn npm(arguments: &[String], directory: &str, lookup: &dyn Lookup) -> Target {
    let elsewhere = names!(
        "-w --workspace --workspaces -ws --filter -F -r --recursive --prefix -C --dir --cwd --registry"
    );
    let moved = |word: &String| {
        let name = word.split('=').next().unwrap_or(word);
        elsewhere.contains(&name)
    };
    if arguments.iter().any(moved) {
        return Err("an option makes it publish another package, or to another place");
    }
    let valued = ["--tag", "--access", "--otp", "--loglevel", "--userconfig"];
    let words = operands(arguments, &valued);
    let Some(at) = words.iter().position(|word| word.starts_with("pu")) else {
        return Err("the package is not named in a way that can be read");
    };
    let place = match words.get(at.saturating_add(1)..).unwrap_or_default() {
        [] => directory.to_owned(),
        [folder] if folder.starts_with('.') || folder.starts_with('/') => {
            absolute(directory, folder)
        }
        _ => return Err("the package is not a folder"),
    };
    let manifest = match lookup.read(&format!("{place}/package.json")) {
        Content::Text(text) => serde_json::from_str::<Value>(&text).ok(),
        _ => None,
    };
    let name = manifest
        .as_ref()
        .and_then(|manifest| manifest.get("name")?.as_str());
    name.map(|name| vec![Aim::named(name)])
        .ok_or("there is no package.json with a name")
}

/// Normalises a Python name, in which the separators do not matter.
fn python_name(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

fn pypi(program: &str, arguments: &[String], directory: &str, lookup: &dyn Lookup) -> Target {
    if program == "twine" || arguments.iter().any(|word| word == "upload") {
        let valued = names!(
            "-r --repository --repository-url -u --username -p --password -c --comment --config-file"
        );
        let words = operands(arguments, valued);
        let files = words.iter().skip_while(|word| **word != "upload").skip(1);
        return distributions(files.copied(), directory, lookup);
    }
    let moved = ["-C", "--directory", "--project", "-P"];
    if arguments
        .iter()
        .any(|word| moved.contains(&word.split('=').next().unwrap_or(word)))
    {
        return Err("an option makes it publish another project");
    }
    let Content::Text(text) = lookup.read(&format!("{directory}/pyproject.toml")) else {
        return Err("there is no pyproject.toml");
    };
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        }
        let in_project = matches!(section, "[project]" | "[tool.poetry]");
        let name = line
            .strip_prefix("name")
            .and_then(|rest| rest.trim_start().strip_prefix('='))
            .filter(|_| in_project);
        if let Some(name) = name {
            let name = name.trim().trim_matches(['"', '\'']);
            return Ok(vec![Aim::named(python_name(name))]);
        }
    }
    Err("pyproject.toml names no project")
}

/// Returns the names of distributions: `name-1.0.tar.gz`, `name-1.0-py3-none-any.whl`.
fn distributions<'w>(
    files: impl Iterator<Item = &'w str>,
    directory: &str,
    lookup: &dyn Lookup,
) -> Target {
    let mut aims = Vec::new();
    for file in files {
        let names = if pattern::is_active(file) {
            let folder = absolute(directory, directory_of(file));
            let mut names = lookup.list(&folder);
            names.retain(|name| pattern::matches(base_name(file), name));
            names
        } else {
            vec![base_name(file).to_owned()]
        };
        if names.is_empty() {
            return Err("the files to upload are not there yet");
        }
        for name in names {
            let cut = name.match_indices('-').find(|(at, _)| {
                name.get(at + 1..)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            });
            match cut.and_then(|(at, _)| name.get(..at)) {
                Some(bare) => aims.push(Aim::named(python_name(bare))),
                None => return Err("a file to upload does not tell its package"),
            }
        }
    }
    if aims.is_empty() {
        return Err("no file to upload is named");
    }
    Ok(aims)
}

/// Settings and branch of a repository.
struct Repository {
    settings: Vec<(String, String)>,
    branch: Option<String>,
}

impl Repository {
    fn find(directory: &str, lookup: &dyn Lookup) -> Option<Self> {
        let (_, git, head) = repository::around(directory, lookup)?;
        let common = git
            .split_once("/worktrees/")
            .map_or(git.as_str(), |(common, _)| common);
        Some(Self::read(common, &head, lookup))
    }

    fn read(common: &str, head: &str, lookup: &dyn Lookup) -> Self {
        let settings = match lookup.read(&format!("{common}/config")) {
            Content::Text(text) => settings_of(&text),
            _ => Vec::new(),
        };
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        Self {
            settings,
            branch: branch.map(str::to_owned),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let key = key.to_lowercase();
        let found = self.settings.iter().rev().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the remotes with their addresses.
    fn remotes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().filter_map(|(key, value)| {
            let name = key.strip_prefix("remote.")?.strip_suffix(".url")?;
            Some((name, value.as_str()))
        })
    }
}

fn push(arguments: &[String], directory: &str, lookup: &dyn Lookup) -> Target {
    let GitCall {
        rest,
        directory: moved,
        settings,
        ..
    } = git_command(arguments);
    let other_place = |word: &String| {
        word.starts_with("--git-dir") || word.starts_with("--work-tree") || word == "--bare"
    };
    if !settings.is_empty() || arguments.iter().any(other_place) {
        return Err("options of git change what it aims at");
    }
    let Some((verb, rest)) = rest.split_first() else {
        return Err("the command of git is not known");
    };
    if verb != "push" {
        return Err("only a plain `git push` tells its target");
    }
    let wide = names!("--all --mirror --tags --branches --follow-tags --prune");
    if rest.iter().any(|word| wide.contains(&word.as_str())) {
        return Err("it pushes more than one branch");
    }
    let folder = moved.map_or_else(|| directory.to_owned(), |moved| absolute(directory, &moved));
    let repository = Repository::find(&folder, lookup).ok_or("the repository cannot be found")?;
    let valued = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];
    if rest.iter().any(|word| word.starts_with("--repo")) {
        return Err("options of git change what it aims at");
    }
    let words = operands(rest, &valued);
    push_aims(&words, &repository)
}

fn push_aims(words: &[&str], repository: &Repository) -> Target {
    let current = repository.branch.as_deref();
    let configured = current.and_then(|branch| {
        repository
            .get(&format!("branch.{branch}.pushremote"))
            .or_else(|| repository.get("remote.pushdefault"))
            .or_else(|| repository.get(&format!("branch.{branch}.remote")))
    });
    let (remote, refspecs) = match words.split_first() {
        Some((remote, refspecs)) => (*remote, refspecs),
        None => (configured.unwrap_or("origin"), [].as_slice()),
    };
    let mut names = vec![remote.to_owned()];
    for key in ["pushurl", "url"] {
        names.extend(
            repository
                .get(&format!("remote.{remote}.{key}"))
                .map(str::to_owned),
        );
    }
    if refspecs.is_empty() {
        let plain = matches!(
            repository.get("push.default"),
            None | Some("simple" | "current")
        );
        if !plain || repository.get(&format!("remote.{remote}.push")).is_some() {
            return Err("git's settings say what is pushed");
        }
        let branch = current.ok_or("no branch is checked out")?;
        return Ok(vec![Aim {
            names,
            branch: Some(branch.to_owned()),
        }]);
    }
    let mut aims = Vec::new();
    for refspec in refspecs {
        let refspec = refspec.trim_start_matches('+');
        let target = refspec
            .rsplit_once(':')
            .map_or(refspec, |(_, target)| target);
        let target = match target {
            "HEAD" | "@" => current.ok_or("no branch is checked out")?,
            "" => return Err("it pushes all branches with the same name"),
            other => other.strip_prefix("refs/heads/").unwrap_or(other),
        };
        aims.push(Aim {
            names: names.clone(),
            branch: Some(target.to_owned()),
        });
    }
    Ok(aims)
}

fn github(arguments: &[String], directory: &str, lookup: &dyn Lookup) -> Target {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let named = match word.as_str() {
            "-R" | "--repo" => words.next().map(String::as_str),
            word => word
                .strip_prefix("--repo=")
                .or_else(|| word.strip_prefix("-R").filter(|rest| !rest.is_empty())),
        };
        if let Some(named) = named {
            return Ok(vec![Aim::named(bare_repository(named))]);
        }
    }
    let words = operands(arguments, &[]);
    match words.as_slice() {
        ["api", rest @ ..] => {
            let mut parts = rest
                .iter()
                .filter_map(|word| word.trim_start_matches('/').strip_prefix("repos/"));
            let mut parts = parts.next().unwrap_or_default().split('/');
            match (parts.next(), parts.next()) {
                (Some(owner), Some(name))
                    if !owner.is_empty() && !owner.starts_with(['{', ':']) =>
                {
                    Ok(vec![Aim::named(format!("{owner}/{name}"))])
                }
                _ => Err("the address names no repository"),
            }
        }
        ["repo", _, named, ..] if named.contains('/') => {
            Ok(vec![Aim::named(bare_repository(named))])
        }
        ["repo", _, _, ..] => Err("the repository is not named with its owner"),
        _ => by_remote(directory, lookup),
    }
}

/// Returns the repository of the remotes, which `gh` takes; if they differ, only `gh` knows which.
fn by_remote(directory: &str, lookup: &dyn Lookup) -> Target {
    let repository = Repository::find(directory, lookup).ok_or("the repository cannot be found")?;
    let mut names: Vec<String> = repository
        .remotes()
        .map(|(_, address)| bare_repository(address).to_lowercase())
        .collect();
    names.sort();
    names.dedup();
    match names.as_slice() {
        [only] => Ok(vec![Aim::named(only.clone())]),
        [] => Err("the repository has no remote"),
        _ => Err("the remotes are different repositories"),
    }
}

/// Returns `owner/name` of an address or of `host/owner/name`.
fn bare_repository(address: &str) -> String {
    let path = address.trim_end_matches('/').trim_end_matches(".git");
    let mut parts = path.rsplit(['/', ':']);
    match (parts.next(), parts.next()) {
        (Some(name), Some(owner)) => format!("{owner}/{name}"),
        _ => path.to_owned(),
    }
}
