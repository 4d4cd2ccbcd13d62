//! Settings that came with a clone: those that run programs, weaken the gate or redirect traffic are ignored until a
//! person has run `roleos trust` for exactly this content. The registry of specialists is treated likewise, as a whole.
//!
//! What was trusted is kept in the user's own folder, where no clone can bring it along. Whether git tracks the file is
//! read from its index, and only when it matters.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Config;
use super::oversight::{Answer, GovernanceMode, Unattended};
use crate::clock;
use crate::environment;
use crate::files::{self, FileError, Lock, Privacy};
use crate::repository::index;

const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Why a setting needs trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It lets more happen.
    WeakensTheGate,
    /// It changes files without asking.
    ChangesFiles,
    /// It runs a program, or sends inputs somewhere.
    RunsOrRedirects,
    /// It writes down what people and agents say.
    KeepsInputs,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WeakensTheGate => "weakens the gate",
            Self::ChangesFiles => "changes files without asking",
            Self::RunsOrRedirects => "runs a program or sends inputs elsewhere",
            Self::KeepsInputs => "keeps the text of inputs",
        })
    }
}

/// A setting that a clone must not decide.
struct Guarded {
    key: &'static str,
    why: Why,
    /// Whether the value does what the setting is guarded for; a stricter value is welcome from anybody.
    is_set: fn(&Config, &Config) -> bool,
    /// Back to the default.
    reset: fn(&mut Config, Config),
}

/// Every guarded setting. One that is in neither list fails a test, so that nobody forgets to decide.
const GUARDED: &[Guarded] = &[
    Guarded {
        key: "oversight.opaque",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.opaque == Answer::Allow,
        reset: |set, default| set.oversight.opaque = default.oversight.opaque,
    },
    Guarded {
        key: "oversight.unattended",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.unattended == Unattended::Ask,
        reset: |set, default| set.oversight.unattended = default.oversight.unattended,
    },
    Guarded {
        key: "oversight.mode",
        why: Why::ChangesFiles,
        is_set: |set, _| set.oversight.mode == GovernanceMode::Autonomous,
        reset: |set, default| set.oversight.mode = default.oversight.mode,
    },
    Guarded {
        key: "oversight.allowed_tools",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.allowed_tools.is_some(),
        reset: |set, default| set.oversight.allowed_tools = default.oversight.allowed_tools,
    },
    Guarded {
        key: "oversight.denied_tools",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.denied_tools.is_some(),
        reset: |set, default| set.oversight.denied_tools = default.oversight.denied_tools,
    },
    Guarded {
        key: "oversight.max_cost_microdollars",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.max_cost_microdollars.is_some(),
        reset: |set, default| {
            set.oversight.max_cost_microdollars = default.oversight.max_cost_microdollars;
        },
    },
    Guarded {
        key: "oversight.max_tool_calls",
        why: Why::WeakensTheGate,
        is_set: |set, _| set.oversight.max_tool_calls.is_some(),
        reset: |set, default| set.oversight.max_tool_calls = default.oversight.max_tool_calls,
    },
    Guarded {
        key: "oversight.approval_minutes",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.oversight.approval_minutes.get() > default.oversight.approval_minutes.get()
        },
        reset: |set, default| set.oversight.approval_minutes = default.oversight.approval_minutes,
    },
    Guarded {
        key: "oversight.prices",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.oversight.prices.is_empty(),
        reset: |set, default| set.oversight.prices = default.oversight.prices,
    },
    Guarded {
        key: "fallback.claude",
        why: Why::RunsOrRedirects,
        is_set: |set, default| set.fallback.claude != default.fallback.claude,
        reset: |set, default| set.fallback.claude = default.fallback.claude,
    },
    Guarded {
        key: "gateway.upstream",
        why: Why::RunsOrRedirects,
        is_set: |set, _| !set.gateway.upstream.is_empty(),
        reset: |set, default| set.gateway.upstream = default.gateway.upstream,
    },
    Guarded {
        key: "gateway.agents",
        why: Why::RunsOrRedirects,
        is_set: |set, _| !set.gateway.agents.is_empty(),
        reset: |set, default| set.gateway.agents = default.gateway.agents,
    },
    Guarded {
        key: "gateway.hosts",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.gateway.hosts.is_empty(),
        reset: |set, default| set.gateway.hosts = default.gateway.hosts,
    },
    Guarded {
        key: "gateway.token_env",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.gateway.token_env.is_empty(),
        reset: |set, default| set.gateway.token_env = default.gateway.token_env,
    },
    Guarded {
        key: "privacy.keep_inputs",
        why: Why::KeepsInputs,
        is_set: |set, _| set.privacy.keep_inputs,
        reset: |set, default| set.privacy.keep_inputs = default.privacy.keep_inputs,
    },
    Guarded {
        key: "selection.allow_unsandboxed",
        why: Why::RunsOrRedirects,
        is_set: |set, _| set.selection.allow_unsandboxed,
        reset: |set, default| set.selection.allow_unsandboxed = default.selection.allow_unsandboxed,
    },
    Guarded {
        key: "selection.verifier_reads",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.selection.verifier_reads.is_empty(),
        reset: |set, default| set.selection.verifier_reads = default.selection.verifier_reads,
    },
    Guarded {
        key: "selection.audit_max_age",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            let days = |config: &Config| match config.selection.audit_max_age.get() {
                0 => u64::MAX,
                days => days,
            };
            days(set) > days(default)
        },
        reset: |set, default| set.selection.audit_max_age = default.selection.audit_max_age,
    },
    Guarded {
        key: "selection.licenses",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.selection.licenses.is_empty(),
        reset: |set, default| set.selection.licenses = default.selection.licenses,
    },
    Guarded {
        key: "specialist.shadow_every",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.specialist.shadow_every.get() > default.specialist.shadow_every.get()
        },
        reset: |set, default| set.specialist.shadow_every = default.specialist.shadow_every,
    },
    Guarded {
        key: "specialist.shadow_window",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.specialist.shadow_window.get() > default.specialist.shadow_window.get()
        },
        reset: |set, default| set.specialist.shadow_window = default.specialist.shadow_window,
    },
    Guarded {
        key: "specialist.shadow_tau",
        why: Why::WeakensTheGate,
        is_set: |set, default| set.specialist.shadow_tau > default.specialist.shadow_tau,
        reset: |set, default| set.specialist.shadow_tau = default.specialist.shadow_tau,
    },
    Guarded {
        key: "specialist.quota_scope",
        why: Why::WeakensTheGate,
        is_set: |set, default| set.specialist.quota_scope != default.specialist.quota_scope,
        reset: |set, default| set.specialist.quota_scope = default.specialist.quota_scope,
    },
    Guarded {
        key: "specialist.quota_window",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.specialist.quota_window.get() > default.specialist.quota_window.get()
        },
        reset: |set, default| set.specialist.quota_window = default.specialist.quota_window,
    },
    Guarded {
        key: "specialist.early_stop",
        why: Why::WeakensTheGate,
        is_set: |set, _| !set.specialist.early_stop,
        reset: |set, default| set.specialist.early_stop = default.specialist.early_stop,
    },
    Guarded {
        key: "specialist.early_stop_error",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.specialist.early_stop_error < default.specialist.early_stop_error
        },
        reset: |set, default| set.specialist.early_stop_error = default.specialist.early_stop_error,
    },
    Guarded {
        key: "acceptance.min_tasks",
        why: Why::WeakensTheGate,
        is_set: |set, default| set.acceptance.min_tasks.get() < default.acceptance.min_tasks.get(),
        reset: |set, default| set.acceptance.min_tasks = default.acceptance.min_tasks,
    },
    Guarded {
        key: "acceptance.min_solve_rate",
        why: Why::WeakensTheGate,
        is_set: |set, default| set.acceptance.min_solve_rate < default.acceptance.min_solve_rate,
        reset: |set, default| set.acceptance.min_solve_rate = default.acceptance.min_solve_rate,
    },
    Guarded {
        key: "acceptance.max_policy_violations",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.acceptance.max_policy_violations.get()
                > default.acceptance.max_policy_violations.get()
        },
        reset: |set, default| {
            set.acceptance.max_policy_violations = default.acceptance.max_policy_violations;
        },
    },
    Guarded {
        key: "acceptance.min_evidence_coverage",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.acceptance.min_evidence_coverage < default.acceptance.min_evidence_coverage
        },
        reset: |set, default| {
            set.acceptance.min_evidence_coverage = default.acceptance.min_evidence_coverage;
        },
    },
    Guarded {
        key: "acceptance.min_rollback_correctness",
        why: Why::WeakensTheGate,
        is_set: |set, default| {
            set.acceptance.min_rollback_correctness < default.acceptance.min_rollback_correctness
        },
        reset: |set, default| {
            set.acceptance.min_rollback_correctness = default.acceptance.min_rollback_correctness;
        },
    },
];

/// A setting that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The key with its section.
    pub key: &'static str,
    /// Why it needs trust.
    pub why: Why,
}

/// What would need trust in these settings.
#[must_use]
pub fn guarded(config: &Config) -> Vec<Ignored> {
    let default = Config::default();
    GUARDED
        .iter()
        .filter(|guarded| (guarded.is_set)(config, &default))
        .map(|&Guarded { key, why, .. }| Ignored { key, why })
        .collect()
}

/// Puts defaults in the place of what needs trust and has none, and says what that was.
pub(super) fn ignore_untrusted(config: &mut Config, path: &Path, text: &str) -> Vec<Ignored> {
    let found = guarded(config);
    if found.is_empty() || !needs_trust(path, text.as_bytes()) {
        return Vec::new();
    }
    for guarded in GUARDED {
        if found.iter().any(|ignored| ignored.key == guarded.key) {
            (guarded.reset)(config, Config::default());
        }
    }
    found
}

/// Whether a file came with a clone and nobody has trusted this content of it.
#[must_use]
pub fn needs_trust(path: &Path, content: &[u8]) -> bool {
    !is_trusted(path, content) && index::is_tracked(path)
}

/// Names what was trusted: this content at this place.
fn name(path: &Path, content: &[u8]) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let hash = Sha256::new()
        .chain_update(b"roleos trusted settings v1\n")
        .chain_update(path.as_os_str().as_encoded_bytes())
        .chain_update(b"\0")
        .chain_update(content)
        .finalize();
    hex::encode(hash)
}

/// What is kept of one decision.
#[derive(Serialize, Deserialize)]
struct Trusted {
    path: String,
    at: String,
}

fn store() -> Option<PathBuf> {
    Some(environment::data_dir()?.join("trusted.json"))
}

/// Whether a person trusted exactly this content. A list that cannot be read trusts nothing.
#[must_use]
pub fn is_trusted(path: &Path, content: &[u8]) -> bool {
    let Some(bytes) = store().and_then(|store| files::read(&store, MAX_FILE).ok()) else {
        return false;
    };
    let list: Option<BTreeMap<String, Trusted>> = serde_json::from_slice(&bytes).ok();
    list.is_some_and(|list| list.contains_key(&name(path, content)))
}

/// Trusts exactly this content, and says where that is kept. For what a person starts, or changes in trusted content.
///
/// # Errors
/// The user's folder is not known or cannot be written.
pub fn trust(path: &Path, content: &[u8]) -> Result<PathBuf, FileError> {
    let store = store().ok_or_else(|| {
        let why = io::Error::new(io::ErrorKind::NotFound, "the user has no home directory");
        FileError::new(
            files::Action::Write,
            Path::new("~/.local/share/roleos"),
            why,
        )
    })?;
    let folder = files::parent(&store);
    files::make_directory(folder, Privacy::Secret)?;
    let _alone = Lock::take(&folder.join(".lock"))?;
    let bytes = files::read(&store, MAX_FILE).unwrap_or_default();
    let mut list: BTreeMap<String, Trusted> = serde_json::from_slice(&bytes).unwrap_or_default();
    list.insert(
        name(path, content),
        Trusted {
            path: path.to_string_lossy().into_owned(),
            at: clock::text(clock::now_ns()),
        },
    );
    let mut bytes = serde_json::to_vec_pretty(&list).unwrap_or_default();
    bytes.push(b'\n');
    files::write(&store, &bytes, Privacy::Secret)?;
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that anybody may bring: they only make the gate stricter, or have nothing to do with it.
    const HARMLESS: &[&str] = &[
        "gateway.body_timeout_seconds",
        "gateway.connect_timeout_seconds",
        "gateway.header_timeout_seconds",
        "gateway.log_keep",
        "gateway.log_mib",
        "gateway.max_body_mib",
        "gateway.max_connections",
        "oversight.action",
        "oversight.capability_gate",
        "oversight.enforce_scope",
        "oversight.extended",
        "oversight.keep_days",
        // Compared with what an agent ran, never run: a repository decides what its own tests are anyway.
        "oversight.test_commands",
        "privacy.prompt_key_env",
        "rerun.max_memory_mib",
        "rerun.max_output_mib",
        "rerun.timeout_seconds",
        "selection.k_infer",
        "selection.k_train",
        "selection.measurements",
        "selection.require_signature",
        "selection.verifier_memory_mib",
        "selection.verifier_output_kib",
        "selection.verifier_processes",
        "selection.verifier_scratch_mib",
        "selection.verifier_seconds",
        "specialist.backend_timeout_ms",
        "specialist.breaker_failures",
        "specialist.breaker_seconds",
        "specialist.field_log_keep",
        "specialist.field_log_mib",
        "specialist.max_answer_kib",
        "specialist.max_concurrent",
        "witness.max_bundle_mib",
        "witness.threads",
    ];

    #[test]
    fn every_setting_was_decided_about() {
        let schema = schemars::generate::SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator()
            .into_root_schema_for::<Config>();
        let mut undecided = Vec::new();
        for (section, shape) in super::super::properties(schema.as_value()) {
            for (key, _) in super::super::properties(shape) {
                let key = format!("{section}.{key}");
                let guarded = GUARDED.iter().any(|guarded| guarded.key == key);
                if guarded == HARMLESS.contains(&key.as_str()) {
                    undecided.push(key);
                }
            }
        }
        assert_eq!(
            undecided, [""; 0],
            "put each into GUARDED if a clone must not decide it (it runs a program, weakens the gate, redirects \
             traffic), else into HARMLESS"
        );
    }

    fn config(text: &str) -> Config {
        Config::parse(Path::new("config.toml"), text).unwrap()
    }

    #[test]
    fn a_weaker_value_needs_trust_and_a_stricter_one_does_not() {
        let keys = |text| -> Vec<_> { guarded(&config(text)).iter().map(|one| one.key).collect() };
        assert_eq!(keys("oversight.opaque = \"allow\""), ["oversight.opaque"]);
        assert_eq!(
            keys("oversight.\"opa\\u0071ue\" = \"allow\""),
            ["oversight.opaque"]
        );
        assert_eq!(keys("oversight.opaque = \"deny\""), [""; 0]);
        assert_eq!(keys("oversight.mode = \"restricted\""), [""; 0]);
        assert_eq!(keys("oversight.mode = \"autonomous\""), ["oversight.mode"]);
        assert_eq!(keys("oversight.approval_minutes = 5"), [""; 0]);
        assert_eq!(keys("selection.audit_max_age = 7"), [""; 0]);
        for weaker in [
            "selection.audit_max_age = 0",
            "selection.audit_max_age = 31",
        ] {
            assert_eq!(keys(weaker), ["selection.audit_max_age"]);
        }
        assert_eq!(
            keys("oversight.approval_minutes = 11"),
            ["oversight.approval_minutes"]
        );
        assert_eq!(
            keys("oversight.denied_tools = []"),
            ["oversight.denied_tools"]
        );
        assert_eq!(
            keys("oversight.capability_gate = true\nwitness.threads = 2"),
            [""; 0]
        );
        assert_eq!(keys("acceptance.min_tasks = 200"), [""; 0]);
        assert_eq!(keys("acceptance.min_tasks = 1"), ["acceptance.min_tasks"]);
        assert_eq!(keys("specialist.shadow_tau = 0.1"), [""; 0]);
        assert_eq!(
            keys("specialist.shadow_tau = 0.3"),
            ["specialist.shadow_tau"]
        );
        assert_eq!(
            keys("fallback.claude.base_url = \"https://elsewhere.example\""),
            ["fallback.claude"]
        );
    }

    #[test]
    fn every_guarded_setting_goes_back_to_its_default() {
        let mut set = config(
            "[oversight]\nopaque = \"allow\"\nunattended = \"ask\"\nmode = \"autonomous\"\nallowed_tools = [\"x\"]\n\
             denied_tools = []\nmax_cost_microdollars = 1\nmax_tool_calls = 1\napproval_minutes = 60\n\
             prices.m.input = 1\n[specialist]\nshadow_every = 21\nshadow_window = 51\nshadow_tau = 0.2\nearly_stop = false\n\
             early_stop_error = 0.001\nquota_scope = \"fleet\"\nquota_window = 201\n[privacy]\nkeep_inputs = true\n[fallback.claude]\nkind = \"command\"\n\
             [selection]\naudit_max_age = 0\nallow_unsandboxed = true\nverifier_reads = [\"/\"]\nlicenses = [\"x\"]\n\
             [acceptance]\nmin_tasks = 1\nmin_solve_rate = 0.1\nmax_policy_violations = 9\nmin_evidence_coverage = 0.5\n\
             min_rollback_correctness = 0.5\n[gateway]\nhosts = [\"h\"]\ntoken_env = \"T\"\nagents.a = \"r\"\n[[gateway.upstream]]\nname = \"u\"\n\
             kind = \"openai\"\nbase_url = \"http://elsewhere.example\"\n",
        );
        assert_eq!(guarded(&set).len(), GUARDED.len());
        for guarded in GUARDED {
            (guarded.reset)(&mut set, Config::default());
        }
        assert_eq!(set, Config::default());
    }
}
