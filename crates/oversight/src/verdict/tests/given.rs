//! Paths in a program's arguments: unless the program is known to be read-only, they count as changed.

use super::*;

#[test]
fn an_output_of_git_is_a_change_by_whatever_option() {
    all(
        &[
            "git log --output=.claude/settings.json",
            "git log --output .role-os/config.toml",
            "git -C /w diff --output=.role-os/config.toml",
            "cd .claude && git show --output=settings.local.json",
            "git archive -o .claude/settings.json HEAD",
            "git archive --output=.codex/hooks.json HEAD",
            "git bundle create .claude/settings.json HEAD",
            "git format-patch -1 -o .claude/agents",
            "git format-patch -1 --output-directory .claude/skills/x",
            "git config --file .claude/settings.json a.b c",
            "git config -f .role-os/config.toml --unset a.b",
            "git config --file=.mcp.json --add a.b c",
            "git --git-dir=.role-os/x init",
            "git init --separate-git-dir=.role-os/g",
            "git fast-export --export-marks=.mcp.json HEAD",
            "git index-pack -o .claude/settings.json x.pack",
            "git credential-store --file .role-os/config.toml store",
            "GIT_TRACE=/w/.claude/settings.json git status",
            "export GIT_INDEX_FILE=$PWD/.role-os/config.toml; git add x",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "git log --output=log.txt",
            "git log -p .claude/settings.json",
            "git diff --stat -- .claude/settings.json .role-os/config.toml",
            "git show HEAD:.claude/settings.json",
            "git add .claude/settings.json .mcp.json",
            "git commit -m 'change .claude/settings.json' .claude/settings.json",
            "git config --file .claude/settings.json --get a.b",
            "git config -f .role-os/config.toml a.b",
            "git format-patch -1 -o patches",
            "git check-ignore .role-os/config.toml",
            "GIT_PAGER=cat git log",
        ],
        Verdict::Allow,
    );
}

#[test]
fn a_program_that_is_not_known_to_read_changes_what_it_is_given() {
    all(
        &[
            "prettier --write .claude/settings.json",
            "npx prettier --write .claude/settings.json",
            "frobnicate .mcp.json",
            "frobnicate --into=.claude/agents/x.md",
            "frobnicate .claude",
            "gh run download -D .cursor",
            "make OUT=.claude/settings.json",
            "npm run format -- .role-os/config.toml",
            "go run ./cmd/x .codex/hooks.json",
            "cargo run -- .claude/settings.json",
            "frobnicate link/config.toml",
            "sqlite3 ~/.st/roleos/x .dump",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "cat .claude/settings.json",
            "grep -rn hook .claude",
            "jsonlint .claude/settings.json",
            "shellcheck .claude/agents/x.sh",
            "ls -la .claude .role-os",
            "make test",
            "npm run format -- src",
            "frobnicate src/settings.json",
            "echo .claude/settings.json",
        ],
        Verdict::Allow,
    );
}

#[test]
fn a_name_that_the_command_itself_makes_is_followed() {
    all(
        &[
            "ln -s .claude d; echo x > d/settings.json",
            "ln -s /w/.claude /tmp/d && cp f /tmp/d/settings.json",
            "mkdir t; ln -s ../.claude t; truncate -s0 t/.claude/settings.json",
            "ln -sT .claude a; ln -s a b; tee b/settings.local.json < f",
            "cp -al .claude c; echo x > c/settings.json",
            "mount --bind .claude /mnt; echo x > /mnt/settings.json",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "ln -s src d; echo x > d/settings.json",
            "ln -s src/a d; cat d/settings.json",
        ],
        Verdict::Allow,
    );
}

#[test]
fn another_name_for_a_folder_that_holds_protected_things_is_refused() {
    all(
        &[
            "ln -s .claude lnk",
            "ln -s /w/.claude /tmp/d",
            "ln -s ./.claude/ lnk",
            "ln -s ../.codex t/x",
            "ln -s /w /tmp/all",
            "ln -s . lnk",
            "cp -rs .claude /tmp/c",
            "mount --bind .claude /mnt",
            "sh -c 'ln -s .claude lnk'",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "ln -s src lnk",
            "ln -s ../lib/node_modules/x/cli.js bin/x",
            "ln -s /usr/lib/libx.so.1 libx.so",
            "cp -rs src /tmp/c",
            "ln -sf target/debug/x x",
        ],
        Verdict::Allow,
    );
    for (tool, input, verdict) in [
        (
            "mcp__fs__create_symlink",
            json!({"target": ".claude", "path": "lnk"}),
            Verdict::Deny,
        ),
        (
            "mcp__fs__createSymlink",
            json!({"from": "/w", "to": "/tmp/all"}),
            Verdict::Deny,
        ),
        (
            "mcp__fs__link",
            json!({"src": ".role-os", "dst": "x"}),
            Verdict::Deny,
        ),
        (
            "mcp__fs__create_symlink",
            json!({"target": "src", "path": "lnk"}),
            Verdict::Allow,
        ),
        (
            "mcp__jira__link_issue",
            json!({"from": "A-1", "to": "A-2"}),
            Verdict::Allow,
        ),
    ] {
        check_tool(tool, &input, verdict);
    }
}

#[test]
fn a_pattern_is_what_it_can_match() {
    all(
        &[
            "for f in .claude/*; do echo > $f; done",
            "rm .claude/*.json",
            "truncate -s0 .claude/?ettings.json",
            "rm -rf .claude/[a-s]*",
            "rm -rf ~/.st/role*",
            "rm -rf ~/.local/st*/roleos",
            "rm -rf ~/.st/.role*",
            "rm -rf /home/m?/.st",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "rm .claude/*.tmp",
            "rm -f *",
            "rm -rf ~/.st/other*",
            "cat .claude/*",
            "rm -rf /home/me/w*",
        ],
        Verdict::Allow,
    );
}

#[test]
fn mounting_over_things_and_ending_the_guard_is_refused() {
    all(
        &[
            "mount --bind /tmp .claude",
            "mount -t tmpfs none /w/.role-os",
            "umount -l .role-os",
            "mount -t overlay -o lowerdir=a overlay /w",
            "pkill roleos",
            "pkill -9 -f roleos-watch",
            "killall -q roleos-hook",
            "kill $(pgrep roleos)",
            "pgrep -f role | xargs kill -9",
            "ps aux | grep [r]oleos | awk '{print $2}' | xargs kill",
            "kill -STOP $(pidof roleos)",
            "kill -9 -1",
            "kill -- -1",
            "kill -s KILL -1",
            "pkill -9 -u me .",
            "pkill -f '.*'",
            "strace -o .mcp.json ls",
            "strace -f --output=.claude/settings.json ls",
            "/usr/bin/time -o .mcp.json ls",
            "docker cp c:/x .mcp.json",
            "docker container cp c:/x .claude/settings.json",
            "docker cp .role-os/keys/hmac c:/x",
            "history -w .mcp.json",
            "flock .mcp.json true",
            "xvfb-run -e .mcp.json ls",
            "history -a .claude/settings.json",
            "GIT_TRACE2_EVENT=.mcp.json git status",
            "env GIT_TRACE2=.mcp.json git status",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "kill -9 $PPID",
            "kill $((PPID))",
            "kill -9 $((PPID+0))",
            "kill -s KILL \"$PPID\"",
            "kill -9 -- -$PPID",
            "p=$PPID; kill $p",
            "eval 'kill $PPID'",
            "pkill -9 claude",
            "killall codex",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "mount",
            "mount -t tmpfs none /mnt/x",
            "pkill node",
            "killall -9 chrome",
            "pgrep roleos",
            "server & PID=$!; grep -rn roleos src; kill $PID",
            "kill $(pgrep node)",
            "kill %1",
            "kill -1 1234",
            "trap 'kill 0' EXIT",
            "strace -o out.txt ls",
            "docker cp c:/x out.json",
            "GIT_AUTHOR_NAME=me git commit -m x",
        ],
        Verdict::Allow,
    );
}

/// An existing hook is not an act of the command: only an act in it counts.
#[test]
fn what_a_hook_that_is_there_gives_to_other_programs_is_not_asked_about() {
    struct Hooked;
    impl Lookup for Hooked {
        fn read(&self, path: &str) -> Content {
            match path {
                "/w/.git/hooks/pre-push" => Content::Text(
                    "#!/bin/sh\n/opt/other-name pre-push --trust-store /home/me/.st/roleos -- \"$@\" || exit 1\n"
                        .to_owned(),
                ),
                "/w/.git/HEAD" => Content::Text("ref: refs/heads/main".to_owned()),
                _ => Content::Missing,
            }
        }
        fn list(&self, directory: &str) -> Vec<String> {
            match directory {
                "/w/.git/hooks" => vec!["pre-push".to_owned()],
                "/w/.git" => vec!["hooks".to_owned(), "HEAD".to_owned()],
                _ => Vec::new(),
            }
        }
    }
    let now = Timestamp::UNIX_EPOCH;
    for command in [
        "git push --dry-run",
        "git push -n origin HEAD:x",
        "git push --help",
        "git push --dry-run --force origin main",
    ] {
        let decision = decide_command(&policy(), command, PLACE, &Hooked, &Grants::none(), now);
        assert!(
            decision.guarded.is_empty(),
            "{command} {:?}",
            decision.reasons
        );
        assert!(decision.actions.is_empty(), "{command}");
    }
}

#[test]
fn keys_are_read_by_no_program_that_is_given_them() {
    const KEY: &str = ".role-os/keys/approval/approval.key";
    let check = |command: &str, expected| {
        let now = Timestamp::UNIX_EPOCH;
        let decision = decide_command(&policy(), command, PLACE, &Machine, &Grants::none(), now);
        assert_eq!(
            decision.verdict, expected,
            "{command} {:?}",
            decision.reasons
        );
    };
    for form in [
        "bash -v K",
        "env -i bash -v K",
        "timeout 5 sh -n -v K",
        "git commit --allow-empty -F K",
        "git tag --file=K zz",
        "git notes add -FK",
        "wc --files0-from=K",
        "cd .role-os && bash -v keys/approval/approval.key",
    ] {
        check(&form.replace('K', KEY), Verdict::Deny);
    }
    for form in [
        "echo K",
        "ls K",
        "grep -rn K docs",
        "git add src",
        "mkdir x",
    ] {
        check(&form.replace('K', KEY), Verdict::Allow);
    }
}

/// Supervision does not judge protected things, so an unreadable part is not left to it.
#[test]
fn a_text_that_cannot_be_read_is_asked_about() {
    let policy = Policy {
        opaque: crate::verdict::OnOpaque::Watch,
        ..policy()
    };
    for command in [
        "ls # \u{FDD0}",
        "if cat x; then :; fi\nexit\nif ((",
        "bash -c 'ls\nexit\nif (('",
        "eval 'ls\nexit\nif (('",
    ] {
        let now = Timestamp::UNIX_EPOCH;
        let decision = decide_command(&policy, command, PLACE, &Machine, &Grants::none(), now);
        assert_eq!(
            decision.verdict,
            Verdict::Ask,
            "{command} {:?}",
            decision.reasons
        );
    }
}

#[test]
fn the_strings_of_a_tool_are_the_words_of_a_command_in_any_container() {
    let cases = r#"
deny mcp__x__exec {"argv": ["bash", "-lc", "cat .role-os/keys/hmac"]}
deny mcp__x__exec {"argv": ["cat", ".role-os/keys/hmac"]}
deny mcp__x__exec {"argv": ["rm", "-rf", ".git"]}
deny mcp__x__exec {"command": ["sudo", ["rm", "-rf"], [".git"]]}
ask mcp__x__do {"words": ["rm", "-rf", ".git"]}
ask mcp__x__do {"a": {"b": "cat .role-os/keys/hmac"}}
deny mcp__x__do {"a": "rm", "b": "-rf", "path": ".git"}
deny mcp__x__do {"env": {"A": "1"}, "run": {"program": "bash", "args": ["-c", "cat .role-os/keys/hmac"]}}
deny mcp__x__do {"path": ".claude/settings", "ext": "json"}
deny mcp__x__do {"dir": ".claude", "ext": "json", "stem": "settings"}
deny mcp__x__do {"a": ".cla", "b": "ude/settings.json"}
deny mcp__x__do {"p": [".claude/settings", ".json"]}
deny mcp__x__do {"p": [".mcp", "json"]}
deny mcp__x__do {"folder": {"name": ".claude"}, "file": {"name": "settings.json"}}
allow mcp__fs__edit_file {"path": "a.md", "edits": [{"oldText": "git", "newText": "git push"}]}
allow mcp__x__do {"p": ["src", "settings", "json"]}
allow mcp__x__do {"file": ".claude/commands/a.md", "kind": "settings"}
allow mcp__x__do {"argv": ["ls", "-la", ".git"]}
allow mcp__x__do {"text": "look at .claude/settings.json for the hook and its options"}
"#;
    for case in cases.trim().lines() {
        let mut parts = case.splitn(3, ' ');
        let [expected, tool, input] = [(); 3].map(|()| parts.next().unwrap());
        let input = serde_json::from_str(input).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let decision = decide_tool(
            &policy(),
            tool,
            &input,
            PLACE,
            &Machine,
            &Grants::none(),
            now,
        );
        let verdict = format!("{:?}", decision.verdict).to_lowercase();
        assert_eq!(verdict, expected, "{case} {:?}", decision.reasons);
    }
}

#[test]
fn recipes_in_a_container_are_its_own_business_unless_it_gets_credentials() {
    let verdict = |command: &str| {
        let now = Timestamp::UNIX_EPOCH;
        decide_command(&policy(), command, PLACE, &Machine, &Grants::none(), now).verdict
    };
    for command in [
        "docker run --rm -v $PWD:/app -w /app node:22 npm test",
        "docker run --rm -v $(pwd):/app -w /app node:22 npm run build",
        "docker compose run --rm web python manage.py migrate",
        "docker-compose run web rake db:migrate",
        "kubectl exec deploy/web -- python manage.py migrate",
        "docker compose exec -T web coverage run -m pytest",
        "podman run -v .:/src -w /src gcc make -j4",
    ] {
        assert_eq!(verdict(command), Verdict::Allow, "{command}");
    }
    for command in [
        "docker run -v ~/.ssh:/root/.ssh x npm test",
        "docker run -v $HOME:/h x npm test",
        "docker run -v /:/h x make",
        "docker run -v $X:/h x make",
        "docker run -e NPM_TOKEN x npm run release",
        "docker run --env-file .env x make",
        "docker run --privileged x make",
        "docker run -v /var/run/docker.sock:/s x make",
        "docker run x python -c 'import x; x.y()'",
        "docker run x sh -c \"$CODE\"",
        "docker run -i x python - < a.py",
        "tmux new-session -d 'npm run dev'",
        "ssh host make deploy",
    ] {
        assert!(verdict(command) >= Verdict::Ask, "{command}");
    }
    assert_eq!(verdict("docker run x npm publish"), Verdict::Deny);
}
