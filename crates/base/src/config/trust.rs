//! Settings that an unconfirmed file must not determine: those that run programs, weaken the gate or redirect traffic.
//!
//! In a file that the user has not confirmed ([`crate::trust`]), a stricter value applies and a weaker one is ignored.
//! Both are measured against the effective value: that of the last confirmed file, else the default.

mod guarded;

use std::fmt;
use std::path::Path;

use self::guarded::{GUARDED, Guarded};
use super::Config;
use crate::trust::{Belief, Doubt, Kind, Trust};
use crate::workspace::Workspace;

/// Reason why a setting needs confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It allows more.
    WeakensTheGate,
    /// It changes files without a question.
    ChangesFiles,
    /// It runs a program, or sends inputs somewhere.
    RunsOrRedirects,
    /// It stores texts of people and agents.
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

/// An ignored setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The key with its section.
    pub key: &'static str,
    /// Why it needs confirmation.
    pub why: Why,
    /// Why the file does not count.
    pub doubt: Doubt,
}

/// Returns the settings in which `config` is weaker than `base`.
#[must_use]
pub fn weaker(config: &Config, base: &Config) -> Vec<(&'static str, Why)> {
    restrain(&mut config.clone(), base)
}

/// Replaces weaker values by those of `base`, and returns their keys.
fn restrain(config: &mut Config, base: &Config) -> Vec<(&'static str, Why)> {
    let mut found = Vec::new();
    for &Guarded {
        key,
        why,
        is_weaker,
        keep,
    } in GUARDED
    {
        if is_weaker(config, base) {
            keep(config, base);
            found.push((key, why));
        }
    }
    found
}

/// Ignores weaker values of the settings file, unless the user confirmed it.
pub(super) fn ignore_unconfirmed(
    config: &mut Config,
    workspace: &Workspace,
    path: &Path,
    text: &str,
) -> Vec<Ignored> {
    let trust = Trust::of(workspace);
    let Belief::Unconfirmed(doubt) = trust.belief(path, text.as_bytes(), Kind::Settings) else {
        return Vec::new();
    };
    let found = restrain(config, &effective(&trust, workspace, path));
    found
        .into_iter()
        .map(|(key, why)| Ignored { key, why, doubt })
        .collect()
}

/// Returns the last confirmed settings, else the defaults.
#[must_use]
pub fn effective(trust: &Trust<'_>, workspace: &Workspace, path: &Path) -> Config {
    let confirmed = trust.confirmed_text(path, Kind::Settings);
    let parsed = confirmed.and_then(|text| Config::parse(path, &text).ok());
    parsed.unwrap_or_else(|| Config::without_file(workspace))
}

#[cfg(test)]
mod tests {
    use super::super::oversight::GovernanceMode;
    use super::*;

    /// Settings that any file may determine: they do not affect the gate.
    const HARMLESS: &[&str] = &[
        "gateway.body_timeout_seconds",
        "gateway.connect_timeout_seconds",
        "gateway.header_timeout_seconds",
        "gateway.log_keep",
        "gateway.log_mib",
        "gateway.max_bodies_mib",
        "gateway.max_body_mib",
        "gateway.max_connections",
        "gateway.receipts",
        "oversight.keep_days",
        "privacy.prompt_key_env",
        "rerun.max_memory_mib",
        "rerun.max_output_mib",
        "rerun.timeout_seconds",
        "retention.adapter_days",
        "retention.gateway_days",
        "retention.refusal_days",
        "selection.k_infer",
        "selection.k_train",
        "selection.learn_contests",
        "selection.measurements",
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
        for (section, shape) in super::super::listing::properties(schema.as_value()) {
            for (key, _) in super::super::listing::properties(shape) {
                let key = format!("{section}.{key}");
                let guarded = GUARDED.iter().any(|guarded| guarded.key == key);
                if guarded == HARMLESS.contains(&key.as_str()) {
                    undecided.push(key);
                }
            }
        }
        assert_eq!(
            undecided, [""; 0],
            "put each into GUARDED if an unconfirmed file must not decide it (it runs a program, weakens the gate, redirects \
             traffic), else into HARMLESS"
        );
    }

    fn config(text: &str) -> Config {
        Config::parse(Path::new("config.toml"), text).unwrap()
    }

    fn keys(base: &str, text: &str) -> Vec<&'static str> {
        let weaker = weaker(&config(text), &config(base));
        weaker.into_iter().map(|(key, _)| key).collect()
    }

    #[track_caller]
    fn check(base: &str, text: &str, expected: &[&str]) {
        assert_eq!(keys(base, text), expected, "{text} over {base:?}");
    }

    #[test]
    fn a_weaker_value_is_ignored_and_a_stricter_one_holds() {
        check("", "oversight.opaque = \"allow\"", &["oversight.opaque"]);
        check(
            "",
            "oversight.\"opa\\u0071ue\" = \"allow\"",
            &["oversight.opaque"],
        );
        check("", "oversight.opaque = \"deny\"", &[]);
        check("", "oversight.mode = \"restricted\"", &[]);
        check("", "oversight.mode = \"autonomous\"", &["oversight.mode"]);
        check("", "oversight.approval_minutes = 5", &[]);
        check(
            "",
            "oversight.approval_minutes = 11",
            &["oversight.approval_minutes"],
        );
        check("", "selection.audit_max_age = 7", &[]);
        check(
            "",
            "selection.audit_max_age = 0",
            &["selection.audit_max_age"],
        );
        check(
            "",
            "selection.audit_max_age = 31",
            &["selection.audit_max_age"],
        );
        check(
            "",
            "oversight.capability_gate = true\nwitness.threads = 2",
            &[],
        );
        check("", "specialist.shadow_tau = 0.1", &[]);
        check(
            "",
            "specialist.shadow_tau = 0.3",
            &["specialist.shadow_tau"],
        );
        check(
            "",
            "fallback.claude.base_url = \"https://elsewhere.example\"",
            &["fallback.claude"],
        );
    }

    #[test]
    fn values_are_measured_by_the_confirmed_file() {
        let gate = "oversight.capability_gate = true\n";
        check(gate, "", &["oversight.capability_gate"]);
        check(
            "oversight.opaque = \"deny\"",
            "oversight.opaque = \"ask\"",
            &["oversight.opaque"],
        );
        check(
            "oversight.opaque = \"allow\"",
            "oversight.opaque = \"allow\"",
            &[],
        );
        check("oversight.extended = true", "", &["oversight.extended"]);
        check("", "oversight.extended = true", &[]);
        let upstream = "[[gateway.upstream]]\nname = \"u\"\nkind = \"openai\"\nbase_url = \"http://a.example\"\n";
        check(upstream, upstream, &[]);
        check(upstream, "", &["gateway.upstream"]);
        check(
            upstream,
            &upstream.replace("a.example", "b.example"),
            &["gateway.upstream"],
        );
    }

    #[test]
    fn lists_and_budgets_are_measured_by_those_of_the_mode() {
        let restricted = "[oversight]\nmode = \"restricted\"\n";
        for (line, expected) in [
            ("max_tool_calls = 3", None),
            ("max_tool_calls = 51", Some("oversight.max_tool_calls")),
            ("max_cost_microdollars = 1", None),
            (
                "max_cost_microdollars = 10001",
                Some("oversight.max_cost_microdollars"),
            ),
            ("allowed_tools = [\"Read\"]", None),
            ("allowed_tools = []", Some("oversight.allowed_tools")),
            (
                "allowed_tools = [\"Bash\"]",
                Some("oversight.allowed_tools"),
            ),
            (
                "denied_tools = [\"Bash\", \"Write\", \"Edit\", \"Read\"]",
                None,
            ),
            ("denied_tools = [\"Bash\"]", Some("oversight.denied_tools")),
        ] {
            let text = format!("{restricted}{line}\n");
            let expected: Vec<&str> = expected.into_iter().collect();
            check("", &text, &expected);
            check(restricted, &text, &expected);
        }
        // Under an unconfirmed `autonomous`, the budgets are measured by those of `approved`.
        let text = "[oversight]\nmode = \"autonomous\"\nmax_tool_calls = 5\ndenied_tools = [\"WebFetch\"]\n";
        let mut set = config(text);
        assert_eq!(restrain(&mut set, &Config::default()).len(), 1);
        let governance = set.oversight.governance();
        assert_eq!(governance.mode, ::oversight::governance::Mode::Approved);
        assert_eq!(governance.max_tool_calls, 5);
        assert_eq!(governance.denied_tools, ["WebFetch"]);
    }

    #[test]
    fn an_unconfirmed_mode_never_becomes_off() {
        use GovernanceMode::{Approved, Autonomous, Off, Restricted};
        for (base, set, expected) in [
            (Off, Off, Off),
            (Off, Autonomous, Approved),
            (Off, Approved, Approved),
            (Off, Restricted, Restricted),
            (Autonomous, Off, Approved),
            (Autonomous, Autonomous, Autonomous),
            (Approved, Off, Approved),
            (Approved, Autonomous, Approved),
            (Restricted, Off, Restricted),
            (Restricted, Autonomous, Restricted),
            (Restricted, Approved, Restricted),
        ] {
            let mode = |mode| {
                let mut config = Config::default();
                config.oversight.mode = mode;
                config
            };
            let mut config = mode(set);
            restrain(&mut config, &mode(base));
            assert_eq!(config.oversight.mode, expected, "{set:?} over {base:?}");
        }
    }

    #[test]
    fn every_guarded_setting_goes_back_to_the_effective_value() {
        let loose = config(
            "[oversight]\nopaque = \"allow\"\ndestructive = \"allow\"\nsecrets = \"allow\"\nunattended = \"ask\"\napproval_minutes = 60\ntest_commands = [\"x\"]\nprices.m.input = 1\n\
             [specialist]\nshadow_every = 21\nshadow_window = 51\nshadow_tau = 0.2\nhalt_rule = \"window\"\n\
             halt_error = 0.001\nquota_scope = \"fleet\"\nquota_window = 201\nagreement.r.kind = \"json\"\n[privacy]\nkeep_inputs = true\n[fallback.claude]\nkind = \"command\"\n\
             [selection]\naudit_max_age = 0\nallow_unsandboxed = true\nverifier_reads = [\"/\"]\nlicenses = [\"x\"]\nlearn_share = 0.1\nlearn_budget_usd = 6\nexam_margin = 0.5\n\
             [acceptance]\nmin_tasks = 1\nmin_solve_rate = 0.1\nmax_policy_violations = 9\nmin_evidence_coverage = 0.5\n\
             min_rollback_correctness = 0.5\n[gateway]\nhosts = [\"h\"]\ntoken_env = \"T\"\noperator_token_env = \"T\"\nagents.a = \"r\"\n[[gateway.upstream]]\nname = \"u\"\n\
             kind = \"openai\"\nbase_url = \"http://elsewhere.example\"\n\
             [[notify]]\nurl = \"http://elsewhere.example\"\n[ship]\nto = \"http://elsewhere.example\"\ntoken_env = \"T\"\n[telemetry]\notlp = \"http://elsewhere.example\"\ncontent = true\n\
             [oidc]\nissuer = \"https://elsewhere.example\"\nclient_id = \"x\"\nclient_secret_env = \"X\"\naddress = \"https://elsewhere.example\"\n\
             scopes = []\nname_claim = \"x\"\nroles_claim = \"x\"\nroles.everyone = \"admin\"\n\
             [store]\nurl = \"postgres://elsewhere.example/x\"\npassword_env = \"P\"\n\
             [catalog]\ntrusted_keys = [\"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\"]\n",
        );
        let strict = config(
            "[oversight]\ncapability_gate = true\nmode = \"restricted\"\nenforce_scope = true\nextended = true\nread_only_files = true\nwithheld_variables = [\"X\"]\n\
             allowed_tools = [\"Read\"]\ndenied_tools = [\"Bash\", \"Write\", \"Edit\", \"X\"]\nmax_cost_microdollars = 1\nmax_tool_calls = 1\n\
             [[oversight.action]]\nid = \"x\"\nprogram = \"x\"\n[selection]\nrequire_signature = true\n\
             [specialist]\nclaimed_levels = \"refuse\"\n[catalog]\nrequire_signature = true\n",
        );
        let mut set = loose;
        let found = restrain(&mut set, &strict);
        assert_eq!(set, strict);
        let missing = GUARDED
            .iter()
            .map(|one| one.key)
            .filter(|key| !found.iter().any(|(known, _)| known == key));
        let missing: Vec<&str> = missing.collect();
        assert_eq!(missing, [""; 0]);
    }
}
