//! Gives files that root writes into a user's workspace (`sudo roleos approve`) to that user, whose hook could not read
//! them otherwise. Nothing else changes owners.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Uid, chownat};

use crate::files;
use crate::workspace::Workspace;

/// Gives the files of a person's commands to the owner of the workspace, if root runs them.
pub fn hand_over(workspace: &Workspace) {
    let Ok(owner) = fs::metadata(workspace.root()) else {
        return;
    };
    if !rustix::process::geteuid().is_root() || owner.uid() == 0 {
        return;
    }
    let role_os = workspace.role_os_dir();
    let grants = workspace.grants_path();
    let mut paths = vec![
        role_os.clone(),
        role_os.join(".changes.lock"),
        workspace.receipts_path(),
        workspace.config_path(),
        workspace.approvals_dir(),
    ];
    paths.extend(grants.ancestors().take(3).map(Path::to_owned));
    for folder in [
        workspace.approvals_dir(),
        workspace.keys_dir().join("approval"),
    ] {
        paths.extend(names(&folder));
    }
    paths.extend([workspace.keys_dir(), workspace.keys_dir().join("approval")]);
    for path in paths {
        give(&path, owner.uid(), owner.gid());
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Changes the owner of root's files only, and never through a link, which could lead to another file of root.
fn give(path: &Path, user: u32, group: u32) {
    let Ok(file) = files::open_itself(path) else {
        return;
    };
    let is_roots = file.metadata().is_ok_and(|facts| {
        facts.uid() == 0 && !facts.is_symlink() && (facts.is_dir() || facts.nlink() == 1)
    });
    if is_roots {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        // If the owner cannot be changed, the first command that cannot read the file reports it.
        chownat(&file, "", Some(user), Some(group), AtFlags::EMPTY_PATH).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    #[test]
    fn nothing_is_given_away_through_a_link() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (root, victim) = (folder.path().join("root"), folder.path().join("victim"));
        fs::create_dir_all(root.join(".role-os")).unwrap();
        fs::create_dir(&victim).unwrap();
        fs::File::create(victim.join("shadow")).unwrap();
        fs::File::create(root.join(".role-os/receipts.jsonl")).unwrap();
        symlink(&victim, root.join(".role-os/approvals")).unwrap();
        symlink(victim.join("shadow"), root.join(".role-os/config.toml")).unwrap();
        chown(&root, Some(65_534), Some(65_534)).unwrap();
        hand_over(&Workspace::at(&root).unwrap());
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        assert_eq!(owner(&root.join(".role-os/receipts.jsonl")), 65_534);
        assert_eq!(owner(&victim), 0);
        assert_eq!(owner(&victim.join("shadow")), 0);
    }
}
