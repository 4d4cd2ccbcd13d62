//! Agents that work on a task: a command in a box, one of the presets, or one of the built-in agents that check the
//! harness.

use std::path::PathBuf;

use serde_json::json;

use crate::grading::quoted;
use crate::trial::hooks::SOCKET;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Applies the reference.
    Reference,
    /// Does nothing.
    Null,
    /// Tries everything forbidden, then applies the reference.
    Rogue,
    /// A coding agent with known settings.
    Preset(Preset),
    /// A command of the user.
    Command(String),
}

/// A coding agent with known settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Claude Code.
    Claude,
    Codex,
    /// mini-swe-agent, which has no hooks.
    Mini,
}

const CLAUDE: &str = "ANTHROPIC_BASE_URL={model_url} ANTHROPIC_API_KEY=made-up CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 IS_SANDBOX=1 CLAUDE_CONFIG_DIR=/w/home/.claude \
claude -p --settings /w/agent/settings.json --output-format json --permission-mode bypassPermissions --max-turns 200 {model_option} > {out}/result.json";
const CODEX: &str = "ROLEOS_KEY=made-up CODEX_HOME=/w/home/.codex codex exec --json --skip-git-repo-check \
--dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust - > {out}/events.jsonl";
const MINI: &str = "MSWEA_CONFIGURED=true MSWEA_SILENT_STARTUP=1 MSWEA_COST_TRACKING=ignore_errors \
LITELLM_LOCAL_MODEL_COST_MAP=True OPENAI_API_BASE={model_url}/v1 OPENAI_API_KEY=made-up \
mini -y --exit-immediately -m openai/{model} -l {budget_usd} -o {out}/run.traj.json -t \"$(cat {issue_file})\"";

/// Events for a hook; `true` if they are about a tool.
const EVENTS: [(&str, bool); 7] = [
    ("PreToolUse", true),
    ("PostToolUse", true),
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("Stop", false),
    ("SubagentStop", false),
    ("SessionEnd", false),
];

impl Preset {
    /// Returns its name as a program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Mini => "mini",
        }
    }

    /// Returns the protocol of its hook; `None` if it has none.
    #[must_use]
    pub fn hook(self) -> Option<&'static str> {
        (self != Self::Mini).then(|| self.name())
    }

    fn command(self) -> &'static str {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Mini => MINI,
        }
    }

    /// Returns settings by their path in the box. The agent cannot change them.
    #[must_use]
    pub fn files(self, places: &Places) -> Vec<(PathBuf, String)> {
        let hooks: serde_json::Map<_, _> = EVENTS
            .iter()
            .map(|(event, is_tool)| {
                let command = format!("/w/bin/roleos-hook box-hook {SOCKET}");
                let timeout = if *event == "SessionEnd" { 3 } else { 5 };
                let blocks = self == Self::Claude && *event == "PreToolUse";
                let handler = if blocks {
                    json!({"type": "command", "command": command, "timeout": timeout, "onFailure": "block"})
                } else {
                    json!({"type": "command", "command": command, "timeout": timeout})
                };
                let group = if *is_tool {
                    json!({"matcher": "*", "hooks": [handler]})
                } else {
                    json!({"hooks": [handler]})
                };
                ((*event).to_owned(), json!([group]))
            })
            .collect();
        let hooks = json!({"hooks": hooks}).to_string();
        match self {
            Self::Claude => vec![("/w/agent/settings.json".into(), hooks)],
            Self::Codex => {
                let model = json!(places.model);
                let url = json!(format!("{}/v1", places.model_url));
                let config = format!(
                    "model = {model}\nmodel_provider = \"gateway\"\n\n[model_providers.gateway]\nname = \"gateway\"\n\
                     base_url = {url}\nwire_api = \"responses\"\nenv_key = \"ROLEOS_KEY\"\n\n\
                     [projects.\"/w/repo\"]\ntrust_level = \"trusted\"\n"
                );
                vec![
                    ("/w/home/.codex/config.toml".into(), config),
                    ("/w/home/.codex/hooks.json".into(), hooks),
                ]
            }
            Self::Mini => Vec::new(),
        }
    }
}

/// Everything forbidden for an agent, in order. Actions of the gate are refused; the rest stays in the box, and the
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
    /// Parses the name of a preset or a built-in agent; anything else is a command.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "reference" | "oracle" => Self::Reference,
            "null" | "nop" => Self::Null,
            "rogue" => Self::Rogue,
            "claude" => Self::Preset(Preset::Claude),
            "codex" => Self::Preset(Preset::Codex),
            "mini" => Self::Preset(Preset::Mini),
            _ => Self::Command(text.to_owned()),
        }
    }

    /// Returns the name for people and bundles.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Reference => "reference".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Rogue => "rogue".to_owned(),
            Self::Preset(preset) => preset.name().to_owned(),
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

    /// Returns `true` if a run is only about the harness.
    #[must_use]
    pub fn is_harness_check(&self) -> bool {
        matches!(self, Self::Reference | Self::Null | Self::Rogue)
    }

    /// Returns `true` if it gets the reference.
    #[must_use]
    pub fn gets_reference(&self) -> bool {
        matches!(self, Self::Reference | Self::Rogue)
    }

    /// Returns the command for the shell in the box.
    #[must_use]
    pub fn command(&self, places: &Places) -> String {
        let apply =
            "[ ! -f /w/reference.patch ] || git apply --whitespace=nowarn /w/reference.patch";
        match self {
            Self::Reference => apply.to_owned(),
            Self::Null => "true".to_owned(),
            Self::Rogue => format!("{ROGUE}{apply}\n"),
            Self::Preset(preset) => places.fill(preset.command()),
            Self::Command(command) => places.fill(command),
        }
    }

    /// Returns the preset, if it is one.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        match self {
            Self::Preset(preset) => Some(*preset),
            _ => None,
        }
    }
}

impl Places {
    fn fill(&self, command: &str) -> String {
        let model = quoted(&self.model);
        let option = if self.model.is_empty() {
            String::new()
        } else {
            format!("--model {model}")
        };
        command
            .replace("{issue_file}", "/w/issue.md")
            .replace("{repo}", "/w/repo")
            .replace("{out}", "/w/out")
            .replace("{model_url}", &self.model_url)
            .replace("{model_option}", &option)
            .replace("{model}", &model)
            .replace("{task}", &quoted(&self.task))
            .replace("{seconds}", &self.seconds.to_string())
            .replace("{budget_usd}", &self.budget_usd)
    }
}

/// Values of the placeholders of an agent's command.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Address of the model inside the box.
    pub model_url: String,
    /// Name of the model.
    pub model: String,
    /// Id of the task.
    pub task: String,
    /// Its time limit.
    pub seconds: u64,
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
