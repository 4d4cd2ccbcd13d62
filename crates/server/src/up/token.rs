//! The required token of other machines: from a variable that the settings name, else from a file that is created if
//! needed.

use std::net::SocketAddr;
use std::path::PathBuf;

use base::config::gateway::Gateway;
use base::files::{self, Privacy};
use base::keys;
use base::workspace::Workspace;

use super::{MIN_TOKEN, UpError, named_secret};

/// Longest file that is read.
const MAX_FILE: u64 = 4096;

pub(super) fn path(workspace: &Workspace) -> PathBuf {
    workspace.keys_dir().join("gateway.token")
}

/// Returns the required token of requests; `None` on a loopback address without a set one.
pub(super) fn find(
    workspace: &Workspace,
    set: &Gateway,
    listen: SocketAddr,
) -> Result<Option<Vec<u8>>, UpError> {
    if !set.token_env.is_empty() {
        return named_secret("gateway.token_env", &set.token_env).map(Some);
    }
    if listen.ip().is_loopback() {
        return Ok(None);
    }
    let path = path(workspace);
    if !path.exists() {
        files::make_directory(&workspace.keys_dir(), Privacy::Secret)?;
        let fresh = keys::random_token().map_err(UpError::Machine)?;
        files::write(&path, format!("{fresh}\n").as_bytes(), Privacy::Secret)?;
    }
    let bytes = files::read(&path, MAX_FILE)?;
    let token = bytes.trim_ascii().to_vec();
    if token.len() < MIN_TOKEN {
        return Err(UpError::Setting(format!(
            "the token in `{}` has fewer than {MIN_TOKEN} characters",
            path.display()
        )));
    }
    Ok(Some(token))
}
