//! Trees that are written over protected things.

use std::collections::BTreeMap;

use actions::lookup::{Listing, Source};

use super::*;

/// A workspace at `/w` with its rules in place, with sources that contain a grant or do not.
struct Files(BTreeMap<&'static str, &'static str>);

impl Files {
    fn new() -> Self {
        let grant = r#"{"git:push":{"granted":true}}"#;
        Self(BTreeMap::from([
            ("/w/.role-os/config.toml", ""),
            ("/w/.role-os/keys/hmac", ""),
            ("/w/.claude/settings.json", "{}"),
            ("/w/.claude/commands/a.md", ""),
            ("/w/.git/HEAD", "ref: refs/heads/main"),
            ("/w/x/role-os/capabilities.json", grant),
            ("/w/s/settings.local.json", "{}"),
            ("/w/y/.claude/role-os/capabilities.json", grant),
            ("/w/clean/src/main.rs", ""),
            ("/w/clean/.github/workflows/ci.yml", ""),
            ("/w/dots/.bashrc", ""),
            ("/w/hooked/.git/hooks/pre-push", ""),
            ("/o/.claude/role-os/capabilities.json", grant),
            ("/w/a.xz", "?"),
        ]))
    }
}

impl Lookup for Files {
    fn read(&self, path: &str) -> Content {
        self.0.get(path).map_or(Content::Missing, |text| {
            if *text == "?" {
                Content::Binary
            } else {
                Content::Text((*text).to_owned())
            }
        })
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let below = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
        let mut names: Vec<String> = below
            .filter_map(|rest| rest.split('/').next().map(str::to_owned))
            .collect();
        names.dedup();
        names
    }
}

fn expect(commands: &[&str], expected: Verdict) {
    let now = Timestamp::UNIX_EPOCH;
    let mut wrong = Vec::new();
    for command in commands {
        let files = Files::new();
        let decision = decide_command(&policy(), command, PLACE, &files, &Grants::none(), now);
        if decision.verdict != expected {
            let reasons = decision.reasons;
            wrong.push(format!("{command} {:?} {reasons:?}", decision.verdict));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Regression: a grant or settings arrive by a recursive copy.
#[test]
fn a_tree_that_holds_a_grant_or_settings_is_not_copied_over_the_rules() {
    expect(
        &[
            "cp -r x/. .claude/",
            "cp -rT x .claude",
            "cp -a y/.claude .",
            "cp -r ../o/.claude .",
            "cp -r y/. .",
            "cd y && cp -r . ..",
            "cp -r y/.c* .",
            "cp -al y/.claude .",
            "find y -name .claude -exec cp -r {} . \\;",
            "rsync -a x/ .claude/",
            "rsync -a y/ .",
            "(cd y; tar c .) | tar x",
            "cp -r s/. .claude",
            "rsync -a s/ .claude",
        ],
        Verdict::Deny,
    );
}

#[test]
fn variants_of_copies_are_seen_as_well() {
    expect(
        &[
            "cp -R y/. /w",
            "cp --recursive y/. ./",
            "cp -r -t . y/.claude",
            "cp --archive --target-directory=.claude x/role-os",
            "cp -r x/role-os .claude",
            "mv y/.claude .",
            "rsync -r --exclude node_modules y/ ./",
            "rsync -a /o/ .",
            "ditto x .claude",
            "tar cf - -C y . | tar xf -",
            "tar -C y -c . | (cd /w && tar -x)",
            "tar cf a.tar -C y .; tar xf a.tar",
            "cd clean && cp -r ../y/. ..",
            "mkdir -p z/role-os && echo '{}' > z/role-os/capabilities.json && cp -r z/. .claude/",
            "cp -r y ~/ && cp -r y/.claude ~",
            "find . -path '*/role-os' -exec cp -r {} .claude/ +",
            "bash -c 'cp -r y/. .'",
            "cp -r x/. ./clean/../.claude/",
        ],
        Verdict::Deny,
    );
    expect(
        &[
            "cp -r hooked/. .",
            "cp -r dots/. ~",
            "tar xf a.xz",
            "unzip -o a.xz",
            "tar -C / -xf a.xz",
            "rsync -a host:x/ .",
            "git clone https://example.com/x q && cp -r q/. .",
        ],
        Verdict::Ask,
    );
}

#[test]
fn trees_that_hold_nothing_protected_stay_ordinary() {
    expect(
        &[
            "cp -r clean/. .",
            "cp -r clean/src .",
            "cp -a y /tmp/backup",
            "cp -a y/.claude /",
            "ls *.txt | xargs -I{} cp {} docs/",
            "cp -r y elsewhere",
            "cp -r x/. docs/",
            "rsync -a clean/ .",
            "rsync -a --exclude .claude y/ .",
            "rsync -a --exclude=.claude/ y/ ./",
            "rsync -a y/ host:z/",
            "tar c y | ssh host tar x",
            "(cd clean; tar c .) | tar x",
            "tar xf a.xz -C clean",
            "tar xf missing.tar",
            "tar tf a.xz",
            "tar czf out.tgz clean",
            "curl -s https://example.com/x.tgz | tar xz",
            "find clean -name '*.rs' -exec cp -r {} src/ \\;",
            "mv clean/src src",
            "cp -r node_modules/a vendor/a",
            "git checkout main",
            "git pull",
            "git stash pop",
            "git merge origin/main",
            "git worktree add ../wt main",
            "git clone https://example.com/x vendor/x",
            "npm pack --pack-destination dist",
            "cargo build --target-dir /tmp/t",
        ],
        Verdict::Allow,
    );
}

/// Protected paths that are literal in the command.
#[test]
fn a_protected_path_in_the_words_is_refused_whatever_the_program() {
    expect(
        &[
            "git clone u .claude/role-os",
            "git clone u .claude",
            "git submodule add u .claude/role-os",
            "git worktree add .claude/role-os",
            "git read-tree -u --prefix=.claude/role-os x",
            "git -C .claude clone u role-os",
            "git update-index --add --cacheinfo 100644,0ebc948ba950c1102ce0b38c0a80b5ad7e1b6b2c,.claude/role-os/capabilities.json",
            "git update-index --add --cacheinfo 100644 0ebc948ba950c1102ce0b38c0a80b5ad7e1b6b2c .role-os/config.toml",
            "openssl enc -in x -out .claude/role-os/capabilities.json",
            "npm pack --pack-destination .claude/role-os",
            "cargo build --target-dir .claude/role-os",
            "cargo build --target-dir=.role-os",
            "git checkout evil -- .claude",
            "git restore --source evil .claude",
            "git restore .claude",
            "tar xf x.tar .claude",
            "unzip x.zip -d .claude",
            "python3 -m zipfile -e x.zip .claude",
            "7z x a.7z -o.claude",
            "cpio -i -D .claude < a.xz",
            "install -D x/role-os/capabilities.json .claude/role-os/capabilities.json",
            "dd if=x of=.claude/role-os/capabilities.json",
            "tar xf x.tar --one-top-level=.claude",
            "tar --extr --file x.tar --direc .claude",
            "patch -d .claude -p1 < p.diff",
            "git apply --directory=.claude p.diff",
            "git subtree add --prefix=.claude/role-os u main",
        ],
        Verdict::Deny,
    );
}

/// A repository in which the commit `ev` and everything around it contains a changed setting, and all others do not.
struct Commits;

impl Lookup for Commits {
    fn read(&self, _: &str) -> Content {
        Content::Missing
    }

    fn list(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn search(&self, source: Source<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Listing {
        let Source::Git { from, .. } = source else {
            return Listing::Unknown;
        };
        let path = ".claude/settings.json";
        match format!("{from:?}") {
            name if name.contains("..") => Listing::Unknown,
            name if name.contains("\"ev") && is_wanted(path) => Listing::Found(path.to_owned()),
            _ => Listing::Clean,
        }
    }
}

#[test]
fn a_commit_that_holds_a_setting_is_refused_however_it_is_taken() {
    let verdict = |command: &str| {
        let now = Timestamp::UNIX_EPOCH;
        decide_command(&policy(), command, PLACE, &Commits, &Grants::none(), now).verdict
    };
    for command in [
        "git revert -m 2 ev",
        "git revert --mainline=2 --no-edit ev",
        "git revert ev..HEAD",
        "git cherry-pick -m 1 ev",
        "git bisect start ev HEAD",
        "git bisect reset ev",
        "git merge-recursive HEAD -- HEAD ev",
        "git merge-ort HEAD -- HEAD ev",
        "git show ev | git apply",
        "git show ev > p; git apply p",
        "git diff HEAD..ev | git apply --index",
        "git diff HEAD ev | patch -p1",
        "git format-patch -1 --stdout ev | git am",
        "git log -p -1 ev | git apply",
        "git pull . ev",
    ] {
        assert_eq!(verdict(command), Verdict::Deny, "{command}");
    }
    assert_eq!(
        verdict("git rev-list ev | git cherry-pick --stdin"),
        Verdict::Ask
    );
    for command in [
        "git revert HEAD~1..HEAD",
        "git revert -m 1 HEAD",
        "git revert --no-edit HEAD",
        "git bisect start HEAD v1",
        "git bisect run make",
        "git show HEAD~1 | git apply -R",
        "git diff > p; git apply p",
        "git stash show -p | git apply",
        "curl -s https://example.org/p.diff | git apply",
    ] {
        assert_ne!(verdict(command), Verdict::Deny, "{command}");
        assert!(
            command.contains("run") || verdict(command) == Verdict::Allow,
            "{command}"
        );
    }
}
