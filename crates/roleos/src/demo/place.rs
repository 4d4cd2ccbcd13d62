//! The demo's own folder. It contains a mark, and only a folder with that mark is ever removed.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use base::clock;
use base::environment::Environment;
use base::files::{self, Privacy};
use base::running::Running;
use base::seals::Seals;
use base::trust_store::TrustStore;
use base::workspace::Workspace;
use demo_models::{Backstage, MODEL, repairs};
use evidence::ledger::record;
use serde::{Deserialize, Serialize};
use server::up::UpError;

use super::shell::sh;
use crate::failure::Failure;

/// The folder, below the root or the current folder.
const FOLDER: &str = ".role-os-demo";

/// The mark in it.
const MARK: &str = "roleos-demo.json";

/// Format in the mark.
const FORMAT: &str = "roleos-demo/v1";

const MAX_MARK: u64 = 64 * 1024;

/// State between two starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Mark {
    format: String,
    /// Time of the first start, in nanoseconds since 1970; the six weeks end here.
    began_ns: u64,
    /// Total number of dispatches.
    dispatches: u16,
    /// Address of the adapters and the general model, which the registry contains.
    backstage: Option<SocketAddr>,
}

/// The folder.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    mark: Mark,
}

impl Place {
    pub(super) fn open(root: Option<&Path>, fresh: bool, dispatches: u16) -> Result<Self, Failure> {
        let root = Workspace::at(root.unwrap_or(Path::new(".")))?;
        let folder = root.root().join(FOLDER);
        let known = read(&folder)?;
        if fresh && known.is_some() {
            remove(&folder)?;
        }
        let mark = known.filter(|_| !fresh).unwrap_or_else(|| Mark {
            format: FORMAT.to_owned(),
            began_ns: clock::now_ns(),
            dispatches,
            backstage: None,
        });
        let place = Self { folder, mark };
        files::make_directory(&place.folder, Privacy::Shared)?;
        place.remember()?;
        // A repository around it ignores it.
        files::write(&place.folder.join(".gitignore"), b"*\n", Privacy::Shared)?;
        files::make_directory(&place.role_os(), Privacy::Shared)?;
        Ok(place)
    }

    fn remember(&self) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(&self.mark).unwrap_or_default();
        text.push('\n');
        Ok(files::write(
            &self.folder.join(MARK),
            text.as_bytes(),
            Privacy::Shared,
        )?)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the scripted agent's own record of a session.
    pub(super) fn transcript(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{session}.transcript.jsonl"))
    }

    /// Returns the workspace, which is also a git repository.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    pub(super) fn role_os(&self) -> PathBuf {
        self.repository().join(".role-os")
    }

    /// Returns the path of a file of the adapters.
    pub(super) fn package(&self, name: &str) -> PathBuf {
        self.folder.join("package").join(name)
    }

    pub(super) fn workspace(&self) -> Result<Workspace, Failure> {
        Ok(Workspace::at(&self.repository())?)
    }

    pub(super) fn began_ns(&self) -> u64 {
        self.mark.began_ns
    }

    pub(super) fn dispatches(&self) -> usize {
        usize::from(self.mark.dispatches)
    }

    /// Starts adapters and general model, at the address in the registry.
    pub(super) fn backstage(&mut self) -> Result<Backstage, Failure> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let wanted = self.mark.backstage.unwrap_or(any);
        let backstage = Backstage::start(wanted).map_err(|error| {
            let message = format!("the demo's adapters cannot listen at `{wanted}`: {error}");
            Failure::refused("cannot_listen", message)
                .hint("another program has the port; `roleos up --demo --fresh` takes another")
        })?;
        if self.mark.backstage.is_none() {
            self.mark.backstage = Some(backstage.address());
            self.remember()?;
        }
        Ok(backstage)
    }

    /// Creates settings, exams and the repository, if they are missing.
    pub(super) fn prepare(&self, backstage: SocketAddr) -> Result<(), Failure> {
        let workspace = self.workspace()?;
        if !workspace.config_path().exists() {
            let text = settings(backstage);
            files::write(&workspace.config_path(), text.as_bytes(), Privacy::Shared)?;
        }
        files::make_directory(&self.folder.join("package"), Privacy::Shared)?;
        let tree = self.repository();
        if tree.join(".git").exists() && tree.join(".git/roleos-demo").exists() {
            return Ok(());
        }
        for (name, text) in [
            (".gitignore", ".role-os/\n".to_owned()),
            ("test.sh", repairs::test()),
            (
                "README.md",
                "Small helpers for text, in shell.\n".to_owned(),
            ),
        ] {
            files::write(&tree.join(name), text.as_bytes(), Privacy::Shared)?;
        }
        roles::shipped::write(&tree.join("catalog"))?;
        // The user's own settings of git must not sign, run hooks or rename anything here.
        sh(
            "git init -q . && git symbolic-ref HEAD refs/heads/main \
             && git config user.name 'Role OS demo' && git config user.email demo@localhost \
             && git config commit.gpgsign false && git config core.hooksPath .git/hooks \
             && git init -q --bare ../origin.git \
             && (git remote get-url origin >/dev/null 2>&1 || git remote add origin \"$(cd ../origin.git && pwd)\") \
             && git add -A && git commit -q -m 'Begin' && : > .git/roleos-demo",
            &tree,
        )?
        .succeeds("make the demo's repository")?;
        Ok(())
    }
}

/// Reads the mark of an existing folder; `None` if there is no folder, or an empty one.
fn read(folder: &Path) -> Result<Option<Mark>, Failure> {
    let Ok(facts) = fs::symlink_metadata(folder) else {
        return Ok(None);
    };
    let foreign = || {
        let message = format!("`{}` is there and is not a demo's folder", folder.display());
        Failure::refused("not_a_demo", message)
            .hint("move it away, or name another place with `--root`")
    };
    if !facts.is_dir() {
        return Err(foreign());
    }
    let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty {
        return Ok(None);
    }
    let bytes = files::read(&folder.join(MARK), MAX_MARK).map_err(|_| foreign())?;
    let mark: Mark = serde_json::from_slice(&bytes).map_err(|_| foreign())?;
    if mark.format == FORMAT {
        Ok(Some(mark))
    } else {
        Err(foreign())
    }
}

/// Removes a demo that is not running.
fn remove(folder: &Path) -> Result<(), Failure> {
    let role_os = folder.join("workspace/.role-os");
    let _held = match role_os.is_dir() {
        true => Some(Running::begin(&role_os).map_err(UpError::from)?),
        false => None,
    };
    // The next demo has another ledger in the same place, which is not a rollback.
    if let Some(trust) = TrustStore::of(&Environment::read()) {
        record::forget(&trust, &role_os.join("ledger"));
    }
    if let Ok(workspace) = Workspace::find(Some(&folder.join("workspace")), &Environment::read()) {
        Seals::of(&workspace).forget_heads();
    }
    fs::remove_dir_all(folder).map_err(|error| {
        let message = format!("cannot remove `{}`: {error}", folder.display());
        Failure::refused("cannot_remove", message).hint("remove it by hand")
    })
}

/// Assumed prices of the scripted model's tokens, in US dollars per million.
const USD_INPUT: f64 = 3.0;
const USD_OUTPUT: f64 = 15.0;
const USD_CACHED: f64 = 0.3;

fn settings(backstage: SocketAddr) -> String {
    format!(
        "\
# Settings of the demo; `roleos config list` shows all.

[oversight]
capability_gate = true
test_commands = [\"sh test.sh\"]

# What the scripted model's tokens are said to cost; sessions and repairs are priced by this.
[oversight.prices.{MODEL}]
input = {USD_INPUT}
output = {USD_OUTPUT}
cache_read = {USD_CACHED}

# Probes every answer: the demo has little time and is the same each time.
[specialist]
shadow_every = 1
shadow_window = 10

# The scripted general model.
[fallback.claude]
kind = \"anthropic\"
base_url = \"http://{backstage}\"
model = \"{MODEL}\"
usd_per_million_input = {USD_INPUT:.1}
usd_per_million_output = {USD_OUTPUT:.1}

[[gateway.upstream]]
name = \"demo\"
kind = \"anthropic\"
base_url = \"http://{backstage}\"
models = [\"{MODEL}\"]
"
    )
}
