//! Paths of the specialist registry's files.

use std::path::PathBuf;

use crate::environment::Environment;
use crate::files;
use crate::workspace::Workspace;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub registry: PathBuf,
    pub state: PathBuf,
    /// The events log.
    pub events: PathBuf,
    /// The probe log, beside the events.
    pub probes: PathBuf,
    pub field_log: PathBuf,
    /// Installed roles.
    pub roles: PathBuf,
    /// Records of audits.
    pub audits: PathBuf,
    /// The workspace, in whose trust store the registry is confirmed.
    pub workspace: Workspace,
}

impl Paths {
    /// Uses the caller's names, else those of variables, else the workspace's own.
    #[must_use]
    pub fn find(workspace: &Workspace, environment: &Environment, named: &Named) -> Self {
        let own = workspace.role_os_dir();
        let pick = |named: &Option<PathBuf>, variable: &Option<PathBuf>, name: &str| {
            let chosen = named.clone().or_else(|| variable.clone());
            chosen.unwrap_or_else(|| own.join(name))
        };
        let events = pick(
            &named.events,
            &environment.specialist_events,
            "specialist-events.jsonl",
        );
        let beside = |name: &str| files::parent(&events).join(name);
        Self {
            registry: pick(
                &named.registry,
                &environment.specialists,
                "specialists.json",
            ),
            state: pick(
                &named.state,
                &environment.specialist_state,
                "specialist-state.json",
            ),
            probes: beside("specialist-shadow-probes.jsonl"),
            field_log: environment
                .specialist_field_log
                .clone()
                .unwrap_or_else(|| beside("specialist-field-log.jsonl")),
            roles: workspace.roles_dir(),
            audits: own.join("audits"),
            workspace: workspace.clone(),
            events,
        }
    }
}

/// Files named on a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub registry: Option<PathBuf>,
    pub state: Option<PathBuf>,
    /// The events log.
    pub events: Option<PathBuf>,
}
