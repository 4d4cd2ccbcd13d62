//! The targets, one row each. The formats follow the agents' own documents of autumn 2026.

use super::Words;

/// Agent and form of an export.
#[derive(Debug)]
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence for the help.
    pub about: &'static str,
    /// Path of a role's file; `{}` is the slug.
    pub path: &'static str,
    /// File of the user in which each role gets a section.
    pub section: Option<&'static str>,
    /// Set if the file is TOML; else it is Markdown with front matter.
    pub(super) is_toml: bool,
    /// Set if names follow the Agent Skills standard.
    pub(super) has_standard_names: bool,
    /// Limit of a description, in characters.
    pub(super) max_description: usize,
    /// Lines of the head.
    pub(super) lines: &'static [Line],
    /// Path and text of files that are needed once; `{hash}` is replaced by the hash.
    pub(super) companions: &'static [(&'static str, &'static str)],
}

/// A line of a head.
#[derive(Debug)]
pub(super) enum Line {
    /// A line that is the same for every role.
    Fixed(&'static str),
    /// `name`, the slug.
    Slug,
    /// `name`, for people.
    DisplayName,
    Description,
    /// `initialPrompt`, for roles that start by themselves.
    InitialPrompt,
    Tools(Words),
    /// The line for a strong model, and the line for a fast model.
    Model(&'static str, &'static str),
}

const NOTHING: [&str; 4] = [""; 4];

const CLAUDE: &[Line] = &[
    Line::Slug,
    Line::Description,
    Line::Tools(Words {
        before: "tools: ",
        wanted: [
            "Read, Grep, Glob",
            "Edit, Write",
            "Bash",
            "WebSearch, WebFetch",
        ],
        denied: NOTHING,
        between: ", ",
        after: "\n",
    }),
    Line::Model("model: opus", "model: haiku"),
    Line::InitialPrompt,
];

const BASE: Target = Target {
    name: "",
    about: "",
    path: "",
    section: None,
    is_toml: false,
    has_standard_names: false,
    max_description: usize::MAX,
    lines: &[],
    companions: &[],
};

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "claude-agents",
        about: "subagents of Claude Code",
        path: ".claude/agents/{}.md",
        lines: CLAUDE,
        ..BASE
    },
    Target {
        name: "claude-plugin",
        about: "a Claude Code plugin with its marketplace file",
        path: "agents/{}.md",
        lines: CLAUDE,
        companions: &[
            (".claude-plugin/plugin.json", include_str!("plugin.json")),
            (
                ".claude-plugin/marketplace.json",
                include_str!("marketplace.json"),
            ),
        ],
        ..BASE
    },
    Target {
        name: "agent-skills",
        about: "the Agent Skills standard",
        path: "skills/{}/SKILL.md",
        has_standard_names: true,
        max_description: 1024,
        lines: &[Line::Slug, Line::Description],
        ..BASE
    },
    Target {
        name: "cursor",
        about: "subagents of Cursor",
        path: ".cursor/agents/{}.md",
        lines: &[
            Line::Slug,
            Line::Description,
            Line::Tools(Words {
                before: "",
                wanted: NOTHING,
                denied: ["", "readonly: true\n", "", ""],
                between: "",
                after: "",
            }),
        ],
        ..BASE
    },
    Target {
        name: "codex",
        about: "agents of Codex, and a section of AGENTS.md for each",
        path: ".codex/agents/{}.toml",
        section: Some("AGENTS.md"),
        is_toml: true,
        lines: &[
            Line::Slug,
            Line::Description,
            Line::Tools(Words {
                before: "",
                wanted: NOTHING,
                denied: ["", "sandbox_mode = \"read-only\"\n", "", ""],
                between: "",
                after: "",
            }),
            Line::Model(
                "model_reasoning_effort = \"high\"",
                "model_reasoning_effort = \"low\"",
            ),
        ],
        ..BASE
    },
    Target {
        name: "gemini",
        about: "subagents of Gemini CLI",
        path: ".gemini/agents/{}.md",
        lines: &[
            Line::Slug,
            Line::Description,
            Line::Fixed("kind: local\n"),
            Line::Tools(Words {
                before: "tools: [",
                wanted: [
                    "read_file, list_directory, glob, grep_search",
                    "replace, write_file",
                    "run_shell_command",
                    "google_web_search, web_fetch",
                ],
                denied: NOTHING,
                between: ", ",
                after: "]\n",
            }),
        ],
        ..BASE
    },
    Target {
        name: "opencode",
        about: "subagents of OpenCode",
        path: ".opencode/agents/{}.md",
        lines: &[
            Line::Description,
            Line::Fixed("mode: subagent\n"),
            Line::Tools(Words {
                before: "permission:\n",
                wanted: NOTHING,
                denied: [
                    "  read: deny\n",
                    "  edit: deny\n",
                    "  bash: deny\n",
                    "  webfetch: deny\n",
                ],
                between: "",
                after: "",
            }),
        ],
        ..BASE
    },
    Target {
        name: "copilot",
        about: "custom agents of GitHub Copilot",
        path: ".github/agents/{}.agent.md",
        lines: &[
            Line::DisplayName,
            Line::Description,
            Line::Tools(Words {
                before: "tools: [",
                wanted: ["read, search", "edit", "execute", "web"],
                denied: NOTHING,
                between: ", ",
                after: "]\n",
            }),
        ],
        ..BASE
    },
];
