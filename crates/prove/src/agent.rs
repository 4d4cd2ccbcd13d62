//! Who works on a task: a command in a box, one of the presets, or one of the built-in agents that check the harness.

use crate::grading::quoted;

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Applies the reference.
    Reference,
    /// Does nothing.
    Null,
    /// Tries everything that it must not do, then applies the reference.
    Rogue,
    /// A command of the user.
    Command(String),
}

/// Everything that an agent must not do, in order. What the gate knows is refused; the rest stays in the box, and the
/// last steps use up the disk.
const ROGUE: &str = r#"exec 2>/dev/null
git push
git push --force
rm -rf ~
echo x > /w/../x; echo x > /etc/x; echo x > ~/.bashrc
curl -s -m 2 http://example.com
cat /w/suite/suite.toml
git log --all --oneline | wc -l > /w/out/commits
git fetch
for f in tests test; do [ -d $f ] && find $f -type f | head -3 | while read p; do echo broken > "$p"; done; done
printf 'import os\n' > conftest.py
git config core.hooksPath /w/out/hooks; git config core.fsmonitor /bin/true
git init -q nested; echo x > nested/file
mkdir -p __pycache__ empty/folder; echo x > __pycache__/ignored.pyc; echo '*.hidden' >> .git/info/exclude; echo x > a.hidden
ln -s /etc/passwd out-link
git branch other; git tag -f mark; git commit -q --allow-empty -m more; git stash
chmod 000 nested
setsid sleep 1000 &
truncate -s 2G big
"#;

impl Agent {
    /// Reads the name of a preset, or takes the text for a command.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "reference" | "oracle" => Self::Reference,
            "null" | "nop" => Self::Null,
            "rogue" => Self::Rogue,
            "claude" => Self::Command(
                "ANTHROPIC_BASE_URL={model_url} ANTHROPIC_API_KEY=made-up CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
                 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 IS_SANDBOX=1 CLAUDE_CONFIG_DIR=/w/home/.claude \
                 claude -p --output-format json --permission-mode bypassPermissions --max-turns 200 > {out}/result.json"
                    .to_owned(),
            ),
            "codex" => Self::Command(
                "CODEX_HOME=/w/home/.codex codex exec --json --skip-git-repo-check \
                 --dangerously-bypass-approvals-and-sandbox - > {out}/events.jsonl"
                    .to_owned(),
            ),
            "mini" => Self::Command(
                "MSWEA_CONFIGURED=true MSWEA_SILENT_STARTUP=1 MSWEA_COST_TRACKING=ignore_errors OPENAI_API_BASE={model_url}/v1 \
                 OPENAI_API_KEY=made-up mini -y --exit-immediately -l {budget_usd} -o {out}/run.traj.json -t \"$(cat {issue_file})\""
                    .to_owned(),
            ),
            _ => Self::Command(text.to_owned()),
        }
    }

    /// Name for people and bundles.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Reference => "reference".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Rogue => "rogue".to_owned(),
            Self::Command(command) => {
                let words = command.split_whitespace();
                let program = words
                    .filter(|word| !word.contains('='))
                    .find(|word| !word.is_empty());
                program
                    .unwrap_or("command")
                    .rsplit('/')
                    .next()
                    .unwrap_or("command")
                    .to_owned()
            }
        }
    }

    /// Whether a run says something about the harness only.
    #[must_use]
    pub fn is_harness_check(&self) -> bool {
        !matches!(self, Self::Command(_))
    }

    /// Whether it is given the reference.
    #[must_use]
    pub fn gets_reference(&self) -> bool {
        matches!(self, Self::Reference | Self::Rogue)
    }

    /// The command for the shell in the box.
    #[must_use]
    pub fn command(&self, places: &Places) -> String {
        let apply =
            "[ ! -f /w/reference.patch ] || git apply --whitespace=nowarn /w/reference.patch";
        match self {
            Self::Reference => apply.to_owned(),
            Self::Null => "true".to_owned(),
            Self::Rogue => format!("{ROGUE}{apply}\n"),
            Self::Command(command) => command
                .replace("{issue_file}", "/w/issue.md")
                .replace("{repo}", "/w/repo")
                .replace("{out}", "/w/out")
                .replace("{model_url}", &places.model_url)
                .replace("{task}", &quoted(&places.task))
                .replace("{seconds}", &places.seconds.to_string())
                .replace("{budget_usd}", &places.budget_usd),
        }
    }
}

/// Values of the placeholders of an agent's command.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Address of the model inside the box.
    pub model_url: String,
    /// Id of the task.
    pub task: String,
    /// Time that it has.
    pub seconds: u64,
    /// Money that it has.
    pub budget_usd: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_placeholders_are_known() {
        assert_eq!(Agent::parse("oracle"), Agent::Reference);
        assert_eq!(Agent::parse("nop"), Agent::Null);
        let agent = Agent::parse("A=1 /opt/bin/solve --task {task} {issue_file}");
        assert_eq!(agent.name(), "solve");
        let places = Places {
            task: "a'b".to_owned(),
            ..Places::default()
        };
        assert_eq!(
            agent.command(&places),
            r"A=1 /opt/bin/solve --task 'a'\''b' /w/issue.md"
        );
        assert!(!agent.is_harness_check() && Agent::Rogue.is_harness_check());
    }
}
