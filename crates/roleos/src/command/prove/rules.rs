//! The rules of a run, from its options: box, policy, model and the agent's programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::config::Config;
use base::files::{self, Privacy};
use prove::agent::Agent;
use prove::boxes::Toolchains;
use prove::run::RunFolder;
use prove::trial::Rules;
use prove::trial::model::Models;
use sandbox::container::Container;
use server::model_socket::ModelSockets;
use witness::policy::Policy;
use witness::wire::Mode;

use super::Args;
use crate::context::Context;
use crate::failure::Failure;

/// Largest file of settings.
const MAX_POLICY: u64 = 1 << 20;

/// Program that makes boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Engine {
    /// bubblewrap.
    Auto,
    /// bubblewrap.
    Bwrap,
    /// Docker, if its daemon answers.
    Docker,
    /// Podman, if it answers.
    Podman,
}

impl Engine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Bwrap => "bwrap",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    pub(super) fn is_container(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }

    /// Finds the toolchains, and checks that the engine answers.
    pub(super) fn tools(self, image: Option<&str>, run: &str) -> Result<Toolchains, Failure> {
        if !self.is_container() {
            return Ok(Toolchains::find());
        }
        let container = Container {
            program: self.name().into(),
            image: image.unwrap_or_default().to_owned(),
            label: format!("roleos.run={run}"),
        };
        container.check().map_err(|why| {
            Failure::refused("no_engine", format!("nothing was run: {why}"))
                .hint("start the daemon, or leave `--engine` out to use bubblewrap")
        })?;
        container.remove_left();
        Ok(Toolchains::of_image(container))
    }
}

/// Who confirms calls in approved mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Confirm {
    /// The harness confirms every call that is not gated.
    Auto,
    /// Every call that needs a confirmation is refused.
    Deny,
}

/// Returns the rules of a run.
///
/// # Errors
/// The policy, a folder or an upstream cannot be used.
pub(super) fn rules(
    context: &Context,
    folder: &RunFolder,
    agent: &str,
    mode: Mode,
    args: &Args,
) -> Result<Rules, Failure> {
    // Rules of the user's own workspace do not apply: a run is the same everywhere.
    let workspace = folder.0.join("policy");
    files::make_directory(&workspace, Privacy::Secret)?;
    let policy = policy_text(args)?;
    if !policy.is_empty() {
        let bad =
            |why: String| Failure::input("policy", format!("the policy cannot be used: {why}"));
        let text = prove::policy::settings(&policy, mode.name(), "allow").map_err(bad)?;
        Config::parse(Path::new("policy"), &text).map_err(|error| bad(error.to_string()))?;
        let own = workspace.join(".role-os");
        files::make_directory(&own, Privacy::Secret)?;
        files::write(&own.join("config.toml"), text.as_bytes(), Privacy::Secret)?;
    }
    let program = base::programs::running()
        .map_err(|error| Failure::refused("no_program", error.to_string()))?;
    let models = ModelSockets::open(&context.config)
        .map_err(|why| Failure::input("upstream", why))?
        .map(|models| Arc::new(models) as Arc<dyn Models>);
    let parsed = Agent::parse(agent);
    if parsed.preset().is_some() && models.is_none() {
        return Err(Failure::input("no_model", format!("`{agent}` needs a model, and no upstream is set"))
            .hint("add `[[gateway.upstream]]` with `name`, `kind`, `base_url` and `api_key_env` to `.role-os/config.toml`"));
    }
    Ok(Rules {
        agent: parsed,
        mode,
        program,
        supervised_in: args.is_supervised().then_some(workspace),
        policy,
        confirms: args.confirm == Confirm::Auto,
        models,
        model: args.model.clone(),
        folders: agent_folders(&args.agent_dirs)?,
        predictions: None,
    })
}

/// Reads the settings of `--policy`; empty without it.
///
/// # Errors
/// The file cannot be read.
pub(super) fn policy_text(args: &Args) -> Result<String, Failure> {
    let Some(path) = &args.policy else {
        return Ok(String::new());
    };
    let bytes = files::read(path, MAX_POLICY)?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::input("policy", format!("`{}` is not text", path.display())))
}

/// Returns the folders of an agent's programs, as named and with their links followed: programs may use either.
fn agent_folders(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for folder in named {
        let missing = || {
            Failure::input(
                "agent_dir",
                format!("there is no folder `{}`", folder.display()),
            )
        };
        let real = folder.canonicalize().map_err(|_| missing())?;
        let named = std::path::absolute(folder)?;
        all.extend([real, named]);
    }
    all.dedup();
    Ok(all)
}

/// Hashes the policy of the mode, and further settings if there are any.
pub(super) fn policy_hash(mode: Mode, text: &str) -> String {
    let hash = hex::encode(Policy::of_mode(mode).hash());
    if text.is_empty() {
        return hash;
    }
    hex::encode(base::digest(format!("{hash}\n{text}").as_bytes()))
}

/// Parses a date.
///
/// # Errors
/// It is not a date.
pub(super) fn parse_date(text: &str) -> Result<String, String> {
    let is_date = text.is_empty() || text.parse::<jiff::civil::Date>().is_ok();
    is_date
        .then(|| text.to_owned())
        .ok_or_else(|| "a date is needed, such as 2026-08-31".to_owned())
}
