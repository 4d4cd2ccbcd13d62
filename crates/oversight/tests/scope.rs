//! Grants whose scope binds: covered calls, others, and those that cannot be checked.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;

use oversight::grants::Grants;
use oversight::lookup::{Content, Lookup};
use oversight::verdict::{Decision, Place, Policy, Verdict, decide_command, decide_tool};

struct Files(BTreeMap<&'static str, &'static str>);

impl Lookup for Files {
    fn read(&self, path: &str) -> Content {
        let text = self.0.get(path).map(ToString::to_string);
        text.map_or(Content::Missing, Content::Text)
    }

    fn list(&self, directory: &str) -> Vec<String> {
        let prefix = format!("{directory}/");
        let names = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
        let names: std::collections::BTreeSet<String> = names
            .filter_map(|rest| rest.split('/').next().map(str::to_owned))
            .collect();
        names.into_iter().collect()
    }
}

fn machine() -> Files {
    Files(BTreeMap::from([
        ("/w/package.json", r#"{"name":"@acme/tool"}"#),
        ("/w/packages/b/package.json", r#"{"name":"other"}"#),
        ("/w/pyproject.toml", "[project]\nname = \"Acme_Tool\"\n"),
        ("/w/dist/acme_tool-1.0.tar.gz", ""),
        ("/w/dist/acme_tool-1.0-py3-none-any.whl", ""),
        ("/w/.git/HEAD", "ref: refs/heads/main\n"),
        (
            "/w/.git/config",
            "[remote \"origin\"]\n\turl = git@github.com:Acme/tool.git\n",
        ),
        ("/v/.git", "gitdir: /w/.git/worktrees/v\n"),
        ("/w/.git/worktrees/v/HEAD", "ref: refs/heads/topic\n"),
        ("/two/.git/HEAD", "ref: refs/heads/main\n"),
        (
            "/two/.git/config",
            "[remote \"origin\"]\n\turl = https://github.com/me/tool\n[remote \"upstream\"]\n\turl = https://github.com/acme/tool\n",
        ),
    ]))
}

fn grants(scope: &str) -> Grants {
    let entry = json!({ "granted": true, "scope": scope, "enforce": true });
    let ids = [
        "npm:publish",
        "pypi:publish",
        "git:push",
        "gh:release",
        "gh:pr-create",
        "gh:repo-edit",
        "pages:deploy",
    ];
    let all: serde_json::Map<_, _> = ids
        .map(|id| (id.to_owned(), entry.clone()))
        .into_iter()
        .collect();
    Grants::parse(&serde_json::Value::Object(all).to_string())
}

fn decide(scope: &str, command: &str) -> Decision {
    let place = Place {
        directory: "/w",
        home: "/h",
    };
    let now = Timestamp::UNIX_EPOCH;
    decide_command(
        &Policy::default(),
        command,
        place,
        &machine(),
        &grants(scope),
        now,
    )
}

fn covered(scope: &str, command: &str) {
    let decision = decide(scope, command);
    assert_eq!(
        decision.verdict,
        Verdict::Allow,
        "{scope}: {command}: {:?}",
        decision.reasons
    );
    assert!(!decision.actions.is_empty(), "{command}");
}

fn refused(scope: &str, command: &str, why: &str) {
    let decision = decide(scope, command);
    assert_eq!(decision.verdict, Verdict::Deny, "{scope}: {command}");
    let reasons = decision.reasons.join("\n");
    assert!(reasons.contains(why), "{scope}: {command}: {reasons}");
}

#[test]
fn packages_go_by_name() {
    covered("@acme/tool", "npm publish");
    covered("@acme/*", "npm publish --access public --tag next");
    covered("a, @acme/tool", "pnpm publish");
    covered("other", "npm publish ./packages/b");
    refused("other", "npm publish", "not for `@acme/tool`");
    // These publish by their own settings.
    refused("@acme/tool", "lerna publish", "cannot be checked");
    refused("acme/tool", "goreleaser release", "cannot be checked");
    refused(
        "acme-tool",
        "maturin upload other-1.0.whl",
        "not for `other`",
    );
    refused(
        "@acme/tool",
        "cd packages/b && npm publish",
        "not for `other`",
    );
    refused("@acme/*", "npm publish -w b", "cannot be checked");
    refused("@acme/*", "npm publish x.tgz", "cannot be checked");
    refused("@acme/*", "cd /nowhere && npm publish", "cannot be checked");
    refused(
        "@acme/*",
        "npm_config_registry=https://x npm publish",
        "cannot be checked",
    );
    covered("acme-tool", "uv publish");
    covered("acme-tool", "twine upload dist/*");
    covered("acme-tool", "twine upload dist/acme_tool-1.0.tar.gz");
    refused("other", "twine upload dist/*", "not for `acme-tool`");
    refused("acme-tool", "twine upload", "cannot be checked");
}

#[test]
fn pushes_go_by_remote_and_branch() {
    covered("origin", "git push");
    covered("main", "git push");
    covered("origin main", "git push");
    covered("origin main", "git push origin main");
    covered("origin main", "git push -u origin HEAD");
    covered("origin feature/*", "git push origin x:refs/heads/feature/y");
    covered("git@github.com:Acme/tool.git", "git push");
    covered("origin topic", "git -C /v push");
    refused("origin feature/*", "git push", "not for `origin main`");
    refused("origin main", "git push fork main", "not for `fork main`");
    refused(
        "origin feature/*",
        "git push origin feature/a main",
        "not for `origin main`",
    );
    refused("origin main", "git push --all", "more than one branch");
    refused("origin main", "git push origin :", "cannot be checked");
    refused(
        "origin main",
        "git -c remote.origin.url=x push",
        "cannot be checked",
    );
    refused("origin main", "GIT_DIR=/x git push", "cannot be checked");
    refused("origin main", "git --git-dir=/x push", "cannot be checked");
    refused("origin main", "git send-pack x", "cannot be checked");
    refused(
        "origin main",
        "cd /nowhere && git push",
        "cannot be checked",
    );
    refused(
        "origin main",
        "git push origin $BRANCH",
        "cannot be checked",
    );
}

#[test]
fn acts_on_github_go_by_repository() {
    covered("acme/tool", "gh pr create --fill");
    covered("acme/*", "gh release create v1");
    covered("acme/tool", "gh release create v1 -R Acme/Tool");
    covered("acme/tool", "gh api -X POST repos/acme/tool/releases");
    covered("acme/tool", "gh repo edit acme/tool --description x");
    refused(
        "acme/tool",
        "gh pr create -R other/tool",
        "not for `other/tool`",
    );
    refused("acme/tool", "gh repo delete other/x", "not for `other/x`");
    refused(
        "acme/tool",
        "cd /two && gh pr create",
        "different repositories",
    );
    refused("acme/tool", "GH_REPO=x/y gh pr create", "cannot be checked");
    refused("acme/tool", "npx gh-pages -d dist", "cannot be checked");
}

#[test]
fn tools_are_held_to_the_same_scope() {
    let place = Place {
        directory: "/w",
        home: "/h",
    };
    let check = |input: serde_json::Value, expected| {
        let tool = "mcp__github__create_pull_request";
        let now = Timestamp::UNIX_EPOCH;
        let decision = decide_tool(
            &Policy::default(),
            tool,
            &input,
            place,
            &machine(),
            &grants("acme/tool"),
            now,
        );
        assert_eq!(decision.verdict, expected, "{input}");
    };
    check(json!({"owner":"acme","repo":"tool"}), Verdict::Allow);
    check(json!({"owner":"other","repo":"tool"}), Verdict::Deny);
    check(json!({}), Verdict::Deny);
}

#[test]
fn a_scope_binds_only_where_it_is_told_to() {
    let place = Place {
        directory: "/w",
        home: "/h",
    };
    let now = Timestamp::UNIX_EPOCH;
    let check = |entry: &str, enforce_scope: bool, expected| {
        let policy = Policy {
            enforce_scope,
            ..Policy::default()
        };
        let grants = Grants::parse(&format!("{{\"git:push\":{entry}}}"));
        let decision = decide_command(&policy, "git push", place, &machine(), &grants, now);
        assert_eq!(
            decision.verdict, expected,
            "{entry} {enforce_scope}: {:?}",
            decision.reasons
        );
    };
    check(r#"{"granted":true,"scope":"other"}"#, false, Verdict::Allow);
    check(r#"{"granted":true,"scope":"other"}"#, true, Verdict::Deny);
    check(r#"{"granted":true,"scope":"main"}"#, true, Verdict::Allow);
    check(r#"{"granted":true}"#, true, Verdict::Allow);
    check(r#"{"granted":true,"enforce":true}"#, false, Verdict::Deny);
    check(
        r#"{"granted":true,"scope":3,"enforce":true}"#,
        false,
        Verdict::Deny,
    );
    check(r#"{"granted":true,"scope":3}"#, true, Verdict::Deny);
    check(
        r#"{"granted":true,"scope":"other","enforce":"yes"}"#,
        false,
        Verdict::Deny,
    );
}
