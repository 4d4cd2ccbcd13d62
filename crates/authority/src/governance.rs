//! Governance of a session as a whole: a mode, tool lists and budgets, checked before a call runs.
//!
//! The order is fixed: the deny list, then the mode with its allow list, then the budgets. The sentences of
//! violations are those of the published format, so that a bundle and a refusal have the same text.

use std::borrow::Cow;
use std::cmp::Ordering;

use shell::words::names;

/// Governance mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// No lists, no budgets.
    #[default]
    Off,
    /// Only the tools of the allow list.
    Restricted,
    /// A person confirms every call that is not read-only.
    Approved,
    /// Everything within the budgets.
    Autonomous,
}

impl Mode {
    pub const ALL: [Self; 4] = [
        Self::Off,
        Self::Restricted,
        Self::Approved,
        Self::Autonomous,
    ];

    /// Returns the name for people and programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Restricted => "restricted",
            Self::Approved => "approved",
            Self::Autonomous => "autonomous",
        }
    }

    /// Returns the mode of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    fn strictness(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Autonomous => 1,
            Self::Approved => 2,
            Self::Restricted => 3,
        }
    }

    /// Returns the number in a bundle. Off has no number and is written as autonomous without limits.
    #[must_use]
    pub fn wire(self) -> u8 {
        match self {
            Self::Restricted => 0,
            Self::Approved => 1,
            Self::Off | Self::Autonomous => 2,
        }
    }
}

/// Mode, tool lists and budgets of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governance {
    pub mode: Mode,
    /// Tools that may be used; empty means no list, except in restricted, where it means none.
    pub allowed_tools: Vec<String>,
    /// Tools that may never be used; checked first.
    pub denied_tools: Vec<String>,
    /// Budget in millionths of a US dollar.
    pub max_cost_microdollars: u32,
    /// Budget in calls of tools.
    pub max_tool_calls: u16,
}

impl Default for Governance {
    fn default() -> Self {
        Self::of_mode(Mode::Off)
    }
}

/// Resources that a session has used so far, without the judged call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Cost in millionths of a US dollar.
    pub cost_microdollars: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// Calls of tools, refused ones included.
    pub calls: u64,
    /// Time of the calls, in milliseconds.
    pub latency_ms: u64,
}

/// A breach of the mode or of a budget. A refusal by the capability gate is not one: there the guard worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the tool by the agent.
    pub tool: String,
    /// Sentence about the breach, in the words of the published format.
    pub reason: String,
}

/// Verdict on a call in the trace of a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// It ran.
    #[default]
    Allowed,
    /// It was refused.
    Denied,
    /// A person was asked.
    Confirmed,
}

impl Recorded {
    /// Returns the number on the wire.
    #[must_use]
    pub fn wire(self) -> u8 {
        match self {
            Self::Allowed => 0,
            Self::Denied => 1,
            Self::Confirmed => 2,
        }
    }

    /// Returns the lower-case name for JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Confirmed => "confirmed",
        }
    }
}

/// Verdict of governance on one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Set if the call may not run.
    pub refused: bool,
    /// Set if a person must confirm it.
    pub asked: bool,
    /// Reasons, one sentence each.
    pub reasons: Vec<String>,
    pub violations: Vec<Violation>,
    pub recorded: Recorded,
}

/// Tools that change nothing: the published read-only list, and those that only talk to the user.
const READ_ONLY: &[&str] =
    names!("Read Glob Grep WebFetch WebSearch TodoWrite AskUserQuestion ExitPlanMode");

/// Published names of tools, with the names by Codex, Gemini, Cursor, Copilot and Claude Code.
const NAMES: &[(&str, &[&str])] = &[
    (
        "Bash",
        names!(
            "shell local_shell exec_command unified_exec write_stdin run_shell_command Shell run_terminal_cmd bash \
            powershell run_in_terminal runInTerminal PowerShell"
        ),
    ),
    (
        "Edit",
        names!(
            "apply_patch replace edit_file search_replace delete_file insert_edit_into_file replace_string_in_file \
            multi_replace_string_in_file str_replace str_replace_editor edit MultiEdit NotebookEdit"
        ),
    ),
    ("TodoWrite", names!("update_plan")),
    (
        "Read",
        names!("view_image read_file read_many_files view NotebookRead"),
    ),
    ("Write", names!("write_file create_file create")),
    (
        "Glob",
        names!("list_directory glob list_dir file_search LS"),
    ),
    (
        "Grep",
        names!("search_file_content grep_search codebase_search grep"),
    ),
    ("WebFetch", names!("web_fetch fetch_webpage")),
    ("WebSearch", names!("google_web_search web_search")),
];

/// Returns the published name of a tool of any agent.
#[must_use]
pub fn canonical(tool: &str) -> &str {
    let known = NAMES.iter().find(|(_, names)| names.contains(&tool));
    known.map_or(tool, |(canonical, _)| canonical)
}

impl Governance {
    /// Combines two: the stricter mode, or the limits of both if the mode is the same.
    #[must_use]
    pub fn stricter(self, other: &Self) -> Self {
        match self.mode.strictness().cmp(&other.mode.strictness()) {
            Ordering::Less => other.clone(),
            Ordering::Greater => self,
            Ordering::Equal => Self {
                denied_tools: self
                    .denied_tools
                    .iter()
                    .chain(&other.denied_tools)
                    .cloned()
                    .collect(),
                max_cost_microdollars: self.max_cost_microdollars.min(other.max_cost_microdollars),
                max_tool_calls: self.max_tool_calls.min(other.max_tool_calls),
                ..self
            },
        }
    }

    /// Returns the published policy of a mode; off has no lists and the widest budgets.
    #[must_use]
    pub fn of_mode(mode: Mode) -> Self {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let (allowed, denied, max_cost_microdollars, max_tool_calls): (&[&str], &[&str], _, _) =
            match mode {
                Mode::Off => (&[], &[], u32::MAX, u16::MAX),
                Mode::Restricted => (
                    &["Read", "Glob", "Grep", "WebFetch", "WebSearch"],
                    &["Bash", "Write", "Edit"],
                    10_000,
                    50,
                ),
                Mode::Approved => (&[], &[], 100_000, 200),
                Mode::Autonomous => (&[], &[], 1_000_000, 500),
            };
        Self {
            mode,
            allowed_tools: names(allowed),
            denied_tools: names(denied),
            max_cost_microdollars,
            max_tool_calls,
        }
    }

    /// Checks one call before it runs.
    pub fn judge(&self, tool: &str, spent: &Spent) -> Judgement {
        if self.mode == Mode::Off {
            return Judgement::default();
        }
        let mut judgement = Judgement::default();
        self.judge_tool(tool, &mut judgement);
        self.judge_budgets(tool, spent, &mut judgement);
        judgement.recorded = if judgement.refused {
            Recorded::Denied
        } else if self.mode == Mode::Approved {
            Recorded::Confirmed
        } else {
            Recorded::Allowed
        };
        judgement
    }

    fn judge_tool(&self, tool: &str, judgement: &mut Judgement) {
        let name = canonical(tool);
        let mode = self.mode.as_str();
        let listed = |list: &[String]| list.iter().any(|one| one == tool || one == name);
        let must_be_listed = self.mode == Mode::Restricted || !self.allowed_tools.is_empty();
        let refusal = if listed(&self.denied_tools) {
            Some("is on the deny list")
        } else if must_be_listed && !listed(&self.allowed_tools) {
            Some("is not on the allow list")
        } else {
            None
        };
        if let Some(why) = refusal {
            judgement.refused = true;
            judgement.violations.push(Violation {
                tool: tool.to_owned(),
                reason: format!("denied tool: {}", shortened(name)),
            });
            judgement.reasons.push(format!(
                "the tool `{}` {why} of mode {mode}",
                shortened(tool)
            ));
        } else if self.mode == Mode::Approved && !READ_ONLY.contains(&name) {
            judgement.asked = true;
            judgement.reasons.push(format!(
                "mode approved: a person confirms `{}`",
                shortened(tool)
            ));
        }
    }

    fn judge_budgets(&self, tool: &str, spent: &Spent, judgement: &mut Judgement) {
        let calls = spent.calls.saturating_add(1);
        let budgets = [
            (
                "cost",
                spent.cost_microdollars,
                u64::from(self.max_cost_microdollars),
            ),
            ("tool call", calls, u64::from(self.max_tool_calls)),
        ];
        for (what, used, most) in budgets {
            if used <= most {
                continue;
            }
            let reason = format!("{what} budget exceeded: {used} > {most}");
            judgement.reasons.push(reason.clone());
            judgement.violations.push(Violation {
                tool: tool.to_owned(),
                reason,
            });
            if self.mode == Mode::Approved {
                judgement.asked = true;
            } else {
                judgement.refused = true;
            }
        }
    }
}

/// Limit of the characters of a tool name in a sentence.
const MAX_QUOTED: usize = 256;

fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_QUOTED) {
        None => Cow::Borrowed(name),
        Some((end, _)) => Cow::Owned(format!("{}…", name.get(..end).unwrap_or_default())),
    }
}
