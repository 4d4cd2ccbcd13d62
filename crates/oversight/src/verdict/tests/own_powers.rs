//! Ways in which an agent could widen its own powers without touching a rule itself.

use super::*;

#[test]
fn another_agent_is_asked_about() {
    all(
        &[
            "claude -p 'push it'",
            "codex exec 'run tests'",
            "gemini -p x",
            "cursor-agent -p x",
            "copilot -p x",
            "/opt/claude/bin/claude -p x",
            "npx @anthropic-ai/claude-code -p x",
            "npx -y @openai/codex@latest exec x",
            "bunx @google/gemini-cli -p x",
            "node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -p x",
            "env X=1 claude -p x",
            "cd /tmp && claude",
            "echo x | claude",
            "ANTHROPIC_API_KEY=k claude -p x",
            "GEMINI_API_KEY=k gemini -p x",
            "claude mcp add x -- y",
            "claude -p 'explain git push'",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "claude --version",
            "claude -v",
            "claude --help",
            "claude mcp list",
            "codex --version",
            "codex mcp list",
            "gemini --version",
            "gemini extensions list",
            "which claude",
            "npm ls @anthropic-ai/claude-code",
            "cat node_modules/@anthropic-ai/claude-code/cli.js",
        ],
        Verdict::Allow,
    );
}

#[test]
fn agents_without_a_hook_of_ours_are_asked_about() {
    all(
        &[
            "pipx run aider-chat",
            "goose run -t x",
            "goose session",
            "amp -x y",
            "crush run x",
            "droid exec x",
            "q chat",
            "cursor agent x",
            "npx opencode-ai run x",
            "acli rovodev run x",
            "sweagent run",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "goose up",
            "gh pr list",
            "cursor .",
            "q x.csv",
            "amp --version",
            "acli jira list",
        ],
        Verdict::Allow,
    );
}

#[test]
fn another_agent_with_other_settings_or_without_hooks_is_refused() {
    all(
        &[
            "claude --bare -p x",
            "claude --safe-mode -p x",
            "claude --settings x.json -p y",
            "claude --settings=x.json -p y",
            "claude --setting-sources user -p x",
            "claude --dangerously-skip-permissions",
            "claude --permission-mode bypassPermissions -p x",
            "claude --permission-mode=bypassPermissions -p x",
            "claude --mcp-config x.json -p y",
            "claude --plugin-dir x -p y",
            "ROLEOS_CAPABILITY_GATE=0 claude -p x",
            "env CLAUDE_CONFIG_DIR=/tmp/c claude -p x",
            "export CLAUDE_CONFIG_DIR=/tmp/c; claude -p x",
            "HOME=/tmp/h claude -p x",
            "XDG_STATE_HOME=/tmp/h claude -p x",
            "CODEX_HOME=/tmp/h codex exec x",
            "codex --dangerously-bypass-approvals-and-sandbox exec x",
            "codex --yolo",
            "codex -c hooks={} exec x",
            "codex --config hooks={} exec x",
            "codex exec --profile loose x",
            "codex --disable hooks exec x",
            "gemini --yolo -p x",
            "gemini -y -p x",
            "GEMINI_CLI_HOME=/tmp/g gemini -p x",
            "copilot --allow-all-tools -p x",
            "npx @anthropic-ai/claude-code --bare -p x",
            "node node_modules/@anthropic-ai/claude-code/cli.js --bare",
            "bash -c 'claude --bare -p x'",
            "~/.local/share/claude/versions/2.1.197 --bare -p x",
            "timeout 5 claude --bare -p x",
        ],
        Verdict::Deny,
    );
}

#[test]
fn settings_of_agents_include_what_carries_hooks_or_servers() {
    all(
        &[
            "echo '{}' > .mcp.json",
            "cp x ~/.claude.json",
            "echo x > .claude/agents/a.md",
            "mkdir -p .claude/skills/x",
            "echo x > ~/.claude/plugins/known.json",
            "echo x > ~/.claude/skills/a/SKILL.md",
            "echo x > .gemini/agents/a.md",
            "echo x > .cursor/mcp.json",
            "rm -rf .claude/skills",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "cat .mcp.json",
            "ls .claude/skills",
            "echo x > skills/a/SKILL.md",
            "echo x > .claude/commands/a.md",
            "echo x > .claude/notes.md",
            "echo x > src/plugins/a.ts",
        ],
        Verdict::Allow,
    );
    for path in [
        ".mcp.json",
        "/w/.claude/agents/a.md",
        "~/.claude/skills/x/SKILL.md",
    ] {
        check_tool(
            "Write",
            &json!({"file_path": path, "content": "x"}),
            Verdict::Deny,
        );
        check_tool("Read", &json!({ "file_path": path }), Verdict::Allow);
    }
}

#[test]
fn settings_of_git_that_name_programs_are_asked_about() {
    all(
        &[
            "git config filter.fmt.clean 'sh ./x.sh'",
            "git config --global core.sshCommand ./x.sh",
            "git config core.fsmonitor ./x.sh",
            "git config core.editor ./x",
            "git config core.pager 'sh -c x'",
            "git config alias.ship '!git status'",
            "git config include.path ../x",
            "git config includeIf.gitdir:/w/.path ../x",
            "git config credential.helper '!./x'",
            "git config credential.https://example.com.helper ./x",
            "git config diff.x.textconv ./x",
            "git config diff.x.command ./x",
            "git config diff.external ./x",
            "git config merge.x.driver './x %O'",
            "git config gpg.program ./x",
            "git config gpg.ssh.program ./x",
            "git config uploadpack.packObjectsHook ./x",
            "git config core.attributesFile x",
            "git config remote.o.uploadpack ./x",
            "git config remote.o.vcs x",
            "git config remote.o.url 'ext::sh -c x'",
            "git config submodule.a.update '!./x'",
            "git config pager.log ./x",
            "git config difftool.x.cmd ./x",
            "git config mergetool.x.path ./x",
            "git config init.templateDir x",
            "git config protocol.ext.allow always",
            "git config --add filter.a.smudge ./x",
            "git config --replace-all filter.a.process ./x",
            "git config set filter.a.clean ./x",
            "git config set --all filter.a.clean ./x",
            "git config -f .git/config filter.a.clean ./x",
            "git config --file=.git/config filter.a.clean ./x",
            "git config --global FILTER.a.CLEAN ./x",
            "git -C /w config filter.a.clean ./x",
            "git -c filter.a.clean=./x add a",
            "git -c core.fsmonitor=./x status",
            "git clone -c core.sshCommand=./x u v",
            "git clone --config=filter.a.smudge=./x u v",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=filter.a.clean GIT_CONFIG_VALUE_0=./x git add a",
            "git config core.editor 'vim -c :!x'",
            "git config core.sshCommand 'ssh -o ProxyCommand=./x'",
            "git config core.pager 'less;x'",
            "GIT_CONFIG_PARAMETERS=\"'filter.a.clean'='./x'\" git add a",
            "git config filter.a.clean ./unset.sh",
            "git config filter.a.clean ./x list",
            "git config --local --type=path filter.a.clean ./x",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "git config --get filter.fmt.clean",
            "git config get core.sshCommand",
            "git config --list",
            "git config filter.fmt.clean",
            "git config user.name x",
            "git config user.email clean@example.com",
            "git config alias.co checkout",
            "git config --unset filter.a.clean",
            "git config core.editor 'code --wait'",
            "git config --global core.pager 'less -FRX'",
            "git config --global credential.helper store",
            "git config filter.lfs.clean 'git-lfs clean -- %f'",
            "git config core.fsmonitor true",
            "git config pager.branch false",
            "git config url.https://github.com/.insteadOf git@github.com:",
            "git config diff.algorithm histogram",
            "git config merge.conflictStyle zdiff3",
            "git config remote.origin.url https://example.com/x",
            "git config core.autocrlf input",
            "git -c core.pager=cat log",
        ],
        Verdict::Allow,
    );
}

#[test]
fn attributes_that_name_a_driver_are_asked_about() {
    all(
        &[
            "echo '*.txt filter=fmt' > .gitattributes",
            "printf '*.bin diff=hex\\n' >> .gitattributes",
            "echo '* merge=mine' > .git/info/attributes",
            "cat > .gitattributes <<'E'\n*.txt filter=fmt\nE",
            "echo '*.txt filter=fmt' | tee .gitattributes",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "echo '* text=auto' > .gitattributes",
            "echo '*.png filter=lfs diff=lfs merge=lfs -text' >> .gitattributes",
            "echo '*.rs diff=rust' >> .gitattributes",
            "echo '*.txt filter=fmt' > notes.txt",
            "cat .gitattributes",
        ],
        Verdict::Allow,
    );
    let write = json!({"file_path": "/w/.gitattributes", "content": "*.txt filter=fmt"});
    check_tool("Write", &write, Verdict::Ask);
    let edit = json!({"file_path": ".gitattributes", "old_string": "a", "new_string": "* diff=x"});
    check_tool("Edit", &edit, Verdict::Ask);
    let edits = json!({"file_path": ".gitattributes", "edits": [{"new_string": "* filter=x"}]});
    check_tool("MultiEdit", &edits, Verdict::Ask);
    let plain = json!({"file_path": ".gitattributes", "content": "* text=auto"});
    check_tool("Write", &plain, Verdict::Allow);
}

#[test]
fn the_trust_store_is_out_of_reach() {
    all(
        &[
            "echo {} > ~/.local/state/roleos/workspaces.json",
            "rm -rf ~/.local/state/roleos",
            "cp x /home/me/.st/roleos/workspaces.json",
            "rm -rf /home/me/.st",
            "echo x > $XDG_STATE_HOME/roleos/workspaces.json",
            "echo x > ${XDG_STATE_HOME:-$HOME/.local/state}/roleos/a.json",
            "mv ~/.local/state/roleos /tmp/x",
            "sed -i s/a/b/ $HOME/.local/state/roleos/a.json",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "cat ~/.local/state/roleos/workspaces.json",
            "ls /home/me/.st/roleos",
            "echo x > ~/.local/state/other/a",
        ],
        Verdict::Allow,
    );
    let write = json!({"file_path": "/home/me/.st/roleos/a.json", "content": "x"});
    check_tool("Write", &write, Verdict::Deny);
}

#[test]
fn the_snapshots_of_a_session_stay() {
    all(
        &[
            "git update-ref -d refs/roleos/snapshot/s1",
            "git -C /w update-ref refs/roleos/snapshot/s1 HEAD",
            "echo 'delete refs/roleos/snapshot/s1' | git update-ref --stdin",
            "echo refs/roleos/snapshot/s1 | xargs git update-ref -d",
            "git fetch . +main:refs/roleos/snapshot/s1",
            "rm -rf .git/refs/roleos",
            "rm .git/refs/roleos/snapshot/s1",
            "rm -rf .git/refs",
            "rm -rf .git",
            "mv .git /tmp/g",
            "rm -rf .git/objects",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "git update-ref refs/heads/x HEAD",
            "git for-each-ref refs/roleos",
            "git show refs/roleos/undone/s1/1",
            "git fetch . refs/roleos/undone/s1/1:refs/heads/rescue",
            "git read-tree --empty",
            "rm .git/index",
            "rm -rf vendor/x/.git",
            "rm -f .git/index.lock",
        ],
        Verdict::Allow,
    );
}

#[test]
fn commands_that_change_evidence_are_for_people() {
    all(
        &[
            "roleos specialist register a",
            "roleos specialist promote checker v2",
            "roleos metric change a",
            "roleos witness seal --outcome solved",
            "roleos key new",
            "roleos trust",
            "roleos grant git:push --scope help",
            "roleos uninstall",
            "roleos prune --task x --yes",
            "env -u CLAUDECODE setsid -f sh -c 'sleep 0.5; roleos config set oversight.keep_days 3'",
            "roleos mode autonomous",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "roleos specialist list",
            "roleos witness verify x",
            "roleos ledger verify",
            "roleos mode",
            "roleos grants",
            "roleos help grant",
            "roleos witness seal --help",
        ],
        Verdict::Allow,
    );
}

#[test]
fn a_key_is_read_by_whatever_is_not_known_to_look_at_names_only() {
    let key = ".role-os/keys/approval/x";
    let with_key = |text: &str| text.replace('K', key);
    let refused = [
        "history -r K; history",
        "mapfile -C 'cat K #' -c1 <<< x",
        "mapfile -C 'x=.role-os; cat $x/keys/approval/x #' -c1 <<< x",
        "compgen -C 'cat K' x",
        "compgen -C 'cat .role-os/ke\"\"ys/approval/x' x",
        "complete -C 'cat K' x",
        "bind -x '\"a\":cat K'",
        "PS4='$(cat K)'; set -x; true",
        "PROMPT_COMMAND='cat K' bash -i",
        "LESSOPEN='|cat K %s' less README.md",
        "command_not_found_handle(){ cat K; }; nosuch",
        "TRAPEXIT(){ cat K; }",
        "BASH_ENV=K bash -vc true",
        "env BASH_ENV=K bash -vc true",
        "bash .[r]ole-os/keys/approval/x",
        "sh .?ole-os/k*/*/*",
        "bash -v .role-os/keys/*/*",
        "sed -n '1r K' README.md",
        "sed 'rK' README.md",
        "frobnicate --script 'load(K)'",
        "frobnicate 'read K please'",
        "ls .role-os/keys/approval/* | while read f; do cat $f; done",
        "cat $(find .role-os/keys -type f)",
        "git grep --no-index . -- K",
        "HISTFILE=K bash -ic history",
        "HISTFILE=K; history -r; history",
        "INPUTRC=K bash -i",
        "export X=K; frobnicate",
        "find .role-os -type f -print0 | xargs -0 cat",
        "find . -name 'hma*' | xargs cat",
        "ls .r*/ | xargs cat",
        "cp -r .r* /tmp/x",
        "ssh -i K host true",
        "git config -f K --list",
        "git log -OK",
        "man ./K",
        "cpio -o <<< K",
        "tclsh <<< 'puts [read [open K]]'",
        "du --files0-from=K",
        "find -files0-from K",
        "cd .role-os/keys && frobnicate 'x approval/x'",
    ];
    let refused: Vec<String> = refused.iter().map(|text| with_key(text)).collect();
    all(
        &refused.iter().map(String::as_str).collect::<Vec<_>>(),
        Verdict::Deny,
    );
    let ordinary = [
        "ls -l K",
        "stat K",
        "test -f K && echo yes",
        "[ -e K ]",
        "bash -c 'ls -l .role-os/keys'",
        "eval 'stat K'",
        "find . -path ./.role-os/keys -prune -o -print",
        "echo .role-os/keys/ >> .gitignore",
        "export KEYS=.role-os/keys",
        "git status -- .role-os/keys",
        "git check-ignore K",
        "tar czf /tmp/o.tgz --exclude .role-os/keys src",
        "find . -name '*.rs' | xargs cat",
        "ls src/*.rs | xargs cat",
        "cd /w/role-os-x; ls; cat \"$F\"",
        "git commit -m 'ignore .role-os/keys/'",
        "gh issue create --title x --body 'see .role-os/keys/approval'",
        "grep -rn '.role-os/keys' docs",
        "rg '.role-os/keys' src",
        "sed -n 's|.role-os/keys|x|p' docs/a.md",
        "cargo test keys -- --nocapture",
        "npm test -- 'src/**/*.test.ts'",
    ];
    let ordinary: Vec<String> = ordinary.iter().map(|text| with_key(text)).collect();
    all(
        &ordinary.iter().map(String::as_str).collect::<Vec<_>>(),
        Verdict::Allow,
    );
}
